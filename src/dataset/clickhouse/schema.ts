import { NORMAL_COLUMNS, NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { SORT_KEYS } from "../columns.ts";

export interface Topology {
  readonly database: string;
  readonly cluster?: string;
  readonly replicated: boolean;
}

/**
 * Names of one dataset version's tables. A version is made of letters, digits and underscores only.
 */
export function tablesOf(version: string): { readonly people: string; readonly companies: string } {
  if (!/^[A-Za-z0-9_]{1,64}$/.test(version)) throw new Error(`not a dataset version: ${version}`);
  return { people: `people_${version}`, companies: `companies_${version}` };
}

/**
 * The pointer to the version that is served: the row
 * that was activated last. Kept whole on every server.
 */
export const pointerTable = (topology: Topology): string =>
  `CREATE TABLE IF NOT EXISTS ${topology.database}.headcount_datasets
  (version String, activated UInt64, people UInt64, companies UInt64)
  ENGINE = MergeTree() ORDER BY activated`;

/**
 * Whom a version is served without. A step has them all,
 * and counts once a pointer has its number as `activated`.
 */
export const leftOutTable = (topology: Topology): string =>
  `CREATE TABLE IF NOT EXISTS ${topology.database}.headcount_left_out
  (version String, step UInt64, rid UInt64) ENGINE = MergeTree() ORDER BY (version, step, rid)`;

const LOW = [...SORT_KEYS, "seniority_level", "functional_area", "state"];
const FORMED = NORMAL_COLUMNS.filter((column) => !LOW.includes(column));
/** Columns of texts in the form in which they are matched. */
export const FORMS: readonly string[] = [...LOW, ...FORMED];
const HIGH = [...FORMED, "network_address", "network_slug", "company_address", "company_slug"];

/** The embedded engine's sort key, so that leading keys prune. Missing text is ''. */
export function createTables(version: string, topology: Topology): readonly string[] {
  const tables = tablesOf(version);
  const record = "record String CODEC(ZSTD(3))";
  const people = [
    "rid UInt64",
    "id String",
    ...LOW.map((name) => `${name} LowCardinality(String)`),
    ...HIGH.map((name) => `${name} String`),
    // The position of the company among the companies, -1 where there is none.
    "company Int64",
    ...NUMBER_COLUMNS.map((name) => `${name} Nullable(Int64)`),
    record,
    "INDEX rid_range rid TYPE minmax GRANULARITY 1",
    "PROJECTION by_name (SELECT name, rid ORDER BY name, rid)",
    "PROJECTION by_headline (SELECT headline, rid ORDER BY headline, rid)",
    "PROJECTION by_company (SELECT company, rid ORDER BY company, rid)",
    "PROJECTION by_slug (SELECT network_slug, network_address, rid ORDER BY network_slug, rid)",
  ];

  const companies = [
    "seq UInt64",
    "id String",
    "name String",
    "domain String",
    "address String",
    "slug String",
    record,
    ...["name", "address", "slug", "id"].map(
      (key) => `PROJECTION by_${key} (SELECT * ORDER BY ${key})`,
    ),
  ];

  return [
    ...table(tables.people, topology, {
      columns: people,
      order: `(${[...SORT_KEYS, "id"].join(", ")})`,
    }),
    ...table(tables.companies, topology, { columns: companies, order: "(domain, id)" }),
  ];
}

/**
 * Tables of people and companies in this topology, those on
 * which statements about what a server holds itself run.
 */
export const localName = (name: string, topology: Topology): string =>
  `${topology.database}.${topology.cluster === undefined ? name : `${name}_local`}`;

export const dropTables = (version: string, topology: Topology): readonly string[] =>
  Object.values(tablesOf(version)).flatMap((name) => dropTable(name, topology));

function dropTable(name: string, topology: Topology): readonly string[] {
  const all = topology.cluster === undefined ? [name] : [name, `${name}_local`];
  return all.map((each) => `DROP TABLE IF EXISTS ${topology.database}.${each}`);
}

interface StorageOptions {
  readonly columns: readonly string[];
  readonly order: string;
}

function table(name: string, topology: Topology, { columns, order }: StorageOptions): string[] {
  const local = topology.cluster === undefined ? name : `${name}_local`;
  const path = `/clickhouse/tables/{shard}/${topology.database}/${local}`;
  const engine = topology.replicated
    ? `ReplicatedMergeTree('${path}', '{replica}')`
    : "MergeTree()";
  const statements = [
    `CREATE TABLE ${topology.database}.${local} (${columns.join(", ")}) ` +
      `ENGINE = ${engine} ORDER BY ${order}`,
  ];

  if (topology.cluster !== undefined) {
    statements.push(
      `CREATE TABLE ${topology.database}.${name} AS ${topology.database}.${local} ` +
        `ENGINE = Distributed(${topology.cluster}, ${topology.database}, ` +
        `${local}, cityHash64(id))`,
    );
  }

  return statements;
}
