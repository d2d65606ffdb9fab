import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier, literal } from "../duckdb.ts";
import { InputError } from "./import-map.ts";

export type FileFormat = "parquet" | "csv" | "ndjson";

export interface InputFile {
  /** As the user wrote it, for messages. */
  readonly name: string;
  readonly path: string;
  readonly format: FileFormat;
  /** Size on disk, in bytes. */
  readonly bytes: number;
}

const FORMATS: Readonly<Record<string, FileFormat>> = {
  parquet: "parquet",
  pq: "parquet",
  csv: "csv",
  tsv: "csv",
  txt: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "ndjson",
};

/**
 * The files behind names and patterns (`*`, `?`, `[...]`), in the order given, those of a pattern sorted by name.
 * @throws InputError for a file that is missing, empty, a folder, or of an unknown kind
 */
export async function findFiles(
  connection: DuckDBConnection,
  names: readonly string[],
  cwd: string,
): Promise<InputFile[]> {
  const files: InputFile[] = [];
  for (const name of names) {
    const path = resolve(cwd, name);
    const found = await stat(path).catch(() => undefined);
    if (found || !/[*?[]/.test(name)) files.push(await inputFile(name, path));
    else {
      const reader = await connection.runAndReadAll("SELECT file FROM glob(?) ORDER BY file", [path]);
      const paths = reader.getRowsJS().map((row) => String(row[0]));
      if (paths.length === 0) throw new InputError(`no file matches ${name}`, "quote the pattern, or check the folder");
      for (const match of paths) files.push(await inputFile(match, match));
    }
  }
  const seen = new Set<string>();
  for (const { name, path } of files) {
    if (seen.has(path)) throw new InputError(`${name} is given twice`, "name each file once");
    seen.add(path);
  }
  return files;
}

async function inputFile(name: string, path: string): Promise<InputFile> {
  const info = await stat(path).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOENT" || code === "ENOTDIR") throw new InputError(`${name} does not exist`, "check the path");
    throw new InputError(`${name} cannot be read: ${code || String(error)}`);
  });
  if (info.isDirectory())
    throw new InputError(`${name} is a folder, not a file`, `for all files in it: "${name}/*.parquet"`);
  const format = formatOf(name);
  if (!info.isFile() && format === "parquet") throw new InputError(`${name} is not a regular file`);
  if (info.isFile() && info.size === 0) throw new InputError(`${name} is empty`);
  return { name, path, format, bytes: info.size };
}

function formatOf(name: string): FileFormat {
  const [, ending = "", packed] = /\.([a-z0-9]+?)(?:\.(gz|zst))?$/i.exec(name) ?? [];
  const format = FORMATS[ending.toLowerCase()];
  if (format === undefined || (format === "parquet" && packed)) {
    throw new InputError(
      `${name}: the kind of file is told by its ending, and this one is not known`,
      "endings: .parquet, .csv, .tsv, .ndjson, .jsonl, and all but .parquet also with .gz or .zst",
    );
  }
  return format;
}

/** A column of a file with its DuckDB type. */
export interface Column {
  readonly name: string;
  readonly type: string;
}

/** Rows of an NDJSON file that are looked at to learn its columns. */
const HEADER_ROWS = 2_000;

/** The columns of a file. @throws InputError where it is not what its ending says */
export async function readHeader(connection: DuckDBConnection, file: InputFile): Promise<Column[]> {
  try {
    if (file.format === "ndjson") return await ndjsonHeader(connection, file);
    const reader = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${readerSql(file)}`);
    return reader.getRowsJS().map((row) => ({ name: String(row[0]), type: String(row[1]) }));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(`${file.name} cannot be read as ${file.format}: ${firstLine(error)}`);
  }
}

async function ndjsonHeader(connection: DuckDBConnection, file: InputFile): Promise<Column[]> {
  const lines = `(SELECT line FROM ${readerSql(file)} WHERE line IS NOT NULL LIMIT ${HEADER_ROWS})`;
  const reader = await connection.runAndReadAll(
    `SELECT key, min(place) FROM (
      SELECT unnest(json_keys(line)) AS key, generate_subscripts(json_keys(line), 1) AS place
      FROM ${lines} WHERE json_valid(line) AND json_type(line) = 'OBJECT') GROUP BY key ORDER BY 2, 1`,
  );
  const columns = reader.getRowsJS().map((row) => ({ name: String(row[0]), type: "JSON" }));
  if (columns.length > 0) return columns;
  const first = await connection.runAndReadAll(`SELECT left(ltrim(line), 1) FROM ${lines} LIMIT 1`);
  if (first.getRowsJS()[0]?.[0] === "[") {
    throw new InputError(
      `${file.name} is one JSON array; one object a line is needed`,
      `jq -c '.[]' ${file.name} > ${file.name.replace(/\.json(\.gz|\.zst)?$/, "")}.ndjson`,
    );
  }
  throw new InputError(`${file.name} has no JSON object in its first ${HEADER_ROWS} lines`);
}

/** Whether a DuckDB type holds more than one value. */
export const isNested = (type: string): boolean => /\[\d*\]$|^STRUCT|^MAP|^UNION/.test(type);

/** Names of the temporary tables where DuckDB keeps lines that it could not read. */
export const REJECTS = { errors: "csv_reject_errors", scans: "csv_reject_scans" } as const;

/**
 * A FROM clause over the file. CSV: the dialect is sniffed, all columns are text. NDJSON: one column `line` with the raw line, so that
 * a broken one can be shown as it is. `keepRejects` collects unreadable lines in the {@link REJECTS} tables instead of failing.
 */
export function readerSql(file: InputFile, keepRejects = true): string {
  const path = literal(file.path);
  if (file.format === "parquet") return `read_parquet(${path})`;
  const rejects = keepRejects
    ? `, store_rejects = true, rejects_table = '${REJECTS.errors}', rejects_scan = '${REJECTS.scans}'`
    : "";
  if (file.format === "csv") return `read_csv(${path}, header = true, all_varchar = true${rejects})`;
  return `read_csv(${path}, columns = {'line': 'VARCHAR'}, delim = chr(1), quote = '', escape = '', comment = '', header = false,
    auto_detect = false${rejects})`;
}

/** The text of a field in a row of the file, before any checking; NULL where it is missing. */
export function fieldSql(file: InputFile, column: string, types: ReadonlyMap<string, string>): string {
  const name = identifier(column);
  const type = types.get(column) ?? "VARCHAR";
  if (type === "VARCHAR") return name;
  if (isNested(type)) return `to_json(${name})::VARCHAR`;
  if (type === "BLOB") throw new InputError(`${file.name}: column "${column}" holds bytes, not text`);
  // Whole numbers that a writer kept as floats (a column with missing values often is) read as whole numbers.
  if (type === "DOUBLE" || type === "FLOAT") {
    return `CASE WHEN ${name} = trunc(${name}) AND abs(${name}) < 9e15 THEN ${name}::BIGINT::VARCHAR ELSE ${name}::VARCHAR END`;
  }
  return `${name}::VARCHAR`;
}

export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
