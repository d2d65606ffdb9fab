import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { newVersion } from "../layout.ts";
import { type BuildOptions, buildDataset } from "./build.ts";
import { firstLine } from "./import-files.ts";
import { type ImportMap, InputError, parseMap } from "./import-map.ts";
import { stageTable, type TableReport } from "./import-stage.ts";
import {
  clearedReport,
  type DepartmentReport,
  departmentReport,
  deriveCompanies,
  typedTables,
} from "./import-values.ts";
import { RejectFile } from "./rejects.ts";

export interface ImportInput {
  /** Files or patterns; at least one. */
  readonly people: readonly string[];
  /** Where there are none, companies are derived from people. */
  readonly companies: readonly string[];
  /** A file with a column map. */
  readonly map?: string;
  /** What relative paths are relative to. */
  readonly cwd: string;
  /** Where refused rows go, as NDJSON; written only where there are any. */
  readonly rejects: string;
}

export interface ImportReport {
  readonly version: string;
  readonly people: TableReport;
  /** `derived` is how many were made from people, where no company file is given. */
  readonly companies: TableReport & { readonly derived: number };
  readonly departments: DepartmentReport;
  /** Values that were left out because they cannot be used (an address without a host, a date that is none), by field. */
  readonly cleared: Readonly<Record<string, number>>;
  /** Where the refused rows are, or null where there are none. */
  readonly rejects: string | null;
}

/**
 * Replaces the dataset of a folder by the people and companies of files (Parquet, CSV, NDJSON). Rows that cannot be taken go to the
 * reject file with the reason; the old dataset stays until the new one is whole.
 * @throws InputError where a file, a column or the map is wrong, or no row can be taken
 */
export async function importDataset(input: ImportInput, options: BuildOptions): Promise<ImportReport> {
  const map = input.map === undefined ? { people: {}, companies: {} } : await readMap(input.map, input.cwd);
  const version = newVersion(options.now());
  let report: ImportReport | undefined;
  await buildDataset(
    {
      name: "import",
      version,
      stage: async (connection) => {
        report = await stageFiles(connection, input, map, version, options);
      },
    },
    options,
  );
  if (!report) throw new Error("nothing was imported");
  return report;
}

async function readMap(name: string, cwd: string): Promise<ImportMap> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, name), "utf8");
  } catch (error) {
    throw new InputError(
      `the map ${name} cannot be read: ${firstLine(error)}`,
      "headcount service map --suggest FILE makes one",
    );
  }
  return parseMap(text, name);
}

async function stageFiles(
  connection: DuckDBConnection,
  input: ImportInput,
  map: ImportMap,
  version: string,
  options: BuildOptions,
): Promise<ImportReport> {
  const rejects = new RejectFile(resolve(input.cwd, input.rejects), options.datasetDir);
  try {
    const people = await stageTable(connection, "people", input.people, map, input.cwd, rejects, options);
    const companies = await stageTable(connection, "companies", input.companies, map, input.cwd, rejects, options);
    if (people.taken === 0) {
      const path = await rejects.finish();
      const why = Object.entries(people.reasons).map(([reason, count]) => `${reason} ${count}`);
      throw new InputError(
        people.rows === 0
          ? `no rows in ${input.people.join(", ")}`
          : `none of ${people.rows} rows of people can be taken: ${why.join(", ")}`,
        path === null ? undefined : `the rows and reasons are in ${path}; the dataset is unchanged`,
      );
    }
    const departments = await departmentReport(connection);
    const cleared = {
      ...(await clearedReport(connection, "people")),
      ...(await clearedReport(connection, "companies")),
    };
    await typedTables(connection);
    const derived = input.companies.length > 0 ? 0 : await deriveCompanies(connection);
    return {
      version,
      people,
      companies: { ...companies, derived },
      departments,
      cleared,
      rejects: await rejects.finish(),
    };
  } catch (error) {
    await rejects.abandon();
    throw error;
  }
}
