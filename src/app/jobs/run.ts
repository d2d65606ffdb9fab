import { existsSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { stateDir } from "../../engine/connections/paths.ts";
import { placeOf, sha256Of } from "../../engine/output/paths.ts";
import { engineOf } from "../../engine/output/tables/target.ts";
import { acquireLock, type Lock } from "../../engine/runs/lock.ts";
import { type RunSpend, readSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import { type Credits, credits, creditsOrNull, ZERO } from "../../shared/contract/money.ts";
import { harmlessLine } from "../../shared/contract/text.ts";
import { type CliError, EXIT, failed, usageError } from "../../shared/errors.ts";
import { buy, quote } from "../buy/buy.ts";
import { type Order, worldOf } from "../buy/order.ts";
import { failureOf } from "../failures.ts";
import { openRuns, requireAsWritten } from "../keep/store.ts";
import type { Refreshing, RefreshOrder, RefreshReceipt } from "../own/refresh/work.ts";
import { type Connecting, inSession, type Session, type SessionEvents } from "../session.ts";
import { againstBudget, type BudgetUse, monthlyBudget, withinBudget } from "./budget.ts";
import type { Job, JobsFile } from "./file.ts";
import {
  appendOutcome,
  type History,
  historyOf,
  jobsFolder,
  keyOf,
  lockOf,
  makeJobFolder,
  type RunOutcome,
} from "./history.ts";
import { FILTER_WORDS, heldUp, inKeys, refreshOf, searchOf } from "./order.ts";
import { type Ended, nearing, notified, tellOutcome } from "./outcome.ts";

const HAND_ON_MS = 600_000;

/** What is said for all jobs, and holds where a job says nothing itself. */
export interface JobTerms extends Connecting {
  readonly lists: Refreshing;
  /** Hears what a job did, before log and notice do. */
  readonly say?: (outcome: JobOutcome, context: Context) => void;
  readonly listen?: ((context: Context) => SessionEvents) | undefined;
  /** What the jobs that were quoted before would take of a budget, by the budget. */
  readonly ahead?: Map<string, Credits>;
}

export type JobOutcome =
  | {
      readonly kind: "search";
      readonly order: Order;
      readonly purchase: Awaited<ReturnType<typeof buy>>;
    }
  | {
      readonly kind: "refresh";
      readonly receipt: RefreshReceipt;
      readonly failure: CliError | undefined;
    };

/** `budgetLeft`: credits of the file's budget, where it has one. */
export type Quoted = Awaited<ReturnType<typeof pricedIn>>;

interface Work {
  readonly job: Job;
  readonly file: JobsFile;
  readonly terms: JobTerms;
  /** Of the job: its folder, and a stderr whose lines begin with its name. */
  readonly context: Context;
  readonly history: History;
  /** What is nearly spent, as the job finds it. */
  readonly warnings: RunOutcome["warnings"][number][];
}

/**
 * The world of a job: relative to the folder of its file, and what it says begins with its name.
 */
function contextOf({ name }: Job, { folder }: JobsFile, context: Context): Context {
  const stream = (take: (text: string) => void): Writable =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        take(chunk.toString("utf8"));
        done();
      },
    });

  return Object.create(context, {
    cwd: { value: folder },
    stdout: { value: stream(() => undefined) },
    stderr: {
      value: stream((text) => void context.stderr.write(text.replace(/^(?=.)/gm, `${name}: `))),
    },
  }) as Context;
}

/**
 * @returns how it went, and what is still being told
 * a monitor: to be awaited before the process ends
 */
export async function runJob(job: Job, file: JobsFile, terms: JobTerms, outside: Context) {
  const key = keyOf(file, job.name);
  if (job.problem === undefined) await makeJobFolder(outside, key);

  const history = await historyOf(outside, key);
  const context = contextOf(job, file, outside);
  const work: Work = { job, file, terms, context, history, warnings: [] };
  let locked = false;
  const isMine = (run: RunSpend): Promise<boolean> => isOf(job, run, outside);
  const told = await tellOutcome(
    {
      job,
      key,
      rowsBefore: history.wrote?.rows ?? null,
      isMine,
      warnings: work.warnings,
    },
    outside,
    async (begin) => {
      if (job.problem !== undefined) throw job.problem;

      const lock = await lockJob(job.name, key, outside).catch((error: unknown) => {
        locked = failureOf(error).exitCode === EXIT.locked;
        throw error;
      });

      begin();
      try {
        const outcome = await atService(work, (session) => purchase(work, session));
        terms.say?.(outcome, context);
        return endedOf(outcome);
      } catch (error) {
        throw heldUp(failureOf(error), job, file);
      } finally {
        await lock.release();
      }
    },
  );

  // One that found the job at work has no part in its history;
  // a job that breaks a rule may have no name for a folder.
  if (!locked && job.problem === undefined) await appendOutcome(outside, key, told.outcome);

  return told;
}

/**
 * What a job would do and cost, by free calls.
 * @throws CliError as the job itself would before it buys
 */
