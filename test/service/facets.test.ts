import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OutOfTimeError } from "../../src/dataset/engine.ts";
import { DEFAULT_DIALECT } from "../../src/engine/client/dialect.ts";
import { createClient } from "../../src/engine/client/http-client.ts";
import type { ServiceClient } from "../../src/engine/client/types.ts";
import { makeApiKey } from "../../src/service/money/keys.ts";
import { FACET_LEAST } from "../../src/shared/contract/facets.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { FACET_KEYS, type Filters } from "../../src/shared/contract/vocabulary.ts";
import { wrapped } from "../support/dataset.ts";
import { matches } from "../support/exactness.ts";
import { naiveFacet } from "../support/facets.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
let client: ServiceClient;
let people: Person[];

const clientOf = ({ url }: TestService, apiKey: string): ServiceClient =>
  createClient({ baseUrl: url, apiKey, dialect: DEFAULT_DIALECT, now: Date.now, env: {} });

beforeAll(async () => {
  service = await startTestService({ people: 2_000, metricsPort: 0 });
  client = clientOf(service, service.key);
  const all = await service.engine.people(
    { exact: {}, prefix: {}, range: {} },
    { offset: 0, limit: 2_000 },
  );
  people = all.records.map((record) => JSON.parse(record.toString()) as Person);
});
afterAll(async () => {
  await client.close();
  await service.close();
});

