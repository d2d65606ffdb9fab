import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tempDir } from "../support/client.ts";
import { userOfVendor } from "../support/vendor-user.ts";
import { millionthsOf } from "../support/vendors/shared.ts";

// A vendor of a few lines that answers whole and otherwise than its file says: it is asked once,
// what came is kept, and both sides are named.

interface Odd {
  /** What stands in place of the rows of its one stage, which cost 1 each. */
  readonly rows?: (rows: readonly object[]) => unknown;
  readonly ids?: (ids: readonly string[]) => unknown;
  /** What a read tells, which costs 2. */
  readonly read?: (row: object) => unknown;
  readonly total?: unknown;
  /** What each page costs, in place of its rows. */
  readonly page?: number;
  /** What each call costs that is free by the file. */
  readonly toll?: number;
  /** So many rows a page has, whatever is asked for. */
  readonly most?: number;
  /** Where each page leads to; undefined: to the one behind it. */
  readonly leads?: (at: number) => string;
  /** So many paid calls are answered, and each after them is refused. */
  readonly answers?: number;
  /** What each row costs from the one on that has this number; nobody but the account tells it. */
  readonly dearer?: { readonly from: number; readonly each: number };
  /** What it answers to paid calls from this one on, counted from 1, so many times. */
  readonly fails?: {
    readonly from: number;
    readonly times: number;
    readonly status: number;
    readonly text: string;
  };
  /** What it answers first to whatever is asked, declared or not. */
  readonly begins?: { readonly status: number; readonly text: string };
  /** In ms, before each answer. */
  readonly slow?: number;
  /** How its text is spelled. */
  readonly spelled?: (text: string) => string;
}

const PEOPLE = Array.from({ length: 6 }, (_, at) => ({ id: `v${at}`, country: "Germany" }));

const FILE = {
  dialect: 1,
  name: "odd",
  base: "https://odd.example",
  headers: { key: "{key}" },
  filters: { country: { any: { country: "@values" } } },
  calls: {
    search: {
      method: "POST",
      path: "/find",
      body: { "*": "@filters", n: "@rows", at: "@cursor" },
      reply: { rows: "rows", total: "total", next: "next", charged: "cost", balance: "left" },
      pages: { by: "cursor", size: [1, 10] },
      price: { per: "row", credits: "1" },
    },
    count: {
      method: "POST",
      path: "/count",
      body: { "*": "@filters" },
      reply: { total: "total" },
      price: { per: "call", credits: "0" },
    },
  },
  means: [
    { status: 401, is: "key" },
    { status: 400, is: "refused" },
  ],
  record: { id: "id", country: "country" },
  ids: { lasting: true },
};

const BY_IDS = {
  ...FILE,
  calls: {
    search: {
      ...FILE.calls.search,
      path: "/ids",
      gives: "ids",
      reply: { rows: "ids", total: "total", next: "next" },
      price: { per: "request", credits: "0" },
    },
    read: {
      method: "GET",
      path: "/read/{id}",
      reply: { row: "", balance: "header:x-left" },
      price: { per: "row", credits: "2", none: "0" },
    },
    count: { use: "search", rows: 1 },
  },
};

