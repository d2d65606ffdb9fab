import { NORMAL_COLUMNS, NUMBER_COLUMNS } from "../../../shared/contract/conditions.ts";
import { PERSON_FIELDS } from "../../../shared/contract/records.ts";
import { SORT_KEYS } from "../../columns.ts";
import type { ServerDialect } from "../dialect.ts";
import { dropTable, LOW, type StorageOptions, type Topology, table } from "../schema.ts";

/**
 * Tables that a load works in. `twins` has ids of more than one row, and later the domains whose
 * people are hidden, `refused` rows that are left out (`why` is 1 for a duplicate, 2
 * for one of the suppression list), `links` what names a company.
 */
const STAGE_TABLES = ["people", "companies", "twins", "refused", "keyed", "links"] as const;
export type StageTables = Readonly<Record<(typeof STAGE_TABLES)[number], string>>;

export const stageOf = (version: string): StageTables =>
  Object.fromEntries(STAGE_TABLES.map((name) => [name, `stage_${name}_${version}`])) as StageTables;

export const EMPLOYER = ["company_name_json", "company_domain_json", "company_url_json"] as const;

export const FORMED_COLUMNS: readonly string[] = NORMAL_COLUMNS.filter(
  (column) => !LOW.includes(column),
);
export const FORMED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(FORMED_COLUMNS.map((column) => [column, column])),
  company_plain: "company_name",
  company_domain_key: "company_domain",
};
/** Sent for a form of which nothing is left where the value has something. No form is a space. */
export const NO_FORM = " ";

export const VALUES: readonly string[] = PERSON_FIELDS.filter(
  (field) => field !== "id" && field !== "department" && !NUMBER_COLUMNS.includes(field),
);
export const stagedForm = (column: string): string => `${column}_form`;
export const givenOf = (field: string): string => `${field}_given`;
/** Sent only of records with a character that JSON escapes; the others are put together there. */
export const escapedOf = (part: string): string => `${part}_escaped`;
export const RECORD = ["head", ...EMPLOYER, "tail"] as const;

/**
 * Columns of a staged row, in the order in which they
 * are sent. A part is a file, a line its place there.
 */
export const STAGED: Readonly<Record<"people" | "companies", readonly string[]>> = {
  people: [
    "part",
    "line",
    "hidden",
    "id",
    ...LOW,
    ...Object.keys(FORMED).map(stagedForm),
    "network_address",
    ...NUMBER_COLUMNS,
    "own_address",
    "asked",
    ...VALUES.map(givenOf),
    ...RECORD.map(escapedOf),
  ],
  companies: ["part", "line", "id", "name", "domain", "address", "slug", ...EMPLOYER, "record"],
};

const employerAt = PERSON_FIELDS.indexOf("company_name");
export const HEAD = PERSON_FIELDS.slice(0, employerAt);
export const STAGE_TAIL = PERSON_FIELDS.slice(employerAt + EMPLOYER.length);
const EMPLOYER_FIELDS = PERSON_FIELDS.slice(employerAt, employerAt + EMPLOYER.length);

/**
 * Texts in quotes, then null for those that are empty:
 * no text that needs no escape has a quote in it.
 */
const fieldsSql = (fields: readonly string[]): string => {
  const parts = fields.map((field) => {
    const name = `${field === "id" ? "{" : ","}"${field}":`;
    if (NUMBER_COLUMNS.includes(field)) return `'${name}', ifNull(toString(${field}), 'null')`;
    return `'${name}"', ${VALUES.includes(field) ? givenOf(field) : field}, '"'`;
  });
  return parts.join(", ");
};
const orEscaped = (part: string, sql: string, escaped = escapedOf(part)): string =>
  `if(${escapedOf("head")} = '', ${sql}, ${escaped})`;
export const recordOf = (part: (name: string) => string): string => {
  const [name = "", domain = "", url = ""] = EMPLOYER.map(part);
  return (
    `concat(${part("head")}, ${name}, ',"company_domain":', ${domain}, ` +
    `',"company_network_url":', ${url}, ${part("tail")})`
  );
};

const MADE: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(FORMED).map(([column, field]) => [
      column,
      `multiIf(${stagedForm(column)} = '', lower(${givenOf(field)}), ` +
        `${stagedForm(column)} = '${NO_FORM}', '', ${stagedForm(column)})`,
    ]),
  ),
  company_domain: givenOf("company_domain"),
  whole: orEscaped(
    "whole",
    `replaceAll(concat(${fieldsSql(PERSON_FIELDS)}, '}'), ':""', ':null')`,
    recordOf(escapedOf),
  ),
  head: orEscaped(
    "head",
    `replaceAll(concat(${fieldsSql(HEAD)}, ',"company_name":'), ':""', ':null')`,
  ),
  tail: orEscaped("tail", `replaceAll(concat(${fieldsSql(STAGE_TAIL)}, '}'), ':""', ':null')`),
  ...Object.fromEntries(
    EMPLOYER.map((part, index) => {
      const value = givenOf(EMPLOYER_FIELDS[index] ?? "");
      return [part, orEscaped(part, `if(${value} = '', 'null', concat('"', ${value}, '"'))`)];
    }),
  ),
};

export const madeOf = (column: string, condition?: string): string => {
  const sql = MADE[column] ?? column;
  if (condition !== undefined) return `if(${condition}, ${sql}, '') AS ${column}`;
  return sql === column ? column : `${sql} AS ${column}`;
};

const LOW_STORED = [...LOW, ...LOW.map(givenOf)];

const TYPES: Readonly<Record<string, string>> = {
  part: "UInt32",
  line: "UInt64",
  hidden: "UInt8",
  seq: "UInt64",
  ...Object.fromEntries(NUMBER_COLUMNS.map((column) => [column, "Nullable(Int64)"])),
};

export const inOrder = (keys: readonly string[]): string =>
  keys.flatMap((key) => [`${key} = ''`, key]).join(", ");

export function createStage(
  version: string,
  topology: Topology,
  dialect: ServerDialect,
): readonly string[] {
  const names = stageOf(version);
  const low = dialect.isModern ? "LowCardinality(String)" : "String";

  const typed = (columns: readonly string[]): string[] =>
    columns.map(
      (column) => `${column} ${TYPES[column] ?? (LOW_STORED.includes(column) ? low : "String")}`,
    );

  // Missing values last, as in the end. Parts are no
  // partitions: each would be read for every range.
  const order = `(${inOrder(SORT_KEYS)}, id)`;

  // What is read a few times only is not worth being merged again and again.
  const settings = dialect.isModern ? "min_parts_to_merge_at_once = 10" : undefined;
  const columns: Record<keyof StageTables, StorageOptions> = {
    people: { columns: typed(STAGED.people), order, settings },
    companies: { columns: typed(STAGED.companies), order: "id", settings },
    twins: { columns: ["id String"], order: "id" },
    refused: {
      columns: ["part UInt32", "line UInt64", "why UInt8"],
      order: "(part, line)",
      shardBy: "line",
      partitionBy: "why",
    },
    keyed: { columns: typed(["seq", ...STAGED.companies.slice(2)]), order: "id" },
    links: {
      columns: [...typed(["key", "seq", "address", ...EMPLOYER]), "tier UInt8"],
      order: "key",
      shardBy: "key",
    },
  };
  return STAGE_TABLES.flatMap((name) => table(names[name], topology, columns[name]));
}

export const dropStage = (version: string, topology: Topology): readonly string[] =>
  Object.values(stageOf(version)).flatMap((name) => dropTable(name, topology));
