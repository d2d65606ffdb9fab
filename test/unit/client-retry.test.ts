import { describe, expect, test } from "vitest";
import { LostReplyError, ServiceError, WaitTooLongError } from "../../src/engine/client/errors.ts";
import { CallAttempts, type CallOptions, paced, retryCall } from "../../src/engine/client/retry.ts";
import type { ServiceClient } from "../../src/engine/client/types.ts";
import { ONE_CREDIT } from "../../src/shared/contract/money.ts";
import { fakeClock } from "../support/client.ts";

const refused = (
  status: number,
  more: Partial<ConstructorParameters<typeof ServiceError>[0]> = {},
): ServiceError => new ServiceError({ status, detail: ["x"], envelope: true, ...more });

function harness(more: Partial<CallOptions> = {}) {
  const clock = fakeClock();
  const options: CallOptions = {
    now: clock.now,
    sleep: clock.sleep,
    random: () => 0.5,
    maxWaitMs: 60_000,
    ...more,
  };
  return { clock, options };
}

/** Fails with each error in turn, then succeeds. */
function failing(errors: readonly unknown[]): { call: () => Promise<string>; calls: () => number } {
  let count = 0;
  return {
    call: async () => {
      const error = errors[count++];
      if (error !== undefined) throw error;
      return "done";
    },
    calls: () => count,
  };
}

