import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { testContext } from "../support/client.ts";
import { long } from "../support/long.ts";
import { vendorUser } from "../support/vendor-user.ts";
import type { VendorName } from "../support/vendors/index.ts";
import { millionthsOf } from "../support/vendors/shared.ts";

// What doctor says of a vendor: only what was looked at, and with --buy what the fewest people cost.

type Options = Parameters<typeof vendorUser>[1];

async function doctorOf(name: VendorName, line: string, options: Options = {}) {
  const user = await vendorUser(name, options);
  onTestFinished(() => user.vendor.stop());
  const { code, stderr, stdout } = await user.run(`doctor -c v --json ${line}`.trim());
  const { checks } = JSON.parse(stdout) as {
    checks: { name: string; status: string; message: string; fix: string | null }[];
  };
  const said = (check: string): string =>
    checks
      .filter(({ name: one }) => one === check)
      .map(({ status, message, fix }) => `${status} ${message}${fix ? `; ${fix}` : ""}`)
      .at(-1) ?? "";
  const { settled, uncertain, foreign } = await user.spend();
  expect(settled + uncertain + foreign).toBe(millionthsOf(user.vendor.book.charged()));
  return { ...user, code, stderr, said };
}

test("where counts are free each name is tried, and those that were not are named", async () => {
  const { code, said, vendor } = await doctorOf("coresignal", "");
  expect(code).toBe(0);
  expect(said("Filters")).toMatch(
    /^ok \d+ names found nobody by a value that nobody has, or refused/,
  );
  expect(vendor.book.charged()).toBe("0");
});

test("a name that is passed over fails", async () => {
  const { code, said } = await doctorOf("coresignal", "", { swallow: ["location_country"] });
  expect(code).toBe(8);
  expect(said("Filters")).toContain("fail coresignal passes the filter country over");
});

test("each word is counted alone, and one that the vendor spells otherwise is named", async () => {
  const good = await doctorOf("explorium", "", { people: 2_000 });
  expect(good.said("Words")).toMatch(/^(ok \d+ words|warn \d+ of \d+ words find nobody)/);
  const apollo = await vendorUser("apollo", { people: 2_000 });
  onTestFinished(() => apollo.vendor.stop());
  const shown = await apollo.run("connections show v");
  const file = JSON.parse(shown.stdout);
  file.words.level.manager = "mangaer";
  writeFileSync(join(apollo.dir, "mine.json"), JSON.stringify(file));
  const url = `${apollo.vendor.url}/api`;
  expect((await apollo.run(`connections add v --dialect ./mine.json --base-url ${url}`)).code).toBe(
    0,
  );
  const ran = await apollo.run("doctor -c v --json");
  const { checks } = JSON.parse(ran.stdout) as { checks: Record<string, string>[] };
  const words = checks.find(({ name }) => name === "Words");
  expect(words?.status).toBe("warn");
  expect(words?.message).toContain('seniority_level "manager"');
  expect(words?.message).not.toContain('"director"');
  expect(apollo.vendor.book.charged()).toBe("0");
});

test("where counts cost nothing is tried unasked", async () => {
  const { said, vendor } = await doctorOf("pdl", "");
  expect(said("Filters")).toBe("skip not tried: a count costs 1 credit there");
  expect(vendor.book.charged()).toBe("0");
});

test("whoever is asked is told what a count costs, and a no buys nothing", async () => {
  const user = await vendorUser("pdl");
  onTestFinished(() => user.vendor.stop());
  const argv = "doctor -c v --buy 3".split(" ");
  const { dir: cwd, env } = user;
  const ran = testContext({ cwd, env, argv, tty: true, answers: ["n"] });
  expect(await main(argv, ran.context), ran.stderr()).toBe(10);
  expect(ran.stderr() + ran.stdout()).toContain(
    "may spend at most 3 credits; a count costs 1 credit there. Go on? [y/N]",
  );
  expect(user.vendor.book.charged()).toBe("0");
});

