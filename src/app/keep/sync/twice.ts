// Tested by test/cli/sync-machines.test.ts.
import { openLibrary, shelfOfPlan } from "../../../engine/library/take-in.ts";
import { ifNoSqlite } from "../forget/find.ts";
import type { Syncing } from "./syncing.ts";

const BOTH = `SELECT count(DISTINCT one.person) AS people FROM purchase AS one
  JOIN purchase AS other USING (person) WHERE one.price > 0 AND other.price > 0
  AND one.run IN (SELECT value FROM json_each(?))
  AND other.run IN (SELECT value FROM json_each(?))`;

/** Whom a run that came was paid for, and another machine's too: neither could know. */
export async function countPaidTwice({ store, stateDir, synced }: Syncing): Promise<void> {
  if (synced.tookIn.size === 0) return;

  const all = await Promise.all(
    (await store.ids()).map((id) => store.readPlan(id).catch(() => [])),
  );
  const plans = all.flat();
  const shelves = plans.flatMap((plan) => shelfOfPlan(stateDir, plan) ?? []);
  const once = new Map(shelves.map((shelf) => [shelf.path, shelf]));

  for (const shelf of once.values()) {
    const opened = await openLibrary(shelf, store).catch(ifNoSqlite);
    for (const [machine, { ids }] of synced.tookIn) {
      const others = plans.filter((plan) => (plan.machine ?? store.machine).name !== machine);
      const values = [ids, others.map(({ id }) => id)].map((some) => JSON.stringify(some));
      const found = opened?.library.database.prepare(BOTH).get(...values);
      synced.paidTwice += Number(found?.people ?? 0);
    }
    opened?.library.close();
  }
}
