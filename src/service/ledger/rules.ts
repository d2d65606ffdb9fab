import {
  type Credits,
  credits,
  creditsText,
  formatCredits,
  priceOf,
  ZERO,
} from "../../shared/contract/money.ts";
import {
  HoldResolvedError,
  type HoldState,
  LedgerInvariantError,
  OverchargeError,
  SoldMeanwhileError,
  StoreConflictError,
  UnknownAccountError,
} from "./errors.ts";
import {
  type Adjust,
  type Attempt,
  assertBudget,
  assertCovered,
  type Capped,
  type Entry,
  type Facts,
  type Hold,
  type Money,
  type MoneyRequest,
  type Outcome,
  type Place,
  type Principal,
  placeKey,
  type ReplyRecord,
  recordKey,
  refundOf,
  type Settled,
  type Writes,
} from "./facts.ts";
import {
  type HoldOutcome,
  type HoldRequest,
  type HoldSettlement,
  IDEMPOTENCY_TTL_MS,
  leftOfCap,
} from "./ledger.ts";

/**
 * Nine billion credits: exact as a JSON number
 * (contract/money.ts), far below what 64 bits of millionths hold.
 */
const MAX_BALANCE: Credits = credits(9_000_000_000n * 1_000_000n);

type Mutable<Of> = {
  -readonly [Name in keyof Of]: Of[Name] extends readonly (infer Each)[]
    ? Each[]
    : Of[Name] extends ReadonlyMap<string, infer Value>
      ? Map<string, Value>
      : Of[Name] extends ReadonlySet<infer Member>
        ? Set<Member>
        : Of[Name];
};

/** The facts as the requests before have left them, and what is to be written of it. */
type Draft = Mutable<Facts> & { readonly writes: Mutable<Omit<Writes, "money" | "budgets">> };

/**
 * The one place where money moves. Each request sees what
 * those before it left; one that fails changes nothing.
 */
export function decide(
  facts: Facts,
  group: readonly Attempt[],
): { writes: Writes; outcomes: readonly Outcome[] } {
  const draft: Draft = {
    ...facts,
    money: new Map(facts.money),
    holds: new Map(facts.holds),
    records: new Map(facts.records),
    operations: new Map(facts.operations),
    keys: new Map(facts.keys),
    sessions: new Map(facts.sessions),
    budgets: new Map(facts.budgets),
    refunded: new Map(facts.refunded),
    owned: new Set(facts.owned),
    writes: {
      holds: [],
      resolved: [],
      entries: [],
      forgotten: [],
      owned: [],
      disowned: [],
      records: [],
      replies: [],
    },
  };

  const outcomes = group.map((attempt): Outcome => {
    try {
      return { ok: true, value: decideOne(draft, attempt) };
    } catch (error) {
      return { ok: false, error };
    }
  });

  const writes = {
    ...draft.writes,
    money: changed(facts.money, draft.money),
    budgets: changed(facts.budgets, draft.budgets),
  };
  return { writes, outcomes };
}

const changed = <Value>(
  before: ReadonlyMap<string, Value>,
  after: ReadonlyMap<string, Value>,
): readonly Value[] =>
  [...after].filter(([key, value]) => before.get(key) !== value).map(([, value]) => value);

function decideOne(draft: Draft, { earlier, request }: Attempt): unknown {
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
      else if (request.refund) refundLost(draft, held);
      return moneyOf(draft, held).balance;
    }
    case "adjust":
    case "refund":
      return adjustOnce(draft, request, earlier);
  }
}

