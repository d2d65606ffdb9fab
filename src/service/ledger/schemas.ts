import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { PoolClient } from "pg";
import { LedgerFormatError, NoLedgerError, StoreUnavailableError } from "./errors.ts";
import { POSTGRES_SCHEMA, SCHEMA_VERSION, SQLITE_SCHEMA } from "./schema.ts";

const APPLICATION_ID = 0x68636e74;
/** Older ones can corrupt a write-ahead log when a checkpoint meets a log restart. */
const OLDEST_SQLITE = "3.51.3";

/** Looked at inside every transaction: another headcount may have changed the schema under a running process. */
export function assertSchema(found: unknown): void {
  if (Number(found) === SCHEMA_VERSION) return;
  throw new StoreUnavailableError(
    `the ledger has schema ${String(found)} now, and this process knows ${SCHEMA_VERSION}: another version of headcount has changed it. Restart the service with that version`,
  );
}

function isThere(found: number, place: string): boolean {
  if (found === 0 || found === SCHEMA_VERSION) return found > 0;
  const what = `${place} has ledger schema ${found}; this version of headcount knows ${SCHEMA_VERSION}`;
  throw new LedgerFormatError(
    `${what}${found > SCHEMA_VERSION ? ". Upgrade headcount" : ", and no older one was ever released: move it away, and a new one is made"}`,
  );
}

function pragma(database: DatabaseSyncInstance, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Record<string, number> | undefined;
  return Number(row?.[name] ?? 0);
}

function assertOurs(database: DatabaseSyncInstance, path: string): void {
  if (pragma(database, "application_id") === APPLICATION_ID) return;
  throw new LedgerFormatError(`${path} is a database of another program, not a headcount ledger`);
}

export function assertLedger(database: DatabaseSyncInstance, path: string): void {
  assertOurs(database, path);
  isThere(pragma(database, "user_version"), path);
}

export function checkSqliteVersion(database: DatabaseSyncInstance): void {
  const { version } = database.prepare("SELECT sqlite_version() AS version").get() as { version: string };
  const found = version.split(".").map(Number);
  const oldest = OLDEST_SQLITE.split(".").map(Number);
  for (const [position, needed] of oldest.entries()) {
    const part = found[position] ?? 0;
    if (part > needed) return;
    if (part < needed)
      throw new LedgerFormatError(`SQLite ${version} may corrupt a ledger; ${OLDEST_SQLITE} or newer is needed`);
  }
}

/** Nothing is written. @returns whether there is a ledger @throws LedgerFormatError for one of another version */
export function assertKnown(database: DatabaseSyncInstance, path: string): boolean {
  const found = pragma(database, "user_version");
  if (found !== 0 || pragma(database, "application_id") !== 0) assertOurs(database, path);
  return isThere(found, path);
}

export function makeTables(database: DatabaseSyncInstance, path: string): void {
  if (assertKnown(database, path)) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    if (!assertKnown(database, path)) {
      database.exec(SQLITE_SCHEMA);
      database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`);
    }
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** As {@link makeTables}, in the search path. @param create else NoLedgerError where there is none */
export async function makePostgresTables(client: PoolClient, schema: string, create: boolean): Promise<void> {
  const { rows } = await client.query<{ fsync: string; pages: string }>(
    "SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages",
  );
  if (rows[0]?.fsync !== "on" || rows[0].pages !== "on") {
    throw new LedgerFormatError(
      "this PostgreSQL server runs with fsync or full_page_writes off: it would lose charges in a power failure",
    );
  }
  const place = `the schema ${schema}`;
  const tables = await client.query("SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_version'", [
    schema,
  ]);
  const read = async (): Promise<boolean> => {
    const found = await client.query<{ version: number }>("SELECT version FROM schema_version");
    return isThere(found.rows[0]?.version ?? 0, place);
  };
  // Where all is as it should be nothing is written: whoever only verifies may have no right to.
  if (tables.rows.length > 0 && (await read())) return;
  if (!create && tables.rows.length === 0) throw new NoLedgerError(`${place} of this database`);
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`headcount-schema-${schema}`]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query("CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)");
    if (!(await read())) {
      await client.query(POSTGRES_SCHEMA);
      await client.query("INSERT INTO schema_version VALUES ($1)", [SCHEMA_VERSION]);
    }
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}
