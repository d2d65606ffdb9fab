import type { DuckDBConnection } from "@duckdb/node-api";
import {
  COMPANY_ENDS,
  COMPANY_HEADS,
  COMPANY_TAILS,
  createPools,
  FIRST_SLOTS,
  INDUSTRY_SLOTS,
  LAST_SLOTS,
  mix32,
  SMALL_SLOTS,
  TAIL_SLOTS,
} from "./generate-pools.ts";
import { PERSON_FORMS } from "./normal-sql.ts";

export interface GenerateOptions {
  readonly people: number;
  /** 0..4,294,967,295; the same people and seed give the same dataset on every machine. */
  readonly seed: number;
}

export const companiesFor = (people: number): number => Math.max(1, Math.round(people / 7));

/** A row is a pure function of its number and the seed in 32-bit integers: no floats, and no `hash()` of DuckDB's. */
export async function generateInto(connection: DuckDBConnection, options: GenerateOptions): Promise<void> {
  await createMacros(connection, options.seed);
  const pools = await createPools(connection);
  const companies = companiesFor(options.people);
  await connection.run(companiesSql(companies));
  await connection.run(peopleSql(options.people, companies));
  for (const table of [...pools, "made_companies"]) await connection.run(`DROP TABLE ${table}`);
}

async function createMacros(connection: DuckDBConnection, seed: number): Promise<void> {
  const mask = "4294967295::UBIGINT";
  const start = mix32(seed >>> 0);
  // A bijection of 32-bit numbers with good avalanche ("lowbias32"), in 64-bit arithmetic that cannot overflow.
  await connection.run(`CREATE OR REPLACE TEMP MACRO mix_a(x) AS ((xor(x, x >> 16)) * 2146121005) & ${mask}`);
  await connection.run(`CREATE OR REPLACE TEMP MACRO mix_b(x) AS ((xor(x, x >> 15)) * 2221713035) & ${mask}`);
  await connection.run("CREATE OR REPLACE TEMP MACRO mix_c(x) AS xor(x, x >> 16)");
  await connection.run(
    `CREATE OR REPLACE TEMP MACRO pick(i, salt) AS
      mix_c(mix_b(mix_a((i::UBIGINT * 2654435769 + salt::UBIGINT * 2246822507 + ${start}) & ${mask})))`,
  );
  await connection.run(
    `CREATE OR REPLACE TEMP MACRO scramble(i, salt) AS mix_c(mix_b(mix_a(xor(i::UBIGINT, ((salt::UBIGINT * 2246822507 + ${start}) & ${mask})))))`,
  );
}

const hex = (value: string): string => `lpad(lower(to_hex(${value})), 8, '0')`;
const day = (number: string): string => `strftime(DATE '2025-01-01' + (${number})::INTEGER, '%Y-%m-%dT00:00:00Z')`;

