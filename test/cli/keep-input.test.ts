import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";
import fc from "fast-check";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { readKept } from "../../src/app/buy/input-table.ts";
import type { Company, Person } from "../../src/shared/contract/records.ts";
import { readTable } from "../../src/shared/tables/table.ts";
import { asTyped } from "../support/as-typed.ts";
import {
  charged,
  type Ran,
  readCsv,
  runIds,
  type User,
  user,
  visibleFiles,
} from "../support/export.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { long } from "../support/long.ts";
import { testService } from "../support/serving.ts";

const CREDITS = 100_000;
const service = testService({
  people: 2_000,
  credits: CREDITS,
});
let companies: Company[];
beforeAll(async () => {
  const people = (
    await service.call("/v1/person/search", { body: { filters: {}, per_page: 1_000 } })
  ).json.result as Person[];
  const domains = [...new Set(people.flatMap(({ company_domain: domain }) => domain ?? []))].slice(
    0,
    6,
  );
  companies = await Promise.all(
    domains.map(
      async (domain) =>
        (await service.call(`/v1/company/enrich?domain=${domain}`)).json.result as Company,
    ),
  );
});

const someone = (): User => user(service.url, service.key);
const domainOf = (index: number): string => companies[index]?.domain ?? "";
async function cost(work: () => Promise<unknown>): Promise<number> {
  const before = await charged(service, CREDITS);
  await work();
  return (await charged(service, CREDITS)) - before;
}
const KEEP = asTyped`enrich crm.csv --keep-input --max-credits 50 -o out.csv --overwrite`;
const cells = (text: string): string[][] => parse(text, { bom: true });

