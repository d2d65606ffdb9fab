import { open, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { gunzipSync, constants as zlib } from "node:zlib";
import type { DuckDBConnection } from "@duckdb/node-api";
import { withoutSecrets } from "../../shared/contract/text.ts";
import { type FileFormat, InputError, type InputFile } from "../../shared/tables/input-file.ts";
import { fileKind, TELLING_BYTES } from "../../shared/tables/kinds.ts";
import { identifier, literal, told } from "../duckdb.ts";

const FORMATS: Readonly<Record<InputFile["kind"], FileFormat>> = {
  parquet: "parquet",
  text: "csv",
  workbook: "csv",
  objects: "ndjson",
  array: "ndjson",
};

export async function findFiles(
  connection: DuckDBConnection,
  names: readonly string[],
  cwd: string,
): Promise<InputFile[]> {
  const files: InputFile[] = [];
  for (const name of names) {
    const path = resolve(cwd, name);
    const stats = await stat(path).catch(() => undefined);
    if (stats || !/[*?[]/.test(name)) files.push(await inputFile(withoutSecrets(name), path));
    else {
      // The folder that the name is relative to is no pattern.
      const pattern = isAbsolute(name) ? name : join(literalPath(cwd), name);
      const reader = await connection.runAndReadAll("SELECT file FROM glob(?) ORDER BY file", [
        pattern,
      ]);
      const paths = reader.getRowsJS().map((row) => String(row[0]));
      if (paths.length === 0)
        throw new InputError(
          `no file matches ${withoutSecrets(name)}`,
          "quote the pattern, or check the folder",
        );
      for (const match of paths) files.push(await inputFile(match, match));
    }
  }

  const before = new Set<string>();
  for (const { name, path } of files) {
    if (before.has(path)) throw new InputError(`${name} is given twice`, "name each file once");
    before.add(path);
  }

  return files;
}

async function inputFile(name: string, path: string): Promise<InputFile> {
  const refuse = (error: unknown): never => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOENT" || code === "ENOTDIR")
      throw new InputError(`${name} does not exist`, "check the path");
    throw new InputError(
      `${name} cannot be read: ${code || String(error)}`,
      code === "EACCES" ? "whoever runs this needs to be allowed to read it" : undefined,
    );
  };

  const info = await stat(path).catch(refuse);
  if (info.isDirectory())
    throw new InputError(
      `${name} is a folder, not a file`,
      `for all files in it: "${name}/*.parquet"`,
    );

  if (!info.isFile())
    throw new InputError(`${name} is not a regular file`, "write the rows to a file first");
  if (info.size === 0) throw new InputError(`${name} is empty`);

  const { kind, packed } = await lookedAt(name, path).catch((error: unknown) =>
    error instanceof InputError ? Promise.reject(error) : refuse(error),
  );
  return { name, path, format: FORMATS[kind], kind, packed, bytes: info.size };
}

/** What a file is, by its first bytes, unpacked. */
async function lookedAt(name: string, path: string): Promise<Pick<InputFile, "kind" | "packed">> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TELLING_BYTES), 0, TELLING_BYTES, 0);
    const head = buffer.subarray(0, bytesRead);
    const kind = fileKind(name, head);
    if (kind !== "gzip") return { kind, packed: false };

    const unpacked = gunzipSync(head, { finishFlush: zlib.Z_SYNC_FLUSH });
    const inner = fileKind(name, unpacked);
    if (inner !== "gzip" && inner !== "parquet") return { kind: inner, packed: true };
    throw new InputError(
      `${name} is ${inner === "gzip" ? "packed twice" : "Parquet, packed"}`,
      `unpack it: gunzip ${name}`,
    );
  } finally {
    await file.close();
  }
}

/**
 * Of the sample's people 0.8 KB in DuckDB's memory are 75
 * bytes of packed Parquet, 400 of CSV and 700 of NDJSON.
 */
const STAGED_OF_A_BYTE: Readonly<Record<FileFormat, number>> = { parquet: 10, csv: 2, ndjson: 1.2 };
const BYTES_OF_A_PACKED_ONE = 6;

