import {
  BESIDE,
  byPosition,
  hasOutlivedKey,
  OUTLIVED,
  pendingUnits,
  type RunState,
  type Unit,
} from "../runs/journal.ts";
import type { Budget } from "./budget.ts";
import type { Flight } from "./flight.ts";
import type { Remaining } from "./remaining.ts";
import type { Settlement } from "./settle.ts";

export interface RecoveryParts {
  readonly flight: Flight;
  readonly budget: Budget;
  readonly remaining: Remaining;
  readonly settlement: Settlement;
}

/** Rebuilds what is bought, asked for and left from the journal of earlier sessions. @param now epoch milliseconds */
export async function restore(state: RunState, parts: RecoveryParts, now: number): Promise<void> {
  const { remaining, settlement } = parts;
  for (const unit of [...state.units.values()].sort(byPosition)) {
    if ((unit.voided && unit.settled === undefined) || remaining.isHole(unit)) continue;
    // Written once everything before it is there.
    if (unit.intent.target === BESIDE) continue;
    remaining.take(unit.intent);
    if (unit.settled !== undefined) settlement.restore(unit, unit.settled);
  }
  for (const unit of pendingUnits(state)) await recover(unit, parts, now);
}

/** An intent without an end: it may have been charged, or it was never sent. */
async function recover(unit: Unit, { flight, budget, settlement }: RecoveryParts, now: number): Promise<void> {
  const { owned, target } = unit.intent;
  if (owned === true) {
    return settlement.giveUp(unit, "the reply of another run was not written", target !== BESIDE);
  }
  const tooOld = hasOutlivedKey(unit, now);
  if (tooOld || !settlement.honoursKeys) {
    const charged = budget.explain(unit);
    const why = tooOld ? OUTLIVED : "the service is not known to honour keys";
    if (charged > 0n) await settlement.bookUncertain(unit, charged, `the process ended before the reply came; ${why}`);
  }
  // A service that keeps keys without saying so answers for nothing; at another it costs what a new key would.
  flight.wait(unit);
}
