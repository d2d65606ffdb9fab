// C8: a thousand random sets of two to four filters over dirty people, counted in the engine, by DuckDB, and by bitmaps (roaring, where it is
// installed): a bitmap for each value, those of a filter put together, those of the filters cut with each other.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "./arithmetic.mjs";
import { canonicaliser, importedFolder } from "./datasets.mjs";
import { attachFilterTable } from "./filter-table.mjs";
import { absentRow, note, ROOT, valueRow } from "./harness.mjs";
import { beginning, samplePeople, seeded, values } from "./shapes.mjs";

const QUANTILES = [0.5, 0.75, 0.9, 0.95, 0.99];
const EXACT =
  "title seniority seniority_level functional_area department industry country state city first_name last_name".split(
    " ",
  );
const PREFIXES = "title industry name headline".split(" ");

export async function measure({ quick, people: sizes = [quick ? 300_000 : 1_000_000] }) {
  const people = Math.max(...sizes);
  const { folder } = await importedFolder(people, "dirty");
  const { openDataset } = await import(join(ROOT, "dist/dataset/embedded/open.js"));
  const engine = await openDataset(join(folder, "dataset"));
  const sets = await randomSets(engine, quick ? 200 : 1_000);
  note(`C8: ${sets.length} random sets, ${people.toLocaleString("en")} dirty people`);
  const duckdb = await openDuckDb(join(folder, "dataset"), people);
  const bitmaps = await openBitmaps(duckdb);
  const times = { ours: [], duckdb: [], bitmaps: [] };
  // The first ones warm up.
  for (const [index, filters] of [...sets.slice(0, 50), ...sets].entries()) {
    const ask = {
      ours: () => engine.count(filters),
      duckdb: () => duckdb.count(filters),
      bitmaps: await bitmaps?.prepare(filters),
    };
    const counts = {};
    for (const [way, count] of Object.entries(ask)) {
      if (count === undefined) continue;
      const start = performance.now();
      counts[way] = await count();
      if (index >= 50) times[way].push(performance.now() - start);
    }
    if (new Set(Object.values(counts)).size > 1)
      throw new Error(`${JSON.stringify(filters)}: ${JSON.stringify(counts)}`);
  }
  await engine.close();
  duckdb.close();
  return { rows: rowsOf(times, people) };
}

function rowsOf(times, people) {
  const at = (way) => QUANTILES.map((part) => percentile(times[way], part));
  const told = Object.entries(times)
    .filter(([, all]) => all.length > 0)
    .map(
      ([way]) =>
        `${way} ${at(way)
          .map((ms) => ms.toFixed(2))
          .join("/")} ms`,
    )
    .join(", ");
  const remark = `at ${QUANTILES.map((part) => 100 * part).join("/")} %: ${told}`;
  const work = `${times.ours.length.toLocaleString("en")} random sets of 2-4 filters, counts in the engine, ${people.toLocaleString("en")} dirty people`;
  const row = { id: "C8", work, unit: "x", ours: times.ours, remark };
  const [ours, theirs] = [at("ours"), at("duckdb")];
  const median = {
    part: "median",
    yardstick: "DuckDB on the same people in the same order",
    target: { atMost: 0.1 },
  };
  const upper = { part: "above the median", work, yardstick: "a bitmap for each value (roaring)" };
  const against = valueRow({ ...row, ...median, theirs: times.duckdb, value: ours[0] / theirs[0] });
  if (times.bitmaps.length === 0) {
    return [
      against,
      absentRow({
        id: "C8",
        ...upper,
        target: "<= 1x",
        reason: "needs npm install --no-save roaring-wasm",
      }),
    ];
  }
  const worst = Math.max(
    ...at("bitmaps")
      .slice(1)
      .map((ms, index) => ours[index + 1] / ms),
  );
  return [
    against,
    valueRow({ ...row, ...upper, target: { atMost: 1 }, theirs: times.bitmaps, value: worst }),
  ];
}

