import { hash } from "node:crypto";
import type { CompanyQuery } from "../../engine/client/dialect.ts";
import type { Join, JoinRow } from "../../engine/output/kept-rows.ts";
import type { Keep } from "../../engine/runs/plan.ts";
import type { Networks } from "../../shared/contract/naming/address.ts";
import { canonicalDomain } from "../../shared/contract/naming/address.ts";
import { companyKey, isCompany, read } from "../../shared/contract/naming/read.ts";
import { echo, unguarded } from "../../shared/contract/text.ts";
import { type CliError, shellWord, usageError } from "../../shared/errors.ts";
import { columnsFor, plainName } from "../../shared/tables/headings.ts";
import { headedBy, type InputTable, type TableRow } from "../../shared/tables/table.ts";
import { companiesOf, type Naming, type NamingCell, networksFor } from "./column.ts";

export const DEFAULT_PREFIX = "hc_";
const PREFIX = /^[\p{L}_][\p{L}\p{N}_ .-]{0,39}$/u;

/** Rows that tell which column has domains. */
const LOOKED_AT = 100;

type How = Pick<Keep, "column" | "by" | "prefix"> &
  Pick<Naming, "agree"> & {
    /** The networks that records show: asked only where a text may be of one. */
    readonly learn?: (() => Promise<Networks>) | undefined;
  };

/** @throws CliError exit 2 */
export function checkPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix;
  throw usageError(
    "--prefix takes letters, digits, _, - and points, " +
      `and begins with a letter or _, not "${echo(prefix)}"`,
    `for example --prefix ${DEFAULT_PREFIX}`,
  );
}

/** @throws CliError exit 2 where a column of the table would be taken for one of ours */
function requireNoClash(columns: readonly string[], prefix: string, name: string): void {
  const match = columns.find((each) => each.toLowerCase().startsWith(prefix.toLowerCase()));
  if (match !== undefined) {
    throw usageError(
      `${name} has a column "${echo(match)}" already, and ours begin with ${prefix}`,
      `--prefix ${prefix === DEFAULT_PREFIX ? "company_" : DEFAULT_PREFIX} names ours otherwise`,
    );
  }
}

const onlySuppressed = (name: string): CliError =>
  usageError(
    `${name} names no company but such as are on the suppression list; nothing was spent`,
    "headcount suppress remove takes one off the list",
    "suppressed",
  );

/**
 * Says by which columns it was read, and why its first row that says anything names no company.
 * @param names what its rows name by the columns at `places`
 */
export function namesNobody(
  name: string,
  { columns, isList, rows }: InputTable,
  places: readonly number[],
  names: Awaited<ReturnType<typeof companiesOf>>,
): CliError {
  const by = isList ? "" : ` by ${places.map((place) => echo(columns[place] ?? "")).join(", ")}`;
  const whys = names.map((each) => (isCompany(each) ? "empty" : each.why));
  const others = columns.map((column, place) => (places.includes(place) ? "" : column));
  return usageError(
    `no row of ${name} names a company${by}: ${whys.find((why) => why !== "empty") ?? "empty"}`,
    columnHint(others, rows) ?? `--by name looks names up${isList ? "" : `; or ${CHOOSE}`}`,
  );
}

/** The rows of a table, each with the company that it names: one that several name is one. */
function joinedBy(
  names: Awaited<ReturnType<typeof companiesOf>>,
  table: InputTable,
  isLeftOut: (company: CompanyQuery) => boolean,
) {
  const indexes = new Map<string, number>();
  const companies: CompanyQuery[] = [];
  let leftOut = 0;
  const rows = table.rows.map((row, at): JoinRow => {
    const body = bodyOf(row, table);
    const query = names[at] ?? { why: "empty" };
    if (!isCompany(query)) {
      const match = query.isSeveral === true ? "ambiguous" : "no company";
      return { body, company: undefined, match, why: query.why };
    }

    if (isLeftOut(query)) {
      leftOut++;
      return {
        body,
        company: undefined,
        match: "suppressed",
        why: "it is on the suppression list",
      };
    }

    const key = companyKey(query);
    const company = indexes.get(key) ?? companies.push(query) - 1;
    indexes.set(key, company);

    return { body, company, match: "found", why: "" };
  });

  return { companies, leftOut, rows };
}

