import type { DuckDBConnection } from "@duckdb/node-api";
import { normalForm } from "../../shared/contract/normalise.ts";
import { DEPARTMENTS } from "../../shared/contract/vocabulary.ts";
import { literal, scalar, toNumber } from "../duckdb.ts";
import {
  ADDRESSES,
  type ImportKind,
  INTEGERS,
  lenientFields,
  mappedFields,
  type NumberStyle,
  usableOf,
} from "./import-map.ts";

/** Departments that are not one of the 20, or missing: they became "Other". */
export interface DepartmentReport {
  readonly unknown: number;
  readonly missing: number;
  readonly examples: readonly { readonly value: string; readonly people: number }[];
}

const listSql = (values: readonly string[]): string => `[${values.map(literal).join(", ")}]`;
const position = `list_position(${listSql(DEPARTMENTS.map(normalForm))}, normal_form(department))`;
/** Most are written as we write them, which is told in a fifth of the time. */
const departmentSql = `CASE WHEN list_contains(${listSql(DEPARTMENTS)}, department) THEN department
  ELSE coalesce(list_extract(${listSql(DEPARTMENTS)}, ${position}), 'Other') END`;

export async function departmentReport(connection: DuckDBConnection): Promise<DepartmentReport> {
  const reader = await connection.runAndReadAll(`SELECT department, people,
      sum(people) FILTER (WHERE department IS NOT NULL) OVER (),
        sum(people) FILTER (WHERE department IS NULL) OVER ()
    FROM (SELECT department, count(*) AS people FROM raw_people WHERE reason IS NULL GROUP BY 1)
    WHERE ${position} IS NULL ORDER BY department IS NULL, 2 DESC, 1 LIMIT 10`);
  const rows = reader.getRowsJS();
  const [, , unknown, missing] = rows[0] ?? [];
  const examples = rows.filter(([value]) => value !== null);

  return {
    unknown: toNumber(unknown),
    missing: toNumber(missing),
    examples: examples.map(([value, people]) => ({
      value: String(value),
      people: toNumber(people),
    })),
  };
}

const DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
const TIME = "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?";
/** An offset of at most 18 hours, or a name. */
const ZONE = " ?([+-](0[0-9]|1[0-8])(:?[0-5][0-9])?|[A-Za-z][A-Za-z0-9/_+-]*)";
/** Of `YYYY-MM-DDThh:mm:ssZ` what ISO 8601 can say with four digits of the year, 0001 to 9999. */
const fourDigits = (time: string): string =>
  `CASE WHEN strlen(${time}) = 20 AND ${time} >= '0001' THEN ${time} END`;

/**
 * A date, a timestamp or an epoch. Never cast to a type with
 * a zone: DuckDB (1.5.6) takes the zone of the row before.
 */
const timestampSql = `CASE
  WHEN regexp_full_match(updated_at, '${DAY}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z')
  THEN CASE WHEN TRY_CAST(updated_at AS TIMESTAMP) IS NOT NULL THEN ${fourDigits("updated_at")} END
    ELSE ${fourDigits(`strftime(coalesce(
  CASE WHEN regexp_full_match(updated_at, '[0-9]{9,10}')
    THEN make_timestamp(updated_at::BIGINT * 1000000)
    WHEN regexp_full_match(updated_at, '[0-9]{12,13}')
    THEN make_timestamp(updated_at::BIGINT * 1000)
    WHEN regexp_full_match(updated_at, '[0-9]{8}') THEN try_strptime(updated_at, '%Y%m%d') END,
  CASE WHEN regexp_full_match(updated_at, '${DAY}(${TIME})?') THEN TRY_CAST(updated_at AS TIMESTAMP)
    WHEN regexp_full_match(updated_at, '${DAY}${TIME}${ZONE}')
    THEN TRY_CAST(TRY_CAST(updated_at AS TIMESTAMPTZ) AS TIMESTAMP) END
), '%Y-%m-%dT%H:%M:%SZ')`)} END`;

/**
 * From 0 to 9007199254740991, else NULL (docs/operate/import.md,
 * Values): what may be read two ways is left out.
 */
