import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { NUMBER_COLUMNS } from "../../../shared/contract/conditions.ts";
import { COMPANY_FIELDS } from "../../../shared/contract/records.ts";
import { type ImportKind, usableOf } from "../../build/import-map.ts";
import { LINK_KEY } from "../../build/link-companies.ts";
import { literal, scalar, toNumber } from "../../duckdb.ts";
import type { ServerDialect } from "../dialect.ts";
import { LOW } from "../schema.ts";
import {
  EMPLOYER,
  escapedOf,
  FORMED,
  givenOf,
  HEAD,
  NO_FORM,
  RECORD,
  STAGE_TAIL,
  STAGED,
  stagedForm,
  VALUES,
} from "./stage.ts";

/** A server takes a piece into memory whole. */
const ROWS_A_PIECE = 262_144;
/** To look for more values that are alike costs more than it saves. */
const VALUES_OF_FEW = 4_000;

export const FURTHER: Readonly<Record<ImportKind, readonly string[]>> = {
  people: [
    "line",
    `${usableOf("network_url")} AS address`,
    `${usableOf("company_network_url")} AS company_address`,
  ],
  companies: ["line", `${usableOf("company_network_url")} AS address`],
};

export const jsonSql = (field: string): string => `coalesce(to_json(${field})::VARCHAR, 'null')`;
const jsonFields = (fields: readonly string[]): string =>
  fields.map((field) => `'"${field}":', ${jsonSql(field)}`).join(", ',', ");

/**
 * Of a row of `ALL_TEXTS` in plain ASCII the normal form
 * is the lower case, which is told sooner than made.
 */
const isPlain = (text: string): string => `is_plain AND strlen(${text}) = length(${text})`;
const lowSql = (text: string): string =>
  `CASE WHEN ${isPlain(text)} THEN lower(${text}) ELSE normal_form(${text}) END`;

/**
 * A form where it may not be the value in lower case;
 * only of ASCII do all databases agree on what that is.
 */
function formSql(column: string, value: string): string {
  // A domain in form most often is its own form too.
  const [isLower, form] =
    column === "company_domain_key"
      ? [
          `regexp_full_match(${value}, '[a-z0-9_-]+([.][a-z0-9_-]+)+') AND NOT ` +
            `starts_with(${value}, 'www.') AND NOT contains(${value}, 'xn--')`,
          "domain_form",
        ]
      : [isPlain(value), "normal_form"];

  return (
    `CASE WHEN ${value} IS NULL OR ${isLower} THEN NULL ELSE ` +
    `coalesce(${form}(${value}), '${NO_FORM}') END`
  );
}

const EMPLOYER_FIELDS = ["company_name", "company_domain", "company_network_url"];
const escaped: readonly string[] = [
  `concat('{', ${jsonFields(HEAD)}, ',"${EMPLOYER_FIELDS[0]}":')`,
  ...EMPLOYER_FIELDS.map(jsonSql),
  `concat(',', ${jsonFields(STAGE_TAIL)}, '}')`,
];
/**
 * Whether JSON writes one of the texts with an escape,
 * or an empty one would be taken for a missing one.
 */
const IS_ESCAPED =
  "strlen(to_json(all_texts)::VARCHAR) <> strlen(all_texts) + 2 OR first_name = ''";
/**
 * With a space between them: where there are two, a text has them, or one at its beginning or end.
 */
const ALL_TEXTS = `concat_ws(' ', id, ${VALUES.join(", ")})`;
const IS_PLAIN =
  "is_escaped IS NOT TRUE AND NOT contains(all_texts, '  ') AND NOT contains(all_texts, chr(127))";

const selection = (columns: Readonly<Record<string, string>>, names: readonly string[]): string =>
  names.map((name) => `${columns[name] ?? name} AS ${name}`).join(", ");

const PEOPLE: Readonly<Record<string, string>> = {
  // Where nobody is hidden: a look into the table that is empty would put every row together anew.
  hidden: "0",
  // Lists of departments are as they are.
  ...Object.fromEntries(
    LOW.filter((column) => column !== "department").map((column) => [column, lowSql(column)]),
  ),
  ...Object.fromEntries(
    Object.entries(FORMED).map(([column, field]) => [stagedForm(column), formSql(column, field)]),
  ),
  network_address: "address",
  own_address: "company_address",
  // Whoever names the employer by address, name and domain has nothing to learn of the company.
  asked:
    "CASE WHEN contains(company_address, '/') AND company_name <> '' AND " +
    `company_domain <> '' THEN NULL ELSE ${LINK_KEY} END`,
  ...Object.fromEntries(VALUES.map((field) => [givenOf(field), field])),
  ...Object.fromEntries(
    RECORD.map((part, index) => [
      escapedOf(part),
      `CASE WHEN is_escaped THEN ${escaped[index]} END`,
    ]),
  ),
};

const COMPANIES: Readonly<Record<string, string>> = {
  name: "normal_form(name)",
  domain: "domain_form(domain)",
  slug: "slug_of(address)",
  [EMPLOYER[0]]: jsonSql("name"),
  [EMPLOYER[1]]: jsonSql("domain"),
  [EMPLOYER[2]]: jsonSql("company_network_url"),
  record: `concat('{', ${jsonFields(COMPANY_FIELDS)}, '}')`,
};

const HIDDEN = { hidden: "(line IN (SELECT line FROM hidden))::INTEGER" };

function rowsSql(kind: ImportKind, anyHidden: boolean): string {
  if (kind === "companies")
    return `SELECT ${selection(COMPANIES, STAGED.companies.slice(1))} FROM typed`;
  return `SELECT ${selection({ ...PEOPLE, ...(anyHidden && HIDDEN) }, STAGED.people.slice(1))}
    FROM (SELECT *, ${IS_PLAIN} AS is_plain FROM (SELECT *, ${IS_ESCAPED} AS is_escaped FROM (SELECT *, ${ALL_TEXTS} AS all_texts FROM typed)))`;
}

export async function writeRows(
  connection: DuckDBConnection,
  { number, kind }: { readonly number: number; readonly kind: ImportKind },
  format: ServerDialect["rows"],
  folder: string,
): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const anyHidden = toNumber(await scalar(connection, "SELECT count(*) FROM hidden")) > 0;
  const rows = `SELECT ${number} AS part, * FROM (${rowsSql(kind, anyHidden)})`;

  if (format === "Parquet") {
    await connection.run(`COPY (${rows}) TO ${literal(folder)}
      (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT ${VALUES_OF_FEW}, ROW_GROUP_SIZE ${ROWS_A_PIECE / 2}, ROW_GROUPS_PER_FILE 2)`);
    return;
  }

  await mkdir(folder, { mode: 0o700 });

  const numbers: readonly string[] = ["part", "line", "hidden", ...NUMBER_COLUMNS];
  const cells = STAGED[kind].map((column) =>
    numbers.includes(column) ? `coalesce(${column}::VARCHAR, '\\N')` : lineText(column),
  );
  // One column, so that nothing is quoted: what needs an escape has it already.
  await connection.run(`COPY (SELECT concat_ws(chr(9), ${cells.join(", ")}) FROM (${rows}))
      TO ${literal(join(folder, "lines.tsv"))} (FORMAT csv, HEADER false, DELIMITER '\\x01', QUOTE '', ESCAPE '')`);
}

const lineText = (text: string): string => `CASE
  WHEN contains(${text}, '\\') OR contains(${text}, chr(9)) OR contains(${text}, chr(10))
    THEN replace(replace(replace(${text}, '\\', '\\\\'), chr(9), '\\t'), chr(10), '\\n')
  ELSE coalesce(${text}, '') END`;
