import { credits, formatCredits } from "../../contract/money.ts";
import { type Acted, audit, referenceOf } from "./audit.ts";
import { utcDay } from "./clock.ts";
import { type ColumnType, type Row, rowsOf, type Steps } from "./database.ts";
import { digestOf } from "./digest.ts";
import { type HoldState, LedgerInvariantError } from "./errors.ts";
import {
  type Asked,
  assertBudget,
  assertCovered,
  type Capped,
  type Entry,
  type Facts,
  type Hold,
  type KeyFacts,
  type Money,
  type Operation,
  type Place,
  placeKey,
  type ReplyRecord,
  recordKey,
  refundOf,
  type Writes,
} from "./facts.ts";
import type { Instances } from "./instances.ts";
import type { EntryKind, KeyMode } from "./ledger.ts";

export interface GroupOptions {
  readonly instances: Instances;
  /** Epoch milliseconds: one instant for all that the group writes. */
  readonly now: number;
  /** The account to lock, where a row is what keeps other writers away. */
  readonly lock?: Place;
}

/** The keys of what a group asks for. */
function wanted(group: readonly Asked[]) {
  const places = new Map<string, Place>();
  const [holds, operations, keys] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const records = new Map<string, readonly string[]>();
  for (const { request, earlier } of group) {
    switch (request.kind) {
      case "hold": {
        const { accountId, call, idempotency, keyId, mode } = request.request;
        keys.add(keyId);
        places.set(placeKey(request.request), request.request);
        if (request.holdId !== undefined && earlier !== undefined) holds.add(request.holdId);
        if (idempotency !== undefined) {
          records.set(recordKey(request.request, call, idempotency.key), [accountId, mode, call, idempotency.key]);
        }
        break;
      }
      case "settle":
        holds.add(request.settlement.holdId);
        break;
      case "release":
        holds.add(request.holdId);
        if (request.refund) operations.add(refundOf(request.holdId));
        break;
      case "refund":
        holds.add(request.holdId);
        operations.add(request.operation);
        break;
      case "adjust":
        places.set(placeKey(request.place), request.place);
        operations.add(request.operation);
    }
  }
  return { places, holds, operations, records, keys };
}

/** Reads what {@link decide} needs to know of a group, in a few statements however many requests there are. */
export function* readGroup(group: readonly Asked[], { instances, lock, now }: GroupOptions): Steps<Facts> {
  const { holds: holdIds, keys: keyIds, operations, places, records: replies } = wanted(group);
  const money = lock === undefined ? undefined : yield* readMoney([lock], " FOR UPDATE OF b");
  const records = new Map<string, ReplyRecord>();
  for (const row of yield* look(
    `SELECT r.account_id, r.mode, r.call, r.key, r.request_hash, r.state, r.hold_id, r.created_at, r.status, r.headers, r.body, r.digest,
       ${instances.columns}
     FROM (VALUES %) AS v JOIN idempotency r
       ON r.account_id = v.column1 AND r.mode = v.column2 AND r.call = v.column3 AND r.key = v.column4
     JOIN holds h ON h.id = r.hold_id LEFT JOIN instances i ON i.id = h.owner`,
    ["text", "text", "text", "text"],
    [...replies.values()],
  )) {
    const record = replyRecord(row, instances.isAlive(row, now));
    records.set(recordKey(placeOf(row), row.call as string, row.key as string), record);
    if (record.reply === undefined && !record.ownerAlive) holdIds.add(record.holdId);
  }
  const holds = new Map<string, Hold>();
  for (const row of yield* look(
    `SELECT h.id, h.account_id, h.mode, h.key_id, h.call, h.amount, h.state, h.posted, h.idempotency_key
     FROM (VALUES %) AS v JOIN holds h ON h.id = v.column1`,
    ["id"],
    [...holdIds].map((id) => [id]),
  )) {
    const found = holdOf(row);
    holds.set(found.id, found);
    places.set(placeKey(found), found);
    keyIds.add(found.keyId);
  }
  const { budgets, keys } = yield* readKeys([...keyIds]);
  const done = yield* look(
    `SELECT e.operation, e.kind, e.amount, e.refund_of
     FROM (VALUES %) AS v JOIN entries e ON e.operation = v.column1`,
    ["text"],
    [...operations].map((operation) => [operation]),
  );
  // Whatever was charged may be about to come back.
  const back = group.some(({ request }) => request.kind === "refund" || (request.kind === "release" && request.refund));
  const refunded = !back
    ? []
    : yield* look(
        `SELECT e.refund_of, CAST(SUM(e.amount) AS bigint) AS amount
         FROM (VALUES %) AS v JOIN entries e ON e.refund_of = v.column1 GROUP BY e.refund_of`,
        ["id"],
        [...holds.keys()].map((id) => [id]),
      );
  const numbered = group.some(({ request }) => request.kind === "hold" && request.holdId === undefined);
  const [last] = numbered ? yield* rowsOf("SELECT COALESCE(MAX(id), 0) AS id FROM holds") : [];
  return {
    now,
    money: money ?? (yield* readMoney([...places.values()], "")),
    holds,
    records,
    operations: new Map(done.map((row) => [row.operation as string, operationOf(row)])),
    keys,
    budgets,
    refunded: new Map(refunded.map((row) => [String(row.refund_of), credits(row.amount as bigint)])),
    nextHoldId: ((last?.id ?? 0n) as bigint) + 1n,
  };
}

