import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { NORMAL_COLUMNS, NUMBER_COLUMNS } from "../../../shared/contract/conditions.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../../shared/contract/records.ts";
import type { Room } from "../../build/build.ts";
import { employerSql } from "../../build/link-companies.ts";
import { SORT_KEYS } from "../../columns.ts";
import { literal, scalar, toNumber } from "../../duckdb.ts";
import { FORMS } from "../schema.ts";

/** Of a table: `[from, before)` are positions among all of its rows. */
export interface RowPiece {
  readonly table: "people" | "companies";
  readonly folder: string;
  readonly from: number;
  readonly before: number;
}

export interface LoadSizes {
  readonly people: number;
  readonly companies: number;
  /** Rows that are sent, and missed, together. */
  readonly pieceRows: number;
}

/** What a row is found by among all. */
export const POSITION = { people: "rid", companies: "seq" } as const;

/** A statement keeps so many files open, and what is still to be written of each in memory. */
const PIECES_AT_ONCE = 50;
const FILES_A_PIECE = 4;
/** A server takes a group of rows into memory whole. */
const ROWS_A_GROUP = 131_072;

const text = (value: string): string => `coalesce(${value}, '')`;
const jsonSql = (fields: readonly string[]): string => {
  const values = fields.map(
    (field) => `'"${field}":', coalesce(to_json(${field})::VARCHAR, 'null')`,
  );
  return `concat('{', ${values.join(", ',', ")}, '}')`;
};

/** Lists of departments are as they are. */
const formSql = (column: string): string =>
  NORMAL_COLUMNS.includes(column) ? `normal_form(${column})` : column;

const PEOPLE: Readonly<Record<string, string>> = {
  rid: "rid",
  id: "id",
  ...Object.fromEntries(FORMS.map((column) => [column, text(formSql(column))])),
  network_address: text("address"),
  network_slug: text("slug_of(address)"),
  company_address: text("company_address"),
  company_slug: text("slug_of(company_address)"),
  company: "coalesce(company::BIGINT, -1)",
  ...Object.fromEntries(NUMBER_COLUMNS.map((column) => [column, column])),
  record: jsonSql(PERSON_FIELDS),
};

const COMPANIES: Readonly<Record<string, string>> = {
  seq: "seq::UBIGINT",
  id: "id",
  name: text("name_key"),
  domain: text("domain_key"),
  address: text("address"),
  slug: text("slug"),
  record: jsonSql(COMPANY_FIELDS),
};

const ROWS = { people: PEOPLE, companies: COMPANIES } as const;

/** Columns of a row in the order in which they are sent. */
export const columnsOf = (table: RowPiece["table"]): readonly string[] => Object.keys(ROWS[table]);

export function piecesOf(
  table: RowPiece["table"],
  folder: string,
  sizes: LoadSizes,
): readonly RowPiece[] {
  const { [table]: rows, pieceRows } = sizes;
  return Array.from({ length: Math.ceil(rows / pieceRows) }, (_, index) => ({
    table,
    folder: join(folder, roundName(table, index), `piece=${index}`),
    from: index * pieceRows,
    before: Math.min(rows, (index + 1) * pieceRows),
  }));
}

const roundName = (table: RowPiece["table"], piece: number): string =>
  `${table}-${Math.floor(piece / PIECES_AT_ONCE)}`;

/**
 * Writes what is staged and linked as files for ClickHouse, people in public order.
 * @param folder is made anew
 */
export async function writePieces(
  { connection, resources }: Room,
  folder: string,
  pieceRows: number,
): Promise<LoadSizes> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });

  const order = SORT_KEYS.map((key) => `${formSql(key)} NULLS LAST`).join(", ");
  await connection.run(`CREATE TABLE positions AS
    SELECT place, (row_number() OVER (ORDER BY ${order}, id) - 1)::UBIGINT AS rid
      FROM staged_people`);

  // Each thread writes a file of each piece, and each file becomes a part of a table.
  await connection.run(`SET threads = ${Math.min(resources.threads, FILES_A_PIECE)}`);

  const count = async (table: string): Promise<number> =>
    toNumber(await scalar(connection, `SELECT count(*) FROM ${table}`));
  const sizes = {
    people: await count("positions"),
    companies: await count("keyed_companies"),
    pieceRows,
  };

  const write = async (
    table: RowPiece["table"],
    rowsIn: (place: string) => string,
  ): Promise<void> => {
    const pieces = piecesOf(table, folder, sizes);
    for (let first = 0; first < pieces.length; first += PIECES_AT_ONCE) {
      const [from, before] = [first * pieceRows, (first + PIECES_AT_ONCE) * pieceRows];
      const at = POSITION[table];
      const rows = rowsIn(`${at} >= ${from} AND ${at} < ${before}`);
      const columns = Object.entries(ROWS[table]).map(([name, sql]) => `${sql} AS ${name}`);
      const query = `SELECT (${at} // ${pieceRows})::BIGINT AS piece, ${columns.join(", ")}
        FROM (${rows})`;
      const to = literal(join(folder, roundName(table, first)));
      await connection.run(`COPY (${query}) TO ${to} (PARTITION_BY (piece),
        FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE ${ROWS_A_GROUP})`);
    }
  };

  await write("people", (place) =>
    employerSql(`(SELECT * FROM staged_people JOIN positions USING (place) WHERE ${place})`),
  );
  await write(
    "companies",
    (place) => `SELECT s.*, seq, name_key, domain_key, address, slug
      FROM staged_companies s JOIN keyed_companies k USING (id) WHERE ${place}`,
  );
  return sizes;
}
