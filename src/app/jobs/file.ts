import { dirname, join, resolve } from "node:path";
import type { AnyNode } from "@humanwhocodes/momoa";
import { JOB_COMMANDS, type JobCommand, type JobKey } from "../../cli/commands/jobs/keys.ts";
import { configDir } from "../../engine/connections/paths.ts";
import { engineOf, resolveOutput } from "../../engine/output/tables/target.ts";
import type { Context } from "../../shared/context.ts";
import { filterWords } from "../../shared/contract/command-line.ts";
import { checkFilters, FILTER_KEYS } from "../../shared/contract/filters.ts";
import { type Credits, formatCredits, parseCredits } from "../../shared/contract/money.ts";
import { echo, spanMs } from "../../shared/contract/text.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { readInput } from "../../shared/input.ts";
import { readBudget } from "./budget.ts";
import {
  isObject,
  type Member,
  membersOf,
  type Place,
  type Problem,
  placeOf,
  plainOf,
  readDocument,
  refusal,
} from "./document.ts";
import { readSchedule, type Schedule } from "./schedule.ts";

export interface Job {
  readonly name: string;
  readonly command: JobCommand;
  readonly schedule: Schedule | undefined;
  /** The command line that it stands for; its paths are relative to the folder of the file. */
  readonly argv: readonly string[];
  /** Absolute path, or the address of a table. */
  readonly output: string | undefined;
  readonly cap: Credits | undefined;
  /** Absolute path. */
  readonly log: string | undefined;
  readonly notify: string | undefined;
  /** Milliseconds: a younger file is left alone. */
  readonly ifOlderThan: number | undefined;
  /** Why it cannot be run. The others can. */
  readonly problem: CliError | undefined;
}

export interface JobsFile {
  /** Absolute path. */
  readonly path: string;
  readonly folder: string;
  /** Credits of a calendar month (UTC). */
  readonly budget: Credits | undefined;
  readonly jobs: readonly Job[];
}

const MOST_BYTES = 1 << 20;
const FILE_KEYS = ["$schema", "budget", "log", "notify", "jobs"] as const;
/** Keys that say how a job is run, and not what it does. */
const OF_THE_RUNNER = new Set(["log", "notify", "if_older_than"]);
/** Its name is a folder, a unit of systemd and a word of a command line. */
const JOB_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

const defaultPath = (context: Context): string => join(configDir(context), "jobs.jsonc");

interface Shared {
  readonly folder: string;
  readonly log: string | undefined;
  readonly notify: string | undefined;
  readonly budget: Credits | undefined;
}

/**
 * Reads a file of jobs (docs/jobs.md). A job that breaks a rule does not hide the others.
 * @param keysOf the keys of a job of a command
 * @throws CliError exit 2, with line and column, where the file as a whole cannot be used
 */
export async function readJobs(
  context: Context,
  given: string | undefined,
  keysOf: (command: JobCommand) => Promise<readonly JobKey[]>,
): Promise<JobsFile> {
  const path = resolve(context.cwd, given ?? defaultPath(context));
  const text = await readInput(context, path, "jobs", MOST_BYTES).catch((error: CliError) => {
    throw given === undefined
      ? error.with({ hint: "headcount help jobs shows one; --file FILE names another" })
      : error;
  });
  const name = given ?? path;
  const body = await readDocument(text, name);
  const problems: Problem[] = [];
  if (!isObject(body)) throw refusal(name, [{ ...placeOf(body), message: "a file of jobs is one JSON object" }]);
  const members = new Map(membersOf(body, "the file", problems, FILE_KEYS).map((member) => [member.key, member]));
  const folder = dirname(path);
  const log = textOf(members.get("log"), problems);
  const budgetText = textOf(members.get("budget"), problems);
  const budget = budgetText === undefined ? undefined : readBudget(budgetText);
  const place = placeOf((members.get("budget") ?? { value: body }).value);
  if (typeof budget === "string") problems.push({ ...place, message: budget });
  const all = members.get("jobs");
  if (all === undefined) problems.push({ ...placeOf(body), message: 'the file has no "jobs"' });
  else if (!isObject(all.value))
    problems.push({ ...placeOf(all.value), message: '"jobs" is an object: a name for each job' });
  const notify = textOf(members.get("notify"), problems);
  const named = all !== undefined && isObject(all.value) ? membersOf(all.value, '"jobs"', problems) : [];
  if (problems.length > 0) throw refusal(name, problems);
  const shared: Shared = {
    folder,
    log: log === undefined ? undefined : resolve(folder, log),
    notify,
    budget: typeof budget === "string" ? undefined : budget,
  };
  const jobs: Job[] = [];
  const outputs = new Map<string, string>();
  for (const member of named) {
    const found: Problem[] = [];
    const job = await readJob(member, shared, keysOf, found);
    const other = job.output === undefined ? undefined : outputs.get(job.output);
    if (other !== undefined) found.push({ ...member.at, message: `it writes the same output as ${other}` });
    else if (job.output !== undefined) outputs.set(job.output, job.name);
    jobs.push({ ...job, problem: found.length === 0 ? undefined : refusal(name, found) });
  }
  return { path, folder, budget: shared.budget, jobs };
}

