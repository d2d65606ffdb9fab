import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { inspect } from "node:util";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { mapError } from "../../src/app/failures.ts";
import { DEFAULT_DIALECT, type Dialect } from "../../src/engine/client/dialect.ts";
import { type Unwrapped, unwrap, unwrapPage } from "../../src/engine/client/envelope.ts";
import { LostReplyError, ServiceError } from "../../src/engine/client/errors.ts";
import {
  type ClientOptions,
  createClient,
  type RequestLog,
} from "../../src/engine/client/http-client.ts";
import { isTransient } from "../../src/engine/client/retry.ts";
import { type ServiceClient, untoldCosts } from "../../src/engine/client/types.ts";
import { CliError } from "../../src/shared/errors.ts";
import { Page } from "../../src/shared/rows/page.ts";
import { CERTIFICATE, CERTIFICATE_KEY } from "../support/certificate.ts";
import { answerEnvelope, answerError, type RawServer, rawServer } from "../support/client.ts";
import { freePort } from "../support/free-port.ts";
import { long } from "../support/long.ts";

const KEY = "svc_live_0123456789abcdef";
const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((thing) => thing.close()));
});

async function serve(...args: Parameters<typeof rawServer>): Promise<RawServer> {
  const server = await rawServer(...args);
  open.push(server);
  return server;
}

function clientFor(baseUrl: string, more: Partial<ClientOptions> = {}): ServiceClient {
  const client = createClient({
    baseUrl,
    apiKey: KEY,
    dialect: DEFAULT_DIALECT,
    now: Date.now,
    env: {},
    ...more,
  });
  open.push(client);
  return client;
}

const failure = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => {
      throw new Error("the call succeeded");
    },
    (error: unknown) => error,
  );
const service = async (call: Promise<unknown>): Promise<ServiceError> => {
  const error = await failure(call);
  expect(error).toBeInstanceOf(ServiceError);
  return error as ServiceError;
};
const lost = async (call: Promise<unknown>): Promise<LostReplyError> => {
  const error = await failure(call);
  expect(error).toBeInstanceOf(LostReplyError);
  return error as LostReplyError;
};
const paid = { idempotencyKey: "key-1" };
const PLAIN =
  '{"status":true,"detail":[],"result":[{"id":"1"}],"credits_used":1,"credits_remaining":9}';

