import { closeSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { makeFolder } from "../../shared/folder.ts";
import { missingPackage, packagePath } from "../../shared/packages.ts";
import { FILE_MODE } from "../runs/disk.ts";

/** Milliseconds. */
const BUSY_MS = 30_000;

type Value = string | number | bigint | null;

export const AMONG = "IN (SELECT value FROM json_each(?))";

/** @throws CliError (exit 2) where the optional package is not installed */
async function driver() {
  try {
    return (await import("@photostructure/sqlite")).DatabaseSync;
  } catch (error) {
    throw missingPackage(error) ?? error;
  }
}

/** For its owner alone from the first moment; made where it is not there. */
export async function openToWrite(path: string): Promise<DatabaseSyncInstance> {
  const DatabaseSync = await driver();

  // SQLite would make it with the rights that the umask leaves.
  makeFolder(dirname(path));
  closeSync(openSync(path, "a", FILE_MODE));
  const database = new DatabaseSync(path, { timeout: BUSY_MS });

  // Large pages waste less of what is behind the last whole record: a tenth of the file.
  database.exec(
    "PRAGMA page_size = 16384; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; " +
      "PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY",
  );

  return database;
}

/** @throws CliError (exit 2) as {@link openToWrite} */
export async function driverPath(): Promise<string> {
  await driver();
  return packagePath("@photostructure/sqlite");
}

export function inTransaction(
  database: DatabaseSyncInstance,
  work: () => void,
  end = "COMMIT",
): void {
  if (database.isTransaction) {
    work();
    return;
  }
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec(end);
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

export const allRows = <Row>(
  database: DatabaseSyncInstance,
  sql: string,
  ...values: readonly Value[]
): Row[] => database.prepare(sql).all(...values) as Row[];

export const firstRow = <Row>(
  database: DatabaseSyncInstance,
  sql: string,
  ...values: readonly Value[]
): Row | undefined => database.prepare(sql).get(...values) as Row | undefined;

/**
 * The driver does not hold an iterator's statement, and
 * where that is collected between two rows the process dies.
 */
export function* queryRows<Row>(
  database: DatabaseSyncInstance,
  sql: string,
  ...values: readonly (string | number)[]
): Generator<Row> {
  const statement = database.prepare(sql);
  try {
    yield* statement.iterate(...values) as Iterable<Row>;
  } finally {
    statement.setReadBigInts(false);
  }
}
