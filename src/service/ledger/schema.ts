import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import type { PoolClient } from "pg";
import { LedgerFormatError, NoLedgerError, StoreUnavailableError } from "./errors.ts";

interface Dialect {
  readonly int: string;
  readonly status: string;
  /**
   * Ids of holds: numbers on SQLite; on PostgreSQL made by
   * the process, which can ask for one after a lost reply.
   */
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

export const SCHEMA_VERSION = 12;

/**
 * Amounts are millionths. Constraints and triggers repeat
 * what the code does, so that its mistakes stop here.
 */
const accounts = ({ hot, int, keyed }: Dialect): string => `
CREATE TABLE accounts (id text PRIMARY KEY, name text NOT NULL, created_at ${int} NOT NULL,
  suspended_at ${int}) ${keyed};

CREATE TABLE plans (
  account_id text PRIMARY KEY REFERENCES accounts (id), name text NOT NULL,
  per_minute ${int} NOT NULL CHECK (per_minute > 0), per_day ${int} NOT NULL CHECK (per_day > 0),
  costs text NOT NULL,
  small_counts ${int} CHECK (small_counts > 0), keep_days ${int} NOT NULL CHECK (keep_days > 0)
) ${keyed};

CREATE TABLE balances (
  account_id text NOT NULL REFERENCES accounts (id),
  mode text NOT NULL CHECK (mode IN ('live', 'test')),
  balance ${int} NOT NULL DEFAULT 0, held ${int} NOT NULL DEFAULT 0, head text NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, mode), CHECK (0 <= held AND held <= balance)
) ${hot};

CREATE TABLE keys (
  id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts (id), name text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')), prefix text NOT NULL,
  hash text NOT NULL UNIQUE CHECK (length(hash) = 64), created_at ${int} NOT NULL,
  revoked_at ${int},
  expires_at ${int}, scopes text, origin text REFERENCES keys (id)
) ${keyed};
CREATE INDEX keys_account ON keys (account_id);

CREATE TABLE budgets (
  key_id text PRIMARY KEY REFERENCES keys (id), cap ${int} NOT NULL,
  spent ${int} NOT NULL CHECK (spent >= 0),
  held ${int} NOT NULL CHECK (held >= 0), CHECK (spent + held <= cap)
) ${keyed};
`;

const money = ({ entryId, holdId, int, keyed, rows, status }: Dialect): string => `
CREATE TABLE holds (
  id ${holdId} PRIMARY KEY, account_id text NOT NULL, mode text NOT NULL, key_id text NOT NULL,
  call text NOT NULL,
  amount ${int} NOT NULL CHECK (amount >= 0),
  state text NOT NULL CHECK (state IN ('pending', 'posted', 'voided', 'expired')),
  posted ${int} CHECK (posted BETWEEN 0 AND amount), owner text NOT NULL, request_id text NOT NULL,
  idempotency_key text,
  created_at ${int} NOT NULL, resolved_at ${int}, digest text, reply text, kept_until ${int},
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  CHECK ((state = 'pending') = (resolved_at IS NULL)),
  CHECK ((state = 'posted') = (posted IS NOT NULL))
) ${rows};
CREATE INDEX holds_pending ON holds (owner) WHERE state = 'pending';

CREATE TABLE entries (
  id ${entryId}, account_id text NOT NULL, mode text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('grant', 'charge', 'refund', 'correction')),
  amount ${int} NOT NULL,
  balance_after ${int} NOT NULL CHECK (balance_after >= 0),
  hold_id ${holdId} UNIQUE REFERENCES holds (id), refund_of ${holdId} REFERENCES holds (id),
  operation text, note text NOT NULL,
  day text NOT NULL, created_at ${int} NOT NULL, actor text, price ${int}, sold ${int},
  chain text NOT NULL,
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  CHECK ((price IS NULL) = (sold IS NULL)),
  CHECK (
    (kind = 'grant' AND amount > 0 AND hold_id IS NULL AND refund_of IS NULL) OR
    (kind = 'charge' AND amount < 0 AND hold_id IS NOT NULL AND refund_of IS NULL) OR
    (kind = 'refund' AND amount > 0 AND hold_id IS NULL AND refund_of IS NOT NULL) OR
    (kind = 'correction' AND amount < 0 AND hold_id IS NULL AND refund_of IS NULL)
  )
) ${rows};
CREATE UNIQUE INDEX entries_operation ON entries (operation) WHERE operation IS NOT NULL;
CREATE INDEX entries_account ON entries (account_id, mode, id);
CREATE INDEX entries_refunds ON entries (refund_of) WHERE refund_of IS NOT NULL;

CREATE TABLE idempotency (
  account_id text NOT NULL, mode text NOT NULL, call text NOT NULL, key text NOT NULL,
  request_hash text NOT NULL,
  hold_id ${holdId} NOT NULL UNIQUE REFERENCES holds (id), created_at ${int} NOT NULL,
  kept_until ${int} NOT NULL,
  status ${status}, headers text, body text, digest text NOT NULL,
  PRIMARY KEY (account_id, mode, call, key),
  CHECK ((status IS NULL) = (headers IS NULL) AND (status IS NULL) = (body IS NULL))
) ${rows};
CREATE INDEX idempotency_age ON idempotency (kept_until);

CREATE TABLE owned (mark text PRIMARY KEY, hold_id ${holdId} NOT NULL) ${keyed};
CREATE TABLE secrets (name text PRIMARY KEY, secret text NOT NULL) ${keyed};

CREATE TABLE usage (
  account_id text NOT NULL, mode text NOT NULL, day text NOT NULL, key_id text NOT NULL,
  call text NOT NULL,
  calls ${int} NOT NULL, sold ${int}, charged ${int} NOT NULL CHECK (charged >= 0),
  refunded ${int} NOT NULL CHECK (refunded >= 0),
  PRIMARY KEY (account_id, mode, day, key_id, call)
) ${keyed};
CREATE INDEX usage_keys ON usage (key_id);

CREATE TABLE audit (
  id ${entryId}, at ${int} NOT NULL, actor text NOT NULL, action text NOT NULL, account_id text,
  target text NOT NULL,
  detail text NOT NULL, digest text NOT NULL, states text NOT NULL
) ${rows};
CREATE TABLE chains (name text PRIMARY KEY, head text NOT NULL) ${keyed};
INSERT INTO chains VALUES ('audit', '');
`;

/** What neither chain nor sums reach, column by column. */
const beside = (int: string): Readonly<Record<string, readonly string[]>> => ({
  call_counts: [
    "key_id text NOT NULL",
    "day text NOT NULL",
    `count ${int} NOT NULL CHECK (count >= 0)`,
  ],
  key_uses: ["key_id text PRIMARY KEY", `used_at ${int} NOT NULL`],
  instances: [
    "id text PRIMARY KEY",
    `pid ${int} NOT NULL`,
    "started text NOT NULL",
    "machine text NOT NULL",
    `heartbeat_at ${int} NOT NULL`,
  ],
  console_links: [
    "hash text PRIMARY KEY CHECK (length(hash) = 64)",
    "account_id text NOT NULL REFERENCES accounts (id)",
    "role text NOT NULL CHECK (role IN ('owner', 'viewer'))",
    "name text NOT NULL",
    `created_at ${int} NOT NULL`,
    `expires_at ${int} NOT NULL`,
    `used_at ${int}`,
  ],
  console_sessions: [
    "id text PRIMARY KEY",
    "hash text NOT NULL UNIQUE CHECK (length(hash) = 64)",
    "proof_hash text NOT NULL CHECK (length(proof_hash) = 64)",
    "account_id text NOT NULL REFERENCES accounts (id)",
    "role text NOT NULL CHECK (role IN ('owner', 'viewer', 'key'))",
    "key_hash text CHECK ((role = 'key') = (key_hash IS NOT NULL))",
    `created_at ${int} NOT NULL`,
    `seen_at ${int} NOT NULL`,
    `expires_at ${int} NOT NULL`,
    `ended_at ${int}`,
  ],
  console_exports: [
    "id text PRIMARY KEY",
    "account_id text NOT NULL REFERENCES accounts (id)",
    "mode text NOT NULL CHECK (mode IN ('live', 'test'))",
    "key_id text NOT NULL",
    "filters text NOT NULL",
    "version text NOT NULL",
    "segment text NOT NULL",
    `only_new ${int} NOT NULL CHECK (only_new IN (0, 1))`,
    `profiles ${int} NOT NULL`,
    `per_page ${int} NOT NULL`,
    `price ${int} NOT NULL`,
    `created_at ${int} NOT NULL`,
    "state text NOT NULL CHECK (state IN ('buying', 'ready', 'stopped'))",
    "why text NOT NULL",
    `pages ${int} NOT NULL`,
    `row_count ${int} NOT NULL`,
    `credits ${int} NOT NULL`,
    `seen_at ${int} NOT NULL`,
    `turn ${int} NOT NULL`,
    `kept_until ${int} NOT NULL`,
  ],
  console_segments: [
    "id text PRIMARY KEY",
    "account_id text NOT NULL REFERENCES accounts (id)",
    "mode text NOT NULL CHECK (mode IN ('live', 'test'))",
    "key_id text NOT NULL",
    "name text NOT NULL",
    "filters text NOT NULL",
    "segment text NOT NULL",
    `people ${int} NOT NULL`,
    `counted_at ${int} NOT NULL`,
    `created_at ${int} NOT NULL`,
  ],
  console_places: ["origin text PRIMARY KEY", `started_at ${int} NOT NULL`],
});

const MORE: Readonly<Record<string, string>> = {
  call_counts: ", PRIMARY KEY (day, key_id)",
};

/** The columns of {@link beside}, which each row repeats in one more. */
export const TWINS: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(beside("")).map(([table, columns]) => [
    table,
    columns.map((column) => column.split(" ", 1)[0] ?? ""),
  ]),
);

