import type { DuckDBConnection } from "@duckdb/node-api";
import {
  COMPANY_ENDS,
  COMPANY_HEADS,
  COMPANY_TAILS,
  COMPANY_TYPES,
  COUNTRIES,
  CULTURES,
  DEPARTMENT_WEIGHTS,
  INDUSTRIES,
  INTERESTS,
  LEVELS,
  NAMES,
  REAL_PLACES,
  ROLES,
  SLOGANS,
  SPECIALTIES,
} from "./generate-words.ts";

export interface GenerateOptions {
  /** 1..4,000,000,000. */
  readonly people: number;
  /** 0..4,294,967,295; the same people and seed give the same dataset on every machine. */
  readonly seed: number;
}

/** About one company for seven people, at least one. */
export const companiesFor = (people: number): number => Math.max(1, Math.round(people / 7));

const PLACE_SLOTS = 2 ** 18;
const TITLE_SLOTS = 2 ** 16;
const FIRST_SLOTS = 2 ** 8;
const LAST_SLOTS = 2 ** 12;
const TAIL_SLOTS = 2 ** 14;
const SMALL_SLOTS = 2 ** 10;
const PLACES = 10_000;

/**
 * Fills `staged_people` and `staged_companies` (columns as the records) with synthetic rows.
 *
 * Every row is a pure function of its number and the seed, in 32-bit integer arithmetic: no random numbers, no floats in SQL, and not
 * DuckDB's `hash()`, whose values may change from version to version. Skew comes from look-up tables with as many
 * slots for a value as it is frequent.
 */
export async function generateInto(connection: DuckDBConnection, options: GenerateOptions): Promise<void> {
  await createMacros(connection, options.seed);
  await createPools(connection);
  const companies = companiesFor(options.people);
  await connection.run(companiesSql(companies));
  await connection.run(peopleSql(options.people, companies));
  for (const table of ["pool_place", "pool_place_slot", "pool_first", "pool_last", "pool_title", "pool_tail"]) {
    await connection.run(`DROP TABLE ${table}`);
  }
  for (const table of ["pool_industry", "pool_word", "pool_company_name", "made_companies"]) {
    await connection.run(`DROP TABLE ${table}`);
  }
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
  // A bijection for ids: no two rows share one.
  await connection.run(
    `CREATE OR REPLACE TEMP MACRO scramble(i, salt) AS mix_c(mix_b(mix_a(xor(i::UBIGINT, ((salt::UBIGINT * 2246822507 + ${start}) & ${mask})))))`,
  );
}

/** The JavaScript twin of the SQL macros, for the tables of words. */
function mix32(value: number): number {
  let x = value >>> 0;
  x = Math.imul(x ^ (x >>> 16), 2146121005) >>> 0;
  x = Math.imul(x ^ (x >>> 15), 2221713035 | 0) >>> 0;
  return (x ^ (x >>> 16)) >>> 0;
}

const pickWord = (words: readonly string[], ...numbers: readonly number[]): string => {
  const x = numbers.reduce((hash, number) => mix32((hash + Math.imul(number + 1, 2654435769 | 0)) >>> 0), 7);
  return words[x % words.length] ?? "";
};

const wordsOf = (text: string): string[] => text.split(" ").filter((word) => word !== "");

/** Splits `display/ascii`. */
function spelled(word: string): { display: string; ascii: string } {
  const [display = "", ascii] = word.split("/");
  return { display, ascii: ascii ?? slugText(display) };
}

const slugText = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replaceAll("ß", "ss")
    .replaceAll("ø", "o")
    .replaceAll("ł", "l")
    .replaceAll("ı", "i")
    .replaceAll("ð", "d")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "");

/** 1, 1/2, 1/3, ...: exact in IEEE arithmetic, so the same everywhere. */
const zipfWeights = (count: number): number[] => Array.from({ length: count }, (_, rank) => 1 / (rank + 1));

/** For each slot the number of the value that owns it: in proportion to the weights, at least one slot each. */
function slotsFor(weights: readonly number[], slots: number): Uint32Array {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const spare = slots - weights.length;
  const owner = new Uint32Array(slots);
  let next = 0;
  weights.forEach((weight, index) => {
    const share = 1 + Math.floor((weight / sum) * spare);
    owner.fill(index, next, next + share);
    next += share;
  });
  // What rounding left over goes to the values in turn, the most frequent first.
  for (let index = 0; next < slots; index++) owner[next++] = index % weights.length;
  return owner;
}

interface Place {
  readonly country: string;
  readonly state: string;
  readonly city: string;
  readonly culture: number;
  readonly weight: number;
}

