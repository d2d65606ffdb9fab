import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ImportInput } from "../../src/dataset/build/import.ts";
import { NO_MAP } from "../../src/dataset/build/import-map.ts";
import { stageTable } from "../../src/dataset/build/import-stage.ts";
import { addNormalForms } from "../../src/dataset/build/normal-sql.ts";
import { rejectFileAt } from "../../src/dataset/build/rejects.ts";
import { startDuckDb } from "../../src/dataset/duckdb.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { unguarded } from "../../src/shared/contract/text.ts";
import { cases } from "../support/campaign.ts";
import { SMALL, sleep } from "../support/dataset.ts";
import { importing } from "../support/imports.ts";

const at = importing();
const { write, load, everybody, rejects } = at;

const rows = (count: number, row: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${row(index)}\n`).join("");

const FILES = cases(20, 3_000);

describe("dialects drawn at random, beside csv-parse", { timeout: FILES * 3_000 }, () => {
  let instance: DuckDBInstance;
  let connection: DuckDBConnection;

  beforeAll(async () => {
    instance = await startDuckDb(SMALL);
    connection = await instance.connect();
    await addNormalForms(connection);
  });
  afterAll(() => instance.closeSync());

  const HEADER = ["id", "name", "headline", "title", "city", "shoe size"];
  const UNITS = [..."abc#'\\ éß東😀\t#0-x"];
  const wordOf = (delimiter: string) =>
    fc.string({
      unit: fc.constantFrom(...UNITS.filter((unit) => unit !== delimiter)),
      maxLength: 8,
    });
  /** Delimiters, quotes and line breaks too; few delimiters, so that no line of a text looks like a row. */
  const text = (delimiter: string) =>
    fc
      .tuple(
        fc.array(fc.oneof(wordOf(delimiter), fc.constantFrom('"', '""', "\n", "\r\n", "\n#")), {
          maxLength: 5,
        }),
        fc.boolean(),
      )
      .map(([parts, has]) => parts.join("") + (has ? delimiter : "") + parts.slice(0, 1).join(""));
  const file = fc.constantFrom(",", ";", "\t", "|").chain((delimiter) =>
    fc.record({
      delimiter: fc.constant(delimiter),
      mark: fc.boolean(),
      ends: fc.constantFrom(["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\r\n", "\n", "\r"]),
      quoteAll: fc.boolean(),
      lastEnd: fc.boolean(),
      blankEvery: fc.integer({ min: 3, max: 9 }),
      people: fc.array(
        fc.tuple(
          wordOf(delimiter),
          text(delimiter),
          text(delimiter),
          wordOf(delimiter),
          wordOf(delimiter),
        ),
        { minLength: 1, maxLength: 40 },
      ),
    }),
  );

  test("every record is taken or refused, and what is taken is what csv-parse reads", async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        file,
        async ({ delimiter, mark, ends, quoteAll, lastEnd, blankEvery, people }) => {
          const cell = (value: string): string =>
            quoteAll || /["\r\n]/.test(value) || value.includes(delimiter) || value.trim() === ""
              ? `"${value.replaceAll('"', '""')}"`
              : value;
          const lines = [HEADER, ...people.map((cells, index) => [`#${index}`, ...cells])].map(
            (cells) => cells.map(cell).join(delimiter),
          );
          let content = mark ? "\ufeff" : "";
          lines.forEach((line, index) => {
            const end = ends[index % ends.length] ?? "\n";
            content += line + (index === lines.length - 1 && !lastEnd ? "" : end);
            if (index > 0 && index % blankEvery === 0 && index < lines.length - 1) content += end;
          });
          const wanted: Record<string, string>[] = parse(content, {
            ...{ delimiter, bom: true, columns: true, trim: true, skip_empty_lines: true },
            record_delimiter: ["\r\n", "\n", "\r"],
          });
          const name = `${run++}.csv`;
          await write(name, content);
          const rejectFile = await rejectFileAt(join(at.folder, "rejects.ndjson"), at.folder, []);
          const options = { datasetDir: at.folder, now: () => 0, sleep };
          const staging = {
            connection,
            map: NO_MAP,
            scratch: at.folder,
            cwd: at.folder,
            text: {},
            rejects: rejectFile,
            options,
          };
          const report = await stageTable(staging, "people", [name]);
          await rejectFile.finish();
          const found = await connection.runAndReadAll(
            "SELECT id, name, headline, title, city FROM raw_people ORDER BY rowid",
          );
          await connection.run("DROP TABLE raw_people");
          expect(report).toMatchObject({ rows: wanted.length, taken: wanted.length, refused: 0 });
          const nothing = ["", "-"];
          expect(found.getRowsJS()).toEqual(
            wanted.map((record, row) =>
              HEADER.slice(0, 5).map((field, column) => {
                const text = (record[field] ?? "").replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "");
                // The apostrophe that keeps a spreadsheet from running a cell, its very first, comes off.
                const isGuarded = /^['=]/.test(people[row]?.[column - 1] ?? "");
                const value = isGuarded ? unguarded(text).trimStart() : text;
                return nothing.includes(value) ? null : value;
              }),
            ),
          );
        },
      ),
      { numRuns: FILES },
    );
  });
});

