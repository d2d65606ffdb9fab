import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKey } from "../../src/service/admin/keys.ts";
import { credits } from "../../src/shared/contract/money.ts";
import { ConsoleClient, type Session } from "../support/console.ts";
import { testService } from "../support/serving.ts";

const service = testService({ people: 2_000, now: () => clock.now, console: {} });
let client: ConsoleClient;
const clock = { now: Date.parse("2026-03-01T12:00:00Z") };
const filters = { department: ["Sales"] };
const balance = async (): Promise<bigint> =>
  (await service.store.balance("default", "live")).balance;

beforeAll(async () => {
  client = new ConsoleClient(service, () => clock.now);
});
beforeEach(() => {
  clock.now += 60_000;
});

const key = async (more: Record<string, unknown>): Promise<string> =>
  (await createKey(service.store, { name: "bounded", mode: "live", now: () => clock.now, ...more }))
    .key;
const quoteOf = async (session: Session, profiles: number): Promise<string> =>
  (await client.call(session, "POST", "/quote", { filters, profiles })).json.quote_id;

describe("a session of a key", () => {
  test("may do what the scopes of the key allow, and nothing more", async () => {
    const before = await balance();
    const counts = await client.signIn({ key: await key({ scopes: ["account", "count"] }) });
    expect((await client.call(counts, "POST", "/count", { filters })).status).toBe(200);
    expect((await client.call(counts, "POST", "/facets", { filters, key: "country" })).status).toBe(
      200,
    );
    for (const path of ["/quote", "/exports"]) {
      const refused = await client.call(counts, "POST", path, { filters, profiles: 3 });
      expect([path, refused.status, refused.json.error]).toEqual([
        path,
        403,
        expect.stringContaining("scopes"),
      ]);
    }
    const enriches = await client.signIn({ key: await key({ scopes: ["account", "enrich"] }) });
    expect((await client.call(enriches, "POST", "/count", { filters })).status).toBe(403);
    expect(
      (await client.call(enriches, "POST", "/facets", { filters, key: "country" })).status,
    ).toBe(403);
    expect(await balance()).toBe(before);
  });

  test("ends when the key expires, and an expired key signs nobody in", async () => {
    const text = await key({ expiresAt: clock.now + 3_600_000 });
    const session = await client.signIn({ key: text });
    expect((await client.call(session, "GET", "/me")).status).toBe(200);
    clock.now += 3_600_000;
    expect((await client.call(session, "GET", "/me")).status).toBe(401);
    const again = await client.send("POST", "/console/api/session", { body: { key: text } });
    expect([again.status, again.json.error]).toEqual([401, expect.stringContaining("expired")]);
  });

  test("has no exports of its colleagues", async () => {
    const owner = await client.enter("owner");
    const { json } = await client.call(owner, "POST", "/exports", {
      quote_id: await quoteOf(owner, 2),
    });
    await client.bought(owner, json.id);
    const keyed = await client.signIn({ key: service.key });
    for (const [method, path, body] of [
      ["GET", `/exports/${json.id}`, undefined],
      ["GET", `/exports/${json.id}/csv`, undefined],
      ["POST", `/exports/${json.id}/continue`, {}],
      ["POST", `/exports/${json.id}/stop`, {}],
    ] as const) {
      const refused = await client.call(keyed, method, path, body);
      expect([method, path, refused.status]).toEqual([method, path, 404]);
    }
    expect((await client.call(keyed, "GET", "/exports")).json.exports).toEqual([]);
  });

  test("cannot pass the cap of its key, in quotes or exports", async () => {
    const before = await balance();
    const session = await client.signIn({ key: await key({ maxCredits: credits(5_000_000n) }) });
    const quote = (await client.call(session, "POST", "/quote", { filters, profiles: 6 })).json;
    expect(quote).toMatchObject({ allowed: false, bound_by: "key", balance: 5 });
    expect(
      (await client.call(session, "POST", "/exports", { quote_id: quote.quote_id })).status,
    ).toBe(402);
    expect(await balance()).toBe(before);
  });
});

