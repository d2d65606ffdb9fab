import { mkdir, open, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { DuckDBType, DuckDBValue } from "@duckdb/node-api";
import { CliError, EXIT } from "../errors.ts";
import { ColumnUnion, eachCell, publishedFields } from "../render/columns.ts";
import type { Page } from "../render/page.ts";
import { cellOf, fieldValue, type JsonValue, type RecordKind } from "../render/values.ts";
import { FILE_MODE, FOLDER_MODE } from "../runs/disk.ts";

type DuckDb = typeof import("@duckdb/node-api");

/** What a column of the file holds; decided by every value of the run, so that no value is lost in a narrower type. */
type ColumnType = "text" | "integer" | "long" | "decimal" | "boolean" | "instant" | "list";

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)$/;
const LOWEST_BIGINT = -(2n ** 63n);
const HIGHEST_BIGINT = 2n ** 63n - 1n;
const CHUNK = 2048;

/** Types of published fields that a run may leave without any value. */
const PUBLISHED_TYPES: Readonly<Record<string, ColumnType>> = {
  connections: "integer",
  followers: "integer",
  employee_count: "integer",
  founded_year: "integer",
  specialties: "list",
  updated_at: "instant",
};

/** Asked before anything is bought. @throws CliError (exit 2) naming the package that is missing */
export async function loadParquet(): Promise<DuckDb> {
  try {
    return await import("@duckdb/node-api");
  } catch (cause) {
    throw new CliError({
      code: "missing_package",
      category: "usage",
      exitCode: EXIT.usage,
      message: `Parquet needs the optional package @duckdb/node-api, which cannot be loaded: ${firstLine(cause)}`,
      hint: "install it (npm install @duckdb/node-api beside headcount), or choose --format csv",
      cause,
    });
  }
}

const firstLine = (error: unknown): string => (error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "");

export interface ParquetOptions {
  /** The pages of the run, in order. Read twice: for the types of the columns, then for the rows. */
  readonly pages: () => AsyncIterable<Page> | Iterable<Page>;
  readonly kind: RecordKind;
  readonly columns?: readonly string[] | undefined;
  /** Where the file appears whole, synced, and for its owner alone; what is there is replaced. */
  readonly file: string;
}

