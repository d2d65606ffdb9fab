import { NUMBER_COLUMNS } from "../../../contract/conditions.ts";
import { SORT_KEYS } from "../../columns.ts";
import type { Query } from "../dialect.ts";
import { linkedSql, type Named, notRefused } from "./companies.ts";
import { EMPLOYER, FORMS, STAGED } from "./stage.ts";

/** What people are put in order by one range after another. */
export const RANGE_KEYS = SORT_KEYS.slice(0, 4);

/** Missing values are '', and come last. */
const inOrder = (keys: readonly string[]): string => keys.flatMap((key) => [`${key} = ''`, key]).join(", ");

const kept = (table: Named, anyRefused: boolean): string => `hidden = 0 AND ${notRefused(table, anyRefused)}`;

export const groupsSql = (table: Named, anyRefused: boolean): string =>
  `SELECT ${RANGE_KEYS.join(", ")}, count() FROM ${table("people")} WHERE ${kept(table, anyRefused)}
  GROUP BY ${RANGE_KEYS.join(", ")} ORDER BY ${inOrder(RANGE_KEYS)}`;

/** Leaves out whom the suppression list names by the domain of a company that the person is only linked to. */
export function hideSql(table: Named, anyRefused: boolean, domains: readonly string[]): Query {
  const rows = `SELECT part, line, link_key, company_domain_json FROM ${table("people")}
    WHERE company_domain_json = 'null' AND ${kept(table, anyRefused)}`;
  return {
    sql: `INSERT INTO ${table("refused")} (part, line, why) SELECT part, line, 2
    FROM (${linkedSql(table, rows, ["part", "line"])}) AS linked WHERE found AND k_company_domain_json IN {domains:Array(String)}`,
    params: { domains },
  };
}

const isWhole = "position(own_address, '/') > 0";
/** What a record lacks of its company is filled in, so that a count of the address finds its employees. */
const FILLED: Readonly<Record<string, string>> = {
  company_name_json: "if(found AND company_name_json = 'null', k_company_name_json, company_name_json)",
  company_domain_json: "if(found AND company_domain_json = 'null', k_company_domain_json, company_domain_json)",
  company_url_json: `if(found AND NOT ${isWhole} AND k_company_url_json != 'null', k_company_url_json, company_url_json)`,
};

/** People of a range into the final table, with their positions from `offset` on. */
export function peopleSql(table: Named, target: string, where: Query, offset: number, anyRefused: boolean): Query {
  const columns = STAGED.people.slice(STAGED.people.indexOf("id"));
  const rows = `SELECT ${columns.join(", ")} FROM ${table("people")} WHERE ${where.sql} AND ${kept(table, anyRefused)}`;
  const texts = [...FORMS, "network_address", "network_slug"];
  const names = ["company_name", "company_domain", "company_network_url"];
  const employer = EMPLOYER.map((value, index) => {
    const opening = index === 0 ? "" : `',"${names[index]}":', `;
    return `${opening}${FILLED[value]}`;
  });
  const address = `if(found AND NOT ${isWhole} AND k_address != '', k_address, own_address)`;
  const own = "if(startsWith(link_key, 'address '), substring(link_key, 9), '') AS own_address";
  return {
    sql: `INSERT INTO ${target} (rid, id, ${texts.join(", ")}, company_address, company_slug, company, ${NUMBER_COLUMNS.join(", ")}, record)
SELECT ${offset} + rowNumberInAllBlocks(), id, ${texts.join(", ")}, address, if(address = '', '', arrayElement(splitByChar('/', address), -1)),
  company, ${NUMBER_COLUMNS.join(", ")}, record
FROM (SELECT id, ${texts.join(", ")}, ${address} AS address, if(found, toInt64(k_seq), -1) AS company, ${NUMBER_COLUMNS.join(", ")},
    concat(head, ${employer.join(", ")}, tail) AS record
  FROM (${linkedSql(table, rows, [...columns, own])}) AS linked
  ORDER BY ${inOrder(SORT_KEYS)}, id) AS ordered`,
    params: where.params,
  };
}

/** Companies of ids from one beginning to another into the table of companies with positions. */
export function keyedSql(table: Named, from: string, to: string, offset: number, anyRefused: boolean): Query {
  const columns = STAGED.companies.slice(STAGED.companies.indexOf("id")).join(", ");
  return {
    sql: `INSERT INTO ${table("keyed")} (seq, ${columns}) SELECT ${offset} + rowNumberInAllBlocks(), ${columns}
    FROM (SELECT ${columns} FROM ${table("companies")} WHERE id >= {from:String} AND ${BEGINNING} <= {to:String} AND ${notRefused(table, anyRefused)}
      ORDER BY id) AS ordered`,
    params: { from, to },
  };
}

const BEGINNING = "substringUTF8(id, 1, 6)";

export const companyGroupsSql = (table: Named, anyRefused: boolean): string =>
  `SELECT ${BEGINNING} AS beginning, count() FROM ${table("companies")} WHERE ${notRefused(table, anyRefused)}
  GROUP BY beginning ORDER BY beginning`;
