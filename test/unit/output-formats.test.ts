import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { parse } from "csv-parse/sync";
import { stringify } from "csv-stringify/sync";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { besideName } from "../../src/app/keep/list-files.ts";
import { Distinct } from "../../src/engine/output/distinct.ts";
import {
  chooseForm,
  type Format,
  formName,
  type Rendering,
} from "../../src/engine/output/formats.ts";
import { parquet } from "../../src/engine/output/whole/parquet.ts";
import { surveyColumns, type WholeOptions } from "../../src/engine/output/whole/survey.ts";
import { PERSON_FIELDS } from "../../src/shared/contract/records.ts";
import { CliError } from "../../src/shared/errors.ts";
import { checkFields, collectColumns, parseFields } from "../../src/shared/rows/columns.ts";
import { csvDocument } from "../../src/shared/rows/csv-text.ts";
import { Page } from "../../src/shared/rows/page.ts";
import type { Cell } from "../../src/shared/rows/values.ts";
import { createView } from "../support/views.ts";

const folder = mkdtempSync(join(tmpdir(), "headcount-views-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function writeParquet({
  file,
  ...options
}: WholeOptions & { readonly file: string }): Promise<string[]> {
  const survey = await surveyColumns(options);
  const rows = { ...survey, pages: options.pages, onCut: () => undefined };
  await writeFile(file, Readable.from(parquet.bytes(rows, `${file}.scratch`)));
  return survey.columns.map(({ name }) => name);
}

/** A reply as a service sends it, from the JSON text of its result. */
const reply = (result: string): Buffer =>
  Buffer.from(
    `{"status":true,"detail":[],"result":${result},"credits_used":2,"credits_remaining":8}`,
  );
const page = (...rows: readonly unknown[]): Page =>
  Page.read(reply(JSON.stringify(rows)), "person");
const raw = (result: string): Page => Page.read(reply(result), "person");

interface Options extends Partial<Rendering> {
  readonly extra?: boolean;
}

function render(
  format: Format,
  pages: readonly Page[],
  { extra, ...options }: Options = {},
): string {
  const view = createView({ kind: "person", ...options, format }, extra);
  return Buffer.concat([
    ...pages.map((one) => Buffer.from(view.page(one))),
    Buffer.from(view.end()),
  ]).toString();
}

function usage(run: () => unknown): CliError {
  try {
    run();
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 2) return error;
    throw error;
  }
  throw new Error("no error");
}