/**
 * A table of the caller's, each row with the company that it
 * names; companies that several rows name are there once.
 * @param name of the file, for messages
 * @param isLeftOut companies that are not asked for:
 * their rows say that they are on the suppression list
 * @throws CliError exit 2 where it is no table, has no
 * such column, or has columns that begin as ours do
 */
export async function readKept(
  input: InputTable,
  name: string,
  how: How,
  isLeftOut: (company: CompanyQuery) => boolean,
): Promise<{ companies: CompanyQuery[]; leftOut: number; keep: Keep; join: Join }> {
  const { column, by, prefix, agree, learn } = how;
  const table = named(headedBy(input, column));
  const places = companyColumns(table, name, column);
  requireNoClash(table.columns, prefix, name);

  const cells = table.rows.map((row) => namingCells(row, places, table));
  const learned = await networksFor(cells, learn);
  const names = await companiesOf(cells, { by, agree, learned });
  const { companies, leftOut, rows } = joinedBy(names, table, isLeftOut);
  if (companies.length === 0 && leftOut > 0) throw onlySuppressed(name);
  if (companies.length === 0) throw namesNobody(name, table, places, names);

  const { text, columns, json } = table;
  const sha256 = hash("sha256", text);
  const networks = learned?.size ? { networks: [...learned] } : {};
  const join = { text, columns, rows, prefix, json };
  return { companies, leftOut, keep: { sha256, column, by, prefix, ...networks }, join };
}

/** A row as the beginning of a JSON object, which has more behind it. */
const bodyOf = ({ object, cells }: TableRow, { columns }: InputTable): string => {
  if (object !== undefined) return object.text.slice(0, -1).trimEnd();
  const pairs = columns.map(
    (name, place) => `${JSON.stringify(name)}:${JSON.stringify(cells[place] ?? "")}`,
  );
  return `{${pairs.join(",")}`;
};

/** A list has one column, which has a name where its rows are kept. */
const named = (table: InputTable): InputTable =>
  table.isList ? { ...table, columns: ["company", ...table.columns.slice(1)] } : table;

/** What may name the company of a row, best first: what is empty names none. */
export const namingCells = (
  { cells }: TableRow,
  places: readonly number[],
  { headings, isList }: Pick<InputTable, "headings" | "isList">,
): readonly NamingCell[] =>
  places.flatMap((place) => {
    const text = unguarded(cells[place] ?? "").trim();
    return text === ""
      ? []
      : [{ text, column: isList ? undefined : plainName(headings[place] ?? "") }];
  });

/**
 * The columns of a table that name companies, best first.
 * @throws CliError exit 2 where none does
 */
export function companyColumns(
  table: InputTable,
  name: string,
  column: string | null | undefined,
): readonly number[] {
  const { columns, isList, rows } = table;
  const places = columnsFor(table, "company", column);
  if (places.length > 0) return places;
  if (column == null && (isList || columns.length === 1)) return [0];
  if (column == null) throw noColumn(table, name);

  throw usageError(
    `${name} has no column "${echo(column)}"; its columns: ${columns.map(echo).join(", ")}`,
    columnHint(columns, rows) ?? CHOOSE,
  );
}

function noColumn({ columns, rows }: InputTable, name: string): CliError {
  const isData = columns.some((each) => canonicalDomain(each) !== undefined);
  const [lacks, has] = isData
    ? ["no line with the names of its columns: the first one is data", "it begins with"]
    : ["no column that names a company", "its columns"];
  return usageError(
    `${name} has ${lacks}; ${has}: ${columns.map(echo).join(", ")}`,
    isData ? "add a first line such as id,website" : (columnHint(columns, rows) ?? CHOOSE),
  );
}

const CHOOSE = "choose one with --column NAME";

/** Names the column whose cells are sites or profiles; undefined where none has many of them. */
function columnHint(columns: readonly string[], rows: readonly TableRow[]): string | undefined {
  const first = rows.slice(0, LOOKED_AT);
  const isSite = (cell = ""): boolean => /^(domain|company)$/.test(read(cell).is);
  const counts = columns.map((column, place) =>
    column === "" ? 0 : first.filter(({ cells }) => isSite(cells[place])).length,
  );
  const most = Math.max(1, ...counts);
  const column = columns[counts.indexOf(most)];
  return column && `--column ${shellWord(column)}: its cells are domains or profiles`;
}