function hold(draft: Draft, request: HoldRequest, madeId: string | undefined): HoldOutcome {
  const { amount, call, idempotency } = request;
  const { accountId, mode } = moneyOf(draft, request);
  const keyFacts = draft.keys.get(request.keyId);
  const why = (keyFacts && endOf(keyFacts, draft.now)) ?? endOfSession(draft, request);
  if (why !== undefined) return { kind: "key_ended", why };

  const origin = keyFacts?.origin ?? request.keyId;
  const budget = draft.budgets.get(origin);
  const key = idempotency && recordKey(request, call, idempotency.key);
  const record = key === undefined ? undefined : draft.records.get(key);

  if (key !== undefined && record !== undefined && idempotency !== undefined) {
    const answered = replay(draft, key, record, idempotency.requestHash);
    // A reply that another key paid for is worth what this one would pay for it.
    const isForeign = answered?.kind === "replay" && record.origin !== origin;
    if (isForeign && budget !== undefined && leftOfCap(budget) < amount) return overCap(budget);
    if (answered !== undefined) return answered;
  }

  const money = moneyOf(draft, request);
  const { balance } = money;
  const free = balance - money.held;
  const remainder = budget === undefined ? free : leftOfCap(budget);
  if (budget !== undefined && remainder < amount && remainder <= free) return overCap(budget);
  if (free < amount) return { kind: "insufficient", balance, held: money.held };

  const held = credits(money.held + amount);
  move(draft, { accountId, mode, balance, held }, used(budget, { held: amount }));

  const id = madeId ?? (draft.nextHoldId++).toString();
  const idempotencyKey = idempotency?.key ?? null;
  const { keyId } = request;

  draft.holds.set(id, {
    id,
    accountId,
    mode,
    keyId,
    call,
    amount,
    state: "pending",
    posted: null,
    idempotencyKey,
  });
  draft.writes.holds.push({ id, request });

  if (key !== undefined && idempotency !== undefined) {
    const { requestHash } = idempotency;
    draft.records.set(key, {
      requestHash,
      holdId: id,
      keptUntil: draft.now + IDEMPOTENCY_TTL_MS,
      ownerAlive: true,
      origin,
      charged: ZERO,
      reply: undefined,
      damaged: false,
    });
    draft.writes.records.push({ id, request });
  }

  return { kind: "held", holdId: id, balance, held };
}

const overCap = ({ cap, held, spent }: Capped): HoldOutcome => ({
  kind: "over_cap",
  cap,
  spent,
  held,
});

function endOf({ expiresAt, revokedAt, suspendedAt }: Principal, now: number) {
  if (revokedAt !== null) return "revoked";
  if (expiresAt !== null && expiresAt <= now) return "expired";
  return suspendedAt === null ? undefined : "suspended";
}

function endOfSession({ now, sessions }: Draft, { session }: HoldRequest) {
  if (session === undefined) return undefined;
  const row = sessions.get(session);
  const why = row === undefined ? "revoked" : endOf(row, now);
  return why === "revoked" || why === "expired" ? "signed_out" : why;
}

function replay(
  draft: Draft,
  key: string,
  record: ReplyRecord,
  requestHash: string,
): HoldOutcome | undefined {
  if (record.reply === undefined && !record.ownerAlive) {
    // Its process died before it answered: nothing was charged.
    const dead = draft.holds.get(record.holdId);
    if (dead?.state === "pending") giveBack(draft, dead, "expired");
    return undefined;
  }

  if (record.reply !== undefined && draft.now >= record.keptUntil) {
    forget(draft, key, record.holdId);
    return undefined;
  }
  if (record.requestHash !== requestHash) return { kind: "mismatch" };
  if (record.damaged)
    throw new LedgerInvariantError(`the stored reply of hold ${record.holdId} is damaged`);

  return record.reply === undefined
    ? { kind: "in_flight" }
    : { kind: "replay", reply: record.reply, charged: record.charged };
}

