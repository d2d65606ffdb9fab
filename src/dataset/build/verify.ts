import type { DuckDBConnection } from "@duckdb/node-api";
import { FILTER_COLUMNS, NORMAL_COLUMNS } from "../../contract/conditions.ts";
import { normalForm } from "../../contract/normalise.ts";
import { SORT_KEYS, TEXT_INDEXES } from "../columns.ts";
import { nullsLast, scalar, toNumber } from "../duckdb.ts";
import type { Counts } from "../embedded/counts.ts";
import { findCubes, splitRows } from "../embedded/cubes.ts";
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
  for (const column of TEXT_INDEXES) {
    const table = `by_${column}`;
    const wanted = await number(`SELECT count(*) FROM filters.people WHERE ${column} IS NOT NULL`);
    expect(`rows of ${table}`, await number(`SELECT count(*) FROM lookups.${table}`), wanted);
    expect(`entries of ${column} in the row store`, store.rows(`people_by_${column}`), wanted);
    const wrong = `SELECT count(*) FROM lookups.${table} l ANTI JOIN filters.people p ON p.rid = l.rid AND p.${column} = l.key`;
    expect(`rows of ${table} that the filter table does not have`, await number(wrong), 0);
  }
  for (const table of ["by_address", "by_company", "by_employer"]) {
    const twice = `SELECT count(*) - count(DISTINCT rid) FROM lookups.${table}`;
    expect(`people that ${table} has twice`, await number(twice), 0);
    const beyond = `SELECT count(*) FROM lookups.${table} WHERE rid >= ${meta.people}`;
    expect(`rows of ${table} beyond the last person`, await number(beyond), 0);
  }
  const strangers = `SELECT count(*) FROM lookups.by_employer WHERE key >= ${meta.companies}`;
  expect("people of companies that there are not", await number(strangers), 0);
  for (const { table } of await findCubes(connection)) {
    expect(`people in ${table}`, await number(`SELECT sum(n)::BIGINT FROM lookups.${table}`), meta.people);
  }
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
  breaches.push(...store.check().map((problem) => `row store: ${problem}`));
  // Records are read last: a hole in the row store is already told above, and cannot be read over.
  if (people === meta.people) {
    expect(`of ${SAMPLE} records those unlike their filter columns`, await unlike(connection, store, meta.people), 0);
  }
  return breaches;
}

async function unlike(connection: DuckDBConnection, store: RecordStore, people: number): Promise<number> {
  const step = Math.max(1, Math.floor(people / SAMPLE));
  const reader = await connection.runAndReadAll(
    `SELECT rid, ${FILTER_COLUMNS.join(", ")} FROM filters.people WHERE rid % ${step} = 0 ORDER BY rid LIMIT ${SAMPLE}`,
  );
  const rows = reader.getRowObjectsJS();
  const records = await store.people(Uint32Array.from(rows, (row) => toNumber(row.rid)));
  return rows.filter((row, index) => {
    const record = JSON.parse(records[index] ?? "{}") as Readonly<Record<string, unknown>>;
    return FILTER_COLUMNS.some((column) => {
      const own = record[column];
      const plain =
        NORMAL_COLUMNS.includes(column) && typeof own === "string" ? normalForm(own) || null : (own ?? null);
      const kept = row[column];
      return plain !== (typeof kept === "bigint" ? Number(kept) : (kept ?? null));
    });
  }).length;
}
