import type { DuckDBConnection, DuckDBType, DuckDBValue } from "@duckdb/node-api";
import type { JsonRecord, JsonValue } from "../../../shared/rows/values.ts";
import { optional } from "../optional.ts";
import { type ColumnType, days, micros, type TypedColumn, textOf, valueIn } from "./cells.ts";

export type DuckDb = typeof import("@duckdb/node-api");

const CHUNK = 2048;

/** Asked before anything is bought. @throws CliError (exit 2) naming the package that is missing */
export const loadDuckDb = (what = "Parquet"): Promise<DuckDb> =>
  optional("@duckdb/node-api", what, import("@duckdb/node-api"), "choose --format csv");

const LIMITS = { memory_limit: "512MB", threads: "2" } as const;

export const sqlText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** @param file `:memory:` for none @returns its one connection, and what closes both */
export async function openFile(file: string, settings: Readonly<Record<string, string>> = {}, what?: string) {
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

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export function duckType(duckdb: DuckDb, type: ColumnType): DuckDBType {
  switch (type) {
    case "integer":
    case "long":
      return duckdb.BIGINT;
    case "decimal":
      return duckdb.DOUBLE;
    case "boolean":
      return duckdb.BOOLEAN;
    case "instant":
      return duckdb.TIMESTAMPTZ;
    case "date":
      return duckdb.DATE;
    case "list":
      return duckdb.LIST(duckdb.VARCHAR);
    default:
      return duckdb.VARCHAR;
  }
}

function duckValue(duckdb: DuckDb, type: ColumnType, value: JsonValue): DuckDBValue {
  if (value === null) return null;
  switch (type) {
    case "integer":
    case "long":
      return BigInt(value as number | bigint);
    case "decimal":
      return Number(value);
    case "boolean":
      return value as boolean;
    case "instant":
      return duckdb.timestampTZValue(micros(value as string));
    case "date":
      return new duckdb.DuckDBDateValue(days(value as string));
    case "list":
      return duckdb.listValue((value as readonly string[]).map((item) => item.toWellFormed()));
    default:
      return textOf(value);
  }
}

export const definitions = (duckdb: DuckDb, columns: readonly TypedColumn[]): string[] =>
  columns.map(({ name, type }) => `${quoted(name)} ${duckType(duckdb, type)}`);

interface Rows {
  readonly table: readonly [table: string, schema?: string, catalog?: string];
  readonly columns: readonly TypedColumn[];
  readonly batches: AsyncIterable<readonly JsonRecord[]>;
}

export async function append(duckdb: DuckDb, connection: DuckDBConnection, { table, columns, batches }: Rows) {
  const appender = await connection.createAppender(...table);
  const types = columns.map(({ type }) => duckType(duckdb, type));
  for await (const rows of batches) {
    for (let from = 0; from < rows.length; from += CHUNK) {
      const part = rows.slice(from, from + CHUNK);
      const chunk = duckdb.DuckDBDataChunk.create(types, part.length);
      chunk.setColumns(
        columns.map((column) => part.map((row) => duckValue(duckdb, column.type, valueIn(row, column)))),
      );
      appender.appendDataChunk(chunk);
    }
  }
  appender.closeSync();
}
