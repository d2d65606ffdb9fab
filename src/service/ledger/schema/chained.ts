import { enterAct, stateOf, THINGS } from "../chain/audit.ts";
import {
  AUDIT_COLUMNS,
  auditLink,
  ENTRY_COLUMNS,
  ENTRY_ROWS,
  HOLD_COLUMNS,
  holdDigest,
  linkOf,
  REPLY_COLUMNS,
  RESOLVED_COLUMNS,
  replyDigest,
  valuesOf,
} from "../chain/links.ts";
import { type ColumnType, change, inPages, type Steps } from "../database.ts";
import { POSTGRES, SQLITE } from "./dialects.ts";

/** What neither chain nor sums reach repeats its row in one more column, kept by the database: verify compares the two. */
export const TWINS: Readonly<Record<string, readonly string[]>> = {
  call_counts: ["key_id", "day", "count"],
  key_uses: ["key_id", "used_at"],
  instances: ["id", "pid", "started", "machine", "heartbeat_at"],
  console_links: ["hash", "account_id", "role", "created_at", "expires_at", "used_at"],
  console_sessions: [
    ...[
      "id",
      "hash",
      "proof_hash",
      "account_id",
      "role",
      "key_hash",
      "created_at",
      "seen_at",
      "expires_at",
      "ended_at",
    ],
  ],
  console_exports: [
    ...[
      "id",
      "account_id",
      "mode",
      "key_id",
      "filters",
      "version",
      "profiles",
      "per_page",
      "price",
      "created_at",
      "state",
    ],
    ...["why", "pages", "row_count", "credits", "seen_at"],
  ],
  console_segments: ["account_id", "name", "filters", "count", "counted_at"],
  console_places: ["origin", "started_at"],
  small_counts: ["key_id", "day", "count"],
};
/** Those that schema 3 has already. */
const OLDER = Object.entries(TWINS).filter(([table]) => table !== "small_counts");

export const twinOf = (columns: readonly string[]): string =>
  columns.map((column) => `COALESCE(CAST(${column} AS text), '-')`).join(" || '|' || ");

const twin = (columns: readonly string[]): string => `twin text GENERATED ALWAYS AS (${twinOf(columns)}) STORED`;

/** SQLite adds no stored column to a table that is there: it is made again, as `soFar` made it. */
function withTwin(table: string, columns: readonly string[], soFar: string): string {
  const definition = new RegExp(`CREATE TABLE ${table} \\(([^;]*);`).exec(soFar)?.[1];
  const index = new RegExp(`CREATE INDEX \\w+ ON ${table} [^;]*;`).exec(soFar)?.[0] ?? "";
  const names = columns.join(", ");
  return `ALTER TABLE ${table} RENAME TO ${table}_3; CREATE TABLE ${table} (${twin(columns)}, ${definition};
INSERT INTO ${table} (${names}) SELECT ${names} FROM ${table}_3; DROP TABLE ${table}_3; ${index}
`;
}

const HOLD_CHANGED = `OLD.state <> 'pending' OR NEW.id <> OLD.id OR NEW.amount <> OLD.amount OR NEW.account_id <> OLD.account_id
  OR NEW.mode <> OLD.mode OR NEW.key_id <> OLD.key_id OR NEW.call <> OLD.call OR NEW.request_id <> OLD.request_id
  OR NEW.owner <> OLD.owner OR NEW.created_at <> OLD.created_at OR NEW.idempotency_key IS DISTINCT FROM OLD.idempotency_key`;

const ENTRY_CHECKS = `CHECK ((price IS NULL) = (sold IS NULL)),
  CHECK (
    (kind = 'grant' AND amount > 0 AND hold_id IS NULL AND refund_of IS NULL) OR
    (kind = 'charge' AND amount < 0 AND hold_id IS NOT NULL AND refund_of IS NULL) OR
    (kind = 'refund' AND amount > 0 AND hold_id IS NULL AND refund_of IS NOT NULL) OR
    (kind = 'correction' AND amount < 0 AND hold_id IS NULL AND refund_of IS NULL)
  )`;

const heads = ({ int, keyed }: Pick<typeof SQLITE, "int" | "keyed">): string => `
CREATE TABLE chains (name text PRIMARY KEY, head text NOT NULL) ${keyed};
INSERT INTO chains VALUES ('audit', '');
ALTER TABLE balances ADD COLUMN head text NOT NULL DEFAULT '';
ALTER TABLE holds ADD COLUMN digest text;
ALTER TABLE holds ADD COLUMN reply text;
ALTER TABLE audit ADD COLUMN states text NOT NULL DEFAULT '{}';
ALTER TABLE plans DROP COLUMN digest;
ALTER TABLE plans ADD COLUMN small_counts ${int} CHECK (small_counts > 0);
CREATE TABLE small_counts (
  key_id text NOT NULL, day text NOT NULL, count ${int} NOT NULL CHECK (count >= 0), ${twin(TWINS.small_counts ?? [])},
  PRIMARY KEY (day, key_id)
) ${keyed};
`;

const copied = `id, ${ENTRY_COLUMNS.join(", ")}`;

