// I2: bytes a person on disk, served, against the same people and companies as zstd Parquet in the order of their ids; and what a first page
// takes while nothing of the dataset is in the system's cache.
import { createWriteStream, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { median } from "./arithmetic.mjs";
import { generated } from "./datasets.mjs";
import {
  absentRow,
  BENCH,
  CACHE,
  findProgram,
  note,
  ROOT,
  round,
  runProgram,
  scratch,
  valueRow,
} from "./harness.mjs";

const AT_ONCE = 1_000;
/** Pages of people who stand together, and of people from all over the dataset: 25 blocks. */
const COLD = {
  "in a row": ["United States", "India", "Brazil", "Germany", "France"].map((country) => ({
    country: [country],
  })),
  scattered: ["Maria", "James", "Priya", "Anna", "David"].map((name) => ({ first_name: [name] })),
};
/** Files out of the system's cache: those of a version alone, not the machine's. Nobody may have them open. */
const EVICT = `import os, sys
for path in sys.argv[1:]:
    file = os.open(path, os.O_RDONLY)
    os.fdatasync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)`;

export async function measure({ quick, people }) {
  const rows = [];
  for (const size of people ?? [quick ? 50_000 : 1_000_000]) {
    const { folder } = await generated(size);
    const { currentVersion } = await import(join(ROOT, "dist/dataset/layout.js"));
    const { folder: version, meta } = await currentVersion(join(folder, "dataset"));
    note(`I2: ${size.toLocaleString("en")} people as Parquet`);
    const parquet = await asParquet(version, meta.people);
    const bytes = ["records.bin", "columns.bin"].map((name) => ({
      name,
      each: statSync(join(version, name)).size / size,
    }));
    const ours = bytes.reduce((sum, { each }) => sum + each, 0);
    rows.push(
      valueRow({
        id: "I2",
        part: size.toLocaleString("en"),
        work: "bytes a person on disk, served, of the same people and companies as Parquet",
        yardstick: "DuckDB: COPY ... (FORMAT parquet, COMPRESSION zstd), ordered by id",
        target: { atMost: 3 },
        unit: "x",
        value: ours / (parquet / size),
        remark: `${round(ours)} bytes a person, Parquet ${round(parquet / size)}: ${bytes.map(({ each, name }) => `${name} ${round(each)}`).join(", ")}`,
      }),
      ...(await coldPages(size, join(folder, "dataset"), version)),
    );
  }
  return { rows };
}

async function coldPages(size, dataset, version) {
  const what = {
    id: "I2",
    part: `${size.toLocaleString("en")}, cold page`,
    target: { atMost: 30 },
    yardstick: "",
  };
  const work = "first page of 25 in a fresh process, no file of the dataset in the system's cache";
  const python = findProgram("python3");
  if (python === undefined)
    return [
      absentRow({
        ...what,
        target: "<= 30 ms",
        work,
        reason: "python3 is missing, which empties the cache",
      }),
    ];
  const files = readdirSync(version).map((name) => join(version, name));
  const remarks = [];
  const all = [];
  for (const [kind, segments] of Object.entries(COLD)) {
    const times = [];
    const cpu = [];
    for (const filters of segments) {
      await runProgram(python, ["-c", EVICT, ...files]);
      const args = [join(BENCH, "cold-page.mjs"), dataset, JSON.stringify(filters)];
      const { ms, cpuMs, rows } = JSON.parse(
        (await runProgram(process.execPath, args, { capture: true })).stdout,
      );
      if (rows === 0) throw new Error(`nobody for ${JSON.stringify(filters)}`);
      times.push(ms);
      cpu.push(cpuMs);
    }
    all.push(median(times));
    remarks.push(
      `${kind} ${times.map((ms) => round(ms)).join(", ")} ms, ${round(median(cpu))} of CPU`,
    );
  }
  return [
    valueRow({
      ...what,
      work,
      unit: "ms",
      value: Math.max(...all),
      remark: `medians' worse; ${remarks.join("; ")}`,
    }),
  ];
}

/** The bytes of all records of a version as Parquet. */
async function asParquet(version, people) {
  const { RecordStore } = await import(join(ROOT, "dist/dataset/embedded/record-store.js"));
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const folder = scratch("disk", CACHE);
  const store = await RecordStore.open(version);
  async function* records() {
    for (let start = 0; start < people; start += AT_ONCE) {
      const length = Math.min(AT_ONCE, people - start);
      const page = await store.people(Uint32Array.from({ length }, (_, index) => start + index));
      yield `${page.join("\n")}\n`;
    }
  }
  async function* companies() {
    for await (const record of store.companies()) yield `${record}\n`;
  }
  const instance = await DuckDBInstance.create(":memory:");
  try {
    const connection = await instance.connect();
    let bytes = 0;
    for (const [name, lines] of Object.entries({ people: records, companies })) {
      const json = join(folder, `${name}.ndjson`);
      const parquet = join(folder, `${name}.parquet`);
      await pipeline(lines, createWriteStream(json));
      await connection.run(`COPY (SELECT * FROM read_json('${json}', format = 'newline_delimited', sample_size = -1) ORDER BY id)
        TO '${parquet}' (FORMAT parquet, COMPRESSION zstd)`);
      bytes += statSync(parquet).size;
    }
    return bytes;
  } finally {
    instance.closeSync();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
