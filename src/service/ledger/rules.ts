import { type Credits, credits, formatCredits, ZERO } from "../../contract/money.ts";
import {
  type HoldOutcome,
  type HoldRequest,
  HoldResolvedError,
  type HoldState,
  IDEMPOTENCY_TTL_MS,
  type KeyMode,
  LedgerInvariantError,
  OverchargeError,
  type Settlement,
  type StoredReply,
  UnknownAccountError,
} from "./ledger.ts";

/** Nine billion credits: exact as a JSON number (contract/money.ts), far below what 64 bits of millionths hold. */
const MAX_BALANCE: Credits = credits(9_000_000_000n * 1_000_000n);

/** Whose money: live and test credits of an account never meet. */
export interface Place {
  readonly accountId: string;
  readonly mode: KeyMode;
}

export type MoneyRequest =
  | { readonly kind: "hold"; readonly holdId?: string; readonly request: HoldRequest }
  | { readonly kind: "settle"; readonly settlement: Settlement }
  | {
      readonly kind: "release";
      readonly holdId: string;
      readonly state: "voided" | "expired";
      /** The settlement of this hold was reported as failed although its commit may stand: then the charge goes back. */
      readonly refund: boolean;
    }
  | {
      readonly kind: "grant";
      readonly place: Place;
      /** Names this grant and no other, so that a repeated one is recognised. */
      readonly operation: string;
      readonly amount: Credits;
      readonly note: string;
    };

export interface Asked {
  readonly request: MoneyRequest;
  /** What an earlier attempt, whose commit got no answer, would have returned. */
  readonly earlier?: unknown;
}

export interface Money extends Place {
  readonly balance: Credits;
  readonly held: Credits;
  readonly charged: Credits;
}

export interface Hold extends Place {
  readonly id: string;
  readonly call: string;
  readonly amount: Credits;
  readonly state: HoldState;
  readonly posted: Credits | null;
  readonly idempotencyKey: string | null;
}

export interface ReplyRecord {
  readonly requestHash: string;
  readonly holdId: string;
  readonly createdAt: number;
  readonly ownerAlive: boolean;
  /** Undefined: in flight. */
  readonly reply: StoredReply | undefined;
  readonly damaged: boolean;
}

/** All that a group needs to know, read under the lock under which its changes are written. */
export interface Facts {
  readonly now: number;
  readonly money: ReadonlyMap<string, Money>;
  readonly holds: ReadonlyMap<string, Hold>;
  readonly records: ReadonlyMap<string, ReplyRecord>;
  readonly operations: ReadonlySet<string>;
  readonly nextHoldId: bigint;
}

export interface Entry extends Place {
  readonly kind: "grant" | "charge";
  readonly amount: Credits;
  readonly balanceAfter: Credits;
  readonly holdId: string | null;
  readonly operation: string | null;
  readonly note: string;
}

export interface Writes {
  readonly holds: readonly { readonly id: string; readonly request: HoldRequest }[];
  readonly resolved: readonly { readonly id: string; readonly state: HoldState; readonly posted: Credits | null }[];
  readonly entries: readonly Entry[];
  /** Holds whose idempotency record goes. Done before `records` are added. */
  readonly forgotten: readonly string[];
  readonly records: readonly { readonly id: string; readonly request: HoldRequest }[];
  readonly replies: readonly { readonly holdId: string; readonly reply: StoredReply }[];
  readonly money: readonly Money[];
}

export type Outcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

export interface Settled {
  readonly reply: StoredReply;
  readonly balance: Credits;
}

export const placeKey = ({ accountId, mode }: Place): string => `${mode} ${accountId}`;
export const recordKey = (place: Place, call: string, key: string): string => `${placeKey(place)} ${call} ${key}`;
export const refundOf = (holdId: string): string => `refund ${holdId}`;

type Mutable<Lists> = { -readonly [Name in keyof Lists]: Lists[Name] extends readonly (infer Each)[] ? Each[] : never };

/** The facts as the requests so far have left them. */
interface Draft {
  readonly now: number;
  readonly money: Map<string, Money>;
  readonly holds: Map<string, Hold>;
  readonly records: Map<string, ReplyRecord>;
  readonly operations: ReadonlySet<string>;
  nextHoldId: bigint;
  readonly writes: Mutable<Omit<Writes, "money">>;
}