export const twinOf = (columns: readonly string[]): string =>
  columns.map((column) => `COALESCE(CAST(${column} AS text), '-')`).join(" || '|' || ");

function twinned({ int, keyed }: Dialect): string {
  const tables = Object.entries(beside(int)).map(([table, columns]) => {
    const twin = `twin text GENERATED ALWAYS AS (${twinOf(TWINS[table] ?? [])}) STORED`;
    const inside = `${[twin, ...columns].join(",\n  ")}${MORE[table] ?? ""}`;
    return `CREATE TABLE ${table} (\n  ${inside}\n) ${keyed};\n`;
  });
  return `${tables.join("")}CREATE INDEX console_exports_account ON console_exports (account_id,
    mode, created_at);
CREATE INDEX console_segments_account ON console_segments (account_id, mode, segment);\n`;
}

const HOLD_CHANGED = `OLD.state <> 'pending' OR NEW.id <> OLD.id OR NEW.amount <> OLD.amount
  OR NEW.account_id <> OLD.account_id
  OR NEW.mode <> OLD.mode OR NEW.key_id <> OLD.key_id OR NEW.call <> OLD.call
  OR NEW.request_id <> OLD.request_id
  OR NEW.owner <> OLD.owner OR NEW.created_at <> OLD.created_at
  OR NEW.idempotency_key IS DISTINCT FROM OLD.idempotency_key`;
