import type { Steps } from "../database.ts";
import { chainPostgres, chainSqlite } from "./chained.ts";
import { consoleTables } from "./console-tables.ts";
import { type Dialect, POSTGRES, SQLITE } from "./dialects.ts";

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

const ENTRY_COLUMNS =
  "id, account_id, mode, kind, amount, balance_after, hold_id, operation, note, day, created_at, digest";

/** What schema 3 has more. Under schema 2 neither price and rows of a charge nor the actor of a grant was kept: null there. */
const administration = ({ entryId, int, keyed, rows }: Dialect): string => `
ALTER TABLE accounts ADD COLUMN suspended_at ${int};
ALTER TABLE keys ADD COLUMN expires_at ${int};
ALTER TABLE keys ADD COLUMN scopes text;
ALTER TABLE keys ADD COLUMN origin text REFERENCES keys (id);

CREATE TABLE budgets (
  key_id text PRIMARY KEY REFERENCES keys (id), cap ${int} NOT NULL, spent ${int} NOT NULL CHECK (spent >= 0),
  held ${int} NOT NULL CHECK (held >= 0), CHECK (spent + held <= cap)
) ${keyed};

CREATE TABLE key_uses (key_id text PRIMARY KEY, used_at ${int} NOT NULL) ${keyed};

CREATE TABLE usage (
  account_id text NOT NULL, mode text NOT NULL, day text NOT NULL, key_id text NOT NULL, call text NOT NULL,
  calls ${int} NOT NULL, sold ${int}, charged ${int} NOT NULL CHECK (charged >= 0), refunded ${int} NOT NULL CHECK (refunded >= 0),
  PRIMARY KEY (account_id, mode, day, key_id, call)
) ${keyed};
INSERT INTO usage (account_id, mode, day, key_id, call, calls, charged, refunded)
SELECT e.account_id, e.mode, e.day, h.key_id, h.call, COUNT(*), -SUM(e.amount), 0
FROM entries e JOIN holds h ON h.id = e.hold_id WHERE e.kind = 'charge' GROUP BY e.account_id, e.mode, e.day, h.key_id, h.call;
CREATE INDEX usage_keys ON usage (key_id);
CREATE INDEX keys_account ON keys (account_id);
DROP TABLE usage_days;

CREATE TABLE audit (
  id ${entryId}, at ${int} NOT NULL, actor text NOT NULL, action text NOT NULL, account_id text, target text NOT NULL,
  detail text NOT NULL, digest text NOT NULL
) ${rows};
`;

const ENTRY_CHECKS = `CHECK ((kind = 'charge') = (digest IS NULL)), CHECK ((price IS NULL) = (sold IS NULL)),
  CHECK (
    (kind = 'grant' AND amount > 0 AND hold_id IS NULL AND refund_of IS NULL) OR
    (kind = 'charge' AND amount < 0 AND hold_id IS NOT NULL AND refund_of IS NULL) OR
    (kind = 'refund' AND amount > 0 AND hold_id IS NULL AND refund_of IS NOT NULL) OR
    (kind = 'correction' AND amount < 0 AND hold_id IS NULL AND refund_of IS NULL)
  )`;

const KEY_STAYS = `${KEY_CHANGED} OR NEW.origin IS DISTINCT FROM OLD.origin`;

