import type { DuckDBDataChunk } from "@duckdb/node-api";
import { FILTER_COLUMNS, NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { isPlaced, SORT_KEYS } from "../columns.ts";
import { toNumber } from "../duckdb.ts";
import { type ColumnValues, codesFor, sizeOf } from "../embedded/column-writer.ts";
import { eachPiece, type PeopleDraft } from "./lines.ts";

/** Each pass costs a call for each 2,048 people; each column 1 to 4 bytes a person. */
const COLUMNS_A_PASS = 5;

/**
 * `positions`, of which many tables are made in the order of people: sorted by codes, so that no texts are moved.
 * A place is the number of a staged row, a position (`rid`) that of a person in the dataset.
 */
export async function orderPeople(writing: PeopleDraft): Promise<void> {
  const { connection } = writing;
  const keys = await codesOf(writing, SORT_KEYS);
  const codes = keys.map(({ code, column }) => `${code} AS ${column}_code`);
  const order = [...keys.map(({ column }) => `${column}_code`), "id"].join(", ");
  await connection.run(`CREATE TABLE positions AS
    SELECT * EXCLUDE (id), (row_number() OVER (ORDER BY ${order}) - 1)::UINTEGER AS rid
    FROM (SELECT place, id, ${codes.join(", ")} FROM staged_people ${joined(keys)})`);
  await write(writing, keys, `SELECT rid, ${keys.map(({ column }) => `${column}_code`).join(", ")} FROM positions`);
}

export async function writeCodes(writing: PeopleDraft): Promise<void> {
  const others = FILTER_COLUMNS.filter((column) => !isPlaced(column) && !SORT_KEYS.some((key) => key === column));
  for (let from = 0; from < others.length; from += COLUMNS_A_PASS) {
    const codings = await codesOf(writing, others.slice(from, from + COLUMNS_A_PASS));
    const codes = codings.map(({ code }) => code).join(", ");
    const people = `staged_people JOIN positions USING (place) ${joined(codings)}`;
    await write(writing, codings, `SELECT rid, ${codes} FROM ${people}`);
  }
}

interface Coding {
  readonly column: string;
  readonly values: ColumnValues;
  /** In SQL, of a person joined with `codes_COLUMN`: the place of their value among all, after the last for none. */
  readonly code: string;
}

const joined = (codings: readonly Coding[]): string =>
  codings.map(({ column: name }) => `LEFT JOIN codes_${name} ON codes_${name}.value = staged_people.${name}`).join(" ");

const isAsIs = (column: string): boolean => NUMBER_COLUMNS.includes(column) || column === "department";

async function codesOf(writing: PeopleDraft, columns: readonly string[]): Promise<readonly Coding[]> {
  const { connection } = writing;
  const codings: Coding[] = [];
  for (const column of columns) {
    const isNumber = NUMBER_COLUMNS.includes(column);
    await connection.run(`CREATE TABLE codes_${column} AS
      SELECT value, form, (dense_rank() OVER forms - 1)::UINTEGER AS code, row_number() OVER forms = rank() OVER forms AS is_first
      FROM (SELECT value, ${isAsIs(column) ? "value" : "normal_form(value)"} AS form
        FROM (SELECT DISTINCT ${column} AS value FROM staged_people WHERE ${column} IS NOT NULL))
      WINDOW forms AS (ORDER BY form NULLS LAST)`);
    const forms = `FROM codes_${column} WHERE is_first AND form IS NOT NULL`;
    const found = await connection.runAndReadAll(
      `SELECT count(*), sum(${isNumber ? "8" : "strlen(form)"})::BIGINT ${forms}`,
    );
    const [size = 0, bytes = 0] = (found.getRowsJS()[0] ?? []).map(toNumber);
    const sorted = `SELECT form ${forms} ORDER BY code`;
    const values = isNumber
      ? await numbersOf(writing, sorted, size)
      : { size, bytes, each: (take: (lines: Buffer) => Promise<number>) => eachPiece(writing, sorted, take) };
    codings.push({ column, values, code: `coalesce(codes_${column}.code, ${size}::UINTEGER)` });
  }
  return codings;
}

async function numbersOf({ connection }: PeopleDraft, query: string, size: number): Promise<Float64Array> {
  const numbers = new Float64Array(size);
  let at = 0;
  for await (const chunk of await connection.stream(`SELECT form::DOUBLE FROM (${query})`)) {
    const own = itemsOf(chunk, 0, Float64Array);
    numbers.set(own, at);
    at += own.length;
  }
  return numbers;
}

async function write(writing: PeopleDraft, codings: readonly Coding[], query: string): Promise<void> {
  const { columns, connection, people, signal } = writing;
  const all = codings.map(({ values }) => codesFor(sizeOf(values), people));
  for await (const chunk of await connection.stream(query)) {
    signal.throwIfAborted();
    const rids = itemsOf(chunk, 0, Uint32Array);
    for (const [index, own] of all.entries()) {
      const words = itemsOf(chunk, index + 1, Uint32Array);
      for (let row = 0; row < rids.length; row++) own[rids[row] ?? 0] = words[row] ?? 0;
    }
  }
  for (const [index, { column, values }] of codings.entries()) {
    await columns.add(column, values, all[index] ?? new Uint8Array());
    await connection.run(`DROP TABLE codes_${column}`);
  }
}

/** What a vector of DuckDB's holds, as it lies there. */
function itemsOf<Items extends Uint32Array | Float64Array>(
  chunk: DuckDBDataChunk,
  column: number,
  kind: new (length: number) => Items,
): Items {
  const vector = chunk.getColumnVector(column);
  if (!("items" in vector && vector.items instanceof kind)) throw new Error(`DuckDB gave other than ${kind.name}`);
  return vector.items;
}
