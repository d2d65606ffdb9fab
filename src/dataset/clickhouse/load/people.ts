import { NUMBER_COLUMNS } from "../../../shared/contract/conditions.ts";
import { SORT_KEYS } from "../../columns.ts";
import type { Statement } from "../dialect.ts";
import { LOW } from "../schema.ts";
import { linkedSql, notRefused, PLACE, type TableName } from "./companies.ts";
import { FORMED_COLUMNS, inOrder, madeOf, RECORD, recordOf, STAGED } from "./stage.ts";

export const RANGE_COLUMNS = SORT_KEYS.slice(0, 4);

const condition = (table: TableName, anyRefused: boolean): string =>
  `hidden = 0 AND ${notRefused(table, anyRefused)}`;

export const groupsSql = (table: TableName, keys: readonly string[], anyRefused: boolean): string =>
  `SELECT ${keys.join(", ")}, count() FROM ${table("people")} WHERE ${condition(table, anyRefused)}
  GROUP BY ${keys.join(", ")} ORDER BY ${inOrder(keys)}`;

/**
 * Leaves out whom the suppression list names by the
 * domain of a company that the person is only linked to: those domains are in `twins`.
 */
export function hideSql(table: TableName, anyRefused: boolean): string {
  const source = `FROM ${table("people")}
    WHERE company_domain_given = '' AND ${condition(table, anyRefused)}`;
  const rows = `SELECT part, line, asked ${source}`;
  const linked = linkedSql(table, rows, `SELECT asked ${source}`, ["part", "line"]);
  return `INSERT INTO ${table("refused")} (part, line, why) SELECT part, line, 2
    FROM (${linked}) AS linked
    WHERE found AND k_company_domain_json GLOBAL IN (SELECT id FROM ${table("twins")})`;
}

const isWhole = "position(own_address, '/') > 0";
/**
 * What a record lacks of its company is filled in, so
 * that a count of the address finds its employees.
 */
const FILLED: Readonly<Record<string, string>> = {
  company_name_json:
    "if(found AND company_name_json = 'null', k_company_name_json, company_name_json)",
  company_domain_json:
    "if(found AND company_domain_json = 'null', k_company_domain_json, company_domain_json)",
  company_url_json:
    `if(found AND NOT ${isWhole} AND k_company_url_json != 'null', ` +
    "k_company_url_json, company_url_json)",
};

const slugSql = (address: string): string =>
  `if(${address} = '', '', arrayElement(splitByChar('/', ${address}), -1))`;

export function peopleSql(
  table: TableName,
  target: string,
  { where, offset }: { readonly where: Statement; readonly offset: number },
  anyRefused: boolean,
): Statement {
  const forms = [...LOW, ...FORMED_COLUMNS, "network_address"];
  const source = `FROM ${table("people")} WHERE ${where.sql} AND ${condition(table, anyRefused)}`;

  // Only a record to which its company may add something is put together of parts, behind the join.
  const record = [
    madeOf("whole", "asked = ''"),
    ...RECORD.map((part) => madeOf(part, "asked != ''")),
  ];

  const parts = [
    ...forms.map((form) => madeOf(form)),
    ...NUMBER_COLUMNS,
    "own_address",
    "asked",
    ...record,
  ].join(", ");

  // Rows are wide, and the table puts them in its order
  // anyway: what is sorted here is their places only.
  const places = `SELECT ${offset} + rowNumberInAllBlocks() AS rid, place
      FROM (SELECT ${PLACE} AS place ${source} ORDER BY ${inOrder(SORT_KEYS)}, id) AS ordered`;

  const columns = [
    "rid",
    "id",
    ...forms,
    ...NUMBER_COLUMNS,
    "own_address",
    "asked",
    "whole",
    ...RECORD,
  ];
  const rows = `SELECT ${columns.join(", ")} FROM (SELECT ${PLACE} AS place, id, ${parts} ${source}) AS wide
    ANY LEFT JOIN (${places}) AS places USING (place)`;
  const address = `if(found AND NOT ${isWhole} AND k_address != '', k_address, own_address)`;
  const filled = ["rid", "id", ...forms, ...NUMBER_COLUMNS].join(", ");

  return {
    sql: `INSERT INTO ${target} (${filled}, network_slug, company_address, company_slug, company, record)
SELECT ${filled}, ${slugSql("network_address")}, address, ${slugSql("address")}, company, record
FROM (SELECT ${filled}, ${address} AS address, if(found, toInt64(k_seq), -1) AS company,
    if(asked = '', whole, ${recordOf((part) => FILLED[part] ?? part)}) AS record
  FROM (${linkedSql(table, rows, `SELECT asked ${source}`, columns)}) AS linked) AS filled`,
    params: where.params,
  };
}

export function keyedSql(
  table: TableName,
  {
    from,
    before,
    offset,
  }: { readonly from: string; readonly before: string | undefined; readonly offset: number },
  anyRefused: boolean,
): Statement {
  const columns = STAGED.companies.slice(STAGED.companies.indexOf("id")).join(", ");
  const end = before === undefined ? "" : " AND id < {before:String}";
  return {
    sql: `INSERT INTO ${table("keyed")} (seq, ${columns}) SELECT ${offset} + rowNumberInAllBlocks(), ${columns}
    FROM (SELECT ${columns} FROM ${table("companies")} WHERE id >= {from:String}${end} AND ${notRefused(table, anyRefused)}
      ORDER BY id) AS ordered`,
    params: before === undefined ? { from } : { from, before },
  };
}

/**
 * The first of every so many rows, behind its place. In
 * no order: asked for one, servers drop the inner one.
 */
const firstsSql = (columns: string, rows: string, order: string, most: number): string =>
  `SELECT place, ${columns} FROM (SELECT ${columns}, rowNumberInAllBlocks() AS place
    FROM (SELECT ${columns} ${rows} ORDER BY ${order}) AS ordered) AS placed WHERE place % ${most} = 0`;

export const firstCompaniesSql = (table: TableName, anyRefused: boolean, most: number): string =>
  firstsSql("id", `FROM ${table("companies")} WHERE ${notRefused(table, anyRefused)}`, "id", most);

export const firstPeopleSql = (
  table: TableName,
  where: Statement,
  anyRefused: boolean,
  most: number,
): Statement => ({
  sql: firstsSql(
    "title, id",
    `FROM ${table("people")} WHERE ${where.sql} AND ${condition(table, anyRefused)}`,
    `${inOrder(["title"])}, id`,
    most,
  ),
  params: where.params,
});
