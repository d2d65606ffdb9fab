import type { DuckDBConnection } from "@duckdb/node-api";
import { nullsLast, toNumber } from "../duckdb.ts";
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
  for (const columns of COLUMN_SETS) {
    const list = columns.join(", ");
    const order = nullsLast(columns);
    await connection.run(
      `CREATE TABLE counted AS SELECT ${list}, count(*)::BIGINT AS n FROM ${people} GROUP BY ${list} ORDER BY ${order}`,
    );
    const texts = columns
      .map(
        (column) => `(SELECT coalesce(sum(strlen(v::VARCHAR)), 0) FROM (SELECT DISTINCT ${column} AS v FROM counted))`,
      )
      .join(" + ");
    const [size] = (await connection.runAndReadAll(`SELECT count(*), ${texts} FROM counted`)).getRowsJS();
    const rows = toNumber(size?.[0]);
    // Codes and running counts, and at worst a dictionary of its own for each column.
    const bytes = rows * 4 * (2 * columns.length + 1) + toNumber(size?.[1]);
    if (rows <= ROWS_IN_MEMORY && rows * SMALLER <= count && bytes <= bytesLeft) {
      bytesLeft -= bytes;
      const found = await connection.runAndReadAll(`SELECT ${list}, n FROM counted ORDER BY ${order}`);
      inMemory.add(columns, splitRows(found.getRowsJS()));
    }
    await connection.run("DROP TABLE counted");
  }
  await inMemory.write(path, count);
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
