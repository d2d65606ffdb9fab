import { existsSync } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Disk } from "../../../engine/runs/disk.ts";
import { withLock } from "../../../engine/runs/lock.ts";
import { removeDrafts } from "../../../engine/runs/run-store.ts";
import type { Context } from "../../../shared/context.ts";
import type { SuppressedEntry } from "../../../shared/contract/suppression.ts";
import type { PersonMatcher } from "../../../shared/person.ts";
import { historyFile, jobsFolder, keptName, lockOf, type RunOutcome } from "../../jobs/history.ts";
import { registerOf, usersFiles } from "../store.ts";

export interface HistoryFound {
  readonly job: string;
  readonly lines: number;
}

const linesOf = async (context: Context, job: string): Promise<string[]> => {
  const text = await readFile(historyFile(context, job), "utf8").catch(() => "");
  return text.split("\n").filter((line) => line !== "");
};

export async function historiesWith(
  person: PersonMatcher,
  context: Context,
): Promise<HistoryFound[]> {
  const histories: HistoryFound[] = [];
  for (const job of (await readdir(jobsFolder(context)).catch(() => [])).sort()) {
    const lines = (await linesOf(context, job)).filter((line) => person.isNamedIn(line)).length;
    if (lines > 0) histories.push({ job, lines });
  }
  return histories;
}

/**
 * Writes a job's history again: when, how and for how much stay.
 * @throws CliError exit 9 while the job runs
 */
export async function forgetHistory(
  job: string,
  person: PersonMatcher,
  disk: Disk,
  context: Context,
): Promise<void> {
  const { now, sleep, interrupted: signal } = context;
  await withLock(lockOf(context, job), { now, sleep, signal, what: `job ${job}` }, async () => {
    await removeDrafts(join(jobsFolder(context), job));
    const lines = (await linesOf(context, job)).flatMap((line) => withoutName(line, person));
    await disk.replaceFile(
      historyFile(context, job),
      lines.map((line) => `${line}\n`).join(""),
      "history",
    );
  });
}

/** Half a line, or one that has the name in what must stay, goes. */
function withoutName(line: string, person: PersonMatcher): string[] {
  if (!person.isNamedIn(line)) return [line];
  try {
    const outcome = JSON.parse(line) as RunOutcome;
    const error = outcome.error && {
      ...outcome.error,
      message: "forgotten",
      hint: null,
      next: null,
    };
    const after = JSON.stringify({ ...outcome, error, receipt: null } satisfies RunOutcome);
    return person.isNamedIn(after) ? [] : [after];
  } catch {
    return [];
  }
}

/** What names the person and is the user's: it is not ours to change. */
export interface MentionFound {
  readonly path: string;
  /** From 1; none: it is called like the person, or its output is. */
  readonly lines: readonly number[];
}

/** @param runs with the names of their outputs, which their plans keep */
export async function mentionsOf(
  person: PersonMatcher,
  runs: readonly { readonly folder: string; readonly output: string | null }[],
  context: Context,
): Promise<MentionFound[]> {
  const written = await registerOf(context).entries();
  const jobs = (await readdir(jobsFolder(context)).catch(() => [])).map((job) => [
    join(jobsFolder(context), job),
    keptName(job),
  ]);
  const named = [
    ...[...written, ...(await usersFiles(context))].map(({ path }) => [path, path]),
    ...jobs,
    ...runs.map(({ folder, output }) => [folder, output ?? ""]),
  ].flatMap(([path = "", name = ""]) =>
    person.isNamedAs(beyondHome(name, context)) && existsSync(path) ? [path] : [],
  );
  const mentions: MentionFound[] = [...new Set(named)].map((path) => ({ path, lines: [] }));
  for (const { path, what } of await usersFiles(context)) {
    const lines: number[] = [];
    let at = 0;
    for await (const line of (await open(path)).readLines()) {
      at++;
      if (person.isNamedAs(line)) lines.push(at);
    }

    // A filter stands on each line: the first name and the last one together are whom it asks for.
    if (
      lines.length === 0 &&
      what !== "log" &&
      person.isNamedByFilters(await readFile(path, "utf8"))
    )
      lines.push(1);
    if (lines.length > 0) mentions.push({ path, lines });
  }

  return mentions;
}

/** The folder of whoever asks may be called like them, and holds everything. */
const beyondHome = (path: string, { env }: Context): string =>
  env.HOME !== undefined && path.startsWith(env.HOME) ? path.slice(env.HOME.length) : path;

const MOST_LINES = 5;

/** A line for each place, as editors open it. */
export const mentionLines = ({ path, lines }: MentionFound): string[] => [
  ...(lines.length === 0 ? [`${path}: by its name`] : []),
  ...lines.slice(0, MOST_LINES).map((line) => `${path}:${line}`),
  ...(lines.length > MOST_LINES ? [`${path}: ${lines.length - MOST_LINES} more lines`] : []),
];

/** Notes that name the person go; the entries stay. */
export function withoutNotes(entries: readonly SuppressedEntry[], person: PersonMatcher) {
  const isNamed = ({ note }: SuppressedEntry): boolean => person.isNamedIn(note ?? "");
  const after = entries.map((entry) => (isNamed(entry) ? { ...entry, note: null } : entry));
  return { entries: after, changed: entries.filter(isNamed).length };
}
