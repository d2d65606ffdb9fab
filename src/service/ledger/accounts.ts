import {
  type Credits,
  credits,
  formatCredits,
  formatCreditsGrouped,
} from "../../shared/contract/money.ts";
import { COSTED_CALLS, type CostedCall, KEEP_DAYS_MAX } from "../../shared/contract/records.ts";
import { type Acting, audit } from "./chain/links.ts";
import {
  change,
  insert,
  type Row,
  type Steps,
  statementRows,
  storedFields,
  upsert,
} from "./database.ts";
import { StoreConflictError, UnknownAccountError } from "./errors.ts";
import {
  type Account,
  type AccountPlan,
  type AccountSummary,
  type DayCount,
  type PlanChanges,
  STANDARD_PLAN,
} from "./ledger.ts";

export const ACCOUNT_COLUMNS = `SELECT a.id, a.name, a.suspended_at, p.name AS plan, p.per_minute,
  p.per_day, p.costs,
  p.small_counts, p.keep_days
  FROM accounts a JOIN plans p ON p.account_id = a.id`;

export function storedAccount(row: Row): Account {
  const values = JSON.parse(row.costs as string) as Partial<Record<CostedCall, string>>;
  const costs = Object.fromEntries(
    COSTED_CALLS.map((call) => [call, credits(BigInt(values[call] ?? "0"))]),
  );
  const plan: AccountPlan = {
    name: row.plan as string,
    perMinute: Number(row.per_minute),
    perDay: Number(row.per_day),
    smallCounts: row.small_counts === null ? null : Number(row.small_counts),
    keepDays: Number(row.keep_days),
    costs: costs as Record<CostedCall, Credits>,
  };

  const suspendedAt = row.suspended_at === null ? null : Number(row.suspended_at);
  return { id: row.id as string, name: row.name as string, plan, suspendedAt };
}

export const storedCount = (row: Row): DayCount => storedFields(row, ["count"]);

export function* createAccount(
  id: string,
  name: string,
  { at, by, repeated }: Acting,
): Steps<Account> {
  const added = yield* insert(
    "accounts",
    { id, name, createdAt: at },
    "ON CONFLICT (id) DO NOTHING",
  );
  const account = { id, name, plan: STANDARD_PLAN, suspendedAt: null };

  if (added === 0) {
    const [row] = yield* statementRows("SELECT name, created_at FROM accounts WHERE id = $1", id);
    if (repeated && row?.name === name && Number(row.created_at) === at) return account;
    throw new StoreConflictError(`an account named ${JSON.stringify(id)} exists already`);
  }

  yield* writePlan(id, STANDARD_PLAN);
  yield* change(
    "INSERT INTO balances (account_id, mode) VALUES ($1, 'live'), ($2, 'test')",
    id,
    id,
  );

  const act = { actor: by, action: "accounts.create", accountId: id, target: id, detail: { name } };
  const changed = (["account", "plan"] as const).map((kind) => [kind, id] as const);
  yield* audit({ ...act, changed }, at);

  return account;
}

export function* suspendAccount(
  id: string,
  suspended: boolean,
  { at, by, repeated }: Acting,
): Steps<boolean> {
  const [row] = yield* statementRows("SELECT suspended_at FROM accounts WHERE id = $1", id);
  if (row === undefined) throw new UnknownAccountError(id);
  if ((row.suspended_at !== null) === suspended) return repeated;
  yield* change("UPDATE accounts SET suspended_at = $1 WHERE id = $2", suspended ? at : null, id);
  const action = suspended ? "accounts.suspend" : "accounts.resume";
  yield* audit(
    { actor: by, action, accountId: id, target: id, detail: {}, changed: [["account", id]] },
    at,
  );
  return true;
}

export const ACCOUNT_LIST = `${ACCOUNT_COLUMNS.replace(
  "a.name,",
  `a.name, a.created_at, l.balance AS live, l.held AS live_held,
   t.balance AS test, t.held AS test_held,
   (SELECT COUNT(*) FROM keys k WHERE k.account_id = a.id AND k.revoked_at IS NULL
     AND (k.expires_at IS NULL OR k.expires_at > $1)) AS keys,`,
)}
  JOIN balances l ON l.account_id = a.id AND l.mode = 'live'
  JOIN balances t ON t.account_id = a.id AND t.mode = 'test'
  ORDER BY a.created_at, a.id`;

