import { DatabaseSync } from "@photostructure/sqlite";
import fc from "fast-check";
import { expect } from "vitest";
import type { Store } from "../../../src/service/ledger/ledger.ts";
import { credits } from "../../../src/shared/contract/money.ts";
import {
  ACCOUNT,
  held,
  holdRequest,
  type TestLedger,
  temporaryLedger,
} from "../../support/store.ts";
import type { Campaign } from "../campaign.ts";
import { losing } from "./broken.ts";

// Changes that come together are gathered and written many at a time. Whatever they are, the ledger must end up row for row as if
// each had come alone, and every caller must be told the same.
const START = Date.UTC(2026, 4, 5);
const OTHER_ACCOUNT = "bolt";

type Change =
  | {
      readonly kind: "hold";
      readonly account: number;
      readonly amount: number;
      readonly key: number | null;
    }
  | {
      readonly kind: "settle";
      readonly nth: number;
      readonly share: number;
      readonly broken: boolean;
    }
  | { readonly kind: "release"; readonly nth: number }
  | { readonly kind: "grant"; readonly account: number; readonly amount: number };

interface Round {
  /** Holds that another process resolves behind the back of the one under test. */
  readonly stolen: readonly number[];
  readonly together: readonly Change[];
}

const account = fc.integer({ min: 0, max: 2 });
const nth = fc.nat(9);
const hold = fc.record({
  kind: fc.constant("hold" as const),
  account,
  amount: fc.integer({ min: 0, max: 9 }),
  key: fc.option(fc.integer({ min: 0, max: 2 }), { freq: 2 }),
});
const settle = fc.record({
  kind: fc.constant("settle" as const),
  nth,
  share: fc.constantFrom(0, 50, 100, 100, 120),
  broken: fc.constantFrom(false, false, false, true),
});
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: hold },
  { weight: 4, arbitrary: settle },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("release" as const), nth }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("grant" as const),
      account,
      amount: fc.integer({ min: 1, max: 30 }),
    }),
  },
);
const round: fc.Arbitrary<Round> = fc.record({
  stolen: fc.array(nth, { maxLength: 3 }),
  together: fc.array(change, { minLength: 1, maxLength: 14 }),
});

/** The third does not exist. */
const accountId = (index: number): string => [ACCOUNT, OTHER_ACCOUNT, "nobody"][index] ?? "";
const isDurable = ({ kind }: Change): boolean => kind === "settle" || kind === "grant";

/** One ledger with the process under test, and another process on the same file. */
class Side {
  /** Of earlier rounds: what was granted in this one is not known to its other callers. */
  #holds: readonly { readonly id: string; readonly amount: bigint }[] = [];
  readonly #granted: { readonly id: string; readonly amount: bigint }[] = [];
  #requests = 0;
  readonly #ledger: TestLedger;
  readonly store: Store;
  readonly #thief: Store;

  private constructor(ledger: TestLedger, thief: Store, store: Store) {
    this.#ledger = ledger;
    this.store = store;
    this.#thief = thief;
  }

  static async open(groupSize: number, wrap = (store: Store) => store): Promise<Side> {
    const ledger = await temporaryLedger({
      now: () => START,
      synchronous: "NORMAL",
      groupWaitMs: 0,
      groupSize,
      live: 60,
    });
    await ledger.store.createAccount(OTHER_ACCOUNT, "Bolt");
    // The first hold makes its process known before; those after it travel with their group.
    await ledger.store.release(await held(ledger.store, credits(0n), { requestId: "first" }));
    return new Side(ledger, await ledger.another(), wrap(ledger.store));
  }

  async startRound(stolen: readonly number[]): Promise<void> {
    this.#holds = [...this.#granted];
    for (const which of stolen) {
      const found = this.#holds[which];
      if (found !== undefined) await this.#thief.release(found.id);
    }
  }

