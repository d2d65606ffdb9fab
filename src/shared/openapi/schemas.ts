import { DEPARTMENTS, SENIORITY_LEVELS } from "../contract/departments.ts";
import { FILTER_SPECS, type FilterKeySpec, MAX_VALUE_LENGTH, MAX_VALUES_PER_KEY } from "../contract/filters.ts";
import {
  COMPANY_FIELDS,
  COSTED_CALLS,
  type Company,
  type CompanyField,
  IDEMPOTENCY_SECONDS,
  PER_PAGE_DEFAULT,
  PER_PAGE_MAX,
  PERSON_FIELDS,
  type Person,
  type PersonField,
} from "../contract/records.ts";
import type { Json, OpenApiSchema, Ref } from "./types.ts";

/** A person and a company of the sample that a new data folder starts with; test keys see a company of that name too. */
export const EXAMPLE_PERSON: Person = {
  id: "p0f8b4db9",
  network_url: "network.example/in/anthony-caldwood-ff61cef8",
  name: "Anthony Caldwood",
  first_name: "Anthony",
  last_name: "Caldwood",
  headline: "Director of Business Development at Acme | supply chains, supply chains | Lifelong student 🎓",
  title: "Director of Business Development",
  seniority: "Director",
  seniority_level: "director",
  functional_area: "Business Development",
  department: "Sales",
  industry: "Primary Education",
  country: "Canada",
  state: "Stoneworth State",
  city: "Greenwood",
  location: "Greenwood, Stoneworth State, Canada",
  connections: 127,
  followers: 842,
  company_name: "Acme",
  company_domain: "acme.example",
  company_network_url: "network.example/company/acme",
  updated_at: "2025-11-26T00:00:00Z",
};

export const EXAMPLE_COMPANY: Company = {
  id: "c3a94236f",
  name: "Acme",
  domain: "acme.example",
  company_network_url: "network.example/company/acme",
  industry: "Primary Education",
  type: "Nonprofit",
  size_range: "1,001-5,000",
  employee_count: 1_026,
  founded_year: 1979,
  description: "Acme works on design systems and recruiting in Greenwood.",
  country: "Canada",
  state: "Stoneworth State",
  city: "Greenwood",
  location: "Greenwood, Stoneworth State, Canada",
  followers: 136,
  specialties: ["design systems", "recruiting"],
  updated_at: "2025-10-08T00:00:00Z",
};

const ref = (name: string): Ref => ({ $ref: `#/components/schemas/${name}` });

const PERSON_TEXT: Record<PersonField, string> = {
  id: "Identifier, stable within a dataset version.",
  network_url: "Profile address.",
  name: "Full name as displayed.",
  first_name: "Given name.",
  last_name: "Family name.",
  headline: "The line below the name.",
  title: "Present job title.",
  seniority: "Seniority label as published.",
  seniority_level: `Seniority on one ladder: ${SENIORITY_LEVELS.join(", ")}.`,
  functional_area: "What kind of work it is, finer than the department.",
  department: 'One of the 20 departments. Never null: "Other" is the catch-all.',
  industry: "Industry of the person.",
  country: "Country.",
  state: "State, province or region.",
  city: "City.",
  location: "Place as displayed.",
  connections: "Number of connections. Null where unknown: a range filter never matches it.",
  followers: "Number of followers. Null where unknown: a range filter never matches it.",
  company_name: "Present employer.",
  company_domain: "Domain of the present employer.",
  company_network_url: "Profile address of the present employer.",
  updated_at: "When the record was last refreshed, ISO-8601.",
};

const COMPANY_TEXT: Record<CompanyField, string> = {
  id: "Identifier, stable within a dataset version.",
  name: "Name as displayed.",
  domain: "Domain.",
  company_network_url: "Profile address.",
  industry: "Industry.",
  type: "Legal or ownership form.",
  size_range: "Size band as published.",
  employee_count: "Number of employees.",
  founded_year: "Year of foundation.",
  description: "What the company says of itself.",
  country: "Country of the head office.",
  state: "State, province or region of the head office.",
  city: "City of the head office.",
  location: "Head office as displayed.",
  followers: "Number of followers.",
  specialties: "Subjects the company names as its own; empty where none are known.",
  updated_at: "When the record was last refreshed, ISO-8601.",
};

const INTEGER_FIELDS = new Set<string>(["connections", "followers", "employee_count", "founded_year"]);

function fieldSchema(name: string, description: string, example: Json): OpenApiSchema | Ref {
  if (name === "id") return { type: "string", minLength: 1, description, example };
  if (name === "department") return ref("Department");
  if (name === "specialties") return { type: "array", items: { type: "string" }, description, example };
  if (INTEGER_FIELDS.has(name)) return { type: "integer", minimum: 0, nullable: true, description, example };
  return { type: "string", nullable: true, description, example };
}