function* readMoney(places: readonly Place[], lock: string): Steps<Map<string, Money>> {
  const rows = yield* look(
    `SELECT b.account_id, b.mode, b.balance, b.held
     FROM (VALUES %) AS v JOIN balances b ON b.account_id = v.column1 AND b.mode = v.column2${lock}`,
    ["text", "text"],
    places.map(({ accountId, mode }) => [accountId, mode]),
  );
  return new Map(
    rows.map((row) => {
      const [balance, held] = [credits(row.balance as bigint), credits(row.held as bigint)];
      const money = assertCovered({ ...placeOf(row), balance, held });
      return [placeKey(money), money];
    }),
  );
}

function* readKeys(ids: readonly string[]): Steps<Pick<Facts, "keys" | "budgets">> {
  const rows = yield* look(
    `SELECT k.id, COALESCE(k.origin, k.id) AS origin, k.revoked_at, k.expires_at, a.suspended_at, g.cap, g.spent, g.held
     FROM (VALUES %) AS v JOIN keys k ON k.id = v.column1 JOIN accounts a ON a.id = k.account_id
     LEFT JOIN budgets g ON g.key_id = COALESCE(k.origin, k.id)`,
    ["text"],
    ids.map((id) => [id]),
  );
  const keys = new Map<string, KeyFacts>();
  const budgets = new Map<string, Capped>();
  for (const row of rows) {
    const [revokedAt, expiresAt, suspendedAt] = [row.revoked_at, row.expires_at, row.suspended_at].map(timeOf);
    const origin = row.origin as string;
    keys.set(row.id as string, { origin, revokedAt, expiresAt, suspendedAt } as KeyFacts);
    if (row.cap === null) continue;
    const [cap, spent, held] = [row.cap, row.spent, row.held].map((value) => credits(value as bigint));
    budgets.set(origin, assertBudget({ origin, cap, spent, held } as Capped));
  }
  return { keys, budgets };
}

