// Tested by test/unit/contract-filters.test.ts.

export const DEPARTMENTS = [
  "Administrative",
  "C-Suite",
  "Consulting",
  "Customer Service",
  "Design",
  "Education",
  "Engineering and Technical",
  "Finance & Accounting",
  "Human Resources",
  "Legal",
  "Marketing",
  "Medical",
  "Operations",
  "Other",
  "Product",
  "Project Management",
  "Real Estate",
  "Research",
  "Sales",
  "Trades",
] as const;

export type Department = (typeof DEPARTMENTS)[number];

export const SENIORITY_LEVELS = [
  "owner",
  "partner",
  "c-suite",
  "vp",
  "head",
  "director",
  "manager",
  "senior",
  "entry",
  "intern",
] as const;

export type MatchType = "exact" | "prefix" | "range" | "company_network_url" | "department";

export interface FilterKeySpec {
  readonly key: FilterKey;
  readonly match: MatchType;
  readonly list: boolean;
  readonly field: string;
  readonly description: string;
  readonly example: string | number;
}

const keysOf = <Key extends string>(examples: Readonly<Record<Key, unknown>>): readonly Key[] =>
  Object.keys(examples) as Key[];

// Every filter key in the order of the contract, with
// an example: errors and help list them in this order.
const EXACT = {
  country: "france",
  state: "bavaria",
  city: "paris",
  location: "paris, île-de-france, france",
  title: "head of sales",
  seniority: "Head",
  seniority_level: "director",
  functional_area: "sales",
  industry: "software development",
  first_name: "amélie",
  last_name: "martin",
  name: "amélie martin",
  network_url: "network.example/in/amelie-martin-42",
};
const PREFIX = {
  title_prefix: "head of",
  headline_prefix: "building",
  location_prefix: "paris",
  name_prefix: "am",
  industry_prefix: "soft",
};
const RANGE = {
  connections_min: 100,
  connections_max: 499,
  followers_min: 1_000,
  followers_max: 50_000,
};
const EXAMPLES = {
  ...EXACT,
  ...PREFIX,
  ...RANGE,
  company_network_url: "northwind-analytics",
  department: "Sales",
};

export const EXACT_KEYS = keysOf(EXACT);
export const PREFIX_KEYS = keysOf(PREFIX);
export const RANGE_KEYS = keysOf(RANGE);
export const FILTER_KEYS = keysOf(EXAMPLES);
export type FilterKey = keyof typeof EXAMPLES;
type ExactKey = keyof typeof EXACT;

const describe = (key: string): string =>
  key.replace(/_(prefix|min|max)$/, "").replaceAll("_", " ");

const MEANINGS: Readonly<Record<string, string>> = {
  seniority: "the seniority as the title says it (Head, Director), any case",
  seniority_level: `step of the ladder: ${SENIORITY_LEVELS.join(", ")}`,
};

const specOf = (key: FilterKey): Omit<FilterKeySpec, "key" | "example"> => {
  if (key === "department") {
    return {
      match: key,
      list: true,
      field: key,
      description: "one of the 20 departments, any case",
    };
  }

  if (key === "company_network_url") {
    return {
      match: key,
      list: false,
      field: key,
      description: "profile address of the company, or its slug",
    };
  }

  if (key in RANGE) {
    const field = describe(key);
    const bound = key.endsWith("_min") ? "at least" : "at most";
    return { match: "range", list: false, field, description: `${bound} this many ${field}` };
  }

  if (key in PREFIX) {
    const field = key.replace(/_prefix$/, "");
    return {
      match: "prefix",
      list: false,
      field,
      description: `${describe(key)} begins with this text`,
    };
  }

  const described = MEANINGS[key] ?? `${describe(key)} is exactly this, any case`;
  return { match: "exact", list: true, field: key, description: described };
};

export const FILTER_SPECS: readonly FilterKeySpec[] = FILTER_KEYS.map((key) => ({
  key,
  ...specOf(key),
  example: EXAMPLES[key],
}));

/** What a facet can be asked of: the keys that take a list, but those that name one person each. */
export type FacetKey = Exclude<ExactKey, "name" | "network_url"> | "department";
export const FACET_KEYS: readonly FacetKey[] = [
  ...EXACT_KEYS.filter((key) => key !== "name" && key !== "network_url"),
  "department",
];

export const isFacetKey = (text: string): text is FacetKey =>
  (FACET_KEYS as readonly string[]).includes(text);

/**
 * The values that a key is known to take: the 20 departments
 * (closed), the seniority levels (the usual ones).
 */
export function knownValues(key: FilterKey): readonly string[] {
  if (key === "department") return DEPARTMENTS;
  return key === "seniority_level" ? SENIORITY_LEVELS : [];
}

const SPEC_BY_KEY: ReadonlyMap<string, FilterKeySpec> = new Map(
  FILTER_SPECS.map((spec) => [spec.key, spec]),
);

export const filterSpec = (key: string): FilterKeySpec | undefined => SPEC_BY_KEY.get(key);

export type Filters = { readonly [key in FilterKey]?: string | number | readonly string[] };

/**
 * Filters in normal form, lists sorted and distinct, keys
 * in order: what engines match on and caches are keyed by.
 */
export interface CanonicalFilters {
  readonly exact: { readonly [key in ExactKey]?: readonly string[] };
  readonly prefix: { readonly [key in keyof typeof PREFIX]?: string };
  readonly range: { readonly [key in keyof typeof RANGE]?: number };
  readonly company_network_url?: string;
  readonly department?: readonly Department[];
}

/** Bounds of one request, stated in the 422 that they cause. */
export const MAX_VALUES_PER_KEY = 1_000;
export const MAX_VALUES = 2_000;
/** Companies that one call counts people of, one by one. */
export const COMPANIES_MAX = 1_000;
export const MAX_VALUE_LENGTH = 1_024;
/** Of all texts together in their normal form: one character can become eighteen there. */
export const MAX_CHARACTERS = 100_000;