describe("a table with companies beside it", () => {
  test("may be in Windows-1252: every cell comes out as it was meant", async () => {
    const u = someone();
    writeFileSync(
      u.file("crm.csv"),
      Buffer.from(`Firma;Website\r\nM\xfcller \x80;${domainOf(0)}\r\n`, "latin1"),
    );
    await u.ran(KEEP);
    expect(cells(u.read("out.csv"))[1]?.slice(0, 2)).toEqual(["Müller €", domainOf(0)]);
  });

  test("comes out in the form of our own CSV, or as --csv excel says, whatever it had", async () => {
    const u = someone();
    writeFileSync(u.file("crm.csv"), `\ufeffName;Website\r\n"a, b";${domainOf(0)}\r\n`);
    await u.run(KEEP);
    expect(u.read("out.csv")).toMatch(/^Name,Website,hc_match,[^\r\ufeff]*\n"a, b",[^\r]*\n$/);
    await u.run([...KEEP, "--csv", "excel"]);
    expect(u.read("out.csv")).toMatch(/^\ufeffName[,;]Website[,;][^\r]*\r\n"?a, b"?[,;].*\r\n$/);
  });

  test("keeps rows, columns and values in their order, says what each row came to, and pays for each company once", async () => {
    const u = someone();
    const table = [
      ["Account Name", "Website", "Phone", "Note"],
      ["First", `https://www.${domainOf(0)}/about?x=1`, "+49 30 123", '=HYPERLINK("x")'],
      ["Empty", "", "", 'a "quoted", one'],
      ["Second", domainOf(1), "007", "two\nlines"],
      ["First again", domainOf(0).toUpperCase(), "", "@x"],
      ["Nobody", "nobody-there.example", "", ""],
      ["None", "n/a", "", ""],
      ["Prose", "call them first", "", ""],
      ["Mail", `info@${domainOf(0)}`, "", ""],
      ["Two", `${domainOf(0)}; ${domainOf(1)}`, "", ""],
      ["Twice", `${domainOf(1)} www.${domainOf(1)}`, "", ""],
    ];
    writeFileSync(u.file("crm.csv"), stringify(table));
    const before = readFileSync(u.file("crm.csv"));
    let ran: Ran | undefined;
    const spent = await cost(async () => {
      ran = await u.run(KEEP);
    });
    expect(ran).toMatchObject({ code: 0, stdout: "" });
    expect(ran?.stderr).toContain("notice: 4 rows without a company: neither asked for nor paid");
    expect(ran?.stderr).toContain("10 rows: 4 found, 1 not found, 4 no company, 1 ambiguous");
    expect(spent).toBe(2);
    const out = cells(u.read("out.csv"));
    expect(out.map((row) => row.slice(0, 4))).toEqual(table);
    const rows = readCsv(u.read("out.csv"));
    expect(rows.map(({ hc_match: match, hc_why: why }) => [match, why])).toEqual([
      ["found", ""],
      ["no company", "empty"],
      ["found", ""],
      ["found", ""],
      ["not found", "the service does not know it"],
      ["no company", '"n/a" is no address or name'],
      ["no company", '"call them first" is no domain, profile address or slug'],
      ["no company", `"info@${domainOf(0)}" is no domain, profile address or slug`],
      ["ambiguous", `names 2 companies: ${domainOf(0)}, ${domainOf(1)}`],
      ["found", ""],
    ]);
    expect(rows.map(({ hc_domain: domain }) => domain)).toEqual(
      [0, -1, 1, 0, -1, -1, -1, -1, -1, 1].map((index) => (index < 0 ? "" : domainOf(index))),
    );
    expect(rows[2]?.hc_employee_count).toBe(String(companies[1]?.employee_count ?? ""));
    expect(readFileSync(u.file("crm.csv")).equals(before)).toBe(true);
    // Of the table that was kept: the file may have changed since, or be gone.
    writeFileSync(u.file("crm.csv"), "Website\n");
    const again = await u.ran(asTyped`runs export last -o again.csv --json`);
    expect(JSON.parse(again.stdout)).toMatchObject({ rows: 10, credits: 0 });
    expect(u.read("again.csv")).toBe(u.read("out.csv"));
    // A table does not travel with a synced run.
    const [run = ""] = runIds(u);
    rmSync(join(u.env.HEADCOUNT_STATE_DIR ?? "", "runs", run, "input"));
    const alone = await u.ran(asTyped`runs export last -o again.csv --overwrite`);
    expect(alone.stderr).toContain("these are the rows alone");
    expect(readCsv(u.read("again.csv"))).toHaveLength(2);
    rmSync(u.file("again.csv"));
    expect(visibleFiles(u).sort()).toEqual(["crm.csv", "out.csv"]);
  });

  test("written again in another form, or with rows more, pays only for what is new", async () => {
    const u = someone();
    writeFileSync(u.file("crm.csv"), `Website\n${domainOf(0)}\nnobody-there.example\n`);
    expect(await cost(() => u.run(KEEP))).toBe(1);
    const again = await u.run(
      asTyped`enrich --input crm.csv --keep-input --format ndjson --fields name`,
    );
    expect(again).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("1 company bought before"),
    });
    expect(again.stdout.split("\n").map((line) => (line === "" ? "" : JSON.parse(line)))).toEqual([
      { Website: domainOf(0), hc_match: "found", hc_why: "", hc_name: companies[0]?.name },
      {
        Website: "nobody-there.example",
        hc_match: "not found",
        hc_why: "the service does not know it",
        hc_name: null,
      },
      "",
    ]);
    writeFileSync(u.file("crm.csv"), `Website\n${domainOf(2)}\n${domainOf(0)}\n`);
    expect(await cost(() => u.run([...KEEP, "--receipt", "r.json"]))).toBe(1);
    expect(JSON.parse(u.read("r.json"))).toMatchObject({
      received: 2,
      reused: 1,
      credits: 1,
      complete: true,
    });
    expect(await cost(() => u.run([...KEEP, "--again"]))).toBe(2);
    const spend = (await u.json(["spend", "--json"])) as { total: object };
    expect(spend.total).toMatchObject({ profiles: 4, settled: 4 });
  });

  test("columns of the usual CRMs are found in any case", async () => {
    for (const header of [
      "Website",
      "Company Domain Name",
      "DOMAIN",
      "Company Website",
      "Website URL",
      "primary-domain",
    ]) {
      const u = someone();
      writeFileSync(u.file("crm.csv"), `Id,${header}\n1,${domainOf(0)}\n`);
      const ran = await u.run([...KEEP, "--dry-run", "--json"]);
      expect(JSON.parse(ran.stdout), header).toMatchObject({ matches: 1, rows: 1 });
    }
    const u = someone();
    const address = companies[1]?.company_network_url ?? "";
    writeFileSync(
      u.file("crm.csv"),
      `Website,LinkedIn Company URL\n${domainOf(0)},https://${address}/\n`,
    );
    await u.run(KEEP);
    expect(readCsv(u.read("out.csv"))[0]).toMatchObject({
      hc_match: "found",
      hc_domain: domainOf(1),
    });
    await u.run([...KEEP, "--column", "website"]);
    expect(readCsv(u.read("out.csv"))[0]).toMatchObject({
      hc_match: "found",
      hc_domain: domainOf(0),
    });
  });

  test.each([
    [
      "semicolons behind a byte order mark",
      (a: string) => Buffer.from(`\ufeffName;Website\r\nx;${a}\r\n`),
    ],
    [
      "tabs in UTF-16, as Excel saves Unicode text",
      (a: string) => Buffer.from(`\ufeffName\tWebsite\r\nx\t${a}\r\n`, "utf16le"),
    ],
    [
      "a line that names the separator",
      (a: string) => Buffer.from(`sep=|\nName|Website\nx|${a}\n`),
    ],
    ["NDJSON", (a: string) => Buffer.from(`{"Name":"x","Website":"${a}"}\n`)],
  ])("of any kind: %s", async (_, text) => {
    const u = someone();
    writeFileSync(u.file("crm.csv"), text(domainOf(0)));
    await u.ran(KEEP);
    expect(readCsv(u.read("out.csv"))).toMatchObject([
      { Name: "x", Website: domainOf(0), hc_match: "found", hc_name: companies[0]?.name },
    ]);
  });

  test("a list in NDJSON names what its items do", async () => {
    const u = someone();
    const several = [domainOf(0), domainOf(1)];
    writeFileSync(
      u.file("in.ndjson"),
      `{"site":["${several[0]}"]}\n{"site":${JSON.stringify(several)}}\n`,
    );
    const argv = asTyped`enrich in.ndjson --column site --keep-input --max-credits 5 --fields name`;
    const [one, two] = (await u.run(argv)).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(one).toMatchObject({ hc_match: "found", hc_name: companies[0]?.name });
    expect(two).toMatchObject({
      hc_match: "ambiguous",
      hc_why: `names 2 companies: ${several.join(", ")}`,
    });
  });

  test("NDJSON keeps every token of the caller's; as CSV the columns are those of all lines", async () => {
    const u = someone();
    const first = `{"id": 12345678901234567890, "site":"${domainOf(0)}" , "deep":{"a":[1.50,null]}}`;
    writeFileSync(u.file("in.ndjson"), `${first}\n\n{"site":null,"x":"é"}\n{}\n`);
    const argv = asTyped`enrich in.ndjson --column site --keep-input --max-credits 5 --fields name`;
    const ran = await u.run(argv);
    const [a, b, c, end] = ran.stdout.split("\n");
    expect(a).toBe(
      `{"id":12345678901234567890,"site":"${domainOf(0)}","deep":{"a":[1.50,null]},"hc_match":"found","hc_why":"","hc_name":${JSON.stringify(companies[0]?.name)}}`,
    );
    expect([b, c, end]).toEqual([
      '{"site":null,"x":"é","hc_match":"no company","hc_why":"empty","hc_name":null}',
      '{"hc_match":"no company","hc_why":"empty","hc_name":null}',
      "",
    ]);
    await u.run([...argv, "--prefix", "ours.", "-o", "out.csv"]);
    expect(cells(u.read("out.csv"))[0]).toEqual([
      "id",
      "site",
      "deep",
      "x",
      "ours.match",
      "ours.why",
      "ours.name",
    ]);
    expect(cells(u.read("out.csv"))[1]?.slice(0, 3)).toEqual([
      "12345678901234567890",
      domainOf(0),
      '{"a":[1.5,null]}',
    ]);
  });

  test("names that are there twice or not at all get one; rows that are too long or too short keep their cells", async () => {
    const u = someone();
    writeFileSync(
      u.file("crm.csv"),
      `Website,,Note,Note\n${domainOf(0)},1,2,3,4\n${domainOf(0)}\n`,
    );
    await u.run([...KEEP, "--fields", "name"]);
    expect(cells(u.read("out.csv")).map((row) => row.slice(0, 6))).toEqual([
      ["Website", "column 2", "Note", "Note 2", "column 5", "hc_match"],
      [domainOf(0), "1", "2", "3", "4", "found"],
      [domainOf(0), "", "", "", "", "found"],
    ]);
  });

  test("to a spreadsheet, to Parquet and compressed, as rows of any export", async () => {
    const u = someone();
    writeFileSync(u.file("crm.csv"), `Website,Phone\n${domainOf(0)},+49\n`);
    for (const name of ["out.xlsx", "out.parquet", "out.csv.gz", "out.tsv", "out.json"]) {
      const ran = await u.run(asTyped`enrich crm.csv --keep-input --max-credits 5 -o ${name}`);
      expect(ran.code, `${name}: ${ran.stderr}`).toBe(0);
    }
    expect(JSON.parse(u.read("out.json"))).toMatchObject([{ Phone: "+49", hc_match: "found" }]);
    expect(u.read("out.tsv").split("\n")[1]).toMatch(new RegExp(`^${domainOf(0)}\t\\+49\tfound\t`));
  });

  test("a cap leaves the rest not asked, and resume asks for it with the table that the run kept", async () => {
    const u = someone();
    writeFileSync(u.file("crm.csv"), `Website\n${[0, 1, 2, 3].map(domainOf).join("\n")}\n`);
    await u.ran(asTyped`enrich crm.csv --keep-input --max-credits 2 -o out.csv`);
    expect(readCsv(u.read("out.csv")).map(({ hc_match: match }) => match)).toEqual([
      "found",
      "found",
      "not asked",
      "not asked",
    ]);
    writeFileSync(u.file("crm.csv"), "gone\n");
    expect(
      await cost(() => u.run(["resume", "last", "--max-credits", "4", "--yes", "--overwrite"])),
    ).toBe(2);
    expect(readCsv(u.read("out.csv")).map(({ hc_domain: domain }) => domain)).toEqual(
      [0, 1, 2, 3].map(domainOf),
    );
  });
});