export async function quoteJob(
  job: Job,
  file: JobsFile,
  terms: JobTerms,
  outside: Context,
): Promise<Quoted> {
  if (job.problem !== undefined) throw job.problem;

  const history = await historyOf(outside, keyOf(file, job.name));
  const context = contextOf(job, file, outside);
  const work: Work = { job, file, terms, context, history, warnings: [] };

  const priced = async (session: Session): Promise<Quoted> => {
    const held = await budgetAt(work, session);
    if (held === undefined) return await pricedIn(work, session, undefined);

    const { budget, turn } = held;
    const { of } = turn.near;
    const before = terms.ahead?.get(of) ?? ZERO;
    const quoted = await againstBudget({ ...budget, ahead: before }, turn, context, (left) =>
      pricedIn(work, session, left),
    );
    terms.ahead?.set(of, credits(before + quoted.most));
    return quoted;
  };
  return await atService(work, priced).catch((error: unknown) => {
    throw failureOf(error).inWordsOf(inKeys(job.command));
  });
}

async function pricedIn(work: Work, session: Session, budgetLeft: Credits | undefined) {
  const { context, job, terms } = work;
  const events = eventsOf(context);
  const left = creditsOrNull(budgetLeft);

  if (job.command === "refresh") {
    const named = await refreshOrder(work);
    const order = { ...named, terms: { ...named.terms, budgetLeft } };
    const plan = await terms.lists.planRefresh(order, session, context, events);
    return { kind: "refresh", order, plan, most: plan.most, budgetLeft: left } as const;
  }

  const order = { ...(await searchOrder(work)), budgetLeft };
  const { quote: priced } = await quote(order, worldOf(session, context), events);
  return { kind: "search", order, quote: priced, most: priced.credits, budgetLeft: left } as const;
}

async function purchase(work: Work, session: Session): Promise<JobOutcome> {
  const { job, context } = work;
  const events = eventsOf(context);

  // Read before the budget is: what cannot be read costs nobody a turn.
  if (job.command === "refresh") {
    const { terms, ...order } = await refreshOrder(work);
    const { lists } = work.terms;
    const command = job.values.hand_to;
    let failure: CliError | undefined;
    const moved = async (lines: string): Promise<void> => {
      if (command !== undefined) failure = await handOn(lines, command, context);
    };

    const receipt = await underBudget(work, session, (budgetLeft) =>
      lists.refresh(
        { ...order, output: order.output ?? "", terms: { ...terms, budgetLeft } },
        session,
        context,
        {
          ...events,
          moved,
        },
      ),
    );
    return { kind: "refresh", receipt, failure };
  }

  const order = await searchOrder(work);
  const result = await underBudget(work, session, (budgetLeft) =>
    buy({ ...order, budgetLeft }, worldOf(session, context), events),
  );
  return { kind: "search", order, purchase: result };
}

/**
 * @returns how it failed (exit 1): what moved is in
 * the list's history by then, and not handed on again
 */
async function handOn(
  lines: string,
  command: string,
  context: Context,
): Promise<CliError | undefined> {
  const problem = await notified(command, lines, context, HAND_ON_MS);
  if (problem === undefined) return undefined;
  return failed.internal(
    `the list is up to date, but what it is handed to ${problem}: ${harmlessLine(command, 80)}`,
    "who moved is in the files beside the list, and is not handed on again",
    "not_handed_on",
  );
}

const searchOrder = async (work: Work): Promise<Order> => {
  const overwrite = await mayReplace(work);
  return { ...(await searchOf(work.job, work.context)), overwrite };
};

async function refreshOrder(work: Work): Promise<RefreshOrder> {
  const order = await refreshOf(work.job, work.context);
  return { ...order, terms: { ...order.terms, overwrite: await mayReplace(work) } };
}

/** The cap of a job is the consent to it: nobody is there to be asked. */
const eventsOf = ({ stderr }: Context) => ({
  agree: async (): Promise<void> => undefined,
  agreeToRest: async (): Promise<void> => undefined,
  warning: (text: string): void => void stderr.write(`${text}\n`),
  words: FILTER_WORDS,
});

async function atService<T>(
  { job, terms, context }: Work,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { connection, base_url, paging, max_wait } = job.values;
  const own = { connection, baseUrl: base_url, paging, maxWait: max_wait };
  const said = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return await inSession(context, { ...terms, ...said }, terms.listen?.(context) ?? {}, work);
}

/**
 * Whether the job wrote the file last, or says that it may.
 * @throws CliError exit 2 where another wrote it
 */
