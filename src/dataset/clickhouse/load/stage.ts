import { NORMAL_COLUMNS, NUMBER_COLUMNS } from "../../../contract/conditions.ts";
import { SORT_KEYS } from "../../columns.ts";
import type { Dialect } from "../dialect.ts";
import { dropTable, LOW, type Topology, table } from "../schema.ts";

/** Tables that a load works in. They go when it is done or given up. */
export interface StageTables {
  readonly people: string;
  readonly companies: string;
  /** Ids that more than one row has. */
  readonly twins: string;
  /** Rows of both that are left out: `why` is 1 for a duplicate, 2 for one of the suppression list. */
  readonly refused: string;
  /** Companies with their positions. */
  readonly keyed: string;
  /** What a person may name a company by, and which one it is. */
  readonly links: string;
}

export const stageOf = (version: string): StageTables => ({
  people: `stage_people_${version}`,
  companies: `stage_companies_${version}`,
  twins: `stage_twins_${version}`,
  refused: `stage_refused_${version}`,
  keyed: `stage_keyed_${version}`,
  links: `stage_links_${version}`,
});

/** In normal form, as the people table has them. */
export const FORMS: readonly string[] = [...LOW, ...NORMAL_COLUMNS.filter((column) => !LOW.includes(column))];

/** What is written by a person's employer: values of the record as JSON. */
export const EMPLOYER = ["company_name_json", "company_domain_json", "company_url_json"] as const;

/** Columns of a staged row, in the order in which they are sent. A part is a file, a line its place there. */
export const STAGED: Readonly<Record<"people" | "companies", readonly string[]>> = {
  people: [
    ...["part", "line", "hidden", "id", ...FORMS, "network_address", "network_slug", ...NUMBER_COLUMNS],
    ...["link_key", "company_plain", "company_domain", "company_domain_key", "head", ...EMPLOYER, "tail"],
  ],
  companies: ["part", "line", "id", "name", "domain", "address", "slug", ...EMPLOYER, "record"],
};

const TYPES: Readonly<Record<string, string>> = {
  part: "UInt32",
  line: "UInt64",
  hidden: "UInt8",
  seq: "UInt64",
  ...Object.fromEntries(NUMBER_COLUMNS.map((column) => [column, "Nullable(Int64)"])),
};

export function createStage(
  version: string,
  topology: Topology,
  dialect: Dialect,
): Record<keyof StageTables, string[]> {
  const names = stageOf(version);
  const low = dialect.dictionaryColumns ? "LowCardinality(String)" : "String";
  const typed = (columns: readonly string[]): string[] =>
    columns.map((column) => `${column} ${TYPES[column] ?? (LOW.includes(column) ? low : "String")}`);
  const byPart = { partitionBy: "part" };
  const order = `(${[...SORT_KEYS, "id"].join(", ")})`;
  return {
    people: table(names.people, typed(STAGED.people), order, topology, byPart),
    companies: table(names.companies, typed(STAGED.companies), "id", topology, byPart),
    twins: table(names.twins, ["id String"], "id", topology),
    refused: table(names.refused, ["part UInt32", "line UInt64", "why UInt8"], "(part, line)", topology, {
      shardBy: "line",
      partitionBy: "why",
    }),
    keyed: table(names.keyed, typed(["seq", ...STAGED.companies.slice(2)]), "id", topology),
    links: table(names.links, typed(["key", "seq", "address", ...EMPLOYER]).concat("tier UInt8"), "key", topology, {
      shardBy: "key",
    }),
  };
}

export const dropStage = (version: string, topology: Topology): readonly string[] =>
  Object.values(stageOf(version)).flatMap((name) => dropTable(name, topology));
