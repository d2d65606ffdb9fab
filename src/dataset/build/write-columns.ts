import type { DuckDBConnection, DuckDBDataChunk } from "@duckdb/node-api";
import { FILTER_COLUMNS, NUMBER_COLUMNS } from "../../contract/conditions.ts";
import { isPlaced, PLACED_COLUMNS } from "../columns.ts";
import { scalar, toNumber } from "../duckdb.ts";
import { ColumnWriter, codesFor } from "../embedded/column-writer.ts";
import type { Codes } from "../embedded/scan.ts";

/** Each pass costs a call for each 2,048 people, each column of it 1 to 4 bytes a person and its different values in memory. */
const COLUMNS_A_PASS = 5;

interface Coding {
  readonly column: string;
  /** Different values. */
  readonly size: number;
  readonly codes: Codes;
}

/** Writes `sorted_people` as columns of codes, and people in the orders of `by_name` and `by_headline`. */
export async function writeColumns(
  connection: DuckDBConnection,
  path: string,
  people: number,
  signal: AbortSignal,
): Promise<void> {
  const writer = await ColumnWriter.create(path, people);
  const each = async (query: string, take: (chunk: DuckDBDataChunk) => void): Promise<void> => {
    for await (const chunk of await connection.stream(query)) {
      take(chunk);
      signal.throwIfAborted();
    }
  };
  try {
    const columns = FILTER_COLUMNS.filter((column) => !isPlaced(column));
    for (let from = 0; from < columns.length; from += COLUMNS_A_PASS) {
      const some = columns.slice(from, from + COLUMNS_A_PASS);
      for (const { column, size, codes } of await codedPeople(connection, some, people, each)) {
        const values: unknown[] = [];
        await each(`SELECT value FROM different_${column}`, (chunk) => values.push(...chunk.getColumnValues(0)));
        if (values.length !== size) throw new Error(`${column} has ${values.length} values, not ${size}`);
        await writer.add(column, NUMBER_COLUMNS.includes(column) ? values.map(Number) : values.map(String), codes);
        await connection.run(`DROP TABLE different_${column}`);
      }
    }
    for (const column of PLACED_COLUMNS) {
      const order = new Uint32Array(people);
      let next = 0;
      await each(`SELECT rid FROM by_${column}`, (chunk) => {
        const rids = wordsOf(chunk, 0);
        order.set(rids, next);
        next += rids.length;
      });
      await writer.addOrder(column, order.subarray(0, next));
    }
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}

/** Codes of columns from one pass over the people: without a join these stay in their order. An ENUM has its values in the order of its table. */
async function codedPeople(
  connection: DuckDBConnection,
  columns: readonly string[],
  people: number,
  each: (query: string, take: (chunk: DuckDBDataChunk) => void) => Promise<void>,
): Promise<readonly Coding[]> {
  const codings: Coding[] = [];
  const values: string[] = [];
  for (const column of columns) {
    await connection.run(`CREATE TABLE different_${column} AS
      SELECT DISTINCT ${column} AS value FROM sorted_people WHERE ${column} IS NOT NULL ORDER BY value`);
    const size = toNumber(await scalar(connection, `SELECT count(*) FROM different_${column}`));
    codings.push({ column, size, codes: codesFor(size, people) });
    if (size > 0)
      await connection.run(`CREATE TYPE code_of_${column} AS ENUM (SELECT value::VARCHAR FROM different_${column})`);
    const code = size === 0 ? "0" : `coalesce(enum_code(${column}::VARCHAR::code_of_${column}), ${size})`;
    values.push(`${code}::UINTEGER`);
  }
  let person = 0;
  await each(`SELECT ${values.join(", ")} FROM sorted_people`, (chunk) => {
    for (const [index, { codes }] of codings.entries()) codes.set(wordsOf(chunk, index), person);
    person += chunk.rowCount;
  });
  if (person !== people) throw new Error(`codes of ${person} of ${people} people`);
  for (const { column, size } of codings) if (size > 0) await connection.run(`DROP TYPE code_of_${column}`);
  return codings;
}

/** A column of UINTEGER without missing values, as it lies in memory. */
function wordsOf(chunk: DuckDBDataChunk, column: number): Uint32Array {
  const vector = chunk.getColumnVector(column);
  if (!("items" in vector && vector.items instanceof Uint32Array)) throw new Error("DuckDB gave other than UINTEGER");
  return vector.items;
}
