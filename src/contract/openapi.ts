import { DEPARTMENTS } from "./departments.ts";
import { VALID_FILTERS_LINE } from "./filters.ts";
import { EXAMPLE_COMPANY, EXAMPLE_PERSON, OPENAPI_SCHEMAS, PAGING_SCHEMAS } from "./openapi-schemas.ts";
import { OPENAPI_DESCRIPTION, OPERATION_TEXT } from "./openapi-text.ts";
import type {
  Example,
  Header,
  Json,
  MediaType,
  OpenApiDocument,
  Operation,
  Parameter,
  Ref,
  RequestBody,
  Response,
  Schema,
} from "./openapi-types.ts";
import { MAX_BODY_BYTES, PER_PAGE_DEFAULT, PER_PAGE_MAX } from "./records.ts";

export type { OpenApiDocument } from "./openapi-types.ts";

/** Version of the API's description; the API itself is versioned by its first path segment (docs/contract.md, Versioning). */
const DOCUMENT_VERSION = "1.0.0";

const header = (description: string, schema: Schema, example: Json, required = true): Header => ({
  description,
  required,
  schema,
  example,
});
const integer: Schema = { type: "integer", minimum: 0 };
const positive: Schema = { type: "integer", minimum: 1 };
const string: Schema = { type: "string", minLength: 1 };

const HEADERS: Readonly<Record<string, Header>> = {
  "X-RateLimit-Limit": header("Calls allowed in the window that binds first.", integer, 600),
  "X-RateLimit-Remaining": header("Calls left in that window.", integer, 599),
  "X-RateLimit-Reset": header("When that window resets, in epoch seconds.", integer, 1_790_847_060),
  "X-RateLimit-Window": header("Which window binds first.", { type: "string", enum: ["minute", "day"] }, "minute"),
  "X-Request-Id": header(
    "Identifies this call in logs and support. Taken from the request where it sends a sane one.",
    { type: "string", minLength: 1, maxLength: 128 },
    "97c25b4e-f246-4dd3-8b10-86d1eae6a1f1",
  ),
  "X-Dataset-Version": header("Version of the dataset that answered.", string, "20261001-093000-32ba0b"),
  "X-Total-Count": header("Rows that match in all, over every page.", integer, 2_614),
  "X-Page": header("Number of this page, counting from 1.", positive, 1),
  "X-Per-Page": header("Size of a page.", { ...positive, maximum: PER_PAGE_MAX }, 25),
  "X-Next-Cursor": header(
    "Send it back as `cursor` for the next page. Absent on the last page.",
    string,
    "djE6MjU",
    false,
  ),
  Link: header(
    'The next page: `rel="next"`. Absent on the last page.',
    string,
    '</v1/company/employees?domain=northwind-analytics.example&page=2&per_page=25>; rel="next"',
    false,
  ),
  "Idempotent-Replayed": header(
    "`true` where this is the stored reply of an earlier call with the same `Idempotency-Key`: nothing was charged again.",
    { type: "string", enum: ["true"] },
    "true",
    false,
  ),
  "Retry-After": header("Whole seconds to wait before the next try, at least 1.", positive, 7),
  Allow: header("The methods that the path has.", string, "GET"),
  "WWW-Authenticate": header("How to send the key.", string, "Bearer", false),
  Deprecation: header(
    "Since when the route is deprecated. Absent on routes that are not.",
    string,
    "@1790812800",
    false,
  ),
  Sunset: header(
    "When a deprecated route goes, at least six months ahead.",
    string,
    "Sat, 01 May 2027 00:00:00 GMT",
    false,
  ),
};

const RATE_HEADERS = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-RateLimit-Window",
  "X-Request-Id",
] as const;
const PAGE_HEADERS = ["X-Total-Count", "X-Page", "X-Per-Page", "X-Next-Cursor", "Link"] as const;

const headers = (...names: readonly string[]): Readonly<Record<string, Ref>> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const json = (schema: string, examples: Readonly<Record<string, Example>>): Readonly<Record<string, MediaType>> => ({
  "application/json": { schema: { $ref: `#/components/schemas/${schema}` }, examples },
});