describe("nothing vanishes and nothing is joined", () => {
  test("a gzip of 2,000 members is read to its end", async () => {
    const members = Array.from({ length: 2_000 }, (_, index) =>
      gzipSync(rows(10, (row) => `${index * 10 + row},N${row}`)),
    );
    await write("people.csv.gz", Buffer.concat([gzipSync("id,name\n"), ...members]));
    expect((await load({ people: ["people.csv.gz"] })).people).toMatchObject({
      rows: 20_000,
      taken: 20_000,
    });
  });

  test("ids that begin with # are no comments", async () => {
    await write(
      "people.csv",
      `#id,name\n${rows(300, (index) => `${index % 10 === 0 ? "#" : ""}${index},Name ${index}`)}`,
    );
    const report = await load({});
    expect(report.people).toMatchObject({ rows: 300, taken: 300 });
    expect((await everybody()).filter(({ id }) => id.startsWith("#"))).toHaveLength(30);
  });

  test("quotes that come late are quotes", async () => {
    const late = '20001,"Nick ""The"" B","London, W1"\n20002,"two\nlines",x\n';
    await write(
      "people.csv",
      `id,name,city\n${rows(25_000, (index) => `p${index},Name ${index},Rome`)}${late}`,
    );
    const report = await load({});
    expect(report.people).toMatchObject({ rows: 25_002, taken: 25_002 });
    const people = new Map((await everybody()).map((person) => [person.id, person]));
    expect(people.get("20001")).toMatchObject({ name: 'Nick "The" B', city: "London, W1" });
    expect(people.get("20002")).toMatchObject({ name: "two\nlines" });
  });

  test("files that were put together: the header again is no person", async () => {
    const one = "id,name\n1,Ada\n";
    await write("people.csv", `${one}${one.replace("1,", "2,")}\ufeff${one.replace("1,", "3,")}`);
    expect((await load({})).people).toMatchObject({ rows: 5, taken: 3, refused: 2 });
    expect((await rejects()).map(({ line, detail }) => [line, detail])).toEqual([
      [3, "the header again"],
      [5, "the header again"],
    ]);
  });

  test("a line of totals, and prose behind a blank line, is nobody; who is called so is", async () => {
    const people = "p1;Ada Lovelace;CEO;Acme\n;Total;Chef;Acme\n;Eve Smith;;\n";
    const sums = ["Subtotal;;3;", "Gesamtsumme:;;3;12,5 €"];
    const prose = "Exported by Ada on 2026-11-30;;;";
    await write(
      "people.csv",
      `id;name;title;company name\n${people}${sums.join("\n")}\n;;;\n${prose}\n`,
    );
    expect((await load({})).people).toMatchObject({ rows: 6, taken: 3, refused: 3 });
    expect((await rejects()).map(({ line, detail }) => [line, detail])).toEqual([
      [5, "a line of totals"],
      [6, "a line of totals"],
      [8, "no row but prose"],
    ]);
  });

  test("a list of one column may hold commas", async () => {
    await write("people.csv", "Name\nLovelace, Ada\nHopper, Grace\nPlato\n");
    expect((await load({})).people).toMatchObject({ rows: 3, taken: 3 });
    expect((await everybody()).map(({ name }) => name).sort()).toEqual([
      "Hopper, Grace",
      "Lovelace, Ada",
      "Plato",
    ]);
  });

  test("a delimiter is told from all of the file, not from a name that has another", async () => {
    await write(
      "people.csv",
      `id;name;headline\n${rows(200, (index) => `${index};Lovelace, Ada;a, b, c`)}`,
    );
    const report = await load({});
    expect(report.people.read).toEqual([
      {
        file: "people.csv",
        format: "csv",
        rows: 200,
        encoding: "utf-8",
        delimiter: ";",
        skipped_lines: 0,
      },
    ]);
    expect((await everybody())[0]?.name).toBe("Lovelace, Ada");
  });

  test.each([
    [
      "an unquoted file",
      (index: number) => `${index},Name ${index},Rome,Peru,Chef`,
      '100,"Nick,Rome,Peru,Chef',
    ],
    [
      "a file with quotes",
      (index: number) => `"${index}","Name","Rome","Peru","Chef"`,
      '"100","Nick,"Rome","Peru","Chef"',
    ],
    [
      "one with a closing quote far below",
      (index: number) => `${index},A,B,${index === 200 ? `6'2"` : "C"},D`,
      '100,"Nick,x,y,z',
    ],
  ])("a stray quote in %s costs its own line", async (_what, row, stray) => {
    await write(
      "people.csv",
      `id,name,city,country,title\n${rows(300, (index) => (index === 100 ? stray : row(index)))}`,
    );
    const report = await load({});
    expect(report.people).toMatchObject({
      rows: 300,
      taken: 299,
      refused: 1,
      reasons: { broken_line: 1 },
    });
    expect(await rejects()).toEqual([
      {
        ...{ file: "people.csv", line: 102, reason: "broken_line", column: null, value: null },
        ...{ detail: expect.stringMatching(/quote/), row: stray },
      },
    ]);
  });

  test.each(["\n", "\r\n", "\r"])(
    "two stray quotes do not make one row of many: lines end with %j",
    async (end) => {
      const row = (index: number): string =>
        `${index},${index === 100 ? '"Nick' : index === 103 ? 'Bob"' : "Name"},Rome,Peru,Chef`;
      await write(
        "people.csv",
        `id,name,city,country,title\n${rows(300, row)}`.replaceAll("\n", end),
      );
      expect((await load({})).people).toMatchObject({ rows: 300, taken: 299, refused: 1 });
      expect(await rejects()).toMatchObject([
        { line: 102, detail: "a quoted cell swallows lines that are rows" },
      ]);
      expect((await everybody()).find(({ id }) => id === "103")?.name).toBe('Bob"');
    },
  );

  test("a line that follows a broken one is no row because of its length alone", async () => {
    await write("people.csv", 'id,name,a,b,c\n1,"x "y"\nz",1,2,3,4\nw",1,2,3,4"\n2,B,,,\n');
    const report = await load({});
    expect(report.people).toMatchObject({ taken: 1, refused: 3 });
    expect((await everybody()).map(({ id }) => id)).toEqual(["2"]);
  });

  test("lines are those of an editor, after quoted line breaks and blank lines too", async () => {
    await write("people.csv", 'id,name\n1,"a\nb\r\nc"\n\n2\n3,x\n1,twin\n');
    await load({});
    expect((await rejects()).map(({ line, reason }) => [line, reason])).toEqual([
      [6, "broken_line"],
      [8, "duplicate_id"],
    ]);
    await write("people.csv", 'id,name\r1,"a\rb"\r2,b\r1,twin\r');
    await load({});
    expect((await rejects()).map(({ line, reason }) => [line, reason])).toEqual([
      [5, "duplicate_id"],
    ]);
  });

  test.each([
    ["people.csv", "id,name,city,City\n1,Ada,Rome,Paris\n", "city, City", "City"],
    ["people.csv", "id,name,city,city\n1,Ada,Rome,Paris\n", "city, city 2", "city 2"],
    ["people.ndjson", '{"id":1,"city":"Rome"}\n{"id":2,"City":"Paris"}\n', "City, city", "City"],
  ])(
    "%s: of two columns that are one field none is taken unasked",
    async (name, text, columns, wanted) => {
      await write(name, text);
      await expect(load({ people: [name] })).rejects.toThrow(
        `several columns that are city of people: ${columns}`,
      );
      await write("map.json", JSON.stringify({ people: { city: wanted } }));
      await load({ people: [name], map: "map.json" });
      expect((await everybody()).map(({ city }) => city)).toContain("Paris");
    },
  );

  test("a key that only late lines of NDJSON have is read", async () => {
    const early = rows(
      45_000,
      (index) => `{"id":"${index}","name":"Name of nobody in particular"}`,
    );
    const late = rows(
      10_000,
      (index) => `{"id":"late ${index}","functionalArea":"Nothing in particular"}`,
    );
    await write("people.ndjson", `${early}${late}{"id":"last","title":"Chef"}\n`);
    await load({ people: ["people.ndjson"] });
    const engine = await openDataset(join(at.folder, "dataset"));
    const count = (field: string, value: string) =>
      engine
        .count({ exact: { [field]: [value] }, prefix: {}, range: {} })
        .then((found) => Number(found));
    expect([
      await count("title", "chef"),
      await count("functional_area", "nothing in particular"),
    ]).toEqual([1, 10_000]);
    await engine.close();
  });

  test("a record that is longer than 2 MB is refused, and the next is read", async () => {
    await write(
      "people.csv",
      `id,name\n1,${"x".repeat(5_000_000)}\n2,B\n3,"${"y".repeat(3_000_000)}"\n4,D\n`,
    );
    expect((await load({})).people).toMatchObject({ rows: 4, taken: 2, refused: 2 });
    expect((await everybody()).map(({ id }) => id)).toEqual(["2", "4"]);
    await write(
      "people.ndjson",
      `{"id":2}\n{"id":1,"name":"${"x".repeat(5_000_000)}"}\n{"id":3}\n`,
    );
    expect((await load({ people: ["people.ndjson"] })).people).toMatchObject({
      rows: 3,
      taken: 2,
      refused: 1,
    });
  });
});

