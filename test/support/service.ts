import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { generateDataset } from "../../src/dataset/build/sample.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { openTestDataset } from "../../src/service/admin/data-folder.ts";
import { createKey } from "../../src/service/admin/keys.ts";
import type { ServiceOptions } from "../../src/service/http/options.ts";
import { type RunningService, startService } from "../../src/service/http/server.ts";
import { type AccountPlan, STANDARD_PLAN, type Store } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { type Credits, parseCredits } from "../../src/shared/contract/money.ts";
import { onceARun } from "./once-a-run.ts";

/** An answer of the API, its body unpacked. */
export interface ObservedAnswer {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Called with every answer of every service that {@link startTestService} started: put a check here and it sees them all. */
export const onResponse: ((answer: ObservedAnswer) => void)[] = [];

export const SEED = 7;

const ENDLESS: Partial<AccountPlan> = { perMinute: 10_000_000, perDay: 100_000_000 };

export interface TestServiceOptions
  extends Omit<ServiceOptions, "engine" | "store" | "testEngine"> {
  /** People of the generated dataset; default 2,000. Companies: about one for seven. */
  readonly people?: number;
  /** Live credits of the account; default 10,000. A decimal text for fractions. */
  readonly credits?: number | string;
  /** Simulated credits of test keys; default 10,000. */
  readonly testCredits?: number | string;
  /** Default: calls without end, so that no test waits for a minute to be over; `{}` for the standard one. */
  readonly plan?: Partial<AccountPlan>;
  /** Instead of the generated dataset. */
  readonly engine?: Engine;
  /** Wraps the engine, for tests that count its calls or make it fail. */
  readonly wrapEngine?: (engine: Engine) => Engine;
  /** Wraps the store, for tests that make it fail. */
  readonly wrapStore?: (store: Store) => Store;
  /** A ledger that exists already, for restarts. Its account and keys are used. */
  readonly ledger?: string;
}

export interface TestService extends RunningService {
  /** A live key of the account `default`. */
  readonly key: string;
  readonly keyId: string;
  readonly testKey: string;
  readonly testKeyId: string;
  readonly store: Store;
  readonly engine: Engine;
  /** Path of the SQLite file. */
  readonly ledger: string;
  /** A request with the live key; `path` begins with a slash. A body is sent as JSON. */
  call(path: string, init?: CallInit): Promise<CallAnswer>;
}

export interface CallInit {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the live key; null for none. */
  readonly key?: string | null;
}

export interface CallAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body. */
  readonly json: {
    readonly status: boolean;
    readonly detail: readonly string[];
    // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
    readonly result: any;
    readonly credits_used: number;
    readonly credits_remaining: number;
  };
}

/** A folder that goes with the file of tests. */
export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), "headcount-service-"));

const datasets = new Map<number, Promise<string>>();

/** A dataset folder with so many generated people, of this process. */
export function generatedDataset(people: number): Promise<string> {
  let made = datasets.get(people);
  if (made === undefined) {
    made = onceARun(`people-${people}`, (datasetDir) =>
      generateDataset({ people, seed: SEED }, { datasetDir, now: Date.now, sleep }),
    );
    datasets.set(people, made);
  }
  return made;
}

const UNPACK = { br: brotliDecompressSync, gzip: gunzipSync };
const unpacked = (encoding: string | undefined, body: string | Buffer): string =>
  (encoding === undefined ? body : UNPACK[encoding as keyof typeof UNPACK](body)).toString();

let testDataset: string | undefined;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const amount = (value: number | string): Credits => {
  const parsed = parseCredits(value);
  if (parsed === undefined) throw new Error(`not an amount: ${value}`);
  return parsed;
};

/**
 * The real service on a free port: a SQLite ledger and a DuckDB dataset in temporary folders, account `default`, one live and one
 * test key. `close` closes everything.
 */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const {
    credits,
    engine: given,
    ledger: oldLedger,
    people,
    plan = ENDLESS,
    testCredits,
    wrapEngine,
    wrapStore,
    ...rest
  } = options;
  const now = options.now ?? Date.now;
  const inner = given ?? (await openDataset(await generatedDataset(people ?? 2_000)));
  const engine = wrapEngine === undefined ? inner : wrapEngine(inner);
  const ledger = oldLedger ?? join(temporaryFolder(), "ledger.db");
  const isNew = !existsSync(ledger);
  const clocks = options.monotonic === undefined ? {} : { monotonic: options.monotonic };
  const realStore = await openSqliteStore({ path: ledger, now, ...clocks });
  const store = wrapStore === undefined ? realStore : wrapStore(realStore);
  if (isNew) {
    await realStore.createAccount("default", "default");
    const live = amount(credits ?? 10_000);
    const test = amount(testCredits ?? 10_000);
    if (live > 0n) await realStore.grant("default", "live", live, "test");
    if (test > 0n) await realStore.grant("default", "test", test, "test");
    await realStore.setPlan("default", { ...STANDARD_PLAN, ...plan });
  }
  const live = await createKey(realStore, { name: "live", mode: "live", now });
  const test = await createKey(realStore, { name: "test", mode: "test", now });
  let testEngine: Promise<Engine> | undefined;
  const service = await startService({
    ...rest,
    // A busy machine must not cut a facet: nothing in a test is timed.
    timeouts: { facet: 60_000, ...rest.timeouts },
    engine,
    store,
    testEngine: () => {
      testDataset ??= join(temporaryFolder(), "test-dataset");
      testEngine ??= openTestDataset(testDataset);
      return testEngine;
    },
    onApp: (app) => {
      rest.onApp?.(app);
      app.addHook("onSend", async ({ call, method, raw }, reply, payload) => {
        if (call.isAnswered && method !== "HEAD") {
          const headers = reply.getHeaders() as Record<string, string>;
          const { url = "" } = raw;
          const body = unpacked(headers["content-encoding"], payload as string | Buffer);
          for (const check of onResponse)
            check({ method, url, status: reply.statusCode, headers, body });
        }
        return payload;
      });
    },
  });
  let closed: Promise<void> | undefined;
  return {
    ...service,
    key: live.key,
    keyId: live.id,
    testKey: test.key,
    testKeyId: test.id,
    store,
    engine,
    ledger,
    async call(path, init = {}) {
      const headers: Record<string, string> = { ...init.headers };
      if (init.key !== null) headers.authorization ??= `Bearer ${init.key ?? live.key}`;
      const hasBody = init.body !== undefined;
      if (hasBody) headers["content-type"] ??= "application/json";
      const response = await fetch(service.url + path, {
        method: init.method ?? (hasBody ? "POST" : "GET"),
        headers,
        ...(hasBody
          ? { body: typeof init.body === "string" ? init.body : JSON.stringify(init.body) }
          : {}),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: text === "" ? null : JSON.parse(text),
      };
    },
    close() {
      closed ??= (async () => {
        await service.close();
        if (given === undefined) await inner.close();
        await (await testEngine?.catch(() => undefined))?.close();
        await realStore.close();
      })();
      return closed;
    },
  };
}
