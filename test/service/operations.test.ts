import { readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { generateDataset } from "../../src/dataset/build/sample.ts";
import { ReloadingEngine } from "../../src/dataset/embedded/reloading-engine.ts";
import { openStore, TEST_PEOPLE } from "../../src/service/admin/data-folder.ts";
import { FIRST_CREDITS } from "../../src/service/admin/keys.ts";
import { MAGIC_SLOW_MS } from "../../src/service/http/magic.ts";
import { STANDARD_PLAN } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { credits } from "../../src/shared/contract/money.ts";
import { wrapped } from "../support/dataset.ts";
import { long } from "../support/long.ts";
import { watchResponses } from "../support/openapi.ts";
import {
  onResponse,
  startTestService,
  type TestService,
  type TestServiceOptions,
  temporaryFolder,
} from "../support/service.ts";

watchResponses(onResponse);

const start = async (options: TestServiceOptions = {}): Promise<TestService> => {
  const service = await startTestService({ people: 300, ...options });
  onTestFinished(() => service.close());
  return service;
};
const lines = () => {
  const written: string[] = [];
  return { written, write: (text: string) => written.push(text) };
};

long("a data folder whose maker died on the way gets what is missing, not more", async () => {
  const folder = temporaryFolder();
  const half = await openSqliteStore({ path: join(folder, "ledger.db"), now: Date.now });
  await half.createAccount("default", "default");
  await half.grant("default", "live", FIRST_CREDITS, "first");
  await half.close();
  const store = await openStore(folder);
  expect((await store.balance("default", "live")).balance).toBe(FIRST_CREDITS);
  expect((await store.balance("default", "test")).balance).toBe(FIRST_CREDITS);
  await store.close();
});

describe("keys", () => {
  long("a revoked key is refused by the very next call", async () => {
    const service = await start();
    expect((await service.call("/v1/account")).status).toBe(200);
    await service.store.revokeKey(service.keyId);
    const { json, status } = await service.call("/v1/account");
    expect([status, json.detail]).toEqual([401, ["the API key is not valid or was revoked"]]);
    expect((await service.call("/v1/account", { key: service.testKey })).status).toBe(200);
  });

  test("a key revoked through another process' store is refused at once on the same ledger", async () => {
    const service = await start();
    const other = await openSqliteStore({ path: service.ledger, now: Date.now });
    expect((await service.call("/v1/account")).status).toBe(200);
    await other.revokeKey(service.keyId);
    await other.close();
    expect((await service.call("/v1/account")).status).toBe(401);
  });

  test("what another process changed is in the very next answer", async () => {
    const service = await start({ credits: 100 });
    const other = await openSqliteStore({ path: service.ledger, now: Date.now });
    const body = { filters: { department: "Sales" } };
    for (let round = 1; round <= 20; round++) {
      await other.grant("default", "live", credits(BigInt(round) * 1_000_000n), "more");
      const perMinute = 1_000 + round;
      await other.setPlan("default", { ...STANDARD_PLAN, name: `plan-${round}`, perMinute });
      const expected = 100 + (round * (round + 1)) / 2;
      const account = await service.call("/v1/account");
      expect(account.json.result.credits.remaining).toBe(expected);
      expect(account.json.result.plan.name).toBe(`plan-${round}`);
      const counted = await service.call("/v1/person/count", { body });
      expect(counted.json.credits_remaining).toBe(expected);
      expect(counted.headers.get("x-ratelimit-limit")).toBe(String(perMinute));
    }
    await other.close();
  });

  test("the key is nowhere but in the request: not in logs, ledger, metrics, answers (I13)", async () => {
    const log = lines();
    const service = await start({ log, metricsPort: 0 });
    const { key, ledger, metricsUrl = "" } = service;
    const secret = key.slice("hc_live_".length + 6, -6);
    const answers = [
      await service.call("/v1/account"),
      await service.call(`/v1/company/enrich?name=${key}`),
      await service.call(`/v1/company/enrich?${key}=1`, { headers: { "x-request-id": "a" } }),
      await service.call("/v1/person/search", {
        body: { filters: { department: "Sales" } },
        headers: { "idempotency-key": "x" },
      }),
      await service.call("/v1/account", { key: `${key}x` }),
      await service.call(`/v1/${key}`),
    ];
    // What a client itself puts into a name or a path is told back to it and to nobody else.
    for (const at of [0, 3, 4]) expect(answers[at]?.text).not.toContain(secret);
    const metrics = await (await fetch(metricsUrl)).text();
    await service.close();
    const folder = join(ledger, "..");
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "latin1"));
    for (const text of [
      ...log.written,
      metrics,
      ...files,
      readFileSync("/proc/self/cmdline", "latin1"),
    ]) {
      expect(text.includes(secret)).toBe(false);
    }
    expect(files.join("").length).toBeGreaterThan(1_000);
  });
});

