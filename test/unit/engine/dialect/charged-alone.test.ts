import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_DIALECT } from "../../../../src/engine/client/dialect.ts";
import { DialectClient } from "../../../../src/engine/dialect/client.ts";
import { readDialect } from "../../../../src/shared/dialect/read.ts";
import { rawServer } from "../../../support/client.ts";

// Where no reply tells a charge the balance is asked for after a page that was under way alone.

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
      body: { "*": "@filters", page: "@page" },
      reply: { rows: "rows", total: "total" },
      pages: { by: "page", first: 1, size: [2, 2] },
      price: { per: "request", credits: "1" },
    },
    account: { method: "GET", path: "/me", reply: { balance: "left" } },
  },
  means: [{ status: 401, is: "key" }],
  record: { id: "id", country: "country" },
  ids: { lasting: true },
};

const GERMAN = { country: "Germany" };

/** Answers at once, but the balance only after what `meanwhile` does. */
async function opened(each: number) {
  let left = 100;
  const meanwhile: (() => Promise<unknown>)[] = [];
  const server = await rawServer(async ({ url }, response) => {
    if (url === "/me") await meanwhile.shift()?.();
    else left -= each;
    const rows = [{ id: `v${left}`, country: "Germany" }];
    response.end(JSON.stringify(url === "/me" ? { left } : { rows, total: 6 }));
  });
  onTestFinished(() => server.close());
  const file = await readDialect(JSON.stringify(FILE), "odd.json");
  const { url: baseUrl } = server;
  const options = {
    baseUrl,
    apiKey: "k_0123456789abcdef",
    dialect: DEFAULT_DIALECT,
    now: Date.now,
    env: {},
  };
  const client = new DialectClient(file, options, { heeded: ["country"] });
  await client.account();
  const page = (at: number) =>
    client.searchPage(
      GERMAN,
      { offset: 2 * at, perPage: 2, cursor: undefined },
      { idempotencyKey: "" },
    );
  return { meanwhile, page };
}

test.each([1, 2])("a page of %i that was alone tells its price", async (each) => {
  const { page } = await opened(each);
  expect((await page(0)).price).toMatchObject({ told: BigInt(each) * 1_000_000n });
});

test("a page that went out while the balance was asked for is no part of the price", async () => {
  const { meanwhile, page } = await opened(1);
  meanwhile.push(() => page(1));
  expect((await page(0)).price).toMatchObject({ told: undefined });
});
