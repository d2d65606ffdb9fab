import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { DuckDBConnection } from "@duckdb/node-api";
import {
  type Company,
  NUMBER_FIELDS,
  PERSON_FIELDS,
  type Person,
} from "../../shared/contract/records.ts";
import { literal } from "../duckdb.ts";
import type { RecordStore } from "../embedded/record-store.ts";
import { PERSON_FORMS } from "./normal-sql.ts";

const ROWS_AT_ONCE = 1_000;
/**
 * Records that lie in a file of their own for a moment:
 * so much disk is needed beside the table, some 100 MB.
 */
const ROWS_A_FILE = 200_000;

export async function* peopleOf(
  store: RecordStore,
  people: number,
  signal?: AbortSignal,
  onRead?: (done: number) => void,
): AsyncGenerator<string> {
  for (let start = 0; start < people; start += ROWS_AT_ONCE) {
    signal?.throwIfAborted();
    onRead?.(start);
    const length = Math.min(ROWS_AT_ONCE, people - start);
    const records = await store.people(Uint32Array.from({ length }, (_, index) => start + index));
    for (const record of records) yield record.toString();
  }
}

interface Room {
  readonly connection: DuckDBConnection;
  readonly scratch: string;
}

/** In DuckDB's memory, about. */
const BYTES_OF_STAGED_PERSON = 800;

export const stagedBytes = (people: number): number => people * BYTES_OF_STAGED_PERSON;

/** `staged_people`, in the order of the records. @returns how many */
export async function stagePeople(room: Room, records: AsyncGenerator<string>): Promise<number> {
  const count = await loadRecords(room, "loaded_people", PERSON_FIELDS, records);
  await room.connection.run(
    `CREATE TABLE staged_people AS SELECT *, ${PERSON_FORMS}, ` +
      "rowid AS place FROM loaded_people; DROP TABLE loaded_people",
  );
  return count;
}

export async function loadRecords(
  { connection, scratch }: Room,
  table: string,
  fields: readonly (keyof Person | keyof Company)[],
  records: AsyncGenerator<string>,
): Promise<number> {
  const columns = fields.map((field) => {
    const type =
      field === "specialties" ? "VARCHAR[]" : NUMBER_FIELDS.has(field) ? "BIGINT" : "VARCHAR";
    return { field, type };
  });

  await connection.run(
    `CREATE TABLE ${table} (${columns.map(({ field, type }) => `${field} ${type}`).join(", ")})`,
  );

  const types = columns.map(({ field, type }) => `${field}: '${type}'`).join(", ");
  const path = join(scratch, "records");
  let rows = 0;
  let ended = false;
  async function* part(): AsyncGenerator<string> {
    for (let rest = ROWS_A_FILE; rest > 0; rest--) {
      const { done, value } = await records.next();
      if (done) {
        ended = true;
        return;
      }
      rows++;
      yield `${value}\n`;
    }
  }

  while (!ended) {
    const before = rows;
    await pipeline(Readable.from(part()), createWriteStream(path, { mode: 0o600 }));
    if (rows > before) {
      const source =
        `read_json(${literal(path)}, format = 'newline_delimited', ` + `columns = {${types}})`;
      await connection.run(`INSERT INTO ${table} SELECT * FROM ${source}`);
    }
    await rm(path);
  }

  return rows;
}
