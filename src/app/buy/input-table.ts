import { createHash } from "node:crypto";
import type { CompanyQuery } from "../../engine/client/dialect.ts";
import type { Join, JoinRow } from "../../engine/output/kept-rows.ts";
import { companyKey, type Keep } from "../../engine/runs/plan.ts";
import { canonicalDomain } from "../../shared/contract/normalise.ts";
import { echo, shellWord } from "../../shared/contract/text.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { columnsFor } from "../../shared/tables/headings.ts";
import { type InputTable, type TableRow, unguarded } from "../../shared/tables/table.ts";
import { queryOf } from "./companies.ts";

export const DEFAULT_PREFIX = "hc_";
const PREFIX = /^[\p{L}_][\p{L}\p{N}_ .-]{0,39}$/u;

/** Rows that tell which column has domains. */
const LOOKED_AT = 100;

type How = Pick<Keep, "column" | "by" | "prefix">;

/** @throws CliError exit 2 */
export function checkPrefix(prefix: string): string {
  if (PREFIX.test(prefix)) return prefix;
  throw usageError(
    "--prefix takes letters, digits, _, - and points, " +
      `and begins with a letter or _, not "${echo(prefix)}"`,
    `for example --prefix ${DEFAULT_PREFIX}`,
  );
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
export function readKept(
  input: InputTable,
  name: string,
  how: How,
  isLeftOut: (company: CompanyQuery) => boolean,
): { companies: CompanyQuery[]; leftOut: number; keep: Keep; join: Join } {
  const { column, by, prefix } = how;
  const table = named(input);
  const places = companyColumns(table, name, column);
  const match = table.columns.find((each) => each.toLowerCase().startsWith(prefix.toLowerCase()));
  if (match !== undefined) {
    throw usageError(
      `${name} has a column "${echo(match)}" already, and ours begin with ${prefix}`,
      `--prefix ${prefix === DEFAULT_PREFIX ? "company_" : DEFAULT_PREFIX} names ours otherwise`,
    );
  }

  const indexes = new Map<string, number>();
  const companies: CompanyQuery[] = [];
  let leftOut = 0;
  const keys = table.columns.map((each) => JSON.stringify(each));
  const bodyOf = ({ object, cells }: TableRow): string =>
    object === undefined
      ? `{${keys.map((key, place) => `${key}:${JSON.stringify(cells[place] ?? "")}`).join(",")}`
      : object.text.slice(0, -1).trimEnd();

  const rows = table.rows.map((row): JoinRow => {
    const body = bodyOf(row);
    const read = namingTexts(row, places).map((text) => readCell(text, by));
    const cell = read.find((each) => typeof each !== "string") ?? read[0] ?? "empty";
    if (typeof cell === "string")
      return { body, company: undefined, match: "no company", why: cell };
    if (Array.isArray(cell)) {
      const why = `names ${cell.length} companies: ${cell.slice(0, 5).map(echo).join(", ")}`;
      return { body, company: undefined, match: "ambiguous", why };
    }

    const query = cell as CompanyQuery;
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

  if (companies.length === 0 && leftOut > 0) {
    throw usageError(
      `${name} names no company but such as are on the suppression list; nothing was spent`,
      "headcount suppress remove takes one off the list",
      "suppressed",
    );
  }

  if (companies.length === 0) {
    throw usageError(
      `no row of ${name} names a company`,
      "choose another column with --column NAME",
    );
  }

  const sha256 = createHash("sha256").update(table.text).digest("hex");
  return {
    companies,
    leftOut,
    keep: { sha256, column, by, prefix },
    join: { text: table.text, columns: table.columns, rows, prefix, json: table.json },
  };
}

/** A list has one column, which has a name where its rows are kept. */
const named = (table: InputTable): InputTable =>
  table.isList ? { ...table, columns: ["company", ...table.columns.slice(1)] } : table;

/** What people write where there is nothing to write. */
const NOTHING = new Set([
  "n/a",
  "na",
  "none",
  "null",
  "nil",
  "unknown",
  "tbd",
  "-",
  "--",
  ".",
  "?",
  "#n/a",
]);

/** The company of a cell; in words why it names none; several texts where it names several. */
function readCell(text: string, by: Keep["by"]): CompanyQuery | string | readonly string[] {
  const value = text.trim();
  if (value === "") return "empty";
  if (NOTHING.has(value.toLowerCase())) return `"${echo(value)}" names no company`;
  if (by !== null) return queryOf(value, by) ?? "empty";

  const parts = value.split(/[\s,;|]+/).filter((part) => part !== "");
  const hosts = parts.filter((part) => canonicalDomain(part) !== undefined);
  if (parts.length > 1 && hosts.length === parts.length) {
    const queries = new Map(
      parts.flatMap((part) => queryOf(part) ?? []).map((query) => [companyKey(query), query]),
    );
    const [only] = queries.values();
    return queries.size === 1 && only !== undefined ? only : parts;
  }

  const query = /\s/.test(value) ? undefined : queryOf(value);
  return query ?? `"${echo(value)}" is no domain, profile address or slug`;
}

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
    columnHint(columns, rows),
  );
}

/** The texts of a row in these columns that are not empty, best first. */
export const namingTexts = ({ cells }: TableRow, places: readonly number[]): readonly string[] =>
  places.map((place) => unguarded(cells[place] ?? "").trim()).filter((text) => text !== "");

function noColumn({ columns, rows }: InputTable, name: string): CliError {
  const isData = columns.some((each) => canonicalDomain(each) !== undefined);
  const [lacks, has] = isData
    ? ["no line with the names of its columns: the first one is data", "it begins with"]
    : ["no column that names a company", "its columns"];
  return usageError(
    `${name} has ${lacks}; ${has}: ${columns.map(echo).join(", ")}`,
    isData ? "add a first line such as id,website" : columnHint(columns, rows),
  );
}

/** Names the column whose cells are domains. */
function columnHint(columns: readonly string[], rows: readonly TableRow[]): string {
  const first = rows.slice(0, LOOKED_AT);
  const counts = columns.map(
    (_, place) =>
      first.filter(({ cells }) => canonicalDomain(cells[place]?.trim() ?? "") !== undefined).length,
  );
  const most = Math.max(0, ...counts);
  const column = columns[counts.indexOf(most)];
  return column === undefined || most * 2 < Math.min(first.length, 2)
    ? "choose one with --column NAME"
    : `--column ${shellWord(column)}: its cells are domains`;
}
