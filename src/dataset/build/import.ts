import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { counted, grouped, someOf } from "../../shared/contract/text.ts";
import { InputError } from "../../shared/tables/input-file.ts";
import type { TextOptions } from "../../shared/tables/rows.ts";
import { decoded, plainOf } from "../../shared/tables/table.ts";
import { readWrittenJson } from "../../shared/written-json.ts";
import { newVersion } from "../layout.ts";
import { type BuildSource, buildDataset } from "./build.ts";
import { findFiles, firstLine, stagedFileBytes } from "./import-files.ts";
import { type ImportMap, NO_MAP, parseMap } from "./import-map.ts";
import { type Staging, stageTable, type TableReport } from "./import-stage.ts";
import {
  type ClearedReport,
  clearedReport,
  type DepartmentReport,
  departmentReport,
  deriveCompanies,
  typedTables,
} from "./import-values.ts";
import type { BuildOptions } from "./options.ts";
import { type RejectFile, rejectFileAt } from "./rejects.ts";

export interface ImportInput extends TextOptions {
  readonly people: readonly string[];
  readonly companies: readonly string[];
  readonly map?: string;
  readonly cwd: string;
  readonly rejects: string;
  /**
   * How many rows of all may be refused: a number of rows,
   * or a share from 0 to 1. No limit where neither is given.
   */
  readonly maxRefused?: { readonly rows: number } | { readonly share: number };
  readonly dryRun?: boolean;
}

export interface ImportReport {
  readonly version: string;
  readonly people: TableReport;
  readonly companies: TableReport & { readonly derived: number };
  readonly departments: DepartmentReport;
  readonly cleared: Readonly<Record<string, ClearedReport>>;
  /** People who were taken and left out by the list; null: that was not tried. */
  readonly suppressed: number | null;
  readonly rejects: string | null;
}

class TooManyRefusedError extends Error {
  override readonly name = "TooManyRefusedError";
}

/** The old dataset stays until the new one is whole. @throws InputError, TooManyRefusedError */
export async function importDataset(
  input: ImportInput,
  options: BuildOptions,
): Promise<ImportReport> {
  const source = await filesToImport(input, options);
  const meta = await buildDataset(source, options);
  const report = source.report();
  const { taken } = report.people;
  return { ...report, suppressed: meta === undefined ? null : taken - meta.people };
}

/** What is made of files: of a dry run only the report. */
export async function filesToImport(
  input: ImportInput,
  options: BuildOptions,
): Promise<BuildSource & { readonly report: () => ImportReport }> {
  const map = input.map === undefined ? NO_MAP : await readMap(input.map, input.cwd);
  const version = newVersion(options.now());
  let report: ImportReport | undefined;

  return {
    version,
    rows: "raw_people",

    async bytes(connection) {
      return stagedFileBytes(await findFiles(connection, importedFiles(input), input.cwd));
    },

    async stage(connection, scratch) {
      report = await stageFiles({ connection, scratch, map, input, options }, version);
      return input.dryRun ? undefined : someOf(importedFiles(input).map((name) => basename(name)));
    },

    report() {
      if (report === undefined) throw new Error("nothing was imported");
      return report;
    },
  };
}

export const importedFiles = ({ companies, people }: ImportInput): string[] => [
  ...people,
  ...companies,
];

async function readMap(name: string, cwd: string): Promise<ImportMap> {
  const bytes = await readFile(resolve(cwd, name)).catch((error) => {
    throw new InputError(
      `the map ${name} cannot be read: ${firstLine(error)}`,
      'a map is a JSON file: {"people": {"title": "Job Title"}}',
    );
  });

  const { text } = decoded(name, plainOf(name, bytes).bytes);
  const read = readWrittenJson(text, name, MOST_MAPPED);
  if (read.ok) return parseMap(read.value, name);
  throw new InputError(read.message, 'a map looks like {"people": {"title": "Job Title"}}');
}

/** Values of a field may be many. */
const MOST_MAPPED = 1e6;

type Stage = Pick<Staging, "connection" | "scratch" | "map" | "options"> & {
  readonly input: ImportInput;
};

async function stageFiles(
  { connection, input, map, options, scratch }: Stage,
  version: string,
): Promise<ImportReport> {
  const path = resolve(input.cwd, input.rejects);
  const files = await findFiles(connection, importedFiles(input), input.cwd);
  const read = [
    ...files.map((file) => file.path),
    ...(input.map === undefined ? [] : [resolve(input.cwd, input.map)]),
  ];
  const rejects = await rejectFileAt(path, options.datasetDir, read);

  const staging: Staging = {
    connection,
    map,
    scratch,
    cwd: input.cwd,
    text: input,
    rejects,
    options,
  };

  try {
    const people = await stageTable(staging, "people", input.people);
    const companies = await stageTable(staging, "companies", input.companies);
    await checkRefused(input, people, companies, rejects);

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
      suppressed: null,
      rejects: await rejects.finish(),
    };
  } catch (error) {
    await rejects.abandon();
    throw error;
  }
}

async function checkRefused(
  input: ImportInput,
  people: TableReport,
  companies: TableReport,
  rejects: RejectFile,
): Promise<void> {
  const refused = people.refused + companies.refused;
  const rows = people.rows + companies.rows;
  const { maxRefused } = input;
  const most =
    maxRefused && ("rows" in maxRefused ? maxRefused.rows : Math.floor(maxRefused.share * rows));
  if (people.taken > 0 && (most === undefined || refused <= most)) return;

  const reasons = [people, companies].flatMap((table) => Object.entries(table.reasons));
  const why = reasons.map(([reason, count]) => `${reason} ${grouped(count)}`).join(", ");
  const place = await rejects.finish();
  const hint =
    place === null ? undefined : `the rows and reasons are in ${place}; the dataset is unchanged`;

  if (people.rows === 0) throw new InputError(`no rows in ${input.people.join(", ")}`);
  if (people.taken === 0)
    throw new InputError(
      `none of ${counted(people.rows, "row")} of people can be taken: ${why}`,
      hint,
    );

  throw new TooManyRefusedError(
    `${grouped(refused)} of ${grouped(rows)} rows are refused, ` +
      `${grouped(most ?? 0)} may be: ${why}; ${hint}`,
  );
}
