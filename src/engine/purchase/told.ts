// Tested by test/cli/vendor-counts.test.ts.
import { settledUnits } from "../runs/journal.ts";
import { targetText } from "../runs/plan.ts";
import { RunStore } from "../runs/run-store.ts";
import type { SearchTarget } from "./joined.ts";
import type { World } from "./world.ts";

/** A count that was paid for is believed so long. */
const YOUNG_MS = 5 * 60_000;

/**
 * How many people match, as the first page of a search that was bought lately told it:
 * where counts cost credits none is bought again. Undefined where no page told.
 */
export async function toldLately(
  target: SearchTarget,
  { disk, now, seller, stateDir }: World,
): Promise<number | undefined> {
  const store = new RunStore(stateDir, disk);
  const wanted = targetText(target);
  const { file } = seller.client.dialect;

  for (const id of await store.ids()) {
    const plan = await store.readPlan(id).catch(() => undefined);
    if (plan === undefined) continue;
    // The newest comes first.
    if (now() - Date.parse(plan.created_at) > YOUNG_MS) break;
    if (plan.base_url !== seller.serviceId || plan.connection !== seller.connectionName) continue;
    if (plan.dialect !== file || targetText(plan.target) !== wanted) continue;

    const { state } = await store.open(id);
    const total = settledUnits(state)[0]?.settled.total;
    if (total !== undefined) return total;
  }

  return undefined;
}
