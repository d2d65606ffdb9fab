import { writeFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { createKey } from "../../src/service/admin/keys.ts";
import { credits } from "../../src/shared/contract/money.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { startAgent } from "../support/agent.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, type User, user } from "../support/export.ts";
import { foreignScene } from "../support/foreign-scene.ts";
import { onResponse } from "../support/service.ts";
import { testService } from "../support/serving.ts";

// Who to buy at each of several companies: filters of people beside companies, so many of each.

const CREDITS = 100_000;
const DEPARTMENT = "Engineering and Technical";

const service = testService({
  people: 2_000,
  credits: CREDITS,
});
/** Slugs of companies, and how many of the department each has. */
let companies: [slug: string, people: number][];
let u: User;
/** Domains of the companies by their slugs. */
const domains = new Map<string, string>();
/** All people, as CSV. */
let everybody: string;

const slugOf = ({ company_network_url: url }: Person): string =>
  url?.replace(/\/$/, "").split("/").at(-1) ?? "";

beforeAll(async () => {
  const body = { filters: {}, per_page: 1_000 };
  const people: Person[] = [];
  for (const page of [1, 2])
    people.push(
      ...((await service.call("/v1/person/search", { body: { ...body, page } })).json
        .result as Person[]),
    );
  const counts = new Map<string, number>();
  for (const person of people) {
    const slug = slugOf(person);
    if (slug === "") continue;
    domains.set(slug, person.company_domain ?? "");
    counts.set(
      slug,
      (counts.get(slug) ?? 0) +
        Number(person.department?.toLowerCase() === DEPARTMENT.toLowerCase()),
    );
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  companies = [...sorted.slice(0, 4), ...sorted.slice(-2)];
  u = user(service.url, service.key);
  await u.ran(["search", "--all", "--yes", "-o", "all.csv"]);
  everybody = u.read("all.csv");
  u = user(service.url, service.key);
});

const slugs = (): string[] => companies.map(([slug]) => slug);
const atEach = (rows: readonly Readonly<Record<string, string>>[]): Map<string, number> => {
  const each = new Map<string, number>();
  for (const { company_network_url: url = "" } of rows) {
    const slug = url.replace(/\/$/, "").split("/").at(-1) ?? "";
    each.set(slug, (each.get(slug) ?? 0) + 1);
  }
  return each;
};
const wanted = (most: number): [string, number][] =>
  companies.flatMap(([slug, people]) => (people === 0 ? [] : [[slug, Math.min(people, most)]]));

test.each([1, 2, 1_000])("at most %i of each company, and nobody else", async (most) => {
  const argv = ["employees", ...slugs(), "--department", DEPARTMENT, "--per-company", String(most)];
  const quote = await u.json([...argv, "--dry-run", "--json"]);
  const sum = wanted(most).reduce((all, [, people]) => all + people, 0);
  expect(quote).toMatchObject({ matches: sum, credits: sum, requests: wanted(most).length });
  const before = await charged(service, CREDITS);
  const ran = await u.ran([...argv, "--again", "--yes", "-o", `${most}.csv`]);
  expect(await charged(service, CREDITS)).toBe(before + sum);
  const rows = readCsv(u.read(`${most}.csv`));
  expect(rows.every(({ department }) => department === DEPARTMENT)).toBe(true);
  expect([...atEach(rows)].sort()).toEqual(wanted(most).sort());
  expect(ran.stderr).toContain(
    `${wanted(most).length} of ${companies.length} companies have somebody who matches`,
  );
});

test("the same again, or fewer, is not paid for again; runs name it", async () => {
  const argv = asTyped`employees ${slugs()} --department ${DEPARTMENT} --per-company 2 --yes -o`;
  await u.ran([...argv, "first.csv"]);
  const before = await charged(service, CREDITS);
  await u.ran([...argv, "second.csv"]);
  expect(await charged(service, CREDITS)).toBe(before);
  expect(u.read("second.csv")).toBe(u.read("first.csv"));
  expect((await u.run(["runs", "list"])).stdout).toContain(
    `at most 2 each of ${DEPARTMENT} at 6 companies`,
  );
});

test("a ladder of titles: the next where the others leave room, and no count more than that takes", async () => {
  const people = readCsv(everybody).filter(({ company_network_url: url = "" }) =>
    slugs().some((slug) => url.endsWith(slug)),
  );
  const titles = [...new Set(people.map(({ title = "" }) => title.toLowerCase()))].filter(Boolean);
  const ladder = [titles[1] ?? "", titles[0] ?? "", "nobody has this"];
  const best = companies.flatMap(([slug]) => {
    const of = people.filter(({ company_network_url: url = "" }) => url.endsWith(slug));
    const rungs = ladder.map(
      (rung) => of.filter(({ title = "" }) => title.toLowerCase() === rung).length,
    );
    const [first = 0, second = 0] = rungs;
    return [[slug, Math.min(first, 2), Math.min(second, 2 - Math.min(first, 2))] as const];
  });
  const argv = asTyped`employees ${slugs()} --title-ladder ${ladder.join("; ")} --per-company 2 --again`;
  const sum = best.reduce((all, [, first, second]) => all + first + second, 0);
  expect(sum).toBeGreaterThan(1);
  await u.ran([...argv, "--yes", "-o", "ladder.csv"]);
  const rows = readCsv(u.read("ladder.csv"));
  expect(rows).toHaveLength(sum);
  for (const [slug, ...rungs] of best) {
    const there = rows.filter(({ company_network_url: url = "" }) => url.endsWith(slug));
    const has = (rung = ""): number =>
      there.filter(({ title = "" }) => title.toLowerCase() === rung).length;
    expect([slug, has(ladder[0]), has(ladder[1])]).toEqual([slug, ...rungs]);
  }
  const empty = await u.run(["employees", "acme", "--title-ladder", " ; ", "--dry-run"]);
  expect([empty.code, empty.stderr]).toEqual([2, expect.stringContaining("names at least one")]);
});

test("with a cap, one at each company before a second at any; the rest follows", async () => {
  const argv = asTyped`employees ${slugs()} --department ${DEPARTMENT} --per-company 3 --again`;
  const some = wanted(1).length + 1;
  const bounds = ["--max-credits", String(some), "--dry-run", "--json"];
  expect(await u.json([...argv, ...bounds])).toMatchObject({
    requests: wanted(1).length,
  });
  const capped = await u.ran(asTyped`${argv} --max-credits ${some} -o capped.csv --receipt r.json`);
  const each = [...atEach(readCsv(u.read("capped.csv"))).values()].sort();
  expect(each).toEqual([...Array.from({ length: some - 2 }, () => 1), 2]);
  expect(JSON.parse(u.read("r.json"))).toMatchObject({ complete: false, credits: some });
  const [, rest = ""] = /; headcount (resume \S+ --max-credits \d+)/.exec(capped.stderr) ?? [];
  await u.ran([...rest.split(" "), "--overwrite"]);
  expect([...atEach(readCsv(u.read("capped.csv")))].sort()).toEqual(wanted(3).sort());
});

test.each([
  [
    ["acme", "--department", "Sales", "--company-network-url", "globex"],
    "companies are named twice",
  ],
  [["acme", "--department", "Sales", "--misses", "m.txt"], "--misses lists companies"],
  [["acme", "--departmnt", "Sales"], "--department"],
])("employees %j is refused before anything is asked", async (argv, why) => {
  const ran = await u.run(["employees", ...argv, "--yes"]);
  expect([ran.code, ran.stderr]).toEqual([2, expect.stringContaining(why)]);
});

test("domains are looked up first, within quote and cap; what was looked up costs nothing again", async () => {
  const own = user(service.url, service.key);
  const unknown = "nobody-has-this.example";
  const named = [...slugs().map((slug) => domains.get(slug) ?? ""), unknown];
  writeFileSync(
    own.file("crm.csv"),
    ["Account,Website", ...named.map((domain) => `x,https://www.${domain}/about`)].join("\n"),
  );
  const people = ["--department", DEPARTMENT, "--per-company", "2"];
  const argv = ["employees", "--input", "crm.csv", "--column", "Website", ...people];
  const sum = wanted(2).reduce((all, [, count]) => all + count, 0);
  const [looked, cap] = [slugs().length, slugs().length + sum - 1];
  const quoted = async () => await own.json([...argv, "--dry-run", "--json"]);
  expect(await quoted()).toMatchObject({
    ...{ credits: named.length, requests: named.length, matches: null },
    look_ups: { companies: named.length, credits: named.length },
  });
  const card = (await own.run([...argv, "--dry-run"])).stdout;
  expect(card).toMatch(/matches +not known beforehand\n.*to buy +at least 0\n/);
  expect(card).toMatch(/cost +at least 7 credits\n.*\n.*after +at most /);
  const before = await charged(service, CREDITS);
  const few = await own.run([...argv, "--max-credits", String(named.length), "-o", "few.csv"]);
  expect([few.code, few.stderr]).toEqual([
    4,
    expect.stringContaining("pays for the look-ups at most"),
  ]);
  expect(await charged(service, CREDITS)).toBe(before);
  await own.ends(
    0,
    [...argv, "--max-credits", String(cap), "-o", "people.csv"],
    `1 company has no profile address that is known, left out: ${unknown}`,
    `look-ups of companies cost ${looked} credits`,
  );
  expect(await charged(service, CREDITS)).toBe(before + cap);
  expect(readCsv(own.read("people.csv"))).toHaveLength(sum - 1);
  // A cap counts what its look-ups cost before.
  await own.ran(asTyped`${argv} --max-credits ${cap} -o people.csv --overwrite`);
  expect(await charged(service, CREDITS)).toBe(before + cap);
  expect(await quoted()).toMatchObject({
    credits: 1,
    look_ups: null,
    matches: sum,
    reuse: { rows: sum - 1 },
  });
  await own.ran([...argv, "--yes", "-o", "all.csv"]);
  expect(await charged(service, CREDITS)).toBe(before + looked + sum);
  expect([...atEach(readCsv(own.read("all.csv")))].sort()).toEqual(wanted(2).sort());
  // What one account paid for look-ups is nothing that another one's cap counts.
  await service.store.createAccount("other", "Other");
  await service.store.grant("other", "live", credits(1_000_000_000n), "for the test");
  const { key } = await createKey(service.store, {
    accountId: "other",
    name: "o",
    mode: "live",
    now: Date.now,
  });
  const theirs = [...argv, "--max-credits", String(named.length + 1), "-o", "theirs.csv"];
  await own.ran(theirs, { env: { HEADCOUNT_API_KEY: key } });
  // Here the companies are owned already, so that all of the cap is for people.
  expect(readCsv(own.read("theirs.csv"))).toHaveLength(named.length + 1);
});

test("a table keeps its rows and columns: a row for each person, and what became of every account", async () => {
  const own = user(service.url, service.key);
  const [first = "", second = ""] = slugs();
  const empty = slugs().find((slug) => wanted(1).every(([other]) => other !== slug)) ?? "";
  const cells = [
    domains.get(first),
    second,
    "nobody-has-this.example",
    "n/a",
    empty,
    `https://${domains.get(first)}/`,
  ];
  const rows = cells.map((cell, index) => `Account ${index},${cell}`);
  writeFileSync(own.file("crm.csv"), ["Name,Company", ...rows].join("\n"));
  const argv = asTyped`employees crm.csv --keep-input --department ${DEPARTMENT} --per-company 2`;
  const before = await charged(service, CREDITS);
  const ran = await own.ran(asTyped`${argv} --fields name --max-credits 20 -o people.csv`);
  const most = (slug: string): number => wanted(2).find(([other]) => other === slug)?.[1] ?? 0;
  expect(await charged(service, CREDITS)).toBe(before + 1 + most(first) + most(second));
  const found = (name: string, slug: string) =>
    Array.from({ length: most(slug) }, () => [name, "found"]);
  const written = readCsv(own.read("people.csv"));
  expect(written.map(({ Name, hc_match }) => [Name, hc_match])).toEqual([
    ...found("Account 0", first),
    ...found("Account 1", second),
    ...[
      ["Account 2", "not found"],
      ["Account 3", "no company"],
      ["Account 4", empty === "" ? "no company" : "nobody"],
    ],
    ...found("Account 5", first),
  ]);
  expect(new Set(written.slice(0, most(first)).map(({ hc_name }) => hc_name)).size).toBe(
    most(first),
  );
  expect(written.find(({ Name }) => Name === "Account 2")?.hc_why).toBe(
    "no profile address of it is known",
  );
  expect(ran.stderr).toMatch(/6 rows: 3 found,.* not found/);
  await own.ran(asTyped`runs export last --fields name -o again.csv`);
  expect(own.read("again.csv")).toBe(own.read("people.csv"));
  // Half of it, and the rest by resume: the table is the same.
  const other = user(service.url, service.key);
  writeFileSync(other.file("crm.csv"), own.read("crm.csv"));
  const half = await other.ran(
    asTyped`${argv} --fields name --limit 1 --max-credits 20 -o people.csv`,
  );
  expect(readCsv(other.read("people.csv")).map(({ hc_match }) => hc_match)).toContain("not asked");
  const [, run = ""] = /; headcount resume (\S+) /.exec(half.stderr) ?? [];
  await other.ran(asTyped`resume ${run} --limit 20 --max-credits 20 --overwrite`);
  expect(other.read("people.csv")).toBe(own.read("people.csv"));
});

test("forgetting somebody takes the row out of a table that was written for one's own, and leaves the others", async () => {
  const own = user(service.url, service.key);
  writeFileSync(own.file("crm.csv"), `Name,Company\nMine,${slugs()[0]}\n`);
  const argv = asTyped`employees crm.csv --keep-input --department ${DEPARTMENT} --per-company 2`;
  await own.ran([...argv, "--max-credits", "20", "-o", "people.csv"]);
  const before = readCsv(own.read("people.csv"));
  const [{ hc_id: id = "" } = {}, ...others] = before;

  const forgot = await own.ran(["forget", id, "--yes"]);
  expect(forgot.stdout).toContain("people.csv");
  expect(readCsv(own.read("people.csv"))).toEqual(others);
});

test.each([[], ["--keep-input"]])(
  "--new-only of several companies: so many of each whom nobody owns %j",
  async (...kept) => {
    const own = user(service.url, service.key);
    writeFileSync(own.file("crm.csv"), ["Company", ...slugs()].join("\n"));
    const named = kept.length > 0 ? ["crm.csv", ...kept] : ["--input", "crm.csv"];
    const argv = ["employees", ...named, "--department", DEPARTMENT, "--max-credits", "100"];
    await own.ran([...argv, "--per-company", "1", "-o", "first.csv"]);
    const before = await charged(service, CREDITS);
    const fresh = companies.flatMap(([slug, people]) =>
      people < 2 ? [] : [[slug, Math.min(people - 1, 2)] as const],
    );
    const sum = fresh.reduce((all, [, people]) => all + people, 0);
    const more = [...argv, "--per-company", "2", "--new-only"];
    expect(await own.json([...more, "--dry-run", "--json"])).toMatchObject({
      credits: sum,
      rows: sum,
    });
    await own.ran([...more, "-o", "second.csv"]);
    expect(await charged(service, CREDITS)).toBe(before + sum);
    const column = kept.length > 0 ? "hc_id" : "id";
    const ids = (file: string) => readCsv(own.read(file)).flatMap((row) => row[column] || []);
    expect(ids("second.csv")).toHaveLength(sum);
    expect(ids("second.csv").filter((id) => ids("first.csv").includes(id))).toEqual([]);
    if (kept.length === 0)
      expect([...atEach(readCsv(own.read("second.csv")))].sort()).toEqual([...fresh].sort());
  },
);

test("nobody is said to match at a company that was not looked at: look-ups that are free, and one that found none", async () => {
  const { u: free } = await foreignScene({ people: 20, price: 0 });
  const quote = await free.run(asTyped`employees acme.example --country x --dry-run --json`);
  expect(JSON.parse(quote.stdout)).toMatchObject({
    matches: null,
    look_ups: { companies: 1, credits: 0 },
  });
  const own = user(service.url, service.key);
  const argv = ["employees", "nobody-has-this.example", "--department", DEPARTMENT];
  await own.run([...argv, "--max-credits", "5", "-o", "none.csv"]);
  const left = "1 company has no profile address that is known, left out: nobody-has-this.example";
  expect((await own.run([...argv, "--dry-run"])).stderr).toContain(left);
});

test("what was not looked at is not whole, and one company that nobody is found at is not found", async () => {
  const own = user(service.url, service.key);
  const cap = ["--max-credits", "2000", "--overwrite", "-o", "o.csv", "--receipt", "r.json"];
  for (const [name = "", ...more] of [
    ["nosuchslug", "--new-only"],
    ["nobody-has-this.example", "--new-only"],
    ["nobody-has-this.example", "--department", DEPARTMENT],
  ]) {
    const none = await own.run(["employees", name, ...more, ...cap]);
    expect([none.code, none.stderr]).toEqual([
      6,
      expect.stringContaining(`nobody was found at "${name}"`),
    ]);
  }
  const [slug = ""] = slugs();
  await own.ran(["employees", slug, "nobody-has-this.example", "--new-only", ...cap]);
  expect(JSON.parse(own.read("r.json"))).toMatchObject({
    complete: false,
    bound: "matches",
    new_only: { whole: null },
  });
  const strict = asTyped`
    employees ${slug} nobody-has-this.example --department ${DEPARTMENT} --require-complete
  `;
  const ran = await own.run([...strict, "--again", ...cap]);
  const why =
    "not complete: 1 company has no profile address that is known, and nobody was looked for there";
  expect([ran.code, ran.stderr]).toEqual([5, expect.stringContaining(why)]);
});

test("an agent buys the same by the same rule", async () => {
  const agent = await startAgent(u, ["--max-credits", "50"]);
  const given = {
    kind: "employees",
    companies: slugs(),
    filters: { department: DEPARTMENT },
    per_company: 1,
    again: true,
  };
  const quote = await agent.call("quote", given);
  expect(quote.data, quote.text).toMatchObject({
    credits: wanted(1).length,
    profiles: wanted(1).length,
  });
  expect(String(quote.data.command)).toMatch(
    /^headcount (.* )?employees '--department=[^']+' --per-company 1 .*-- /,
  );
  const fresh = await agent.call("quote", { ...given, again: undefined, new_only: true });
  // All of them are owned: the table test above bought them.
  const others = companies.filter(([, people]) => people > 0).length;
  expect(fresh.data, fresh.text).toMatchObject({ credits: expect.any(Number) });
  expect(Number(fresh.data.credits)).toBeLessThanOrEqual(others);
  expect(String(fresh.data.command)).toContain("--new-only");
  await agent.close();
});