const KEY_CHANGED = `OLD.revoked_at IS NOT NULL OR NEW.id <> OLD.id OR NEW.hash <> OLD.hash
  OR NEW.mode <> OLD.mode
  OR NEW.account_id <> OLD.account_id OR NEW.origin IS DISTINCT FROM OLD.origin`;

const raise = (message: string): string => `BEGIN SELECT RAISE (ABORT, '${message}'); END;`;
// SQLite fires no delete triggers for INSERT OR REPLACE: what is there already must be seen before.
const SQLITE_TRIGGERS = `
CREATE TRIGGER keys_new BEFORE INSERT ON keys
  WHEN EXISTS (SELECT 1 FROM keys WHERE id = NEW.id OR hash = NEW.hash)
${raise("a key is never replaced")}
CREATE TRIGGER keys_stay BEFORE DELETE ON keys ${raise("a key is never deleted")}
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE ON keys WHEN ${KEY_CHANGED}
${raise("a key is what it is, and stays revoked")}
CREATE TRIGGER holds_new BEFORE INSERT ON holds WHEN EXISTS (SELECT 1 FROM holds WHERE id = NEW.id)
${raise("a hold is never replaced")}
CREATE TRIGGER holds_resolve_once BEFORE UPDATE ON holds WHEN ${HOLD_CHANGED}
${raise("a hold resolves once")}
CREATE TRIGGER holds_stay BEFORE DELETE ON holds ${raise("a hold is never deleted")}
CREATE TRIGGER entries_new BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries
  WHERE id = NEW.id OR hold_id = NEW.hold_id OR operation = NEW.operation)
${raise("entries are never replaced")}
CREATE TRIGGER entries_append_only BEFORE UPDATE ON entries ${raise("entries are never changed")}
CREATE TRIGGER entries_stay BEFORE DELETE ON entries ${raise("entries are never deleted")}
CREATE TRIGGER audit_new BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
${raise("the audit is never replaced")}
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit ${raise("the audit is never changed")}
CREATE TRIGGER audit_stays BEFORE DELETE ON audit ${raise("the audit is never deleted")}
`;

