import type { DuckDBConnection } from "@duckdb/node-api";
import { FILTER_COLUMNS, NORMAL_COLUMNS } from "../../contract/conditions.ts";
import { canonicalAddress, normalForm, slugOf } from "../../contract/normalise.ts";
import { PLACED_COLUMNS, placeOf, ROW_INDEXES, SORT_KEYS } from "../columns.ts";
import { nullsLast, scalar, toNumber } from "../duckdb.ts";
import type { Counts } from "../embedded/counts.ts";
import { splitRows } from "../embedded/cubes.ts";
import { addressKeys } from "../embedded/keys.ts";
import type { RecordStore } from "../embedded/record-store.ts";
import type { DatasetMeta } from "../layout.ts";

/** Rows whose record is compared with its filter columns, evenly over the dataset. */
const SAMPLE = 1_000;

/** Recomputes what can be checked: sizes, positions, order, look-ups, counts, and records by sample. @returns a sentence for each breach */
export async function verifyFiles(
  connection: DuckDBConnection,
  store: RecordStore,
  counts: Counts | undefined,
  meta: DatasetMeta,
): Promise<string[]> {
  const breaches: string[] = [];
  const number = async (sql: string): Promise<number> => toNumber(await scalar(connection, sql));
  const expect = (what: string, found: number, wanted: number): void => {
    if (found !== wanted) breaches.push(`${what}: ${found}, expected ${wanted}`);
  };
  const people = store.rows("people");
  expect("people in the filter table", await number("SELECT count(*) FROM filters.people"), meta.people);
  expect("people in the row store", people, meta.people);
  expect("companies in the row store", store.rows("companies"), meta.companies);
  const misplaced = "SELECT count(*) FROM filters.people WHERE rid <> rowid";
  expect("positions that are not the row's place", await number(misplaced), 0);
  const key = `row(${SORT_KEYS.map((column) => `${column} IS NULL, coalesce(${column}, '')`).join(", ")})`;
  const unordered = `SELECT count(*) FROM (SELECT ${key} AS key, lag(${key}) OVER (ORDER BY rid) AS before FROM filters.people) WHERE before > key`;
  expect("people out of order", await number(unordered), 0);
  for (const column of PLACED_COLUMNS) {
    const known = `SELECT ${placeOf(column)} AS kept, row_number() OVER (ORDER BY ${column}, rid) - 1 AS wanted
      FROM filters.people WHERE ${column} IS NOT NULL`;
    expect(
      `entries of ${column} in the row store`,
      store.rows(`by_${column}`),
      await number(`SELECT count(*) FROM (${known})`),
    );
    const misplaced = `SELECT count(*) FROM (${known}) WHERE kept IS DISTINCT FROM wanted`;
    expect(`places of ${column} that are not those of its order`, await number(misplaced), 0);
    const placeless = `SELECT count(*) FROM filters.people WHERE ${column} IS NULL AND ${placeOf(column)} IS NOT NULL`;
    expect(`places of people without a ${column}`, await number(placeless), 0);
  }
  for (const table of ["by_company", "by_employer"]) {
    const twice = `SELECT count(*) - count(DISTINCT rid) FROM lookups.${table}`;
    expect(`people that ${table} has twice`, await number(twice), 0);
    const beyond = `SELECT count(*) FROM lookups.${table} WHERE rid >= ${meta.people}`;
    expect(`rows of ${table} beyond the last person`, await number(beyond), 0);
  }
  const strangers = `SELECT count(*) FROM lookups.by_employer WHERE key >= ${meta.companies}`;
  expect("people of companies that there are not", await number(strangers), 0);
  for (const columns of counts?.columnSets ?? []) {
    const list = columns.join(", ");
    const order = nullsLast(columns);
    const recount = await connection.runAndReadAll(
      `SELECT ${list}, count(*) FROM filters.people GROUP BY ALL ORDER BY ${order}`,
    );
    const wanted = JSON.stringify([...splitRows(recount.getRowsJS())]);
    if (wanted !== JSON.stringify([...(counts?.rows(columns) ?? [])]))
      breaches.push(`counts by ${list} are not those of the people`);
  }
  const damaged = store.check();
  breaches.push(...damaged);
  // A hole in the row store is told already, and cannot be read over.
  if (damaged.length > 0 || people !== meta.people) return breaches;
  for (const index of ROW_INDEXES) {
    const twice = `entries of ${index} for people that it has twice or that there are not`;
    expect(twice, store.astray(index, meta.people), 0);
  }
  expect(`of ${SAMPLE} records those unlike their filter columns`, await unlike(connection, store, meta.people), 0);
  return breaches;
}

async function unlike(connection: DuckDBConnection, store: RecordStore, people: number): Promise<number> {
  const step = Math.max(1, Math.floor(people / SAMPLE));
  const reader = await connection.runAndReadAll(
    `SELECT rid, ${FILTER_COLUMNS.join(", ")} FROM filters.people WHERE rid % ${step} = 0 ORDER BY rid LIMIT ${SAMPLE}`,
  );
  const rows = reader.getRowObjectsJS();
  const records = (await store.people(Uint32Array.from(rows, (row) => toNumber(row.rid)))).map(String);
  const addressed = await foundByAddress(store, records);
  return rows.filter((row, index) => {
    const record = JSON.parse(records[index] ?? "{}") as Readonly<Record<string, unknown>>;
    if (addressOf(record) !== undefined && !addressed.has(toNumber(row.rid))) return true;
    return FILTER_COLUMNS.some((column) => {
      const own = record[column];
      const plain =
        NORMAL_COLUMNS.includes(column) && typeof own === "string" ? normalForm(own) || null : (own ?? null);
      const kept = row[column];
      return plain !== (typeof kept === "bigint" ? Number(kept) : (kept ?? null));
    });
  }).length;
}

const addressOf = ({ network_url }: Readonly<Record<string, unknown>>): string | undefined =>
  typeof network_url === "string" ? canonicalAddress(network_url) : undefined;

/** Whom the index of addresses has under the addresses of these records. */
async function foundByAddress(store: RecordStore, records: readonly string[]): Promise<ReadonlySet<number>> {
  const addresses = records
    .map((record) => addressOf(JSON.parse(record) as Readonly<Record<string, unknown>>))
    .filter((address) => address !== undefined)
    .map((address) => ({ slug: slugOf(address), address }));
  const found = new Set<number>();
  for (const keys of addressKeys(addresses)) {
    for await (const piece of store.find("address", keys)) for (const rid of piece) found.add(rid);
  }
  return found;
}
