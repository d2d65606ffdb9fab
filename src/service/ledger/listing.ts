import { referenceOf } from "./chain/links.ts";
import { fieldsOf, type Row } from "./database.ts";
import type { AuditQuery, AuditRow, EntryQuery, LedgerEntry, UsageQuery, UsageRow } from "./ledger.ts";

interface Query {
  readonly sql: string;
  readonly values: readonly unknown[];
}

const MOST_ROWS = 1_000;

function where(conditions: readonly (readonly [sql: string, value: unknown])[]): Query {
  const given = conditions.filter(([, value]) => value !== undefined);
  const texts = given.map(([sql], index) => sql.replace("?", `$${index + 1}`));
  return {
    sql: texts.length === 0 ? "" : `WHERE ${texts.join(" AND ")}`,
    values: given.map(([, value]) => value),
  };
}

function rowsAtMost(limit: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= MOST_ROWS) return limit;
  throw new RangeError(`a page has 1 to ${MOST_ROWS} rows, not ${limit}`);
}

/** The newest first, by id: what is added meanwhile moves no page. */
export function entriesQuery(query: EntryQuery): Query {
  const { accountId, before, call, keyId, kind, limit, mode, since, until } = query;
  const found = where([
    ["e.account_id = ?", accountId],
    ["e.mode = ?", mode],
    ["e.id < ?", before],
    ["e.kind = ?", kind],
    ["COALESCE(h.key_id, r.key_id) = ?", keyId],
    ["COALESCE(h.call, r.call) = ?", call],
    ["e.created_at >= ?", since],
    ["e.created_at < ?", until],
  ]);
  const sql = `SELECT e.id, e.account_id, e.mode, e.kind, e.amount, e.balance_after, e.created_at AS at, e.actor, e.operation, e.note,
      e.price, e.sold AS rows, COALESCE(h.key_id, r.key_id) AS key_id, COALESCE(h.call, r.call) AS call,
      COALESCE(h.request_id, r.request_id) AS request_id, c.id AS refund_of
    FROM entries e LEFT JOIN holds h ON h.id = e.hold_id LEFT JOIN holds r ON r.id = e.refund_of
    LEFT JOIN entries c ON c.hold_id = e.refund_of
    ${found.sql} ORDER BY e.id DESC LIMIT ${rowsAtMost(limit)}`;
  return { sql, values: found.values };
}

export function ledgerEntry(row: Row): LedgerEntry {
  const { operation, ...entry } = fieldsOf<LedgerEntry & { readonly operation: string | null }>(row, ["at", "rows"]);
  return { ...entry, reference: referenceOf(operation) };
}

const GROUPS = { day: "day", key: "key_id", call: "call" } as const;

export function usageQuery({ accountId, by, keyId, mode, since, until }: UsageQuery): Query {
  const columns = [...new Set(by)].map((group) => GROUPS[group]);
  const found = where([
    ["account_id = ?", accountId],
    ["mode = ?", mode],
    ["key_id = ?", keyId],
    ["day >= ?", since],
    ["day <= ?", until],
  ]);
  const grouped = columns.length === 0 ? "" : `GROUP BY ${columns.join(", ")} ORDER BY ${columns.join(", ")}`;
  // Where one charge does not say how many rows it sold, their sum is not known either.
  const sold = "CASE WHEN COUNT(sold) = COUNT(*) THEN CAST(SUM(sold) AS bigint) END AS rows";
  const sums = ["calls", "charged", "refunded"].map((name) => `CAST(COALESCE(SUM(${name}), 0) AS bigint) AS ${name}`);
  return {
    sql: `SELECT ${[...columns, sold, ...sums].join(", ")} FROM usage ${found.sql} ${grouped}`,
    values: found.values,
  };
}

export const usageRow = (row: Row): UsageRow => ({
  ...{ day: null, keyId: null, call: null },
  ...fieldsOf<UsageRow>(row, ["calls", "rows"]),
});

export function auditQuery({ accountId, before, limit, since }: AuditQuery): Query {
  const found = where([
    ["account_id = ?", accountId],
    ["id < ?", before],
    ["at >= ?", since],
  ]);
  return {
    sql: `SELECT id, at, actor, action, account_id, target, detail FROM audit ${found.sql} ORDER BY id DESC LIMIT ${rowsAtMost(limit)}`,
    values: found.values,
  };
}

export const auditRow = (row: Row): AuditRow => ({
  ...fieldsOf<AuditRow>(row, ["at"]),
  detail: JSON.parse(row.detail as string) as AuditRow["detail"],
});
