import { type ChildProcess, spawn } from "node:child_process";
import { access, mkdir, readdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";
import type { DuckDBConnection } from "@duckdb/node-api";
import { DatabaseSync } from "@photostructure/sqlite";
import { expect, test } from "vitest";
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
import { opened, packing, sealed, unpackBlock } from "../../src/dataset/embedded/blocks.ts";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { RECORD_SEPARATOR } from "../../src/dataset/embedded/records.ts";
import { ReloadingEngine } from "../../src/dataset/embedded/reloading-engine.ts";
import { NoDatasetError, readPointer } from "../../src/dataset/layout.ts";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";
import { SMALL, sleep, smallDataset, smallDatasetFolder, tempFolder } from "../support/dataset.ts";

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

/** Changes one block of a row store, as a build that is wrong would: its checksum is right. */
async function changeBlock(
  folder: string,
  table: "people" | "by_address" | "by_headline",
  change: (bytes: Buffer) => Buffer,
): Promise<void> {
  const path = join(folder, (await readPointer(folder))?.folder ?? "", "records.db");
  const db = new DatabaseSync(path);
  const name = table.replace("by_", "");
  const kept = db.prepare("SELECT data FROM dictionaries WHERE name = ?").get(name);
  const dictionary = kept && opened(kept.data, 0, "");
  const bytes = opened(db.prepare(`SELECT data FROM ${table} WHERE block = 1`).get().data, 1, "");
  const changed = change(dictionary ? unpackBlock(bytes, dictionary) : bytes);
  const whole = sealed(dictionary ? deflateRawSync(changed, packing(dictionary)) : changed, 1);
  db.prepare(`UPDATE ${table} SET data = ? WHERE block = 1`).run(whole);
  db.close();
}

const verified = async (folder: string): Promise<readonly string[]> => {
  const engine = await openDataset(folder);
  const breaches = await engine.verify();
  await engine.close();
  return breaches;
};

test("verify finds what is wrong with the files", async () => {
  const folder = await smallDatasetFolder(100, 77);
  const records = join(folder, (await readPointer(folder))?.folder ?? "", "records.db");
  await access(records);
  const db = new DatabaseSync(records);
  db.exec(
    "DELETE FROM people WHERE block = 2; UPDATE people SET data = (SELECT data FROM people WHERE block = 1) WHERE block = 3",
  );
  db.close();
  expect(await verified(folder)).toEqual([
    `${records}: people: block 2 is missing`,
    `${records}: people: block 3 is damaged; restore the dataset from a backup or import it again: people 96 to 127 in public order`,
  ]);
  // A page that cannot be read whole is an error, never a short page.
  const engine = await openDataset(folder);
  await expect(engine.people(ALL, { offset: 60, limit: 20 })).rejects.toThrow(
    /no record 64 of people/,
  );
  await expect(engine.people(ALL, { offset: 96, limit: 4 })).rejects.toThrow(
    /people: block 3 is damaged/,
  );
  expect((await engine.people(ALL, { offset: 0, limit: 64 })).records).toHaveLength(64);
  await engine.close();
  const other = await smallDatasetFolder(120, 78);
  await changeBlock(other, "people", (bytes) => {
    const stored = bytes.toString().split(RECORD_SEPARATOR);
    return Buffer.from([stored[1], stored[1], ...stored.slice(2)].join(RECORD_SEPARATOR));
  });
  expect(await verified(other)).toEqual([
    "of 1000 records those unlike their columns: 1, expected 0",
  ]);
  const third = await smallDatasetFolder(130, 79);
  const setRid = (bytes: Buffer, rid: number): Buffer => {
    const changed = Buffer.from(bytes);
    changed.writeUInt32LE(rid, 1);
    return changed;
  };
  await changeBlock(third, "by_address", (bytes) => setRid(bytes, bytes.readUInt32LE(5)));
  // The end of the last key: whose it was has another headline now.
  await changeBlock(third, "by_headline", (bytes) =>
    Buffer.from(bytes.map((byte, at) => byte ^ Number(at + 1 === bytes.length))),
  );
  expect(await verified(third)).toEqual([
    "entries of address for people that it has twice or that there are not: 1, expected 0",
    "of 1000 records those unlike their columns: 2, expected 0",
  ]);
});
