import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Company, Person } from "../../src/shared/contract/records.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, runIds, user, visibleFiles } from "../support/export.ts";
import { noticesIn } from "../support/notices.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

const CREDITS = 100_000;
const service = testService({ people: 2_000, credits: CREDITS });
let people: Person[];
let domains: string[];
let slugs: string[];
beforeAll(async () => {
  people = (await service.call("/v1/person/search", { body: { filters: {}, per_page: 1_000 } }))
    .json.result as Person[];
  domains = [...new Set(people.flatMap(({ company_domain }) => company_domain ?? []))];
  slugs = [
    ...new Set(
      people.flatMap(({ company_network_url }) => company_network_url?.split("/").at(-1) ?? []),
    ),
  ];
});

const someone = (): ReturnType<typeof user> => user(service.url, service.key);
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = await charged(service, CREDITS);
  await work();
  return (await charged(service, CREDITS)) - before;
}
const employeesOf = async (slug: string): Promise<number> =>
  (await service.call("/v1/person/count", { body: { filters: { company_network_url: slug } } }))
    .json.result.count;

describe("enrich", () => {
  test("one company: its record as JSON to a pipe, a card to a terminal, one credit each", async () => {
    const domain = domains[0] ?? "";
    const spent = await cost(async () => {
      const piped = await someone().run(["enrich", domain]);
      expect(JSON.parse(piped.stdout)).toMatchObject({ domain });
      const shown = await someone().run(["enrich", domain], { tty: true, env: { NO_COLOR: "1" } });
      expect(shown.stdout).toMatch(/^name +\S/);
      expect(shown.stdout).toContain(domain);
      const { name } = JSON.parse(piped.stdout) as Company;
      const named = await someone().run(["enrich", "--by", "name", name ?? "", "--json"]);
      expect(JSON.parse(named.stdout)).toMatchObject({ name });
    });
    expect(spent).toBe(3);
  });

  test("what may be a file is none of a company's names, and the hint tells both apart", async () => {
    const u = someone();
    for (const name of ["crm.md", "crm.zip", "crm.xlsx"]) writeFileSync(u.file(name), "x");
    const spent = await cost(async () => {
      for (const name of ["crm.md", "crm.zip", "crm.xlsx"])
        for (const command of ["enrich", "employees"]) {
          const { stderr } = await u.ends(2, [command, name, "--max-credits", "1"]);
          expect(stderr).toContain(`"${name}" is a file`);
          expect(stderr).toContain(`https://${name} is the domain`);
        }
      for (const name of ["other.zip", "co.uk", "localhost", "crm.local", `${"a.".repeat(200)}zip`])
        await u.ends(2, ["enrich", name, "--max-credits", "1"], /names no company|no such file/);
    });
    expect(spent).toBe(0);
    await u.ends(6, ["enrich", "https://crm.md", "--max-credits", "1"]);
    await u.ends(6, ["enrich", "--by", "name", "crm.md", "--max-credits", "1"]);
  });

  test("a column of a file that is named as a company: the hint is the command that reads it", async () => {
    const u = someone();
    writeFileSync(u.file("my file.csv"), "Webseite\nnobody.example\n");
    const argv = ["enrich", "my file.csv", "--column", "Webseite", "-o", "x.csv"];
    await u.ends(2, argv, "hint: --input 'my file.csv' --column Webseite reads the companies");
    writeFileSync(u.file("head.csv"), "Account,Website\n");
    await u.ends(2, ["enrich", "--input", "head.csv"], "no row of head.csv names a company");
    const read = asTyped`enrich --input ${"my file.csv"} --column Webseite --dry-run`;
    await u.ran(read);
  });

  test("one miss is exit 6 and free; nothing is left behind", async () => {
    const u = someone();
    const spent = await cost(async () => {
      const ran = await u.run(["enrich", "nobody-there.example"]);
      expect(ran).toMatchObject({ code: 6, stdout: "" });
      expect(ran.stderr).not.toContain("charged");
      const json = await u.run(["enrich", "nobody-there.example", "--json"]);
      expect(JSON.parse(json.stderr)).toMatchObject({
        error: { code: "not_found", exit_code: 6, status: 404 },
      });
    });
    expect({ spent, runs: runIds(u) }).toEqual({ spent: 0, runs: [] });
  });

  test("many: matches in the order of the input, each once; misses listed and free; priced before", async () => {
    const u = someone();
    const [a = "", b = "", c = ""] = domains;
    writeFileSync(
      u.file("in.csv"),
      `id,website\n1,${a}\n2,nobody.example\n3,"https://www.${b}/"\n4,${a.toUpperCase()}\n5,${c}\n`,
    );
    const argv = ["enrich", "--input", "in.csv", "-o", "out.csv", "--misses", "misses.txt"];
    const asked = await u.run(argv);
    expect(asked).toMatchObject({ code: 2 });
    expect(asked.stderr).toContain("up to 4 companies for 4 credits");
    const spent = await cost(() =>
      u.run([...argv, "--max-credits", "10"]).then((ran) => expect(ran).toMatchObject({ code: 0 })),
    );
    expect(readCsv(u.read("out.csv")).map(({ domain }) => domain)).toEqual([a, b, c]);
    expect({ spent, misses: u.read("misses.txt") }).toEqual({
      spent: 3,
      misses: "nobody.example\n",
    });
    expect(visibleFiles(u).sort()).toEqual(["in.csv", "misses.txt", "out.csv"]);
  });

  test("NDJSON and plain lines on stdin", async () => {
    const [a = "", b = ""] = domains;
    const lines = await someone().run(["enrich", "--input", "-", "--yes"], {
      stdin: `${a}\n\n${b}\n`,
    });
    const ndjson = await someone().run(["enrich", "--input", "-", "--column", "d", "--yes"], {
      stdin: `{"d":"${a}"}\n{"d":"${b}"}\n`,
    });
    expect(lines.stdout.trim().split("\n").length).toBe(2);
    expect(ndjson.stdout).toBe(lines.stdout);
  });

  test("lists as people have them: with and without a header, whatever the spelling of its columns", async () => {
    const [a = "", b = ""] = domains;
    const asked = async (name: string, text: string, ...more: string[]): Promise<number> => {
      const u = someone();
      writeFileSync(u.file(name), text);
      return (
        (await u.json(["enrich", "--input", name, ...more, "--dry-run", "--json"])) as {
          matches: number;
        }
      ).matches;
    };
    expect(await asked("plain.csv", `${a}\n${b}\n`)).toBe(2);
    expect(await asked("headed.txt", `domain\n${a}\n${b}\n`)).toBe(2);
    expect(await asked("mails.csv", `E-mail\n${a}\nada@${b}\n`)).toBe(1);
    expect(await asked("names.csv", "Company Name\nAcme\n", "--by", "name")).toBe(1);
    expect(await asked("crm.csv", `Account Name,Website\nx,https://${a}\n`)).toBe(1);
    expect(await asked("crm.csv", `Account Name,Company Domain\nx,${a}\n`)).toBe(1);
    expect(await asked("crm.csv", `Account Name,Home\nx,${a}\n`, "--column", "home")).toBe(1);
    expect(await asked("crm.ndjson", `{"Domain":"${a}"}\n`)).toBe(1);
    const u = someone();
    writeFileSync(u.file("mine.csv"), `domain\n${a}\n`);
    for (const command of ["enrich", "employees"]) {
      const named = await u.run([command, "mine.csv", "--max-credits", "5", "-o", "o.csv"]);
      expect(named).toMatchObject({ code: 2, stdout: "" });
      expect(named.stderr).toContain("hint: --input mine.csv takes companies from it");
    }
    writeFileSync(u.file("bare.csv"), `1,${a}\n2,${b}\n`);
    const bare = await u.run(["enrich", "--input", "bare.csv", "--dry-run"]);
    expect(bare).toMatchObject({ code: 2, stdout: "" });
    expect(bare.stderr).toContain(
      "has no line with the names of its columns: the first one is data",
    );
    writeFileSync(u.file("open.csv"), `id,website\n1,"${a}\n`);
    expect((await u.run(["enrich", "--input", "open.csv", "--dry-run"])).stderr).toContain(
      "line 2 of open.csv: a quote is opened and not closed",
    );
  });

  test("misses and caps are called what they are", async () => {
    const u = someone();
    const list = (lines: readonly string[]): void =>
      writeFileSync(u.file("in.txt"), lines.join("\n"));
    list(["nobody-1.example", "nobody-2.example", "nobody-3.example"]);
    const misses = await u.ends(
      0,
      asTyped`enrich --input in.txt --max-credits 1 -o x.csv`,
      "Exported 0 of 3 companies for 0 credits",
      "notice: 3 not found: ",
    );
    expect(misses.stderr).not.toMatch(/match|stopped/);
    list(domains.slice(0, 4));
    const capped = await u.run(asTyped`enrich --input in.txt --max-credits 2 -o y.csv`);
    expect(capped.stderr).toContain("Exported 2 of 4 companies for 2 credits");
    const rest = /stopped at --max-credits; headcount (resume \S+ --max-credits 4) goes on/.exec(
      capped.stderr,
    )?.[1];
    const all = await u.run((rest ?? "").split(" "));
    expect(all).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Exported 4 companies for 4 credits"),
    });
    const quote = await u.run(asTyped`employees --per-company 1 ${slugs.slice(0, 3)} --dry-run`);
    expect(quote.stdout).toMatch(/profiles +at most 3\n +people owned +0\n +to buy +at most 3/);
  });

  test("a name that is not quite right: the slug that has people", async () => {
    const ran = await someone().run(["enrich", domains[0] ?? ""]);
    const { name = "", company_network_url } = JSON.parse(ran.stdout) as {
      name: string;
      company_network_url: string;
    };
    const slug = company_network_url.split("/").at(-1);
    const miss = await someone().run(["enrich", "--by", "name", `${name}.`]);
    expect(miss.code).toBe(6);
    expect(miss.stderr).toContain(`hint: did you mean ${slug}?`);
    expect(miss.stderr).not.toContain("--name looks up");
  });

  test.each(["enrich", "employees"])(
    "%s reads what a German Excel saves, and tells lines by their numbers",
    async (command) => {
      const u = someone();
      const text =
        'Firma;Website\r\n"Müller\r\nGmbH";acme.example\r\n"A\nB";other.example\r\n€;Straße 1€\r\n';
      writeFileSync(u.file("de.csv"), Buffer.from(text.replaceAll("€", "\x80"), "latin1"));
      await u.ends(
        0,
        [command, "--input", "de.csv", "--dry-run", "--max-credits", "9"],
        "warning: de.csv is not UTF-8: read as Windows-1252\n",
        'warning: de.csv line 6: "Straße 1€" names no company: left out',
      );
      writeFileSync(u.file("book.csv"), Buffer.from([0x50, 0x4b, 3, 4, 0xff]));
      await u.ends(2, [command, "--input", "book.csv", "--dry-run"]);
    },
  );

  test.each(["enrich", "employees"])(
    "%s tells the lines that name no company, and goes on with the others",
    async (command) => {
      const argv = [command, "--input", "-", "--dry-run", "--max-credits", "9"];
      const some = await someone().run([...argv, "--json"], {
        stdin: "domain\nacme.example\njane@\nftp://x\nother.example\n",
      });
      expect(some.code, some.stderr).toBe(0);
      expect(noticesIn(some.stderr)).toContain(
        'warning: stdin line 4: "ftp://x" names no company: left out',
      );
      expect(JSON.parse(some.stdout)).toMatchObject({
        target: expect.stringMatching(/acme\.example|2 companies|3 companies/),
      });
      const none = await user("http://127.0.0.1:1", service.key).run(argv, { stdin: "ftp://x\n" });
      expect(none).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('no row of stdin names a company: "ftp://x" is no '),
      });
      const word = await user("http://127.0.0.1:1", service.key).run([command, "ftp://x"]);
      expect(word).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('"ftp://x" names no company'),
      });
    },
  );

  test("an id in NDJSON may be a number, as long as it is exact", async () => {
    const argv = ["enrich", "--by", "id", "--input", "-", "--dry-run", "--json"];
    const quote = await someone().run(argv, { stdin: '{"website":7}\n' });
    expect(JSON.parse(quote.stdout)).toMatchObject({ target: "7", matches: 1 });
    const inexact = await someone().run(argv, {
      stdin: '{"website":12345678901234567890}\n{"website":1.5}\n',
    });
    expect(JSON.parse(inexact.stdout)).toMatchObject({
      target: "12345678901234567890",
      matches: 1,
    });
    expect(noticesIn(inexact.stderr)).toContain(
      'warning: stdin line 2: "" names no company: left out',
    );
  });
});