async function userOf(file: object | string, odd: Odd = {}) {
  const book = { calls: [] as string[], sizes: [] as number[], charged: 0 };
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    let text = "";
    for await (const piece of request) text += String(piece);
    const asked = text === "" ? {} : JSON.parse(text);
    book.calls.push(path);
    const isPaid = path === "/find" || path.startsWith("/read/");
    if (
      isPaid &&
      book.calls.filter((one) => one !== "/count" && one !== "/ids").length >
        (odd.answers ?? Infinity)
    ) {
      response.writeHead(400);
      response.end('{"error":"no such thing"}');
      return;
    }

    if (odd.begins !== undefined && book.calls.length === 1) {
      response.writeHead(odd.begins.status, { location: "/elsewhere" });
      response.end(odd.begins.text);
      return;
    }

    const { from: failing = Infinity, times = 0, status = 500, text: why = "" } = odd.fails ?? {};
    const paidCalls = book.calls.filter(
      (one) => one === "/find" || one.startsWith("/read/"),
    ).length;
    if (isPaid && paidCalls >= failing && paidCalls < failing + times) {
      response.writeHead(status, {
        "content-type": why.startsWith("<") ? "text/html" : "application/json",
      });
      response.end(why);
      return;
    }

    if (odd.slow) await new Promise((done) => setTimeout(done, odd.slow));
    const found = JSON.stringify(asked).includes("zz") ? [] : PEOPLE;
    const total = found.length === 0 ? 0 : (odd.total ?? found.length);
    const behind = asked.page === undefined ? (asked.at ?? 0) : (asked.page - 1) * asked.n;
    const at = Number(String(behind).split("/")[0]);
    const some = found.slice(at, at + Math.min(asked.n ?? 1, odd.most ?? Infinity));
    const next =
      odd.leads?.(at) ?? (at + some.length < found.length ? String(at + some.length) : null);
    if (path === "/count" || path === "/ids") book.charged += odd.toll ?? 0;
    const left = 100 - book.charged - (path === "/count" ? (odd.toll ?? 0) : 0);
    let reply: unknown = { total, cost: odd.toll, left };
    if (path === "/me") reply = { left: 100 - book.charged };
    if (path === "/find") {
      const { from = Infinity, each = 1 } = odd.dearer ?? {};
      const before = book.charged;
      if (odd.page !== undefined) book.charged += odd.page;
      else for (const row of some) book.charged += PEOPLE.indexOf(row) >= from ? each : 1;
      book.sizes.push(asked.n);
      const rows = odd.rows?.(some) ?? { rows: some };
      const more = at + some.length < found.length;
      const cost = book.charged - before;
      reply = { ...rows, total, next, more, cost, left: 100 - book.charged };
    } else if (path === "/ids") {
      const ids = some.map(({ id }) => id);
      reply = { ids: odd.ids?.(ids) ?? ids, total, next };
    } else if (path.startsWith("/read/")) {
      const people = PEOPLE.filter(({ id }) => asked.ids?.includes(id));
      book.charged += 2 * (asked.ids === undefined ? 1 : people.length);
      const row = PEOPLE.find(({ id }) => path.endsWith(id)) ?? {};
      const one = asked.ids === undefined ? row : people;
      reply = odd.read === undefined ? one : odd.read(one);
    }
    response.writeHead(200, { "x-left": String(100 - book.charged) });
    const spelled = JSON.stringify(reply);
    response.end(odd.spelled?.(spelled) ?? spelled);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => void server.close());

  const path = join(tempDir("headcount-odd-"), "odd.json");
  writeFileSync(path, typeof file === "string" ? file : JSON.stringify(file));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const vendor = { url, key: "k_0123456789abcdef" } as never;
  const user = await userOfVendor(vendor, path);
  expect(user.added.code, user.added.stderr).toBe(0);
  const add = (name: string) =>
    user.run(`connections add ${name} --dialect ${path} --base-url ${url}`);
  return { ...user, add, book };
}

const BUY = "search -c v --country Germany -o o.ndjson --max-credits 20 --yes";
const runIn = (text: string): string => /runs export (\S+)/.exec(text)?.[1] ?? "";

test.each<[string, object, Odd, string, number]>([
  [
    "rows stand elsewhere",
    FILE,
    { rows: (rows) => ({ data: { items: rows } }) },
    'a list of people at "rows"; nothing stands there, beside data, total',
    1,
  ],
  [
    "a record in place of a list",
    FILE,
    { rows: ([row]) => ({ rows: row }) },
    'a list of people at "rows"; there is {"id":"v0"',
    1,
  ],
  [
    "an error that is a success",
    FILE,
    { rows: () => ({ error: "quota" }) },
    'a list of people at "rows"; nothing stands there, beside error, total',
    1,
  ],
  [
    "a profile that is under another name",
    {
      ...BY_IDS,
      calls: { ...BY_IDS.calls, read: { ...BY_IDS.calls.read, reply: { row: "who" } } },
    },
    {},
    'a record at "who"; nothing stands there, beside id, country',
    2,
  ],
  [
    "a list in place of a profile",
    BY_IDS,
    { read: (row) => [row] },
    'a record at ""; there is [{"id":"v0"',
    2,
  ],
  [
    "people that are texts",
    FILE,
    { rows: () => ({ rows: ["Ada"] }) },
    'a list of people at "rows"; there is ["Ada"]',
    1,
  ],
])("%s: paid for once, kept, and not asked for again", async (_, file, odd, says, charged) => {
  const { run, spend, book } = await userOf(file, odd);
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(5);
  expect(ran.stderr).toContain(`odd answers otherwise than its file says: ${says}`);
  expect(book.charged).toBe(charged);
  expect(await spend()).toMatchObject({ settled: millionthsOf(String(charged)), uncertain: 0n });

  const calls = book.calls.length;
  const again = await run(`resume ${runIn(ran.stderr)} --yes`);
  expect(again.code, again.stderr).not.toBe(0);
  expect(book.calls.length).toBe(calls);
});