/** Writes what was decided: a statement for each table. */
export function* writeGroup(writes: Writes, { instances, now }: GroupOptions): Steps<void> {
  yield* put(
    "DELETE FROM idempotency WHERE hold_id IN (VALUES %)",
    ["id"],
    writes.forgotten.map((id) => [id]),
  );
  yield* put(
    `INSERT INTO holds (id, account_id, mode, key_id, call, amount, request_id, idempotency_key, owner, created_at, state)
     SELECT v.*, 'pending' FROM (VALUES %) AS v`,
    ["id", "text", "text", "text", "text", "bigint", "text", "text", "text", "bigint"],
    writes.holds.map(({ id, request }) => {
      const { accountId, amount, call, idempotency, keyId, mode, requestId } = request;
      return [id, accountId, mode, keyId, call, amount, requestId, idempotency?.key ?? null, instances.id, now];
    }),
  );
  yield* put(
    `INSERT INTO idempotency (account_id, mode, call, key, request_hash, hold_id, created_at, state)
     SELECT v.*, 'in_flight' FROM (VALUES %) AS v`,
    ["text", "text", "text", "text", "text", "id", "bigint"],
    writes.records.map(({ id, request: { accountId, call, idempotency, mode } }) => {
      return [accountId, mode, call, idempotency?.key, idempotency?.requestHash, id, now];
    }),
  );
  const resolved = yield* put(
    `WITH v (id, state, posted, resolved_at) AS (VALUES %)
     UPDATE holds SET state = v.state, posted = v.posted, resolved_at = v.resolved_at
     FROM v WHERE holds.id = v.id AND holds.state = 'pending'`,
    ["id", "text", "bigint", "bigint"],
    writes.resolved.map(({ id, posted, state }) => [id, state, posted, now]),
  );
  if (resolved !== writes.resolved.length) {
    throw new LedgerInvariantError(`${writes.resolved.length} holds were to be resolved, ${resolved} were pending`);
  }
  yield* writeEntries(writes.entries, now);
  const replied = yield* put(
    `WITH v (hold_id, status, headers, body, created_at, digest) AS (VALUES %)
     UPDATE idempotency SET state = 'stored', status = v.status, headers = v.headers, body = v.body, created_at = v.created_at,
       digest = v.digest
     FROM v WHERE idempotency.hold_id = v.hold_id AND idempotency.state = 'in_flight'`,
    ["id", "integer", "text", "text", "bigint", "text"],
    writes.replies.map(({ holdId, reply: { body, headers, status } }) => {
      const text = JSON.stringify(headers);
      return [holdId, status, text, body, now, digestOf(status, text, body)];
    }),
  );
  if (replied !== writes.replies.length) throw new LedgerInvariantError("a hold has lost its idempotency record");
  for (const { accountId, balance, held, mode } of writes.money) {
    yield {
      sql: "UPDATE balances SET balance = $1, held = $2 WHERE account_id = $3 AND mode = $4",
      values: [balance, held, accountId, mode],
    };
  }
  for (const { held, origin, spent } of writes.budgets) {
    yield { sql: "UPDATE budgets SET spent = $1, held = $2 WHERE key_id = $3", values: [spent, held, origin] };
  }
}