long(
  "rows out are rows in, in their order, with every cell as it was, whatever is in them",
  async () => {
    const cell = fc
      .string({ unit: "binary", maxLength: 12 })
      .filter((text) => text.isWellFormed() && !text.includes("\ufeff"));
    // A row without anything is none.
    const line = fc
      .tuple(cell, fc.constantFrom("", "nobody.example", "n/a", "two words", "…"), cell)
      .filter((texts) => texts.some((text) => text.trim() !== ""));
    const u = someone();
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 8 }), async (lines) => {
        const table = [
          ["a", "Website", "=c"],
          ...lines.map((row) => [...row]),
          ["x", domainOf(0), "y"],
        ];
        writeFileSync(
          u.file("crm.csv"),
          stringify(table, { quoted: true, record_delimiter: "\n" }),
        );
        const ran = await u.ran(
          asTyped`enrich crm.csv --keep-input --max-credits 5 --format csv --fields name`,
        );
        const out = cells(ran.stdout);
        expect(out.map((row) => row.slice(0, 3))).toEqual(table);
        expect(new Set(out.map((row) => row.length))).toEqual(new Set([6]));
      }),
      { numRuns: 25 },
    );
  },
);

test("every row has its company or a reason, and no company is there twice", async () => {
  const site = fc.constantFrom(
    "a.com",
    "A.com",
    "https://a.com/x",
    "b.com",
    "",
    "a.com b.com",
    "n/a",
    "acme",
    "x y",
  );
  await fc.assert(
    fc.asyncProperty(fc.array(site, { maxLength: 20 }), async (sites) => {
      const text = `Website\n${[...sites, "last.com"].map((one) => `"${one}"`).join("\n")}\n`;
      const kept = await readKept(
        await readTable("t", Buffer.from(text)),
        "t",
        { column: null, by: null, prefix: "hc_" },
        () => false,
      );
      const values = kept.companies.map(({ by, value }) => `${by} ${value}`);
      expect(new Set(values).size).toBe(values.length);
      for (const { company, match, why } of kept.join.rows) {
        if (company === undefined) expect([match, why]).not.toContain("found");
        else expect(kept.companies[company]).toBeDefined();
      }
    }),
  );
});

