import { availableParallelism, totalmem } from "node:os";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";

/** What DuckDB may use of the machine. Defaults come from the machine: {@link machineResources}. */
export interface Resources {
  readonly threads: number;
  /** For DuckDB's buffers, in bytes. */
  readonly memoryBytes: number;
}

/** All cores, and a third of the memory (at least 256 MB): the rest is for the row store's pages in the system's cache. */
export function machineResources(): Resources {
  return { threads: availableParallelism(), memoryBytes: Math.max(256 * 2 ** 20, Math.floor(totalmem() / 3)) };
}

/** An in-memory DuckDB to which database files are attached. `spill` is where sorts and joins go that exceed the memory. */
export async function startDuckDb(resources: Resources, spill?: string): Promise<DuckDBInstance> {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  return DuckDBInstance.create(":memory:", {
    threads: String(resources.threads),
    memory_limit: `${Math.floor(resources.memoryBytes / 2 ** 20)}MiB`,
    // Nothing is ever fetched over a network, nor loaded from outside the package.
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    ...(spill === undefined ? {} : { temp_directory: spill }),
  });
}

/** A value as a SQL string literal, for the few places that take no parameters (file names in ATTACH). */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A name as a quoted SQL identifier. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The single value of a query with one row and one column. */
export async function scalar(connection: DuckDBConnection, sql: string): Promise<unknown> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRowsJS()[0]?.[0];
}

/** A count that DuckDB gave as bigint or number. */
export const toNumber = (value: unknown): number =>
  typeof value === "bigint" || typeof value === "number" ? Number(value) : 0;
