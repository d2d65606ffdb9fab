import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { FILTER_COLUMNS } from "../../contract/conditions.ts";
import { COMPANY_COLUMNS, PLACED_COLUMNS, placeOf } from "../columns.ts";
import { literal } from "../duckdb.ts";
import { writeCubes } from "../embedded/cubes.ts";
import { FILES } from "../layout.ts";

export async function writeFilterTable(connection: DuckDBConnection, path: string): Promise<void> {
  await connection.run(`ATTACH ${literal(path)} AS filters (STORAGE_VERSION 'latest')`);
  const places = PLACED_COLUMNS.map((column) => `${column}.rowid::UINTEGER AS ${placeOf(column)}`).join(", ");
  const joins = PLACED_COLUMNS.map((column) => `LEFT JOIN by_${column} AS ${column} ON ${column}.rid = p.rid`).join(
    " ",
  );
  // Only these narrow rows are put in order again after the joins, not the people.
  await connection.run(`CREATE TABLE places AS
    SELECT p.rid, ${places} FROM (SELECT rowid::UINTEGER AS rid FROM sorted_people) AS p ${joins} ORDER BY p.rid`);
  const columns = [...FILTER_COLUMNS.map((column) => `p.${column}`), ...PLACED_COLUMNS.map(placeOf)].join(", ");
  await connection.run(`CREATE TABLE filters.people AS
    SELECT places.rid, ${columns} FROM sorted_people AS p POSITIONAL JOIN places; DROP TABLE places`);
  await connection.run("CHECKPOINT filters; DETACH filters");
}

export async function writeLookups(connection: DuckDBConnection, draft: string, people: number): Promise<void> {
  await connection.run(
    `ATTACH ${literal(join(draft, FILES.lookups))} AS lookups (STORAGE_VERSION 'latest', ROW_GROUP_SIZE 16384)`,
  );
  const tables = {
    by_company: `slug_of(company_address) AS key, company_address AS address, rowid::UINTEGER AS rid, ${COMPANY_COLUMNS.join(", ")}
      FROM sorted_people WHERE company_address IS NOT NULL`,
    by_employer: "company AS key, rowid::UINTEGER AS rid FROM sorted_people WHERE company IS NOT NULL",
  };
  for (const [name, query] of Object.entries(tables)) {
    await connection.run(`CREATE TABLE lookups.${name} AS SELECT ${query} ORDER BY key, rid`);
  }
  await writeCubes(connection, "sorted_people", people, join(draft, FILES.counts));
  await connection.run("CHECKPOINT lookups; DETACH lookups");
}
