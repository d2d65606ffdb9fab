import type { DuckDBConnection } from "@duckdb/node-api";
import { NORMAL_COLUMNS, NUMBER_COLUMNS } from "../../contract/conditions.ts";
import { PERSON_FIELDS } from "../../contract/records.ts";
import { ROW_INDEXES, type RowIndex, SORT_KEYS } from "../columns.ts";
import { nullsLast, runWatched, toNumber } from "../duckdb.ts";
import { packedSql } from "../embedded/records.ts";
import { LINK_KEY } from "./link-companies.ts";
import { addressKey } from "./write-records.ts";

/** Bytes of memory for each person that is sorted. DuckDB's sort spills, and fails at about a third of this; more people are sorted in parts. */
const SORT_BYTES = 384;

interface Sorting {
  /** What DuckDB may use. */
  readonly memoryBytes: number;
  /** How many are sorted in one part. Default: as many as the memory is enough for. */
  readonly peopleAtOnce?: number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onDone: (people: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * `sorted_people`: in public order, in normal form, with the record as it is stored. What a record lacks of its company is filled in, so
 * that a count of the address finds its employees.
 */
export async function sortPeople(connection: DuckDBConnection, people: number, options: Sorting): Promise<void> {
  const filled: Readonly<Record<string, string>> = {
    company_name: "coalesce(s.company_name, k.name)",
    company_domain: "coalesce(s.company_domain, k.domain)",
    company_network_url:
      "CASE WHEN s.company_address IS NULL OR (NOT contains(s.company_address, '/') AND k.company_network_url IS NOT NULL) THEN coalesce(k.company_network_url, s.company_network_url) ELSE s.company_network_url END",
  };
  const rows = `
WITH addressed AS (
  SELECT *, ${LINK_KEY} AS link_key FROM staged_people
), normal AS (
  SELECT ${NORMAL_COLUMNS.map((column) => `normal_form(s.${column}) AS ${column}`).join(", ")},
    s.department, ${NUMBER_COLUMNS.map((column) => `s.${column}`).join(", ")}, s.id, s.address, k.seq AS company,
    CASE WHEN s.company_address IS NULL OR NOT contains(s.company_address, '/')
      THEN coalesce(k.address, s.company_address) ELSE s.company_address END AS company_address,
    ${packedSql(PERSON_FIELDS, (field) => filled[field] ?? `s.${field}`)} AS doc
  FROM addressed s LEFT JOIN company_of k ON k.link_key = s.link_key
)
SELECT * FROM normal`;
  const order = `ORDER BY ${nullsLast([...SORT_KEYS, "id"])}`;
  const watched = (sql: string, from: number, to: number): Promise<void> =>
    runWatched(connection, sql, options.sleep, (part) => options.onDone(Math.floor(from + part * (to - from))));
  const most = options.peopleAtOnce ?? Math.floor(options.memoryBytes / SORT_BYTES);
  if (people <= most) {
    await watched(`CREATE TABLE sorted_people AS ${rows} ${order}`, 0, people);
    return;
  }
  await watched(`CREATE TABLE unsorted_people AS ${rows}`, 0, people / 2);
  await connection.run("CREATE TABLE sorted_people AS SELECT * FROM unsorted_people LIMIT 0");
  const lead = SORT_KEYS.slice(0, 3);
  await connection.run(`CREATE TABLE parts AS
    SELECT ${lead.join(", ")}, ((sum(n) OVER (ORDER BY ${nullsLast(lead)}) - n) // ${most})::INTEGER AS part
    FROM (SELECT ${lead.join(", ")}, count(*) AS n FROM unsorted_people GROUP BY ALL)`);
  const found = await connection.runAndReadAll("SELECT DISTINCT part FROM parts ORDER BY part");
  const parts = found.getRowsJS().map(([part]) => toNumber(part));
  const same = lead.map((key) => `u.${key} IS NOT DISTINCT FROM p.${key}`).join(" AND ");
  // A part is found by reading all people. So people are first divided into groups of parts, as many as a group has parts: each is read
  // twice the square root of the number of parts instead of that number of times.
  const perGroup = Math.ceil(Math.sqrt(parts.length));
  for (let start = 0; start < parts.length; start += perGroup) {
    const group = parts.slice(start, start + perGroup);
    await connection.run(`CREATE TABLE group_people AS SELECT u.*, p.part FROM unsorted_people u JOIN parts p ON ${same}
      WHERE p.part BETWEEN ${group[0]} AND ${group.at(-1)}`);
    for (const [index, part] of group.entries()) {
      options.signal?.throwIfAborted();
      const half = people / 2;
      await watched(
        `INSERT INTO sorted_people SELECT * EXCLUDE (part) FROM group_people WHERE part = ${part} ${order}`,
        half + ((start + index) * half) / parts.length,
        half + ((start + index + 1) * half) / parts.length,
      );
    }
    await connection.run("DROP TABLE group_people");
  }
  await connection.run("DROP TABLE unsorted_people; DROP TABLE parts");
}

/** The key of each index, and who is in it. The people of a company without an address are found by its position. */
const KEYS: Readonly<Record<RowIndex, readonly [key: string, isKept: string]>> = {
  name: ["name", "name IS NOT NULL"],
  headline: ["headline", "headline IS NOT NULL"],
  address: [addressKey("slug_of(address)", "address"), "address IS NOT NULL"],
  employer: [
    `CASE WHEN company_address IS NULL THEN '/' || company ELSE ${addressKey("slug_of(company_address)", "company_address")} END`,
    "company_address IS NOT NULL OR company IS NOT NULL",
  ],
};

/** What the row store has indexes of, each in the order of its index. */
export async function sortKeys(connection: DuckDBConnection): Promise<void> {
  for (const index of ROW_INDEXES) {
    const [key, isKept] = KEYS[index];
    await connection.run(`CREATE TABLE by_${index} AS
      SELECT ${key} AS key, rowid::UINTEGER AS rid FROM sorted_people WHERE ${isKept} ORDER BY key, rid`);
  }
}
