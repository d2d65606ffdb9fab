import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKey, DEFAULT_ACCOUNT } from "../../../src/service/admin/keys.ts";
import { openPostgresStore } from "../../../src/service/ledger/postgres.ts";
import { credits } from "../../../src/shared/contract/money.ts";
import { cases } from "../../support/campaign.ts";
import { folder, serving } from "../../support/serve-command.ts";
import { generatedDataset } from "../../support/service.ts";
import {
  type PostgresCluster,
  postgresBinaries,
  startCluster,
} from "../../support/store-postgres.ts";
import { isLeftOut } from "../../support/tools.ts";
import { report, seeded } from "../ledger/rig.ts";

/**
 * The server of the accounts, or one of its processes, is stopped (SIGSTOP) in the middle of paid calls for longer than the service
 * waits, and goes on afterwards with what it was at. What was answered 200 is charged once, what was answered 500 is not, unless its
 * idempotency key fetches the reply later.
 */
const HANGS = cases(2, 24);
const CLIENTS = 12;
const GRANTED = 100_000n;
const MICROS = 1_000_000n;

const pause = (ms: number): Promise<unknown> => new Promise((done) => setTimeout(done, ms));

describe.skipIf(isLeftOut(postgresBinaries() !== undefined))(
  "a service whose PostgreSQL hangs in the middle of calls",
  () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      cluster = await startCluster();
    });
    afterAll(() => cluster.remove());

    test("answers 500 and charges nothing, or 200 and charges once", {
      timeout: 1_200_000,
    }, async () => {
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
      const figures = { hangs: HANGS, answered: 0, refused: 0, repeated: 0, slowest: 0 };
      const { code, err } = await serving([...argv, "--store", cluster.url], async (line) => {
        const { url } = JSON.parse(line) as { url: string };
        const store = await openPostgresStore({ url: cluster.url, now: Date.now });
        const { key } = await createKey(store, {
          accountId: DEFAULT_ACCOUNT,
          name: "x",
          mode: "live",
          now: Date.now,
        });
        await store.setPlan(DEFAULT_ACCOUNT, { perMinute: 1_000_000, perDay: 1_000_000 });
        const { balance: had } = await store.balance(DEFAULT_ACCOUNT, "live");
        await store.grant(DEFAULT_ACCOUNT, "live", credits(GRANTED * MICROS), "for this test");
        const search = async (rows: number, order?: string): Promise<number> => {
          const start = performance.now();
          const answer = await fetch(`${url}/v1/person/search`, {
            method: "POST",
            headers: {
              authorization: `Bearer ${key}`,
              "content-type": "application/json",
              ...(order === undefined ? {} : { "idempotency-key": order }),
            },
            body: JSON.stringify({ filters: {}, per_page: rows }),
          });
          const { result } = (await answer.json()) as { result: unknown[] };
          figures.slowest = Math.max(figures.slowest, Math.round(performance.now() - start));
          if (answer.status === 200) expect(result).toHaveLength(rows);
          return answer.status;
        };
        let [over, charged, orders] = [false, 0n, 0];
        const other: number[] = [];
        const client = async (n: number): Promise<void> => {
          while (!over) {
            const rows = 1 + (n % 3);
            orders += 1;
            // Every other client repeats what was refused under its key; the rest take the 500 for what it is.
            const order = n % 2 === 0 ? `order-${orders}` : undefined;
            for (let answered = false; !answered; figures.repeated += answered ? 0 : 1) {
              const status = await search(rows, order);
              if (status === 200) {
                figures.answered += 1;
                charged += BigInt(rows);
              } else {
                figures.refused += 1;
                // 409: its first attempt is still looked at.
                if (status !== 500 && !(order !== undefined && status === 409)) other.push(status);
                await pause(20);
              }
              answered = status === 200 || order === undefined;
            }
          }
        };
        const clients = Array.from({ length: CLIENTS }, (_, n) => client(n));
        const chance = seeded(20_261_122);
        for (let hang = 0; hang < HANGS; hang += 1) {
          await pause(150 + chance() * 300);
          if (hang % 2 === 0) cluster.hangOne(chance);
          else cluster.hang();
          // Longer than the patience of the service, or just as long as it.
          await pause(hang % 4 < 2 ? 7_000 : 4_900);
          cluster.resume();
        }
        await pause(300);
        over = true;
        await Promise.all(clients);
        expect(other).toEqual([]);
        const left = (GRANTED - charged) * MICROS + had;
        // What stands although it was refused goes back at a heartbeat.
        for (let waited = 0; waited < 60_000; waited += 100) {
          const { balance, held } = await store.balance(DEFAULT_ACCOUNT, "live");
          if (balance === left && held === 0n) break;
          await pause(100);
        }
        expect(await store.balance(DEFAULT_ACCOUNT, "live")).toMatchObject({
          balance: left,
          held: 0n,
        });
        expect(await store.verify()).toEqual([]);
        await store.close();
      });
      report("postgres hangs under the service", figures);
      expect(code, err).toBe(0);
      expect(figures.refused).toBeGreaterThan(0);
    });
  },
);
