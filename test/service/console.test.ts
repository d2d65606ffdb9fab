import { beforeAll, describe, expect, test } from "vitest";
import { createKey, type KeyInit } from "../../src/service/admin/keys.ts";
import { type Answer, as, ConsoleClient, type Sent, type Session } from "../support/console.ts";
import { startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";
import { c } from "../support/store.ts";

const service = testService({ people: 2_000, now: () => clock.now, console: {} });
let client: ConsoleClient;
const clock = { now: Date.parse("2026-03-01T12:00:00Z") };

beforeAll(async () => {
  client = new ConsoleClient(service, () => clock.now);
});

const send = (method: string, path: string, sent?: Sent): Promise<Answer> =>
  client.send(method, path, sent);
const link = (role?: "owner" | "viewer"): Promise<string> => client.link(role);
const signIn = (body: unknown): Promise<Session> => client.signIn(body);
const call = (session: Session, method: string, path: string, body?: unknown): Promise<Answer> =>
  client.call(session, method, path, body);

describe("signing in", () => {
  test("a link serves once, within ten minutes; wrong, used and old ones get the same words", async () => {
    const token = await link();
    expect((await signIn({ link: token })).cookie).toMatch(/^hc_console_\d+=[\w-]{43}$/);
    const used = await send("POST", "/console/api/session", { body: { link: token } });
    const wrong = await send("POST", "/console/api/session", { body: { link: "nothing" } });
    const old = await link();
    clock.now += 10 * 60_000 + 1;
    const late = await send("POST", "/console/api/session", { body: { link: old } });
    for (const refused of [used, wrong, late]) {
      expect(refused.status).toBe(401);
      expect(refused.json.error).toBe(used.json.error);
      expect(refused.headers["set-cookie"]).toBeUndefined();
    }
    expect(used.json.error).toContain("headcount service link");
  });

  test("the cookie is out of reach of scripts and other sites", async () => {
    const answer = await send("POST", "/console/api/session", { body: { link: await link() } });
    expect(String(answer.headers["set-cookie"])).toMatch(
      /; HttpOnly; SameSite=Strict; Path=\/console; Max-Age=43200$/,
    );
  });

  test("ten failures a minute from one address; a good link or key from there is let in all the same", async () => {
    // A service of its own: minutes go by a clock that nobody sets, and the others' failures are counted too.
    const own = await startTestService({ people: 20, console: {} });
    const visitor = new ConsoleClient(own, Date.now);
    const fail = async (tries: number) =>
      (await visitor.send("POST", "/console/api/session", { body: { link: `x${tries}` } })).status;
    const tries = await Promise.all(Array.from({ length: 12 }, (_, each) => fail(each)));
    // At the turn of a minute all twelve may pass.
    expect(tries.filter((status) => status === 401).length).toBeGreaterThanOrEqual(10);
    expect(
      new Set([...tries, ...(await Promise.all([12, 13, 14, 15, 16, 17, 18, 19, 20].map(fail)))]),
    ).toEqual(new Set([401, 429]));
    await visitor.signIn({ link: await visitor.link() });
    await visitor.signIn({ key: own.key });
    expect(await fail(21)).toBe(429);
    await own.close();
  });

  test("both halves are needed, a key is no session, and a session no key", async () => {
    const session = await signIn({ link: await link() });
    const { cookie, "x-console-proof": proof } = as(session);
    expect((await send("GET", "/console/api/me", { headers: as(session) })).status).toBe(200);
    expect((await send("GET", "/console/api/me", { headers: { cookie } })).status).toBe(401);
    expect(
      (await send("GET", "/console/api/me", { headers: { "x-console-proof": proof } })).status,
    ).toBe(401);
    expect(
      (await send("GET", "/console/api/me", { headers: { cookie, "x-console-proof": "other" } }))
        .status,
    ).toBe(401);
    expect(
      (
        await send("GET", "/console/api/me", {
          headers: { authorization: `Bearer ${service.key}` },
        })
      ).status,
    ).toBe(401);
    expect((await send("GET", "/v1/account", { headers: as(session) })).status).toBe(401);
  });

  test("a session ends by itself, by signing out, and with its key", async () => {
    const idle = await signIn({ link: await link() });
    clock.now += 2 * 60 * 60_000 + 1;
    expect((await call(idle, "GET", "/me")).status).toBe(401);
    const left = await signIn({ link: await link() });
    expect((await call(left, "DELETE", "/session")).status).toBe(200);
    expect((await call(left, "GET", "/me")).status).toBe(401);
    const keyed = await signIn({ key: service.testKey });
    expect((await call(keyed, "GET", "/me")).json.role).toBe("key");
    await service.store.revokeKey(service.testKeyId);
    expect((await call(keyed, "GET", "/me")).status).toBe(401);
    const busy = await signIn({ link: await link() });
    for (let hour = 0; hour < 12; hour++) {
      expect((await call(busy, "GET", "/me")).status).toBe(200);
      clock.now += 60 * 60_000;
    }
    expect((await call(busy, "GET", "/me")).status).toBe(401);
  });
});

describe("who may send", () => {
  test.each([
    ["a foreign Host", { host: "evil.example" }, 421],
    ["the right name with another port", { host: "127.0.0.1:1" }, 421],
    ["another site", { "sec-fetch-site": "cross-site" }, 403],
    ["another port of this name", { "sec-fetch-site": "same-site" }, 403],
    ["a foreign Origin", { "sec-fetch-site": undefined, origin: "http://evil.example" }, 403],
    ["no origin at all", { "sec-fetch-site": undefined }, 403],
    ["a form's content type", { "content-type": "text/plain" }, 403],
  ])("%s is refused before anything is read", async (_, headers, status) => {
    const token = await link();
    const refused = await send("POST", "/console/api/session", { body: { link: token }, headers });
    expect(refused.status).toBe(status);
    expect(refused.headers["set-cookie"]).toBeUndefined();
    clock.now += 60_000;
    // The link was not used up.
    expect((await signIn({ link: token })).proof).not.toBe("");
  });

  test("a browser that sends no fetch metadata is known by its Origin", async () => {
    const headers = { "sec-fetch-site": undefined, origin: service.url };
    expect(
      (await send("POST", "/console/api/session", { body: { link: await link() }, headers }))
        .status,
    ).toBe(200);
  });

  test("the page and all answers forbid whatever is not ours", async () => {
    const page = await send("GET", "/console/", { headers: { "sec-fetch-site": "none" } });
    expect(page.status).toBe(200);
    // Monitors ask so.
    const head = await send("HEAD", "/console/", { headers: { "sec-fetch-site": "none" } });
    expect([head.status, head.text, head.headers["content-type"]]).toEqual([
      ...[200, "", page.headers["content-type"]],
    ]);
    const csp = String(page.headers["content-security-policy"]);
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)|style=|https?:/);
    expect((await send("GET", "/console/", { headers: { host: "evil.example" } })).status).toBe(
      421,
    );
    const script = /assets\/(console-\w+\.js)/.exec(page.text)?.[1] ?? "";
    const file = await send("GET", `/console/assets/${script}`, {
      headers: { "accept-encoding": "br" },
    });
    expect(file.headers["content-encoding"]).toBe("br");
    expect(file.headers["cache-control"]).toContain("immutable");
    expect((await send("GET", "/console/assets/..%2Findex.html")).status).toBe(404);
  });
});

