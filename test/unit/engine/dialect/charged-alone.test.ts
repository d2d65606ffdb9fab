import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_DIALECT } from "../../../../src/engine/client/dialect.ts";
import { Pacer } from "../../../../src/engine/client/pacing.ts";
import { DialectClient } from "../../../../src/engine/dialect/client.ts";
import { readDialect } from "../../../../src/shared/dialect/read.ts";
import { rawServer, tempDir } from "../../../support/client.ts";

// Where no reply tells a charge a page that was under way alone tells it, by the balance before and after it.

const SEARCH = {
  method: "POST",
  path: "/find",
  body: { "*": "@filters", page: "@page" },
  reply: { rows: "rows", total: "total" },
  pages: { by: "page", first: 1, size: [2, 2] },
  price: { per: "request", credits: "1" },
};

const ACCOUNT = { method: "GET", path: "/me", reply: { balance: "left" } };

const FILE = {
  dialect: 1,
  name: "odd",
  base: "https://odd.example",
  headers: { key: "{key}" },
  filters: { country: { any: { country: "@values" } } },
  calls: { search: SEARCH, account: ACCOUNT },
  means: [{ status: 401, is: "key" }],
  record: { id: "id", country: "country" },
  ids: { lasting: true },
};

/** Its pages tell the balance, too. */
const TELLING = {
  ...FILE,
  calls: { search: { ...SEARCH, reply: { ...SEARCH.reply, balance: "left" } }, account: ACCOUNT },
};

const GERMAN = { country: "Germany" };

const CREDIT = 1_000_000n;

/** A page charges at once. An answer says what was left then, and goes out after what `meanwhile` has for its path does. */
async function opened(file: object = FILE, each = 1) {
  let left = 100;
  const meanwhile: [path: string, does: () => Promise<unknown>][] = [];
  const server = await rawServer(async ({ url }, response) => {
    if (url !== "/me") left -= each;
    const rows = [{ id: `v${left}`, country: "Germany" }];
    const answer = JSON.stringify(url === "/me" ? { left } : { rows, total: 6, left });
    if (meanwhile[0]?.[0] === url) await meanwhile.shift()?.[1]();
    response.end(answer);
  });
  onTestFinished(() => server.close());
  const { url: baseUrl } = server;
  const read = await readDialect(JSON.stringify(file), "odd.json");
  const stateDir = tempDir();

  const connect = () => {
    const apiKey = "k_0123456789abcdef";
    const pacer = new Pacer({ now: Date.now, stateDir, baseUrl, apiKey });
    const options = { baseUrl, apiKey, dialect: DEFAULT_DIALECT, now: Date.now, env: {} };
    const pace = { pacer, now: Date.now, sleep: async () => undefined, maxWaitMs: 0 };
    const client = new DialectClient(read, options, { heeded: ["country"], pace });
    const page = (at: number) =>
      client.searchPage(
        GERMAN,
        { offset: 2 * at, perPage: 2, cursor: undefined },
        { idempotencyKey: "" },
      );
    return { client, page };
  };
  const { client, page } = connect();
  await client.account();
  return { client, connect, meanwhile, page };
}

test.each([1, 2])("a page of %i that was alone tells its price", async (each) => {
  const { page } = await opened(FILE, each);
  expect((await page(0)).price).toMatchObject({ told: BigInt(each) * CREDIT });
});

test("a page that went out while the balance was asked for is no part of the price", async () => {
  const { meanwhile, page } = await opened();
  meanwhile.push(["/me", () => page(1)]);
  expect((await page(0)).price).toMatchObject({ told: undefined });
});

test("of pages that were under way together none tells the price of the next one", async () => {
  const { meanwhile, page } = await opened(TELLING);
  meanwhile.push(["/find", () => page(1)]);
  await page(0);
  // The reply that came last tells the balance before the other page was charged.
  expect((await page(2)).price).toMatchObject({ told: undefined });
  expect((await page(3)).price).toMatchObject({ told: CREDIT });
});

test("a balance that was asked for before a page, and told after it, is not the one after it", async () => {
  const { client, meanwhile, page } = await opened(TELLING);
  meanwhile.push(["/me", () => page(0)]);
  await client.account();
  expect((await page(1)).price).toMatchObject({ told: undefined });
});

test("of another program's pages those that are still under way are none of the price, once one of them has ended", async () => {
  const { connect, meanwhile, page } = await opened(TELLING);
  const other = connect();
  const told: unknown[] = [];
  meanwhile.push([
    "/find",
    async () => {
      await other.page(1);
      for (const at of [2, 3]) told.push((await page(at)).price);
    },
  ]);
  await other.page(0);
  expect(told).toMatchObject([{ told: undefined }, { told: undefined }]);
});

test("a balance is of when its own call went out, not of when a later one did", async () => {
  const { client, connect, meanwhile, page } = await opened(TELLING);
  const other = connect();
  meanwhile.push([
    "/me",
    async () => {
      await other.page(0);
      await client.account();
    },
  ]);
  await client.account();
  expect((await page(1)).price).toMatchObject({ told: undefined });
});
