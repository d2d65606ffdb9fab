import fc from "fast-check";
import { expect, test } from "vitest";
import { readDialect } from "../../../../src/shared/dialect/read.ts";
import { CliError } from "../../../../src/shared/errors.ts";

const FILE = {
  dialect: 1,
  name: "mine",
  base: "https://api.mine.example",
  headers: { key: "{key}" },
  words: { level: { vp: "VP" } },
  filters: { seniority_level: { any: { level: "@values" }, words: "level" } },
  calls: {
    search: {
      method: "POST",
      path: "/search",
      body: { "*": "@filters", size: "@rows", after: "@cursor" },
      reply: { rows: "rows", next: "next" },
      pages: { by: "cursor", size: [1, 10] },
      price: { per: "row", credits: "0.5" },
    },
  },
  means: [{ status: 404, is: "none" }],
  record: { id: "id" },
};

const text = JSON.stringify(FILE, null, 1);
const refusalOf = async (file: string): Promise<string[]> => {
  const error: unknown = await readDialect(file, "mine.json").catch((reason: unknown) => reason);
  if (!(error instanceof CliError)) throw new Error("it was read");
  expect(error).toMatchObject({ exitCode: 2, code: "invalid_dialect" });
  return [error.message, ...error.details].map(String);
};

test("a file is read as it stands, comments and all", async () => {
  expect(await readDialect(`// ours\n${text}`, "mine.json")).toEqual(FILE);
});

test.each([
  ['"dialect": 1', '"dialect": 2', 'dialect" is 1, not 2'],
  ['"name": "mine"', '"name": "My file"', "it is as"],
  ['"filters": {', '"filtres": {}, "filters": {', 'has no key "filtres" (did you mean "filters"?)'],
  ['"method": "POST"', '"method": "PUT"', "is one of GET, POST, not"],
  [
    '"seniority_level": {',
    '"seniorty_level": {',
    'no filter "seniorty_level" (did you mean "seniority_level"?)',
  ],
  ['"words": "level"', '"words": "levels"', 'has no list "levels"'],
  ['"@values"', '"@filters"', 'nothing fills "filters" here'],
  ['"@cursor"', '"@curser"', 'nothing fills "curser" here'],
  ['"next": "next"', '"total": "n"', 'pages by cursor need "next"'],
  ['"credits": "0.5"', '"credits": "0,5"', "it is as"],
  ['"credits": "0.5"', '"credits": 0.5', "is string, not number"],
  ['"per": "row"', '"per": "rows"', "is one of row, request, started, match, call"],
  ['"id": "id"', '"ident": "id"', 'no row has "ident"'],
  ['"key": "{key}"', '"key": "mine"', "no header holds {key}"],
  ['"rows": "rows"', '"rows": "a..b"', '"a..b" names no place'],
  ['"path": "/search"', '"path": "/search", "gives": "ids"', 'needs a call "read"'],
  ['"path": "/search"', '"path": "search"', "it is as"],
  ['"size": [', '"size": [1, ', "takes 2 to 2"],
  ['"is": "none"', '"is": "nobody"', "is one of ok, none"],
])("%s as %s is refused with its place", async (good, bad, why) => {
  expect(text).toContain(good);
  const said = await refusalOf(text.replace(good, bad));
  expect(said.join("\n")).toContain(why);
  expect(said[0]).toMatch(/^mine\.json:\d+:\d+: /);
});

test("a price that is missing is refused, and said where the call stands", async () => {
  const { price: _, ...search } = FILE.calls.search;
  const lines = JSON.stringify({ ...FILE, calls: { search } }, null, 1);
  const at = lines.split("\n").findIndex((line) => line.includes('"search"')) + 1;
  expect(await refusalOf(lines)).toEqual([
    `mine.json:${at}:13: "search" has no "price": nothing is guessed`,
  ]);
});

test("whatever is cut out of a file or put into it, it is read or refused, and nothing else", async () => {
  const place = fc.nat(text.length);
  const put = fc.constantFrom("", "{}", "[]", "null", '"@x"', "1", '"a"', ",", "}");
  await fc.assert(
    fc.asyncProperty(place, fc.nat(12), put, async (from, length, other) => {
      const broken = text.slice(0, from) + other + text.slice(from + length);
      const error: unknown = await readDialect(broken, "f").catch((reason: unknown) => reason);
      if (error instanceof Error) expect(error).toBeInstanceOf(CliError);
    }),
    { numRuns: 150 },
  );
});
