import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { testContext } from "../support/client.ts";
import { vendorUser } from "../support/vendor-user.ts";
import type { VendorName } from "../support/vendors/index.ts";
import { creditsOf, millionthsOf } from "../support/vendors/shared.ts";

// Vendors that are asked by the files that come with headcount, each against a service that behaves as its pages
// say and keeps a book: what it charged is what `spend` has, to the millionth.

type Options = Parameters<typeof vendorUser>[1];

async function userOf(name: VendorName, options: Options = {}, dialect?: string) {
  const user = await vendorUser(name, options, dialect);
  onTestFinished(() => user.vendor.stop());
  expect(user.added.code, user.added.stderr).toBe(0);

  const isBooked = async (): Promise<void> => {
    const { settled, uncertain, foreign } = await user.spend();
    expect({ settled, uncertain, foreign }).toEqual({
      settled: millionthsOf(user.vendor.book.charged()),
      uncertain: 0n,
      foreign: 0n,
    });
  };
  return { ...user, isBooked };
}

const ids = (rows: readonly Record<string, unknown>[]): unknown[] => rows.map(({ id }) => id);
const runIn = (text: string): string => /headcount resume (\S+)/.exec(text)?.[1] ?? "";

const BUY = "search -c v --country Germany -o o.ndjson --yes";

/** What three people cost, and whether the free count tells beforehand how many there are. */
const BUYING: readonly (readonly [VendorName, string, boolean])[] = [
  ["pdl", "3", false],
  ["crustdata", "0.09", false],
  ["coresignal", "60", true],
  ["apollo", "3", true],
  ["explorium", "3", true],
];

describe.each(BUYING)("%s", (name, cap, isCounted) => {
  test("a search lands on its cap, a run goes on, nobody comes twice, and the books agree", async () => {
    const { run, rows, vendor, isBooked } = await userOf(name);
    const german = vendor.people.filter(({ country }) => country?.code === "DE").map(vendor.id);

    const counted = await run("count -c v --country Germany");
    expect(counted.code, counted.stderr).toBe(isCounted ? 0 : 2);
    if (isCounted) expect(counted.stdout).toBe(`${german.length}\n`);
    else expect(counted.stderr).toContain("this count costs");
    expect(vendor.book.charged()).toBe("0");

    const some = await run(`${BUY} --max-credits ${cap}`);
    expect(some.code, some.stderr).toBe(0);
    expect(vendor.book.charged()).toBe(cap);
    expect(rows("o.ndjson").length).toBe(3);
    await isBooked();

    const six = String(Number(cap) * 2);
    const more = await run(`resume ${runIn(some.stderr)} --max-credits ${six} --yes --overwrite`);
    expect(more.code, more.stderr).toBe(0);
    const bought = rows("o.ndjson");
    expect(new Set(ids(bought)).size).toBe(6);
    expect(vendor.book.sold().sort()).toEqual(ids(bought).sort());
    for (const id of ids(bought)) expect(german).toContain(id);
    expect(bought[0]?.vendor).toBeTypeOf("object");
    await isBooked();
  });

  test("a price that is double ends it at the first reply, kept and booked as it was charged", async () => {
    const { run, vendor, spend } = await userOf(name, { chargeFactor: 2 });
    const ran = await run(`${BUY} --limit 9 --max-credits ${creditsOf(millionthsOf(cap) * 10n)}`);
    expect(ran.code, ran.stderr).toBe(5);
    expect(ran.stderr).toMatch(/the service charged [\d.]+ credits for \d rows? quoted at/);
    expect(vendor.book.charges.length).toBe(1);
    // A cursor that is bound to its size begins with it.
    expect(vendor.book.sold().length).toBe(name === "crustdata" ? 9 : 1);
    const { settled, uncertain, foreign } = await spend();
    expect(settled + uncertain + foreign).toBe(millionthsOf(vendor.book.charged()));
  });

  test("a reply that is lost counts against the cap, and is no way past it", async () => {
    const { run, vendor, spend } = await userOf(name, { loseReply: [2] });
    const most = String(Number(cap) * 2);
    const ran = await run(`${BUY} --max-credits ${most}`);
    const { settled, uncertain } = await spend();
    expect(millionthsOf(vendor.book.charged())).toBeLessThanOrEqual(millionthsOf(most));
    expect(settled + uncertain, ran.stderr).toBeGreaterThanOrEqual(
      millionthsOf(vendor.book.charged()),
    );
    expect(settled + uncertain).toBeLessThanOrEqual(millionthsOf(most));
    // No vendor knows a key.
    expect(ran.stderr).not.toContain("under the same key");
  });

  test("a filter that the file has not, and what no file can say, cost nothing", async () => {
    const { run, vendor, dir } = await userOf(name);
    const unsaid = await run("search -c v --headline-prefix x -o o.csv --max-credits 9 --yes");
    expect(unsaid).toMatchObject({ code: 2 });
    expect(unsaid.stderr).toContain(`${name} cannot be asked by headline_prefix`);
    // Where ids are found first, both can be had.
    const isById = isCounted && name !== "explorium";
    for (const option of isById ? [] : ["--sample 3", "--new-only"]) {
      const refused = await run(`${BUY} --max-credits 9 ${option}`);
      expect(refused.code, refused.stderr).toBe(2);
      expect(refused.stderr).toContain("yet");
    }
    const refreshed = await run(
      `refresh -c v --country Germany -o ${join(dir, "l.csv")} --dry-run`,
    );
    expect(refreshed.code, refreshed.stderr).toBe(isById ? 0 : 2);

    writeFileSync(join(dir, "i.csv"), "id\n1\n");
    const lines = ["search -c v --country Germany --ids j.csv", "read -c v i.csv --yes -o o.csv"];
    for (const line of isById ? [] : lines) {
      const ran = await run(line);
      expect(ran.code, ran.stderr).toBe(2);
    }
    expect(vendor.book.charged()).toBe("0");
  });
});

