import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect } from "vitest";
import { HoldResolvedError, OverchargeError } from "../../../src/service/ledger/errors.ts";
import {
  type HoldOutcome,
  type HoldRequest,
  IDEMPOTENCY_TTL_MS,
  STANDARD_PLAN,
  type Store,
  type StoredReply,
} from "../../../src/service/ledger/ledger.ts";
import { hashOf } from "../../../src/service/money/keys.ts";
import { type Credits, credits } from "../../../src/shared/contract/money.ts";
import { holdRequest, temporaryLedger } from "../../support/store.ts";
import type { Campaign } from "../campaign.ts";
import { doubling } from "./broken.ts";

// The ledger against the simplest program that could be right: one thread, plain variables, no disk. Two stores on one file take
// turns, some commands come in a burst, and time passes.
const START = Date.UTC(2026, 4, 5);

type Command =
  | { readonly kind: "grant"; readonly amount: number; readonly store: 0 | 1 }
  | {
      readonly kind: "hold";
      readonly amount: number;
      readonly key: number | null;
      readonly content: number;
      readonly by: number;
      readonly burst: number;
      readonly store: 0 | 1;
    }
  | { readonly kind: "settle"; readonly nth: number; readonly share: number; readonly store: 0 | 1 }
  | { readonly kind: "release"; readonly nth: number; readonly store: 0 | 1 }
  | { readonly kind: "wait"; readonly hours: number }
  | { readonly kind: "deduct"; readonly amount: number; readonly store: 0 | 1 }
  | {
      readonly kind: "refund";
      readonly nth: number;
      readonly amount: number | null;
      readonly store: 0 | 1;
    }
  | { readonly kind: "again"; readonly store: 0 | 1 }
  /** Null takes the bound away. */
  | {
      readonly kind: "cap";
      readonly by: number;
      readonly cap: number | null;
      readonly store: 0 | 1;
    }
  | {
      readonly kind: "expire";
      readonly by: number;
      readonly hours: number | null;
      readonly store: 0 | 1;
    }
  | { readonly kind: "suspend"; readonly suspended: boolean; readonly store: 0 | 1 };