const { count: ______, ...uncounted } = FILE.calls;

/** Whoever was asked before a name was tried, and what that took: 1 is the name. */
test.each<[string, object, NonNullable<Odd["begins"]>, number, string, number]>([
  ["a redirect of a count", FILE, { status: 307, text: "" }, 8, "answered 307, of which", 2],
  ["a count nobody answers", FILE, { status: 404, text: "<p>" }, 8, "answered 404, of which", 2],
  ["a success without a count", FILE, { status: 200, text: "{}" }, 5, 'number at "total"', 2],
  ["a declared refusal of a count", FILE, { status: 400, text: "{}" }, 0, "", 1],
  ["a redirect of ids", BY_IDS, { status: 307, text: "" }, 8, "connections add ... --base-url", 2],
])("%s tells whether a filter is heeded only where the file says so", async (...given) => {
  const [, file, begins, code, says, calls] = given;
  const { run, book } = await userOf(file, { begins });
  const ran = await run("count -c v --country Germany");
  expect(ran.code, ran.stderr).toBe(code);
  expect(ran.stderr).toContain(says);
  expect(ran.stderr).not.toContain("filters lists");

  const before = book.calls.length;
  expect(await run("count -c v --country Germany")).toMatchObject({ code: 0, stdout: "6\n" });
  expect(book.calls.length - before).toBe(calls);
});

test.each([
  [405, 8, [1, 1, 5]],
  [400, 0, [1, 5]],
])("the first page answered %i: only what is declared is kept", async (status, code, sizes) => {
  const file = { ...FILE, calls: uncounted };
  const { run, book } = await userOf(file, { begins: { status, text: "{}" } });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(code);
  if (code !== 0) expect((await run(`${BUY} --again --overwrite`)).code).toBe(0);
  expect(book).toMatchObject({ charged: 6, sizes });
});

const SEVERAL = {
  ...BY_IDS,
  calls: {
    ...BY_IDS.calls,
    read: {
      ...BY_IDS.calls.read,
      method: "POST",
      path: "/read/several",
      body: { ids: "@ids" },
      most: 10,
      reply: { rows: "", balance: "header:x-left" },
    },
  },
};

/** The person of that id is something else. */
const inPlaceOf =
  (wanted: string, value: unknown) =>
  (rows: unknown): unknown[] =>
    (rows as readonly { readonly id: string }[]).map((row) => (row.id === wanted ? value : row));

test.each<[string, object, Odd, number]>([
  ...[null, "Ada", 7, []].map((value): [string, object, Odd, number] => {
    const put = inPlaceOf("v3", value);
    return [`${JSON.stringify(value)} on a page`, FILE, { rows: (of) => ({ rows: put(of) }) }, 6];
  }),
  ["a text among those who are read", SEVERAL, { read: inPlaceOf("v3", "Ada") }, 12],
])("%s holds its place: the others come, and it is unread", async (_, file, odd, charged) => {
  const { run, rows, book, dir } = await userOf(file, odd);
  const ran = await run(`${BUY} --receipt r.json`);
  expect(ran.code, ran.stderr).toBe(5);
  expect(ran.stderr).toContain("1 paid row cannot be read");
  expect(rows("o.ndjson").map(({ id }) => id)).toEqual(["v0", "v1", "v2", "v4", "v5"]);
  const receipt = JSON.parse(readFileSync(join(dir, "r.json"), "utf8"));
  expect(receipt).toMatchObject({ received: 5, unread: 1, credits: charged });
  expect(book.charged).toBe(charged);

  const calls = book.calls.length;
  await run("resume last --yes --overwrite --max-credits 40");
  expect(book.calls.length).toBe(calls);
});