test("companies are counted by one call a title, those of a title that nobody has left out", async () => {
  const paths: string[] = [];
  const watch = ({ url }: { readonly url: string }): void => void paths.push(url);
  onResponse.push(watch);
  try {
    const titles = "nobody has this; nor this; nor that";
    const argv = asTyped`employees ${slugs()} --title-ladder ${titles} --per-company 2 --dry-run --json`;
    await u.ran(argv);
    expect(paths.filter((path) => path === "/counts")).toHaveLength(3);
    expect(paths.length).toBeLessThanOrEqual(3 + 5);
  } finally {
    onResponse.splice(onResponse.indexOf(watch), 1);
  }
});

test("a ladder with --new-only: the best titles of whom nobody owns, at most so many of each", async () => {
  const own = user(service.url, service.key);
  const people = readCsv(everybody);
  const [slug = ""] = slugs();
  const there = people.filter(({ company_network_url: url = "" }) => url.endsWith(slug));
  const [first, second] = [...new Set(there.map(({ title = "" }) => title.toLowerCase()))].filter(
    Boolean,
  );
  const ladder = [first ?? "", second ?? ""];
  const ids = (rows: readonly Readonly<Record<string, string>>[]) =>
    rows.map(({ id = "" }) => id).sort();
  const best = ladder.flatMap((rung) =>
    there.filter(({ title = "" }) => title.toLowerCase() === rung),
  );
  const argv = ["employees", slug, "--title-ladder", ladder.join("; "), "--max-credits", "50"];
  await own.ran([...argv, "--per-company", "1", "-o", "one.csv"]);
  const owned = ids(readCsv(own.read("one.csv")));
  expect(owned).toHaveLength(1);
  const rest = best.filter(({ id = "" }) => !owned.includes(id));
  const before = await charged(service, CREDITS);
  const two = await own.run([...argv, "--per-company", "2", "--new-only", "-o", "two.csv"]);
  expect(two.code, two.stderr).toBe(rest.length === 0 ? 5 : 0);
  const bought = readCsv(own.read("two.csv"));
  expect(await charged(service, CREDITS)).toBe(before + bought.length);
  expect(bought).toHaveLength(Math.min(2, rest.length));
  expect(bought.every(({ id = "" }) => rest.some((other) => other.id === id))).toBe(true);
  // Of the first title whoever is left comes before anybody of the second.
  const titled =
    (rung: string | undefined) =>
    ({ title = "" }) =>
      title.toLowerCase() === rung;
  const firsts = rest.filter(titled(first)).length;
  expect(bought.filter(titled(first))).toHaveLength(Math.min(2, firsts));
});