const PARAMETERS: Readonly<Record<string, Parameter>> = {
  RequestId: {
    name: "X-Request-Id",
    in: "header",
    required: false,
    description:
      "Your own identifier of the call, echoed in the answer: up to 128 letters, digits, `.`, `_`, `:` and `-`.",
    schema: { type: "string", minLength: 1, maxLength: 128 },
    example: "nightly-export-17",
  },
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description:
      "An extension of this service. Send the same key on every retry of one call: the stored reply comes back and nothing is charged twice. See *Retrying a paid call*.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
    example: "1f0c8a52-7f4e-4b0e-9a55-0c7d3b2e6f11",
  },
  Domain: lookup(
    "domain",
    "Domain of the company; scheme, `www.` and path are ignored.",
    "northwind-analytics.example",
  ),
  CompanyNetworkUrl: lookup(
    "company_network_url",
    "Profile address of the company, or its slug.",
    "https://network.example/company/northwind-analytics",
  ),
  Name: lookup(
    "name",
    "Exact name in any case. Where companies share it, the one with the first id.",
    "Northwind Analytics",
  ),
  Id: lookup("id", "Identifier of the company.", EXAMPLE_COMPANY.id),
  Page: { ...paging("page", PAGING_SCHEMAS.page), example: 1 },
  PerPage: { ...paging("per_page", PAGING_SCHEMAS.perPage), example: 25 },
  Cursor: { ...paging("cursor", PAGING_SCHEMAS.cursor), example: "djE6MjU" },
};

function lookup(name: string, description: string, example: string): Parameter {
  return {
    name,
    in: "query",
    required: false,
    description: `${description} Exactly one of \`domain\`, \`company_network_url\`, \`name\` and \`id\` is required.`,
    schema: { type: "string", minLength: 1, maxLength: 1_024 },
    example,
  };
}

function paging(name: string, schema: Schema): Parameter {
  const { description = "", example: _, ...rest } = schema;
  return { name, in: "query", required: false, description, schema: rest };
}

const parameters = (...names: readonly string[]): readonly Ref[] =>
  names.map((name) => ({ $ref: `#/components/parameters/${name}` }));

const LOOKUP = ["Domain", "CompanyNetworkUrl", "Name", "Id"] as const;

const failure = (summary: string, detail: readonly string[], remaining = 3_766): Example => ({
  summary,
  value: { status: false, detail, result: null, credits_used: 0, credits_remaining: remaining },
});

function errorResponse(description: string, examples: Readonly<Record<string, Example>>, ...more: string[]): Response {
  return { description, headers: headers(...RATE_HEADERS, ...more), content: json("ErrorEnvelope", examples) };
}

const VALID_COMPANY_PARAMETERS = "valid parameters: domain, company_network_url, name, id";

const RESPONSES: Readonly<Record<string, Response>> = {
  Unauthorized: errorResponse(
    "The key is missing, not valid, or revoked. The rate-limit headers are those of callers without a key.",
    {
      no_key: failure("No key", ["send the API key as: Authorization: Bearer <API_KEY>"], 0),
      revoked: failure("Not valid or revoked", ["the API key is not valid or was revoked"], 0),
    },
    "WWW-Authenticate",
  ),
  PaymentRequired: errorResponse(
    "The balance is too low for the call. Rejected before any work: ask for a smaller `per_page` or top up.",
    {
      too_low: failure(
        "Too few credits",
        ["this call may cost 25 credits and 10 are available: lower per_page or top up"],
        10,
      ),
    },
  ),
  NotFound: errorResponse("No company matches. Free.", {
    miss: failure("A miss", ["no company matches domain nobody.example"]),
  }),
  MethodNotAllowed: errorResponse(
    "The path exists, the method does not.",
    { wrong_method: failure("Wrong method", ["DELETE is not allowed on /v1/account; use GET"]) },
    "Allow",
  ),
  Conflict: errorResponse(
    "A call with the same `Idempotency-Key` is still being answered. Ask again after `Retry-After`.",
    { in_flight: failure("In flight", ["a call with this Idempotency-Key is still in flight; retry in 1 s"]) },
    "Retry-After",
  ),
  PayloadTooLarge: errorResponse(`The body is larger than ${MAX_BODY_BYTES} bytes (1 MiB).`, {
    too_large: failure("Too large", [`the body is larger than ${MAX_BODY_BYTES} bytes`]),
  }),
  UnsupportedMediaType: errorResponse("The body is not `application/json`.", {
    not_json: failure("Wrong content type", ["send the body as Content-Type: application/json (in UTF-8)"]),
  }),
  UnprocessableFilters: errorResponse(
    "A filter or the body is not valid. `detail` names what is wrong; for an unknown filter it lists the valid ones.",
    {
      unknown_filter: failure("Unknown filter", [
        "unknown filter: departement (did you mean department?)",
        VALID_FILTERS_LINE,
      ]),
      unknown_department: failure("Unknown department", [
        `unknown department: "Saless" (did you mean "Sales"?); valid departments: ${DEPARTMENTS.join(", ")}`,
      ]),
      per_page: failure("A bound", [`per_page must be between 1 and ${PER_PAGE_MAX}, not 5000`]),
      no_filters: failure("No filters", ["filters is required; {} is the whole dataset"]),
    },
  ),
  UnprocessableQuery: errorResponse(
    "A query parameter is not valid. `detail` names what is wrong and lists the valid parameters.",
    {
      none: failure("No company named", [`name the company by exactly one parameter; ${VALID_COMPANY_PARAMETERS}`]),
      unknown_parameter: failure("Unknown parameter", [`unknown parameter: url; ${VALID_COMPANY_PARAMETERS}`]),
    },
  ),
  UnknownParameter: errorResponse("The call takes no parameters.", {
    unknown_parameter: failure("Unknown parameter", ["unknown parameter: verbose; this call takes none"]),
  }),
  TooManyRequests: errorResponse(
    "The rate limit of the key is used up. A refused call does not count against it.",
    { minute: failure("Minute window", ["rate limit of 600 calls a minute exceeded; retry in 7 s"]) },
    "Retry-After",
  ),
  ServerError: errorResponse("A fault of the service. Never charged: retry, or report the request id.", {
    fault: failure("Server fault", ["internal error; nothing was charged"]),
  }),
  Malformed: errorResponse(
    "Bytes that are no valid HTTP request: 400, and 408 (too slow), 431 (headers above 16 KiB). In the envelope as well, with the rate-limit headers of callers without a key.",
    { malformed: failure("Not HTTP", ["this is not a valid HTTP request"], 0) },
  ),
};

