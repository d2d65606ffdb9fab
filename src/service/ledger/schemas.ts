import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { PoolClient } from "pg";
import { type Result, run, runNow, type Statement } from "./database.ts";
import { LedgerFormatError, NoLedgerError, StoreUnavailableError } from "./errors.ts";
import { POSTGRES_STEPS, SQLITE_STEPS, type Step } from "./schema/steps.ts";
import { Statements } from "./statements.ts";

const APPLICATION_ID = 0x68636e74;
/** Older ones can corrupt a write-ahead log when a checkpoint meets a log restart. */
const OLDEST_SQLITE = "3.51.3";

/** Version 1 was never released. */
const FIRST_VERSION = 2;
export const SQLITE_VERSION = FIRST_VERSION + SQLITE_STEPS.length - 1;
export const POSTGRES_VERSION = FIRST_VERSION + POSTGRES_STEPS.length - 1;

/** Looked at inside every transaction: a newer headcount may have moved the schema under a running process. */
export function assertSchema(found: unknown, known: number): void {
  if (Number(found) === known) return;
  throw new StoreUnavailableError(
    `the ledger has schema ${String(found)} now, and this process knows ${known}: another version of headcount has changed it. Restart the service with that version`,
  );
}

/** @param found 0 where there is none yet. @throws Error where this version of the program cannot use it */
function stepsFrom(found: number, steps: readonly Step[], place: string): { missing: readonly Step[]; newest: number } {
  const newest = FIRST_VERSION + steps.length - 1;
  if (found > newest) {
    throw new LedgerFormatError(
      `${place} has ledger schema ${found}; this version of headcount knows up to ${newest}. Upgrade headcount`,
    );
  }
  if (found > 0 && found < FIRST_VERSION) {
    throw new LedgerFormatError(
      `${place} has ledger schema ${found}, which was never released: move it away, and a new one is made`,
    );
  }
  return { missing: steps.slice(found === 0 ? 0 : found - FIRST_VERSION + 1), newest };
}

function pragma(database: DatabaseSyncInstance, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Record<string, number> | undefined;
  return Number(row?.[name] ?? 0);
}

/** @throws LedgerFormatError where the file is not a ledger of ours, of whatever version */
export function assertOurs(database: DatabaseSyncInstance, path: string): void {
  if (pragma(database, "application_id") === APPLICATION_ID) return;
  throw new LedgerFormatError(`${path} is a database of another program, not a headcount ledger`);
}

export function assertLedger(database: DatabaseSyncInstance, path: string): void {
  assertOurs(database, path);
  const { missing } = stepsFrom(pragma(database, "user_version"), SQLITE_STEPS, path);
  if (missing.length > 0)
    throw new LedgerFormatError(
      `${path} has an older ledger schema; headcount serve brings it to the newest, and service restore that of a backup`,
    );
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

/** Nothing is written. @throws LedgerFormatError where the file is of another program, or of a newer version */
export function assertKnown(database: DatabaseSyncInstance, path: string, steps: readonly Step[] = SQLITE_STEPS) {
  const found = pragma(database, "user_version");
  if (found !== 0 || pragma(database, "application_id") !== 0) assertOurs(database, path);
  return stepsFrom(found, steps, path);
}

/** Several processes may do it at once. @throws Error where the file is of another program, or of a newer version */
export function migrate(
  database: DatabaseSyncInstance,
  path: string,
  now: number,
  migrations: readonly Step[] = SQLITE_STEPS,
): void {
  const version = () => assertKnown(database, path, migrations);
  if (version().missing.length === 0) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    const { missing, newest } = version();
    for (const { after = "", fill, sql } of missing) {
      database.exec(sql);
      if (fill !== undefined) runNow(fill(now), new Statements(database).execute);
      database.exec(after);
    }
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${newest}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

export interface PostgresMigration {
  readonly schema: string;
  /** Else NoLedgerError where there is none. */
  readonly create: boolean;
  /** Epoch ms. */
  readonly now: number;
  readonly execute: (statement: Statement) => Promise<Result>;
}

/** As {@link migrate}, in the search path. @throws Error on a server without syncs */
export async function migratePostgres(client: PoolClient, options: PostgresMigration): Promise<void> {
  const { create, execute, now, schema } = options;
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
  const read = async (): Promise<number> => {
    const found = await client.query<{ version: number }>("SELECT version FROM schema_version");
    return found.rows[0]?.version ?? 0;
  };
  // Where all is as it should be nothing is written: whoever only verifies may have no right to.
  if (tables.rows.length > 0 && stepsFrom(await read(), POSTGRES_STEPS, place).missing.length === 0) return;
  if (!create && tables.rows.length === 0) throw new NoLedgerError(`${place} of this database`);
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`headcount-schema-${schema}`]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query("CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)");
    const version = await read();
    const { missing, newest } = stepsFrom(version, POSTGRES_STEPS, place);
    for (const { after = "", fill, sql } of missing) {
      await client.query(sql);
      if (fill !== undefined) await run(fill(now), execute);
      await client.query(after);
    }
    const sql = version === 0 ? "INSERT INTO schema_version VALUES ($1)" : "UPDATE schema_version SET version = $1";
    await client.query(sql, [newest]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}
