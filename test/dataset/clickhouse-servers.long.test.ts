import type { ClickHouseClient } from "@clickhouse/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ClickHouseServers,
  closeAll,
  connectClickHouse,
} from "../../src/dataset/clickhouse/connect.ts";
import { ClickHouseEngine, followClickHouse } from "../../src/dataset/clickhouse/engine.ts";
import { LoadServers } from "../../src/dataset/clickhouse/load/servers.ts";
import { tablesOf } from "../../src/dataset/clickhouse/schema.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { LONG } from "../support/campaign.ts";
import {
  type Cluster,
  type ClusterServer,
  hasClickHouseServer,
  startCluster,
} from "../support/clickhouse.ts";
import { tempFolder } from "../support/dataset.ts";
import {
  type LoadFiles,
  loadFiles,
  loadFilesInto,
  plain,
  sameWhole,
} from "../support/load-files.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { isLeftOut } from "../support/tools.ts";

/** How a server is lost, and comes back. */
const LOSSES: Readonly<
  Record<string, { lose(one: ClusterServer): unknown; heal(one: ClusterServer): unknown }>
> = {
  killed: { lose: (one) => one.kill(), heal: (one) => one.start() },
  hanging: { lose: (one) => one.hang(), heal: (one) => one.goOn() },
  "cut off": { lose: (one) => one.cut(), heal: (one) => one.mend() },
};
/** A read may take so long where a server is lost under it; on a machine with nothing else to do, ask for 2,000. */
const AT_MOST_MS = Number(process.env.HEADCOUNT_READ_MS ?? 30_000);

/** What a load does, by the statement that it is done with. */
const STEPS: Readonly<Record<string, RegExp>> = {
  "tables are made": /^CREATE TABLE default\.people_/,
  "companies are sent": /^INSERT INTO default\.companies_/,
  "people are sent": /^INSERT INTO default\.people_/,
  "the version is told": /^INSERT INTO default\.headcount_datasets/,
  "an old version is dropped": /^DROP TABLE IF EXISTS default\.people_/,
};

/** Servers of which one is lost as soon as a statement of the kind is under way. */
function losing(servers: ClickHouseServers, pattern: RegExp, lose: () => void): ClickHouseServers {
  let isLost = false;
  let dropped = 0;
  const watched = (client: ClickHouseClient): ClickHouseClient =>
    new Proxy(client, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return (params: { query?: string; table?: string } | undefined) => {
          const work: unknown = method.call(target, params);
          const sql = params?.query ?? `INSERT INTO ${params?.table}`;
          // A load drops what may be there, both tables of people, before it makes them.
          if (
            pattern.test(sql) &&
            (!sql.startsWith("DROP") || ++dropped > 2 * servers.clients.length) &&
            !isLost
          ) {
            isLost = true;
            lose();
          }
          return work;
        };
      },
    });
  const [first, ...others] = servers.clients;
  return { ...servers, clients: [watched(first), ...others.map(watched)] };
}

const all: CanonicalFilters = { exact: {}, prefix: {}, range: {} };
const sales: CanonicalFilters = { ...all, department: ["Sales"] };
let slowest = 0;
const took = (began: number): number => {
  const ms = performance.now() - began;
  slowest = Math.max(slowest, ms);
  return ms;
};