describe("test keys", () => {
  test("see their own dataset, spend simulated credits, and leave live ones alone", async () => {
    const service = await start();
    const { testKey: key } = service;
    const { json } = await service.call("/v1/account", { key });
    expect(json.result.dataset).toMatchObject({ version: "test-1", people: TEST_PEOPLE });
    expect(json.result.key.mode).toBe("test");
    const found = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 20 },
      key,
    });
    expect(found.json).toMatchObject({ credits_used: 20, credits_remaining: 9_980 });
    expect((await service.call("/v1/account")).json.credits_remaining).toBe(10_000);
    const counted = await service.call("/v1/person/count", { body: { filters: {} }, key });
    expect(counted.json.result.count).toBe(TEST_PEOPLE);
    expect(
      (await service.call("/v1/person/count", { body: { filters: {} } })).json.result.count,
    ).toBe(300);
  });

  test("magic values force every answer, after the checks and without a charge; live keys know no magic", async () => {
    const slept: number[] = [];
    const service = await start({ sleep: async (ms) => void slept.push(ms) });
    const { testKey: key } = service;
    const search = (name: string) =>
      service.call("/v1/person/search", { body: { filters: { name } }, key });
    const count = (name: string) =>
      service.call("/v1/person/count", { body: { filters: { name: ["a", name] } }, key });
    const statuses = async (calls: Promise<{ readonly status: number }>[]) =>
      (await Promise.all(calls)).map(({ status }) => status);
    const names = ["magic-402", "MAGIC-404", "magic-429", "magic-500", "magic-slow"];
    expect(await statuses(names.map(search))).toEqual([402, 200, 429, 500, 200]);
    expect(await statuses(names.map(count))).toEqual([200, 200, 429, 500, 200]);
    for (const path of ["enrich", "employees"]) {
      const calls = names.map((name) =>
        service.call(`/v1/company/${path}?domain=${name}.example`, { key }),
      );
      expect(await statuses(calls)).toEqual([402, 404, 429, 500, 404]);
      expect(
        (await service.call(`/v1/company/${path}?company_network_url=magic-500`, { key })).status,
      ).toBe(500);
    }
    expect(slept).toEqual([MAGIC_SLOW_MS, MAGIC_SLOW_MS, MAGIC_SLOW_MS, MAGIC_SLOW_MS]);
    expect((await search("magic-429")).headers.get("retry-after")).toBe("1");
    expect(
      (
        await service.call("/v1/person/search", {
          body: { filters: { name: "magic-500", nope: 1 } },
          key,
        })
      ).status,
    ).toBe(422);
    expect(
      (await service.call("/v1/person/search", { body: { filters: { name: "magic-500" } } }))
        .status,
    ).toBe(200);
    expect((await service.call("/v1/account", { key })).json.result.credits).toMatchObject({
      remaining: 10_000,
      held: 0,
    });
  });

  test("magic-drop charges and loses the reply; the same Idempotency-Key brings the stored one", async () => {
    const service = await start();
    const { testKey: key } = service;
    const found = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 1 },
      key,
    });
    const [{ name }] = found.json.result as [{ name: string }];
    const headers = { "idempotency-key": "lost" };
    const body = { filters: { name: ["magic-drop", name] }, per_page: 5 };
    const search = () => service.call("/v1/person/search", { body, headers, key });
    await expect(search()).rejects.toThrow();
    const { balance, held } = await service.store.balance("default", "test");
    expect([balance < 9_999_000_000n, held]).toEqual([true, 0n]);
    const again = await search();
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect((await service.store.balance("default", "test")).balance).toBe(balance);
  });

  test.each([
    ["/v1/person/search", { filters: { name: "magic-slow" }, per_page: 3 }, 200],
    ["/v1/company/enrich?name=magic-slow", undefined, 404],
    ["/v1/company/employees?name=magic-slow&per_page=3", undefined, 404],
  ])(
    "magic-slow on %s holds its credits and its Idempotency-Key, so that the 409 can be rehearsed",
    async (path, body, last) => {
      let wake: () => void = () => undefined;
      const asleep = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const service = await start({ sleep: () => asleep });
      const headers = { "idempotency-key": "rehearsal" };
      const init = { key: service.testKey, headers, ...(body === undefined ? {} : { body }) };
      const both = [service.call(path, init), service.call(path, init)];
      const second = await Promise.race(both);
      expect([second.status, second.headers.get("retry-after")]).toEqual([409, "1"]);
      // However long it takes, a third is told the same.
      for (let round = 0; round < 20; round++)
        expect((await service.call(path, init)).status).toBe(409);
      expect((await service.store.balance("default", "test")).held).toBeGreaterThan(0n);
      wake();
      const answers = await Promise.all(both);
      expect(answers.map(({ status }) => status).sort()).toEqual([last, 409].sort());
      expect((await service.store.balance("default", "test")).held).toBe(0n);
    },
  );
});