test("where several companies, or a domain, are given to a filter, it says what takes them", async () => {
  writeFileSync(u.file("two.txt"), slugs().slice(0, 2).join("\n"));
  for (const command of ["count", "search"]) {
    const ran = await u.run(
      asTyped`${command} --company-network-url @two.txt --department ${DEPARTMENT}`,
    );
    expect([ran.code, ran.stderr]).toEqual([
      2,
      expect.stringContaining("`headcount employees` takes many companies"),
    ]);
  }
  const [, domain = ""] = [...domains].find(([slug]) => slug === slugs()[0]) ?? [];
  const none = await u.run(["count", "--company-network-url", domain]);
  expect([none.code, none.stdout.trim()]).toEqual([0, "0"]);
  expect(none.stderr).toContain(`${domain} is a domain, and this takes a profile address or slug`);
  const agent = await startAgent(u, []);
  const told = await agent.call("count_people", { filters: { company_network_url: domain } });
  expect(told.text).toContain("is a domain");
  await agent.close();
});

test("who is owned is counted by company, with nothing to name", async () => {
  const own = user(service.url, service.key);
  const argv = ["count", "--owned", "--by", "company_network_url"];
  expect((await own.run(argv)).stdout).toBe("company_network_url,count\n");
  const [slug = ""] = slugs();
  await own.ran(["employees", slug, "--limit", "2", "--yes", "-o", "two.csv"]);
  const rows = readCsv((await own.run(argv)).stdout);
  expect(
    rows.map(({ company_network_url: at = "", count }) => [at.split("/").at(-1), count]),
  ).toEqual([[slug, "2"]]);
});
