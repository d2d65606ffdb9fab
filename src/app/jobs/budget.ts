import { hash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stateDir } from "../../engine/connections/paths.ts";
import { errorCode, FILE_MODE } from "../../engine/runs/disk.ts";
import { withLock } from "../../engine/runs/lock.ts";
import { netOf, type RunSpend, readSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Credits,
  credits,
  creditsLess,
  creditsText,
  formatCreditsGrouped,
  ZERO,
} from "../../shared/contract/money.ts";
import { makeFolder } from "../../shared/folder.ts";

/** What several purchases may spend together, counted in the journals of the runs. */
export interface PurchaseBudget {
  readonly cap: Credits;
  /** Epoch milliseconds: what was spent before is over. */
  readonly since: number;
  readonly counts: (run: RunSpend) => boolean;
  /** What purchases before this one would take of it, which are only quoted. */
  readonly ahead?: Credits;
}

export interface BudgetUse {
  readonly spent: Credits;
  readonly left: Credits;
}

/**
 * What a budget has spent and has left: charged, and what requests without a reply may have cost.
 * @param continues a run whose open requests are counted by whoever goes on with it
 */
export async function budgetUse(
  { cap, since, counts, ahead = ZERO }: PurchaseBudget,
  context: Context,
  continues: (run: RunSpend) => boolean | Promise<boolean> = () => false,
): Promise<BudgetUse> {
  const { runs } = await readSpend(join(stateDir(context), "runs"), since);
  const mine = runs.filter(counts);
  let spent = credits(ahead + netOf(mine));
  for (const run of mine) if (!(await continues(run))) spent = credits(spent + run.pending);
  return { spent, left: creditsLess(cap, spent) };
}

/** Whether so much of a cap is spent that it is said. @param share from 0 to 1 */
export const isNear = (spent: Credits, cap: Credits, share: number): boolean =>
  spent > 0n && spent * 100n >= cap * BigInt(Math.round(share * 100));

export interface Turn {
  /** Folder and name of the lock: whoever counts by the same budget waits for it. */
  readonly folder: string;
  readonly name: string;
  readonly what: string;
  readonly onWait: () => void;
  readonly continues?: (run: RunSpend) => boolean | Promise<boolean>;
  /** What else is said of a purchase that does not fit. */
  readonly refusal: { readonly period: string; readonly hint?: string };
  /** Told once of a budget that a share of it is spent. */
  readonly near?: {
    readonly share: number;
    /** Which budget it is: one that is raised, or of another month, is another. */
    readonly of: string;
    readonly tell: (use: BudgetUse) => void;
  };
}

/** Claimed before it is told: of two processes one tells, and never again. */
async function tellNear(budget: PurchaseBudget, turn: Turn, context: Context): Promise<void> {
  if (turn.near === undefined) return;

  const { of, share, tell } = turn.near;
  const use = await budgetUse(budget, context);
  if (!isNear(use.spent, budget.cap, share)) return;

  const digest = hash("sha256", `${of} ${share}`).slice(0, 16);
  try {
    const mark = join(turn.folder, `.near-${digest}`);
    writeFileSync(mark, "", { flag: "wx", mode: FILE_MODE });
  } catch (error) {
    // What cannot be noted down is told again rather than never.
    if (errorCode(error) === "EEXIST") return;
  }
  tell(use);
}

/**
 * Works with what a budget has left, and says of what does not fit what it has spent.
 * @throws CliError exit 4 where it does not fit
 */
export async function againstBudget<T>(
  budget: PurchaseBudget,
  { continues, refusal }: Pick<Turn, "continues" | "refusal">,
  context: Context,
  work: (left: Credits) => Promise<T>,
): Promise<T> {
  const { spent, left } = await budgetUse(budget, context, continues);

  try {
    return await work(left);
  } catch (error) {
    const { failureOf } = await import("../failures.ts");
    const failure = failureOf(error);
    if (failure.code !== "over_budget") throw error;
    const of = `${formatCreditsGrouped(spent)} of ${creditsText(budget.cap)}`;
    throw failure.with({
      details: [`${of} of ${refusal.period} are spent or at risk`],
      hint: refusal.hint,
    });
  }
}

/**
 * Counts and buys in one turn: two could find the same room.
 * @throws CliError see {@link againstBudget}
 */
export async function withinBudget<T>(
  budget: PurchaseBudget,
  turn: Turn,
  context: Context,
  work: (left: Credits) => Promise<T>,
): Promise<T> {
  const { now, sleep, interrupted } = context;
  makeFolder(turn.folder);

  const { what, onWait } = turn;
  const lock = { now, sleep, what, onWait, wait: true, signal: interrupted };

  return await withLock(join(turn.folder, turn.name), lock, () =>
    againstBudget(budget, turn, context, work).finally(() => tellNear(budget, turn, context)),
  );
}

/**
 * The first moment of a calendar month in UTC, as
 * `headcount spend` counts its days. Epoch milliseconds.
 */
function monthStart(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** Credits are of a service and a kind of key: what jobs spend elsewhere is no part of a budget. */
interface Till {
  readonly serviceId: string;
  readonly keyMode: "live" | "test";
}

const tillOf = ({ base_url, key_mode }: RunSpend): Till => ({
  serviceId: base_url,
  keyMode: key_mode === "test" ? "test" : "live",
});

/** What all jobs of this user may spend at one service in this calendar month (UTC). */
export const monthlyBudget = (
  cap: Credits,
  { serviceId, keyMode }: Till,
  now: number,
): PurchaseBudget => ({
  cap,
  since: monthStart(now),
  counts: (run) =>
    run.job !== null && run.base_url === serviceId && tillOf(run).keyMode === keyMode,
});

export async function spentByJobs(
  context: Context,
): Promise<readonly (Till & { readonly spent: Credits })[]> {
  const { runs } = await readSpend(join(stateDir(context), "runs"), monthStart(context.now()));
  const ofJobs = runs.filter(({ job, days }) => job !== null && days.length > 0);
  const tills = new Map(ofJobs.map((run) => [JSON.stringify(tillOf(run)), tillOf(run)]));
  return [...tills].map(([key, till]) => ({
    ...till,
    spent: netOf(ofJobs.filter((run) => JSON.stringify(tillOf(run)) === key)),
  }));
}
