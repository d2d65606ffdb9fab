import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../src/service/ledger/errors.ts";
import { wrapped } from "../support/dataset.ts";
import { long } from "../support/long.ts";
import { watchResponses } from "../support/openapi.ts";
import { exchange } from "../support/raw-http.ts";
import {
  onResponse,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from "../support/service.ts";
import { testService } from "../support/serving.ts";

// The service as browsers, proxies, link checkers and scrapers meet it.

watchResponses(onResponse);

const service = testService({ people: 500, plan: { perMinute: 100_000 } });

const others: TestService[] = [];
const start = async (options: TestServiceOptions): Promise<TestService> => {
  const started = await startTestService({ people: 300, ...options });
  others.push(started);
  return started;
};
afterEach(async () => {
  for (const other of others.splice(0)) await other.close();
});

const PAGES = [
  "/healthz",
  "/openapi.json",
  "/docs",
  "/docs/reference.css",
  "/docs/collection.json",
  "/favicon.ico",
  "/llms.txt",
];

/** An answer with its bytes as they came, decoded by nobody. */
function plain(
  url: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Record<string, string>; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers as Record<string, string>,
        bytes: Buffer.concat(chunks),
      });
    });
    asked.on("error", reject).end();
  });
}

describe("public pages", () => {
  test.each(PAGES)("%s answers HEAD as GET, and OPTIONS", async (path) => {
    const whole = await fetch(service.url + path);
    const length = (await whole.arrayBuffer()).byteLength;
    const head = await fetch(service.url + path, {
      method: "HEAD",
      headers: { "accept-encoding": "identity" },
    });
    expect([whole.status, head.status, Number(head.headers.get("content-length"))]).toEqual([
      200,
      200,
      length,
    ]);
    expect(head.headers.get("content-type")).toBe(whole.headers.get("content-type"));
    const options = await fetch(service.url + path, { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
  });

  test.each(PAGES.slice(1))("%s is not sent again to who has it", async (path) => {
    const etag = (await fetch(service.url + path)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    const again = await plain(service.url + path, { "if-none-match": `"x", ${etag}` });
    expect((await plain(service.url + path, { "if-none-match": etag.slice(2) })).status).toBe(304);
    expect((await plain(service.url + path, { "if-none-match": "*" })).status).toBe(304);
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
    expect((await plain(service.url + path, { "if-none-match": '"x"' })).status).toBe(200);
  });

  test("need no key and do nothing with one", async () => {
    for (const path of PAGES) {
      const answer = await plain(service.url + path, { authorization: `Bearer ${service.key}` });
      expect(answer.status).toBe(200);
      expect(`${JSON.stringify(answer.headers)}${answer.bytes}`).not.toContain(service.key);
    }
  });

  test("name the address that they were asked at, and no other", async () => {
    const text = async (path: string, host: string, proto = "http") =>
      (await plain(service.url + path, { host, "x-forwarded-proto": proto })).bytes.toString();
    const page = await text("/docs", "api.example:8443", "https");
    expect(page).toContain("base address <code>https://api.example:8443</code>");
    expect(page).toContain("curl -s https://api.example:8443/v1/account");
    expect(page).not.toMatch(/8787|HEADCOUNT_BASE_URL/);
    expect(await text("/docs", '"><script>alert(1)</script>')).not.toContain("<script>");
    expect(await text("/docs", `127.0.0.1:${service.port}`)).toContain(
      `base address <code>${service.url}</code>`,
    );
    // A cache that several share keeps none for whoever asks by another name.
    const kept = await plain(`${service.url}/docs`, { host: "api.example" });
    expect(kept.headers["cache-control"]).toBe("private, max-age=300");
    const collection = JSON.parse(await text("/docs/collection.json", "api.example")) as {
      variable: { key: string; value: string }[];
    };
    expect(collection.variable[0]).toEqual(
      expect.objectContaining({ key: "baseUrl", value: "http://api.example" }),
    );
  });

  test("the first one is in the colours that its reader chose", async () => {
    const page = await fetch(service.url, { headers: { accept: "text/html" } });
    expect(await page.text()).toContain('<meta name="color-scheme" content="light dark">');
  });

  test("are named where somebody asks for anything else", async () => {
    const { json, status } = await service.call("/", { key: null });
    expect(status).toBe(404);
    expect(json.detail[0]).toContain("/docs");
  });
});

describe("large answers", () => {
  const body = JSON.stringify({ filters: {}, per_page: 200 });
  const page = async (encoding: string) => {
    const answer = await service.call("/v1/person/search", {
      body,
      headers: { "accept-encoding": encoding },
    });
    return { answer, sent: Number(answer.headers.get("content-length")) };
  };

  long("are packed in what the client takes, and are the same bytes when unpacked", async () => {
    const { answer: whole, sent } = await page("identity");
    expect(whole.headers.get("content-encoding")).toBeNull();
    expect(whole.headers.get("vary")).toBe("accept-encoding");
    for (const [accepted, encoding] of [
      ["gzip, deflate, br", "br"],
      ["gzip", "gzip"],
      ["br;q=0.1, gzip;q=0.9", "gzip"],
      ["br;q=0, gzip;q=0", null],
      ["*", "br"],
    ] as const) {
      const { answer, sent: packed } = await page(accepted);
      expect([accepted, answer.headers.get("content-encoding")]).toEqual([accepted, encoding]);
      expect(answer.json.result).toEqual(whole.json.result);
      if (encoding !== null) expect(packed).toBeLessThan(sent / 4);
    }
    const small = await plain(`${service.url}/healthz`, { "accept-encoding": "br" });
    expect(small.headers["content-encoding"]).toBeUndefined();
    const document = (await plain(`${service.url}/openapi.json`)).bytes;
    const [br, gz] = await Promise.all(
      ["br", "gzip"].map((encoding) =>
        plain(`${service.url}/openapi.json`, { "accept-encoding": encoding }),
      ),
    );
    expect(brotliDecompressSync(br?.bytes ?? "")).toEqual(document);
    expect(gunzipSync(gz?.bytes ?? "")).toEqual(document);
  });
});

describe("pages of other origins", () => {
  test("may read the document, and nothing else", async () => {
    const document = await fetch(`${service.url}/openapi.json`, {
      headers: { origin: "https://tool.example" },
    });
    expect(document.headers.get("access-control-allow-origin")).toBe("*");
    const preflight = await fetch(`${service.url}/v1/person/count`, {
      method: "OPTIONS",
      headers: { origin: "https://tool.example", "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(401);
    const answer = await service.call("/v1/account", {
      headers: { origin: "https://tool.example" },
    });
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("bodies", () => {
  test.each([
    ["application/json; profile=x", 200],
    ["application/json;charset=UTF-8;profile=x", 200],
    ["APPLICATION/JSON", 200],
    ["application/json; charset=latin1", 415],
    ["application/jsonx", 415],
    ["text/plain", 415],
  ])("as %s: %i", async (type, status) => {
    const answer = await service.call("/v1/person/count", {
      body: { filters: {} },
      headers: { "content-type": type },
    });
    expect(answer.status).toBe(status);
  });

  test("with a number as text are told that it is a string", async () => {
    const { json } = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: "10" },
    });
    expect(json.detail).toEqual(['per_page must be an integer, not a string ("10")']);
    const { json: query } = await service.call("/v1/company/employees?domain=acme.example&page=x");
    expect(query.detail).toEqual(['page must be an integer, not "x"']);
  });
});

test("a second Authorization is seen behind any number of headers", async () => {
  const filler = "a:\r\n".repeat(2_100);
  const key = `Authorization: Bearer ${service.key}\r\n`;
  const ask = async (head: string) => {
    const { answers } = await exchange(
      service.port,
      [`GET /v1/account HTTP/1.1\r\nHost: x\r\n${head}\r\n`],
      {
        answers: 1,
      },
    );
    return answers[0]?.status;
  };
  expect(await ask(key + filler)).toBe(200);
  expect(await ask(key + filler + key)).toBe(401);
});

describe("connections", () => {
  test("are said to end where the client asks for it, so that nobody sends another request on them", async () => {
    const head = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${service.key}\r\n`;
    const large = `POST /v1/person/count HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 2000000\r\n\r\n${"a".repeat(2_000_000)}`;
    for (const [bytes, status] of [
      [`GET /v1/account HTTP/1.1\r\n${head}\r\n`, 200],
      [`GET /v1/nothing HTTP/1.1\r\n${head}\r\n`, 404],
      [large, 413],
    ] as const) {
      const { answers, closed } = await exchange(service.port, [bytes]);
      expect([answers[0]?.status, answers[0]?.headers.connection, closed]).toEqual([
        status,
        "close",
        true,
      ]);
    }
    const { answers } = await exchange(
      service.port,
      [`GET /v1/account HTTP/1.1\r\n${head.replace(/Connection.*\r\n/, "")}\r\n`],
      {
        answers: 1,
      },
    );
    expect(answers[0]?.headers.connection).not.toBe("close");
  });

  const open = async (port: number, localAddress = "127.0.0.1"): Promise<Socket> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress }).on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  };
  const ask = async (socket: Socket): Promise<string> => {
    socket.write("GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    const [data] = (await once(socket, "data")) as [Buffer];
    return data.toString().slice(9, 12);
  };

  test("where all are taken the longest idle one makes room; a call at work is never cut for it", async () => {
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const small = await start({
      maxConnections: 3,
      wrapEngine: (engine) =>
        wrapped(engine, {
          count: async (filters) => gate.then(() => engine.count(filters)),
        }),
    });
    const busy = await open(small.port);
    const body = '{"filters":{}}';
    // Two at once, of which the first is soon done.
    busy.write(
      `GET /livez HTTP/1.1\r\nHost: x\r\n\r\nPOST /v1/person/count HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${small.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await once(busy, "data");
    const answered = once(busy, "data") as Promise<[Buffer]>;
    const idle = [await open(small.port), await open(small.port)] as const;
    expect([await ask(idle[0]), await ask(idle[1])]).toEqual(["200", "200"]);
    const closed = once(idle[0], "close");
    const third = await open(small.port);
    expect(await ask(third)).toBe("200");
    await closed;
    expect(await ask(idle[1])).toBe("200");
    release();
    expect((await answered)[0].toString()).toMatch(/^HTTP\/1\.1 200.*"count":300/s);
    for (const socket of [busy, third, idle[1]]) socket.destroy();
  });

  // Only Linux has the whole of 127.0.0.0/8 without being told.
  test.runIf(process.platform === "linux")(
    "no address crowds out another that holds fewer",
    async () => {
      const small = await start({ maxConnections: 4 });
      const ours = await open(small.port, "127.0.0.2");
      expect(await ask(ours)).toBe("200");
      const theirs: Socket[] = [];
      for (let n = 0; n < 8; n += 1) {
        const socket = await open(small.port);
        expect(await ask(socket)).toBe("200");
        theirs.push(socket);
      }
      // The longest idle of all was ours.
      expect(await ask(ours)).toBe("200");
      const second = await open(small.port, "127.0.0.2");
      expect([await ask(second), await ask(ours)]).toEqual(["200", "200"]);
      // A client hears a moment later that it was closed.
      await expect.poll(() => theirs.filter((socket) => !socket.closed)).toHaveLength(2);
      for (const socket of [ours, second, ...theirs]) socket.destroy();
    },
  );
});

describe("metrics", () => {
  test("listen on loopback whatever the service listens on, and answer to no foreign name", async () => {
    const own = await start({ host: "0.0.0.0", metricsPort: 0 });
    expect(own.metricsUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/metrics$/);
    const url = own.metricsUrl ?? "";
    expect((await plain(url)).status).toBe(200);
    expect((await plain(url, { host: "localhost" })).status).toBe(200);
    expect((await plain(url, { host: "rebound.example" })).status).toBe(421);
    const told = await start({ metricsPort: 0, metricsHost: "0.0.0.0" });
    const port = new URL(told.metricsUrl ?? "").port;
    expect(
      (await plain(`http://127.0.0.1:${port}/metrics`, { host: "scraper.example" })).status,
    ).toBe(200);
  });
});

test("a ledger that is lost and back is an event of the log, once each, and the load stands in the metrics", async () => {
  const written: string[] = [];
  let away = false;
  const told = await start({
    log: { write: (text: string) => written.push(text) },
    metricsPort: 0,
    wrapStore: (store) =>
      new Proxy(store, {
        get: (target, name) => {
          const value = Reflect.get(target, name) as unknown;
          if (name === "hold" && away)
            return () => Promise.reject(new StoreUnavailableError("the disk is full"));
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
  });
  const search = () => told.call("/v1/person/search", { body: { filters: {}, per_page: 1 } });
  const events = () =>
    written.flatMap((line) => (/ledger (lost|back)/.exec(line)?.[0] ? [JSON.parse(line).msg] : []));
  expect((await search()).status).toBe(200);
  away = true;
  for (let time = 0; time < 3; time++) expect((await search()).status).toBe(500);
  expect(events()).toEqual(["ledger lost"]);
  expect(written.join("")).not.toContain("StoreUnavailableError");
  away = false;
  for (let time = 0; time < 3; time++) expect((await search()).status).toBe(200);
  while (events().length < 2) await new Promise((wake) => setTimeout(wake, 5));
  expect(events()).toEqual(["ledger lost", "ledger back"]);
  const text = (await plain(told.metricsUrl ?? "")).bytes.toString();
  for (const what of ["running", "waiting", "connections"])
    expect(text).toMatch(new RegExp(`headcount_load\\{what="${what}"\\} \\d`));
});

describe("a call whose client is gone", () => {
  const lines = () => {
    const written: string[] = [];
    const entries = () =>
      written
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter((entry) => "status" in entry);
    return { entries, write: (text: string) => written.push(text) };
  };

  test("has its line with the key's id, and what it was charged is in the metrics", async () => {
    const log = lines();
    const lossy = await start({
      log,
      metricsPort: 0,
      onApp: (app) =>
        app.addHook("onSend", async ({ raw }, _, payload) => {
          raw.socket.destroy();
          return payload;
        }),
    });
    await expect(
      lossy.call("/v1/person/search", { body: { filters: {}, per_page: 3 } }),
    ).rejects.toThrow();
    while (log.entries().length < 1) await new Promise((wake) => setTimeout(wake, 5));
    expect(log.entries()).toEqual([
      expect.objectContaining({
        route: "/v1/person/search",
        status: 499,
        credits: "3",
        key_id: lossy.keyId,
      }),
    ]);
    const text = (await plain(lossy.metricsUrl ?? "")).bytes.toString();
    expect(text).toContain('headcount_requests_total{call="search",status="499"} 1');
    expect(text).toContain('headcount_credits_charged_unanswered_total{call="search"} 3');
  });

  long("that was given back is a line too, and no fault of the service", async () => {
    const log = lines();
    let entered = 0;
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = await start({
      log,
      wrapEngine: (engine) =>
        wrapped(engine, {
          people: async (...given) => {
            entered++;
            await gate;
            return engine.people(...given);
          },
        }),
    });
    const leaving = new AbortController();
    const call = fetch(`${slow.url}/v1/person/search`, {
      method: "POST",
      signal: leaving.signal,
      headers: { authorization: `Bearer ${slow.key}`, "content-type": "application/json" },
      body: '{"filters":{}}',
    });
    call.catch(() => undefined);
    while (entered === 0) await new Promise((wake) => setTimeout(wake, 5));
    leaving.abort();
    await expect(call).rejects.toThrow();
    await new Promise((wake) => setTimeout(wake, 50));
    release();
    while (log.entries().length < 1) await new Promise((wake) => setTimeout(wake, 5));
    expect(log.entries()).toEqual([
      expect.objectContaining({ status: 499, credits: "0", key_id: slow.keyId }),
    ]);
    // A body that is never sent whole.
    const half = connect(slow.port, "127.0.0.1");
    half.write(
      `POST /v1/person/count HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${slow.key}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    );
    await new Promise((wake) => setTimeout(wake, 100));
    half.destroy();
    while (log.entries().length < 2) await new Promise((wake) => setTimeout(wake, 5));
    expect(log.entries()[1]).toMatchObject({
      route: "/v1/person/count",
      status: 499,
      key_id: slow.keyId,
    });
  });

  test("before its body was read is a line too, and is not charged", async () => {
    const log = lines();
    const late = await start({ log });
    const find = late.store.findKey.bind(late.store);
    late.store.findKey = async (hash) => {
      await new Promise((wake) => setTimeout(wake, 150));
      return find(hash);
    };
    const socket = connect(late.port, "127.0.0.1");
    socket.write(
      `POST /v1/person/search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${late.key}\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"filters":{}}`,
    );
    await new Promise((wake) => setTimeout(wake, 60));
    socket.destroy();
    while (log.entries().length < 1) await new Promise((wake) => setTimeout(wake, 5));
    expect(log.entries()).toEqual([
      expect.objectContaining({
        route: "/v1/person/search",
        status: 499,
        credits: "0",
        key_id: late.keyId,
      }),
    ]);
  });
});
