// Tested by test/dataset/records.test.ts.
import { SENIORITY_LEVELS } from "./vocabulary.ts";

type Fields = Readonly<
  Record<string, readonly [example: string | number | readonly string[], says: string]>
>;

/**
 * The fields of a person record in published order
 * (docs/reference/contract.md, Records), with an example and its meaning.
 */
export const PERSON = {
  id: ["p0f8b4db9", "Identifier, stable within a dataset version."],
  network_url: ["network.example/in/anthony-caldwood-ff61cef8", "Profile address."],
  name: ["Anthony Caldwood", "Full name as displayed."],
  first_name: ["Anthony", "Given name."],
  last_name: ["Caldwood", "Family name."],
  headline: [
    "Director of Business Development at Acme | supply chains, supply chains | Lifelong student 🎓",
    "The line below the name.",
  ],
  title: ["Director of Business Development", "Present job title."],
  seniority: ["Director", "Seniority label as published."],
  seniority_level: ["director", `Seniority on one ladder: ${SENIORITY_LEVELS.join(", ")}.`],
  functional_area: ["Business Development", "What kind of work it is, finer than the department."],
  department: ["Sales", 'One of the 20 departments. Never null: "Other" is the catch-all.'],
  industry: ["Primary Education", "Industry of the person."],
  country: ["Canada", "Country."],
  state: ["Stoneworth State", "State, province or region."],
  city: ["Greenwood", "City."],
  location: ["Greenwood, Stoneworth State, Canada", "Place as displayed."],
  connections: [127, "Number of connections. Null where unknown: a range filter never matches it."],
  followers: [842, "Number of followers. Null where unknown: a range filter never matches it."],
  company_name: ["Acme", "Present employer."],
  company_domain: ["acme.example", "Domain of the present employer."],
  company_network_url: ["network.example/company/acme", "Profile address of the present employer."],
  updated_at: ["2025-11-26T00:00:00Z", "When the record was last refreshed, ISO-8601."],
} as const satisfies Fields;

export const COMPANY = {
  id: ["c3a94236f", "Identifier, stable within a dataset version."],
  name: ["Acme", "Name as displayed."],
  domain: ["acme.example", "Domain."],
  company_network_url: ["network.example/company/acme", "Profile address."],
  industry: ["Primary Education", "Industry."],
  type: ["Nonprofit", "Legal or ownership form."],
  size_range: ["1,001-5,000", "Size band as published."],
  employee_count: [1_026, "Number of employees."],
  founded_year: [1979, "Year of foundation."],
  description: [
    "Acme works on design systems and recruiting in Greenwood.",
    "What the company says of itself.",
  ],
  country: ["Canada", "Country of the head office."],
  state: ["Stoneworth State", "State, province or region of the head office."],
  city: ["Greenwood", "City of the head office."],
  location: ["Greenwood, Stoneworth State, Canada", "Head office as displayed."],
  followers: [136, "Number of followers."],
  specialties: [
    ["design systems", "recruiting"],
    "Subjects the company names as its own; empty where none are known.",
  ],
  updated_at: ["2025-10-08T00:00:00Z", "When the record was last refreshed, ISO-8601."],
} as const satisfies Fields;

/** Missing values are null; `department` never is ("Other" is the catch-all). */
type RecordOf<Table extends Fields> = {
  readonly [Field in keyof Table]: Table[Field][0] extends string
    ? string | (Field extends "id" | "department" ? never : null)
    : Table[Field][0] extends number
      ? number | null
      : readonly string[];
};

export type Person = RecordOf<typeof PERSON>;
export type Company = RecordOf<typeof COMPANY>;

const names = <Table extends Fields>(table: Table) =>
  Object.keys(table) as readonly (keyof Table & string)[];

/** CSV columns and row stores keep this order. */
export const PERSON_FIELDS = names(PERSON);
export const COMPANY_FIELDS = names(COMPANY);

/** Of both kinds of record: those that hold a number. */
export const NUMBER_FIELDS: ReadonlySet<string> = new Set(
  [...Object.entries(PERSON), ...Object.entries(COMPANY)].flatMap(([field, [example]]) =>
    typeof example === "number" ? [field] : [],
  ),
);

export const COSTED_CALLS = [
  "account",
  "person_count",
  "person_search",
  "company_enrich",
  "company_employees",
] as const;
export type CostedCall = (typeof COSTED_CALLS)[number];

/** A plan keeps rows for ten years at most: whoever keeps longer keeps for ever. */
export const KEEP_DAYS_MAX = 3_650;

/** Bounds of the API (docs/reference/contract.md, Search). */
export const PER_PAGE_DEFAULT = 10;
export const PER_PAGE_MAX = 1_000;
export const COUNT_CACHE_SECONDS = 300;
/** How long a paid call that is repeated under its key is answered with the stored reply. */
export const IDEMPOTENCY_SECONDS = 86_400;
export const MAX_BODY_BYTES = 1_048_576;