/** A record as published: every field is always there, in this order, and nothing else is. */
function recordSchema<Field extends string>(
  title: string,
  description: string,
  fields: readonly Field[],
  texts: Record<Field, string>,
  example: Readonly<Record<Field, Json>>,
): OpenApiSchema {
  const properties: Record<string, OpenApiSchema | Ref> = {};
  for (const field of fields) properties[field] = fieldSchema(field, texts[field], example[field]);
  return { title, description, type: "object", properties, required: fields, additionalProperties: false, example };
}

const filterText: OpenApiSchema = { type: "string", minLength: 1, maxLength: MAX_VALUE_LENGTH };

// One named schema for what thirteen keys take: an anonymous union at each makes thirteen classes in a generated client.
function filterSchema(spec: FilterKeySpec): OpenApiSchema | Ref {
  const sentence = `${spec.description.charAt(0).toUpperCase()}${spec.description.slice(1)}.`;
  if (spec.match === "range") {
    const description = `${sentence} A row with no value never matches.`;
    const example = spec.example;
    return { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description, example };
  }
  if (spec.match === "department") return ref("DepartmentOrDepartments");
  return spec.list ? ref("TextOrTexts") : { ...filterText, description: sentence, example: spec.example };
}

const oneOrMore = (title: string, description: string, item: OpenApiSchema | Ref, example: Json): OpenApiSchema => ({
  title,
  description: `${description} An array means OR.`,
  anyOf: [item, { type: "array", items: item, minItems: 1, maxItems: MAX_VALUES_PER_KEY }],
  example,
});

function filtersSchema(): OpenApiSchema {
  const properties: Record<string, OpenApiSchema | Ref> = {};
  for (const spec of FILTER_SPECS) properties[spec.key] = filterSchema(spec);
  return {
    title: "Filters",
    description:
      "What the people must match. Separate keys combine with AND, the elements of one array with OR. `{}` is the whole dataset. Text matches in any case and Unicode form (NFKC, case-folded, white space collapsed); addresses match without scheme, `www.`, query and trailing slash, and a bare slug matches too. An unknown key is a 422 that lists the valid ones. All keys together take 2,000 values and 100,000 characters in their normal form.",
    type: "object",
    properties,
    additionalProperties: false,
    example: { department: "Sales", country: ["france", "germany"], connections_min: 100 },
  };
}

const credits = (description: string, example: number): OpenApiSchema => ({
  type: "number",
  minimum: 0,
  description,
  example,
});
const count = (description: string, example: number): OpenApiSchema => ({
  type: "integer",
  minimum: 0,
  description,
  example,
});
const text = (description: string, example: string): OpenApiSchema => ({ type: "string", description, example });