/** About 10,000 cities in 200 countries, each country at least four. */
function makePlaces(): Place[] {
  const countryWeights = zipfWeights(COUNTRIES.length);
  const sum = countryWeights.reduce((total, weight) => total + weight, 0);
  const places: Place[] = [];
  COUNTRIES.forEach(({ name: country, culture }, rank) => {
    const names = NAMES[culture];
    const heads = wordsOf(names.places);
    const tails = names.placeTails.split(/(?<=\S) (?=\S| )/);
    const wanted = 4 + Math.round(((countryWeights[rank] ?? 0) / sum) * (PLACES - 4 * COUNTRIES.length));
    const states = new Map<string, string[]>();
    for (const entry of (REAL_PLACES[country] ?? "").split("|")) {
      const [state, cities] = entry.split("=");
      if (state && cities) states.set(state, cities.split(","));
    }
    const stateCount = Math.min(24, 1 + Math.floor(wanted / 8));
    for (let index = 0; states.size < stateCount; index++) {
      const kind = pickWord(["Province", "Region", "District", "State", "County"], rank);
      states.set(`${pickWord(heads, rank, index)}${pickWord(tails, rank, index, 1)} ${kind}`, []);
    }
    const stateNames = [...states.keys()];
    const list: { state: string; city: string }[] = [];
    const seen = new Set<string>();
    const add = (state: string, city: string): void => {
      const key = `${state}|${city}`;
      if (!seen.has(key)) list.push({ state, city });
      seen.add(key);
    };
    for (let depth = 0; depth < 8; depth++) {
      for (const [state, cities] of states) {
        const city = cities[depth];
        if (city !== undefined) add(state, city);
      }
    }
    for (let index = 0; list.length < wanted; index++) {
      const state = stateNames[mix32(index + rank * 7919) % stateNames.length] ?? country;
      add(state, `${pickWord(heads, rank, index, 2)}${pickWord(tails, rank, index, 3)}`);
    }
    const cityWeights = zipfWeights(list.length);
    const citySum = cityWeights.reduce((total, weight) => total + weight, 0);
    list.forEach(({ state, city }, index) => {
      const weight = ((countryWeights[rank] ?? 0) * (cityWeights[index] ?? 0)) / citySum;
      places.push({ country, state, city, culture: CULTURES.indexOf(culture), weight });
    });
  });
  return places;
}

type Cell = string | number | null;

/** A small table of constants. Columns are INTEGER or VARCHAR. */
async function createPool(
  connection: DuckDBConnection,
  name: string,
  columns: Readonly<Record<string, "INTEGER" | "VARCHAR">>,
  rows: Iterable<readonly Cell[]>,
): Promise<void> {
  const list = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  await connection.run(`CREATE OR REPLACE TEMP TABLE ${name} (${list.join(", ")})`);
  const appender = await connection.createAppender(name, null, "temp");
  for (const row of rows) {
    for (const cell of row) {
      if (cell === null) appender.appendNull();
      else if (typeof cell === "number") appender.appendInteger(cell);
      else appender.appendVarchar(cell);
    }
    appender.endRow();
  }
  appender.closeSync();
}

async function createPools(connection: DuckDBConnection): Promise<void> {
  const places = makePlaces();
  await createPool(
    connection,
    "pool_place",
    {
      place: "INTEGER",
      country: "VARCHAR",
      state: "VARCHAR",
      city: "VARCHAR",
      location: "VARCHAR",
      culture: "INTEGER",
    },
    places.map(({ country, state, city, culture }, index) => {
      const location = city === state ? `${city}, ${country}` : `${city}, ${state}, ${country}`;
      return [index, country, state, city, location, culture];
    }),
  );
  const owners = slotsFor(
    places.map((place) => place.weight),
    PLACE_SLOTS,
  );
  await createPool(connection, "pool_place_slot", { slot: "INTEGER", place: "INTEGER" }, enumerated(owners));
  await createPool(
    connection,
    "pool_first",
    { slot: "INTEGER", first: "VARCHAR", ascii: "VARCHAR" },
    nameRows("first"),
  );
  await createPool(connection, "pool_last", { slot: "INTEGER", last: "VARCHAR", ascii: "VARCHAR" }, nameRows("last"));
  await createPool(
    connection,
    "pool_title",
    {
      slot: "INTEGER",
      department: "VARCHAR",
      area: "VARCHAR",
      seniority: "VARCHAR",
      level: "VARCHAR",
      title: "VARCHAR",
    },
    titleRows(),
  );
  await createPool(
    connection,
    "pool_tail",
    { slot: "INTEGER", connections: "INTEGER", followers: "INTEGER" },
    tailRows(),
  );
  const industryOwners = slotsFor(zipfWeights(INDUSTRIES.length), SMALL_SLOTS * 4);
  await createPool(
    connection,
    "pool_industry",
    { slot: "INTEGER", industry: "VARCHAR" },
    [...industryOwners].map((owner, slot) => [slot, INDUSTRIES[owner] ?? null]),
  );
  await createPool(
    connection,
    "pool_word",
    { slot: "INTEGER", interest: "VARCHAR", slogan: "VARCHAR", specialty: "VARCHAR", type: "VARCHAR" },
    Array.from({ length: SMALL_SLOTS }, (_, slot) => [
      slot,
      INTERESTS[slot % INTERESTS.length] ?? null,
      SLOGANS[slot % SLOGANS.length] ?? null,
      SPECIALTIES[slot % SPECIALTIES.length] ?? null,
      COMPANY_TYPES[slot % COMPANY_TYPES.length] ?? null,
    ]),
  );
  const bases = COMPANY_HEADS.flatMap((head) => COMPANY_TAILS.map((tail) => ({ head: spelled(head), tail })));
  await createPool(
    connection,
    "pool_company_name",
    { slot: "INTEGER", name: "VARCHAR", slug: "VARCHAR" },
    bases.map(({ head, tail }, index) => [index, `${head.display} ${tail}`, `${head.ascii}-${tail.toLowerCase()}`]),
  );
}

