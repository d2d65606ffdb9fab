import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { lstatSync, readdirSync } from "node:fs";
import { appendFile, chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { env, execPath, getuid } from "node:process";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { buildDataset } from "../../src/dataset/build/build.ts";
import { generateInto } from "../../src/dataset/build/generate.ts";
import type { BuildProgress } from "../../src/dataset/build/options.ts";
import {
  ensureSample,
  generateDataset,
  SAMPLE_COMPANIES,
  SAMPLE_PEOPLE,
  SAMPLE_VERSION,
} from "../../src/dataset/build/sample.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { RECORD_SEPARATOR } from "../../src/dataset/embedded/records.ts";
import { ReloadingEngine } from "../../src/dataset/embedded/reloading-engine.ts";
import type { Engine } from "../../src/dataset/engine.ts";
import { FILES, NoDatasetError, readPointer } from "../../src/dataset/layout.ts";
import { canonicalJson, checkFilters } from "../../src/shared/contract/filters.ts";
import { canonicalAddress } from "../../src/shared/contract/naming/address.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { type CanonicalFilters, DEPARTMENTS } from "../../src/shared/contract/vocabulary.ts";
import { asTyped } from "../support/as-typed.ts";
import { changeBlock, placeOfBlock } from "../support/blocks.ts";
import { cases, LONG } from "../support/campaign.ts";
import { testContext } from "../support/client.ts";
import { SMALL, sleep, smallDataset, smallDatasetFolder, tempFolder } from "../support/dataset.ts";
import { matches, publicOrder, randomFilters, seededRandom } from "../support/exactness.ts";
import { naiveFacet, randomFacet } from "../support/facets.ts";

describe("the program", () => {
  // What only the built program shows: zones, signals, umasks, warnings.

  const BIN = resolve(import.meta.dirname, "../../bin/headcount.js");
  let folder: string;

  beforeEach(async () => {
    folder = await tempFolder();
  });

  interface Ended {
    readonly code: number | null;
    readonly stdout: string;
    readonly stderr: string;
  }

  function start(argv: readonly string[], more: Readonly<Record<string, string>> = {}, shell = "") {
    const own = { ...env, HOME: folder, XDG_DATA_HOME: join(folder, "share"), ...more };
    const options = { cwd: folder, env: own };
    const child: ChildProcess =
      shell === ""
        ? spawn(execPath, [BIN, ...argv], options)
        : spawn("sh", ["-c", `${shell}; exec "$@"`, "sh", execPath, BIN, ...argv], options);
    const said = { stdout: "", stderr: "" };
    child.stdout?.on("data", (data: Buffer) => (said.stdout += data));
    child.stderr?.on("data", (data: Buffer) => (said.stderr += data));
    const ended = new Promise<Ended>((done) =>
      child.once("close", (code) => done({ code, ...said })),
    );
    return { child, ended };
  }

  const program = (
    argv: readonly string[],
    more?: Readonly<Record<string, string>>,
  ): Promise<Ended> => start(argv, more).ended;

  /** In this process: what there is no reason to start the program for. */
  async function run(argv: readonly string[]): Promise<Ended> {
    const { context, stderr, stdout } = testContext({ argv, cwd: folder });
    const code = await main(argv, context);
    return { code, stdout: stdout(), stderr: stderr() };
  }
  const IMPORT = ["service", "import", "--data", "demo", "--people"];
  const write = (name: string, text: string | Buffer): Promise<void> =>
    writeFile(join(folder, name), text);
  const rows = (count: number, row: (index: number) => string): string =>
    Array.from({ length: count }, (_, index) => `${row(index)}\n`).join("");

  const EVERYBODY = { exact: {}, prefix: {}, range: {} };

  async function updatedAt(): Promise<(string | null)[]> {
    const engine = await openDataset(join(folder, "demo/dataset"));
    const page = await engine.people(EVERYBODY, { offset: 0, limit: 100 });
    await engine.close();
    return page.records.map(
      (record) => (JSON.parse(record.toString()) as { updated_at: string | null }).updated_at,
    );
  }

  test.each(["America/New_York", "Asia/Tokyo"])(
    "times keep their instant where the machine is in %s",
    async (zone) => {
      await write(
        "a.csv",
        "id,updated_at\n1,2025-03-01T10:00:00+02:00\n2,2025-03-01 08:00:00\n3,2025-03-01\n4,1740816000\n",
      );
      const { DuckDBInstance } = await import("@duckdb/node-api");
      const instance = await DuckDBInstance.create(":memory:");
      const connection = await instance.connect();
      await connection.run(
        `COPY (SELECT '5' AS id, TIMESTAMPTZ '2025-03-01 08:00:00+00' AS updated_at) TO '${join(folder, "b.parquet")}' (FORMAT parquet)`,
      );
      instance.closeSync();
      expect(await program([...IMPORT, "a.csv", "b.parquet"], { TZ: zone })).toMatchObject({
        code: 0,
      });
      const eight = "2025-03-01T08:00:00Z";
      expect(await updatedAt()).toEqual([eight, eight, "2025-03-01T00:00:00Z", eight, eight]);
    },
  );

  test("texts of which no two are alike never lie in the heap of the program as a whole", async () => {
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const ten =
      "title seniority seniority_level functional_area industry country state city headline department".split(
        " ",
      );
    const texts = ten
      .map((field, index) => `concat('Text ', md5(concat(i, ${index})), ' of ', i) AS ${field}`)
      .join(", ");
    const people = 70_000;
    await connection.run(
      `COPY (SELECT i AS id, ${texts} FROM range(${people}) AS t (i)) TO '${join(folder, "p.parquet")}' (FORMAT parquet)`,
    );
    instance.closeSync();
    const ended = await program([...IMPORT, "p.parquet", "--json"], {
      NODE_OPTIONS: "--max-old-space-size=32",
    });
    expect(ended).toMatchObject({ code: 0 });
    expect(JSON.parse(ended.stdout)).toMatchObject({
      people: { taken: people },
      departments: { unknown: people },
    });
    const engine = await openDataset(join(folder, "demo/dataset"));
    const [first] = (await engine.people(EVERYBODY, { offset: 0, limit: 1 })).records;
    const { city, id } = JSON.parse(String(first)) as {
      readonly city: string;
      readonly id: string;
    };
    const found = await engine.people(
      { ...EVERYBODY, exact: { city: [city.toLowerCase()] } },
      { offset: 0, limit: 9 },
    );
    expect(
      found.records.map((record) => (JSON.parse(String(record)) as { id: string }).id),
    ).toEqual([id]);
    await engine.close();
  }, 600_000);

  describe("an import that is ended", () => {
    test("by SIGINT or SIGTERM stops at once, and the next one runs", async () => {
      await write("ok.csv", "id\n1\n");
      expect((await run([...IMPORT, "ok.csv"])).code).toBe(0);
      // A small packed file that holds much: 50 times the same 100,000 rows.
      const block = rows(
        100_000,
        (index) => `,Person ${index},https://www.network.example/in/p-${index}?a=1`,
      );
      await write("many.csv.gz", gzipSync("id,name,network_url\n"));
      const packed = gzipSync(block, { level: 1 });
      for (let part = 0; part < 30; part++) await appendFile(join(folder, "many.csv.gz"), packed);
      const dataset = join(folder, "demo/dataset");
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        const { child, ended } = start([...IMPORT, "many.csv.gz"]);
        await expect
          .poll(() => readdirSync(dataset).some((name) => name.startsWith("build-")), {
            timeout: 60_000,
          })
          .toBe(true);
        const began = performance.now();
        child.kill(signal);
        child.kill(signal);
        const { code, stderr } = await ended;
        expect(performance.now() - began).toBeLessThan(5_000);
        expect(code).toBeGreaterThanOrEqual(130);
        expect(stderr).toContain("the dataset is as it was before");
        expect((await run([...IMPORT, "ok.csv"])).code).toBe(0);
      }
    });

    test("a pipe is refused instead of waited for", async () => {
      execFileSync("mkfifo", [join(folder, "fifo.csv")]);
      expect(await run([...IMPORT, "fifo.csv"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("fifo.csv is not a regular file"),
      });
    });
  });

  test.skipIf(getuid === undefined)(
    "a file that one may not read is named, and no other folder advised",
    async () => {
      await write("p.csv", "id,name\n1,Ada\n");
      await mkdir(join(folder, "theirs"));
      await chmod(join(folder, "p.csv"), 0);
      // Nothing is closed to root but without these; as another user it might not be allowed to read the program either.
      const closed = 'exec setpriv --bounding-set=-dac_override,-dac_read_search -- "$@"';
      const argv = ["service", "import", "--data", "theirs/demo", "--people", "p.csv"];
      const { ended } = start(argv, {}, getuid?.() === 0 ? closed : "");
      const { code, stderr } = await ended;
      expect([
        code,
        stderr.includes("p.csv cannot be read: EACCES"),
        stderr.includes("--data"),
      ]).toEqual([2, true, false]);
    },
  );

  test("hundreds of refused rows are written without a word from Node, in a file of their owner's", async () => {
    const good = rows(6_000, (index) => `g${index},Name`);
    await write(
      "p.csv",
      `id,name\n${good}${rows(5_000, (index) => `${index},Name,${"x".repeat(200)}`)}0,fine\n`,
    );
    const ended = await program([...IMPORT, "p.csv"]);
    expect(ended).toMatchObject({ code: 0, stdout: "" });
    expect(ended.stderr).not.toMatch(/Warning|EventEmitter/);
    expect(ended.stderr).toContain("Refused 5,000 rows of people: broken_line 5,000");
  });

  test("nothing of a data folder is ever open to others, whatever the umask", async () => {
    await write("p.csv", `id,name\n${rows(4_000, (index) => `${index},Name`)}x\n`);
    const seen = new Set<string>();
    /** What others may read, below folders that they may enter. */
    const look = (path: string): void => {
      const info = lstatSync(path, { throwIfNoEntry: false });
      if (!info) return;
      if (info.isFile() && (info.mode & 0o077) !== 0) seen.add(path);
      if (!info.isDirectory() || (info.mode & 0o007) === 0) return;
      for (const name of readdirSync(path)) look(join(path, name));
    };
    const { ended } = start([...IMPORT, "p.csv", "--json"], {}, "umask 000");
    let isOver = false;
    void ended.then(() => (isOver = true));
    while (!isOver) {
      look(join(folder, "demo"));
      await new Promise((done) => setTimeout(done, 5));
    }
    expect((await ended).code).toBe(0);
    look(join(folder, "demo"));
    expect([...seen]).toEqual([]);
    expect((await stat(join(folder, "demo/import-rejects.ndjson"))).mode & 0o077).toBe(0);
  });

  describe("what is refused, and where it goes", () => {
    test("--max-refused keeps the old dataset with exit 5", async () => {
      await write("old.csv", "id\nold\n");
      await run([...IMPORT, "old.csv"]);
      await write("new.csv", `id,name\n${rows(98, (index) => `${index},N`)}a\nb\n`);
      for (const [limit, code] of [
        ["1%", 5],
        ["1", 5],
        ["2%", 0],
        ["2", 0],
      ] as const) {
        const ended = await run([...IMPORT, "new.csv", "--max-refused", limit, "--dry-run"]);
        expect([limit, ended.code]).toEqual([limit, code]);
        if (code === 5)
          expect(ended.stderr).toMatch(
            /2 of 100 rows are refused, 1 may be: broken_line 2; .*import-rejects/,
          );
      }
      expect((await run([...IMPORT, "new.csv", "--max-refused", "1%"])).code).toBe(5);
      expect(await updatedAt()).toHaveLength(1);
      expect((await run([...IMPORT, "new.csv", "--max-refused", "many"])).code).toBe(2);
    });

    test("--dry-run says what an import would do, and does nothing", async () => {
      await write("p.csv", "id,name\n1,A\n2\n");
      const ended = await run([...IMPORT, "p.csv", "--dry-run"]);
      expect(ended.code).toBe(0);
      expect(ended.stderr).toMatch(/^Would import 1 person .*the dataset is as it was/);
      expect(readdirSync(join(folder, "demo"))).toEqual(["import-rejects.ndjson"]);
      await write("wrong.csv", "colour\nred\n");
      const before = readdirSync(folder);
      const failed = ["service", "import", "--data", "fresh", "--dry-run", "--people"];
      expect((await run([...failed, "wrong.csv"])).code).toBe(2);
      expect((await run([...failed, "p.csv", "--max-refused", "9"])).code).toBe(0);
      expect(readdirSync(folder)).toEqual([...before, "fresh"].sort());
      expect(readdirSync(join(folder, "fresh"))).toEqual(["import-rejects.ndjson"]);
    });

    test("whoever is suppressed is not said to be imported", async () => {
      await write("p.csv", "id,name\n1,A\n2,B\n3,C\n");
      await run([...IMPORT, "p.csv"]);
      expect((await run(["service", "suppress", "add", "2", "--data", "demo"])).code).toBe(0);
      const { stderr } = await run([...IMPORT, "p.csv"]);
      expect(stderr).toMatch(/^Imported 2 people .*\nLeft out, as they are suppressed: 1\./);
    });

    test("the file of refused rows is never replaced while it is read", async () => {
      const place = "demo/import-rejects.ndjson";
      await write("p.csv", "id,name\n1,A\n2\n");
      expect(await run([...IMPORT, "p.csv"])).toMatchObject({ code: 0 });
      const refused = await readFile(join(folder, place), "utf8");
      expect(await run([...IMPORT, place])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/and is read/),
      });
      expect(await readFile(join(folder, place), "utf8")).toBe(refused);
    });
  });

  test("a damaged dataset and a ClickHouse that is down are no bugs of the program", async () => {
    await mkdir(join(folder, "demo"));
    await write(
      "p.csv",
      rows(3_000, (index) => (index === 0 ? "id,name" : `${index},Name ${index}`)),
    );
    await run([...IMPORT, "p.csv"]);
    await run(["service", "keys", "create", "--data", "demo"]);
    const version =
      readdirSync(join(folder, "demo/dataset")).find((name) => name.startsWith("v-")) ?? "";
    const columns = join(folder, "demo/dataset", version, "columns.bin");
    const bytes = await readFile(columns);
    await writeFile(
      columns,
      bytes.map((byte, at) => (at === Math.floor(bytes.length / 3) ? byte ^ 16 : byte)),
    );
    const verified = await run(["service", "verify", "--data", "demo"]);
    expect(verified.code).not.toBe(0);
    expect(verified.stderr).not.toContain("bug in headcount");
    await writeFile(
      columns,
      bytes.map((byte, at) => (at === bytes.length - 100 ? byte ^ 8 : byte)),
    );
    const unreadable = await run(["service", "verify", "--data", "demo", "--json"]);
    expect(unreadable).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("1 breach found in"),
    });
    const told = JSON.parse(unreadable.stdout) as {
      readonly sound: boolean;
      readonly dataset: readonly string[];
    };
    expect(told).toMatchObject({ sound: false, ledger: [] });
    expect(
      told.dataset.filter((one) => one.includes("columns.bin is not what was written")),
    ).toHaveLength(1);
    const served = await run(
      asTyped`serve --data demo --dataset clickhouse://127.0.0.1:9/default --port 0`,
    );
    expect(served).toMatchObject({
      code: 8,
      stderr: expect.stringMatching(/no ClickHouse server answers/),
    });
  });
});

