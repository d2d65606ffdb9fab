import type { DuckDBConnection } from "@duckdb/node-api";
import { type Condition, type Sql, type SqlDialect, whereSql } from "./conditions.ts";

/** A table of counts for each combination of values of a few columns, missing values too. */
export interface Cube {
  readonly table: string;
  readonly columns: readonly string[];
}

/** The questions that are asked most: one key alone, the keys that lead the sort, and a range within a department. */
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
];

/** A cube has to have this many times fewer rows than there are people, else scanning it gains little. */
const SMALLER = 8;

const nameOf = (columns: readonly string[]): string => `count_${columns.join("_")}`;

/**
 * Writes the cubes that are small enough into the attached database `lookups`.
 * @param people the table with the filter columns
 */
export async function writeCubes(connection: DuckDBConnection, people: string, count: number): Promise<void> {
  for (const columns of COLUMN_SETS) {
    const list = columns.join(", ");
    const table = nameOf(columns);
    await connection.run(
      `CREATE TABLE ${table} AS SELECT ${list}, count(*)::BIGINT AS n FROM ${people} GROUP BY ${list} ORDER BY ${list}`,
    );
    const reader = await connection.runAndReadAll(`SELECT count(*) * ${SMALLER} <= ${count} FROM ${table}`);
    if (reader.getRowsJS()[0]?.[0] === true) {
      await connection.run(`CREATE TABLE lookups.${table} AS SELECT * FROM ${table} ORDER BY ${list}`);
    }
    await connection.run(`DROP TABLE ${table}`);
  }
}

/** The cubes that the attached database `lookups` has, the narrowest first. */
export async function findCubes(connection: DuckDBConnection): Promise<Cube[]> {
  const reader = await connection.runAndReadAll(
    "SELECT table_name FROM duckdb_tables() WHERE database_name = 'lookups' AND starts_with(table_name, 'count_')",
  );
  const tables = new Set(reader.getRowsJS().map(([table]) => String(table)));
  return COLUMN_SETS.map((columns) => ({ table: nameOf(columns), columns }))
    .filter(({ table }) => tables.has(table))
    .sort((a, b) => a.columns.length - b.columns.length);
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