describe("roles", () => {
  test("a key's scopes, cap and end hold in the console too, and so does the account's suspension", async () => {
    const made = (more: object) =>
      createKey(service.store, { name: "bound", mode: "live", now: () => clock.now, ...more });
    const scoped = await signIn({ key: (await made({ scopes: ["count"] })).key });
    expect((await call(scoped, "POST", "/count", { filters: {} })).status).toBe(200);
    expect((await call(scoped, "POST", "/quote", { filters: {}, profiles: 1 })).status).toBe(403);
    const capped = await signIn({ key: (await made({ maxCredits: 10_000_000n })).key });
    const quote = (await call(capped, "POST", "/quote", { filters: {}, profiles: 11 })).json;
    expect(quote).toMatchObject({ allowed: false, bound_by: "key", balance: 10 });
    expect((await call(capped, "POST", "/exports", { quote_id: quote.quote_id })).status).toBe(402);
    const ending = await signIn({ key: (await made({ expiresAt: clock.now + 60_000 })).key });
    expect((await call(ending, "GET", "/me")).status).toBe(200);
    clock.now += 60_001;
    expect((await call(ending, "GET", "/me")).status).toBe(401);
    const owner = await signIn({ link: await link("owner") });
    await service.store.suspendAccount("default", true);
    expect((await call(owner, "POST", "/quote", { filters: {}, profiles: 1 })).status).toBe(403);
    await service.store.suspendAccount("default", false);
    expect((await call(owner, "POST", "/quote", { filters: {}, profiles: 1 })).status).toBe(200);
  });

  test("a viewer looks and spends nothing; a key has no keys", async () => {
    const viewer = await signIn({ link: await link("viewer") });
    expect((await call(viewer, "POST", "/count", { filters: {} })).json.count).toBe(2_000);
    const abroad = { filters: { country: ["USA", "germany"] } };
    expect((await call(viewer, "POST", "/count", abroad)).json.unmatched).toMatchObject([
      { key: "country", value: "USA", near: { value: "united states" } },
    ]);
    for (const [method, path] of [
      ["POST", "/quote"],
      ["POST", "/exports"],
      ["POST", "/keys"],
    ] as const) {
      expect([path, (await call(viewer, method, path, {})).status]).toEqual([path, 403]);
    }
    const owner = await signIn({ link: await link("owner") });
    expect((await call(owner, "GET", "/keys")).status).toBe(200);
    const key = await signIn({ key: service.key });
    expect((await call(key, "POST", "/keys", { name: "x" })).status).toBe(403);
    expect((await call(key, "GET", "/keys")).json.keys.map(({ id }: { id: string }) => id)).toEqual(
      [service.keyId],
    );
    expect((await call(key, "POST", "/count", { filters: {}, mode: "test" })).status).toBe(403);
  });
});

