// I1, I1d, I1u: people from a Parquet file into a folder that can be served, against raw DuckDB that sorts the same file into a table
// of its own. Three kinds of people (strangers.mjs): the sample's as other systems write them (addresses with schemes, queries and
// capitals, names in several scripts and two ways of writing accents, emoji), dirty ones, and ones with ten columns of texts of their own.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { median } from "./arithmetic.mjs";
import {
  BENCH,
  CACHE,
  headcount,
  note,
  ROOT,
  ratioRow,
  round,
  runProgram,
  scratch,
  userEnvironment,
  valueRow,
} from "./harness.mjs";

const LOOK_EVERY_MS = 100;
/** What a kind of people is called in the table, by its name in strangers.mjs. */
const KINDS = {
  sample: ["I1", ""],
  dirty: ["I1d", "dirty, "],
  distinct: ["I1u", "all texts distinct, "],
};

export async function measure({ quick, people }) {
  const sizes = people ?? (quick ? [300_000] : [1_000_000, 5_000_000, 10_000_000]);
  const rows = [];
  const points = [];
  for (const size of sizes) {
    for (const [kind, [id, called]] of Object.entries(KINDS)) {
      // Dirty and distinct people take long to make: of the larger sizes there are those of the sample only, unless asked for.
      if (kind !== "sample" && size > 1_000_000 && !people) continue;
      const part = `${called}${size.toLocaleString("en")}`;
      const found = await compared({
        id,
        part,
        kind,
        size,
        rounds: size > 1_000_000 || quick ? 1 : 3,
      });
      rows.push(...found.rows);
      points.push(found.point);
    }
  }
  return { rows, series: { import: points } };
}

async function compared({ id, part, kind, size, rounds }) {
  const file = await strangers(size, kind);
  const folder = scratch("import", CACHE);
  const ours = [];
  const theirs = [];
  for (let index = 0; index < rounds; index++) {
    note(`${id}: ${part} people, ${index + 1} of ${rounds}`);
    ours.push(await imported(file, join(folder, "data"), size));
    theirs.push(await sorted(file, join(folder, "raw.duckdb")));
  }
  rmSync(folder, { recursive: true, force: true });
  const yardstick = "raw DuckDB: CREATE TABLE AS ... ORDER BY of the same file";
  const ratios = { id, yardstick };
  const { disk, peakDisk } = ours[0];
  const most = (runs, figure) => Math.max(...runs.map((run) => run[figure]));
  const typical = (runs, figure) => median(runs.map((run) => run[figure]));
  const times = (figure) => ({
    ours: ours.map((run) => run[figure]),
    theirs: theirs.map((run) => run[figure]),
  });
  const rows = [
    ratioRow({
      ...ratios,
      part,
      work: `import of ${part} people from Parquet, until it can be served`,
      target: { atMost: 4 },
      ...times("ms"),
    }),
    ratioRow({
      ...ratios,
      part: `${part}, CPU`,
      work: "user and system time",
      target: { atMost: 4 },
      ...times("cpu"),
    }),
    ratioRow({
      ...ratios,
      part: `${part}, memory`,
      work: "peak memory",
      target: { atMost: 2 },
      ...times("peakMb"),
    }),
    valueRow({
      id,
      part: `${part}, disk`,
      work: "disk at the highest while importing, of what is left",
      target: { atMost: 3 },
      unit: "x",
      value: Math.max(...ours.map((run) => run.peakDisk / run.disk)),
      remark: `${round(disk / 1e6)} MB left, ${round(disk / size)} bytes a person; the file ${round(statSync(file).size / size)}`,
    }),
  ];
  const point = {
    size,
    people: kind,
    "import, s": round(typical(ours, "ms") / 1_000),
    "raw DuckDB, s": round(typical(theirs, "ms") / 1_000),
    "CPU, s": round(typical(ours, "cpu") / 1_000),
    "raw CPU, s": round(typical(theirs, "cpu") / 1_000),
    "people/s": round((size * 1_000) / typical(ours, "ms")),
    "left, MB": round(disk / 1e6),
    "highest, MB": round(peakDisk / 1e6),
    "memory, MB": round(most(ours, "peakMb")),
    "raw memory, MB": round(most(theirs, "peakMb")),
  };
  return { rows, point };
}

/** A Parquet file of so many people, made once. */
export async function strangers(people, kind = "sample") {
  const { SAMPLE_VERSION } = await import(join(ROOT, "dist/dataset/build/sample.js"));
  const file = join(CACHE, `strangers-${kind}-${people}-${SAMPLE_VERSION}.parquet`);
  if (existsSync(file)) return file;
  note(`making a file of ${people.toLocaleString("en")} people (once; kept as ${file})`);
  mkdirSync(CACHE, { recursive: true });
  await runProgram(process.execPath, [
    join(BENCH, "strangers.mjs"),
    String(people),
    `${file}.draft`,
    kind,
  ]);
  renameSync(`${file}.draft`, file);
  return file;
}

export async function imported(file, folder, people) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let peakDisk = 0;
  const look = setInterval(() => {
    peakDisk = Math.max(peakDisk, bytesOf(folder));
  }, LOOK_EVERY_MS);
  try {
    const args = ["service", "import", "--people", file, "--data", folder, "--json"];
    const { stdout, ...figures } = await headcount(args, {
      env: userEnvironment(folder),
      watch: true,
      capture: true,
    });
    const { taken } = JSON.parse(stdout).people;
    if (taken !== people) throw new Error(`${taken} of ${people} people were imported`);
    return { ...figures, peakDisk, disk: bytesOf(folder) };
  } finally {
    clearInterval(look);
  }
}

async function sorted(file, path) {
  const figures = await runProgram(
    process.execPath,
    [join(BENCH, "yardsticks", "sort.mjs"), file, path],
    {
      watch: true,
    },
  );
  rmSync(path, { force: true });
  return figures;
}

/** What a folder takes on the disk. */
function bytesOf(path) {
  try {
    const info = statSync(path);
    if (!info.isDirectory()) return info.blocks * 512;
    return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
  } catch {
    return 0;
  }
}
