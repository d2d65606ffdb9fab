import type { DuckDBConnection } from "@duckdb/node-api";
import { type Condition, type Sql, type SqlDialect, whereSql } from "../../contract/conditions.ts";
import { nullsLast, toNumber } from "../duckdb.ts";
import { CountsWriter } from "./counts.ts";

/** A table of counts for each combination of values of a few columns, missing values too. */
export interface Cube {
  readonly table: string;
  readonly columns: readonly string[];
}

/** What is asked most: single keys, the keys that lead the sort, the few-valued others, a range within a department. */
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

/** A cube in DuckDB has to have this many times fewer rows than there are people, else scanning it gains little. */
const SMALLER = 8;
const SMALLER_IN_MEMORY = 2;
/** Rows of a cube in memory: what takes a millisecond or two in the worst case, on the thread that answers. */
const ROWS_IN_MEMORY = 2 ** 18;
const BYTES_IN_MEMORY = 48 * 2 ** 20;

const nameOf = (columns: readonly string[]): string => `count_${columns.join("_")}`;

/** Writes the cubes that are small enough: for DuckDB into `lookups`, for {@link Counts} into the file at `path`. */
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
    const table = nameOf(columns);
    await connection.run(
      `CREATE TABLE ${table} AS SELECT ${list}, count(*)::BIGINT AS n FROM ${people} GROUP BY ${list} ORDER BY ${order}`,
    );
    const texts = columns
      .map(
        (column) => `(SELECT coalesce(sum(strlen(v::VARCHAR)), 0) FROM (SELECT DISTINCT ${column} AS v FROM ${table}))`,
      )
      .join(" + ");
    const [size] = (await connection.runAndReadAll(`SELECT count(*), ${texts} FROM ${table}`)).getRowsJS();
    const rows = toNumber(size?.[0]);
    // Codes and running counts, and at worst a dictionary of its own for each column.
    const bytes = rows * 4 * (2 * columns.length + 1) + toNumber(size?.[1]);
    if (rows <= ROWS_IN_MEMORY && rows * SMALLER_IN_MEMORY <= count && bytes <= bytesLeft) {
      bytesLeft -= bytes;
      const found = await connection.runAndReadAll(`SELECT ${list}, n FROM ${table} ORDER BY ${order}`);
      inMemory.add(columns, splitRows(found.getRowsJS()));
    }
    if (rows * SMALLER <= count) {
      await connection.run(`CREATE TABLE lookups.${table} AS SELECT * FROM ${table} ORDER BY ${order}`);
    }
    await connection.run(`DROP TABLE ${table}`);
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

/** The cubes that the attached database `lookups` has, the smallest first. */
export async function findCubes(connection: DuckDBConnection): Promise<Cube[]> {
  const reader = await connection.runAndReadAll(
    `SELECT table_name, estimated_size FROM duckdb_tables() WHERE database_name = 'lookups' AND starts_with(table_name, 'count_')`,
  );
  const rows = new Map(reader.getRowsJS().map(([table, size]) => [String(table), toNumber(size)]));
  const sizeOf = ({ table }: Cube): number => rows.get(table) ?? 0;
  return COLUMN_SETS.map((columns) => ({ table: nameOf(columns), columns }))
    .filter(({ table }) => rows.has(table))
    .sort((a, b) => sizeOf(a) - sizeOf(b));
}

/** The count from a cube, or undefined where none has all columns that the conditions look at. */
export function cubeCount(
  cubes: readonly Cube[],
  conditions: readonly Condition[],
  dialect: SqlDialect,
): Sql | undefined {
  const cube = cubes.find(({ columns }) => conditions.every(({ column }) => columns.includes(column)));
  if (!cube) return undefined;
  const where = whereSql(conditions, dialect);
  return { text: `SELECT coalesce(sum(n), 0)::BIGINT FROM lookups.${cube.table}${where.text}`, values: where.values };
}
