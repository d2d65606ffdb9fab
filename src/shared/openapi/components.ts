import { VALID_FILTERS_LINE } from "../contract/filters.ts";
import { COMPANY, MAX_BODY_BYTES, PER_PAGE_MAX } from "../contract/records.ts";
import { DEPARTMENTS } from "../contract/vocabulary.ts";
import { PAGING } from "../schema/api.ts";
import {
  type JsonSchema,
  more,
  one,
  type Schema,
  said,
  text,
  wholeNumberShape,
} from "../schema/build.ts";
import { openApi } from "./convert.ts";

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}
type Examples = Readonly<Record<string, Example>>;

const header = (described: Schema, required = true) => {
  const { description, example, ...schema } = openApi(described);
  return { description: description ?? "", required, schema, example };
};
const count = (description: string, example: number) =>
  header(said(wholeNumberShape, description, example));
const atLeastOne = (description: string, example: number, bounds: JsonSchema = {}) =>
  said(more(wholeNumberShape, { minimum: 1, ...bounds }), description, example);
const word = (description: string, example: string) =>
  said(more(text, { minLength: 1 }), description, example);

export type Header = ReturnType<typeof header>;

export const HEADERS = {
  "X-RateLimit-Limit": count("Calls allowed in the window that binds first.", 600),
  "X-RateLimit-Remaining": count("Calls left in that window.", 599),
  "X-RateLimit-Reset": count("When that window resets, in epoch seconds.", 1_790_847_060),
  "X-RateLimit-Window": header(
    said(one("minute", "day", "small-counts"), "Which window binds first.", "minute"),
  ),
  "X-Request-Id": header(
    said(
      more(text, { minLength: 1, maxLength: 128 }),
      "Identifies this call in logs and support. Taken from the request where it sends a sane one.",
      "97c25b4e-f246-4dd3-8b10-86d1eae6a1f1",
    ),
  ),
  "X-Dataset-Version": header(
    word("Version of the dataset that answered.", "20261001-093000-32ba0b"),
  ),
  "X-Total-Count": count("Rows that match in all, over every page.", 2_614),
  "X-Suppressed-Count": header(
    atLeastOne(
      "People of this page who are suppressed since it was bought, " +
        "or since the dataset was built: `result` lacks them.",
      1,
    ),
    false,
  ),
  "X-Page": header(atLeastOne("Number of this page, counting from 1.", 1)),
  "X-Per-Page": header(atLeastOne("Size of a page.", 25, { maximum: PER_PAGE_MAX })),
  "X-Next-Cursor": header(
    word("Send it back as `cursor` for the next page. Absent on the last page.", "djE6MjU"),
    false,
  ),
  Link: header(
    word(
      'The next page: `rel="next"`. Absent on the last page.',
      '</v1/company/employees?domain=acme.example&page=2&per_page=25>; rel="next"',
    ),
    false,
  ),
  "Retry-After": header(atLeastOne("Whole seconds to wait before the next try, at least 1.", 7)),
  "X-Affordable-Rows": header(
    atLeastOne(
      "An extension of this service: the largest `per_page` that the balance, or what is left of " +
        "the key's cap, covers. Absent where that is none.",
      10,
    ),
    false,
  ),
  Allow: header(word("The methods that the path has.", "GET")),
  "WWW-Authenticate": header(word("How to send the key.", "Bearer"), false),
  "X-Key-Received": header(
    word(
      "An extension of this service: `no` where the request brought no key at all, as when " +
        "something in between takes `Authorization` away. Else absent.",
      "no",
    ),
    false,
  ),
};

export const RATE_HEADERS = [
  "X-RateLimit-Limit",
  "X-RateLimit-Remaining",
  "X-RateLimit-Reset",
  "X-RateLimit-Window",
  "X-Request-Id",
] as const;