function* enumerated(values: Uint32Array): Generator<readonly Cell[]> {
  for (let slot = 0; slot < values.length; slot++) yield [slot, values[slot] ?? 0];
}

function* nameRows(kind: "first" | "last"): Generator<readonly Cell[]> {
  const slots = kind === "first" ? FIRST_SLOTS : LAST_SLOTS;
  for (const [culture, name] of CULTURES.entries()) {
    const pool = NAMES[name];
    const words = wordsOf(pool[kind].replaceAll("Van der Merwe", "Van_der_Merwe").replaceAll("De Luca", "De_Luca"));
    const known = words.map((word) => spelled(word.replaceAll("_", " ").replaceAll("Lo ", "Lo")));
    const heads = wordsOf(pool.heads);
    const tails = wordsOf(pool.tails);
    const real = kind === "first" ? slots : Math.floor(slots * 0.55);
    const owners = slotsFor(
      known.map((_, rank) => 1 / (rank + 6)),
      real,
    );
    for (let slot = 0; slot < slots; slot++) {
      const made = `${heads[slot % heads.length] ?? ""}${tails[Math.floor(slot / heads.length) % tails.length] ?? ""}`;
      const entry = slot < real ? known[owners[slot] ?? 0] : { display: made, ascii: slugText(made) };
      yield [culture * slots + slot, entry?.display ?? null, entry?.ascii ?? null];
    }
  }
}

function* titleRows(): Generator<readonly Cell[]> {
  const rows: Cell[][] = [];
  const weights: number[] = [];
  for (const [index, [department, areas]] of Object.entries(ROLES).entries()) {
    const areaNames = Object.keys(areas);
    for (const area of areaNames) {
      const roles = (areas[area] ?? "").split("|");
      for (const [rank, role] of roles.entries()) {
        for (const { level, label, weight, pattern } of LEVELS) {
          const chief = department === "C-Suite";
          if (chief && pattern !== "%" && level !== "owner") continue;
          const title = pattern.replace("%", role).replace("#", area).replace("@", department);
          rows.push([department, area, chief ? "C-Suite" : label, chief ? "c-suite" : level, title]);
          const spread = (DEPARTMENT_WEIGHTS[index] ?? 1) / areaNames.length / roles.length;
          weights.push(((chief ? 500 : weight) * spread * 2) / (rank + 1.5));
        }
      }
    }
  }
  const owners = slotsFor(weights, TITLE_SLOTS);
  for (let slot = 0; slot < TITLE_SLOTS; slot++) yield [slot, ...(rows[owners[slot] ?? 0] ?? [])];
}

/** Heavy-tailed numbers by quantile. Only +, *, / and sqrt: exact in IEEE arithmetic, so the same everywhere. */
function* tailRows(): Generator<readonly Cell[]> {
  for (let slot = 0; slot < TAIL_SLOTS; slot++) {
    const odds = (slot + 0.5) / (TAIL_SLOTS - slot - 0.5);
    yield [slot, Math.floor(230 * Math.sqrt(odds)), Math.floor(300 * odds)];
  }
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
JOIN pool_industry i ON i.slot = ((s.b >> 4) & ${SMALL_SLOTS * 4 - 1})::INTEGER
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
  JOIN pool_industry z ON z.slot = ((n.g >> 10) & ${SMALL_SLOTS * 4 - 1})::INTEGER
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
  title, seniority, seniority_level, functional_area, department, industry,
  country,
  CASE WHEN c % 29 = 1 THEN NULL ELSE state END AS state,
  CASE WHEN c % 29 IN (1, 2) THEN NULL ELSE city END AS city,
  CASE WHEN c % 29 IN (1, 2) THEN country ELSE location END AS location,
  CASE WHEN b % 25 < 3 THEN NULL WHEN b % 25 < 6 THEN 500 ELSE c1 END::BIGINT AS connections,
  CASE WHEN (b >> 6) % 7 = 0 THEN NULL ELSE f1 END::BIGINT AS followers,
  company_name, company_domain, company_network_url,
  ${day("(d >> 5) % 540")} AS updated_at
FROM worded`;
}