function* writeEntries(entries: readonly Entry[], now: number): Steps<void> {
  const day = utcDay(now);
  yield* put(
    `INSERT INTO entries (account_id, mode, kind, amount, balance_after, hold_id, refund_of, operation, note, day, created_at,
       actor, price, sold, digest)
     VALUES %`,
    [
      "text",
      "text",
      "text",
      "bigint",
      "bigint",
      "id",
      "id",
      "text",
      "text",
      "text",
      "bigint",
      "text",
      "bigint",
      "bigint",
      "text",
    ],
    entries.map((entry) => {
      const { accountId, actor, amount, balanceAfter, holdId, kind, mode, note, operation, price, refundOf, sold } =
        entry;
      // A charge is told by its hold too; nothing but its digest stands behind the others.
      const digest =
        kind === "charge" ? null : digestOf(accountId, mode, amount, operation, note, now, kind, actor, refundOf);
      const told = [holdId, refundOf, operation, note, day, now, actor, price, sold, digest];
      return [accountId, mode, kind, amount, balanceAfter, ...told];
    }),
  );
  const used = new Map<string, unknown[]>();
  for (const { accountId, amount, kind, mode, sold, used: by } of entries) {
    if (by === null) continue;
    const id = [accountId, mode, by.keyId, by.call].join(" ");
    const sums = used.get(id) ?? [accountId, mode, day, by.keyId, by.call, 0, 0, 0n, 0n];
    const [calls, rows, charged, refunded] = sums.slice(5) as [number, number | null, bigint, bigint];
    const counted =
      kind === "charge"
        ? [calls + 1, rows === null || sold === null ? null : rows + sold, charged - amount, refunded]
        : [calls, rows, charged, refunded + amount];
    used.set(id, [...sums.slice(0, 5), ...counted]);
  }
  yield* put(
    `INSERT INTO usage (account_id, mode, day, key_id, call, calls, sold, charged, refunded) VALUES %
     ON CONFLICT (account_id, mode, day, key_id, call) DO UPDATE SET calls = usage.calls + excluded.calls,
       sold = usage.sold + excluded.sold, charged = usage.charged + excluded.charged, refunded = usage.refunded + excluded.refunded`,
    ["text", "text", "text", "text", "text", "bigint", "bigint", "bigint", "bigint"],
    [...used.values()],
  );
  const acts = entries.filter(({ kind }) => kind !== "charge").map((entry) => actOf(entry));
  for (const act of acts) yield* audit(act, now);
}

/** What the audit says of an entry. */
const actOf = ({ accountId, actor, amount, kind, mode, note, operation, refundOf }: Entry): Acted => ({
  actor,
  action: ACTIONS[kind] ?? kind,
  accountId,
  target: refundOf === null ? accountId : `hold ${refundOf}`,
  detail: { mode, credits: formatCredits(amount), note, ...named(operation) },
});

const named = (operation: string | null) => {
  const reference = referenceOf(operation);
  return reference === null ? {} : { reference };
};

const ACTIONS: Readonly<Record<string, string>> = {
  grant: "credits.add",
  correction: "credits.remove",
  refund: "credits.refund",
};

type Tuples = readonly (readonly unknown[])[];

function* look(sql: string, types: readonly ColumnType[], rows: Tuples): Steps<readonly Row[]> {
  return rows.length === 0 ? [] : (yield { sql, types, rows }).rows;
}

/** @returns how many rows changed */
function* put(sql: string, types: readonly ColumnType[], rows: Tuples): Steps<number> {
  return rows.length === 0 ? 0 : (yield { sql, types, rows }).changed;
}

const placeOf = (row: Row): Place => ({ accountId: row.account_id as string, mode: row.mode as KeyMode });

const timeOf = (value: unknown): number | null => (value === null ? null : Number(value));

const operationOf = (row: Row): Operation => ({
  kind: row.kind as EntryKind,
  amount: credits(row.amount as bigint),
  refundOf: row.refund_of === null ? null : String(row.refund_of),
});

const holdOf = (row: Row): Hold => ({
  id: String(row.id),
  keyId: row.key_id as string,
  accountId: row.account_id as string,
  mode: row.mode as KeyMode,
  call: row.call as string,
  amount: credits(row.amount as bigint),
  state: row.state as HoldState,
  posted: row.posted === null ? null : credits(row.posted as bigint),
  idempotencyKey: row.idempotency_key as string | null,
});

function replyRecord(row: Row, ownerAlive: boolean): ReplyRecord {
  const { body, digest, headers, status } = row as Record<string, string>;
  const stored = row.state === "stored";
  const damaged = stored && digestOf(Number(status), headers ?? "", body ?? "") !== digest;
  const reply = {
    status: Number(status),
    headers: damaged || !stored ? {} : JSON.parse(headers ?? ""),
    body: body ?? "",
  };
  return {
    requestHash: row.request_hash as string,
    holdId: String(row.hold_id),
    createdAt: Number(row.created_at),
    ownerAlive,
    reply: stored ? reply : undefined,
    damaged,
  };
}
