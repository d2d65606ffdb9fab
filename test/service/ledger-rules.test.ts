import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  HoldResolvedError,
  LedgerInvariantError,
  OverchargeError,
  SoldMeanwhileError,
  StoreConflictError,
  UnknownAccountError,
} from "../../src/service/ledger/errors.ts";
import {
  type Attempt,
  type Capped,
  type Facts,
  type Hold,
  type KeyFacts,
  type Money,
  type MoneyOperation,
  type MoneyRequest,
  type Outcome,
  type Principal,
  placeKey,
  type ReplyRecord,
  recordKey,
  type Writes,
} from "../../src/service/ledger/facts.ts";
import {
  type HoldRequest,
  IDEMPOTENCY_TTL_MS,
  type StoredReply,
} from "../../src/service/ledger/ledger.ts";
import { decide } from "../../src/service/ledger/rules.ts";
import { type Credits, credits } from "../../src/shared/contract/money.ts";
import { long } from "../support/long.ts";
import { ACCOUNT, answer, c, holdRequest } from "../support/store.ts";

const NOW = Date.UTC(2026, 4, 5);
const place = { accountId: ACCOUNT, mode: "live" as const };
const money = (balance: number, held: number): Money => ({
  ...place,
  balance: c(balance),
  held: c(held),
});
const pending = (id: string, amount: number, more: Partial<Hold> = {}): Hold => ({
  ...place,
  id,
  keyId: "key-1",
  call: "person_search",
  amount: c(amount),
  state: "pending",
  posted: null,
  idempotencyKey: null,
  ...more,
});
const KEY = recordKey(place, "person_search", "k");
const idempotency = { key: "k", requestHash: "h" };
const stored: StoredReply = { status: 200, headers: {}, body: "as it was" };
const record = (more: Partial<ReplyRecord> = {}): ReplyRecord => ({
  requestHash: "h",
  holdId: "1",
  keptUntil: NOW + IDEMPOTENCY_TTL_MS,
  ownerAlive: true,
  origin: "key-0",
  charged: c(0),
  reply: undefined,
  damaged: false,
  ...more,
});

function facts(
  balance: number,
  held: number,
  more: {
    holds?: Hold[];
    record?: ReplyRecord;
    done?: [string, MoneyOperation];
    budget?: [number, number, number];
    key?: Partial<KeyFacts>;
    session?: Partial<Principal>;
    refunded?: number;
  } = {},
): Facts {
  const [cap, spent, kept] = (more.budget ?? []).map(c);
  const budget =
    cap === undefined ? undefined : ({ origin: "key-0", cap, spent, held: kept } as Capped);
  return {
    now: NOW,
    money: new Map([[placeKey(place), money(balance, held)]]),
    holds: new Map((more.holds ?? []).map((each) => [each.id, each])),
    records: new Map(more.record === undefined ? [] : [[KEY, more.record]]),
    operations: new Map(more.done === undefined ? [] : [more.done]),
    keys: new Map([
      [
        "key-1",
        { origin: "key-0", revokedAt: null, expiresAt: null, suspendedAt: null, ...more.key },
      ],
    ]),
    sessions: new Map(
      more.session && [
        ["s", { revokedAt: null, expiresAt: NOW + 1, suspendedAt: null, ...more.session }],
      ],
    ),
    budgets: new Map(budget === undefined ? [] : [["key-0", budget]]),
    refunded: new Map(more.refunded === undefined ? [] : [["1", c(more.refunded)]]),
    owned: new Set(),
    nextHoldId: 7n,
  };
}

const hold = (amount: number, more = {}): MoneyRequest => ({
  kind: "hold",
  request: holdRequest(c(amount), more),
});
const settle = (holdId: string, amount: number, reply = answer()): MoneyRequest => ({
  kind: "settle",
  settlement: { holdId, amount: c(amount), reply },
});
const release = (holdId: string, refund = false): MoneyRequest => ({
  kind: "release",
  holdId,
  state: "voided",
  refund,
});
const adjust = (entry: "grant" | "correction", amount: number): MoneyRequest => ({
  ...{ kind: "adjust", entry, place, operation: "g", amount: c(amount), note: "", actor: "me" },
});
const grant = (amount: number): MoneyRequest => adjust("grant", amount);
const correct = (amount: number): MoneyRequest => adjust("correction", amount);
const refund = (holdId: string, amount?: number, operation = "g"): MoneyRequest => ({
  ...{
    kind: "refund",
    holdId,
    operation,
    amount: amount === undefined ? undefined : c(amount),
    note: "",
    actor: "me",
  },
});
const granted = (amount: number): MoneyOperation => ({
  kind: "grant",
  amount: c(amount),
  refundOf: null,
});
const refunded = (amount: number): MoneyOperation => ({
  kind: "refund",
  amount: c(amount),
  refundOf: "1",
});
const broken = (): never => {
  throw new Error("no answer");
};

