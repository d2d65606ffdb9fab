import { realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { configDir } from "../../engine/connections/paths.ts";
import { engineOf, resolveOutput } from "../../engine/output/tables/target.ts";
import type { Context } from "../../shared/context.ts";
import { checkFilters } from "../../shared/contract/filters.ts";
import { type Credits, formatCredits } from "../../shared/contract/money.ts";
import { didYouMean } from "../../shared/contract/suggest.ts";
import { echo } from "../../shared/contract/text.ts";
import { FILTER_KEYS } from "../../shared/contract/vocabulary.ts";
import {
  type DocumentMember,
  type DocumentProblem,
  documentMembers,
  documentRefusal,
  isObjectNode,
  readDocument,
  textPlaceOf,
} from "../../shared/document.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { readInput } from "../../shared/input.ts";
import {
  FILE_KEYS,
  JOB_NAME,
  type JobCommand,
  type JobValues,
  KEYS,
  type KeyName,
  type Keys,
  type KeyValues,
  readValue,
} from "./keys.ts";
import { scheduleProblem } from "./schedule.ts";

export interface Job {
  readonly name: string;
  readonly command: JobCommand;
  readonly schedule: string | undefined;
  /**
   * Its keys as they were read; paths and names of files are relative to the folder of the file.
   */
  readonly values: JobValues;
  /** Absolute path, or the address of a table. */
  readonly output: string | undefined;
  /** The share of its cap, from 0 to 1, that is said once it is spent. */
  readonly warnAt: number;
  /** Absolute path. */
  readonly log: string | undefined;
  readonly notify: string | undefined;
  readonly notifyFailure: string | undefined;
  /** Why it cannot be run. The others can. */
  readonly problem: CliError | undefined;
}

export interface JobsFile {
  /** Absolute path. */
  readonly path: string;
  readonly folder: string;
  /** Credits of a calendar month (UTC), of each service. */
  readonly budget: Credits | undefined;
  /** The same share of the budget. */
  readonly warnAt: number;
  /** Absolute path of a folder that is synced with. */
  readonly sync: string | undefined;
  readonly jobs: readonly Job[];
}

const WARN_AT = 0.8;
const MOST_BYTES = 1 << 20;

interface Shared
  extends Pick<JobsFile, "folder" | "budget" | "warnAt">,
    Pick<Job, "log" | "notify" | "notifyFailure"> {
  readonly plainOf: (node: DocumentMember["value"]) => unknown;
}

/**
 * Reads a file of jobs (docs/reference/jobs-file.md). A job that breaks a rule does not hide the
 * others.
 * @throws CliError exit 2, with line and column, where the file as a whole cannot be used
 */
export async function readJobs(context: Context, word: string | undefined): Promise<JobsFile> {
  const path = resolve(context.cwd, word ?? join(configDir(context), "jobs.jsonc"));
  const text = await readInput(context, path, "jobs", MOST_BYTES).catch((error: CliError) => {
    throw word === undefined
      ? error.with({ hint: "headcount help jobs shows one; --file FILE names another" })
      : error;
  });
  const name = word ?? path;
  const { body, plainOf } = await readDocument(text, name, AS_JOBS);
  const problems: DocumentProblem[] = [];

  if (!isObjectNode(body))
    throw refusal(name, [{ ...textPlaceOf(body), message: "a file of jobs is one JSON object" }]);

  const members = documentMembers(body, "the file", problems, [...Object.keys(FILE_KEYS), "jobs"]);
  const all = members.find(({ key }) => key === "jobs");
  const own = members.filter((member) => member !== all);
  const {
    budget,
    sync,
    log,
    notify,
    notify_failure: notifyFailure,
    warn_at: warnAt = WARN_AT,
  } = valuesOf(own, FILE_KEYS, plainOf, problems);
  const folder = dirname(path);

  let entries: readonly DocumentMember[] = [];
  if (all !== undefined && isObjectNode(all.value))
    entries = documentMembers(all.value, '"jobs"', problems);
  else {
    const message = 'the file has no "jobs": an object with a name for each job';
    problems.push({ ...textPlaceOf(all?.value ?? body), message });
  }
  if (problems.length > 0) throw refusal(name, problems);

  const shared: Shared = {
    folder,
    plainOf,
    log,
    notify,
    notifyFailure,
    budget,
    warnAt,
  };
  const jobs = await jobsOf(entries, shared, name);
  return { path, folder, budget, warnAt, sync: sync && resolve(folder, sync), jobs };
}

/** @param name of the file, as it is told */
async function jobsOf(
  entries: readonly DocumentMember[],
  shared: Shared,
  name: string,
): Promise<readonly Job[]> {
  const jobs: Job[] = [];
  const outputs = new Map<string | undefined, string>();

  for (const member of entries) {
    const faults: DocumentProblem[] = [];
    const job = await readJob(member, shared, faults);
    // Also where a link leads to the file of another job.
    const output = job.output && (await realpath(job.output).catch(() => job.output));
    const other = outputs.get(output);
    if (other !== undefined)
      faults.push({ ...member.at, message: `it writes the same output as ${other}` });
    else if (output !== undefined) outputs.set(output, job.name);
    jobs.push({ ...job, problem: faults.length === 0 ? undefined : refusal(name, faults) });
  }

  return jobs;
}

async function readJob(
  { key: name, at, value: node }: DocumentMember,
  shared: Shared,
  problems: DocumentProblem[],
): Promise<Omit<Job, "problem">> {
  if (!JOB_NAME.test(name)) {
    const rule = "is no name of a job: letters, digits, dashes, dots and _, at most 64";
    problems.push({ ...at, message: `"${echo(name)}" ${rule}` });
  }

  if (!isObjectNode(node)) problems.push({ ...textPlaceOf(node), message: "a job is an object" });

  const members = isObjectNode(node)
    ? documentMembers(node, "a job", problems, Object.keys(KEYS), NO_KEYS)
    : [];
  const places = new Map(members.map((member) => [member.key, textPlaceOf(member.value)]));
  const add = (key: KeyName, message: string): void =>
    void problems.push({ ...(places.get(key) ?? at), message });
  const values = valuesOf(members, KEYS, shared.plainOf, problems);

  // A refresh writes the list that it reads, unless it is told otherwise.
  const written = values.output ?? values.list;
  const output = attempt(() => written && resolveOutput(written, shared.folder));
  if (output instanceof Error) add("output", output.message);

  const table = typeof output === "string" && engineOf(output) !== undefined;
  const command = values.command ?? (table ? "search" : "refresh");
  const log = values.log ?? shared.log;

  problems.push(...keysOfOthers(members, command, values.command === undefined));

  const addMissing: typeof add = (key, message) => {
    if (values[key] !== undefined || !places.has(key)) add(key, message);
  };

  if (isObjectNode(node)) requireWhole({ ...values, command }, table, shared, addMissing);

  const { schedule } = values;
  const wrong = schedule === undefined ? undefined : await scheduleProblem(schedule);
  if (wrong !== undefined) add("schedule", wrong);

  return {
    name,
    command,
    values,
    schedule: wrong === undefined ? schedule : undefined,
    output: typeof output === "string" ? output : undefined,
    warnAt: values.warn_at ?? shared.warnAt,
    log: log && resolve(shared.folder, log),
    notify: values.notify ?? shared.notify,
    notifyFailure: values.notify_failure ?? shared.notifyFailure,
  };
}

/** Keys that another command takes, each a fault where it stands. */
const keysOfOthers = (
  members: readonly DocumentMember[],
  command: JobCommand,
  isAssumed: boolean,
): readonly DocumentProblem[] =>
  members.flatMap(({ key, at }) => {
    const { of } = KEYS[key as KeyName] as { readonly of?: JobCommand };
    if (of === undefined || of === command) return [];
    const meant = isAssumed ? `, so it goes with "command": "${of}"` : "";
    return [{ ...at, message: `"${key}" is a key of a ${of}${meant}` }];
  });

function attempt<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error as Error;
  }
}