const refusing = (name: string, event: string, message: string): string =>
  `CREATE TRIGGER ${name} BEFORE ${event} EXECUTE FUNCTION refuse('${message}');\n`;
const POSTGRES_TRIGGERS = [
  `
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0]; END $$;
`,
  refusing(
    "keys_stay_revoked",
    `UPDATE ON keys FOR EACH ROW WHEN (${KEY_CHANGED})`,
    "a key is what it is, and stays revoked",
  ),
  refusing("keys_stay", "DELETE ON keys FOR EACH ROW", "a key is never deleted"),
  refusing("keys_are_kept", "TRUNCATE ON keys", "a key is never deleted"),
  refusing(
    "holds_resolve_once",
    `UPDATE ON holds FOR EACH ROW WHEN (${HOLD_CHANGED})`,
    "a hold resolves once",
  ),
  refusing("holds_stay", "DELETE ON holds FOR EACH ROW", "a hold is never deleted"),
  refusing("holds_are_kept", "TRUNCATE ON holds", "a hold is never deleted"),
  refusing(
    "entries_append_only",
    "UPDATE OR DELETE ON entries FOR EACH ROW",
    "entries are never changed",
  ),
  refusing("entries_stay", "TRUNCATE ON entries", "entries are never deleted"),
  refusing(
    "audit_append_only",
    "UPDATE OR DELETE ON audit FOR EACH ROW",
    "the audit is never changed",
  ),
  refusing("audit_stays", "TRUNCATE ON audit", "the audit is never deleted"),
].join("");

const SQLITE_SCHEMA = accounts(SQLITE) + money(SQLITE) + twinned(SQLITE) + SQLITE_TRIGGERS;
export const POSTGRES_SCHEMA =
  accounts(POSTGRES) + money(POSTGRES) + twinned(POSTGRES) + POSTGRES_TRIGGERS;

const APPLICATION_ID = 0x68636e74;
/** Older ones can corrupt a write-ahead log when a checkpoint meets a log restart. */
const OLDEST_SQLITE = "3.51.3";

/**
 * Looked at inside every transaction: another headcount
 * may have changed the schema under a running process.
 */
export function assertSchema(version: unknown): void {
  if (Number(version) === SCHEMA_VERSION) return;
  throw new StoreUnavailableError(
    `the ledger has schema ${String(version)} now, and this process knows ${SCHEMA_VERSION}: ` +
      "another version of headcount has changed it. Restart the service with that version",
  );
}