test.each<[string, string, string[], string]>([
  ["no file", "", [], "--keep-input takes one file, not none"],
  ["two files", "", ["crm.csv", "other.csv"], "--keep-input takes one file, not 2"],
  [
    "a column that is not there",
    "a,b\n1,2\n",
    ["crm.csv", "--column", "Site"],
    'crm.csv has no column "Site"; its columns: a, b',
  ],
  [
    "no column that names one",
    "a,b\n1,2\n",
    ["crm.csv"],
    "crm.csv has no column that names a company",
  ],
  [
    "no row that names one",
    'Website\n""\nn/a\n',
    ["crm.csv"],
    'no row of crm.csv names a company by Website: "n/a" is no address or name',
  ],
  [
    "another column that names them",
    "LinkedIn URL,Website\nhttps://network.example/company/acme/?trk=x,n/a\n",
    ["crm.csv"],
    "hint: --column 'LinkedIn URL': its cells are domains or profiles",
  ],
  [
    "columns like ours",
    "Website,HC_name\na.com,x\n",
    ["crm.csv"],
    'has a column "HC_name" already, and ours begin with hc_',
  ],
  [
    "a prefix that is none",
    "Website\na.com\n",
    ["crm.csv", "--prefix", "=x"],
    "--prefix takes letters",
  ],
  [
    "the table as output",
    "Website\na.com\n",
    ["crm.csv", "-o", "./crm.csv", "--overwrite"],
    "-o names the table that is read",
  ],
  [
    "the table for the misses",
    "Website\na.com\n",
    ["crm.csv", "--misses", "crm.csv", "--overwrite"],
    "--misses names the table",
  ],
  ["broken NDJSON", '{"a":1}\n{"b"\n', ["crm.csv"], "line 2 of crm.csv is not a JSON object"],
])("%s is refused before anything is spent", async (_, text, argv, message) => {
  const u = someone();
  writeFileSync(u.file("crm.csv"), text);
  writeFileSync(u.file("other.csv"), text);
  const spent = await cost(async () => {
    const ran = await u.run(["enrich", ...argv, "--keep-input", "--yes"]);
    expect(ran).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(message) });
  });
  expect({ spent, runs: runIds(u), text: u.read("crm.csv") }).toEqual({ spent: 0, runs: [], text });
});

