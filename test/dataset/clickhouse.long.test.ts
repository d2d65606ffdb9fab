import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { main } from "../../src/cli/main.ts";
import {
  type ClickHouseServers,
  closeAll,
  connectClickHouse,
} from "../../src/dataset/clickhouse/connect.ts";
import { ClickHouseEngine, openClickHouse } from "../../src/dataset/clickhouse/engine.ts";
import { ServedPeople } from "../../src/dataset/clickhouse/left-out.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { type Engine, OutOfTimeError } from "../../src/dataset/engine.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import { canonicalAddress, canonicalDomain } from "../../src/shared/contract/naming/address.ts";
import { slugOf } from "../../src/shared/contract/naming/slug.ts";
import { suppressedName } from "../../src/shared/contract/naming/who.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import {
  type CanonicalFilters,
  FILTER_KEYS,
  type FilterKey,
} from "../../src/shared/contract/vocabulary.ts";
import { asTyped } from "../support/as-typed.ts";
import { cases } from "../support/campaign.ts";
import { hasChdb, startChdb } from "../support/chdb.ts";
import { type Cluster, hasClickHouseServer, startCluster } from "../support/clickhouse.ts";
import { testContext } from "../support/client.ts";
import { tempFolder } from "../support/dataset.ts";
import { seededRandom } from "../support/exactness.ts";
import { randomFacet } from "../support/facets.ts";
import { freePort } from "../support/free-port.ts";
import {
  type LoadFiles,
  loadFiles,
  loadFilesInto,
  plain,
  sameWhole,
} from "../support/load-files.ts";
import { long } from "../support/long.ts";
import { startTestService } from "../support/service.ts";
import { isLeftOut } from "../support/tools.ts";

/**
 * Three layers: chDB (a modern ClickHouse in-process, with typed parameters and projections), a real cluster of two
 * shards of Debian's clickhouse-server 18.16 (through a translator into its words), and the embedded
 * engine that both must equal row for row.
 */
const PEOPLE = 1_000;
const SEED = 7;
const SETS = cases(20, 500);

const canonical = (filters: unknown): CanonicalFilters => {
  const check = checkFilters(filters);
  if (!check.ok) throw new Error(check.issues.map((issue) => issue.message).join("; "));
  return check.canonical;
};

/** A seeded generator: the same sets on every run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Filter sets whose values come from the data, or nearly: prefixes cut anywhere, wildcards, quotes, edges of ranges. */
function filterSets(people: readonly Person[], count: number): CanonicalFilters[] {
  const below = randomNumbers(11);
  const person = (): Person => people[below(people.length)] as Person;
  const value = (key: FilterKey): unknown => {
    const one = person();
    if (key.endsWith("_min") || key.endsWith("_max")) {
      const number = one[key.slice(0, -4) as "connections" | "followers"] ?? 500;
      return Math.max(0, number + below(3) - 1);
    }
    if (key.endsWith("_prefix")) {
      const text = String(
        one[key.slice(0, -7) as "title" | "headline" | "location" | "name" | "industry"] ?? "x",
      );
      const points = [...text];
      const cut = points.slice(0, 1 + below(points.length)).join("");
      return cut.trim() === "" ? "%" : ["", "", "", "%", "_", "'", '"', "\\"][below(8)] + cut;
    }
    const values = Array.from(
      { length: 1 + below(3) },
      () => one[key as keyof Person] ?? person()[key as keyof Person] ?? "none",
    );
    return key === "company_network_url" ? values[0] : values;
  };
  const sets: CanonicalFilters[] = [canonical({})];
  while (sets.length < count) {
    const filters: Record<string, unknown> = {};
    for (let index = 1 + below(3); index > 0; index--) {
      const key = FILTER_KEYS[below(FILTER_KEYS.length)] as FilterKey;
      filters[key] = value(key);
    }
    const check = checkFilters(filters);
    if (check.ok) sets.push(check.canonical);
  }
  return sets;
}

