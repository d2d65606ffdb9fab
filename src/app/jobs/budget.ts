import { type Credits, parseCredits } from "../../shared/contract/money.ts";
import { echo } from "../../shared/contract/text.ts";
import type { Budget } from "./named-budget.ts";

/** Reads `2000/month`. @returns credits a calendar month, or what is wrong with it in words */
export function readBudget(text: string): Credits | string {
  const [, amount = ""] = /^\s*([\d.,_]+)\s*\/\s*month\s*$/i.exec(text) ?? [];
  const credits = parseCredits(amount.replace(/[,_]/g, ""));
  if (credits !== undefined && credits > 0n) return credits;
  return `a budget is credits a month, such as 2000/month, not "${echo(text)}"`;
}

/** The first moment of a calendar month in UTC, as `headcount spend` counts its days. Epoch milliseconds. */
function monthStart(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** What all jobs of this user may spend in this calendar month (UTC); test keys spend nothing of it. */
export const monthlyBudget = (cap: Credits, now: number): Budget => ({
  cap,
  since: monthStart(now),
  counts: ({ job, key_mode }) => job !== null && key_mode !== "test",
});