function one(known: Facts, request: MoneyRequest, earlier?: unknown) {
  const { outcomes, writes } = decide(known, [
    { request, ...(earlier === undefined ? {} : { earlier }) },
  ]);
  const [outcome] = outcomes;
  if (outcome === undefined) throw new Error("no outcome");
  return { outcome, writes };
}
const told = (outcome: Outcome): unknown => (outcome.ok ? outcome.value : outcome.error);

describe("one request", () => {
  const dead = { ownerAlive: false };
  const nine = { balance: c(9), held: c(5) };
  const sold = pending("1", 6, { state: "posted", posted: c(6) });
  const expired = { reply: stored, keptUntil: NOW };
  const most = { ...grant(0), amount: c(9_000_000_000) } as MoneyRequest;
  const cases: readonly (readonly [
    what: string,
    facts: Facts,
    request: MoneyRequest,
    outcome: unknown,
  ])[] = [
    [
      "a hold of all that is free",
      facts(10, 3),
      hold(7),
      { kind: "held", holdId: "7", balance: c(10), held: c(10) },
    ],
    [
      "a hold of more than is free",
      facts(10, 3),
      hold(8),
      { kind: "insufficient", balance: c(10), held: c(3) },
    ],
    [
      "a replay needs no balance",
      facts(0, 0, { record: record({ reply: stored }) }),
      hold(5, { idempotency }),
      { kind: "replay", reply: stored, charged: c(0) },
    ],
    [
      "a call in flight",
      facts(9, 1, { record: record() }),
      hold(5, { idempotency }),
      { kind: "in_flight" },
    ],
    [
      "another request under the key",
      facts(9, 1, { record: record({ requestHash: "x" }) }),
      hold(5, { idempotency }),
      { kind: "mismatch" },
    ],
    [
      "another request under the key of a stored reply",
      facts(9, 1, { record: record({ requestHash: "x", reply: stored }) }),
      hold(5, { idempotency }),
      { kind: "mismatch" },
    ],
    [
      "the key of a dead process is free",
      facts(5, 5, { holds: [pending("1", 5, { idempotencyKey: "k" })], record: record(dead) }),
      hold(5, { idempotency }),
      { kind: "held", holdId: "7", balance: c(5), held: c(5) },
    ],
    [
      "a reply that is kept no longer",
      facts(9, 0, { record: record(expired) }),
      hold(5, { idempotency }),
      { kind: "held", holdId: "7", balance: c(9), held: c(5) },
    ],
    [
      "a reply on its last millisecond",
      facts(9, 0, { record: record({ ...expired, keptUntil: expired.keptUntil + 1 }) }),
      hold(5, { idempotency }),
      { kind: "replay", reply: stored, charged: c(0) },
    ],
    [
      "a settlement of less than was held",
      facts(9, 5, { holds: [pending("1", 5)] }),
      settle("1", 2),
      { reply: answer()(c(7)), balance: c(7) },
    ],
    [
      "more than was held",
      facts(9, 5, { holds: [pending("1", 5)] }),
      settle("1", 6),
      OverchargeError,
    ],
    ["below zero", facts(9, 5, { holds: [pending("1", 5)] }), settle("1", -1), RangeError],
    ["a hold that never was", facts(9, 5), settle("1", 1), HoldResolvedError],
    [
      "a resolved hold, and too much for it",
      facts(9, 0, { holds: [pending("1", 5, { state: "voided" })] }),
      settle("1", 6),
      HoldResolvedError,
    ],
    [
      "a resolved hold, and a reply that cannot be built",
      facts(9, 0, { holds: [pending("1", 5, { state: "expired" })] }),
      settle("1", 1, broken),
      HoldResolvedError,
    ],
    ["a release", facts(9, 5, { holds: [pending("1", 5)] }), release("1"), c(9)],
    [
      "a release of what is charged",
      facts(9, 0, { holds: [pending("1", 5, { state: "posted", posted: c(2) })] }),
      release("1"),
      c(9),
    ],
    [
      "a release after a doubt",
      facts(9, 0, { holds: [pending("1", 5, { state: "posted", posted: c(2) })] }),
      release("1", true),
      c(11),
    ],
    [
      "a second release after a doubt",
      facts(9, 0, {
        holds: [pending("1", 5, { state: "posted", posted: c(2) })],
        done: ["refund 1", refunded(2)],
        refunded: 2,
      }),
      release("1", true),
      c(9),
    ],
    [
      "a release after a doubt, where a retry can have the reply",
      facts(9, 0, {
        holds: [pending("1", 5, { state: "posted", posted: c(2), idempotencyKey: "k" })],
      }),
      release("1", true),
      c(9),
    ],
    ["a grant", facts(9, 5), grant(3), { balance: c(12), held: c(5), repeated: false }],
    [
      "the same grant again",
      facts(9, 5, { done: ["g", granted(3)] }),
      grant(3),
      { ...nine, repeated: true },
    ],
    [
      "another grant under its reference",
      facts(9, 5, { done: ["g", granted(3)] }),
      grant(4),
      StoreConflictError,
    ],
    [
      "a correction under its reference",
      facts(9, 5, { done: ["g", granted(3)] }),
      correct(3),
      StoreConflictError,
    ],
    [
      "a correction of all that is free",
      facts(9, 5),
      correct(4),
      { balance: c(5), held: c(5), repeated: false },
    ],
    ["a correction of what is held", facts(9, 5), correct(5), RangeError],
    [
      "a refund of a part",
      facts(9, 5, { holds: [sold] }),
      refund("1", 2),
      { balance: c(11), held: c(5), repeated: false },
    ],
    [
      "a refund of the rest",
      facts(9, 5, { holds: [sold], refunded: 2 }),
      refund("1"),
      { balance: c(13), held: c(5), repeated: false },
    ],
    [
      "a refund of more than the rest",
      facts(9, 5, { holds: [sold], refunded: 2 }),
      refund("1", 5),
      RangeError,
    ],
    [
      "a refund of what is not charged",
      facts(9, 5, { holds: [pending("1", 5)] }),
      refund("1"),
      RangeError,
    ],
    [
      "the same refund again",
      facts(9, 5, { holds: [sold], refunded: 2, done: ["g", refunded(2)] }),
      refund("1", 2),
      { ...nine, repeated: true },
    ],
    [
      "a hold of all that a cap leaves",
      facts(50, 0, { budget: [10, 4, 2] }),
      hold(4),
      { kind: "held", holdId: "7", balance: c(50), held: c(4) },
    ],
    [
      "a hold above a cap",
      facts(50, 0, { budget: [10, 4, 2] }),
      hold(5),
      { kind: "over_cap", cap: c(10), spent: c(4), held: c(2) },
    ],
    [
      "a hold above a cap and the balance, which is less",
      facts(3, 0, { budget: [10, 4, 2] }),
      hold(5),
      { kind: "insufficient", balance: c(3), held: c(0) },
    ],
    [
      "a replay of what another key paid for needs the cap",
      facts(9, 0, { record: record({ reply: stored, origin: "key-9" }), budget: [5, 3, 1] }),
      hold(2, { idempotency }),
      { kind: "over_cap", cap: c(5), spent: c(3), held: c(1) },
    ],
    [
      "a replay of what another key paid for, within the cap",
      facts(9, 0, {
        record: record({ reply: stored, origin: "key-9", charged: c(2) }),
        budget: [5, 3, 0],
      }),
      hold(2, { idempotency }),
      { kind: "replay", reply: stored, charged: c(2) },
    ],
    [
      "a hold in a session",
      facts(9, 0, { session: {} }),
      hold(9, { session: "s" }),
      { kind: "held", holdId: "7", balance: c(9), held: c(9) },
    ],
    ...(
      [
        ["that nobody knows", "t", {}, "signed_out"],
        ["that was ended", "s", { revokedAt: NOW }, "signed_out"],
        ["that is over", "s", { expiresAt: NOW }, "signed_out"],
        ["of a suspended account", "s", { suspendedAt: NOW }, "suspended"],
      ] as const
    ).map(
      ([what, session, is, why]) =>
        [
          `a hold in a session ${what}`,
          facts(9, 0, { session: is }),
          hold(1, { session }),
          { kind: "key_ended", why },
        ] as const,
    ),
    [
      "a replay needs no cap",
      facts(0, 0, { budget: [10, 10, 0], record: record({ reply: stored }) }),
      hold(5, { idempotency }),
      { kind: "replay", reply: stored, charged: c(0) },
    ],
    [
      "a key of no row has no cap",
      facts(50, 0, { budget: [0, 0, 0] }),
      hold(5, { keyId: "console" }),
      { kind: "held", holdId: "7", balance: c(50), held: c(5) },
    ],
    [
      "a key on its last millisecond",
      facts(9, 0, { key: { expiresAt: NOW + 1 } }),
      hold(1),
      { kind: "held", holdId: "7", balance: c(9), held: c(1) },
    ],
    [
      "a key that expired",
      facts(9, 0, { key: { expiresAt: NOW } }),
      hold(1),
      { kind: "key_ended", why: "expired" },
    ],
    [
      "a key that was revoked",
      facts(9, 0, { key: { revokedAt: 1, expiresAt: 1 } }),
      hold(1),
      { kind: "key_ended", why: "revoked" },
    ],
    [
      "a key of a suspended account",
      facts(9, 0, { key: { suspendedAt: 1 } }),
      hold(1),
      { kind: "key_ended", why: "suspended" },
    ],
    [
      "a settlement after the end of its key",
      facts(9, 5, { holds: [pending("1", 5)], key: { revokedAt: 1 } }),
      settle("1", 2),
      { reply: answer()(c(7)), balance: c(7) },
    ],
    ["a grant that is too much", facts(9, 5), grant(9_000_000_000), RangeError],
    [
      "a hold above a cap and the balance, which leave the same",
      facts(4, 0, { budget: [10, 4, 2] }),
      hold(5),
      { kind: "over_cap", cap: c(10), spent: c(4), held: c(2) },
    ],
    [
      "the same correction again",
      facts(9, 5, { done: ["g", { kind: "correction", amount: c(-3), refundOf: null }] }),
      correct(3),
      { ...nine, repeated: true },
    ],
    [
      "another refund under its reference",
      facts(9, 5, { holds: [sold], refunded: 2, done: ["g", refunded(2)] }),
      refund("1", 1),
      StoreConflictError,
    ],
    [
      "the rest under the reference of a part",
      facts(9, 5, { holds: [sold], refunded: 2, done: ["g", refunded(2)] }),
      refund("1"),
      { ...nine, repeated: true },
    ],
    [
      "a refund under the reference of another charge",
      facts(9, 5, { holds: [sold, { ...sold, id: "2" }], refunded: 2, done: ["g", refunded(2)] }),
      refund("2", 2),
      StoreConflictError,
    ],
    ["a refund of nothing", facts(9, 5, { holds: [sold] }), refund("1", 0), RangeError],
    [
      "rows whose price is another than the charge",
      facts(9, 5, { holds: [pending("1", 5)] }),
      {
        kind: "settle",
        settlement: { holdId: "1", amount: c(5), reply: answer(), sold: { price: c(1), rows: 4 } },
      },
      LedgerInvariantError,
    ],
    ["an unknown account", facts(9, 5), hold(1, { accountId: "nobody" }), UnknownAccountError],
    [
      "a stored reply that is damaged",
      facts(9, 0, { record: record({ reply: stored, damaged: true }) }),
      hold(5, { idempotency }),
      LedgerInvariantError,
    ],
    [
      "a hold under a name that an earlier attempt did not get to",
      facts(9, 0),
      { ...hold(5), holdId: "made-1" } as MoneyRequest,
      { kind: "held", holdId: "made-1", balance: c(9), held: c(5) },
    ],
    [
      "a release after a doubt, where its refund was entered and a part of the charge is left",
      facts(5, 0, { holds: [sold], done: ["refund 1", refunded(2)], refunded: 2 }),
      release("1", true),
      c(5),
    ],
    [
      "a grant up to the most that a balance may be",
      facts(0, 0),
      most,
      { balance: c(9_000_000_000), held: c(0), repeated: false },
    ],
  ];
  it.each(cases)("%s", (_what, known, request, expected) => {
    const { outcome, writes } = one(known, request);
    if (typeof expected === "function") {
      expect(told(outcome)).toBeInstanceOf(expected);
      expect(outcome.ok).toBe(false);
      expect(Object.values(writes).flat()).toEqual([]);
    } else expect(told(outcome)).toEqual(expected);
  });

  test("what costs nothing is no line of the account, also when it is given back", () => {
    const free = one(facts(9, 5, { holds: [pending("1", 5)] }), settle("1", 0));
    expect(free.writes.resolved).toEqual([{ id: "1", state: "posted", posted: c(0) }]);
    expect(free.writes.entries).toEqual([]);
    const known = facts(9, 0, { holds: [pending("1", 5, { state: "posted", posted: c(0) })] });
    expect(one(known, release("1", true)).writes.entries).toEqual([]);
  });

  test("what is free is told where more is to be removed", () => {
    const { outcome } = one(facts(9, 5), correct(6));
    expect(String(told(outcome))).toContain(
      "6 credits cannot be removed: 4 are free of a balance of 9",
    );
  });

  describe("people who are sold", () => {
    const people = (areNew: boolean) => ({ marks: ["a", "b"], areNew });
    const sale = (areNew: boolean): MoneyRequest => ({
      kind: "settle",
      settlement: { holdId: "1", amount: c(2), people: people(areNew), reply: answer() },
    });
    const known = (...owned: string[]): Facts => ({
      ...facts(9, 5, { holds: [pending("1", 5)] }),
      owned: new Set(owned),
    });

    test("as new are refused whole where one of them is owned, and nothing is changed", () => {
      const { outcome, writes } = one(known("b"), sale(true));
      expect(told(outcome)).toBeInstanceOf(SoldMeanwhileError);
      expect(Object.values(writes).flat()).toEqual([]);
    });

    test.each([
      ["as new", sale(true), known()],
      ["whoever they are, also again", sale(false), known("b")],
    ])("%s are owned with the charge", (_, request, before) => {
      const { outcome, writes } = one(before, request);
      expect(outcome.ok).toBe(true);
      expect(writes.owned).toEqual([
        { mark: "a", holdId: "1" },
        { mark: "b", holdId: "1" },
      ]);
    });

    test("are owned no longer where the answer was lost and the charge goes back", () => {
      const lost = facts(9, 0, { holds: [pending("1", 5, { state: "posted", posted: c(2) })] });
      expect(one(lost, release("1", true)).writes.disowned).toEqual(["1"]);
      expect(one(lost, release("1")).writes.disowned).toEqual([]);
    });
  });

  test("a reply that cannot be built changes nothing", () => {
    const { outcome, writes } = one(
      facts(9, 5, { holds: [pending("1", 5)] }),
      settle("1", 5, broken),
    );
    expect(String(told(outcome))).toBe("Error: no answer");
    expect(Object.values(writes).flat()).toEqual([]);
  });

  test("what an earlier attempt did is recognised and done once", () => {
    const posted = pending("1", 5, { state: "posted", posted: c(5) });
    for (const [known, request] of [
      [facts(4, 0, { holds: [posted] }), settle("1", 5)],
      [
        facts(9, 5, { holds: [pending("made-1", 5)] }),
        { ...hold(5), holdId: "made-1" } as MoneyRequest,
      ],
      [facts(9, 0, { done: ["g", granted(5)] }), grant(5)],
    ] as const) {
      const { outcome, writes } = one(known, request, "what it would have said");
      expect(outcome).toEqual({ ok: true, value: "what it would have said" });
      expect(Object.values(writes).flat()).toEqual([]);
    }
  });

  test("held money that the balance does not cover is never written", () => {
    const wrong: readonly (readonly [Facts, MoneyRequest])[] = [
      // Less is held than its holds are; more is held than there is; the same of a cap.
      [facts(9, 1, { holds: [pending("1", 5)] }), release("1")],
      [facts(9, 1, { holds: [pending("1", 5)] }), settle("1", 5)],
      [facts(3, 5, { holds: [pending("1", 5)] }), settle("1", 5)],
      [facts(9, 5, { holds: [pending("1", 5)], budget: [9, 0, 1] }), release("1")],
      [facts(9, 5, { holds: [pending("1", 5)], budget: [9, 8, 5] }), settle("1", 5)],
    ];
    for (const [known, request] of wrong) {
      const { outcome, writes } = one(known, request);
      expect(told(outcome)).toBeInstanceOf(LedgerInvariantError);
      expect(Object.values(writes).flat()).toEqual([]);
    }
  });
});

