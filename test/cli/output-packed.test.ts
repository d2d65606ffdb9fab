import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { modeOf, readCsv, type User, user } from "../support/export.ts";
import { type ForeignService, startForeignService } from "../support/foreign-service.ts";
import { filesOfZip } from "../support/zip.ts";

// Formats that are made to be handed on: compressed, tab-separated, spreadsheets.

let service: ForeignService;
let u: User;
beforeEach(async () => {
  service = await startForeignService({ people: 300, tellsCosts: true });
  u = user(service.url, service.key);
});
afterEach(() => service.close());

const search = (...more: string[]) =>
  u.run(["search", "--country", "x", "--yes", "--quiet", ...more]);
const bytes = (name: string): Buffer => readFileSync(u.file(name));
const sheetOf = (name: string): string =>
  String(filesOfZip(bytes(name)).get("xl/worksheets/sheet1.xml"));

describe("compressed", () => {
  test("files and streams hold what the plain ones hold, whole, and for their owner alone", async () => {
    expect((await search("-o", "people.csv")).code).toBe(0);
    const spent = service.charged();
    for (const format of ["csv", "tsv", "ndjson", "json"]) {
      await u.run(["runs", "export", "last", "-o", `plain.${format}`]);
      const file = `${format}.${format}.gz`;
      const ran = await u.run(["runs", "export", "last", "-o", file]);
      expect(ran, ran.stderr).toMatchObject({ code: 0 });
      expect(gunzipSync(bytes(file)).equals(bytes(`plain.${format}`)), file).toBe(true);
      expect(modeOf(u.file(file))).toBe("600");
      expect(bytes(file).length).toBeLessThan(bytes(`plain.${format}`).length);
    }
    expect(
      (await u.run(["runs", "export", "last", "-o", "x.csv", "--format", "csv.gz", "--json"]))
        .stdout,
    ).toContain('"format":"csv.gz"');
    expect(gunzipSync(bytes("x.csv")).equals(bytes("people.csv"))).toBe(true);
    expect(service.charged()).toBe(spent);
  });

  test("a purchase writes them too, and resume the same", async () => {
    const ran = await search("-o", "people.ndjson.gz", "--limit", "120", "--per-page", "20");
    expect(ran.code, ran.stderr).toBe(0);
    expect(gunzipSync(bytes("people.ndjson.gz")).toString().split("\n")).toHaveLength(121);
    const [run] = (await u.json(["runs", "list", "--json"])) as {
      id: string;
      format: string;
    }[];
    expect(run?.format).toBe("ndjson.gz");
    await u.ran(["resume", run?.id ?? "", "--limit", "200", "--max-credits", "200", "--yes"]);
    expect(gunzipSync(bytes("people.ndjson.gz")).toString().split("\n")).toHaveLength(201);
    expect(service.charged()).toBe(200);
  });

  test("the rows of the old file are counted inside", async () => {
    for (const file of ["a.csv.gz", "a.tsv.gz", "a.json.gz", "a.ndjson.gz", "a.xlsx"]) {
      service.options.people = 300;
      expect((await search("-o", file, "--again", "--overwrite")).code).toBe(0);
      const before = bytes(file);
      const spent = service.charged();
      service.options.people = 149;
      const shrunk = await search("-o", file, "--overwrite", "--max-shrink", "50%");
      expect(shrunk.code, file).toBe(5);
      expect(shrunk.stderr).toContain("149 rows instead of the 300");
      expect(bytes(file).equals(before)).toBe(true);
      expect(service.charged()).toBe(spent);
    }
    writeFileSync(u.file("b.csv.gz"), gzipSync("id\n1\n2\n").subarray(0, 20));
    service.options.people = 0;
    expect((await search("-o", "b.csv.gz", "--overwrite")).stderr).toContain(
      "a file whose rows cannot be counted",
    );
  });
});

describe("TSV", () => {
  test("is CSV with tabs", async () => {
    await search("-o", "a.csv", "--limit", "40");
    await u.run(["runs", "export", "last", "-o", "a.tsv"]);
    expect(parse(u.read("a.tsv"), { columns: true, delimiter: "\t" })).toEqual(
      readCsv(u.read("a.csv")),
    );
  });
});

describe("spreadsheets", () => {
  test("cells are typed, formulas are texts, nothing is cut without a word", async () => {
    service.options.shape = () => [
      {
        id: "1",
        name: "=cmd()",
        connections: 5,
        followers: 12_345_678_901_234_567n.toString().length,
        headline: "a<b>&\u0001_x0041_\r_X0041_",
        title: "x".repeat(40_000),
        open: true,
        born: "2000-02-29",
        updated_at: "2026-01-01T12:00:00Z",
      },
    ];
    service.options.people = 1;
    await u.ends(
      0,
      ["search", "--country", "x", "--yes", "-o", "a.xlsx"],
      "notice: 1 text longer than a cell of a spreadsheet: cut",
    );
    const sheet = sheetOf("a.xlsx");
    expect(sheet).toContain('s="4" t="inlineStr"><is><t xml:space="preserve">=cmd()</t>');
    expect(sheet).toContain("<v>5</v>");
    expect(sheet).toContain("a&lt;b&gt;&amp;_x0001__x005F_x0041_&#13;_x005F_X0041_");
    expect(sheet).toContain('t="b"><v>1</v>');
    expect(sheet).toContain('s="3"><v>36585</v>');
    expect(sheet).toContain('s="2"><v>46023.5</v>');
    expect(sheet).not.toContain("<f>");
    expect(sheet).toContain('<dimension ref="A1:I2"/>');
    const styles = String(filesOfZip(bytes("a.xlsx")).get("xl/styles.xml"));
    expect(styles).toContain('<cellStyle name="Normal" xfId="0" builtinId="0"/>');
  });

  test("rows beyond what a sheet holds are refused before anything is bought", async () => {
    service.options.people = 1_048_576;
    service.options.balance = 10_000_000;
    const ran = await search("-o", "a.xlsx");
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain("a spreadsheet holds 1,048,575 rows");
    expect(ran.stderr).toContain("nothing was spent");
    expect(service.charged()).toBe(0);
    expect(readdirSync(u.dir).filter((name) => name.includes("a.xlsx"))).toEqual([]);
  });
});