describe("another dataset version", () => {
  long(
    "takes over under a running service: counts are fresh, old cursors are refused, a stored reply is still given",
    async () => {
      const datasetDir = join(temporaryFolder(), "dataset");
      const build = (people: number, seed: number) =>
        generateDataset(
          { people, seed },
          { datasetDir, now: Date.now, sleep: (ms) => new Promise((wake) => setTimeout(wake, ms)) },
        );
      await build(200, 1);
      const engine = await ReloadingEngine.open(datasetDir, {
        now: () => performance.now(),
        everyMs: 0,
      });
      const service = await start({ engine });
      const body = { filters: {}, per_page: 10 };
      const count = async () =>
        (await service.call("/v1/person/count", { body: { filters: {} } })).json.result;
      expect(await count()).toMatchObject({ count: 200, cached: false });
      expect(await count()).toMatchObject({ count: 200, cached: true });
      const first = await service.call("/v1/person/search", { body });
      const cursor = first.headers.get("x-next-cursor");
      const second = { body: { ...body, cursor }, headers: { "idempotency-key": "page-2" } };
      const bought = await service.call("/v1/person/search", second);
      expect(bought.status).toBe(200);

      await build(350, 2);
      while (engine.info().people !== 350) await new Promise((wake) => setTimeout(wake, 10));
      expect(await count()).toMatchObject({ count: 350, cached: false });
      const stale = await service.call("/v1/person/search", { body: { ...body, cursor } });
      expect([stale.status, stale.json.detail]).toEqual([
        422,
        ["cursor belongs to an earlier version of the dataset; begin again at page 1"],
      ]);
      const staleWithKey = await service.call("/v1/person/search", {
        body: { ...body, cursor },
        headers: { "idempotency-key": "new" },
      });
      expect(staleWithKey.status).toBe(422);
      const replay = await service.call("/v1/person/search", second);
      expect([replay.text, replay.headers.get("idempotent-replayed")]).toEqual([
        bought.text,
        "true",
      ]);
      const now = await service.call("/v1/person/search", { body });
      expect(now.headers.get("x-dataset-version")).not.toBe(first.headers.get("x-dataset-version"));
      expect(now.headers.get("x-total-count")).toBe("350");
      expect((await service.store.balance("default", "live")).held).toBe(0n);
      await service.close();
      await engine.close();
    },
  );
});