/** The one place where money moves. Each request sees what those before it left; one that fails changes nothing. Pure but for `reply`. */
export function decide(facts: Facts, group: readonly Asked[]): { writes: Writes; outcomes: readonly Outcome[] } {
  const draft: Draft = {
    ...facts,
    money: new Map(facts.money),
    holds: new Map(facts.holds),
    records: new Map(facts.records),
    writes: { holds: [], resolved: [], entries: [], forgotten: [], records: [], replies: [] },
  };
  const outcomes = group.map((asked): Outcome => {
    try {
      return { ok: true, value: decideOne(draft, asked) };
    } catch (error) {
      return { ok: false, error };
    }
  });
  const money = [...draft.money].filter(([key, after]) => facts.money.get(key) !== after).map(([, after]) => after);
  return { writes: { ...draft.writes, money }, outcomes };
}

function decideOne(draft: Draft, { earlier, request }: Asked): unknown {
  switch (request.kind) {
    case "hold":
      // Only an attempt whose commit went through without an answer leaves its hold behind.
      if (request.holdId !== undefined && draft.holds.has(request.holdId)) return earlier;
      return hold(draft, request.request, request.holdId);
    case "settle": {
      const held = holdOf(draft, request.settlement.holdId);
      if (held.state === "posted" && earlier !== undefined) return earlier;
      return settle(draft, held, request.settlement);
    }
    case "release": {
      const held = holdOf(draft, request.holdId);
      if (held.state === "pending") giveBack(draft, held, request.state);
      else if (request.refund) refund(draft, held);
      return moneyOf(draft, held).balance;
    }
    case "grant": {
      if (draft.operations.has(request.operation)) return earlier;
      const { balance, held } = grant(draft, request.place, request);
      return { balance, held };
    }
  }
}

function hold(draft: Draft, request: HoldRequest, madeId: string | undefined): HoldOutcome {
  const { amount, call, idempotency } = request;
  const { accountId, mode } = moneyOf(draft, request);
  const key = idempotency === undefined ? undefined : recordKey(request, call, idempotency.key);
  const record = key === undefined ? undefined : draft.records.get(key);
  if (key !== undefined && record !== undefined && idempotency !== undefined) {
    const known = replay(draft, key, record, idempotency.requestHash);
    if (known !== undefined) return known;
  }
  const money = moneyOf(draft, request);
  const { balance } = money;
  if (balance - money.held < amount) return { kind: "insufficient", balance, held: money.held };
  const held = credits(money.held + amount);
  setMoney(draft, { accountId, mode, balance, held, charged: money.charged });
  const id = madeId ?? (draft.nextHoldId++).toString();
  const idempotencyKey = idempotency?.key ?? null;
  draft.holds.set(id, { id, accountId, mode, call, amount, state: "pending", posted: null, idempotencyKey });
  draft.writes.holds.push({ id, request });
  if (key !== undefined && idempotency !== undefined) {
    const { requestHash } = idempotency;
    draft.records.set(key, {
      requestHash,
      holdId: id,
      createdAt: draft.now,
      ownerAlive: true,
      reply: undefined,
      damaged: false,
    });
    draft.writes.records.push({ id, request });
  }
  return { kind: "held", holdId: id, balance, held };
}

/** What an idempotency key is answered with; undefined where it is free again. */
function replay(draft: Draft, key: string, record: ReplyRecord, requestHash: string): HoldOutcome | undefined {
  if (record.reply === undefined && !record.ownerAlive) {
    // Its process died before it answered: nothing was charged.
    const dead = draft.holds.get(record.holdId);
    if (dead?.state === "pending") giveBack(draft, dead, "expired");
    return undefined;
  }
  if (record.reply !== undefined && draft.now - record.createdAt >= IDEMPOTENCY_TTL_MS) {
    forget(draft, key, record.holdId);
    return undefined;
  }
  if (record.requestHash !== requestHash) return { kind: "mismatch" };
  if (record.damaged) throw new LedgerInvariantError(`the stored reply of hold ${record.holdId} is damaged`);
  return record.reply === undefined ? { kind: "in_flight" } : { kind: "replay", reply: record.reply };
}