describe("employees", () => {
  test("by slug: priced by a free count, everybody once", async () => {
    const slug = slugs[0] ?? "";
    const expected = await employeesOf(slug);
    const u = someone();
    const quote = await u.run(["employees", slug, "--dry-run", "--json"]);
    expect(JSON.parse(quote.stdout)).toMatchObject({ matches: expected, credits: expected });
    const spent = await cost(() =>
      u.run(["employees", slug, "--yes", "--per-page", "2", "-o", "e.csv"]),
    );
    expect({ spent, rows: readCsv(u.read("e.csv")).length }).toEqual({
      spent: expected,
      rows: expected,
    });
  });

  test("by domain nobody knows the price beforehand: something must bound it", async () => {
    const domain = domains[0] ?? "";
    const open = await someone().run(["employees", domain, "--yes"]);
    expect(open).toMatchObject({ code: 2 });
    expect(open.stderr).toContain("--per-company N");
    const spent = await cost(() => someone().run(["employees", domain, "--max-credits", "2"]));
    expect(spent).toBeLessThanOrEqual(2);
  });

  test("many companies: at most so many of each, unknown ones listed; a single unknown one is exit 6", async () => {
    const u = someone();
    const [a = "", b = ""] = slugs;
    const argv = asTyped`employees ${a} no-such-company ${b} --per-company 2 --yes -o e.ndjson`;
    const ran = await u.run([...argv, "--misses", "m.txt", "--receipt", "r.json"]);
    expect(ran).toMatchObject({ code: 0 });
    const wanted = Math.min(2, await employeesOf(a)) + Math.min(2, await employeesOf(b));
    expect(JSON.parse(u.read("r.json"))).toMatchObject({
      received: wanted,
      credits: wanted,
      misses: 1,
    });
    expect(u.read("m.txt")).toBe("no-such-company\n");
    expect(
      await someone().run(["employees", "no-such-company", "--limit", "5", "--yes"]),
    ).toMatchObject({ code: 6 });
  });

  test("nobody is counted where nobody is known: a row may be asked for, and is none of those that match", async () => {
    const u = someone();
    const slug = slugs[0] ?? "";
    const there = await employeesOf(slug);
    const argv = ["employees", "no-such-company", slug];
    const { stdout } = await u.run([...argv, "--dry-run", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      matches: there,
      rows: there + 1,
      credits: there + 1,
    });
    const card = await u.run([...argv, "--dry-run"]);
    expect(card.stdout).toMatch(new RegExp(`profiles +at most ${there}\n`));
    expect(card.stdout).toMatch(
      /uncounted +at most 1 row, one of each company where nobody is counted\n/,
    );
    expect((await u.run(["employees", slug, "--dry-run"])).stdout).not.toContain("uncounted");
    const first = await u.run(asTyped`${argv} --limit 1 --yes -o e.csv --receipt r.json`);
    expect(first.code).toBe(0);
    expect(JSON.parse(u.read("r.json"))).toMatchObject({
      count: there,
      wanted: 1,
      received: 1,
      misses: 1,
    });
    await u.ends(
      0,
      ["resume", "last", "--limit", `${there + 1}`, "--max-credits", `${there + 1}`, "--yes"],
      `${there - 1} to buy for ${there - 1} credits`,
    );
    expect(readCsv(u.read("e.csv"))).toHaveLength(there);
  });

  test("of a company that is not known no more is left to buy than might have been", async () => {
    const u = someone();
    const argv = [
      "employees",
      "no-such.example",
      domains[0] ?? "",
      "--per-company",
      "3",
      "-o",
      "e.csv",
    ];
    await u.ran([...argv, "--limit", "1", "--yes"]);
    const rest = await u.run(["resume", "last", "--limit", "9", "--max-credits", "9", "--yes"]);
    expect(rest.stderr).toContain("2 to buy for 2 credits");
  });
});

