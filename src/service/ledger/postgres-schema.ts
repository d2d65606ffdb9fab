import type { PoolClient } from "pg";

/** The same tables and rules as in SQLite; hold ids are made by the client, so that it can ask for one after a lost reply. */
const VERSION_1 = `
CREATE TABLE accounts (id text PRIMARY KEY, name text NOT NULL, created_at bigint NOT NULL);

CREATE TABLE plans (
  account_id text PRIMARY KEY REFERENCES accounts (id), name text NOT NULL,
  per_minute bigint NOT NULL CHECK (per_minute > 0), per_day bigint NOT NULL CHECK (per_day > 0), costs text NOT NULL
);

CREATE TABLE balances (
  account_id text NOT NULL REFERENCES accounts (id), mode text NOT NULL CHECK (mode IN ('live', 'test')),
  balance bigint NOT NULL DEFAULT 0, held bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, mode), CHECK (0 <= held AND held <= balance)
) WITH (fillfactor = 50);

CREATE TABLE keys (
  id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts (id), name text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('live', 'test')), prefix text NOT NULL,
  hash text NOT NULL UNIQUE CHECK (length(hash) = 64), created_at bigint NOT NULL, revoked_at bigint
);

CREATE TABLE holds (
  id text PRIMARY KEY, account_id text NOT NULL, mode text NOT NULL, key_id text NOT NULL, call text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  state text NOT NULL CHECK (state IN ('pending', 'posted', 'voided', 'expired')),
  posted bigint CHECK (posted BETWEEN 0 AND amount),
  owner text NOT NULL, request_id text NOT NULL, idempotency_key text, created_at bigint NOT NULL, resolved_at bigint,
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  CHECK ((state = 'pending') = (resolved_at IS NULL)), CHECK ((state = 'posted') = (posted IS NOT NULL))
);
CREATE INDEX holds_pending ON holds (owner) WHERE state = 'pending';

CREATE TABLE entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, account_id text NOT NULL, mode text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('grant', 'charge')), amount bigint NOT NULL,
  balance_after bigint NOT NULL CHECK (balance_after >= 0),
  hold_id text UNIQUE REFERENCES holds (id), operation text UNIQUE, note text NOT NULL, day text NOT NULL,
  created_at bigint NOT NULL,
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  CHECK ((kind = 'grant' AND amount > 0 AND hold_id IS NULL) OR (kind = 'charge' AND amount < 0 AND hold_id IS NOT NULL))
);
CREATE INDEX entries_account ON entries (account_id, mode, id);

CREATE TABLE idempotency (
  account_id text NOT NULL, mode text NOT NULL, call text NOT NULL, key text NOT NULL, request_hash text NOT NULL,
  state text NOT NULL CHECK (state IN ('in_flight', 'stored')),
  hold_id text NOT NULL UNIQUE REFERENCES holds (id), created_at bigint NOT NULL,
  status integer, headers text, body text,
  PRIMARY KEY (account_id, mode, call, key),
  CHECK ((state = 'stored') = (status IS NOT NULL AND headers IS NOT NULL AND body IS NOT NULL))
);
CREATE INDEX idempotency_age ON idempotency (created_at);

CREATE TABLE usage_days (
  account_id text NOT NULL, mode text NOT NULL, day text NOT NULL, charged bigint NOT NULL CHECK (charged >= 0),
  PRIMARY KEY (account_id, mode, day)
);

CREATE TABLE call_counts (
  key_id text NOT NULL, day text NOT NULL, count bigint NOT NULL CHECK (count >= 0), PRIMARY KEY (day, key_id)
);

CREATE TABLE instances (
  id text PRIMARY KEY, pid integer NOT NULL, started text NOT NULL, machine text NOT NULL,
  heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0]; END $$;
CREATE TRIGGER entries_append_only BEFORE UPDATE OR DELETE ON entries
  FOR EACH ROW EXECUTE FUNCTION refuse('entries are never changed');
CREATE TRIGGER entries_stay BEFORE TRUNCATE ON entries EXECUTE FUNCTION refuse('entries are never deleted');
CREATE TRIGGER holds_resolve_once BEFORE UPDATE ON holds FOR EACH ROW
  WHEN (OLD.state <> 'pending' OR NEW.amount <> OLD.amount OR NEW.account_id <> OLD.account_id OR NEW.mode <> OLD.mode)
  EXECUTE FUNCTION refuse('a hold resolves once');
CREATE TRIGGER holds_stay BEFORE DELETE ON holds FOR EACH ROW EXECUTE FUNCTION refuse('a hold is never deleted');
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE ON keys FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL)
  EXECUTE FUNCTION refuse('a revoked key stays revoked');
`;

/** One step per schema version. Never edit one that was released. */
const MIGRATIONS: readonly string[] = [VERSION_1];

/**
 * Brings the schema to its newest version; several processes may do it at once. The connection's search path names the schema.
 * @throws Error where the tables are of a newer version, or the server does not sync its log
 */
export async function migratePostgres(client: PoolClient, schema: string): Promise<void> {
  const { rows } = await client.query<{ fsync: string; pages: string }>(
    "SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages",
  );
  if (rows[0]?.fsync !== "on" || rows[0].pages !== "on") {
    throw new Error(
      "this PostgreSQL server runs with fsync or full_page_writes off: it would lose charges in a power failure",
    );
  }
  await client.query("BEGIN");
  try {
    // Everybody who wants to migrate waits here; the lock goes with the transaction.
    await client.query("SELECT pg_advisory_xact_lock(hashtext($1))", [`headcount-schema-${schema}`]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    await client.query("CREATE TABLE IF NOT EXISTS schema_version (version integer NOT NULL)");
    const found = await client.query<{ version: number }>("SELECT version FROM schema_version");
    const version = found.rows[0]?.version ?? 0;
    if (version > MIGRATIONS.length) {
      throw new Error(
        `the schema ${schema} has ledger version ${version}; this version of headcount knows up to ${MIGRATIONS.length}. Upgrade headcount`,
      );
    }
    for (const step of MIGRATIONS.slice(version)) await client.query(step);
    if (found.rows.length === 0) await client.query("INSERT INTO schema_version VALUES ($1)", [MIGRATIONS.length]);
    else await client.query("UPDATE schema_version SET version = $1", [MIGRATIONS.length]);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}
