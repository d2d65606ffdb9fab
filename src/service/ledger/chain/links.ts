import { hash } from "node:crypto";
import { change, type Row, type Steps, statementRows } from "../database.ts";

/**
 * SHA-256 over the parts, base64url; each with its length,
 * so that no part can pass for the end of another.
 * @param parts values of columns: texts, numbers, or null
 */
export function digestOf(...parts: readonly unknown[]): string {
  let text = "";
  for (const part of parts) {
    if (part === null) text += "-;";
    else {
      const each = typeof part === "string" ? part : (part as number | bigint).toString();
      text += `${each.length}:${each};`;
    }
  }
  return hash("sha256", text, "base64url");
}

/*
 * What was written is chained, so that nothing of it can change, go or come between unseen:
 *   a hold's digest      over what it was made with; where it ends without a charge over that
 *                        again with how it ended
 *   an entry's chain     over the entry before it of the same place, its own columns, and of a
 *                        charge its hold's digest, the digest of its reply and until when that
 *                        is kept; the last one is `balances.head`
 *   a digest of audit    over the row before it, its own columns, and `states`: the digests of
 *                        the things that it has changed; the last one is in `chains`
 * A stored reply is in it by its digest, which stays with the hold when the reply goes.
 */

const columnsOf = (names: string): readonly string[] => names.split(" ");

/** The columns in the order in which they are digested. */
export const HOLD_COLUMNS = columnsOf(
  "id account_id mode key_id call amount request_id idempotency_key owner created_at",
);
export const RESOLVED_COLUMNS = columnsOf("state posted resolved_at reply kept_until");
export const ENTRY_COLUMNS = columnsOf(
  "account_id mode kind amount balance_after hold_id refund_of " +
    "operation note day created_at actor price sold",
);
export const ENTRY_ROWS = `SELECT e.id, ${ENTRY_COLUMNS.map((column) => `e.${column}`).join(", ")},
  e.chain, h.digest AS hold_digest, h.reply, h.kept_until
  FROM entries e LEFT JOIN holds h ON h.id = e.hold_id`;
export const AUDIT_COLUMNS = columnsOf("at actor action account_id target detail states");
export const REPLY_COLUMNS = columnsOf("request_hash status headers body");

export const heldDigest = (values: readonly unknown[]): string => digestOf("hold", ...values);

export const resolvedDigest = (held: string, values: readonly unknown[]): string =>
  Number(values[1]) > 0 ? held : digestOf("resolved", held, ...values);

/** @param held digests of its hold and of the reply, and until when that is kept */
export const entryLink = (
  before: string,
  values: readonly unknown[],
  held: readonly unknown[],
): string => digestOf("entry", before, ...values, ...held);

export const linkOf = (before: string, row: Row): string =>
  entryLink(before, valuesOf(row, ENTRY_COLUMNS), [row.hold_digest, row.reply, row.kept_until]);

export const auditLink = (before: string, values: readonly unknown[]): string =>
  digestOf("audit", before, ...values);

/**
 * @param values of {@link REPLY_COLUMNS}: the headers as JSON, the body as text or as its bytes;
 * all but the first null while the call is in flight
 */
export function replyDigest([requestHash, status, headers, body]: readonly unknown[]): string {
  const bodyHash = body === null ? null : hash("sha256", body as string | Buffer, "base64url");
  return digestOf("reply", requestHash, status, headers, bodyHash);
}

export const valuesOf = (row: Row, columns: readonly string[]): readonly unknown[] =>
  columns.map((column) => row[column]);

export function holdDigest(row: Row): string {
  const held = heldDigest(valuesOf(row, HOLD_COLUMNS));
  return row.state === "pending" ? held : resolvedDigest(held, valuesOf(row, RESOLVED_COLUMNS));
}

export interface Acted {
  readonly actor: string;
  readonly action: string;
  readonly accountId: string | null;
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly changed?: readonly (readonly [kind: keyof typeof THINGS, id: string])[];
}

/** Who acts, when, and whether an attempt of unknown outcome came before: what it left is ours. */
export interface Acting {
  readonly by: string;
  readonly at: number;
  readonly repeated: boolean;
}

/**
 * What can only be changed by an act: its rows, `id` first.
 * What they are after it is digested into the chain.
 */
export const THINGS = {
  account: "SELECT id, name, created_at, suspended_at FROM accounts",
  plan: `SELECT account_id AS id, name, per_minute, per_day, costs, small_counts, keep_days
    FROM plans`,
  key: `SELECT id, account_id, name, mode, prefix, hash, created_at, revoked_at, expires_at, scopes,
    origin FROM keys`,
  cap: "SELECT key_id AS id, cap FROM budgets",
  session: `SELECT id, hash, proof_hash, account_id, role, key_hash, created_at, expires_at,
    ended_at FROM console_sessions`,
  link: `SELECT hash AS id, account_id, role, name, created_at, expires_at, used_at
    FROM console_links`,
} as const;
export const auditStateOf = (row: Readonly<Record<string, unknown>>): string =>
  digestOf("state", ...Object.values(row));

/**
 * One act, in the transaction of the act itself, and its last part: acts wait here for each other.
 * @param at ms
 */
export function* audit(acted: Acted, at: number): Steps<void> {
  const { accountId, action, actor, changed = [], detail, target } = acted;
  const states: Record<string, string | null> = {};
  for (const [kind, id] of changed) {
    const [row] = yield* statementRows(`SELECT * FROM (${THINGS[kind]}) AS t WHERE id = $1`, id);
    states[`${kind} ${id}`] = row === undefined ? null : auditStateOf(row);
  }

  const values = [
    at,
    actor,
    action,
    accountId,
    target,
    JSON.stringify(detail),
    JSON.stringify(states),
  ];

  // Written before it is read: who comes second waits
  // for the row, and reads what the first has left.
  yield* change("UPDATE chains SET head = head WHERE name = 'audit'");

  const [row] = yield* statementRows("SELECT head FROM chains WHERE name = 'audit'");
  const link = auditLink(row?.head as string, values);

  yield* change(
    `INSERT INTO audit (${AUDIT_COLUMNS.join(", ")}, ` +
      "digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
    ...values,
    link,
  );
  yield* change("UPDATE chains SET head = $1 WHERE name = 'audit'", link);
}

const REFERENCE = "reference";

export const operationNamed = (accountId: string, mode: string, reference: string): string =>
  `${REFERENCE} ${mode} ${accountId} ${reference}`;

export const referenceOf = (operation: string | null): string | null =>
  /^reference \S+ \S+ (.*)$/s.exec(operation ?? "")?.[1] ?? null;