/** Writes a run as one Parquet file. Works in a folder that nobody else may enter: the engine writes with the modes it likes. */
export async function writeParquet(options: ParquetOptions): Promise<readonly string[]> {
  const duckdb = await loadParquet();
  const { columns, types } = await surveyColumns(options);
  const scratch = `${resolve(options.file)}.scratch`;
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { mode: FOLDER_MODE });
  const written = join(scratch, "rows.parquet");
  try {
    const instance = await duckdb.DuckDBInstance.create(join(scratch, "rows.duckdb"), {
      memory_limit: "512MB",
      threads: "2",
      temp_directory: scratch,
    });
    try {
      const connection = await instance.connect();
      const definitions = distinctNames(columns).map(
        (column, index) => `${quoted(column)} ${duckType(duckdb, types[index])}`,
      );
      await connection.run(`CREATE TABLE rows (${definitions.join(", ")})`);
      const appender = await connection.createAppender("rows");
      const duckTypes = types.map((type) => duckType(duckdb, type));
      for await (const page of options.pages()) {
        const rows = page.rows();
        for (let from = 0; from < rows.length; from += CHUNK) {
          const part = rows.slice(from, from + CHUNK);
          const chunk = duckdb.DuckDBDataChunk.create(duckTypes, part.length);
          chunk.setColumns(
            columns.map((column, index) => part.map((row) => duckValue(duckdb, types[index], fieldValue(row, column)))),
          );
          appender.appendDataChunk(chunk);
        }
      }
      appender.closeSync();
      await connection.run(
        `COPY rows TO '${written.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)`,
      );
      connection.closeSync();
    } finally {
      instance.closeSync();
    }
    const file = await open(written, "r+");
    try {
      await file.chmod(FILE_MODE);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(written, options.file);
    return columns;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

export async function countParquet(path: string): Promise<number> {
  const { DuckDBInstance } = await loadParquet();
  const instance = await DuckDBInstance.create();
  try {
    const connection = await instance.connect();
    const reader = await connection.runAndReadAll("SELECT sum(num_rows) FROM parquet_file_metadata(?)", [
      // A name is no pattern.
      path.replace(/[[*?]/g, "[$&]"),
    ]);
    return Number(reader.getRows()[0]?.[0]);
  } finally {
    instance.closeSync();
  }
}

async function surveyColumns({ pages, kind, columns: pinned }: ParquetOptions): Promise<{
  readonly columns: readonly string[];
  readonly types: readonly ColumnType[];
}> {
  const union = new ColumnUnion();
  const seen = new Map<string, ColumnType>();
  const note = (column: string, value: JsonValue | undefined): void => {
    const type = value === undefined || value === null ? undefined : typeOf(value);
    if (type !== undefined) seen.set(column, common(seen.get(column), type));
  };
  for await (const page of pages()) {
    if (pinned === undefined) union.add(page);
    for (const row of page.rows()) {
      if (pinned === undefined) eachCell(row, note);
      else for (const column of pinned) note(column, fieldValue(row, column));
    }
  }
  const found = pinned ?? union.columns(kind);
  const columns = found.length === 0 ? publishedFields(kind) : found;
  return { columns, types: columns.map((column) => seen.get(column) ?? PUBLISHED_TYPES[column] ?? "text") };
}

function typeOf(value: NonNullable<JsonValue>): ColumnType {
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "bigint":
      return value >= LOWEST_BIGINT && value <= HIGHEST_BIGINT ? "long" : "text";
    case "number":
      return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? "integer" : "decimal";
    case "string":
      return INSTANT.test(value) && !Number.isNaN(Date.parse(value)) ? "instant" : "text";
    default:
      return Array.isArray(value) && value.every((item) => typeof item === "string") ? "list" : "text";
  }
}

function common(a: ColumnType | undefined, b: ColumnType): ColumnType {
  if (a === undefined || a === b) return b;
  const among = (...types: readonly ColumnType[]): boolean => types.includes(a) && types.includes(b);
  if (among("integer", "long")) return "long";
  // A long beside a decimal would lose digits in a double.
  return among("integer", "decimal") ? "decimal" : "text";
}

/** The engine tells names apart without regard to case: a second one gets a number. */
function distinctNames(columns: readonly string[]): string[] {
  const taken = new Set<string>();
  return columns.map((column) => {
    let name = column;
    for (let number = 2; taken.has(name.toLowerCase()); number++) name = `${column}_${number}`;
    taken.add(name.toLowerCase());
    return name;
  });
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function duckType(duckdb: DuckDb, type: ColumnType | undefined): DuckDBType {
  switch (type) {
    case "integer":
    case "long":
      return duckdb.BIGINT;
    case "decimal":
      return duckdb.DOUBLE;
    case "boolean":
      return duckdb.BOOLEAN;
    case "instant":
      return duckdb.TIMESTAMPTZ;
    case "list":
      return duckdb.LIST(duckdb.VARCHAR);
    default:
      return duckdb.VARCHAR;
  }
}

function duckValue(duckdb: DuckDb, type: ColumnType | undefined, value: JsonValue | undefined): DuckDBValue {
  if (value === undefined || value === null) return null;
  switch (type) {
    case "integer":
    case "long":
      return BigInt(value as number | bigint);
    case "decimal":
      return Number(value);
    case "boolean":
      return value as boolean;
    case "instant":
      return duckdb.timestampTZValue(micros(value as string));
    case "list":
      return duckdb.listValue((value as readonly string[]).map((item) => item.toWellFormed()));
    default:
      return String(cellOf(value)).toWellFormed();
  }
}

/** An ISO instant in microseconds since 1970; `Date` keeps only milliseconds. */
function micros(text: string): bigint {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  const seconds = Date.parse(text.replace(/\.\d+/, ""));
  return BigInt(seconds) * 1000n + BigInt(fraction.padEnd(6, "0"));
}
