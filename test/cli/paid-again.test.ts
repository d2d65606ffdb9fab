import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { countedBy } from "../support/counted-engine.ts";
import { charged, copyOf, readCsv, runIds, type User, user } from "../support/export.ts";
import { long } from "../support/long.ts";
import { testService } from "../support/serving.ts";

// Whoever is owned already and would be paid for again: that is said before, at every door, and costs no call more.

const CREDITS = 100_000;
const SALES = ["search", "--department", "Sales"];
const SAID = /warning: (up to |about )?([\d,]+) of the ([\d,]+) to buy (is|are) yours already/;

const service = testService({
  people: 2_000,
  credits: CREDITS,
  // A sketch tells the others apart, and nobody is paid for again: test/cli/sketched.test.ts.
  sketches: false,
  wrapEngine: countedBy(() => counts++),
});
let counts = 0;
/** Who owns a part of the segment. */
let owner: User;
/** The same, of each test. */
let u: User;
let owned: number;
let all: number;

beforeAll(async () => {
  owner = user(service.url, service.key);
  const bought = await owner.ran([...SALES, "--followers-max", "1500", "--yes", "-o", "own.csv"]);
  expect(bought.stderr).not.toContain("yours already");
  owned = readCsv(owner.read("own.csv")).length;
  all = (await owner.json(["count", "--department", "Sales", "--json"])).count;
  expect(all).toBeGreaterThan(owned);
});
beforeEach(() => {
  u = copyOf(owner);
});

long("an unattended search says it too, by few free counts", async () => {
  const other = user(service.url, service.key);
  counts = 0;
  await other.ran([...SALES, "--max-credits", "5000", "-o", "plain.csv"]);
  const usual = counts;
  for (const [agreed, name] of [
    [["--max-credits", "5000"], "cap.csv"],
    [["--yes", "--json"], "yes.csv"],
    [["--yes", "--quiet"], "quiet.csv"],
  ] as const) {
    u = user(service.url, service.key);
    await u.ran([...SALES, "--followers-max", "1500", "--yes", "-o", "own.csv"]);
    counts = 0;
    await u.ends(
      0,
      [...SALES, ...agreed, "-o", name],
      `warning: ${owned} of the ${all} to buy are yours already and would be paid for again; --new-only buys only the others for `,
    );
    expect(counts).toBeLessThanOrEqual(usual + 10);
  }
});

long(
  "bounded, it says how many at most; what a run of the same request holds is not among them",
  async () => {
    const few = await u.run([...SALES, "--limit", "10", "--yes", "-o", "few.csv"]);
    expect(few.stderr).toContain(
      "warning: up to 10 of the 10 to buy are yours already and would be paid for again",
    );
    expect(few.stderr).toContain("--new-only buys only new people for 10 credits");
    const before = await charged(service, CREDITS);
    const same = await u.ran([...SALES, "--limit", "10", "--yes", "-o", "same.csv"]);
    expect(same.stderr).not.toContain("yours already");
    expect(await charged(service, CREDITS)).toBe(before);
    // Wanted anew, or only who is new: there is nothing to tell.
    for (const option of ["--again", "--new-only"]) {
      const ran = await u.ran([...SALES, "--limit", "10", "--yes", option, "-o", `${option}.csv`]);
      expect(ran.stderr).not.toMatch(SAID);
    }
  },
);

test("a run that goes on with a higher cap says it of those who came to be yours by another", async () => {
  const few = ["search", "--department", "Legal", "--per-page", "20"];
  await u.ran([...few, "--max-credits", "10", "-o", "some.csv"]);
  const alone = await u.ran(["resume", "last", "--max-credits", "12"]);
  expect(alone.stderr).not.toContain("yours already");
  const id = runIds(u).at(-1) ?? "";
  await u.ran([...few, "--new-only", "--limit", "10", "--yes", "-o", "others.csv"]);
  // The same search would buy the new people alone.
  await u.ends(
    2,
    ["resume", id, "--max-credits", "20"],
    "up to 8 of the 8 to buy are yours already and would be paid for again; --with-owned",
  );
  // Under a limit it would not, and neither does the run.
  await u.ends(
    0,
    ["resume", id, "--limit", "14", "--max-credits", "20"],
    "warning: up to 2 of the 2 to buy are yours already and would be paid for again; headcount search --department=Legal --with-owned -o ",
  );
});

test("a dry run counts, and says the price of the others", async () => {
  const { stdout } = await u.run([...SALES, "--dry-run", "--json"]);
  const quote = JSON.parse(stdout);
  expect(quote).toMatchObject({ owned, owned_exact: true, paid_again: owned, credits: all });
  const card = (await u.run([...SALES, "--dry-run"])).stdout;
  expect(card).toMatch(
    new RegExp(`paid again +${owned} of the ${all} to buy are yours already\\n`),
  );
  const narrowed = await u.json([...SALES, "--new-only", "--dry-run", "--json"]);
  expect(narrowed.paid_again).toBe(0);
});

