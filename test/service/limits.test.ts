import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { networkOf } from "../../src/service/http/connections.ts";
import { ANONYMOUS_PER_MINUTE, RateLimiter } from "../../src/service/http/limits.ts";
import type { DayCount } from "../../src/service/ledger/ledger.ts";
import { makeApiKey } from "../../src/service/money/keys.ts";
import { long } from "../support/long.ts";
import { watchResponses } from "../support/openapi.ts";
import {
  onResponse,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from "../support/service.ts";

watchResponses(onResponse);

const start = async (options: TestServiceOptions = {}): Promise<TestService> => {
  const service = await startTestService({ people: 200, ...options });
  onTestFinished(() => service.close());
  return service;
};
/** 2026-03-01T10:00:10Z: ten seconds into a minute. */
const START = Date.UTC(2026, 2, 1, 10, 0, 10);

/** A wall clock that can be set, and one that only runs on. */
function clocks(start = START) {
  let wall = start;
  let running = 5_000;
  return {
    now: () => wall,
    monotonic: () => running,
    /** Time goes by. */
    pass: (ms: number) => {
      wall += ms;
      running += ms;
    },
    /** Somebody sets the clock. */
    set: (ms: number) => {
      wall += ms;
    },
  };
}

const account = async (service: TestService) => {
  const { headers, json, status } = await service.call("/v1/account");
  return {
    status,
    detail: json.detail[0],
    limit: Number(headers.get("x-ratelimit-limit")),
    remaining: Number(headers.get("x-ratelimit-remaining")),
    reset: Number(headers.get("x-ratelimit-reset")),
    window: headers.get("x-ratelimit-window"),
    retryAfter: headers.get("retry-after"),
  };
};

describe("minute and day", () => {
  long(
    "the window that binds first is told; a refused call consumes nothing; the next window is fresh",
    async () => {
      const time = clocks();
      const service = await start({
        plan: { perMinute: 3, perDay: 5 },
        now: time.now,
        monotonic: time.monotonic,
      });
      const minuteEnd = Date.UTC(2026, 2, 1, 10, 1) / 1_000;
      const dayEnd = Date.UTC(2026, 2, 2) / 1_000;
      expect(await account(service)).toEqual({
        status: 200,
        detail: undefined,
        limit: 3,
        remaining: 2,
        reset: minuteEnd,
        window: "minute",
        retryAfter: null,
      });
      await account(service);
      expect(await account(service)).toMatchObject({ status: 200, remaining: 0, window: "minute" });
      for (let again = 0; again < 5; again++) {
        expect(await account(service)).toEqual({
          status: 429,
          detail: "rate limit of 3 calls a minute exceeded; retry in 50 s",
          limit: 3,
          remaining: 0,
          reset: minuteEnd,
          window: "minute",
          retryAfter: "50",
        });
      }
      time.pass(50_000);
      expect(await account(service)).toMatchObject({
        status: 200,
        limit: 5,
        remaining: 1,
        reset: dayEnd,
        window: "day",
      });
      expect(await account(service)).toMatchObject({ status: 200, remaining: 0, window: "day" });
      expect(await account(service)).toMatchObject({
        status: 429,
        window: "day",
        reset: dayEnd,
        retryAfter: String(dayEnd - minuteEnd),
      });
      time.pass((dayEnd - minuteEnd) * 1_000);
      expect(await account(service)).toMatchObject({
        status: 200,
        limit: 3,
        remaining: 2,
        window: "minute",
      });
    },
  );

  test("a fraction of a second before the end Retry-After is still 1", async () => {
    const time = clocks(Date.UTC(2026, 2, 1, 10, 0, 59, 999));
    const service = await start({
      plan: { perMinute: 1 },
      now: time.now,
      monotonic: time.monotonic,
    });
    await account(service);
    expect(await account(service)).toMatchObject({ status: 429, retryAfter: "1" });
  });

  test("free calls, 404, 405 and 422 count; keys do not share a window", async () => {
    const service = await start({ plan: { perMinute: 5 } });
    await service.call("/v1/person/count", { body: { filters: {} } });
    await service.call("/v1/person/count", { body: { filters: { nope: 1 } } });
    await service.call("/v1/nope");
    await service.call("/v1/account", { method: "DELETE" });
    expect(await account(service)).toMatchObject({ status: 200, remaining: 0 });
    expect((await service.call("/v1/nope")).status).toBe(429);
    expect(
      (await service.call("/v1/account", { key: service.testKey })).headers.get(
        "x-ratelimit-remaining",
      ),
    ).toBe("4");
  });

  test("of many calls at once exactly the limit gets through", async () => {
    const time = clocks();
    const service = await start({
      plan: { perMinute: 20 },
      now: time.now,
      monotonic: time.monotonic,
    });
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async () => (await account(service)).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(40);
  });

  test("another plan holds from the next call on", async () => {
    const service = await start({ plan: { perMinute: 2 } });
    await account(service);
    await account(service);
    expect((await account(service)).status).toBe(429);
    const known = await service.store.account("default");
    if (!known) throw new Error("no account");
    await service.store.setPlan("default", { ...known.plan, perMinute: 4 });
    expect(await account(service)).toMatchObject({ status: 200, limit: 4, remaining: 1 });
    await service.store.setPlan("default", { ...known.plan, perMinute: 1 });
    expect(await account(service)).toMatchObject({ status: 429, limit: 1, remaining: 0 });
  });
});

describe("without a key", () => {
  long(
    "an address gets so many 401s a minute, then 429 until the minute is over; whoever has a key is let in from there",
    async () => {
      const clock = clocks();
      const service = await start(clock);
      const guess = () => service.call("/v1/account", { key: makeApiKey("live").key });
      for (let left = ANONYMOUS_PER_MINUTE - 1; left >= 0; left--) {
        const { headers, json, status } = await (left % 2 === 0
          ? guess()
          : service.call("/v1/account", { key: null }));
        expect([status, json.credits_remaining]).toEqual([401, 0]);
        expect(headers.get("www-authenticate")).toBe("Bearer");
        expect(headers.get("x-ratelimit-remaining")).toBe(String(left));
      }
      const { headers, json, status } = await guess();
      expect([
        status,
        headers.get("x-ratelimit-remaining"),
        headers.get("www-authenticate"),
      ]).toEqual([429, "0", null]);
      const wait = Number(headers.get("retry-after"));
      expect(wait).toBe(Number(headers.get("x-ratelimit-reset")) - Math.floor(clock.now() / 1_000));
      expect(json).toMatchObject({
        status: false,
        result: null,
        credits_used: 0,
        credits_remaining: 0,
      });
      expect(json.detail).toEqual([
        `the API key is not valid or was revoked; more than ${ANONYMOUS_PER_MINUTE} calls a minute without a valid key came from this address, retry in ${wait} s`,
      ]);
      expect((await service.call("/v1/account")).status).toBe(200);
      // What is wrong apart from the key is told as it is.
      expect((await service.call("/nowhere", { key: null })).status).toBe(404);
      clock.pass(wait * 1_000);
      expect((await guess()).status).toBe(401);
    },
  );

  test("a site of IPv6 is one address, and many addresses take no more room", () => {
    const store = { recordCalls: async () => undefined, callsOfDay: async () => [] };
    const limiter = new RateLimiter({ ...clocks(), store });
    const left = (address: string): number =>
      limiter.takeAnonymous(networkOf({ remoteAddress: address })).remaining;
    expect(left("2001:db8:1:2::7")).toBe(ANONYMOUS_PER_MINUTE - 1);
    expect(left("2001:db8:1:2:a:b:c:d")).toBe(ANONYMOUS_PER_MINUTE - 2);
    expect(left("2001:db8:1:3::7")).toBe(ANONYMOUS_PER_MINUTE - 1);
    expect(left("::ffff:192.0.2.1")).toBe(ANONYMOUS_PER_MINUTE - 1);
    expect(left("192.0.2.1")).toBe(ANONYMOUS_PER_MINUTE - 2);
    for (let nth = 0; nth < 9_999; nth++) left(`10.${nth >> 16}.${(nth >> 8) & 255}.${nth & 255}`);
    // The last but one window is still known, the first ones made room.
    expect(left("192.0.2.1")).toBe(ANONYMOUS_PER_MINUTE - 3);
    expect(left("2001:db8:1:2::7")).toBe(ANONYMOUS_PER_MINUTE - 1);
  });
});

describe("restarts", () => {
  test("the calls of the day survive; the minute begins anew", async () => {
    const plan = { perMinute: 100, perDay: 10 };
    const first = await start({ plan });
    for (let call = 0; call < 7; call++) await first.call("/v1/account");
    const { ledger, key } = first;
    await first.close();
    const second = await start({ ledger });
    const answer = await second.call("/v1/account", { key });
    expect([
      answer.status,
      answer.headers.get("x-ratelimit-remaining"),
      answer.headers.get("x-ratelimit-window"),
    ]).toEqual([200, "2", "day"]);
    await second.call("/v1/account", { key });
    await second.call("/v1/account", { key });
    expect((await second.call("/v1/account", { key })).status).toBe(429);
  });

  test("two services on one ledger learn of each other's calls", async () => {
    const one = await start({ plan: { perDay: 10 } });
    const two = await start({ ledger: one.ledger });
    const { key } = one;
    for (let call = 0; call < 6; call++) await one.call("/v1/account");
    await one.flush();
    await two.call("/v1/account", { key });
    await two.flush();
    expect((await two.call("/v1/account", { key })).headers.get("x-ratelimit-remaining")).toBe("2");
  });

  test("the minute too is shared, as far as the others' calls are known to be of it", async () => {
    const totals = new Map<string, number>();
    const store = {
      recordCalls: async (counts: readonly DayCount[]) => {
        for (const { count, keyId } of counts) totals.set(keyId, (totals.get(keyId) ?? 0) + count);
      },
      callsOfDay: async (day: string) =>
        [...totals].map(([keyId, count]) => ({ keyId, day, count })),
    };
    const time = clocks();
    const plan = { perMinute: 10, perDay: 1_000 };
    const [one, two] = [new RateLimiter({ ...time, store }), new RateLimiter({ ...time, store })];
    const calls = async (limiter: RateLimiter, count: number): Promise<number> => {
      let left = 0;
      for (let call = 0; call < count; call++) left = limiter.take("k", plan).remaining;
      await limiter.flush();
      time.pass(500);
      return left;
    };
    expect(await calls(one, 1)).toBe(9);
    expect(await calls(two, 1)).toBe(9);
    expect(await calls(one, 3)).toBe(6);
    // The second learnt of the three when it wrote its own; the first of the two when it wrote its next.
    expect(await calls(two, 1)).toBe(8);
    expect(await calls(two, 1)).toBe(4);
    expect(await calls(one, 1)).toBe(4);
    expect(await calls(one, 1)).toBe(1);
    // Alone, nothing is counted twice.
    time.pass(60_000);
    for (const left of [9, 8, 7, 6]) expect(await calls(one, 1)).toBe(left);
    // After a pause what the others did cannot be placed, so it is left out.
    await calls(two, 3);
    time.pass(5_000);
    expect(await calls(one, 1)).toBe(5);
  });

  test("a store that cannot be written loses no count", async () => {
    const written: DayCount[] = [];
    let broken = true;
    const time = clocks();
    const store = {
      recordCalls: async (counts: readonly DayCount[]) => {
        if (broken) throw new Error("locked");
        written.push(...counts);
      },
      callsOfDay: async () => [],
    };
    const limiter = new RateLimiter({ ...time, store });
    limiter.take("a", { perMinute: 10, perDay: 10 });
    await expect(limiter.flush()).rejects.toThrow("locked");
    limiter.take("a", { perMinute: 10, perDay: 10 });
    limiter.take("b", { perMinute: 10, perDay: 10 });
    broken = false;
    await limiter.flush();
    expect(written).toEqual([
      { keyId: "a", day: "2026-03-01", count: 2 },
      { keyId: "b", day: "2026-03-01", count: 1 },
    ]);
    await limiter.flush();
    expect(written).toHaveLength(2);
  });
});

describe("clock jumps (I11, I12)", () => {
  const DAY = 86_400_000;
  const nothing = { recordCalls: async () => undefined, callsOfDay: async () => [] };

  test.each([-DAY, -61_000, -1_000, 1_000, 61_000, DAY])(
    "a jump of %i ms gives no second quota; the reset is told on the new clock",
    (jump) => {
      const time = clocks();
      const limiter = new RateLimiter({ ...time, store: nothing });
      const plan = { perMinute: 2, perDay: 3 };
      limiter.take("k", plan);
      limiter.take("k", plan);
      time.set(jump);
      const refused = limiter.take("k", plan);
      expect(refused).toMatchObject({ allowed: false, remaining: 0, retryAfter: 50 });
      expect(Math.abs(refused.reset - (time.now() + 50_000) / 1_000)).toBeLessThanOrEqual(1);
      time.pass(50_000);
      expect(limiter.take("k", plan)).toMatchObject({ allowed: true });
      expect(limiter.take("k", plan)).toMatchObject({ allowed: false, window: "day" });
    },
  );

  test("whatever happens to the clock: at most the limit in every real window, never a negative rest, resets ahead", () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.constant({ kind: "call" as const, ms: 0 }) },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant("pass" as const),
          ms: fc.integer({ min: 0, max: 40_000 }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant("set" as const),
          ms: fc.integer({ min: -DAY, max: DAY }),
        }),
      },
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 120 }),
        fc.integer({ min: 1, max: 5 }),
        (steps, perMinute) => {
          const time = clocks();
          const limiter = new RateLimiter({ ...time, store: nothing });
          const inWindow = new Map<string, number>();
          let last: { reset: number; remaining: number; window: string } | undefined;
          for (const { kind, ms } of steps) {
            if (kind === "pass") time.pass(ms);
            else if (kind === "set") time.set(ms);
            else {
              const state = limiter.take("k", { perMinute, perDay: 30 });
              const real = START + time.monotonic() - 5_000;
              for (const [window, ms, most] of [
                ["minute", 60_000, perMinute] as const,
                ["day", DAY, 30] as const,
              ]) {
                const id = `${window} ${Math.floor(real / ms)}`;
                if (state.allowed) inWindow.set(id, (inWindow.get(id) ?? 0) + 1);
                expect(inWindow.get(id) ?? 0).toBeLessThanOrEqual(most);
                // On the wall clock of now, as far ahead as the window really ends.
                const ahead = (Math.floor(real / ms) + 1) * ms - real;
                const off = Math.abs(state.reset * 1_000 - time.now() - ahead);
                if (state.window === window) expect(off).toBeLessThanOrEqual(1_000);
              }
              expect(state.remaining).toBeGreaterThanOrEqual(0);
              expect(state.retryAfter).toBeGreaterThanOrEqual(1);
              if (last?.reset === state.reset && last.window === state.window)
                expect(state.remaining).toBeLessThanOrEqual(last.remaining);
              last = state;
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