function companiesSql(count: number): string {
  const bases = COMPANY_HEADS.length * COMPANY_TAILS.length;
  const ends = COMPANY_ENDS.length;
  // 2029 is prime and no divisor of the number of bases, so that neighbours do not share the first word.
  return `
CREATE OR REPLACE TEMP TABLE made_companies AS
WITH numbered AS (
  SELECT range AS j, range // ${bases} AS round, pick(range, 101) AS a, pick(range, 102) AS b, pick(range, 103) AS c
  FROM range(${count})
), named AS (
  SELECT n.*,
    list_extract([${COMPANY_ENDS.map((end) => `'${end}'`).join(", ")}], ((round - 1 + w.slot) % ${ends} + 1)::INTEGER) AS ending,
    (round - 1) // ${ends} + 1 AS again, w.name AS base_name, w.slug AS base_slug
  FROM numbered n JOIN pool_company_name w ON w.slot = ((n.j * 2029 + 1) % ${bases})::INTEGER
), slugged AS (
  SELECT *,
    CASE WHEN j = 0 THEN 'Acme' WHEN round = 0 THEN base_name ELSE base_name || ' ' || ending END AS name,
    CASE WHEN j = 0 THEN 'acme' WHEN round = 0 THEN base_slug
      ELSE base_slug || '-' || replace(replace(lower(ending), '.', ''), '& ', '') ||
        CASE WHEN again > 1 THEN '-' || again ELSE '' END END AS slug
  FROM named
)
SELECT j, 'c' || ${hex("scramble(j, 100)")} AS id, name,
  CASE WHEN j > 0 AND a % 25 = 3 THEN NULL ELSE slug || '.example' END AS domain,
  CASE WHEN j > 0 AND a % 50 = 7 THEN NULL ELSE 'network.example/company/' || slug END AS company_network_url,
  CASE WHEN b % 31 = 0 THEN NULL ELSE i.industry END AS industry, t.type,
  least(250000, 1 + (l.followers // 12) + ${count} // (7 * (j + 1)))::BIGINT AS employee_count,
  CASE WHEN b % 11 = 0 THEN NULL ELSE 1900 + greatest((b >> 8) % 124, (b >> 16) % 124) END::BIGINT AS founded_year,
  CASE WHEN c % 9 = 0 THEN NULL ELSE name || ' works on ' || t.specialty || ' and ' || u.specialty || ' in ' || p.city || '.' END
    AS description,
  p.place, p.country, p.state, p.city, p.location,
  CASE WHEN c % 13 = 0 THEN NULL ELSE l.followers * 2 END::BIGINT AS followers,
  CASE WHEN c % 7 = 0 THEN []::VARCHAR[] WHEN t.specialty = u.specialty THEN [t.specialty] ELSE [t.specialty, u.specialty] END
    AS specialties,
  ${day("(c >> 12) % 540")} AS updated_at
FROM slugged s
JOIN pool_place_slot q ON q.slot = (s.a >> 14)::INTEGER
JOIN pool_place p ON p.place = q.place
JOIN pool_industry i ON i.slot = ((s.b >> 4) & ${INDUSTRY_SLOTS - 1})::INTEGER
JOIN pool_word t ON t.slot = (s.c >> 22)::INTEGER
JOIN pool_word u ON u.slot = ((s.b >> 20) & ${SMALL_SLOTS - 1})::INTEGER
JOIN pool_tail l ON l.slot = (s.c & ${TAIL_SLOTS - 1})::INTEGER;

CREATE OR REPLACE TABLE staged_companies AS
SELECT id, name, domain, company_network_url, industry, type,
  CASE WHEN employee_count <= 10 THEN '1-10' WHEN employee_count <= 50 THEN '11-50' WHEN employee_count <= 200 THEN '51-200'
    WHEN employee_count <= 500 THEN '201-500' WHEN employee_count <= 1000 THEN '501-1,000'
    WHEN employee_count <= 5000 THEN '1,001-5,000' WHEN employee_count <= 10000 THEN '5,001-10,000' ELSE '10,001+' END AS size_range,
  employee_count, founded_year, description, country, state, city, location, followers, specialties, updated_at
FROM made_companies`;
}

