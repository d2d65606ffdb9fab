import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempDir } from "../support/client.ts";
import { vendorUser } from "../support/vendor-user.ts";
import { creditsOf, millionthsOf } from "../support/vendors/shared.ts";

// Vendors that find ids for nothing before a profile is paid for: who is owned is known from those alone.

type Options = Parameters<typeof vendorUser>[1];

const VENDORS = [
  ["coresignal", 20],
  ["apollo", 1],
] as const;

async function userOf(
  name: (typeof VENDORS)[number][0],
  options: Options = {},
  dialect: string = name,
) {
  const user = await vendorUser(name, { credits: "100000", people: 100, ...options }, dialect);
  onTestFinished(() => user.vendor.stop());
  expect(user.added.code, user.added.stderr).toBe(0);
  const { vendor } = user;
  const german = vendor.people.filter(({ country }) => country?.code === "DE").map(vendor.id);
  const charged = (): bigint => millionthsOf(vendor.book.charged());

  const bought = async (line: string) => {
    const ran = await user.run(line);
    expect(ran.code, ran.stderr).toBe(0);
    const { settled, uncertain, foreign } = await user.spend();
    expect(settled + uncertain + foreign, ran.stderr).toBe(charged());
    return ran;
  };
  const ids = (file: string): unknown[] => user.rows(file).map(({ id }) => id);
  return { ...user, german, bought, ids };
}

const BUY = "search -c v --country Germany --yes";

describe.each(VENDORS)("%s", (name, each) => {
  const cost = (people: number): string => creditsOf(millionthsOf(String(each)) * BigInt(people));

  test("--new-only pays for nobody who is owned, to the last one, and is priced so", async () => {
    const { vendor, german, bought, run, ids } = await userOf(name);
    await bought(`${BUY} --max-credits ${cost(5)} -o some.ndjson`);
    const owned = ids("some.ndjson");
    expect(owned.length).toBe(5);

    const rest = german.length - 5;
    const quoted = await run("search -c v --country Germany --new-only --dry-run --json");
    expect(quoted.code, quoted.stderr).toBe(0);
    expect(JSON.parse(quoted.stdout)).toMatchObject({
      rows: rest,
      credits: Number(cost(rest)),
      owned: 5,
      owned_exact: true,
    });
    expect(vendor.book.charged()).toBe(cost(5));

    await bought(`${BUY} --new-only --max-credits ${cost(3)} -o three.ndjson`);
    expect(ids("three.ndjson").length).toBe(3);
    await bought(`${BUY} --new-only --max-credits ${cost(rest)} -o new.ndjson`);
    expect([...owned, ...ids("three.ndjson"), ...ids("new.ndjson")].sort()).toEqual(german.sort());
    expect(vendor.book.sold().sort()).toEqual(german);

    const again = await bought(`${BUY} --new-only -o none.ndjson`);
    expect(again.stderr).toContain("0 new profiles for 0 credits");
    await bought(`${BUY} --with-owned -o all.ndjson`);
    expect(ids("all.ndjson").sort()).toEqual(german);
    expect(vendor.book.sold().length).toBe(german.length);
  });

  test("a search that says nothing of it pays for nobody twice either; --again does", async () => {
    const { vendor, german, bought, ids } = await userOf(name);
    await bought(`${BUY} --limit 4 -o some.ndjson`);
    const whole = await bought(`${BUY} -o all.ndjson`);
    expect(whole.stderr).toContain(`4 of the ${german.length} are yours already`);
    expect(ids("all.ndjson").sort()).toEqual(german.sort());
    expect(vendor.book.sold().sort()).toEqual(german);

    await bought(`${BUY} --again -o again.ndjson`);
    expect(vendor.book.sold().length).toBe(2 * german.length);
  });

  test("a lost reply of new people counts, and is asked for once more within the cap", async () => {
    const { vendor, german, bought, run, ids, spend } = await userOf(name);
    await bought(`${BUY} --limit 5 -o some.ndjson`);
    const before = vendor.book.charges.length;
    vendor.options.loseReply = [before + 2];
    const cap = cost(german.length + 20);
    const lost = await run(`${BUY} --new-only --max-credits ${cap} -o new.ndjson`);
    expect(lost.code, lost.stderr).toBe(5);
    const { settled, uncertain, foreign } = await spend();
    expect(settled + uncertain + foreign).toBe(millionthsOf(vendor.book.charged()));

    const most = cost(german.length + 40);
    const whole = await run(`resume last --max-credits ${most} --yes --overwrite`);
    expect(whole.code, whole.stderr).toBe(0);
    expect([...ids("some.ndjson"), ...ids("new.ndjson")].sort()).toEqual(german.sort());
    const twice = vendor.book.charges[before + 1]?.ids ?? [];
    expect(vendor.book.sold().sort()).toEqual([...german, ...twice].sort());
  });

  test("whoever is found and cannot be read costs nothing, and holds nothing up", async () => {
    const people = Array.from({ length: 40 }, (_, at) => at);
    const habits = name === "apollo" ? { missing: people } : { deleted: people, deletedAs: "404" };
    const { vendor, german, bought, ids } = await userOf(name, habits as Options);
    const gone = new Set(vendor.people.slice(0, 40).map((one) => vendor.id(one)));
    await bought(`${BUY} --limit 3 -o some.ndjson`);
    await bought(`${BUY} --new-only -o new.ndjson`);
    const all = [...ids("some.ndjson"), ...ids("new.ndjson")];
    expect(all.sort()).toEqual(german.filter((id) => !gone.has(id)).sort());
    await bought(`${BUY} --new-only -o none.ndjson`);
    expect(vendor.book.sold().length).toBe(all.length);
  });

  test("a filter that is passed over is found out before ids are taken for a segment's", async () => {
    const { vendor, bought, run } = await userOf(name);
    await bought(`${BUY} --limit 3 -o some.ndjson`);
    vendor.options.swallow = [name === "apollo" ? "person_locations" : "location_country"];
    const ran = await run(`${BUY} --new-only -o new.ndjson`);
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain("passes the filter country over");
    expect(vendor.book.sold().length).toBe(3);
  });
});

