/** The fields of a person record in published order (docs/contract.md, Records): CSV columns and row stores keep it. */
export const PERSON_FIELDS = [
  "id",
  "network_url",
  "name",
  "first_name",
  "last_name",
  "headline",
  "title",
  "seniority",
  "seniority_level",
  "functional_area",
  "department",
  "industry",
  "country",
  "state",
  "city",
  "location",
  "connections",
  "followers",
  "company_name",
  "company_domain",
  "company_network_url",
  "updated_at",
] as const;

export type PersonField = (typeof PERSON_FIELDS)[number];

/** One person. Missing values are null; `department` is never null ("Other" is the catch-all). `updated_at` is ISO-8601. */
export type Person = {
  readonly [Field in PersonField]: Field extends "id" | "department"
    ? string
    : Field extends "connections" | "followers"
      ? number | null
      : string | null;
};

export const COMPANY_FIELDS = [
  "id",
  "name",
  "domain",
  "company_network_url",
  "industry",
  "type",
  "size_range",
  "employee_count",
  "founded_year",
  "description",
  "country",
  "state",
  "city",
  "location",
  "followers",
  "specialties",
  "updated_at",
] as const;

export type CompanyField = (typeof COMPANY_FIELDS)[number];

export type Company = {
  readonly [Field in CompanyField]: Field extends "id"
    ? string
    : Field extends "specialties"
      ? readonly string[]
      : Field extends "employee_count" | "founded_year" | "followers"
        ? number | null
        : string | null;
};

/** `result` of `GET /key` (docs/contract.md, Keys). Times are ISO-8601. */
export interface KeyResult {
  readonly account: { readonly id: string; readonly name: string };
  readonly key: {
    readonly id: string;
    readonly name: string;
    readonly mode: "live" | "test";
    readonly prefix: string;
    /** Calls that it may make; null: all. */
    readonly scopes: readonly string[] | null;
    readonly created_at: string;
    /** Null: never. */
    readonly expires_at: string | null;
    readonly last_used_at: string | null;
  };
  /** Null: none but the balance. */
  readonly cap: {
    readonly max_credits: number;
    readonly spent: number;
    readonly held: number;
    readonly left: number;
  } | null;
  readonly credits: { readonly remaining: number; readonly held: number };
}

/** `result` of `GET /v1/account` (docs/contract.md, Account). Credits and prices are JSON numbers. */
export interface AccountResult {
  readonly account: { readonly id: string; readonly name: string };
  readonly key: { readonly id: string; readonly name: string; readonly mode: "live" | "test"; readonly prefix: string };
  readonly plan: { readonly name: string };
  readonly credits: { readonly remaining: number; readonly held: number; readonly used_today: number };
  readonly rate_limits: { readonly per_minute: number; readonly per_day: number };
  readonly costs: Readonly<Record<CostedCall, number>>;
  readonly limits: {
    readonly per_page_max: number;
    readonly max_depth: number | null;
    readonly count_cache_seconds: number;
    readonly idempotency_seconds: number;
  };
  readonly dataset: { readonly version: string; readonly people: number; readonly companies: number };
}

export const COSTED_CALLS = [
  "account",
  "person_count",
  "person_search",
  "company_enrich",
  "company_employees",
] as const;
export type CostedCall = (typeof COSTED_CALLS)[number];

/** Bounds of the API (docs/contract.md, Search). */
export const PER_PAGE_DEFAULT = 10;
export const PER_PAGE_MAX = 1_000;
export const COUNT_CACHE_SECONDS = 300;
/** How long a paid call that is repeated under its key is answered with the stored reply. */
export const IDEMPOTENCY_SECONDS = 86_400;
export const MAX_BODY_BYTES = 1_048_576;
