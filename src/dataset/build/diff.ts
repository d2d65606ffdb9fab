import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../shared/contract/records.ts";
import { literal, machineResources, startDuckDb, toNumber } from "../duckdb.ts";
import { RecordStore } from "../embedded/record-store.ts";
import { markInUse, newDraftName, withBuildLock } from "../layout.ts";
import type { KeptVersion } from "../versions.ts";
import type { BuildOptions } from "./options.ts";
import { type Field, loadRecords, peopleOf } from "./records-table.ts";

export interface TableDiff {
  readonly before: number;
  readonly after: number;
  readonly added: number;
  readonly removed: number;
  readonly changed: number;
  readonly columns: Readonly<Record<string, number>>;
}

export interface DatasetDiff {
  readonly from: string;
  readonly to: string;
  readonly people: TableDiff;
  readonly companies: TableDiff;
}

/** What became of people and companies of one version in another, by id. Needs the disk of an import for both. */
export function diffVersions(from: KeptVersion, to: KeptVersion, options: BuildOptions): Promise<DatasetDiff> {
  const { datasetDir, signal, sleep } = options;
  const work = async (): Promise<DatasetDiff> => {
    // The next build clears away what a crash leaves of it.
    const scratch = join(datasetDir, newDraftName());
    const marks = [markInUse(from.path), markInUse(to.path)];
    await mkdir(scratch, { mode: 0o700 });
    const instance = await startDuckDb(options.resources ?? machineResources(), scratch);
    try {
      const connection = await instance.connect();
      await connection.run(
        `ATTACH ${literal(join(scratch, "scratch.duckdb"))} AS scratch (STORAGE_VERSION 'latest'); USE scratch`,
      );
      const total = from.people + to.people;
      const load = async (name: "from" | "to", version: KeptVersion, before: number): Promise<void> => {
        const store = new RecordStore(version.path);
        const onRead = (done: number) => options.onProgress?.({ phase: "read", done: before + done, total });
        try {
          const people = peopleOf(store, version.people, signal, onRead);
          await loadRecords({ connection, scratch }, `people_${name}`, PERSON_FIELDS, people);
          await loadRecords({ connection, scratch }, `companies_${name}`, COMPANY_FIELDS, store.companies());
        } finally {
          await store.close();
        }
      };
      await load("from", from, 0);
      await load("to", to, from.people);
      const people = await compare(connection, "people", PERSON_FIELDS);
      const companies = await compare(connection, "companies", COMPANY_FIELDS);
      return { from: from.version, to: to.version, people, companies };
    } finally {
      instance.closeSync();
      for (const mark of marks) mark.release();
      await rm(scratch, { recursive: true, force: true });
    }
  };
  return withBuildLock(datasetDir, sleep, work, signal);
}

async function compare(
  connection: DuckDBConnection,
  table: "people" | "companies",
  fields: readonly Field[],
): Promise<TableDiff> {
  const others = fields.filter((field) => field !== "id");
  const differs = (field: string): string => `a.${field} IS DISTINCT FROM b.${field}`;
  const both = "a.id IS NOT NULL AND b.id IS NOT NULL";
  const counts = [
    "count(a.id)",
    "count(b.id)",
    "count(*) FILTER (WHERE a.id IS NULL)",
    "count(*) FILTER (WHERE b.id IS NULL)",
    `count(*) FILTER (WHERE ${both} AND (${others.map(differs).join(" OR ")}))`,
    ...others.map((field) => `count(*) FILTER (WHERE ${both} AND ${differs(field)})`),
  ];
  const reader = await connection.runAndReadAll(
    `SELECT ${counts.join(", ")} FROM ${table}_from a FULL JOIN ${table}_to b ON a.id = b.id`,
  );
  const [before = 0, after = 0, added = 0, removed = 0, changed = 0, ...byColumn] = (reader.getRowsJS()[0] ?? []).map(
    toNumber,
  );
  const columns = Object.fromEntries(
    others.flatMap((field, index) => ((byColumn[index] ?? 0) > 0 ? [[field, byColumn[index] ?? 0]] : [])),
  );
  return { before, after, added, removed, changed, columns };
}