test("null among those who are read is whom nobody is found for, and costs nothing", async () => {
  const read = (people: object): unknown[] => [...(people as object[]), null];
  const { run, rows, book } = await userOf(SEVERAL, { read });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(0);
  expect(rows("o.ndjson").length).toBe(6);
  expect(book.charged).toBe(12);
});

test("what nobody costs is held against the file", async () => {
  const { run, book } = await userOf(BY_IDS, { read: () => null });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(5);
  expect(ran.stderr).toContain(
    "odd charged 2 credits for a call that brought nobody, which by its",
  );
  // The first one is what the balance is known by.
  expect(book.charged).toBe(4);
});

const { search } = FILE.calls;
const { total: ____, next, ...rest } = search.reply;
const MORE = { ...rest, more: "more" };
const PAGES = { by: "offset", size: [1, 10] };

const BY_OFFSETS = { body: { "*": "@filters", n: "@rows", at: "@offset" }, reply: rest };

/** All of them came, nobody twice. */
async function buysAll(file: object, odd: Odd) {
  const { run, rows, book } = await userOf(file, odd);
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(0);
  expect(rows("o.ndjson").map(({ id }) => id)).toEqual(PEOPLE.map(({ id }) => id));
  return book;
}

test.each<[string, object, Odd]>([
  ["a cap behind its depth divides nothing", { ...BY_OFFSETS, pages: { ...PAGES, depth: 3 } }, {}],
  [
    "a short page of one size leads on by that size",
    { reply: { ...rest, next }, pages: { ...search.pages, one_size: true, end: ["no next"] } },
    { most: 3 },
  ],
])("where nobody counts, %s", async (_, own, odd) => {
  const file = { ...FILE, calls: { search: { ...search, ...own } } };
  expect((await buysAll(file, odd)).charged).toBe(6);
});

test("where nobody counts, the total of the first page is believed: none is asked for behind it", async () => {
  const own = {
    body: { "*": "@filters", n: "@rows", page: "@page" },
    reply: { ...rest, total: "total" },
    pages: { by: "page", size: [6, 6] },
    price: { per: "request", credits: "1" },
  };
  const file = { ...FILE, calls: { search: { ...search, ...own } } };
  expect(await buysAll(file, { page: 1 })).toMatchObject({ charged: 1, sizes: [6] });
});

test("a page that is refused behind the depth of its file is what that says, and no fault of a filter", async () => {
  const own = { ...BY_OFFSETS, pages: { by: "offset", size: [1, 1], depth: 3 } };
  const file = { ...FILE, calls: { search: { ...search, ...own } } };
  // One of them tries the filter.
  const { run, book } = await userOf(file, { answers: 4 });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(5);
  expect(ran.stderr).toContain("does not go deeper than row 3 of this segment");
  expect(book.charged).toBe(3);
});

test("of more people than a file's depth is told how many there are, and what may be bought", async () => {
  const own = { ...BY_OFFSETS, pages: { ...PAGES, depth: 3 } };
  const file = { ...FILE, calls: { ...FILE.calls, search: { ...search, ...own } } };
  const { run, book } = await userOf(file);
  for (const line of [BUY, `${BUY} --dry-run`]) {
    const ran = await run(line);
    expect(ran.code, ran.stderr).toBe(2);
    expect(ran.stderr).toContain("odd gives 3 rows of one segment at most, of 6");
    expect(ran.stderr).toContain("hint: --limit 3 buys those");
  }
  expect(book.charged).toBe(0);

  const ran = await run(`${BUY} --limit 3`);
  expect(ran.code, ran.stderr).toBe(0);
  expect(book.charged).toBe(3);
});

