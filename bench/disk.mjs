// I2: bytes a person on disk, served, against the same people and companies as zstd Parquet in the order of their ids.
import { createWriteStream, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { generated } from "./datasets.mjs";
import { CACHE, note, ROOT, round, scratch, valueRow } from "./harness.mjs";

const AT_ONCE = 1_000;

export async function measure({ quick, people }) {
  const rows = [];
  for (const size of people ?? [quick ? 50_000 : 1_000_000]) {
    const { folder } = await generated(size);
    const { currentVersion } = await import(join(ROOT, "dist/dataset/layout.js"));
    const { folder: version, meta } = await currentVersion(join(folder, "dataset"));
    note(`I2: ${size.toLocaleString("en")} people as Parquet`);
    const parquet = await asParquet(version, meta.people);
    const bytes = ["records.db", "people.duckdb", "lookups.duckdb", "counts.bin"].map((name) => ({
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
    );
  }
  return { rows };
}

/** The bytes of all records of a version as Parquet. */
async function asParquet(version, people) {
  const { RecordStore } = await import(join(ROOT, "dist/dataset/embedded/record-store.js"));
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const folder = scratch("disk", CACHE);
  const store = new RecordStore(version);
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
