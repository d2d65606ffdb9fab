import { IDEMPOTENCY_SECONDS, PER_PAGE_DEFAULT, PER_PAGE_MAX } from "../contract/records.ts";
import { headers, json, RATE_HEADERS } from "./components.ts";
import { CUT_FACETS_EXAMPLE, FACETS_EXAMPLE } from "./facets.ts";
import { OPERATION_TEXT } from "./guide.ts";
import { EXAMPLE_COMPANY, EXAMPLE_PERSON } from "./schemas.ts";
import type { Example, HttpMethod, Json, Operation, Ref, RequestBody, Response } from "./types.ts";

const EVERY_ERROR = {
  "400": "Malformed",
  "401": "Unauthorized",
  "403": "Forbidden",
  "405": "MethodNotAllowed",
  "408": "TooSlow",
  "429": "TooManyRequests",
  "431": "HeadersTooLarge",
  "500": "ServerError",
} as const;
/** Of calls that ask the dataset. */
const BUSY = { "503": "Busy" } as const;
const PAID_ERRORS = { "402": "PaymentRequired", "409": "Conflict" } as const;
const BODY_ERRORS = {
  "413": "PayloadTooLarge",
  "415": "UnsupportedMediaType",
  "422": "UnprocessableFilters",
} as const;
const LOOKUP_ERRORS = { "404": "NotFound", "422": "UnprocessableQuery" } as const;

const LOOKUP = ["Domain", "CompanyNetworkUrl", "Name", "Id"] as const;
const PEOPLE_HEADERS = [
  "X-Total-Count",
  "X-Page",
  "X-Per-Page",
  "X-Suppressed-Count",
  "X-Next-Cursor",
  "Link",
  "X-Dataset-Version",
] as const;

const envelope = (summary: string, result: Json, used: number, remaining = 3_766): Example => ({
  summary,
  value: { status: true, detail: [], result, credits_used: used, credits_remaining: remaining },
});

const PERSON: Json = { ...EXAMPLE_PERSON };
const COMPANY: Json = { ...EXAMPLE_COMPANY };
const ACCOUNT: Json = {
  account: { id: "default", name: "default" },
  key: { id: "k_c6cda93fa1d9", name: "reporting", mode: "live", prefix: "hc_live_3kTM…0h0F" },
  plan: { name: "standard" },
  credits: { remaining: 3_766, held: 0, used_today: 1_234 },
  rate_limits: { per_minute: 600, per_day: 100_000 },
  costs: { account: 0, person_count: 0, person_search: 1, company_enrich: 1, company_employees: 1 },
  limits: {
    per_page_max: PER_PAGE_MAX,
    max_depth: null,
    count_cache_seconds: 300,
    idempotency_seconds: IDEMPOTENCY_SECONDS,
  },
  dataset: { version: "20261001-093000-32ba0b", people: 50_000, companies: 7_143 },
};
const COUNT: Json = { count: 2_614, cached: false, as_of: "2026-10-01T09:30:00.000Z" };

const body = (schema: string, examples: Readonly<Record<string, Example>>): RequestBody => ({
  description: "A JSON object of at most 1 MiB.",
  required: true,
  content: json(schema, examples),
});

const COUNT_BODY = body("CountRequest", {
  department: { summary: "One department", value: { filters: { department: "Sales" } } },
  combined: {
    summary: "Several keys (AND) with several values (OR)",
    value: {
      filters: {
        department: ["Sales", "Marketing"],
        country: ["france", "germany"],
        seniority_level: "director",
        connections_min: 100,
      },
    },
  },
  everyone: { summary: "The whole dataset", value: { filters: {} } },
});

const SEARCH_BODY = body("SearchRequest", {
  first: {
    summary: "The first page",
    value: { filters: { department: "Sales" }, per_page: PER_PAGE_DEFAULT, page: 1 },
  },
  prefix: {
    summary: "A prefix and a range",
    value: { filters: { title_prefix: "head of", connections_min: 100, connections_max: 499 }, per_page: 5 },
  },
});

interface Call extends Pick<Operation, "operationId" | "summary" | "description" | "x-cost"> {
  readonly tag: string;
  readonly parameters?: readonly string[];
  readonly requestBody?: RequestBody;
  readonly success: {
    readonly description: string;
    readonly schema: string;
    readonly examples: Readonly<Record<string, Example>>;
    readonly headers?: readonly string[];
  };
  readonly errors: Readonly<Record<string, string>>;
}

