import { hash } from "node:crypto";
import type { Row } from "../database.ts";
import { type DigestPart, digestOf } from "./digest.ts";

/*
 * What was written is chained, so that nothing of it can change, go or come between unseen:
 *   a hold's digest      over what it was made with; where it ends without a charge over that again with how it ended
 *   an entry's chain     over the entry before it of the same place, its own columns, and of a charge its hold's digest
 *                        and the digest of its reply; the last one is `balances.head`
 *   a digest of audit    over the row before it, its own columns, and `states`: the digests of the things
 *                        that it has changed; the last one is in `chains`
 * A stored reply is in it by its digest, which stays with the hold when the reply goes.
 */

/** The columns in the order in which they are digested: the same where they are written and where they are read. */
export const HOLD_COLUMNS = [
  "id",
  "account_id",
  "mode",
  "key_id",
  "call",
  "amount",
  "request_id",
  "idempotency_key",
  "owner",
  "created_at",
] as const;
export const RESOLVED_COLUMNS = ["state", "posted", "resolved_at", "reply"] as const;
export const ENTRY_COLUMNS = [
  "account_id",
  "mode",
  "kind",
  "amount",
  "balance_after",
  "hold_id",
  "refund_of",
  "operation",
  "note",
  "day",
  "created_at",
  "actor",
  "price",
  "sold",
] as const;
/** What {@link entryLink} is over, by `id`. */
export const ENTRY_ROWS = `SELECT e.id, ${ENTRY_COLUMNS.map((column) => `e.${column}`).join(", ")}, e.chain, h.digest AS hold_digest, h.reply
  FROM entries e LEFT JOIN holds h ON h.id = e.hold_id`;
export const AUDIT_COLUMNS = ["at", "actor", "action", "account_id", "target", "detail", "states"] as const;
export const REPLY_COLUMNS = ["request_hash", "status", "headers", "body"] as const;

export const heldDigest = (values: readonly unknown[]): string =>
  digestOf("hold", ...(values as readonly DigestPart[]));

/** Of a hold that ends. A charge is told by its entry. @param values of {@link RESOLVED_COLUMNS} */
export const resolvedDigest = (held: string, values: readonly unknown[]): string =>
  isCharged(values[1]) ? held : digestOf("resolved", held, ...(values as readonly DigestPart[]));

const isCharged = (posted: unknown): boolean => posted !== null && (posted as bigint) > 0n;

/** @param before the link before it, "" for the first @param hold digest and reply of a charge's hold */
export const entryLink = (
  before: string,
  values: readonly unknown[],
  hold: string | null,
  reply: string | null,
): string => digestOf("entry", before, ...(values as readonly DigestPart[]), hold, reply);

export const linkOf = (before: string, row: Row): string =>
  entryLink(before, valuesOf(row, ENTRY_COLUMNS), row.hold_digest as string | null, row.reply as string | null);

export const auditLink = (before: string, values: readonly unknown[]): string =>
  digestOf("audit", before, ...(values as readonly DigestPart[]));

/**
 * @param values of {@link REPLY_COLUMNS}: the headers as JSON, the body as text or as its bytes; all but the
 * first null while the call is in flight
 */
export function replyDigest([requestHash, status, headers, body]: readonly unknown[]): string {
  const told = body === null ? null : hash("sha256", body as string | Buffer, "base64url");
  return digestOf("reply", ...([requestHash, status, headers] as DigestPart[]), told);
}

export const valuesOf = (row: Row, columns: readonly string[]): readonly unknown[] =>
  columns.map((column) => row[column]);

export function holdDigest(row: Row): string {
  const held = heldDigest(valuesOf(row, HOLD_COLUMNS));
  return row.state === "pending" ? held : resolvedDigest(held, valuesOf(row, RESOLVED_COLUMNS));
}
