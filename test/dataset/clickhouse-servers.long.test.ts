import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { execPath } from "node:process";
import type { ClickHouseClient } from "@clickhouse/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importDataset } from "../../src/dataset/build/import.ts";
import {
  type ClickHouseServers,
  closeAll,
  connectClickHouse,
} from "../../src/dataset/clickhouse/connect.ts";
import {
  ClickHouseEngine,
  followClickHouse,
  openClickHouse,
} from "../../src/dataset/clickhouse/engine.ts";
import { ServedPeople } from "../../src/dataset/clickhouse/left-out.ts";
import { LoadServers } from "../../src/dataset/clickhouse/load/servers.ts";
import { tablesOf } from "../../src/dataset/clickhouse/schema.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { SuppressionList } from "../../src/engine/library/suppression.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import { canonicalDomain } from "../../src/shared/contract/naming/address.ts";
import { suppressedName } from "../../src/shared/contract/naming/who.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { asTyped } from "../support/as-typed.ts";
import { LONG } from "../support/campaign.ts";
import {
  type Cluster,
  type ClusterServer,
  hasClickHouseServer,
  startCluster,
} from "../support/clickhouse.ts";
import { SMALL, sleep, tempFolder } from "../support/dataset.ts";
import {
  type LoadFiles,
  loadFiles,
  loadFilesInto,
  plain,
  sameWhole,
} from "../support/load-files.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { isLeftOut } from "../support/tools.ts";