describe("pages", () => {
  test("rows are found in every shape that services use", () => {
    const row = '{"id":"a"}';
    for (const result of [
      `[${row}]`,
      `{"people":[${row}]}`,
      `{"total":1,"data":[${row}],"x":[]}`,
      `{"data":{"people":[${row}],"facets":[{"value":1}]},"total":9}`,
      `{"hits":[${row}],"took":3,"warnings":["slow"]}`,
      `{"page":{"number":1},"response":{"docs":[ ${row} ]}}`,
      `[{"profile":${row}}]`,
      `{"hits":[{"person": ${row} }]}`,
    ]) {
      expect(raw(result).ndjson().toString(), result).toBe('{"id":"a"}\n');
    }
    expect(raw("null").length).toBe(0);
    expect(raw("[]").ndjson().toString()).toBe("");
    expect(Page.read(Buffer.from(`\ufeff [ ${row} ] `), "person").length).toBe(1);
    // Of a repeated key the last counts, as in JSON.parse.
    expect(
      Page.read(Buffer.from(`{"result":[{"id":"x"}],"result":[${row}]}`), "person").text(0),
    ).toBe(row);
  });

  test("of several lists the rows are the one of people, whatever its name", () => {
    const person = '{"id":"a","first_name":null,"title":"x"}';
    const facets = '[{"id":"sales","title":"Sales","department":"Sales","count":3}]';
    const jobs =
      '[{"id":9,"title":"CTO","department":"IT","company_name":"Acme","seniority":"x","country":"france"}]';
    const companies =
      '[{"id":"c","name":"Acme","domain":"acme.example","network_url":"https://x"}]';
    for (const result of [
      `{"folk":[${person}],"facets":${facets}}`,
      `{"facets":${facets},"openings":${jobs},"hits":[${person}],"orgs":${companies},"warnings":[]}`,
      `{"total":1,"found":{"rows":[${person}]},"meta":{"items":${facets}}}`,
      `{"data":${facets},"folk":[${person}]}`,
    ])
      expect(raw(result).ndjson().toString(), result).toBe(`${person}\n`);
    const camel = '{"id":"a","lastName":"A","companyName":null}';
    expect(raw(`{"folk":[{"profile":${camel}}],"facets":${facets}}`).text(0)).toBe(camel);
    const sparse = `[{"id":"x"},${person}]`;
    expect(raw(`{"folk":${sparse},"facets":${facets}}`).length).toBe(2);
    // A usual name that says what it holds comes first, whatever the others have.
    expect(raw(`{"people":[{"id":"x"}],"similar":[${person}]}`).text(0)).toBe('{"id":"x"}');
    expect(raw(`{"results":[{"id":"x"}],"facets":${facets}}`).text(0)).toBe('{"id":"x"}');
  });

  test("people beside an empty list are the rows only where the reply was charged for", () => {
    const result = '{"folk":[],"similar":[{"id":"a","first_name":"A","title":"x"}]}';
    const free = (end: string) =>
      Buffer.from(`{"status":true,"detail":[],"result":${result}${end}}`);
    expect(raw(result).length).toBe(1);
    for (const end of ["", ',"credits_used":0', ',"credits_used":null']) {
      expect(Page.read(free(end), "person").problem?.message, end).toContain("2 lists");
    }
    const bare = '{"items":[],"similar":[{"id":"a","first_name":"A","title":"x"}]}';
    expect(Page.read(Buffer.from(`{"result":${bare},"credits_used":0}`), "person").length).toBe(0);
  });

  test("a container without a list that can be told is no row", () => {
    for (const result of [
      '{"id":"a","name":"A"}',
      '{"hits":{"total":3}}',
      '{"data":{"x":{"people":[{"id":"a"}]}}}',
      '{"tags":["a","b"]}',
      '{"hits":[{"id":"a"}],"facets":[{"value":"x"}]}',
      '{"a":[{"first_name":"A","title":"x"}],"b":[{"first_name":"A","title":"x"}]}',
      '{"orgs":[{"name":"Acme","network_url":"x"}],"jobs":[{"title":"CTO","department":"IT"}]}',
      '{"hits":[],"facets":[{"value":"x"}]}',
      '{"profile":{"id":"a"}}',
      "true",
    ]) {
      expect(raw(result).problem?.message, result).toMatch(/holds (no|2) list/);
    }
    expect(raw('{"hits":[],"total":0}').length).toBe(0);
  });

  test("a company is found bare or wrapped; a miss that is a success is no company", () => {
    const company = (result: string): string =>
      Page.read(reply(result), "company").ndjson().toString();
    const row = '{"id":"c","company":"x"}';
    for (const result of [
      row,
      `[${row}]`,
      `{"company":${row}}`,
      `{"match":true,"company":${row}}`,
      `{"profile":${row},"score":0.9}`,
      `{"data":{"company":${row}}}`,
      `{"results":[${row}]}`,
    ]) {
      expect(company(result), result).toBe(`${row}\n`);
    }
    for (const result of [
      "null",
      "[]",
      "{}",
      '{"match":false}',
      '{"found":false,"company":null}',
      '{"company":null}',
      '{"data":{}}',
    ]) {
      expect(company(result), result).toBe("");
    }
    expect(Page.read(Buffer.from('{"result":"x"}'), "company").problem?.message).toContain(
      "no company",
    );
  });

  test("asked-for fields are found in wrapped records and in a nested company", () => {
    const rows = raw(
      '[{"profile":{"name":"Ada","title":"CTO"},"score":1,"company":{"name":"Acme","domain":"acme.example"}},{"name":"Bob","company_name":"B","company":{"name":"C"}}]',
    );
    const fields = ["name", "title", "company_name", "company_domain", "company.name", "score"];
    expect(render("csv", [rows], { fields })).toBe(
      `${fields.join(",")}\nAda,CTO,Acme,acme.example,Acme,1\nBob,,B,,C,\n`,
    );
    expect(render("ndjson", [rows], { fields: ["name", "company_name"] })).toBe(
      '{"name":"Ada","company_name":"Acme"}\n{"name":"Bob","company_name":"B"}\n',
    );
    expect(raw('[{"profile":{"id":"p1"},"score":1}]').identity(0)).toBe("p1");
    // What several people share is nobody's identity.
    const colleagues = raw(
      '[{"name":"A","organization":{"id":9},"company":{"id":9}},{"name":"B","organization":{"id":9}}]',
    );
    expect(new Distinct("person", 2).take(colleagues).length).toBe(2);
    // Nothing of the row that says more is dropped where nobody asked for less.
    expect(render("ndjson", [raw('[{"profile":{"id":"p1"},"score":1}]')])).toBe(
      '{"profile":{"id":"p1"},"score":1}\n',
    );
  });

  test("what is no reply is an error, never rows", () => {
    for (const body of [
      "",
      "<html>",
      '{"result":[{"id":"a"},',
      '{"result":[{"id":"a"',
      '{"detail":[]}',
      '{"result":"x"}',
    ]) {
      const { length, problem, broken } = Page.read(Buffer.from(body), "person");
      expect(length, body).toBe(body.includes('"a"}') ? 1 : 0);
      expect(problem !== undefined || broken.length > 0 || length > 0, body).toBe(true);
    }
  });

  test("a selection keeps the order and the bytes", () => {
    const three = raw('[{"id":1,"n":1.50},{"id":2},{"id":3}]').select([2, 0]);
    expect(three.ndjson().toString()).toBe('{"id":3}\n{"id":1,"n":1.50}\n');
    expect(three.rows()).toEqual([{ id: 3 }, { id: 1, n: 1.5 }]);
    expect(three.select([1]).text(0)).toBe('{"id":1,"n":1.50}');
    expect(() => three.select([2])).toThrow(RangeError);
  });

  test("the identity is the id, else the profile address, parsed or not", () => {
    const rows = raw(
      '[{"id":"p1"},{"x":1,"id":7},{"id":"a\\"b"},{"network_url":"x.com/a"},{"id":null},{"id":""}]',
    );
    const identities = (): (string | undefined)[] =>
      Array.from({ length: 6 }, (_, index) => rows.identity(index));
    const expected = ["p1", "7", 'a"b', "x.com/a", undefined, undefined];
    expect(identities()).toEqual(expected);
    rows.rows();
    expect(identities()).toEqual(expected);
  });

  test("long numbers: integers keep every digit, fractions stay fractions", () => {
    const text =
      '[{"a":12345678901234567890,"b":0.00000100000233193386,"c":1234567890123456.5,"d":-9007199254740993}]';
    const [row] = raw(text).rows();
    expect(row).toEqual({
      a: 12345678901234567890n,
      b: 0.00000100000233193386,
      c: 1234567890123456.5,
      d: -9007199254740993n,
    });
    const hostile = '[{"n":12345678901234567890,"s":"\\uE000-5","t":"\ue001x","u":"\\ue002"}]';
    expect(raw(hostile).rows()).toEqual([
      { n: 12345678901234567890n, s: "\ue000-5", t: "\ue001x", u: "\ue002" },
    ]);
    expect(render("json", [raw(hostile)], { fields: ["s", "n"] })).toBe(
      '[\n{"s":"\ue000-5","n":12345678901234567890}\n]\n',
    );
    expect(raw('[{"s":"1234567890123456789","n":1234567890123456}]').rows()).toEqual([
      { s: "1234567890123456789", n: 1234567890123456 },
    ]);
  });

  test("beside a long integer everything else is read as JSON.parse reads it", () => {
    const long = '"n":12345678901234567890';
    for (const text of [
      '{"a":1,"b":2,"a":3}',
      '{"a":-0}',
      '{"a":1e400}',
      '{"a":1E+2}',
      '{"__proto__":{"x":1}}',
      '{"":""}',
    ]) {
      const expected = JSON.parse(text) as object;
      const [row] = raw(`[${text.slice(0, -1)},${long}}]`).rows();
      expect(Object.entries(row ?? {})).toEqual([
        ...Object.entries(expected),
        ["n", 12345678901234567890n],
      ]);
      expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
    }
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!/\d{16}/.test(text));
        expect(raw(`[{"v":${text},${long}}]`).rows()).toEqual([
          { v: JSON.parse(text), n: 12345678901234567890n },
        ]);
        expect(render("ndjson", [raw(`[{"v":${text},${long}}]`)], { fields: ["v", "n"] })).toBe(
          `{"v":${text},${long}}\n`,
        );
      }),
      { numRuns: 200 },
    );
  });

  test("what is nested without end is said to be so; NDJSON passes it on", () => {
    const text = `{"a":${"[".repeat(100_000)}12345678901234567890${"]".repeat(100_000)}}`;
    expect(render("ndjson", [raw(`[${text}]`)])).toBe(`${text}\n`);
    for (const deep of [text, text.replace(/\d+/, "1")]) {
      expect(() => render("csv", [raw(`[${deep}]`)])).toThrow("nested too deeply");
    }
  });

  test("any object of a page comes out as it went in; what is none is kept as broken", () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 6 }),
        fc.nat(3),
        (rows, indent) => {
          const text = JSON.stringify(rows, undefined, indent);
          const page = raw(text);
          const lines = page.ndjson().toString().split("\n").slice(0, -1);
          const isRecord = (row: unknown): boolean =>
            typeof row === "object" && row !== null && !Array.isArray(row);
          expect(lines).toEqual(rows.filter(isRecord).map((row) => JSON.stringify(row)));
          expect(page.broken.map(({ bytes }) => JSON.parse(bytes.toString()))).toEqual(
            JSON.parse(JSON.stringify(rows.filter((row) => !isRecord(row)))),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});