let given: LoadFiles;
let embedded: Engine;
let everyone: readonly Person[];

beforeAll(async () => {
  given = await loadFiles(PEOPLE, SEED, true);
  ({ embedded, everyone } = given);
});
afterAll(() => embedded?.close());

/** The contract of an engine: everything it answers equals the embedded engine's answer. */
function equalsEmbedded(name: string, engine: () => Engine, tight: () => Engine): void {
  test(`${name}: counts, rows and order of random filter sets`, async () => {
    let matched = 0;
    for (const filters of filterSets(everyone, SETS)) {
      const slice = { offset: 0, limit: 1_000 };
      const expected = await embedded.people(filters, slice);
      expect(await engine().count(filters)).toBe(expected.total);
      expect(await engine().people(filters, slice)).toEqual(expected);
      if (expected.total > 0) matched++;
    }
    expect(matched).toBeGreaterThan(SETS / 3);
  });

  test(`${name}: facets of random filter sets, and lists of a thousand addresses`, async () => {
    const random = seededRandom(SEED);
    for (const filters of filterSets(everyone, SETS / 3)) {
      const question = randomFacet(everyone, random);
      const what = JSON.stringify([filters, question]);
      expect(await engine().facet(filters, question, 60_000), what).toEqual(
        await embedded.facet(filters, question, 60_000),
      );
    }
    const urls = everyone.map(({ network_url }) => network_url).filter((url) => url !== null);
    const list = urls
      .slice(0, 1_000)
      .map((url, index) => (index % 3 === 0 ? url.slice(url.lastIndexOf("/") + 1) : url));
    for (const more of [{}, { department: "Sales" }, { name_prefix: "a" }]) {
      const filters = canonical({ ...more, network_url: list });
      expect(await engine().count(filters)).toBe(await embedded.count(filters));
    }
    const question = { key: "city", prefix: "", limit: 5, least: 1 } as const;
    await expect(engine().facet(canonical({}), question, 1)).rejects.toThrow(OutOfTimeError);
  });

  test(`${name}: a value of which no normal form is left is missing in facets`, async () => {
    const blank = canonical({ country: "Nowhere" });
    const { records } = await engine().people(blank, { offset: 0, limit: 5 });
    expect(records.map((record) => JSON.parse(String(record)))).toMatchObject([
      { state: "\u2003", city: "\u3000\u00a0" },
    ]);
    for (const key of ["state", "city", "title"] as const) {
      const question = { key, prefix: "", limit: 5, least: 1 };
      const facet = { count: 1, values: [], others: 0, missing: 1, distinct: 0 };
      expect(await engine().facet(blank, question, 60_000), key).toEqual(facet);
      expect(await embedded.facet(blank, question, 60_000), key).toEqual(facet);
    }
  });

  test.each([1, 20, 1_000])(
    `${name}: the pages of a segment are its rows, %i at a time`,
    async (limit) => {
      const filters = canonical({ department: ["Sales", "Legal"] });
      const whole = await embedded.people(filters, { offset: 0, limit: 1_000 });
      const upTo = limit === 1 ? 10 : whole.total;
      // The second has no room for row numbers: each of its pages begins where the one before ended.
      for (const each of [engine(), tight()]) {
        const rows: Buffer[] = [];
        for (let offset = 0; offset < upTo; offset += limit)
          rows.push(...(await each.people(filters, { offset, limit })).records);
        expect(rows).toEqual(whole.records.slice(0, rows.length));
        expect(rows.length).toBeGreaterThanOrEqual(Math.min(upTo, whole.total));
        expect((await each.people(filters, { offset: whole.total + 5, limit })).records).toEqual(
          [],
        );
      }
    },
  );

  test(`${name}: pages of segments that are too large to keep, in any order and size`, async () => {
    const random = seededRandom(SEED + 1);
    for (const filters of filterSets(everyone, SETS / 6)) {
      const { total, records } = await embedded.people(filters, {
        offset: 0,
        limit: everyone.length,
      });
      let offset = 0;
      for (let page = 0; page < 5; page++) {
        const limit = 1 + Math.floor(random() * 200);
        const found = await tight().people(filters, { offset, limit });
        expect(found, JSON.stringify([filters, offset, limit])).toEqual({
          records: records.slice(offset, offset + limit),
          total,
        });
        offset = random() < 0.7 ? offset + limit : Math.floor(random() * total);
      }
    }
  });

  test(`${name}: all people in their order, companies in every spelling, and what is stored passes its own check`, async () => {
    await sameWhole(engine(), given);
  });
}

