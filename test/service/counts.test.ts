import { beforeAll, expect, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

// POST /counts: people of a segment at each of several companies, by one call.

const service = testService({
  people: 2_000,
  plan: { perMinute: 100_000, perDay: 1_000_000 },
});
let companies: string[];

beforeAll(async () => {
  const all = await service.engine.people(
    { exact: {}, prefix: {}, range: {} },
    { offset: 0, limit: 2_000 },
  );
  const people = all.records.map((record) => JSON.parse(record.toString()) as Person);
  companies = [...new Set(people.flatMap(({ company_network_url: company }) => company ?? []))];
});

const counts = (body: object) => service.call("/counts", { body });

test.each([{}, { department: "Sales" }, { country: ["france", "germany"], connections_min: 100 }])(
  "of %j: what a count tells of each company, in the order asked",
  async (filters) => {
    const asked = [...companies.slice(0, 30), "nobody-knows-it"];
    const { json, status } = await counts({ filters, companies: asked });
    expect(status).toBe(200);
    const each: number[] = [];
    for (const company of asked) {
      const body = { filters: { ...filters, company_network_url: company } };
      each.push(
        ((await service.call("/v1/person/count", { body })).json.result as { count: number }).count,
      );
    }
    expect(json).toMatchObject({ credits_used: 0, result: { counts: each } });
    expect(each.at(-1)).toBe(0);
    expect(each.some((count) => count > 0)).toBe(true);
  },
);

test.each([
  [{ filters: {} }, "companies is required: 1 to 1000 profile addresses"],
  [{ filters: {}, companies: [] }, "companies is required"],
  [{ filters: {}, companies: Array.from({ length: 1_001 }, (_, at) => `c${at}`) }, "1 to 1000"],
  [{ filters: {}, companies: ["acme", 7] }, "company_network_url"],
  [{ filters: { company_network_url: "acme" }, companies: ["acme"] }, "companies are named twice"],
  [{ companies: ["acme"] }, "filters is required"],
  [{ filters: {}, companies: ["acme"], key: "x" }, "key"],
])("%j is refused", async (body, detail) => {
  const { json, status } = await counts(body);
  expect([status, String(json.detail)]).toEqual([422, expect.stringContaining(detail)]);
});

test("it takes one call of the minute for each hundred companies begun", async () => {
  const left = async (body: object) =>
    Number((await counts(body)).headers.get("x-ratelimit-remaining"));
  const before = await left({ filters: {}, companies: ["acme"] });
  const many = Array.from({ length: 201 }, (_, at) => `c-${at}`);
  expect(await left({ filters: {}, companies: many })).toBe(before - 3);
});

test("counts of few people weigh on the account as they do one by one", async () => {
  const other = await startTestService({
    people: 200,
    plan: { perMinute: 10_000, perDay: 100_000, smallCounts: 5 },
  });
  try {
    const some = Array.from({ length: 101 }, (_, at) => `c-${at}`);
    const ask = (path: string, body: object) => other.call(path, { body });
    expect((await ask("/counts", { filters: {}, companies: some.slice(0, 100) })).status).toBe(200);
    const refused = await ask("/v1/person/count", { filters: { company_network_url: "c-100" } });
    expect([refused.status, refused.headers.get("x-ratelimit-window")]).toEqual([
      429,
      "small-counts",
    ]);
    // What it was told already it is told again.
    expect((await ask("/counts", { filters: {}, companies: some.slice(0, 100) })).status).toBe(200);
    expect((await ask("/counts", { filters: {}, companies: some })).status).toBe(429);
  } finally {
    await other.close();
  }
});
