import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeLink } from "../../src/service/console/sessions.ts";
import { createKey } from "../../src/service/data-folder.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
const clock = { now: Date.parse("2026-03-01T12:00:00Z") };

beforeAll(async () => {
  service = await startTestService({ people: 2_000, now: () => clock.now, console: {} });
});
afterAll(() => service.close());

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

interface Sent {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** As a browser's page of this origin sends it, with whatever a test wants otherwise. */
function send(method: string, path: string, { body, headers }: Sent = {}): Promise<Answer> {
  const url = new URL(service.url);
  const given: Record<string, string | undefined> = {
    "sec-fetch-site": "same-origin",
    ...(method === "GET" ? {} : { "content-type": "application/json" }),
    ...headers,
  };
  const sent = Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return new Promise((resolve, reject) => {
    const call = request({ host: url.hostname, port: url.port, method, path, headers: sent }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (data: string) => {
        text += data;
      });
      response.on("end", () => {
        const isJson = String(response.headers["content-type"]).startsWith("application/json");
        resolve({
          status: response.statusCode ?? 0,
          json: isJson ? JSON.parse(text) : undefined,
          text,
          headers: response.headers,
        });
      });
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
  });
}

interface Session {
  readonly cookie: string;
  readonly proof: string;
}

const link = (role: "operator" | "owner" | "viewer" = "operator"): Promise<string> =>
  makeLink(service.store, { accountId: "default", role, now: clock.now, by: "test" });

async function signIn(body: unknown): Promise<Session> {
  const answer = await send("POST", "/console/api/session", { body });
  expect(answer.status).toBe(200);
  const cookie = String(answer.headers["set-cookie"]).split(";")[0] ?? "";
  return { cookie, proof: answer.json.proof };
}

const as = ({ cookie, proof }: Session): Record<string, string> => ({ cookie, "x-console-proof": proof });
const call = (session: Session, method: string, path: string, body?: unknown): Promise<Answer> =>
  send(method, `/console/api${path}`, { ...(body === undefined ? {} : { body }), headers: as(session) });

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
    expect(String(answer.headers["set-cookie"])).toMatch(/; HttpOnly; SameSite=Strict; Path=\/console; Max-Age=43200$/);
  });

  test("ten tries a minute from one address", async () => {
    clock.now += 60_000;
    for (let tries = 0; tries < 10; tries++)
      await send("POST", "/console/api/session", { body: { link: `x${tries}` } });
    const refused = await send("POST", "/console/api/session", { body: { link: await link() } });
    expect(refused.status).toBe(429);
    clock.now += 60_000;
  });

  test("both halves are needed, a key is no session, and a session no key", async () => {
    const session = await signIn({ link: await link() });
    const { cookie, "x-console-proof": proof } = as(session);
    expect((await send("GET", "/console/api/me", { headers: as(session) })).status).toBe(200);
    expect((await send("GET", "/console/api/me", { headers: { cookie } })).status).toBe(401);
    expect((await send("GET", "/console/api/me", { headers: { "x-console-proof": proof } })).status).toBe(401);
    expect((await send("GET", "/console/api/me", { headers: { cookie, "x-console-proof": "other" } })).status).toBe(
      401,
    );
    expect((await send("GET", "/console/api/me", { headers: { authorization: `Bearer ${service.key}` } })).status).toBe(
      401,
    );
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
    expect((await send("POST", "/console/api/session", { body: { link: await link() }, headers })).status).toBe(200);
  });

  test("the page and all answers forbid whatever is not ours", async () => {
    const page = await send("GET", "/console/", { headers: { "sec-fetch-site": "none" } });
    expect(page.status).toBe(200);
    const csp = String(page.headers["content-security-policy"]);
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(page.text).not.toMatch(/<script(?![^>]*\bsrc=)|style=|https?:/);
    expect((await send("GET", "/console/", { headers: { host: "evil.example" } })).status).toBe(421);
    const script = /assets\/(console-\w+\.js)/.exec(page.text)?.[1] ?? "";
    const file = await send("GET", `/console/assets/${script}`, { headers: { "accept-encoding": "br" } });
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

  test("a viewer looks and spends nothing; an owner has no accounts; a key has no keys", async () => {
    const viewer = await signIn({ link: await link("viewer") });
    expect((await call(viewer, "POST", "/count", { filters: {} })).json.count).toBe(2_000);
    for (const [method, path] of [
      ["POST", "/quote"],
      ["POST", "/preview"],
      ["POST", "/exports"],
      ["POST", "/keys"],
      ["GET", "/accounts"],
    ] as const) {
      expect([path, (await call(viewer, method, path, method === "GET" ? undefined : {})).status]).toEqual([path, 403]);
    }
    const owner = await signIn({ link: await link("owner") });
    expect((await call(owner, "GET", "/keys")).status).toBe(200);
    expect((await call(owner, "POST", "/accounts/default/credits", {})).status).toBe(403);
    const key = await signIn({ key: service.key });
    expect((await call(key, "POST", "/keys", { name: "x" })).status).toBe(403);
    expect((await call(key, "GET", "/keys")).json.keys.map(({ id }: { id: string }) => id)).toEqual([service.keyId]);
    expect((await call(key, "POST", "/count", { filters: {}, mode: "test" })).status).toBe(403);
  });
});

