import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseCsv, queryOf } from "../../src/commands/company-args.ts";
import type { Company, Person } from "../../src/contract/records.ts";
import { charged, readCsv, runIds, user, visibleFiles } from "../support/export.ts";
import { startTestService, type TestService } from "../support/service.ts";

const CREDITS = 100_000;
let service: TestService;
let people: Person[];
let domains: string[];
let slugs: string[];
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: CREDITS });
  people = (await service.call("/v1/person/search", { body: { filters: {}, per_page: 1_000 } })).json
    .result as Person[];
  domains = [...new Set(people.flatMap(({ company_domain }) => company_domain ?? []))];
  slugs = [...new Set(people.flatMap(({ company_network_url }) => company_network_url?.split("/").at(-1) ?? []))];
}, 60_000);
afterAll(() => service.close());

const someone = (): ReturnType<typeof user> => user(service.url, service.key);
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = await charged(service, CREDITS);
  await work();
  return (await charged(service, CREDITS)) - before;
}
const employeesOf = async (slug: string): Promise<number> =>
  (await service.call("/v1/person/count", { body: { filters: { company_network_url: slug } } })).json.result.count;

describe("how a company is named", () => {
  test.each([
    ["acme.com", { by: "domain", value: "acme.com" }],
    ["https://www.Acme.com/", { by: "domain", value: "acme.com" }],
    [
      "https://network.example/company/acme",
      { by: "company_network_url", value: "https://network.example/company/acme" },
    ],
    ["network.example/company/acme", { by: "company_network_url", value: "network.example/company/acme" }],
    ["acme-works", { by: "company_network_url", value: "acme-works" }],
    ["  ", undefined],
    ["ftp://acme.com", undefined],
  ])("%j", (text, expected) => {
    expect(queryOf(text)).toEqual(expected);
  });

  test("names and ids are said to be such", () => {
    expect(queryOf("Acme Works", { name: true })).toEqual({ by: "name", value: "Acme Works" });
    expect(queryOf("c1", { id: true })).toEqual({ by: "id", value: "c1" });
  });

  test("CSV: quotes, doubled quotes, line breaks in cells, other separators, the lines that rows begin at", async () => {
    expect(await parseCsv('a,"b ""c""\nd",e\r\n\nf,g\n')).toEqual([
      { line: 1, cells: ["a", 'b "c"\nd', "e"] },
      { line: 4, cells: ["f", "g"] },
    ]);
    expect((await parseCsv("a;b,c\n1;2")).map(({ cells }) => cells.length)).toEqual([2, 1]);
    expect((await parseCsv("x\ty\n1\t2")).map(({ cells }) => cells)).toEqual([
      ["x", "y"],
      ["1", "2"],
    ]);
  });
});

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
      const named = await someone().run(["enrich", "--name", name ?? "", "--json"]);
      expect(JSON.parse(named.stdout)).toMatchObject({ name });
    });
    expect(spent).toBe(3);
  });

  test("one miss is exit 6 and free; nothing is left behind", async () => {
    const u = someone();
    const spent = await cost(async () => {
      const ran = await u.run(["enrich", "nobody-there.example"]);
      expect(ran).toMatchObject({ code: 6, stdout: "" });
      expect(ran.stderr).toContain("nothing was charged");
      const json = await u.run(["enrich", "nobody-there.example", "--json"]);
      expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "not_found", exit_code: 6, status: 404 } });
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
    expect({ spent, misses: u.read("misses.txt") }).toEqual({ spent: 3, misses: "nobody.example\n" });
    expect(visibleFiles(u).sort()).toEqual(["in.csv", "misses.txt", "out.csv"]);
  });

  test("NDJSON and plain lines on stdin", async () => {
    const [a = "", b = ""] = domains;
    const lines = await someone().run(["enrich", "--input", "-", "--yes"], { stdin: `${a}\n\n${b}\n` });
    const ndjson = await someone().run(["enrich", "--input", "-", "--column", "d", "--yes"], {
      stdin: `{"d":"${a}"}\n{"d":"${b}"}\n`,
    });
    expect(lines.stdout.trim().split("\n").length).toBe(2);
    expect(ndjson.stdout).toBe(lines.stdout);
  });

  test("a line that names no company is exit 2 with its number, before any request", async () => {
    const ran = await user("http://127.0.0.1:1", service.key).run(["enrich", "--input", "-"], {
      stdin: "acme.com\nftp://x\n",
    });
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain('stdin line 2: "ftp://x" names no company');
  });
});

describe("employees", () => {
  test("by slug: priced by a free count, everybody once", async () => {
    const slug = slugs[0] ?? "";
    const expected = await employeesOf(slug);
    const u = someone();
    const quote = await u.run(["employees", slug, "--dry-run", "--json"]);
    expect(JSON.parse(quote.stdout)).toMatchObject({ matches: expected, credits: expected });
    const spent = await cost(() => u.run(["employees", slug, "--yes", "--per-page", "2", "-o", "e.csv"]));
    expect({ spent, rows: readCsv(u.read("e.csv")).length }).toEqual({ spent: expected, rows: expected });
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
    const argv = ["employees", a, "no-such-company", b, "--per-company", "2", "--yes", "-o", "e.ndjson"];
    const ran = await u.run([...argv, "--misses", "m.txt", "--receipt", "r.json"]);
    expect(ran).toMatchObject({ code: 0 });
    const wanted = Math.min(2, await employeesOf(a)) + Math.min(2, await employeesOf(b));
    expect(JSON.parse(u.read("r.json"))).toMatchObject({ received: wanted, credits: wanted, misses: 1 });
    expect(u.read("m.txt")).toBe("no-such-company\n");
    expect(await someone().run(["employees", "no-such-company", "--limit", "5", "--yes"])).toMatchObject({ code: 6 });
  });
});