export function stagedFileBytes(files: readonly InputFile[]): number {
  const bytesOf = ({ bytes, format, packed, kind }: InputFile): number =>
    bytes * STAGED_OF_A_BYTE[format] * (packed || kind === "workbook" ? BYTES_OF_A_PACKED_ONE : 1);
  return files.reduce((sum, file) => sum + bytesOf(file), 0);
}

const literalPath = (path: string): string =>
  path.replace(/[*?[]/g, (character) => `[${character}]`);

export const parquetSql = (file: InputFile): string =>
  `read_parquet(${literal(literalPath(file.path))}, file_row_number = true)`;

/**
 * Of each column the name, and the type that DuckDB reads it as.
 * @throws InputError where it cannot be read
 */
export async function parquetColumns(connection: DuckDBConnection, file: InputFile) {
  try {
    const reader = await connection.runAndReadAll(
      `DESCRIBE SELECT * EXCLUDE (file_row_number) FROM ${parquetSql(file)}`,
    );
    const wide = await wideDecimals(connection, file);
    return reader.getRowsJS().map(([name, type]) => {
      const own = type === "DOUBLE" ? wide.get(String(name)) : undefined;
      return { name: String(name), type: own ?? String(type) };
    });
  } catch (error) {
    throw unreadableInput(file, error);
  }
}

/**
 * DuckDB (1.5.6) reads decimals of more than 38 digits as
 * DOUBLE, and wrongly where they are no multiple of 8 bytes.
 */
async function wideDecimals(
  connection: DuckDBConnection,
  file: InputFile,
): Promise<Map<string, string>> {
  const reader = await connection.runAndReadAll(
    `SELECT name, precision, scale FROM parquet_schema(${literal(literalPath(file.path))})
     WHERE precision > 38 AND type = 'FIXED_LEN_BYTE_ARRAY' AND type_length::INTEGER % 8 <> 0`,
  );
  return new Map(
    reader
      .getRowsJS()
      .map(([name, digits, scale]) => [String(name), `DECIMAL(${digits},${scale})`]),
  );
}

export const isMisread = (type: string): boolean => Number(/^DECIMAL\((\d+),/.exec(type)?.[1]) > 38;

/** Where the machine is too small, or the system refuses, the file is not at fault. */
export function unreadableInput(file: InputFile, thrown: unknown): unknown {
  const error = told(thrown);
  if (error instanceof InputError || (error instanceof Error && "syscall" in error)) return error;
  return new InputError(
    `${file.name} cannot be read as ${file.format}: ${firstLine(error)}`,
    "the dataset is unchanged",
  );
}

export const isNestedType = (type: string): boolean => /\[\d*\]$|^STRUCT|^MAP|^UNION/.test(type);

/**
 * The text of a field in a row of a Parquet file, before any checking; NULL where it is missing.
 */
export function fieldSql(column: string, type: string, isNumber = false): string {
  const name = identifier(column);
  if (type === "VARCHAR") return name;
  if (isNestedType(type)) return `to_json(${name})::VARCHAR`;
  // Spark and Hive write text as bytes without saying that it is UTF-8.
  if (type === "BLOB") return `TRY(decode(${name}))`;
  if (/^(DOUBLE|FLOAT|DECIMAL)/.test(type))
    return typedNumberSql(`${name}::DOUBLE`, `${name}::VARCHAR`, isNumber);
  return `${name}::VARCHAR`;
}

/**
 * Whole numbers kept as floats (a column with missing
 * values often is) as whole ones, NaN as missing.
 */
export const typedNumberSql = (double: string, text: string, isNumber: boolean): string =>
  `CASE WHEN isnan(${double}) THEN NULL WHEN ${double} = trunc(${double})
    AND abs(${double}) <= 9007199254740991
    THEN ${double}::BIGINT::VARCHAR
    WHEN ${isNumber} AND contains(${text}, '.') AND NOT contains(${text}, 'e')
    THEN ${text} || 'e0'
    ELSE ${text} END`;

export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n", 1)[0] ?? "";
