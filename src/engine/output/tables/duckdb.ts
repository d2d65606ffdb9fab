// Tested by test/cli/output-tables.long.test.ts.
import { chmod, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { JsonRecord } from "../../../shared/rows/values.ts";
import { FILE_MODE, remove } from "../../runs/disk.ts";
import type { OutputPlace } from "../register.ts";
import type { ColumnType, TypedColumn } from "../whole/cells.ts";
import { append, type DuckDb, definitions, loadDuckDb, openFile } from "../whole/duck.ts";
import { quoted, sqlName, type TableTarget } from "./target.ts";
import {
  IDENTITY,
  IDENTITY_COLUMN,
  noIdentity,
  TableRefusal,
  type TableWriter,
  unfit,
} from "./writer.ts";

type Target = TableTarget & { readonly engine: "duckdb" };

const NAMES = "-o duckdb:FILE#TABLE names a DuckDB file, or one that is not there yet";

/** A file that is not there yet is made beside its place, and appears whole. */
export async function openDuckDb(
  target: Target,
  { name, disk }: Pick<OutputPlace, "name" | "disk">,
): Promise<TableWriter> {
  const isNew = (await stat(target.file).catch(() => undefined)) === undefined;
  const part = join(dirname(target.file), `.${basename(target.file)}.${name}.part`);
  const clear = async (): Promise<void> => {
    if (isNew) for (const path of [part, `${part}.wal`, `${part}.tmp`]) await remove(path);
  };

  await clear();
  const { connection, close } = await openFile(
    isNew ? part : target.file,
    {},
    "A DuckDB table",
  ).catch(async (error) => {
    await clear();
    throw error;
  });

  // It reads other files too, into memory, where rows would be lost.
  const [[path] = []] = (
    await connection.runAndReadAll(
      "SELECT path FROM duckdb_databases() WHERE database_name = current_database()",
    )
  ).getRows();

  if (path === null || path === undefined) {
    close();
    throw new TableRefusal("the file is no DuckDB database", NAMES);
  }

  return {
    async upsert(columns, batches) {
      const added = await upsert(connection, target, columns, batches);
      // Nobody sees it yet. What the close of a file cannot write any more, it does not tell.
      if (isNew) await connection.run("COMMIT; CHECKPOINT");
      return added;
    },

    async commit() {
      if (!isNew) await connection.run("COMMIT");
      close();
      if (!isNew) return;
      await chmod(part, FILE_MODE);
      await disk.place(part, target.file, "output");
      await clear();
    },

    async rollback() {
      await connection.run("ROLLBACK").catch(() => undefined);
      close();
      await clear();
    },
  };
}

async function upsert(
  connection: DuckDBConnection,
  target: Target,
  columns: readonly TypedColumn[],
  batches: AsyncIterable<readonly JsonRecord[]>,
): Promise<number> {
  await connection.run("BEGIN");
  const duckdb = await loadDuckDb();
  const into = sqlName(target);
  const has = await existing(connection, target);
  const all = [IDENTITY_COLUMN, ...columns];
  let fitted = all;
  if (has.size === 0)
    await connection.run(`CREATE TABLE ${into} (${definitions(duckdb, all).join(", ")})`);
  else {
    if (!has.has(IDENTITY)) throw noIdentity();
    fitted = all.map((column) => adapt(duckdb, column, has.get(column.name.toLowerCase())));
    for (const column of fitted.filter(({ name }) => !has.has(name.toLowerCase())))
      await connection.run(
        `ALTER TABLE ${into} ADD COLUMN ${definitions(duckdb, [column]).join()}`,
      );
  }

  await connection.run(
    `CREATE TEMP TABLE headcount_rows (${definitions(duckdb, fitted).join(", ")})`,
  );
  await append(duckdb, connection, {
    table: ["headcount_rows", "main", "temp"],
    columns: fitted,
    batches,
  });

  const id = quoted(IDENTITY);
  const names = fitted.map(({ name }) => quoted(name));
  const set = names.slice(1).map((name) => `${name} = came.${name}`);
  const same = `there.${id} = came.${id}`;

  if (set.length > 0)
    await connection.run(
      `UPDATE ${into} AS there SET ${set.join(", ")} FROM ` +
        `temp.headcount_rows AS came WHERE ${same}`,
    );

  const insert =
    `INSERT INTO ${into} (${names.join(", ")}) SELECT ` +
    `${names.join(", ")} FROM temp.headcount_rows AS came`;
  const { rowsChanged } = await connection.run(
    `${insert} WHERE NOT EXISTS (FROM ${into} AS there WHERE ${same})`,
  );

  await connection.run("DROP TABLE temp.headcount_rows");
  return rowsChanged;
}

async function existing(
  connection: DuckDBConnection,
  { schema, table }: Target,
): Promise<ReadonlyMap<string, string>> {
  const reader = await connection.runAndReadAll(
    `SELECT lower(column_name), data_type FROM duckdb_columns()
     WHERE database_name = current_database()
      AND lower(schema_name) = lower(coalesce(?, current_schema()))
      AND lower(table_name) = lower(?)`,
    [schema ?? null, table],
  );
  return new Map(reader.getRows().map(([name, type]) => [String(name), String(type)]));
}

const HOLDS: Readonly<Record<ColumnType, readonly string[]>> = {
  text: [],
  integer: ["BIGINT", "HUGEINT", "INTEGER", "SMALLINT", "TINYINT", "DOUBLE"],
  long: ["BIGINT", "HUGEINT"],
  decimal: ["DOUBLE"],
  boolean: ["BOOLEAN"],
  instant: ["TIMESTAMP WITH TIME ZONE"],
  date: ["DATE"],
  list: ["VARCHAR[]"],
};
const OF_TYPE: Readonly<Record<string, ColumnType>> = {
  BIGINT: "integer",
  DOUBLE: "decimal",
  BOOLEAN: "boolean",
  "TIMESTAMP WITH TIME ZONE": "instant",
  DATE: "date",
  "VARCHAR[]": "list",
};

/**
 * A column as the table has it: texts take anything, and no value is changed to fit.
 * @throws TableRefusal
 */
function adapt(duckdb: DuckDb, column: TypedColumn, has: string | undefined): TypedColumn {
  if (has === undefined || HOLDS[column.type].includes(has)) return column;
  if (has === "VARCHAR") return { ...column, type: "text" };
  if (column.empty) return { ...column, type: OF_TYPE[has] ?? "text" };
  throw unfit(
    column.name,
    has,
    definitions(duckdb, [column])
      .join()
      .slice(quoted(column.name).length + 1),
  );
}