describe("values", () => {
  const connections = async (): Promise<(number | null)[]> =>
    (await everybody()).map((person) => person.connections);
  const people = (values: readonly string[]): string =>
    `id;name;connections\n${values.map((value, index) => `${String(index).padStart(3, "0")};x;${value}\n`).join("")}`;
  const NUMBERS = [
    "12",
    "12.0",
    "12,00",
    "1.000",
    "12.500",
    "1,234",
    "1.234.567",
    "1 234",
    "500+",
    "1234.000",
    "0.000",
  ];

  test("a number that may be read two ways is left out, not guessed", async () => {
    await write("people.csv", people(NUMBERS));
    const report = await load({});
    expect(report.people).toMatchObject({ taken: NUMBERS.length, refused: 0 });
    expect(await connections()).toEqual([
      12,
      12,
      12,
      null,
      null,
      null,
      1_234_567,
      1_234,
      null,
      1_234,
      0,
    ]);
    expect(report.cleared["people.connections"]).toMatchObject({ values: 4 });
  });

  test.each([
    ["de", [12, null, 12, 1_000, 12_500, null, 1_234_567, 1_234, null, null, 0]],
    ["en", [12, 12, null, 1, null, 1_234, null, 1_234, null, 1_234, 0]],
  ])('"numbers": "%s" settles it', async (numbers, expected) => {
    await write("people.csv", people(NUMBERS));
    await write("map.json", JSON.stringify({ people: {}, numbers }));
    await load({ map: "map.json" });
    expect(await connections()).toEqual(expected);
  });

  test("words for nothing are empty, and are not told as unusable", async () => {
    const words = ["NaN", "NULL", "null", "NA", "N/A", "n/a", "-", "\\N", "", "none"];
    const text = words.map(
      (value, index) =>
        `${index},Null,NA,${value},${value},${value},${value === "NA" ? "" : value}\n`,
    );
    await write(
      "people.csv",
      `id,last_name,country,connections,updated_at,company_network_url,city\n${text.join("")}`,
    );
    const report = await load({});
    expect(report.people).toMatchObject({ taken: 10, refused: 0 });
    expect(report.cleared).toEqual({});
    expect(report.companies.derived).toBe(0);
    for (const person of await everybody()) {
      expect(person).toMatchObject({
        connections: null,
        updated_at: null,
        company_network_url: null,
      });
      expect(person).toMatchObject({ last_name: "Null", country: "NA" });
      expect([null, "none"]).toContain(person.city);
    }
  });

  test("NaN, 9e15 and text as bytes in Parquet", async () => {
    const instance = await startDuckDb(SMALL);
    const connection = await instance.connect();
    await connection.run(`COPY (SELECT * FROM (VALUES ('a'::BLOB, 'NaN'::DOUBLE), (encode('é'), 9e15), ('c'::BLOB, 1.5), ('\\xFF'::BLOB, 1))
      AS t (id, connections)) TO '${join(at.folder, "p.parquet")}' (FORMAT parquet)`);
    instance.closeSync();
    const report = await load({ people: ["p.parquet"] });
    expect(report.people).toMatchObject({ rows: 4, taken: 3, refused: 1 });
    expect((await everybody()).map(({ id, connections: own }) => [id, own])).toEqual([
      ["a", null],
      ["c", null],
      ["é", 9_000_000_000_000_000],
    ]);
    const detail = 'column "id" holds bytes that are not UTF-8';
    expect(await rejects()).toMatchObject([
      { row_number: 4, column: "id", value: "\\xFF", detail },
    ]);
  });

  test("a decimal that the reader takes for another number is refused, not served", async () => {
    const pyarrow = [
      "UEFSMRUAFRYVFiwVAhUAFQYVBhwAAAACAAAAAgEBAAAAYRUAFTYVNiwVAhUAFQYVBhwAAAACAAAAAgEAAAAAAAAAAAAAAAAA",
      "AAAAAAAHoSAVBBk8NQAYBnNjaGVtYRUEABUMJQIYAmlkJQBMHAAAABUOFSoVAhgLY29ubmVjdGlvbnMlChUGFWQsXBUGFWQA",
      "AAAWAhkcGSwmABwVDBklBgAZGAJpZBUAFgIWPBY8JghJHBUAFQAVAgA8FgIZBhkmAAIAAAAmABwVDhklBgAZGAtjb25uZWN0",
      "aW9ucxUAFgIWXBZcJkRJHBUAFQAVAgA8KQYZJgACAAAAFpgBFgImCBaYAQAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24g",
      "MjUuMC4xGSwcAAAcAAAA3wAAAFBBUjE=",
    ];
    await write("p.parquet", Buffer.from(pyarrow.join(""), "base64"));
    await expect(load({ people: ["p.parquet"] })).rejects.toThrow(
      /column "connections" is DECIMAL\(50,3\)/,
    );
    await write("map.json", '{"people": {"connections": null}}');
    expect((await load({ people: ["p.parquet"], map: "map.json" })).people).toMatchObject({
      taken: 1,
    });
  });

  test("numbers with a type are what they are, whatever the map says of those written as text", async () => {
    const instance = await startDuckDb(SMALL);
    const connection = await instance.connect();
    await connection.run(`COPY (SELECT * FROM (VALUES ('a', 12.000::DECIMAL(10,3)), ('b', 12.345), ('c', 0), ('d', 1234)) AS t (id, connections))
      TO '${join(at.folder, "p.parquet")}' (FORMAT parquet)`);
    instance.closeSync();
    await write(
      "q.ndjson",
      '{"id":"e","connections":12.000}\n{"id":"f","connections":12.345}\n{"id":"g","connections":"1.234"}\n',
    );
    for (const [numbers, g] of [
      [undefined, null],
      ["de", 1_234],
      ["en", null],
    ] as const) {
      await write("map.json", JSON.stringify({ people: {}, numbers }));
      await load({ people: ["p.parquet", "q.ndjson"], map: "map.json" });
      expect(await connections(), numbers).toEqual([12, null, 0, 1_234, 12, null, g]);
    }
  });

  test("half a character in NDJSON is kept as U+FFFD, and told", async () => {
    const lines = [
      '{"id":1,"name":"A \\ud83d B"}',
      '{"id":2,"name":"\\ud83d\\ude00 \\\\ud83d"}',
      '{"id":3,"name":"\\udc00\\ud800"}',
    ];
    await write("people.ndjson", `${lines.join("\n")}\n`);
    const report = await load({ people: ["people.ndjson"] });
    expect(report.people).toMatchObject({ taken: 3, read: [{ repaired: 2 }] });
    expect((await everybody()).map(({ name }) => name)).toEqual([
      "A \ufffd B",
      "😀 \\ud83d",
      "\ufffd\ufffd",
    ]);
  });

  test("values of the map stand for others", async () => {
    await write("people.csv", "id,department,connections\n1,Eng,500+\n2, ENG ,7\n3,Navy,\n");
    const values = {
      department: { eng: "Engineering and Technical" },
      connections: { "500+": "500" },
    };
    await write("map.json", JSON.stringify({ people: {}, values }));
    const report = await load({ map: "map.json" });
    expect(report.departments).toMatchObject({ unknown: 1 });
    expect(report.cleared).toEqual({});
    const found = (await everybody()).map(({ id, department, connections: own }) => [
      id,
      department,
      own,
    ]);
    expect(found.sort()).toEqual([
      ["1", "Engineering and Technical", 500],
      ["2", "Engineering and Technical", 7],
      ["3", "Other", null],
    ]);
  });

  test("names are split at any white space", async () => {
    await write("people.csv", "id,name\n1,山田　太郎\n2,Jean\u00a0Marie Dupont\n3,Plato\n");
    await load({});
    expect((await everybody()).map(({ first_name, last_name }) => [first_name, last_name])).toEqual(
      [
        ["山田", "太郎"],
        ["Jean", "Marie Dupont"],
        ["Plato", null],
      ],
    );
  });
});

