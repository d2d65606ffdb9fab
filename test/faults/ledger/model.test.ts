import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Credits, credits } from "../../../src/contract/money.ts";
import {
  type HoldOutcome,
  HoldResolvedError,
  IDEMPOTENCY_TTL_MS,
  OverchargeError,
  STANDARD_PLAN,
  type Store,
  type StoredReply,
} from "../../../src/service/ledger/ledger.ts";
import { holdRequest, type TestLedger, temporaryLedger } from "../../support/store.ts";
import { LONG, report } from "./rig.ts";

// The ledger against the simplest program that could be right: one thread, plain variables, no disk. Two stores on one file take
// turns, some commands come in a burst, and time passes.
const SEQUENCES = LONG ? 100_000 : 2_000;
const START = Date.UTC(2026, 4, 5);

type Command =
  | { readonly kind: "grant"; readonly amount: number; readonly store: 0 | 1 }
  | {
      readonly kind: "hold";
      readonly amount: number;
      readonly key: number | null;
      readonly content: number;
      readonly burst: number;
      readonly store: 0 | 1;
    }
  | { readonly kind: "settle"; readonly nth: number; readonly share: number; readonly store: 0 | 1 }
  | { readonly kind: "release"; readonly nth: number; readonly store: 0 | 1 }
  | { readonly kind: "wait"; readonly hours: number };

const store = fc.constantFrom(0 as const, 1 as const);
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constant("grant" as const), amount: fc.integer({ min: 1, max: 30 }), store }),
  fc.record({
    kind: fc.constant("hold" as const),
    amount: fc.integer({ min: 0, max: 25 }),
    key: fc.option(fc.integer({ min: 0, max: 2 })),
    content: fc.integer({ min: 0, max: 1 }),
    burst: fc.constantFrom(1, 1, 1, 2, 5),
    store,
  }),
  fc.record({
    kind: fc.constant("settle" as const),
    nth: fc.nat(6),
    // Of the hold, in percent; above 100 must be refused.
    share: fc.constantFrom(0, 33, 100, 100, 120),
    store,
  }),
  fc.record({ kind: fc.constant("release" as const), nth: fc.nat(6), store }),
  fc.record({ kind: fc.constant("wait" as const), hours: fc.constantFrom(1, 12, 24) }),
);

interface ModelHold {
  readonly id: string;
  readonly amount: bigint;
  readonly key: number | null;
  state: "pending" | "posted" | "voided";
}

/** The whole specification of money and idempotency, in one place. */
class Model {
  balance = 0n;
  held = 0n;
  readonly holds: ModelHold[] = [];
  readonly records = new Map<
    number,
    { hash: string; at: number; reply: StoredReply | undefined; hold: ModelHold | undefined }
  >();

  hold(amount: bigint, key: number | null, hash: string, now: number): HoldOutcome["kind"] {
    const record = key === null ? undefined : this.records.get(key);
    if (key !== null && record !== undefined) {
      const expired = record.reply !== undefined && now - record.at >= IDEMPOTENCY_TTL_MS;
      if (!expired) {
        if (record.hash !== hash) return "mismatch";
        return record.reply === undefined ? "in_flight" : "replay";
      }
      this.records.delete(key);
    }
    return this.balance - this.held < amount ? "insufficient" : "held";
  }

  granted(hold: ModelHold, hash: string, now: number): void {
    this.held += hold.amount;
    this.holds.push(hold);
    if (hold.key !== null) this.records.set(hold.key, { hash, at: now, reply: undefined, hold });
  }
}

describe("the ledger against a model", () => {
  let ledger: TestLedger;
  let stores: readonly [Store, Store];
  let time = START;
  let accounts = 0;
  let commands = 0;
  beforeAll(async () => {
    ledger = await temporaryLedger({ now: () => time, synchronous: "NORMAL", groupWaitMs: 0 });
    // One that waits for company and one that commits each change by itself.
    stores = [ledger.store, await ledger.another({ groupSize: 1 })];
  });
  afterAll(async () => {
    await ledger.close();
  });

  async function follow(sequence: readonly Command[]): Promise<void> {
    accounts += 1;
    const accountId = `account-${accounts}`;
    const model = new Model();
    await stores[0].createAccount(accountId, accountId);
    for (const each of sequence) {
      commands += 1;
      if (each.kind === "wait") time += each.hours * 3_600_000;
      else if (each.kind === "grant") {
        const amount = credits(BigInt(each.amount));
        model.balance += amount;
        expect((await stores[each.store].grant(accountId, "live", amount, "")).balance).toBe(model.balance);
      } else if (each.kind === "hold") {
        const amount = credits(BigInt(each.amount));
        const hash = `content-${each.content}`;
        const idempotency = each.key === null ? {} : { idempotency: { key: `key-${each.key}`, requestHash: hash } };
        const outcomes = await Promise.all(
          Array.from({ length: each.burst }, () =>
            stores[each.store].hold(holdRequest(amount, { accountId, ...idempotency })),
          ),
        );
        for (const outcome of outcomes) {
          expect(outcome.kind).toBe(model.hold(amount, each.key, hash, time));
          if (outcome.kind === "held") {
            model.granted({ id: outcome.holdId, amount, key: each.key, state: "pending" }, hash, time);
            expect([outcome.balance, outcome.held]).toEqual([model.balance, model.held]);
          }
          if (outcome.kind === "replay" && each.key !== null) {
            expect(outcome.reply).toEqual(model.records.get(each.key)?.reply);
          }
        }
      } else {
        const hold = model.holds[each.nth];
        if (hold === undefined) continue;
        const record = hold.key === null ? undefined : model.records.get(hold.key);
        if (each.kind === "release") {
          if (hold.state === "pending") {
            hold.state = "voided";
            model.held -= hold.amount;
            if (hold.key !== null && record?.hold === hold) model.records.delete(hold.key);
          }
          expect(await stores[each.store].release(hold.id)).toBe(model.balance);
          continue;
        }
        const amount: Credits = credits((hold.amount * BigInt(each.share) + 99n) / 100n);
        const settling = stores[each.store].settle({
          holdId: hold.id,
          amount,
          reply: (balance) => ({ status: 200, headers: { h: hold.id }, body: `${hold.id} ${balance}` }),
        });
        if (amount > hold.amount && hold.state === "pending") await expect(settling).rejects.toThrow(OverchargeError);
        else if (hold.state !== "pending") await expect(settling).rejects.toThrow(HoldResolvedError);
        else {
          hold.state = "posted";
          model.balance -= amount;
          model.held -= hold.amount;
          const { balance, reply } = await settling;
          expect([balance, reply.body]).toEqual([model.balance, `${hold.id} ${model.balance}`]);
          if (record?.hold === hold) {
            record.reply = reply;
            record.at = time;
          }
        }
      }
      const { balance, held } = await stores[1].balance(accountId, "live");
      expect([balance, held]).toEqual([model.balance, model.held]);
    }
  }

  it("does the same for every sequence of commands", { timeout: 3_600_000 }, async () => {
    await fc.assert(fc.asyncProperty(fc.array(command, { minLength: 3, maxLength: 25 }), follow), {
      numRuns: SEQUENCES,
      ...(LONG ? {} : { seed: 20_260_505 }),
      verbose: 1,
    });
    report("model", { sequences: SEQUENCES, commands });
    expect(await ledger.store.verify()).toEqual([]);
    expect((await ledger.store.account("account-1"))?.plan).toEqual(STANDARD_PLAN);
  });
});
