import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { PERSON_FIELDS } from "../../shared/contract/records.ts";
import { isPlaced, type KeyIndex, type RowIndex } from "../columns.ts";
import { literal } from "../duckdb.ts";
import type { ColumnWriter } from "../embedded/column-writer.ts";
import { keyLineSql } from "../embedded/key-blocks.ts";
import type { RecordWriter } from "../embedded/record-writer.ts";
import { packedSql } from "../embedded/records.ts";
import { employerSql } from "./link-companies.ts";
import type { PublicOrder } from "./order-people.ts";
import { inPieces, PEOPLE_A_PART, PIECE_BYTES, RecordParts } from "./record-parts.ts";

/** Records or keys that say what the others are like: together more than what can be packed against. */
const SAMPLES = 400;
/** Two row groups of DuckDB: some 110 MB of records, and each part is joined with all companies. */
export const PEOPLE_AT_ONCE = 245_760;

const RECORD = packedSql(PERSON_FIELDS);

/** Slug first, the rest behind a character that it cannot hold: a bare slug is then a range of keys. */
const addressKey = (slug: string, address: string): string =>
  `${slug} || '/' || left(${address}, length(${address}) - length(${slug}))`;

const COMPANY_KEYS: Readonly<Partial<Record<KeyIndex, string>>> = {
  company_id: "id",
  company_domain: "domain_key",
  company_name: "name_key",
  company_address: addressKey("slug", "address"),
};

/** The people of a company without an address are found by its position, which wants the join. */
const PERSON_KEYS: Readonly<Record<RowIndex, readonly [key: string, table: string]>> = {
  name: ["normal_form(name)", "staged_people"],
  headline: ["normal_form(headline)", "staged_people"],
  address: [addressKey("slug_of(address)", "address"), "staged_people"],
  employer: [
    `CASE WHEN company_address IS NULL THEN '/' || company ELSE ${addressKey("slug_of(company_address)", "company_address")} END`,
    "linked_people",
  ],
};

export interface RecordsOutput {
  readonly connection: DuckDBConnection;
  readonly writer: RecordWriter;
  readonly scratch: string;
  readonly signal: AbortSignal;
}

/** Companies in the order of their ids, then what they are looked up by in the order of each index. */
export async function writeCompanies(writing: RecordsOutput): Promise<void> {
  const { connection, writer } = writing;
  writer.packAgainst("companies", await samplesOf(connection, "doc", "keyed_companies", "seq"));
  await eachPiece(writing, "SELECT doc FROM keyed_companies ORDER BY seq", async (lines, isLast) => {
    return (await writer.addRecords("companies", lines, isLast)).taken;
  });
  for (const [index, key] of Object.entries(COMPANY_KEYS)) {
    await writeKeys(writing, index as KeyIndex, `SELECT ${key} AS key, seq AS rid FROM keyed_companies`);
  }
}

/** Many people are written in rounds, so that not all of their records lie on the disk at once. */
const FILES_A_ROUND = 10;
const MOST_ROUNDS = 4;

/** @param peopleAtOnce of how many people records lie in one file before they are put in order */
export async function writeRecords(
  writing: RecordsOutput,
  { places: { length: people }, staged }: PublicOrder,
  peopleAtOnce: number,
  onDone: (done: number) => void,
): Promise<void> {
  const { connection, writer, scratch } = writing;
  writer.packAgainst("people", await samplesOf(connection, RECORD, "linked_people", "place"));
  const rounds = Math.min(MOST_ROUNDS, Math.ceil(people / (FILES_A_ROUND * peopleAtOnce)));
  const most = Math.ceil(people / rounds / PEOPLE_A_PART) * PEOPLE_A_PART;
  await following(async (pack) => {
    for (let first = 0; first < people; first += most) {
      const count = Math.min(most, people - first);
      const parts = new RecordParts(scratch, first, count);
      const placesAtOnce = Math.ceil((peopleAtOnce * people) / count);
      await scatterRecords(writing, parts, { from: first, to: first + count, staged, placesAtOnce });
      await pack(() => packRecords(writing, parts, (done) => onDone(first + done)));
    }
  });
}

/** Gives `prepare` what begins a work once the one before has ended. None is at work when this ends or throws. */
async function following(
  prepare: (next: (work: () => Promise<unknown>) => Promise<void>) => Promise<void>,
): Promise<void> {
  let before: Promise<unknown> = Promise.resolve();
  try {
    await prepare(async (work) => {
      await before;
      before = work();
      before.catch(() => undefined);
    });
    await before;
  } finally {
    await before.catch(() => undefined);
  }
}