export const headers = (...names: readonly (keyof typeof HEADERS)[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const json = (schema: string, examples: Examples) => ({
  "application/json": { schema: { $ref: `#/components/schemas/${schema}` }, examples },
});

const parameter = (place: "query" | "header", name: string, described: Schema) => {
  const { description = "", example: _, ...schema } = openApi(described);
  return { name, in: place, required: false, description, schema };
};
// Without examples but one: of the four exactly one may
// be sent, and there are tools that send every example.
const lookup = (name: string, description: string) => {
  const rule = "Exactly one of `domain`, `company_network_url`, `name` and `id` is required.";
  return parameter("query", name, said(PAGING.cursor, `${description} ${rule}`));
};

export type Parameter = ReturnType<typeof parameter> & { readonly example?: unknown };

export const PARAMETERS = {
  RequestId: parameter(
    "header",
    "X-Request-Id",
    said(
      text,
      "Your own identifier of the call, echoed in the answer: up to 128 letters, digits, " +
        "`.`, `_`, `:` and `-`. Any other is ignored and one is made.",
    ),
  ),
  IdempotencyKey: parameter(
    "header",
    "Idempotency-Key",
    said(
      more(text, { minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]+$" }),
      "An extension of this service. Send the same key on every retry of one call: " +
        "the stored reply comes back and nothing is charged twice. " +
        "See *Retrying a paid call*.",
    ),
  ),
  Domain: {
    ...lookup("domain", "Domain of the company; scheme, `www.` and path are ignored."),
    example: COMPANY.domain[0],
  },
  CompanyNetworkUrl: lookup("company_network_url", "Profile address of the company, or its slug."),
  Name: lookup(
    "name",
    "Exact name in any case. Where companies share it, the one with the first id.",
  ),
  Id: lookup("id", "Identifier of the company."),
  Page: parameter("query", "page", PAGING.page),
  PerPage: { ...parameter("query", "per_page", PAGING.per_page), example: 25 },
  Cursor: parameter("query", "cursor", PAGING.cursor),
};

const failure = (summary: string, detail: readonly string[], remaining = 3_766): Example => ({
  summary,
  value: { status: false, detail, result: null, credits_used: 0, credits_remaining: remaining },
});

export type ApiResponse = ReturnType<typeof errorResponse>;

function errorResponse(description: string, examples: Examples, ...more: (keyof typeof HEADERS)[]) {
  return {
    description,
    headers: headers(...RATE_HEADERS, ...more),
    content: json("ErrorEnvelope", examples),
  };
}

const VALID_COMPANY_PARAMETERS = "valid parameters: domain, company_network_url, name, id";

export const RESPONSES = {
  Unauthorized: errorResponse(
    "The key is missing, not valid, revoked or expired. " +
      "The rate-limit headers are those of callers without a key.",
    {
      no_key: failure("No key", ["send the API key as: Authorization: Bearer <API_KEY>"], 0),
      revoked: failure("Not valid or revoked", ["the API key is not valid or was revoked"], 0),
      expired: failure(
        "Expired",
        ["the API key expired at 2026-10-01T09:30:00.000Z; ask its operator for another"],
        0,
      ),
    },
    "WWW-Authenticate",
    "X-Key-Received",
  ),
  Forbidden: errorResponse(
    "The scopes of the key do not have this call, or its account is suspended.",
    {
      scope: failure("Out of scope", ["this key may not call enrich; its scopes: count, search"]),
    },
  ),
  PaymentRequired: errorResponse(
    "The balance, or what is left of the key's cap, is too low for the call. " +
      "Rejected before any work: ask for a smaller `per_page`, top up, or take another key.",
    {
      too_low: failure(
        "Too few credits",
        ["this call may cost 25 credits and 10 are available: lower per_page or top up"],
        10,
      ),
      over_cap: failure("Above the key's cap", [
        "this call may cost 25 credits and this key has 10 left of its cap of 500 credits: " +
          "lower per_page to 10 or take a key with a higher cap",
      ]),
    },
    "X-Affordable-Rows",
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
    "A call with the same `Idempotency-Key` is still being answered. " +
      "Ask again after `Retry-After`.",
    {
      in_flight: failure("In flight", [
        "a call with this Idempotency-Key is still in flight; retry in 1 s",
      ]),
    },
    "Retry-After",
  ),
  PayloadTooLarge: errorResponse(`The body is larger than ${MAX_BODY_BYTES} bytes (1 MiB).`, {
    too_large: failure("Too large", [`the body is larger than ${MAX_BODY_BYTES} bytes`]),
  }),
  UnsupportedMediaType: errorResponse("The body is not `application/json`.", {
    not_json: failure("Wrong content type", [
      "send the body as Content-Type: application/json (in UTF-8)",
    ]),
  }),
  UnprocessableFilters: errorResponse(
    "A filter or the body is not valid. `detail` names what is wrong; " +
      "for an unknown filter it lists the valid ones.",
    {
      unknown_filter: failure("Unknown filter", [
        "unknown filter: departement (did you mean department?)",
        VALID_FILTERS_LINE,
      ]),
      unknown_department: failure("Unknown department", [
        'unknown department: "Saless" (did you mean "Sales"?); ' +
          `valid departments: ${DEPARTMENTS.join(", ")}`,
      ]),
      per_page: failure("A bound", [`per_page must be between 1 and ${PER_PAGE_MAX}, not 5000`]),
      no_filters: failure("No filters", ["filters is required; {} is the whole dataset"]),
    },
  ),
  UnprocessableQuery: errorResponse(
    "A query parameter is not valid. `detail` names what is wrong and lists the valid parameters.",
    {
      none: failure("No company named", [
        `name the company by exactly one parameter; ${VALID_COMPANY_PARAMETERS}`,
      ]),
      unknown_parameter: failure("Unknown parameter", [
        `unknown parameter: url; ${VALID_COMPANY_PARAMETERS}`,
      ]),
    },
  ),
  UnknownParameter: errorResponse("The call takes no parameters.", {
    unknown_parameter: failure("Unknown parameter", [
      "unknown parameter: verbose; this call takes none",
    ]),
  }),
  TooManyRequests: errorResponse(
    "The rate limit of the key is used up. A refused call does not count against it.",
    {
      minute: failure("Minute window", ["rate limit of 600 calls a minute exceeded; retry in 7 s"]),
    },
    "Retry-After",
  ),
  ServerError: errorResponse(
    "A fault of the service. Never charged: retry, or report the request id.",
    {
      fault: failure("Server fault", ["internal error; nothing was charged"]),
    },
  ),
  Busy: errorResponse(
    "The service is busy, and the call's turn among those of other keys did not " +
      "come in time; or it has stopped selling, since its ledger is an older one than it served " +
      "before. Never charged: retry after `Retry-After`.",
    {
      busy: failure("Busy", [
        "the service is busy: 40 free calls of this key wait for their turn; " +
          "nothing was charged, retry in 5 s",
      ]),
    },
    "Retry-After",
  ),
  Malformed: errorResponse(
    "The bytes are no valid HTTP request. In the envelope as well, " +
      "with the rate-limit headers of callers without a key.",
    { malformed: failure("Not HTTP", ["this is not a valid HTTP request"], 0) },
  ),
  TooSlow: errorResponse("The request did not arrive in time. Headers as with 400.", {
    slow: failure("Too slow", ["the request did not arrive in time"], 0),
  }),
  HeadersTooLarge: errorResponse("The headers are larger than 16 KiB. Headers as with 400.", {
    headers: failure("Too large", ["the headers are larger than 16 KiB"], 0),
  }),
};