test.each([
  ["pdl", "1", /^ok 1 person: declared 1, charged 1; balance /],
  ["crustdata", "0.03", /^ok 1 person: declared 0.03, charged 0.03; balance /],
  ["prospeo", "1", /^ok 25 people: declared 1, charged 1; balance /],
  ["coresignal", "20", /^ok 1 person: declared 20, charged 20; balance /],
] as const)("--buy of %s buys the least for %s and compares", async (name, price, said) => {
  const ran = await doctorOf(name, "--buy 20");
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.said("A person"), ran.stderr).toMatch(said);
  expect(ran.said("Record")).toMatch(/^ok \d+ of \d+ fields filled/);
  expect(ran.vendor.book.charged()).toBe(price);
});

test("each name is asked about once, behind the person", async () => {
  const { said, vendor } = await doctorOf("pdl", "--buy 5");
  const names = Number(/^ok (\d+) names/.exec(said("Filters"))?.[1]);
  expect(names).toBeGreaterThan(5);
  expect(vendor.book.calls.length).toBeLessThan(names + 5);
});

test("names that may share a field are asked about apart", async () => {
  const { dir, run, vendor } = await vendorUser("pdl");
  onTestFinished(() => vendor.stop());
  const file = JSON.parse((await run("connections show v")).stdout);
  for (const key of ["title", "industry"]) file.filters[key].alone = "one_of_them";
  writeFileSync(join(dir, "mine.json"), JSON.stringify(file));
  await run(`connections add v --dialect ./mine.json --base-url ${vendor.url}`);
  const ran = await run("doctor -c v --buy 5");
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/\d+ names found nobody/)]);
  expect(vendor.book.charged()).toBe("1");
});

test("names are tried for what the person leaves", async () => {
  const { code, said, vendor } = await doctorOf("pdl", "--buy 1", { swallow: ["job_title"] });
  expect(code).toBe(0);
  expect(said("A person")).toMatch(/^ok 1 person: declared 1, charged 1/);
  expect(vendor.book.charged()).toBe("1");
});

test("whoever sold nobody is named with what it was asked for", async () => {
  const { dir, run, vendor } = await vendorUser("pdl");
  onTestFinished(() => vendor.stop());
  const file = JSON.parse((await run("connections show v")).stdout);
  file.words.level.owner = "ownr";
  writeFileSync(join(dir, "mine.json"), JSON.stringify(file));
  await run(`connections add v --dialect ./mine.json --base-url ${vendor.url}`);
  const ran = await run("doctor -c v --buy 5");
  expect(ran.stdout).toContain('pdl sold nobody by seniority_level ""owner""');
  expect(vendor.book.charged()).toBe("0");
});

test("--buy below the least buys nothing", async () => {
  const { code, said, vendor } = await doctorOf("coresignal", "--buy 19");
  expect(code).toBe(8);
  expect(said("Bought")).toContain("fail");
  expect(said("Bought")).toContain("more than --buy; nothing was spent");
  expect(said("Bought")).toContain("--buy 20 pays for one");
  expect(vendor.book.charged()).toBe("0");
});

long(
  "--buy finds a name that is passed over for one count, and a price that is another",
  async () => {
    const swallowed = await doctorOf("pdl", "--buy 5", { swallow: ["job_title"] });
    expect(swallowed.code).toBe(8);
    expect(swallowed.said("A person")).toMatch(/^ok 1 person: declared 1, charged 1/);
    expect(swallowed.said("Bought")).toContain("title");
    expect(swallowed.vendor.book.charged()).toBe("2");

    const dear = await doctorOf("pdl", "--buy 5", { chargeFactor: 2 });
    expect(dear.code, dear.stderr).toBe(8);
    expect(dear.said("Bought")).toContain("2");
    expect(dear.vendor.book.charged()).toBe("2");
    expect(dear.stderr).toContain("what was charged is kept, and in headcount spend");
    const cheap = await doctorOf("pdl", "--buy 5", { chargeFactor: 0.5 });
    expect(cheap.said("A person")).toMatch(/^warn 1 person: declared 1, charged 0.5/);
  },
);

test("what a plan does not tell is named", async () => {
  const { said } = await doctorOf("pdl", "--buy 1", { emptyPlan: true });
  expect(said("Record")).toContain("not told on this plan: ");
});
