import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, user } from "../support/export.ts";
import { startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

const CREDITS = 100_000;
const service = testService({ people: 2_000, credits: CREDITS });
let everybody: readonly Person[];

beforeAll(async () => {
  const pages = [1, 2].map(async (page) => {
    const reply = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 1_000, page },
    });
    return reply.json.result as Person[];
  });
  everybody = (await Promise.all(pages)).flat();
});

const someone = (): ReturnType<typeof user> => user(service.url, service.key);
const segmentFile = (u: ReturnType<typeof user>, name: string): string =>
  join(u.env.HEADCOUNT_CONFIG_DIR ?? "", "segments", `${name}.json`);
const is = (wanted: Partial<Record<keyof Person, string>>) => (person: Person) =>
  Object.entries(wanted).every(
    ([key, value]) =>
      String(person[key as keyof Person] ?? "").toLowerCase() === value.toLowerCase(),
  );

async function saved(...segments: readonly (readonly [name: string, ...flags: string[]])[]) {
  const u = someone();
  for (const [name, ...flags] of segments)
    expect((await u.run(["segment", "save", name, ...flags])).code, name).toBe(0);
  return u;
}

describe("saved segments", () => {
  test("saved for its owner alone, listed, shown as -f reads it, used with -s, removed", async () => {
    const u = await saved([
      "legal",
      ...asTyped`--department Legal --country France --country germany`,
    ]);
    expect(statSync(segmentFile(u, "legal")).mode & 0o777).toBe(0o600);
    const filters = { country: ["France", "germany"], department: "Legal" };
    expect(await u.json(["segment", "show", "legal"])).toEqual(filters);
    expect((await u.run(["segment"])).stdout).toMatch(
      /^name,filters,saved_at\nlegal,"France, germany · Legal",\d{4}-/,
    );
    expect(await u.json(["segment", "list", "--json"])).toMatchObject({
      segments: [{ name: "legal", filters, problem: null, file: segmentFile(u, "legal") }],
    });
    const byName = await u.run(["count", "-s", "legal"]);
    expect(byName).toEqual(await u.run(["count", "-f", segmentFile(u, "legal")]));
    const flags = ["--department", "legal", "--country", "france", "--country", "germany"];
    expect(byName.stdout).toBe((await u.run(["count", ...flags])).stdout);
    expect((await u.run(["segment", "remove", "legal"])).stderr).toBe("removed legal\n");
    expect(existsSync(segmentFile(u, "legal"))).toBe(false);
  });

  test("a flag replaces a value of it; a pattern names several, one row each", async () => {
    const u = await saved(
      ["eu-fr", "--country", "france"],
      ["eu-de", "--country", "germany"],
      ["uk", "--country", "uk"],
    );
    const own = await u.run(["count", "-s", "eu-fr", "--country", "germany"]);
    expect(own.stdout).toBe((await u.run(["count", "-s", "eu-de"])).stdout);
    const rows = (await u.run(["count", "-s", "eu-*"])).stdout.trim().split("\n");
    expect(rows.map((line) => line.split(",")[0])).toEqual(["segment", "eu-de", "eu-fr"]);
  });

  test("what is there is not replaced by another without --overwrite; the same once more is done", async () => {
    const u = await saved(["a", "--country", "france"], ["a", "--country", "france"]);
    const refused = await u.run(["segment", "save", "a", "--country", "spain"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("--overwrite replaces it");
    expect(readFileSync(segmentFile(u, "a"), "utf8")).toContain("france");
    await u.ran(["segment", "save", "a", "--country", "spain", "--overwrite"]);
    expect(await u.json(["segment", "show", "a"])).toEqual({
      country: "spain",
    });
    expect(readdirSync(join(u.env.HEADCOUNT_CONFIG_DIR ?? "", "segments"))).toEqual(["a.json"]);
  });

  test.each([
    [
      ["segment", "save", "EU Legal", "--country", "france"],
      '"EU Legal" is no name for a segment',
      "eu-legal",
    ],
    [["segment", "save", "../x", "--country", "france"], '"../x" is no name for a segment', "x"],
    [["segment", "save", "all"], "would be everybody", "give a filter"],
    [["segment", "save", "b", "--department", "Slaes"], 'unknown department: "Slaes"', ""],
    [["count", "-s", "legla"], 'there is no segment "legla"', "did you mean legal?"],
    [["count", "-s", "xyzzy"], 'there is no segment "xyzzy"', "headcount segment list"],
    [["segment", "remove", "legal", "nope"], 'there is no segment "nope"', ""],
    [["owned", "export", "-s", "legal", "-s", "fr"], "takes one segment", "count and search"],
    [["count", "-s", "legal", "--except", "fr", "--by", "country"], "--by does not go with", ""],
  ])("%j is refused with what would work", async (argv, message, hint) => {
    const u = await saved(["legal", "--department", "Legal"], ["fr", "--country", "france"]);
    const { code, stdout, stderr } = await u.run(argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
    expect(stderr).toContain(hint);
    expect(existsSync(segmentFile(u, "legal"))).toBe(true);
  });

  test("one that an editor broke is listed with what is wrong, and named where it is used", async () => {
    const u = await saved(["good", "--country", "france"]);
    writeFileSync(segmentFile(u, "bad"), '{"countri": "france"}');
    expect((await u.run(["segment"])).stdout).toContain(
      "bad,unusable: bad: unknown filter: countri",
    );
    expect((await u.run(["count", "-s", "bad"])).stderr).toContain("did you mean country?");
  });
});

describe("values and files", () => {
  test("@FILE is one value a line, @- is stdin, @@ is the character itself", async () => {
    const u = someone();
    writeFileSync(u.file("countries.txt"), "\ufefffrance\r\n\r\n  germany \nfrance\n");
    const two = (await u.run(["count", "--country", "france", "--country", "germany"])).stdout;
    expect((await u.run(["count", "--country", "@countries.txt"])).stdout).toBe(two);
    expect((await u.run(["count", "--country", "@-"], { stdin: "germany\nfrance" })).stdout).toBe(
      two,
    );
    const three = await u.run(asTyped`count --country @countries.txt --country spain --json`);
    expect(JSON.parse(three.stdout).filters).toEqual({ country: ["france", "germany", "spain"] });
    writeFileSync(
      u.file("quoted.txt"),
      '"france"\n"Cote d\\u0027Ivoire"\n"the ""old"" one"\n"a" and "b"\n""\n',
    );
    const quoted = await u.run(["count", "--title", "@quoted.txt", "--json"]);
    expect(JSON.parse(quoted.stdout).filters).toEqual({
      title: ["france", "Cote d'Ivoire", 'the "old" one', '"a" and "b"'],
    });
    writeFileSync(u.file("noted.txt"), '# ours\n#\nfrance\n  #\tlater\n#1\n"# two"\n');
    const noted = await u.run(["count", "--title", "@noted.txt", "--json"]);
    expect(JSON.parse(noted.stdout).filters).toEqual({ title: ["france", "#1", "# two"] });
    const listed = await u.run(["count", "--by", "title=@noted.txt", "--json"]);
    const values = JSON.parse(listed.stdout).parts.map(({ value }: { value: string }) => value);
    expect(values.sort()).toEqual(["# two", "#1", "france"]);
    const literal = await u.run(["count", "--title", "@@home", "--json"]);
    expect(JSON.parse(literal.stdout).filters).toEqual({ title: "@home" });
  });

  test.each([
    [["--country", "@none.txt"], "cannot read values from none.txt: there is no such file"],
    [["--country", "@empty.txt"], "the file holds no value"],
    [["--country", "@"], "it is a directory"],
    [["--title-prefix", "@two.txt"], "--title-prefix takes one value, and has 2"],
    [["-f", "nothing/*.json"], 'no file matches -f "nothing/*.json"'],
  ])("%j is refused before any request", async (argv, message) => {
    const u = someone();
    writeFileSync(u.file("empty.txt"), "\n \n");
    writeFileSync(u.file("two.txt"), "a\nb\n");
    const { stderr } = await u.ends(2, ["count", ...argv]);
    expect(stderr).toContain(message);
  });

  test("a pattern is every file that it matches, in order of their names; a file of that very name is that file", async () => {
    const u = someone();
    mkdirSync(u.file("seg"));
    for (const name of ["b", "a", "[x]"])
      writeFileSync(u.file(`seg/${name}.json`), '{"country":"france"}');
    const rows = async (...argv: string[]) =>
      (await u.run(["count", ...argv])).stdout.trim().split("\n").slice(1);
    expect((await rows("-f", "seg/?.json")).map((row) => row.split(",")[0])).toEqual([
      "seg/a.json",
      "seg/b.json",
    ]);
    expect((await u.run(["count", "-f", "seg/[x].json", "--json"])).stdout).toContain(
      '"filters":{"country":"france"}',
    );
  });
});

describe("several segments in one purchase", () => {
  const wanted = (...tests: readonly ((person: Person) => boolean)[]): string[] =>
    everybody
      .filter((person) => tests.some((test) => test(person)))
      .map(({ id }) => id)
      .sort();
  const bought = (u: ReturnType<typeof user>, file: string): string[] =>
    readCsv(u.read(file))
      .map(({ id }) => String(id))
      .sort();

  test("whoever is in two of them is bought and paid for once, and --union counts the same", async () => {
    const u = someone();
    writeFileSync(u.file("eu.txt"), "france\ngermany\nspain\n");
    for (const argv of [
      ["fr", "--country", "france"],
      ["eu-sales", "--department", "Sales", "--country", "@eu.txt"],
      ["few", "--country", "@eu.txt", "--connections-max", "300"],
    ])
      expect((await u.run(["segment", "save", ...argv])).code).toBe(0);
    const eu = (one: Person): boolean =>
      ["france", "germany", "spain"].includes(one.country?.toLowerCase() ?? "");
    const all = wanted(
      is({ country: "france" }),
      (one) => eu(one) && one.department === "Sales",
      (one) => eu(one) && typeof one.connections === "number" && one.connections <= 300,
    );
    const three = ["-s", "fr", "-s", "eu-sales", "-s", "few"];
    expect((await u.run(["count", ...three, "--union"])).stdout).toBe(`${all.length}\n`);
    const before = await charged(service, CREDITS);
    await u.ends(
      0,
      ["search", ...three, "-o", "x.csv", "--yes", "--receipt", "r.json"],
      `the segments are ${all.length} people in`,
    );
    expect(bought(u, "x.csv")).toEqual(all);
    expect((await charged(service, CREDITS)) - before).toBe(all.length);
    expect(JSON.parse(u.read("r.json"))).toMatchObject({
      count: all.length,
      duplicates: 0,
      complete: true,
    });
    expect((await u.run(["runs", "list"])).stdout).toContain("} or {");
  });

  test("segments that filters alone say are one are bought as one", async () => {
    const u = await saved(
      ["fr", "--country", "france"],
      ["de", "--country", "germany"],
      ["fr-sales", "--country", "france", "--department", "Sales"],
    );
    const both = await u.run(asTyped`search -s fr -s de -s fr-sales --dry-run --json`);
    expect(JSON.parse(both.stdout)).toMatchObject({
      target: '{"country":["france","germany"]}',
      matches: wanted(is({ country: "france" }), is({ country: "germany" })).length,
      overlap: 0,
    });
    expect(both.stderr).toBe("");
  });

  test("--except leaves people out and pays for none of them", async () => {
    const u = await saved(["fr", "--country", "france"], ["sales", "--department", "Sales"]);
    const others = everybody.filter(
      (one) => is({ country: "france" })(one) && !is({ department: "Sales" })(one),
    );
    expect((await u.run(["count", "-s", "fr", "--except", "sales"])).stdout).toBe(
      `${others.length}\n`,
    );
    const before = await charged(service, CREDITS);
    await u.ran(["search", "-s", "fr", "--except", "sales", "-o", "x.csv", "--yes"]);
    expect(bought(u, "x.csv")).toEqual(others.map(({ id }) => id).sort());
    expect((await charged(service, CREDITS)) - before).toBe(others.length);
  });

  test("an --except that no filter can say is refused before anything is bought", async () => {
    const u = await saved(["sales", "--department", "Sales"], ["heads", "--title-prefix", "head"]);
    const before = await charged(service, CREDITS);
    const { code, stderr } = await u.run(asTyped`search -s sales --except heads --yes -o x.csv`);
    expect({ code, there: existsSync(u.file("x.csv")) }).toEqual({ code: 2, there: false });
    const both = everybody.filter(
      (one) => is({ department: "Sales" })(one) && /^head/i.test(one.title ?? ""),
    );
    expect(both.length).toBeGreaterThan(0);
    expect(stderr).toContain(`--except cannot be held to: ${both.length} of`);
    expect(await charged(service, CREDITS)).toBe(before);
  });

  test("an overlap that nothing takes apart is said before buying, paid as said, and written once", async () => {
    const companies = everybody
      .filter(({ title }) => /^head/i.test(title ?? ""))
      .map((one) => one.company_network_url);
    const company =
      companies.find(
        (url) => everybody.filter((one) => one.company_network_url === url).length > 1,
      ) ?? "";
    const u = await saved(
      ["heads", "--title-prefix", "head"],
      ["company", "--company-network-url", company],
    );
    const inCompany = everybody.filter((one) => one.company_network_url === company);
    const all = wanted(
      (one) => /^head/i.test(one.title ?? ""),
      (one) => inCompany.includes(one),
    );
    const overlap = inCompany.filter(({ title }) => /^head/i.test(title ?? "")).length;
    const argv = ["search", "-s", "heads", "-s", "company", "-o", "x.csv"];
    expect(await u.json([...argv, "--dry-run", "--json"])).toMatchObject({
      overlap,
    });
    const before = await charged(service, CREDITS);
    await u.ends(
      0,
      asTyped`${argv} --max-credits 1000 --quiet --require-complete`,
      `warning: up to ${overlap} ${overlap === 1 ? "person is" : "people are"} in more than one`,
    );
    expect(bought(u, "x.csv")).toEqual(all);
    expect((await charged(service, CREDITS)) - before).toBe(all.length + overlap);
  });

  test("an interrupted union goes on without a new count of what is bought", async () => {
    const u = await saved(["fr", "--country", "france"], ["sales", "--department", "Sales"]);
    const all = wanted(is({ country: "france" }), is({ department: "Sales" }));
    const before = await charged(service, CREDITS);
    const argv = asTyped`search -s fr -s sales -o x.csv --per-page 20 --overwrite`;
    expect((await u.run([...argv, "--max-credits", "30"])).stderr).toContain(
      `Exported 30 of ${all.length} profiles`,
    );
    await u.ran(["resume", "last", "--max-credits", String(all.length), "--overwrite"]);
    expect(bought(u, "x.csv")).toEqual(all);
    expect((await charged(service, CREDITS)) - before).toBe(all.length);
  });

  test("a service that gives only a part of a large segment: each part is divided further", async () => {
    const walled = await startTestService({
      people: 2_000,
      maxDepth: 100,
      credits: 10_000,
    } as never);
    try {
      const u = user(walled.url, walled.key);
      writeFileSync(u.file("fr.json"), '{"country":"united states"}');
      writeFileSync(u.file("sales.json"), '{"department":"Sales"}');
      const all = wanted(is({ country: "united states" }), is({ department: "Sales" }));
      const { code } = await u.run(asTyped`search -f fr.json -f sales.json -o x.csv --yes`);
      expect(code).toBe(0);
      expect(bought(u, "x.csv")).toEqual(all);
    } finally {
      await walled.close();
    }
  });
});

test("a filter file may have comments and trailing commas, as a file of jobs", async () => {
  const me = someone();
  writeFileSync(
    me.file("f.json"),
    '{\n  // whom\n  "title": ["a,]", "//b",], /* where */\n  "country": "france",\n}\n',
  );
  const ran = await me.run(["segment", "save", "fr", "-f", "f.json"]);
  expect(ran).toMatchObject({ code: 0 });
  expect((await me.run(["segment", "show", "fr"])).stdout).toContain("//b");
  writeFileSync(me.file("f.json"), '{"country": "france", "country": "spain",}');
  await me.ends(2, ["segment", "save", "fr2", "-f", "f.json"], "duplicate key");
  writeFileSync(me.file("f.json"), '{"country": "france",,}');
  await me.ends(2, ["segment", "save", "fr2", "-f", "f.json"]);
});