function settle(
  draft: Draft,
  held: Hold,
  { amount, holdId, keptUntil, people, reply, sold }: HoldSettlement,
): Settled {
  if (held.state !== "pending") throw new HoldResolvedError(holdId, held.state);
  if (amount < 0n) throw new RangeError(`a charge cannot be negative: ${formatCredits(amount)}`);
  if (amount > held.amount) throw new OverchargeError(holdId, amount, held.amount);
  if (sold !== undefined && priceOf(sold.rows, sold.price) !== amount) {
    throw new LedgerInvariantError(
      `${sold.rows} rows at ${sold.price} millionths are not ${amount}`,
    );
  }

  if (people?.areNew && people.marks.some((mark) => draft.owned.has(mark)))
    throw new SoldMeanwhileError();

  const { accountId, call, idempotencyKey, keyId, mode } = held;
  const money = moneyOf(draft, held);
  const balance = credits(money.balance - amount);
  // Before anything is changed: a reply that cannot be built charges nothing.
  const answer = reply(balance);
  const budget = used(budgetOf(draft, held), { held: credits(-held.amount), spent: amount });
  move(draft, { accountId, mode, balance, held: credits(money.held - held.amount) }, budget);
  resolve(draft, held, "posted", amount);

  if (amount > 0n) {
    // In one literal, here and below: an object made
    // by spreading others costs a charge microseconds.
    draft.writes.entries.push({
      accountId,
      mode,
      kind: "charge",
      amount: credits(-amount),
      balanceAfter: balance,
      actor: keyId,
      holdId,
      refundOf: null,
      operation: null,
      note: call,
      price: sold?.price ?? null,
      sold: sold?.rows ?? null,
      used: { keyId, call },
    });
  }

  for (const mark of people?.marks ?? []) {
    draft.owned.add(mark);
    draft.writes.owned.push({ mark, holdId });
  }

  if (idempotencyKey !== null) {
    const until = keptUntil ?? draft.now + IDEMPOTENCY_TTL_MS;
    draft.writes.replies.push({ holdId, reply: answer, keptUntil: until });
    const key = recordKey(held, call, idempotencyKey);
    const record = draft.records.get(key);
    if (record !== undefined)
      draft.records.set(key, { ...record, reply: answer, charged: amount, keptUntil: until });
  }

  return { reply: answer, balance };
}

function giveBack(draft: Draft, held: Hold, state: "voided" | "expired"): void {
  const money = moneyOf(draft, held);
  const budget = used(budgetOf(draft, held), { held: credits(-held.amount) });
  move(draft, { ...money, held: credits(money.held - held.amount) }, budget);
  resolve(draft, held, state, null);
  if (held.idempotencyKey !== null)
    forget(draft, recordKey(held, held.call, held.idempotencyKey), held.id);
}

/**
 * Once per hold, by the name of the operation. With
 * an idempotency key the retry gets the stored reply.
 */
function refundLost(draft: Draft, held: Hold): void {
  const operation = refundOf(held.id);
  const remainder = unrefunded(draft, held);
  if (held.state !== "posted" || held.idempotencyKey !== null || remainder === 0n) return;
  if (draft.operations.has(operation)) return;
  draft.writes.disowned.push(held.id);
  refund(draft, held, {
    operation,
    amount: remainder,
    note: `hold ${held.id}: its answer was lost`,
    actor: "service",
  });
}

type Adjustable = Extract<MoneyRequest, { readonly kind: "adjust" | "refund" }>;

/**
 * What an operator asks for. Its name makes a second
 * one nothing, and another one under it an error.
 */
function adjustOnce(draft: Draft, request: Adjustable, earlier: unknown): unknown {
  const place = request.kind === "adjust" ? request.place : holdOf(draft, request.holdId);
  const entry = draft.operations.get(request.operation);
  if (entry !== undefined) {
    if (earlier !== undefined) return earlier;

    const same =
      request.kind === "adjust"
        ? entry.kind === request.entry &&
          (entry.amount === request.amount || entry.amount === -request.amount)
        : entry.refundOf === request.holdId &&
          (request.amount === undefined || entry.amount === request.amount);
    if (!same) {
      const what = `${entry.kind} of ${creditsText(entry.amount)}`;
      throw new StoreConflictError(
        `this reference was used before, for a ${what}: nothing was done`,
      );
    }
  } else if (request.kind === "refund") refundCharge(draft, holdOf(draft, request.holdId), request);
  else adjust(draft, request);

  const { balance, held } = moneyOf(draft, place);
  return { balance, held, repeated: entry !== undefined };
}

