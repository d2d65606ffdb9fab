// Tested by test/cli/output-tables.long.test.ts.
import type { DuckDBConnection, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { optional } from "../../../shared/packages.ts";
import type { JsonRecord, JsonValue } from "../../../shared/rows/values.ts";
import { quoted } from "../tables/target.ts";
import { type ColumnType, days, micros, type TypedColumn, textOf, valueIn } from "./cells.ts";

export type DuckDb = typeof import("@duckdb/node-api");

const CHUNK = 2048;

/** Asked before anything is bought. @throws CliError (exit 2) naming the package that is missing */
export const loadDuckDb = (what = "Parquet"): Promise<DuckDb> =>
  optional("@duckdb/node-api", what, import("@duckdb/node-api"), "write text (-o people.csv)");

const LIMITS = { memory_limit: "512MB", threads: "2" } as const;

export const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** @param file `:memory:` for none @returns its one connection, and what closes both */
export async function openFile(
  file: string,
  settings: Readonly<Record<string, string>> = {},
  what?: string,
) {
  const { DuckDBInstance } = await loadDuckDb(what);
  const instance = await DuckDBInstance.create(file, { ...LIMITS, ...settings });

  try {
    const connection = await instance.connect();
    const close = (): void => {
      connection.closeSync();
      instance.closeSync();
    };
    return { connection, close };
  } catch (error) {
    instance.closeSync();
    throw error;
  }
}

interface DuckColumn {
  readonly type: (duckdb: DuckDb) => DuckDBType;
  readonly value: (duckdb: DuckDb, value: NonNullable<JsonValue>) => DuckDBValue;
}

const WHOLE: DuckColumn = {
  type: ({ BIGINT }) => BIGINT,
  value: (_, value) => BigInt(value as number | bigint),
};
const COLUMNS: Readonly<Record<ColumnType, DuckColumn>> = {
  text: { type: ({ VARCHAR }) => VARCHAR, value: (_, value) => textOf(value) },
  integer: WHOLE,
  long: WHOLE,
  decimal: { type: ({ DOUBLE }) => DOUBLE, value: (_, value) => Number(value) },
  boolean: { type: ({ BOOLEAN }) => BOOLEAN, value: (_, value) => value as boolean },
  instant: {
    type: ({ TIMESTAMPTZ }) => TIMESTAMPTZ,
    value: (duckdb, value) => duckdb.timestampTZValue(micros(value as string)),
  },
  date: {
    type: ({ DATE }) => DATE,
    value: (duckdb, value) => new duckdb.DuckDBDateValue(days(value as string)),
  },
  list: {
    type: ({ LIST, VARCHAR }) => LIST(VARCHAR),
    value: (duckdb, value) =>
      duckdb.listValue((value as readonly string[]).map((item) => item.toWellFormed())),
  },
};

function duckValue(duckdb: DuckDb, row: JsonRecord, column: TypedColumn): DuckDBValue {
  const value = valueIn(row, column);
  return value === null ? null : COLUMNS[column.type].value(duckdb, value);
}

export const definitions = (duckdb: DuckDb, columns: readonly TypedColumn[]): string[] =>
  columns.map(({ name, type }) => `${quoted(name)} ${COLUMNS[type].type(duckdb)}`);

interface Rows {
  readonly table: readonly [table: string, schema?: string, catalog?: string];
  readonly columns: readonly TypedColumn[];
  readonly batches: AsyncIterable<readonly JsonRecord[]>;
}

export async function append(
  duckdb: DuckDb,
  connection: DuckDBConnection,
  { table, columns, batches }: Rows,
) {
  const appender = await connection.createAppender(...table);
  const types = columns.map(({ type }) => COLUMNS[type].type(duckdb));
  for await (const rows of batches) {
    for (let from = 0; from < rows.length; from += CHUNK) {
      const part = rows.slice(from, from + CHUNK);
      const chunk = duckdb.DuckDBDataChunk.create(types, part.length);
      chunk.setColumns(columns.map((column) => part.map((row) => duckValue(duckdb, row, column))));
      appender.appendDataChunk(chunk);
    }
  }

  appender.closeSync();
}