describe("one company that costs more than a shrug", () => {
  let dear: TestService;
  beforeAll(async () => {
    dear = await startTestService({
      people: 500,
      credits: 100,
      plan: {
        costs: {
          account: 0n,
          person_count: 0n,
          person_search: 0n,
          company_enrich: 7_000_000n,
          company_employees: 0n,
        },
      } as never,
    });
  });
  afterAll(() => dear.close());

  test("is asked for like everything else, and a cap below its price is exit 4", async () => {
    const people = (await dear.call("/v1/person/search", { body: { filters: {}, per_page: 100 } }))
      .json.result as Person[];
    const domain = people.flatMap(({ company_domain }) => company_domain ?? [])[0] ?? "";
    const u = user(dear.url, dear.key);
    const piped = await u.run(["enrich", domain]);
    expect(piped).toMatchObject({ code: 2, stdout: "" });
    expect(piped.stderr).toContain("this buys up to 1 company for 7 credits");
    expect(piped.stderr).toContain("--max-credits 7");
    const no = await u.run(["enrich", domain], { tty: true, answers: ["n"] });
    expect(no).toMatchObject({ code: 10, stdout: "" });
    const capped = await u.run(["enrich", domain, "--max-credits", "6"]);
    expect(capped).toMatchObject({ code: 4, stdout: "" });
    expect(capped.stderr).toContain(
      "one company costs 7 credits, more than --max-credits; nothing was spent",
    );
    writeFileSync(u.file("old.csv"), "name\nAnn\n");
    const over = await u.run(asTyped`enrich ${domain} --max-credits 6 -o old.csv --overwrite`);
    expect(over).toMatchObject({
      code: 4,
      stderr: expect.stringContaining("--max-credits 7 pays for one"),
    });
    expect(u.read("old.csv")).toBe("name\nAnn\n");
    expect(await charged(dear, 100)).toBe(0);
    await u.ran(["enrich", domain, "--yes"]);
    await u.ends(0, ["enrich", domain, "--again", "--max-credits", "7"]);
    expect(await charged(dear, 100)).toBe(14);
  });
});

