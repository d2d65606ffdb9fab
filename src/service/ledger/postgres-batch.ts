import { type Credits, credits, formatCredits } from "../../contract/money.ts";
import {
  type HoldOutcome,
  type HoldRequest,
  HoldResolvedError,
  IDEMPOTENCY_TTL_MS,
  type KeyMode,
  LedgerInvariantError,
  OverchargeError,
  type Settlement,
  type StoredReply,
} from "./ledger.ts";
import type { HoldState } from "./rows.ts";
import { MAX_BALANCE } from "./values.ts";

/** What a request wants of one account's money. Ids are made before the first attempt, so that a repeated one is recognised. */
export type MoneyRequest =
  | { readonly kind: "hold"; readonly holdId: string; readonly request: HoldRequest }
  | { readonly kind: "settle"; readonly settlement: Settlement }
  | {
      readonly kind: "release";
      readonly holdId: string;
      readonly state: "voided" | "expired";
      /** The settlement of this hold was reported as failed although its commit may stand: then the charge goes back. */
      readonly refund: boolean;
    }
  | { readonly kind: "grant"; readonly operation: string; readonly amount: Credits; readonly note: string };

export interface MoneyJob {
  readonly request: MoneyRequest;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
  /** What an attempt whose commit got no answer would have returned. */
  doubtful?: unknown;
}

export interface HoldRow {
  readonly id: string;
  readonly call: string;
  readonly amount: Credits;
  readonly state: HoldState;
  readonly posted: Credits | null;
  readonly idempotencyKey: string | null;
}

export interface IdempotencyRow {
  readonly call: string;
  readonly key: string;
  readonly requestHash: string;
  readonly state: "in_flight" | "stored";
  readonly holdId: string;
  readonly createdAt: number;
  readonly ownerAlive: boolean;
  readonly reply: StoredReply | undefined;
}

/** One account's money and what a group of requests needs to know, read under the lock of the account's row. */
export interface Snapshot {
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly now: number;
  balance: Credits;
  held: Credits;
  readonly holds: Map<string, HoldRow>;
  /** By {@link recordKey}. */
  readonly records: Map<string, IdempotencyRow>;
  /** Operations that an earlier attempt of this group committed. */
  readonly operations: ReadonlySet<string>;
}

export interface Entry {
  readonly kind: "grant" | "charge";
  readonly amount: Credits;
  readonly balanceAfter: Credits;
  readonly holdId: string | null;
  readonly operation: string | null;
  readonly note: string;
}

/** What a group of requests changes, to be written in a few statements however many requests there are. */
export interface Writes {
  readonly holds: { readonly id: string; readonly request: HoldRequest }[];
  readonly resolved: { readonly id: string; readonly state: HoldRow["state"]; readonly posted: Credits | null }[];
  readonly entries: Entry[];
  /** Holds whose idempotency record goes. Done before `records` are added. */
  readonly forgotten: string[];
  readonly records: { readonly id: string; readonly request: HoldRequest }[];
  readonly replies: { readonly holdId: string; readonly reply: StoredReply }[];
  charged: Credits;
}

export type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

export const recordKey = (call: string, key: string): string => `${call} ${key}`;

/**
 * Decides a group of requests against one account, one after the other, in memory: the same rules as the SQLite store has in its
 * statements. A request that fails changes nothing and leaves its neighbours alone.
 */
export function decide(snapshot: Snapshot, jobs: readonly MoneyJob[]): { writes: Writes; outcomes: Outcome[] } {
  const writes: Writes = {
    holds: [],
    resolved: [],
    entries: [],
    forgotten: [],
    records: [],
    replies: [],
    charged: credits(0n),
  };
  const outcomes = jobs.map((job): Outcome => {
    try {
      return { ok: true, value: decideOne(snapshot, writes, job) };
    } catch (error) {
      return { ok: false, error };
    }
  });
  return { writes, outcomes };
}

function decideOne(snapshot: Snapshot, writes: Writes, job: MoneyJob): unknown {
  const { request } = job;
  switch (request.kind) {
    case "hold":
      // Only an attempt whose commit went through without an answer leaves its hold behind.
      if (snapshot.holds.has(request.holdId)) return job.doubtful;
      return decideHold(snapshot, writes, request.holdId, request.request);
    case "settle": {
      const hold = snapshot.holds.get(request.settlement.holdId);
      if (hold?.state === "posted" && job.doubtful !== undefined) return job.doubtful;
      return decideSettle(snapshot, writes, hold, request.settlement);
    }
    case "release": {
      const hold = snapshot.holds.get(request.holdId);
      if (hold === undefined) throw new HoldResolvedError(request.holdId, "unknown");
      if (hold.state === "pending") giveBack(snapshot, writes, hold, request.state);
      else if (request.refund) refund(snapshot, writes, hold);
      return snapshot.balance;
    }
    case "grant": {
      if (snapshot.operations.has(request.operation)) return job.doubtful;
      const balance = credits(snapshot.balance + request.amount);
      if (balance > MAX_BALANCE) throw new RangeError(`a balance cannot exceed ${formatCredits(MAX_BALANCE)} credits`);
      setMoney(snapshot, balance, snapshot.held);
      const { amount, operation, note } = request;
      writes.entries.push({ kind: "grant", amount, balanceAfter: balance, holdId: null, operation, note });
      return undefined;
    }
  }
}

