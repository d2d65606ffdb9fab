import { credits, ZERO } from "../../contract/money.ts";
import { utcDay } from "./clock.ts";
import { type ColumnType, type Row, rowsOf, type Steps } from "./database.ts";
import { digestOf } from "./digest.ts";
import type { Instances } from "./instances.ts";
import { type HoldState, type KeyMode, LedgerInvariantError } from "./ledger.ts";
import {
  type Asked,
  assertCovered,
  type Facts,
  type Hold,
  type Money,
  type Place,
  placeKey,
  type ReplyRecord,
  recordKey,
  refundOf,
  type Writes,
} from "./rules.ts";

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
  const [holds, operations] = [new Set<string>(), new Set<string>()];
  const records = new Map<string, readonly string[]>();
  for (const { request, earlier } of group) {
    switch (request.kind) {
      case "hold": {
        const { accountId, call, idempotency, mode } = request.request;
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
      case "grant":
        places.set(placeKey(request.place), request.place);
        if (earlier !== undefined) operations.add(request.operation);
    }
  }
  return { places, holds, operations, records };
}

/** Reads what {@link decide} needs to know of a group, in a few statements however many requests there are. */
export function* readGroup(group: readonly Asked[], { instances, lock, now }: GroupOptions): Steps<Facts> {
  const { holds: holdIds, operations, places, records: keys } = wanted(group);
  const money = lock === undefined ? undefined : yield* readMoney([lock], " FOR UPDATE OF b");
  const records = new Map<string, ReplyRecord>();
  for (const row of yield* look(
    `SELECT r.account_id, r.mode, r.call, r.key, r.request_hash, r.state, r.hold_id, r.created_at, r.status, r.headers, r.body, r.digest,
       ${instances.columns}
     FROM (VALUES %) AS v JOIN idempotency r
       ON r.account_id = v.column1 AND r.mode = v.column2 AND r.call = v.column3 AND r.key = v.column4
     JOIN holds h ON h.id = r.hold_id LEFT JOIN instances i ON i.id = h.owner`,
    ["text", "text", "text", "text"],
    [...keys.values()],
  )) {
    const record = replyRecord(row, instances.isAlive(row, now));
    records.set(recordKey(placeOf(row), row.call as string, row.key as string), record);
    if (record.reply === undefined && !record.ownerAlive) holdIds.add(record.holdId);
  }
  const holds = new Map<string, Hold>();
  for (const row of yield* look(
    `SELECT h.id, h.account_id, h.mode, h.call, h.amount, h.state, h.posted, h.idempotency_key
     FROM (VALUES %) AS v JOIN holds h ON h.id = v.column1`,
    ["id"],
    [...holdIds].map((id) => [id]),
  )) {
    const found = holdOf(row);
    holds.set(found.id, found);
    places.set(placeKey(found), found);
  }
  const done = yield* look(
    "SELECT e.operation FROM (VALUES %) AS v JOIN entries e ON e.operation = v.column1",
    ["text"],
    [...operations].map((operation) => [operation]),
  );
  const numbered = group.some(({ request }) => request.kind === "hold" && request.holdId === undefined);
  const [last] = numbered ? yield* rowsOf("SELECT COALESCE(MAX(id), 0) AS id FROM holds") : [];
  return {
    now,
    money: money ?? (yield* readMoney([...places.values()], "")),
    holds,
    records,
    operations: new Set(done.map((row) => row.operation as string)),
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
      const money = assertCovered({ ...placeOf(row), balance, held, charged: ZERO });
      return [placeKey(money), money];
    }),
  );
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
  const day = utcDay(now);
  yield* put(
    `INSERT INTO entries (account_id, mode, kind, amount, balance_after, hold_id, operation, note, day, created_at, digest)
     VALUES %`,
    ["text", "text", "text", "bigint", "bigint", "id", "text", "text", "text", "bigint", "text"],
    writes.entries.map((entry) => {
      const { accountId, amount, balanceAfter, holdId, kind, mode, note, operation } = entry;
      // A charge is told by its hold too; nothing but its digest stands behind a grant.
      const digest = kind === "grant" ? digestOf(accountId, mode, amount, operation, note, now) : null;
      return [accountId, mode, kind, amount, balanceAfter, holdId, operation, note, day, now, digest];
    }),
  );
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
  yield* put(
    `INSERT INTO usage_days (account_id, mode, day, charged) VALUES %
     ON CONFLICT (account_id, mode, day) DO UPDATE SET charged = usage_days.charged + excluded.charged`,
    ["text", "text", "text", "bigint"],
    writes.money
      .filter(({ charged }) => charged > 0n)
      .map(({ accountId, charged, mode }) => [accountId, mode, day, charged]),
  );
}

type Tuples = readonly (readonly unknown[])[];

function* look(sql: string, types: readonly ColumnType[], rows: Tuples): Steps<readonly Row[]> {
  return rows.length === 0 ? [] : (yield { sql, types, rows }).rows;
}

/** @returns how many rows changed */
function* put(sql: string, types: readonly ColumnType[], rows: Tuples): Steps<number> {
  return rows.length === 0 ? 0 : (yield { sql, types, rows }).changed;
}

const placeOf = (row: Row): Place => ({ accountId: row.account_id as string, mode: row.mode as KeyMode });

const holdOf = (row: Row): Hold => ({
  id: String(row.id),
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
