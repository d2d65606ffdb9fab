// Tested by test/unit/output-formats.test.ts.
import { createReadStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { FOLDER_MODE } from "../../../shared/folder.ts";
import { type JsonRecord, parseExact } from "../../../shared/rows/values.ts";
import type { Chosen, StoredFile, WholeFormat, WholeRows } from "../stored.ts";
import { append, definitions, loadDuckDb, openFile, sqlText } from "./duck.ts";

/** In a folder that nobody else may enter: DuckDB writes with the modes it likes. */
async function* copied(
  scratch: string,
  work: (connection: DuckDBConnection, to: string) => Promise<void>,
): AsyncGenerator<Buffer> {
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { mode: FOLDER_MODE });

  try {
    const written = join(scratch, "rows.parquet");
    const to = `TO ${sqlText(written)} (FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE 122880)`;
    const { connection, close } = await openFile(join(scratch, "rows.duckdb"), {
      temp_directory: scratch,
    });
    await work(connection, to).finally(close);
    yield* createReadStream(written);
  } catch (error) {
    // DuckDB tells no errno: the disk is asked for a block, and says itself whether it is full.
    await writeFile(join(scratch, "block"), Buffer.alloc(262_144));
    throw error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const bytes = ({ pages, columns }: WholeRows, scratch: string): AsyncIterable<Buffer> =>
  copied(scratch, async (connection, to) => {
    const duckdb = await loadDuckDb();
    async function* batches(): AsyncGenerator<readonly JsonRecord[]> {
      for await (const page of pages()) yield page.rows();
    }
    await connection.run(`CREATE TABLE rows (${definitions(duckdb, columns).join(", ")})`);
    await append(duckdb, connection, { table: ["rows"], columns, batches: batches() });
    await connection.run(`COPY rows ${to}`);
  });

// A name is no pattern.
const nameOf = (path: string): string => sqlText(path.replace(/[[*?]/g, "[$&]"));

async function* selected(query: string): AsyncGenerator<string> {
  const { connection, close } = await openFile(":memory:");
  try {
    const result = await connection.stream(query);
    for await (const rows of result.yieldRows()) for (const [value] of rows) yield String(value);
  } finally {
    close();
  }
}

const records = (path: string): AsyncGenerator<string> =>
  selected(`SELECT to_json(t)::VARCHAR FROM read_parquet(${nameOf(path)}) t`);

async function* without(
  { path }: StoredFile,
  chosen: Chosen,
  scratch: string | undefined,
): AsyncGenerator<Uint8Array> {
  const positions: number[] = [];
  let at = 0;
  for await (const text of records(path)) {
    if (chosen(text, () => parseExact(text))) positions.push(at);
    at++;
  }

  if (positions.length === 0 || scratch === undefined) return;

  const rows = `read_parquet(${nameOf(path)}, file_row_number = true)`;
  const query =
    `SELECT * EXCLUDE file_row_number FROM ${rows} WHERE ` +
    `file_row_number NOT IN (${positions.join(", ")})`;

  yield* copied(scratch, async (connection, to) => {
    await connection.run(`COPY (${query} ORDER BY file_row_number) ${to}`);
  });
}

async function count({ path }: StoredFile): Promise<number> {
  const sum = selected(`SELECT sum(num_rows) FROM parquet_file_metadata(${nameOf(path)})`);
  for await (const rows of sum) return Number(rows);
  return 0;
}

async function* text(path: string): AsyncGenerator<Uint8Array> {
  for await (const record of records(path)) yield Buffer.from(`${record}\n`);
}

export const parquet: WholeFormat = {
  load: () => loadDuckDb(),
  checkRoom: () => undefined,
  bytes,
  count,
  without,
  text,
};