test("a person who is asked is told before the question", async () => {
  const asked = await u.run([...SALES, "-o", "asked.csv"], {
    answers: ["n"],
    tty: { stdin: true, stderr: true },
  });
  expect(asked.code, asked.stderr).toBe(10);
  expect(asked.stderr).toContain(
    `warning: ${owned} of the ${all} to buy are yours already and would be paid for again`,
  );
  expect(asked.stderr).toContain("only the new");
});

test("employees of companies by address say it too, one and several", async () => {
  const records = readCsv(u.read("own.csv"));
  const companyOf = (row: Readonly<Record<string, string>>): string =>
    row.company_network_url?.replace(/\/$/, "").split("/").at(-1) ?? "";
  const slugs = [...new Set(records.map(companyOf))].filter((slug) => slug !== "");
  const [slug = "", another = ""] = slugs;
  const yours = (name: string): number => records.filter((row) => companyOf(row) === name).length;
  const dry = await u.run(["employees", slug, "--dry-run", "--json"]);
  expect(JSON.parse(dry.stdout), dry.stderr).toMatchObject({
    owned: yours(slug),
    paid_again: yours(slug),
  });
  const ran = await u.ran(["employees", slug, "--max-credits", "500", "-o", "staff.csv"]);
  expect(SAID.exec(ran.stderr)?.[2]).toBe(String(yours(slug)));
  const both = await u.run(["employees", slug, another, "--dry-run"]);
  expect(both.stdout).toMatch(
    /paid again +about \d+ of the \d+ to buy are yours already by your records/,
  );
  const again = await u.ran(["employees", slug, another, "--max-credits", "500", "-o", "both.csv"]);
  expect(again.stderr).toMatch(SAID);
  expect(again.stderr).toContain("--new-only buys only the others");
});

const againIn = async (argv: readonly string[]): Promise<unknown> =>
  JSON.parse((await u.run([...argv, "--dry-run", "--json"])).stdout).paid_again;

test("people of companies by filters or domain say it too, and the receipt counts them", async () => {
  const records = readCsv(u.read("own.csv"));
  const [{ company_domain: domain = "", company_network_url: address = "" } = {}] = records;
  const slug = address.split("/").at(-1) ?? "";
  const there = records.filter(({ company_domain: own }) => own === domain).length;
  const staff = ["employees", slug, "--department", "Sales"];
  expect(await againIn(staff)).toBe(there);
  expect(await againIn(["employees", domain, "--per-company", "900"])).toBe(there);

  const receipt = ["--receipt", "receipt.json", "-o", "staff.csv", "--max-credits", "900"];
  const ran = await u.ran([...staff, ...receipt]);
  expect(ran.stderr).toMatch(SAID);
  expect(ran.stderr).toContain("--new-only buys only the others");
  expect(JSON.parse(u.read("receipt.json"))).toMatchObject({ paid_again: there });
});

test("several segments, and one less another, say it too", async () => {
  await u.ran(["segment", "save", "sales", ...SALES.slice(1)]);
  await u.ran(["segment", "save", "french", "--country", "france"]);
  await u.ran(["segment", "save", "managers", "--seniority-level", "manager"]);
  const records = readCsv(u.read("own.csv"));
  const others = records.filter((row) => row.seniority_level !== "manager").length;
  expect(others).toBeLessThan(owned);
  expect(await againIn([...SALES, "--except", "managers"])).toBe(others);

  const both = ["search", "-s", "sales", "-s", "french"];
  expect(await againIn(both)).toBe(owned);
  const ran = await u.run([...both, "--max-credits", "2", "--yes"]);
  expect(ran.stderr).toMatch(SAID);
  expect(ran.stderr).toContain("--new-only takes one segment after the other");
});

test("who is suppressed is owned all the same, and not paid for again", async () => {
  const [{ company_domain: domain = "", company_network_url: address = "" } = {}] = readCsv(
    u.read("own.csv"),
  );
  const search = [
    "search",
    "--company-network-url",
    address,
    ...SALES.slice(1),
    "--dry-run",
    "--json",
  ];
  const before = JSON.parse((await u.run(search)).stdout);
  expect(before.owned).toBeGreaterThan(0);
  await u.ran(["suppress", "add", domain]);
  expect(JSON.parse((await u.run(search)).stdout)).toMatchObject({
    owned: before.owned,
    paid_again: before.paid_again,
    credits: before.credits,
  });
});

test("a job says it, by free counts", async () => {
  const path = u.file("jobs.jsonc");
  mkdirSync(dirname(path), { recursive: true });
  const sales = {
    command: "search",
    filters: { department: "Sales" },
    output: "job.csv",
    max_credits: 5_000,
  };
  writeFileSync(path, JSON.stringify({ jobs: { sales } }));
  await u.ends(
    0,
    ["jobs", "run", "sales", "--file", "jobs.jsonc"],
    `warning: ${owned} of the ${all} to buy are yours already and would be paid for again`,
  );
});
