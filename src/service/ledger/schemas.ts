import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { PoolClient } from "pg";
import { LedgerFormatError, NoLedgerError, StoreUnavailableError } from "./ledger.ts";

const APPLICATION_ID = 0x68636e74;
/** Older ones can corrupt a write-ahead log when a checkpoint meets a log restart. */
const OLDEST_SQLITE = "3.51.3";

interface Dialect {
  readonly int: string;
  readonly status: string;
  /** Ids of holds: numbers on SQLite, made by the process on PostgreSQL, so that it can ask for one after a lost reply. */
  readonly holdId: string;
  readonly entryId: string;
  readonly keyed: string;
  readonly hot: string;
  readonly rows: string;
}

const SQLITE: Dialect = {
  int: "INTEGER",
  status: "INTEGER",
  holdId: "INTEGER",
  entryId: "INTEGER PRIMARY KEY",
  keyed: "STRICT, WITHOUT ROWID",
  hot: "STRICT, WITHOUT ROWID",
  rows: "STRICT",
};
const POSTGRES: Dialect = {
  int: "bigint",
  status: "integer",
  holdId: "text",
  entryId: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  keyed: "",
  hot: "WITH (fillfactor = 50)",
  rows: "",
};

/** Amounts are millionths. Constraints and triggers repeat what the code does, so that its mistakes stop here. */
const tables = ({ entryId, holdId, hot, int, keyed, rows, status }: Dialect): string => `
CREATE TABLE accounts (id text PRIMARY KEY, name text NOT NULL, created_at ${int} NOT NULL) ${keyed};

CREATE TABLE plans (
  account_id text PRIMARY KEY REFERENCES accounts (id), name text NOT NULL,
  per_minute ${int} NOT NULL CHECK (per_minute > 0), per_day ${int} NOT NULL CHECK (per_day > 0), costs text NOT NULL,
  digest text NOT NULL
) ${keyed};

CREATE TABLE balances (
  account_id text NOT NULL REFERENCES accounts (id), mode text NOT NULL CHECK (mode IN ('live', 'test')),
  balance ${int} NOT NULL DEFAULT 0, held ${int} NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, mode), CHECK (0 <= held AND held <= balance)
) ${hot};

CREATE TABLE keys (
  id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts (id), name text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')), prefix text NOT NULL,
  hash text NOT NULL UNIQUE CHECK (length(hash) = 64), created_at ${int} NOT NULL, revoked_at ${int}
) ${keyed};

CREATE TABLE holds (
  id ${holdId} PRIMARY KEY, account_id text NOT NULL, mode text NOT NULL, key_id text NOT NULL, call text NOT NULL,
  amount ${int} NOT NULL CHECK (amount >= 0),
  state text NOT NULL CHECK (state IN ('pending', 'posted', 'voided', 'expired')),
  posted ${int} CHECK (posted BETWEEN 0 AND amount),
  owner text NOT NULL, request_id text NOT NULL, idempotency_key text, created_at ${int} NOT NULL, resolved_at ${int},
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  CHECK ((state = 'pending') = (resolved_at IS NULL)), CHECK ((state = 'posted') = (posted IS NOT NULL))
) ${rows};
CREATE INDEX holds_pending ON holds (owner) WHERE state = 'pending';

CREATE TABLE entries (
  id ${entryId}, account_id text NOT NULL, mode text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('grant', 'charge')), amount ${int} NOT NULL,
  balance_after ${int} NOT NULL CHECK (balance_after >= 0),
  hold_id ${holdId} UNIQUE REFERENCES holds (id), operation text, note text NOT NULL, day text NOT NULL,
  created_at ${int} NOT NULL, digest text,
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  CHECK ((kind = 'grant') = (digest IS NOT NULL)),
  CHECK ((kind = 'grant' AND amount > 0 AND hold_id IS NULL) OR (kind = 'charge' AND amount < 0 AND hold_id IS NOT NULL))
) ${rows};
CREATE UNIQUE INDEX entries_operation ON entries (operation) WHERE operation IS NOT NULL;

CREATE TABLE idempotency (
  account_id text NOT NULL, mode text NOT NULL, call text NOT NULL, key text NOT NULL, request_hash text NOT NULL,
  state text NOT NULL CHECK (state IN ('in_flight', 'stored')),
  hold_id ${holdId} NOT NULL UNIQUE REFERENCES holds (id), created_at ${int} NOT NULL,
  status ${status}, headers text, body text, digest text,
  PRIMARY KEY (account_id, mode, call, key),
  CHECK ((state = 'stored') = (status IS NOT NULL AND headers IS NOT NULL AND body IS NOT NULL AND digest IS NOT NULL))
) ${rows};
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE usage_days (
  account_id text NOT NULL, mode text NOT NULL, day text NOT NULL, charged ${int} NOT NULL CHECK (charged >= 0),
  PRIMARY KEY (account_id, mode, day)
) ${keyed};

CREATE TABLE call_counts (
  key_id text NOT NULL, day text NOT NULL, count ${int} NOT NULL CHECK (count >= 0), PRIMARY KEY (day, key_id)
) ${keyed};

CREATE TABLE instances (
  id text PRIMARY KEY, pid ${int} NOT NULL, started text NOT NULL, machine text NOT NULL, heartbeat_at ${int} NOT NULL
) ${keyed};
`;

const HOLD_CHANGED = `OLD.state <> 'pending' OR NEW.id <> OLD.id OR NEW.amount <> OLD.amount OR NEW.account_id <> OLD.account_id
  OR NEW.mode <> OLD.mode OR NEW.key_id <> OLD.key_id OR NEW.call <> OLD.call OR NEW.request_id <> OLD.request_id`;