test("what the first call takes where all pages have one size is in the quote", async () => {
  const own = { pages: { ...search.pages, one_size: true } };
  const { run, book } = await userOf({
    ...FILE,
    calls: { ...FILE.calls, search: { ...search, ...own } },
  });
  const ran = await run(`${BUY} --dry-run`);
  expect(ran.stdout + ran.stderr).toMatch(/the first call takes up to 6 credits/);
  const quote = JSON.parse((await run(`${BUY} --dry-run --json`)).stdout);
  expect(quote).toMatchObject({ credits: 6, first_call: 6 });
  const refused = await run(BUY.replace("20", "0.5"));
  expect(refused.code, refused.stderr).toBe(4);
  expect(book.charged).toBe(0);
});

test.each<[string, object, Odd]>([
  [
    "a last page that leads on has nothing behind it",
    { reply: { ...MORE, next } },
    { leads: (at) => String(at === 0 ? 1 : at + 3), most: 3 },
  ],
  [
    "a page of fewer than were asked for is not the last",
    { body: { "*": "@filters", n: "@rows", at: "@offset" }, reply: MORE, pages: PAGES },
    { most: 2 },
  ],
])("where a reply says whether more follows, %s", async (_, own, odd) => {
  const file = { ...FILE, calls: { search: { ...search, ...own } } };
  expect((await buysAll(file, odd)).charged).toBe(6);
});

test("what others buy by the same key is not this purchase's, where that is said", async () => {
  const reply = { rows: "rows", total: "total", next: "next", balance: "left" };
  const file = { ...FILE, calls: { ...FILE.calls, search: { ...search, reply } } };
  const odd = { dearer: { from: 1, each: 2 } };
  expect((await (await userOf(file, odd)).run(BUY)).code).toBe(5);

  const { run, spend } = await userOf({ ...file, shared: true }, odd);
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(0);
  expect((await spend()).settled).toBe(millionthsOf("6"));
});

test("an id that is found twice is read once", async () => {
  const { run, rows, book } = await userOf(BY_IDS, { ids: (ids) => [ids[0], ...ids] });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(0);
  expect(rows("o.ndjson").length).toBe(6);
  expect(book.charged).toBe(12);
});

test.each([
  ["10000+", 'there is "10000+"'],
  [-1, "there is -1"],
  [{ value: 6, relation: "gte" }, 'there is {"value":6,"relation":"gte"}'],
])("a total that is %j is no count, and is asked for once", async (total, says) => {
  const { run, book } = await userOf(FILE, { total });
  const ran = await run("count -c v --country Germany");
  expect(ran.code, ran.stderr).toBe(5);
  expect(ran.stderr).toContain(
    `odd answers otherwise than its file says: a whole number at "total"`,
  );
  expect(ran.stderr).toContain(says);
  expect(book.calls).toEqual(["/count", "/count"]);
});

test("ids that are objects are named, and nothing is read", async () => {
  const { run, book } = await userOf(BY_IDS, { ids: (ids) => ids.map((id) => ({ id })) });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(5);
  expect(ran.stderr).toContain('a list of ids at "ids"; there is [{"id":"v0"}');
  expect(book.charged).toBe(0);
});

test.each([
  ["of a page", FILE],
  ["of one read", BY_IDS],
])("the vendor's own row %s is told with the digits and the order that it has", async (_, file) => {
  const spelled = (text: string): string =>
    text.replace(/"id":"(v\d)",/g, '"n" : 1.50,\n "big": 12345678901234567890, "id":"$1",');
  const { run, dir } = await userOf(file, { spelled });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(0);
  const [first = ""] = readFileSync(join(dir, "o.ndjson"), "utf8").split("\n");
  const wanted = '"vendor":{"n":1.50,"big":12345678901234567890,"id":"v0","country":"Germany"}';
  expect(first.replace(/\s/g, "")).toContain(wanted);
});

const COUNT = FILE.calls.count;
const countTelling = (reply: object): object => ({
  ...FILE,
  calls: { ...FILE.calls, count: { ...COUNT, reply: { total: "total", ...reply } } },
});

