import { execFile, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { verifyLedger } from "../../src/service/admin/data-folder.ts";
import { createKey, DEFAULT_ACCOUNT } from "../../src/service/admin/keys.ts";
import { HoldResolvedError, StoreUnavailableError } from "../../src/service/ledger/errors.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../../src/service/ledger/postgres.ts";
import { SCHEMA_VERSION } from "../../src/service/ledger/schema.ts";
import { credits } from "../../src/shared/contract/money.ts";
import { asTyped } from "../support/as-typed.ts";
import { tempDir } from "../support/client.ts";
import { connected, postgresBinaries } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { LossyProxy } from "../support/lossy-proxy.ts";
import { folder, headcount, serving } from "../support/serve-command.ts";
import { generatedDataset } from "../support/service.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest, keyOf } from "../support/store.ts";
import { type PostgresCluster, startCluster } from "../support/store-postgres.ts";
import { isLeftOut } from "../support/tools.ts";

describe("serve", () => {
  describe.skipIf(isLeftOut(postgresBinaries() !== undefined))("serve --store postgres://", () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      cluster = await startCluster();
    });
    afterAll(() => cluster.remove());

    test("a password that is wrong or missing, and a database that is not there, are told at every door: exit 2", async () => {
      const wrong = new URL(cluster.url);
      wrong.password = "wrong";
      const none = new URL(cluster.url);
      none.password = "";
      const other = new URL(cluster.url);
      other.pathname = "/not_there";

      const data = folder();
      for (const place of [wrong.href, none.href, other.href]) {
        for (const argv of [
          ["serve", "--port", "0", "--data", data, "--store", place],
          ["service", "verify", "--data", data, "--store", place],
          ["service", "accounts", "list", "--data", data, "--store", place],
        ]) {
          const ran = await headcount(...argv);
          expect(ran, ran.err).toMatchObject({ code: 2, out: "" });
          expect(ran.err).toMatch(/turned the connection away[\s\S]*PGPASSWORD/);
          expect(ran.err).not.toMatch(/bug in headcount|only-for-this-test/);
        }
      }
    });

    test("two services over one account base: money, keys and replies are one, and the password is in no output", async () => {
      const dataset = await generatedDataset(300);
      const store = ["--store", cluster.url];
      const serve = () =>
        asTyped`serve --port 0 --json --data ${folder()} --dataset ${dataset} ${store}`;
      const first = await serving(serve(), async (line) => {
        const one = JSON.parse(line) as { url: string; key: string };
        const second = await serving(serve(), async (other) => {
          const two = JSON.parse(other) as { url: string };
          // The key was made by the first, so this one makes none.
          expect(Object.keys(two)).toEqual(["url"]);
          const search = (url: string, perPage: number, order?: string) =>
            fetch(`${url}/v1/person/search`, {
              method: "POST",
              headers: {
                authorization: `Bearer ${one.key}`,
                "content-type": "application/json",
                ...(order === undefined ? {} : { "idempotency-key": order }),
              },
              body: JSON.stringify({ filters: {}, per_page: perPage }),
            });
          const bought = await search(one.url, 100, "order");
          const replayed = await search(two.url, 100, "order");
          expect([bought.status, replayed.headers.get("idempotent-replayed")]).toEqual([
            200,
            "true",
          ]);
          expect(await replayed.text()).toBe(await bought.text());
          // 9,900 are left: 33 pages of 300 fit, whoever asks whom.
          const answers = await Promise.all(
            Array.from({ length: 45 }, (_, at) => search(at % 2 === 0 ? one.url : two.url, 300)),
          );
          expect(answers.filter(({ status }) => status === 200)).toHaveLength(33);
          expect(answers.filter(({ status }) => status === 402)).toHaveLength(12);
          const listed = await headcount(
            "service",
            "keys",
            "list",
            "--json",
            "--data",
            folder(),
            ...store,
          );
          const [key] = JSON.parse(listed.out) as { id: string }[];
          expect(
            (await headcount("service", "credits", "add", "5", "--data", folder(), ...store)).code,
          ).toBe(0);
          expect((await search(two.url, 5)).status).toBe(200);
          const revoked = await headcount(
            "service",
            "keys",
            "revoke",
            key?.id ?? "",
            "--data",
            folder(),
            ...store,
          );
          expect(revoked.code).toBe(0);
        });
        expect(second.code, second.err).toBe(0);
        expect(second.err + second.out).not.toContain("only-for-this-test");
      });
      expect(first.code, first.err).toBe(0);
      expect(first.err + first.out).not.toContain("only-for-this-test");
      const verified = await headcount("service", "verify", "--data", folder(), ...store);
      expect(verified.out).toMatch(/^ledger\tsound\ndataset\tnone\nhead\t/);
      expect(verified.code).toBe(0);
    });

    test("a database that hangs: calls get their 500 after the patience of 5 s, /healthz says so at once, and all is well afterwards", async () => {
      const argv = [
        "serve",
        "--port",
        "0",
        "--json",
        "--data",
        folder(),
        "--dataset",
        await generatedDataset(300),
      ];
      const { code, err } = await serving([...argv, "--store", cluster.url], async (line) => {
        const { url } = JSON.parse(line) as { url: string };
        const store = await openPostgresStore({ url: cluster.url, now: Date.now });
        const { key } = await createKey(store, {
          accountId: DEFAULT_ACCOUNT,
          name: "x",
          mode: "live",
          now: Date.now,
        });
        await store.grant(DEFAULT_ACCOUNT, "live", credits(100_000_000n), "for this test");
        const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
        const search = () =>
          fetch(`${url}/v1/person/search`, {
            method: "POST",
            headers,
            body: '{"filters":{},"per_page":2}',
          });
        expect((await search()).status).toBe(200);
        const before = await store.balance(DEFAULT_ACCOUNT, "live");
        cluster.hang();
        const start = performance.now();
        const answers = [search(), fetch(`${url}/v1/account`, { headers }), search()];
        const health = await fetch(`${url}/healthz`);
        expect([health.status, performance.now() - start < 4_000]).toEqual([503, true]);
        for (const answer of await Promise.all(answers)) expect(answer.status).toBe(500);
        expect(performance.now() - start).toBeLessThan(8_000);
        cluster.resume();
        // What was away a moment ago is given half a second; a busy machine takes longer to come back.
        await expect.poll(async () => (await search()).status, { timeout: 20_000 }).toBe(200);
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
        expect((await store.balance(DEFAULT_ACCOUNT, "live")).balance).toBe(
          before.balance - 2_000_000n,
        );
        expect(await store.verify()).toEqual([]);
        await store.close();
      });
      expect(code, err).toBe(0);
    });

    test("a database without accounts gets none from commands that only look, and verify needs no right to write", async () => {
      const client = await connected(cluster.url);
      await client.query("CREATE DATABASE empty");
      const empty = cluster.url.replace(/postgres$/, "empty");
      for (const argv of [["credits"], ["keys", "create"], ["verify"]]) {
        const { code, err } = await headcount(
          "service",
          ...argv,
          "--data",
          folder(),
          "--store",
          empty,
        );
        expect([code, err]).toEqual([
          2,
          expect.stringContaining("there are no accounts in the schema headcount"),
        ]);
        // Typed without the address it would begin others in the folder.
        expect(err).toContain(` --store '${empty.replace(/\/\/[^@]*@/, "//***@")}'`);
      }
      await client.query("CREATE ROLE reader LOGIN PASSWORD 'reads-only'");
      await client.query("GRANT USAGE ON SCHEMA headcount TO reader");
      await client.query("GRANT SELECT ON ALL TABLES IN SCHEMA headcount TO reader");
      await client.end();
      const reader = cluster.url.replace(/\/\/[^@]*@/, "//reader:reads-only@");
      const verified = await headcount("service", "verify", "--data", folder(), "--store", reader);
      expect(verified.out, verified.err).toMatch(/^ledger\tsound\ndataset\tnone\nhead\t/);
      expect(verified.code).toBe(0);
    });

    test("a server that is down: a clear error without the password, exit 8", async () => {
      const url = cluster.url.replace(/:\d+\/postgres/, ":1/postgres");
      for (const argv of [
        ["service", "credits", "show"],
        ["serve", "--port", "0", "--dataset", await generatedDataset(300)],
      ]) {
        const { code, err, out } = await headcount(...argv, "--data", folder(), "--store", url);
        expect([code, out], err).toEqual([8, ""]);
        expect(err).not.toContain("only-for-this-test");
      }
    });

    test("a fail-over to a standby that is behind: 503, the old head stays, and the next start is refused", async () => {
      const data = folder();
      const store = ["--store", cluster.url];
      const dataset = await generatedDataset(300);
      const line = [
        "serve",
        "--port",
        "0",
        "--json",
        "--data",
        data,
        "--dataset",
        dataset,
        ...store,
      ];
      const files = join(cluster.folder, "data");
      const key = await createKeyIn(cluster.url);
      const { code, err } = await serving(line, async (said) => {
        const { url } = JSON.parse(said) as { url: string };
        const sold = async () => (await searchAt(url, key)).status;
        await cluster.stop();
        execFileSync("cp", ["-a", files, `${files}-standby`]);
        await cluster.start();
        await expect.poll(sold, { timeout: 20_000 }).toBe(200);
        // A look that finds the sale.
        await new Promise((wake) => setTimeout(wake, 2_500));

        await cluster.stop();
        execFileSync("mv", [files, `${files}-lost`]);
        execFileSync("mv", [`${files}-standby`, files]);
        await cluster.start();
        await expect.poll(sold, { timeout: 20_000 }).toBe(503);
        const { detail } = (await (await searchAt(url, key)).json()) as { detail: string[] };
        expect(detail.join()).toContain("older than the one that it served before");
      });

      expect(code, err).toBe(0);
      expect(err).toMatch(/lacks entry \d+; calls are answered with 503/);
      const again = await headcount(...line);
      expect([again.code, again.err.includes("ledger_older")]).toEqual([2, true]);
    });
  });

  async function createKeyIn(url: string): Promise<string> {
    const store = await openPostgresStore({ url, now: Date.now });
    const account = { accountId: DEFAULT_ACCOUNT, name: "x", mode: "live", now: Date.now } as const;
    const { key } = await createKey(store, account);
    await store.grant(DEFAULT_ACCOUNT, "live", credits(100_000_000n), "for this test");
    await store.close();
    return key;
  }

  const searchAt = (url: string, key: string): Promise<Response> =>
    fetch(`${url}/v1/person/search`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ filters: {}, per_page: 1 }),
    });
});