function wholeSql(field: string, numbers: NumberStyle | undefined): string {
  const digits = (pattern: string, digit: string): string =>
    `WHEN regexp_full_match(${field}, '[+]?${pattern}') THEN ` +
    `regexp_replace(${digit}, '[^0-9]', '', 'g')`;

  const group = (separator: string, times: string): string =>
    `[0-9]{1,3}(${separator}[0-9]{3})${times}`;
  const before = (mark: string): string => `split_part(${field}, '${mark}', 1)`;
  const shapes = [digits("[0-9]+", field), digits(group("[ \u00a0\u202f''\u2019]", "+"), field)];

  if (numbers === "en") shapes.push(digits(`([0-9]+|${group(",", "+")})([.]0+)?`, before(".")));
  else if (numbers === "de")
    shapes.push(digits(`([0-9]+|${group("[.]", "+")})(,0+)?`, before(",")));
  else {
    shapes.push(digits(group(",", "{2,}"), field), digits(group("[.]", "{2,}"), field));
    for (const mark of [".", ","]) {
      const zeros = `([0-9]+[${mark}](0{1,2}|0{4,})|(0|[0-9]{4,})[${mark}]000)`;
      shapes.push(digits(zeros, before(mark)));
    }
  }

  const number = `TRY_CAST(CASE ${shapes.join(" ")} END AS BIGINT)`;
  return (
    `CASE WHEN regexp_full_match(${field}, '[0-9]{1,15}') THEN ${field}::BIGINT ` +
    `WHEN ${number} <= 9007199254740991 THEN ${number} END`
  );
}

export function usableSql(
  kind: ImportKind,
  numbers: NumberStyle | undefined,
): Readonly<Record<string, string>> {
  const usable: Record<string, string> = { updated_at: timestampSql };
  for (const [field, form] of Object.entries(ADDRESSES[kind])) usable[field] = `${form}(${field})`;
  for (const field of INTEGERS[kind]) usable[field] = wholeSql(field, numbers);
  return usable;
}

export interface ClearedReport {
  readonly values: number;
  readonly examples: readonly { readonly value: string; readonly rows: number }[];
}

/** As the file has it: a number of a typed column is staged with an exponent. */
const shown = (value: unknown): string =>
  String(value)
    .replace(/^(-?\d*\.\d+)e0$/, "$1")
    .slice(0, 200);

export async function clearedReport(
  connection: DuckDBConnection,
  kind: ImportKind,
): Promise<Record<string, ClearedReport>> {
  const cleared: Record<string, ClearedReport> = {};
  for (const field of lenientFields(kind)) {
    const reader = await connection.runAndReadAll(
      `SELECT ${field}, count(*), sum(count(*)) OVER ()::BIGINT FROM raw_${kind}
       WHERE reason IS NULL AND ${field} IS NOT NULL AND ${usableOf(field)} IS NULL GROUP BY 1
         ORDER BY 2 DESC, 1 LIMIT 5`,
    );
    const rows = reader.getRowsJS();
    if (rows.length === 0) continue;
    const examples = rows.map(([value, count]) => ({ value: shown(value), rows: toNumber(count) }));
    cleared[`${kind}.${field}`] = { values: toNumber(rows[0]?.[2]), examples };
  }

  return cleared;
}

/** The first word of a name and the rest, whatever white space is between them: U+3000, U+00A0. */
const NAME_PARTS = "'(?s)^[\\s\\p{Z}]*([^\\s\\p{Z}]+)[\\s\\p{Z}]*(.*?)[\\s\\p{Z}]*$'";

const REFUSALS = ["reason", "detail", "wrong_field", "text", "file", "line"];

/** `staged_people`, a view of the raw people that are taken, and `staged_companies`. */
export async function typedTables(connection: DuckDBConnection): Promise<void> {
  await connection.run("DELETE FROM raw_people WHERE reason IS NOT NULL");
  const asWritten = lenientFields("people").filter(
    (field) => ADDRESSES.people[field] !== "address_form",
  );

  for (const column of [...REFUSALS, ...asWritten])
    await connection.run(`ALTER TABLE raw_people DROP COLUMN ${column}`);

  const forms = [
    `${usableOf("network_url")} AS address`,
    `${usableOf("company_network_url")} AS company_address`,
    "rowid AS place",
  ];
  await connection.run(`CREATE VIEW staged_people AS ${typedSql("people", forms)}`);
  await connection.run(
    `CREATE TABLE staged_companies AS ${typedSql("companies")} ` +
      "WHERE reason IS NULL; DROP TABLE raw_companies",
  );
}