test.each<[string, object, string, number]>([
  [
    "a count that tells what it cost",
    countTelling({ charged: "cost" }),
    "count -c v --country Germany",
    1,
  ],
  // The first one says how much there is, the second that it fell.
  [
    "a count by which the balance falls",
    countTelling({ balance: "left" }),
    "count -c v --country Germany",
    2,
  ],
  ["a count before a purchase", countTelling({ charged: "cost" }), BUY, 1],
  [
    "ids that are found",
    {
      ...BY_IDS,
      calls: {
        ...BY_IDS.calls,
        search: {
          ...BY_IDS.calls.search,
          reply: { ...BY_IDS.calls.search.reply, balance: "header:x-left" },
        },
      },
    },
    BUY,
    2,
  ],
])("%s stops at once, with both prices", async (_, file, line, calls) => {
  const { run, book, spend } = await userOf(file, { toll: 3 });
  const ran = await run(line);
  expect(ran.code, ran.stderr).toBe(5);
  // What it took is of no run, and of the books all the same.
  expect(await spend()).toMatchObject({ settled: millionthsOf("3") });
  expect(ran.stderr).toContain(
    "odd charged 3 credits for a call that sells nobody, which by its file costs 0 credits",
  );
  expect(book.calls.length, book.calls.join()).toBe(calls);
});

const { next: _, ...unled } = FILE.calls.search.reply;
const BY_OFFSET = {
  ...FILE,
  calls: {
    ...FILE.calls,
    search: {
      ...FILE.calls.search,
      body: { ...FILE.calls.search.body, at: "@offset" },
      reply: unled,
      pages: { by: "offset", size: [1, 2] },
    },
  },
};

// No size is tried that the file does not have, no wall is made of it, and no list of ids is gone.
test.each<[string, object, number, number]>([
  ["a read by an id", BY_IDS, 2, 4],
  ["a page behind others", BY_OFFSET, 2, 3],
  ["the first page", BY_OFFSET, 0, 0],
])("%s that is refused is refused as it stands, and once", async (_, file, answers, charged) => {
  const { run, book, spend } = await userOf(file, { answers });
  const ran = await run(BUY);
  expect(ran.stderr).toContain('refused the request (400): {"error":"no such thing"}');
  expect(ran.code, ran.stderr).toBe(2);
  const paid = book.calls.filter((path) => path === "/find" || path.startsWith("/read/"));
  // Two pages may be under way at once.
  expect(paid.length, book.calls.join()).toBeLessThanOrEqual(answers + 2);
  expect(await spend()).toMatchObject({ settled: millionthsOf(String(charged)), uncertain: 0n });
});

test("a free call that charges is no purchase: the same search without it says so again", async () => {
  const { run, book } = await userOf(countTelling({ charged: "cost" }), { toll: 0 });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(0);
  expect(book.charged).toBe(6);
});

test.each<[string, (at: number) => string, number]>([
  ["to itself", (at) => String(Math.max(at, 1)), 2],
  ["back to an earlier one", (at) => (at < 2 ? String(at + 1) : "1"), 3],
])("a page that leads %s is not paid for again", async (_, leads, charged) => {
  const file = {
    ...FILE,
    calls: {
      ...FILE.calls,
      search: { ...FILE.calls.search, pages: { by: "cursor", size: [1, 1] } },
    },
  };
  const { run, book, spend } = await userOf(file, { leads });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).not.toBe(0);
  expect(book.charged, ran.stderr).toBe(charged);
  expect(await spend()).toMatchObject({ settled: millionthsOf(String(charged)), uncertain: 0n });
});

test.each([1, 2, 10])(
  "a first page that leads back under a new name is seen at once, in pages of %i",
  async (size) => {
    const pages = { by: "cursor", size: [1, size] };
    const file = { ...FILE, calls: { ...FILE.calls, search: { ...FILE.calls.search, pages } } };
    const { run, book, spend } = await userOf(file, { leads: () => `0/${randomUUID()}` });
    const ran = await run(BUY);
    expect(ran.code, ran.stderr).toBe(5);
    expect(book.charged, ran.stderr).toBe(1 + Math.min(size, PEOPLE.length - 1));
    expect(ran.stderr).toMatch(/gave a page twice|came twice/);
    expect(await spend()).toMatchObject({ uncertain: 0n });
  },
);