export const chainSqlite = (soFar: string) => ({
  sql: `${heads(SQLITE)}
CREATE TABLE entries_4 (
  id INTEGER PRIMARY KEY, account_id text NOT NULL, mode text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('grant', 'charge', 'refund', 'correction')), amount INTEGER NOT NULL,
  balance_after INTEGER NOT NULL CHECK (balance_after >= 0),
  hold_id INTEGER UNIQUE REFERENCES holds (id), refund_of INTEGER REFERENCES holds (id), operation text, note text NOT NULL,
  day text NOT NULL, created_at INTEGER NOT NULL, actor text, price INTEGER, sold INTEGER, chain text NOT NULL,
  FOREIGN KEY (account_id, mode) REFERENCES balances (account_id, mode),
  ${ENTRY_CHECKS}
) STRICT;
INSERT INTO entries_4 (${copied}, chain) SELECT ${copied}, '' FROM entries ORDER BY id;
DROP TABLE entries;
ALTER TABLE entries_4 RENAME TO entries;
CREATE UNIQUE INDEX entries_operation ON entries (operation) WHERE operation IS NOT NULL;
CREATE INDEX entries_account ON entries (account_id, mode, id);
CREATE INDEX entries_refunds ON entries (refund_of) WHERE refund_of IS NOT NULL;
DROP TRIGGER holds_resolve_once;
DROP TRIGGER audit_append_only;
${OLDER.map(([table, columns]) => withTwin(table, columns, soFar)).join("")}`,
  fill,
  after: `
CREATE TRIGGER entries_new BEFORE INSERT ON entries
WHEN EXISTS (SELECT 1 FROM entries WHERE id = NEW.id OR hold_id = NEW.hold_id OR operation = NEW.operation)
BEGIN SELECT RAISE (ABORT, 'entries are never replaced'); END;
CREATE TRIGGER entries_append_only BEFORE UPDATE ON entries BEGIN SELECT RAISE (ABORT, 'entries are never changed'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE (ABORT, 'entries are never deleted'); END;
CREATE TRIGGER holds_resolve_once BEFORE UPDATE ON holds WHEN ${HOLD_CHANGED}
BEGIN SELECT RAISE (ABORT, 'a hold resolves once'); END;
CREATE TRIGGER audit_append_only BEFORE UPDATE ON audit BEGIN SELECT RAISE (ABORT, 'the audit is never changed'); END;
`,
});

export const chainPostgres = {
  sql: `${heads(POSTGRES)}
ALTER TABLE entries DISABLE TRIGGER entries_append_only;
ALTER TABLE audit DISABLE TRIGGER audit_append_only;
DROP TRIGGER holds_resolve_once ON holds;
ALTER TABLE entries DROP COLUMN digest, ADD COLUMN chain text;
${OLDER.map(([table, columns]) => `ALTER TABLE ${table} ADD COLUMN ${twin(columns)};\n`).join("")}`,
  fill,
  after: `
ALTER TABLE entries ALTER COLUMN chain SET NOT NULL;
ALTER TABLE entries ENABLE TRIGGER entries_append_only;
ALTER TABLE audit ENABLE TRIGGER audit_append_only;
CREATE TRIGGER holds_resolve_once BEFORE UPDATE ON holds FOR EACH ROW WHEN (${HOLD_CHANGED})
  EXECUTE FUNCTION refuse('a hold resolves once');
`,
};

/** Chains what schema 3 has left. Nothing vouches for what it was before: the chain begins here. */
function* fill(now: number): Steps<void> {
  yield* inPages(`SELECT hold_id AS id, ${REPLY_COLUMNS.join(", ")}, state FROM idempotency`, function* (rows) {
    const digests = rows.map((row) => [String(row.id), replyDigest(valuesOf(row, REPLY_COLUMNS))] as const);
    yield* set("idempotency", "hold_id", "digest", "id", digests);
    const stored = digests.filter((_, index) => rows[index]?.state === "stored");
    yield* set("holds", "id", "reply", "id", stored);
  });
  yield* inPages(`SELECT ${[...HOLD_COLUMNS, ...RESOLVED_COLUMNS].join(", ")} FROM holds`, function* (rows) {
    const digests = rows.map((row) => [String(row.id), holdDigest(row)] as const);
    yield* set("holds", "id", "digest", "id", digests);
  });
  yield* fillEntries();
  yield* fillAudit(now);
}

function* fillEntries(): Steps<void> {
  const last = new Map<string, readonly [accountId: string, mode: string, head: string]>();
  yield* inPages(ENTRY_ROWS, function* (rows) {
    const links = rows.map((row) => {
      const [accountId, mode] = [row.account_id as string, row.mode as string];
      const before = last.get(`${mode} ${accountId}`)?.[2] ?? "";
      const link = linkOf(before, row);
      last.set(`${mode} ${accountId}`, [accountId, mode, link]);
      return [row.id, link] as const;
    });
    yield* set("entries", "id", "chain", "bigint", links);
  });
  for (const [accountId, mode, head] of last.values()) {
    yield* change("UPDATE balances SET head = $1 WHERE account_id = $2 AND mode = $3", head, accountId, mode);
  }
}

function* fillAudit(now: number): Steps<void> {
  let head = "";
  yield* inPages(`SELECT id, ${AUDIT_COLUMNS.join(", ")} FROM audit`, function* (rows) {
    const links = rows.map((row) => {
      head = auditLink(head, valuesOf(row, AUDIT_COLUMNS));
      return [row.id, head] as const;
    });
    yield* set("audit", "id", "digest", "bigint", links);
  });
  yield* change("UPDATE chains SET head = $1 WHERE name = 'audit'", head);
  for (const [kind, sql] of Object.entries(THINGS)) {
    yield* inPages(sql, function* (rows) {
      const states = Object.fromEntries(rows.map((row) => [`${kind} ${String(row.id)}`, stateOf(row)]));
      yield* enterAct([now, "headcount", "ledger.chained", null, "schema 4", "{}", JSON.stringify(states)]);
    });
  }
}

function* set(
  table: string,
  by: string,
  column: string,
  type: ColumnType,
  rows: readonly (readonly unknown[])[],
): Steps<void> {
  if (rows.length === 0) return;
  const sql = `WITH v (id, value) AS (VALUES %) UPDATE ${table} SET ${column} = v.value FROM v WHERE ${table}.${by} = v.id`;
  yield { sql, types: [type, "text"], rows };
}
