import type { DuckDBConnection } from "@duckdb/node-api";
import { COMPANY_FIELDS } from "../../shared/contract/records.ts";
import { packedSql } from "../embedded/records.ts";

const LINK_KEY = `CASE WHEN company_address IS NOT NULL THEN 'address ' || company_address
  WHEN company_domain IS NOT NULL THEN 'domain ' || company_domain
  WHEN normal_form(company_name) IS NOT NULL THEN 'name ' || normal_form(company_name) END`;

/** A link key, and companies that have it: the first wins, and of each the first by id. */
const STEPS = [
  [
    "link_key",
    `'address ' || address AS key, min(seq) AS seq FROM keyed_companies
      WHERE address IS NOT NULL GROUP BY 1`,
  ],
  [
    `CASE WHEN starts_with(link_key, 'address ') AND NOT contains(link_key, '/')
      THEN link_key END`,
    `'address ' || slug AS key, min(seq) AS seq FROM keyed_companies
      WHERE slug IS NOT NULL GROUP BY 1`,
  ],
  [
    `CASE WHEN starts_with(link_key, 'address ') AND contains(link_key, '/')
      THEN 'address ' || slug_of(link_key) END`,
    `'address ' || address AS key, min(seq) AS seq FROM keyed_companies
      WHERE address IS NOT NULL AND NOT contains(address, '/') GROUP BY 1`,
  ],
  [
    "link_key",
    `'domain ' || domain_key AS key, min(seq) AS seq FROM keyed_companies
      WHERE domain_key IS NOT NULL GROUP BY 1`,
  ],
  [
    "link_key",
    `'name ' || name_key AS key, min(seq) AS seq FROM keyed_companies
      WHERE name_key IS NOT NULL GROUP BY 1 HAVING count(*) = 1`,
  ],
];

/**
 * `keyed_companies`: in the order of ids, with what each is found by.
 * `company_of`: of each link key the company, what a record lacks of it, and the key that
 * employees are found by, with its rank: the address, or the position of one without.
 * `employed`: by the rows of this, people who name a company. `linked_people`: everybody,
 * completed.
 */
export async function linkCompanies(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE TABLE keyed_companies AS
SELECT (row_number() OVER (ORDER BY id) - 1)::UINTEGER AS seq, id, normal_form(name) AS name_key,
  domain_form(domain) AS domain_key,
  address, slug_of(address) AS slug, name, domain, company_network_url,
  ${packedSql(COMPANY_FIELDS)} AS doc
FROM (SELECT *, address_form(company_network_url) AS address FROM staged_companies) ORDER BY id`);
  await connection.run(`CREATE TABLE link_keys AS
    SELECT DISTINCT ${LINK_KEY} AS link_key FROM staged_people;
    CREATE TABLE links (link_key VARCHAR, seq UINTEGER)`);

  for (const [key, companies] of STEPS)
    await connection.run(`INSERT INTO links SELECT * FROM (SELECT l.link_key, c.seq
      FROM (SELECT link_key, ${key} AS wanted FROM link_keys WHERE link_key IS NOT NULL) l
        JOIN (SELECT ${companies}) c ON c.key = l.wanted)
      ANTI JOIN links USING (link_key)`);

  await connection.run(`CREATE TABLE company_of AS
    SELECT *, dense_rank() OVER (ORDER BY employer_key) AS employer_rank
    FROM (SELECT *, CASE WHEN address IS NULL THEN '/' || seq
        ELSE ${addressKey("slug_of(address)", "address")} END AS employer_key
      FROM (SELECT link_key, seq, name, domain,
          CASE WHEN NOT is_whole THEN company_network_url END AS company_network_url,
          CASE WHEN is_whole THEN own ELSE coalesce(address, own) END AS address
        FROM (SELECT link_key, own, coalesce(contains(own, '/'), false) AS is_whole
          FROM (SELECT link_key, CASE WHEN starts_with(link_key, 'address ')
              THEN substr(link_key, 9) END AS own FROM link_keys WHERE link_key IS NOT NULL))
        LEFT JOIN links USING (link_key) LEFT JOIN keyed_companies USING (seq)))`);
  await connection.run(`CREATE TABLE employed AS
    SELECT place, c.rowid::UINTEGER AS link
    FROM (SELECT place, ${LINK_KEY} AS link_key FROM staged_people)
    JOIN company_of c USING (link_key)`);
  await connection.run(`DROP TABLE link_keys; DROP TABLE links;
    CREATE VIEW linked_people AS ${employerSql("staged_people")}`);
}

/**
 * Slug first, the rest behind a character that it cannot hold: a bare slug is then a range of keys.
 */
export const addressKey = (slug: string, address: string): string =>
  `${slug} || '/' || left(${address}, length(${address}) - length(${slug}))`;

/**
 * These rows of `staged_people` as {@link linkCompanies}
 * completes them, and each one's company's position.
 */
export const employerSql = (people: string): string => `SELECT s.* REPLACE (
    coalesce(s.company_name, k.name) AS company_name,
    coalesce(s.company_domain, k.domain) AS company_domain,
    coalesce(k.company_network_url, s.company_network_url) AS company_network_url,
    coalesce(k.address, s.company_address) AS company_address), k.seq AS company
  FROM ${people} s LEFT JOIN employed e ON e.place = s.place
  LEFT JOIN company_of k ON k.rowid = e.link`;
