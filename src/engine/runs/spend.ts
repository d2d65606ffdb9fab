import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type Credits,
  credits,
  creditsLess,
  sumOfCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import { makeFolder } from "../../shared/folder.ts";
import type { Books, Quiet } from "./books.ts";
import { type Disk, errorCode } from "./disk.ts";
import { type DaySpend, daysOf, type JournalRecord, type RunState } from "./journal.ts";
import type { Machine } from "./machine.ts";
import type { Plan, RunIdentity } from "./plan.ts";
import {
  finishedSums,
  journalOf,
  knownPlan,
  type RunReader,
  readableState,
  runIds,
} from "./reader.ts";
import { keptText, ofKept } from "./record.ts";

/** Folded from its journal, and kept in its place when the run is removed. */
export interface RunSpend extends Omit<RunIdentity, "target" | "output"> {
  readonly run: string;
  readonly command: string;
  /** Null: somebody by hand. */
  readonly job: string | null;
  readonly budgets: readonly string[];
  readonly machine?: Machine | undefined;
  /** It was removed because it named somebody who is forgotten. */
  readonly forgotten?: true;
  /** What requests that may come to an answer yet may have cost, beyond what is spent. */
  readonly pending: Credits;
  readonly days: readonly DaySpend[];
}

export interface Spend {
  readonly runs: readonly RunSpend[];
  /** What damaged runs spent counts only as far as it can be read. */
  readonly damaged: readonly string[];
}

/** The clock of a file system and that of a process may be apart by so much. */
const CLOCKS_APART_MS = 60_000;

/** A file for each, so that one that is damaged hides nothing of the others. */
const removedFolder = (folder: string): string => join(folder, ".removed");

/** Removed ones included. @param since epoch milliseconds */
export async function readSpend(folder: string, since = 0): Promise<Spend> {
  const runs: RunSpend[] = [];
  const damaged: string[] = [];
  const ids = new Set<string>();
  for await (const { id, path, plan, problem: damage } of runsOf(folder)) {
    ids.add(id);
    const { spend, problem = damage } = spendOf(path, plan, since);
    runs.push(spend);
    if (problem !== undefined) damaged.push(id);
  }

  const removed = await readRemoved(folder);
  // A process may have died before removing the run: then the run itself counts.
  for (const spend of removed.runs)
    if (!ids.has(spend.run))
      runs.push({ ...spend, days: spend.days.filter(({ to }) => to >= since) });

  return { runs, damaged: [...damaged, ...removed.damaged.filter((id) => !ids.has(id))] };
}

/** What removed runs spent. */
export async function readRemoved(folder: string): Promise<Spend> {
  const runs: RunSpend[] = [];
  const damaged: string[] = [];
  for (const name of await readdir(removedFolder(folder)).catch(() => [])) {
    const id = name.replace(/\.json$/, "");
    if (id === name) continue;

    try {
      const text = await readFile(join(removedFolder(folder), name), "utf8");
      runs.push(ofKept(text) as RunSpend);
    } catch (error) {
      if (errorCode(error) !== "ENOENT") damaged.push(id);
    }
  }

  return { runs, damaged };
}

/** What runs cost: charged, and what lost replies may have cost. */
export const netOf = (runs: readonly RunSpend[]): Credits =>
  sumOfCredits(
    runs.flatMap(({ days }) => days).flatMap(({ settled, uncertain }) => [settled, uncertain]),
  );

/**
 * What other runs at the same service spent since the balance was last read: asked where something
 * is gone that no answer of this run explains. `beside`: sent and settled, on the same
 * account, which the service names: else nobody knows whose they are. `own`: what they
 * may have spent beyond that.
 * @param used told by the answer that the balance came with
 * @param until when the balance was asked for, where that was a while ago
 */