const BY_IDS = '"new_only": true in a search finds by ids whom you do not own, for nothing';
const BY_HAND = 'a person decides that each time; "max_credits" is a job\'s consent';

/** What commands take and a job does not, and what does it instead. */
const NO_KEYS: Readonly<Record<string, string>> = {
  ids: BY_IDS,
  read: BY_IDS,
  yes: BY_HAND,
  again: BY_HAND,
  input: 'a job keeps or buys people; headcount enrich and employees read "input"',
};

/** What a job has to say, whatever else it says. */
function requireWhole(
  { command, output, list, max_credits: cap, filters, segment, all, sample }: JobValues,
  table: boolean,
  { budget }: Shared,
  add: (key: KeyName, message: string) => void,
): void {
  if ((output ?? list) === undefined) add("output", 'it has no "output": the file to write');
  if (table && command === "refresh")
    add("output", 'a refresh keeps a file; "command": "search" fills a table');

  // The consent of a job is its cap: nobody is there to be asked.
  if (cap === undefined) {
    add(
      "max_credits",
      'it has no "max_credits": the most that it may spend each time, and the consent to it',
    );
  } else if (budget !== undefined && cap > budget) {
    const most = formatCredits(budget);
    add(
      "max_credits",
      `"max_credits" ${formatCredits(cap)} is more than the whole budget of ${most} a month`,
    );
  }

  if (Object.keys(filters ?? {}).length > 0 || segment !== undefined || list !== undefined) return;
  if (all === true || sample !== undefined) return;

  add(
    "filters",
    'it says not who is wanted: "filters", a "segment" or a "list"; ' +
      'a search with "all": true buys everybody',
  );
}

