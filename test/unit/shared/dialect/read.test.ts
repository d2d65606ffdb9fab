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

test("a file that is nested too deep for its reader is told as that", async () => {
  const deep = `{"dialect": ${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  expect((await refusalOf(deep))[0]).toContain("it is nested too deep");
});

test.each([
  ['"dialect": 1', '"dialect": 2', 'dialect" is 1, not 2'],
  ['"name": "mine"', '"name": "My file"', 'is small letters, digits, "-" and "_", 64 at most, not'],
  ['"filters": {', '"filtres": {}, "filters": {', 'has no key "filtres" (did you mean "filters"?)'],
  ['"method": "POST"', '"method": "PUT"', "is one of GET, POST, not"],
  [
    '"seniority_level": {',
    '"seniorty_level": {',
    '"filters" has no key "seniorty_level" (did you mean "seniority_level"?)',
  ],
  ['"words": "level"', '"words": "levels"', 'has no list "levels"'],
  ['"@values"', '"@filters"', 'nothing fills "filters" here'],
  ['"@cursor"', '"@curser"', 'nothing fills "curser" here (did you mean cursor?)'],
  ['"next": "next"', '"total": "n"', 'pages by cursor need "next"'],
  ['"credits": "0.5"', '"credits": "0,5"', "is a text of digits"],
  ['"credits": "0.5"', '"credits": 0.5', "is a text, not a number"],
  ['"per": "row"', '"per": "rows"', "is one of row, request, started, not"],
  ['"id": "id"', '"ident": "id"', '"record" has no key "ident"'],
  ['"key": "{key}"', '"key": "mine"', "no header holds {key}"],
  ['"rows": "rows"', '"rows": "a..b"', 'is a place in the body of a reply, not "a..b"'],
  ['"path": "/search"', '"path": "/search", "gives": "ids"', 'needs a call "read"'],
  ['"path": "/search"', '"path": "search"', 'is a path that begins with one "/"'],
  ['"size": [', '"size": [1, ', "takes 2 to 2"],
  ['"is": "none"', '"is": "nobody"', "is one of ok, none"],
])("%s as %s is refused with its place", async (good, bad, why) => {
  expect(text).toContain(good);
  const said = await refusalOf(text.replace(good, bad));
  expect(said.join("\n")).toContain(why);
  expect(said[0]).toMatch(/^mine\.json:\d+:\d+: /);
});

const { search } = FILE.calls;
const { level } = FILE.words;
const READ = {
  method: "GET",
  path: "/people/{id}",
  reply: { row: "" },
  price: { per: "row", credits: "1" },
};
const COMPANY = { ...READ, path: "/company", record: { id: "id" } };
const IDS = { ...search, gives: "ids", price: { per: "request", credits: "0" } };
const COUNT = {
  method: "POST",
  path: "/count",
  body: { "*": "@filters" },
  reply: { total: "n" },
  price: { per: "call", credits: "0" },
};
const byIds = (ids: object, read: object = {}): object => ({
  calls: { search: { ...IDS, ...ids }, read: { ...READ, ...read } },
});
const STATE = { any: { s: "@values" } };
const together = (group: object, filters: object = {}): object => ({
  filters: { ...FILE.filters, state: STATE, country: { any: { c: "@values" } }, ...filters },
  together: [{ of: ["state", "country"], as: "{state}, {country}", any: { p: "@values" } }, group],
});
const ofSearch = (change: object): object => ({ calls: { search: { ...search, ...change } } });
const ofFilter = (filter: object): object => ({ filters: { country: filter } });
const withCall = (calls: object): object => ({ calls: { search, ...calls } });

// Each of these was taken, and would have bought somebody else, the same page for ever, or nothing.
test.each<[object, string]>([
  [ofSearch({ body: { size: "@rows", after: "@cursor" } }), 'nothing holds "@filters"'],
  [ofSearch({ body: { "*": "@filters", after: "@cursor" } }), 'nothing holds "@rows"'],
  [ofSearch({ body: { "*": "@filters", size: "@rows" } }), 'nothing holds "@cursor"'],
  [ofSearch({ pages: { by: "page", size: [1, 10] } }), 'nothing holds "@page"'],
  [ofSearch({ pages: { by: "cursor", size: [10, 1] } }), "the least comes first"],
  [ofSearch({ pages: { by: "cursor", size: [0, 10] } }), "a whole number of 1 to"],
  [ofSearch({ pages: { by: "cursor", size: [1, 10], first: 5 } }), "a whole number of 0 to 1"],
  [ofSearch({ pages: { by: "cursor", size: [1, 10], end: ["never"] } }), "one of short, none"],
  [ofSearch({ path: "//other.example/search" }), "is a path that"],
  [ofSearch({ path: "/search?size=5" }), "is a path that"],
  [ofSearch({ method: "GET" }), "a GET has no body"],
  [ofSearch({ query: { "filters[]": "@filters" } }), "a query takes texts"],
  [ofSearch({ query: { f: ["@filters"] } }), "a query takes texts"],
  [
    {
      ...ofSearch({ query: { "*": "@filters" } }),
      filters: { country: { any: { terms: { country: "@values" } } } },
    },
    "would say [object Object]",
  ],
  [ofSearch({ reply: { next: "next" } }), '"reply" has no "rows"'],
  [ofSearch({ price: { per: "started", credits: "1" } }), '"started" and "rows"'],
  [ofSearch({ price: { per: "row", credits: "1", rows: 25 } }), '"started" and "rows"'],
  [ofSearch({ price: { per: "call", credits: "1" } }), "is one of row, request, started, not"],
  [ofSearch({ price: { per: "match", credits: "1" } }), "is one of row, request, started, not"],
  [ofSearch({ price: { per: "row", credits: "1", again: "now and then" } }), 'has no key "again"'],
  [ofSearch({ headers: { Host: "other.example" } }), "is no header that a file can send"],
  [{ headers: { key: "{key}\r\nX: y" } }, "is no header that a file can send"],
  [{ headers: { "the key": "{key}" } }, "is no header that a file can send"],
  [ofFilter({ one: { country: "germany" } }), 'nothing holds "@value"'],
  [ofFilter({ any: { country: "@value" } }), 'nothing holds "@values"'],
  [ofFilter({ one: { country: "@value" }, as: "Germany" }), 'nothing holds "@value"'],
  [{ or: { any: [] } }, 'nothing holds "@each"'],
  [
    { together: [{ of: ["state", "country"], as: "{state}", any: { place: "@values" } }] },
    '"as" needs {country} once',
  ],
  [withCall({ read: READ }), "people are read by ids of a search"],
  [
    { calls: { search: { ...search, gives: "ids" }, read: { ...READ, path: "/people" } } },
    'nothing holds "@id" or "@ids"',
  ],
  [
    { calls: { search: { ...search, gives: "ids" }, read: { ...READ, most: 10 } } },
    'nothing holds "@ids"',
  ],
  [withCall({ count: { use: "search", rows: 1 } }), 'where "total" stands, which counts'],
  [
    {
      calls: {
        search: { ...search, reply: { ...search.reply, total: "n" } },
        count: { use: "search", rows: 99 },
      },
    },
    "a page of a search has 1 to 10 rows",
  ],
  [
    withCall({
      count: {
        ...READ,
        path: "/count",
        reply: { total: "n" },
        price: { per: "call", credits: "0" },
      },
    }),
    'nothing holds "@filters"',
  ],
  [withCall({ account: { method: "GET", path: "/me" } }), '"account" has no "reply"'],
  [withCall({ company: COMPANY }), 'nothing holds "@domain" or'],
  [{ means: [{ is: "ok" }] }, "it fits every reply"],
  [{ means: [{ status: 200, equals: 1, is: "none" }] }, '"at" and "equals" are there together'],
  [{ means: [{ status: 999, is: "none" }] }, "a whole number of 100 to 599"],
  [
    { words: { level: { ...level, vp: true } } },
    '"vp" is a text, or a list, or null, or an object, not true or false',
  ],
  [{ words: { level: { ...level, open: "yes" } } }, '"open" is true or false, not a text'],
  [{ words: { level: { vp: [] } } }, "has 0 items"],
  [{ record: { id: "id", name: "jobs[x].name" } }, "is a place in a row"],
  [{ record: { id: "id", name: "header:x-name" } }, "is a place in a row"],
  [{ base: "http://api.mine.example" }, "is an https:// address"],
  [{ base: "https://user:pw@mine.example" }, "is an https:// address"],
  [{ base: "https://mine.example?key=1" }, "is an https:// address"],
  [{ practice: "sandbox" }, 'has no key "practice"'],
  [{ vendor: "a\u001b[31m" }, "is one line of"],
  [{ from: [{ url: "https://mine.example", read: "2026-02-31" }] }, "is a day, as"],
  [{ from: [{ url: "a page", read: "2026-11-28" }] }, "is an address of a page"],
  [{ called: true }, "is false, not true"],
  [{ called: "2026-11-31" }, "is a day, as"],
  [ofSearch({ price: { ...search.price, read: "2026-13-01" } }), "is a day, as"],
  [ofSearch({ price: { ...search.price, again: "free for 0 days" } }), 'has no key "again"'],
  [ofSearch({ price: { per: "row", credits: "007" } }), "is a text of digits"],
  [{ filters: {} }, '"filters" has nothing in it'],
  [
    { filters: { ...FILE.filters, country: { any: { level: "@values" } } } },
    "seniority_level stands at the same place",
  ],
  [
    { filters: { followers_min: { one: { f: "@value" }, words: "level" } } },
    'no "words", no "case"',
  ],
  [
    { filters: { followers_min: { one: { f: "@value" }, case: "lower" } } },
    'no "words", no "case"',
  ],
  [
    { filters: { seniority_level: { ...FILE.filters.seniority_level, case: "lower" } } },
    'nothing heeds "as", nor "case"',
  ],
  [ofFilter({ any: { c: "@values" }, as: "x/{slug}" }), 'nothing fills "slug" here'],
  [ofFilter({ one: { c: "@value", d: "@values" } }), 'nothing fills "values" here'],
  [ofFilter({ one: { c: "@value", d: "@each" } }), 'nothing fills "each"'],
  [
    ofFilter({ any: { c: "@values" }, one: { c: "@value" } }),
    'it has "one" or "any", and not both',
  ],
  [ofFilter({ case: "lower" }), 'it has "one" or "any"'],
  [{ calls: { search, count: { rows: 1 } } }, '"count" has no "use"'],
  [{ record: {} }, '"record" has no "id"'],
  [
    {
      words: { level: { ...level, open: true } },
      filters: { seniority_level: { any: { level: "@values" }, words: "level", as: "x{slug}" } },
    },
    'nothing heeds "as"',
  ],
  [
    together({ of: ["state", "followers_min"], as: "{state} {followers_min}", any: {} }),
    "is a number",
  ],
  [
    together({ of: ["country", "state"], as: "{state} {country}", any: { q: "@values" } }),
    "made one field by an earlier one",
  ],
  [
    together({ of: ["state", "city"], as: "{state} {city:towns}", any: { q: "@values" } }),
    'has no list "towns"',
  ],
  [{ headers: { key: "{key}", KEY: "2" } }, "it stands there already"],
  [{ headers: { key: "{key}", x: "{token}" } }, 'nothing fills "token" here'],
  [ofSearch({ headers: { key: "none" } }), "no header holds {key}"],
  [{ words: { ...FILE.words, other: { a: "b" } } }, "no filter and no record names this list"],
  [{ words: { level: {} } }, '"level" has nothing in it'],
  [{ words: { level: { vp: "" } } }, "is a text that is not empty"],
  [{ words: { level: { vp: ["VP", ""] } } }, "is a text that is not empty"],
  [{ words: { level: { vp: { say: "" } } } }, "is a text that is not empty"],
  [{ words: { level: { vp: "VP", VP: "V" } } }, "the word before it in other letters"],
  [{ means: [{ text: "", is: "none" }] }, "is a text that is not empty"],
  [
    { means: [{ at: "x", equals: null, is: "none" }] },
    "is a text, or a number, or true or false, not null",
  ],
  [
    {
      means: [
        { status: [404, 410], is: "none" },
        { status: 404, is: "gone" },
      ],
    },
    "no reply comes to",
  ],
  [ofSearch({ reply: { ...search.reply, rows: "header:x" } }), "is a place in the body of a reply"],
  [ofSearch({ reply: { ...search.reply, total: "rows" } }), "another stands there already"],
  [ofSearch({ reply: { ...search.reply, row: "x" } }), 'has no key "row"'],
  [ofSearch({ reply: { ...search.reply, id: "id" } }), 'only a search that "gives" ids'],
  [ofSearch({ pages: { by: "cursor", size: [1, 10], end: [] } }), "has 0 items"],
  [
    ofSearch({
      body: { "*": "@filters", size: "@rows", p: "@page" },
      pages: { by: "page", size: [1, 10] },
    }),
    "and no others have it",
  ],
  [
    ofSearch({
      body: { "*": "@filters", size: "@rows", p: "@page" },
      reply: { rows: "rows" },
      pages: { by: "page", size: [1, 10], one_size: true },
    }),
    "are said of cursors",
  ],
  [ofSearch({ body: { ...search.body, not: "@exclude" } }), 'nothing fills "exclude" here'],
  [ofSearch({ body: { ...search.body, more: { "*": "@rows" } } }), 'only "@filters" is spread'],
  [
    ofSearch({ query: { sort: { by: "id" } } }),
    '"sort" is a text, or a number, or true or false, or a list, not an object',
  ],
  [ofSearch({ path: "/../admin" }), "is a path that"],
  [ofSearch({ path: "/a b" }), "is a path that"],
  [ofSearch({ most: 5 }), 'has no key "most"'],
  [ofSearch({ record: { id: "id" } }), 'has no key "record"'],
  [byIds({ price: { per: "request", credits: "1" } }), "ids are found for nothing"],
  [byIds({ price: { per: "request", credits: "0", none: "1" } }), "ids are found for nothing"],
  [byIds({}, { reply: { charged: "c" } }), 'people stand at "rows", or'],
  [byIds({}, { reply: { row: "", rows: "all" } }), 'people stand at "rows", or'],
  [
    byIds({}, { most: 10, path: "/people", query: { ids: "@ids" } }),
    "several in one call stand at",
  ],
  [byIds({}, { each: { kind: "person" } }), 'nothing holds "@id"'],
  [byIds({}, { gives: "ids" }), 'has no key "gives"'],
  [withCall({ count: { ...COUNT, gives: "ids" } }), 'has no key "gives"'],
  [
    withCall({ count: { ...COUNT, price: { per: "row", credits: "1" } } }),
    "is one of call, request",
  ],
  [withCall({ company: { ...COMPANY, reply: { charged: "c" } } }), '"reply" has no "row"'],
  [withCall({ key: { ...READ, path: "/me" } }), '"key" has no key "reply"'],
  [{ record: { id: "id", name: "" } }, "is a place in a row"],
  [{ record: { id: "id", name: "a|" } }, "is a place in a row"],
  [{ record: { id: "id", followers: { at: "f", join: ", " } } }, "a number has no words"],
])("%j is refused with its place and the rule", async (change, why) => {
  const said = await refusalOf(JSON.stringify({ ...FILE, ...change }, null, 1));
  expect(said.join("\n")).toContain(why);
  expect(said[0]).toMatch(/^mine\.json:\d+:\d+: /);
});

test("a price that is missing is refused, and said where the call stands", async () => {
  const { price: _, ...unpriced } = search;
  const lines = JSON.stringify({ ...FILE, calls: { search: unpriced } }, null, 1);
  const at = lines.split("\n").findIndex((line) => line.includes('"search"')) + 1;
  expect(await refusalOf(lines)).toEqual([`mine.json:${at}:13: "search" has no "price"`]);
});

test("of a hole that nothing fills its own place is said, once", async () => {
  const at = text.split("\n").findIndex((line) => line.includes('"@cursor"')) + 1;
  const said = await refusalOf(text.replace('"@cursor"', '"@ofset"'));
  expect(said).toHaveLength(2);
  expect(said[0]).toMatch(`mine.json:${at}:`);
  expect(said[0]).toContain('"ofset" here (did you mean offset?); there is: filters, rows');
});

test.each(["a.b[0]|c", "[0].a", "[k=v].x|b[1][2]", "header:x-a|a", ""])(
  "%j is a place",
  async (total) => {
    const calls = { search: { ...search, reply: { ...search.reply, total } } };
    expect(await readDialect(JSON.stringify({ ...FILE, calls }), "f")).toMatchObject({ calls });
  },
);

test.each(["a..b", "a[", "header:", "header:a b", "a]b", "a[k]", "a|header:", "a."])(
  "%j is no place",
  async (total) => {
    const calls = { search: { ...search, reply: { ...search.reply, total } } };
    const [said] = await refusalOf(JSON.stringify({ ...FILE, calls }));
    expect(said).toContain('"total" is a place in a reply, not');
  },
);

test("a list of words that is open may be spelled by a case", async () => {
  const open = { words: { level: { vp: "VP", open: true } } };
  const filters = { seniority_level: { ...FILE.filters.seniority_level, case: "title" } };
  expect(await readDialect(JSON.stringify({ ...FILE, ...open, filters }), "f")).toMatchObject(open);
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