const FREE_ERRORS = { "401": "Unauthorized", "405": "MethodNotAllowed" } as const;
const LAST_ERRORS = { "429": "TooManyRequests", "500": "ServerError", default: "Malformed" } as const;
const NO_QUERY_ERRORS = { "422": "UnknownParameter" } as const;
const PAID_ERRORS = { "402": "PaymentRequired", "409": "Conflict" } as const;
const BODY_ERRORS = {
  "413": "PayloadTooLarge",
  "415": "UnsupportedMediaType",
  "422": "UnprocessableFilters",
} as const;
const LOOKUP_ERRORS = { "404": "NotFound", "422": "UnprocessableQuery" } as const;

function responses(success: Response, ...errors: readonly Readonly<Record<string, string>>[]): Operation["responses"] {
  const all: Record<string, Response | Ref> = { "200": success };
  const merged: Record<string, string> = Object.assign({}, ...errors);
  for (const status of Object.keys(merged).sort()) all[status] = { $ref: `#/components/responses/${merged[status]}` };
  return all;
}

const DEPRECATION = ["Deprecation", "Sunset"] as const;

function success(
  description: string,
  schema: string,
  examples: Readonly<Record<string, Example>>,
  ...more: readonly string[]
): Response {
  return { description, headers: headers(...RATE_HEADERS, ...more, ...DEPRECATION), content: json(schema, examples) };
}

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
  limits: { per_page_max: PER_PAGE_MAX, max_depth: null, count_cache_seconds: 300 },
  dataset: { version: "20261001-093000-32ba0b", people: 50_000, companies: 7_143 },
};

const COUNT: Json = { count: 2_614, cached: false, as_of: "2026-10-01T09:30:00.000Z" };

const body = (schema: string, examples: Readonly<Record<string, Example>>): RequestBody => ({
  description: "A JSON object of at most 1 MiB.",
  required: true,
  content: json(schema, examples),
});

const PEOPLE_HEADERS = [...PAGE_HEADERS, "X-Dataset-Version", "Idempotent-Replayed"] as const;

