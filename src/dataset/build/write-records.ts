import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { type KeyIndex, ROW_INDEXES } from "../columns.ts";
import { literal, scalar, toNumber } from "../duckdb.ts";
import { keyLineSql } from "../embedded/key-blocks.ts";
import type { RecordWriter } from "../embedded/record-writer.ts";

/** Records or keys that say what the others are like: together more than what can be packed against. */
const SAMPLES = 400;
/** Half a row group of DuckDB, and whole blocks of records and of keys: some 27 MB of records. */
const ROWS_A_PART = 61_440;

/** Slug first, with what comes before it behind a character that it cannot hold: a bare slug is then a range of keys. */
export const addressKey = (slug: string, address: string): string =>
  `${slug} || '/' || left(${address}, length(${address}) - length(${slug}))`;

const COMPANY_KEYS: Readonly<Partial<Record<KeyIndex, string>>> = {
  company_id: "id",
  company_domain: "domain_key",
  company_name: "name_key",
  company_address: addressKey("slug", "address"),
};

/** Where the texts of a table are written for a moment, on their way from DuckDB. */
export interface Writing {
  readonly connection: DuckDBConnection;
  readonly writer: RecordWriter;
  readonly scratch: string;
  readonly signal: AbortSignal;
}

/** Companies in the order of their ids, then what they are looked up by in the order of each index. */
export async function writeCompanies(writing: Writing): Promise<void> {
  const { connection, writer } = writing;
  writer.packAgainst("companies", await samplesOf(connection, "doc", "keyed_companies"));
  await inParts(writing, "keyed_companies", "doc", (lines) => writer.addRecords("companies", lines));
  for (const [index, key] of Object.entries(COMPANY_KEYS)) {
    const table = `by_${index}`;
    await connection.run(
      `CREATE TABLE ${table} AS SELECT ${key} AS key, seq AS rid FROM keyed_companies WHERE key IS NOT NULL ORDER BY key, rid`,
    );
    await writeKeys(writing, index as KeyIndex);
  }
}

/** Records in public order, then what is looked up in the order of each index. */
export async function writePeople(writing: Writing, people: number, onDone: (done: number) => void): Promise<void> {
  const { connection, writer } = writing;
  writer.packAgainst("people", await samplesOf(connection, "doc", "sorted_people"));
  writer.packAgainst("headline", await samplesOf(connection, "key", "by_headline"));
  let done = 0;
  await inParts(writing, "sorted_people", "doc", async (lines) => {
    done += await writer.addRecords("people", lines);
    onDone(done);
  });
  if (done !== people) throw new Error(`sorted ${done} of ${people} people`);
  for (const index of ROW_INDEXES) await writeKeys(writing, index);
}

/** Evenly over a table. */
async function samplesOf(connection: DuckDBConnection, column: string, table: string): Promise<string[]> {
  const reader = await connection.runAndReadAll(`SELECT ${column} FROM ${table}
    WHERE rowid % (SELECT greatest(1, count(*) // ${SAMPLES}) FROM ${table}) = 0 ORDER BY rowid`);
  return reader.getRowsJS().map(([text]) => String(text));
}

const writeKeys = (writing: Writing, index: KeyIndex): Promise<void> =>
  inParts(writing, `by_${index}`, keyLineSql("key", "rid"), (lines) => writing.writer.addKeys(index, lines));

/**
 * A text of each row of a table, in its order, as lines. Through files: value by value each costs a call into DuckDB and a decoding, which is
 * three times as much for a key. The next part is written while one is taken.
 */
async function inParts(
  { connection, scratch, signal }: Writing,
  table: string,
  line: string,
  take: (lines: Buffer<ArrayBuffer>) => Promise<unknown>,
): Promise<void> {
  const rows = toNumber(await scalar(connection, `SELECT count(*) FROM ${table}`));
  const path = join(scratch, table);
  let before: Promise<unknown> = Promise.resolve();
  try {
    for (let from = 0; from < rows; from += ROWS_A_PART) {
      await connection.run(`COPY (SELECT ${line} FROM ${table} WHERE rowid >= ${from} AND rowid < ${from + ROWS_A_PART})
        TO ${literal(path)} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '')`);
      const lines = await readFile(path, { signal });
      await before;
      before = take(lines as Buffer<ArrayBuffer>);
      before.catch(() => undefined);
    }
    await before;
  } finally {
    await rm(path, { force: true });
  }
}
