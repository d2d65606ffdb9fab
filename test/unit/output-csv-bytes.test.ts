import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Rendering } from "../../src/engine/output/formats.ts";
import { collectColumns } from "../../src/shared/rows/columns.ts";
import { Page } from "../../src/shared/rows/page.ts";
import { long } from "../support/long.ts";
import { createView } from "../support/views.ts";

/*
 * Rows that look like the first one of their page are copied from its bytes; all others are parsed. Here the same rows go both
 * ways: behind a first row without keys nothing is known of any of them, and each is parsed.
 */

/** Stands for a byte that no UTF-8 text has. */
const INVALID = "\ue123";

function reply(rows: readonly string[], separator: string): Buffer {
  const text = `{"status":true,"result":[${rows.join(separator)}],"credits_used":0}`;
  const parts = text.split(INVALID).map((part) => Buffer.from(part));
  return Buffer.concat(
    parts.flatMap((part, index) => (index === 0 ? [part] : [Buffer.of(0xff), part])),
  );
}

const copied = (rows: readonly string[], separator = ","): Page =>
  Page.read(reply(rows, separator), "person");
const parsed = (rows: readonly string[], separator = ","): Page =>
  Page.read(reply(["{}", ...rows], separator), "person").select(rows.map((_, index) => index + 1));

/** Everything that a view makes of pages, or that it throws. */
function outcome(
  pages: () => readonly Page[],
  { extra, ...options }: Partial<Rendering> & { readonly extra?: boolean },
): unknown {
  const view = createView({ kind: "person", format: "csv", ...options }, extra);
  try {
    const read = pages();
    // What is no JSON is none of the rows (rows-broken.test.ts): here it matters that both ways see it.
    if (read.some(({ isSound }) => !isSound)) return "no JSON";
    const bytes = Buffer.concat([
      ...read.map((page) => Buffer.from(view.page(page))),
      Buffer.from(view.end()),
    ]);
    return { text: bytes.toString("latin1"), unseen: [...view.unseen].sort() };
  } catch (error) {
    if (error instanceof SyntaxError) return "no JSON";
    throw error;
  }
}

const KEYS = [
  "id",
  "name",
  "title",
  "connections",
  "a",
  "a.b",
  "2",
  "__proto__",
  "ключ",
  "x,y",
  "=f",
  'q"',
  "extra",
];

/** A JSON string in which some code units are escapes, though they need not be: none of 0, all of 11. */
const spelled = (text: string, escapes: number): string =>
  `"${[...text]
    .map((character, at) =>
      ((at + 1) * 7) % 11 < escapes && character !== INVALID
        ? character.replace(
            /./gs,
            (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
          )
        : JSON.stringify(character).slice(1, -1),
    )
    .join("")}"`;

const string = fc
  .tuple(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 14 }),
      fc.string({ maxLength: 30 }),
      fc
        .array(
          fc.constantFrom(
            ..."=+-@ ,\"'\\/\n\r\t;aZ0é＝＋\u00a0\u2003\ufeff\u3000\u1680ह漢😀\u0001\u007f\u0085\u00ad\u061c\u200b\u2060\u08e2\u{1bca0}אع\ud800\udc00",
            INVALID,
          ),
          {
            maxLength: 9,
          },
        )
        .map((characters) => characters.join("")),
      fc.constantFrom(
        "",
        "null",
        "-1",
        "=1,2",
        " =1",
        "＝1",
        "\u00a0@x",
        "\u2028+",
        "berlin, germany",
        'VP "Growth"',
        "\u0000",
      ),
    ),
    fc.constantFrom(0, 0, 0, 4, 7, 11),
  )
  .map(([text, escaped]) => spelled(text, escaped));