describe("an account that is suspended", () => {
  test("counts and buys nothing, by a key or by a link", async () => {
    await service.store.createAccount("frozen", "Frozen", {});
    await service.store.grant("frozen", "live", credits(50_000_000n), "for the test");
    const owner = await client.enter("owner", "frozen");
    const quote = await quoteOf(owner, 3);
    await service.store.suspendAccount("frozen", true);
    clock.now += 60_000;
    for (const [path, body] of [
      ["/count", { filters }],
      ["/quote", { filters, profiles: 3 }],
      ["/exports", { quote_id: quote }],
      ["/keys", { name: "way out" }],
    ] as const) {
      const refused = await client.call(owner, "POST", path, body);
      expect([path, refused.status, refused.json.error]).toEqual([
        path,
        403,
        expect.stringContaining("suspended"),
      ]);
    }
    expect((await client.call(owner, "GET", "/entries")).status).toBe(200);
    expect((await service.store.balance("frozen", "live")).balance).toBe(50_000_000n);
  });
});

describe("another account", () => {
  test("has no way to exports, keys and entries of this one", async () => {
    await service.store.createAccount("other", "Other", {});
    await service.store.grant("other", "live", credits(50_000_000n), "for the test");
    const [mine, theirs] = [await client.enter("owner"), await client.enter("owner", "other")];
    const { json } = await client.call(mine, "POST", "/exports", {
      quote_id: await quoteOf(mine, 2),
    });
    await client.bought(mine, json.id);
    for (const [method, path, body] of [
      ["GET", `/exports/${json.id}`, undefined],
      ["GET", `/exports/${json.id}/csv`, undefined],
      ["POST", `/exports/${json.id}/continue`, {}],
      ["DELETE", `/keys/${service.keyId}`, { confirm: "test" }],
    ] as const) {
      expect([path, (await client.call(theirs, method, path, body)).status]).toEqual([path, 404]);
    }
    for (const path of [`/entries?key=${service.keyId}`, "/entries?account=default", "/exports"]) {
      expect((await client.call(theirs, "GET", path)).text).not.toContain(json.id);
    }
    expect(
      (await client.call(theirs, "GET", `/entries?key=${service.keyId}`)).json.entries,
    ).toEqual([]);
  });
});

describe("seals", () => {
  test("a quote that is written otherwise is another, and none", async () => {
    const session = await client.enter();
    const before = await balance();
    const quote = await quoteOf(session, 2);
    const { json } = await client.call(session, "POST", "/exports", { quote_id: quote });
    await client.bought(session, json.id);
    const spent = before - (await balance());
    const last = quote.at(-1) ?? "";
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // Text of base64 has bits to spare at its end, and decoders pass over what is none of it.
    const twin = alphabet[alphabet.indexOf(last) ^ 1] ?? "";
    for (const forged of [
      quote.slice(0, -1) + twin,
      `${quote}=`,
      `${quote}!`,
      ` ${quote}`,
      quote.replace(".", ".!"),
    ]) {
      const refused = await client.call(session, "POST", "/exports", { quote_id: forged });
      expect([forged === quote, refused.json.code]).toEqual([false, "no_quote"]);
    }
    expect(before - (await balance())).toBe(spent);
  });
});

