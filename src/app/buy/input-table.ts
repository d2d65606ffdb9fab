import { createHash } from "node:crypto";
import type { CompanyQuery } from "../../engine/client/dialect.ts";
import type { Join, JoinRow } from "../../engine/output/kept-rows.ts";
import type { Keep } from "../../engine/runs/plan.ts";
import type { Networks } from "../../shared/contract/naming/address.ts";
import { canonicalDomain } from "../../shared/contract/naming/address.ts";
import { companyKey, isCompany } from "../../shared/contract/naming/read.ts";
import { echo } from "../../shared/contract/text.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { companiesOf, type Naming, type NamingCell, networksFor } from "./column.ts";
import { chooseColumn, columnName, HEADINGS, isWord, jsonLines, parseCsv } from "./companies.ts";

export const DEFAULT_PREFIX = "hc_";
const PREFIX = /^[\p{L}_][\p{L}\p{N}_ .-]{0,39}$/u;

interface TableRow {
  readonly line: number;
  readonly body: string;
  readonly text: string;
  /** The name of the column of its text; undefined in a list. */
  readonly column?: string | undefined;
}

interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly TableRow[];
  readonly json: boolean;
}

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
  text: string,
  name: string,
  how: How,
  isLeftOut: (company: CompanyQuery) => boolean,
): Promise<{ companies: CompanyQuery[]; leftOut: number; keep: Keep; join: Join }> {
  const { column, by, prefix, agree, learn } = how;
  const table = await tableOf(text, name, column);
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
  const cells = table.rows.map(namingCells);
  const learned = await networksFor(cells, learn);
  const names = await companiesOf(cells, { by, agree, learned });
  const rows = table.rows.map((row, at): JoinRow => {
    const query = names[at] ?? { why: "empty" };
    if (!isCompany(query)) {
      const match = query.isSeveral === true ? "ambiguous" : "no company";
      return { body: row.body, company: undefined, match, why: query.why };
    }

    if (isLeftOut(query)) {
      leftOut++;
      return {
        body: row.body,
        company: undefined,
        match: "suppressed",
        why: "it is on the suppression list",
      };
    }

    const key = companyKey(query);
    const company = indexes.get(key) ?? companies.push(query) - 1;
    indexes.set(key, company);

    return { body: row.body, company, match: "found", why: "" };
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
      "choose another column with --column NAME, or --by name where it names them by name",
    );
  }

  const sha256 = createHash("sha256").update(text).digest("hex");
  return {
    companies,
    leftOut,
    keep: { sha256, column, by, prefix, ...(learned?.size && { networks: [...learned] }) },
    join: { text, columns: table.columns, rows, prefix, json: table.json },
  };
}

/** What may name the company of a row. */
export const namingCells = ({ text, column }: TableRow): readonly NamingCell[] =>
  text.trim() === "" ? [] : [{ text, column: column === undefined ? column : columnName(column) }];

/** @throws CliError exit 2 where no column names companies */
export const tableOf = async (
  text: string,
  name: string,
  column: string | null | undefined,
): Promise<Table> =>
  /^\s*\{/.test(text)
    ? ofNdjson(text, name, column ?? null)
    : await ofCsv(text, name, column ?? null);

async function ofCsv(text: string, name: string, column: string | null): Promise<Table> {
  const parsed = await parseCsv(text);
  const [first] = parsed;
  if (first === undefined)
    throw usageError(`${name} is empty`, "a table has a line with the names of its columns");

  const plain =
    column === null && first.cells.length === 1 && !HEADINGS.has(columnName(first.cells[0] ?? ""));
  const header = plain ? ["company"] : first.cells.map((cell) => cell.trim());
  const data = plain ? parsed : parsed.slice(1);
  const match =
    plain || header.length === 1 ? header[0] : chooseColumn(header, column ?? undefined);
  if (match === undefined || (column !== null && chooseColumn(header, column) === undefined)) {
    throw noColumn(name, column, header);
  }

  const at = header.indexOf(match);
  const columns = uniqueNames(header, Math.max(...parsed.map(({ cells }) => cells.length)));
  const keys = columns.map((each) => JSON.stringify(each));
  const rows = data.map(({ line, cells }) => ({
    line,
    body: `{${keys.map((key, index) => `${key}:${JSON.stringify(cells[index] ?? "")}`).join(",")}`,
    text: cells[at] ?? "",
    column: plain ? undefined : match,
  }));
  return { columns, rows, json: false };
}

function noColumn(name: string, column: string | null, columns: readonly string[]): CliError {
  const isData = column === null && columns.some((each) => canonicalDomain(each) !== undefined);
  const what = column === null ? "no column that names a company" : `no column "${echo(column)}"`;
  const [lacks, has] = isData
    ? ["no line with the names of its columns: the first one is data", "it begins with"]
    : [what, "its columns"];
  return usageError(
    `${name} has ${lacks}; ${has}: ${columns.map(echo).join(", ")}`,
    isData ? "add a first line such as id,website" : "choose one with --column NAME",
  );
}

/** Names for so many columns: as given; of names that are empty or there twice, others. */
function uniqueNames(header: readonly string[], width: number): string[] {
  const names = new Set<string>();
  return Array.from({ length: width }, (_, index) => {
    const title = header[index] ?? "";
    const base = title === "" ? `column ${index + 1}` : title;
    let name = base;
    for (let copy = 2; names.has(name); copy++) name = `${base} ${copy}`;
    names.add(name);
    return name;
  });
}

function ofNdjson(text: string, name: string, column: string | null): Table {
  const records = [...jsonLines(text, name)];
  const columns = [...new Set(records.flatMap(({ fields }) => Object.keys(fields)))];
  const match = chooseColumn(columns, column ?? undefined);
  if (match === undefined) throw noColumn(name, column, columns);

  const rows = records.map(({ line, text: whole, fields }) => {
    // A list names what its items name: one company, or several.
    const wordsIn = (key: string) => [fields[key]].flat().filter(isWord);
    const own = Object.keys(fields).filter((key) => wordsIn(key).length > 0);
    const key = column === null ? chooseColumn(own, undefined) : match;
    const words = wordsIn(key ?? match).join(", ");
    return { line, body: whole.slice(0, -1).trimEnd(), text: words, column: key ?? match };
  });
  return { columns, rows, json: true };
}