function operation({ errors, parameters = [], success, tag, ...rest }: Call): Operation {
  const responses: Record<string, Response | Ref> = {
    "200": {
      description: success.description,
      headers: headers(...RATE_HEADERS, ...(success.headers ?? [])),
      content: json(success.schema, success.examples),
    },
  };
  for (const [status, name] of Object.entries({ ...EVERY_ERROR, ...errors })) {
    responses[status] = { $ref: `#/components/responses/${name}` };
  }
  const refs = [...parameters, "RequestId"].map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return { ...rest, tags: [tag], parameters: refs, responses };
}

const account = operation({
  operationId: "getAccount",
  summary: "Balance, plan, limits and prices",
  description: OPERATION_TEXT.account,
  tag: "Account",
  "x-cost": "free",
  success: {
    description: "The account of the key.",
    schema: "AccountEnvelope",
    examples: { account: envelope("An account", ACCOUNT, 0) },
  },
  errors: { "422": "UnknownParameter" },
});

const count = operation({
  operationId: "countPeople",
  summary: "How many people match",
  description: OPERATION_TEXT.count,
  tag: "People",
  "x-cost": "free",
  requestBody: COUNT_BODY,
  success: {
    description: "The number.",
    schema: "CountEnvelope",
    examples: { count: envelope("A count", COUNT, 0) },
    headers: ["X-Dataset-Version"],
  },
  errors: { ...BODY_ERRORS, ...BUSY },
});

const facets = operation({
  operationId: "facetsOfPeople",
  summary: "Which values of a key a segment has (ours, not of the contract)",
  description: OPERATION_TEXT.facets,
  tag: "People",
  "x-cost": "free",
  requestBody: body("FacetsRequest", {
    industries: {
      summary: "Industries of a department that begin with soft",
      value: { filters: { department: "Sales" }, key: "industry", prefix: "soft", limit: 10 },
    },
    countries: { summary: "The most frequent countries of all", value: { filters: {}, key: "country" } },
  }),
  success: {
    description: "The values.",
    schema: "FacetsEnvelope",
    examples: {
      facets: envelope("Values of industry", FACETS_EXAMPLE, 0),
      cut: envelope("It would have taken too long", CUT_FACETS_EXAMPLE, 0),
    },
    headers: ["X-Dataset-Version"],
  },
  errors: { ...BODY_ERRORS, ...BUSY },
});

const search = operation({
  operationId: "searchPeople",
  summary: "The people who match, a page at a time",
  description: OPERATION_TEXT.search,
  tag: "People",
  "x-cost": "per profile returned",
  parameters: ["IdempotencyKey"],
  requestBody: SEARCH_BODY,
  success: {
    description: "A page of people; empty past the last one.",
    schema: "PeopleEnvelope",
    examples: { page: envelope("One person", [PERSON], 1), empty: envelope("Nobody matches", [], 0) },
    headers: PEOPLE_HEADERS,
  },
  errors: { ...PAID_ERRORS, ...BODY_ERRORS, ...BUSY },
});

const enrich = operation({
  operationId: "enrichCompany",
  summary: "One company's record",
  description: OPERATION_TEXT.enrich,
  tag: "Companies",
  "x-cost": "per match",
  parameters: [...LOOKUP, "IdempotencyKey"],
  success: {
    description: "The company.",
    schema: "CompanyEnvelope",
    examples: { company: envelope("A match", COMPANY, 1) },
    headers: ["X-Dataset-Version"],
  },
  errors: { ...PAID_ERRORS, ...LOOKUP_ERRORS, ...BUSY },
});

const employees = operation({
  operationId: "listEmployees",
  summary: "The people of one company, a page at a time",
  description: OPERATION_TEXT.employees,
  tag: "Companies",
  "x-cost": "per profile returned",
  parameters: [...LOOKUP, "PerPage", "Page", "Cursor", "IdempotencyKey"],
  success: {
    description: "A page of people; empty where the company is known and nobody works there.",
    schema: "PeopleEnvelope",
    examples: { page: envelope("One person", [PERSON], 1), empty: envelope("Nobody", [], 0) },
    headers: PEOPLE_HEADERS,
  },
  errors: { ...PAID_ERRORS, ...LOOKUP_ERRORS, ...BUSY },
});

export const OPERATIONS: Readonly<Record<string, { readonly [method in HttpMethod]?: Operation }>> = {
  "/v1/account": { get: account },
  "/v1/person/count": { post: count },
  "/v1/person/search": { post: search },
  "/v1/company/enrich": { get: enrich },
  "/v1/company/employees": { get: employees },
  "/facets": { post: facets },
};
