import { availableParallelism, constants, totalmem } from "node:os";
import { constrainedMemory } from "node:process";
import { getSystemErrorName } from "node:util";
import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBInstance,
  DuckDBVector,
} from "@duckdb/node-api";

const { ENOMEM } = constants.errno;

export type Resources = Readonly<ReturnType<typeof machineResources>>;

/**
 * All cores and a third of the memory (at least 256 MB):
 * the rest is for the row store's pages in the cache.
 */
export function machineResources() {
  // In a container the limit is below what the machine has;
  // where there is none it reads as 0 or as an absurd number.
  const limit = constrainedMemory() || Number.POSITIVE_INFINITY;
  const memory = Math.min(totalmem(), limit);
  return {
    threads: availableParallelism(),
    memoryBytes: Math.max(256 * 2 ** 20, Math.floor(memory / 3)),
  };
}

/** Files are attached to it. `spill` is where sorts and joins go that exceed the memory. */
export async function startDuckDb(resources: Resources, spill?: string): Promise<DuckDBInstance> {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:", {
    threads: String(resources.threads),
    memory_limit: `${Math.floor(resources.memoryBytes / 2 ** 20)}MiB`,
    // Nothing is ever fetched over a network, nor loaded from outside the package.
    autoinstall_known_extensions: "false",
    autoload_known_extensions: "false",
    errors_as_json: "true",
    // A full disk says so itself; this bound would say that the memory is too small.
    max_temp_directory_size: "1000TB",
    ...(spill === undefined ? {} : { temp_directory: spill }),
  });

  // Else a time with an offset is read as that of the machine's zone.
  const connection = await instance.connect();
  await connection.run("SET GLOBAL TimeZone = 'UTC'");
  connection.closeSync();

  return instance;
}

/** What DuckDB throws, in its words; of what the machine refused it, an error of the system. */
export function told(error: unknown): unknown {
  if (!(error instanceof Error && error.message.startsWith('{"exception_type"'))) return error;
  const { errno = 0, exception_message, exception_type } = JSON.parse(error.message);
  const number = exception_type === "Out of Memory" ? ENOMEM : Number(errno);
  return Object.assign(
    new Error(exception_message, { cause: error }),
    number > 0 && { syscall: "duckdb", errno: -number, code: getSystemErrorName(-number) },
  );
}

/**
 * A value as a SQL string literal, for the few places
 * that take no parameters (file names in ATTACH).
 */
export const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;

export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export async function addFunction(
  connection: DuckDBConnection,
  name: string,
  convert: (input: DuckDBDataChunk, output: DuckDBVector) => void,
): Promise<void> {
  const { DuckDBScalarFunction, VARCHAR } = await import("@duckdb/node-api");
  const mainFunction = (_info: unknown, input: DuckDBDataChunk, output: DuckDBVector): void => {
    convert(input, output);
    output.flush();
  };
  const definition = { name, returnType: VARCHAR, parameterTypes: [VARCHAR], mainFunction };
  connection.registerScalarFunction(DuckDBScalarFunction.create(definition));
}

export async function scalar(connection: DuckDBConnection, sql: string): Promise<unknown> {
  const reader = await connection.runAndReadAll(sql);
  return reader.getRowsJS()[0]?.[0];
}

export const toNumber = (value: unknown): number =>
  typeof value === "bigint" || typeof value === "number" ? Number(value) : 0;

const WATCH_MS = 250;

export async function runWatched(
  connection: DuckDBConnection,
  sql: string,
  sleep: (ms: number) => Promise<void>,
  onPart: (part: number) => void,
): Promise<void> {
  // Only so that progress can be asked for; nothing is printed.
  await connection.run("SET enable_progress_bar = true; SET enable_progress_bar_print = false");
  let running = true;
  let most = 0;
  const watch = async (): Promise<void> => {
    for (await sleep(WATCH_MS); running; await sleep(WATCH_MS)) {
      most = Math.max(most, Math.min(1, connection.progress.percentage / 100));
      onPart(most);
    }
  };

  // Progress is a courtesy: where it cannot be had the statement goes on.
  void watch().catch(() => undefined);

  try {
    await connection.run(sql);
  } finally {
    running = false;
    // Where the statement was interrupted, so may this be, and its own error is the one to tell.
    await connection.run("SET enable_progress_bar = false").catch(() => undefined);
  }
}
