import { writeFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { seeded, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { Crowd, startPeopleService } from "../support/people-service.ts";
import { onResponse } from "../support/service.ts";
import { testService } from "../support/serving.ts";

// What a quote says of requests and of their time is what the service then sees.

const PER_MINUTE = 20_000;
const service = testService({
  people: 4_000,
  credits: 1_000_000,
  sketches: false,
  plan: { perMinute: PER_MINUTE, perDay: 10_000_000 },
});
let paid = 0;
/** Slugs of companies by how many people they have. */
let companies: string[];

beforeAll(async () => {
  onResponse.push(({ status, url }) => {
    if (status === 200 && PAID.test(url)) paid++;
  });
  const each = new Map<string, number>();
  for (let page = 1; page <= 4; page++) {
    const { json } = await service.call("/v1/person/search", {
      body: { filters: {}, page, per_page: 1_000 },
    });
    for (const { company_network_url: url } of json.result as {
      company_network_url: string | null;
    }[]) {
      const slug = url?.replace(/\/$/, "").split("/").at(-1) ?? "";
      if (slug !== "") each.set(slug, (each.get(slug) ?? 0) + 1);
    }
  }
  companies = [...each].sort(([, a], [, b]) => b - a).map(([slug]) => slug);
});

const PAID = /\/v1\/(person\/search|company\/(employees|enrich))|^\/people/;

/** Quotes a command, runs it, and compares. */
async function expectTrue(me: User, argv: readonly string[], sees: () => number = () => paid) {
  const { requests } = await me.json([...argv, "--dry-run", "--json"]);
  const before = sees();
  await me.ran([...argv, "--yes", "--overwrite", "-o", "out.ndjson"]);
  const done = sees() - before;
  expect(done, `${requests} requests quoted, ${done} made`).toBeGreaterThan(0);
  expect(requests / done, `${requests} requests quoted, ${done} made`).toBeLessThanOrEqual(1.5);
  expect(done / requests, `${requests} requests quoted, ${done} made`).toBeLessThanOrEqual(1.5);
  return requests;
}

const segment = (filters: object): string => JSON.stringify({ filters });

describe("requests that a quote tells are those that are made", () => {
  const cases: Readonly<Record<string, () => readonly string[]>> = {
    "a segment": () => ["search", "--department", "Sales", "--per-page", "10"],
    "a list of values": () => asTyped`search --country france --country germany --per-page 10`,
    "a limit": () => ["search", "--all", "--limit", "1007", "--per-page", "100"],
    "segments that overlap": () => asTyped`search -f a.json -f b.json -f c.json --per-page 20`,
    "one segment without another": () => asTyped`search -f b.json --except a.json --per-page 20`,
    "a sample": () => ["search", "--all", "--sample", "300", "--seed", "3"],
    "forty companies": () => ["employees", ...companies.slice(0, 40), "--per-page", "5"],
    "forty companies, a limit": () =>
      asTyped`employees ${companies.slice(0, 40)} --per-page 5 --limit 90`,
    "forty companies, at most two people each": () =>
      asTyped`employees ${companies.slice(0, 40)} --per-company 2`,
    "a file of companies": () =>
      asTyped`employees --input companies.csv --column slug --per-page 5`,
    "a file of companies, and whom at each": () => [
      ...["employees", "--input", "companies.csv", "--column", "slug", "--per-page", "3"],
      ...["--seniority-level", "senior", "--seniority-level", "manager"],
    ],
    "companies that are looked up": () => asTyped`enrich --input companies.csv --column slug`,
  };
  const SLOW = ["a limit", "forty companies"];
  const isSlow = ([name]: readonly [string, unknown]): boolean => SLOW.includes(name);
  const all = Object.entries(cases);
  const tryOne = async (_: string, argv: (typeof all)[number][1]): Promise<void> => {
    const me = user(service.url, service.key);
    writeFileSync(me.file("a.json"), segment({ department: "Sales" }));
    writeFileSync(me.file("b.json"), segment({ country: "france" }));
    writeFileSync(me.file("c.json"), segment({ seniority_level: "manager" }));
    writeFileSync(me.file("companies.csv"), `slug\n${companies.slice(10, 50).join("\n")}\n`);
    await expectTrue(me, argv());
  };
  test.each(all.filter((one) => !isSlow(one)))("%s", tryOne);
  long.each(all.filter(isSlow))("%s", tryOne);

  long(
    "new people alone, in parts that are not known yet",
    async () => {
      const me = user(service.url, service.key);
      const sales = ["search", "--department", "Sales"];
      await me.ran(asTyped`${sales} --sample 300 --seed 5 --yes -o own.ndjson`);
      expect(await expectTrue(me, [...sales, "--new-only"])).toBeGreaterThan(10);
    },
    60_000,
  );

  long("the rest of what was begun, behind the companies that are whole", async () => {
    const me = user(service.url, service.key);
    const argv = ["employees", ...companies.slice(0, 30).reverse(), "--per-page", "5"];
    await me.ran([...argv, "--max-credits", "60", "-o", "out.ndjson"]);
    await expectTrue(me, argv);
  });

  test("a job of several segments", async () => {
    const me = user(service.url, service.key);
    writeFileSync(me.file("a.json"), segment({ department: "Sales" }));
    writeFileSync(me.file("b.json"), segment({ country: "france" }));
    const job = {
      command: "search",
      filters: ["a.json", "b.json"],
      per_page: 20,
      max_credits: 5_000,
      output: "job.csv",
    };
    writeFileSync(me.file("jobs.json"), JSON.stringify({ jobs: { them: job } }));
    const argv = ["jobs", "run", "them", "--file", "jobs.json"];
    const [{ quote }] = await me.json([...argv, "--dry-run", "--json"]);
    const before = paid;
    await me.ran(argv);
    expect(quote.requests).toBe(paid - before);
  });
});

long("of a segment behind a wall that the account tells", async () => {
  const crowd = new Crowd(seeded(21));
  const people = Array.from({ length: 3_000 }, () => crowd.born());
  const foreign = await startPeopleService({ people, maxPerPage: 20, maxDepth: 200 });
  try {
    const me = user(foreign.url, foreign.key);
    const pages = () => foreign.asked.filter(({ path }) => path === "/v1/person/search").length;
    await expectTrue(me, ["search", "--department", "Sales", "--paging", "page"], pages);
  } finally {
    await foreign.close();
  }
});

test("a company that is not known is none to buy from when a run of others is gone on with", async () => {
  const me = user(service.url, service.key);
  await me.ran(asTyped`employees ${String(companies[20])} nobody-co --yes -o o.csv`);
  await me.ends(0, ["resume", "last"], "nothing to buy");
});