function object(description: string, properties: Record<string, OpenApiSchema | Ref>, title?: string): OpenApiSchema {
  const named = title === undefined ? {} : { title };
  return {
    ...named,
    description,
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

function accountSchema(): OpenApiSchema {
  const costs: Record<string, OpenApiSchema> = {};
  for (const call of COSTED_CALLS) {
    const free = call === "account" || call === "person_count";
    costs[call] = credits(
      free ? "Always 0." : `Credits per ${call === "company_enrich" ? "match" : "profile returned"}.`,
      free ? 0 : 1,
    );
  }
  return object(
    "Balance, plan, limits and prices of the key's account.",
    {
      account: object("The account that owns the key.", {
        id: text("Identifier.", "default"),
        name: text("Name.", "default"),
      }),
      key: object("The key that asked. Its secret is never shown again.", {
        id: text("Identifier, for revoking it.", "k_c6cda93fa1d9"),
        name: text("Name given at creation.", "reporting"),
        mode: { type: "string", enum: ["live", "test"], description: "Live or test.", example: "live" },
        prefix: text("What may be shown of the key.", "hc_live_3kTM…0h0F"),
      }),
      plan: object("The plan.", { name: text("Name of the plan.", "standard") }),
      credits: object("Money of the account, in credits.", {
        remaining: credits("Balance. Credits held by calls in flight are still in it.", 3_766),
        held: credits("Held by calls in flight; comes back as far as they return fewer profiles.", 0),
        used_today: credits("Charged since midnight UTC.", 1_234),
      }),
      rate_limits: object("Calls that one key may make.", {
        per_minute: count("In a minute.", 600),
        per_day: count("In a UTC day.", 100_000),
      }),
      costs: object("What a call costs, in credits. Decimals are possible.", costs),
      limits: object("Bounds of the API.", {
        per_page_max: { ...count("Largest `per_page`.", PER_PAGE_MAX), minimum: 1 },
        max_depth: {
          ...count("Largest `page` x `per_page`; null where there is none.", 0),
          nullable: true,
          example: null,
        },
        count_cache_seconds: count("How old a count may be, in seconds.", 300),
        idempotency_seconds: count(
          "How long a paid call that is repeated under its `Idempotency-Key` is answered again and charged nothing, in seconds.",
          IDEMPOTENCY_SECONDS,
        ),
      }),
      dataset: object("What is being served.", {
        version: text(
          "Changes with every import; cursors and cached counts belong to one version.",
          "20261001-093000-32ba0b",
        ),
        people: count("Number of people.", 50_000),
        companies: count("Number of companies.", 7_143),
      }),
    },
    "Account",
  );
}

export function envelope(title: string, result: OpenApiSchema | Ref, used: OpenApiSchema): OpenApiSchema {
  return object(
    "The envelope around every answer.",
    {
      status: { type: "boolean", description: "Always true: the call worked.", example: true },
      detail: {
        type: "array",
        items: { type: "string" },
        description: "Empty, or notices such as a deprecation.",
        example: [],
      },
      result,
      credits_used: used,
      credits_remaining: credits("Balance after the call.", 3_766),
    },
    title,
  );
}

export const free: OpenApiSchema = {
  type: "number",
  minimum: 0,
  maximum: 0,
  description: "Always 0: the call is free.",
  example: 0,
};

const perPage: OpenApiSchema = {
  type: "integer",
  minimum: 1,
  maximum: PER_PAGE_MAX,
  description: `Profiles wanted on the page; ${PER_PAGE_DEFAULT} where it is not sent. So many credits are held until the call is settled.`,
  example: 25,
};
const page: OpenApiSchema = {
  type: "integer",
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "Which page, counting from 1; the first where neither it nor `cursor` is sent.",
};
const cursor: OpenApiSchema = {
  type: "string",
  minLength: 1,
  maxLength: 1_024,
  description:
    "In place of `page`: the `X-Next-Cursor` of the page before. A cursor of another dataset version is a 422.",
};

export const PAGING_SCHEMAS = { perPage, page, cursor } as const;

export const OPENAPI_SCHEMAS: Readonly<Record<string, OpenApiSchema>> = {
  Person: recordSchema(
    "Person",
    "One person. Missing values are null; every filterable attribute is in the record.",
    PERSON_FIELDS,
    PERSON_TEXT,
    { ...EXAMPLE_PERSON },
  ),
  Company: recordSchema("Company", "One company. Missing values are null.", COMPANY_FIELDS, COMPANY_TEXT, {
    ...EXAMPLE_COMPANY,
  }),
  Department: {
    title: "Department",
    description: "The 20 departments in their exact spelling.",
    type: "string",
    enum: DEPARTMENTS,
    example: "Sales",
  },
  TextOrTexts: oneOrMore("TextOrTexts", "A text in any case and Unicode form.", filterText, ["france", "germany"]),
  DepartmentOrDepartments: oneOrMore(
    "DepartmentOrDepartments",
    "One of the 20 departments. The service takes their names in any case.",
    ref("Department"),
    "Sales",
  ),
  Filters: filtersSchema(),
  CountRequest: {
    ...object("Filters to count.", { filters: ref("Filters") }, "CountRequest"),
    example: { filters: { department: "Sales" } },
  },
  SearchRequest: {
    title: "SearchRequest",
    description: "Filters and the page wanted. `page` and `cursor` exclude each other.",
    type: "object",
    properties: { filters: ref("Filters"), per_page: perPage, page, cursor },
    required: ["filters"],
    additionalProperties: false,
    example: { filters: { department: "Sales" }, per_page: 25, page: 1 },
  },
  Account: accountSchema(),
  Count: object(
    "An exact number.",
    {
      count: count("People that match: the largest number a search can return and bill.", 2_614),
      cached: { type: "boolean", description: "Whether it came from the cache.", example: false },
      as_of: {
        type: "string",
        format: "date-time",
        description: "When it was computed.",
        example: "2026-10-01T09:30:00.000Z",
      },
    },
    "Count",
  ),
  AccountEnvelope: envelope("AccountEnvelope", ref("Account"), free),
  CountEnvelope: envelope("CountEnvelope", ref("Count"), free),
  PeopleEnvelope: envelope(
    "PeopleEnvelope",
    { type: "array", items: ref("Person"), maxItems: PER_PAGE_MAX, description: "The people of the page, in order." },
    credits("Profiles returned x the plan's cost of the call.", 1),
  ),
  CompanyEnvelope: envelope("CompanyEnvelope", ref("Company"), credits("The plan's cost of a match.", 1)),
  ErrorEnvelope: object(
    "The envelope of every error. Nothing is ever charged for one.",
    {
      status: { type: "boolean", description: "Always false: the call failed.", example: false },
      detail: {
        type: "array",
        items: { type: "string" },
        minItems: 1,
        description: "What is wrong, one message each.",
        example: ["the API key is missing or not valid"],
      },
      result: { type: "object", nullable: true, description: "Always null.", example: null },
      credits_used: { type: "number", minimum: 0, maximum: 0, description: "Always 0.", example: 0 },
      credits_remaining: credits("Balance; 0 and meaningless on a 401.", 3_766),
    },
    "ErrorEnvelope",
  ),
};
