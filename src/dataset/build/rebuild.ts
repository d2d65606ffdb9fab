import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { DuckDBConnection } from "@duckdb/node-api";
import { COMPANY_FIELDS, type Company, PERSON_FIELDS, type Person } from "../../contract/records.ts";
import type { Suppression } from "../../contract/suppression.ts";
import { literal } from "../duckdb.ts";
import { RecordStore } from "../embedded/record-store.ts";
import { currentVersion, type DatasetMeta, newVersion, readPointer } from "../layout.ts";
import { readSuppression, suppressionDir } from "../suppression.ts";
import { type BuildOptions, buildDataset } from "./build.ts";

/** Nobody of the dataset is suppressed: it stays as it is. */
class NothingToDo extends Error {}

const WHOLE_NUMBERS: readonly string[] = ["connections", "followers", "employee_count", "founded_year"];
const ROWS_AT_ONCE = 1_000;

/** Builds the current version of a dataset again without whom it now leaves out. @returns undefined where nobody had to go, or there is none */
export async function rebuildDataset(
  options: BuildOptions,
): Promise<{ readonly meta: DatasetMeta; readonly removed: number } | undefined> {
  const { datasetDir } = options;
  if ((await readPointer(datasetDir)) === undefined) return undefined;
  let removed = 0;
  let name = "";
  const stage = async (connection: DuckDBConnection, scratch: string): Promise<void> => {
    const { folder, meta } = await currentVersion(datasetDir);
    name = meta.source;
    const suppression = await readSuppression(suppressionDir(datasetDir));
    const store = new RecordStore(folder);
    try {
      const left = await load(connection, join(scratch, "people"), "staged_people", PERSON_FIELDS, () =>
        peopleLeft(store, meta, suppression, options),
      );
      removed = meta.people - left;
      if (removed === 0) throw new NothingToDo();
      await load(connection, join(scratch, "companies"), "staged_companies", COMPANY_FIELDS, () => companies(store));
    } finally {
      await store.close();
    }
  };
  try {
    const source = { version: newVersion(options.now()), stage };
    const meta = await buildDataset({ ...source, nameOf: () => name, name: "rebuilt" }, options);
    return meta && { meta, removed };
  } catch (error) {
    if (error instanceof NothingToDo) return undefined;
    throw error;
  }
}

async function* peopleLeft(
  store: RecordStore,
  { people }: DatasetMeta,
  suppression: Suppression,
  { signal, onProgress }: BuildOptions,
): AsyncGenerator<string> {
  for (let start = 0; start < people; start += ROWS_AT_ONCE) {
    signal?.throwIfAborted();
    onProgress?.({ phase: "read", done: start, total: people });
    const length = Math.min(ROWS_AT_ONCE, people - start);
    for (const record of await store.people(Uint32Array.from({ length }, (_, index) => start + index))) {
      const { id, network_url, company_domain } = JSON.parse(record) as Person;
      const named = { id, address: network_url ?? undefined, domain: company_domain ?? undefined };
      if (!suppression.hides(named)) yield `${record}\n`;
    }
  }
}

async function* companies(store: RecordStore): AsyncGenerator<string> {
  for (const { record } of store.companies()) yield `${record}\n`;
}

type Field = keyof Person | keyof Company;

/** Loads records, one a line, into a table. @returns how many */
async function load(
  connection: DuckDBConnection,
  path: string,
  table: string,
  fields: readonly Field[],
  lines: () => AsyncGenerator<string>,
): Promise<number> {
  let rows = 0;
  async function* counted(): AsyncGenerator<string> {
    for await (const line of lines()) {
      rows++;
      yield line;
    }
  }
  await pipeline(Readable.from(counted()), createWriteStream(path, { mode: 0o600 }));
  const columns = fields.map((field) => {
    const type = field === "specialties" ? "VARCHAR[]" : WHOLE_NUMBERS.includes(field) ? "BIGINT" : "VARCHAR";
    return `${field}: '${type}'`;
  });
  const source = `read_json(${literal(path)}, format = 'newline_delimited', columns = {${columns.join(", ")}})`;
  await connection.run(`CREATE TABLE ${table} AS SELECT * FROM ${source}`);
  await rm(path);
  return rows;
}