describe("servers", () => {
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
  function losing(
    servers: ClickHouseServers,
    pattern: RegExp,
    lose: () => void,
  ): ClickHouseServers {
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
          .poll(async () => engine.count(all).then(() => engine.info().version), {
            timeout: 120_000,
          })
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
});

describe("a load", () => {
  // Loads that are cut off, refused, repeated: against two shards of a real server, with companies and without.

  const EVERYBODY = { exact: {}, prefix: {}, range: {} };
  const TABLES = "SELECT name FROM system.tables WHERE database = 'default' ORDER BY name";

  const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");

  // Each test loads several times.
  describe.skipIf(isLeftOut(hasClickHouseServer))(
    "loading into two shards",
    { timeout: 300_000 },
    () => {
      let given: LoadFiles;
      let derived: LoadFiles;
      let cluster: Cluster;
      let servers: ClickHouseServers;

      beforeAll(async () => {
        given = await loadFiles(300, 5, true);
        derived = await loadFiles(200, 6, false);
        // Statements have less room than servers give them: so fewer people show whether one grows with them.
        cluster = await startCluster(2, 1, 65_536);
        servers = await connectClickHouse(cluster.url);
      });
      afterAll(async () => {
        await given?.embedded.close();
        await derived?.embedded.close();
        await closeAll(servers);
        await cluster.close();
      });
      /** Nothing of the tests before is left. */
      async function empty(): Promise<void> {
        for (const client of servers.clients) {
          const answer = await client.query({ query: TABLES, format: "JSONCompact" });
          const { data } = await answer.json<readonly unknown[]>();
          for (const name of data) await client.command({ query: `DROP TABLE default.${name}` });
        }
      }

      async function rows(sql: string): Promise<string[]> {
        const answer = await servers.clients[0].query({ query: sql, format: "JSONCompact" });
        return (await answer.json<readonly unknown[]>()).data.map(String);
      }
      const tables = (): Promise<string[]> => rows(TABLES);

      async function isServed(files: LoadFiles): Promise<void> {
        const engine = await openClickHouse(cluster.url);
        await sameWhole(engine, files);
        await engine.close();
      }

      test("a user that the server does not know is told at every door: exit 2", async () => {
        const address = cluster.url.replace("://", "://nobody@");
        const folder = await tempFolder();
        const at = ["--data", folder, "--dataset", address];
        const people = join(folder, "people.csv");
        await writeFile(people, "person_id,name\n1,Ada\n");
        for (const argv of [
          ["serve", "--port", "0", ...at],
          ["service", "import", "--people", people, ...at],
        ]) {
          const child: ChildProcess = spawn(execPath, [BIN, ...argv], {
            stdio: ["ignore", "ignore", "pipe"],
          });
          let said = "";
          child.stderr?.on("data", (chunk: Buffer) => {
            said += chunk.toString();
          });
          const code = await new Promise((done) => child.once("close", done));
          expect({ code, said }).toMatchObject({
            code: 2,
            said: expect.stringMatching(/turned the connection away/),
          });
        }
      });

      test("companies that nobody gives are derived as the embedded engine does; a service goes over to the next dataset", async () => {
        await empty();
        await expect(followClickHouse(cluster.url, "", { now: () => 0 })).rejects.toThrow(
          /holds no dataset/,
        );
        expect(plain(await loadFilesInto(servers, derived, { now: () => 1 }))).toEqual(
          plain(derived.report),
        );
        expect(readFileSync(derived.input.rejects, "utf8")).toBe(derived.rejects);
        await isServed(derived);
        let clock = 0;
        const engine = await followClickHouse(cluster.url, "", {
          now: () => clock,
          everyMs: 1_000,
        });
        const first = engine.info().version;
        expect((await tables()).filter((name) => !name.includes(first))).toEqual([
          "headcount_datasets",
        ]);
        expect((await tables()).filter((name) => name.startsWith("stage_"))).toEqual([]);

        await loadFilesInto(servers, given, { now: () => 2_000 });
        expect(await engine.count(EVERYBODY)).toBe(derived.everyone.length);
        expect(engine.info().version).toBe(first);
        clock = 1_000;
        expect(await engine.count(EVERYBODY)).toBe(given.everyone.length);
        // The one before the last is dropped.
        await loadFilesInto(servers, derived, { now: () => 3_000 });
        expect((await tables()).filter((name) => name.includes(first))).toEqual([]);
        await engine.close();
      });

      test("a shard that is killed at any step: the error says that the command goes on, and it does, from there", async () => {
        // What the test before left.
        await isServed(derived);
        const datasetDir = await tempFolder("headcount-cut-");
        const lost = cluster.shards[1];
        const cut = async (phase: "read" | "copy", least: number): Promise<void> => {
          let killed: Promise<void> | undefined;
          const onProgress = (at: { phase: string; done: number }) => {
            if (at.phase === phase && at.done > least) killed ??= lost?.kill();
          };
          await expect(
            loadFilesInto(servers, given, { datasetDir, onProgress }),
          ).rejects.toMatchObject({
            name: "DatasetUnavailableError",
            message: expect.stringMatching(
              /the dataset there is unchanged, and the same command goes on where this one stopped/,
            ),
          });
          await killed;
          await expect(loadFilesInto(servers, given, { datasetDir })).rejects.toThrow(
            /goes on where/,
          );
          await lost?.start();
          await isServed(derived);
        };
        await cut("read", 1);
        await cut("copy", 150);
        const phases = new Set<string>();
        const onProgress = ({ phase }: { phase: string }) => phases.add(phase);
        const report = await loadFilesInto(servers, given, { datasetDir, onProgress });
        expect(plain(report)).toEqual(plain(given.report));
        expect(readFileSync(given.input.rejects, "utf8")).toBe(given.rejects);
        // Nothing of the files was read again.
        expect([...phases]).toEqual(["copy"]);
        await isServed(given);
        expect(readdirSync(datasetDir)).toEqual(["lock.db"]);
      });

      test("as many countries as people: a statement grows neither with them nor with the ranges", async () => {
        const country = (at: number) => `land ${String(at % 1_599).padStart(40, "0")} of İ`;
        const lines = Array.from({ length: 1_600 }, (_, at) =>
          [`p${at}`, at % 7 === 0 ? "" : country(at), at % 2 === 0 ? "boss" : "", "navy"].join(","),
        );
        const cwd = await tempFolder();
        await writeFile(
          join(cwd, "people.csv"),
          `id,country,title,industry\n${lines.join("\n")}\n`,
        );
        const input = {
          people: ["people.csv"],
          companies: [],
          cwd,
          rejects: join(cwd, "rejects.ndjson"),
        };
        const datasetDir = await tempFolder("headcount-embedded-");
        const options = { datasetDir, now: () => 1, sleep, resources: SMALL };
        await importDataset(input, options);
        const embedded = await openDataset(datasetDir);

        await loadFilesInto(servers, { input }, { pieceRows: 700 });
        const engine = await openClickHouse(cluster.url);
        const all = [EVERYBODY, { offset: 0, limit: 1_600 }] as const;
        expect((await engine.people(...all)).records).toEqual(
          (await embedded.people(...all)).records,
        );
        await engine.close();
        await embedded.close();
      });

      test("a piece that is there in part is sent again, and a table that a server lost; nothing is read again", async () => {
        await empty();
        const datasetDir = await tempFolder("headcount-lost-");
        const phases = new Set<string>();
        const load = (more: object = {}) =>
          loadFilesInto(servers, given, { datasetDir, pieceRows: 50, ...more });
        const goesOn = async (): Promise<void> => {
          phases.clear();
          const onProgress = ({ phase }: { phase: string }) => phases.add(phase);
          expect(plain(await load({ onProgress }))).toEqual(plain(given.report));
          expect([...phases]).toEqual(["copy"]);
          await isServed(given);
        };
        /** Of eight pieces, so that some are left when it is stopped. @returns the table of people */
        const stopped = async (): Promise<string> => {
          const controller = new AbortController();
          const onProgress = ({ phase, done }: { phase: string; done: number }) => {
            if (phase === "copy" && done >= 200) controller.abort(new Error("stopped"));
          };
          await expect(load({ signal: controller.signal, onProgress })).rejects.toThrow("stopped");
          const isPeople = (name: string) => name.startsWith("people_") && name.endsWith("_local");
          return (await tables()).findLast(isPeople) ?? "";
        };

        const people = await stopped();
        const mutations = "SELECT count() FROM system.mutations WHERE is_done = 0";
        for (const client of servers.clients) {
          const query = `ALTER TABLE ${people} DELETE WHERE rid % 3 = 0 AND rid < 80`;
          await client.command({ query });
          for (;;) {
            const answer = await client.query({ query: mutations, format: "JSONCompact" });
            if (Number((await answer.json<readonly unknown[]>()).data[0]?.[0]) === 0) break;
            await sleep(50);
          }
        }
        await goesOn();

        await stopped();
        const [, second] = servers.clients;
        for (const name of (await tables()).filter((table) => /^companies_.*_local$/.test(table)))
          await second?.command({ query: `DROP TABLE IF EXISTS default.${name}` });
        await goesOn();
      });

      test("other files, or another list of the suppressed, are another load; a dry run leaves both alone", async () => {
        await empty();
        const datasetDir = await tempFolder("headcount-other-");
        const controller = new AbortController();
        const onProgress = ({ phase }: { phase: string }) =>
          phase === "copy" && controller.abort(new Error("stopped"));
        const begun = loadFilesInto(servers, given, {
          datasetDir,
          signal: controller.signal,
          onProgress,
        });
        await expect(begun).rejects.toThrow("stopped");
        const before = await tables();
        const dry = { ...derived, input: { ...derived.input, dryRun: true } };
        expect(plain(await loadFilesInto(servers, dry, { datasetDir }))).toEqual(
          plain({ ...derived.report, suppressed: null }),
        );
        expect(await tables()).toEqual(before);
        expect(await rows("SELECT count() FROM headcount_datasets")).toEqual(["0"]);

        const suppression = await tempFolder("headcount-left-out-");
        const list = new SuppressionList(suppression, new Disk(), { now: Date.now, sleep });
        const linked = given.everyone.find(({ company_domain }) => company_domain !== null);
        const words = [
          given.everyone[3]?.id ?? "",
          given.everyone.find(({ network_url }) => network_url?.includes("/"))?.network_url ?? "",
          linked?.company_domain ?? "",
          "only-here.example",
        ];
        await list.add(
          words.map((word) => suppressedName(word) ?? { kind: "id" }),
          null,
        );
        const report = await loadFilesInto(servers, given, { datasetDir, suppression });
        expect((await tables()).filter((name) => before.includes(name))).toEqual([
          "headcount_datasets",
        ]);
        const embeddedDir = await tempFolder("headcount-embedded-");
        const input = { ...given.input, rejects: join(embeddedDir, "rejects") };
        const options = {
          datasetDir: embeddedDir,
          now: () => 1,
          sleep,
          resources: SMALL,
          suppression,
        };
        expect({ ...plain(report), rejects: "" }).toEqual({
          ...plain(await importDataset(input, options)),
          rejects: "",
        });
        const embedded = await openDataset(embeddedDir);
        expect(embedded.info().people).toBeLessThan(given.everyone.length - 3);
        await isServed({ ...given, embedded });
        await embedded.close();
      });

      test("too many refused rows, a wrong column or a missing file leave nothing behind", async () => {
        await empty();
        const datasetDir = await tempFolder("headcount-refused-");
        const with_ = (more: object) => ({ ...given, input: { ...given.input, ...more } });
        await expect(
          loadFilesInto(servers, with_({ maxRefused: { rows: 3 } }), { datasetDir }),
        ).rejects.toThrow(/rows are refused, 3 may be/);
        expect(readFileSync(given.input.rejects, "utf8")).toBe(given.rejects);
        await expect(
          loadFilesInto(servers, with_({ people: ["a.csv", "nobody.csv"] }), { datasetDir }),
        ).rejects.toThrow(/nobody.csv does not exist/);
        await writeFile(join(given.input.cwd, "wrong.csv"), "colour,size\nred,5\n");
        await expect(
          loadFilesInto(servers, with_({ people: ["wrong.csv"] }), { datasetDir }),
        ).rejects.toThrow(/no usable column/);
        expect(await tables()).toEqual([]);
        expect(readdirSync(datasetDir)).toEqual(["lock.db"]);
      });

      test("the program, killed again and again, makes the same dataset in the end", async () => {
        const { cwd } = given.input;
        const argv = asTyped`
        service import --people ${given.input.people} --companies ${given.input.companies}
      `;
        const more = ["--data", "killed", "--dataset", cluster.url, "--json"];
        const start = (): ChildProcess =>
          spawn(execPath, [BIN, ...argv, ...more], { cwd, env: { ...process.env, HOME: cwd } });
        const state = (name: string): string => {
          const path = join(cwd, "killed/clickhouse-import/load", name);
          return existsSync(path) ? readFileSync(path, "utf8") : "";
        };
        const all = [
          () => existsSync(join(cwd, "killed/clickhouse-import/load/people-0")),
          () => state("load.json") !== "",
          () => state("load.json") !== "",
          () => state("load.json").includes('"isWhole":true'),
        ];
        for (const [index, isReached] of all.entries()) {
          if (!LONG && index !== 1 && index !== 2) continue;
          const child = start();
          let stderr = "";
          child.stderr?.on("data", (data: Buffer) => (stderr += data));
          const ended = new Promise((done) => child.once("close", done));
          while (!isReached() && child.exitCode === null) await sleep(5);
          child.kill(index === 1 ? "SIGINT" : "SIGKILL");
          if (index === 1) {
            expect(await ended).toBe(130);
            expect(stderr).toMatch(
              /interrupted; the dataset is as it was before[\s\S]*the same command makes and sends what is missing/,
            );
          }
          await ended;
        }
        const child = start();
        const said = { stdout: "", stderr: "" };
        child.stdout?.on("data", (data: Buffer) => (said.stdout += data));
        child.stderr?.on("data", (data: Buffer) => (said.stderr += data));
        const code = await new Promise((done) => child.once("close", done));
        expect({ code, stderr: said.stderr }).toEqual({ code: 0, stderr: "" });
        const { version: _, seconds: __, rejects: ___, ...report } = JSON.parse(said.stdout);
        expect(report).toEqual({ ...plain(given.report), rejects: undefined });
        expect(readFileSync(join(cwd, "killed/import-rejects.ndjson"), "utf8")).toBe(given.rejects);
        await isServed(given);
      });
    },
  );
});

describe("rows that are left out", () => {
  // Suppressing and forgetting people of a dataset in ClickHouse, beside a service that runs.

  const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");
  const PEOPLE = 400;

  const canonical = (filters: unknown): CanonicalFilters => {
    const check = checkFilters(filters);
    if (!check.ok) throw new Error(JSON.stringify(check.issues));
    return check.canonical;
  };

  interface Outcome {
    readonly code: number;
    readonly out: string;
    readonly err: string;
  }

  describe.skipIf(isLeftOut(hasClickHouseServer))(
    "people left out of two shards",
    { timeout: 300_000 },
    () => {
      let given: LoadFiles;
      let cluster: Cluster;
      let servers: ClickHouseServers;
      let service: TestService;
      let data: string;

      beforeAll(async () => {
        given = await loadFiles(PEOPLE, 9, true);
        cluster = await startCluster(2);
        servers = await connectClickHouse(cluster.url);
        await loadFilesInto(servers, given);
        const engine = await followClickHouse(cluster.url, "", { now: () => performance.now() });
        service = await startTestService({
          engine,
          credits: 1_000_000,
          plan: { perMinute: 1_000_000, perDay: 1_000_000 },
        });
        data = await tempFolder("headcount-left-out-");
      });
      afterAll(async () => {
        await service?.close();
        for (const client of servers?.clients ?? []) await client.close();
        await cluster?.close();
        await given?.embedded.close();
      });

      /** A process of its own, against the servers. */
      const run = (...argv: string[]): Promise<Outcome> =>
        new Promise((done) => {
          const all = [BIN, "service", ...argv, "--data", data, "--dataset", cluster.url];
          execFile(execPath, all, (error, out, err) =>
            done({ code: Number(error?.code ?? 0), out, err }),
          );
        });

      // biome-ignore lint/suspicious/noExplicitAny: results of every shape
      const post = async (path: string, body: unknown): Promise<any> => {
        const answer = await service.call(path, { body });
        expect(answer.status, answer.text).toBe(200);
        return answer.json.result;
      };
      const countOf = async (filters: unknown): Promise<number> =>
        (await post("/v1/person/count", { filters })).count;
      async function pagesOf(filters: unknown, perPage: number): Promise<Person[]> {
        const found: Person[] = [];
        for (let page = 1; ; page++) {
          const result = (await post("/v1/person/search", {
            filters,
            page,
            per_page: perPage,
          })) as Person[];
          found.push(...result);
          if (result.length < perPage) return found;
        }
      }
      const fresh = async <Result>(work: (engine: Engine) => Promise<Result>): Promise<Result> => {
        const engine = await openClickHouse(cluster.url);
        try {
          return await work(engine);
        } finally {
          await engine.close();
        }
      };

      /** What the service says is what is left of everybody, by rules of the test's own. */
      async function servesWithout(gone: readonly Person[]): Promise<void> {
        const ids = new Set(gone.map(({ id }) => id));
        const left = given.everyone.filter(({ id }) => !ids.has(id));
        expect(await countOf({})).toBe(left.length);
        for (const { department } of gone.slice(0, 3)) {
          const wanted = left.filter((person) => person.department === department);
          expect(await countOf({ department })).toBe(wanted.length);
          const question = { key: "department", prefix: "", limit: 5, least: 1 } as const;
          const { count, values } = await service.engine.facet(
            canonical({ department }),
            question,
            60_000,
          );
          expect([count, values]).toEqual([
            wanted.length,
            [expect.objectContaining({ count: wanted.length })],
          ]);
          expect((await pagesOf({ department }, 100)).map(({ id }) => id)).toEqual(
            wanted.map(({ id }) => id),
          );
        }
        for (const person of gone) {
          if (person.network_url !== null)
            expect(await countOf({ network_url: person.network_url })).toBe(0);
          const lookup = {
            by: "company_network_url",
            value:
              canonical({ company_network_url: person.company_network_url ?? "x" })
                .company_network_url ?? "",
          } as const;
          const company = await service.engine.company(lookup);
          if (company === undefined) continue;
          const { records } = await service.engine.employees(company.id, {
            offset: 0,
            limit: 1_000,
          });
          expect(
            records.map((record) => (JSON.parse(record.toString()) as Person).id),
          ).not.toContain(person.id);
        }
        await fresh(async (engine) => {
          expect(engine.info().people).toBe(left.length);
          expect(await engine.verify()).toEqual([]);
        });
        // Pages of a segment that is too large to keep.
        const tight = await ClickHouseEngine.open(servers, { segmentCacheBytes: 1 });
        const rows: Buffer[] = [];
        for (let offset = 0; offset < left.length; offset += 200) {
          rows.push(...(await tight.people(canonical({}), { offset, limit: 200 })).records);
        }
        expect(rows.map((record) => (JSON.parse(record.toString()) as Person).id)).toEqual(
          left.map(({ id }) => id),
        );
      }

      test("a command leaves them out of every answer from its end on; again it is the same", async () => {
        const some = given.everyone.filter(({ network_url }) => network_url?.includes("/in/"));
        const [byAddress, bySlug] = [some[10] as Person, some[60] as Person];
        const byId = given.everyone.at(-1) as Person;
        const slug = bySlug.network_url?.split("/").at(-1) ?? "";
        const domain =
          canonicalDomain(
            some.slice(100).find((person) => person.company_domain !== null)?.company_domain ?? "",
          ) ?? "";
        const below = ({ company_domain }: Person): boolean => {
          const own = canonicalDomain(company_domain ?? "");
          return own === domain || own?.endsWith(`.${domain}`) === true;
        };
        // All was asked before: nothing that was known then is told afterwards.
        await servesWithout([]);
        await pagesOf({ department: byAddress.department }, 100);
        const gone = [byAddress, bySlug, byId];
        const first = await run("suppress", "add", byAddress.network_url ?? "", slug, byId.id);
        expect(first).toMatchObject({ code: 0 });
        expect(first.err).toMatch(/took 3 people out of the dataset in ClickHouse \(now \S+_3\)/);
        await servesWithout(gone);

        const again = await run("suppress", "add", byId.id);
        expect(again.err).toMatch(
          /nobody more of the dataset in ClickHouse is named so: it stays \S+_3/,
        );
        const nobody = await run("suppress", "add", "nobody-is-named-so");
        expect([nobody.code, nobody.err]).toEqual([
          0,
          expect.stringContaining("nobody more of the dataset in ClickHouse"),
        ]);
        await servesWithout(gone);

        expect(await run("suppress", "add", domain)).toMatchObject({ code: 0 });
        await servesWithout([
          ...gone,
          ...given.everyone.filter((person) => below(person) && !gone.includes(person)),
        ]);
      });

      test("what one was killed in the middle of, on some servers only, the next one does on all", async () => {
        const before = await fresh(async (engine) => engine.info());
        const step = await servers.clients[0].query({
          query: "SELECT version, max(activated) FROM headcount_datasets GROUP BY version",
          format: "JSONCompact",
        });
        const [version, activated] = (await step.json<readonly unknown[]>()).data[0] ?? [];
        const orphan = { version, step: Number(activated) + 1, rid: 200 };
        await servers.clients[1]?.insert({
          table: "headcount_left_out",
          values: [orphan],
          format: "JSONEachRow",
        });
        expect(await fresh(async (engine) => [engine.info(), await engine.verify()])).toEqual([
          before,
          [],
        ]);
        const people = new ServedPeople(servers, sleep);
        const next = await people.leaveOut([]);
        expect(next.removed).toBe(1);
        for (const { httpPort } of cluster.shards) {
          const engine = await openClickHouse(
            `clickhouse://127.0.0.1:${httpPort}/default?cluster=people`,
          );
          expect(engine.info()).toMatchObject({ version: next.version, people: before.people - 1 });
          expect(await engine.verify()).toEqual([]);
          await engine.close();
        }
      });

      test("forget finds somebody who is on the servers only, and deletes the rows there", async () => {
        const rows = async (id: string): Promise<number> => {
          const query = `SELECT count() FROM people_${given && (await versionOfTables())} WHERE id = '${id}'`;
          const answer = await servers.clients[0].query({ query, format: "JSONCompact" });
          return Number((await answer.json<readonly unknown[]>()).data[0]?.[0]);
        };
        async function versionOfTables(): Promise<string> {
          const query = "SELECT version FROM headcount_datasets ORDER BY activated DESC LIMIT 1";
          const answer = await servers.clients[0].query({ query, format: "JSONCompact" });
          return String((await answer.json<readonly unknown[]>()).data[0]?.[0]);
        }
        const left = (await pagesOf({}, 100)).filter(({ network_url }) =>
          network_url?.includes("/in/"),
        );
        const person = left[50] as Person;
        const before = await countOf({});
        const dry = await run("forget", person.network_url ?? "", "--dry-run");
        expect([dry.code, dry.out]).toEqual([0, expect.stringContaining("dataset: 1 record")]);
        expect([await rows(person.id), await countOf({})]).toEqual([1, before]);
        expect(await run("forget", person.network_url ?? "", "--yes")).toMatchObject({ code: 0 });
        expect([await rows(person.id), await countOf({})]).toEqual([0, before - 1]);
        expect(await countOf({ network_url: person.network_url })).toBe(0);
        expect(await fresh((engine) => engine.verify())).toEqual([]);
        expect(await run("forget", person.network_url ?? "", "--yes")).toMatchObject({ code: 0 });
        expect(await run("forget", "nobody-at-all", "--yes")).toMatchObject({ code: 6 });
      });

      test.each([
        ["clickhouse://127.0.0.1:9/default", /no ClickHouse server answers/],
        ["./folder", /clickhouse:\/\//],
      ])("%s is said", async (place, said) => {
        const folder = await tempFolder("headcount-left-out-");
        const argv = ["service", "suppress", "add", "p_1", "--data", folder, "--dataset", place];
        const failed = await new Promise<Outcome>((done) => {
          execFile(execPath, [BIN, ...argv], (error, out, err) =>
            done({ code: Number(error?.code ?? 0), out, err }),
          );
        });
        expect(failed.code).toBeGreaterThan(0);
        expect(failed.err).toMatch(said);
      });
    },
  );
});