describe("what is sent", () => {
  test("a search carries key, idempotency key and page in the body, under the path of the base URL", async () => {
    const server = await serve((_, response) =>
      answerEnvelope(response, [{ id: "1" }], { used: 1 }),
    );
    const client = clientFor(`${server.url}/prefix/v1/`);
    await client.searchPage({ department: "Sales" }, { offset: 50, perPage: 25 }, paid);
    const [request] = server.seen;
    expect(request).toMatchObject({ method: "POST", url: "/prefix/v1/person/search" });
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      "content-type": "application/json",
      "idempotency-key": "key-1",
    });
    expect(request?.headers["accept-encoding"]).toBeUndefined();
    expect(JSON.parse(request?.body ?? "")).toEqual({
      filters: { department: "Sales" },
      per_page: 25,
      page: 3,
    });
  });

  test.each<[Dialect, object, object]>([
    [
      { paging: "page", firstPage: 0 },
      { offset: 50, perPage: 25 },
      { per_page: 25, page: 2 },
    ],
    [
      { paging: "offset", firstPage: 1 },
      { offset: 30, perPage: 25 },
      { per_page: 25, offset: 30 },
    ],
    [{ paging: "cursor", firstPage: 1 }, { offset: 0, perPage: 25 }, { per_page: 25 }],
    [
      { paging: "cursor", firstPage: 1 },
      { offset: 25, perPage: 25, cursor: "abc" },
      { per_page: 25, cursor: "abc" },
    ],
  ])("in the dialect %j", async (dialect, position, expected) => {
    const server = await serve((_, response) => answerEnvelope(response, []));
    const client = clientFor(server.url, { dialect });
    await client.searchPage({}, position as { offset: number; perPage: number }, paid);
    expect(JSON.parse(server.seen[0]?.body ?? "")).toEqual({ filters: {}, ...expected });
  });

  test("a page that begins nowhere is refused before it is sent", async () => {
    const server = await serve((_, response) => answerEnvelope(response, []));
    expect(() => clientFor(server.url).searchPage({}, { offset: 10, perPage: 25 }, paid)).toThrow(
      RangeError,
    );
    expect(server.seen).toEqual([]);
  });

  test("employees and enrich ask by query, with the value encoded", async () => {
    const server = await serve((_, response) => answerEnvelope(response, []));
    const client = clientFor(server.url);
    await client.employeesPage(
      { by: "name", value: "A&B Söhne" },
      { offset: 10, perPage: 10 },
      paid,
    );
    await client.enrich({ by: "domain", value: "example.com" }, paid);
    const urls = server.seen.map(({ url }) => new URL(url, server.url));
    expect(Object.fromEntries(urls[0]?.searchParams ?? [])).toEqual({
      name: "A&B Söhne",
      per_page: "10",
      page: "2",
    });
    expect(urls[1]?.pathname).toBe("/v1/company/enrich");
    expect(Object.fromEntries(urls[1]?.searchParams ?? [])).toEqual({ domain: "example.com" });
  });

  test("the log has path and cost, and neither key nor query", async () => {
    const server = await serve((_, response) =>
      answerEnvelope(response, [{ id: "1" }], { used: 0.25, headers: { "x-request-id": "r-7" } }),
    );
    const entries: RequestLog[] = [];
    const client = clientFor(server.url, { log: (entry) => entries.push(entry) });
    await client.employeesPage(
      { by: "domain", value: "secret.example" },
      { offset: 0, perPage: 10 },
      paid,
    );
    expect(entries).toMatchObject([
      {
        method: "GET",
        path: "/v1/company/employees",
        outcome: 200,
        creditsUsed: "0.25 credits",
        requestId: "r-7",
      },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/svc_live|secret/);
  });
});