describe("any group", () => {
  let operations = 0;
  const named = (asked: MoneyRequest): MoneyRequest =>
    ({ ...asked, operation: `op-${operations++}` }) as MoneyRequest;
  const request: fc.Arbitrary<MoneyRequest> = fc.oneof(
    fc
      .record({
        amount: fc.nat(9),
        key: fc.option(fc.constantFrom("k", "l"), { nil: undefined }),
        hash: fc.constantFrom("h", "i"),
      })
      .map(({ amount, hash, key }) =>
        hold(amount, key === undefined ? {} : { idempotency: { key, requestHash: hash } }),
      ),
    fc
      .record({
        id: fc.constantFrom("1", "2", "3", "9"),
        amount: fc.integer({ min: -1, max: 7 }),
        bad: fc.boolean(),
      })
      .map(({ amount, bad, id }) => settle(id, amount, bad ? broken : answer())),
    fc
      .record({ id: fc.constantFrom("1", "2", "3", "9"), refund: fc.boolean() })
      .map(({ id, refund }) => release(id, refund)),
    fc.integer({ min: 1, max: 9 }).map((amount) => named(grant(amount))),
    fc.integer({ min: 1, max: 9 }).map((amount) => named(correct(amount))),
    fc
      .record({
        id: fc.constantFrom("1", "3"),
        amount: fc.option(fc.integer({ min: 1, max: 7 }), { nil: undefined }),
      })
      .map(({ amount, id }) => named(refund(id, amount))),
  );
  const known = (): Facts =>
    facts(20, 9, {
      holds: [
        pending("1", 5),
        pending("2", 4, { idempotencyKey: "k" }),
        pending("3", 6, { state: "posted", posted: c(6) }),
      ],
      record: record({ holdId: "2" }),
      budget: [25, 6, 9],
    });

  test("leaves balances that are the sum of what was written, covered, and each hold resolved at most once", () => {
    fc.assert(
      fc.property(fc.array(request, { maxLength: 20 }), (requests) => {
        const before = known();
        const { outcomes, writes } = decide(
          before,
          requests.map((each): Attempt => ({ request: each })),
        );
        expect(before).toEqual(known());
        expect(outcomes).toHaveLength(requests.length);
        const { balance, held } = writes.money[0] ?? money(20, 9);
        const entered = writes.entries.reduce((sum, { amount }) => sum + amount, 0n);
        expect(balance).toBe(c(20) + entered);
        const all = new Map([...before.holds.values()].map(({ amount, id }) => [id, amount]));
        for (const {
          id,
          request: { amount },
        } of writes.holds)
          all.set(id, amount);
        const resolved = writes.resolved.map(({ id }) => id);
        expect(new Set(resolved).size).toBe(resolved.length);
        const open = ["1", "2", ...writes.holds.map(({ id }) => id)].filter(
          (id) => !resolved.includes(id),
        );
        expect(held).toBe(open.reduce((sum, id) => sum + (all.get(id) ?? 0n), 0n));
        expect(held <= balance && held >= 0n).toBe(true);
        // The cap is of what was charged less what came back, and of what is held.
        const budget = writes.budgets[0] ?? { cap: c(25), spent: c(6), held: c(9) };
        const moved = writes.entries
          .filter(({ used }) => used !== null)
          .reduce((sum, { amount }) => sum - amount, 0n);
        expect([budget.spent, budget.held]).toEqual([c(6) + moved, held]);
        expect(budget.spent + budget.held <= budget.cap && budget.spent >= 0n).toBe(true);
        let running = 20_000_000n;
        for (const { amount, balanceAfter } of writes.entries) {
          running += amount;
          expect(balanceAfter).toBe(credits(running));
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("a group of two accounts, two calls and shared references", () => {
  const [ACME, OTHER] = [place, { accountId: "other", mode: "live" }] as const;
  const calls = fc.constantFrom("person_search" as const, "company_enrich" as const);
  const asks: fc.Arbitrary<MoneyRequest> = fc.oneof(
    fc
      .record({
        amount: fc.nat(4),
        whose: fc.constantFrom(
          { ...ACME, keyId: "key-1" },
          { ...ACME, keyId: "key-2" },
          { ...OTHER, keyId: "key-3" },
        ),
        call: calls,
        key: fc.option(fc.constantFrom("k", "l"), { nil: undefined, freq: 6 }),
        requestHash: fc.constantFrom("h", "h", "i"),
        session: fc.option(fc.constantFrom("s", "gone"), { nil: undefined, freq: 2 }),
      })
      .map(({ amount, call, key, requestHash, session, whose }) =>
        hold(amount, {
          ...{ ...whose, call, requestId: "r", ...(session === undefined ? {} : { session }) },
          ...(key === undefined ? {} : { idempotency: { key, requestHash } }),
        }),
      ),
    fc
      .record({ id: fc.constantFrom("1", "2", "7", "8"), amount: fc.nat(5) })
      .map(({ amount, id }) => settle(id, amount)),
    fc
      .record({ id: fc.constantFrom("1", "3", "7", "8"), back: fc.boolean() })
      .map(({ back, id }) => release(id, back)),
    fc
      .record({
        whose: fc.constantFrom(ACME, OTHER),
        amount: fc.constantFrom(1, 5),
        operation: fc.constantFrom("g", "x"),
      })
      .map(
        ({ amount, operation, whose }) =>
          ({ ...grant(amount), place: whose, operation }) as MoneyRequest,
      ),
    fc
      .record({
        id: fc.constantFrom("1", "3", "7"),
        amount: fc.constantFrom(4, undefined),
        named: fc.constantFrom("x", "y"),
      })
      .map(({ amount, id, named }) => refund(id, amount, named)),
  );

  /** A ledger of plain lists: it knows nothing of how `decide` tells records and accounts apart. */
  interface Model {
    readonly money: readonly Money[];
    readonly holds: readonly Hold[];
    readonly records: readonly { readonly of: HoldRequest; readonly record: ReplyRecord }[];
    readonly operations: ReadonlyMap<string, MoneyOperation>;
    readonly budgets: readonly Capped[];
    readonly refunded: ReadonlyMap<string, Credits>;
  }
  const begin: Model = {
    money: [money(20, 9), { ...OTHER, balance: c(3), held: c(0) }],
    holds: [
      pending("1", 5),
      pending("2", 4, { idempotencyKey: "k" }),
      pending("3", 6, { state: "posted", posted: c(6), keyId: "key-2" }),
    ],
    records: [{ of: holdRequest(c(4), { idempotency }), record: record({ holdId: "2" }) }],
    operations: new Map(),
    budgets: [{ origin: "key-0", cap: c(12), spent: c(0), held: c(9) }],
    refunded: new Map(),
  };
  const free = { revokedAt: null, expiresAt: null, suspendedAt: null };
  const isSame = (one: HoldRequest, other: HoldRequest): boolean =>
    [one.accountId, one.mode, one.call, one.idempotency?.key].join() ===
    [other.accountId, other.mode, other.call, other.idempotency?.key].join();

  function factsOf(model: Model, requests: readonly MoneyRequest[]): Facts {
    const asking = requests.flatMap((each) => (each.kind === "hold" ? [each.request] : []));
    const wanted = [...asking, ...model.records.map(({ of }) => of)].flatMap((of) => {
      const known = model.records.find((each) => isSame(each.of, of));
      return known === undefined
        ? []
        : [[recordKey(of, of.call, of.idempotency?.key ?? ""), known.record] as const];
    });
    return {
      now: NOW,
      money: new Map(model.money.map((each) => [placeKey(each), each])),
      holds: new Map(model.holds.map((each) => [each.id, each])),
      records: new Map(wanted),
      operations: model.operations,
      keys: new Map(
        ["key-1", "key-2", "key-3"].map((id) => [
          id,
          { ...free, origin: id === "key-1" ? "key-0" : id },
        ]),
      ),
      sessions: new Map([["s", free]]),
      budgets: new Map(model.budgets.map((each) => [each.origin, each])),
      refunded: model.refunded,
      owned: new Set(),
      nextHoldId: BigInt(Math.max(6, ...model.holds.map(({ id }) => Number(id))) + 1),
    };
  }

  function advanced(model: Model, writes: Writes): Model {
    const posted = new Map(writes.resolved.map((each) => [each.id, each]));
    const made = writes.holds.map(
      ({ id, request: { accountId, amount, call, idempotency: by, keyId, mode } }) => ({
        ...pending(id, 0, {
          accountId,
          mode,
          keyId,
          call,
          amount,
          idempotencyKey: by?.key ?? null,
        }),
      }),
    );
    const holds = [...model.holds, ...made].map((each) => ({ ...each, ...posted.get(each.id) }));
    const originOf = (keyId: string) => (keyId === "key-1" ? "key-0" : keyId);
    const added = writes.records.map(({ id, request }) => {
      const fresh = {
        holdId: id,
        requestHash: request.idempotency?.requestHash ?? "",
        origin: originOf(request.keyId),
      };
      return { of: request, record: record(fresh) };
    });
    const records = [...model.records, ...added]
      .filter(({ record: { holdId } }) => !writes.forgotten.includes(holdId))
      .map(({ of, record: each }) => {
        const reply = writes.replies.find(({ holdId }) => holdId === each.holdId)?.reply;
        const charged = holds.find(({ id }) => id === each.holdId)?.posted ?? c(0);
        return {
          of,
          record: reply === undefined ? each : { ...each, reply, charged },
        };
      });
    const operations = new Map(model.operations);
    const refunds = new Map(model.refunded);
    for (const { amount, kind, operation, refundOf } of writes.entries) {
      if (operation !== null) operations.set(operation, { kind, amount, refundOf });
      if (refundOf !== null) refunds.set(refundOf, credits((refunds.get(refundOf) ?? 0n) + amount));
    }
    return {
      money: model.money.map(
        (each) => writes.money.find((now) => placeKey(now) === placeKey(each)) ?? each,
      ),
      holds,
      records,
      operations,
      budgets: model.budgets.map(
        (each) => writes.budgets.find(({ origin }) => origin === each.origin) ?? each,
      ),
      refunded: refunds,
    };
  }
  const said = (outcomes: readonly Outcome[]) =>
    outcomes.map((each) => (each.ok ? each.value : String(each.error)));

  long("says, enters and leaves what its requests would alone, one after the other", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.array(asks, { minLength: 2, maxLength: 12 }), (requests) => {
        const together = decide(
          factsOf(begin, requests),
          requests.map((each): Attempt => ({ request: each })),
        );
        let model = begin;
        const alone: unknown[] = [];
        const entries: unknown[] = [];
        for (const request of requests) {
          const { outcomes, writes } = decide(factsOf(model, [request]), [{ request }]);
          alone.push(...said(outcomes));
          entries.push(...writes.entries);
          model = advanced(model, writes);
        }
        expect(said(together.outcomes)).toEqual(alone);
        expect(together.writes.entries).toEqual(entries);
        expect(advanced(begin, together.writes)).toEqual(model);
        for (const each of alone) {
          if (typeof each === "string") seen.add(each.replaceAll(/\d+/g, "N").slice(0, 60));
          else if (typeof each === "object")
            seen.add((each as { readonly kind?: string }).kind ?? "done");
        }
      }),
      { numRuns: 1_500 },
    );
    // What is never drawn is not compared.
    for (const kind of [
      "held",
      "insufficient",
      "over_cap",
      "replay",
      "in_flight",
      "mismatch",
      "key_ended",
      "done",
    ]) {
      expect([...seen]).toContain(kind);
    }
    expect([...seen].some((each) => each.includes("cannot be refunded"))).toBe(true);
    expect([...seen].some((each) => each.includes("reference was used before"))).toBe(true);
  });

  const ask = (more: Partial<HoldRequest>) => hold(1, { idempotency, ...more });
  const outcomesOf = (requests: readonly MoneyRequest[]) => {
    const { outcomes, writes } = decide(
      factsOf(begin, requests),
      requests.map((each): Attempt => ({ request: each })),
    );
    return { outcomes: said(outcomes), writes };
  };

  test("gives no account or call the stored reply of another", () => {
    const first = ask({ idempotency: { key: "l", requestHash: "h" } });
    const other = {
      ...first,
      request: { ...(first as { request: HoldRequest }).request, ...OTHER },
    } as MoneyRequest;
    const call = ask({ idempotency: { key: "l", requestHash: "h" }, call: "company_enrich" });
    const { outcomes } = outcomesOf([first, settle("7", 1), other, call, first]);
    expect(outcomes).toMatchObject([
      { kind: "held" },
      {},
      { kind: "held" },
      { kind: "held" },
      { kind: "replay" },
    ]);
  });

  test("gives back no more than was charged, and grants once under one reference", () => {
    const { outcomes, writes } = outcomesOf([
      settle("1", 5),
      refund("1", 4, "x"),
      refund("1", 4, "y"),
    ]);
    expect(outcomes[2]).toContain("4 credits cannot be refunded");
    expect(writes.entries.map(({ amount }) => amount)).toEqual([c(-5), c(4)]);
    const twice = outcomesOf([grant(3), grant(3)]);
    expect(twice.outcomes).toMatchObject([{ repeated: false }, { repeated: true }]);
    expect(twice.writes.entries).toHaveLength(1);
  });
});