const unusual = fc.constantFrom(
  ...[
    '"https:\\/\\/x.example\\/in\\/a"',
    '"a\\/b, c"',
    '"a\\b\\f\\n\\r\\t\\\\"',
    '"\\/=1"',
    '"=\\u00E9"',
    '"x\\uD83D\\uDE00"',
  ],
  ...['"x\\uD83Dx"', '"\\u00e9"', '"\\u003d1"', '"x\\u0022"', '"x\\u000A"', '"a\\u0000b"'],
);
const bare = fc.constantFrom(
  ...[
    "null",
    "true",
    "false",
    "0",
    "-0",
    "7",
    "-7",
    "37",
    "1.0",
    "1.50",
    "-0.5",
    "1e5",
    "1E+2",
    "1e20",
    "1e21",
    "1e-7",
    "1e400",
  ],
  ...[
    "123456789012345",
    "-123456789012345",
    "1234567890123456",
    "9007199254740993",
    "-12345678901234567890",
  ],
);
const nested = fc.constantFrom(
  ...[
    "[]",
    "{}",
    "[1,null,true]",
    '["a","b, c"]',
    '["=1"]',
    '[{"y":1}]',
    '{"b":1}',
    '{"b":{"c":"=2"}}',
    '{"b":2,"c":"x, y","d":{"e":null}}',
    '{"b":"z","c":"","d":{"e":{"f":-0}}}',
    '{"b":null,"c":{},"d":[{"e":1}]}',
    '{"b":null,"b":1}',
    '{"b.c":1,"b":{"c":2}}',
    '{ "b" : 3 , "c":"\\u00e9", "d":{"e":"=1"} }',
    '{"1":{"2":{"3":{"4":{"5":{"6":{"7":{"8":1}}}}}}}}',
    '{"":null}',
  ],
  ...["[9007199254740993]", '["x\\u0000"]', '{"b":[9007199254740993, 1]}', "[[],[1e20]]"],
);
const value = fc.oneof(
  { weight: 6, arbitrary: string },
  { weight: 1, arbitrary: unusual },
  { weight: 3, arbitrary: bare },
  { weight: 1, arbitrary: nested },
);

const member = (key: string, text: string, space: string): string =>
  `${space}${JSON.stringify(key)}${space}:${space}${text}${space}`;