function settle(draft: Draft, held: Hold, { amount, holdId, reply }: Settlement): Settled {
  if (held.state !== "pending") throw new HoldResolvedError(holdId, held.state);
  if (amount < 0n) throw new RangeError(`a charge cannot be negative: ${formatCredits(amount)}`);
  if (amount > held.amount) throw new OverchargeError(holdId, amount, held.amount);
  const { accountId, call, idempotencyKey, mode } = held;
  const money = moneyOf(draft, held);
  const balance = credits(money.balance - amount);
  // Before anything is changed: a reply that cannot be built charges nothing.
  const answer = reply(balance);
  const charged = credits(money.charged + amount);
  setMoney(draft, { accountId, mode, balance, held: credits(money.held - held.amount), charged });
  resolve(draft, held, "posted", amount);
  if (amount > 0n) {
    const charge = credits(-amount);
    enter(draft, {
      accountId,
      mode,
      kind: "charge",
      amount: charge,
      balanceAfter: balance,
      holdId,
      operation: null,
      note: call,
    });
  }
  if (idempotencyKey !== null) {
    draft.writes.replies.push({ holdId, reply: answer });
    const key = recordKey(held, call, idempotencyKey);
    const record = draft.records.get(key);
    if (record !== undefined) draft.records.set(key, { ...record, reply: answer, createdAt: draft.now });
  }
  return { reply: answer, balance };
}

function giveBack(draft: Draft, held: Hold, state: "voided" | "expired"): void {
  const money = moneyOf(draft, held);
  setMoney(draft, { ...money, held: credits(money.held - held.amount) });
  resolve(draft, held, state, null);
  if (held.idempotencyKey !== null) forget(draft, recordKey(held, held.call, held.idempotencyKey), held.id);
}

/** Once per hold, by the name of the operation. With an idempotency key there is no need: the retry gets the stored reply. */
function refund(draft: Draft, held: Hold): void {
  const operation = refundOf(held.id);
  const amount = held.posted ?? ZERO;
  if (held.state !== "posted" || held.idempotencyKey !== null || amount === 0n) return;
  if (draft.operations.has(operation)) return;
  grant(draft, held, { operation, amount, note: `refund of hold ${held.id}, whose answer was lost` });
}

function grant(draft: Draft, place: Place, init: Pick<Entry, "operation" | "amount" | "note">): Money {
  const { amount, note, operation } = init;
  const { accountId, balance: before, charged, held, mode } = moneyOf(draft, place);
  const balance = credits(before + amount);
  if (balance > MAX_BALANCE) throw new RangeError(`a balance cannot exceed ${formatCredits(MAX_BALANCE)} credits`);
  const after = setMoney(draft, { accountId, mode, balance, held, charged });
  enter(draft, { accountId, mode, kind: "grant", amount, balanceAfter: balance, holdId: null, operation, note });
  return after;
}

function enter(draft: Draft, entry: Entry): void {
  draft.writes.entries.push(entry);
}

function resolve(draft: Draft, held: Hold, state: HoldState, posted: Credits | null): void {
  const { accountId, amount, call, id, idempotencyKey, mode } = held;
  draft.holds.set(id, { id, accountId, mode, call, amount, state, posted, idempotencyKey });
  draft.writes.resolved.push({ id: held.id, state, posted });
}

function forget(draft: Draft, key: string, holdId: string): void {
  draft.records.delete(key);
  draft.writes.forgotten.push(holdId);
}

function holdOf(draft: Draft, id: string): Hold {
  const held = draft.holds.get(id);
  if (held === undefined) throw new HoldResolvedError(id, "unknown");
  return held;
}

function moneyOf(draft: Draft, place: Place): Money {
  const money = draft.money.get(placeKey(place));
  if (money === undefined) throw new UnknownAccountError(place.accountId);
  return money;
}

function setMoney(draft: Draft, money: Money): Money {
  draft.money.set(placeKey(money), assertCovered(money));
  return money;
}

/** I2, asserted on every figure that enters or leaves the ledger, besides the constraint in the schema. */
export function assertCovered<Figures extends Omit<Money, "charged">>(money: Figures): Figures {
  const { accountId, balance, held, mode } = money;
  if (held >= 0n && held <= balance) return money;
  throw new LedgerInvariantError(`${accountId} (${mode}) would hold ${held} of ${balance} millionths`);
}
