import { join } from "node:path";
import { stateDir } from "../../engine/connections/paths.ts";
import { Disk } from "../../engine/runs/disk.ts";
import { creditsOf } from "../../engine/runs/journal.ts";
import { acquireLock } from "../../engine/runs/lock.ts";
import { type RunSpend, readSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import { addCredits, type Credits, credits, formatCreditsGrouped, ZERO } from "../../shared/contract/money.ts";
import { failureOf } from "../failures.ts";
import { netOf } from "./outcome.ts";

/** What several purchases may spend together. It is counted in the journals of the runs: no process that ends forgets any of it. */
export interface Budget {
  readonly cap: Credits;
  /** Epoch milliseconds: what was spent before is over. */
  readonly since: number;
  readonly counts: (run: RunSpend) => boolean;
}

export interface BudgetUse {
  readonly spent: Credits;
  readonly left: Credits;
}

/**
 * What a budget has spent and has left: charged, lost replies included, and what requests without a reply may still have cost.
 * @param continues a run whose open requests are counted by whoever goes on with it
 */
export async function budgetUse(
  { cap, since, counts }: Budget,
  context: Context,
  continues: (run: RunSpend) => boolean | Promise<boolean> = () => false,
): Promise<BudgetUse> {
  const { runs } = await readSpend(join(stateDir(context), "runs"), since);
  const mine = runs.filter(counts);
  let spent = netOf(mine);
  for (const run of mine) if (!(await continues(run))) spent = addCredits(spent, creditsOf(run.pending));
  return { spent, left: credits(cap > spent ? cap - spent : ZERO) };
}

export interface Turn {
  /** Folder and name of the lock: whoever counts by the same budget waits for it. */
  readonly folder: string;
  readonly name: string;
  readonly what: string;
  readonly onWait: () => void;
  readonly continues?: (run: RunSpend) => boolean | Promise<boolean>;
  /** What else is said of a purchase that does not fit. */
  readonly refusal: { readonly period: string; readonly hint: string };
}

/** Counts and buys in one turn: two at once could each find room for what only one may spend. @throws CliError exit 4 where it does not fit */
export async function withinBudget<T>(
  budget: Budget,
  turn: Turn,
  context: Context,
  work: (left: Credits) => Promise<T>,
): Promise<T> {
  const { now, sleep, interrupted } = context;
  await new Disk().makeFolder(turn.folder);
  const lock = await acquireLock(join(turn.folder, turn.name), {
    ...{ now, sleep, what: turn.what, onWait: turn.onWait },
    wait: true,
    signal: interrupted,
  });
  try {
    const { spent, left } = await budgetUse(budget, context, turn.continues);
    return await work(left).catch((error: unknown) => {
      const failure = failureOf(error);
      if (failure.code !== "over_budget") throw error;
      const of = `${formatCreditsGrouped(spent)} of ${formatCreditsGrouped(budget.cap)} credits`;
      throw failure.with({
        details: [`${of} of ${turn.refusal.period} are spent or at risk`],
        hint: turn.refusal.hint,
      });
    });
  } finally {
    await lock.release();
  }
}
