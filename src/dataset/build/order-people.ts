import type { DuckDBConnection, DuckDBDataChunk } from "@duckdb/node-api";
import { FILTER_COLUMNS, NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { isPlaced, SORT_KEYS } from "../columns.ts";
import { type ColumnWriter, codesFor } from "../embedded/column-writer.ts";

/** Each pass costs a call for each 2,048 people; each column 1 to 4 bytes a person. */
const COLUMNS_A_PASS = 5;

/** A place is the number of a staged row, a position that of a person in the dataset. */
export interface Ordering {
  readonly connection: DuckDBConnection;
  readonly columns: ColumnWriter;
  readonly people: number;
  readonly signal: AbortSignal;
}

/** `positions`, of which many tables are made in the order of people: sorted by codes, so that no texts are moved. */
export async function orderPeople(ordering: Ordering): Promise<void> {
  const { connection } = ordering;
  const keys = await codesOf(connection, SORT_KEYS);
  const order = [...keys.map(({ code }) => code), "id"].join(", ");
  await connection.run(`CREATE TABLE positions AS
    SELECT place, (row_number() OVER (ORDER BY ${order}) - 1)::UINTEGER AS rid FROM staged_people ${joined(keys)}`);
  await write(ordering, keys);
}

export async function writeCodes(ordering: Ordering): Promise<void> {
  const others = FILTER_COLUMNS.filter((column) => !isPlaced(column) && !SORT_KEYS.some((key) => key === column));
  for (let from = 0; from < others.length; from += COLUMNS_A_PASS) {
    await write(ordering, await codesOf(ordering.connection, others.slice(from, from + COLUMNS_A_PASS)));
  }
}

interface Coding {
  readonly column: string;
  readonly values: readonly string[] | readonly number[];
  /** In SQL, of a person joined with `codes_COLUMN`: the place of their value among all, after the last for none. */
  readonly code: string;
}

const joined = (codings: readonly Coding[]): string =>
  codings.map(({ column: name }) => `LEFT JOIN codes_${name} ON codes_${name}.text = ${name}::VARCHAR`).join(" ");

const formOf = (column: string): string =>
  NUMBER_COLUMNS.includes(column) ? "text::BIGINT" : column === "department" ? "text" : "normal_form(text)";

async function codesOf(connection: DuckDBConnection, columns: readonly string[]): Promise<readonly Coding[]> {
  const codings: Coding[] = [];
  for (const column of columns) {
    await connection.run(`CREATE TABLE codes_${column} AS
      SELECT text, form, (dense_rank() OVER (ORDER BY form NULLS LAST) - 1)::UINTEGER AS code FROM (SELECT text, ${formOf(column)} AS form
        FROM (SELECT DISTINCT ${column}::VARCHAR AS text FROM staged_people WHERE ${column} IS NOT NULL))`);
    const found = await connection.runAndReadAll(
      `SELECT DISTINCT form FROM codes_${column} WHERE form IS NOT NULL ORDER BY form`,
    );
    const forms = found.getColumns()[0] ?? [];
    const values = NUMBER_COLUMNS.includes(column) ? forms.map(Number) : forms.map(String);
    codings.push({ column, values, code: `coalesce(codes_${column}.code, ${values.length}::UINTEGER)` });
  }
  return codings;
}

async function write({ columns, connection, people, signal }: Ordering, codings: readonly Coding[]): Promise<void> {
  const all = codings.map(({ values }) => codesFor(values.length, people));
  const codes = codings.map(({ code }) => code).join(", ");
  const query = `SELECT rid, ${codes} FROM staged_people JOIN positions USING (place) ${joined(codings)}`;
  for await (const chunk of await connection.stream(query)) {
    signal.throwIfAborted();
    const rids = wordsOf(chunk, 0);
    for (const [index, own] of all.entries()) {
      const words = wordsOf(chunk, index + 1);
      for (let row = 0; row < rids.length; row++) own[rids[row] ?? 0] = words[row] ?? 0;
    }
  }
  for (const [index, { column, values }] of codings.entries()) {
    await columns.add(column, values, all[index] ?? new Uint8Array());
    await connection.run(`DROP TABLE codes_${column}`);
  }
}

function wordsOf(chunk: DuckDBDataChunk, column: number): Uint32Array {
  const vector = chunk.getColumnVector(column);
  if (!("items" in vector && vector.items instanceof Uint32Array)) throw new Error("DuckDB gave other than UINTEGER");
  return vector.items;
}