describe("buying", () => {
  const filters = { department: ["Sales"] };
  const waitFor = async (session: Session, id: string): Promise<Answer["json"]> => {
    for (;;) {
      const { json } = await call(session, "GET", `/exports/${id}`);
      if (json.state !== "buying") return json;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const download = async (session: Session, id: string, format: string): Promise<Answer> => {
    const { json } = await call(session, "POST", `/exports/${id}/ticket`, { format });
    return send("GET", json.url, { headers: { cookie: session.cookie } });
  };
  const balance = async (): Promise<bigint> => (await service.store.balance("default", "live")).balance;

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

  test("old, foreign and forged quotes buy nothing", async () => {
    const [mine, other] = [await signIn({ link: await link() }), await signIn({ link: await link() })];
    const before = await balance();
    const { quote_id: quote } = (await call(mine, "POST", "/quote", { filters, profiles: 3 })).json;
    expect((await call(other, "POST", "/exports", { quote_id: quote })).json.code).toBe("no_quote");
    expect((await call(mine, "POST", "/exports", { quote_id: `${quote.slice(0, -2)}xx` })).json.code).toBe("no_quote");
    expect((await call(mine, "POST", "/exports", { quote_id: quote.replace(/^./, "A") })).status).toBe(409);
    clock.now += 10 * 60_000 + 1;
    expect((await call(mine, "POST", "/exports", { quote_id: quote })).json.code).toBe("quote_expired");
    expect((await call(mine, "POST", "/preview", { quote_id: quote })).json.code).toBe("quote_expired");
    expect(await balance()).toBe(before);
  });

  test("a download serves once and within a minute, and is gone after a day: never short", async () => {
    const session = await signIn({ link: await link() });
    const { quote_id: quote } = (await call(session, "POST", "/quote", { filters, profiles: 3 })).json;
    const { id } = await waitFor(session, (await call(session, "POST", "/exports", { quote_id: quote })).json.id);
    const { url } = (await call(session, "POST", `/exports/${id}/ticket`, { format: "csv" })).json;
    expect((await send("GET", url)).status).toBe(401);
    expect((await send("GET", url, { headers: { cookie: session.cookie } })).status).toBe(200);
    expect((await send("GET", url, { headers: { cookie: session.cookie } })).status).toBe(403);
    clock.now += 24 * 60 * 60_000;
    const later = await signIn({ link: await link() });
    expect((await call(later, "POST", `/exports/${id}/ticket`, { format: "csv" })).json.code).toBe("expired");
  });

  test("wrong filters are told under their keys, in the contract's words", async () => {
    const session = await signIn({ link: await link() });
    const answer = await call(session, "POST", "/count", { filters: { department: "Salse", connections_min: -1 } });
    expect(answer.status).toBe(422);
    expect(answer.json.issues.map(({ key }: { key: string }) => key).sort()).toEqual(["connections_min", "department"]);
  });
});