function isThere(version: number, place: string): boolean {
  if (version === 0 || version === SCHEMA_VERSION) return version > 0;
  const what = `${place} has ledger schema ${version}; this version knows ${SCHEMA_VERSION}`;
  throw new LedgerFormatError(
    version > SCHEMA_VERSION
      ? `${what}. Upgrade headcount`
      : `${what}, and no older one was ever released: move it away, and a new one is made`,
  );
}

function pragma(database: DatabaseSyncInstance, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get() as Record<string, number> | undefined;
  return Number(row?.[name] ?? 0);
}

function assertOurs(database: DatabaseSyncInstance, path: string): void {
  if (pragma(database, "application_id") === APPLICATION_ID) return;
  throw new LedgerFormatError(
    `${path} is a database of another program, not a ledger of headcount`,
  );
}

export function assertLedger(database: DatabaseSyncInstance, path: string): void {
  assertOurs(database, path);
  isThere(pragma(database, "user_version"), path);
}

/**
 * Whether SQLite is the native one, which writes a
 * log beside the file (sqlite-wasm.ts writes none).
 */
export const keepsLog = (database: object): boolean => !("hasLog" in database);

export function checkSqliteVersion(database: DatabaseSyncInstance): void {
  if (!keepsLog(database)) return;

  const { version } = database.prepare("SELECT sqlite_version() AS version").get() as {
    version: string;
  };
  const parts = version.split(".").map(Number);
  const oldest = OLDEST_SQLITE.split(".").map(Number);

  for (const [position, needed] of oldest.entries()) {
    const part = parts[position] ?? 0;
    if (part > needed) return;
    if (part < needed)
      throw new LedgerFormatError(
        `SQLite ${version} may corrupt a ledger; ${OLDEST_SQLITE} or newer is needed`,
      );
  }
}

/**
 * Nothing is written.
 * @returns whether there is a ledger
 * @throws LedgerFormatError for one of another version
 */
export function assertKnown(database: DatabaseSyncInstance, path: string): boolean {
  const version = pragma(database, "user_version");
  if (version !== 0 || pragma(database, "application_id") !== 0) assertOurs(database, path);
  return isThere(version, path);
}

export function makeTables(database: DatabaseSyncInstance, path: string): void {
  if (assertKnown(database, path)) return;
  database.exec("BEGIN IMMEDIATE");

  try {
    if (!assertKnown(database, path)) {
      database.exec(SQLITE_SCHEMA);
      database.exec(
        `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}`,
      );
    }
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/**
 * As {@link makeTables}, in the search path.
 * @param create else NoLedgerError where there is none
 */
export async function makePostgresTables(
  client: PoolClient,
  schema: string,
  create: boolean,
): Promise<void> {
  const { rows } = await client.query<{ fsync: string; pages: string }>(
    "SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages",
  );
  if (rows[0]?.fsync !== "on" || rows[0].pages !== "on") {
    throw new LedgerFormatError(
      "this PostgreSQL server runs with fsync or full_page_writes off: " +
        "it would lose charges in a power failure",
    );
  }

  const place = `the schema ${schema}`;
  const tables = await client.query(
    "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_version'",
    [schema],
  );

  const read = async (): Promise<boolean> => {
    const result = await client.query<{ version: number }>("SELECT version FROM schema_version");
    return isThere(result.rows[0]?.version ?? 0, place);
  };

  // Where all is as it should be nothing is written: whoever only verifies may have no right to.
  if (tables.rows.length > 0 && (await read())) return;
  if (!create && tables.rows.length === 0) throw new NoLedgerError(`${place} of this database`);

  await client.query("BEGIN");

  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtext($1))", [
      `headcount-schema-${schema}`,
    ]);

    const match = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
    // Asked for again it would need the right to make it,
    // which whoever made it beforehand need not give.
    if (match.rows.length === 0) await client.query(`CREATE SCHEMA ${schema}`);
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