/** How a row departs from the first one's keys. */
const departure = fc.oneof(
  { weight: 8, arbitrary: fc.constant("none" as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("less", "more", "turned", "twice", "spelled", "other", "spaced"),
  },
);

const pageOf = (values: fc.Arbitrary<string>) =>
  fc
    .record({
      keys: fc.uniqueArray(fc.constantFrom(...KEYS), { minLength: 1, maxLength: 9 }),
      space: fc.constantFrom("", "", "", " ", "\n\t"),
      separator: fc.constantFrom(",", ",", " ,\n"),
      rows: fc.array(
        fc.tuple(departure, fc.array(values, { minLength: 10, maxLength: 10 }), fc.nat(8)),
        {
          minLength: 1,
          maxLength: 6,
        },
      ),
    })
    .map(({ keys, space, separator, rows }) => ({
      separator,
      rows: rows.map(([how, values, which]) => {
        if (how === "other") return values[which] ?? "1";
        const own = how === "spaced" ? `${space} ` : space;
        const members = keys.map((key, index) => member(key, values[index] ?? "1", own));
        const at = which % keys.length;
        if (how === "less") members.splice(at, 1);
        if (how === "more") members.splice(at, 0, member("new", values[9] ?? "1", own));
        if (how === "turned") members.reverse();
        if (how === "twice") members.push(member(keys[at] ?? "", values[9] ?? "1", own));
        if (how === "spelled") {
          members[at] =
            `"\\u${(keys[at] ?? "").charCodeAt(0).toString(16).padStart(4, "0")}${JSON.stringify(
              keys[at],
            )
              .slice(2)
              .replace(/^"(?=")/, "")}:1`;
        }
        return `{${members.join(",")}}`;
      }),
    }));

/** Objects alone are records: what is none is kept as broken (rows-broken.test.ts). */
const page = pageOf(value).map((each) => ({
  ...each,
  rows: each.rows.map((row) => (row.trim().startsWith("{") ? row : `{"1":${row}}`)),
}));
/** What is no JSON, though it looks like a value. */
const broken = fc.constantFrom(
  '"x\\u12"',
  '"x\\q"',
  '"\\u00g0"',
  "01",
  "-01",
  "+1",
  "1.",
  "-",
  "tru",
  "nul",
  "falsy",
  "truee",
  "nulll",
  "NaN",
  "1e",
  "[1,]",
  "{'a':1}",
);

const style = fc.record({
  raw: fc.boolean(),
  excel: fc.boolean(),
  extra: fc.boolean(),
  fields: fc.option(
    fc.uniqueArray(fc.constantFrom(...KEYS, "a.b.c", "nothing", "no.thing"), {
      minLength: 1,
      maxLength: 8,
    }),
    {
      nil: undefined,
    },
  ),
});

afterEach(() => vi.restoreAllMocks());

test.each([
  ["shared/rows/rows.as", "shared/rows/machine.ts"],
  ["dataset/embedded/sweep.as", "dataset/embedded/sweep.ts"],
])("the kept code of %s is that of the source: `npm run wasm` makes it anew", (source, kept) => {
  const read = (file: string): Buffer =>
    readFileSync(new URL(`../../src/${file}`, import.meta.url));
  const sum = createHash("sha256").update(read(source)).digest("hex");
  expect(read(kept).toString()).toContain(`by \`npm run wasm\`, of SHA-256\n// ${sum}\n`);
});

describe("rows copied from a page's bytes", () => {
  long("are byte for byte what the parsed rows give", () => {
    fc.assert(
      fc.property(fc.array(page, { minLength: 1, maxLength: 3 }), style, (pages, options) => {
        const fast = outcome(
          () => pages.map(({ rows, separator }) => copied(rows, separator)),
          options,
        );
        expect(fast).toEqual(
          outcome(() => pages.map(({ rows, separator }) => parsed(rows, separator)), options),
        );
      }),
      { numRuns: 3_000 },
    );
  });

  long("give the same rows, ids, lines and columns", async () => {
    await fc.assert(
      fc.asyncProperty(page, async ({ rows, separator }) => {
        const fast = copied(rows, separator);
        const slow = parsed(rows, separator);
        expect(fast.length).toBe(slow.length);
        expect(fast.ndjson().equals(slow.ndjson())).toBe(true);
        for (let index = 0; index < rows.length; index++) {
          for (const keys of [["id"], ["name", "id"], ["2"], ["nothing"]]) {
            expect(fast.identity(index, keys)).toBe(slow.identity(index, keys));
          }
        }
        expect(await collectColumns([fast], "person")).toEqual(
          await collectColumns([slow], "person"),
        );
        expect(fast.rows()).toEqual(slow.rows());
      }),
      { numRuns: 2_000 },
    );
  });

  long(
    "are refused where the parsed rows are: a value that is none, a byte changed, left out or doubled",
    () => {
      const change = fc.tuple(
        fc.nat(10_000),
        fc.constantFrom("nothing", "change", "omit", "double"),
        fc.constantFrom(...'"{}[],:\\0-.n \n\u0001'),
      );
      fc.assert(
        fc.property(
          pageOf(fc.oneof({ weight: 12, arbitrary: value }, { weight: 1, arbitrary: broken })),
          change,
          ({ rows, separator }, [where, how, character]) => {
            const [head = "", ...tail] = rows;
            // The first row stays as it is: it decides which way the others go.
            const text = tail.join(separator);
            const at = text.length === 0 ? 0 : where % text.length;
            const rest =
              how === "nothing"
                ? text
                : text.slice(0, at) +
                  (how === "double"
                    ? `${text[at] ?? ""}${text[at] ?? ""}`
                    : how === "change"
                      ? character
                      : "") +
                  text.slice(at + 1);
            const both = [head, ...(rest === "" ? [] : [rest])];
            const behind = (): Page => {
              const whole = Page.read(reply(["{}", ...both], separator), "person");
              return whole.select(
                Array.from({ length: whole.length - 1 }, (_, index) => index + 1),
              );
            };
            expect(outcome(() => [copied(both, separator)], {})).toEqual(
              outcome(() => [behind()], {}),
            );
          },
        ),
        { numRuns: 3_000 },
      );
    },
  );

  test("need no parsing beyond the names of the keys and texts with escapes of other than quotes, in any order of columns, with gaps, spaces and other scripts", () => {
    const keys = ["id", "name", "location", "connections", "open"];
    const people = Array.from({ length: 50 }, (_, index) => ({
      id: `p${index}`,
      name: ['José "Pepe" Ñ', "王小明", "王小明", "back\\slash", "王小明"][index % 5] ?? "",
      location: "berlin, germany",
      ...(index % 3 === 1 ? {} : { connections: index % 4 === 0 ? null : index * 37 }),
      open: index % 2 === 0,
    }));
    const text = JSON.stringify(people, undefined, 2);
    const view = createView({
      kind: "person",
      format: "csv",
      fields: ["open", "name", "nothing", "connections"],
    });
    const parse = vi.spyOn(JSON, "parse");
    const whole = Page.read(Buffer.from(text), "person");
    expect(whole.identity(49)).toBe("p49");
    const lines = Buffer.from(view.page(whole)).toString().split("\n");
    expect(parse.mock.calls.map(([argument]) => argument)).toEqual([
      ...keys.map((key) => JSON.stringify(key)),
      ...people.map(({ name }) => JSON.stringify(name)).filter((name) => name.includes("\\\\")),
    ]);
    expect(lines).toHaveLength(52);
    expect(lines.slice(0, 4)).toEqual([
      "open,name,nothing,connections",
      'true,"José ""Pepe"" Ñ",,',
      "false,王小明,,",
      "true,王小明,,74",
    ]);
  });

  test("end with the reply: a bare list, whole or cut off anywhere", () => {
    for (const last of ['"x"', '""', "7", "null", '"abcdefg"', "[1]", '"\\\\"']) {
      const list = `[{"id":"a","n":${last}},{"id":"b","n":${last}}]`;
      const whole = Page.read(Buffer.from(list), "person");
      const line = Buffer.from(createView({ kind: "person", format: "csv" }).page(whole))
        .toString()
        .split("\n")[2];
      expect(line).toBe(`b,${last === "null" ? "" : String(JSON.parse(last))}`);
      for (let length = 1; length < list.length; length++) {
        const cut = Page.read(Buffer.from(list.slice(0, length)), "person");
        const view = createView({ kind: "person", format: "csv" });
        const rows = Buffer.from(view.page(cut)).toString().split("\n").slice(1, -1);
        expect(rows.length, list.slice(0, length)).toBe(cut.length);
        expect(cut.isSound, list.slice(0, length)).toBe(false);
      }
    }
  });

  test("a space at an end of a cell stands in quotes, which some readers need to keep it", () => {
    const rows = ["x", " x", "x ", " ", "x y"].map((id) => JSON.stringify({ id, n: " é " }));
    for (const options of [{}, { raw: true }, { format: "tsv" as const }])
      for (const page of [copied(rows), parsed(rows)]) {
        const view = createView({ kind: "person", format: "csv", ...options });
        const lines = Buffer.from(view.page(page)).toString().trim().split("\n").slice(1);
        const cut = lines.map((line) => line.replace(/[,\t]" é "$/, ""));
        expect(cut).toEqual(["x", '" x"', '"x "', '" "', "x y"]);
      }
  });

  test("are good until the next page: the buffer is used again", () => {
    const view = createView({ kind: "person", format: "csv" });
    const first = view.page(copied(['{"id":"a"}']));
    expect(first.toString()).toBe("id\na\n");
    const long = copied(
      Array.from({ length: 3_000 }, (_, index) => `{"id":"${"x".repeat(index % 90)}${index}"}`),
    );
    const lines = view.page(long).toString().split("\n");
    expect(lines).toHaveLength(3_001);
    expect(lines[2_999]).toBe(`${"x".repeat(2_999 % 90)}2999`);
    expect(view.page(copied(['{"id":"b"}'])).toString()).toBe("b\n");
    expect(view.page(copied(['{"id":"c"}', '{"id":tru}'])).toString()).toBe("c\n");
    expect(view.page(copied(['{"id":"d"}'])).toString()).toBe("d\n");
    const lined = createView({ kind: "person", format: "ndjson" });
    for (const id of ["a", "b".repeat(99), "c"]) {
      expect(lined.page(copied([`{"id":"${id}"}`])).toString()).toBe(`{"id":"${id}"}\n`);
    }
  });
});

describe("a page that was let go of", () => {
  const body = (): Buffer => {
    const bytes = reply(['{"id":"p1"}', '{"id":"p2"}'], ",");
    const own = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(own);
    return own;
  };

  test("has no bytes, and its reply has none; what was made of it stays", () => {
    const whole = body();
    const page = Page.read(whole, "person");
    const [lines, rows, rest] = [page.ndjson(), page.rows(), page.select([1])];
    rest.release();
    expect(whole.length).toBe(0);
    expect(lines.toString()).toBe('{"id":"p1"}\n{"id":"p2"}\n');
    expect(rows).toEqual([{ id: "p1" }, { id: "p2" }]);
    page.release();
  });

  test("that is part of a larger buffer stays: others may have the rest", () => {
    const whole = body();
    const larger = Buffer.allocUnsafeSlow(whole.length + 6);
    larger.set(whole);
    larger.write("others", whole.length);
    const page = Page.read(larger.subarray(0, whole.length), "person");
    page.release();
    expect(page.rows()).toHaveLength(2);
    expect(larger.toString().endsWith("others")).toBe(true);
  });
});