function decideHold(snapshot: Snapshot, writes: Writes, holdId: string, request: HoldRequest): HoldOutcome {
  const { idempotency, call, amount } = request;
  if (idempotency !== undefined) {
    const record = snapshot.records.get(recordKey(call, idempotency.key));
    const known = record === undefined ? undefined : decideRecord(snapshot, writes, record, idempotency.requestHash);
    if (known !== undefined) return known;
  }
  const { balance } = snapshot;
  if (balance - snapshot.held < amount) return { kind: "insufficient", balance, held: snapshot.held };
  setMoney(snapshot, balance, credits(snapshot.held + amount));
  writes.holds.push({ id: holdId, request });
  const idempotencyKey = idempotency?.key ?? null;
  snapshot.holds.set(holdId, { id: holdId, call, amount, state: "pending", posted: null, idempotencyKey });
  if (idempotency !== undefined) {
    writes.records.push({ id: holdId, request });
    snapshot.records.set(recordKey(call, idempotency.key), {
      call,
      ...idempotency,
      state: "in_flight",
      holdId,
      createdAt: snapshot.now,
      ownerAlive: true,
      reply: undefined,
    });
  }
  return { kind: "held", holdId, balance, held: snapshot.held };
}

/** What an idempotency record stands for; undefined where its key is free again. */
function decideRecord(
  snapshot: Snapshot,
  writes: Writes,
  record: IdempotencyRow,
  requestHash: string,
): HoldOutcome | undefined {
  if (record.state === "in_flight" && !record.ownerAlive) {
    // Its process died before it answered: nothing was charged.
    const hold = snapshot.holds.get(record.holdId);
    if (hold?.state === "pending") giveBack(snapshot, writes, hold, "expired");
    return undefined;
  }
  if (record.state === "stored" && snapshot.now - record.createdAt >= IDEMPOTENCY_TTL_MS) {
    forget(snapshot, writes, record);
    return undefined;
  }
  if (record.requestHash !== requestHash) return { kind: "mismatch" };
  return record.reply === undefined ? { kind: "in_flight" } : { kind: "replay", reply: record.reply };
}

function decideSettle(
  snapshot: Snapshot,
  writes: Writes,
  hold: HoldRow | undefined,
  { holdId, amount, reply }: Settlement,
): { readonly reply: StoredReply; readonly balance: Credits } {
  if (hold === undefined) throw new HoldResolvedError(holdId, "unknown");
  if (hold.state !== "pending") throw new HoldResolvedError(holdId, hold.state);
  if (amount < 0n) throw new RangeError(`a charge cannot be negative: ${formatCredits(amount)}`);
  if (amount > hold.amount) throw new OverchargeError(holdId, amount, hold.amount);
  const balance = credits(snapshot.balance - amount);
  // Before anything is changed: a reply that cannot be built charges nothing.
  const answer = reply(balance);
  setMoney(snapshot, balance, credits(snapshot.held - hold.amount));
  writes.charged = credits(writes.charged + amount);
  writes.resolved.push({ id: holdId, state: "posted", posted: amount });
  snapshot.holds.set(holdId, { ...hold, state: "posted", posted: amount });
  if (amount > 0n) {
    const charge = credits(-amount);
    writes.entries.push({
      kind: "charge",
      amount: charge,
      balanceAfter: balance,
      holdId,
      operation: null,
      note: hold.call,
    });
  }
  if (hold.idempotencyKey !== null) {
    writes.replies.push({ holdId, reply: answer });
    const key = recordKey(hold.call, hold.idempotencyKey);
    const record = snapshot.records.get(key);
    if (record !== undefined) {
      snapshot.records.set(key, { ...record, state: "stored", reply: answer, createdAt: snapshot.now });
    }
  }
  return { reply: answer, balance };
}

function giveBack(snapshot: Snapshot, writes: Writes, hold: HoldRow, state: "voided" | "expired"): void {
  setMoney(snapshot, snapshot.balance, credits(snapshot.held - hold.amount));
  writes.resolved.push({ id: hold.id, state, posted: null });
  snapshot.holds.set(hold.id, { ...hold, state });
  if (hold.idempotencyKey === null) return;
  forget(snapshot, writes, { call: hold.call, key: hold.idempotencyKey, holdId: hold.id });
}

/** Once per hold, by the name of the operation. With an idempotency key there is no need: the retry gets the stored reply. */
function refund(snapshot: Snapshot, writes: Writes, hold: HoldRow): void {
  const operation = refundOf(hold.id);
  const amount = hold.posted ?? credits(0n);
  if (hold.state !== "posted" || hold.idempotencyKey !== null || amount === 0n) return;
  if (snapshot.operations.has(operation)) return;
  const balance = credits(snapshot.balance + amount);
  setMoney(snapshot, balance, snapshot.held);
  const note = `refund of hold ${hold.id}, whose answer was lost`;
  writes.entries.push({ kind: "grant", amount, balanceAfter: balance, holdId: null, operation, note });
}

export const refundOf = (holdId: string): string => `refund ${holdId}`;

function forget(snapshot: Snapshot, writes: Writes, record: Pick<IdempotencyRow, "call" | "key" | "holdId">): void {
  writes.forgotten.push(record.holdId);
  snapshot.records.delete(recordKey(record.call, record.key));
}

/** I2, asserted before anything is written, besides the constraint in the schema. */
function setMoney(snapshot: Snapshot, balance: Credits, held: Credits): void {
  if (held < 0n || held > balance) {
    throw new LedgerInvariantError(
      `${snapshot.accountId} (${snapshot.mode}) would hold ${held} of ${balance} millionths`,
    );
  }
  snapshot.balance = balance;
  snapshot.held = held;
}
