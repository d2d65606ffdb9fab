import { failureOf } from "../../../app/failures.ts";
import { type Job, type JobsFile, jobsNamed } from "../../../app/jobs/file.ts";
import { aheadText, historyOf, isDue, keyOf } from "../../../app/jobs/history.ts";
import { inKeys } from "../../../app/jobs/order.ts";
import {
  type JobOutcome,
  type JobTerms,
  type Quoted,
  quoteJob,
  runJob,
} from "../../../app/jobs/run.ts";
import { nextTime } from "../../../app/jobs/schedule.ts";
import { enterOwn } from "../../../app/keep/store.ts";
import { planRefresh, refresh } from "../../../app/own/refresh/bring.ts";
import { quoteJson } from "../../../engine/purchase/quote.ts";
import type { Context } from "../../../shared/context.ts";
import { counted, harmless } from "../../../shared/contract/text.ts";
import { type CliError, command, EXIT, option, say } from "../../../shared/errors.ts";
import { timeText } from "../../../shared/numbers.ts";
import type { GlobalOptions } from "../../options.ts";
import { quoteEntries } from "../../purchase/quote-card.ts";
import { planJson, printPlan, printRefreshed } from "../../purchase/refresh-card.ts";
import { printSummary } from "../../purchase/summary.ts";
import { requestLog } from "../../session.ts";
import { Printer } from "../../terminal/printer.ts";
import { applyRetention } from "../runs/remove.ts";

export interface RunOptions extends GlobalOptions {
  readonly file?: string;
  readonly dryRun?: boolean;
}

interface Failed {
  readonly job: string;
  readonly failure: CliError;
}

/**
 * The failure of one job does not stop the others.
 * @throws CliError with the first failure's exit code
 */
export async function runJobs(
  names: readonly string[],
  file: JobsFile,
  options: RunOptions,
  context: Context,
): Promise<void> {
  const printer = new Printer(context, options);
  if (printer.json) printer.requireOpen();

  await enterOwn("jobs", file.path, context);

  const chosen =
    names.length > 0 ? await jobsNamed(file, names) : await dueJobs(file, printer, context);
  const documents: object[] = [];
  const failures: Failed[] = [];
  const told: (Promise<void> | undefined)[] = [];
  const asked = { ...options, ahead: new Map() };
  for (const job of chosen) {
    if (context.interrupted.aborted) break;
    const {
      document,
      failure,
      told: pings,
    } = await (options.dryRun === true
      ? tryQuote(job, file, asked, context)
      : run(job, file, options, context));
    documents.push(document);
    told.push(pings);
    if (failure === undefined) continue;
    failures.push({ job: job.name, failure });
    // The only one is told by what is thrown, and with --json each by its document.
    if (chosen.length > 1 && !printer.json) sayFailure(job.name, failure, printer);
  }

  if (printer.json) printer.document(documents);
  if (options.dryRun !== true && !context.interrupted.aborted)
    await applyRetention(context, printer);
  await Promise.all(told);

  if (failures.length === 0) context.interrupted.throwIfAborted();
  else throw failureAll(failures, file, chosen.length, chosen.length - documents.length);
}

function failureAll(
  failures: readonly Failed[],
  { path }: JobsFile,
  chosen: number,
  rest: number,
): unknown {
  const [first] = failures;
  const interrupted = failures.find(({ failure }) => failure.exitCode === EXIT.interrupted);
  if (interrupted !== undefined && chosen > 1) {
    const not = rest === 0 ? "" : `; ${counted(rest, "job was", "jobs were")} not begun`;
    return interrupted.failure.with({ message: `interrupted${not}`, details: [], hint: undefined });
  }
  if (chosen === 1) {
    const { failure, job } = first as Failed;
    return failure.with({ message: say`${job}: ${failure.said}`, resumable: failure.resumable });
  }

  const list = failures.map(({ job, failure }) => `${job} (exit ${failure.exitCode})`).join(", ");
  return first?.failure.with({
    code: "jobs_failed",
    message: `${failures.length} of ${counted(chosen, "job")} failed: ${list}`,
    details: [],
    hint: undefined,
    next: command("jobs run", {
      arguments: failures.map(({ job }) => job),
      options: [option("file", path)],
    }),
    resumable: failures.every(({ failure }) => failure.resumable),
  });
}