async function randomSets(engine, count) {
  const canonical = await canonicaliser();
  const random = seeded(1);
  const pool = await samplePeople(engine, canonical, random);
  const pick = (list) => list[Math.floor(random() * list.length)];
  return Array.from({ length: count }, () => {
    const filters = {};
    for (const most = 2 + Math.floor(random() * 3); Object.keys(filters).length < most; ) {
      const kind = random();
      if (kind < 0.75) {
        const key = pick(EXACT);
        filters[key] = values(pool, random, key, 1 + Math.floor(random() * 3));
      } else if (kind < 0.95) {
        const key = pick(PREFIXES);
        filters[`${key}_prefix`] = beginning(pool, random, key, 1 + Math.floor(random() * 6));
      } else filters.followers_min = Math.floor(random() * 1_000);
    }
    return canonical(filters);
  });
}

/** The filter columns as one table, and the SQL of a set of filters over it. */
async function openDuckDb(datasetDir, people) {
  const { readPointer } = await import(join(ROOT, "dist/dataset/layout.js"));
  const { startDuckDb, machineResources } = await import(join(ROOT, "dist/dataset/duckdb.js"));
  const { conditionsOf } = await import(join(ROOT, "dist/shared/contract/conditions.js"));
  const version = join(datasetDir, (await readPointer(datasetDir)).folder);
  const instance = await startDuckDb(machineResources());
  const connection = await instance.connect();
  const { version: name } = JSON.parse(readFileSync(join(version, "meta.json"), "utf8"));
  await attachFilterTable(connection, version, people, `dirty-${name}`);
  const text = (value) => `'${String(value).replaceAll("'", "''")}'`;
  const where = (condition) => {
    const { column, kind } = condition;
    if (kind === "in") return `${column} IN (${condition.values.map(text).join(", ")})`;
    if (kind === "prefix") return `${column} ^@ ${text(condition.from)}`;
    return [
      condition.min === undefined ? "" : `${column} >= ${condition.min}`,
      condition.max === undefined ? "" : `${column} <= ${condition.max}`,
    ]
      .filter(Boolean)
      .join(" AND ");
  };
  const rows = async (sql) => (await connection.runAndReadAll(sql)).getRowsJS();
  return {
    rows,
    conditionsOf,
    where,
    count: async (filters) =>
      Number(
        (
          await rows(
            `SELECT count(*) FROM filters.people WHERE ${conditionsOf(filters).map(where).join(" AND ")}`,
          )
        )[0][0],
      ),
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}

/** A bitmap for each value that a set asks for, made before it is timed; undefined where the package is not there. */
async function openBitmaps({ conditionsOf, rows, where }) {
  const name = "roaring-wasm";
  const roaring = await import(name).catch(() => undefined);
  if (roaring === undefined) return undefined;
  await roaring.roaringLibraryInitialize();
  const { RoaringBitmap32 } = roaring;
  const made = new Map();
  const bitmapsOf = async (condition) => {
    const { column } = condition;
    const bitmaps = [];
    const missing = new Map();
    for (const [value, rids] of await rows(
      `SELECT ${column}, list(rid) FROM filters.people WHERE ${where(condition)} GROUP BY 1`,
    )) {
      const key = `${column} ${value}`;
      if (!made.has(key)) missing.set(key, rids);
      bitmaps.push(key);
    }
    for (const [key, rids] of missing) made.set(key, new RoaringBitmap32(rids.map(Number)));
    return bitmaps.map((key) => made.get(key));
  };
  return {
    prepare: async (filters) => {
      const all = [];
      for (const condition of conditionsOf(filters)) all.push(await bitmapsOf(condition));
      return () => {
        let left;
        for (const bitmaps of all) {
          const some = bitmaps.length === 1 ? bitmaps[0] : RoaringBitmap32.orMany(bitmaps);
          left = left === undefined ? some : RoaringBitmap32.and(left, some);
        }
        return left.size;
      };
    },
  };
}