describe("dirty files", () => {
  // The bench's dirty people, and those of whom no two have a text alike, in small: what an import
  // with little heap makes of each value, and what the engine then finds. Of the program only the
  // normal form of texts and addresses and the names of the 20 departments are used to say what is
  // expected.

  const [BIN, STRANGERS] = ["bin/headcount.js", "bench/strangers.mjs"].map((path) =>
    resolve(import.meta.dirname, "../..", path),
  ) as [string, string];
  const PEOPLE = LONG ? 20_000 : 4_000;
  const SEED = Number(process.env.HEADCOUNT_SEED ?? 11);
  const TIMEOUT_MS = 1_200_000;

  type Report = Readonly<{ cleared: Readonly<Record<string, Readonly<{ values: number }>>> }>;
  type Raw = Readonly<Record<string, string | number | null>>;

  const trimmed = (value: string | number | null | undefined): string | null =>
    String(value ?? "").replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "") || null;

  function wholeNumber(value: string | number | null | undefined): number | null {
    const text = trimmed(value) ?? "";
    const isWhole = /^\d+(\.0)?$|^\d{1,3}( \d{3})+$/.test(text);
    return isWhole ? Number(text.replaceAll(" ", "")) : null;
  }

  function time(value: string | number | null | undefined): string | null {
    const text = trimmed(value) ?? "";
    const at = /^\d+$/.test(text) ? new Date(1_000 * Number(text)) : new Date(text);
    return Number.isNaN(at.getTime()) ? null : at.toISOString().replace(".000Z", "Z");
  }

  function domain(value: string | number | null | undefined): string | null {
    const text = trimmed(value) ?? "";
    return /^[^ ]+\.[^ ]+$/.test(text) ? text : null;
  }

  /**
   * A row as docs/operate/import.md says it is taken. What it lacks of its employer may be completed
   * from others.
   */
  function taken(row: Raw, record: Person): Person {
    const text = (field: string): string | null => trimmed(row[field]);
    const [city, state, country] = ["city", "state", "country"].map(text);
    const department = DEPARTMENTS.find(
      (name) => normalForm(name) === normalForm(text("department") ?? ""),
    );
    const address = text("network_url");
    const company_domain = domain(row.company_domain) ?? record.company_domain;
    const company_name = text("company_name") ?? record.company_name;
    const company_network_url = text("company_network_url") ?? record.company_network_url;
    return {
      ...{
        id: text("id") ?? "",
        network_url: address !== null && canonicalAddress(address) ? address : null,
      },
      ...{ name: text("name") ?? `${row.first_name} ${row.last_name}`, headline: text("headline") },
      ...{ first_name: text("first_name"), last_name: text("last_name") },
      ...{
        title: text("title"),
        seniority: text("seniority"),
        seniority_level: text("seniority_level"),
      },
      ...{
        functional_area: text("functional_area"),
        department: department ?? "Other",
        industry: text("industry"),
      },
      ...{
        country,
        state,
        city,
        connections: wholeNumber(row.connections),
        followers: wholeNumber(row.followers),
      },
      location:
        text("location") ??
        ([city, state, country].filter((part) => part !== null).join(", ") || null),
      ...{ company_domain, company_name, company_network_url, updated_at: time(row.updated_at) },
    } as Person;
  }

  const NOTHING = new Set([null, "n/a", "-"]);

  /**
   * How many values there are of each field that cannot be used, and how many departments that are
   * none of the 20.
   */
  function lost(rows: Iterable<Raw>): { cleared: Record<string, number>; departments: object } {
    const count = { updated_at: 0, company_domain: 0, connections: 0, followers: 0 };
    const usable = {
      updated_at: time,
      company_domain: domain,
      connections: wholeNumber,
      followers: wholeNumber,
    };
    const departments = { unknown: 0, missing: 0 };
    for (const row of rows) {
      for (const field of Object.keys(count) as (keyof typeof count)[])
        if (!NOTHING.has(trimmed(row[field])) && usable[field](row[field]) === null) count[field]++;
      const department = trimmed(row.department);
      if (department === null) departments.missing++;
      else if (!DEPARTMENTS.some((name) => normalForm(name) === normalForm(department)))
        departments.unknown++;
    }
    const some = Object.entries(count).filter(([, values]) => values > 0);
    return {
      cleared: Object.fromEntries(some.map(([field, values]) => [`people.${field}`, values])),
      departments,
    };
  }

  async function rowsOf(file: string): Promise<Map<string, Raw>> {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const rows = await connection.runAndReadAll(`SELECT * FROM read_parquet('${file}')`);
    const all = rows.getRowObjectsJson() as Raw[];
    instance.closeSync();
    return new Map(all.map((row) => [String(row.id), row]));
  }

  async function recordsOf(engine: Engine): Promise<Person[]> {
    const records: Person[] = [];
    for (let offset = 0; offset < PEOPLE; offset += 10_000) {
      const page = await engine.people(
        { exact: {}, prefix: {}, range: {} },
        { offset, limit: 10_000 },
      );
      for (const record of page.records) records.push(JSON.parse(String(record)) as Person);
    }
    return records;
  }

  describe.each(["dirty", "distinct"] as const)("%s people", { timeout: TIMEOUT_MS }, (kind) => {
    let engine: Engine;
    let rows: Map<string, Raw>;
    let people: readonly Person[];
    let report: Report;

    beforeAll(async () => {
      const folder = await tempFolder();
      const file = join(folder, "people.parquet");
      execFileSync(execPath, [STRANGERS, String(PEOPLE), file, kind]);
      const argv = asTyped`${BIN} service import --people ${file} --data ${join(folder, "data")} --json`;
      const small = { ...process.env, HOME: folder, NODE_OPTIONS: "--max-old-space-size=32" };
      report = JSON.parse(execFileSync(execPath, argv, { encoding: "utf8", env: small })) as Report;
      rows = await rowsOf(file);
      engine = await openDataset(join(folder, "data/dataset"));
      people = await recordsOf(engine);
    }, TIMEOUT_MS);
    afterAll(() => engine?.close());

    test("the report counts every row, and each value that cannot be used", () => {
      const { cleared, departments } = lost(rows.values());
      expect(report).toMatchObject({
        people: { rows: PEOPLE, taken: PEOPLE, refused: 0 },
        departments,
      });
      const told = Object.entries(report.cleared).map(([field, { values }]) => [field, values]);
      expect(Object.fromEntries(told)).toEqual(cleared);
    });

    test("each row is taken as the documentation says, and they are in public order", () => {
      for (const record of people) {
        const expected = taken(rows.get(record.id) ?? {}, record);
        const isSame = Object.entries(expected).every(
          ([field, value]) => record[field as keyof Person] === value,
        );
        if (!isSame) expect(record).toEqual(expected);
      }
      expect(new Set(people.map(({ id }) => id)).size).toBe(PEOPLE);
      expect(people).toEqual(publicOrder(people));
    });

    test("counts, pages and facets of random filters are those of a naive matcher", async () => {
      const random = seededRandom(SEED);
      const sets = kind === "dirty" ? cases(100, 10_000) : cases(30, 3_000);
      let found = 0;
      for (let set = 0; set < sets; set++) {
        const filters = randomFilters(people, random);
        const inside = people.filter((person) => matches(person, filters));
        const what = `seed ${SEED}, set ${set}: ${canonicalJson(filters)}`;
        expect(await engine.count(filters), what).toBe(inside.length);
        if (inside.length > 0) found++;
        // From the first page to the last, or a few of them and the last.
        const limit = 1 + Math.floor(random() * 1_000);
        const last = Math.floor(inside.length / limit) * limit;
        const offsets = new Set([0, limit, 2 * limit, Math.floor(random() * inside.length), last]);
        for (const offset of offsets) {
          const { records, total } = await engine.people(filters, { offset, limit });
          const ids = records.map((record) => (JSON.parse(String(record)) as Person).id);
          expect([total, ids], what).toEqual([
            inside.length,
            inside.slice(offset, offset + limit).map(({ id }) => id),
          ]);
        }
        const question = randomFacet(people, random);
        const facet = await engine.facet(filters, question, TIMEOUT_MS);
        expect(facet, `${what} by ${JSON.stringify(question)}`).toEqual(
          naiveFacet(inside, question),
        );
      }
      expect(found).toBeGreaterThan(sets / 3);
    });
  });
});