describe("what a vendor does other than its file says", () => {
  test("a name that is passed over is found out for nothing", async () => {
    const { run, vendor } = await userOf("apollo", { swallow: ["person_locations"] });
    for (const line of ["count -c v --country Germany", `${BUY} --max-credits 9`]) {
      const ran = await run(line);
      expect(ran.code, ran.stderr).toBe(2);
      expect(ran.stderr).toContain("apollo passes the filter country over");
    }
    expect(vendor.book.charged()).toBe("0");
  });

  test.each([
    ["pdl", "location_country", 1],
    ["crustdata", "basic_profile.location.country", 1],
    ["prospeo", "person_location_search", 25],
  ] as const)(
    "%s: where counts cost, a name that is passed over ends it with the smallest page",
    async (name, field, most) => {
      const { run, vendor, isBooked } = await userOf(name, { swallow: [field] });
      const ran = await run(`${BUY} --limit ${most * 2} --max-credits 9`);
      expect(ran.code, ran.stderr).toBe(2);
      expect(ran.stderr).toContain(`${name} passes the filter country over`);
      // Nobody is told to go on with what stops again.
      expect(ran.stderr).toMatch(/hint: headcount runs export \S+ writes what there is/);
      expect(ran.stderr).not.toContain("headcount resume");
      expect(vendor.book.sold().length).toBe(most);
      await isBooked();
      // What was kept is nobody who was asked for: going on buys no more of them.
      const on = await run("resume --yes --overwrite");
      expect(on.code, on.stderr).not.toBe(0);
      expect(vendor.book.sold().length).toBe(most);

      vendor.options.swallow = [];
      const again = await run(`${BUY} --again --overwrite --limit ${most} --max-credits 9`);
      expect(again.code, again.stderr).toBe(0);
      expect(vendor.book.sold().length).toBe(most * 2);
      await isBooked();
    },
  );

  test("what was tried is kept with the connection: no process tries it again", async () => {
    const { run, vendor, isBooked } = await userOf("pdl");
    const searches = (): number =>
      vendor.book.calls.filter(({ path }) => path.endsWith("/person/search")).length;
    const requests = async (line: string): Promise<number> => {
      const ran = await run(`${line} --overwrite --dry-run --json`);
      expect(ran.code, ran.stderr).toBe(0);
      return JSON.parse(ran.stdout).requests as number;
    };

    // A page of one row, which is looked at first, the others, and the name.
    const line = `${BUY} --limit 3`;
    const quoted = await requests(line);
    expect((await run(line)).code).toBe(0);
    expect(searches()).toBe(3);
    expect(quoted).toBe(3);
    expect(await requests(`${line} --again`)).toBe(2);
    expect((await run(`${line} --again --overwrite`)).code).toBe(0);
    expect(searches()).toBe(5);
    await isBooked();
  });

  test("a row that contradicts what was tried has the name tried again", async () => {
    const { run, vendor } = await userOf("pdl");
    expect((await run(`${BUY} --limit 1`)).code).toBe(0);
    vendor.options.swallow = ["location_country"];
    const ran = await run("search -c v --country Ireland --yes --limit 5 -o i.ndjson");
    expect(ran.code, ran.stderr).toBe(5);
    expect(ran.stderr).toContain("which was not asked for");
    const next = await run("search -c v --country Georgia --yes --limit 5 -o g.ndjson");
    expect(next.code, next.stderr).toBe(2);
    expect(next.stderr).toContain("pdl passes the filter country over");
  });

  test("a row that is not who was asked for ends it, is kept, and is the only one", async () => {
    const { run, vendor, dir, isBooked } = await userOf("pdl");
    const file = JSON.parse((await run("connections show v")).stdout);
    file.words.country = { Ireland: "germany" };
    file.filters.country = { any: file.filters.country.any, words: "country" };
    writeFileSync(join(dir, "mine.json"), JSON.stringify(file));
    await run(`connections add v --dialect ./mine.json --base-url ${vendor.url}`);
    const ran = await run("search -c v --country Ireland -o o.ndjson --max-credits 9 --yes");
    expect(ran.code, ran.stderr).toBe(5);
    expect(ran.stderr).toMatch(/row 1 of pdl says country ".*", which was not asked for/);
    expect(vendor.book.sold().length).toBe(1);
    await isBooked();
  });

  test("a plan's own price is quoted, held against the vendor's, and in the copy of the file", async () => {
    const { run, vendor, isBooked } = await userOf("pdl", { chargeFactor: 0.5 });
    const add = `connections add v --dialect pdl --base-url ${vendor.url} --price`;
    const wrong = await run(`${add} cheap`);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('"credits" is a text of digits');
    expect((await run(`${add} 0.5`)).code).toBe(0);
    const shown = JSON.parse((await run("connections show v")).stdout);
    expect(shown.calls.search.price).toMatchObject({ credits: "0.5" });

    const quote = JSON.parse((await run(`${BUY} --limit 4 --dry-run --json`)).stdout);
    expect(quote).toMatchObject({ unit_cost: 0.5, credits: 2, price_read: null });
    const ran = await run(`${BUY} --limit 4`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).not.toContain("the vendor charged");
    await isBooked();

    vendor.options.chargeFactor = 1;
    const dear = await run("search -c v --country Ireland --yes --limit 4 -o i.ndjson");
    expect(dear.code, dear.stderr).toBe(5);
    await isBooked();
  });

  test("a price that is half goes on, and is booked as it was charged", async () => {
    const { run, vendor, isBooked } = await userOf("pdl", { chargeFactor: 0.5 });
    const ran = await run(`${BUY} --limit 8`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain(
      "the vendor charged 0.5 credits for what its file says costs 1 credit",
    );
    expect(vendor.book.charged()).toBe("4");
    await isBooked();
  });

  test.each([
    ["tells the half", { chargeFactor: 0.5 }, { settled: 2, declared: 4, told: 2 }],
    ["tells the double", { chargeFactor: 2 }, { settled: 2, declared: 1, told: 2 }],
    ["tells nothing", { silent: true }, { settled: 4, declared: 4, told: 0 }],
  ])("a vendor that %s: declared, told and booked are kept apart", async (_, habits, sums) => {
    const { run } = await userOf("pdl", habits);
    await run(`${BUY} --limit 4`);
    const known = async (): Promise<unknown> =>
      JSON.parse((await run("spend --json --by connection")).stdout).total;
    expect(await known()).toMatchObject({ ...sums, uncertain: 0, foreign: 0 });
    // What a run that is gone kept of it, too.
    await run("runs remove last --force");
    expect(await known()).toMatchObject(sums);
  });

  test("nobody, no credits and too many calls are told apart by the file", async () => {
    const poor = await userOf("explorium", { credits: "2" });
    const broke = await poor.run(`${BUY} --max-credits 9`);
    expect(broke.code, broke.stderr).toBe(4);
    await poor.isBooked();

    const nobody = await userOf("pdl");
    const none = await nobody.run("search -c v --city zz -o n.ndjson --max-credits 9 --yes");
    expect(none.code, none.stderr).toBe(0);
    await nobody.isBooked();

    const busy = await userOf("pdl", { limitPerMinute: 0 });
    const relent = setInterval(() => {
      if (busy.vendor.book.calls.some(({ status }) => status === 429))
        busy.vendor.options.limitPerMinute = 100;
    }, 1);
    onTestFinished(() => clearInterval(relent));
    const ran = await busy.run(`${BUY} --max-credits 3`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(busy.vendor.book.calls.some(({ status }) => status === 429)).toBe(true);
    await busy.isBooked();
  });

  test("whoever is found and cannot be read is free, and the list has the others", async () => {
    const german = { deleted: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], deletedAs: "404" } as const;
    const { run, rows, vendor, isBooked } = await userOf("coresignal", german);
    const ran = await run(`${BUY} --max-credits 100`);
    expect(ran.stderr).not.toContain("error:");
    expect(vendor.book.charged()).toBe(String(rows("o.ndjson").length * 20));
    await isBooked();
  });
});

describe("a company", () => {
  test("is looked up where a file has a call for it; its people are a search", async () => {
    const { run, vendor, isBooked } = await userOf("pdl");
    const [company] = vendor.companies;
    const one = await run(`enrich -c v ${company?.domain} --json`);
    expect(one.code, one.stderr).toBe(0);
    expect(one.stdout).toContain(company?.domain);
    expect((await run("enrich -c v nobody-has-this.example --json")).code).toBe(6);

    const people = await run(`employees -c v ${company?.slug} --max-credits 2 -o e.ndjson --yes`);
    expect(people.code, people.stderr).toBe(0);
    expect(vendor.book.charged()).toBe("3");
    await isBooked();
  });

  test("is refused by name where the file has no call for it, and nothing is sent", async () => {
    const { run, vendor } = await userOf("explorium");
    const ran = await run("enrich -c v acme.example --json");
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain("explorium cannot be asked for a company by its domain yet");
    expect(vendor.book.calls).toMatchObject([]);
  });
});

describe("what a file cannot say is refused by name, and nothing is sent", () => {
  test.each([
    ["search --name x --dry-run", "explorium cannot be asked by name"],
    ["search --country atlantis --max-credits 9 --yes -o a.csv", 'no word for country "atlantis"'],
    ["search --country germany --ids ids.csv", "finds nobody by id"],
    ["search --country germany --new-only --dry-run", "searched with --new-only yet"],
    ["search --country germany --with-owned --dry-run", "searched with --with-owned yet"],
    ["search --country germany --new-anywhere --dry-run", "searched with --new-anywhere yet"],
    ["count --name x --json", "explorium cannot be asked by name"],
    ["count -f said.json -f unsaid.json --json", "explorium cannot be asked by name"],
    ["count -f said.json -f unsaid.json --union", "explorium cannot be asked by name"],
    ["count -f said.json --except unsaid.json", "explorium cannot be asked by name"],
    ["count --country germany --by name=x", "explorium cannot be asked by name"],
  ])("%s", async (line, why) => {
    // Its account is a free call: that one is no part of a refusal either.
    const { dir, run, vendor } = await userOf("explorium");
    writeFileSync(join(dir, "said.json"), '{"country":["germany"]}');
    writeFileSync(join(dir, "unsaid.json"), '{"name":["x"]}');
    vendor.book.calls.length = 0;

    const ran = await run(`${line} -c v`);
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain(line.endsWith("--json") ? why.replaceAll('"', '\\"') : why);
    expect(vendor.book.calls).toMatchObject([]);
  });

  test("of several counts that cost", async () => {
    const { dir, run, vendor } = await userOf("prospeo");
    writeFileSync(join(dir, "said.json"), '{"country":["germany"]}');
    writeFileSync(join(dir, "too.json"), '{"country":["france"]}');
    vendor.book.calls.length = 0;
    const ran = await run("count -f said.json -f too.json --json -c v");
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain("prospeo has no free count");
    expect(vendor.book.calls).toMatchObject([]);
  });
});

const copiesIn = (dir: string): string[] => readdirSync(join(dir, "config", "dialects"));

describe("connections", () => {
  test("add keeps a copy by its hash, show prints it, dialects lists what comes with headcount", async () => {
    const { run, dir } = await userOf("pdl");
    const config = JSON.parse(readFileSync(join(dir, "config", "config.json"), "utf8"));
    expect(config.connections.v.vendor).toMatch(/^pdl-[0-9a-f]{12}$/);
    const shown = await run("connections show v");
    expect(JSON.parse(shown.stdout)).toMatchObject({ dialect: 1, name: "pdl" });
    const template = await run("connections show crustdata");
    expect(JSON.parse(template.stdout)).toMatchObject({ dialect: 1, name: "crustdata" });
    expect(template.stderr).toContain("headcount connections add crustdata --dialect crustdata");
    expect((await run("connections dialects")).stdout).toMatch(/^name,vendor,person,per,count,/);
    const { dialects } = JSON.parse((await run("connections dialects --json")).stdout);
    expect(dialects.map(({ name, buys }: { name: string; buys: boolean }) => [name, buys])).toEqual(
      [
        ["apollo", true],
        ["coresignal", true],
        ["crustdata", true],
        ["explorium", true],
        ["pdl", true],
        ["prospeo", true],
      ],
    );
  });

  test("people of two vendors at one address are not each other's, under one name or two", async () => {
    const { run, vendor, dir, rows } = await userOf("coresignal");
    const file = JSON.parse((await run("connections show v")).stdout);
    writeFileSync(join(dir, "other.json"), JSON.stringify({ ...file, name: "other" }));
    const buy = async (name: string, to: string) => {
      const line = `search -c ${name} --country Germany --new-only --limit 2 --yes -o ${to}`;
      const ran = await run(line);
      expect(ran.code, ran.stderr).toBe(0);
      return rows(to).map(({ id }) => id);
    };
    const bought = await buy("v", "a.ndjson");

    for (const name of ["w", "v"]) {
      await run(`connections add ${name} --dialect ./other.json --base-url ${vendor.url}`);
      expect(JSON.parse((await run(`owned -c ${name} --json`)).stdout).people).toBe(
        name === "w" ? 0 : 2,
      );
      if (name === "w") expect(await buy("w", "b.ndjson")).toEqual(bought);
    }
    // Whoever is this vendor's already is so by whatever name.
    expect(await buy("v", "c.ndjson")).not.toEqual(bought);
  });

  test("a file that is none is refused with line and column, and no connection is made", async () => {
    const { run, dir } = await userOf("pdl");
    const file = { dialect: 1, name: "mine", base: "https://x.example", headers: { k: "{key}" } };
    writeFileSync(join(dir, "mine.json"), JSON.stringify({ ...file, filter: {} }, null, 2));
    const ran = await run("connections add w --dialect ./mine.json");
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(
      'mine.json:8:3: the file has no key "filter" (did you mean "filters"?)',
    );
    expect((await run("connections add w --dialect pld")).stderr).toContain("did you mean pdl?");
    const plain = "connections add w --dialect pdl --base-url http://vendor.example";
    expect((await run(plain)).stderr).toContain("would send the key unencrypted");
    expect((await run("connections --json")).stdout).not.toContain('"w"');
  });

  test("an add that fails leaves nothing: no connection, no copy of a file; one that was there stays", async () => {
    const { dir, env } = await userOf("pdl");
    const before = [readFileSync(join(dir, "config", "config.json"), "utf8"), copiesIn(dir)];
    const add = async (name: string, key: string) => {
      const { HEADCOUNT_API_KEY: _, ...rest } = env;
      const argv = `connections add ${name} --dialect prospeo --key-stdin`.split(" ");
      const tried = testContext({ cwd: dir, env: rest, argv, stdin: key });
      return { code: await main(argv, tried.context), stdout: tried.stdout() };
    };
    for (const name of ["w", "v"]) {
      expect(await add(name, "short")).toEqual({ code: 3, stdout: "" });
      expect([readFileSync(join(dir, "config", "config.json"), "utf8"), copiesIn(dir)]).toEqual(
        before,
      );
    }
  });

  test("the key goes to the address of the connection alone, as the file says, and doctor spends nothing", async () => {
    const { run, vendor } = await userOf("coresignal");
    const doctor = await run("doctor -c v --json");
    expect(doctor.stdout).toContain("took the key, free");
    expect(vendor.book.charged()).toBe("0");
    const sent = vendor.book.calls.map(({ path }) => path);
    expect(sent.every((path) => path.startsWith("/cdapi/"))).toBe(true);
  });

  test("what no cap can be kept to is refused before anything is sent", async () => {
    const { run, vendor, dir } = await userOf("prospeo");
    const file = JSON.parse((await run("connections show v")).stdout);
    file.calls.search.price = { per: "started", rows: 10, credits: "1" };
    writeFileSync(join(dir, "mine.json"), JSON.stringify(file));
    await run(`connections add v --dialect ./mine.json --base-url ${vendor.url}`);
    const ran = await run(`${BUY} --max-credits 25`);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain("prospeo cannot be bought from yet: a page has at least 25 rows");
    expect(vendor.book.calls).toMatchObject([]);
  });

  test("rows that are sold together are quoted, capped and bought by the page", async () => {
    const { run, vendor } = await userOf("prospeo");
    const german = vendor.people.filter(({ country }) => country?.code === "DE").length;
    const part = await run(`${BUY} --limit 30`);
    expect(part.code, part.stderr).toBe(2);
    expect(part.stderr).toContain("--limit 25 fits; --limit 50 fits");
    const page = await run(`${BUY} --limit 25 --per-page 10`);
    expect(page.code, page.stderr).toBe(2);
    expect((await run(`${BUY} --max-credits 0.9`)).code).toBe(4);
    expect(vendor.book.charged()).toBe("0");

    const ran = await run(`${BUY} --max-credits 2`);
    expect(ran.code, ran.stderr).toBe(0);
    expect(ran.stderr).toContain("Exported 50");
    expect(vendor.book.charged()).toBe("2");
    const dry = await run("search -c v --country Germany --dry-run --json");
    expect(dry.code, dry.stderr).toBe(0);
    const quoted = JSON.parse(dry.stdout);
    const [requests, credits] = [Math.ceil(german / 25), Math.ceil(german / 25)];
    const whole = { rows: german, unit_cost: 1, unit_rows: 25, requests, credits };
    expect(quoted).toMatchObject({ ...whole, price_read: "2026-11-28" });
    const card = await run("search -c v --country Germany --dry-run");
    expect(card.stdout.split(/\s+/).join(" ")).toContain("read on 2026-11-28 from a public page");
  });
});
