import { Writable } from "node:stream";
import { applyRetention } from "../../cli/commands/runs/remove.ts";
import type { Command, GlobalOptions } from "../../cli/options.ts";
import { Printer } from "../../cli/terminal/printer.ts";
import type { Receipt } from "../../engine/purchase/receipt.ts";
import { acquireLock, type Lock, type LockOptions } from "../../engine/runs/lock.ts";
import type { RunSpend } from "../../engine/runs/spend.ts";
import type { Context, OutputStream } from "../../shared/context.ts";
import { type Credits, formatCredits } from "../../shared/contract/money.ts";
import { counted, harmless } from "../../shared/contract/text.ts";
import { type CliError, EXIT } from "../../shared/errors.ts";
import { timeText } from "../../shared/numbers.ts";
import { failureOf } from "../failures.ts";
import { notePlace } from "../keep/places.ts";
import type { RefreshReceipt } from "../own/refresh/keep.ts";
import { monthlyBudget } from "./budget.ts";
import { type Job, type JobsFile, jobsNamed } from "./file.ts";
import { historyOf, isDue, jobsFolder, lockOf, makeJobFolder, remember } from "./history.ts";
import { withinBudget } from "./named-budget.ts";
import { type Ended, endedWith, freshness, leftAlone, type Outcome, told } from "./outcome.ts";
import { nextTime } from "./schedule.ts";

/** The program for a command line, with another world around it than the one that runs the jobs. */
export type BuildProgram = (context: Context, argv: readonly string[]) => Promise<Command>;

export interface RunJobsOptions extends GlobalOptions {
  readonly file?: string;
  readonly budget?: Credits;
  /** Milliseconds. */
  readonly ifOlderThan?: number;
  /** Absolute path. */
  readonly log?: string;
  readonly notify?: string;
  readonly dryRun?: boolean;
}

interface World {
  readonly file: JobsFile;
  readonly options: RunJobsOptions;
  readonly context: Context;
  readonly build: BuildProgram;
  readonly printer: Printer;
}

interface Failed {
  readonly job: string;
  readonly failure: CliError;
}

/** Runs jobs one after another; the failure of one does not stop the others. @throws CliError with the first failure's exit code */
export async function runJobs(
  names: readonly string[],
  file: JobsFile,
  options: RunJobsOptions,
  context: Context,
  build: BuildProgram,
): Promise<void> {
  const printer = new Printer(context, options);
  const world: World = { file, options, context, build, printer };
  await notePlace(context, { what: "jobs", path: file.path });
  const chosen = names.length > 0 ? await jobsNamed(file, names) : await dueJobs(world);
  const documents: unknown[] = [];
  const failures: Failed[] = [];
  let ran = 0;
  for (const job of chosen) {
    if (context.interrupted.aborted) break;
    ran++;
    const { document, failure } = await (options.dryRun === true ? quoteJob : runJob)(job, world);
    documents.push(document);
    if (failure === undefined) continue;
    failures.push({ job: job.name, failure });
    // The only one is told by what is thrown.
    if (chosen.length > 1) sayFailure(job.name, failure, printer);
  }
  if (printer.json) printer.document(documents);
  if (options.dryRun !== true && !context.interrupted.aborted) await applyRetention(context, printer);
  const [first] = failures;
  const interrupted = failures.find(({ failure }) => failure.exitCode === EXIT.interrupted);
  if (interrupted !== undefined && chosen.length > 1) {
    const left = chosen.length - ran;
    const rest = left === 0 ? "" : `; ${counted(left, "job was", "jobs were")} not begun`;
    throw interrupted.failure.with({ message: `interrupted${rest}`, details: [], hint: undefined });
  }
  if (first === undefined) return context.interrupted.throwIfAborted();
  if (chosen.length === 1) throw first.failure.with({ message: `${first.job}: ${first.failure.message}` });
  const list = failures.map(({ job, failure }) => `${job} (exit ${failure.exitCode})`).join(", ");
  throw first.failure.with({
    code: "jobs_failed",
    message: `${failures.length} of ${counted(chosen.length, "job")} failed: ${list}`,
    details: [],
    hint: undefined,
  });
}

function sayFailure(job: string, { message, details, hint }: CliError, printer: Printer): void {
  const lines = [`error: ${message}`, ...details, ...(hint === undefined ? [] : [`hint: ${hint}`])];
  for (const line of lines) printer.say(`${job}: ${harmless(line)}`);
}

/** Jobs whose time has come, and those of which nobody can tell because they break a rule. */
async function dueJobs({ file, context, printer }: World): Promise<readonly Job[]> {
  const due: Job[] = [];
  const later: number[] = [];
  for (const job of file.jobs) {
    const isBroken = job.problem !== undefined;
    if (isBroken || (await isDue(job.schedule, await historyOf(context, job.name), context.now()))) due.push(job);
    const next = job.schedule === undefined ? undefined : await nextTime(job.schedule, context.now());
    if (next !== undefined) later.push(next);
  }
  if (due.length === 0) {
    const next = later.length === 0 ? "" : `; the next is at ${timeText(Math.min(...later))}`;
    printer.note(`No job is due${next}. headcount jobs run NAME runs one all the same.`);
  }
  return due;
}

interface Ran {
  readonly document: unknown;
  readonly failure: CliError | undefined;
}