describe.skipIf(isLeftOut(hasChdb))("chDB, a modern ClickHouse", () => {
  let engine: Engine;
  let tight: Engine;
  let servers: ClickHouseServers;
  beforeAll(async () => {
    servers = await startChdb();
    expect(plain(await loadFilesInto(servers, given))).toEqual(plain(given.report));
    engine = await ClickHouseEngine.open(servers);
    tight = await ClickHouseEngine.open(servers, { segmentCacheBytes: 1 });
  });
  afterAll(() => servers && closeAll(servers));
  equalsEmbedded(
    "chDB",
    () => engine,
    () => tight,
  );

  test("chDB: companies that nobody gives are derived as the embedded engine does", async () => {
    const derived = await loadFiles(300, SEED + 1, false);
    expect(plain(await loadFilesInto(servers, derived))).toEqual(plain(derived.report));
    const other = await ClickHouseEngine.open(servers);
    await sameWhole(other, derived);
    await derived.embedded.close();
  });

  test("chDB: people are left out of what is served, and their rows deleted, by id, slug and domain", async () => {
    const open = () => ClickHouseEngine.open(servers);
    const everybody = { offset: 0, limit: 10_000 };
    const before = (await (await open()).people(canonical({}), everybody)).records.map(
      (record) => JSON.parse(record.toString()) as Person,
    );
    const [one, two] = before.filter(({ network_url }) => network_url?.includes("/in/"));
    const domain = canonicalDomain(
      before.find(({ company_domain }) => company_domain !== null)?.company_domain ?? "",
    );
    const words = [one?.id, two?.network_url?.split("/").at(-1), domain].map((word) => word ?? "");
    const names = words.flatMap((word) => suppressedName(word) ?? []);
    expect(names).toHaveLength(3);
    const lastOf = (url: string | null | undefined): string =>
      slugOf(canonicalAddress(url ?? "") ?? "");
    const isNamed = (person: Person): boolean =>
      person === one ||
      words.slice(0, 2).includes(lastOf(person.network_url)) ||
      `.${canonicalDomain(person.company_domain ?? "")}`.endsWith(`.${domain}`);
    const left = before.filter((person) => !isNamed(person));
    const people = new ServedPeople(servers, async () => undefined);
    for (const removed of [before.length - left.length, 0]) {
      expect(await people.leaveOut(names)).toMatchObject({ removed });
      const engine = await open();
      const { records, total } = await engine.people(canonical({}), everybody);
      expect(total).toBe(left.length);
      expect(records.map((record) => (JSON.parse(record.toString()) as Person).id)).toEqual(
        left.map(({ id }) => id),
      );
      expect(
        await engine.count(canonical({ name_prefix: one?.name?.slice(0, 3) ?? "a" })),
      ).toBeLessThan(total);
      expect(await engine.verify()).toEqual([]);
      await people.erase(names);
      expect(await people.records(names)).toEqual([]);
      expect(await engine.verify()).toEqual([]);
    }
  });
});

