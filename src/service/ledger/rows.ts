import { credits } from "../../contract/money.ts";
import type { Account, DayCount, KeyMode, StoredKey, StoredReply } from "./ledger.ts";
import { decodeCosts } from "./values.ts";

/** A row as either database gives it; whole numbers are bigints, because amounts must not pass through a float. */
export type Row = Record<string, unknown>;

export type HoldState = "pending" | "posted" | "voided" | "expired";

export const KEY_COLUMNS = `SELECT k.id, k.name, k.mode, k.prefix, k.hash, k.account_id, k.created_at, k.revoked_at,
  a.name AS account_name FROM keys k JOIN accounts a ON a.id = k.account_id`;

export function storedKey(row: Row): StoredKey {
  return {
    id: row.id as string,
    name: row.name as string,
    mode: row.mode as KeyMode,
    prefix: row.prefix as string,
    hash: row.hash as string,
    accountId: row.account_id as string,
    accountName: row.account_name as string,
    createdAt: Number(row.created_at),
    revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
  };
}

export const ACCOUNT_COLUMNS = `SELECT a.id, a.name, p.name AS plan, p.per_minute, p.per_day, p.costs
  FROM accounts a JOIN plans p ON p.account_id = a.id`;

export function storedAccount(row: Row): Account {
  const plan = {
    name: row.plan as string,
    perMinute: Number(row.per_minute),
    perDay: Number(row.per_day),
    costs: decodeCosts(row.costs as string),
  };
  return { id: row.id as string, name: row.name as string, plan };
}

export const dayCount = (row: Row): DayCount => ({
  keyId: row.key_id as string,
  day: row.day as string,
  count: Number(row.count),
});

/** The reply of an idempotency record whose state is `stored`. */
export const storedReply = (row: Row): StoredReply => ({
  status: Number(row.status),
  headers: JSON.parse(row.headers as string) as Record<string, string>,
  body: row.body as string,
});

/** What a hold is, apart from its state. */
export const holdTerms = (row: Row) => ({
  call: row.call as string,
  amount: credits(row.amount as bigint),
  idempotencyKey: row.idempotency_key as string | null,
});