describe("bad input", () => {
  test.each([
    ["an expiry that is no date", { name: "x", expires_at: 9e15 }],
    ["an expiry without end", { name: "x", expires_at: 1e308 }],
    ["an expiry in a list", { name: "x", expires_at: ["2999-01-01"] }],
    ["an expiry that is past", { name: "x", expires_at: "2020-01-01" }],
    ["an expiry that is no time", { name: "x", expires_at: "soon" }],
    ["a cap below zero", { name: "x", max_credits: -1 }],
    ["a cap that would be rounded", { name: "x", max_credits: 0.1234567 }],
    ["an end that no calendar has", { name: "x", expires_at: "2999-02-30T00:00:00Z" }],
    ["a cap that is a list", { name: "x", max_credits: [1] }],
    ["a cap beyond what a ledger holds", { name: "x", max_credits: "99999999999999999999" }],
    ["a scope that is none", { name: "x", scopes: ["serch"] }],
    ["no scope at all", { name: "x", scopes: [] }],
    ["scopes in one text", { name: "x", scopes: ["count,search"] }],
    ["a scope that is a number", { name: "x", scopes: [1] }],
    ["a mode that is none", { name: "x", mode: "Test" }],
    ["a name of nothing", { name: "  " }],
    ["a name with a line end", { name: "a\r\nb" }],
  ])("%s makes no key", async (_, body) => {
    const session = await client.enter();
    const before = (await client.call(session, "GET", "/keys")).json.keys.length;
    const refused = await client.call(session, "POST", "/keys", body);
    expect([refused.status, refused.json.code]).toEqual([422, "invalid"]);
    expect(refused.json.error).not.toContain("internal");
    const list = await client.call(session, "GET", "/keys");
    expect([list.status, list.json.keys.length]).toEqual([200, before]);
  });

  test("what the ledger refuses is said, and is no fault of the service", async () => {
    await service.store.createAccount("crowded", "Crowded", {});
    const session = await client.enter("owner", "crowded");
    const { id } = (await client.call(session, "POST", "/keys", { name: "short-lived" })).json;
    expect((await client.call(session, "DELETE", `/keys/${id}`, {})).json).toEqual({
      revoked: true,
    });
    const init = {
      accountId: "crowded",
      name: "one of many",
      mode: "live",
      now: () => clock.now,
    } as const;
    const made: Promise<unknown>[] = [];
    for (let left = 100; left > 0; left--)
      made.push(createKey(service.store, init).catch(() => undefined));
    await Promise.all(made);
    const refused = await client.call(session, "POST", "/keys", { name: "one too many" });
    expect([refused.status, refused.json.error]).toEqual([409, expect.stringContaining("100")]);
  });

  test("bodies that are none, too long or of the prototype change nothing", async () => {
    const session = await client.enter();
    const headers = { cookie: session.cookie, "x-console-proof": session.proof };
    const post = (path: string, body: string) =>
      client.send("POST", `/console/api${path}`, { body, headers });
    for (const body of [
      "",
      "{",
      "[]",
      "null",
      '"x"',
      '{"filters":{"title":["a"]},"filters":{}}',
      "\u0000",
      '{"a":1e999}',
    ]) {
      expect([body, (await post("/quote", body)).status < 500]).toEqual([body, true]);
    }
    expect((await post("/count", '{"filters":{"__proto__":{"title":["x"]}}}')).status).toBe(422);
    expect((await post("/count", '{"filters":{"constructor":["x"]}}')).status).toBe(422);
    expect((await post("/facets", '{"filters":{},"key":"__proto__"}')).status).toBe(422);
    expect(
      (await post("/count", `{"filters":{"title":["${"x".repeat(3_000_000)}"]}}`)).status,
    ).toBe(413);
    expect(({} as Record<string, unknown>).title).toBeUndefined();
    for (const path of [
      "/entries?limit=-1",
      "/entries?limit=1e9",
      "/entries?after=x",
      "/usage?days=0",
      "/usage?by=__proto__",
      "/usage?by=toString",
    ]) {
      expect([path, (await client.call(session, "GET", path)).status]).toEqual([path, 422]);
    }
  });
});

describe("one envelope", () => {
  test("answers what is no call of the console's API, whatever the method", async () => {
    const session = await client.enter();
    for (const [method, path] of [
      ["GET", "/nothing"],
      ["POST", "/exports/x/y/z"],
      ["DELETE", "/me"],
      ["PUT", "/keys"],
    ] as const) {
      const { json, status } = await client.call(session, method, path);
      expect([path, status, json]).toEqual([
        path,
        404,
        { error: "the console has no such call", code: "no_route" },
      ]);
    }
  });

  test("refuses a segment that nobody named, as /v1 does; {} is everybody", async () => {
    const session = await client.enter();
    for (const [body, words] of [
      ["", "filters is required; {} is everybody"],
      ["{}", "filters is required; {} is everybody"],
      ['{"filters":null}', "filters must be an object, not null"],
      ['{"filters":[]}', "filters must be an object, not an array"],
    ] as const) {
      for (const path of ["/count", "/quote"]) {
        const headers = { cookie: session.cookie, "x-console-proof": session.proof };
        const { json, status } = await client.send("POST", `/console/api${path}`, {
          body,
          headers,
        });
        expect([body, path, status, json.error]).toEqual([body, path, 422, words]);
      }
    }
    expect((await client.call(session, "POST", "/quote", { filters: {} })).json).toMatchObject({
      profiles: 2_000,
    });
  });
});

test("files that do not exist are not remembered", async () => {
  const { isRemembered } = await import("../../src/service/console/assets.ts");
  for (const name of [
    "nothing-a.js",
    "index.html.br",
    "..",
    "index",
    "package.json",
    "%2e%2e%2findex.html",
  ]) {
    expect([name, (await client.send("GET", `/console/assets/${name}`)).status]).toEqual([
      name,
      404,
    ]);
  }
  expect(isRemembered("nothing-a.js")).toBe(false);
});
