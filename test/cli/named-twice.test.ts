import { writeFileSync } from "node:fs";
import { afterEach, beforeAll, expect, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { startAgent, YES } from "../support/agent.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, type User, user } from "../support/export.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { testService } from "../support/serving.ts";

// A company that several names mean: its people are paid for once.

const CREDITS = 100_000;

const service = testService({
  people: 2_000,
  credits: CREDITS,
});
let u: User;
/** Two companies with several people each, and who they are. */
let companies: { readonly domain: string; readonly address: string; readonly people: number }[];
let foreign: ForeignService | undefined;

beforeAll(async () => {
  const all = await service.call("/v1/person/search", { body: { filters: {}, per_page: 1_000 } });
  const addresses = new Map<string, string>();
  for (const { company_network_url: address, company_domain: domain } of all.json
    .result as Person[])
    if (address != null && domain != null) addresses.set(address, domain);
  const found: typeof companies = [];
  for (const [address, domain] of addresses) {
    const { json } = await service.call("/v1/person/count", {
      body: { filters: { company_network_url: address } },
    });
    const people = Number((json.result as { count?: number }).count ?? json.result);
    if (people > 2 && found.length < 2) found.push({ domain, address, people });
  }
  companies = found;
  u = user(service.url, service.key);
});
afterEach(async () => {
  await foreign?.close();
  foreign = undefined;
});

const slugOf = (address: string): string => address.replace(/\/$/, "").split("/").at(-1) ?? "";
const [first, second] = [() => companies[0], () => companies[1]].map((of) => () => {
  const company = of();
  if (company === undefined) throw new Error("the dataset has no two companies with people");
  return company;
}) as [() => (typeof companies)[number], () => (typeof companies)[number]];

test("by domain, by address and by slug, in any order and of any size of page", async () => {
  const { domain, address, people } = first();
  for (const names of [
    [domain, address],
    [address, domain],
    [slugOf(address), domain, address],
  ]) {
    for (const perPage of ["1", "2", "100"]) {
      const before = await charged(service, CREDITS);
      const argv = asTyped`
        employees ${names} --max-credits 500 --per-page ${perPage} --again --overwrite
      `;
      const ran = await u.ran([...argv, "-o", "o.csv"]);
      expect({ names, perPage, paid: (await charged(service, CREDITS)) - before }).toEqual({
        names,
        perPage,
        paid: people,
      });
      expect(readCsv(u.read("o.csv"))).toHaveLength(people);
      expect(ran.stderr).toContain("named more than once");
      expect(ran.stderr).toContain(`is ${domain}`);
    }
  }
});

test("a list, others beside it, and an agent", async () => {
  const [one, other] = [first(), second()];
  writeFileSync(
    u.file("list.csv"),
    `website\n${one.address}\n${other.domain}\n${one.domain}\n${other.address}\n`,
  );
  const before = await charged(service, CREDITS);
  const argv = asTyped`employees --input list.csv --max-credits 500 --again -o list-out.csv`;
  await u.ran(argv);
  expect((await charged(service, CREDITS)) - before).toBe(one.people + other.people);
  const agent = await startAgent(u, ["--max-credits", "500"], { answer: YES });
  const asked = {
    kind: "employees",
    companies: [one.address, one.domain],
    per_company: 50,
    again: true,
  };
  const quote = await agent.call("quote", asked);
  await agent.call("buy", { quote_id: String(quote.data.quote_id) });
  await agent.close();
  expect((await charged(service, CREDITS)) - before).toBe(2 * one.people + other.people);
});

test("an address and its slug are one company only once a row shows it, and the quote has both", async () => {
  const { address, people } = first();
  const dry = await u.run(
    asTyped`employees ${address} ${slugOf(address)} --again --dry-run --json`,
  );
  expect(JSON.parse(dry.stdout), dry.stderr).toMatchObject({ credits: 2 * people });
  const companies = await u.run(["enrich", address, slugOf(address), "--dry-run", "--json"]);
  expect(JSON.parse(companies.stdout)).toMatchObject({ credits: 2 });
});

test("two domains: no more than one page twice, and the quote says so", async () => {
  foreign = await startForeignService({
    companies: { "a.example": 60, "b.example": 60 },
    rowsNameCompany: true,
  });
  const me = user(foreign.url, foreign.key);
  const argv = ["employees", "a.example", "b.example", "--max-credits", "200", "--per-page", "10"];
  const dry = await me.run([...argv, "--dry-run"]);
  expect(dry.stdout).toContain("of a company that two of the names mean, one page at most");
  const ran = await me.ran([...argv, "-o", "o.csv"]);
  expect(foreign.charged()).toBe(70);
  expect(ran.stderr).toContain(
    "named more than once, and the rest of it bought once: b.example is a.example",
  );
});