describe.skipIf(isLeftOut(hasClickHouseServer))(
  "two shards with two replicas each",
  { timeout: 1_800_000 },
  () => {
    let cluster: Cluster;
    let given: LoadFiles;
    let engine: Engine;
    let service: TestService;
    let companyId = "";

    beforeAll(async () => {
      cluster = await startCluster(2, 2);
      given = await loadFiles(250, 7, true);
      const servers = await connectClickHouse(cluster.url);
      await loadFilesInto(servers, given);
      engine = await followClickHouse(cluster.url, "", { now: () => performance.now() });
      service = await startTestService({ engine });
      const found = await Promise.all(
        given.everyone.slice(0, 50).map((person) =>
          given.embedded.company({
            by: "domain",
            value: person.company_domain?.toLowerCase() ?? "",
          }),
        ),
      );
      companyId = found.find((company) => company !== undefined)?.id ?? "";
    }, 1_800_000);
    afterAll(async () => {
      process.stdout.write(`the slowest read beside a loss took ${Math.round(slowest)} ms\n`);
      await engine?.close();
      await given?.embedded.close();
      await cluster?.close();
    });

    const question = { key: "city", prefix: "", limit: 5, least: 1 } as const;
    const reads: Readonly<Record<string, (of: Engine) => Promise<unknown>>> = {
      count: (of) => of.count(sales),
      facet: (of) => of.facet(sales, question, 30_000),
      "first page": (of) => of.people(sales, { offset: 0, limit: 5 }),
      "deep page": (of) => of.people(all, { offset: 150, limit: 5 }),
      company: (of) => of.company({ by: "id", value: companyId }),
      employees: (of) => of.employees(companyId, { offset: 0, limit: 5 }),
    };
    const answers = async (): Promise<void> => {
      for (const [name, read] of Object.entries(reads)) {
        const began = performance.now();
        expect(await read(engine), name).toEqual(await read(given.embedded));
        expect(took(began), name).toBeLessThan(AT_MOST_MS);
      }
    };

    test("what was loaded is whole", async () => {
      await sameWhole(engine, given);
    });

    test.each(Object.keys(LOSSES))(
      "every read goes on when any server is %s, and uses it again",
      async (how) => {
        // In CI one of each shard, with its twin.
        const lost = LONG ? cluster.shards : [cluster.shards[0], cluster.shards[3]];
        for (const one of lost as ClusterServer[]) {
          await answers();
          await LOSSES[how]?.lose(one);
          try {
            // Twice: the loss is met first, then known.
            await answers();
            const before = await service.store.money("default", "live");
            const body = { filters: { department: "Sales" }, page: 1, per_page: 5 };
            expect((await service.call("/v1/person/search", { body })).status).toBe(200);
            expect(await service.store.money("default", "live")).not.toEqual(before);
            expect((await service.call("/readyz")).status).toBe(200);
          } finally {
            await LOSSES[how]?.heal(one);
          }
          // The other replica is lost in the same moment: only the one that is back has their rows.
          const twin = cluster.shards.find((other) => other !== one && other.shard === one.shard);
          await twin?.kill();
          expect(await engine.count(all)).toBe(given.everyone.length);
          await twin?.start();
        }
      },
    );

    test("a server that is lost while it answers: each answer is right, and none takes longer", async () => {
      for (const how of Object.keys(LOSSES)) {
        const [first] = cluster.shards;
        if (first === undefined) throw new Error("no server");
        await answers();
        const wanted = await given.embedded.count(sales);
        const asked = Array.from({ length: 40 }, async () => {
          const began = performance.now();
          expect(await engine.count(sales)).toBe(wanted);
          return took(began);
        });
        await LOSSES[how]?.lose(first);
        try {
          expect(Math.max(...(await Promise.all(asked))), how).toBeLessThan(AT_MOST_MS);
        } finally {
          await LOSSES[how]?.heal(first);
        }
      }
    });

    test("a shard without any server that answers: no answer, the service is not ready, nothing is charged; then it is", async () => {
      await answers();
      const gone = cluster.shards.slice(0, 2);
      for (const how of ["killed", "hanging"]) {
        for (const one of gone) await LOSSES[how]?.lose(one);
        await expect(engine.count(sales)).rejects.toThrow("no ClickHouse server answers");
        const before = await service.store.money("default", "live");
        const body = { filters: { department: "Sales" }, page: 1, per_page: 5 };
        expect((await service.call("/v1/person/search", { body })).status).toBe(500);
        expect(await service.store.money("default", "live")).toEqual(before);
        // What was well a second ago is taken for well.
        await expect
          .poll(async () => (await service.call("/readyz")).status, { timeout: 120_000 })
          .toBe(503);
        for (const one of gone) await LOSSES[how]?.heal(one);
        await expect
          .poll(async () => (await service.call("/readyz")).status, { timeout: 120_000 })
          .toBe(200);
        await answers();
      }
    });

    const each = Object.entries(STEPS).flatMap(([step, pattern], index) =>
      Object.keys(LOSSES).flatMap((how, at) =>
        // The long form: every loss of every server at every step. A loss takes up to a minute and a half.
        LONG
          ? [0, 1, 2, 3].map((lost) => ({ step, pattern, how, lost }))
          : index === 2 * at
            ? [{ step, pattern, how, lost: index % 4 }]
            : [],
      ),
    );
    test.each(each)(
      "a load under which server $lost is $how at: $step; the same command goes on",
      async (one) => {
        const { how, lost, pattern } = one;
        const datasetDir = await tempFolder("headcount-lost-");
        const servers = await connectClickHouse(cluster.url);
        const server = cluster.shards[lost] as ClusterServer;
        let isLost = false;
        const lose = (): void => {
          isLost = true;
          LOSSES[how]?.lose(server);
        };
        const cut = await loadFilesInto(losing(servers, pattern, lose), given, {
          datasetDir,
        }).catch((error: unknown) => error);
        expect(isLost).toBe(true);
        // What was asked of the server may have been done just before.
        if (cut instanceof Error) {
          expect(cut.message).toMatch(
            /the dataset there is unchanged, and the same command goes on where this one stopped/,
          );
        }
        await LOSSES[how]?.heal(server);
        expect(plain(await loadFilesInto(servers, given, { datasetDir }))).toEqual(
          plain(given.report),
        );
        const fresh = await ClickHouseEngine.open(servers);
        await sameWhole(fresh, given);
        // Every server has the same as the other one of its shard.
        const { people, companies } = tablesOf(fresh.info().version);
        const counts = new LoadServers(servers, "test");
        expect([await counts.count(people), await counts.count(companies)]).toEqual([
          fresh.info().people,
          fresh.info().companies,
        ]);
        await closeAll(servers);
      },
    );

    test("two names of one server are told as such, and nothing is left there", async () => {
      const [first] = cluster.shards;
      const names = ["127.0.0.1", "localhost"]
        .map((host) => `${host}:${first?.httpPort}`)
        .join(",");
      const servers = await connectClickHouse(`clickhouse://${names}/default?cluster=people`);
      const tableNames = async (): Promise<unknown> => {
        const query = "SELECT name FROM system.tables WHERE database = 'default' ORDER BY name";
        return (
          await (
            await servers.clients[0].query({ query, format: "JSONCompact" })
          ).json<readonly unknown[]>()
        ).data;
      };
      const before = await tableNames();
      await expect(loadFilesInto(servers, given)).rejects.toThrow(
        /two hosts of the ClickHouse address are one server/,
      );
      expect(await tableNames()).toEqual(before);
      await closeAll(servers);
    });

    test("servers that were told different versions are never mixed", async () => {
      const other = await loadFiles(150, 8, true);
      const servers = await connectClickHouse(cluster.url);
      const [old] = cluster.shards.map(({ httpPort }) => `127.0.0.1:${httpPort}`);
      const before = engine.info().version;
      await loadFilesInto(servers, other);
      // One server is told of the new version later, as if the load had been cut off in between.
      for (const [index, url] of (servers.urls ?? []).entries()) {
        const table = "headcount_datasets";
        if (!url.endsWith(old ?? "?")) continue;
        const rows = await servers.clients[index]?.query({
          query: `SELECT * FROM ${table} WHERE version = '${before}'`,
        });
        const kept = (await rows?.json<{ data: unknown[] }>()) as unknown as { data: unknown[] };
        await servers.clients[index]?.command({ query: `TRUNCATE TABLE ${table}` });
        await servers.clients[index]?.insert({ table, values: kept.data, format: "JSONEachRow" });
      }
      await expect
        .poll(async () => engine.count(all).then(() => engine.info().version), { timeout: 120_000 })
        .not.toBe(before);
      for (let turn = 0; turn < 12; turn++) {
        expect(await engine.people(all, { offset: turn, limit: 20 })).toEqual(
          await other.embedded.people(all, { offset: turn, limit: 20 }),
        );
        expect(engine.info().version).not.toBe(before);
      }
      // Where only the one that is behind is left, there is no answer rather than an old one.
      const [behind, ...rest] = cluster.shards;
      for (const one of rest) await one.kill();
      await expect(engine.count(all)).rejects.toThrow("no ClickHouse server answers");
      await behind?.kill();
      await Promise.all(cluster.shards.map((one) => one.start()));
      expect(await engine.count(all)).toBe(other.everyone.length);
      await other.embedded.close();
    });
  },
);
