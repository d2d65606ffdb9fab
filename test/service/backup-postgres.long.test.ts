import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { verifyLedger } from "../../src/service/admin/data-folder.ts";
import { openPostgresStore } from "../../src/service/ledger/postgres.ts";
import { tempDir } from "../support/client.ts";
import { folder, headcount } from "../support/serve-command.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest } from "../support/store.ts";
import { type PostgresCluster, postgresBinaries, startCluster } from "../support/store-postgres.ts";
import { isLeftOut } from "../support/tools.ts";

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
      const admin = new pg.Client({ connectionString: url });
      await admin.connect();
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
      await later.settle({ holdId, amount: c(2), reply: answer(), sold: { price: c(1), rows: 2 } });
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
    }, 180_000);

    test("verify ends right after a restore, when the server has no statistics yet", async () => {
      cluster ??= await startCluster();
      const client = new pg.Client({ connectionString: cluster.url });
      await client.connect();
      for (const name of ["large", "refilled"]) await client.query(`CREATE DATABASE ${name}`);
      const [large, restored] = ["large", "refilled"].map((name) => {
        const url = new URL(cluster?.url ?? "");
        url.pathname = `/${name}`;
        return url.href;
      });
      const store = await openPostgresStore({ url: large ?? "", now: Date.now });
      await fund(store, 100_000);
      await store.close();
      const filler = new pg.Client({ connectionString: large });
      await filler.connect();
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