async function runJob(job: Job, { file, options, context, build }: World): Promise<Ran> {
  const { name, command, output } = job;
  if (!job.problem) await makeJobFolder(context, name);
  const { done } = await historyOf(context, name);
  let locked = false;
  const telling = {
    command,
    job: name,
    output,
    rowsBefore: done?.rows ?? undefined,
    log: options.log ?? job.log,
    notify: options.notify ?? job.notify,
    isMine: (spend: { readonly job: string | null }) => spend.job === name,
  };
  const work = async (): Promise<Ended> => {
    if (job.problem !== undefined) throw job.problem;
    const span = job.ifOlderThan ?? options.ifOlderThan;
    const young = span === undefined ? undefined : await freshness(output, span, context);
    if (young !== undefined) {
      context.stderr.write(`${name}: ${leftAlone(young, context.now())}\n`);
      return { skipped: true };
    }
    const lock = await lockJob(name, context).catch((error) => {
      locked = true;
      throw error;
    });
    try {
      return await underBudget(options.budget ?? file.budget, name, context, async (left) =>
        endedOf(command, await execute([...argvOf(job, options), "--yes", ...left], job, { file, context, build })),
      );
    } finally {
      await lock.release();
    }
  };
  const { outcome, failure } = await told(telling, context, work);
  // One that found the job at work has no part in its history; a job that breaks a rule may have no name for a folder.
  if (!locked && job.problem === undefined) await remember(context, name, outcome);
  return { document: outcome satisfies Outcome, failure };
}

async function lockJob(name: string, context: Context): Promise<Lock> {
  try {
    return await acquireLock(lockOf(context, name), lockOptions(`job ${name}`, context));
  } catch (error) {
    const failure = failureOf(error);
    if (failure.exitCode !== EXIT.locked || failure.hint?.startsWith("wait") !== true) throw failure;
    throw failure.with({ hint: "headcount jobs status shows how it goes; nothing was bought" });
  }
}

const lockOptions = (what: string, { now, sleep, interrupted }: Context): LockOptions => ({
  ...{ now, sleep, what },
  signal: interrupted,
});

/** Under a budget one job at a time counts and buys. */
async function underBudget(
  cap: Credits | undefined,
  name: string,
  context: Context,
  work: (flags: readonly string[]) => Promise<Ended>,
): Promise<Ended> {
  if (cap === undefined) return await work([]);
  const turn = {
    ...{ folder: jobsFolder(context), name: ".budget.lock", what: "the budget of the jobs" },
    onWait: () =>
      void context.stderr.write(`${name}: waiting for another job: a budget is counted one job at a time\n`),
    continues: (run: RunSpend) => run.job === name,
    refusal: {
      period: `${new Date(context.now()).toISOString().slice(0, 7)} (UTC)`,
      hint: "headcount spend --by job shows on what; --budget N/month, or the file, allows more",
    },
  };
  return await withinBudget(monthlyBudget(cap, context.now()), turn, context, (left) =>
    work([`--budget-left=${formatCredits(left)}`]),
  );
}

async function quoteJob(job: Job, { file, options, context, build, printer }: World): Promise<Ran> {
  try {
    if (job.problem !== undefined) throw job.problem;
    const text = await execute([...argvOf(job, options), "--dry-run"], job, { file, context, build }, printer.json);
    if (!printer.json) printer.text(`${job.name}\n${text}`);
    return { document: { job: job.name, quote: printer.json ? JSON.parse(text) : null }, failure: undefined };
  } catch (error) {
    const failure = failureOf(error);
    return { document: { job: job.name, quote: null }, failure };
  }
}

/** The command line of a job, with what is said for all of them where the job says nothing. */
function argvOf({ argv, name }: Job, options: RunJobsOptions): readonly string[] {
  const has = (flag: string): boolean => argv.some((word) => word === flag || word.startsWith(`${flag}=`));
  const all: readonly (readonly [string, string | number | undefined])[] = [
    ["--connection", options.connection],
    ["--base-url", options.baseUrl],
    ["--paging", options.paging],
    ["--max-wait", options.maxWait],
  ];
  const more = all.flatMap(([flag, value]) => (value === undefined || has(flag) ? [] : [`${flag}=${value}`]));
  return [...argv, ...more, ...(options.verbose === true ? ["--verbose"] : []), `--job=${name}`];
}

/** What the command would do from the folder of the file, in this process. @returns what it printed to stdout */
async function execute(
  argv: readonly string[],
  { name }: Job,
  { file, context, build }: Pick<World, "file" | "context" | "build">,
  json = true,
): Promise<string> {
  const chunks: Buffer[] = [];
  const stdout = lines((chunk) => chunks.push(chunk));
  const stderr = lines((chunk) => context.stderr.write(chunk.toString("utf8").replace(/^(?=.)/gm, `${name}: `)));
  const whole = [...argv, "--quiet", ...(json ? ["--json"] : [])];
  const inner = Object.create(context, {
    argv: { value: whole },
    cwd: { value: file.folder },
    stdout: { value: stdout },
    stderr: { value: stderr },
  }) as Context;
  const program = await build(inner, whole);
  await program.parseAsync(whole, { from: "user" });
  return Buffer.concat(chunks).toString("utf8");
}

const lines = (take: (chunk: Buffer) => void): OutputStream =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      take(Buffer.from(chunk));
      done();
    },
  });

function endedOf(command: Job["command"], text: string): Ended {
  const document: unknown = JSON.parse(text);
  if (command === "search") return endedWith(document as Receipt);
  const receipt = document as RefreshReceipt;
  const { rows, sha256 } = receipt.files.list;
  return { rows, run: receipt.runs[0], written: { sha256, added: null }, receipt };
}
