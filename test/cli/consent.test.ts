import { writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { charged, type Ran, type RunOptions, readCsv, runIds } from "../support/export.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { CREDITS, type Serving, serveThroughProxy } from "../support/serving.ts";

// Consent belongs to the invocation: what an earlier call agreed to is no yes of this one.

let { service, proxy, u } = {} as Serving & { proxy: FaultProxy };
serveThroughProxy((now) => ({ service, proxy, u } = now));

let slugs: readonly string[] = [];
let domains: readonly string[] = [];
beforeEach(async () => {
  const { json } = await service.call("/v1/person/search", { body: { filters: {}, per_page: 50 } });
  const people = json.result as readonly {
    company_domain?: string;
    company_network_url?: string;
  }[];
  domains = [...new Set(people.flatMap(({ company_domain }) => company_domain ?? []))].slice(0, 6);
  slugs = [
    ...new Set(people.flatMap(({ company_network_url: url }) => url?.split("/").at(-1) ?? [])),
  ].slice(0, 6);
});

const DOORS: readonly (readonly [string, () => readonly string[]])[] = [
  [
    "search",
    () => ["search", "--department", "Sales", "--per-page", "20", "--limit", "100", "-o", "a.csv"],
  ],
  [
    "employees",
    () => ["employees", ...slugs, "--per-page", "1", "--per-company", "2", "-o", "a.csv"],
  ],
  ["enrich", () => ["enrich", ...domains, "-o", "a.csv"]],
];

/** Runs a command that agrees to everything until a signal comes with its second page. */
async function interrupted(argv: readonly string[]): Promise<void> {
  const ran = await u.run([...argv, "--yes", "--concurrency", "1"], {
    before: ({ interrupt }) => {
      proxy.decide = ({ paid }) => {
        if (paid === 2) interrupt("SIGTERM");
        return { kind: "none" };
      };
    },
  });
  proxy.decide = () => ({ kind: "none" });
  expect(ran.code, ran.stderr).toBe(130);
}

const spentBy = async (work: () => Promise<Ran>): Promise<Ran & { readonly spent: number }> => {
  const before = await charged(service, CREDITS);
  const ran = await work();
  return { ...ran, spent: (await charged(service, CREDITS)) - before };
};
const terminal = (answer: string): RunOptions => ({
  tty: true,
  answers: [answer],
  env: { NO_COLOR: "1" },
});

describe.each(DOORS)("%s goes on with a run that an earlier call agreed to", (_, argv) => {
  test("where nobody can be asked it needs a yes of its own, and its hint is one", async () => {
    await interrupted(argv());
    const refused = await spentBy(() => u.run(argv()));
    expect(refused).toMatchObject({ code: 2, spent: 0 });
    expect(refused.stderr).toContain("there is no terminal to ask at; nothing more was spent");
    const [, hint = ""] = /hint: headcount (.+)/.exec(refused.stderr) ?? [];
    const bought = await spentBy(() => u.run(hint.trim().split(" ")));
    expect(bought.code, bought.stderr).toBe(0);
    expect(bought.spent).toBeGreaterThan(0);
    expect(runIds(u)).toHaveLength(1);
  });

  test("a person is asked, and n is honoured", async () => {
    await interrupted(argv());
    const declined = await spentBy(() => u.run(argv(), terminal("n")));
    expect(declined).toMatchObject({ code: 10, spent: 0 });
    expect(declined.stderr).toMatch(/Go on and export \d+ \w+ for \d+ credits?\? \[y\/N\]/);
    await u.ran([...argv(), "--quiet"], terminal("y"));
    expect(readCsv(u.read("a.csv")).length).toBeGreaterThan(2);
  });
});

test("who names the run goes on within what was agreed to for it, and is asked for more", async () => {
  const [[, search]] = DOORS as readonly [readonly [string, () => readonly string[]]];
  await interrupted(search());
  const more = await spentBy(() => u.run(["resume", "--limit", "150"], terminal("n")));
  expect(more).toMatchObject({ code: 10, spent: 0 });
  const rest = await spentBy(() => u.run(["resume"]));
  expect(rest.code, rest.stderr).toBe(0);
  expect(readCsv(u.read("a.csv")).length).toBe(100);
});

test("one company is looked up unasked where its price is told as small, and nowhere else", async () => {
  const untold = await foreignScene({ price: 3, tellsCosts: false });
  const refused = await untold.run("enrich", "c0.example", "-o", "o.csv");
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(
    "1 company for 1 credit (assumed: the account does not tell the price), and there",
  );
  expect(await untold.u.run(["enrich", "c0.example"], terminal("n"))).toMatchObject({ code: 10 });
  expect(untold.service.charged()).toBe(0);
  const told = await foreignScene({ price: 1 });
  expect(await told.run("enrich", "c0.example", "-o", "o.csv")).toMatchObject({ code: 0 });
});

test("a price that nobody told is null in documents, and called assumed on the card", async () => {
  const { run } = await foreignScene({ price: 3, people: 40, tellsCosts: false });
  const quote = await run("search", "--country", "france", "--dry-run", "--json", "-q");
  expect(JSON.parse(quote.stdout)).toMatchObject({ unit_cost: null, credits: 40 });
  const count = await run("count", "--country", "france", "--json", "-q");
  expect(JSON.parse(count.stdout)).toMatchObject({ unit_cost: null, max_cost: null });
  const card = await run("search", "--country", "france", "--dry-run", "-q");
  expect(card.stdout).toMatch(/price\s+1 credit a profile, assumed\n/);
  const list = ["refresh", "--country", "france", "--dry-run", "-o", "o.csv"];
  const plan = await run(...list, "--json");
  expect(JSON.parse(plan.stdout)).toMatchObject({
    unit_cost: null,
    credits_at_most: 40,
    rebuy_credits: 40,
  });
  expect(
    plan.stderr.match(/warning: the account does not tell what person_search costs/g),
  ).toHaveLength(1);
  expect((await run(...list, "-q")).stdout).toMatch(
    /cost\s+at most 40 credits \(assumed: the account does not tell/,
  );
  const refused = await run("refresh", "--country", "france", "-o", "o.csv");
  expect(refused.stderr).toMatch(
    /40 new people for at most 40 credits \(assumed: the account does not tell the price\), and/,
  );
  expect(
    refused.stderr.match(/warning: the account does not tell what person_search costs/g),
  ).toHaveLength(1);
});

test("a job brings its own consent, at most its cap", async () => {
  const legal = {
    command: "search",
    filters: { department: "Legal" },
    max_credits: 50,
    output: "legal.csv",
  };
  writeFileSync(u.file("jobs.jsonc"), JSON.stringify({ jobs: { legal } }));
  const ran = await spentBy(() => u.run(["jobs", "run", "legal", "--file", "jobs.jsonc"]));
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.spent).toBeLessThanOrEqual(50);
});