/** Each read by the rule of its key. */
function valuesOf<Of extends Keys>(
  members: readonly DocumentMember[],
  keys: Of,
  plainOf: Shared["plainOf"],
  problems: DocumentProblem[],
): KeyValues<Of> {
  const values: Record<string, unknown> = {};
  for (const member of members) {
    const value = plainOf(member.value);
    const got = readValue(keys, member.key, value);
    if (typeof got === "string") problems.push({ ...textPlaceOf(member.value), message: got });
    else if (member.key !== "filters" || areFilters(member, value, problems))
      values[member.key] = got.value;
  }
  return values as KeyValues<Of>;
}

/** Whether filters that stand in the job itself are some; else each place that is wrong is told. */
function areFilters(
  { value: node }: DocumentMember,
  value: unknown,
  problems: DocumentProblem[],
): boolean {
  if (!isObjectNode(node)) return true;

  const before = problems.length;
  const members = documentMembers(node, '"filters"', problems, FILTER_KEYS);
  if (problems.length > before) return false;

  const checked = checkFilters(value);
  for (const { key, message } of checked.ok ? [] : checked.issues) {
    problems.push({
      ...textPlaceOf(members.find((one) => one.key === key)?.value ?? node),
      message,
    });
  }

  return checked.ok;
}

/**
 * The jobs of these names, in the order of the file.
 * @throws CliError exit 2 for a name that none has
 */
export async function jobsNamed(
  { jobs, path }: JobsFile,
  names: readonly string[],
): Promise<readonly Job[]> {
  const own = jobs.map(({ name }) => name);
  const unknown = names.find((name) => !own.includes(name));
  if (unknown !== undefined) {
    throw usageError(
      `${path} has no job "${echo(unknown)}"`,
      didYouMean(unknown, own) ?? `its jobs: ${own.join(", ")}`,
      "no_such_job",
    );
  }
  return jobs.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** How a file of jobs that cannot be used is refused. */
const AS_JOBS = {
  hint: "headcount schema jobs-file has every key; headcount help jobs an example",
  code: "invalid_jobs_file",
} as const;

const refusal = (name: string, problems: readonly DocumentProblem[]): CliError =>
  documentRefusal(name, problems, AS_JOBS);
