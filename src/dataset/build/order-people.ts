import type { DuckDBConnection, DuckDBDataChunk } from "@duckdb/node-api";
import { FILTER_COLUMNS, NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { isPlaced, SORT_KEYS } from "../columns.ts";
import { addFunction, scalar, toNumber } from "../duckdb.ts";
import { type ColumnWriter, codesFor } from "../embedded/column-writer.ts";
import type { Codes } from "../embedded/scan.ts";

/** Each pass costs a call for each 2,048 people; each column 1 to 4 bytes a person. */
const COLUMNS_A_PASS = 5;

interface Coding {
  readonly column: string;
  readonly values: readonly string[] | readonly number[];
  readonly codes: Codes;
}

/** A place is the number of a staged row, a position that of a person in the dataset. */
export interface PublicOrder {
  readonly places: Uint32Array;
  /** How many places there are, those of rows that were refused among them. */
  readonly staged: number;
}

/** What {@link orderPeople} and {@link writeCodes} read and write. */
export interface Ordering {
  readonly connection: DuckDBConnection;
  readonly columns: ColumnWriter;
  readonly people: number;
  readonly signal: AbortSignal;
}

/** Sorts `staged_people` by codes, so that neither texts nor records are moved, and makes `positions`. */
export async function orderPeople(ordering: Ordering): Promise<PublicOrder> {
  const { connection, people } = ordering;
  const staged = toNumber(await scalar(connection, "SELECT max(place) + 1 FROM staged_people"));
  const keys = await codedPeople(ordering, SORT_KEYS, staged);
  const places = await sortedPlaces(ordering, keys);
  const positions = new Uint32Array(staged);
  for (let position = 0; position < people; position++) positions[places[position] ?? 0] = position;
  await tableOf(connection, positions);
  for (const coding of keys) await write(ordering, coding, places);
  return { places, staged };
}

export async function writeCodes(ordering: Ordering, { places, staged }: PublicOrder): Promise<void> {
  const others = FILTER_COLUMNS.filter((column) => !isPlaced(column) && !SORT_KEYS.some((key) => key === column));
  for (let from = 0; from < others.length; from += COLUMNS_A_PASS) {
    const some = await codedPeople(ordering, others.slice(from, from + COLUMNS_A_PASS), staged);
    for (const coding of some) await write(ordering, coding, places);
  }
}

async function write({ columns, people }: Ordering, coding: Coding, places: Uint32Array): Promise<void> {
  const { column, values, codes } = coding;
  const inOrder = codesFor(values.length, people);
  for (let position = 0; position < people; position++) inOrder[position] = codes[places[position] ?? 0] ?? 0;
  await columns.add(column, values, inOrder);
}

async function eachChunk(
  { connection, signal }: Ordering,
  query: string,
  take: (chunk: DuckDBDataChunk) => void,
): Promise<void> {
  for await (const chunk of await connection.stream(query)) {
    take(chunk);
    signal.throwIfAborted();
  }
}

/** `positions`, of which many tables are made in the order of people. */
async function tableOf(connection: DuckDBConnection, positions: Uint32Array): Promise<void> {
  await addFunction(connection, "js_position", "UINTEGER", (input, output) => {
    const places = wordsOf(input, 0);
    for (let row = 0; row < input.rowCount; row++) output.setItem(row, positions[places[row] ?? 0] ?? 0);
  });
  await connection.run(
    `CREATE TABLE positions AS SELECT place, js_position(place::UINTEGER) AS rid FROM staged_people`,
  );
}

/** By one key after another, the last one first, each keeping the order before it. @returns by position */
async function sortedPlaces(ordering: Ordering, keys: readonly Coding[]): Promise<Uint32Array> {
  const { people, signal } = ordering;
  let order = new Uint32Array(people);
  let next = 0;
  await eachChunk(ordering, "SELECT place::UINTEGER FROM staged_people ORDER BY id", (chunk) => {
    const some = wordsOf(chunk, 0);
    order.set(some, next);
    next += some.length;
  });
  if (next !== people) throw new Error(`sorted ${next} of ${people} people`);
  for (const { values, codes } of [...keys].reverse()) {
    // A third of a second for 10 million people: whoever wants to stop this is heard between two of them.
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    const starts = new Uint32Array(values.length + 2);
    for (const place of order) {
      const after = (codes[place] ?? 0) + 1;
      starts[after] = (starts[after] ?? 0) + 1;
    }
    for (let code = 1; code < starts.length; code++) starts[code] = (starts[code] ?? 0) + (starts[code - 1] ?? 0);
    const sorted = new Uint32Array(people);
    for (const place of order) {
      const code = codes[place] ?? 0;
      const at = starts[code] ?? 0;
      sorted[at] = place;
      starts[code] = at + 1;
    }
    order = sorted;
  }
  return order;
}

const formOf = (column: string): string =>
  NUMBER_COLUMNS.includes(column) ? "text::BIGINT" : column === "department" ? "text" : "normal_form(text)";

/** Codes of columns from one pass over the people, in whatever order they come. */
async function codedPeople(ordering: Ordering, columns: readonly string[], places: number): Promise<readonly Coding[]> {
  const { connection } = ordering;
  const codings: { readonly coding: Coding; readonly codeOf: Uint32Array }[] = [];
  const texts: string[] = [];
  for (const column of columns) {
    await connection.run(`CREATE TABLE different AS SELECT text, form, dense_rank() OVER (ORDER BY form NULLS LAST) - 1 AS code
      FROM (SELECT text, ${formOf(column)} AS form FROM (SELECT DISTINCT ${column}::VARCHAR AS text FROM staged_people WHERE ${column} IS NOT NULL))`);
    const found = await connection.runAndReadAll(
      "SELECT DISTINCT form FROM different WHERE form IS NOT NULL ORDER BY form",
    );
    const values = found.getColumns()[0] ?? [];
    const { code, codeOf } = await textCodes(connection, column, values.length);
    texts.push(code);
    codings.push({
      coding: {
        column,
        values: NUMBER_COLUMNS.includes(column) ? values.map(Number) : values.map(String),
        codes: codesFor(values.length, places),
      },
      codeOf,
    });
    await connection.run("DROP TABLE different");
  }
  await eachChunk(ordering, `SELECT place::UINTEGER, ${texts.join(", ")} FROM staged_people`, (chunk) => {
    const some = wordsOf(chunk, 0);
    for (const [index, { coding, codeOf }] of codings.entries()) {
      const words = wordsOf(chunk, index + 1);
      for (let row = 0; row < some.length; row++) coding.codes[some[row] ?? 0] = codeOf[words[row] ?? 0] ?? 0;
    }
  });
  for (const { coding, codeOf } of codings) {
    if (codeOf.length > 1) await connection.run(`DROP TYPE text_of_${coding.column}`);
  }
  return codings.map(({ coding }) => coding);
}

/** The number of a person's text among the `different` ones, in SQL, and by this the code of its form. */
async function textCodes(
  connection: DuckDBConnection,
  column: string,
  missing: number,
): Promise<{ readonly code: string; readonly codeOf: Uint32Array }> {
  const size = toNumber(await scalar(connection, "SELECT count(*) FROM different"));
  const codeOf = new Uint32Array(size + 1).fill(missing);
  if (size === 0) return { code: "0::UINTEGER", codeOf };
  const type = `text_of_${column}`;
  await connection.run(`CREATE TYPE ${type} AS ENUM (SELECT text FROM different)`);
  const numbers = await connection.stream(
    `SELECT enum_code(text::${type})::UINTEGER, code::UINTEGER FROM different WHERE form IS NOT NULL`,
  );
  for await (const chunk of numbers) {
    const codes = wordsOf(chunk, 1);
    for (const [row, text] of wordsOf(chunk, 0).entries()) codeOf[text] = codes[row] ?? missing;
  }
  return { code: `coalesce(enum_code(${column}::VARCHAR::${type}), ${size})::UINTEGER`, codeOf };
}

/** A column of UINTEGER without missing values, as it lies in memory. */
function wordsOf(chunk: DuckDBDataChunk, column: number): Uint32Array {
  const vector = chunk.getColumnVector(column);
  if (!("items" in vector && vector.items instanceof Uint32Array)) throw new Error("DuckDB gave other than UINTEGER");
  return vector.items;
}