const KEY_CHANGED = `OLD.revoked_at IS NOT NULL OR NEW.id <> OLD.id OR NEW.hash <> OLD.hash OR NEW.mode <> OLD.mode
  OR NEW.account_id <> OLD.account_id`;

// SQLite fires no delete triggers for INSERT OR REPLACE: what is there already must be seen before.
const SQLITE_TRIGGERS = `
CREATE TRIGGER keys_new BEFORE INSERT ON keys
WHEN EXISTS (SELECT 1 FROM keys WHERE id = NEW.id OR hash = NEW.hash)
BEGIN SELECT RAISE (ABORT, 'a key is never replaced'); END;
CREATE TRIGGER keys_stay BEFORE DELETE ON keys BEGIN SELECT RAISE (ABORT, 'a key is never deleted'); END;
CREATE TRIGGER holds_new BEFORE INSERT ON holds WHEN EXISTS (SELECT 1 FROM holds WHERE id = NEW.id)
BEGIN SELECT RAISE (ABORT, 'a hold is never replaced'); END;
CREATE TRIGGER entries_new BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries WHERE id = NEW.id OR hold_id = NEW.hold_id OR operation = NEW.operation)
BEGIN SELECT RAISE (ABORT, 'entries are never replaced'); END;
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE ON keys WHEN ${KEY_CHANGED}
BEGIN SELECT RAISE (ABORT, 'a key is what it is, and stays revoked'); END;
CREATE TRIGGER holds_resolve_once BEFORE UPDATE ON holds WHEN ${HOLD_CHANGED}
BEGIN SELECT RAISE (ABORT, 'a hold resolves once'); END;
CREATE TRIGGER holds_stay BEFORE DELETE ON holds BEGIN SELECT RAISE (ABORT, 'a hold is never deleted'); END;
CREATE TRIGGER entries_append_only BEFORE UPDATE ON entries BEGIN SELECT RAISE (ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE (ABORT, 'entries are never deleted'); END;
`;

const POSTGRES_TRIGGERS = `
CREATE INDEX entries_account ON entries (account_id, mode, id);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0]; END $$;
CREATE TRIGGER entries_append_only BEFORE UPDATE OR DELETE ON entries
  FOR EACH ROW EXECUTE FUNCTION refuse('entries are never changed');
CREATE TRIGGER entries_stay BEFORE TRUNCATE ON entries EXECUTE FUNCTION refuse('entries are never deleted');
CREATE TRIGGER holds_resolve_once BEFORE UPDATE ON holds FOR EACH ROW WHEN (${HOLD_CHANGED})
  EXECUTE FUNCTION refuse('a hold resolves once');
CREATE TRIGGER holds_stay BEFORE DELETE ON holds FOR EACH ROW EXECUTE FUNCTION refuse('a hold is never deleted');
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE ON keys FOR EACH ROW WHEN (${KEY_CHANGED})
  EXECUTE FUNCTION refuse('a key is what it is, and stays revoked');
CREATE TRIGGER keys_stay BEFORE DELETE ON keys FOR EACH ROW EXECUTE FUNCTION refuse('a key is never deleted');
CREATE TRIGGER keys_are_kept BEFORE TRUNCATE ON keys EXECUTE FUNCTION refuse('a key is never deleted');
CREATE TRIGGER holds_are_kept BEFORE TRUNCATE ON holds EXECUTE FUNCTION refuse('a hold is never deleted');
`;

/** One step for each schema version from the first on, each in the same transaction as its number. Never edit one that was released. */
const SQLITE_STEPS: readonly string[] = [tables(SQLITE) + SQLITE_TRIGGERS];
const POSTGRES_STEPS: readonly string[] = [tables(POSTGRES) + POSTGRES_TRIGGERS];
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
function stepsFrom(
  found: number,
  steps: readonly string[],
  place: string,
): { missing: readonly string[]; newest: number } {
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

function assertOurs(database: DatabaseSyncInstance, path: string): void {
  if (pragma(database, "application_id") === APPLICATION_ID) return;
  throw new LedgerFormatError(`${path} is a database of another program, not a headcount ledger`);
}

export function assertLedger(database: DatabaseSyncInstance, path: string): void {
  assertOurs(database, path);
  const { missing } = stepsFrom(pragma(database, "user_version"), SQLITE_STEPS, path);
  if (missing.length > 0)
    throw new LedgerFormatError(`${path} has an older ledger schema; headcount serve brings it to the newest`);
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

/** Several processes may do it at once. @throws Error where the file is of another program, or of a newer version */
export function migrate(
  database: DatabaseSyncInstance,
  path: string,
  migrations: readonly string[] = SQLITE_STEPS,
): void {
  const version = () => {
    const found = pragma(database, "user_version");
    const application = pragma(database, "application_id");
    if (application !== 0 || found !== 0) assertOurs(database, path);
    return stepsFrom(found, migrations, path);
  };
  if (version().missing.length === 0) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    const { missing, newest } = version();
    for (const step of missing) database.exec(step);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${newest}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** As {@link migrate}, in the search path. @param create else NoLedgerError where there is none. @throws Error on a server without syncs */
export async function migratePostgres(client: PoolClient, schema: string, create: boolean): Promise<void> {
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
    for (const step of missing) await client.query(step);
    const sql = version === 0 ? "INSERT INTO schema_version VALUES ($1)" : "UPDATE schema_version SET version = $1";
    await client.query(sql, [newest]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}