function sayFailure(job: string, { message, details, hint }: CliError, printer: Printer): void {
  const lines = [`error: ${message}`, details, hint === undefined ? [] : `hint: ${hint}`].flat();
  for (const line of lines) printer.say(`${job}: ${harmless(`${line}`)}`);
}

/** Jobs whose time has come, and those that break a rule; of the others when they come is said. */
async function dueJobs(
  file: JobsFile,
  printer: Printer,
  context: Context,
): Promise<readonly Job[]> {
  const due: Job[] = [];
  const later: { name: string; next: number | undefined }[] = [];
  for (const job of file.jobs) {
    const { name, schedule, problem } = job;
    const history = await historyOf(context, keyOf(file, name));
    if (history.ahead !== undefined) printer.say(`${name}: ${aheadText(history.ahead)}`);
    if (problem !== undefined || (await isDue(schedule, history, context.now()))) due.push(job);
    else
      later.push({
        name,
        next: schedule === undefined ? undefined : await nextTime(schedule, context.now()),
      });
  }

  const times = later.flatMap(({ next }) => next ?? []);
  if (due.length === 0) {
    const next = times.length === 0 ? "" : `; the next is at ${timeText(Math.min(...times))}`;
    printer.note(`No job is due${next}. headcount jobs run NAME runs one all the same.`);
  } else if (later.length > 0) {
    const when = later.map(
      ({ name, next }) => `${name} (${next === undefined ? "by its name" : timeText(next)})`,
    );
    printer.note(`not due: ${when.join(", ")}`);
  }

  return due;
}

interface Ran {
  readonly document: object;
  readonly failure: CliError | undefined;
  readonly told?: Promise<void> | undefined;
}

const termsOf = (options: RunOptions): JobTerms => ({
  ...options,
  lists: { planRefresh, refresh },
  listen: (inner) => ({ log: requestLog(options, inner) }),
});

async function run(job: Job, file: JobsFile, options: RunOptions, context: Context): Promise<Ran> {
  const terms: JobTerms = {
    ...termsOf(options),
    say: (outcome, inner) => printDone(outcome, job, inner),
  };
  const { outcome, ...rest } = await runJob(job, file, terms, context);
  return { document: outcome, ...rest };
}

function printDone(outcome: JobOutcome, { values, command: kind }: Job, context: Context): void {
  const { output = values.list ?? "" } = values;
  const printer = new Printer(context, { quiet: true });
  if (outcome.kind === "refresh") printRefreshed(outcome.receipt, output, printer);
  else {
    const flags = { output, quiet: true, maxWait: 0, concurrency: 1 };
    const speech = inKeys(kind);
    printSummary(outcome.purchase, { order: outcome.order, flags, speech }, printer);
  }
}

async function tryQuote(
  job: Job,
  file: JobsFile,
  options: RunOptions,
  context: Context,
): Promise<Ran> {
  const printer = new Printer(context, options);

  try {
    const quoted = await quoteJob(job, file, termsOf(options), context);
    if (!printer.json) {
      const { budgetLeft: left } = quoted;
      const within = left === null ? "" : `, and the budget has ${counted(left, "credit")} left`;
      printer.text(`${job.name}${within}\n`);
      await printQuoted(quoted, printer);
    }
    return {
      document: {
        job: job.name,
        quote: documentOf(quoted),
        budget_left: quoted.budgetLeft,
        error: null,
      },
      failure: undefined,
    };
  } catch (error) {
    const failure = failureOf(error);
    const { code, message, hint = null } = failure;
    const refused = { job: job.name, quote: null, budget_left: null };
    return { document: { ...refused, error: { code, message, hint } }, failure };
  }
}

const documentOf = (quoted: Quoted): Record<string, unknown> =>
  quoted.kind === "refresh"
    ? planJson(quoted.plan, quoted.order)
    : quoteJson(quoted.quote, quoted.order.target);

const printQuoted = (quoted: Quoted, printer: Printer): Promise<void> =>
  quoted.kind === "refresh"
    ? printPlan(quoted.plan, quoted.order, printer)
    : printer.card(quoteEntries(quoted.quote, quoted.order.target, true), 2);