describe("what is read", () => {
  test.each([
    [{ count: 5, cached: true, as_of: "2026-01-01T00:00:00Z" }, 5],
    [7, 7],
    [{ total: 3 }, 3],
    [{ total_results: 3 }, 3],
    [{ total_count: "12" }, 12],
    [{ results_count: 0 }, 0],
  ])("a count that comes as %j", async (result, count) => {
    const server = await serve((_, response) => answerEnvelope(response, result));
    expect((await clientFor(server.url).count({})).count).toBe(count);
  });

  const BOUND = { count: { value: 10_000, relation: "gte" } };
  test.each([
    [{ hits: 5 }],
    [BOUND],
    [{ count: 9, relation: "gte" }],
    [-1],
    [1.5],
    ["many"],
    [null],
  ])("a count that is none: %j", async (result) => {
    const server = await serve((_, response) => answerEnvelope(response, result));
    const error = await service(clientFor(server.url).count({}));
    expect(error).toMatchObject({ status: 200, envelope: false });
  });

  test("our own account, and one that says everything otherwise", async () => {
    const shapes: unknown[] = [
      {
        account: { id: "default", name: "Default" },
        key: { id: "k", name: "k", mode: "live", prefix: "hc_live_Ab…" },
        plan: { name: "standard" },
        credits: { remaining: 99.75, held: 1, used_today: 2 },
        rate_limits: { per_minute: 600, per_day: 100_000 },
        costs: {
          account: 0,
          person_count: 0,
          person_search: 0.25,
          company_enrich: 2,
          company_employees: 1,
        },
        limits: {
          per_page_max: 1000,
          max_depth: null,
          count_cache_seconds: 300,
          idempotency_seconds: 86_400,
        },
        dataset: { version: "v1", people: 50_000, companies: 7_000 },
      },
      {
        id: 42,
        email: "a@example.com",
        balance: "99.75",
        plan: { name: "pro", rate_limits: { requests_per_minute: 600, requests_per_day: 100_000 } },
        costs: { search: { credits: 0.25 }, enrich: 2 },
        max_per_page: 1000,
      },
    ];
    const server = await serve((_, response, count) => answerEnvelope(response, shapes[count - 1]));
    const client = clientFor(server.url);
    const own = await client.account();
    expect(own).toMatchObject({
      accountId: "default",
      keyMode: "live",
      plan: "standard",
      balance: 99_750_000n,
      held: 1_000_000n,
      perMinute: 600,
      perDay: 100_000,
      costs: { person_search: 250_000n, company_enrich: 2_000_000n, company_employees: 1_000_000n },
      perPageMax: 1000,
      maxDepth: undefined,
      datasetVersion: "v1",
      people: 50_000,
    });
    expect(await client.account()).toMatchObject({
      accountId: "42",
      balance: 99_750_000n,
      plan: "pro",
      perMinute: 600,
      perDay: 100_000,
      costs: { person_search: 250_000n, company_enrich: 2_000_000n, company_employees: undefined },
      perPageMax: 1000,
    });
  });

  test("a page is left as bytes, with what its envelope and headers say", async () => {
    const rows = [{ id: "1", name: 'A "quoted" ]}' }, { id: "2" }];
    const server = await serve((_, response) =>
      answerEnvelope(response, rows, {
        used: 0.5,
        remaining: 99.5,
        headers: {
          "x-total-count": "1234",
          "x-next-cursor": "n",
          "x-dataset-version": "d1",
          "idempotent-replayed": "true",
          deprecation: "true",
          sunset: "Sat, 31 Oct 2026 23:59:59 GMT",
        },
      }),
    );
    const page = await clientFor(server.url).searchPage({}, { offset: 0, perPage: 2 }, paid);
    expect(page).toMatchObject({ total: 1234, nextCursor: "n", replayed: true });
    expect(page.meta).toMatchObject({
      creditsUsed: 500_000n,
      creditsRemaining: 99_500_000n,
      datasetVersion: "d1",
    });
    expect(page.meta.deprecation).toContain("31 Oct 2026");
    expect(Page.read(page.body, "person").rows()).toEqual(rows);
  });

  test.each(["profiles", "people", "persons", "results", "items", "data", "employees"])(
    "a page that holds its rows under %s",
    async (name) => {
      const server = await serve((_, response) =>
        answerEnvelope(
          response,
          { [name]: [{ id: "1" }], total: 9, next_cursor: "c" },
          { used: 1 },
        ),
      );
      const page = await clientFor(server.url).searchPage({}, { offset: 0, perPage: 1 }, paid);
      expect(page).toMatchObject({ total: 9, nextCursor: "c" });
      expect(page.meta.creditsUsed).toBe(1_000_000n);
      expect(Page.read(page.body, "person").rows()).toEqual([{ id: "1" }]);
    },
  );

  test("a pretty-printed page, and one with notices", async () => {
    const envelope = {
      status: true,
      detail: ["soon: v2"],
      result: [{ id: "1" }],
      credits_used: 1,
      credits_remaining: 9,
    };
    const server = await serve((_, response, count) =>
      response.end(JSON.stringify(envelope, null, count === 1 ? 2 : 0)),
    );
    const client = clientFor(server.url);
    for (let index = 0; index < 2; index++) {
      const page = await client.searchPage({}, { offset: 0, perPage: 1 }, paid);
      expect(page.meta).toMatchObject({
        creditsUsed: 1_000_000n,
        creditsRemaining: 9_000_000n,
        notices: ["soon: v2"],
      });
    }
  });

  test("what a page's ends say is what its whole JSON says, however it is written", () => {
    const tricky = fc.constantFrom(
      '],"credits_used":9,"credits_remaining":8}',
      '"result":[',
      '\\"}',
      "\u2028",
      "]}",
    );
    const envelope = fc.record({
      indent: fc.constantFrom(0, 1, 2, "\t", "python"),
      rows: fc.array(
        fc.record({ id: fc.string(), text: fc.oneof(tricky, fc.string()), more: fc.jsonValue() }),
      ),
      used: fc.integer({ min: 0, max: 4_000_000 }),
      // Above 1e9 with a fraction a JSON number is not exact: the ends, read as text, then tell more than the whole JSON does.
      remaining: fc.integer({ min: 0, max: 3_900_000_000 }),
      status: fc.boolean(),
      detail: fc.constantFrom<readonly string[]>([], ["soon: v2"]),
      extra: fc.option(fc.jsonValue(), { nil: undefined }),
      late: fc.boolean(),
    });
    const outcome = (read: () => Unwrapped): unknown => {
      try {
        return read().meta;
      } catch (error) {
        return error instanceof ServiceError ? [error.name, error.status, error.detail] : error;
      }
    };
    fc.assert(
      fc.property(envelope, ({ indent, rows, used, remaining, status, detail, extra, late }) => {
        const costs = { credits_used: used / 4, credits_remaining: remaining / 4 };
        const more = extra === undefined ? {} : { meta: extra };
        const whole = {
          status,
          detail,
          result: rows,
          ...(late ? { ...costs, ...more } : { ...more, ...costs }),
        };
        const text =
          indent === "python"
            ? JSON.stringify(whole, undefined, 1).replace(/\n */g, " ")
            : JSON.stringify(whole, undefined, indent);
        const reply = { status: 200, headers: {}, body: Buffer.from(text) };
        expect(outcome(() => unwrapPage(reply, 0))).toEqual(outcome(() => unwrap(reply, 0)));
      }),
      { numRuns: 1_000 },
    );
    const pretty = {
      status: true,
      detail: [],
      result: [{}],
      credits_used: 1,
      credits_remaining: 2,
    };
    const body = Buffer.from(JSON.stringify(pretty, undefined, 4));
    expect(unwrapPage({ status: 200, headers: {}, body }, 0).result).toBeUndefined();
  });

  test("a page that does not say what it cost leaves that to whoever keeps the books", async () => {
    const server = await serve((_, response) =>
      response.end('{"status":true,"result":[{"id":1},{"id":2}]}'),
    );
    const { meta } = await clientFor(server.url).searchPage({}, { offset: 0, perPage: 2 }, paid);
    expect(meta.creditsUsed).toBeUndefined();
  });

  test.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ])("a body compressed with %s, and the same cut off", async (encoding, pack) => {
    const envelope = JSON.stringify({
      status: true,
      detail: [],
      result: [{ id: "1" }],
      credits_used: 1,
      credits_remaining: 9,
    });
    const whole = pack(Buffer.from(envelope));
    const server = await serve((_, response, count) => {
      response.setHeader("content-encoding", encoding);
      response.end(count === 1 ? whole : whole.subarray(0, whole.length - 8));
    });
    const client = clientFor(server.url);
    const page = await client.searchPage({}, { offset: 0, perPage: 1 }, paid);
    expect(page.body.toString()).toBe(envelope);
    expect(await lost(client.searchPage({}, { offset: 0, perPage: 1 }, paid))).toMatchObject({
      wasSent: true,
    });
  });

  test("deflate without its header, and a byte order mark, packed and bare", async () => {
    const text =
      '\ufeff{"status":true,"detail":[],"result":{"count":7},"credits_used":0,"credits_remaining":9}';
    const server = await serve((_, response, count) => {
      const packed = [deflateRawSync(text), deflateSync(text), Buffer.from(text)][count - 1];
      if (count < 3) response.setHeader("content-encoding", "deflate");
      response.end(packed);
    });
    const client = clientFor(server.url);
    for (let form = 0; form < 3; form++) expect((await client.count({})).count).toBe(7);
  });

  test("a decompression bomb is called what it is, and not asked for again", async () => {
    const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024, " "));
    const server = await serve((_, response) => {
      response.setHeader("content-encoding", "gzip");
      response.end(bomb);
    });
    const error = await lost(clientFor(server.url).account());
    expect(error).toMatchObject({
      code: "REPLY_TOO_LARGE",
      message: "the reply is larger than 8 MiB when unpacked",
    });
    expect(isTransient(error)).toBe(false);
  });

  test("a detail that is nested without end is no crash", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const server = await serve((_, response) => {
      response.statusCode = 422;
      response.end(`{"status":false,"detail":[${deep}],"result":null}`);
    });
    expect((await service(clientFor(server.url).account())).detail).toEqual([
      "(nested too deep to be shown)",
    ]);
  });

  test.each<[string, unknown]>([
    ["camelCase", { personSearch: 3, companyEnrich: 2, companyEmployees: 0.5 }],
    ["dashes", { "person-search": 3, "company-enrich": 2, "company-employees": 0.5 }],
    [
      "paths",
      { "/v1/person/search": 3, "POST /v1/company/enrich": 2, "v1/company/employees": 0.5 },
    ],
    ["dots", { "person.search": 3, "company.enrich": 2, "company.employees": 0.5 }],
    [
      "nesting",
      { person: { count: 0, search: 3 }, company: { enrich: { credits: 2 }, employees: 0.5 } },
    ],
    [
      "a list",
      [
        { call: "person_search", cost: 3 },
        { endpoint: "/v1/company/enrich", credits: 2 },
        { name: "companyEmployees", price: "0.5" },
      ],
    ],
  ])("prices under names with %s", async (_, costs) => {
    const server = await serve((_, response) => answerEnvelope(response, { costs }));
    const account = await clientFor(server.url).account();
    expect(account.costs).toEqual({
      person_search: 3_000_000n,
      company_enrich: 2_000_000n,
      company_employees: 500_000n,
    });
  });

  test("a price that is none of these is not known", async () => {
    const costs = {
      personSearch: -1,
      researchPerson: 9,
      enrich: "free",
      list: [{ call: "employees" }],
    };
    const server = await serve((_, response) => answerEnvelope(response, { costs }));
    const account = await clientFor(server.url).account();
    expect(untoldCosts(account)).toEqual(["person_search", "company_enrich", "company_employees"]);
  });
});