describe("what is owned", () => {
  test("is not paid for again, however it was named, and said before; --again pays", async () => {
    const u = someone();
    const [a = "", b = "", c = ""] = domains;
    writeFileSync(u.file("crm.csv"), `Website\n${a}\n${b}\n`);
    expect(
      await cost(() => u.run(["enrich", "crm.csv", "--keep-input", "--yes", "-o", "crm-out.csv"])),
    ).toBe(2);
    // As arguments, from a list, by the profile address of the record, alone.
    const args = ["enrich", a, b, c, "-o", "args.csv"];
    const quote = await u.run([...args, "--dry-run", "--json"]);
    expect(JSON.parse(quote.stdout)).toMatchObject({ rows: 3, kept: 2, credits: 1 });
    expect((await u.run([...args, "--dry-run"])).stdout).toMatch(/companies owned +2\n/);
    expect(await cost(() => u.run([...args, "--yes", "--receipt", "r.json"]))).toBe(1);
    expect(readCsv(u.read("args.csv")).map(({ domain }) => domain)).toEqual([a, b, c]);
    expect(JSON.parse(u.read("r.json"))).toMatchObject({ received: 3, reused: 2, credits: 1 });
    const slug = readCsv(u.read("args.csv"))[0]?.company_network_url ?? "";
    const free = await cost(async () => {
      // Nothing is spent, so nobody is asked.
      await u.ran(["enrich", "--input", "-", "-o", "list.csv"], {
        stdin: `${b}\n${a}\n`,
      });
      expect(readCsv(u.read("list.csv")).map(({ domain }) => domain)).toEqual([b, a]);
      for (const by of [["enrich", "--input", "-"], ["enrich"]]) {
        const word = slug.slice(slug.lastIndexOf("/") + 1);
        expect(
          await u.json(by.length > 1 ? by : [...by, word], { stdin: `${word}\n` }),
        ).toMatchObject({ domain: a });
      }
      const one = await u.ran(["enrich", slug]);
      expect(JSON.parse(one.stdout)).toMatchObject({ domain: a });
      expect(one.stderr).toContain("1 company bought before, and not paid for again");
    });
    expect(free).toBe(0);
    expect(await cost(() => u.run(["enrich", a, b, "--again", "--yes", "-o", "again.csv"]))).toBe(
      2,
    );
  });
});
