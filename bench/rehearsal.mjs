// node bench/rehearsal.mjs PEOPLE [FOLDER]: one dataset of so many people, from nothing to answers, with what each step takes of time,
// memory and disk. People are written a million at a time, so that the disk holds their Parquet (69 bytes a person) and never a table
// of them all. The import wants 0.55 KB a person of disk, and 1.2 where what is read does not fit into memory (docs/dataset.md); what was
// made is removed again.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canonicaliser } from "./datasets.mjs";
import { CACHE, closeAll, note, peakMb, ROOT, round, scratch } from "./harness.mjs";
import { imported } from "./import.mjs";
import { measureShapes } from "./shapes.mjs";
import { SAMPLE } from "./strangers.mjs";

const PEOPLE_A_FILE = 1_000_000;
const people = Number((process.argv[2] ?? "").replaceAll("_", ""));
if (!Number.isSafeInteger(people) || people < 1) throw new Error("usage: node bench/rehearsal.mjs PEOPLE [FOLDER]");
const folder = scratch("rehearsal", process.argv[3] ?? CACHE);
const told = (step, figures) => process.stdout.write(`${JSON.stringify({ step, people, ...figures })}\n`);

try {
  const files = join(folder, "files");
  await timed("people written as Parquet", () => writePeople(files));
  const data = join(folder, "data");
  const { cpu, disk, ms, peakDisk, peakMb: memory } = await imported(join(files, "*.parquet"), data, people);
  rmSync(files, { recursive: true });
  const a = (bytes) => round(bytes / people);
  told("import", {
    s: round(ms / 1_000),
    cpu_s: round(cpu / 1_000),
    memory_mb: round(memory),
    bytes_a_person: a(disk),
    most_bytes_a_person: a(peakDisk),
  });
  const isCold = dropCaches();
  await timed(`opened, ${isCold ? "nothing" : "some of it"} in memory`, () => look(data, isCold));
  const rows = await measureShapes({ folder: data }, people, "", true);
  for (const { measured, part, remark, unit, work } of rows) told(`${part}: ${work}`, { [unit]: measured, remark });
  told("memory at the end", { mb: round(peakMb(process.pid)) });
} finally {
  await closeAll();
}

async function timed(step, work) {
  const [start, before] = [performance.now(), process.cpuUsage()];
  const figures = await work();
  const { system, user } = process.cpuUsage(before);
  told(step, { s: round((performance.now() - start) / 1_000), cpu_s: round((user + system) / 1e6), ...figures });
}

/** Each file is of people whom no other has: all are of one population. */
async function writePeople(files) {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const { companiesFor, Population } = await import(join(ROOT, "dist/dataset/build/generate.js"));
  const { stagePeople } = await import(join(ROOT, "dist/dataset/build/records-table.js"));
  const { addNormalForms } = await import(join(ROOT, "dist/dataset/build/normal-sql.js"));
  mkdirSync(files);
  const instance = await DuckDBInstance.create(":memory:", { temp_directory: folder });
  const connection = await instance.connect();
  await addNormalForms(connection);
  const everybody = new Population({ people, seed: 1 }).people();
  async function* next() {
    for (let left = PEOPLE_A_FILE; left > 0; left--) {
      const { done, value } = everybody.next();
      if (done) return;
      yield JSON.stringify(value);
    }
  }
  for (let first = 0; first < people; first += PEOPLE_A_FILE) {
    await stagePeople({ connection, scratch: folder }, next());
    await connection.run(`CREATE OR REPLACE VIEW staged AS SELECT *, hash(id) % 1000000 AS h FROM staged_people;
      COPY (${SAMPLE}) TO '${join(files, `people-${first}.parquet`)}' (FORMAT parquet, COMPRESSION zstd);
      DROP VIEW staged; DROP TABLE staged_people`);
    note(`${Math.min(people, first + PEOPLE_A_FILE).toLocaleString("en")} people written`);
  }
  instance.closeSync();
  return { companies: companiesFor(people) };
}

/** Where root runs it, so that nothing of the dataset is in memory. */
function dropCaches() {
  try {
    writeFileSync("/proc/sys/vm/drop_caches", "3");
    return true;
  } catch {
    return false;
  }
}

/** How long opening takes, the first questions, a deep page, and how long once they were asked. */
async function look(data) {
  const { openDataset } = await import(join(ROOT, "dist/dataset/embedded/open.js"));
  const canonical = await canonicaliser();
  const start = performance.now();
  const engine = await openDataset(join(data, "dataset"));
  const figures = { opened_ms: round(performance.now() - start), opened_mb: round(peakMb(process.pid)) };
  const [sales, title] = [canonical({ department: "Sales" }), canonical({ title: "sales manager" })];
  const length = await engine.count(sales);
  const questions = {
    count: () => engine.count(sales),
    count_of_two: () => engine.count(canonical({ department: "Sales", seniority_level: "director" })),
    first_page: () => engine.people(title, { offset: 0, limit: 25 }),
    deep_page: () => engine.people(sales, { offset: Math.floor(length / 2), limit: 25 }),
    facet: () => engine.facet(sales, { key: "city", prefix: "", limit: 20, least: 3 }, 60_000),
  };
  for (const when of ["first", "again"]) {
    for (const [question, ask] of Object.entries(questions)) {
      const began = performance.now();
      await ask();
      figures[`${question}_${when}_ms`] = round(performance.now() - began);
    }
  }
  await engine.close();
  return figures;
}
