import type { DuckDBConnection } from "@duckdb/node-api";
import { nullsLast, scalar, toNumber } from "../duckdb.ts";
import { CountsWriter } from "./counts.ts";

/** Tables of counts for each combination of values of a few columns, missing values too. What is asked most: single keys, the keys that lead the sort, the few-valued others, a range within a department. */
const COLUMN_SETS: readonly (readonly string[])[] = [
  ["country", "department", "seniority"],
  ["department", "connections"],
  ["department", "followers"],
  ["country"],
  ["state"],
  ["city"],
  ["location"],
  ["title"],
  ["department", "seniority_level"],
  ["functional_area"],
  ["industry"],
  ["first_name"],
  ["last_name"],
  ["department", "seniority", "functional_area", "industry", "seniority_level"],
  ["country", "state", "city"],
  ["department", "title"],
  ["country", "department", "seniority", "functional_area", "seniority_level"],
  ["country", "department", "seniority", "industry"],
  ["country", "title"],
];

/** A table has to have this many times fewer rows than there are people, else it gains little. */
const SMALLER = 2;
/** Rows of a cube in memory: what takes a millisecond or two in the worst case, on the thread that answers. */
const ROWS_IN_MEMORY = 2 ** 18;
const BYTES_IN_MEMORY = 48 * 2 ** 20;

/** Writes those that are small enough into the file at `path`, for {@link Counts}. */
export async function writeCubes(
  connection: DuckDBConnection,
  people: string,
  count: number,
  path: string,
): Promise<void> {
  const inMemory = new CountsWriter();
  let bytesLeft = BYTES_IN_MEMORY;
  const tables = await countAll(connection, people);
  const texts = new Map<string, number>();
  for (const columns of COLUMN_SETS) {
    const { name = "", rows = 0 } = tables.get(columns) ?? {};
    if (rows > ROWS_IN_MEMORY || rows * SMALLER > count) continue;
    for (const column of columns) {
      if (texts.has(column)) continue;
      const size = `SELECT coalesce(sum(strlen(v::VARCHAR)), 0) FROM (SELECT DISTINCT ${column} AS v FROM ${name})`;
      texts.set(column, toNumber(await scalar(connection, size)));
    }
    // Codes and running counts, and at worst a dictionary of its own for each column.
    const bytes = columns.reduce((sum, column) => sum + (texts.get(column) ?? 0), rows * 4 * (2 * columns.length + 1));
    if (bytes > bytesLeft) continue;
    bytesLeft -= bytes;
    const found = await connection.runAndReadAll(
      `SELECT ${columns.join(", ")}, n FROM ${name} ORDER BY ${nullsLast(columns)}`,
    );
    inMemory.add(columns, splitRows(found.getRowsJS()));
  }
  for (const { name } of tables.values()) await connection.run(`DROP TABLE ${name}`);
  await inMemory.write(path, count);
}

interface Counted {
  readonly name: string;
  readonly rows: number;
}

/** A table for each set of columns: from the smallest that knows them all, else from the people. */
async function countAll(connection: DuckDBConnection, people: string): Promise<Map<readonly string[], Counted>> {
  const tables = new Map<readonly string[], Counted>();
  for (const columns of COLUMN_SETS.toSorted((a, b) => b.length - a.length)) {
    const [from] = [...tables]
      .filter(([known]) => columns.every((column) => known.includes(column)))
      .map(([, table]) => table)
      .sort((a, b) => a.rows - b.rows);
    const list = columns.join(", ");
    const name = `counted_${list.replaceAll(", ", "_")}`;
    const [source, sum] = from ? [from.name, "sum(n)"] : [people, "count(*)"];
    await connection.run(`CREATE TABLE ${name} AS SELECT ${list}, ${sum}::BIGINT AS n FROM ${source} GROUP BY ${list}`);
    tables.set(columns, { name, rows: toNumber(await scalar(connection, `SELECT count(*) FROM ${name}`)) });
  }
  return tables;
}

type CubeRow = readonly [values: readonly (string | number | null)[], people: number];

export function* splitRows(rows: Iterable<readonly unknown[]>): Generator<CubeRow> {
  for (const row of rows) {
    const values = row.slice(0, -1).map((value) => (typeof value === "bigint" ? Number(value) : value));
    yield [
      values.map((value) => (typeof value === "number" || typeof value === "string" ? value : null)),
      toNumber(row.at(-1)),
    ];
  }
}
