import { readFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HoldResolvedError, StoreUnavailableError } from "../../../src/service/ledger/errors.ts";
import type { Store } from "../../../src/service/ledger/ledger.ts";
import {
  openPostgresStore,
  type PostgresStoreOptions,
} from "../../../src/service/ledger/postgres.ts";
import { SCHEMA_VERSION } from "../../../src/service/ledger/schema.ts";
import { makeApiKey } from "../../../src/service/money/keys.ts";
import { cases } from "../../support/campaign.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest } from "../../support/store.ts";
import {
  type PostgresCluster,
  postgresBinaries,
  startCluster,
} from "../../support/store-postgres.ts";
import { isLeftOut } from "../../support/tools.ts";
import { report, seeded } from "./rig.ts";

// F7: the database is killed, stopped, restarted, or answers a commit with silence.
const KILLS = cases(2, 50);
const STOPS = cases(1, 20);
const CLIENTS = 16;

/** A way to the database that can be cut; `cutAtCommit` lets a COMMIT through and cuts before its answer comes back. */
class LossyProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  cutAtCommit: () => boolean = () => false;
  cuts = 0;
  closesAfterCut = false;
  /** No way through at all. */
  closed = false;
  port = 0;

  constructor(target: number) {
    this.#server = createServer((client) => {
      if (this.closed) {
        client.on("error", () => undefined);
        client.destroy();
        return;
      }
      const upstream = connect(target, "127.0.0.1");
      let silenced = false;
      for (const socket of [client, upstream]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
      }
      client.on("data", (chunk: Buffer) => {
        if (chunk.includes("COMMIT\0") && this.cutAtCommit()) {
          silenced = true;
          this.cuts += 1;
        }
        upstream.write(chunk);
      });
      upstream.on("data", (chunk: Buffer) => {
        // The database has answered, so the commit stands; the client never learns it.
        if (silenced) {
          this.closed = this.closesAfterCut;
          client.destroy();
        } else client.write(chunk);
      });
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address !== null && typeof address === "object") this.port = address.port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

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

  /** Clients that charge one credit per call, each call with a key and repeated until it is answered. */
  async function load(
    targets: readonly Store[],
    until: () => boolean,
    figures = { calls: 0, refused: 0, conflicts: 0 },
  ): Promise<{ calls: number; refused: number; conflicts: number }> {
    const client = async (n: number): Promise<void> => {
      while (!until()) {
        figures.calls += 1;
        const idempotency = { key: `call-${figures.calls}`, requestHash: "h" };
        for (let answered = false; !answered; ) {
          const store = targets[n % targets.length];
          if (store === undefined) throw new Error("no store");
          let holdId: string | undefined;
          try {
            const outcome = await store.hold(holdRequest(c(1), { idempotency }));
            if (outcome.kind === "held") {
              holdId = outcome.holdId;
              await store.settle({ holdId, amount: c(1), reply: answer(idempotency.key) });
              answered = true;
            } else if (outcome.kind === "replay") answered = true;
            else figures.conflicts += 1;
          } catch (error) {
            // A hold that was not synced may be gone after a kill: refused, and nothing charged.
            if (!(error instanceof StoreUnavailableError || error instanceof HoldResolvedError))
              throw error;
            figures.refused += 1;
            if (holdId !== undefined) await store.release(holdId).catch(() => undefined);
          }
          if (!answered) await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, n) => client(n)));
    return figures;
  }

  async function chargedExactly(store: Store, calls: number, granted: number): Promise<void> {
    expect(await store.verify()).toEqual([]);
    const { balance, held: left } = await store.balance(ACCOUNT, "live");
    expect({ balance, held: left }).toEqual({ balance: c(granted - calls), held: 0n });
  }

  it("charges every call once through kills, restarts and stops of the server", {
    timeout: 3_600_000,
  }, async () => {
    const name = schema();
    const options = { schema: name, heartbeatMs: 500 };
    const [one, two] = [await open(options), await open(options)];
    await fund(one, 1_000_000);
    let over = false;
    const figures = { calls: 0, refused: 0, conflicts: 0 };
    const running = load([one, two], () => over, figures);
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    for (let n = 0; n < KILLS; n += 1) {
      const before = figures.calls;
      await pause(150 + (n % 7) * 40);
      // A server that is killed before it answers anybody shows nothing; on a slow machine it may take seconds.
      await expect.poll(() => figures.calls, { timeout: 60_000 }).toBeGreaterThan(before);
      await cluster.kill();
      await cluster.start();
    }
    for (let n = 0; n < STOPS; n += 1) {
      await pause(100);
      const pid = cluster.pid();
      process.kill(pid, "SIGSTOP");
      await pause(200);
      process.kill(pid, "SIGCONT");
    }
    await pause(300);
    over = true;
    await running;
    report("postgres kills", { kills: KILLS, stops: STOPS, ...figures });
    expect(figures.calls).toBeGreaterThan(CLIENTS);
    await chargedExactly(one, figures.calls, 1_000_000);
  });

  it("knows after a lost answer whether its commit stands, and does it once", {
    timeout: 600_000,
  }, async () => {
    const proxy = new LossyProxy(cluster.port);
    await proxy.listen();
    const name = schema();
    const url = cluster.url.replace(`:${cluster.port}/`, `:${proxy.port}/`);
    const store = await open({ schema: name, url });
    await fund(store, 100_000);
    const chance = seeded(99);
    proxy.cutAtCommit = () => chance() < 0.2;
    const rounds = cases(25, 2_000);
    // Without idempotency keys: nobody repeats but the store itself.
    let charged = 0;
    for (let round = 0; round < rounds; round += 1) {
      const ids = await Promise.all([1, 2, 3].map((n) => held(store, c(n))));
      await Promise.all(
        ids.map((holdId, n) => store.settle({ holdId, amount: c(n + 1), reply: answer() })),
      );
      charged += 6;
      await store.grant(ACCOUNT, "live", c(1), "again");
      charged -= 1;
    }
    proxy.cutAtCommit = () => false;
    report("postgres commits without an answer", { rounds, cuts: proxy.cuts });
    expect(proxy.cuts).toBeGreaterThan(rounds / 5);
    await chargedExactly(store, charged, 100_000);
    proxy.cutAtCommit = () => chance() < 0.5;
    const key = makeApiKey("live");
    const { hash, prefix } = key;
    await store.createKey({
      id: "k",
      name: "k",
      mode: "live",
      prefix,
      hash,
      accountId: ACCOUNT,
      createdAt: 1,
    });
    await store.createAccount("second", "Second");
    expect(await store.revokeKey("k")).toBe(true);
    proxy.cutAtCommit = () => false;
    await store.close();
    await proxy.close();
  });

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
