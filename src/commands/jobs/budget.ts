import { join } from "node:path";
import { stateDir } from "../../connections/paths.ts";
import type { Context } from "../../context.ts";
import { addCredits, type Credits, parseCredits } from "../../contract/money.ts";
import { echo } from "../../contract/text.ts";
import { creditsOf } from "../../runs/journal.ts";
import { readSpend } from "../../runs/spend.ts";
import { netOf } from "../outcome.ts";

/** Reads `2000/month`. @returns credits a calendar month, or what is wrong with it in words */
export function readBudget(text: string): Credits | string {
  const [, amount = ""] = /^\s*([\d.,_]+)\s*\/\s*month\s*$/i.exec(text) ?? [];
  const credits = parseCredits(amount.replace(/[,_]/g, ""));
  if (credits !== undefined && credits > 0n) return credits;
  return `a budget is credits a month, such as 2000/month, not "${echo(text)}"`;
}

/** The first moment of a calendar month in UTC, as `headcount spend` counts its days. Epoch milliseconds. */
export function monthStart(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/**
 * What all jobs of this user spent in this calendar month (UTC), lost replies included, test keys left out; and of other jobs than
 * `job` what requests without a reply may still have cost.
 */
export async function spentThisMonth(context: Context, job?: string): Promise<Credits> {
  const { runs } = await readSpend(join(stateDir(context), "runs"), monthStart(context.now()));
  const ofJobs = runs.filter((run) => run.job !== null && run.key_mode !== "test");
  const pending = ofJobs.filter((run) => job !== undefined && run.job !== job);
  return pending.reduce((sum, run) => addCredits(sum, creditsOf(run.pending)), netOf(ofJobs));
}