describe("ids that come in several pages", () => {
  const withPages = async (pages: object, options: Options) => {
    const file = JSON.parse(readFileSync("dialects/apollo.json", "utf8"));
    Object.assign(file.calls.search.pages, pages);
    const path = join(tempDir("headcount-file-"), "apollo.json");
    writeFileSync(path, JSON.stringify(file));
    return await userOf("apollo", options, path);
  };

  test("all of them tell who is owned; where fewer came than there are, nothing is bought", async () => {
    const { vendor, german, bought, run, ids } = await withPages({ size: [1, 10] }, {});
    await bought(`${BUY} --limit 3 -o some.ndjson`);
    vendor.options.moves = 4;
    const ran = await run(`${BUY} --new-only -o new.ndjson`);
    expect(ran.code, ran.stderr).toBe(8);
    expect(ran.stderr).toMatch(/\d+ ids came of \d+ people/);
    expect(vendor.book.sold().length).toBe(3);

    Object.assign(vendor.options, { moves: 0, repeatIds: 3 });
    await bought(`${BUY} --new-only -o new.ndjson`);
    expect([...ids("some.ndjson"), ...ids("new.ndjson")].sort()).toEqual(german.sort());
  });

  test("of more people than ids can be found of nobody is told apart, and nothing is spent", async () => {
    const { vendor, bought, run } = await withPages({ depth: 10 }, {});
    await bought(`${BUY} --limit 2 -o some.ndjson`);
    const ran = await run(`${BUY} --new-only -o new.ndjson`);
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain("apollo finds the ids of 10 people of a segment at most");
    expect(vendor.book.sold().length).toBe(2);
  });
});