  /** @returns what the caller learns, comparable */
  async apply(each: Change): Promise<unknown> {
    const request = `request-${++this.#requests}`;
    try {
      return await this.#do(each, request);
    } catch (error) {
      return String(error);
    }
  }

  async #do(each: Change, requestId: string): Promise<unknown> {
    if (each.kind === "grant") {
      const { balance, held } = await this.store.grant(
        accountId(each.account),
        "live",
        millions(each.amount),
        requestId,
      );
      return [balance, held];
    }
    if (each.kind === "hold") {
      const idempotency =
        each.key === null ? {} : { idempotency: { key: `key-${each.key}`, requestHash: "same" } };
      const amount = millions(each.amount);
      const outcome = await this.store.hold(
        holdRequest(amount, { accountId: accountId(each.account), requestId, ...idempotency }),
      );
      if (outcome.kind === "held") this.#granted.push({ id: outcome.holdId, amount });
      return outcome;
    }
    const found = this.#holds[each.nth] ?? { id: "4711", amount: 0n };
    if (each.kind === "release") return this.store.release(found.id);
    const amount = credits((found.amount * BigInt(each.share)) / 100n);
    return this.store.settle({
      holdId: found.id,
      amount,
      reply: (balance) => {
        if (each.broken) throw new Error("this reply cannot be built");
        return { status: 200, headers: { "x-a": "é" }, body: `${found.id} ${balance}` };
      },
    });
  }

  /** Every row that money touches, but for what names the process. */
  rows(): unknown[] {
    const database = new DatabaseSync(this.#ledger.path, { readOnly: true });
    try {
      return [
        "SELECT account_id, mode, balance, held FROM balances ORDER BY account_id, mode",
        `SELECT id, account_id, mode, key_id, call, amount, state, posted, request_id, idempotency_key, created_at, resolved_at
         FROM holds ORDER BY id`,
        // Each grant has a random name of its own.
        `SELECT id, account_id, mode, kind, amount, balance_after, hold_id, note, day, created_at FROM entries ORDER BY id`,
        "SELECT * FROM idempotency ORDER BY hold_id",
        "SELECT * FROM usage ORDER BY account_id, mode, day, key_id, call",
      ].map((sql) => database.prepare(sql, { readBigInts: true }).all());
    } finally {
      database.close();
    }
  }

  async close(): Promise<void> {
    expect(await this.store.verify()).toEqual([]);
    await this.#ledger.close();
  }
}

const millions = (amount: number) => credits(BigInt(amount) * 1_000_000n);

async function follow(rounds: readonly Round[], isBroken: boolean): Promise<void> {
  const together = await Side.open(64, isBroken ? losing : undefined);
  const alone = await Side.open(1);
  try {
    for (const { stolen, together: changes } of rounds) {
      // In a group what needs no sync comes first.
      const ordered = [...changes.filter((each) => !isDurable(each)), ...changes.filter(isDurable)];
      await together.startRound(stolen);
      await alone.startRound(stolen);
      const learned = await Promise.all(ordered.map((each) => together.apply(each)));
      const expected: unknown[] = [];
      for (const each of ordered) expected.push(await alone.apply(each));
      expect(learned).toEqual(expected);
      expect(together.rows()).toEqual(alone.rows());
    }
  } finally {
    await together.close();
    await alone.close();
  }
}

export const groups: Campaign = {
  name: "groups",
  seed: 20_261_121,
  cases: { quick: 5, whole: 5_000 },
  control: {
    without: "what every second call costs",
    seen: /^expected .* to deeply equal/,
  },

  async run({ cases, isBroken, seed }) {
    const property = fc.asyncProperty(fc.array(round, { minLength: 2, maxLength: 6 }), (rounds) =>
      follow(rounds, isBroken),
    );
    await fc.assert(property, {
      numRuns: isBroken ? 25 : cases,
      seed,
      verbose: 1,
      endOnFailure: isBroken,
    });
    return { sequences: cases };
  },
};
