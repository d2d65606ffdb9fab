import type { DuckDBConnection } from "@duckdb/node-api";
import { COMPANY_FIELDS } from "../../shared/contract/records.ts";
import { packedSql } from "../embedded/records.ts";

/** `keyed_companies`: in the order of ids, with what each is found by. */
export async function keyCompanies(connection: DuckDBConnection): Promise<void> {
  await connection.run(`
CREATE TABLE keyed_companies AS
SELECT (row_number() OVER (ORDER BY id) - 1)::UINTEGER AS seq, id, normal_form(name) AS name_key, domain_form(domain) AS domain_key,
  address, slug_of(address) AS slug, name, domain, company_network_url, ${packedSql(COMPANY_FIELDS)} AS doc
FROM (SELECT *, address_form(company_network_url) AS address FROM staged_companies) ORDER BY id`);
}

const LINK_KEY = `CASE WHEN company_address IS NOT NULL THEN 'address ' || company_address
  WHEN company_domain IS NOT NULL THEN 'domain ' || company_domain
  WHEN normal_form(company_name) IS NOT NULL THEN 'name ' || normal_form(company_name) END`;

/**
 * `company_of`: the company of each link key; `linked_people`: what a record lacks of its company.
 */
// By address, slug, domain, a name that only one has; the
// first by id wins. One join a statement, for memory's sake.
export async function linkCompanies(connection: DuckDBConnection): Promise<void> {
  await connection.run(
    `CREATE TABLE link_keys AS SELECT DISTINCT ${LINK_KEY} AS link_key FROM staged_people`,
  );
  await connection.run("CREATE TABLE links (link_key VARCHAR, seq UINTEGER)");

  const byAddress =
    "SELECT 'address ' || address AS key, min(seq) AS seq FROM " +
    "keyed_companies WHERE address IS NOT NULL";
  const steps: readonly { readonly key: string; readonly companies: string }[] = [
    { key: "link_key", companies: `${byAddress} GROUP BY 1` },
    {
      key:
        "CASE WHEN starts_with(link_key, 'address ') AND NOT " +
        "contains(link_key, '/') THEN link_key END",
      companies:
        "SELECT 'address ' || slug AS key, min(seq) AS seq FROM " +
        "keyed_companies WHERE slug IS NOT NULL GROUP BY 1",
    },
    {
      key:
        "CASE WHEN starts_with(link_key, 'address ') AND contains(link_key, " +
        "'/') THEN 'address ' || slug_of(link_key) END",
      companies: `${byAddress} AND NOT contains(address, '/') GROUP BY 1`,
    },
    {
      key: "link_key",
      companies:
        "SELECT 'domain ' || domain_key AS key, min(seq) AS seq FROM " +
        "keyed_companies WHERE domain_key IS NOT NULL GROUP BY 1",
    },
    {
      key: "link_key",
      companies:
        "SELECT 'name ' || name_key AS key, min(seq) AS seq FROM keyed_companies " +
        "WHERE name_key IS NOT NULL GROUP BY 1 HAVING count(*) = 1",
    },
  ];

  for (const { key, companies } of steps) {
    await connection.run(`CREATE TABLE found AS SELECT l.link_key, c.seq
      FROM (SELECT link_key, ${key} AS wanted FROM link_keys WHERE link_key IS NOT NULL) l JOIN (${companies}) c ON c.key = l.wanted`);
    await connection.run("INSERT INTO links SELECT * FROM found ANTI JOIN links USING (link_key)");
    await connection.run("DROP TABLE found");
  }

  await connection.run(`CREATE TABLE company_of AS
    SELECT l.link_key, k.seq, k.name, k.domain, k.company_network_url, k.address FROM links l JOIN keyed_companies k USING (seq)`);
  await connection.run("DROP TABLE link_keys; DROP TABLE links");
  await connection.run(`CREATE VIEW linked_people AS ${employerSql("staged_people")}`);
}

/**
 * These rows of `staged_people` as {@link linkCompanies}
 * completes them, and each one's company's position.
 */
export const employerSql = (people: string): string => `SELECT s.* REPLACE (
    coalesce(s.company_name, k.name) AS company_name, coalesce(s.company_domain, k.domain) AS company_domain,
    CASE WHEN s.company_address IS NULL OR (NOT contains(s.company_address, '/') AND k.company_network_url IS NOT NULL)
      THEN coalesce(k.company_network_url, s.company_network_url) ELSE s.company_network_url END AS company_network_url,
    CASE WHEN s.company_address IS NULL OR NOT contains(s.company_address, '/')
      THEN coalesce(k.address, s.company_address) ELSE s.company_address END AS company_address),
    k.seq AS company
  FROM (SELECT *, ${LINK_KEY} AS link_key FROM ${people}) s LEFT JOIN company_of k ON k.link_key = s.link_key`;
