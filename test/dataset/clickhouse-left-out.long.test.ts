import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { execPath } from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ClickHouseServers, connectClickHouse } from "../../src/dataset/clickhouse/connect.ts";
import {
  ClickHouseEngine,
  followClickHouse,
  openClickHouse,
} from "../../src/dataset/clickhouse/engine.ts";
import { ServedPeople } from "../../src/dataset/clickhouse/left-out.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import { canonicalDomain } from "../../src/shared/contract/naming/address.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { type Cluster, hasClickHouseServer, startCluster } from "../support/clickhouse.ts";
import { sleep, tempFolder } from "../support/dataset.ts";
import { type LoadFiles, loadFiles, loadFilesInto } from "../support/load-files.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { isLeftOut } from "../support/tools.ts";

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
        const { records } = await service.engine.employees(company.id, { offset: 0, limit: 1_000 });
        expect(records.map((record) => (JSON.parse(record.toString()) as Person).id)).not.toContain(
          person.id,
        );
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