function textOf(member: Member | undefined, problems: Problem[]): string | undefined {
  if (member === undefined) return undefined;
  if (member.value.type === "String" && member.value.value.trim() !== "") return member.value.value;
  problems.push({ ...placeOf(member.value), message: `"${member.key}" is a text` });
  return undefined;
}

type Read = Omit<Job, "problem">;

async function readJob(
  { key: name, at, value: node }: Member,
  shared: Shared,
  keysOf: (command: JobCommand) => Promise<readonly JobKey[]>,
  problems: Problem[],
): Promise<Read> {
  const add = (place: Place, message: string): void => void problems.push({ ...place, message });
  const none: Read = {
    name,
    command: "search",
    schedule: undefined,
    argv: [],
    output: undefined,
    cap: undefined,
    log: shared.log,
    notify: shared.notify,
    ifOlderThan: undefined,
  };
  if (!JOB_NAME.test(name))
    add(at, `"${echo(name)}" is no name of a job: letters, digits, dashes, dots and _, at most 64`);
  if (!isObject(node)) {
    add(placeOf(node), "a job is an object");
    return none;
  }
  const said = membersOf(node, "a job", []).find(({ key }) => key === "command");
  const command = said === undefined ? JOB_COMMANDS[0] : JOB_COMMANDS.find((known) => known === plainOf(said.value));
  if (said !== undefined && command === undefined)
    add(placeOf(said.value), `"command" is ${JOB_COMMANDS.join(" or ")}`);
  const keys = await keysOf(command ?? JOB_COMMANDS[0]);
  const members = membersOf(node, "a job", problems, ["command", "schedule", ...keys.map(({ key }) => key)]);
  const find = (key: string): Member | undefined => members.find((member) => member.key === key);
  const argv: string[] = [command ?? JOB_COMMANDS[0]];
  for (const member of members) {
    const known = keys.find(({ key }) => key === member.key);
    if (known === undefined || OF_THE_RUNNER.has(member.key)) continue;
    argv.push(...(known.key === "filters" ? filterFlags(member, problems) : flagsOf(known, member, problems)));
  }
  // A refresh writes the list that it reads, unless it is told otherwise.
  const written = find("output") ?? find("list");
  const output = textOf(written, problems);
  // A job writes its file again each time: what keeps the old one are the guards (docs/output.md, "Files that stay"). A table's rows stay anyway.
  const isFile = output !== undefined && engineOf(output) === undefined;
  if (isFile && find("overwrite") === undefined && keys.some(({ key }) => key === "overwrite"))
    argv.push("--overwrite");
  if (written === undefined) add(at, 'it has no "output": the file to write');
  const cap = capOf(find("max_credits"), at, shared, problems);
  const log = textOf(find("log"), problems);
  return {
    name,
    command: command ?? JOB_COMMANDS[0],
    schedule: await scheduleOf(find("schedule"), problems),
    argv,
    output: output === undefined ? undefined : outputOf(output, written, shared.folder, problems),
    cap,
    log: log === undefined ? shared.log : resolve(shared.folder, log),
    notify: textOf(find("notify"), problems) ?? shared.notify,
    ifOlderThan: spanOf(find("if_older_than"), problems),
  };
}