describe.skipIf(isLeftOut(hasClickHouseServer))(
  "a cluster of two shards (clickhouse-server 18.16)",
  () => {
    let cluster: Cluster;
    let engine: Engine;
    let tight: Engine;
    let servers: ClickHouseServers;
    beforeAll(async () => {
      cluster = await startCluster(2);
      servers = await connectClickHouse(cluster.url);
      expect(plain(await loadFilesInto(servers, given))).toEqual(plain(given.report));
      engine = await openClickHouse(cluster.url);
      tight = await ClickHouseEngine.open(servers, { segmentCacheBytes: 1 });
    });
    afterAll(async () => {
      await engine?.close();
      if (servers) await closeAll(servers);
      await cluster?.close();
    });
    equalsEmbedded(
      "the cluster",
      () => engine,
      () => tight,
    );

    test("both shards hold people, and neither holds all", async () => {
      let sum = 0;
      for (const client of servers.clients) {
        const query = `SELECT count() FROM people_${engine.info().version}_local`;
        const answer = await client.query({ query, format: "JSONCompact" });
        const held = Number((await answer.json<readonly unknown[]>()).data[0]?.[0]);
        expect(held).toBeGreaterThan(PEOPLE / 4);
        sum += held;
      }
      expect(sum).toBe(everyone.length);
    });

    test("a shard that is down fails every answer, and a service charges nothing for one; none is ever short", async () => {
      const lost = cluster.shards[1];
      const filters = canonical({ department: "Sales" });
      const service = await startTestService({ engine: await openClickHouse(cluster.url) });
      const search = () =>
        service.call("/v1/person/search", {
          body: { filters: { department: "Sales" }, page: 1, per_page: 5 },
        });
      const money = () => service.store.money("default", "live");
      const before = await money();
      await lost?.kill();
      await expect(engine.count(filters)).rejects.toThrow();
      await expect(engine.people(filters, { offset: 0, limit: 10 })).rejects.toThrow();
      await expect(engine.employees("c1", { offset: 0, limit: 10 })).rejects.toThrow();
      const body = { filters: { department: "Sales" } };
      const calls = [
        search,
        () => service.call("/v1/person/count", { body }),
        () => service.call("/facets", { body: { ...body, key: "city" } }),
        () => service.call("/v1/company/enrich?id=c1"),
        () => service.call("/v1/company/employees?id=c1"),
      ];
      for (const call of calls) {
        const { json, status } = await call();
        expect([status, json.detail]).toEqual([500, ["internal error; nothing was charged"]]);
        expect(await money()).toEqual(before);
      }
      await lost?.start();
      await expect(engine.count(filters)).resolves.toBe(await embedded.count(filters));
      expect(await search()).toMatchObject({ status: 200, json: { credits_used: 5 } });
      await service.close();
    });

    test("a shard that is killed while searches are answered: each is right and paid, or failed and free", async () => {
      const lost = cluster.shards[1];
      const service = await startTestService({ engine: await openClickHouse(cluster.url) });
      const filters = { department: ["Sales", "Legal"] };
      const whole = await embedded.people(canonical(filters), { offset: 0, limit: 30 });
      const money = async () =>
        Number((await service.store.money("default", "live")).balance) / 1_000_000;
      const before = await money();
      const replies: { page: number; status: number; records: unknown }[] = [];
      let killed: Promise<void> | undefined;
      const buyer = async (first: number): Promise<void> => {
        for (const page of [first, first + 3, first]) {
          const { status, json } = await service.call("/v1/person/search", {
            body: { filters, page, per_page: 5 },
          });
          replies.push({ page, status, records: json.result });
          if (replies.length === 3) killed = lost?.kill();
        }
      };
      await Promise.all([1, 2, 3].map(buyer));
      await killed;
      const paid = replies.filter(({ status }) => status === 200);
      for (const { page, records } of paid)
        expect(records).toEqual(
          whole.records.slice(5 * (page - 1), 5 * page).map((record) => JSON.parse(String(record))),
        );
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200, 500]));
      expect(before - (await money())).toBe(5 * paid.length);
      await lost?.start();
      await service.close();
    });
  },
);