function peopleSql(people: number, companies: number): string {
  return `
CREATE OR REPLACE TABLE staged_people AS
WITH numbered AS (
  SELECT range AS i, pick(range, 1) AS a, pick(range, 2) AS b, pick(range, 3) AS c, pick(range, 4) AS d,
    pick(range, 5) AS e, pick(range, 6) AS f, pick(range, 7) AS g
  FROM range(${people})
), employed AS (
  SELECT *, CASE WHEN a % 100 < 8 THEN NULL ELSE (((b * b) >> 32) * ${companies}) >> 32 END AS j FROM numbered
), placed AS (
  SELECT n.*, k.name AS company_name, k.domain AS company_domain, k.company_network_url, k.industry AS company_industry,
    CASE WHEN n.c % 100 = 0 THEN NULL WHEN k.place IS NOT NULL AND (n.a >> 7) % 100 < 55 THEN k.place ELSE q.place END AS place,
    o.place AS origin
  FROM employed n
  LEFT JOIN made_companies k ON k.j = n.j::BIGINT
  JOIN pool_place_slot q ON q.slot = (n.c >> 14)::INTEGER
  JOIN pool_place_slot o ON o.slot = (n.d >> 14)::INTEGER
), named AS (
  SELECT n.* EXCLUDE (origin), p.country, p.state, p.city, p.location,
    CASE WHEN p.culture IS NULL OR n.d % 100 < 15 OR (p.country = 'United States' AND n.d % 100 < 35)
      THEN o.culture ELSE p.culture END AS culture
  FROM placed n LEFT JOIN pool_place p ON p.place = n.place JOIN pool_place o ON o.place = n.origin
), worded AS (
  SELECT n.*, x.first AS first_name, x.ascii AS first_ascii, y.last AS last_name, y.ascii AS last_ascii,
    CASE WHEN n.f % 33 = 0 THEN NULL ELSE t.title END AS title,
    CASE WHEN n.f % 33 = 0 THEN NULL ELSE t.seniority END AS seniority,
    CASE WHEN n.f % 33 = 0 THEN NULL ELSE t.level END AS seniority_level,
    CASE WHEN n.f % 33 = 0 THEN NULL ELSE t.area END AS functional_area,
    CASE WHEN n.f % 33 = 0 THEN 'Other' ELSE t.department END AS department,
    coalesce(n.company_industry, CASE WHEN n.g % 3 = 0 THEN NULL ELSE z.industry END) AS industry,
    w.interest AS interest, v.interest AS interest2, w.slogan AS slogan, l.connections AS c1, r.followers AS f1
  FROM named n
  JOIN pool_first x ON x.slot = n.culture * ${FIRST_SLOTS} + (n.e >> 24)::INTEGER
  JOIN pool_last y ON y.slot = n.culture * ${LAST_SLOTS} + (n.e & ${LAST_SLOTS - 1})::INTEGER
  JOIN pool_title t ON t.slot = (n.f >> 16)::INTEGER
  JOIN pool_industry z ON z.slot = ((n.g >> 10) & ${INDUSTRY_SLOTS - 1})::INTEGER
  JOIN pool_word w ON w.slot = (n.g >> 22)::INTEGER
  JOIN pool_word v ON v.slot = ((n.g >> 8) & ${SMALL_SLOTS - 1})::INTEGER
  JOIN pool_tail l ON l.slot = (n.d & ${TAIL_SLOTS - 1})::INTEGER
  JOIN pool_tail r ON r.slot = ((n.a >> 18) & ${TAIL_SLOTS - 1})::INTEGER
)
SELECT 'p' || ${hex("scramble(i, 1)")} AS id,
  'network.example/in/' || first_ascii || '-' || last_ascii || '-' || ${hex("scramble(i, 2)")} AS network_url,
  first_name || CASE WHEN (e >> 12) % 8 = 0 THEN ' ' || chr((65 + (e >> 15) % 26)::INTEGER) || '. ' ELSE ' ' END || last_name AS name,
  first_name, last_name,
  CASE WHEN f % 17 = 0 THEN NULL
    WHEN title IS NULL THEN interest || ' · ' || slogan
    WHEN company_name IS NULL THEN title || ' | ' || interest || ' | ' || slogan
    WHEN f % 3 = 0 THEN title || ' @ ' || company_name || ' – ' || slogan
    ELSE title || ' at ' || company_name || ' | ' || interest || ', ' || interest2 || ' | ' || slogan END AS headline,
  title, seniority, seniority_level, functional_area, department, industry, country,
  CASE WHEN c % 29 = 1 THEN NULL ELSE state END AS state,
  CASE WHEN c % 29 IN (1, 2) THEN NULL ELSE city END AS city,
  CASE WHEN c % 29 IN (1, 2) THEN country ELSE location END AS location,
  CASE WHEN b % 25 < 3 THEN NULL WHEN b % 25 < 6 THEN 500 ELSE c1 END::BIGINT AS connections,
  CASE WHEN (b >> 6) % 7 = 0 THEN NULL ELSE f1 END::BIGINT AS followers,
  company_name, company_domain, company_network_url,
  ${day("(d >> 5) % 540")} AS updated_at, ${PERSON_FORMS}, i AS place
FROM worded`;
}
