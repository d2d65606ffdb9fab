import type { DatabaseSyncInstance } from "@photostructure/sqlite";

export type LibraryTotals = ReturnType<typeof totalsOf>;

const EARLIER = `EXISTS (SELECT 1 FROM purchase AS o WHERE o.person = purchase.person
  AND (o.at, o.run, o.unit, o.position) < (purchase.at, purchase.run, purchase.unit, purchase.position))`;
const SQL = `SELECT (SELECT count(*) FROM shown) AS people, (SELECT count(*) FROM suppressed) AS suppressed,
  (SELECT count(DISTINCT person) FROM purchase WHERE person < 0) AS forgotten,
  count(*) FILTER (WHERE price > 0 OR NOT ${EARLIER}) AS purchases, coalesce(sum(price), 0) AS credits,
  coalesce(sum(price) FILTER (WHERE ${EARLIER}), 0) AS repeatCredits,
  min(at) AS firstAt, max(at) AS lastAt, (SELECT count(*) FROM run) AS runs FROM purchase`;

/** People without the suppressed. Credits in millionths, times in epoch milliseconds. */
export function totalsOf(database: DatabaseSyncInstance) {
  const { credits, repeatCredits, firstAt, lastAt, ...counts } = database
    .prepare(SQL, { readBigInts: true })
    .get() as Record<string, bigint | null>;
  const { people, suppressed, forgotten, purchases, runs } = counts;
  const time = (value: bigint | null | undefined): number | null => (typeof value === "bigint" ? Number(value) : null);
  return {
    people: Number(people),
    suppressed: Number(suppressed),
    forgotten: Number(forgotten),
    purchases: Number(purchases),
    credits: credits ?? 0n,
    repeatCredits: repeatCredits ?? 0n,
    runs: Number(runs),
    firstAt: time(firstAt),
    lastAt: time(lastAt),
  };
}