test("an id beside an address is the same one whether its bytes are read or its text", () => {
  const text = fc.oneof(fc.string({ unit: "binary", maxLength: 40 }), fc.string());
  const address = fc.option(fc.oneof(text, fc.constantFrom("a", "ab", "abc", "abcd")));
  const rowsOfPages = fc.array(fc.array(fc.tuple(text, address), { minLength: 1 }), {
    minLength: 1,
  });
  // Escaped, no byte of an id is that of its text.
  const escaped = (written: string): string =>
    `"${written.replaceAll(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;

  fc.assert(
    fc.property(rowsOfPages, (pages) => {
      const distinct = new Distinct("person", 10);
      const known = new Set<string>();
      for (const [turn, drawn] of pages.flatMap((each) => [each, each]).entries()) {
        const write = turn % 2 === 0 ? JSON.stringify : escaped;
        const own = drawn.filter(
          ([id, place]) => id !== "" && id.isWellFormed() && (place ?? "").isWellFormed(),
        );
        const rows = own.map(
          ([id, place]) =>
            `{"x":1,"id":${write(id)},"network_url":${place === null ? "null" : write(place)}}`,
        );
        const fresh = own
          .map(([id, place]) => JSON.stringify([id, place ?? ""]))
          .filter((name) => !known.has(name) && known.add(name));
        expect(distinct.take(raw(`[${rows}]`)).length).toBe(fresh.length);
      }
    }),
  );
});

test("one id beside two addresses is two people, and one beside the same address is one", () => {
  const rows = (from: number): Page =>
    page(
      ...Array.from({ length: 10 }, (_, place) => ({
        id: `${place + 1}`,
        network_url: `https://network.example/in/p-${from + place}`,
      })),
    );
  const distinct = new Distinct("person", 10);
  for (let from = 0; from < 1_000; from += 10) expect(distinct.take(rows(from)).length).toBe(10);
  expect(distinct.take(rows(500)).length).toBe(0);
});