describe("an old cursor", () => {
  const folder = async (
    people: number,
    seed: number,
    datasetDir = join(temporaryFolder(), "dataset"),
  ) => {
    const sleep = (ms: number) => new Promise<void>((wake) => setTimeout(wake, ms));
    await generateDataset({ people, seed }, { datasetDir, now: Date.now, sleep });
    return datasetDir;
  };

  // The dataset is replaced, and the very next call is the one with the cursor: it is this call that opens the new version.
  long.each(["search", "employees"])(
    "of %s brings no row of a new dataset and costs nothing",
    async (call) => {
      const datasetDir = await folder(200, 1);
      const engine = await ReloadingEngine.open(datasetDir, {
        now: () => performance.now(),
        everyMs: 0,
      });
      const service = await start({ engine });
      const ask = (cursor?: string | null) => {
        const query = `/v1/company/employees?domain=acme.example&per_page=2${cursor ? `&cursor=${cursor}` : ""}`;
        const body = { filters: {}, per_page: 2, ...(cursor ? { cursor } : {}) };
        return call === "search"
          ? service.call("/v1/person/search", { body })
          : service.call(query);
      };
      const first = await ask();
      expect([first.status, first.json.result.length]).toEqual([200, 2]);
      const cursor = first.headers.get("x-next-cursor");
      expect(cursor).not.toBeNull();
      await folder(300, 2, datasetDir);
      const { headers, json, status } = await ask(cursor);
      expect([status, json.detail]).toEqual([
        422,
        ["cursor belongs to an earlier version of the dataset; begin again at page 1"],
      ]);
      expect(headers.get("x-dataset-version")).toBeNull();
      expect(json.credits_used).toBe(0);
      expect(json.credits_remaining).toBe(10_000 - 2);
      const now = await ask();
      expect(now.headers.get("x-dataset-version")).not.toBe(first.headers.get("x-dataset-version"));
      expect((await service.store.balance("default", "live")).held).toBe(0n);
      await service.close();
      await engine.close();
    },
  );
});

describe("the count cache", () => {
  test("is at most five minutes old, and one computation serves those who ask at once", async () => {
    let running = 0;
    let wall = Date.UTC(2026, 0, 1);
    let counted = 0;
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const service = await start({
      now: () => wall,
      monotonic: () => running,
      wrapEngine: (inner) =>
        wrapped(inner, {
          count: async (filters) => {
            counted++;
            await gate;
            return inner.count(filters);
          },
        }),
    });
    const count = async () =>
      (await service.call("/v1/person/count", { body: { filters: { department: "Sales" } } })).json
        .result;
    const together = [count(), count(), count()];
    while (counted === 0) await new Promise((wake) => setTimeout(wake, 5));
    await new Promise((wake) => setTimeout(wake, 50));
    open();
    const results = await Promise.all(together);
    expect(counted).toBe(1);
    expect(new Set(results.map((one) => one.count)).size).toBe(1);
    running += 299_000;
    wall += 299_000;
    expect(await count()).toMatchObject({ cached: true, as_of: "2026-01-01T00:00:00.000Z" });
    running += 2_000;
    wall += 2_000;
    expect(await count()).toMatchObject({ cached: false, as_of: "2026-01-01T00:05:01.000Z" });
    expect(counted).toBe(2);
  });
});

