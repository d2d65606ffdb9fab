// I1: people from a Parquet file into a folder that can be served, against raw DuckDB that sorts the same file into a table of its own.
// The people are not as our own sample writes them: addresses with schemes, queries and capitals, names in several scripts and in two
// ways of writing accents, full-width letters, ligatures, emoji, long and missing texts.
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

export async function measure({ quick, people }) {
  const sizes = people ?? (quick ? [300_000] : [1_000_000, 5_000_000, 10_000_000]);
  const rows = [];
  const points = [];
  for (const size of sizes) {
    const file = await strangers(size);
    const folder = scratch("import", CACHE);
    const rounds = size > 1_000_000 ? 1 : 3;
    const ours = [];
    const theirs = [];
    for (let index = 0; index < rounds; index++) {
      note(`I1: ${size.toLocaleString("en")} people, ${index + 1} of ${rounds}`);
      ours.push(await imported(file, join(folder, "data"), size));
      theirs.push(await sorted(file, join(folder, "raw.duckdb")));
    }
    const times = { ours: ours.map(({ ms }) => ms), theirs: theirs.map(({ ms }) => ms) };
    const { disk, peakDisk } = ours[0];
    const part = size.toLocaleString("en");
    rows.push(
      ratioRow({
        id: "I1",
        part,
        work: `import of ${part} people from Parquet, until it can be served`,
        yardstick: "raw DuckDB: CREATE TABLE AS ... ORDER BY of the same file",
        target: { atMost: 4 },
        ...times,
      }),
      valueRow({
        id: "I1",
        part: `${part}, disk`,
        work: "disk at the highest while importing, of what is left",
        target: { atMost: 3 },
        unit: "x",
        value: Math.max(...ours.map((each) => each.peakDisk / each.disk)),
        remark: `${round(disk / 1e6)} MB left, ${round(disk / size)} bytes a person; the file ${round(statSync(file).size / size)}`,
      }),
    );
    points.push({
      size,
      "import, s": round(median(times.ours) / 1_000),
      "raw DuckDB, s": round(median(times.theirs) / 1_000),
      "people/s": round((size * 1_000) / median(times.ours)),
      "left, MB": round(disk / 1e6),
      "highest, MB": round(peakDisk / 1e6),
      "memory, MB": round(Math.max(...ours.map(({ peakMb }) => peakMb))),
    });
    rmSync(folder, { recursive: true, force: true });
  }
  return { rows, series: { import: points } };
}

/** A Parquet file of so many people, made once. */
export async function strangers(people) {
  const { SAMPLE_VERSION } = await import(join(ROOT, "dist/dataset/build/sample.js"));
  const file = join(CACHE, `strangers-${people}-${SAMPLE_VERSION}.parquet`);
  if (existsSync(file)) return file;
  note(`making a file of ${people.toLocaleString("en")} people (once; kept as ${file})`);
  mkdirSync(CACHE, { recursive: true });
  await runProgram(process.execPath, [join(BENCH, "strangers.mjs"), String(people), `${file}.draft`]);
  renameSync(`${file}.draft`, file);
  return file;
}

async function imported(file, folder, people) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let peakDisk = 0;
  const look = setInterval(() => {
    peakDisk = Math.max(peakDisk, bytesOf(folder));
  }, LOOK_EVERY_MS);
  try {
    const args = ["service", "import", "--people", file, "--data", folder, "--json"];
    const { ms, peakMb, stdout } = await headcount(args, { env: userEnvironment(folder), watch: true, capture: true });
    const { taken } = JSON.parse(stdout).people;
    if (taken !== people) throw new Error(`${taken} of ${people} people were imported`);
    return { ms, peakMb, peakDisk, disk: bytesOf(folder) };
  } finally {
    clearInterval(look);
  }
}

async function sorted(file, path) {
  const { ms } = await runProgram(process.execPath, [join(BENCH, "yardsticks", "sort.mjs"), file, path]);
  rmSync(path, { force: true });
  return { ms };
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
