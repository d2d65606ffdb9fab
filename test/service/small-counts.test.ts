import { expect, onTestFinished, test } from "vitest";
import { createKey } from "../../src/service/admin/keys.ts";
import { SMALL_COUNTS_A_DAY } from "../../src/service/http/limits.ts";
import { ConsoleClient } from "../support/console.ts";
import { user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { watchResponses } from "../support/openapi.ts";
import {
  onResponse,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from "../support/service.ts";

watchResponses(onResponse);

async function serve(options: TestServiceOptions): Promise<TestService> {
  const service = await startTestService({ people: 300, ...options });
  onTestFinished(() => service.close());
  return service;
}

const PLAN = { perMinute: 1_000_000, perDay: 1_000_000 };
const nobody = { name: "nobody at all" };
const count = (service: TestService, filters: unknown, key?: string) =>
  service.call("/v1/person/count", {
    method: "POST",
    body: { filters },
    ...(key === undefined ? {} : { key }),
  });

async function askSmall(service: TestService, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let n = 0; n < times; n++)
    statuses.push((await count(service, { ...nobody, connections_min: n })).status);
  return statuses;
}

long("without the option every count is answered", async () => {
  const service = await serve({ plan: PLAN });
  expect(new Set(await askSmall(service, SMALL_COUNTS_A_DAY + 20))).toEqual(new Set([200]));
});

long(
  "with it an account gets 100 small counts a day, whatever asks for them, and large ones go on",
  async () => {
    let time = Date.UTC(2026, 0, 15, 12);
    const clocks = { now: () => time, monotonic: () => time };
    const service = await serve({ ...clocks, plan: { ...PLAN, smallCounts: 5 }, metricsPort: 0 });
    expect(new Set(await askSmall(service, SMALL_COUNTS_A_DAY - 2))).toEqual(new Set([200]));
    const facets = await service.call("/facets", {
      method: "POST",
      body: { filters: nobody, key: "country" },
    });
    const search = await service.call("/v1/person/search", {
      method: "POST",
      body: { filters: nobody },
    });
    expect([facets.status, search.status, search.json.credits_used]).toEqual([200, 200, 0]);
    // What it was told already is told again.
    expect((await count(service, nobody)).status).toBe(200);
    const refused = await count(service, { ...nobody, connections_min: 1_000 });
    expect([
      refused.status,
      refused.headers.get("x-ratelimit-window"),
      refused.headers.get("retry-after"),
    ]).toEqual([...[429, "small-counts", String(12 * 3_600)]]);
    expect(refused.json.detail[0]).toContain("fewer than 5 people");
    for (const [path, body] of [
      ["/facets", { filters: nobody, key: "city" }],
      ["/v1/person/search", { filters: { ...nobody, connections_min: 1_001 } }],
    ] as const)
      expect((await service.call(path, { method: "POST", body })).status).toBe(429);
    expect((await count(service, {})).json.result.count).toBe(300);
    const bought = await service.call("/v1/person/search", {
      method: "POST",
      body: { filters: {}, per_page: 1 },
    });
    expect([bought.status, bought.json.credits_used]).toEqual([200, 1]);
    // Test keys see other people.
    expect((await count(service, nobody, service.testKey)).status).toBe(200);
    const metrics = await (await fetch(service.metricsUrl ?? "")).text();
    expect(metrics).toContain('headcount_small_counts_total{outcome="refused"} 3');
    expect(metrics).toContain("headcount_small_count_accounts 1");
    await service.flush();
    expect(await service.store.verify()).toEqual([]);
    // A second process on the ledger knows; a new day begins anew.
    const again = await serve({ ...clocks, ledger: service.ledger });
    expect((await count(again, nobody, service.key)).status).toBe(429);
    time += 13 * 3_600_000;
    expect((await count(service, nobody)).status).toBe(200);
  },
);

long(
  "what a search or a list of employees says of few people behind its last page is a small count",
  async () => {
    const service = await serve({ plan: { ...PLAN, smallCounts: 400 } });
    const behind = (n: number) =>
      service.call("/v1/person/search", {
        method: "POST",
        body: { filters: { connections_min: n }, page: 900 },
      });
    expect((await behind(0)).headers.get("x-total-count")).toBe("260");
    for (let n = 1; n < SMALL_COUNTS_A_DAY - 1; n++) expect((await behind(n)).status).toBe(200);
    const { json } = await service.call("/v1/person/search", {
      method: "POST",
      body: { filters: {}, per_page: 20 },
    });
    const domains = new Set(
      json.result
        .map((person: { company_domain: unknown }) => person.company_domain)
        .filter(Boolean),
    );
    const [domain, other] = domains;
    const employees = () => service.call(`/v1/company/employees?domain=${domain}&page=900`);
    expect((await employees()).status).toBe(200);
    const refused = [
      await behind(SMALL_COUNTS_A_DAY),
      await service.call(`/v1/company/employees?domain=${other}&page=900`),
    ];
    expect(refused.map(({ status }) => status)).toEqual([429, 429]);
    expect(refused.map(({ headers }) => headers.get("x-total-count"))).toEqual([null, null]);
  },
);

long("the client says which limit it is, in the words of the service", async () => {
  const service = await serve({ plan: { ...PLAN, smallCounts: 5 } });
  await askSmall(service, SMALL_COUNTS_A_DAY);
  const { code, stderr } = await user(service.url, service.key).run([
    "count",
    "--name",
    "nobody else",
    // The last minutes of a day would be waited for.
    "--max-wait",
    "1",
  ]);
  expect(code).toBe(7);
  expect(stderr).toContain("counts of fewer than 5 people today");
});

test("five known people beside the one who is asked about hide no count", async () => {
  const service = await serve({ plan: { ...PLAN, smallCounts: 5 } });
  const { json } = await service.call("/v1/person/search", {
    method: "POST",
    body: { filters: {}, per_page: 6 },
  });
  const name = json.result.map((person: { name: string }) => person.name);
  const statuses: number[] = [];
  for (let n = 0; n < SMALL_COUNTS_A_DAY + 20; n++) {
    const answer = await count(service, { name, followers_max: 1_000_000_000 + n });
    statuses.push(answer.status);
    if (answer.status === 200) expect(answer.json.result.count).toBeGreaterThan(5);
  }
  // The first tells of six people; each other one differs from it by fewer than five.
  expect(statuses.indexOf(429)).toBe(SMALL_COUNTS_A_DAY + 1);
});

test("a facet tells no group that is smaller than what is bounded, in the console either", async () => {
  const plan = { ...PLAN, smallCounts: 9 };
  const service = await serve({ people: 600, plan, console: {} });
  const values = (told: { values: { count: number }[] }) => told.values.map(({ count }) => count);
  const body = { filters: {}, key: "title", limit: 1_000 };
  const { json } = await service.call("/facets", { method: "POST", body });
  const client = new ConsoleClient(service, Date.now);
  const page = await client.call(
    await client.signIn({ key: service.key }),
    "POST",
    "/facets",
    body,
  );
  for (const told of [json.result, page.json]) {
    expect(told).toMatchObject({ least: 9 });
    expect(Math.min(...values(told))).toBeGreaterThanOrEqual(9);
  }
  const free = await serve({ people: 600, plan: PLAN });
  expect(
    Math.min(...values((await free.call("/facets", { method: "POST", body })).json.result)),
  ).toBeLessThan(9);
});

test("facets that are walked by their prefixes are small counts", async () => {
  const service = await serve({ plan: { ...PLAN, smallCounts: 5 } });
  const facets = (prefix: string) =>
    service.call("/facets", { method: "POST", body: { filters: {}, key: "title", prefix } });
  for (let n = 0; n < SMALL_COUNTS_A_DAY; n++) expect((await facets(`z${n}`)).status).toBe(200);
  expect((await facets("zz")).status).toBe(429);
  expect((await facets("z7")).status).toBe(200);
});

test("the keys of an account share what it may ask", async () => {
  const service = await serve({ plan: { ...PLAN, smallCounts: 5 } });
  const statuses: number[] = [];
  for (let k = 0; k < 3; k++) {
    const { key } = await createKey(service.store, {
      name: `key ${k}`,
      mode: "live",
      now: Date.now,
    });
    for (let n = 0; n < 40; n++)
      statuses.push((await count(service, { ...nobody, connections_min: 40 * k + n }, key)).status);
  }
  // That nobody has the name is told with the first of them, and counts.
  expect(statuses.indexOf(429)).toBe(SMALL_COUNTS_A_DAY - 1);
});