/** Two keys of one chain, which share a cap, and one of its own. */
const KEYS = 3;
const chainOf = (by: number): number => Math.min(by, 1);
const store = fc.constantFrom(0 as const, 1 as const);
const by = fc.integer({ min: 0, max: KEYS - 1 });
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    kind: fc.constant("grant" as const),
    amount: fc.integer({ min: 1, max: 30 }),
    store,
  }),
  fc.record({
    kind: fc.constant("hold" as const),
    amount: fc.integer({ min: 0, max: 25 }),
    key: fc.option(fc.integer({ min: 0, max: 2 })),
    content: fc.integer({ min: 0, max: 1 }),
    by,
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
  fc.record({
    kind: fc.constant("deduct" as const),
    amount: fc.integer({ min: 1, max: 20 }),
    store,
  }),
  fc.record({
    kind: fc.constant("refund" as const),
    nth: fc.nat(6),
    amount: fc.option(fc.integer({ min: 1, max: 12 })),
    store,
  }),
  fc.record({ kind: fc.constant("again" as const), store }),
  fc.record({
    kind: fc.constant("cap" as const),
    by,
    cap: fc.option(fc.integer({ min: 0, max: 40 })),
    store,
  }),
  fc.record({
    kind: fc.constant("expire" as const),
    by,
    hours: fc.option(fc.constantFrom(0, 6, 18)),
    store,
  }),
  fc.record({ kind: fc.constant("suspend" as const), suspended: fc.boolean(), store }),
);

interface ModelHold {
  readonly id: string;
  readonly amount: bigint;
  readonly key: number | null;
  readonly by: number;
  readonly requestId: string;
  state: "pending" | "posted" | "voided";
  charged: bigint;
  refunded: bigint;
}

/** The whole specification of money and idempotency, in one place. */
class Model {
  balance = 0n;
  held = 0n;
  readonly holds: ModelHold[] = [];
  readonly caps = new Map<number, bigint>();
  readonly ends = new Map<number, number>();
  suspended = false;
  /** Whether the one named grant was made. */
  once = false;
  readonly records = new Map<
    number,
    { hash: string; at: number; reply: StoredReply | undefined; hold: ModelHold }
  >();

  /** From the holds themselves: no running sum. */
  spent(chain: number): { spent: bigint; held: bigint } {
    const own = this.holds.filter((hold) => chainOf(hold.by) === chain);
    const sum = (of: (hold: ModelHold) => bigint): bigint =>
      own.reduce((total, hold) => total + of(hold), 0n);
    return {
      spent: sum(({ charged, refunded }) => charged - refunded),
      held: sum(({ amount, state }) => (state === "pending" ? amount : 0n)),
    };
  }

  hold(
    amount: bigint,
    key: number | null,
    hash: string,
    now: number,
    by: number,
  ): HoldOutcome["kind"] {
    if ((this.ends.get(by) ?? Number.POSITIVE_INFINITY) <= now || this.suspended)
      return "key_ended";
    const { held, spent } = this.spent(chainOf(by));
    const cap = this.caps.get(chainOf(by));
    const rest = cap === undefined ? undefined : cap - spent - held;
    const record = key === null ? undefined : this.records.get(key);
    if (key !== null && record !== undefined) {
      const expired = record.reply !== undefined && now - record.at >= IDEMPOTENCY_TTL_MS;
      if (!expired) {
        if (record.hash !== hash) return "mismatch";
        if (record.reply === undefined) return "in_flight";
        // What another key paid for is had by whom it would have been sold to.
        const isForeign = chainOf(record.hold.by) !== chainOf(by);
        return isForeign && rest !== undefined && rest < amount ? "over_cap" : "replay";
      }
      this.records.delete(key);
    }
    const free = this.balance - this.held;
    if (rest !== undefined && rest < amount && rest <= free) return "over_cap";
    return free < amount ? "insufficient" : "held";
  }

  granted(hold: ModelHold, hash: string, now: number): void {
    this.held += hold.amount;
    this.holds.push(hold);
    if (hold.key !== null) this.records.set(hold.key, { hash, at: now, reply: undefined, hold });
  }
}

/** The ledger under test: two stores on one file, and a clock that the commands move. */
interface Table {
  readonly stores: readonly [Store, Store];
  time: number;
  accounts: number;
  commands: number;
}

async function follow(table: Table, sequence: readonly Command[]): Promise<void> {
  const { stores } = table;
  table.accounts += 1;
  const accountId = `account-${table.accounts}`;
  const model = new Model();
  await stores[0].createAccount(accountId, accountId);
  const keyIds = Array.from({ length: KEYS }, (_, n) => `${accountId}-${n}`);
  for (const [n, id] of keyIds.entries()) {
    const key = {
      id,
      name: id,
      mode: "live" as const,
      prefix: "p",
      hash: hashOf(id),
      accountId,
      createdAt: 1,
    };
    // The third follows the second: they share a cap.
    await stores[0].createKey({ ...key, ...(n === 2 ? { rotatedFrom: `${accountId}-1` } : {}) });
  }
  const idOf = (n: number): string => keyIds[n] ?? "";
  for (const each of sequence) {
    table.commands += 1;
    if (each.kind === "wait") table.time += each.hours * 3_600_000;
    else if (each.kind === "grant") {
      const amount = credits(BigInt(each.amount));
      model.balance += amount;
      expect((await stores[each.store].grant(accountId, "live", amount, "")).balance).toBe(
        model.balance,
      );
    } else if (each.kind === "hold") {
      const amount = credits(BigInt(each.amount));
      const hash = `content-${each.content}`;
      const idempotency =
        each.key === null ? {} : { idempotency: { key: `key-${each.key}`, requestHash: hash } };
      const requests = Array.from({ length: each.burst }, () => randomUUID());
      const outcomes = await Promise.all(
        requests.map((requestId) =>
          stores[each.store].hold(
            holdRequest(amount, { accountId, requestId, keyId: idOf(each.by), ...idempotency }),
          ),
        ),
      );
      for (const [n, outcome] of outcomes.entries()) {
        expect(outcome.kind).toBe(model.hold(amount, each.key, hash, table.time, each.by));
        if (outcome.kind === "held") {
          const made = {
            id: outcome.holdId,
            amount,
            key: each.key,
            by: each.by,
            charged: 0n,
            refunded: 0n,
          };
          const requestId = requests[n] ?? "";
          model.granted({ ...made, requestId, state: "pending" }, hash, table.time);
          expect([outcome.balance, outcome.held]).toEqual([model.balance, model.held]);
        }
        if (outcome.kind === "replay" && each.key !== null) {
          expect(outcome.reply).toEqual(model.records.get(each.key)?.reply);
        }
      }
    } else if (each.kind === "refund" || each.kind === "deduct" || each.kind === "again") {
      await adjust(model, accountId, each, stores[each.store]);
    } else if (each.kind === "cap") {
      const chain = chainOf(each.by);
      const { held, spent } = model.spent(chain);
      const cap = each.cap === null ? null : credits(BigInt(each.cap));
      const set = stores[each.store].updateKey(idOf(each.by), { maxCredits: cap });
      if (cap !== null && cap < spent + held) await expect(set).rejects.toThrow(RangeError);
      else {
        expect((await set).budget).toEqual(cap === null ? null : { cap, spent, held });
        if (cap === null) model.caps.delete(chain);
        else model.caps.set(chain, cap);
      }
    } else if (each.kind === "expire") {
      const end = each.hours === null ? null : table.time + each.hours * 3_600_000;
      expect(
        (await stores[each.store].updateKey(idOf(each.by), { expiresAt: end })).expiresAt,
      ).toBe(end);
      if (end === null) model.ends.delete(each.by);
      else model.ends.set(each.by, end);
    } else if (each.kind === "suspend") {
      const changed = await stores[each.store].suspendAccount(accountId, each.suspended);
      expect(changed).toBe(model.suspended !== each.suspended);
      model.suspended = each.suspended;
    } else {
      const hold = model.holds[each.nth % Math.max(1, model.holds.length)];
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
        reply: (balance) => ({
          status: 200,
          headers: { h: hold.id },
          body: `${hold.id} ${balance}`,
        }),
      });
      if (amount > hold.amount && hold.state === "pending")
        await expect(settling).rejects.toThrow(OverchargeError);
      else if (hold.state !== "pending") await expect(settling).rejects.toThrow(HoldResolvedError);
      else {
        hold.state = "posted";
        hold.charged = amount;
        model.balance -= amount;
        model.held -= hold.amount;
        const { balance, reply } = await settling;
        expect([balance, reply.body]).toEqual([model.balance, `${hold.id} ${model.balance}`]);
        if (record?.hold === hold) {
          record.reply = reply;
          record.at = table.time;
        }
      }
    }
    const { balance, held } = await stores[1].balance(accountId, "live");
    expect([balance, held]).toEqual([model.balance, model.held]);
    for (const { budget, id } of await stores[0].listKeys(accountId)) {
      const chain = chainOf(keyIds.indexOf(id));
      const cap = model.caps.get(chain);
      expect(budget).toEqual(cap === undefined ? null : { cap, ...model.spent(chain) });
    }
  }
  const entries = await stores[1].entries({ accountId, limit: 1_000 });
  expect(entries.reduce((sum, { amount }) => sum + amount, 0n)).toBe(model.balance);
}