test("a file that is named as a company is told from one", async () => {
  const u = someone();
  writeFileSync(u.file("crm.csv"), "Website\na.com\n");
  await u.ends(2, ["enrich", "crm.csv"], "--input crm.csv");
  await u.ends(2, ["enrich", "a.com", "--prefix", "x_"], "--prefix goes with --keep-input");
});

describe("at a service of somebody else", () => {
  const open: ForeignService[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((one) => one.close()));
  });

  test("answers in their own shape, misses that are a success, and prices in parts of credits", async () => {
    const foreign = await startForeignService({ price: 0.5, missing: { result: null } });
    open.push(foreign);
    const u = user(foreign.url, foreign.key);
    writeFileSync(u.file("crm.csv"), "Name,Domain\nA,a.com\nB,missing.com\nC,a.com\nD,d.com\n");
    await u.ran(KEEP);
    expect(readCsv(u.read("out.csv"))).toMatchObject([
      {
        Name: "A",
        hc_match: "found",
        hc_domain: "a.com",
        "hc_hq.city": "Springfield",
        hc_tags: "x; y",
      },
      { Name: "B", hc_match: "not found", hc_domain: "" },
      { Name: "C", hc_match: "found", hc_domain: "a.com" },
      { Name: "D", hc_match: "found", hc_domain: "d.com" },
    ]);
    expect(foreign.charged()).toBe(1);
  });

  test("that answers with another company than was asked for: ambiguous, and why", async () => {
    const foreign = await startForeignService({
      shape: () => ({ company: { id: 1, name: "Other", domain: "other.com" } }),
    });
    open.push(foreign);
    const u = user(foreign.url, foreign.key);
    writeFileSync(u.file("crm.csv"), "Domain\na.com\nshop.other.com\n");
    await u.ends(0, KEEP, "1 company is named");
    expect(readCsv(u.read("out.csv"))).toMatchObject([
      {
        hc_match: "ambiguous",
        hc_why: "asked for a.com, and the service answers with other.com",
        hc_name: "Other",
      },
      { hc_match: "found", hc_why: "", hc_name: "Other" },
    ]);
  });

  test("that refuses one of them says so beside it; one that refuses all ends it", async () => {
    const proxy = await faultProxy({ target: service.url });
    try {
      const u = user(proxy.url, service.key);
      proxy.decide = ({ url }) =>
        (url.includes("bad.example")
          ? { kind: "error", status: 422, detail: "domain: not allowed" }
          : { kind: "none" }) as never;
      writeFileSync(u.file("crm.csv"), `Website\nbad.example\n${domainOf(0)}\n`);
      await u.ran(KEEP);
      expect(readCsv(u.read("out.csv"))).toMatchObject([
        { hc_match: "not found", hc_why: "refused: domain: not allowed" },
        { hc_match: "found" },
      ]);
      writeFileSync(u.file("crm.csv"), "Website\nbad.example\n");
      const ran = await u.run(KEEP);
      expect(ran).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("refuses to look up any of these companies"),
      });
      expect(readCsv(u.read("out.csv"))).toHaveLength(2);
    } finally {
      await proxy.close();
    }
  });

  test("that names no dataset: what was bought in the last thirty days is not bought again", async () => {
    const foreign = await startForeignService();
    open.push(foreign);
    const u = user(foreign.url, foreign.key);
    writeFileSync(u.file("crm.csv"), "Domain\na.com\n");
    await u.run(KEEP);
    await u.run(KEEP);
    expect(foreign.charged()).toBe(1);
    const [run = ""] = runIds(u);
    const plan = join(u.dir, "state", "runs", run, "plan.json");
    for (const id of runIds(u)) {
      const path = plan.replace(run, id);
      const old = {
        ...JSON.parse(readFileSync(path, "utf8")),
        created_at: "2020-01-01T00:00:00.000Z",
      };
      writeFileSync(path, JSON.stringify(old));
    }
    await u.run(KEEP);
    expect(foreign.charged()).toBe(2);
  });
});