describe("free calls", () => {
  test.each([
    refused(500),
    refused(503, { envelope: false }),
    refused(408),
    refused(409, { retryAfterMs: 1_000 }),
    new LostReplyError("x", "ECONNRESET", true),
    new LostReplyError("x", "ECONNREFUSED", false),
  ])("are made again after %s", async (error) => {
    const { clock, options } = harness();
    const { call, calls } = failing([error]);
    expect(await retryCall(call, options)).toBe("done");
    expect(calls()).toBe(2);
    expect(clock.sleeps).toHaveLength(1);
  });

  test.each([
    refused(400),
    refused(401),
    refused(402),
    refused(403),
    refused(404),
    refused(409),
    refused(422),
    refused(302, { envelope: false }),
    refused(200, { envelope: false }),
    new LostReplyError("x", "CERT_HAS_EXPIRED", false),
    new LostReplyError("x", "ABORTED", true),
    new TypeError("a bug"),
  ])("are not made again after %s", async (error) => {
    const { clock, options } = harness();
    const { call, calls } = failing([error]);
    await expect(retryCall(call, options)).rejects.toBe(error);
    expect(calls()).toBe(1);
    expect(clock.sleeps).toEqual([]);
  });

  test("end after their attempts, with waits that grow and jitter that is full", async () => {
    const { clock, options } = harness({ random: () => 0.999 });
    const { call, calls } = failing(Array.from({ length: 20 }, () => refused(500)));
    await expect(retryCall(call, options)).rejects.toMatchObject({ status: 500 });
    expect(calls()).toBe(5);
    expect(clock.sleeps).toEqual([500, 999, 1_998, 3_996]);
    const none = harness({ random: () => 0 });
    await expect(
      retryCall(failing(Array.from({ length: 20 }, () => refused(500))).call, none.options),
    ).rejects.toThrow();
    expect(Math.max(...none.clock.sleeps)).toBe(0);
  });

  test("wait as long as a rate limit says, by Retry-After, else by the reset", async () => {
    const { clock, options } = harness({ random: () => 0 });
    const rateLimit = {
      limit: 60,
      remaining: 0,
      resetAt: clock.now() + 12_000 + 7_000,
      window: "minute" as const,
    };
    const { call } = failing([refused(429, { retryAfterMs: 7_000 }), refused(429, { rateLimit })]);
    await retryCall(call, options);
    expect(clock.sleeps).toEqual([7_000, 12_000]);
  });

  test("do not hammer where a service says Retry-After: 0", () => {
    const { options } = harness({ random: () => 0 });
    expect(
      new CallAttempts(options).after(refused(429, { retryAfterMs: 0 }))?.ms,
    ).toBeGreaterThanOrEqual(100);
  });

  test("stop where the wait is longer than allowed, saying until when", async () => {
    const { clock, options } = harness();
    const { call } = failing([refused(429, { retryAfterMs: 61_000, requestId: "r" })]);
    const error = await retryCall(call, options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(WaitTooLongError);
    expect(error).toMatchObject({
      waitMs: 61_000,
      maxWaitMs: 60_000,
      resetAt: clock.now() + 61_000,
      requestId: "r",
    });
    expect(clock.sleeps).toEqual([]);
  });

  test("stop where many short waits have become too long, and are not made ever faster", async () => {
    const { clock, options } = harness();
    const start = clock.now();
    const { call, calls } = failing(
      Array.from({ length: 5_000 }, () => refused(429, { retryAfterMs: 10 })),
    );
    const error = await retryCall(call, options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(WaitTooLongError);
    const waited = clock.now() - start;
    expect(error).toMatchObject({ waitMs: 15_000, waitedMs: waited, maxWaitMs: 60_000 });
    expect(waited).toBeGreaterThan(45_000);
    expect(waited).toBeLessThanOrEqual(60_000 + 250);
    expect(calls()).toBeLessThan(20);
    expect(clock.sleeps.slice(0, 4)).toEqual([225, 325, 525, 925]);
  });

  test("a patience of none at all lets nothing wait that a service names", async () => {
    const { clock, options } = harness({ maxWaitMs: 0 });
    const { call, calls } = failing([refused(429, { retryAfterMs: 1 })]);
    await expect(retryCall(call, options)).rejects.toBeInstanceOf(WaitTooLongError);
    expect(calls()).toBe(1);
    expect(clock.sleeps).toEqual([]);
  });

  test("a service that is down and names a time is not waited for beyond the bound either", async () => {
    const { clock, options } = harness({ random: () => 0 });
    const { call } = failing(
      Array.from({ length: 9 }, () => refused(503, { retryAfterMs: 25_000 })),
    );
    await expect(retryCall(call, options)).rejects.toMatchObject({ status: 503 });
    expect(clock.sleeps).toEqual([25_000, 25_000]);
  });

  test("that get no answer are made again only while there is patience, ten seconds at least, and say how long it was", async () => {
    const { clock, options } = harness();
    const hung = new LostReplyError("no answer within 40 s", "HEADERS_TIMEOUT", true);
    const slowly = (call: () => Promise<string>) => () => {
      clock.advance(40_000);
      return call();
    };
    const { call, calls } = failing([hung, hung, hung]);
    await expect(retryCall(slowly(call), options)).rejects.toMatchObject({
      message: "no answer within 40 s (2 tries, 81 s)",
      code: "HEADERS_TIMEOUT",
      wasSent: true,
    });
    expect([calls(), clock.sleeps]).toEqual([2, [250]]);
    const none = failing([hung]);
    await expect(retryCall(slowly(none.call), { ...options, maxWaitMs: 0 })).rejects.toBe(hung);
    expect(none.calls()).toBe(1);
    const blip = failing([new LostReplyError("reset", "ECONNRESET", true), refused(500)]);
    expect(await retryCall(blip.call, { ...options, maxWaitMs: 0 })).toBe("done");
  });

  test("can be interrupted while waiting", async () => {
    const controller = new AbortController();
    const { clock, options } = harness({
      signal: controller.signal,
      onWait: () => controller.abort(new Error("stop")),
    });
    await expect(retryCall(failing([refused(500)]).call, options)).rejects.toThrow("stop");
    expect(clock.sleeps).toEqual([]);
  });
});

describe("the attempts at one paid call, by whoever keeps the books", () => {
  test("are held up from the first refusal on, each call for itself", () => {
    const { clock, options } = harness();
    const [one, other] = [new CallAttempts(options), new CallAttempts(options)];
    const tooMany = refused(429, { retryAfterMs: 20_000, requestId: "r" });
    one.after(tooMany);
    clock.advance(39_000);
    one.after(tooMany);
    other.after(tooMany);
    clock.advance(2_000);
    expect(() => one.after(tooMany)).toThrow(WaitTooLongError);
    other.after(tooMany);
  });

  test("are not held up by faults, which are counted for themselves", () => {
    const { clock, options } = harness({ attempts: 3 });
    const attempts = new CallAttempts(options);
    attempts.after(new LostReplyError("x", "ECONNRESET", true));
    clock.advance(100_000);
    for (let limited = 0; limited < 5; limited++)
      expect(attempts.after(refused(429, { retryAfterMs: 1 }))).toMatchObject({
        reason: "rate_limit",
      });
    expect(attempts.after(refused(500))).toMatchObject({ reason: "retry", attempt: 2 });
    expect(attempts.after(refused(500))).toBeUndefined();
  });
});

test("behind a free call that says it charged none goes out, of those that were asked for beside it, too", async () => {
  let calls = 0;
  const charged: bigint[] = [];
  const count = async () => {
    calls++;
    return { count: 1, meta: { creditsUsed: ONE_CREDIT } };
  };
  const options = {
    ...harness().options,
    pacer: { take: () => 0, observe: () => undefined },
    onReply: () => undefined,
    onTurn: () => undefined,
    onCharged: (amount: bigint) => charged.push(amount),
  };
  const client = paced({ count } as unknown as ServiceClient, options as never);

  const ends = await Promise.allSettled([1, 2, 3].map(() => client.count({})));
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  await expect(client.count({})).rejects.toMatchObject({ code: "charged_for_free" });
  expect([calls, charged]).toEqual([1, [ONE_CREDIT]]);
});
