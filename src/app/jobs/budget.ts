import type { RunSpend } from "../../engine/runs/spend.ts";
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
export function monthStart(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** Credits are of a service and a kind of key: what jobs spend elsewhere is no part of a budget. */
export interface Till {
  readonly serviceId: string;
  readonly keyMode: "live" | "test";
}

export const tillOf = ({ base_url, key_mode }: RunSpend): Till => ({
  serviceId: base_url,
  keyMode: key_mode === "test" ? "test" : "live",
});

/** What all jobs of this user may spend at one service in this calendar month (UTC). */
export const monthlyBudget = (cap: Credits, { serviceId, keyMode }: Till, now: number): Budget => ({
  cap,
  since: monthStart(now),
  counts: (run) => run.job !== null && run.base_url === serviceId && tillOf(run).keyMode === keyMode,
});
