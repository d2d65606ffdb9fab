import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { NUMBER_COLUMNS } from "../../../shared/contract/conditions.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../../shared/contract/records.ts";
import type { Room } from "../../build/build.ts";
import { employerSql } from "../../build/link-companies.ts";
import { SORT_KEYS } from "../../columns.ts";
import { literal, scalar, toNumber } from "../../duckdb.ts";
import type { ServerDialect } from "../dialect.ts";
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
  column === "department" ? column : `normal_form(${column})`;

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
  format: ServerDialect["rows"],
  folder: string,
  pieceRows: number,
): Promise<LoadSizes> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });

  const order = SORT_KEYS.map((key) => `${formSql(key)} NULLS LAST`).join(", ");
  await connection.run(`CREATE TABLE positions AS
    SELECT place, (row_number() OVER (ORDER BY ${order}, id) - 1)::UBIGINT AS rid FROM staged_people`);

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
      const query = `SELECT (${at} // ${pieceRows})::BIGINT AS piece, ${columns.join(", ")} FROM (${rows})`;
      await connection.run(copySql(table, query, join(folder, roundName(table, first)), format));
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

function copySql(
  table: RowPiece["table"],
  query: string,
  folder: string,
  format: ServerDialect["rows"],
): string {
  const to = `TO ${literal(folder)} (PARTITION_BY (piece), `;
  if (format === "Parquet")
    return `COPY (${query}) ${to} FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE ${ROWS_A_GROUP})`;

  // One column, so that nothing is quoted: what needs an escape has it already.
  const cells = columnsOf(table).map((column) =>
    NUMBERS.includes(column) ? `coalesce(${column}::VARCHAR, '\\N')` : lineText(column),
  );
  return `COPY (SELECT piece, concat_ws(chr(9), ${cells.join(", ")}) AS line FROM (${query}))
    ${to} FORMAT csv, HEADER false, DELIMITER '\\x01', QUOTE '', ESCAPE '')`;
}

const NUMBERS: readonly string[] = [...Object.values(POSITION), "company", ...NUMBER_COLUMNS];

const lineText = (column: string): string => `CASE
  WHEN contains(${column}, '\\') OR contains(${column}, chr(9)) OR contains(${column}, chr(10))
    THEN replace(replace(replace(${column}, '\\', '\\\\'), chr(9), '\\t'), chr(10), '\\n')
  ELSE ${column} END`;
