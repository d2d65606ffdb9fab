import { type Credits, credits, formatCreditsGrouped } from "../../contract/money.ts";
import { COSTED_CALLS, type CostedCall } from "../../contract/records.ts";
import { change, type Row, rowsOf, type Steps } from "./database.ts";
import { digestOf } from "./digest.ts";
import {
  type Account,
  type DayCount,
  type KeyMode,
  type Plan,
  type PlanChanges,
  STANDARD_PLAN,
  StoreConflictError,
  type StoredKey,
  UnknownAccountError,
} from "./ledger.ts";

// `repeated`: an earlier attempt, whose outcome is unknown, came before; what it left is then ours.

export const KEY_COLUMNS = `SELECT k.id, k.name, k.mode, k.prefix, k.hash, k.account_id, k.created_at, k.revoked_at,
  a.name AS account_name FROM keys k JOIN accounts a ON a.id = k.account_id`;

export const storedKey = (row: Row): StoredKey => ({
  id: row.id as string,
  name: row.name as string,
  mode: row.mode as KeyMode,
  prefix: row.prefix as string,
  hash: row.hash as string,
  accountId: row.account_id as string,
  accountName: row.account_name as string,
  createdAt: Number(row.created_at),
  revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
});

export const ACCOUNT_COLUMNS = `SELECT a.id, a.name, p.name AS plan, p.per_minute, p.per_day, p.costs
  FROM accounts a JOIN plans p ON p.account_id = a.id`;

export function storedAccount(row: Row): Account {
  const values = JSON.parse(row.costs as string) as Partial<Record<CostedCall, string>>;
  const costs = Object.fromEntries(COSTED_CALLS.map((call) => [call, credits(BigInt(values[call] ?? "0"))]));
  const plan: Plan = {
    name: row.plan as string,
    perMinute: Number(row.per_minute),
    perDay: Number(row.per_day),
    costs: costs as Record<CostedCall, Credits>,
  };
  return { id: row.id as string, name: row.name as string, plan };
}

export const storedCount = (row: Row): DayCount => ({
  keyId: row.key_id as string,
  day: row.day as string,
  count: Number(row.count),
});

export function* createAccount(id: string, name: string, createdAt: number, repeated: boolean): Steps<Account> {
  const added = yield* change(
    "INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING",
    ...[id, name, createdAt],
  );
  const account = { id, name, plan: STANDARD_PLAN };
  if (added === 0) {
    const [row] = yield* rowsOf("SELECT name, created_at FROM accounts WHERE id = $1", id);
    if (repeated && row?.name === name && Number(row.created_at) === createdAt) return account;
    throw new StoreConflictError(`an account named ${JSON.stringify(id)} exists already`);
  }
  yield* writePlan(id, STANDARD_PLAN);
  yield* change("INSERT INTO balances (account_id, mode) VALUES ($1, 'live'), ($2, 'test')", id, id);
  return account;
}

export function* createKey(key: Omit<StoredKey, "revokedAt" | "accountName">, repeated: boolean): Steps<void> {
  yield* assertAccount(key.accountId);
  const [found] = yield* rowsOf("SELECT id, hash FROM keys WHERE id = $1 OR hash = $2", key.id, key.hash);
  if (found !== undefined) {
    if (repeated && found.id === key.id && found.hash === key.hash) return;
    throw new StoreConflictError(`a key ${key.id}, or one with the same secret, exists already`);
  }
  yield* change(
    "INSERT INTO keys (id, account_id, name, mode, prefix, hash, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)",
    ...[key.id, key.accountId, key.name, key.mode, key.prefix, key.hash, key.createdAt],
  );
}

export function* revokeKey(id: string, revokedAt: number, repeated: boolean): Steps<boolean> {
  const sql = "UPDATE keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";
  if ((yield* change(sql, revokedAt, id)) === 1) return true;
  if (!repeated) return false;
  return (yield* rowsOf("SELECT 1 FROM keys WHERE id = $1 AND revoked_at = $2", id, revokedAt)).length === 1;
}

/** @param lock keeps others from the plan until the transaction ends, where reading alone does not */
export function* setPlan(accountId: string, changes: PlanChanges, lock: string): Steps<Plan> {
  const [row] = yield* rowsOf(`${ACCOUNT_COLUMNS} WHERE a.id = $1${lock}`, accountId);
  if (row === undefined) throw new UnknownAccountError(accountId);
  const { plan } = storedAccount(row);
  const changed = { ...plan, ...changes, costs: { ...plan.costs, ...changes.costs } };
  checkPlan(changed);
  yield* writePlan(accountId, changed);
  return changed;
}

/** A million credits: far above any price, and far below where sums of prices leave 64 bits. */
const MAX_PRICE: Credits = credits(1_000_000n * 1_000_000n);

/** @throws RangeError naming the figure that no plan may have */
function checkPlan(plan: Plan): void {
  for (const [name, value] of [
    ["per minute", plan.perMinute],
    ["per day", plan.perDay],
  ] as const) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`the limit ${name} must be a whole number of at least 1, not ${value}`);
    }
  }
  for (const call of COSTED_CALLS) {
    if (plan.costs[call] < 0n) throw new RangeError(`the cost of ${call} cannot be negative`);
    if (plan.costs[call] <= MAX_PRICE) continue;
    throw new RangeError(`the cost of ${call} cannot exceed ${formatCreditsGrouped(MAX_PRICE)} credits`);
  }
}

/** Costs are kept as JSON with millionths as texts: no float on the way. */
function* writePlan(accountId: string, { costs, name, perDay, perMinute }: Plan): Steps<void> {
  const texts = JSON.stringify(Object.fromEntries(COSTED_CALLS.map((call) => [call, costs[call].toString()])));
  const values = [accountId, name, perMinute, perDay, texts] as const;
  yield* change(
    `INSERT INTO plans (account_id, name, per_minute, per_day, costs, digest) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (account_id) DO UPDATE SET name = excluded.name, per_minute = excluded.per_minute,
       per_day = excluded.per_day, costs = excluded.costs, digest = excluded.digest`,
    ...[...values, digestOf(...values)],
  );
}

/** One row a key and day, always in the same order: two processes then never wait for each other in a circle. */
export function* recordCalls(counts: readonly DayCount[]): Steps<void> {
  const sums = new Map<string, DayCount>();
  for (const each of counts) {
    const id = `${each.day} ${each.keyId}`;
    sums.set(id, { ...each, count: each.count + (sums.get(id)?.count ?? 0) });
  }
  if (sums.size === 0) return;
  yield {
    sql: `INSERT INTO call_counts (key_id, day, count) VALUES %
          ON CONFLICT (day, key_id) DO UPDATE SET count = call_counts.count + excluded.count`,
    types: ["text", "text", "bigint"],
    rows: [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { count, day, keyId }]) => [keyId, day, count]),
  };
}

function* assertAccount(id: string): Steps<void> {
  if ((yield* rowsOf("SELECT 1 FROM accounts WHERE id = $1", id)).length === 0) throw new UnknownAccountError(id);
}