test("a hundred thousand rows are told apart by id, also when more come than were expected", () => {
  const distinct = new Distinct("person", 10);
  const rows = (from: number, step: number): Page =>
    page(
      ...Array.from({ length: 10_000 }, (_, index) => ({
        id: `p${((from + index) * step).toString(16)}`,
      })),
    );
  for (let from = 0; from < 100_000; from += 10_000)
    expect(distinct.take(rows(from, 1)).length).toBe(10_000);
  expect(distinct.take(rows(0, 7)).length).toBe(0);
  expect(distinct).toMatchObject({ distinct: 100_000, duplicates: 10_000, repeatedPages: 1 });
});

describe("ndjson and json", () => {
  test("every token stays as it came: big integers, exponents, repeated keys, escapes", () => {
    const row = '{"id":12345678901234567890,"x":1.50,"y":1E5,"id":2,"s":"\\u00e9\\ud800\\/"}';
    expect(render("ndjson", [raw(`[${row},${row}]`)])).toBe(`${row}\n${row}\n`);
    expect(render("json", [raw(`[${row}]`), raw(`[${row}]`)])).toBe(`[\n${row},\n${row}\n]\n`);
  });

  test("line breaks between tokens do not break lines", () => {
    const pretty = raw('[\n  {\n    "id": "a",\r\n\t"n": [1,\n2]\n  }\n,\n  {"id": "b  c"}\n]');
    expect(render("ndjson", [pretty])).toBe('{"id":"a","n":[1,2]}\n{"id":"b  c"}\n');
    expect(JSON.parse(render("json", [pretty]))).toEqual([{ id: "a", n: [1, 2] }, { id: "b  c" }]);
  });

  test("an empty run is a valid document", () => {
    expect(render("json", [])).toBe("[]\n");
    expect(render("json", [page()])).toBe("[]\n");
    expect(render("json", [page(), page({ id: 1 }), page()])).toBe('[\n{"id":1}\n]\n');
    expect(render("ndjson", [page()])).toBe("");
  });

  test("columns choose members, in their order, with null for what is missing", () => {
    const rows = raw('[{"id":12345678901234567890,"a":{"b":[1]},"n":1}]');
    expect(render("ndjson", [rows], { fields: ["a.b", "id", "name"] })).toBe(
      '{"a.b":[1],"id":12345678901234567890,"name":null}\n',
    );
    expect(render("json", [rows], { fields: ["n"] })).toBe('[\n{"n":1}\n]\n');
    expect(render("ndjson", [page({ "a.b": 1, a: { b: 2 } })], { fields: ["a.b"] })).toBe(
      '{"a.b":1}\n',
    );
    expect(render("ndjson", [page({ id: 1 })], { fields: ["__proto__", "toString"] })).toBe(
      '{"__proto__":null,"toString":null}\n',
    );
  });
});

