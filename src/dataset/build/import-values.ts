import type { DuckDBConnection } from "@duckdb/node-api";
import { DEPARTMENTS } from "../../contract/departments.ts";
import { normalForm } from "../../contract/normalise.ts";
import { literal, scalar, toNumber } from "../duckdb.ts";
import { ADDRESSES, fieldsOf, type ImportKind, INTEGERS } from "./import-map.ts";

/** Departments that are not one of the 20, or missing: they became "Other". */
export interface DepartmentReport {
  readonly unknown: number;
  readonly missing: number;
  readonly examples: readonly { readonly value: string; readonly people: number }[];
}

const DEPARTMENT_CASES = DEPARTMENTS.map((name) => `WHEN ${literal(normalForm(name))} THEN ${literal(name)}`).join(" ");
const departmentSql = `CASE normal_form(department) ${DEPARTMENT_CASES} ELSE 'Other' END`;

export async function departmentReport(connection: DuckDBConnection): Promise<DepartmentReport> {
  const taken = "FROM raw_people WHERE reason IS NULL";
  const missing = toNumber(await scalar(connection, `SELECT count(*) ${taken} AND department IS NULL`));
  const unknown = `${taken} AND department IS NOT NULL AND ${departmentSql} = 'Other' AND normal_form(department) IS DISTINCT FROM 'other'`;
  const total = toNumber(await scalar(connection, `SELECT count(*) ${unknown}`));
  const top = await connection.runAndReadAll(
    `SELECT department, count(*) AS people ${unknown} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10`,
  );
  const examples = top.getRowsJS().map(([value, people]) => ({ value: String(value), people: toNumber(people) }));
  return { unknown: total, missing, examples };
}

/** `2025-03-01`, a timestamp with or without offset, or an epoch in seconds or milliseconds. */
const timestampSql = `strftime(coalesce(
  CASE WHEN regexp_full_match(updated_at, '[0-9]{9,10}') THEN make_timestamp(updated_at::BIGINT * 1000000)
    WHEN regexp_full_match(updated_at, '[0-9]{12,13}') THEN make_timestamp(updated_at::BIGINT * 1000) END,
  CASE WHEN regexp_full_match(updated_at, '[0-9]{4}-[0-9]{2}-[0-9]{2}.*') THEN TRY_CAST(TRY_CAST(updated_at AS TIMESTAMPTZ) AS TIMESTAMP) END
), '%Y-%m-%dT%H:%M:%SZ')`;

export async function clearedReport(connection: DuckDBConnection, kind: ImportKind): Promise<Record<string, number>> {
  const cleared: Record<string, number> = {};
  const checks = { ...ADDRESSES[kind], updated_at: "" };
  for (const [field, form] of Object.entries(checks)) {
    const usable = form === "" ? timestampSql : `${form}(${field})`;
    const count = toNumber(
      await scalar(
        connection,
        `SELECT count(*) FROM raw_${kind} WHERE reason IS NULL AND ${field} IS NOT NULL AND ${usable} IS NULL`,
      ),
    );
    if (count > 0) cleared[`${kind}.${field}`] = count;
  }
  return cleared;
}