function outputOf(text: string, member: Member | undefined, folder: string, problems: Problem[]): string | undefined {
  try {
    return resolveOutput(text, folder);
  } catch (error) {
    problems.push({ ...placeOf((member as Member).value), message: (error as Error).message });
    return undefined;
  }
}

function spanOf(member: Member | undefined, problems: Problem[]): number | undefined {
  const text = textOf(member, problems);
  const span = text === undefined ? undefined : spanMs(text);
  if (member !== undefined && text !== undefined && span === undefined) {
    problems.push({
      ...placeOf(member.value),
      message: `"if_older_than" is a span such as 12h, 6d or 8w, not "${echo(text)}"`,
    });
  }
  return span;
}

async function scheduleOf(member: Member | undefined, problems: Problem[]): Promise<Schedule | undefined> {
  const text = textOf(member, problems);
  if (member === undefined || text === undefined) return undefined;
  const schedule = await readSchedule(text);
  if (typeof schedule !== "string") return schedule;
  problems.push({ ...placeOf(member.value), message: schedule });
  return undefined;
}

/** The consent of a job is its cap: nobody is there to be asked. */
function capOf(member: Member | undefined, at: Place, { budget }: Shared, problems: Problem[]): Credits | undefined {
  if (member === undefined) {
    problems.push({
      ...at,
      message: 'it has no "max_credits": the most that it may spend each time, and the consent to it',
    });
    return undefined;
  }
  const value = plainOf(member.value);
  const cap = typeof value === "string" || typeof value === "number" ? parseCredits(value) : undefined;
  if (cap !== undefined && budget !== undefined && cap > budget) {
    const message = `"max_credits" ${formatCredits(cap)} is more than the whole budget of ${formatCredits(budget)} a month`;
    problems.push({ ...placeOf(member.value), message });
  }
  return cap;
}

const SCALAR = new Set(["String", "Number"]);

function flagsOf({ key, flag, takes }: JobKey, { value }: Member, problems: Problem[]): string[] {
  const wrong = (should: string): string[] => {
    problems.push({ ...placeOf(value), message: `"${key}" is ${should}` });
    return [];
  };
  if (takes === "switch") {
    if (value.type !== "Boolean") return wrong("true or false");
    return value.value ? [flag] : [];
  }
  const each = value.type === "Array" && takes === "list" ? value.elements.map((element) => element.value) : [value];
  if (each.some(({ type }) => !SCALAR.has(type))) {
    return wrong(takes === "list" ? "a text, or a list of texts" : "a text or a number");
  }
  return each.map((node: AnyNode) => (flag === "" ? String(plainOf(node)) : `${flag}=${String(plainOf(node))}`));
}

/** Filters as the flags that they are, or the name of a file of them. */
function filterFlags(member: Member, problems: Problem[]): string[] {
  const { value } = member;
  if (!isObject(value))
    return flagsOf(
      { key: "filters", flag: "--filters", description: "", takes: "list", values: undefined },
      member,
      problems,
    );
  const before = problems.length;
  const members = membersOf(value, '"filters"', problems, FILTER_KEYS);
  if (problems.length > before) return [];
  const checked = checkFilters(plainOf(value));
  if (!checked.ok) {
    for (const { key, message } of checked.issues) {
      problems.push({ ...placeOf(members.find((one) => one.key === key)?.value ?? value), message });
    }
    return [];
  }
  return filterWords(checked.filters);
}

/** The jobs of these names, in the order of the file. @throws CliError exit 2 for a name that none has */
export async function jobsNamed({ jobs, path }: JobsFile, names: readonly string[]): Promise<readonly Job[]> {
  const known = jobs.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const { nearest } = await import("../../shared/contract/suggest.ts");
    const near = nearest(unknown, known);
    throw usageError(
      `${path} has no job "${echo(unknown)}"`,
      near === undefined ? `its jobs: ${known.join(", ")}` : `did you mean ${near}?`,
      "no_such_job",
    );
  }
  return jobs.filter(({ name }) => names.length === 0 || names.includes(name));
}
