import { afterEach, describe, expect, test } from "vitest";
import type { Engine } from "../../src/dataset/engine.ts";
import { StoreUnavailableError } from "../../src/service/ledger/errors.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { cases } from "../support/campaign.ts";
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

watchResponses(onResponse);

const running: TestService[] = [];
const start = async (options: TestServiceOptions = {}): Promise<TestService> => {
  const service = await startTestService({ people: 500, ...options });
  running.push(service);
  return service;
};
afterEach(async () => {
  for (const service of running.splice(0)) {
    // Whatever a test did: I1-I3.
    expect(await service.store.verify()).toEqual([]);
    await service.close();
  }
});

const SEARCH = "/v1/person/search";
const search = (
  service: TestService,
  perPage: number,
  headers: Record<string, string> = {},
  page = 1,
) => service.call(SEARCH, { body: { filters: {}, per_page: perPage, page }, headers });
const left = async (service: TestService): Promise<number> => {
  const { balance, held } = await service.store.balance("default", "live");
  expect(held).toBe(0n);
  return Number(balance) / 1_000_000;
};

/** Counts the calls that reach the data, and can hold them up or make them fail. */
function watched() {
  const seen = { calls: 0 };
  let gate: Promise<void> = Promise.resolve();
  let failure: Error | undefined;
  const enter = async (): Promise<void> => {
    seen.calls++;
    await gate;
    if (failure) throw failure;
  };
  const gated = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    await enter();
    return work();
  };
  const wrap = (inner: Engine): Engine =>
    wrapped(inner, {
      count: (filters) => gated(() => inner.count(filters)),
      people: (filters, slice) => gated(() => inner.people(filters, slice)),
      company: (lookup) => gated(() => inner.company(lookup)),
      employees: (id, slice) => gated(() => inner.employees(id, slice)),
    });
  return {
    seen,
    wrap,
    fail: (error: Error | undefined) => {
      failure = error;
    },
    hold: (): (() => void) => {
      let open: () => void = () => undefined;
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
  };
}