describe("logs and metrics", () => {
  test("a line per request holds the allow-list and nothing else", async () => {
    const log = lines();
    const service = await start({ log });
    await service.call("/v1/person/search", {
      body: { filters: { name: "canary-name" }, per_page: 2 },
      headers: { "x-request-id": "req-1" },
    });
    await service.call("/v1/company/enrich?name=canary-name");
    await service.call("/v1/nope-canary-name");
    await service.call("/v1/account", { key: null });
    const entries = log.written
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter((entry) => "status" in entry);
    expect(
      entries.map(({ credits, key_id, method, route, status }) => [
        method,
        route,
        status,
        credits,
        key_id,
      ]),
    ).toEqual([
      ["POST", "/v1/person/search", 200, "0", service.keyId],
      ["GET", "/v1/company/enrich", 404, "0", service.keyId],
      ["GET", null, 404, "0", service.keyId],
      ["GET", "/v1/account", 401, "0", null],
    ]);
    expect(entries[0]?.request_id).toBe("req-1");
    for (const entry of entries) {
      expect(Object.keys(entry).sort()).toEqual([
        "credits",
        "key_id",
        "level",
        "method",
        "ms",
        "request_id",
        "route",
        "status",
        "time",
      ]);
    }
    expect(log.written.join("")).not.toContain("canary-name");
  });

  test("metrics are on a port of their own and count calls and credits", async () => {
    const service = await start({ metricsPort: 0 });
    await service.call("/v1/person/search", { body: { filters: {}, per_page: 7 } });
    await service.call("/v1/nope");
    expect((await service.call("/metrics", { key: null })).status).toBe(404);
    const text = await (await fetch(service.metricsUrl ?? "")).text();
    expect(text).toContain('headcount_requests_total{call="search",status="200"} 1');
    expect(text).toContain('headcount_requests_total{call="other",status="404"} 2');
    expect(text).toContain('headcount_credits_charged_total{call="search",mode="live"} 7');
    expect((await fetch((service.metricsUrl ?? "").replace("/metrics", "/"))).status).toBe(404);
  });
});

describe("draining", () => {
  test("calls in flight are answered and charged, new connections are refused", async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const service = await start({
      // Were the end not noticed, the test would not end either.
      timeouts: { drain: 600_000 },
      wrapEngine: (inner) =>
        wrapped(inner, {
          people: async (filters, slice) => {
            await gate;
            return inner.people(filters, slice);
          },
        }),
    });
    const calls = Array.from({ length: 50 }, () =>
      service.call("/v1/person/search", { body: { filters: {}, per_page: 2 } }),
    );
    // Those among them too that wait for their turn at the dataset.
    while ((await service.store.balance("default", "live")).held < 100_000_000n) {
      await new Promise((wake) => setTimeout(wake, 5));
    }
    const closing = service.close();
    await new Promise((wake) => setTimeout(wake, 50));
    await expect(fetch(`${service.url}/healthz`)).rejects.toThrow();
    open();
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
    for (const { headers } of answers) expect(headers.get("connection")).toBe("close");
    await closing;
  });

  test("a call that does not end is cut, and its hold given back", async () => {
    const service = await start({
      timeouts: { drain: 200, work: 500 },
      wrapEngine: (inner) =>
        wrapped(inner, {
          people: () => new Promise(() => undefined),
        }),
    });
    const call = service.call("/v1/person/search", { body: { filters: {} } });
    call.catch(() => undefined);
    while ((await service.store.balance("default", "live")).held === 0n)
      await new Promise((wake) => setTimeout(wake, 5));
    await service.close();
    await expect(call).rejects.toThrow();
    const store = await openSqliteStore({ path: service.ledger, now: Date.now });
    await store.recover(0);
    expect(await store.balance("default", "live")).toMatchObject({
      balance: 10_000_000_000n,
      held: 0n,
    });
    await store.close();
  });
});

long("under load the listener closes first: nobody who connects again keeps it open", async () => {
  const service = await start();
  const { port } = service;
  let refusedAt: number | undefined;
  let served = 0;

  const client = async (): Promise<void> => {
    while (refusedAt === undefined) {
      await new Promise<void>((done) => {
        const socket = connect(port, "127.0.0.1", () =>
          socket.write("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        );
        socket.once("data", () => {
          served += 1;
          socket.destroy();
        });
        socket.once("error", (error: NodeJS.ErrnoException) => {
          if (error.code === "ECONNREFUSED") refusedAt ??= performance.now();
        });
        socket.once("close", () => done());
      });
    }
  };

  const clients = Array.from({ length: 48 }, client);
  while (served < 200) await new Promise((done) => setTimeout(done, 5));
  const from = performance.now();
  const closing = service.close();
  await Promise.all(clients);
  await closing;
  expect((refusedAt ?? 0) - from).toBeLessThan(1_500);
});
