import { byPosition, creditsOf, pendingUnits, type Unit } from "../runs/journal.ts";
import type { Budget } from "./budget.ts";
import type { Buying } from "./flight.ts";
import type { Handover } from "./in-order.ts";
import type { Keeper } from "./settle.ts";

/** An idempotency key is good for 24 hours (api-decisions); older intents are not repeated under it. */
const KEY_LIFE_MS = 23 * 3_600_000;

/** Rebuilds what is bought, asked for and left from the journal of earlier sessions. */
export async function restore(b: Buying, budget: Budget, keeper: Keeper, handover: Handover): Promise<void> {
  for (const unit of [...b.run.state.units.values()].sort(byPosition)) {
    if (unit.voided && unit.settled === undefined) continue;
    b.agenda.take(unit.intent);
    if (unit.settled !== undefined) {
      keeper.learn(unit, unit.settled);
      handover.add(unit, undefined);
      b.bought = true;
    }
  }
  for (const unit of pendingUnits(b.run.state)) await recover(unit, b, budget, keeper);
  b.pending.sort(byPosition);
}

/** An intent without an end: it may have been charged, or it was never sent. */
async function recover(unit: Unit, b: Buying, budget: Budget, keeper: Keeper): Promise<void> {
  const { options } = b;
  const tooOld = options.now() - unit.intent.at > KEY_LIFE_MS;
  if (!tooOld && b.honoursKeys) {
    b.pending.push(unit);
    return;
  }
  const hold = creditsOf(unit.intent.hold);
  const charged = budget.explain(hold);
  const why = tooOld ? "its idempotency key is older than 24 hours" : "the service is not known to honour keys";
  if (charged > 0n) await keeper.bookUncertain(unit, charged, `the process ended before the reply came; ${why}`);
  if (tooOld || !budget.fits(hold)) await keeper.giveUp(unit, why);
  else b.pending.push(unit);
}
