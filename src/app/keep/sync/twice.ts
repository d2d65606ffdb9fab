// Tested by test/cli/sync-machines.test.ts.
import { openLibrary, shelfOfPlan } from "../../../engine/library/take-in.ts";
import { ifNoSqlite } from "../forget/find.ts";
import type { Syncing } from "./syncing.ts";

const BOTH = `WITH bought (run, machine) AS (SELECT value ->> 0, value ->> 1 FROM json_each(?))
  SELECT count(DISTINCT one.person) AS people
  FROM purchase AS one JOIN bought AS by ON by.run = one.run
  JOIN purchase AS other USING (person) JOIN bought AS too ON too.run = other.run
  WHERE one.price > 0 AND other.price > 0 AND by.machine <> too.machine
  AND one.run IN (SELECT value FROM json_each(?))`;

/** Whom a run that came was paid for, and another machine's too: neither could know. */
export async function countPaidTwice({ store, stateDir, synced }: Syncing): Promise<void> {
  const came = [...synced.tookIn.values()].flatMap(({ ids }) => ids);
  if (came.length === 0) return;

  const all = await Promise.all(
    (await store.ids()).map((id) => store.readPlan(id).catch(() => [])),
  );
  const plans = all.flat();
  const bought = plans.map(({ id, machine }) => [id, (machine ?? store.machine).id]);
  const shelves = plans.flatMap((plan) => shelfOfPlan(stateDir, plan) ?? []);
  const once = new Map(shelves.map((shelf) => [shelf.path, shelf]));

  for (const shelf of once.values()) {
    const opened = await openLibrary(shelf, store).catch(ifNoSqlite);
    const values = [bought, came].map((some) => JSON.stringify(some));
    const found = opened?.library.database.prepare(BOTH).get(...values);
    synced.paidTwice += Number(found?.people ?? 0);
    opened?.library.close();
  }
}
