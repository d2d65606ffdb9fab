import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { lstatSync, readdirSync } from "node:fs";
import { appendFile, chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { env, execPath, getuid } from "node:process";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { asTyped } from "../support/as-typed.ts";
import { testContext } from "../support/client.ts";
import { tempFolder } from "../support/dataset.ts";

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
  const { city, id } = JSON.parse(String(first)) as { readonly city: string; readonly id: string };
  const found = await engine.people(
    { ...EVERYBODY, exact: { city: [city.toLowerCase()] } },
    { offset: 0, limit: 9 },
  );
  expect(found.records.map((record) => (JSON.parse(String(record)) as { id: string }).id)).toEqual([
    id,
  ]);
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
    expect(readdirSync(join(folder, "demo/dataset"))).toEqual(["lock.db"]);
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
