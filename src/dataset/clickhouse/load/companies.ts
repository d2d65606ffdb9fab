import { COMPANY_FIELDS } from "../../../shared/contract/records.ts";
import { EMPLOYER, madeOf, STAGED, type StageTables } from "./stage.ts";

export type TableName = (table: keyof StageTables) => string;

/** A row's place among all that were read: file by file, line by line. */
export const PLACE = "(toUInt64(part) * 1099511627776 + line)";
const lastOf = (address: string): string => `arrayElement(splitByChar('/', ${address}), -1)`;

export const notRefused = (table: TableName, any: boolean): string =>
  any ? `(part, line) GLOBAL NOT IN (SELECT part, line FROM ${table("refused")})` : "1";

const record = COMPANY_FIELDS.map((field) => {
  const terms: Readonly<Record<string, string>> = {
    id: "concat('\"', id, '\"')",
    name: "name_json",
    domain: "domain_json",
    company_network_url: "url_json",
  };
  return (
    `'${field === "id" ? "{" : ","}"${field}":', ` +
    `${terms[field] ?? (field === "specialties" ? "'[]'" : "'null'")}`
  );
}).join(", ");

export const bareSql = (table: TableName): string =>
  `SELECT count() FROM ${table("people")} WHERE own_address ` +
  "!= '' AND position(own_address, '/') = 0";

/**
 * What `deriveCompanies` of build/import-values.ts does, in statements to be run one after another.
 */
export function deriveSql(
  table: TableName,
  anyRefused: boolean,
  anyBare: boolean,
): readonly string[] {
  const columns = ["company_plain", "company_domain", "company_domain_key", ...EMPLOYER];
  const derived = columns.map((column) => madeOf(column)).join(", ");
  const people = `SELECT own_address AS own, ${derived}, ${PLACE} AS place
    FROM ${table("people")} WHERE (own_address != '' OR asked != '') AND ${notRefused(table, anyRefused)}`;
  const wholes = `SELECT slug AS own, min(full) AS whole
    FROM (SELECT own AS full, ${lastOf("own")} AS slug FROM (${people}) AS named WHERE position(own, '/') > 0) AS slugs
    WHERE slug GLOBAL IN (SELECT own FROM (${people}) AS bare WHERE own != '' AND position(own, '/') = 0) GROUP BY slug`;
  const employers = anyBare
    ? `SELECT *, if(whole != '', whole, own) AS address, if(whole != '', 'null', company_url_json) AS url
    FROM (${people}) AS p ANY LEFT JOIN (${wholes}) AS w USING (own)`
    : `SELECT *, own AS address, company_url_json AS url FROM (${people}) AS p`;

  const first = (value: string, json: string): string =>
    `argMinIf(${value}, place, ${json} != 'null')`;
  const tiers = [
    { key: "address", prefix: "address ", where: "address != ''" },
    {
      key: "company_domain",
      prefix: "domain ",
      where: `address = '' AND company_domain != '' AND company_domain_json GLOBAL NOT IN
        (SELECT company_domain_json FROM ${table("companies")} WHERE company_domain_json != 'null')`,
    },
    {
      key: "company_plain",
      prefix: "name ",
      where: `address = '' AND company_domain = '' AND company_plain != '' AND company_plain GLOBAL NOT IN
        (SELECT name FROM ${table("companies")} WHERE name != '')`,
    },
  ];

  return tiers.map(
    ({ key, prefix, where }) => `INSERT INTO ${table("companies")} (${STAGED.companies.join(", ")})
SELECT 0, 0, id, name, domain, address, if(address = '', '', ${lastOf("address")}), name_json, domain_json, url_json, concat(${record}, '}')
FROM (SELECT concat('c', substring(lower(hex(MD5(concat('${prefix}', shared)))), 1, 20)) AS id, name, domain,
    ${prefix === "address " ? "shared" : "''"} AS address, if(name_found = '', 'null', name_found) AS name_json,
    if(domain_found = '', 'null', domain_found) AS domain_json, if(url_found = '', 'null', url_found) AS url_json
  FROM (SELECT ${key} AS shared, ${first("company_plain", "company_name_json")} AS name,
      ${first("company_domain_key", "company_domain_json")} AS domain, ${first("company_name_json", "company_name_json")} AS name_found,
      ${first("company_domain_json", "company_domain_json")} AS domain_found, ${first("url", "url")} AS url_found
    FROM (${employers}) AS employers WHERE ${where} GROUP BY ${key}) AS grouped) AS made`,
  );
}

/**
 * What a person may ask for, and the company that it
 * means, in the order of build/link-companies.ts.
 */
export function linksSql(table: TableName): string {
  const values = `seq, address, ${EMPLOYER.join(", ")}`;
  const tiers = [
    { key: "concat('address ', address)", where: "address != ''" },
    { key: "concat('address ', slug)", where: "address != '' AND address != slug" },
    { key: "concat('domain ', domain)", where: "domain != ''" },
    { key: "concat('name ', name)", where: "name != ''" },
  ];
  const keys = tiers.map(
    ({ key, where }, index) =>
      `SELECT ${key} AS key, ${values}, toUInt8(${index + 1}) AS ` +
      `tier FROM ${table("keyed")} WHERE ${where}`,
  );
  const least = (value: string): string => `argMin(${value}, toUInt64(tier) * 1099511627776 + seq)`;
  const employers = EMPLOYER.map((value) => least(value)).join(", ");

  return `INSERT INTO ${table("links")} (key, seq, address, ${EMPLOYER.join(", ")}, tier)
SELECT key, ${least("seq")}, ${least("address")}, ${employers}, min(tier)
FROM (${keys.join(" UNION ALL ")}) AS keys GROUP BY key HAVING min(tier) < 4 OR count() = 1`;
}

/**
 * Rows that ask for a company by the link key `asked`, and
 * what is known of it: `found`, `k_seq`, `k_address`, ...
 */
export function linkedSql(
  table: TableName,
  rows: string,
  keys: string,
  columns: readonly string[],
): string {
  const slug =
    "if(startsWith(asked, 'address ') AND position(asked, '/') > 0, " +
    `concat('address ', ${lastOf("asked")}), '')`;
  const values = ["seq", "address", ...EMPLOYER];

  const side = (name: string, key: string, wanted: string, more: string): string =>
    `SELECT key AS ${key}, ${values.map((value) => `${value} AS ${name}_${value}`).join(", ")}, tier AS ${name}_tier
      FROM ${table("links")} WHERE key GLOBAL IN (SELECT ${wanted} FROM (${keys}) AS wanted)${more}`;

  const choices = values.map((value) => `if(a_tier > 0, a_${value}, b_${value}) AS k_${value}`);
  const links = `SELECT asked, (a_tier + b_tier) > 0 AS found, ${choices.join(", ")}
FROM (SELECT *, ${slug} AS link_slug FROM (SELECT DISTINCT asked FROM (${keys}) AS k WHERE asked != '') AS keys
  ANY LEFT JOIN (${side("a", "asked", "asked", "")}) AS a USING (asked)) AS ra
ANY LEFT JOIN (${side("b", "link_slug", slug, " AND tier = 1")}) AS b USING (link_slug)`;
  return `SELECT ${columns.join(", ")}, found, ${values.map((value) => `k_${value}`).join(", ")}
FROM (${rows}) AS rows ANY LEFT JOIN (${links}) AS looked USING (asked)`;
}