export async function spentBeside(
  { path: own, plan, state: { books } }: RunReader,
  balance: Credits,
  {
    used,
    until = Infinity,
  }: { readonly used?: Credits | undefined; readonly until?: number | undefined } = {},
): Promise<Pick<Quiet, "beside" | "own">> {
  const { lastRead } = books;
  if (books.restOf(balance, used) === 0n) return {};

  let beside: Credits = ZERO;
  let most: Credits = ZERO;
  for await (const { path, plan: other } of runsOf(dirname(own), lastRead.askedAt)) {
    const isSame = other.base_url === plan.base_url && other.account_id === plan.account_id;
    if (path === own || !isSame) continue;

    const spent = readableState(path).state.books.spentSince(lastRead, until);
    most = credits(most + spent.most);
    if (plan.account_id !== null) beside = credits(beside + spent.settled);
  }
  return { beside: beside || undefined, own: creditsLess(most, beside) || undefined };
}

/** The balance as a process found it before it asked for anything: nothing where none was told. */
export async function beginsAt(
  run: RunReader,
  { balance, read }: { readonly balance?: Credits | undefined; readonly read: Books["lastRead"] },
): Promise<readonly JournalRecord[]> {
  if (balance === undefined) return [];
  const beside = await spentBeside(run, balance, { until: read.askedAt });
  return [{ t: "quiet", balance, begins: true, ...beside, ...read }];
}

/** What was charged or may have been, and what they may be spending now. */
export async function spentBy(folder: string, isMeant: (plan: Plan) => boolean): Promise<Credits> {
  let sum: Credits = ZERO;
  for await (const { path, plan } of runsOf(folder)) {
    if (!isMeant(plan)) continue;
    const { spend } = spendOf(path, plan, 0);
    sum = credits(sum + spend.pending + netOf([spend]));
  }
  return sum;
}

/** Those that were written to since then. */
async function* runsOf(folder: string, since = 0) {
  for (const id of await runIds(folder)) {
    const path = join(folder, id);
    const written = since === 0 ? undefined : await stat(journalOf(path)).catch(() => undefined);
    if (since > 0 && (written?.mtimeMs ?? 0) < since - CLOCKS_APART_MS) continue;
    const { plan, problem } = knownPlan(path, id);
    if (plan !== undefined) yield { id, path, plan, problem };
  }
}

/**
 * By the last line of its journal where that is enough.
 * @param isOver nobody goes on with it: what is pending is uncertain then
 */
function spendOf(path: string, plan: Plan, since: number, isOver = false) {
  const own = headOf(plan);
  const sums = finishedSums(path, plan.id)?.sums;
  if (sums?.days.every(({ from, to }) => from >= since || to < since) === true) {
    const days = sums.days.filter(({ from }) => from >= since);
    const { job = null, budgets } = sums;
    const spend: RunSpend = { ...own, job, budgets, pending: ZERO, days };
    return { spend, problem: undefined };
  }

  const { state, problem } = readableState(path);
  if (isOver) state.books.note({ t: "over" });
  // What a damaged run lost of itself is not to be laid to others.
  const spent = state.spendings.filter(({ kind }) => problem === undefined || kind !== "foreign");
  const spend = spendIn(plan, state, daysOf(spent, since));
  return { spend, problem };
}

function headOf(plan: Plan) {
  const { id: run, connection, base_url, account_id, key_mode, command, machine } = plan;
  return { run, connection, base_url, account_id, key_mode, command, machine };
}

/** What a run spent, by its journal. */
export function spendIn(
  plan: Plan,
  { job, budgets, books, spendings }: RunState,
  days = daysOf(spendings),
): RunSpend {
  return { ...headOf(plan), job: job ?? null, budgets, pending: books.underWay, days };
}

export async function keepSpend(
  disk: Disk,
  folder: string,
  plan: Plan,
  forgotten: boolean,
): Promise<void> {
  const { spend } = spendOf(join(folder, plan.id), plan, 0, true);
  if (spend.days.length === 0 && !forgotten) return;
  await putSpend(disk, folder, forgotten ? { ...spend, forgotten } : spend);
}

/** What a run that is not here spent. */
export async function putSpend(disk: Disk, folder: string, spend: RunSpend): Promise<void> {
  makeFolder(removedFolder(folder));
  const path = join(removedFolder(folder), `${spend.run}.json`);
  await disk.replaceFile(path, `${keptText(spend)}\n`, "spend");
}
