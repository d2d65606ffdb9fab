import { planOf } from "../../src/engine/runs/reader.ts";
import { jobsArgv, jobsOf } from "./jobs.ts";
import type { Person, Typed } from "./person.ts";
import type { Command, Jobs } from "./story.ts";
import type { Datasets } from "./world.ts";

/** Of all agents of a user. */
export const BUDGET = "agents";

const FREE: Omit<Typed, "argv"> = {
  kind: "other",
  file: undefined,
  groups: [],
  cap: null,
  limit: null,
  owned: null,
};

type Of<Kind extends Command["kind"]> = Extract<Command, { readonly kind: Kind }>;

const option = (name: string, value: string | number | null): string[] =>
  value === null ? [] : [name, String(value)];
const flag = (name: string, isSet: boolean): string[] => (isSet ? [name] : []);

/** What somebody types. @returns undefined where there is nothing yet that it could be about */
export function typed(
  person: Person,
  command: Command,
  { segments }: Datasets,
  plan: Jobs,
): Typed | undefined {
  switch (command.kind) {
    case "search":
      return search(person, command, segments);
    case "sample": {
      const file = `list-${++person.files}.csv`;
      const { cap, rows, segment } = command;
      const groups = segments.slice(segment, segment + 1);
      const words = [
        "search",
        "--department",
        groups[0] ?? "",
        "--sample",
        String(rows),
        "--seed",
        "7",
      ];
      const argv = [...words, "--yes", "-o", file, ...option("--max-credits", cap)];
      return { ...FREE, argv, kind: "sample", file, groups, cap, limit: rows };
    }
    case "employees":
      return employees(person, command);
    case "refresh":
      return refresh(person, command);
    case "jobs": {
      const jobs = jobsOf(person, plan, segments, true);
      return {
        ...FREE,
        kind: "jobs",
        argv: jobsArgv(jobs, command.due),
        jobs,
        budget: plan.budget,
      };
    }
    case "agent": {
      const { agrees, budget, profiles, segment } = command;
      const [department = ""] = segments.slice(segment);
      const argv = ["mcp", "--max-credits", `${budget}/total`, "--budget", BUDGET];
      const wanted = { department, profiles, agrees };
      return { ...FREE, kind: "agent", argv, groups: [department], budget, wanted };
    }
    case "console": {
      const { profiles, segment } = command;
      const [department = ""] = segments.slice(segment);
      const argv = ["(console)", department, String(profiles)];
      const ordered = { department, profiles };
      return { ...FREE, kind: "console", argv, groups: [department], ordered };
    }
    case "count":
      return { ...FREE, argv: ["count", "--department", segments[command.segment] as string] };
    case "again":
      return person.open?.typed;
    case "resume":
      return resume(person, command);
    default: {
      // Who is asked for by digests comes in an order that no seed decides.
      const ids = [...new Set(person.sold.flatMap((sold) => sold.ids))].sort();
      const who = ids[command.nth % Math.max(1, ids.length)];
      if (who === undefined) return undefined;
      const argv = command.kind === "forget" ? ["forget", who, "--yes"] : ["suppress", "add", who];
      return { ...FREE, kind: command.kind, argv, who };
    }
  }
}

function search(
  person: Person,
  command: Of<"search">,
  segments: Datasets["segments"],
): Typed | undefined {
  const { again, cap, concurrency, limit, owned, perPage, requireComplete, segment } = command;
  const before = [...person.asked.values()].findLast(({ typed: { kind } }) => kind === "search")
    ?.typed.groups;
  const groups = segment === null ? before : segments.slice(segment, segment + 1);
  if (groups === undefined) return undefined;
  const file = `list-${++person.files}.csv`;
  const argv = [
    ...[
      "search",
      "--department",
      groups[0] ?? "",
      "--per-page",
      String(perPage),
      "--yes",
      "-o",
      file,
    ],
    ...option("--concurrency", concurrency),
    ...option("--max-credits", cap),
    ...option("--limit", limit),
    ...flag(`--${owned}`, owned !== null),
    ...flag("--again", again),
    ...flag("--require-complete", requireComplete),
  ];
  return { argv, kind: "search", file, groups, cap, limit, owned };
}

function employees(
  person: Person,
  { again, cap, companies, limit, more, perPage }: Of<"employees">,
): Typed {
  const before = [...person.asked.values()].findLast(({ typed: { kind } }) => kind === "employees")
    ?.typed.groups;
  const named =
    companies.length > 0
      ? companies.map((company) => `c${company}`)
      : [...(before ?? []), `c${more}`];
  const groups = [...new Set(named)];
  const file = `list-${++person.files}.csv`;
  const argv = [
    ...["employees", ...groups, "--per-page", String(perPage), "--yes", "-o", file],
    ...option("--max-credits", cap),
    ...option("--limit", limit),
    ...flag("--again", again),
  ];
  return { ...FREE, argv, kind: "employees", file, groups, cap, limit };
}

function resume(person: Person, { cap, limit, nth }: Of<"resume">): Typed | undefined {
  const run = nth === null ? undefined : person.runs().at(-1 - nth);
  if (nth !== null && run === undefined) return undefined;
  const id = run === undefined ? undefined : planOf(run)?.id;
  const argv = [
    "resume",
    ...(id === undefined ? [] : [id]),
    "--yes",
    ...option("--max-credits", cap),
    ...option("--limit", limit),
  ];
  return { ...FREE, kind: "resume", argv, run, cap, limit };
}

function refresh(
  person: Person,
  { again, buyChanged, cap, nth, verify }: Of<"refresh">,
): Typed | undefined {
  const files = [...person.lists.keys()];
  const file = files[nth % Math.max(1, files.length)];
  const list = file === undefined ? undefined : person.lists.get(file);
  if (file === undefined || list === undefined) return undefined;
  const argv = [
    ...["refresh", file, "--yes", ...flag("--again", again)],
    ...option("--max-credits", cap),
    ...option("--verify-fields", verify),
    ...flag("--buy-changed", buyChanged && verify !== null && cap !== null),
  ];
  return { ...FREE, argv, kind: "refresh", file, groups: list.groups, cap };
}

/** The same where nothing stands in the way but the order itself. */
export function inPeace(person: Person, before: Typed, plan: Jobs, { segments }: Datasets): Typed {
  if (before.kind === "jobs") {
    const jobs = jobsOf(person, plan, segments, false);
    return { ...before, argv: jobsArgv(jobs, false), jobs, budget: null };
  }
  if (before.kind === "agent") {
    const argv = ["mcp", "--max-credits", "100000/total", "--budget", BUDGET];
    return { ...before, argv, budget: null };
  }
  return before;
}