describe("commands", () => {
  async function headcount(cwd: string, argv: readonly string[], tty = false) {
    const tested = testContext({ tty, cwd });
    const code = await main(argv, tested.context);
    return { code, stdout: tested.stdout(), stderr: tested.stderr() };
  }

  const people = async (data: string): Promise<number> => {
    const engine = await openDataset(join(data, "dataset"));
    const count = await engine.count({ exact: {}, prefix: {}, range: {} });
    await engine.close();
    return count;
  };

  describe("headcount service generate", () => {
    long("makes a dataset and says what, in words or as JSON", async () => {
      const folder = await tempFolder();
      const words = await headcount(folder, asTyped`service generate --people 700 --data demo`);
      expect(words).toMatchObject({ code: 0, stdout: "" });
      expect(words.stderr).toMatch(
        /^Generated 700 people and 100 companies in [\d.]+ s \(dataset \d{8}-\d{6}-[0-9a-f]{6}\)\.\n$/,
      );
      const json = await headcount(
        folder,
        asTyped`service generate --people 70 --seed 9 --data demo --json`,
      );
      expect({ code: json.code, stderr: json.stderr }).toEqual({ code: 0, stderr: "" });
      expect(JSON.parse(json.stdout)).toEqual({
        version: expect.stringMatching(/^\d{8}-\d{6}-[0-9a-f]{6}$/),
        people: 70,
        companies: 10,
        seed: 9,
        seconds: expect.any(Number),
      });
      expect(await people(join(folder, "demo"))).toBe(70);
      // What people are is nobody's business but the owner's.
      expect((await stat(join(folder, "demo/dataset"))).mode & 0o077).toBe(0);
    });

    test.each([
      [[], /--people is missing/],
      [["--people", "0"], /--people takes a whole number from 1 to 4000000000, not "0"/],
      [["--people", "many"], /--people takes a whole number/],
      [
        ["--people", "10", "--seed", "-1"],
        /--seed takes a whole number from 0 to 4294967295, not "-1"/,
      ],
    ])("refuses %j", async (options, message) => {
      const folder = await tempFolder();
      const { code, stdout, stderr } = await headcount(
        folder,
        asTyped`service generate --data demo ${options}`,
      );
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(message);
      expect(await readdir(folder)).toEqual([]);
    });

    long("shows progress on a terminal and leaves one line", async () => {
      // A terminal of CI gets no line that moves.
      vi.stubEnv("CI", undefined);
      const folder = await tempFolder();
      const { stderr } = await headcount(
        folder,
        ["service", "generate", "--people", "9000", "--data", "demo"],
        true,
      );
      expect(stderr).toMatch(/Reading|Sorting|Writing/);
      // The line of progress is gone, and the cursor is back.
      expect(stderr.slice(stderr.lastIndexOf("\x1b[?25h") + 6)).toMatch(/^Generated 9,000 people/);
      const quiet = await headcount(
        folder,
        ["-q", "service", "generate", "--people", "500", "--data", "demo"],
        true,
      );
      expect(quiet.stderr).toBe("");
      vi.unstubAllEnvs();
    });
  });

  describe("headcount service import with a map", () => {
    const csv = `Person ID;Full Name;jobTitle;Dept;Connections
1;Ada Lovelace;Engineer;sales;500
2;Grace Hopper;Admiral;Navy;many
3;Edsger Dijkstra;Professor;Navy;1;2
`;

    test("from a foreign file to a dataset with the map that was proposed", async () => {
      const folder = await tempFolder();
      await writeFile(join(folder, "x.csv"), csv);
      const unmapped = await headcount(folder, asTyped`service import --people x.csv --data demo`);
      expect(unmapped.code).toBe(2);
      const proposed = /--map FILE: (\{.*\})\n/.exec(unmapped.stderr)?.[1] ?? "no map";
      expect(JSON.parse(proposed)).toEqual({
        people: { id: "Person ID", name: "Full Name", title: "jobTitle", department: "Dept" },
      });
      await writeFile(join(folder, "map.json"), '{"people": {"id": "Person ID"}}');
      const some = await headcount(
        folder,
        asTyped`service import --people x.csv --map map.json --dry-run`,
      );
      expect(some.stderr).toContain(
        '--map that takes them: {"people":{"name":"Full Name","title":"jobTitle"',
      );
      await writeFile(join(folder, "map.json"), proposed);
      const plain = await headcount(
        folder,
        asTyped`service import --people x.csv --map map.json --data demo`,
      );
      expect(plain).toMatchObject({ code: 0, stdout: "" });
      expect(plain.stderr).toMatch(/^Imported 2 people in [\d.]+ s, [\d,]+ rows\/s/);
      const detail = "6 cells where the header has 5";
      expect(plain.stderr).toContain(
        `\nRefused 1 row of people: broken_line 1\n  x.csv, line 4: ${detail}\n`,
      );
      expect(plain.stderr).toContain(
        `\nRefused rows, with reasons: ${join(folder, "demo/import-rejects.ndjson")}\n`,
      );
      expect(plain.stderr).toContain("\nDepartments read as Other: 1, such as Navy (1)\n");
      const rejected = join(folder, "demo/import-rejects.ndjson");
      expect(JSON.parse(await readFile(rejected, "utf8"))).toMatchObject({
        file: "x.csv",
        line: 4,
        reason: "broken_line",
        row: "3;Edsger Dijkstra;Professor;Navy;1;2",
      });
      expect((await stat(rejected)).mode & 0o077).toBe(0);
      const json = await headcount(
        folder,
        asTyped`service import --people x.csv --map map.json --data demo --json`,
      );
      expect(JSON.parse(json.stdout)).toEqual({
        version: expect.any(String),
        suppressed: 0,
        people: {
          ...{ files: 1, rows: 3, taken: 2, refused: 1, reasons: { broken_line: 1 } },
          examples: [
            { file: "x.csv", line: 4, reason: "broken_line", column: null, value: null, detail },
          ],
          read: [
            {
              file: "x.csv",
              format: "csv",
              rows: 3,
              encoding: "utf-8",
              delimiter: ";",
              skipped_lines: 0,
            },
          ],
        },
        companies: {
          files: 0,
          rows: 0,
          taken: 0,
          refused: 0,
          reasons: {},
          examples: [],
          read: [],
          derived: 0,
        },
        departments: { unknown: 1, missing: 0, examples: [{ value: "Navy", people: 1 }] },
        cleared: { "people.connections": { values: 1, examples: [{ value: "many", rows: 1 }] } },
        rejects: join(folder, "demo/import-rejects.ndjson"),
        seconds: expect.any(Number),
      });
      expect(await people(join(folder, "demo"))).toBe(2);
    });

    test("bad input is exit 2 with the name, a hint, and the old dataset kept", async () => {
      const folder = await tempFolder();
      await writeFile(join(folder, "ok.csv"), "id,name\n1,Ada\n");
      await writeFile(join(folder, "ab.csv"), "a,b\n1,2\n");
      await headcount(folder, ["service", "import", "--people", "ok.csv", "--data", "demo"]);
      const before = await readFile(join(folder, "demo/dataset/CURRENT"), "utf8");
      const bad = await headcount(
        folder,
        asTyped`service import --people ab.csv --data demo --json`,
      );
      expect({ code: bad.code, stdout: bad.stdout }).toEqual({ code: 2, stdout: "" });
      expect(JSON.parse(bad.stderr)).toMatchObject({
        error: {
          code: "bad_input",
          exit_code: 2,
          message: expect.stringMatching(/^ab\.csv has no usable column/),
          hint: expect.stringMatching(/which is which in a JSON file, --map FILE/),
        },
      });
      for (const [argv, message] of [
        [["--people", "nope.csv"], /nope\.csv does not exist/],
        [["--people", "."], /is a folder/],
        [["--people", "ok.csv", "--map", "nope.json"], /the map nope\.json cannot be read/],
        [["--people", "ok.csv", "--companies", "nope.csv"], /nope\.csv does not exist/],
        [[], /--people is missing/],
      ] as const) {
        const { code, stderr } = await headcount(
          folder,
          asTyped`service import ${argv} --data demo`,
        );
        expect(code).toBe(2);
        expect(stderr).toMatch(message);
      }
      expect(await readFile(join(folder, "demo/dataset/CURRENT"), "utf8")).toBe(before);
      expect(await people(join(folder, "demo"))).toBe(1);
    });

    test("--dataset takes a ClickHouse that answers", async () => {
      const folder = await tempFolder();
      await writeFile(join(folder, "ok.csv"), "id,name\n1,Ada\n");
      const port = await freePort();
      for (const [place, code, message] of [
        ["mysql://localhost/x", 2, /not a ClickHouse address; the form is clickhouse:\/\//],
        ["clickhouse://host/db?shards=2", 2, /unknown option "shards" in the ClickHouse address/],
        [`clickhouse://127.0.0.1:${port}/default`, 8, /no ClickHouse server answers/],
      ] as const) {
        const argv = asTyped`service import --people ok.csv --data demo --dataset ${place}`;
        const answer = await headcount(folder, argv);
        expect({ place, code: answer.code }).toEqual({ place, code });
        expect(answer.stderr).toMatch(message);
      }
    });

    long.skipIf(isLeftOut(hasClickHouseServer))(
      "into ClickHouse, leaving the data folder's own dataset alone",
      async () => {
        const folder = await tempFolder();
        await writeFile(
          join(folder, "x.csv"),
          "id,name,department\n1,Ada,sales\n2,Grace,Navy\n3,,\n",
        );
        const cluster = await startCluster(1);
        try {
          const answer = await headcount(
            folder,
            asTyped`service import --people x.csv --data demo --dataset ${cluster.url} --json`,
          );
          expect(answer).toMatchObject({ code: 0, stderr: "" });
          expect(JSON.parse(answer.stdout)).toMatchObject({ people: { taken: 3, refused: 0 } });
          const engine = await openClickHouse(cluster.url);
          const page = await engine.people(
            { exact: {}, prefix: {}, range: {} },
            { offset: 0, limit: 10 },
          );
          expect(
            page.records.map((record) => (JSON.parse(record.toString()) as { id: string }).id),
          ).toEqual(["2", "3", "1"]);
          await engine.close();
          expect(await readdir(join(folder, "demo"), { recursive: true })).toEqual([
            "clickhouse-import",
            "clickhouse-import/lock.db",
          ]);
          await writeFile(join(folder, "y.csv"), "id,name\n1,Ada\n1,Ada again\n");
          const argv = asTyped`service import --people y.csv --data demo --dataset ${cluster.url}`;
          const dry = await headcount(folder, [...argv, "--dry-run"]);
          expect(dry.stderr).toMatch(
            /Would import 1 person .*the dataset is as it was[\s\S]*Refused 1 row of people: duplicate_id 1/,
          );
          const again = await openClickHouse(cluster.url);
          expect(again.info().people).toBe(3);
          await again.close();
          const kept = await headcount(folder, [...argv, "--keep", "2"]);
          expect(kept).toMatchObject({
            code: 2,
            stderr: expect.stringMatching(/servers keep one version before/),
          });
        } finally {
          await cluster.close();
        }
      },
    );

    test("control characters of a file do not reach the terminal", async () => {
      const folder = await tempFolder();
      const rows = 'id,name,department,"Job Title\x07"\n1,Ada,"\x1b[31mred\x07",x\n';
      await writeFile(join(folder, "x.csv"), rows);
      const told = await headcount(
        folder,
        ["service", "import", "--people", "x.csv", "--dry-run"],
        true,
      );
      // Before it stands the progress, which is ours.
      const stderr = told.stderr.slice(told.stderr.indexOf("Would import"));
      expect(stderr).toContain("Job Title");
      expect(stderr).not.toMatch(/[\x07\x1b]/);
      expect(stderr).toContain("red");
    });
  });
});