describe("buying", () => {
  const filters = { department: ["Sales"] };
  const waitFor = (session: Session, id: string): Promise<Answer["json"]> =>
    client.bought(session, id);
  const download = (session: Session, id: string, format: string): Promise<Answer> =>
    call(session, "GET", `/exports/${id}/${format}`);
  const balance = async (): Promise<bigint> =>
    (await service.store.balance("default", "live")).balance;

  test("a quote binds: what it says is charged, once, however often it is sent", async () => {
    const session = await signIn({ link: await link() });
    const before = await balance();
    const quote = (await call(session, "POST", "/quote", { filters, profiles: 25 })).json;
    expect(quote).toMatchObject({ profiles: 25, credits: 25, requests: 1, allowed: true });
    const [first, second] = await Promise.all(
      [1, 2].map(() => call(session, "POST", "/exports", { quote_id: quote.quote_id })),
    );
    expect(first?.json.id).toBe(second?.json.id);
    const done = await waitFor(session, first?.json.id);
    expect(done).toMatchObject({ state: "ready", rows: 25, credits: 25, kept: true });
    expect(before - (await balance())).toBe(25_000_000n);
    const csv = await download(session, done.id, "csv");
    expect(csv.headers["content-disposition"]).toContain("attachment");
    expect(csv.text.trim().split("\n")).toHaveLength(26);
    expect((await download(session, done.id, "ndjson")).text.trim().split("\n")).toHaveLength(25);
    expect(before - (await balance())).toBe(25_000_000n);
    const [entry] = (await call(session, "GET", "/entries")).json.entries;
    expect(entry).toMatchObject({ kind: "charge", amount: -25, rows: 25 });
  });

  test("an export is a file for keys of the account too, for nothing; a capped one has only what it bought", async () => {
    const session = await signIn({ link: await link() });
    const { quote_id } = (await call(session, "POST", "/quote", { filters, profiles: 7 })).json;
    const { id } = (await call(session, "POST", "/exports", { quote_id })).json;
    await waitFor(session, id);
    const before = await balance();
    const file = (key: string, name = `${id}.csv`) =>
      send("GET", `/exports/${name}`, {
        headers: { authorization: `Bearer ${key}`, "sec-fetch-site": undefined },
      });
    const csv = await file(service.key);
    expect([csv.status, csv.text]).toEqual([200, (await download(session, id, "csv")).text]);
    expect((await file(service.key, `${id}.ndjson`)).text).toBe(
      (await download(session, id, "ndjson")).text,
    );
    const of = async (more: Partial<KeyInit>) =>
      (await createKey(service.store, { name: "k", mode: "live", now: () => clock.now, ...more }))
        .key;
    const capped = await of({ maxCredits: c(100) });
    const theirs = await signIn({ key: capped });
    const own = (await call(theirs, "POST", "/quote", { filters, profiles: 2 })).json.quote_id;
    const { id: bought } = (await call(theirs, "POST", "/exports", { quote_id: own })).json;
    await waitFor(theirs, bought);
    expect((await file(capped, `${bought}.csv`)).text.trim().split("\n")).toHaveLength(3);
    await service.store.createAccount("elsewhere", "Elsewhere");
    for (const [key, status] of [
      [capped, 404],
      [await of({ mode: "test" }), 404],
      [await of({ accountId: "elsewhere" }), 404],
      [await of({ scopes: ["account", "count"] }), 403],
      ["hc_live_no", 401],
    ] as const)
      expect((await file(key)).status).toBe(status);
    expect((await file(service.key, `..%2f${id}`)).status).toBe(404);
    expect(before - (await balance())).toBe(2_000_000n);
    clock.now += 30 * 24 * 60 * 60_000;
    expect((await file(service.key)).status).toBe(410);
  });

  test("a quote tells who was bought of this very segment already, to those who may have them", async () => {
    const session = await signIn({ link: await link() });
    const segment = { department: "Sales", country: "germany" };
    const quote = async (given: object, by = session) =>
      (await call(by, "POST", "/quote", { filters: given, profiles: 5 })).json;
    const { bought, quote_id } = await quote(segment);
    expect(bought).toEqual([]);
    const { json } = await call(session, "POST", "/exports", { quote_id });
    await waitFor(session, json.id);
    const same = await quote({ country: ["Germany"], department: "Sales" });
    expect(same.bought).toMatchObject([{ id: json.id, rows: 4, state: "ready", kept: true }]);
    expect((await quote({ country: ["germany"] })).bought).toEqual([]);
    expect((await quote(segment, await signIn({ key: service.key }))).bought).toEqual([]);
    clock.now += 30 * 24 * 60 * 60_000;
    expect((await quote(segment, await signIn({ link: await link() }))).bought).toEqual([]);
  });

  test("old, foreign and forged quotes buy nothing", async () => {
    const [mine, other] = [
      await signIn({ link: await link() }),
      await signIn({ link: await link() }),
    ];
    const before = await balance();
    const { quote_id: quote } = (await call(mine, "POST", "/quote", { filters, profiles: 3 })).json;
    expect((await call(other, "POST", "/exports", { quote_id: quote })).json.code).toBe("no_quote");
    expect(
      (await call(mine, "POST", "/exports", { quote_id: `${quote.slice(0, -2)}xx` })).json.code,
    ).toBe("no_quote");
    expect(
      (await call(mine, "POST", "/exports", { quote_id: quote.replace(/^./, "A") })).status,
    ).toBe(409);
    clock.now += 10 * 60_000 + 1;
    expect((await call(mine, "POST", "/exports", { quote_id: quote })).json.code).toBe(
      "quote_expired",
    );
    expect(await balance()).toBe(before);
  });

  test("a download takes the whole session, and is gone after as many days as the plan says: never short", async () => {
    const session = await signIn({ link: await link() });
    const { quote_id: quote } = (await call(session, "POST", "/quote", { filters, profiles: 3 }))
      .json;
    const { id } = await waitFor(
      session,
      (await call(session, "POST", "/exports", { quote_id: quote })).json.id,
    );
    const url = `/console/api/exports/${id}/csv`;
    expect((await send("GET", url)).status).toBe(401);
    expect((await send("GET", url, { headers: { cookie: session.cookie } })).status).toBe(401);
    expect((await download(session, id, "csv")).status).toBe(200);
    expect((await download(session, id, "xlsx")).status).toBe(422);
    const viewer = await signIn({ link: await link("viewer") });
    expect((await download(viewer, id, "csv")).status).toBe(403);
    clock.now += 30 * 24 * 60 * 60_000;
    const later = await signIn({ link: await link() });
    const expired = await download(later, id, "csv");
    expect([expired.status, expired.json.code]).toEqual([410, "expired"]);
  });

  test("wrong filters are told under their keys, in the contract's words", async () => {
    const session = await signIn({ link: await link() });
    const answer = await call(session, "POST", "/count", {
      filters: { department: "Salse", connections_min: -1 },
    });
    expect(answer.status).toBe(422);
    expect(answer.json.issues.map(({ key }: { key: string }) => key).sort()).toEqual([
      "connections_min",
      "department",
    ]);
  });
});
