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
import { PERSON_FORMS } from "./normal-sql.ts";

/**
 * Records that lie in a file of their own for a moment:
 * so much disk is needed beside the table, some 100 MB.
 */
const ROWS_A_FILE = 200_000;

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
  const typeOf = (field: keyof Person | keyof Company): string =>
    field === "specialties" ? "VARCHAR[]" : NUMBER_FIELDS.has(field) ? "BIGINT" : "VARCHAR";
  const columns = fields.map((field) => `${field} ${typeOf(field)}`).join(", ");
  const types = fields.map((field) => `${field}: '${typeOf(field)}'`).join(", ");
  await connection.run(`CREATE TABLE ${table} (${columns})`);

  const path = join(scratch, "records");
  let rows = 0;
  async function* part(): AsyncGenerator<string> {
    for (let rest = ROWS_A_FILE; rest > 0; rest--) {
      const { done, value } = await records.next();
      if (done) return;
      rows++;
      yield `${value}\n`;
    }
  }

  for (let before = -1; before < rows; ) {
    before = rows;
    await pipeline(Readable.from(part()), createWriteStream(path, { mode: 0o600 }));
    if (rows > before)
      await connection.run(`INSERT INTO ${table} SELECT * FROM
        read_json(${literal(path)}, format = 'newline_delimited', columns = {${types}})`);
    await rm(path);
  }

  return rows;
}