async function adjust(
  model: Model,
  accountId: string,
  each: Extract<Command, { readonly kind: "refund" | "deduct" | "again" }>,
  by: Store,
): Promise<void> {
  if (each.kind === "again") {
    // One reference for the whole life of the account: only the first does anything.
    const { repeated } = await by.grant(accountId, "live", credits(3n), {
      reference: "once",
      note: "",
    });
    expect(repeated).toBe(model.once);
    if (!model.once) model.balance += 3n;
    model.once = true;
    return;
  }
  if (each.kind === "deduct") {
    const amount = credits(BigInt(each.amount));
    const deducted = by.deduct(accountId, "live", amount, { note: "" });
    if (model.balance - model.held < amount) await expect(deducted).rejects.toThrow(RangeError);
    else model.balance -= amount;
    return void (await deducted.catch(() => undefined));
  }
  const hold = model.holds[each.nth % Math.max(1, model.holds.length)];
  const entries = await by.entries({ accountId, kind: "charge", limit: 1_000 });
  const charge = entries.find(
    ({ requestId }) => hold !== undefined && requestId === hold.requestId,
  );
  if (hold === undefined || charge === undefined) return;
  const left = hold.charged - hold.refunded;
  const amount = each.amount === null ? left : BigInt(each.amount);
  const refunding = by.refund(charge.id, each.amount === null ? undefined : credits(amount), {
    note: "",
  });
  if (amount <= 0n || amount > left)
    return void (await expect(refunding).rejects.toThrow(RangeError));
  hold.refunded += amount;
  model.balance += amount;
  expect((await refunding).balance).toBe(model.balance);
}

export const model: Campaign = {
  name: "model",
  seed: 20_260_505,
  cases: { quick: 25, whole: 100_000 },
  control: {
    without: "that a call is charged once",
    seen: /^expected .* to (?:deeply )?(?:be|equal)/,
  },

  async run({ cases, isBroken, seed }) {
    let clock = (): number => START;
    const ledger = await temporaryLedger({
      now: () => clock(),
      synchronous: "NORMAL",
      groupWaitMs: 0,
    });
    // One that waits for company and one that commits each change by itself.
    const sound = [ledger.store, await ledger.another({ groupSize: 1 })] as const;
    const requests = new Map<string, HoldRequest>();
    const stores = isBroken
      ? ([doubling(sound[0], requests), doubling(sound[1], requests)] as const)
      : sound;
    const table: Table = { stores, time: START, accounts: 0, commands: 0 };
    clock = () => table.time;

    try {
      const property = fc.asyncProperty(
        fc.array(command, { minLength: 3, maxLength: 25 }),
        // Without credits nearly all of it is refused: there are some to begin with.
        (sequence) => follow(table, [{ kind: "grant", amount: 40, store: 1 }, ...sequence]),
      );
      await fc.assert(property, { numRuns: cases, seed, verbose: 1, endOnFailure: isBroken });
      expect(await ledger.store.verify()).toEqual([]);
      expect((await ledger.store.account("account-1"))?.plan).toEqual(STANDARD_PLAN);
      return { sequences: cases, commands: table.commands };
    } finally {
      await ledger.close();
    }
  },
};