describe("versions side by side", () => {
  const DIST = resolve(import.meta.dirname, "../../dist");
  const ALL = { exact: {}, prefix: {}, range: {} };

  const build = (datasetDir: string, people: number, seed = 1) =>
    generateDataset({ people, seed }, { datasetDir, now: Date.now, sleep, resources: SMALL });

  const filtersOf = (value: unknown): CanonicalFilters => {
    const check = checkFilters(value);
    if (!check.ok) throw new Error(JSON.stringify(check.issues));
    return check.canonical;
  };

  const exit = (child: ChildProcess): Promise<number | null> =>
    new Promise((done) => child.once("exit", (code) => done(code)));

  /** Runs a module's text in a process of its own, with the built modules. */
  const script = (text: string): ChildProcess =>
    spawn(process.execPath, ["--input-type=module", "-e", text], {
      stdio: ["ignore", "pipe", "inherit"],
    });

  const distUrl = (file: string): string => pathToFileURL(join(DIST, file)).href;

  test("a folder without a dataset is told apart from a broken one", async () => {
    const folder = await tempFolder();
    await expect(openDataset(folder)).rejects.toThrow(NoDatasetError);
    await expect(openDataset(join(folder, "missing"))).rejects.toThrow(NoDatasetError);
    await writeFile(join(folder, "CURRENT"), "{}");
    await expect(openDataset(folder)).rejects.toThrow(/is not a dataset pointer/);
  });

  test("three processes that want the sample at once make it once, and all of them read it", async () => {
    const folder = join(await tempFolder(), "dataset");
    const text = `
    const { ensureSample } = await import(${JSON.stringify(distUrl("dataset/build/sample.js"))});
    const { openDataset } = await import(${JSON.stringify(distUrl("dataset/embedded/open.js"))});
    const resources = { threads: 1, memoryBytes: ${SMALL.memoryBytes} };
    const made = await ensureSample(${JSON.stringify(folder)}, { resources });
    const engine = await openDataset(${JSON.stringify(folder)}, { resources });
    console.log(JSON.stringify({ made, ...engine.info(), count: await engine.count(${JSON.stringify(filtersOf({ department: "Sales", country: "united states" }))}) }));
    await engine.close();`;
    const outputs = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const child = script(text);
        let output = "";
        child.stdout?.on("data", (data: Buffer) => {
          output += data;
        });
        expect(await exit(child)).toBe(0);
        return JSON.parse(output) as {
          made: boolean;
          version: string;
          people: number;
          companies: number;
          count: number;
        };
      }),
    );
    expect(outputs.filter(({ made }) => made)).toHaveLength(1);
    for (const { version, people, companies, count } of outputs) {
      expect({ version, people, companies, count }).toEqual({
        version: SAMPLE_VERSION,
        people: SAMPLE_PEOPLE,
        companies: SAMPLE_COMPANIES,
        count: 879,
      });
    }
    expect((await readdir(folder)).sort()).toEqual(["CURRENT", "lock.db", `v-${SAMPLE_VERSION}`]);
    expect(await ensureSample(folder)).toBe(false);
  });

  test("a build that is killed leaves the old dataset, and the next build clears up after it", async () => {
    const folder = join(await tempFolder(), "dataset");
    const first = await build(folder, 200);
    const child = script(`
    const { generateDataset } = await import(${JSON.stringify(distUrl("dataset/build/sample.js"))});
    await generateDataset({ people: 2000000, seed: 2 }, {
      datasetDir: ${JSON.stringify(folder)}, now: Date.now, sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
      resources: { threads: 1, memoryBytes: ${SMALL.memoryBytes} },
    });`);
    const draft = async (): Promise<string | undefined> =>
      (await readdir(folder)).find((name) => name.startsWith("build-"));
    while ((await draft()) === undefined) await sleep(20);
    await sleep(200);
    child.kill("SIGKILL");
    await exit(child);
    expect(await draft()).toBeDefined();
    const engine = await openDataset(folder);
    expect(engine.info()).toMatchObject({ version: first.version, people: 200 });
    expect(await engine.verify()).toEqual([]);
    await engine.close();
    const second = await build(folder, 300);
    expect((await readdir(folder)).sort()).toEqual(
      ["CURRENT", "lock.db", `v-${first.version}`, `v-${second.version}`].sort(),
    );
  });

  test("a build that fails leaves nothing behind", async () => {
    const folder = join(await tempFolder(), "dataset");
    await expect(
      generateDataset(
        { people: 100, seed: 1 },
        { datasetDir: folder, now: Date.now, sleep, resources: SMALL, signal: AbortSignal.abort() },
      ),
    ).rejects.toThrow();
    expect((await readdir(folder)).filter((name) => name !== "lock.db")).toEqual([]);
    await expect(build(folder, 0)).rejects.toThrow(RangeError);
    await expect(build(folder, 1, -1)).rejects.toThrow(RangeError);
  });

  test.each(["read", "sort", "records"] as const)(
    "a build that is interrupted while it is at: %s, leaves the old dataset",
    async (phase) => {
      const folder = join(await tempFolder(), "dataset");
      const first = await build(folder, 200);
      const interrupt = new AbortController();
      const options = {
        datasetDir: folder,
        now: Date.now,
        sleep,
        resources: SMALL,
        signal: interrupt.signal,
        // So few that records are written in several rounds.
        peopleARound: 2_000,
      };
      let written = 0;
      const onProgress = (progress: BuildProgress): void => {
        if (interrupt.signal.aborted && progress.phase === "records") written++;
        if (progress.phase === phase) interrupt.abort(new Error("enough"));
      };
      await expect(
        generateDataset({ people: 6_000, seed: 3 }, { ...options, onProgress }),
      ).rejects.toThrow("enough");
      expect(written).toBe(0);
      expect((await readdir(folder)).sort()).toEqual(["CURRENT", "lock.db", `v-${first.version}`]);
      const engine = await openDataset(folder);
      expect(engine.info()).toMatchObject({ version: first.version, people: 200 });
      await engine.close();
    },
  );

  test("a statement that would not end is interrupted", async () => {
    const folder = join(await tempFolder(), "dataset");
    const interrupt = new AbortController();
    const stage = async (connection: DuckDBConnection): Promise<undefined> => {
      const endless = connection.run(
        "SELECT sum(a.range * b.range) FROM range(100_000_000) AS a, range(100_000_000) AS b",
      );
      interrupt.abort(new Error("enough"));
      await endless;
      return undefined;
    };
    const options = {
      datasetDir: folder,
      now: Date.now,
      sleep,
      resources: SMALL,
      signal: interrupt.signal,
    };
    await expect(
      buildDataset({ version: "1", stage, bytes: () => Promise.resolve(0) }, options),
    ).rejects.toThrow("enough");
    expect((await readdir(folder)).filter((name) => name !== "lock.db")).toEqual([]);
  });

  test("a stage beyond the memory is a file, makes the same dataset, and is gone with the build", async () => {
    const staged: string[][] = [];
    const built = async (bytes: number) => {
      const datasetDir = await tempFolder();
      const stage = async (connection: DuckDBConnection, scratch: string): Promise<string> => {
        await generateInto({ connection, scratch }, { people: 3_000, seed: 5 });
        staged.push(await readdir(scratch));
        return "people";
      };
      const source = { version: "1", stage, bytes: () => Promise.resolve(bytes) };
      await buildDataset(source, { datasetDir, now: Date.now, sleep, resources: SMALL });
      const left = await readdir(datasetDir, { recursive: true });
      expect(left.filter((name) => name.includes("stage"))).toEqual([]);
      const engine = await openDataset(datasetDir);
      const { records } = await engine.people(ALL, { offset: 0, limit: 1_000 });
      const sales = filtersOf({ department: "Sales", name: "an" });
      const facet = await engine.facet(
        sales,
        { key: "city", prefix: "", limit: 20, least: 1 },
        60_000,
      );
      const answers = { records: records.map(String), count: await engine.count(sales), facet };
      await engine.close();
      return answers;
    };
    const inMemory = await built(SMALL.memoryBytes);
    expect(await built(SMALL.memoryBytes + 1)).toEqual(inMemory);
    expect(inMemory.records).toHaveLength(1_000);
    expect(staged).toEqual([[], ["stage.duckdb"]]);
  });

  test("the same people and seed are the same dataset; another seed is another", async () => {
    const [a, b, c] = [
      await smallDataset(500, 5),
      await smallDatasetCopy(500, 5),
      await smallDataset(500, 6),
    ];
    const records = async (engine: typeof a) =>
      (await engine.people(ALL, { offset: 0, limit: 500 })).records;
    expect(await records(b)).toEqual(await records(a));
    expect(await records(c)).not.toEqual(await records(a));
    for (const engine of [a, b, c]) await engine.close();
  });

  test("people who do not fit into memory at once are written in rounds, in the same order", async () => {
    const people = 12_000;
    const roomy = await smallDataset(people, 8);
    const folder = join(await tempFolder(), "dataset");
    const resources = { threads: 1, memoryBytes: 160 * 2 ** 20 };
    const options = { datasetDir: folder, now: Date.now, sleep, resources, peopleARound: 5_000 };
    await generateDataset({ people, seed: 8 }, options);
    const tight = await openDataset(folder);
    expect(await tight.verify()).toEqual([]);
    for (let offset = 0; offset < people; offset += 5_000) {
      const slice = { offset, limit: 5_000 };
      const [a, b] = [await roomy.people(ALL, slice), await tight.people(ALL, slice)];
      expect(b.records.join("\n") === a.records.join("\n"), `people from ${offset}`).toBe(true);
    }
    await roomy.close();
    await tight.close();
  }, 300_000);

  async function smallDatasetCopy(people: number, seed: number) {
    const folder = join(await tempFolder(), "dataset");
    await build(folder, people, seed);
    return openDataset(folder);
  }

  test("an engine that follows its folder: calls end on the version they began on, the old one goes when nobody reads it", async () => {
    const folder = join(await tempFolder(), "dataset");
    const first = await build(folder, 2_000);
    let now = 0;
    const reloads: string[] = [];
    const engine = await ReloadingEngine.open(folder, {
      now: () => now,
      onReload: ({ version }) => reloads.push(version),
      onError: (error) => {
        throw error;
      },
    });
    expect(engine.info().version).toBe(first.version);
    const second = await build(folder, 700);
    // Within a second nothing is looked at.
    now = 999;
    expect(await engine.count(ALL)).toBe(2_000);
    const running = Array.from({ length: 20 }, (_, page) =>
      engine.people(filtersOf({ department: "Sales" }), { offset: page, limit: 50 }),
    );
    now = 1_000;
    const after = engine.count(ALL);
    const pages = await Promise.all(running);
    expect(new Set(pages.map((page) => page.total)).size).toBe(1);
    expect(pages.every((page) => page.records.length === 50)).toBe(true);
    expect(await after).toBe(700);
    expect(engine.info()).toEqual({
      version: second.version,
      people: 700,
      companies: second.companies,
    });
    expect(reloads).toEqual([second.version]);
    // The last one that was served before is kept, the one before that is not.
    expect(await readdir(folder)).toContain(`v-${first.version}`);
    const third = await build(folder, 50);
    expect((await readdir(folder)).sort()).toEqual(
      ["CURRENT", "lock.db", `v-${second.version}`, `v-${third.version}`].sort(),
    );
    now = 2_000;
    expect(await engine.count(ALL)).toBe(50);
    await engine.close();
    await expect(engine.count(ALL)).rejects.toThrow(/closed/);
  });

  test("a new version that cannot be opened is reported, and the old one goes on", async () => {
    const folder = join(await tempFolder(), "dataset");
    await build(folder, 300);
    let now = 0;
    const errors: unknown[] = [];
    const engine = await ReloadingEngine.open(folder, {
      now: () => now,
      onError: (error) => errors.push(error),
    });
    await mkdir(join(folder, "v-broken"));
    await writeFile(
      join(folder, "CURRENT"),
      JSON.stringify({ version: "broken", folder: "v-broken" }),
    );
    now = 5_000;
    expect(await engine.count(ALL)).toBe(300);
    expect(errors).toHaveLength(1);
    const good = await build(folder, 400);
    now = 10_000;
    expect(await engine.count(ALL)).toBe(400);
    expect(engine.info().version).toBe(good.version);
    await engine.close();
  });

  test("closing waits for the calls that run", async () => {
    const engine = await smallDataset();
    const page = engine.people(filtersOf({ country: ["united states", "india"] }), {
      offset: 0,
      limit: 1_000,
    });
    const count = engine.count(filtersOf({ title_prefix: "s" }));
    await engine.close();
    expect((await page).records).toHaveLength(Math.min(1_000, (await page).total));
    expect(await count).toBeGreaterThan(0);
    await expect(engine.count(ALL)).rejects.toThrow(/closed/);
  });

  const recordsOf = async (folder: string): Promise<string> =>
    join(folder, (await readPointer(folder))?.folder ?? "", FILES.records);

  const verified = async (folder: string): Promise<readonly string[]> => {
    const engine = await openDataset(folder);
    const breaches = await engine.verify();
    await engine.close();
    return breaches;
  };

  test("verify finds what is wrong with the files", async () => {
    const folder = await smallDatasetFolder(100, 77);
    const records = await recordsOf(folder);
    const bytes = await readFile(records);
    const { at } = placeOfBlock(records, "people", 3);
    bytes.fill(0, at, at + 40);
    await writeFile(records, bytes);
    expect(await verified(folder)).toEqual([
      `${records} is damaged (block 3 of people: people 96 to 127 in public order); restore the dataset from a backup, or import or generate it again`,
    ]);
    // A page that cannot be read whole is an error, never a short page.
    const engine = await openDataset(folder);
    await expect(engine.people(ALL, { offset: 96, limit: 4 })).rejects.toThrow(/block 3 of people/);
    expect((await engine.people(ALL, { offset: 0, limit: 96 })).records).toHaveLength(96);
    await engine.close();
    const other = await smallDatasetFolder(120, 78);
    await changeBlock(await recordsOf(other), "people", 1, (bytes) => {
      const stored = bytes.toString().split(RECORD_SEPARATOR);
      return Buffer.from([stored[1], stored[1], ...stored.slice(2)].join(RECORD_SEPARATOR));
    });
    expect(await verified(other)).toEqual([
      "of 1000 records those unlike their columns: 1, expected 0",
    ]);
    const third = await smallDatasetFolder(130, 79);
    const setRid = (bytes: Buffer, rid: number): Buffer => {
      const changed = Buffer.from(bytes);
      changed.writeUInt32LE(rid, 0);
      return changed;
    };
    const thirds = await recordsOf(third);
    await changeBlock(thirds, "address", 1, (bytes) => setRid(bytes, bytes.readUInt32LE(4)));
    // The end of the last key: whose it was has another headline now.
    await changeBlock(thirds, "headline", 1, (bytes) =>
      Buffer.from(bytes.map((byte, at) => byte ^ Number(at + 1 === bytes.length))),
    );
    expect(await verified(third)).toEqual([
      "entries of address for people that it has twice or that there are not: 1, expected 0",
      "of 1000 records those unlike their columns: 2, expected 0",
    ]);
  });
});
