import type { DatabaseSyncInstance } from "@photostructure/sqlite";

/** Marks the file as ours: "hcnt". */
const APPLICATION_ID = 0x68636e74;
/** Older ones can corrupt a write-ahead log when a checkpoint meets a log restart. */
export const OLDEST_SQLITE = "3.51.3";

/**
 * Amounts are whole millionths of a credit. The constraints and triggers repeat what the code does, so that a mistake in the code
 * stops at the database: nothing overdraws, entries are never changed, a hold resolves once.
 */
const VERSION_1 = `
CREATE TABLE accounts (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE plans (
  account_id TEXT PRIMARY KEY REFERENCES accounts (id), name TEXT NOT NULL,
  per_minute INTEGER NOT NULL CHECK (per_minute > 0), per_day INTEGER NOT NULL CHECK (per_day > 0),
  costs TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE balances (
  account_id TEXT NOT NULL REFERENCES accounts (id), mode TEXT NOT NULL CHECK (mode IN ('live', 'test')),
  balance INTEGER NOT NULL DEFAULT 0, held INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, mode), CHECK (0 <= held AND held <= balance)
) STRICT, WITHOUT ROWID;

CREATE TABLE keys (
  id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), name TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('live', 'test')), prefix TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64), created_at INTEGER NOT NULL, revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE ON keys WHEN OLD.revoked_at IS NOT NULL
BEGIN SELECT RAISE (ABORT, 'a revoked key stays revoked'); END;

CREATE TABLE holds (
  id INTEGER PRIMARY KEY, account_id TEXT NOT NULL, mode TEXT NOT NULL, key_id TEXT NOT NULL, call TEXT NOT NULL,
  amount INTEGER NOT NULL CHECK (amount >= 0),
  state TEXT NOT NULL CHECK (state IN ('pending', 'posted', 'voided', 'expired')),
  posted INTEGER CHECK (posted BETWEEN 0 AND amount),
  owner TEXT NOT NULL, request_id TEXT NOT NULL, idempotency_key TEXT, created_at INTEGER NOT NULL, resolved_at INTEGER,
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  CHECK ((state = 'pending') = (resolved_at IS NULL)), CHECK ((state = 'posted') = (posted IS NOT NULL))
) STRICT;
CREATE INDEX holds_pending ON holds (owner) WHERE state = 'pending';
CREATE TRIGGER holds_resolve_once BEFORE UPDATE ON holds
WHEN OLD.state <> 'pending' OR NEW.amount <> OLD.amount OR NEW.account_id <> OLD.account_id OR NEW.mode <> OLD.mode
BEGIN SELECT RAISE (ABORT, 'a hold resolves once'); END;
CREATE TRIGGER holds_stay BEFORE DELETE ON holds BEGIN SELECT RAISE (ABORT, 'a hold is never deleted'); END;

CREATE TABLE entries (
  id INTEGER PRIMARY KEY, account_id TEXT NOT NULL, mode TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('grant', 'charge')), amount INTEGER NOT NULL,
  balance_after INTEGER NOT NULL CHECK (balance_after >= 0),
  hold_id INTEGER UNIQUE REFERENCES holds (id), note TEXT NOT NULL, day TEXT NOT NULL, created_at INTEGER NOT NULL,
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  CHECK ((kind = 'grant' AND amount > 0 AND hold_id IS NULL) OR (kind = 'charge' AND amount < 0 AND hold_id IS NOT NULL))
) STRICT;
CREATE TRIGGER entries_append_only BEFORE UPDATE ON entries BEGIN SELECT RAISE (ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE (ABORT, 'entries are never deleted'); END;

CREATE TABLE idempotency (
  account_id TEXT NOT NULL, mode TEXT NOT NULL, call TEXT NOT NULL, key TEXT NOT NULL, request_hash TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('in_flight', 'stored')),
  hold_id INTEGER NOT NULL UNIQUE REFERENCES holds (id), created_at INTEGER NOT NULL,
  status INTEGER, headers TEXT, body TEXT,
  PRIMARY KEY (account_id, mode, call, key),
  CHECK ((state = 'stored') = (status IS NOT NULL AND headers IS NOT NULL AND body IS NOT NULL))
) STRICT;
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE usage_days (
  account_id TEXT NOT NULL, mode TEXT NOT NULL, day TEXT NOT NULL, charged INTEGER NOT NULL CHECK (charged >= 0),
  PRIMARY KEY (account_id, mode, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE call_counts (
  key_id TEXT NOT NULL, day TEXT NOT NULL, count INTEGER NOT NULL CHECK (count >= 0), PRIMARY KEY (day, key_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE instances (
  id TEXT PRIMARY KEY, pid INTEGER NOT NULL, started TEXT NOT NULL, machine TEXT NOT NULL, heartbeat_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** One step per schema version, applied in order, each in the same transaction as its number. Never edit one that was released. */
const MIGRATIONS: readonly string[] = [VERSION_1];

export const SCHEMA_VERSION = MIGRATIONS.length;

function pragma(database: DatabaseSyncInstance, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Record<string, number> | undefined;
  return Number(row?.[name] ?? 0);
}

/** @throws Error where the library is older than {@link OLDEST_SQLITE} */
export function checkSqliteVersion(database: DatabaseSyncInstance): void {
  const { version } = database.prepare("SELECT sqlite_version() AS version").get() as { version: string };
  const found = version.split(".").map(Number);
  const oldest = OLDEST_SQLITE.split(".").map(Number);
  for (const [position, needed] of oldest.entries()) {
    const part = found[position] ?? 0;
    if (part > needed) return;
    if (part < needed) throw new Error(`SQLite ${version} may corrupt a ledger; ${OLDEST_SQLITE} or newer is needed`);
  }
}

/**
 * Brings the file to the newest schema. Several processes may do it at once: the first wins, the others find it done.
 * @throws Error where the file is of another program, or of a newer version of this one
 */
export function migrate(
  database: DatabaseSyncInstance,
  path: string,
  migrations: readonly string[] = MIGRATIONS,
): void {
  const version = (): number => {
    const found = pragma(database, "user_version");
    const application = pragma(database, "application_id");
    if (application !== APPLICATION_ID && (application !== 0 || found !== 0)) {
      throw new Error(`${path} is a database of another program, not a headcount ledger`);
    }
    if (found > migrations.length) {
      throw new Error(
        `${path} has ledger schema ${found}; this version of headcount knows up to ${migrations.length}. Upgrade headcount`,
      );
    }
    return found;
  };
  if (version() === migrations.length) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    for (const step of migrations.slice(version())) database.exec(step);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