async function mayReplace({ job, context, history }: Work): Promise<boolean> {
  const { output, values } = job;
  if (values.overwrite !== undefined) return values.overwrite;

  const isFile = output !== undefined && engineOf(output) === undefined;
  // Who names a file as the list means that file.
  if (!isFile || values.list !== undefined || !existsSync(output)) return false;
  await placeOf(output);

  const mine = history.wrote?.output === output ? history.wrote : undefined;
  // A refresh knows the lists that are kept of its segment, whoever kept them.
  if (mine === undefined && job.command === "refresh") return false;

  const since = mine === undefined ? 0 : Date.parse(mine.finished);
  const { runs } = await readSpend(join(stateDir(context), "runs"), since);
  // What a run of the job itself took from earlier ones cost nothing, and is written all the same.
  const ofJob = runs.filter(isOfJob(job)).sort(byId);
  const own = mine === undefined ? await lastWriting(output, ofJob, context) : undefined;
  if (mine === undefined && own === undefined) throw foreign(output, undefined);

  const others = runs.filter(
    (run) => run.days.length > 0 && !isOfJob(job)(run) && run.run > (own?.run ?? ""),
  );
  for (const run of others) if (await wrote(run.run, output, context)) throw foreign(output, run);

  await requireAsWritten(output, context, job.command === "refresh");

  // A run that is not over goes on where it may put
  // its file, as that of a search that is typed again.
  return own === undefined || (await wrote(own.run, output, context));
}

const byId = (one: RunSpend, other: RunSpend): number => (one.run < other.run ? -1 : 1);

const isOfJob =
  ({ name }: Job) =>
  (run: RunSpend): boolean =>
    run.job === name;

/**
 * Of a job that ended before its history was written: the run that tells what the history does not.
 */
async function lastWriting(
  output: string,
  runs: readonly RunSpend[],
  context: Context,
): Promise<RunSpend | undefined> {
  for (const run of runs.toReversed())
    if ((await writes(run.run, output, context)) === true) return run;

  return undefined;
}

const foreign = (output: string, run: RunSpend | undefined): CliError => {
  const who =
    run === undefined
      ? "this job did not write it"
      : `run ${run.run} wrote it, ${run.job ?? "by hand"}`;
  return usageError(`${output} exists, and ${who}; nothing was spent`, undefined, "file_exists");
};

/** Whether a run writes to an output; undefined where nothing tells any more. */
async function writes(run: string, output: string, context: Context): Promise<boolean | undefined> {
  const plan = await openRuns(context)
    .readPlan(run)
    .catch(() => undefined);
  if (plan?.wrote !== undefined) return plan.wrote === (await sha256Of(output));
  const to = plan?.output ?? (plan?.target.kind === "search" ? plan.target.list : undefined);
  if (to === undefined) return undefined;
  return to === output || to === (await placeOf(output).catch(() => output));
}

async function wrote(run: string, output: string, context: Context): Promise<boolean> {
  if ((await writes(run, output, context)) !== true) return false;
  return (await openRuns(context).open(run)).state.done !== undefined;
}

const isOf = async (
  { name, output = "" }: Job,
  run: RunSpend,
  context: Context,
): Promise<boolean> => run.job === name && (await writes(run.run, output, context)) !== false;

async function lockJob(name: string, key: string, context: Context): Promise<Lock> {
  const { now, sleep, interrupted: signal } = context;
  try {
    return await acquireLock(lockOf(context, key), { now, sleep, signal, what: `job ${name}` });
  } catch (error) {
    const failure = failureOf(error);
    if (failure.option !== "wait") throw failure;
    throw failure.with({ hint: "headcount jobs status shows how it goes; nothing was bought" });
  }
}

/** Under a budget one job at a time counts and buys. */
async function underBudget<T>(
  work: Work,
  session: Session,
  buys: (left: Credits | undefined) => Promise<T>,
): Promise<T> {
  const held = await budgetAt(work, session);
  if (held === undefined) return await buys(undefined);
  return await withinBudget(held.budget, held.turn, work.context, buys);
}

/** The budget of a job where it buys; undefined: it has none. */
async function budgetAt({ job, file, context, warnings }: Work, session: Session) {
  const cap = file.budget;
  if (cap === undefined) return undefined;

  const keyMode =
    session.keyMode ?? (await session.client.account(context.interrupted)).keyMode ?? "live";

  const period = `${new Date(context.now()).toISOString().slice(0, 7)} (UTC)`;
  const turn = {
    folder: jobsFolder(context),
    name: ".budget.lock",
    what: "the budget of the jobs",
    onWait: () =>
      void context.stderr.write("waiting for another job: a budget is counted one job at a time\n"),
    continues: (run: RunSpend) => isOf(job, run, context),
    refusal: {
      period,
      hint: "headcount spend --by job shows on what; the file's budget allows more",
    },
    near: {
      share: file.warnAt,
      of: `${cap} ${period} ${session.serviceId} ${keyMode}`,
      tell: ({ spent }: BudgetUse) => void warnings.push(nearing("budget", spent, cap)),
    },
  };
  const till = { serviceId: session.serviceId, keyMode };
  return { turn, budget: monthlyBudget(cap, till, context.now()) };
}

function endedOf(outcome: JobOutcome): Ended {
  if (outcome.kind === "search") {
    const { receipt, failure } = outcome.purchase;
    return { rows: receipt.distinct, run: receipt.run, written: receipt.output, receipt, failure };
  }
  const { receipt, failure } = outcome;
  const { rows, sha256 } = receipt.files.list;
  return { rows, run: receipt.runs[0], written: { sha256, added: null }, receipt, failure };
}
