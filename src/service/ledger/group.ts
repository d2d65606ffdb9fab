import { credits } from "../../shared/contract/money.ts";
import { REPLY_COLUMNS, replyDigest, valuesOf } from "./chain/links.ts";
import { type Row, replyOf, type Steps, statementRows, storedFields, tupled } from "./database.ts";
import {
  type Attempt,
  assertBudget,
  type Capped,
  type Facts,
  type GroupOptions,
  type Hold,
  type KeyFacts,
  type Links,
  type Money,
  type MoneyOperation,
  moneyOf,
  type Outcome,
  type Place,
  type Principal,
  placeIn,
  placeKey,
  type ReplyRecord,
  recordKey,
  refundOf,
} from "./facts.ts";
import { readOwned } from "./marks.ts";
import { decide } from "./rules.ts";
import { writeGroup } from "./writes.ts";

function needsOf(group: readonly Attempt[]) {
  const places = new Map<string, Place>();
  const [holds, operations] = [new Set<string>(), new Set<string>()];
  const [keys, sessions] = [new Set<string>(), new Set<string>()];
  const records = new Map<string, readonly string[]>();
  const marks = new Set<string>();
  for (const { request, earlier } of group) {
    switch (request.kind) {
      case "hold": {
        const { accountId, call, idempotency, keyId, mode, session } = request.request;
        keys.add(keyId);
        if (session !== undefined) sessions.add(session);
        places.set(placeKey(request.request), request.request);
        if (request.holdId !== undefined && earlier !== undefined) holds.add(request.holdId);

        if (idempotency !== undefined) {
          records.set(recordKey(request.request, call, idempotency.key), [
            accountId,
            mode,
            call,
            idempotency.key,
          ]);
        }

        break;
      }
      case "settle":
        holds.add(request.settlement.holdId);
        if (request.settlement.people?.areNew)
          for (const mark of request.settlement.people.marks) marks.add(mark);
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

  return { places, holds, operations, records, keys, sessions, marks };
}

/** One transaction of a group: read under its lock, decided, written. */
export function* moveMoney(
  group: readonly Attempt[],
  options: GroupOptions,
): Steps<readonly Outcome[]> {
  const facts = yield* readGroup(group, options);
  const { outcomes, writes } = decide(facts, group);
  yield* writeGroup(writes, facts.links, options);
  return outcomes;
}

function* readGroup(
  group: readonly Attempt[],
  { instances, lock, now }: GroupOptions,
): Steps<Facts & { readonly links: Links }> {
  const {
    holds: holdIds,
    keys: keyIds,
    marks,
    operations,
    places,
    records: replies,
    sessions,
  } = needsOf(group);

  const links = {
    heads: new Map<string, string>(),
    holds: new Map<string, string>(),
    requests: new Map<string, string>(),
  };
  const money = lock && (yield* readMoney([lock], " FOR UPDATE OF b", links.heads));

  const records = yield* readReplies([...replies.values()], { instances, now });
  for (const { holdId, ownerAlive, reply } of records.values())
    if (reply === undefined && !ownerAlive) holdIds.add(holdId);

  const holds = yield* readHolds([...holdIds], links);
  for (const hold of holds.values()) {
    places.set(placeKey(hold), hold);
    keyIds.add(hold.keyId);
  }

  const { budgets, keys } = yield* readKeys([...keyIds]);
  const entries = yield* rowsOf(
    `SELECT e.operation, e.kind, e.amount, e.refund_of
     FROM (VALUES %) AS v JOIN entries e ON e.operation = v.column1`,
    ["text"],
    [...operations].map((operation) => [operation]),
  );

  return {
    now,
    money: money ?? (yield* readMoney([...places.values()], "", links.heads)),
    links,
    holds,
    records,
    operations: new Map(entries.map((row) => [row.operation as string, operationOf(row)])),
    keys,
    sessions: yield* readSessions([...sessions]),
    owned: yield* readOwned([...marks]),
    budgets,
    refunded: yield* readRefunded(group, [...holds.keys()]),
    nextHoldId: yield* readNextHold(group),
  };
}

/** What is kept of replies, by account, mode, call and key. */
function* readReplies(
  asked: readonly (readonly unknown[])[],
  { instances, now }: Pick<GroupOptions, "instances" | "now">,
): Steps<ReadonlyMap<string, ReplyRecord>> {
  const rows = yield* rowsOf(
    `SELECT r.account_id, r.mode, r.call, r.key, r.request_hash, r.hold_id, r.kept_until, r.status,
      r.headers, r.body, r.digest,
       h.posted, COALESCE(k.origin, h.key_id) AS origin, ${instances.columns}
     FROM (VALUES %) AS v JOIN idempotency r
       ON r.account_id = v.column1 AND r.mode = v.column2 AND r.call = v.column3
       AND r.key = v.column4
     JOIN holds h ON h.id = r.hold_id LEFT JOIN keys k ON k.id = h.key_id
       LEFT JOIN instances i ON i.id = h.owner`,
    ["text", "text", "text", "text"],
    asked,
  );

  return new Map(
    rows.map((row) => [
      recordKey(placeIn(row), row.call as string, row.key as string),
      replyRecord(row, instances.isAlive(row, now)),
    ]),
  );
}

/** Of what was charged for holds, what came back: read where some of it may be about to. */
function* readRefunded(
  group: readonly Attempt[],
  holds: readonly string[],
): Steps<Facts["refunded"]> {
  const isBack = group.some(
    ({ request }) => request.kind === "refund" || (request.kind === "release" && request.refund),
  );
  if (!isBack) return new Map();

  const rows = yield* rowsOf(
    `SELECT e.refund_of, CAST(SUM(e.amount) AS bigint) AS amount
     FROM (VALUES %) AS v JOIN entries e ON e.refund_of = v.column1 GROUP BY e.refund_of`,
    ["id"],
    holds.map((id) => [id]),
  );
  return new Map(rows.map((row) => [String(row.refund_of), credits(row.amount as bigint)]));
}

/** The number of the next hold; read where one of the group has none yet. */
function* readNextHold(group: readonly Attempt[]): Steps<bigint> {
  const isNumbered = group.some(
    ({ request }) => request.kind === "hold" && request.holdId === undefined,
  );
  const [last] = isNumbered
    ? yield* statementRows("SELECT COALESCE(MAX(id), 0) AS id FROM holds")
    : [];
  return ((last?.id ?? 0n) as bigint) + 1n;
}

/** Holds by id; their links, and those of the requests that wait for them, go to `links`. */
function* readHolds(
  ids: readonly string[],
  links: { readonly holds: Map<string, string>; readonly requests: Map<string, string> },
): Steps<Map<string, Hold>> {
  const holds = new Map<string, Hold>();
  for (const row of yield* rowsOf(
    `SELECT h.id, h.account_id, h.mode, h.key_id, h.call, h.amount, h.state, h.posted,
      h.idempotency_key, h.digest
     FROM (VALUES %) AS v JOIN holds h ON h.id = v.column1`,
    ["id"],
    ids.map((id) => [id]),
  )) {
    const hold: Hold = { ...storedFields<Hold>(row, []), id: String(row.id) };
    holds.set(hold.id, hold);
    links.holds.set(hold.id, row.digest as string);
  }

  const keyed = [...holds.values()].filter(
    ({ idempotencyKey, state }) => idempotencyKey !== null && state === "pending",
  );

  for (const row of yield* rowsOf(
    "SELECT r.hold_id, r.request_hash FROM (VALUES %) AS v " +
      "JOIN idempotency r ON r.hold_id = v.column1",
    ["id"],
    keyed.map(({ id }) => [id]),
  )) {
    links.requests.set(String(row.hold_id), row.request_hash as string);
  }

  return holds;
}

function* readMoney(
  places: readonly Place[],
  lock: string,
  heads: Map<string, string>,
): Steps<Map<string, Money>> {
  const rows = yield* rowsOf(
    `SELECT b.account_id, b.mode, b.balance, b.held, b.head
     FROM (VALUES %) AS v JOIN balances b ON b.account_id = v.column1
       AND b.mode = v.column2${lock}`,
    ["text", "text"],
    places.map(({ accountId, mode }) => [accountId, mode]),
  );

  return new Map(
    rows.map((row) => {
      const money = moneyOf(row);
      heads.set(placeKey(money), row.head as string);
      return [placeKey(money), money];
    }),
  );
}

function* readKeys(ids: readonly string[]): Steps<Pick<Facts, "keys" | "budgets">> {
  const rows = yield* rowsOf(
    `SELECT k.id, COALESCE(k.origin, k.id) AS origin, k.revoked_at, k.expires_at, a.suspended_at,
      g.cap, g.spent, g.held
     FROM (VALUES %) AS v JOIN keys k ON k.id = v.column1 JOIN accounts a ON a.id = k.account_id
     LEFT JOIN budgets g ON g.key_id = COALESCE(k.origin, k.id)`,
    ["text"],
    ids.map((id) => [id]),
  );

  const keys = new Map<string, KeyFacts>();
  const budgets = new Map<string, Capped>();
  for (const row of rows) {
    const facts = storedFields<KeyFacts & Capped>(row, ENDS);
    keys.set(row.id as string, facts);
    if (row.cap !== null) budgets.set(facts.origin, assertBudget(facts));
  }

  return { keys, budgets };
}

function* readSessions(ids: readonly string[]): Steps<Facts["sessions"]> {
  const rows = yield* rowsOf(
    `SELECT s.id, s.ended_at AS revoked_at, s.expires_at, a.suspended_at
     FROM (VALUES %) AS v JOIN console_sessions s ON s.id = v.column1
       JOIN accounts a ON a.id = s.account_id`,
    ["text"],
    ids.map((id) => [id]),
  );
  return new Map(rows.map((row) => [row.id as string, storedFields<Principal>(row, ENDS)]));
}

function* rowsOf(...args: Parameters<typeof tupled>): Steps<readonly Row[]> {
  return (yield* tupled(...args)).rows;
}

const ENDS = ["revokedAt", "expiresAt", "suspendedAt"];

const operationOf = (row: Row): MoneyOperation => ({
  ...storedFields<MoneyOperation>(row, []),
  refundOf: row.refund_of === null ? null : String(row.refund_of),
});

function replyRecord(row: Row, ownerAlive: boolean): ReplyRecord {
  const stored = row.status !== null;
  const damaged = stored && replyDigest(valuesOf(row, REPLY_COLUMNS)) !== row.digest;
  return {
    requestHash: row.request_hash as string,
    holdId: String(row.hold_id),
    keptUntil: Number(row.kept_until),
    ownerAlive,
    origin: row.origin as string,
    charged: credits((row.posted ?? 0n) as bigint),
    reply: stored ? replyOf(damaged ? { ...row, headers: "{}" } : row) : undefined,
    damaged,
  };
}