const LOCATION = "coalesce(location, nullif(concat_ws(', ', city, state, country), ''))";
const SPECIAL: Readonly<Record<ImportKind, Readonly<Record<string, string>>>> = {
  people: {
    name: "coalesce(name, nullif(concat_ws(' ', first_name, last_name), ''))",
    first_name:
      "CASE WHEN first_name IS NULL AND last_name IS NULL THEN regexp_extract(name, " +
      `${NAME_PARTS}, 1) ELSE first_name END`,
    last_name:
      "CASE WHEN first_name IS NULL AND last_name IS NULL THEN nullif(regexp_extract(name, " +
      `${NAME_PARTS}, 2), '') ELSE last_name END`,
    department: departmentSql,
    location: LOCATION,
  },
  companies: {
    specialties: `coalesce(list_filter(list_transform(CASE WHEN starts_with(specialties, '[')
      AND json_valid(specialties) THEN TRY_CAST(specialties::JSON AS VARCHAR[])
      ELSE string_split_regex(specialties, '[;|]') END, lambda part: trim(part)),
      lambda part: part <> ''), []::VARCHAR[])`,
    location: LOCATION,
  },
};

function typedSql(kind: ImportKind, more: readonly string[] = []): string {
  const lenient = lenientFields(kind);
  const columns = mappedFields(kind).map((field) => {
    const special = SPECIAL[kind][field];
    if (special !== undefined) return `${special} AS ${field}`;
    if (ADDRESSES[kind][field] === "address_form")
      return `CASE WHEN ${usableOf(field)} IS NOT NULL THEN ${field} END AS ${field}`;
    return lenient.includes(field) ? `${usableOf(field)} AS ${field}` : field;
  });
  return `SELECT ${[...columns, ...more].join(", ")} FROM raw_${kind}`;
}

/**
 * One company for each address that people name, else each domain, else each name.
 * @returns how many
 */
export async function deriveCompanies(connection: DuckDBConnection): Promise<number> {
  const first = (field: string): string =>
    `arg_min(${field}, place) FILTER (WHERE ${field} IS NOT NULL) AS ${field}`;
  const tiers = [
    ["address", "address IS NOT NULL"],
    [
      "domain",
      `address IS NULL AND domain IS NOT NULL
        AND domain NOT IN (SELECT domain FROM staged_companies WHERE domain IS NOT NULL)`,
    ],
    [
      "name",
      `address IS NULL AND domain IS NULL AND plain IS NOT NULL
        AND plain NOT IN (SELECT normal_form(name) FROM staged_companies WHERE name IS NOT NULL)`,
    ],
  ];

  await connection.run(`CREATE TABLE employers AS
    SELECT place, company_address AS address, company_network_url, company_domain AS domain,
      company_name AS name,
      CASE WHEN company_address IS NULL
        AND company_domain IS NULL THEN normal_form(company_name) END AS plain FROM staged_people
    WHERE coalesce(company_network_url, company_domain, company_name) IS NOT NULL`);

  // A bare slug stands for the whole address where somebody gives that.
  const bare = await scalar(
    connection,
    "SELECT count(*) FROM employers WHERE NOT contains(address, '/')",
  );

  if (toNumber(bare) > 0) {
    await connection.run(`UPDATE employers SET address = whole.address, company_network_url = NULL
      FROM (
      SELECT slug_of(address) AS slug, min(address) AS address FROM employers
        WHERE contains(address, '/') GROUP BY 1) AS whole
    WHERE employers.address = whole.slug`);
  }

  for (const [key, where] of tiers) {
    await connection.run(`INSERT INTO staged_companies BY NAME
      SELECT 'c' || left(md5('${key} ' || shared), 20) AS id, * EXCLUDE (shared),
        []::VARCHAR[] AS specialties
      FROM (SELECT ${key === "name" ? "plain" : key} AS shared, ${first("name")},
        ${first("domain")}, ${first("company_network_url")}
        FROM employers WHERE ${where} GROUP BY 1)`);
  }

  await connection.run("DROP TABLE employers");
  return toNumber(await scalar(connection, "SELECT count(*) FROM staged_companies"));
}