describe("POST /facets", () => {
  test.each<readonly [string, Filters]>([
    ["everybody", {}],
    ["a department", { department: "Sales" }],
    ["a range and a country", { country: ["france", "germany"], connections_min: 100 }],
    ["a headline's beginning", { headline_prefix: "s" }],
  ])(
    "of %s: each key's values as a naive count has them, and each count as the count call gives it",
    async (_, filters) => {
      const check = checkFilters(filters);
      if (!check.ok) throw new Error("the filters are fine");
      const inside = people.filter((person) => matches(person, check.canonical));
      for (const key of FACET_KEYS) {
        const facet = await client.facets(filters, key, { limit: 7 });
        const expected = naiveFacet(inside, { key, prefix: "", limit: 7, least: FACET_LEAST });
        expect(facet, key).toMatchObject({
          key,
          ...expected,
          least: FACET_LEAST,
          exact: true,
          reason: undefined,
        });
        const [first] = expected.values;
        if (first === undefined || key in filters) continue;
        expect(await client.count({ ...filters, [key]: first.value }), key).toMatchObject({
          count: first.count,
        });
      }
    },
  );

  test("a prefix is matched in any case, and the rest is in others", async () => {
    const upper = await client.facets({}, "department", { prefix: "S" });
    expect(upper?.values.map(({ value }) => value)).toEqual(["Sales"]);
    expect(upper).toMatchObject({ count: 2_000, distinct: 1, missing: 0 });
    expect(upper?.others).toBe(2_000 - (upper?.values[0]?.count ?? 0));
    const key = "industry";
    const expected = naiveFacet(people, { key, prefix: "soft", limit: 20, least: FACET_LEAST });
    expect(await client.facets({}, key, { prefix: "  SOFT" })).toMatchObject(expected);
  });

  test("what single people have is not told, however narrow the segment", async () => {
    const [person] = people;
    const segment = { network_url: person?.network_url ?? "" };
    for (const key of FACET_KEYS) {
      expect(await client.facets(segment, key), key).toMatchObject({ count: 1, values: [] });
    }
  });

  test("it is free, counted by the limits, and told with version and time", async () => {
    const before = await service.call("/v1/account");
    const answer = await service.call("/facets", { body: { filters: {}, key: "city" } });
    expect(answer.json).toMatchObject({
      credits_used: 0,
      credits_remaining: before.json.credits_remaining,
    });
    expect(answer.headers.get("x-dataset-version")).toBe(service.engine.info().version);
    expect(Number(answer.headers.get("x-ratelimit-remaining"))).toBe(
      Number(before.headers.get("x-ratelimit-remaining")) - 1,
    );
    expect(answer.json.result.as_of).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(answer.json.result.values).toHaveLength(20);
    const metrics = await (await fetch(service.metricsUrl ?? "")).text();
    expect(metrics).toMatch(/headcount_requests_total\{call="facets",status="200"\} \d+/);
    // A test key sees the people of test keys.
    const test = await service.call("/facets", {
      body: { filters: {}, key: "country" },
      key: service.testKey,
    });
    expect(test.json.result.count).not.toBe(2_000);
  });

  test.each<readonly [string, unknown, RegExp]>([
    [
      "no key",
      { filters: {} },
      /^key is required, a string; keys that have facets: country, state, .*, department$/,
    ],
    [
      "an unknown key",
      { filters: {}, key: "industy" },
      /^unknown key: industy; keys that have facets: /,
    ],
    [
      "people's names",
      { filters: {}, key: "name" },
      /^name has no facets; keys that have facets: /,
    ],
    ["addresses", { filters: {}, key: "network_url" }, /^network_url has no facets/],
    ["a range", { filters: {}, key: "followers_min" }, /^followers_min has no facets/],
    [
      "a limit of 0",
      { filters: {}, key: "city", limit: 0 },
      /^limit must be between 1 and 1000, not 0$/,
    ],
    [
      "a limit of text",
      { filters: {}, key: "city", limit: "5" },
      /^limit must be an integer, not a string/,
    ],
    ["a prefix that is none", { filters: {}, key: "city", prefix: 5 }, /^prefix must be a string$/],
    [
      "a long prefix",
      { filters: {}, key: "city", prefix: "x".repeat(1_025) },
      /^prefix takes at most 1024 characters/,
    ],
    [
      "an unknown field",
      { filters: {}, key: "city", page: 2 },
      /^unknown field: page; valid fields: filters, key/,
    ],
    ["no filters", { key: "city" }, /^filters is required/],
    ["bad filters", { filters: { citty: "x" }, key: "city" }, /^unknown filter: citty/],
  ])("%s is a 422 that says so", async (_, body, detail) => {
    const answer = await service.call("/facets", { body });
    expect(answer.status).toBe(422);
    expect(answer.json.detail[0]).toMatch(detail);
  });

  test("the order of checks is that of the other calls: 401 before 405 before the body", async () => {
    expect((await service.call("/facets", { body: {}, key: null })).status).toBe(401);
    expect((await service.call("/facets", { method: "GET", key: null })).status).toBe(401);
    const wrong = await service.call("/facets", { method: "GET" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    const { hash, key, prefix } = makeApiKey("live");
    const named = {
      id: "k_buyer",
      name: "buyer",
      mode: "live",
      accountId: "default",
      createdAt: Date.now(),
    } as const;
    await service.store.createKey({ ...named, hash, prefix, scopes: ["search"] });
    const refused = await service.call("/facets", { body: { filters: {}, key: "city" }, key });
    expect([refused.status, refused.json.detail]).toEqual([
      403,
      ["this key may not call count; its scopes: search"],
    ]);
  });

  test("what takes too long is answered without values, and says so", async () => {
    const limits: number[] = [];
    const slow = await startTestService({
      timeouts: { facet: 300 },
      wrapEngine: (engine) =>
        wrapped(engine, {
          facet: async (_filters, _question, limitMs) => {
            limits.push(limitMs);
            throw new OutOfTimeError("too long");
          },
        }),
    });
    const asking = clientOf(slow, slow.key);
    try {
      const facet = await asking.facets({ department: "Sales" }, "title");
      expect(facet).toMatchObject({
        exact: false,
        values: [],
        count: undefined,
        others: undefined,
        missing: undefined,
      });
      expect(facet?.reason).toMatch(
        /^counting the values of this segment takes longer than 300 ms; narrow the filters/,
      );
      expect(limits).toEqual([300]);
    } finally {
      await asking.close();
      await slow.close();
    }
  });
});