describe("csv", () => {
  test("published fields come first, others by name, nested as a.b, lists joined", () => {
    const row = {
      zeta: 1,
      name: "Ada",
      alpha: true,
      id: "p1",
      a: { c: null, b: [1, "x", { y: 1 }] },
      empty: [],
    };
    expect(render("csv", [page(row)])).toBe(
      'id,name,a.b,a.c,alpha,empty,zeta\np1,Ada,"1; x; {""y"":1}",,true,,1\n',
    );
  });

  test("numbers stay numbers, null is empty, big integers keep every digit", () => {
    const rows = raw(
      '[{"id":12345678901234567890,"n":-5,"f":0.25,"z":null,"t":"-5","b":false,"e":""}]',
    );
    expect(render("csv", [rows])).toBe(
      "id,b,e,f,n,t,z\n12345678901234567890,false,,0.25,-5,'-5,\n",
    );
  });

  test("LF without, BOM and CRLF with --csv excel", () => {
    const rows = page({ id: "a", name: "x\ny" }, { id: "b", name: "é" });
    expect(Buffer.from(render("csv", [rows]))).toEqual(Buffer.from('id,name\na,"x\ny"\nb,é\n'));
    expect(Buffer.from(render("csv", [rows], { excel: true }))).toEqual(
      Buffer.from('\ufeffid,name\r\na,"x\ny"\r\nb,é\r\n'),
    );
    expect(render("csv", [page()], { excel: true })).toBe(`\ufeff${PERSON_FIELDS.join(",")}\r\n`);
  });

  test("formulas are guarded, also behind spaces and in full width, in headers too; not with --csv raw", () => {
    const formulas = [
      "=1+1",
      "+1",
      "-1",
      "@x",
      "\tx",
      "\rx",
      "＝1",
      "＋1",
      "－1",
      "＠x",
      "  =1",
      "\n=1",
      "\u00a0=1",
      "\u0001=1",
      "\u200b=1",
      "\u00ad+1",
      "\u2060-1",
      "\u007f@x",
      "\u0085=1",
      "\u061c=1",
      " \u200b\u0007 =1",
    ];
    const harmless = ["a=b", "1-2", "'=1", "x@y.com", "—", "0", "", "#REF", "é=1", '"=1'];
    for (const text of formulas) {
      expect(parse(render("csv", [page({ id: text })])), JSON.stringify(text)).toEqual([
        ["id"],
        [`'${text}`],
      ]);
      expect(parse(render("csv", [page({ id: text })], { raw: true }))).toEqual([["id"], [text]]);
    }
    for (const text of harmless)
      expect(parse(render("csv", [page({ id: text })]))).toEqual([["id"], [text]]);
    expect(render("csv", [page({ "=cmd": 1 })])).toBe("'=cmd\n1\n");
    expect(render("csv", [page({ id: ["=1", "b"] })])).toBe("id\n'=1; b\n");
  });

  test("with --csv excel also what a spreadsheet may cut out of a text is guarded: behind semicolons, tabs and line breaks", () => {
    const cut: Readonly<Record<string, string>> = {
      "x;=1+1": "x;'=1+1",
      "x\t@a;b; -1": "x\t'@a;b; '-1",
      "x\n\u200b=1": "x\n\u200b'=1",
      'x;"=1+1': "x;\"'=1+1",
      ";=1": ";'=1",
      "=1;=2": "'=1;'=2",
      "a - b = c; d": "a - b = c; d",
    };
    for (const [text, safe] of Object.entries(cut)) {
      for (const rows of [page({ id: text }), page({ id: "x" }, { id: text })]) {
        const read = (options: object): string | undefined =>
          parse(render("csv", [rows], options), { bom: true }).at(-1)?.[0];
        expect(read({ excel: true })).toBe(safe);
        expect(read({ excel: true, raw: true })).toBe(text);
      }
    }
    expect(render("csv", [page({ id: "x;=1" })])).toBe("id\nx;=1\n");
    const hostile = `x${"\n ;".repeat(200_000)}`;
    expect(render("csv", [page({ id: hostile })], { excel: true })).toContain(hostile);
  });

  test("the header is written once, also for an empty run", () => {
    expect(render("csv", [page({ id: "a" }), page({ id: "b" }), page()])).toBe("id\na\nb\n");
    expect(render("csv", [])).toBe(`${PERSON_FIELDS.join(",")}\n`);
    expect(render("csv", [page()], { fields: ["name"] })).toBe("name\n");
  });

  test("to a pipe the last column holds what the first page did not have", () => {
    const pages = [
      page({ id: "a", n: { x: 1 } }),
      raw('[{"id":"b","n":{"x":2,"y":12345678901234567890},"z":"=1"}]'),
    ];
    expect(render("csv", pages, { extra: true })).toBe(
      'id,n.x,extra\na,1,\nb,2,"{""n.y"":12345678901234567890,""z"":""=1""}"\n',
    );
    expect(render("csv", [page({ id: "a", extra: 1 })], { extra: true })).toBe(
      "id,extra,extra_\na,1,\n",
    );
    expect(render("csv", pages, { extra: true, fields: ["id"] })).toBe("id\na\nb\n");
  });

  test("to a file nothing is lost: what the first page did not have is named, and the union has it", async () => {
    const pages = [page({ id: "a" }), page({ name: "B", id: "b", q: { r: 1 } })];
    const view = createView({ format: "csv", kind: "person" });
    for (const one of pages) view.page(one);
    expect([...view.unseen]).toEqual(["name", "q.r"]);
    const columns = await collectColumns(pages, "person");
    expect(columns).toEqual(["id", "name", "q.r"]);
    expect(render("csv", pages, { fields: columns })).toBe("id,name,q.r\na,,\nb,B,1\n");
  });

  test("a lone empty cell is no empty line, which readers would skip", () => {
    expect(render("csv", [page({ id: null }, { id: "" }, { id: "a" })])).toBe('id\n""\n""\na\n');
  });

  test("hostile text comes back from a real reader as it went in", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary", maxLength: 20 }),
      fc.constantFrom(
        '"',
        '""',
        ",",
        "\r\n",
        "\r",
        "\n",
        "\u202e",
        "\u0000",
        "\u0007",
        "\ud800",
        "a\udc00b",
        "\ufeff",
        "; ",
      ),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 8 }),
        fc.boolean(),
        (pairs, excel) => {
          const rows = pairs.map(([a, b]) => ({ id: a, name: b }));
          const out = Buffer.from(render("csv", [page(...rows)], { raw: true, excel }));
          const back = parse(out, { bom: excel });
          expect(back.slice(1)).toEqual(
            pairs.map(([a, b]) => [a.toWellFormed(), b.toWellFormed()]),
          );
        },
      ),
      { numRuns: 200 },
    );
  });

  test("pages are quoted as csv-stringify quotes", () => {
    const cell = fc.oneof(
      fc.string({ unit: "binary", maxLength: 12 }),
      fc.constantFrom(
        'a "quoted" word',
        "a, b",
        "=1",
        " =1,",
        "line\nbreak",
        "\r",
        "",
        "'",
        "\ufeffx",
      ),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (rows, excel) => {
          const columns = ["id", "name", "title"];
          const text = stringify([columns, ...rows] as Cell[][], {
            bom: excel,
            record_delimiter: excel ? "windows" : "unix",
            // Also the line break that is not this document's own: readers disagree on which of them ends a row.
            quote_record_delimiter: true,
            cast: { boolean: String },
          });
          const expected = Buffer.from(text).toString();
          expect(Buffer.from(csvDocument(columns, rows, { excel, raw: true })).toString()).toBe(
            expected,
          );
          // Plain records take the short way, records in another order the long one.
          for (const order of [columns, [...columns].reverse()]) {
            const records = rows.map((row) =>
              Object.fromEntries(order.map((name) => [name, row[columns.indexOf(name)]])),
            );
            for (const fields of [undefined, columns]) {
              expect(
                render("csv", [page(...records)], { excel, raw: true, ...(fields && { fields }) }),
              ).toBe(expected);
            }
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test("a record cannot make columns without end", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(50)}1${"}".repeat(50)}`) as object;
    expect(render("csv", [page(deep)]).split("\n")[0]).toBe("a.a.a.a.a.a.a");
  });

  test("a small document of its own", () => {
    expect(
      csvDocument(
        ["department", "count"],
        [
          ["Sales", 12],
          ["=x", 0],
        ],
      ),
    ).toBe("department,count\nSales,12\n'=x,0\n");
    expect(csvDocument(["a"], [["x"]], { excel: true, raw: true })).toBe("\ufeffa\r\nx\r\n");
  });
});

describe("parquet", () => {
  test("columns are typed by every value of the run", async () => {
    const pages = [
      raw(
        '[{"id":"a","connections":5,"big":1,"half":1,"mixed":1,"born":"2000-02-29","list":[{"a":1},"b"],"x":{"y":1.5},"ok":true,"specialties":["a","b"],"Name":1}]',
      ),
      raw(
        '[{"id":"b","big":9007199254740993,"half":0.5,"mixed":"=x","updated_at":"2026-01-01T00:00:00.123456+01:00","name":"\\ud800","seen":"2026-02-30T10:00:00Z"}]',
      ),
    ];
    const file = join(folder, "people's.parquet");
    const columns = await writeParquet({ pages: () => pages, kind: "person", file });
    expect(columns).toEqual([
      "id",
      "name",
      "connections",
      "updated_at",
      "Name_2",
      "big",
      "born",
      "half",
      "list",
      "mixed",
      "ok",
      "seen",
      "specialties",
      "x.y",
    ]);
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const connection = await (await DuckDBInstance.create()).connect();
    const source = `'${file.replaceAll("'", "''")}'`;
    const types = (
      await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`)
    ).getRowsJson();
    expect(Object.fromEntries(types.map(([name, type]) => [name, type]))).toEqual({
      id: "VARCHAR",
      name: "VARCHAR",
      connections: "BIGINT",
      updated_at: "TIMESTAMP WITH TIME ZONE",
      Name_2: "BIGINT",
      big: "BIGINT",
      born: "DATE",
      half: "DOUBLE",
      list: "VARCHAR",
      mixed: "VARCHAR",
      ok: "BOOLEAN",
      // A day that the calendar has not.
      seen: "VARCHAR",
      specialties: "VARCHAR[]",
      "x.y": "DOUBLE",
    });
    const rows = (await connection.runAndReadAll(`SELECT * FROM ${source}`)).getRowObjectsJson();
    expect(rows).toMatchObject([
      {
        id: "a",
        connections: "5",
        big: "1",
        half: 1,
        mixed: "1",
        ok: true,
        specialties: ["a", "b"],
        "x.y": 1.5,
      },
      {
        id: "b",
        big: "9007199254740993",
        half: 0.5,
        mixed: "=x",
        name: "\ufffd",
        connections: null,
      },
    ]);
    expect(rows[0]).toMatchObject({ born: "2000-02-29", list: '[{"a":1},"b"]' });
    expect(rows[1]?.updated_at).toBe("2025-12-31 23:00:00.123456+00");
    expect(readdirSync(folder)).toEqual(["people's.parquet"]);
  });

  test("an empty run has the published columns; pinned columns are kept in order", async () => {
    const empty = join(folder, "empty.parquet");
    expect(await writeParquet({ pages: () => [], kind: "person", file: empty })).toEqual([
      ...PERSON_FIELDS,
    ]);
    const some = join(folder, "some.parquet");
    const pages = () => [
      page(...Array.from({ length: 5000 }, (_, index) => ({ id: `p${index}`, n: index }))),
    ];
    expect(await writeParquet({ pages, kind: "person", file: some, columns: ["n", "id"] })).toEqual(
      ["n", "id"],
    );
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const connection = await (await DuckDBInstance.create()).connect();
    const order = await connection.runAndReadAll(
      `SELECT count(*), bool_and(n = file_row_number) FROM read_parquet('${some}', file_row_number = true)`,
    );
    expect(order.getRowsJson()).toEqual([["5000", true]]);
  });
});

describe("choices", () => {
  test("fields are read, checked, and a wrong one gets the nearest", () => {
    expect(parseFields("name, title")).toEqual(["name", "title"]);
    expect(usage(() => parseFields("a,,b")).message).toContain("empty name");
    expect(usage(() => parseFields("a,a")).message).toContain("a twice");
    checkFields(["name", "x.y"], "person");
    checkFields(["email"], "person", new Set(["email"]));
    const error = usage(() => checkFields(["titel"], "person"));
    expect(error.message).toMatch(
      /^unknown field: titel \(did you mean title\?\); fields of a person: id, network_url/,
    );
    expect(error.hint).toContain("runs export");
    expect(usage(() => checkFields(["employee_count"], "person")).code).toBe("unknown_field");
  });

  test("the format follows the name, the ending, then the stream", () => {
    const cases: readonly (readonly [
      named: string | undefined,
      file: string | undefined,
      form: string,
    ])[] = [
      [undefined, undefined, "ndjson"],
      [undefined, "a.CSV", "csv"],
      [undefined, "b.c/x.jsonl", "ndjson"],
      ["JSON", "x.csv", "json"],
      ["parquet", "x", "parquet"],
      [undefined, "a.tsv", "tsv"],
      [undefined, "a.b.xlsx", "xlsx"],
      [undefined, "a.csv.gz", "csv.gz"],
      [undefined, "A.NDJSON.GZ", "ndjson.gz"],
      // What the name says of packing holds where the format alone is named; what is named wins.
      ["csv", "a.json.gz", "csv.gz"],
      ["csv.gz", "a.csv", "csv.gz"],
      ["Json", "mail.txt.gz", "json.gz"],
      ["csv.gz", undefined, "csv.gz"],
    ];
    for (const [named, file, form] of cases)
      expect(formName(chooseForm(named, file, false))).toBe(form);
    expect(chooseForm(undefined, undefined, true).format).toBe("table");
    for (const [named, file, said, hint] of [
      [undefined, "a.gz", "does not tell the format", "--format csv"],
      [undefined, "csv", "does not tell the format", "--format csv"],
      [undefined, "a.zip", "does not tell the format", ".csv.gz"],
      [undefined, "/dev/null", "/dev/null is no regular file", "without -o"],
      [undefined, "/tmp", "/tmp is a folder, not a file", "name a file in it: /tmp/people.csv"],
      [undefined, "a.xlsx.gz", "compressed in itself", "leave .gz out"],
      ["parquet.gz", "a", "compressed in itself", "leave .gz out"],
      ["xlsx", undefined, "needs a file", "-o people.xlsx"],
      ["csv.gz", undefined, "nothing for a terminal", "-o people.csv.gz"],
      ["cs.gz", undefined, "unknown format: cs.gz", undefined],
    ] as const) {
      const refused = usage(() => chooseForm(named, file, true));
      expect(refused.message).toContain(said);
      if (hint !== undefined) expect(`${refused.hint}`).toContain(hint);
    }
    expect(usage(() => chooseForm("cvs", undefined, true)).message).toContain("did you mean csv?");
    expect(usage(() => chooseForm(undefined, "people.txt", true)).message).toContain("people.txt");
    expect(`${usage(() => chooseForm(undefined, "people", true)).hint}`).toContain("--format csv");
    expect(usage(() => chooseForm("parquet", undefined, false)).message).toContain("file");
  });
});

test.each([
  ["/a/fr.csv", "/a/fr.added.csv"],
  ["/a/fr.csv.gz", "/a/fr.added.csv.gz"],
  ["fr.NDJSON.GZ", "fr.added.NDJSON.GZ"],
  ["/a.b/list", "/a.b/list.added"],
])("beside %s stands %s", (list, beside) => {
  expect(besideName(list, "added")).toBe(beside);
});