describe("files as programs write them", () => {
  const NAMES = ["Müller", "Peña", "Straße", "O’Neill"];
  const body = `id;name;city\r\n${NAMES.map((name, index) => `${index};${name};Zürich\r\n`).join("")}`;
  const names = async (): Promise<(string | null)[]> => (await everybody()).map(({ name }) => name);

  test.each([
    ["windows-1252", Buffer.from(body.replace("’", "\x92"), "latin1")],
    ["utf-16le", Buffer.from(`\ufeff${body}`, "utf16le")],
    ["utf-16be", Buffer.from(`\ufeff${body}`, "utf16le").swap16()],
    ["utf-8", Buffer.from(body)],
  ])("%s is told from the file", async (encoding, bytes) => {
    await write("people.csv", bytes);
    expect((await load({})).people).toMatchObject({
      taken: 4,
      read: [{ encoding, delimiter: ";" }],
    });
    expect(await names()).toEqual(NAMES);
  });

  test.each(["utf-16le", "utf-16be"])(
    "%s without its mark too, whatever the script",
    async (encoding) => {
      const wide = ["一ノ瀬　大一", "Ā😀Ѐ", "Nguyễn"];
      const text = `id,name\n${rows(60, (index) => `${index},${wide[index % 3]}`)}`;
      const bytes = Buffer.from(text, "utf16le");
      await write("people.csv", encoding === "utf-16le" ? bytes : bytes.swap16());
      expect((await load({})).people).toMatchObject({
        taken: 60,
        refused: 0,
        read: [{ encoding }],
      });
      expect([...new Set(await names())].sort()).toEqual(wide.toSorted());
    },
  );

  test("another encoding is named, and one that does not fit refuses the lines", async () => {
    await write("people.csv", Buffer.from("id,name\n1,\xc8\xe2\xe0\xed\n2,Ada\n", "latin1"));
    expect((await load({})).people).toMatchObject({
      taken: 1,
      refused: 1,
      read: [{ encoding: "utf-8" }],
    });
    expect((await load({ encoding: "windows-1251" })).people).toMatchObject({ taken: 2 });
    expect(await names()).toEqual(["Иван", "Ada"]);
  });

  test.each([
    ["sep=;", "sep=;\r\nid;name\r\n1;Ada, B\r\n", 1],
    ["a title", 'Export of 2026-01-05\n\nid,name\n1,"Ada, B"\n', 2],
    ["a title with empty cells", '"Our people";\n;\nid;name\n1;Ada, B\n', 2],
  ])("%s before the header is left out, and told", async (_what, text, skipped) => {
    await write("people.csv", text);
    const report = await load({});
    expect(report.people).toMatchObject({
      taken: 1,
      refused: 0,
      read: [{ skipped_lines: skipped }],
    });
    expect(await names()).toEqual(["Ada, B"]);
  });

  test("--skip-lines says how many", async () => {
    await write("people.csv", "a,b,c\nd,e,f\nid,name,x\n1,Ada,\n2\n");
    const report = await load({ skipLines: 2 });
    expect(report.people).toMatchObject({ taken: 1, refused: 1, read: [{ skipped_lines: 2 }] });
    expect((await rejects())[0]).toMatchObject({ line: 5 });
  });

  test("a name in brackets is that file, whatever else is there", async () => {
    for (const [name, id] of [
      ["people[1].csv", "a"],
      ["people1.csv", "b"],
      ["dir*/p.csv", "c"],
      ["dirX/p.csv", "d"],
    ] as const) {
      await mkdir(join(at.folder, name, ".."), { recursive: true });
      await write(name, `id\n${id}\n`);
    }
    const instance = await startDuckDb(SMALL);
    const connection = await instance.connect();
    await connection.run(
      `COPY (SELECT 'e' AS id) TO '${join(at.folder, "dirX", "p.parquet")}' (FORMAT parquet)`,
    );
    await connection.run(
      `COPY (SELECT 'f' AS id) TO '${join(at.folder, "dir*", "p.parquet")}' (FORMAT parquet)`,
    );
    instance.closeSync();
    const ids = async (input: Partial<ImportInput>): Promise<string[]> => {
      await load(input);
      return (await everybody()).map(({ id }) => id);
    };
    expect(await ids({ people: ["people[1].csv"] })).toEqual(["a"]);
    expect(await ids({ people: ["dir*/p.csv"] })).toEqual(["c"]);
    expect(await ids({ people: ["p.csv"], cwd: join(at.folder, "dir*") })).toEqual(["c"]);
    expect(await ids({ people: ["p*.csv"], cwd: join(at.folder, "dir*") })).toEqual(["c"]);
    expect(await ids({ people: ["dir*/p.parquet"] })).toEqual(["f"]);
  });
});
