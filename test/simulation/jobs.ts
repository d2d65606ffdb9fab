import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Person, Typed } from "./person.ts";
import type { Jobs } from "./story.ts";

/** What `jobs run` tells of a job, and its history says. */
export interface JobTold {
  readonly job: string;
  readonly status: "done" | "failed";
  readonly started: string;
  readonly rows: number | null;
  readonly credits: number;
  readonly run: string | null;
}

export interface TypedJob extends Typed {
  readonly name: string;
}

const FILE = "jobs.json";
/** Each morning, in the zone of the machine. */
const HOUR = 6;

/** Writes a file of jobs. @param isWalled whether caps and budget of the story bind */
export function jobsOf(
  person: Person,
  { budget, jobs }: Jobs,
  segments: readonly string[],
  isWalled: boolean,
): readonly TypedJob[] {
  const typed = jobs.map(({ cap, command, segment }, nth): TypedJob => {
    const most = isWalled ? Math.min(cap, budget ?? cap) : 1_000;
    const groups = segments.slice(segment, segment + 1);
    const file = `job-${nth}.csv`;
    return {
      argv: ["jobs", "run", `job-${nth}`, "--file", FILE],
      kind: command,
      file,
      groups,
      cap: most,
      limit: null,
      owned: null,
      name: `job-${nth}`,
    };
  });
  const entries = typed.map(({ cap, file, groups: [department], kind, name }) => [
    name,
    {
      command: kind,
      filters: { department },
      max_credits: cap,
      output: file,
      // In peace it is told that it may: a job does not know a file for its own whose disk failed before the run could say that it
      // is there, where somebody of the segment was owned already. Then the same job begins another run, and refuses with exit 2.
      ...(isWalled ? {} : { overwrite: true }),
      schedule: `0 ${HOUR} * * *`,
    },
  ]);
  const document = {
    ...(budget === null || !isWalled ? {} : { budget: `${budget}/month` }),
    jobs: Object.fromEntries(entries) as unknown,
  };
  writeFileSync(person.path(FILE), JSON.stringify(document));
  return typed;
}

/** Runs those that are due, or all by their names. */
export const jobsArgv = (jobs: readonly TypedJob[], isDue: boolean): string[] => [
  ...["jobs", "run", ...(isDue ? [] : jobs.map(({ name }) => name))],
  ...["--file", FILE, "--json"],
];

/** When each job was begun that was done last, as its history says. Epoch milliseconds. */
export function jobsDone(person: Person): ReadonlyMap<string, number> {
  const folder = join(person.dir, "state", "jobs");
  if (!existsSync(folder)) return new Map();
  const files = readdirSync(folder)
    .map((name) => join(folder, name, "history.ndjson"))
    .filter((path) => existsSync(path));
  const lines = files.flatMap((path) => readFileSync(path, "utf8").trim().split("\n"));
  const told = lines.map((line) => JSON.parse(line) as JobTold);
  const done = told.filter(({ status }) => status === "done");
  return new Map(done.map(({ job, started }) => [job, Date.parse(started)]));
}

/** Whether a morning has come since a job was begun. */
export function isDue(done: number | undefined, now: number): boolean {
  const morning = new Date(now);
  morning.setHours(HOUR, 0, 0, 0);
  if (morning.getTime() > now) morning.setDate(morning.getDate() - 1);
  return done === undefined || done < morning.getTime();
}
