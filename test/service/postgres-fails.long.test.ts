import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HoldResolvedError, StoreUnavailableError } from "../../src/service/ledger/errors.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../../src/service/ledger/postgres.ts";
import { SCHEMA_VERSION } from "../../src/service/ledger/schema.ts";
import { makeApiKey } from "../../src/service/money/keys.ts";
import { LossyProxy } from "../support/lossy-proxy.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest } from "../support/store.ts";
import { type PostgresCluster, postgresBinaries, startCluster } from "../support/store-postgres.ts";
import { isLeftOut } from "../support/tools.ts";

// What the store does while its database is away, hangs, or answers a commit with silence. `npm run campaign postgres` does it under load.

const missing = isLeftOut(postgresBinaries() !== undefined);
describe.skipIf(missing)("a ledger on a PostgreSQL that fails", () => {
  let cluster: PostgresCluster;
  let schemas = 0;
  const stores: Store[] = [];
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(async () => {
    for (const store of stores) await store.close();
    await cluster?.remove();
  });
  const schema = (): string => {
    schemas += 1;
    return `faults_${schemas}`;
  };
  const open = async (
    options: Partial<PostgresStoreOptions> & { readonly schema: string },
  ): Promise<Store> => {
    const store = await openPostgresStore({
      url: cluster.url,
      now: Date.now,
      connections: 5,
      ...options,
    });
    stores.push(store);
    return store;
  };

  it("gives a charge back that it had to report as failed, once, and leaves it to a retry where there is a key", async () => {
    const proxy = new LossyProxy(cluster.port);
    await proxy.listen();
    const url = cluster.url.replace(`:${cluster.port}/`, `:${proxy.port}/`);
    const store = await open({ schema: schema(), url, patienceMs: 200 });
    await fund(store, 100);
    const failed = async (holdId: string, amount: number): Promise<void> => {
      proxy.closesAfterCut = true;
      proxy.cutAtCommit = () => true;
      await expect(store.settle({ holdId, amount: c(amount), reply: answer() })).rejects.toThrow(
        StoreUnavailableError,
      );
      proxy.cutAtCommit = () => false;
      proxy.closesAfterCut = false;
      proxy.closed = false;
    };
    const plain = await held(store, c(10));
    await failed(plain, 7);
    expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(93));
    expect(await store.release(plain)).toBe(c(100));
    expect(await store.release(plain)).toBe(c(100));
    const idempotency = { key: "k", requestHash: "h" };
    const keyed = await held(store, c(10), { idempotency });
    await failed(keyed, 7);
    expect(await store.release(keyed)).toBe(c(93));
    expect((await store.hold(holdRequest(c(10), { idempotency }))).kind).toBe("replay");
    expect(await store.verify()).toEqual([]);
    await store.close();
    await proxy.close();
  });

  it("gives a hold back, and frees its key, that it had to report as failed", async () => {
    const proxy = new LossyProxy(cluster.port);
    await proxy.listen();
    const url = cluster.url.replace(`:${cluster.port}/`, `:${proxy.port}/`);
    const store = await open({ schema: schema(), url, patienceMs: 200, heartbeatMs: 50 });
    await fund(store, 100);
    // The instance is registered before its first hold: that commit must come through.
    await store.release(await held(store, c(1)));
    const idempotency = { key: "k", requestHash: "h" };
    proxy.closesAfterCut = true;
    proxy.cutAtCommit = () => true;
    await expect(store.hold(holdRequest(c(10), { idempotency }))).rejects.toThrow(
      StoreUnavailableError,
    );
    proxy.cutAtCommit = () => false;
    proxy.closed = false;
    for (let n = 0; (await store.balance(ACCOUNT, "live")).held !== 0n; n += 1) {
      if (n === 200) throw new Error("the hold was never given back");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect((await store.hold(holdRequest(c(10), { idempotency }))).kind).toBe("held");
    await store.close();
    await proxy.close();
  });

  it("refuses within its patience where the server is away, a known key too", async () => {
    const proxy = new LossyProxy(cluster.port);
    await proxy.listen();
    const name = schema();
    const url = cluster.url.replace(`:${cluster.port}/`, `:${proxy.port}/`);
    const store = await open({ schema: name, url, patienceMs: 300 });
    await fund(store, 10);
    const { hash, prefix } = makeApiKey("live");
    await store.createKey({
      id: "k",
      name: "k",
      mode: "live",
      prefix,
      hash,
      accountId: ACCOUNT,
      createdAt: 1,
    });
    expect(await store.findKey(hash)).toBeDefined();
    const id = await held(store, c(5));
    await proxy.close();
    await expect(store.hold(holdRequest(c(1)))).rejects.toThrow(StoreUnavailableError);
    await expect(store.settle({ holdId: id, amount: c(5), reply: answer() })).rejects.toThrow(
      StoreUnavailableError,
    );
    await expect(store.verify()).rejects.toThrow(StoreUnavailableError);
    await expect(store.findKey(hash)).rejects.toThrow(StoreUnavailableError);
    await expect(store.findKey("0".repeat(64))).rejects.toThrow(StoreUnavailableError);
    await expect(open({ schema: name, url, patienceMs: 300 })).rejects.toThrow(
      StoreUnavailableError,
    );
    await store.close();
  });

  it("refuses once, within its patience, what a server does not answer, and goes on with it afterwards", async () => {
    const store = await open({ schema: schema(), patienceMs: 1_000 });
    await fund(store, 100);
    const id = await held(store, c(10));
    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const start = performance.now();
      await expect(work()).rejects.toThrow(StoreUnavailableError);
      return performance.now() - start;
    };
    cluster.hang();
    try {
      const together = [
        timed(() => store.settle({ holdId: id, amount: c(7), reply: answer() })),
        timed(() => store.balance(ACCOUNT, "live")),
        ...Array.from({ length: 12 }, () => timed(() => store.hold(holdRequest(c(1))))),
      ];
      // One deadline over connecting, asking and every attempt; whoever waited behind another is refused with it.
      for (const ms of await Promise.all(together)) expect(ms).toBeLessThan(1_900);
      // It was away a moment ago: nobody waits for it from the beginning again.
      expect(await timed(() => store.balance(ACCOUNT, "live"))).toBeLessThan(900);
    } finally {
      cluster.resume();
    }
    expect(await store.release(id)).toBe(c(100));
    await store.settle({ holdId: await held(store, c(10)), amount: c(10), reply: answer() });
    await store.recover(0);
    expect(await store.verify()).toEqual([]);
    expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(90));
  });

  it("stops when another version has moved its schema", async () => {
    const name = schema();
    const store = await open({ schema: name, patienceMs: 500 });
    await fund(store, 10);
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    await client.query(`UPDATE ${name}.schema_version SET version = 99`);
    await expect(store.hold(holdRequest(c(1)))).rejects.toThrow(
      /schema 99 now.*Restart the service/,
    );
    await client.query(`UPDATE ${name}.schema_version SET version = ${SCHEMA_VERSION}`);
    await client.end();
    expect((await store.hold(holdRequest(c(1)))).kind).toBe("held");
  });

  it("stands behind its rules with triggers: nothing that was written is changed or removed", async () => {
    const name = schema();
    const store = await open({ schema: name });
    await fund(store, 10);
    await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
    const { hash, prefix } = makeApiKey("live");
    await store.createKey({
      id: "k",
      name: "k",
      mode: "live",
      prefix,
      hash,
      accountId: ACCOUNT,
      createdAt: 1,
    });
    await store.revokeKey("k");
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    await client.query(`SET search_path = ${name}`);
    for (const [sql, rule] of [
      ["UPDATE entries SET amount = 1", /never changed/],
      ["DELETE FROM entries", /never changed/],
      ["TRUNCATE entries", /never deleted/],
      ["DELETE FROM holds", /never deleted/],
      ["TRUNCATE holds CASCADE", /never deleted/],
      ["UPDATE holds SET request_id = 'x'", /resolves once/],
      ["UPDATE keys SET revoked_at = NULL", /stays revoked/],
      ["DELETE FROM keys", /never deleted/],
      ["TRUNCATE keys CASCADE", /never deleted/],
      [
        "INSERT INTO keys SELECT * FROM keys ON CONFLICT (id) DO UPDATE SET revoked_at = NULL",
        /stays revoked/,
      ],
      [
        "INSERT INTO entries OVERRIDING SYSTEM VALUE SELECT * FROM entries ON CONFLICT (id) DO UPDATE SET note = 'x'",
        /never changed/,
      ],
    ] as const) {
      await expect(client.query(sql), sql).rejects.toThrow(rule);
    }
    await client.end();
    expect(await store.verify()).toEqual([]);
  });

  it("sees at once that another process revoked a key", async () => {
    const name = schema();
    const [one, two] = [await open({ schema: name }), await open({ schema: name })];
    await fund(one, 10);
    const { hash, prefix } = makeApiKey("live");
    await one.createKey({
      id: "k",
      name: "k",
      mode: "live",
      prefix,
      hash,
      accountId: ACCOUNT,
      createdAt: 1,
    });
    expect(await two.findKey(hash)).toBeDefined();
    expect(await one.revokeKey("k")).toBe(true);
    expect(await one.findKey(hash)).toBeUndefined();
    expect(await two.findKey(hash)).toBeUndefined();
  });

  it("gives back what a process that is gone had held, and frees its idempotency keys", async () => {
    const name = schema();
    const [gone, store] = [await open({ schema: name }), await open({ schema: name })];
    await fund(store, 10);
    const idempotency = { key: "k", requestHash: "h" };
    await held(gone, c(6), { idempotency });
    expect((await store.hold(holdRequest(c(6), { idempotency }))).kind).toBe("in_flight");
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    await client.query(
      `UPDATE ${name}.instances SET pid = 4194303 WHERE id = (SELECT owner FROM ${name}.holds)`,
    );
    await client.end();
    // Also before any recovery: whoever asks with the key finds its holder dead.
    expect((await store.hold(holdRequest(c(6), { idempotency }))).kind).toBe("held");
    await client.end().catch(() => undefined);
    expect(await store.recover(0)).toBe(0);
    expect(await store.verify()).toEqual([]);
  });

  it("leaves the holds of a copy of this machine alone, whose host name and machine id are the same", async () => {
    const name = schema();
    const [there, here] = [await open({ schema: name }), await open({ schema: name })];
    await fund(here, 10);
    const id = await held(there, c(6));
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    const { rowCount } = await client.query(
      `UPDATE ${name}.instances SET machine = replace(machine, $1, 'another') WHERE id = (SELECT owner FROM ${name}.holds)`,
      [boot],
    );
    expect(rowCount).toBe(1);
    expect(await here.recover(0)).toBe(0);
    await client.query(`UPDATE ${name}.instances SET heartbeat_at = heartbeat_at - 61000`);
    expect(await here.recover(0)).toBe(1);
    await client.end();
    await expect(there.settle({ holdId: id, amount: c(6), reply: answer() })).rejects.toThrow(
      HoldResolvedError,
    );
  });

  it("refuses a server that does not sync", async () => {
    const { default: pg } = await import("pg");
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    await client.query("ALTER SYSTEM SET fsync = off");
    await client.query("SELECT pg_reload_conf()");
    await new Promise((resolve) => setTimeout(resolve, 200));
    await expect(open({ schema: schema() })).rejects.toThrow(/fsync/);
    await client.query("ALTER SYSTEM RESET fsync");
    await client.query("SELECT pg_reload_conf()");
    await client.end();
  });
});
