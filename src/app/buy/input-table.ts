import { hash } from "node:crypto";
import type { CompanyQuery } from "../../engine/client/dialect.ts";
import type { Join, JoinRow } from "../../engine/output/kept-rows.ts";
import type { Keep } from "../../engine/runs/plan.ts";
import type { Networks } from "../../shared/contract/naming/address.ts";
import { companyKey, isCompany } from "../../shared/contract/naming/read.ts";
import { echo } from "../../shared/contract/text.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { plainName } from "../../shared/tables/headings.ts";
import { columnHint, columnsSought, filledCells } from "../../shared/tables/sought.ts";
import { headedBy, type InputTable, type TableRow } from "../../shared/tables/table.ts";
import { companiesOf, type Naming, networksFor } from "./column.ts";

export const DEFAULT_PREFIX = "hc_";
const PREFIX = /^[\p{L}_][\p{L}\p{N}_ .-]{0,39}$/u;

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
 * What the rows of a table name.
 * @param name of the file, for messages
 * @throws CliError exit 2 where no row names a company: says by which columns it was read, and why
 * its first row that says anything does not
 */
export async function namedRows(
  input: InputTable,
  name: string,
  { column, by, agree, learn }: Omit<How, "prefix">,
) {
  const table = headedBy(input, column);
  const { columns, headings, isList, rows } = table;
  const places = columnsSought(table, "company", [name, column, by !== null]);
  const cells = rows.map((row) =>
    filledCells(row, places).map(({ text, place }) => ({
      text,
      column: isList ? undefined : plainName(headings[place] ?? ""),
    })),
  );
  const learned = await networksFor(cells, learn);
  const names = await companiesOf(cells, { by, agree, learned });
  if (names.some(isCompany)) return { table, cells, learned, names };

  const read = isList ? "" : ` by ${places.map((place) => echo(columns[place] ?? "")).join(", ")}`;
  const whys = names.map((each) => (isCompany(each) ? "empty" : each.why));
  throw usageError(
    `no row of ${name} names a company${read}: ${whys.find((why) => why !== "empty") ?? "empty"}`,
    columnHint(table, "company", places) ??
      `--by name looks names up${isList ? "" : "; or choose one with --column NAME"}`,
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
  const { column, by, prefix } = how;
  const { table: read, names, learned } = await namedRows(input, name, how);
  // A list has one column, which has a name where its rows are kept.
  const table = read.isList ? { ...read, columns: ["company", ...read.columns.slice(1)] } : read;
  requireNoClash(table.columns, prefix, name);

  const { companies, leftOut, rows } = joinedBy(names, table, isLeftOut);
  if (companies.length === 0) throw onlySuppressed(name);

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
