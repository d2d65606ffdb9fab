import { NUMBER_COLUMNS } from "../../../contract/conditions.ts";
import { SORT_KEYS } from "../../columns.ts";
import type { Query } from "../dialect.ts";
import { LOW } from "../schema.ts";
import { linkedSql, type Named, notRefused } from "./companies.ts";
import { EMPLOYER, FORMED_COLUMNS, givenOf, inOrder, madeOf, RECORD, STAGED } from "./stage.ts";

/** What people are put in order by one range after another. */
export const RANGE_KEYS = SORT_KEYS.slice(0, 4);

const kept = (table: Named, anyRefused: boolean): string => `hidden = 0 AND ${notRefused(table, anyRefused)}`;

export const groupsSql = (table: Named, keys: readonly string[], anyRefused: boolean): string =>
  `SELECT ${keys.join(", ")}, count() FROM ${table("people")} WHERE ${kept(table, anyRefused)}
  GROUP BY ${keys.join(", ")} ORDER BY ${inOrder(keys)}`;

/** Leaves out whom the suppression list names by the domain of a company that the person is only linked to. */
export function hideSql(table: Named, anyRefused: boolean, domains: readonly string[]): Query {
  const source = `FROM ${table("people")}
    WHERE company_domain_given = '' AND ${kept(table, anyRefused)}`;
  return {
    sql: `INSERT INTO ${table("refused")} (part, line, why) SELECT part, line, 2
    FROM (${linkedSql(table, `SELECT part, line, link_key AS asked ${source}`, `SELECT link_key AS asked ${source}`, ["part", "line"])}) AS linked WHERE found AND k_company_domain_json IN {domains:Array(String)}`,
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

const slugSql = (address: string): string => `if(${address} = '', '', arrayElement(splitByChar('/', ${address}), -1))`;

/** Whoever names the employer with a whole address, a name and a domain has nothing to learn of the company: its people are found by the address. */
const ASKS = `NOT (startsWith(link_key, 'address ') AND position(link_key, '/') > 0 AND ${givenOf("company_name")} != '' AND ${givenOf("company_domain")} != '')`;

/** People of a range into the final table, with their positions from `offset` on. */
export function peopleSql(table: Named, target: string, where: Query, offset: number, anyRefused: boolean): Query {
  const forms = [...LOW, ...FORMED_COLUMNS, "network_address"];
  const made = [...forms, ...NUMBER_COLUMNS, ...RECORD].map(madeOf).join(", ");
  const source = `FROM ${table("people")} WHERE ${where.sql} AND ${kept(table, anyRefused)}`;
  const asked = `if(${ASKS}, link_key, '') AS asked`;
  const ordered = `SELECT id, ${made}, if(startsWith(link_key, 'address '), substring(link_key, 9), '') AS own_address, ${asked}
      ${source} ORDER BY ${inOrder(SORT_KEYS)}, id`;
  // They are counted before they are joined, which may take them out of their order.
  const rows = `SELECT ${offset} + rowNumberInAllBlocks() AS rid, * FROM (${ordered}) AS ordered`;
  const columns = ["rid", "id", ...forms, ...NUMBER_COLUMNS, ...RECORD, "own_address"];
  const names = ["company_name", "company_domain", "company_network_url"];
  const employer = EMPLOYER.map((value, index) => {
    const opening = index === 0 ? "" : `',"${names[index]}":', `;
    return `${opening}${FILLED[value]}`;
  });
  const address = `if(found AND NOT ${isWhole} AND k_address != '', k_address, own_address)`;
  const filled = ["rid", "id", ...forms, ...NUMBER_COLUMNS].join(", ");
  return {
    sql: `INSERT INTO ${target} (${filled}, network_slug, company_address, company_slug, company, record)
SELECT ${filled}, ${slugSql("network_address")}, address, ${slugSql("address")}, company, record
FROM (SELECT ${filled}, ${address} AS address, if(found, toInt64(k_seq), -1) AS company, concat(head, ${employer.join(", ")}, tail) AS record
  FROM (${linkedSql(table, rows, `SELECT ${asked} ${source}`, columns)}) AS linked) AS filled`,
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
