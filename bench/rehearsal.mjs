// node bench/rehearsal.mjs PEOPLE [FOLDER]: one dataset of so many people, from nothing to answers, with what each step takes of time,
// memory and disk. People are written a million at a time, so that the disk holds their Parquet (69 bytes a person) and never a table
// of them all. What an import wants of the disk is in docs/operate/import.md. All that was made is removed again, but with KEEP_FILES=1 the
// Parquet files: the next rehearsal of as many people begins with their import.
// node bench/rehearsal.mjs plot LINES.ndjson CAPTION: what several of them printed as the plot docs/growth.svg.
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { canonicaliser } from "./datasets.mjs";
import { CACHE, closeAll, note, peakMb, ROOT, round, runProgram, scratch } from "./harness.mjs";
import { imported } from "./import.mjs";
import { measureShapes } from "./shapes.mjs";
import { SAMPLE } from "./strangers.mjs";
import { growthPlot } from "./svg.mjs";

const PEOPLE_A_FILE = 1_000_000;
const WRITERS = availableParallelism();
const [, , size = "", place = CACHE, writing] = process.argv;
const people = Number(size.replaceAll("_", ""));
const told = (step, figures) =>
  process.stdout.write(`${JSON.stringify({ step, people, ...figures })}\n`);

if (size === "plot") plot(place, writing);
else if (!Number.isSafeInteger(people) || people < 1)
  throw new Error("usage: node bench/rehearsal.mjs PEOPLE [FOLDER]");
else if (writing === undefined) await rehearse();
else await writePeople(place, Number(writing));

async function rehearse() {
  const folder = scratch("rehearsal", place);
  const files = join(place, `files-${people}`);
  try {
    await timed("people written as Parquet", () => filesOf(files));
    const data = join(folder, "data");
    const {
      cpu,
      disk,
      ms,
      peakDisk,
      peakMb: memory,
    } = await imported(join(files, "*.parquet"), data, people);
    if (process.env.KEEP_FILES === undefined) rmSync(files, { recursive: true });
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
    for (const { measured, part, remark, unit, work } of rows)
      told(`${part}: ${work}`, { [unit]: measured, remark });
    told("memory at the end", { mb: round(peakMb(process.pid)) });
  } finally {
    await closeAll();
  }
}

function plot(lines, caption) {
  const steps = readFileSync(lines, "utf8").trim().split("\n").map(JSON.parse);
  const of = (size, step) => steps.find((one) => one.people === size && one.step.startsWith(step));
  const sizes = [...new Set(steps.map(({ people: size }) => size))].sort((a, b) => a - b);
  const rehearsal = sizes.map((size) => ({
    size,
    import: of(size, "import"),
    opened: of(size, "opened"),
  }));
  writeFileSync(join(ROOT, "docs/growth.svg"), growthPlot({ rehearsal }, caption));
}

async function timed(step, work) {
  const [start, before] = [performance.now(), process.cpuUsage()];
  const figures = await work();
  const { system, user } = process.cpuUsage(before);
  told(step, {
    s: round((performance.now() - start) / 1_000),
    cpu_s: round((user + system) / 1e6),
    ...figures,
  });
}

/** Made by as many processes as there are cores, of which each takes every so-manieth file. */
async function filesOf(files) {
  if (existsSync(files)) return { files: readdirSync(files).length, remark: "made before" };
  const draft = `${files}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  const writers = Array.from({ length: WRITERS }, (_, writer) => [
    import.meta.filename,
    size,
    draft,
    String(writer),
  ]);
  await Promise.all(writers.map((args) => runProgram(process.execPath, args)));
  renameSync(draft, files);
  return { files: readdirSync(files).length };
}

/** Each file is of people whom no other has: all are of one population. */
async function writePeople(files, writer) {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const { Population } = await import(join(ROOT, "dist/dataset/build/generate.js"));
  const { loadRecords } = await import(join(ROOT, "dist/dataset/build/records-table.js"));
  const { PERSON_FIELDS } = await import(join(ROOT, "dist/shared/contract/records.js"));
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  const everybody = new Population({ people, seed: 1 }).people();
  const room = scratch(`writer-${writer}`, files);
  for (let first = 0; first < people; first += PEOPLE_A_FILE) {
    if ((first / PEOPLE_A_FILE) % WRITERS !== writer) {
      for (let left = PEOPLE_A_FILE; left > 0; left--) everybody.next();
      continue;
    }
    const records = linesOf(everybody, PEOPLE_A_FILE);
    await loadRecords({ connection, scratch: room }, "made", PERSON_FIELDS, records);
    await connection.run(`CREATE OR REPLACE VIEW staged AS SELECT *, hash(id) % 1000000 AS h FROM made;
      COPY (${SAMPLE}) TO '${join(files, `people-${first}.parquet`)}' (FORMAT parquet, COMPRESSION zstd);
      DROP VIEW staged; DROP TABLE made`);
    note(`${Math.min(people, first + PEOPLE_A_FILE).toLocaleString("en")} people written`);
  }
  instance.closeSync();
  await closeAll();
}

async function* linesOf(everybody, most) {
  for (let left = most; left > 0; left--) {
    const { done, value } = everybody.next();
    if (done) return;
    yield JSON.stringify(value);
  }
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
  const figures = {
    opened_ms: round(performance.now() - start),
    opened_mb: round(peakMb(process.pid)),
  };
  const [sales, title] = [
    canonical({ department: "Sales" }),
    canonical({ title: "sales manager" }),
  ];
  const length = await engine.count(sales);
  const questions = {
    count: () => engine.count(sales),
    count_of_two: () =>
      engine.count(canonical({ department: "Sales", seniority_level: "director" })),
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