describe("faults", () => {
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
      const store = await open({ schema: schema(), url, patienceMs: 1_500 });
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
      const store = await open({ schema: schema(), url, patienceMs: 1_500, heartbeatMs: 50 });
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
      const store = await open({ schema: name, url, patienceMs: 1_500 });
      await fund(store, 10);
      const { hash } = await keyOf(store);
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
      const store = await open({ schema: schema(), patienceMs: 2_000 });
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
        for (const ms of await Promise.all(together)) expect(ms).toBeLessThan(3_900);
        // It was away a moment ago: nobody waits for it from the beginning again.
        expect(await timed(() => store.balance(ACCOUNT, "live"))).toBeLessThan(1_900);
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
      const store = await open({ schema: name, patienceMs: 1_500 });
      await fund(store, 10);
      const client = await connected(cluster.url);
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
      await keyOf(store);
      await store.revokeKey("k");
      const client = await connected(cluster.url);
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
      const { hash } = await keyOf(one);
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
      const client = await connected(cluster.url);
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
      const client = await connected(cluster.url);
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
      const client = await connected(cluster.url);
      await client.query("ALTER SYSTEM SET fsync = off");
      await client.query("SELECT pg_reload_conf()");
      await new Promise((resolve) => setTimeout(resolve, 200));
      await expect(open({ schema: schema() })).rejects.toThrow(/fsync/);
      await client.query("ALTER SYSTEM RESET fsync");
      await client.query("SELECT pg_reload_conf()");
      await client.end();
    });
  });
});

