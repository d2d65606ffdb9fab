import { type Credits, credits } from "../../contract/money.ts";
import { COSTED_CALLS, type CostedCall } from "../../contract/records.ts";
import type { Plan } from "./ledger.ts";

/** Nine billion credits: exact as a JSON number (contract/money.ts), far below what 64 bits of millionths hold. */
export const MAX_BALANCE: Credits = credits(9_000_000_000n * 1_000_000n);

/** @throws RangeError naming the figure that no plan may have */
export function checkPlan(plan: Plan): void {
  for (const [name, value] of [
    ["per minute", plan.perMinute],
    ["per day", plan.perDay],
  ] as const) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`the limit ${name} must be a whole number of at least 1, not ${value}`);
    }
  }
  for (const call of COSTED_CALLS) {
    if (plan.costs[call] < 0n) throw new RangeError(`the cost of ${call} cannot be negative`);
  }
}

/** Costs as JSON text with millionths as strings: no float on the way. */
export const encodeCosts = (costs: Plan["costs"]): string =>
  JSON.stringify(Object.fromEntries(COSTED_CALLS.map((call) => [call, costs[call].toString()])));

export function decodeCosts(text: string): Record<CostedCall, Credits> {
  const values = JSON.parse(text) as Partial<Record<CostedCall, string>>;
  return Object.fromEntries(COSTED_CALLS.map((call) => [call, credits(BigInt(values[call] ?? "0"))])) as Record<
    CostedCall,
    Credits
  >;
}