function adjust(draft: Draft, { actor, amount, entry, note, operation, place }: Adjust): void {
  const { balance, held } = moneyOf(draft, place);
  const signed = entry === "grant" ? amount : credits(-amount);
  if (balance - held + signed < 0n) {
    const free = formatCredits(credits(balance - held));
    throw new RangeError(
      `${creditsText(amount)} cannot be removed: ` +
        `${free} are free of a balance of ${formatCredits(balance)}`,
    );
  }

  enter(draft, place, {
    kind: entry,
    amount: signed,
    operation,
    note,
    actor,
    refundOf: null,
    used: null,
  });
}

const unrefunded = (draft: Draft, { id, posted }: Hold): Credits =>
  credits((posted ?? ZERO) - (draft.refunded.get(id) ?? ZERO));

type Refund = Extract<MoneyRequest, { readonly kind: "refund" }>;

function refundCharge(
  draft: Draft,
  held: Hold,
  { amount, ...rest }: Omit<Refund, "kind" | "holdId">,
): void {
  const remainder = unrefunded(draft, held);
  const back = amount ?? remainder;
  if (back <= 0n || back > remainder) {
    const charged = creditsText(held.posted ?? ZERO);
    if (remainder === ZERO)
      throw new RangeError(`all of this charge (${charged}) was refunded before`);
    throw new RangeError(
      `${creditsText(back)} cannot be refunded: ${formatCredits(remainder)} of ${charged} are left`,
    );
  }

  refund(draft, held, { ...rest, amount: back });
}

function refund(
  draft: Draft,
  held: Hold,
  init: Pick<Entry, "operation" | "amount" | "note" | "actor">,
): void {
  const { call, id, keyId } = held;
  const budget = used(budgetOf(draft, held), { spent: credits(-init.amount) });
  enter(draft, held, { ...init, kind: "refund", refundOf: id, used: { keyId, call } }, budget);
  draft.refunded.set(id, credits((draft.refunded.get(id) ?? ZERO) + init.amount));
}

type Entered = Pick<
  Entry,
  "kind" | "operation" | "amount" | "note" | "actor" | "refundOf" | "used"
>;

function enter(draft: Draft, place: Place, init: Entered, budget?: Capped): void {
  const { amount, kind, operation, refundOf: refunded } = init;
  const { accountId, balance: before, held, mode } = moneyOf(draft, place);
  const balance = credits(before + amount);
  if (balance > MAX_BALANCE)
    throw new RangeError(`a balance cannot exceed ${formatCredits(MAX_BALANCE)} credits`);

  move(draft, { accountId, mode, balance, held }, budget);
  draft.writes.entries.push({
    ...init,
    accountId,
    mode,
    balanceAfter: balance,
    holdId: null,
    price: null,
    sold: null,
  });
  if (operation !== null) draft.operations.set(operation, { kind, amount, refundOf: refunded });
}

const budgetOf = (draft: Draft, { keyId }: Hold): Capped | undefined =>
  draft.budgets.get(draft.keys.get(keyId)?.origin ?? "");

function used(
  budget: Capped | undefined,
  by: { readonly held?: Credits; readonly spent?: Credits },
): Capped | undefined {
  if (budget === undefined) return undefined;
  const { cap, held, origin, spent } = budget;
  return {
    origin,
    cap,
    spent: credits(spent + (by.spent ?? ZERO)),
    held: credits(held + (by.held ?? ZERO)),
  };
}

function resolve(draft: Draft, held: Hold, state: HoldState, posted: Credits | null): void {
  const { accountId, amount, call, id, idempotencyKey, keyId, mode } = held;
  draft.holds.set(id, { id, accountId, mode, keyId, call, amount, state, posted, idempotencyKey });
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

/** Both are looked at before either is set: what is refused changes nothing. */
function move(draft: Draft, money: Money, budget: Capped | undefined): void {
  assertCovered(money);
  if (budget !== undefined) draft.budgets.set(budget.origin, assertBudget(budget));
  draft.money.set(placeKey(money), money);
}