describe("answers that are no success", () => {
  test.each([401, 402, 403, 404, 409, 413, 415, 422, 429, 500, 503])(
    "status %i",
    async (status) => {
      const server = await serve((_, response) =>
        answerError(response, status, ["why", "and more"], { "retry-after": "7" }),
      );
      const error = await service(clientFor(server.url).account());
      expect(error).toMatchObject({
        status,
        detail: ["why", "and more"],
        envelope: true,
        requestId: "req-1",
        retryAfterMs: 7_000,
      });
      expect(error.creditsRemaining).toBe(status === 401 ? undefined : 100_000_000n);
    },
  );

  test("a 200 whose envelope says false", async () => {
    const server = await serve((_, response) =>
      response.end('{"status":false,"detail":["no"],"result":null,"credits_used":0}'),
    );
    expect(await service(clientFor(server.url).account())).toMatchObject({
      status: 200,
      detail: ["no"],
      envelope: true,
    });
  });

  test.each(['"error"', '"true"', "1", "0", "[]", "{}"])(
    "a 200 whose status is %s, which is not true, is no success",
    async (status) => {
      const server = await serve((_, response) =>
        response.end(`{"status":${status},"detail":["no"],"result":{},"credits_used":0}`),
      );
      expect(await service(clientFor(server.url).account())).toMatchObject({
        status: 200,
        envelope: true,
      });
    },
  );

  test("an HTML page: its title, bounded and without control characters", async () => {
    const title = `\u001b[31mLog in\u202e ${"x".repeat(500)}`;
    const server = await serve((_, response, count) => {
      response.writeHead(count === 1 ? 503 : 200, { "content-type": "text/html" });
      response.end(`<!doctype html>\n<html><title>${title}</title></html>`);
    });
    const client = clientFor(server.url);
    for (const status of [503, 200]) {
      const error = await service(client.account());
      expect(error).toMatchObject({ status, envelope: false });
      expect(error.detail[0]).toContain("Log in");
      expect(error.detail[0]?.length).toBeLessThan(200);
      expect(error.detail[0]).not.toMatch(/[\u0000-\u001f\u202e]/);
    }
  });

  test.each(["", "null", "[]", '"text"', "{}", '{"message":"gateway"}'])(
    "a 200 with the body %j",
    async (body) => {
      const server = await serve((_, response) => response.end(body));
      expect(await service(clientFor(server.url).account())).toMatchObject({
        status: 200,
        envelope: false,
      });
    },
  );

  test.each([301, 302, 307, 308])("a %i is refused and followed nowhere", async (status) => {
    const other = await serve((_, response) => answerEnvelope(response, {}));
    const server = await serve((_, response) => {
      response.writeHead(status, { location: `${other.url}/v1/account?leak=1` });
      response.end();
    });
    const error = await service(clientFor(server.url).account());
    expect(error.status).toBe(status);
    expect(error.detail[0]).toMatch(/redirect to http.*not followed/);
    expect(error.detail[0]).not.toContain("leak");
    expect(other.seen).toEqual([]);
  });
});