function operations(): OpenApiDocument["paths"] {
  const free = "free";
  return {
    "/v1/account": {
      get: {
        operationId: "getAccount",
        summary: "Balance, plan, limits and prices",
        description: OPERATION_TEXT.account,
        tags: ["Account"],
        "x-cost": free,
        parameters: parameters("RequestId"),
        responses: responses(
          success("The account of the key.", "AccountEnvelope", { account: envelope("An account", ACCOUNT, 0) }),
          FREE_ERRORS,
          NO_QUERY_ERRORS,
          LAST_ERRORS,
        ),
      },
    },
    "/v1/person/count": {
      post: {
        operationId: "countPeople",
        summary: "How many people match",
        description: OPERATION_TEXT.count,
        tags: ["People"],
        "x-cost": free,
        parameters: parameters("RequestId"),
        requestBody: body("CountRequest", {
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
        }),
        responses: responses(
          success("The number.", "CountEnvelope", { count: envelope("A count", COUNT, 0) }, "X-Dataset-Version"),
          FREE_ERRORS,
          BODY_ERRORS,
          LAST_ERRORS,
        ),
      },
    },
    "/v1/person/search": {
      post: {
        operationId: "searchPeople",
        summary: "The people who match, a page at a time",
        description: OPERATION_TEXT.search,
        tags: ["People"],
        "x-cost": "per profile returned",
        parameters: parameters("IdempotencyKey", "RequestId"),
        requestBody: body("SearchRequest", {
          first: {
            summary: "The first page",
            value: { filters: { department: "Sales" }, per_page: PER_PAGE_DEFAULT, page: 1 },
          },
          prefix: {
            summary: "A prefix and a range",
            value: { filters: { title_prefix: "head of", connections_min: 100, connections_max: 499 }, per_page: 5 },
          },
        }),
        responses: responses(
          success(
            "A page of people; empty past the last one.",
            "PeopleEnvelope",
            {
              page: envelope("One person", [PERSON], 1),
              empty: envelope("Nobody matches", [], 0),
            },
            ...PEOPLE_HEADERS,
          ),
          FREE_ERRORS,
          PAID_ERRORS,
          BODY_ERRORS,
          LAST_ERRORS,
        ),
      },
    },
    "/v1/company/enrich": {
      get: {
        operationId: "enrichCompany",
        summary: "One company's record",
        description: OPERATION_TEXT.enrich,
        tags: ["Companies"],
        "x-cost": "per match",
        parameters: parameters(...LOOKUP, "IdempotencyKey", "RequestId"),
        responses: responses(
          success(
            "The company.",
            "CompanyEnvelope",
            { company: envelope("A match", COMPANY, 1) },
            "X-Dataset-Version",
            "Idempotent-Replayed",
          ),
          FREE_ERRORS,
          PAID_ERRORS,
          LOOKUP_ERRORS,
          LAST_ERRORS,
        ),
      },
    },
    "/v1/company/employees": {
      get: {
        operationId: "listEmployees",
        summary: "The people of one company, a page at a time",
        description: OPERATION_TEXT.employees,
        tags: ["Companies"],
        "x-cost": "per profile returned",
        parameters: parameters(...LOOKUP, "PerPage", "Page", "Cursor", "IdempotencyKey", "RequestId"),
        responses: responses(
          success(
            "A page of people; empty where the company is known and nobody works there.",
            "PeopleEnvelope",
            { page: envelope("One person", [PERSON], 1), empty: envelope("Nobody", [], 0) },
            ...PEOPLE_HEADERS,
          ),
          FREE_ERRORS,
          PAID_ERRORS,
          LOOKUP_ERRORS,
          LAST_ERRORS,
        ),
      },
    },
  };
}

/**
 * The API as an OpenAPI 3.0.3 document, built from the same tables that the client and the service check by. Served at
 * `GET /openapi.json` and kept as `docs/openapi.json`. Pure and deterministic: the same text for the same source.
 */
export function openApiDocument(): OpenApiDocument {
  return {
    openapi: "3.0.3",
    info: {
      title: "headcount: Professional-Network Dataset API",
      version: DOCUMENT_VERSION,
      description: OPENAPI_DESCRIPTION,
      license: { name: "MIT", url: "https://opensource.org/license/mit" },
    },
    servers: [{ url: "http://127.0.0.1:8787", description: "headcount serve, as it starts without options" }],
    security: [{ apiKey: [] }],
    tags: [
      { name: "Account", description: "What is left, what may be asked, and what it costs." },
      { name: "People", description: "Count a segment for free, then buy its profiles." },
      { name: "Companies", description: "Look a company up, and the people who work there." },
    ],
    paths: operations(),
    components: {
      securitySchemes: {
        apiKey: {
          type: "http",
          scheme: "bearer",
          description:
            "An API key, `hc_live_...` or `hc_test_...`, as `Authorization: Bearer <API_KEY>`. It is shown once, at creation.",
        },
      },
      schemas: OPENAPI_SCHEMAS,
      headers: HEADERS,
      parameters: PARAMETERS,
      responses: RESPONSES,
    },
  };
}

/** The document as the text that is served and kept. */
export const openApiText = (): string => `${JSON.stringify(openApiDocument(), null, 2)}\n`;