/** `staged_people` and `staged_companies` from the raw rows that are taken. */
export async function typedTables(connection: DuckDBConnection): Promise<void> {
  const integer = (field: string): string => `TRY_CAST(regexp_replace(${field}, '\\.0+$|^[+]', '', 'g') AS BIGINT)`;
  const people: Readonly<Record<string, string>> = {
    name: "coalesce(name, nullif(concat_ws(' ', first_name, last_name), ''))",
    first_name: "CASE WHEN first_name IS NULL AND last_name IS NULL THEN split_part(name, ' ', 1) ELSE first_name END",
    last_name:
      "CASE WHEN first_name IS NULL AND last_name IS NULL THEN nullif(trim(substr(name, length(split_part(name, ' ', 1)) + 1)), '') ELSE last_name END",
    department: departmentSql,
    location: "coalesce(location, nullif(concat_ws(', ', city, state, country), ''))",
  };
  const list = `CASE WHEN specialties IS NULL THEN []::VARCHAR[]
    WHEN starts_with(specialties, '[') AND json_valid(specialties) THEN coalesce(TRY_CAST(specialties::JSON AS VARCHAR[]), []::VARCHAR[])
    ELSE list_filter(list_transform(string_split_regex(specialties, '[;|]'), lambda part: trim(part)), lambda part: part <> '') END`;
  const companies: Readonly<Record<string, string>> = {
    specialties: list,
    location: "coalesce(location, nullif(concat_ws(', ', city, state, country), ''))",
  };
  for (const [kind, special] of [
    ["people", people],
    ["companies", companies],
  ] as const) {
    const columns = fieldsOf(kind).map((field) => {
      const address = ADDRESSES[kind][field];
      if (special[field] !== undefined) return `${special[field]} AS ${field}`;
      if (INTEGERS[kind].includes(field)) return `${integer(field)} AS ${field}`;
      if (address === "domain_form") return `domain_form(${field}) AS ${field}`;
      if (address === "address_form")
        return `CASE WHEN address_form(${field}) IS NOT NULL THEN ${field} END AS ${field}`;
      if (field === "updated_at") return `${timestampSql} AS ${field}`;
      return field;
    });
    await connection.run(
      `CREATE TABLE staged_${kind} AS SELECT ${columns.join(", ")} FROM raw_${kind} WHERE reason IS NULL`,
    );
    await connection.run(`DROP TABLE raw_${kind}`);
  }
}

/**
 * One company for each address that people name; for each domain of people without an address, where no company has it yet; for
 * each name of people with neither. What is said of it comes from the first person who says it.
 * @returns how many
 */
export async function deriveCompanies(connection: DuckDBConnection): Promise<number> {
  const first = (field: string): string => `arg_min(${field}, place) FILTER (WHERE ${field} IS NOT NULL) AS ${field}`;
  const tiers: readonly { key: string; prefix: string; where: string }[] = [
    { key: "address", prefix: "address ", where: "address IS NOT NULL" },
    {
      key: "domain",
      prefix: "domain ",
      where:
        "address IS NULL AND domain IS NOT NULL AND domain NOT IN (SELECT domain FROM staged_companies WHERE domain IS NOT NULL)",
    },
    {
      key: "plain",
      prefix: "name ",
      where:
        "address IS NULL AND domain IS NULL AND plain IS NOT NULL AND plain NOT IN (SELECT normal_form(name) FROM staged_companies WHERE name IS NOT NULL)",
    },
  ];
  await connection.run(`CREATE TABLE employers AS
    SELECT rowid AS place, address_form(company_network_url) AS address, company_network_url, company_domain AS domain, company_name AS name,
      normal_form(company_name) AS plain FROM staged_people
    WHERE coalesce(company_network_url, company_domain, company_name) IS NOT NULL`);
  // A bare slug stands for the whole address where somebody gives that.
  await connection.run(`UPDATE employers SET address = whole.address, company_network_url = NULL FROM (
      SELECT slug_of(address) AS slug, min(address) AS address FROM employers WHERE contains(address, '/') GROUP BY 1) AS whole
    WHERE employers.address = whole.slug`);
  for (const { key, prefix, where } of tiers) {
    await connection.run(`INSERT INTO staged_companies BY NAME
      SELECT 'c' || left(md5('${prefix}' || shared), 20) AS id, * EXCLUDE (shared), []::VARCHAR[] AS specialties
      FROM (SELECT ${key} AS shared, ${first("name")}, ${first("domain")}, ${first("company_network_url")}
        FROM employers WHERE ${where} GROUP BY 1)`);
  }
  await connection.run("DROP TABLE employers");
  return toNumber(await scalar(connection, "SELECT count(*) FROM staged_companies"));
}