const { charged: __, balance: ___, ...untold } = FILE.calls.search.reply;
const BY_ACCOUNT = {
  ...FILE,
  calls: {
    ...FILE.calls,
    search: {
      ...FILE.calls.search,
      reply: untold,
      pages: { by: "cursor", size: [1, 2] },
    },
    account: { method: "GET", path: "/me", reply: { balance: "left" } },
  },
};

// That others spent it nobody can exclude: so it ends as others' spending does.
test("a price that rises later is said at the end where only the account tells it, and booked apart", async () => {
  const { run, book, spend } = await userOf(BY_ACCOUNT, { dearer: { from: 3, each: 2 } });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stderr).toContain("notice: 3 credits more left the balance than the answers tell");
  expect(book.charged).toBe(9);
  const [settled, foreign] = [millionthsOf("6"), millionthsOf("3")];
  expect(await spend()).toMatchObject({ settled, foreign, uncertain: 0n });
});

const UNCOUNTED = { search: FILE.calls.search };
const searching = (search: object, calls: object = UNCOUNTED): object => ({
  ...FILE,
  calls: { ...calls, search: { ...FILE.calls.search, ...search } },
});
const { account } = BY_ACCOUNT.calls;

test.each<[string, object]>([
  ["in the reply", searching({})],
  ["by the balance", searching({ reply: { ...untold, balance: "left" } }, { account })],
])("a filter that is tried for a charge, told %s, is booked, and ends it", async (_, file) => {
  const { run, book, spend } = await userOf(file, { page: 5 });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(5);
  expect(ran.stderr).toContain(
    "odd charged 5 credits for a call that brought nobody, which by its file costs 0 credits",
  );
  expect(book.charged).toBe(5);
  expect(await spend()).toMatchObject({ settled: millionthsOf("5"), uncertain: 0n });
});

test("where nothing counts, whoever asks is told what bounds a search", async () => {
  const { run, book } = await userOf(searching({}));
  const ran = await run("count -c v --country Germany");
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain(
    "hint: a search needs no count: --max-credits N bounds what it buys",
  );
  expect(book.calls).toEqual([]);
});

test("where a call is paid for, whatever it brings, none goes out to try a filter", async () => {
  const price = { per: "request", credits: "2" };
  const file = searching({ pages: { by: "cursor", size: [1, 2] }, price });
  const { run, book, spend, rows } = await userOf(file, { page: 2 });
  const ran = await run(BUY.replace("20", "4"));
  expect(ran.code, ran.stderr).toBe(0);
  expect(rows("o.ndjson").length).toBe(4);
  expect(book).toMatchObject({ charged: 4, sizes: [2, 2] });
  expect(await spend()).toMatchObject({ settled: millionthsOf("4"), uncertain: 0n });
});

const BY_NUMBER = searching(
  {
    body: { "*": "@filters", n: "@rows", page: "@page" },
    reply: { ...unled },
    pages: { by: "page", first: 1, size: [1, 25] },
  },
  FILE.calls,
);

test("of pages by number one row is bought first, and nobody twice", async () => {
  expect(await buysAll(BY_NUMBER, {})).toMatchObject({ charged: 6, sizes: [1, 1, 2, 2] });
});

test.each<[string, Odd, string, number]>([
  ["costs twice as much", { dearer: { from: 0, each: 2 } }, "charged 2 credits for 1 row", 2],
  [
    "is another one",
    { rows: (rows) => ({ rows: rows.map((row) => ({ ...row, country: "Peru" })) }) },
    'row 1 of odd says country "Peru"',
    1,
  ],
])("of pages by number whoever %s is one row", async (_, odd, says, charged) => {
  const { run, book, spend } = await userOf(BY_NUMBER, odd);
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(5);
  expect(ran.stderr).toContain(says);
  expect(book).toMatchObject({ charged, sizes: [1] });
  expect(await spend()).toMatchObject({ settled: millionthsOf(String(charged)), uncertain: 0n });
});

