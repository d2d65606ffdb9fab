// Tested by test/cli/vendor-counts.test.ts.
import { settledUnits } from "../runs/journal.ts";
import { type Target, targetText } from "../runs/plan.ts";
import { RunStore } from "../runs/run-store.ts";
import type { World } from "./world.ts";

/** A count that was paid for is believed so long. */
const YOUNG_MS = 5 * 60_000;

/**
 * How many people match, as the first page of a search that was bought lately told it:
 * where counts cost credits none is bought again. Undefined where no page told.
 */
export async function toldLately(
  target: Target,
  { disk, now, seller, stateDir }: World,
): Promise<number | undefined> {
  const wanted = targetText(target);
  const { file } = seller.client.dialect;
  const told = new RunStore(stateDir, disk).runs(
    (plan) =>
      now() - Date.parse(plan.created_at) <= YOUNG_MS &&
      plan.base_url === seller.serviceId &&
      plan.connection === seller.connectionName &&
      plan.dialect === file &&
      targetText(plan.target) === wanted,
  );
  for await (const { state } of told) {
    const total = settledUnits(state)[0]?.settled.total;
    if (total !== undefined) return total;
  }
  return undefined;
}
