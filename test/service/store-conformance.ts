import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  HoldResolvedError,
  OverchargeError,
  SoldMeanwhileError,
  StoreConflictError,
  StoreUnavailableError,
  UnknownAccountError,
} from "../../src/service/ledger/errors.ts";
import {
  type EntryQuery,
  type HoldRequest,
  type NewKey,
  STANDARD_PLAN,
  type Store,
  type UsageGroup,
} from "../../src/service/ledger/ledger.ts";
import { makeApiKey } from "../../src/service/money/keys.ts";
import { type Credits, credits } from "../../src/shared/contract/money.ts";
import {
  ACCOUNT,
  answer,
  c,
  exportItem,
  fund,
  held,
  holdRequest,
  keyOf,
} from "../support/store.ts";

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
        await store
          .verify()
          .catch((error: unknown) =>
            error instanceof StoreUnavailableError ? [] : [String(error)],
          ),
      ).toEqual([]);
      await backend.cleanUp();
    });

    const balanceOf = async (mode: "live" | "test" = "live"): Promise<[Credits, Credits]> => {
      const { balance, held } = await store.balance(ACCOUNT, mode);
      expect(await store.money(ACCOUNT, mode)).toEqual({ balance, held });
      return [balance, held];
    };

    describe("holds", () => {
      it("reserves, charges what was used and gives the rest back", async () => {
        const outcome = await store.hold(holdRequest(c(25)));
        expect(outcome).toMatchObject({ kind: "held", balance: c(100), held: c(25) });
        const id = outcome.kind === "held" ? outcome.holdId : "";
        const settled = await store.settle({ holdId: id, amount: c(7), reply: answer("seven") });
        expect(settled.balance).toBe(c(93));
        expect(settled.reply).toEqual({
          status: 200,
          headers: { "x-a": "é" },
          body: `seven ${c(93)}`,
        });
        expect(await balanceOf()).toEqual([c(93), 0n]);
      });

      it("refuses what the balance less other holds does not cover, and leaves no trace", async () => {
        await held(store, c(80));
        expect(await store.hold(holdRequest(c(21)))).toEqual({
          kind: "insufficient",
          balance: c(100),
          held: c(80),
        });
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
        const again = await store.hold(
          holdRequest(c(5), { idempotency: { key: "k", requestHash: "h" } }),
        );
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
        await expect(
          store.settle({ holdId: posted, amount: c(1), reply: answer() }),
        ).rejects.toThrow(HoldResolvedError);
        expect(await store.release(posted)).toBe(c(90));
        const voided = await held(store, c(10));
        await store.release(voided);
        await expect(
          store.settle({ holdId: voided, amount: c(1), reply: answer() }),
        ).rejects.toThrow(HoldResolvedError);
        expect(await balanceOf()).toEqual([c(90), 0n]);
      });

      it("resolves once also when both come at the same moment", async () => {
        const id = await held(store, c(10));
        const results = await Promise.allSettled([
          store.settle({ holdId: id, amount: c(10), reply: answer() }),
          store.settle({ holdId: id, amount: c(9), reply: answer() }),
          store.release(id),
        ]);
        const charged = results
          .slice(0, 2)
          .filter((result) => result.status === "fulfilled").length;
        const [balance] = await balanceOf();
        expect(charged).toBeLessThanOrEqual(1);
        expect([c(100), c(91), c(90)]).toContain(balance);
        expect(balance === c(100) ? 0 : 1).toBe(charged);
      });

      it("refuses a charge above the hold, below zero, or on a hold that never was", async () => {
        const id = await held(store, c(10));
        await expect(store.settle({ holdId: id, amount: c(11), reply: answer() })).rejects.toThrow(
          OverchargeError,
        );
        await expect(store.settle({ holdId: id, amount: c(-1), reply: answer() })).rejects.toThrow(
          RangeError,
        );
        await expect(
          store.settle({ holdId: "999999", amount: c(1), reply: answer() }),
        ).rejects.toThrow(HoldResolvedError);
        await expect(
          store.settle({ holdId: "'; --", amount: c(1), reply: answer() }),
        ).rejects.toThrow(HoldResolvedError);
        expect(await balanceOf()).toEqual([c(100), c(10)]);
        await expect(store.hold(holdRequest(c(-1)))).rejects.toThrow(RangeError);
      });

      it("charges nothing when the answer cannot be built", async () => {
        const id = await held(store, c(10), { idempotency: { key: "k", requestHash: "h" } });
        const broken = (): never => {
          throw new Error("no answer");
        };
        await expect(store.settle({ holdId: id, amount: c(10), reply: broken })).rejects.toThrow(
          "no answer",
        );
        expect(await balanceOf()).toEqual([c(100), c(10)]);
        await store.release(id);
        expect(await balanceOf()).toEqual([c(100), 0n]);
      });

      it("fails one request of a group and none of its neighbours", async () => {
        const ids = await Promise.all(Array.from({ length: 20 }, () => held(store, c(1))));
        const results = await Promise.allSettled(
          ids.map((holdId, n) =>
            store.settle({ holdId, amount: n % 5 === 0 ? c(2) : c(1), reply: answer() }),
          ),
        );
        expect(results.filter((result) => result.status === "rejected")).toHaveLength(4);
        expect(await balanceOf()).toEqual([c(84), c(4)]);
      });

      it("never grants more than the balance to many at once", async () => {
        const outcomes = await Promise.all(
          Array.from({ length: 200 }, () => store.hold(holdRequest(c(3)))),
        );
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
        await expect(store.hold(holdRequest(c(1), { accountId: "nobody" }))).rejects.toThrow(
          UnknownAccountError,
        );
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
        await store.settle({
          holdId: await held(store, credits(1n)),
          amount: credits(1n),
          reply: answer(),
        });
        expect(await balanceOf()).toEqual([credits(8_999_999_000_000_000n), 0n]);
        await expect(store.grant(ACCOUNT, "live", c(1_000_000_000), "too much")).rejects.toThrow(
          /cannot exceed/,
        );
      });
    });

    describe("idempotency", () => {
      const idempotency = { key: "k-1", requestHash: "hash-1" };

      it.each(["as a text", "as its bytes"])(
        "replays the reply, settled %s, byte for byte and charges nothing",
        async (form) => {
          const id = await held(store, c(25), { idempotency });
          const body = `{"a":"ü\u2028\\u0000 \u{1f600}${"x".repeat(20_000)}"}`;
          const headers = { "x-request-id": "r-1", "x-total-count": "12" };
          const given = form === "as a text" ? body : Buffer.from(body);
          await store.settle({
            holdId: id,
            amount: c(7),
            reply: () => ({ status: 200, headers, body: given }),
          });
          const again = await store.hold(holdRequest(c(25), { idempotency }));
          expect(again).toEqual({
            kind: "replay",
            reply: { status: 200, headers, body },
            charged: c(7),
          });
          expect(await balanceOf()).toEqual([c(93), 0n]);
          expect(await store.verify()).toEqual([]);
        },
      );

      it("holds for a session until it ends, or its account is suspended", async () => {
        const role = "owner" as const;
        const whose = {
          accountId: ACCOUNT,
          role,
          keyHash: null,
          createdAt: time,
          seenAt: time,
          expiresAt: time + HOUR,
        };
        for (const id of ["a", "b"]) {
          const [hash, proofHash] = [makeApiKey("live").hash, makeApiKey("live").hash];
          await store.console.addSession({ ...whose, id, hash, proofHash });
        }
        const told = async (session: string) => {
          const outcome = await store.hold(
            holdRequest(c(1), { keyId: `console:${session}`, session }),
          );
          if (outcome.kind === "held") await store.release(outcome.holdId);
          return outcome.kind === "key_ended" ? outcome.why : outcome.kind;
        };
        expect([await told("a"), await told("b"), await told("c")]).toEqual([
          "held",
          "held",
          "signed_out",
        ]);
        await store.console.endSession("a", "test");
        expect([await told("a"), await told("b")]).toEqual(["signed_out", "held"]);
        await store.suspendAccount(ACCOUNT, true);
        expect(await told("b")).toBe("suspended");
        await store.suspendAccount(ACCOUNT, false);
        time += HOUR;
        expect(await told("b")).toBe("signed_out");
      });

      it("replays with an empty balance", async () => {
        await store.settle({
          holdId: await held(store, c(100), { idempotency }),
          amount: c(100),
          reply: answer(),
        });
        expect((await store.hold(holdRequest(c(100), { idempotency }))).kind).toBe("replay");
        expect((await store.hold(holdRequest(c(1)))).kind).toBe("insufficient");
      });

      it("tells a call in flight and another request apart", async () => {
        const id = await held(store, c(25), { idempotency });
        const other = { key: "k-1", requestHash: "hash-2" };
        expect(await store.hold(holdRequest(c(25), { idempotency }))).toEqual({
          kind: "in_flight",
        });
        expect(await store.hold(holdRequest(c(25), { idempotency: other }))).toEqual({
          kind: "mismatch",
        });
        await store.settle({ holdId: id, amount: c(1), reply: answer() });
        expect(await store.hold(holdRequest(c(25), { idempotency: other }))).toEqual({
          kind: "mismatch",
        });
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
        await store.settle({
          holdId: await held(store, c(1), { idempotency }),
          amount: c(1),
          reply: answer(),
        });
        for (const scope of [
          { accountId: "other" },
          { mode: "test" as const },
          { call: "company_enrich" as const },
        ]) {
          expect((await store.hold(holdRequest(c(1), { idempotency, ...scope }))).kind).toBe(
            "held",
          );
        }
      });

      it("keeps a record for 24 hours", async () => {
        await store.settle({
          holdId: await held(store, c(1), { idempotency }),
          amount: c(1),
          reply: answer(),
        });
        time += 24 * HOUR - 1;
        expect((await store.hold(holdRequest(c(1), { idempotency }))).kind).toBe("replay");
        time += 1;
        expect((await store.hold(holdRequest(c(1), { idempotency }))).kind).toBe("held");
      });

      it("keeps a record also when the clock is set back", async () => {
        await store.settle({
          holdId: await held(store, c(1), { idempotency }),
          amount: c(1),
          reply: answer(),
        });
        time -= 30 * HOUR;
        expect((await store.hold(holdRequest(c(1), { idempotency }))).kind).toBe("replay");
      });
    });

    describe("keys", () => {
      const make = async (id: string, mode: "live" | "test" = "live"): Promise<string> => {
        const { hash } = await keyOf(store, { id, mode, createdAt: START });
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
        expect(
          await store.findKey(hash.replace(/^./, (digit) => (digit === "0" ? "1" : "0"))),
        ).toBeUndefined();
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

      it("has a hundred live keys an account at most, and makes no more in a day; a rotation is no key too many", async () => {
        const key = (n: number) => ({
          ...{
            id: `k${n}`,
            name: "",
            mode: "live" as const,
            prefix: "p",
            accountId: ACCOUNT,
            createdAt: time,
          },
          hash: String(n).padStart(64, "0"),
        });
        for (let n = 0; n < 99; n++) await store.createKey(key(n));
        const both = await Promise.allSettled([
          store.createKey(key(99)),
          store.createKey(key(100)),
        ]);
        expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
        await store.revokeKey("k0");
        await expect(store.createKey(key(101))).rejects.toThrow(
          "100 keys of the account were made in 24 hours",
        );
        time += 25 * HOUR;
        await store.createKey(key(102));
        await expect(store.createKey(key(103))).rejects.toThrow("the account has 100 live keys");
        await store.createKey({ ...key(104), rotatedFrom: "k1" });
        expect(await store.verify()).toEqual([]);
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
        await expect(store.createKey({ ...key, id: "one", hash: "0".repeat(64) })).rejects.toThrow(
          StoreConflictError,
        );
        await expect(
          store.createKey({ ...key, hash: "1".repeat(64), accountId: "nobody" }),
        ).rejects.toThrow(UnknownAccountError);
      });
    });

    describe("accounts, plans and counters", () => {
      it("starts with the standard plan and takes another", async () => {
        expect(await store.account(ACCOUNT)).toEqual({
          ...{ id: ACCOUNT, name: "Acme", plan: STANDARD_PLAN, suspendedAt: null },
        });
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
          await expect(async () => store.setPlan(ACCOUNT, { ...plan, ...bad })).rejects.toThrow(
            RangeError,
          );
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
        const counts = [...(await store.callsOfDay(day))].sort((x, y) =>
          x.keyId.localeCompare(y.keyId),
        );
        expect(counts).toEqual([
          { keyId: "a", day, count: 5 },
          { keyId: "b", day, count: 1 },
        ]);
        // Counts of few people lie beside them, by their account.
        await Promise.all([
          store.recordCalls([{ keyId: "live a", day, count: 2 }]),
          store.recordCalls([]),
        ]);
        await store.recordCalls([{ keyId: "live a", day, count: 5 }]);
        expect((await store.callsOfDay(day)).filter(({ keyId }) => keyId === "live a")).toEqual([
          { keyId: "live a", day, count: 7 },
        ]);
        await store.setPlan(ACCOUNT, { smallCounts: 5 });
        expect((await store.account(ACCOUNT))?.plan.smallCounts).toBe(5);
        await store.setPlan(ACCOUNT, { smallCounts: null });
        expect((await store.account(ACCOUNT))?.plan.smallCounts).toBeNull();
        expect(await store.verify()).toEqual([]);
      });
    });

    describe("caps, ends and scopes of keys", () => {
      const make = (id: string, more: Partial<NewKey> = {}) =>
        keyOf(store, { id, createdAt: START, ...more });
      const hold = (amount: number, keyId: string, by = store) =>
        by.hold(holdRequest(c(amount), { keyId }));
      const buy = async (amount: number, keyId: string, charge = amount): Promise<void> => {
        const holdId = await held(store, c(amount), { keyId });
        await store.settle({
          holdId,
          amount: c(charge),
          reply: answer(),
          sold: { price: c(1), rows: charge },
        });
      };
      const budgetOf = async (id: string) => (await store.key(id))?.budget;

      it("never lets spent and held pass the cap, and gives back what was not used", async () => {
        await make("k", { maxCredits: c(10) });
        const first = await held(store, c(8), { keyId: "k" });
        expect(await hold(3, "k")).toEqual({
          kind: "over_cap",
          cap: c(10),
          spent: c(0),
          held: c(8),
        });
        await store.settle({ holdId: first, amount: c(5), reply: answer() });
        expect(await budgetOf("k")).toEqual({ cap: c(10), spent: c(5), held: c(0) });
        const second = await held(store, c(5), { keyId: "k" });
        expect((await hold(1, "k")).kind).toBe("over_cap");
        await store.release(second);
        expect((await hold(5, "k")).kind).toBe("held");
        // Of the others' money it takes nothing.
        expect((await hold(90, "other")).kind).toBe("held");
      });

      it("is exact where many come at once, also from two stores", async () => {
        await make("k", { maxCredits: c(50) });
        const other = await backend.another(now);
        const outcomes = await Promise.all(
          Array.from({ length: 80 }, (_, n) => hold(3, "k", n % 2 === 0 ? store : other)),
        );
        expect(outcomes.filter(({ kind }) => kind === "held")).toHaveLength(16);
        expect(await budgetOf("k")).toEqual({ cap: c(50), spent: c(0), held: c(48) });
      });

      it("replays what it has sold, with nothing left of the cap", async () => {
        await make("k", { maxCredits: c(5) });
        const idempotency = { key: "i", requestHash: "h" };
        await store.settle({
          holdId: await held(store, c(5), { keyId: "k", idempotency }),
          amount: c(5),
          reply: answer(),
        });
        expect((await store.hold(holdRequest(c(5), { keyId: "k", idempotency }))).kind).toBe(
          "replay",
        );
        expect((await hold(1, "k")).kind).toBe("over_cap");
      });

      it("takes a cap later, counted from the first day; none below what is spent and held; none at all", async () => {
        await make("k");
        await buy(10, "k", 7);
        await held(store, c(5), { keyId: "k" });
        await expect(store.updateKey("k", { maxCredits: c(11) })).rejects.toThrow(
          /cannot be below 12/,
        );
        expect(await budgetOf("k")).toBeNull();
        const { budget } = await store.updateKey("k", { maxCredits: c(15) });
        expect(budget).toEqual({ cap: c(15), spent: c(7), held: c(5) });
        expect((await hold(4, "k")).kind).toBe("over_cap");
        await store.updateKey("k", { maxCredits: null });
        expect((await hold(4, "k")).kind).toBe("held");
      });

      it("shares a cap with the keys that it was rotated from and to", async () => {
        await make("a", { maxCredits: c(10) });
        await buy(4, "a");
        await make("b", { rotatedFrom: "a" });
        await make("c", { rotatedFrom: "b" });
        await buy(5, "c");
        expect((await hold(2, "a")).kind).toBe("over_cap");
        expect((await hold(1, "b")).kind).toBe("held");
        expect(
          (await store.listKeys(ACCOUNT)).map(({ id, origin, spent }) => [id, origin, spent]),
        ).toEqual([
          ["a", "a", c(4)],
          ["b", "a", c(0)],
          ["c", "a", c(5)],
        ]);
        await store.revokeKey("a");
        await expect(make("d", { rotatedFrom: "a" })).rejects.toThrow(StoreConflictError);
        await expect(make("e", { rotatedFrom: "none" })).rejects.toThrow(StoreConflictError);
        await expect(store.updateKey("a", { name: "x" })).rejects.toThrow(/revoked/);
      });

      it("sells nothing to a key that came to its end after it was let in", async () => {
        await make("k", { expiresAt: START + 1_000 });
        const pending = await held(store, c(2), { keyId: "k" });
        time += 1_000;
        expect(await hold(1, "k")).toEqual({ kind: "key_ended", why: "expired" });
        await store.updateKey("k", { expiresAt: null });
        expect((await hold(1, "k")).kind).toBe("held");
        expect(await store.suspendAccount(ACCOUNT, true)).toBe(true);
        expect(await store.suspendAccount(ACCOUNT, true)).toBe(false);
        expect(await hold(1, "k")).toEqual({ kind: "key_ended", why: "suspended" });
        expect((await store.account(ACCOUNT))?.suspendedAt).toBe(time);
        // What was held before is settled: the work is done.
        await store.settle({ holdId: pending, amount: c(2), reply: answer() });
        await store.suspendAccount(ACCOUNT, false);
        await store.revokeKey("k");
        expect(await hold(1, "k")).toEqual({ kind: "key_ended", why: "revoked" });
        await expect(store.suspendAccount("nobody", true)).rejects.toThrow(UnknownAccountError);
      });

      it("keeps scopes, end and last use with the key", async () => {
        await make("k", { scopes: ["count", "search"], expiresAt: START + HOUR });
        expect(await store.key("k")).toMatchObject({
          scopes: ["count", "search"],
          expiresAt: START + HOUR,
          lastUsedAt: null,
        });
        time += 7_000;
        await store.recordCalls([{ keyId: "k", day: "2026-05-05", count: 2 }]);
        time -= 3_000;
        await store.recordCalls([{ keyId: "k", day: "2026-05-05", count: 1 }]);
        expect((await store.key("k"))?.lastUsedAt).toBe(START + 7_000);
        expect(await store.updateKey("k", { scopes: null, name: "new" })).toMatchObject({
          scopes: null,
          name: "new",
        });
        expect(await store.key("none")).toBeUndefined();
      });
    });

    describe("entries, usage and audit", () => {
      const buy = async (rows: number, more: Partial<HoldRequest> = {}): Promise<void> => {
        const holdId = await held(store, c(rows + 1), more);
        await store.settle({
          holdId,
          amount: c(rows),
          reply: answer(),
          sold: { price: c(1), rows },
        });
      };
      const entries = (more: Partial<EntryQuery> = {}) =>
        store.entries({ accountId: ACCOUNT, limit: 100, ...more });

      it("lists what moved, the newest first, with actor, price and rows", async () => {
        await buy(7, { keyId: "k", requestId: "r-1" });
        const [charge, ...rest] = await entries({ mode: "live" });
        expect(charge).toMatchObject({
          ...{
            kind: "charge",
            amount: c(-7),
            balanceAfter: c(93),
            at: START,
            actor: "k",
            keyId: "k",
            requestId: "r-1",
          },
          ...{ call: "person_search", price: c(1), rows: 7, refundOf: null, reference: null },
        });
        expect(rest).toMatchObject([
          { kind: "grant", amount: c(100), actor: "service", keyId: null, rows: null },
        ]);
      });

      it("pages by id, so that what comes meanwhile moves nothing", async () => {
        for (let n = 1; n <= 7; n += 1) await buy(n);
        const first = await entries({ mode: "live", limit: 3 });
        await buy(1);
        const second = await entries({ mode: "live", limit: 3, before: first.at(-1)?.id ?? 0n });
        const third = await entries({ mode: "live", limit: 3, before: second.at(-1)?.id ?? 0n });
        expect([...first, ...second, ...third].map(({ amount }) => amount)).toEqual(
          [-7, -6, -5, -4, -3, -2, -1, 100].map(c),
        );
        expect(await entries({ kind: "charge", keyId: "nobody" })).toEqual([]);
        await expect(async () => entries({ limit: 0 })).rejects.toThrow(RangeError);
      });

      it("filters by key, call and time", async () => {
        await buy(2, { keyId: "a" });
        time += HOUR;
        await buy(3, { keyId: "b", call: "company_employees" });
        expect((await entries({ keyId: "a" })).map(({ amount }) => amount)).toEqual([c(-2)]);
        expect((await entries({ call: "company_employees" })).map(({ amount }) => amount)).toEqual([
          c(-3),
        ]);
        expect((await entries({ since: START + HOUR })).map(({ amount }) => amount)).toEqual([
          c(-3),
        ]);
        expect(await entries({ until: START })).toEqual([]);
      });

      it("counts usage by day, key and call; a refund counts on its own day", async () => {
        await buy(2, { keyId: "a" });
        await buy(5, { keyId: "a", call: "company_employees" });
        time += 24 * HOUR;
        await buy(3, { keyId: "b" });
        const charge = (await entries({ keyId: "a", call: "person_search" }))[0];
        await store.refund(charge?.id ?? 0n, c(1), { note: "wrong" });
        const usage = (by: UsageGroup[], more = {}) =>
          store.usage({ accountId: ACCOUNT, mode: "live", by, ...more });
        expect(await usage(["day"])).toMatchObject([
          { day: "2026-05-05", calls: 2, rows: 7, charged: c(7), refunded: c(0) },
          { day: "2026-05-06", calls: 1, rows: 3, charged: c(3), refunded: c(1) },
        ]);
        expect(await usage(["key"])).toMatchObject([
          { keyId: "a", calls: 2, charged: c(7), refunded: c(1) },
          { keyId: "b", calls: 1, charged: c(3) },
        ]);
        expect(await usage(["day", "call"], { since: "2026-05-06" })).toMatchObject([
          { day: "2026-05-06", call: "person_search", charged: c(3), refunded: c(1) },
        ]);
        expect(await usage([])).toMatchObject([
          { day: null, keyId: null, call: null, calls: 3, charged: c(10) },
        ]);
        expect((await store.balance(ACCOUNT, "live")).usedToday).toBe(c(3));
      });

      it("gives a charge back, in parts, and never more than it was; the cap gets it back too", async () => {
        await keyOf(store, { createdAt: START, maxCredits: c(10) });
        await buy(9, { keyId: "k" });
        const [charge] = await entries({ kind: "charge" });
        const id = charge?.id ?? 0n;
        expect(await store.refund(id, c(4), { note: "a bad page", by: "cli:eva" })).toMatchObject({
          balance: c(95),
        });
        await expect(store.refund(id, c(6), { note: "" })).rejects.toThrow(
          /5 of 9 credits are left/,
        );
        expect((await store.key("k"))?.budget?.spent).toBe(c(5));
        expect(await store.refund(id, undefined, { note: "all of it" })).toMatchObject({
          balance: c(100),
        });
        await expect(store.refund(id, undefined, { note: "" })).rejects.toThrow(RangeError);
        const [last, first] = await entries({ kind: "refund" });
        expect([last, first]).toMatchObject([
          { amount: c(5), refundOf: id, keyId: "k", actor: "service", note: "all of it" },
          { amount: c(4), refundOf: id, actor: "cli:eva" },
        ]);
        const grantId = (await entries({ kind: "grant" }))[0]?.id ?? 0n;
        await expect(store.refund(grantId, undefined, { note: "" })).rejects.toThrow(
          /is no charge/,
        );
      });

      it("adds and takes away once for each reference, whatever store is asked", async () => {
        const other = await backend.another(now);
        const invoice = { reference: "invoice 7", note: "paid" };
        const both = await Promise.all([
          store.grant(ACCOUNT, "live", c(5), invoice),
          other.grant(ACCOUNT, "live", c(5), invoice),
          store.grant(ACCOUNT, "live", c(5), invoice),
        ]);
        expect(both.map(({ repeated }) => repeated).filter(Boolean)).toHaveLength(2);
        expect(await balanceOf()).toEqual([c(105), 0n]);
        await expect(store.grant(ACCOUNT, "live", c(6), invoice)).rejects.toThrow(
          StoreConflictError,
        );
        await expect(store.deduct(ACCOUNT, "live", c(5), invoice)).rejects.toThrow(
          StoreConflictError,
        );
        expect(await store.grant(ACCOUNT, "test", c(5), invoice)).toMatchObject({
          repeated: false,
        });
        expect(await store.deduct(ACCOUNT, "live", c(30), { note: "too much" })).toMatchObject({
          balance: c(75),
        });
        await held(store, c(70));
        await expect(store.deduct(ACCOUNT, "live", c(6), { note: "" })).rejects.toThrow(
          /5 are free/,
        );
        expect(
          (await entries({ mode: "live" })).map(({ kind, reference }) => [kind, reference]),
        ).toEqual([
          ["correction", null],
          ["grant", "invoice 7"],
          ["grant", null],
        ]);
      });

      it("writes down who did what, and nothing that is secret", async () => {
        const { hash, prefix } = makeApiKey("live");
        const key = {
          id: "k",
          name: "nightly",
          mode: "live" as const,
          prefix,
          hash,
          accountId: ACCOUNT,
          createdAt: START,
        };
        await store.createKey({ ...key, maxCredits: c(9), scopes: ["count"] }, { by: "cli:eva" });
        await store.updateKey("k", { maxCredits: null, expiresAt: START });
        await store.revokeKey("k");
        await store.revokeKey("k");
        await store.setPlan(ACCOUNT, { perMinute: 9, costs: { person_search: c(2) } });
        await store.suspendAccount(ACCOUNT, true);
        const rows = await store.audit({ accountId: ACCOUNT, limit: 5 });
        expect(rows.map(({ action, actor, at, target }) => [action, actor, at, target])).toEqual([
          ["accounts.suspend", "service", START, ACCOUNT],
          ["plan.set", "service", START, ACCOUNT],
          ["keys.revoke", "service", START, "k"],
          ["keys.set", "service", START, "k"],
          ["keys.create", "cli:eva", START, "k"],
        ]);
        expect(rows[1]?.detail).toEqual({ perMinute: 9, costs: { person_search: "2" } });
        expect(rows[4]?.detail).toEqual({
          mode: "live",
          name: "nightly",
          max_credits: "9",
          scopes: ["count"],
        });
        expect(
          JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? String(value) : value)),
        ).not.toContain(hash);
        const older = await store.audit({
          accountId: ACCOUNT,
          before: rows[4]?.id ?? 0n,
          limit: 100,
        });
        expect(older.map(({ action }) => action)).toEqual([
          "credits.add",
          "credits.add",
          "accounts.create",
        ]);
      });

      it("lists accounts with their money and keys", async () => {
        await store.createAccount("other", "Other");
        await held(store, c(3));
        expect(await store.listAccounts()).toMatchObject([
          {
            id: ACCOUNT,
            live: { balance: c(100), held: c(3) },
            test: { balance: c(50) },
            keys: 0,
            suspendedAt: null,
          },
          { id: "other", name: "Other", live: { balance: c(0) }, plan: STANDARD_PLAN },
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
        expect(await other.hold(holdRequest(c(5), { idempotency }))).toEqual({
          kind: "replay",
          reply,
          charged: c(5),
        });
      });

      it("sell nobody as new whom the other has sold, and know whom either sold", async () => {
        const other = await backend.another(now);
        const place = { accountId: ACCOUNT, mode: "live" as const };
        const marks = await store.people.marks(place, ["a", "b", "c"]);
        expect(await other.people.marks(place, ["a", "b", "c"])).toEqual(marks);
        const sell = async (by: Store, some: readonly string[], areNew: boolean) =>
          by.settle({
            holdId: await held(by, c(some.length)),
            amount: c(some.length),
            people: { marks: some, areNew },
            reply: answer(),
          });
        await sell(store, marks.slice(0, 1), false);
        await expect(sell(other, marks, true)).rejects.toBeInstanceOf(SoldMeanwhileError);
        const both = [sell(store, marks.slice(1), true), sell(other, marks.slice(1), true)];
        const ends = (await Promise.allSettled(both)).map(({ status }) => status).sort();
        expect(ends).toEqual(["fulfilled", "rejected"]);
        // Whoever has them already may buy them again, where that is what is asked.
        await sell(other, marks.slice(0, 2), false);
        expect([...(await other.people.owned(marks))].sort()).toEqual([...marks].sort());
        expect((await balanceOf())[0]).toBe(c(95));

        expect(await store.people.ownedByAny(["a", "z"])).toEqual(marks.slice(0, 1));
        await other.people.disown(["a"]);
        expect([...(await store.people.owned(marks))].sort()).toEqual(marks.slice(1).sort());
      });

      it("know whom an operator gave money back for: what was delivered is owned", async () => {
        const place = { accountId: ACCOUNT, mode: "live" as const };
        const marks = await store.people.marks(place, ["a"]);
        const holdId = await held(store, c(1));
        const people = { marks, areNew: true };
        await store.settle({ holdId, amount: c(1), people, reply: answer() });
        expect((await store.people.owned(marks)).size).toBe(1);
        await store.refund(
          (await store.entries({ accountId: ACCOUNT, limit: 1 }))[0]?.id ?? 0n,
          undefined,
          { note: "" },
        );
        // What an operator gives back was delivered all the same.
        expect((await store.people.owned(marks)).size).toBe(1);
      });

      it("never void the holds of one that lives", async () => {
        const other = await backend.another(now);
        const id = await held(store, c(60));
        time += 10 * HOUR;
        expect(await other.recover(0)).toBe(0);
        expect(await store.recover(0)).toBe(0);
        await store.settle({ holdId: id, amount: c(60), reply: answer() });
      });

      it("stop each other's exports of the console, keep what was bought, and take no page back", async () => {
        const other = await backend.another(now);
        const item = exportItem({ id: "e1", createdAt: time });
        const origin = item.keyId;
        const any = () => undefined;
        expect([
          await store.console.enterExport(item, any),
          await other.console.enterExport(item, any),
        ]).toEqual([true, false]);
        const first = { ...item, pages: 1, rows: 1_000, credits: c(1_000) };
        expect(await store.console.advanceExport(first)).toBe(true);
        expect(
          await other.console.stopExport({ ...item, accountId: "nobody" }, "you stopped it"),
        ).toBe(false);
        expect(await other.console.stopExport(item, "you stopped it")).toBe(true);
        expect(await other.console.stopExport(item, "once more")).toBe(false);
        const second = { ...first, pages: 2, rows: 2_000, credits: c(2_000) };
        expect(await store.console.advanceExport(second)).toBe(false);
        expect(await store.console.advanceExport(first)).toBe(false);
        expect(await other.console.export(ACCOUNT, "e1")).toEqual({
          ...second,
          origin,
          state: "stopped",
          why: "you stopped it",
        });
        expect(await other.console.export("nobody", "e1")).toBeUndefined();
        const next = { ...second, price: c(2), turn: 1 };
        expect(
          await Promise.all([store, other].map((one) => one.console.enterExport(next, any))),
        ).toContain(false);
        expect(await other.console.export(ACCOUNT, "e1")).toEqual({ ...next, origin });
        // Whoever bought in the turn before has no say any more; what it bought counts.
        expect(await store.console.stopExport(item, "the price rose", 0)).toBe(false);
        expect(await store.console.advanceExport(second)).toBe(false);
        expect(await other.console.advanceExport(next)).toBe(true);
        expect(await other.console.exports(item, "buying")).toEqual([{ ...next, origin }]);
        const third = { ...next, pages: 3, rows: 3_000, credits: c(4_000) };
        expect(await store.console.advanceExport({ ...third, turn: 0 })).toBe(false);
        expect(await store.console.export(ACCOUNT, "e1")).toEqual({
          ...third,
          origin,
          state: "ready",
        });
        expect(await store.console.enterExport({ ...third, turn: 2 }, any)).toBe(false);
        expect(await other.console.exports(item, "buying")).toEqual([]);
      });

      it("keep in sight what is being bought, however many exports were asked for since", async () => {
        const any = () => undefined;
        await store.console.enterExport(exportItem({ id: "first", createdAt: time }), any);
        for (let number = 0; number < 201; number++) {
          const item = exportItem({ id: `later-${number}`, createdAt: time + 1 + number });
          await store.console.enterExport(item, any);
          await store.console.stopExport(item, "you stopped it");
        }
        const seen: string[] = [];
        const last = exportItem({ id: "last", createdAt: time + 1_000 });
        await store.console.enterExport(last, ({ exports }) =>
          seen.push(...exports.map(({ id }) => id)),
        );
        expect(seen).toHaveLength(200);
        expect(seen.slice(0, 2)).toEqual(["first", "later-200"]);
      });

      it("sell one export of several that are asked for at once, where each may only be the first", async () => {
        const other = await backend.another(now);
        const seen: number[] = [];
        const add = (one: Store, each: number) =>
          one.console.enterExport(
            exportItem({ id: `x${each}`, createdAt: time }),
            ({ balance, exports, held }) => {
              expect([balance, held]).toEqual([c(100), 0n]);
              seen.push(exports.length);
              if (exports.length > 0) throw new Error("sold before");
            },
          );
        const told = await Promise.allSettled(
          [...Array(8)].map((_, each) => add(each % 2 ? store : other, each)),
        );
        expect(told.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
        expect(seen.filter((many) => many === 0).length).toBeGreaterThanOrEqual(1);
        expect(await store.console.exports({ accountId: ACCOUNT, mode: "live" })).toHaveLength(1);
      });

      it("race for the same money without overdrawing it", async () => {
        const other = await backend.another(now);
        const outcomes = await Promise.all(
          Array.from({ length: 120 }, (_, n) =>
            (n % 2 === 0 ? store : other).hold(holdRequest(c(3))),
          ),
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