describe("what is charged", () => {
  test("a call that the balance does not cover is a 402 that says what would fit, before any row is read", async () => {
    const data = watched();
    const service = await start({ credits: 10, wrapEngine: data.wrap });
    const refused = await search(service, 25);
    expect(refused.status).toBe(402);
    expect(refused.json.detail[0]).toBe(
      "this call may cost 25 credits and 10 are available: lower per_page to 10 or top up",
    );
    expect(refused.json.credits_remaining).toBe(10);
    expect(data.seen.calls).toBe(0);
    expect((await search(service, 9)).json.credits_used).toBe(9);
    expect((await search(service, 2)).json.detail[0]).toContain(
      "1 are available: lower per_page to 1 or top up",
    );
    expect((await search(service, 1)).json.credits_used).toBe(1);
    const empty = await search(service, 1);
    expect([empty.status, empty.json.detail[0]]).toEqual([
      402,
      "this call may cost 1 credit and 0 are available: top up",
    ]);
    // Free calls go on.
    expect((await service.call("/v1/account")).status).toBe(200);
    expect((await service.call("/v1/person/count", { body: { filters: {} } })).status).toBe(200);
  });

  test("prices in fractions of a credit add up exactly", async () => {
    const costs = { person_search: 250_000n, company_enrich: 1n, company_employees: 0n } as const;
    const { STANDARD_PLAN } = await import("../../src/service/ledger/ledger.ts");
    const service = await start({
      credits: "10.000001",
      plan: { costs: { ...STANDARD_PLAN.costs, ...costs } as never },
    });
    expect((await search(service, 3)).json).toMatchObject({
      credits_used: 0.75,
      credits_remaining: 9.250001,
    });
    const domain = (await search(service, 37)).json.result.find(
      (one: { company_domain: string | null }) => one.company_domain,
    ).company_domain;
    expect((await service.call(`/v1/company/enrich?domain=${domain}`)).json).toMatchObject({
      credits_used: 0.000001,
      credits_remaining: 0,
    });
    const free = await service.call(`/v1/company/employees?domain=${domain}`);
    expect(free.json).toMatchObject({ status: true, credits_used: 0, credits_remaining: 0 });
    expect(free.json.result.length).toBeGreaterThan(0);
  });

  test("credits_remaining of a sequential client falls by exactly credits_used (I15)", async () => {
    const service = await start({ credits: 400 });
    let before = 400;
    for (const perPage of [1, 7, 100, 3, 250]) {
      const { json } = await search(service, perPage);
      const used = json.result?.length ?? 0;
      expect(json.credits_used).toBe(used);
      expect(json.credits_remaining).toBe(before - used);
      before -= used;
    }
  });

  test("with B credits and pages of p, exactly floor(B/p) of many parallel calls succeed (I6)", async () => {
    for (const [credits, perPage, parallel] of [
      [100, 10, 40],
      [99, 25, 16],
      [7, 1, 30],
    ] as const) {
      const service = await start({ credits });
      const answers = await Promise.all(
        Array.from({ length: parallel }, () => search(service, perPage)),
      );
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(
        Math.floor(credits / perPage),
      );
      expect(statuses.filter((status) => status === 402)).toHaveLength(
        parallel - Math.floor(credits / perPage),
      );
      expect(await left(service)).toBe(credits % perPage);
    }
  });

  test("a hold counts against every key until it is settled", async () => {
    const data = watched();
    const service = await start({ credits: 30, wrapEngine: data.wrap });
    const open = data.hold();
    const slow = search(service, 20);
    while (data.seen.calls === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const account = await service.call("/v1/account");
    expect(account.json.result.credits).toMatchObject({ remaining: 30, held: 20 });
    const refused = await search(service, 11);
    expect(refused.json.detail[0]).toBe(
      "this call may cost 11 credits and 10 are available (20 more are held by calls in flight): lower per_page to 10 or top up",
    );
    open();
    expect((await slow).json.credits_used).toBe(20);
    expect(await left(service)).toBe(10);
  });
});

describe("what is not charged", () => {
  test("a dataset that fails: 500 in the envelope, the hold given back, the message without details", async () => {
    const data = watched();
    const service = await start({ wrapEngine: data.wrap });
    data.fail(new Error("disk /secret/path is gone"));
    for (const request of [
      search(service, 5),
      service.call("/v1/person/count", { body: { filters: {} } }),
      service.call("/v1/company/enrich?id=x"),
      service.call("/v1/company/employees?id=x"),
    ]) {
      const { json, status, text } = await request;
      expect([status, json.detail]).toEqual([500, ["internal error; nothing was charged"]]);
      expect(text).not.toContain("secret");
    }
    data.fail(undefined);
    expect(await left(service)).toBe(10_000);
    expect((await search(service, 5)).status).toBe(200);
  });

  test("a dataset that hangs is given up after the work timeout", async () => {
    const data = watched();
    const service = await start({ wrapEngine: data.wrap, timeouts: { work: 100 } });
    const open = data.hold();
    const { json, status } = await search(service, 5);
    expect([status, json.detail[0]]).toEqual([
      500,
      "no answer from the dataset within 100 ms; nothing was charged, try again",
    ]);
    expect(await left(service)).toBe(10_000);
    open();
  });

  test("a client that leaves before its page is there", async () => {
    const data = watched();
    const service = await start({ wrapEngine: data.wrap });
    const open = data.hold();
    const body = '{"filters":{},"per_page":50}';
    const gone = exchange(
      service.port,
      [
        `POST ${SEARCH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      ],
      { deadlineMs: 300 },
    );
    await gone;
    expect(data.seen.calls).toBe(1);
    // Until the server has read the end of the connection.
    await new Promise((resolve) => setTimeout(resolve, 100));
    open();
    while ((await service.store.balance("default", "live")).held > 0n)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await left(service)).toBe(10_000);
  });

  test("a store that fails at any step: 500, never charged, and the next call works", async () => {
    for (const method of ["findKey", "account", "hold", "settle", "balance", "money"] as const) {
      let broken = false;
      const wrapStore = (inner: Store): Store =>
        new Proxy(inner, {
          get(target, name) {
            const value = Reflect.get(target, name) as unknown;
            if (typeof value !== "function") return value;
            if (broken && name === method)
              return () => Promise.reject(new StoreUnavailableError("locked by x"));
            return value.bind(target) as unknown;
          },
        });
      const service = await start({ wrapStore });
      broken = true;
      const answer =
        method === "balance" ? await service.call("/v1/account") : await search(service, 5);
      // Without the balance of its envelope a paid answer stands all the same: that balance is from its commit.
      if (method === "money") {
        expect((await service.call("/v1/person/count", { body: { filters: {} } })).status).toBe(
          500,
        );
        expect(answer.status).toBe(200);
        broken = false;
        expect(await left(service)).toBe(9_995);
        continue;
      }
      expect([method, answer.status]).toEqual([method, 500]);
      expect(answer.json).toMatchObject({ status: false, result: null, credits_used: 0 });
      expect(answer.text).not.toContain("locked by");
      expect((await fetch(`${service.url}/healthz`)).status).toBe(method === "balance" ? 503 : 200);
      broken = false;
      expect([method, await left(service)]).toEqual([method, 10_000]);
      expect((await search(service, 5)).status).toBe(200);
    }
  });

  test("a charge that failed is not waited for a second time: what was held comes back later", async () => {
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const wrapStore = (inner: Store): Store =>
      new Proxy(inner, {
        get(target, name) {
          if (name === "settle") return () => Promise.reject(new StoreUnavailableError("away"));
          if (name === "release")
            return (holdId: string) => gate.then(() => target.release(holdId));
          const value = Reflect.get(target, name) as unknown;
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
    const service = await start({ wrapStore });
    const { json, status } = await search(service, 5);
    const words = "internal error; ask again with the same Idempotency-Key to learn the outcome";
    expect([status, json.detail]).toEqual([500, [words]]);
    open();
    while ((await service.store.balance("default", "live")).held > 0n)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await left(service)).toBe(10_000);
  });

  test("401, 402, 422 and 429 read no row of the dataset (I8)", async () => {
    const data = watched();
    const service = await start({ credits: 1, plan: { perMinute: 6 }, wrapEngine: data.wrap });
    const statuses = [
      await service.call(SEARCH, { body: { filters: {} }, key: null }),
      await service.call(SEARCH, { body: { filters: { nope: 1 } } }),
      await service.call("/v1/company/enrich?nope=1"),
      await search(service, 2),
      await service.call("/v1/company/employees?domain=a.example"),
      await service.call(SEARCH, { body: "{" }),
      await service.call("/v1/nope"),
      await search(service, 2),
    ].map(({ status }) => status);
    expect(statuses).toEqual([401, 422, 422, 402, 402, 422, 404, 429]);
    expect(data.seen.calls).toBe(0);
  });

  test("the first check that fails decides: 401, 429, 422, 402", async () => {
    const service = await start({ credits: 0, plan: { perMinute: 2 } });
    const bad = { body: { filters: { nope: 1 }, per_page: 5_000 } };
    expect((await service.call(SEARCH, { ...bad, key: "x" })).status).toBe(401);
    expect((await service.call(SEARCH, bad)).status).toBe(422);
    expect((await search(service, 5)).status).toBe(402);
    expect((await service.call(SEARCH, bad)).status).toBe(429);
    expect((await service.call(SEARCH, { ...bad, key: "x" })).status).toBe(401);
  });
});

describe("Idempotency-Key", () => {
  const KEY = { "idempotency-key": "order-1" };

  test("replays the stored reply byte for byte and charges once (I7)", async () => {
    const service = await start();
    const domain = (await search(service, 20)).json.result.find(
      (one: { company_domain: string | null }) => one.company_domain,
    ).company_domain;
    const before = await left(service);
    let spent = 0;
    for (const [at, request] of [
      () => search(service, 5, { "idempotency-key": "s" }),
      () =>
        service.call(`/v1/company/enrich?domain=${domain}`, {
          headers: { "idempotency-key": "s" },
        }),
      () =>
        service.call(`/v1/company/employees?domain=${domain}`, {
          headers: { "idempotency-key": "s" },
        }),
    ].entries()) {
      const first = await request();
      const again = await request();
      expect([at, first.status]).toEqual([at, 200]);
      expect(again.text).toBe(first.text);
      expect(first.headers.get("idempotent-replayed")).toBeNull();
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      for (const name of [
        "x-dataset-version",
        "x-total-count",
        "x-page",
        "x-next-cursor",
        "link",
      ]) {
        expect(again.headers.get(name)).toBe(first.headers.get(name));
      }
      expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
      spent += first.json.credits_used;
    }
    expect(await left(service)).toBe(before - spent);
  });

  test("another request under the same key is a 422; other calls and test keys have keys of their own", async () => {
    const service = await start();
    expect((await search(service, 5, KEY)).status).toBe(200);
    for (const other of [
      search(service, 6, KEY),
      search(service, 5, KEY, 2),
      service.call(SEARCH, { body: { filters: { country: "x" }, per_page: 5 }, headers: KEY }),
    ]) {
      const { json, status } = await other;
      expect([status, json.detail[0]]).toEqual([422, expect.stringContaining("another request")]);
    }
    const same = await service.call(SEARCH, {
      body: '{ "page": 1, "per_page": 5, "filters": {} }',
      headers: KEY,
    });
    expect(same.headers.get("idempotent-replayed")).toBe("true");
    const test = await service.call(SEARCH, {
      body: { filters: {}, per_page: 5 },
      headers: KEY,
      key: service.testKey,
    });
    expect([test.status, test.headers.get("idempotent-replayed")]).toEqual([200, null]);
    expect(await left(service)).toBe(9_995);
  });

  test("while the first is being answered the second is a 409 with Retry-After: 1", async () => {
    const data = watched();
    const service = await start({ wrapEngine: data.wrap });
    const open = data.hold();
    const first = search(service, 5, KEY);
    while (data.seen.calls === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await search(service, 5, KEY);
    expect([second.status, second.headers.get("retry-after")]).toEqual([409, "1"]);
    open();
    expect((await first).status).toBe(200);
    expect((await search(service, 5, KEY)).headers.get("idempotent-replayed")).toBe("true");
    expect(await left(service)).toBe(9_995);
  });

  test("errors are not stored: after a 402, a 404 or a 500 the same key works", async () => {
    const data = watched();
    const service = await start({ credits: 4, wrapEngine: data.wrap });
    expect((await search(service, 5, KEY)).status).toBe(402);
    await service.store.grant("default", "live", 100_000_000n as never, "top-up");
    data.fail(new Error("x"));
    expect((await search(service, 5, KEY)).status).toBe(500);
    data.fail(undefined);
    const { json, status } = await search(service, 5, KEY);
    expect([status, json.credits_used]).toEqual([200, 5]);
    const miss = () => service.call("/v1/company/enrich?domain=nobody.example", { headers: KEY });
    expect([(await miss()).status, (await miss()).status]).toEqual([404, 404]);
    expect(await left(service)).toBe(99);
  });

  test("a replay needs no balance", async () => {
    const service = await start({ credits: 5 });
    const first = await search(service, 5, KEY);
    expect(first.json.credits_remaining).toBe(0);
    expect((await search(service, 5, KEY)).text).toBe(first.text);
  });

  long("a storm of retries over lost replies: each order is charged exactly once", async () => {
    let seed = 1;
    const random = (): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const count = cases(60, 10_000);
    const credits = count * 4;
    const service = await start({
      onApp(app) {
        app.addHook("onRequest", async ({ call }) => {
          if (call.name === "search" && random() < 0.1)
            throw new Error("it fails before it is charged");
        });
        app.addHook("onSend", async ({ call, raw }, reply, payload) => {
          const chance = call.name === "search" && call.isAnswered ? random() : 1;
          if (chance < 0.2) {
            const bytes = Buffer.from(payload as Buffer);
            reply.raw.writeHead(reply.statusCode, { "content-length": bytes.length });
            await new Promise<void>((sent) =>
              reply.raw.write(bytes.subarray(0, 200), () => sent()),
            );
          }
          if (chance >= 0.5) return payload;
          raw.socket.destroy();
          return new Promise(() => undefined);
        });
      },
      credits,
      plan: { perMinute: 1_000_000, perDay: 10_000_000 },
    });
    let attempts = 0;
    const order = async (id: number): Promise<number> => {
      for (let attempt = 0; attempt < 60; attempt++) {
        attempts++;
        try {
          const answer = await search(service, 1 + (id % 5), { "idempotency-key": `order-${id}` });
          if (answer.status === 200) return answer.json.credits_used;
          expect([409, 500]).toContain(answer.status);
        } catch {
          // The reply was lost, so ask again.
        }
      }
      throw new Error(`order ${id} was never answered`);
    };
    const orders = Array.from({ length: count }, (_, id) => id);
    let spent = 0;
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let id = orders.pop(); id !== undefined; id = orders.pop()) {
          const used = await order(id);
          spent += used;
        }
      }),
    );
    expect(spent).toBe(count * 3);
    expect(attempts).toBeGreaterThan(count * 1.3);
    expect(await left(service)).toBe(credits - count * 3);
    expect(await service.store.verify()).toEqual([]);
  });
});