export const accountSummary = (row: Row): AccountSummary => ({
  ...storedAccount(row),
  createdAt: Number(row.created_at),
  live: { balance: credits(row.live as bigint), held: credits(row.live_held as bigint) },
  test: { balance: credits(row.test as bigint), held: credits(row.test_held as bigint) },
  keys: Number(row.keys),
});

export function* setPlan(
  accountId: string,
  changes: PlanChanges,
  lock: string,
  { at, by }: Acting,
): Steps<AccountPlan> {
  const [row] = yield* statementRows(`${ACCOUNT_COLUMNS} WHERE a.id = $1${lock}`, accountId);
  if (row === undefined) throw new UnknownAccountError(accountId);

  const { plan } = storedAccount(row);
  const changed = { ...plan, ...changes, costs: { ...plan.costs, ...changes.costs } };
  checkPlan(changed);
  yield* writePlan(accountId, changed);

  const act = {
    actor: by,
    action: "plan.set",
    accountId,
    target: accountId,
    detail: toldOf(changes),
  };

  yield* audit({ ...act, changed: [["plan", accountId]] }, at);
  return changed;
}

function toldOf({ costs = {}, ...rest }: PlanChanges): Readonly<Record<string, unknown>> {
  const prices = Object.entries(costs).map(([call, price]) => [call, formatCredits(price)]);
  return { ...rest, ...(prices.length === 0 ? {} : { costs: Object.fromEntries(prices) }) };
}

/** A million credits: far above any price, and far below where sums of prices leave 64 bits. */
const MAX_PRICE: Credits = credits(1_000_000n * 1_000_000n);

function checkPlan(plan: AccountPlan): void {
  for (const [name, value] of [
    ["per minute", plan.perMinute],
    ["per day", plan.perDay],
  ] as const) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`the limit ${name} must be a whole number of at least 1, not ${value}`);
    }
  }

  const { keepDays, smallCounts } = plan;
  if (!Number.isSafeInteger(keepDays) || keepDays < 1 || keepDays > KEEP_DAYS_MAX) {
    throw new RangeError(
      `what is bought on the page is kept for 1 to ${KEEP_DAYS_MAX} whole days, not ${keepDays}`,
    );
  }

  if (smallCounts !== null && !(Number.isSafeInteger(smallCounts) && smallCounts > 0)) {
    throw new RangeError(
      `small counts are of fewer than a whole number of people, at least 1, not ${smallCounts}`,
    );
  }

  for (const call of COSTED_CALLS) {
    if (plan.costs[call] < 0n) throw new RangeError(`the cost of ${call} cannot be negative`);
    if (plan.costs[call] <= MAX_PRICE) continue;
    throw new RangeError(
      `the cost of ${call} cannot exceed ${formatCreditsGrouped(MAX_PRICE)} credits`,
    );
  }
}

/** Costs are kept as JSON with millionths as texts: no float on the way. */
function* writePlan(accountId: string, { costs: prices, ...rest }: AccountPlan): Steps<void> {
  const costs = JSON.stringify(
    Object.fromEntries(COSTED_CALLS.map((call) => [call, prices[call].toString()])),
  );
  yield* upsert("plans", { accountId, ...rest, costs }, "account_id");
}

/**
 * One row a key and day, always in the same order: two
 * processes then never wait for each other in a circle.
 */
export function* recordCalls(counts: readonly DayCount[], at: number): Steps<void> {
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
    rows: [...sums]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { count, day, keyId }]) => [keyId, day, count]),
  };

  yield {
    sql: `INSERT INTO key_uses (key_id, used_at) SELECT v.column1, v.column2 FROM (VALUES %) AS v
      JOIN keys k ON k.id = v.column1
          WHERE 1 = 1 ON CONFLICT (key_id) DO UPDATE SET used_at = excluded.used_at
            WHERE key_uses.used_at < excluded.used_at`,
    types: ["text", "bigint"],
    rows: [...new Set(counts.map(({ keyId }) => keyId))].sort().map((id) => [id, at]),
  };
}
