import { expect, test } from "vitest";
import { ServiceError } from "../../src/engine/client/errors.ts";
import { USUAL_BOUNDS } from "../../src/engine/client/refusal.ts";
import type { CountView, RateLimit } from "../../src/engine/client/types.ts";
import { ownedAddress } from "../../src/engine/planning/question.ts";
import { FreeCounts, type FreeCountsOptions } from "../../src/engine/purchase/free-counts.ts";
import { type Credits, parseCredits, ZERO } from "../../src/shared/contract/money.ts";
import type { Filters } from "../../src/shared/contract/vocabulary.ts";

const START = Date.UTC(2026, 0, 15, 12);
const addresses = (count: number) =>
  Array.from({ length: count }, (_, at) => ownedAddress(`people.example/in/p${at}`));

interface Reply {
  readonly rateLimit?: RateLimit;
  readonly version?: string;
  readonly used?: Credits;
}

/**
 * Free counts of a service whose every answer is as many people as addresses were asked after, on a
 * clock that sleeping moves.
 */
function counting(
  reply: (call: number, at: number) => Reply,
  more: Partial<FreeCountsOptions> & { readonly most?: number } = {},
) {
  let at = START;
  const asked: { readonly filters: Filters; readonly at: number }[] = [];
  const counts = new FreeCounts({
    client: {
      ids: async () => undefined,
      sketch: async () => undefined,
      facets: async () => undefined,
      async count(filters): Promise<CountView> {
        const listed = [filters.network_url ?? []].flat().length;
        if (more.most !== undefined && listed > more.most) {
          throw new ServiceError({
            status: 422,
            detail: [`network_url takes at most ${more.most} values`],
            envelope: true,
          });
        }
        asked.push({ filters, at });
        const { rateLimit, version, used } = reply(asked.length, at);
        const meta = {
          datasetVersion: version,
          rateLimit,
          creditsUsed: used ?? ZERO,
        } as CountView["meta"];
        return { count: listed, cached: false, asOf: undefined, unmatched: null, meta };
      },
    },
    maxCalls: 5_000,
    now: () => at,
    sleep: async (ms) => {
      at += ms;
    },
    signal: new AbortController().signal,
    ...more,
  });
  return { counts, asked, clock: () => at, advance: (ms: number) => (at += ms) };
}

/** What a service with so many calls a minute tells. */
function minutes(limit: number) {
  let window = START;
  let used = 0;
  return (_: number, at: number): Reply => {
    if (at >= window + 60_000)
      [window, used] = [window + Math.floor((at - window) / 60_000) * 60_000, 0];
    used++;
    return {
      rateLimit: { limit, remaining: limit - used, resetAt: window + 60_000, window: "minute" },
    };
  };
}

test("at most four fifths of a minute's calls, one after the other or at once", async () => {
  for (const atOnce of [false, true]) {
    const { counts, asked } = counting(minutes(60));
    const ask = () => counts.count({ department: "Sales" });
    if (atOnce) await Promise.all(Array.from({ length: 200 }, ask));
    else for (let call = 0; call < 200; call++) await ask();
    const each = new Map<number, number>();
    for (const { at } of asked)
      each.set(Math.floor(at / 60_000), (each.get(Math.floor(at / 60_000)) ?? 0) + 1);
    expect(Math.max(...each.values())).toBeLessThanOrEqual(48);
    expect([...each.values()].slice(0, -1).every((calls) => calls >= 44)).toBe(true);
  }
});

test("where no reply tells the limit, what the account says holds", async () => {
  const { counts, clock } = counting(() => ({}), { perMinute: 10 });
  for (let call = 0; call < 17; call++) await counts.count({});
  expect(clock() - START).toBe(2 * 60_000);
});

test("the last tenth of a day's calls is left to others", async () => {
  const { counts, asked } = counting((call) => ({
    rateLimit: { limit: 100, remaining: 100 - call, resetAt: START + 3_600_000 * 5, window: "day" },
  }));
  const ask = async () => {
    for (;;) await counts.count({});
  };
  await expect(ask()).rejects.toMatchObject({ code: "day_limit_near", exitCode: 7 });
  expect(asked).toHaveLength(90);
});

test("no more calls than allowed", async () => {
  const { counts, asked } = counting(() => ({}), { maxCalls: 3 });
  for (let call = 0; call < 3; call++) await counts.count({});
  await expect(counts.count({})).rejects.toMatchObject({ code: "too_many_counts", exitCode: 2 });
  expect(asked).toHaveLength(3);
});

test("what counts mean is asked within the calls allowed, and leaves those that are needed", async () => {
  const { counts, asked } = counting(() => ({}), { maxCalls: 5 });
  await counts.count({});
  const { count, facets } = counts.answers(2);
  // What told nothing is not counted.
  await facets({}, "title");
  for (let call = 0; call < 2; call++) await count({});
  for (const more of [count({}), facets({}, "title")])
    await expect(more).rejects.toMatchObject({ code: "too_many_counts", exitCode: 2 });
  for (let call = 0; call < 2; call++) await counts.count({});
  expect([asked.length, counts.calls]).toEqual([5, 5]);
});

test("another version of the dataset ends it", async () => {
  const { counts } = counting((call) => ({ version: call < 5 ? "v1" : "v2" }));
  for (let call = 1; call < 5; call++) await counts.count({});
  expect(counts.datasetVersion).toBe("v1");
  await expect(counts.count({})).rejects.toMatchObject({ code: "dataset_moved", exitCode: 5 });
});

test("a count that costs credits is the last one", async () => {
  const { counts } = counting(() => ({ used: parseCredits("0.1") ?? ZERO }));
  await expect(counts.count({})).rejects.toMatchObject({ code: "counts_cost", exitCode: 2 });
});

test.each([
  [1_000, 1_000],
  [100, 100],
  [50, 50],
  [7, 5],
])("how many values a list may have is learned: %d", async (most, learned) => {
  const { counts, asked } = counting(() => ({}), { most });
  expect(await counts.countAt({ department: "Sales" }, addresses(2_345))).toBe(2_345);
  expect(counts.listSize).toBe(learned);
  // Some sizes are tried, and one value alone.
  expect(asked.length).toBeLessThanOrEqual(Math.ceil(2_345 / learned) + USUAL_BOUNDS.length);
  expect(new Set(asked.flatMap(({ filters }) => filters.network_url)).size).toBe(2_345);
});

test("long addresses go in shorter lists", async () => {
  const { counts, asked } = counting(() => ({}));
  const long = Array.from({ length: 400 }, (_, at) =>
    ownedAddress(`people.example/in/${"x".repeat(500)}${at}`),
  );
  expect(await counts.countAt({}, long)).toBe(400);
  expect(
    asked.every(({ filters }) => [filters.network_url].flat().join("").length <= 100_000),
  ).toBe(true);
});

test("a refusal that is not about the list is told as it is", async () => {
  const error = new ServiceError({
    status: 422,
    detail: ["unknown filter: network_url"],
    envelope: true,
  });
  const { counts } = counting(() => {
    throw error;
  });
  await expect(counts.countAt({}, addresses(5))).rejects.toBe(error);
  // Once, and one value alone.
  expect(counts.calls).toBe(2);
});
