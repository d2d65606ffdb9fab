import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempDir } from "../support/client.ts";
import { long } from "../support/long.ts";
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
  const german = vendor.people.filter(isGerman).map(vendor.id);
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

const isGerman = ({ country }: { readonly country: { code: string } | null }): boolean =>
  country?.code === "DE";
const germanyOf = ({ people }: Awaited<ReturnType<typeof vendorUser>>["vendor"]) =>
  people.find(isGerman)?.country;

const BUY = "search -c v --country Germany --yes";

describe.each(VENDORS)("%s", (name, each) => {
  // There each person is a call of its own.
  const tried = name === "coresignal" ? long : test;
  const cost = (people: number): string => creditsOf(millionthsOf(String(each)) * BigInt(people));

  tried("--new-only pays for nobody who is owned, to the last one, and is priced so", async () => {
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

  tried("a search that says nothing of it pays for nobody twice either; --again does", async () => {
    const { vendor, german, bought, ids } = await userOf(name);
    await bought(`${BUY} --limit 4 -o some.ndjson`);
    const whole = await bought(`${BUY} -o all.ndjson`);
    expect(whole.stderr).toContain(`4 of the ${german.length} are yours already`);
    expect(whole.stderr).not.toContain("nobody knows whether these are others");
    expect(ids("all.ndjson").sort()).toEqual(german.sort());
    expect(vendor.book.sold().sort()).toEqual(german);

    await bought(`${BUY} --again -o again.ndjson`);
    expect(vendor.book.sold().length).toBe(2 * german.length);
  });

  tried(
    "a lost reply of new people counts, and is asked for once more within the cap",
    async () => {
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
    },
  );

  tried("whoever is found and cannot be read costs nothing, and holds nothing up", async () => {
    const people = Array.from({ length: 40 }, (_, at) => at);
    const habits = name === "apollo" ? { missing: people } : { deleted: people, deletedAs: "404" };
    const { vendor, german, bought, ids, run } = await userOf(name, habits as Options);
    const gone = new Set(vendor.people.slice(0, 40).map((one) => vendor.id(one)));
    await bought(`${BUY} --limit 3 -o some.ndjson`);
    await bought(`${BUY} --new-only -o new.ndjson`);
    const all = [...ids("some.ndjson"), ...ids("new.ndjson")];
    expect(all.sort()).toEqual(german.filter((id) => !gone.has(id)).sort());
    await bought(`${BUY} --new-only -o none.ndjson`);
    expect(vendor.book.sold().length).toBe(all.length);
    const { total } = JSON.parse((await run("spend -c v --json")).stdout);
    expect(total).toMatchObject({ profiles: all.length, settled: Number(cost(all.length)) });
  });

  tried(
    "a sample is drawn from all ids: the same seed draws the same people, cap and rest included",
    async () => {
      const { vendor, german, bought, ids } = await userOf(name);
      const draw = `${BUY} --sample 6 --seed 7`;
      await bought(`${draw} --max-credits ${cost(4)} -o four.ndjson`);
      const four = ids("four.ndjson");
      expect(four.length).toBe(4);
      for (const id of four) expect(german).toContain(id);
      expect(four).not.toEqual(german.slice(0, 4));

      const other = await userOf(name);
      await other.bought(`${draw} -o six.ndjson`);
      expect(other.ids("six.ndjson").slice(0, 4)).toEqual(four);
      expect(other.vendor.book.sold().length).toBe(6);
      expect(vendor.book.charged()).toBe(cost(4));
    },
  );

  tried(
    "ids are written for nothing, and read: within a cap, then the rest, whoever is owned free",
    async () => {
      const { vendor, german, bought, run, dir, ids } = await userOf(name);
      const found = await bought("search -c v --country Germany --ids g.csv");
      expect(found.stderr).toContain(`${german.length} ids in g.csv for 0 credits`);
      expect(vendor.book.charged()).toBe("0");
      const [head, ...lines] = readFileSync(join(dir, "g.csv"), "utf8").trimEnd().split("\n");
      expect([head, lines.sort()]).toEqual(["id", german.sort()]);

      const calls = vendor.book.calls.length;
      for (const to of ["g.csv", ". --overwrite", "no/g.csv"]) {
        const again = await run(`search -c v --country Germany --ids ${to}`);
        expect(again.code, again.stderr).toBe(2);
      }
      expect(vendor.book.calls.length).toBe(calls);
      const [first = "", ...others] = german;
      writeFileSync(join(dir, "few.csv"), ["id", first, ...others.slice(0, 5)].join("\n"));
      const read = "read -c v few.csv --yes";
      await bought(`${read} --max-credits ${cost(2)} -o two.ndjson`);
      expect(ids("two.ndjson").length).toBe(2);
      await bought(`${read} -o six.ndjson`);
      expect(ids("six.ndjson").sort()).toEqual(german.slice(0, 6));
      expect(vendor.book.sold().sort()).toEqual(german.slice(0, 6));

      writeFileSync(join(dir, "padded.csv"), `\uFEFFid,name\r\n ${first} ,Ada\r\n${first},Ada\r\n`);
      await bought("read -c v padded.csv --yes -o one.ndjson");
      expect(ids("one.ndjson")).toEqual([first]);
      expect(vendor.book.sold().length).toBe(6);

      writeFileSync(join(dir, "other.csv"), `ref,Contact\nx-1,${first}\n`);
      await bought("read -c v other.csv --column contact --yes -o one.ndjson --overwrite");
      expect(ids("one.ndjson")).toEqual([first]);
      expect(vendor.book.sold().length).toBe(6);

      writeFileSync(join(dir, "unknown.csv"), `id\nnobody-has-this\n../../x\n${first}\n`);
      const unknown = await bought("read -c v unknown.csv --yes -o one.ndjson --overwrite");
      expect(unknown.stderr).toContain("has nobody by 2 ids of the file");
      expect(vendor.book.sold().length).toBe(6);

      const piped = await run("search -c v --country Germany --ids -");
      expect(piped.stdout.split("\n").slice(1, -1).sort()).toEqual(german);
      for (const shaping of ["--limit 2", "--dry-run", "-o x.csv", "--new-only", "--sample 2"]) {
        const refused = await run(`search -c v --country Germany --ids h.csv ${shaping}`);
        expect(refused, shaping).toMatchObject({ code: 2, stdout: "" });
        expect(existsSync(join(dir, "h.csv"))).toBe(false);
      }

      expect((await run(`${read} --again -o a.ndjson`)).code).toBe(2);
      expect((await run("refresh -c v six.ndjson --yes")).code).toBe(2);
      await bought(`${BUY} -o all.ndjson`);
      expect(vendor.book.sold().length).toBe(german.length);
    },
  );

  tried(
    "a company is looked up by its domain, and its people are found by its address",
    async () => {
      const { vendor, bought, run, ids, spend } = await userOf(name);
      const company = vendor.companies.find((one) =>
        vendor.people.some((person) => person.company === one),
      );
      const found = await bought(`enrich -c v ${company?.domain} --json --max-credits ${cost(1)}`);
      expect(JSON.parse(found.stdout.split("\n")[0] ?? "")).toMatchObject({ name: company?.name });
      expect(vendor.book.charged()).toBe(cost(1));
      expect(
        (await run(`enrich -c v nobody-has-this.example --json --max-credits ${cost(1)}`)).code,
      ).toBe(6);
      expect(
        (await run(`enrich -c v --by name ${company?.slug} --json --max-credits ${cost(1)}`)).code,
      ).toBe(2);

      await bought(`employees -c v ${company?.slug} -o e.ndjson --yes --max-credits ${cost(30)}`);
      const employed = vendor.people.filter((person) => person.company === company).map(vendor.id);
      expect(ids("e.ndjson").sort()).toEqual(employed.sort());
      expect(await spend()).toMatchObject({ settled: millionthsOf(vendor.book.charged()) });
    },
  );

  tried(
    "a list is brought up to date by ids: who left and who is new, for the price of the new",
    async () => {
      const { vendor, german, bought, run, rows, ids } = await userOf(name);
      const list = `refresh -c v l.ndjson --yes`;
      await bought(`${BUY} -o l.ndjson`);

      const [left, germany] = [vendor.people.filter(isGerman).slice(0, 2), germanyOf(vendor)];
      const came = vendor.people.filter((one) => !isGerman(one) && one.country).slice(0, 3);
      for (const one of left) Object.assign(one, { country: came[0]?.country });
      for (const one of came) Object.assign(one, { country: germany });

      const { stdout } = await bought(`${list} --dry-run --json`);
      expect(JSON.parse(stdout)).toMatchObject({ new: 3, gone: 2, credits_at_most: 3 * each });
      const short = await run(`${list} --max-credits ${cost(2)}`);
      expect(short.code, short.stderr).toBe(4);
      expect(vendor.book.sold().length).toBe(german.length);

      await bought(`${list} --max-credits ${cost(3)}`);
      const now = vendor.people.filter(isGerman).map(vendor.id);
      expect(ids("l.ndjson").sort()).toEqual(now.sort());
      expect(ids("l.added.ndjson").sort()).toEqual(came.map(vendor.id).sort());
      expect(ids("l.removed.ndjson").sort()).toEqual(left.map(vendor.id).sort());
      expect(rows("l.changed.ndjson")).toEqual([]);
      expect(vendor.book.sold().length).toBe(german.length + 3);

      const unsaid = await run(`${list} --verify-fields title`);
      expect(unsaid.code, unsaid.stderr).toBe(2);
    },
  );

  tried("a list that is a part of its segment is looked after by ids", async () => {
    const { vendor, german, bought, rows, ids } = await userOf(name);
    await bought(`${BUY} --limit 4 -o part.ndjson`);
    const [left] = rows("part.ndjson");
    const gone = vendor.people.find((one) => vendor.id(one) === String(left?.id));
    Object.assign(gone ?? {}, { country: vendor.people.find((one) => !isGerman(one))?.country });

    const said = await bought("refresh -c v part.ndjson --yes");
    expect(said.stderr).toContain("1 removed");
    expect(ids("part.ndjson")).toHaveLength(3);
    expect(ids("part.removed.ndjson")).toEqual([String(left?.id)]);
    expect(vendor.book.sold().length).toBe(4);
    expect(german.length).toBeGreaterThan(5);
  });

  tried(
    "a list that nobody wrote yet is bought by a refresh; who cannot be read is in none",
    async () => {
      const people = Array.from({ length: 40 }, (_, at) => at);
      const habits =
        name === "apollo" ? { missing: people } : { deleted: people, deletedAs: "404" };
      const { vendor, german, bought, ids } = await userOf(name, habits as Options);
      const gone = new Set(vendor.people.slice(0, 40).map((one) => vendor.id(one)));
      const list = "refresh -c v --country Germany -o l.ndjson --yes";
      await bought(list);
      expect(ids("l.ndjson").sort()).toEqual(german.filter((id) => !gone.has(id)).sort());
      await bought(list);
      expect(vendor.book.sold().length).toBe(ids("l.ndjson").length);
    },
  );

  tried(
    "a filter that is passed over is found out before ids are taken for a segment's",
    async () => {
      const { vendor, bought, run } = await userOf(name);
      await bought("search -c v --city Berlin --yes --limit 3 -o some.ndjson");
      vendor.options.swallow = [name === "apollo" ? "person_locations" : "location_country"];
      const ran = await run(`${BUY} --new-only -o new.ndjson`);
      expect(ran.code, ran.stderr).toBe(2);
      expect(ran.stderr).toContain("passes the filter country over");
      expect(vendor.book.sold().length).toBe(3);
    },
  );
});

describe("a profile that was merged into another", () => {
  test("is known by the id that found it: nobody pays for it twice, and no list loses it", async () => {
    const merged = Array.from({ length: 60 }, (_, at) => at);
    const options = { people: 60, merged } as Options;
    const { vendor, german, bought, ids } = await userOf("coresignal", options);
    await bought(`${BUY} --limit 2 -o two.ndjson`);
    await bought("refresh -c v --country Germany -o l.ndjson --yes");
    expect(ids("l.ndjson").sort()).toEqual(german.sort());
    const sold = vendor.book.sold().length;
    expect(sold).toBe(german.length);

    await bought(`${BUY} --new-only -o none.ndjson`);
    await bought("refresh -c v l.ndjson --yes");
    await bought("search -c v --country Germany --ids g.csv");
    await bought("read -c v g.csv --yes -o all.ndjson");
    expect(ids("all.ndjson").sort()).toEqual(german);
    expect(vendor.book.sold().length).toBe(sold);
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
