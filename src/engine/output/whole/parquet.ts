import { mkdir, open, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { FOLDER_MODE } from "../../../shared/folder.ts";
import type { JsonRecord } from "../../../shared/rows/values.ts";
import { FILE_MODE } from "../../runs/disk.ts";
import { append, definitions, LIMITS, loadDuckDb } from "./duck.ts";
import { surveyColumns, type WholeOptions } from "./survey.ts";

export interface ParquetOptions extends WholeOptions {
  /** Where the file appears whole, synced, and for its owner alone; what is there is replaced. */
  readonly file: string;
}

const COPY = "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880)";

/** Writes a run as one Parquet file, in a folder that nobody else may enter: the engine sets its own modes. */
export async function writeParquet(options: ParquetOptions): Promise<readonly string[]> {
  const duckdb = await loadDuckDb();
  const { columns } = await surveyColumns(options);
  const scratch = `${resolve(options.file)}.scratch`;
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { mode: FOLDER_MODE });
  const written = join(scratch, "rows.parquet");
  async function* batches(): AsyncGenerator<readonly JsonRecord[]> {
    for await (const page of options.pages()) yield page.rows();
  }
  try {
    const settings = { ...LIMITS, temp_directory: scratch };
    const instance = await duckdb.DuckDBInstance.create(join(scratch, "rows.duckdb"), settings);
    try {
      const connection = await instance.connect();
      await connection.run(`CREATE TABLE rows (${definitions(duckdb, columns).join(", ")})`);
      await append(duckdb, connection, ["rows"], columns, batches());
      await connection.run(`COPY rows TO '${written.replaceAll("'", "''")}' ${COPY}`);
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
    return columns.map(({ name }) => name);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Writes a Parquet file anew as {@link writeParquet} does, without the rows at these places. */
export async function copyParquet(from: string, to: string, without: readonly number[]): Promise<void> {
  const { DuckDBInstance } = await loadDuckDb();
  const instance = await DuckDBInstance.create(":memory:", LIMITS);
  const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
  try {
    const connection = await instance.connect();
    // A name is no pattern.
    const rows = `read_parquet(${literal(from.replace(/[[*?]/g, "[$&]"))}, file_row_number = true)`;
    const left = `SELECT * EXCLUDE file_row_number FROM ${rows} WHERE file_row_number NOT IN (${without.join(", ")})`;
    await connection.run(`COPY (${left} ORDER BY file_row_number) TO ${literal(to)} ${COPY}`);
    connection.closeSync();
  } finally {
    instance.closeSync();
  }
}

export async function countParquet(path: string): Promise<number> {
  const { DuckDBInstance } = await loadDuckDb();
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
