import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Credits, credits } from "../../src/contract/money.ts";
import { makeApiKey } from "../../src/service/keys.ts";
import {
  HoldResolvedError,
  OverchargeError,
  STANDARD_PLAN,
  type Store,
  StoreConflictError,
  StoreUnavailableError,
  UnknownAccountError,
} from "../../src/service/ledger/ledger.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest } from "../support/store.ts";

export interface Backend {
  /** A fresh, empty store. */
  open(now: () => number): Promise<Store>;
  /** Another store on the same data, as a second process would open it. */
  another(now: () => number): Promise<Store>;
  /** Closes and removes everything. */
  cleanUp(): Promise<void>;
}

const START = Date.UTC(2026, 4, 5, 12);
const HOUR = 3_600_000;

/** What every store promises, whatever is behind it. */
export function conformance(name: string, makeBackend: () => Promise<Backend>): void {
  describe(`a ledger on ${name}`, () => {
    let backend: Backend;
    let store: Store;
    let time: number;
    const now = (): number => time;

    beforeEach(async () => {
      time = START;
      backend = await makeBackend();
      store = await backend.open(now);
      await fund(store, 100, 50);
    });
    afterEach(async () => {
      // I1-I3 and I7 after every single test.
      expect(
        await store.verify().catch((error: unknown) => (error instanceof StoreUnavailableError ? [] : [String(error)])),
      ).toEqual([]);
      await backend.cleanUp();
    });

    const balanceOf = async (mode: "live" | "test" = "live"): Promise<[Credits, Credits]> => {
      const { balance, held } = await store.balance(ACCOUNT, mode);
      return [balance, held];
    };

    describe("holds", () => {
      it("reserves, charges what was used and gives the rest back", async () => {
        const outcome = await store.hold(holdRequest(c(25)));
        expect(outcome).toMatchObject({ kind: "held", balance: c(100), held: c(25) });
        const id = outcome.kind === "held" ? outcome.holdId : "";
        const settled = await store.settle({ holdId: id, amount: c(7), reply: answer("seven") });
        expect(settled.balance).toBe(c(93));
        expect(settled.reply).toEqual({ status: 200, headers: { "x-a": "é" }, body: `seven ${c(93)}` });
        expect(await balanceOf()).toEqual([c(93), 0n]);
      });

      it("refuses what the balance less other holds does not cover, and leaves no trace", async () => {
        await held(store, c(80));
        expect(await store.hold(holdRequest(c(21)))).toEqual({ kind: "insufficient", balance: c(100), held: c(80) });
        expect(await store.hold(holdRequest(c(20)))).toMatchObject({ kind: "held", held: c(100) });
      });

      it("charges fractions exactly", async () => {
        const third = credits(333_333n);
        for (let n = 0; n < 3; n += 1) {
          await store.settle({ holdId: await held(store, third), amount: third, reply: answer() });
        }
        expect(await balanceOf()).toEqual([credits(99_000_001n), 0n]);
      });

      it("charges nothing for an empty result, and keeps the reply", async () => {
        const id = await held(store, c(5), { idempotency: { key: "k", requestHash: "h" } });
        await store.settle({ holdId: id, amount: c(0), reply: answer("none") });
        expect(await balanceOf()).toEqual([c(100), 0n]);
        const again = await store.hold(holdRequest(c(5), { idempotency: { key: "k", requestHash: "h" } }));
        expect(again.kind).toBe("replay");
      });

      it("gives everything back on release, and a second release changes nothing", async () => {
        const id = await held(store, c(40));
        expect(await store.release(id)).toBe(c(100));
        expect(await store.release(id)).toBe(c(100));
        expect(await balanceOf()).toEqual([c(100), 0n]);
      });

      it("resolves a hold exactly once", async () => {
        const posted = await held(store, c(10));
        await store.settle({ holdId: posted, amount: c(10), reply: answer() });
        await expect(store.settle({ holdId: posted, amount: c(1), reply: answer() })).rejects.toThrow(
          HoldResolvedError,
        );
        expect(await store.release(posted)).toBe(c(90));
        const voided = await held(store, c(10));
        await store.release(voided);
        await expect(store.settle({ holdId: voided, amount: c(1), reply: answer() })).rejects.toThrow(
          HoldResolvedError,
        );
        expect(await balanceOf()).toEqual([c(90), 0n]);
      });

      it("resolves once also when both come at the same moment", async () => {
        const id = await held(store, c(10));
        const results = await Promise.allSettled([
          store.settle({ holdId: id, amount: c(10), reply: answer() }),
          store.settle({ holdId: id, amount: c(9), reply: answer() }),
          store.release(id),
        ]);
        const charged = results.slice(0, 2).filter((result) => result.status === "fulfilled").length;
        const [balance] = await balanceOf();
        expect(charged).toBeLessThanOrEqual(1);
        expect([c(100), c(91), c(90)]).toContain(balance);
        expect(balance === c(100) ? 0 : 1).toBe(charged);
      });

      it("refuses a charge above the hold, below zero, or on a hold that never was", async () => {
        const id = await held(store, c(10));
        await expect(store.settle({ holdId: id, amount: c(11), reply: answer() })).rejects.toThrow(OverchargeError);
        await expect(store.settle({ holdId: id, amount: c(-1), reply: answer() })).rejects.toThrow(RangeError);
        await expect(store.settle({ holdId: "999999", amount: c(1), reply: answer() })).rejects.toThrow(
          HoldResolvedError,
        );
        await expect(store.settle({ holdId: "'; --", amount: c(1), reply: answer() })).rejects.toThrow(
          HoldResolvedError,
        );
        expect(await balanceOf()).toEqual([c(100), c(10)]);
        await expect(store.hold(holdRequest(c(-1)))).rejects.toThrow(RangeError);
      });

      it("charges nothing when the answer cannot be built", async () => {
        const id = await held(store, c(10), { idempotency: { key: "k", requestHash: "h" } });
        const broken = (): never => {
          throw new Error("no answer");
        };
        await expect(store.settle({ holdId: id, amount: c(10), reply: broken })).rejects.toThrow("no answer");
        expect(await balanceOf()).toEqual([c(100), c(10)]);
        await store.release(id);
        expect(await balanceOf()).toEqual([c(100), 0n]);
      });

      it("fails one request of a group and none of its neighbours", async () => {
        const ids = await Promise.all(Array.from({ length: 20 }, () => held(store, c(1))));
        const results = await Promise.allSettled(
          ids.map((holdId, n) => store.settle({ holdId, amount: n % 5 === 0 ? c(2) : c(1), reply: answer() })),
        );
        expect(results.filter((result) => result.status === "rejected")).toHaveLength(4);
        expect(await balanceOf()).toEqual([c(84), c(4)]);
      });

      it("never grants more than the balance to many at once", async () => {
        const outcomes = await Promise.all(Array.from({ length: 200 }, () => store.hold(holdRequest(c(3)))));
        expect(outcomes.filter((outcome) => outcome.kind === "held")).toHaveLength(33);
        expect(await balanceOf()).toEqual([c(100), c(99)]);
      });

      it("keeps live and test money apart", async () => {
        const id = await held(store, c(50), { mode: "test" });
        await store.settle({ holdId: id, amount: c(50), reply: answer() });
        expect(await balanceOf("test")).toEqual([c(0), 0n]);
        expect(await balanceOf("live")).toEqual([c(100), 0n]);
      });

      it("says so when the account is unknown", async () => {
        await expect(store.hold(holdRequest(c(1), { accountId: "nobody" }))).rejects.toThrow(UnknownAccountError);
        await expect(store.balance("nobody", "live")).rejects.toThrow(UnknownAccountError);
        await expect(store.grant("nobody", "live", c(1), "")).rejects.toThrow(UnknownAccountError);
        expect(await store.account("nobody")).toBeUndefined();
      });

      it("counts what was charged today, by the UTC day", async () => {
        time = Date.UTC(2026, 4, 5, 23, 59, 59, 999);
        await store.settle({ holdId: await held(store, c(5)), amount: c(4), reply: answer() });
        expect((await store.balance(ACCOUNT, "live")).usedToday).toBe(c(4));
        time += 1;
        expect((await store.balance(ACCOUNT, "live")).usedToday).toBe(0n);
        await store.settle({ holdId: await held(store, c(5)), amount: c(5), reply: answer() });
        expect((await store.balance(ACCOUNT, "live")).usedToday).toBe(c(5));
      });

      it("keeps balances that a float could not", async () => {
        await store.grant(ACCOUNT, "live", credits(8_999_999_000_000_001n - 100_000_000n), "a lot");
        await store.settle({ holdId: await held(store, credits(1n)), amount: credits(1n), reply: answer() });
        expect(await balanceOf()).toEqual([credits(8_999_999_000_000_000n), 0n]);
        await expect(store.grant(ACCOUNT, "live", c(1_000_000_000), "too much")).rejects.toThrow(/cannot exceed/);
      });
    });

    describe("idempotency", () => {
      const idempotency = { key: "k-1", requestHash: "hash-1" };

      it("replays the reply byte for byte and charges nothing", async () => {
        const id = await held(store, c(25), { idempotency });
        const body = '{"a":"ü\u2028\\u0000 \u{1f600}"}';
        const headers = { "x-request-id": "r-1", "x-total-count": "12" };
        await store.settle({ holdId: id, amount: c(7), reply: () => ({ status: 200, headers, body }) });
        const again = await store.hold(holdRequest(c(25), { idempotency }));
        expect(again).toEqual({ kind: "replay", reply: { status: 200, headers, body } });
        expect(await balanceOf()).toEqual([c(93), 0n]);
      });

      it("replays with an empty balance", async () => {
        await store.settle({ holdId: await held(store, c(100), { idempotency }), amount: c(100), reply: answer() });
        expect((await store.hold(holdRequest(c(100), { idempotency }))).kind).toBe("replay");
        expect((await store.hold(holdRequest(c(1)))).kind).toBe("insufficient");
      });

      it("tells a call in flight and another request apart", async () => {
        const id = await held(store, c(25), { idempotency });
        const other = { key: "k-1", requestHash: "hash-2" };
        expect(await store.hold(holdRequest(c(25), { idempotency }))).toEqual({ kind: "in_flight" });
        expect(await store.hold(holdRequest(c(25), { idempotency: other }))).toEqual({ kind: "mismatch" });
        await store.settle({ holdId: id, amount: c(1), reply: answer() });
        expect(await store.hold(holdRequest(c(25), { idempotency: other }))).toEqual({ kind: "mismatch" });
        expect(await balanceOf()).toEqual([c(99), 0n]);
      });

      it("lets one of many simultaneous requests through", async () => {
        const outcomes = await Promise.all(
          Array.from({ length: 30 }, () => store.hold(holdRequest(c(1), { idempotency }))),
        );
        expect(outcomes.filter((outcome) => outcome.kind === "held")).toHaveLength(1);
        expect(outcomes.filter((outcome) => outcome.kind === "in_flight")).toHaveLength(29);
      });

      it("forgets a call that failed: the retry is a new call", async () => {
        await store.release(await held(store, c(25), { idempotency }));
        expect((await store.hold(holdRequest(c(25), { idempotency }))).kind).toBe("held");
      });

      it("keeps no record of a refusal", async () => {
        expect((await store.hold(holdRequest(c(101), { idempotency }))).kind).toBe("insufficient");
        await store.grant(ACCOUNT, "live", c(1), "top up");
        expect((await store.hold(holdRequest(c(101), { idempotency }))).kind).toBe("held");
      });

      it("is scoped to account, mode and call", async () => {
        await store.createAccount("other", "Other");
        await store.grant("other", "live", c(10), "first");
        await store.settle({ holdId: await held(store, c(1), { idempotency }), amount: c(1), reply: answer() });
        for (const scope of [{ accountId: "other" }, { mode: "test" as const }, { call: "company_enrich" as const }]) {
          expect((await store.hold(holdRequest(c(1), { idempotency, ...scope }))).kind).toBe("held");
        }
      });

      it("keeps a record for 24 hours", async () => {
        await store.settle({ holdId: await held(store, c(1), { idempotency }), amount: c(1), reply: answer() });
        time += 24 * HOUR - 1;
        expect((await store.hold(holdRequest(c(1), { idempotency }))).kind).toBe("replay");
        time += 1;
        expect((await store.hold(holdRequest(c(1), { idempotency }))).kind).toBe("held");
      });

      it("keeps a record also when the clock is set back", async () => {
        await store.settle({ holdId: await held(store, c(1), { idempotency }), amount: c(1), reply: answer() });
        time -= 30 * HOUR;
        expect((await store.hold(holdRequest(c(1), { idempotency }))).kind).toBe("replay");
      });
    });

    describe("keys", () => {
      const make = async (id: string, mode: "live" | "test" = "live"): Promise<string> => {
        const key = makeApiKey(mode);
        const { hash, prefix } = key;
        await store.createKey({ id, name: id, mode, prefix, hash, accountId: ACCOUNT, createdAt: START });
        return hash;
      };

      it("finds a key by its hash and nothing else", async () => {
        const hash = await make("one");
        expect(await store.findKey(hash)).toMatchObject({
          id: "one",
          mode: "live",
          accountId: ACCOUNT,
          accountName: "Acme",
          revokedAt: null,
        });
        expect(await store.findKey(hash.replace(/^./, (digit) => (digit === "0" ? "1" : "0")))).toBeUndefined();
        expect(await store.findKey("")).toBeUndefined();
        expect(await store.findKey("' OR 1=1 --")).toBeUndefined();
      });

      it("refuses a revoked key at once, and keeps it in the list", async () => {
        const hash = await make("one");
        const other = await make("two", "test");
        await store.findKey(hash);
        expect(await store.revokeKey("one")).toBe(true);
        expect(await store.findKey(hash)).toBeUndefined();
        expect(await store.findKey(other)).toBeDefined();
        expect(await store.revokeKey("one")).toBe(false);
        expect(await store.revokeKey("three")).toBe(false);
        expect((await store.listKeys(ACCOUNT)).map((key) => [key.id, key.revokedAt])).toEqual([
          ["one", START],
          ["two", null],
        ]);
      });

      it("refuses a second key with the same id or secret, and one of an unknown account", async () => {
        const hash = await make("one");
        const key = {
          id: "two",
          name: "",
          mode: "live" as const,
          prefix: "p",
          hash,
          accountId: ACCOUNT,
          createdAt: START,
        };
        await expect(store.createKey(key)).rejects.toThrow(StoreConflictError);
        await expect(store.createKey({ ...key, id: "one", hash: "0".repeat(64) })).rejects.toThrow(StoreConflictError);
        await expect(store.createKey({ ...key, hash: "1".repeat(64), accountId: "nobody" })).rejects.toThrow(
          UnknownAccountError,
        );
      });
    });

    describe("accounts, plans and counters", () => {
      it("starts with the standard plan and takes another", async () => {
        expect(await store.account(ACCOUNT)).toEqual({ id: ACCOUNT, name: "Acme", plan: STANDARD_PLAN });
        const plan = {
          ...STANDARD_PLAN,
          name: "big",
          perMinute: 5,
          costs: { ...STANDARD_PLAN.costs, person_search: credits(250_000n) },
        };
        await store.setPlan(ACCOUNT, plan);
        expect((await store.account(ACCOUNT))?.plan).toEqual(plan);
        await expect(store.setPlan("nobody", plan)).rejects.toThrow(UnknownAccountError);
        for (const bad of [
          { perMinute: 0 },
          { perDay: 1.5 },
          { costs: { person_search: c(-1) } },
          { costs: { company_enrich: c(1_000_001) } },
        ]) {
          await expect(async () => store.setPlan(ACCOUNT, { ...plan, ...bad })).rejects.toThrow(RangeError);
        }
      });

      it("refuses a second account of the same id, and a grant that adds nothing", async () => {
        await expect(store.createAccount(ACCOUNT, "Again")).rejects.toThrow(StoreConflictError);
        await expect(store.grant(ACCOUNT, "live", c(0), "")).rejects.toThrow(RangeError);
        await expect(store.grant(ACCOUNT, "live", c(-5), "")).rejects.toThrow(RangeError);
        expect(await balanceOf()).toEqual([c(100), 0n]);
      });

      it("adds up the calls of a day per key", async () => {
        const day = "2026-05-05";
        await Promise.all([
          store.recordCalls([
            { keyId: "a", day, count: 2 },
            { keyId: "b", day, count: 1 },
          ]),
          store.recordCalls([
            { keyId: "a", day, count: 3 },
            { keyId: "a", day: "2026-05-06", count: 9 },
          ]),
        ]);
        const counts = [...(await store.callsOfDay(day))].sort((x, y) => x.keyId.localeCompare(y.keyId));
        expect(counts).toEqual([
          { keyId: "a", day, count: 5 },
          { keyId: "b", day, count: 1 },
        ]);
      });
    });

    describe("two stores on one ledger", () => {
      it("see each other's holds, charges, keys and revocations", async () => {
        const other = await backend.another(now);
        const id = await held(store, c(60));
        expect((await other.hold(holdRequest(c(41)))).kind).toBe("insufficient");
        const second = await held(other, c(40));
        await store.settle({ holdId: id, amount: c(60), reply: answer() });
        await other.settle({ holdId: second, amount: c(1), reply: answer() });
        expect((await other.balance(ACCOUNT, "live")).balance).toBe(c(39));
      });

      it("change a plan at the same moment, and both changes are kept", async () => {
        const other = await backend.another(now);
        for (let round = 1; round <= 10; round += 1) {
          const [one, two] = await Promise.all([
            store.setPlan(ACCOUNT, { perMinute: round, name: `plan-${round}` }),
            other.setPlan(ACCOUNT, { costs: { person_search: c(round) } }),
          ]);
          expect([one.perMinute, two.costs.person_search]).toEqual([round, c(round)]);
          const late = await backend.another(now);
          const plan = (await late.account(ACCOUNT))?.plan;
          expect(plan).toEqual({
            ...STANDARD_PLAN,
            perMinute: round,
            name: `plan-${round}`,
            costs: { ...STANDARD_PLAN.costs, person_search: c(round) },
          });
          await late.close();
        }
      });

      it("share idempotency", async () => {
        const other = await backend.another(now);
        const idempotency = { key: "k", requestHash: "h" };
        const id = await held(store, c(5), { idempotency });
        expect((await other.hold(holdRequest(c(5), { idempotency }))).kind).toBe("in_flight");
        const { reply } = await store.settle({ holdId: id, amount: c(5), reply: answer() });
        expect(await other.hold(holdRequest(c(5), { idempotency }))).toEqual({ kind: "replay", reply });
      });

      it("never void the holds of one that lives", async () => {
        const other = await backend.another(now);
        const id = await held(store, c(60));
        time += 10 * HOUR;
        expect(await other.recover(0)).toBe(0);
        expect(await store.recover(0)).toBe(0);
        await store.settle({ holdId: id, amount: c(60), reply: answer() });
      });

      it("race for the same money without overdrawing it", async () => {
        const other = await backend.another(now);
        const outcomes = await Promise.all(
          Array.from({ length: 120 }, (_, n) => (n % 2 === 0 ? store : other).hold(holdRequest(c(3)))),
        );
        expect(outcomes.filter((outcome) => outcome.kind === "held")).toHaveLength(33);
      });
    });

    it("gives back what nobody settled when it is closed, and refuses everything afterwards", async () => {
      const other = await backend.another(now);
      await held(other, c(30), { idempotency: { key: "k", requestHash: "h" } });
      await other.close();
      expect(await balanceOf()).toEqual([c(100), 0n]);
      await expect(other.hold(holdRequest(c(1)))).rejects.toThrow(StoreUnavailableError);
      await expect(other.balance(ACCOUNT, "live")).rejects.toThrow(StoreUnavailableError);
      await expect(other.findKey("a".repeat(64))).rejects.toThrow(StoreUnavailableError);
      await other.close();
    });
  });
}