describe("backups", () => {
  const run = promisify(execFile);
  const bin = postgresBinaries();
  /** Charges: enough for minutes where each is looked up by reading all the others. */
  const FILLED = 30_000;

  describe.skipIf(isLeftOut(bin !== undefined))(
    "accounts in PostgreSQL, backed up by its own tools",
    () => {
      let cluster: PostgresCluster | undefined;
      afterAll(() => cluster?.remove());

      test("a dump made while charges run is one state of them: restored it is sound, exact, and the beginning of today's", async () => {
        cluster = await startCluster();
        const { url } = cluster;
        const store = await openPostgresStore({ url, now: Date.now });
        await fund(store, 100_000);
        await store.createKey({
          ...{
            id: "k_1",
            name: "k",
            mode: "live",
            prefix: "p",
            hash: "1".repeat(64),
            accountId: ACCOUNT,
            createdAt: Date.now(),
          },
          maxCredits: c(50_000),
        });
        let charged = 0;
        let on = true;
        const client = async (name: number): Promise<void> => {
          for (let n = 0; on; n += 1) {
            const idempotency = { key: `${name}-${n}`, requestHash: "h" };
            const holdId = await held(store, c(2), { keyId: "k_1", idempotency });
            if (n % 5 === 4) await store.release(holdId);
            else {
              await store.settle({
                holdId,
                amount: c(1),
                reply: answer(),
                sold: { price: c(1), rows: 1 },
              });
              charged += 1;
            }
          }
        };
        const clients = Array.from({ length: 6 }, (_, name) => client(name));
        await expect.poll(() => charged, { timeout: 60_000 }).toBeGreaterThan(30);
        // As docs/operate/service.md says it.
        const dump = join(tempDir(), "accounts.dump");
        const before = charged;
        await run(join(bin ?? "", "pg_dump"), ["--schema", "headcount", "-Fc", "-f", dump, url]);
        const after = charged;
        await expect.poll(() => charged, { timeout: 60_000 }).toBeGreaterThan(after + 20);
        on = false;
        await Promise.all(clients);
        await store.setPlan(ACCOUNT, { perMinute: 77 });
        const admin = await connected(url);
        await admin.query("CREATE DATABASE restored");
        const restored = url.replace(/postgres$/, "restored");
        await run(join(bin ?? "", "pg_restore"), ["-d", restored, dump]);

        const verified = await headcount(
          "service",
          "verify",
          "--data",
          folder(),
          "--store",
          restored,
        );
        expect(verified.out, verified.err).toMatch(/^ledger\tsound\ndataset\tnone\nhead\t/);
        const copy = await openPostgresStore({ url: restored, now: Date.now });
        const entries = await copy.entries({ accountId: ACCOUNT, mode: "live", limit: 1_000 });
        const charges = entries.filter(({ kind }) => kind === "charge").length;
        expect(charges).toBeGreaterThanOrEqual(before);
        expect(charges).toBeLessThanOrEqual(after + clients.length);
        const { balance } = await copy.balance(ACCOUNT, "live");
        expect(balance).toBe(c(100_000 - charges));
        const known = entries.find(({ kind }) => kind === "charge");
        expect(known).toBeDefined();

        const against = () =>
          headcount("service", "verify", "--data", folder(), "--store", url, "--against", restored);
        const sound = await against();
        expect([sound.code, sound.out], sound.err).toEqual([
          0,
          expect.stringMatching(/^ledger\tsound\ndataset\tnone\nagainst\tsound\nhead\t/),
        ]);
        expect(sound.out + sound.err).not.toContain("only-for-this-test");
        // The copy goes on by itself: what was stored is replayed, and what is new is charged in its
        // books alone.
        await copy.close();
        const later = await openPostgresStore({ url: restored, now: Date.now });
        const again = await later.hold(
          holdRequest(c(2), { keyId: "k_1", idempotency: { key: "0-0", requestHash: "h" } }),
        );
        expect(again.kind).toBe("replay");
        const holdId = await held(later, c(2), { keyId: "k_1" });
        await later.settle({
          holdId,
          amount: c(2),
          reply: answer(),
          sold: { price: c(1), rows: 2 },
        });
        expect(await later.verify()).toEqual([]);
        await later.close();
        // Two histories that parted: the copy's own charge is in none but the copy.
        const parted = await against();
        expect(parted.code).toBe(1);
        expect(parted.err).toMatch(
          /I18: entry \d+ \(charge of 2, .*\) of acme \(live\) is another than in the backup/,
        );
        await admin.end();
        await store.close();
      });

      test("verify ends right after a restore, when the server has no statistics yet", async () => {
        cluster ??= await startCluster();
        const client = await connected(cluster.url);
        for (const name of ["large", "refilled"]) await client.query(`CREATE DATABASE ${name}`);
        const [large, restored] = ["large", "refilled"].map((name) => {
          const url = new URL(cluster?.url ?? "");
          url.pathname = `/${name}`;
          return url.href;
        });
        const store = await openPostgresStore({ url: large ?? "", now: Date.now });
        await fund(store, 100_000);
        await store.close();
        const filler = await connected(large ?? "");
        await filler.query("SET search_path = headcount; SET session_replication_role = replica");
        await filler.query(
          `INSERT INTO holds (id, account_id, mode, key_id, call, amount, state, posted, owner, request_id, created_at, resolved_at)
           SELECT 'h' || n, $1, 'live', 'k_' || n, 'person_search', 1000000, 'posted', 1000000, 'o', 'r', 1, 1
           FROM generate_series(1, ${FILLED}) AS n`,
          [ACCOUNT],
        );
        await filler.query(
          `INSERT INTO entries (account_id, mode, kind, amount, balance_after, hold_id, note, day, created_at, actor, chain)
           SELECT $1, 'live', 'charge', -1000000, 100000000000 - CAST(n AS bigint) * 1000000, 'h' || n, 'person_search', '2026-01-01', 1, 'k_' || n, ''
           FROM generate_series(1, ${FILLED}) AS n`,
          [ACCOUNT],
        );
        await filler.query(
          `INSERT INTO usage (account_id, mode, day, key_id, call, calls, charged, refunded)
           SELECT $1, 'live', '2026-01-01', 'k_' || n, 'person_search', 1, 1000000, 0 FROM generate_series(1, ${FILLED}) AS n`,
          [ACCOUNT],
        );
        await filler.query(
          "UPDATE balances SET balance = balance - $1 WHERE account_id = $2 AND mode = 'live'",
          [FILLED * 1_000_000, ACCOUNT],
        );
        await filler.end();
        const dump = join(tempDir(), "large.dump");
        await run(join(bin ?? "", "pg_dump"), [
          "--schema",
          "headcount",
          "-Fc",
          "-f",
          dump,
          large ?? "",
        ]);
        await run(join(bin ?? "", "pg_restore"), ["-d", restored ?? "", dump]);
        const began = performance.now();
        const { breaches } = await verifyLedger(restored ?? "");
        // What was filled in has no chain; its sums are sound.
        expect(breaches.filter((breach) => !/^I1[47]:/.test(breach))).toEqual([]);
        expect(performance.now() - began).toBeLessThan(20_000);
        await client.end();
      });
    },
  );
});

