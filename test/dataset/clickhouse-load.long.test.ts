import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { execPath } from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { importDataset } from "../../src/dataset/build/import.ts";
import {
  type ClickHouseServers,
  closeAll,
  connectClickHouse,
} from "../../src/dataset/clickhouse/connect.ts";
import { followClickHouse, openClickHouse } from "../../src/dataset/clickhouse/engine.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { Disk } from "../../src/engine/runs/disk.ts";
import { SuppressionList } from "../../src/engine/runs/suppression.ts";
import { suppressedName } from "../../src/shared/contract/naming/who.ts";
import { asTyped } from "../support/as-typed.ts";
import { LONG } from "../support/campaign.ts";
import { type Cluster, hasClickHouseServer, startCluster } from "../support/clickhouse.ts";
import { SMALL, sleep, tempFolder } from "../support/dataset.ts";
import {
  type LoadFiles,
  loadFiles,
  loadFilesInto,
  plain,
  sameWhole,
} from "../support/load-files.ts";
import { isLeftOut } from "../support/tools.ts";

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
      const engine = await followClickHouse(cluster.url, "", { now: () => clock, everyMs: 1_000 });
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
      await writeFile(join(cwd, "people.csv"), `id,country,title,industry\n${lines.join("\n")}\n`);
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
        plain(derived.report),
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
