import type { DatabaseSyncInstance } from "@photostructure/sqlite";

export interface LibraryTotals {
  /** Without those who are suppressed. */
  readonly people: number;
  readonly suppressed: number;
  /** Who was forgotten since: only what they cost is known. */
  readonly forgotten: number;
  /** Paid rows; what exceeds the people was bought more than once. */
  readonly purchases: number;
  /** Millionths of a credit. */
  readonly credits: bigint;
  readonly repeatCredits: bigint;
  readonly runs: number;
  /** Epoch milliseconds. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

export function totalsOf(database: DatabaseSyncInstance): LibraryTotals {
  const row = database
    .prepare(
      `SELECT (SELECT count(*) FROM shown) AS people, (SELECT count(*) FROM suppressed) AS suppressed,
        (SELECT count(DISTINCT person) FROM purchase WHERE person < 0) AS forgotten, 
        count(*) FILTER (WHERE price > 0 OR NOT EXISTS (SELECT 1 FROM purchase AS o WHERE o.person = purchase.person
           AND (o.at, o.run, o.unit, o.position) < (purchase.at, purchase.run, purchase.unit, purchase.position))) AS purchases, coalesce(sum(price), 0) AS credits, min(at) AS firstAt, max(at) AS lastAt,
         (SELECT count(*) FROM run) AS runs,
         coalesce(sum(price) FILTER (WHERE EXISTS (SELECT 1 FROM purchase AS o WHERE o.person = purchase.person
           AND (o.at, o.run, o.unit, o.position) < (purchase.at, purchase.run, purchase.unit, purchase.position))), 0) AS repeatCredits
       FROM purchase`,
      { readBigInts: true },
    )
    .get() as Record<keyof LibraryTotals, bigint | null>;
  const time = (value: bigint | null): number | null => (value === null ? null : Number(value));
  return {
    people: Number(row.people),
    suppressed: Number(row.suppressed),
    forgotten: Number(row.forgotten),
    purchases: Number(row.purchases),
    credits: row.credits ?? 0n,
    repeatCredits: row.repeatCredits ?? 0n,
    runs: Number(row.runs),
    firstAt: time(row.firstAt),
    lastAt: time(row.lastAt),
  };
}