test("the files of the docs are whole, and buy from whom they speak of", async () => {
  const text = readFileSync(new URL("../../docs/reference/dialects.md", import.meta.url), "utf8");
  const blocks = [...text.matchAll(/^```jsonc\n([\s\S]*?)^```$/gm)];
  const [whole = "", search = ""] = blocks.map(([, block = ""]) => block);
  const inPlace = /"search": \{[\s\S]*?\n {4}\}/;
  const story = async (file: string, odd: Odd) => {
    const { run, book, spend } = await userOf(file, odd);
    const ran = await run(BUY);
    expect(ran.code, ran.stderr).toBe(0);
    expect(await spend()).toMatchObject({ settled: millionthsOf(String(book.charged)) });
    return book;
  };

  expect(await story(whole, {})).toMatchObject({ charged: 6, sizes: [1, 1, 1, 2, 2] });
  const other = whole.replace(inPlace, () => `"search": ${search}`);
  expect(await story(other, { page: 5 })).toMatchObject({ charged: 5, sizes: [25] });
});

const HTML = "<html><title>405 Not Allowed</title></html>";
const UNSAID = "of which the file of the vendor says nothing";
const ONCE = { from: 1, times: 1 };
const FROM_TWO = { from: 2, times: 99 };

test.each<[string, object, NonNullable<Odd["fails"]>, number, string, number, number]>([
  ["405", FILE, { ...ONCE, status: 405, text: HTML }, 8, `405, ${UNSAID}: <html>`, 0, 0],
  ["405", BY_IDS, { ...FROM_TWO, status: 405, text: "" }, 8, `405, ${UNSAID}: an empty`, 2, 0],
  ["422", FILE, { ...FROM_TWO, status: 422, text: '{"detail":[]}' }, 5, "1 row (422: {", 1, 0],
  [
    "301",
    FILE,
    { ...FROM_TWO, status: 301, text: "" },
    5,
    "1 row (301: an empty answer 301)",
    1,
    0,
  ],
  ["500", FILE, { ...ONCE, status: 500, text: '{"error":1}' }, 8, "service answered 500: {", 0, 1],
  [
    "502",
    BY_IDS,
    { ...FROM_TWO, status: 502, text: HTML },
    8,
    "service answered 502: <html>",
    2,
    2,
  ],
  // A fault that the balance shows to be free is asked again.
  ["500", BY_ACCOUNT, { ...ONCE, status: 500, text: HTML }, 0, "Exported 6 profiles", 6, 0],
])("an error body with %s is told with that status, and booked", async (...given) => {
  const [, file, fails, code, says, settled, uncertain] = given;
  const { run, book, spend } = await userOf(file, { fails });
  const ran = await run(BUY);
  expect(ran.code, ran.stderr).toBe(code);
  expect(ran.stderr).toContain(says);
  expect(book.charged).toBe(settled);
  const [sure, may] = [millionthsOf(String(settled)), millionthsOf(String(uncertain))];
  expect(await spend()).toMatchObject({ settled: sure, uncertain: may, foreign: 0n });
});

test.each([
  ["ids, and the balance beside them", BY_IDS, 2],
  ["an account", BY_ACCOUNT, 1],
])(
  "two purchases at once with one key, told by %s: neither is taken for the other's price",
  async (_, file, each) => {
    const cities = { ...file.filters, city: { any: { city: "@values" } } };
    const { add, book, run, spend } = await userOf({ ...file, filters: cities }, { slow: 8 });
    await add("w");
    // Whoever comes second owns by then what the first has bought.
    const all = `${BUY} --again`;
    const other = all.replace("-c v", "-c w").replace("--country Germany", "--city Berlin");
    const both = await Promise.all([run(all), run(other.replace("o.ndjson", "w.ndjson"))]);
    for (const { code, stderr } of both) expect(code, stderr).toBe(0);
    expect(book.charged).toBe(12 * each);
    const settled = millionthsOf(String(book.charged));
    expect(await spend()).toEqual({ settled, uncertain: 0n, foreign: 0n });

    const { groups } = JSON.parse((await run("spend --json --by connection")).stdout);
    expect(groups).toMatchObject([
      { connection: "v", settled: 6 * each },
      { connection: "w", settled: 6 * each },
    ]);
  },
);
