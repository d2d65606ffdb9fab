import type { DuckDBConnection } from "@duckdb/node-api";
import { type KeyIndex, ROW_INDEXES } from "../columns.ts";
import type { RecordWriter } from "../embedded/record-writer.ts";

/** Records or keys that say what the others are like: together more than what can be packed against. */
const SAMPLES = 400;

/** Slug first, with what comes before it behind a character that it cannot hold: a bare slug is then a range of keys. */
export const addressKey = (slug: string): string =>
  `${slug} || '/' || left(address, length(address) - length(${slug}))`;

const COMPANY_KEYS: Readonly<Partial<Record<KeyIndex, string>>> = {
  company_id: "id",
  company_domain: "domain_key",
  company_name: "name_key",
  company_address: addressKey("slug"),
};

/** Companies in the order of their ids, then what they are looked up by in the order of each index. */
export async function writeCompanies(
  connection: DuckDBConnection,
  writer: RecordWriter,
  signal: AbortSignal,
): Promise<void> {
  writer.packAgainst("companies", await samplesOf(connection, "doc", "keyed_companies"));
  await writeColumn(
    connection,
    "SELECT doc FROM keyed_companies ORDER BY seq",
    (doc) => writer.addCompany(doc),
    signal,
  );
  for (const [index, key] of Object.entries(COMPANY_KEYS)) {
    const keys = `SELECT ${key} AS key, seq FROM keyed_companies WHERE key IS NOT NULL ORDER BY key, seq`;
    await writeKeys(connection, keys, (key, rid) => writer.addKey(index as KeyIndex, key, rid), signal);
  }
}

/** Records in public order, then what is looked up in the order of each index. */
export async function writePeople(
  connection: DuckDBConnection,
  writer: RecordWriter,
  people: number,
  signal: AbortSignal,
  onDone: (done: number) => void,
): Promise<void> {
  writer.packAgainst("people", await samplesOf(connection, "doc", "sorted_people"));
  writer.packAgainst("headline", await samplesOf(connection, "key", "by_headline"));
  const add = (doc: string): Promise<void> | undefined => writer.addPerson(doc);
  const done = await writeColumn(connection, "SELECT doc FROM sorted_people", add, signal, onDone);
  if (done !== people) throw new Error(`sorted ${done} of ${people} people`);
  for (const index of ROW_INDEXES) {
    const add = (key: string, rid: number): Promise<void> | undefined => writer.addKey(index, key, rid);
    await writeKeys(connection, `SELECT key, rid FROM by_${index}`, add, signal);
  }
}

/** Evenly over a table. */
async function samplesOf(connection: DuckDBConnection, column: string, table: string): Promise<string[]> {
  const reader = await connection.runAndReadAll(`SELECT ${column} FROM ${table}
    WHERE rowid % (SELECT greatest(1, count(*) // ${SAMPLES}) FROM ${table}) = 0 ORDER BY rowid`);
  return reader.getRowsJS().map(([text]) => String(text));
}

async function writeColumn(
  connection: DuckDBConnection,
  query: string,
  add: (text: string) => Promise<void> | undefined,
  signal: AbortSignal,
  onDone?: (done: number) => void,
): Promise<number> {
  let done = 0;
  for await (const chunk of await connection.stream(query)) {
    const texts = chunk.getColumnVector(0);
    for (let row = 0; row < chunk.rowCount; row++) {
      const full = add(String(texts.getItem(row)));
      if (full) await full;
    }
    done += chunk.rowCount;
    signal.throwIfAborted();
    onDone?.(done);
  }
  return done;
}

async function writeKeys(
  connection: DuckDBConnection,
  query: string,
  add: (key: string, rid: number) => Promise<void> | undefined,
  signal: AbortSignal,
): Promise<void> {
  for await (const chunk of await connection.stream(query)) {
    const keys = chunk.getColumnVector(0);
    const rids = chunk.getColumnVector(1);
    for (let row = 0; row < chunk.rowCount; row++) {
      const full = add(String(keys.getItem(row)), Number(rids.getItem(row)));
      if (full) await full;
    }
    signal.throwIfAborted();
  }
}