const SQLITE_ENTRIES = `
CREATE TABLE entries_3 (
  id INTEGER PRIMARY KEY, account_id text NOT NULL, mode text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('grant', 'charge', 'refund', 'correction')), amount INTEGER NOT NULL,
  balance_after INTEGER NOT NULL CHECK (balance_after >= 0),
  hold_id INTEGER UNIQUE REFERENCES holds (id), operation text, note text NOT NULL, day text NOT NULL,
  created_at INTEGER NOT NULL, digest text, actor text, price INTEGER, sold INTEGER, refund_of INTEGER REFERENCES holds (id),
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  ${ENTRY_CHECKS}
) STRICT;
INSERT INTO entries_3 (${ENTRY_COLUMNS}, actor)
SELECT ${ENTRY_COLUMNS}, (SELECT key_id FROM holds WHERE holds.id = entries.hold_id) FROM entries ORDER BY id;
DROP TABLE entries;
ALTER TABLE entries_3 RENAME TO entries;
CREATE UNIQUE INDEX entries_operation ON entries (operation) WHERE operation IS NOT NULL;
CREATE INDEX entries_account ON entries (account_id, mode, id);
CREATE INDEX entries_refunds ON entries (refund_of) WHERE refund_of IS NOT NULL;
CREATE TRIGGER entries_new BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries WHERE id = NEW.id OR hold_id = NEW.hold_id OR operation = NEW.operation)
BEGIN SELECT RAISE (ABORT, 'entries are never replaced'); END;
CREATE TRIGGER entries_append_only BEFORE UPDATE ON entries BEGIN SELECT RAISE (ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE (ABORT, 'entries are never deleted'); END;
DROP TRIGGER keys_stay_revoked;
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE ON keys WHEN ${KEY_STAYS}
BEGIN SELECT RAISE (ABORT, 'a key is what it is, and stays revoked'); END;
CREATE TRIGGER audit_new BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN SELECT RAISE (ABORT, 'the audit is never replaced'); END;
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit BEGIN SELECT RAISE (ABORT, 'the audit is never changed'); END;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE (ABORT, 'the audit is never deleted'); END;
`;

const POSTGRES_ENTRIES = `
ALTER TABLE entries DISABLE TRIGGER entries_append_only;
ALTER TABLE entries DROP CONSTRAINT entries_kind_check, DROP CONSTRAINT entries_check, DROP CONSTRAINT entries_check1,
  ADD COLUMN actor text, ADD COLUMN price bigint, ADD COLUMN sold bigint, ADD COLUMN refund_of text REFERENCES holds (id);
UPDATE entries SET actor = h.key_id FROM holds h WHERE h.id = entries.hold_id;
ALTER TABLE entries ADD CHECK (kind IN ('grant', 'charge', 'refund', 'correction'));
ALTER TABLE entries ${ENTRY_CHECKS.replaceAll(/CHECK (?=\()/g, "ADD CHECK ")};
ALTER TABLE entries ENABLE TRIGGER entries_append_only;
CREATE INDEX entries_refunds ON entries (refund_of) WHERE refund_of IS NOT NULL;
DROP TRIGGER keys_stay_revoked ON keys;
CREATE TRIGGER keys_stay_revoked BEFORE UPDATE ON keys FOR EACH ROW WHEN (${KEY_STAYS})
  EXECUTE FUNCTION refuse('a key is what it is, and stays revoked');
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION refuse('the audit is never changed');
CREATE TRIGGER audit_stays BEFORE TRUNCATE ON audit EXECUTE FUNCTION refuse('the audit is never deleted');
`;

/** One schema version from the one before: SQL, and where that is not enough `fill` and what comes after it. */
export interface Step {
  readonly sql: string;
  /** @param now epoch ms */
  readonly fill?: (now: number) => Steps<void>;
  readonly after?: string;
}

const SQLITE_TWO = tables(SQLITE) + SQLITE_TRIGGERS;
const SQLITE_THREE = administration(SQLITE) + SQLITE_ENTRIES + consoleTables(SQLITE.int, SQLITE.keyed);

/** One step for each schema version from 2 on, each in the same transaction as its number. Never edit one that was released. */
export const SQLITE_STEPS: readonly Step[] = [
  { sql: SQLITE_TWO },
  { sql: SQLITE_THREE },
  chainSqlite(SQLITE_TWO + SQLITE_THREE),
];
export const POSTGRES_STEPS: readonly Step[] = [
  { sql: tables(POSTGRES) + POSTGRES_TRIGGERS },
  { sql: administration(POSTGRES) + POSTGRES_ENTRIES + consoleTables(POSTGRES.int, POSTGRES.keyed) },
  chainPostgres,
];