/** Positions that are written together, and how many staged rows are looked through for them at once. */
interface Round {
  readonly from: number;
  readonly to: number;
  readonly staged: number;
  readonly placesAtOnce: number;
}

/** Makes the records of a round, in the order in which they are staged. The next file is written while one is taken. */
async function scatterRecords(
  { connection, scratch, signal }: RecordsOutput,
  parts: RecordParts,
  { from, to, staged, placesAtOnce }: Round,
): Promise<void> {
  await following(async (take) => {
    for (let place = 0; place < staged; place += placesAtOnce) {
      const path = join(scratch, `staged-${place}`);
      const where = `rid >= ${from} AND rid < ${to} AND place >= ${place} AND place < ${place + placesAtOnce}`;
      const people = `(SELECT * FROM staged_people JOIN positions USING (place) WHERE ${where})`;
      await copyLines(connection, `SELECT concat(rid, ' ', ${RECORD}) FROM (${employerSql(people)})`, path);
      signal.throwIfAborted();
      await take(() => parts.take(path));
    }
  });
}

async function packRecords(
  { writer, signal }: RecordsOutput,
  parts: RecordParts,
  onDone: (done: number) => void,
): Promise<void> {
  let done = 0;
  await following(async (pack) => {
    for await (const records of parts.inOrder()) {
      signal.throwIfAborted();
      await pack(async () => {
        done += (await writer.addRecords("people", records, true)).count;
        onDone(done);
      });
    }
  });
}

/** The keys of these indexes in order, and the orders of the people that go with two of them. */
export async function writePeopleKeys(
  writing: RecordsOutput,
  columns: ColumnWriter,
  people: number,
  indexes: readonly RowIndex[],
): Promise<void> {
  const { connection, writer } = writing;
  for (const index of indexes) {
    const [key, table] = PERSON_KEYS[index];
    if (index === "headline") writer.packAgainst(index, await samplesOf(connection, key, table, "place"));
    const order = new Uint32Array(isPlaced(index) ? people : 0);
    let next = 0;
    const keys = `SELECT key, rid FROM (SELECT ${key} AS key, place FROM ${table}) JOIN positions USING (place)`;
    await writeKeys(writing, index, keys, (rids) => {
      if (isPlaced(index)) order.set(rids, next);
      next += rids.length;
    });
    if (isPlaced(index)) await columns.addOrder(index, order.subarray(0, next));
  }
}

async function samplesOf(connection: DuckDBConnection, text: string, table: string, number: string): Promise<string[]> {
  const reader = await connection.runAndReadAll(`SELECT ${text} FROM ${table}
    WHERE ${number} % (SELECT greatest(1, count(*) // ${SAMPLES}) FROM ${table}) = 0 ORDER BY ${number}`);
  return reader.getRowsJS().map(([sample]) => String(sample));
}

/** @param keys a query of keys, NULL for none, and whose they are */
async function writeKeys(
  writing: RecordsOutput,
  index: KeyIndex,
  keys: string,
  onRids: (rids: readonly number[]) => void = () => undefined,
): Promise<void> {
  const lines = `SELECT ${keyLineSql("key", "rid")} FROM (${keys}) WHERE key IS NOT NULL ORDER BY key, rid`;
  await eachPiece(writing, lines, async (piece, isLast) => {
    const { rids, taken } = await writing.writer.addKeys(index, piece, isLast);
    onRids(rids);
    return taken;
  });
}

/** The texts of a query as lines. Through a file: value by value costs three times as much. */
async function eachPiece(
  { connection, scratch, signal }: RecordsOutput,
  query: string,
  take: (lines: Buffer<ArrayBuffer>, isLast: boolean) => Promise<number>,
): Promise<void> {
  const path = join(scratch, `lines-${randomBytes(6).toString("hex")}`);
  await copyLines(connection, query, path);
  await inPieces(path, Buffer.allocUnsafeSlow(PIECE_BYTES), (piece, isLast) => {
    signal.throwIfAborted();
    return take(piece, isLast);
  });
}

const copyLines = async (connection: DuckDBConnection, query: string, path: string): Promise<void> => {
  await connection.run(`COPY (${query}) TO ${literal(path)} (FORMAT csv, HEADER false, QUOTE '', ESCAPE '')`);
};