describe("rights", () => {
  // A ledger on PostgreSQL behind a pooler, and as a role that may do no more than it must.

  const POOLER = "/usr/sbin/pgbouncer";

  describe.skipIf(isLeftOut(postgresBinaries() !== undefined && existsSync(POOLER)))(
    "PostgreSQL",
    () => {
      let cluster: PostgresCluster;
      beforeAll(async () => {
        cluster = await startCluster();
      });
      afterAll(() => cluster.remove());

      async function asked(...statements: string[]): Promise<void> {
        const client = await connected(cluster.url);
        for (const sql of statements) await client.query(sql);
        await client.end();
      }

      async function charge(url: string, schema: string): Promise<void> {
        const store = await openPostgresStore({ url, schema, now: Date.now });
        try {
          if ((await store.account("a")) === undefined) await store.createAccount("a", "A");
          await store.grant("a", "live", credits(1_000_000n), "for the test");
          const amount = credits(100_000n);
          const one = {
            accountId: "a",
            mode: "live",
            keyId: "k",
            call: "person_search",
            amount,
          } as const;
          const holds = await Promise.all(
            ["1", "2", "3"].map((id) => store.hold({ ...one, requestId: `${schema}-${id}` })),
          );
          expect(holds.map(({ kind }) => kind)).toEqual(["held", "held", "held"]);
          expect(await store.verify()).toEqual([]);
        } finally {
          await store.close();
        }
      }

      test.each([
        ["session", "pooled_session", false],
        ["transaction", "pooled_transaction", true],
      ])("behind pgbouncer in %s mode", async (mode, schema, isRole) => {
        const { password } = new URL(cluster.url);
        // Between transactions a pooler of this mode hands out other connections: there the path is the role's own.
        if (isRole)
          await asked(
            `CREATE SCHEMA ${schema}`,
            `ALTER ROLE headcount SET search_path = ${schema}`,
          );
        const port = await freePort();
        const users = join(cluster.folder, "users.txt");
        writeFileSync(users, `"headcount" "${password}"\n`);
        const config = join(cluster.folder, `${mode}.ini`);
        writeFileSync(
          config,
          `[databases]\npostgres = host=127.0.0.1 port=${cluster.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = plain\nauth_file = ${users}\npool_mode = ${mode}\nserver_reset_query = DISCARD ALL\nuser = postgres\n`,
        );
        chmodSync(cluster.folder, 0o755);
        const pooler = spawn(POOLER, [config], { stdio: "ignore" });
        try {
          await listens(port);
          await charge(`postgres://headcount:${password}@127.0.0.1:${port}/postgres`, schema);
        } finally {
          pooler.kill("SIGKILL");
          await asked("ALTER ROLE headcount RESET search_path");
        }
      });

      test("a role that may make nothing but tables in a schema that is there", async () => {
        await asked(
          "CREATE ROLE clerk LOGIN PASSWORD 'only-for-this-test'",
          "CREATE SCHEMA clerks AUTHORIZATION clerk",
          "REVOKE CREATE ON DATABASE postgres FROM PUBLIC",
        );
        const url = new URL(cluster.url);
        url.username = "clerk";
        url.password = "only-for-this-test";
        await charge(url.href, "clerks");
        await expect(
          openPostgresStore({ url: url.href, schema: "others", now: Date.now }),
        ).rejects.toThrow(/permission denied/);
      });
    },
  );

  async function listens(port: number): Promise<void> {
    for (let attempt = 0; attempt < 100; attempt++) {
      const isOpen = await new Promise<boolean>((resolve) => {
        const socket = createConnection(port, "127.0.0.1", () => resolve(true)).on("error", () =>
          resolve(false),
        );
        socket.unref();
      });
      if (isOpen) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error("pgbouncer does not listen");
  }
});