test.each([
  "x-request-id",
  "x-dataset-version",
  "deprecation",
  "sunset",
  "content-type",
  "x-next-cursor",
  "location",
])("a key that comes back in the header %s is left out before anything is read", async (name) => {
  const told = { [name]: `sent: Bearer ${KEY}` };
  for (const status of [200, 302, 500]) {
    const server = await serve((_, response) =>
      response.writeHead(status, told).end(status === 200 ? PLAIN : "no"),
    );
    const log: RequestLog[] = [];
    const client = clientFor(server.url, { log: (entry) => log.push(entry) });
    const seen = [
      await client.searchPage({}, { offset: 0, perPage: 1 }, paid).catch((error: object) => error),
      log,
    ];
    expect(inspect(seen, { depth: 9 })).not.toContain(KEY);
    expect(seen[0]).toMatchObject(status === 200 ? { meta: { status } } : { status });
  }
});

describe("no whole answer", () => {
  test("nobody listens: not sent", async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    expect(await lost(clientFor(nowhere).account())).toMatchObject({
      wasSent: false,
      code: "ECONNREFUSED",
    });
  });

  test("an unknown host: not sent", async () => {
    const error = await lost(clientFor("https://host.invalid").account());
    expect(error.wasSent).toBe(false);
    expect(error.code).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  test("https where plain HTTP is spoken: not sent", async () => {
    const server = await serve((_, response) => answerEnvelope(response, {}));
    const error = await lost(clientFor(server.url.replace("http:", "https:")).account());
    expect(error.wasSent).toBe(false);
    expect(server.seen).toEqual([]);
  });

  test("a certificate that proves nothing: not sent", async () => {
    let requests = 0;
    const server = createTlsServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE }, (_, response) => {
      requests++;
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: async () => void server.close() });
    const error = await lost(
      clientFor(`https://127.0.0.1:${(server.address() as AddressInfo).port}`).account(),
    );
    expect(error).toMatchObject({ wasSent: false, code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    expect(error.message).toContain("NODE_EXTRA_CA_CERTS");
    expect(isTransient(error)).toBe(false);
    // Whoever tries again on exit 8 would do so for ever.
    const site = { connectionName: "own", baseUrl: "https://127.0.0.1" };
    expect(mapError(error, site)).toMatchObject({ exitCode: 2, code: "untrusted" });
    expect(requests).toBe(0);
  });

  async function tcp(answer: (socket: Socket) => void): Promise<string> {
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.once("data", () => answer(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({
      close: async () => {
        for (const socket of sockets) socket.destroy();
        server.close();
      },
    });
    return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  }

  test.each<[string, (socket: Socket) => void]>([
    ["closed without a word", (socket) => socket.end()],
    ["reset", (socket) => socket.resetAndDestroy()],
    [
      "cut in the body",
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"status":tr'),
    ],
    [
      "cut in a chunk",
      (socket) => socket.end("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n40\r\n{"),
    ],
    ["no HTTP at all", (socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n")],
    [
      "a body longer than said",
      (socket) =>
        socket.end(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{"status":true,"result":1}`,
        ),
    ],
  ])("%s: sent, so it may have been charged", async (_, answer) => {
    const url = await tcp(answer);
    expect(
      await lost(clientFor(url).searchPage({}, { offset: 0, perPage: 1 }, paid)),
    ).toMatchObject({ wasSent: true });
  });

  test("JSON that is cut, without a length: what came of it is kept, as it was charged for", async () => {
    const url = await tcp((socket) =>
      socket.end(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{"status":true,"res',
      ),
    );
    const call = (): Promise<unknown> =>
      clientFor(url).searchPage({}, { offset: 0, perPage: 1 }, paid);
    expect(await call()).toMatchObject({ isCut: true });
    // What is free is asked for again.
    expect(await lost(clientFor(url).account())).toMatchObject({ code: "BROKEN_JSON" });
  });

  long("no headers, and a body that stops: both end by themselves", async () => {
    const timeouts = { headers: 300, bodyIdle: 300 };
    const silent = await tcp(() => undefined);
    expect(await lost(clientFor(silent, { timeouts }).account())).toMatchObject({
      wasSent: true,
      code: "HEADERS_TIMEOUT",
    });
    const stalled = await tcp((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"status"'),
    );
    expect(await lost(clientFor(stalled, { timeouts }).account())).toMatchObject({
      wasSent: true,
      code: "BODY_TIMEOUT",
    });
  });

  long("a free call is given up sooner than a paid one, and both say after how long", async () => {
    const timeouts = { headers: 900, free: 200 };
    const silent = await tcp(() => undefined);
    const [free, bought] = await Promise.all([
      lost(clientFor(silent, { timeouts }).account()),
      lost(clientFor(silent, { timeouts }).searchPage({}, { offset: 0, perPage: 1 }, paid)),
    ]);
    expect(free).toMatchObject({
      code: "HEADERS_TIMEOUT",
      message: expect.stringContaining("no answer within 0.2 s"),
    });
    expect(bought).toMatchObject({
      wasSent: true,
      message: expect.stringContaining("no answer within 0.9 s"),
    });
  });

  long("a body that trickles in for ever", async () => {
    const url = await tcp((socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n");
      const timer = setInterval(() => socket.write(" "), 5);
      socket.on("close", () => clearInterval(timer));
    });
    let time = 0;
    const now = (): number => (time += 1_000);
    expect(await lost(clientFor(url, { now }).account())).toMatchObject({
      wasSent: true,
      code: "REPLY_TOO_SLOW",
    });
  });

  test("cancelled while it is connecting: it is not sent afterwards either", async () => {
    const server = await serve((_, response) => answerEnvelope(response, {}));
    const client = clientFor(server.url);
    const controller = new AbortController();
    const call = lost(client.account(controller.signal));
    controller.abort("changed my mind");
    expect(await call).toMatchObject({ wasSent: false, code: "ABORTED" });
    await client.count({}).catch(() => undefined);
    expect(server.seen.map(({ url }) => url)).toEqual(["/v1/person/count"]);
  });

  test("cancelled before and while it is under way", async () => {
    const controller = new AbortController();
    const client = clientFor(await tcp(() => controller.abort("now")));
    expect(await lost(client.account(AbortSignal.abort("stop")))).toMatchObject({
      wasSent: false,
      code: "ABORTED",
      cause: "stop",
    });
    expect(await lost(client.account(controller.signal))).toMatchObject({
      wasSent: true,
      code: "ABORTED",
      cause: "now",
    });
  });
});

describe("where a key may go", () => {
  const refused = (baseUrl: string): CliError => {
    try {
      clientFor(baseUrl);
    } catch (error) {
      expect(error).toBeInstanceOf(CliError);
      return error as CliError;
    }
    throw new Error("it was accepted");
  };

  test.each([
    "http://example.com",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://[::ffff:1.2.3.4]",
    "http://0.0.0.0",
    "ftp://example.com",
    "file:///etc/passwd",
    "example.com",
    "",
    "https://user:secret@example.com",
    "https://example.com/?x=1",
    "https://example.com/?api_key=secret",
    "https://example.com/#secret",
    "example.com?api_key=secret",
  ])("not to %j", (baseUrl) => {
    const error = refused(baseUrl);
    expect(error).toMatchObject({ exitCode: 2, code: "bad_base_url" });
    expect(error.message).not.toContain("secret");
  });

  test.each([
    "http://127.8.9.10:1",
    "http://127.1:1",
    "http://0x7f000001:1",
    "http://[::1]:1",
    "http://localhost:1",
  ])("over plain HTTP to this machine: %s", (baseUrl) => {
    expect(clientFor(baseUrl).baseUrl).toMatch(/^http:/);
  });
});
