import { PERSON_FIELDS } from "../../shared/contract/records.ts";
import { isPlaced, type KeyIndex, type RowIndex } from "../columns.ts";
import { toNumber } from "../duckdb.ts";
import { RECORDS_A_BLOCK } from "../embedded/blocks.ts";
import { keyLineSql } from "../embedded/key-blocks.ts";
import { packedSql } from "../embedded/records.ts";
import { eachPiece, type PeopleDraft } from "./lines.ts";
import { addressKey, employerSql } from "./link-companies.ts";

/**
 * Records or keys that say what the others are like: together more than what can be packed against.
 */
export const SAMPLES = 400;

const RECORD = packedSql(PERSON_FIELDS);

const COMPANY_KEYS: Readonly<Record<string, string>> = {
  company_id: "id",
  company_domain: "domain_key",
  company_name: "name_key",
  company_address: addressKey("slug", "address"),
};

const PERSON_KEYS: Readonly<Record<RowIndex, readonly [key: string, table: string]>> = {
  name: ["normal_form(name)", "staged_people"],
  headline: ["normal_form(headline)", "staged_people"],
  address: [addressKey("slug_of(address)", "address"), "staged_people"],
  employer: ["employer_key", "employed JOIN company_of ON company_of.rowid = link"],
};

export async function writeCompanies(writing: PeopleDraft): Promise<void> {
  const { writer } = writing;
  writer.packAgainst("companies", await samplesOf(writing, "doc", "keyed_companies", "seq"));
  await eachPiece(
    writing,
    "SELECT doc FROM keyed_companies ORDER BY seq",
    async (lines, isLast) => {
      return (await writer.addRecords("companies", lines, isLast)).size;
    },
  );

  for (const [index, key] of Object.entries(COMPANY_KEYS)) {
    await writeKeys(
      writing,
      index as KeyIndex,
      `SELECT ${key} AS key, seq AS rid FROM keyed_companies`,
    );
  }
}

/** Many people are written in rounds, so that not all of their records lie on the disk at once. */
export const PEOPLE_A_ROUND = 76_800 * RECORDS_A_BLOCK;
const MOST_ROUNDS = 4;

/**
 * In public order. The sort of so many texts is DuckDB's,
 * which spills what does not fit into its memory.
 */
export async function writeRecords(
  writing: PeopleDraft,
  peopleARound: number,
  onDone: (done: number) => void,
): Promise<void> {
  const { people, writer } = writing;
  writer.packAgainst("people", await samplesOf(writing, RECORD, "staged_people", "place"));

  const rounds = Math.min(MOST_ROUNDS, Math.ceil(people / peopleARound));
  const most = Math.ceil(people / rounds / RECORDS_A_BLOCK) * RECORDS_A_BLOCK;
  let rows = 0;
  for (let first = 0; first < people; first += most) {
    const some = `SELECT * FROM staged_people JOIN positions USING (place)
      WHERE rid >= ${first} AND rid < ${first + most}`;
    const records = `SELECT ${RECORD} FROM (${employerSql(`(${some})`)}) ORDER BY rid`;

    await eachPiece(writing, records, async (lines, isLast) => {
      const { count, size } = await writer.addRecords("people", lines, isLast);
      rows += count;
      onDone(rows);
      return size;
    });
  }

  if (rows !== people) throw new Error(`${rows} of ${people} records are written`);
}

export async function writePeopleKeys(
  writing: PeopleDraft,
  indexes: readonly RowIndex[],
): Promise<void> {
  const { columns, people, writer } = writing;
  for (const index of indexes) {
    const [key, table] = PERSON_KEYS[index];
    if (index === "headline")
      writer.packAgainst(index, await samplesOf(writing, key, table, "place"));

    const order = new Uint32Array(isPlaced(index) ? people : 0);
    let next = 0;
    const keys = `SELECT * FROM (SELECT ${key} AS key, * FROM ${table})
      JOIN positions USING (place)`;

    await writeKeys(writing, index, keys, (rids) => {
      if (isPlaced(index)) order.set(rids, next);
      next += rids.length;
    });
    if (isPlaced(index)) await columns.addOrder(index, order.subarray(0, next));
  }
}

async function samplesOf(
  { connection }: PeopleDraft,
  text: string,
  table: string,
  number: string,
): Promise<string[]> {
  const reckoned = await connection.runAndReadAll(`SELECT count(*), max(${number}) FROM ${table}`);
  const [rows = 0, last = 0] = (reckoned.getRowsJS()[0] ?? []).map(toNumber);
  const step = Math.max(1, Math.floor(rows / SAMPLES));
  // A list, so that the texts of no other row are read.
  const numbers = Array.from({ length: Math.floor(last / step) + 1 }, (_, index) => index * step);
  const reader = await connection.runAndReadAll(
    `SELECT ${text} FROM ${table} WHERE ${number} IN (${numbers.join(", ")}) ORDER BY ${number}`,
  );
  return reader.getRowsJS().map(([sample]) => String(sample ?? ""));
}

const ALL_BUT_FILTERED_AFTERWARDS = 2 ** 32;

async function writeKeys(
  writing: PeopleDraft,
  index: KeyIndex,
  keys: string,
  onRids?: (rids: readonly number[]) => void,
): Promise<void> {
  // Ranks are quicker to sort than texts.
  const sorted = `SELECT key, rid FROM (${keys})
    ORDER BY ${index === "employer" ? "employer_rank" : "key"}, rid
    LIMIT ${ALL_BUT_FILTERED_AFTERWARDS}`;
  const lines = `SELECT ${keyLineSql("key", "rid")} FROM (${sorted}) WHERE key IS NOT NULL`;
  await eachPiece(writing, lines, async (piece, isLast) => {
    const { rids, size } = await writing.writer.addKeys(index, piece, isLast);
    onRids?.(rids);
    return size;
  });
}
