import { PER_PAGE_DEFAULT } from "../contract/records.ts";
import { API_SCHEMAS } from "../schema/api.ts";
import {
  type ApiResponse,
  type Example,
  type HEADERS,
  headers,
  json,
  type PARAMETERS,
  RATE_HEADERS,
  type RESPONSES,
} from "./components.ts";
import { exampleOf, type Ref } from "./convert.ts";

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
const BUSY = { "503": "Busy" } as const;
const NO_PARAMETERS = { "422": "UnknownParameter" } as const;
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

const OURS =
  " Not a call of the contract but this service's own, " +
  "so it stands outside `/v1`; another service answers 404.";

const envelope = (summary: string, result: unknown, used = 0): Example => ({
  summary,
  value: { status: true, detail: [], result, credits_used: used, credits_remaining: 3_766 },
});
const answerOf = (summary: string, name: keyof typeof API_SCHEMAS, used = 0): Example =>
  envelope(summary, exampleOf(API_SCHEMAS[name]), used);

const body = (schema: string, examples: Readonly<Record<string, Example>>) => ({
  description: "A JSON object of at most 1 MiB.",
  required: true,
  content: json(schema, examples),
});

const bodyOf = (schema: keyof typeof API_SCHEMAS, name: string, summary: string) =>
  body(schema, { [name]: { summary, value: exampleOf(API_SCHEMAS[schema]) } });

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
    value: {
      filters: { title_prefix: "head of", connections_min: 100, connections_max: 499 },
      per_page: 5,
    },
  },
});

const FACETS_BODY = body("FacetsRequest", {
  industries: {
    summary: "Industries of a department that begin with soft",
    value: exampleOf(API_SCHEMAS.FacetsRequest),
  },
  countries: {
    summary: "The most frequent countries of all",
    value: { filters: {}, key: "country" },
  },
});

const onePerson = envelope("One person", [exampleOf(API_SCHEMAS.Person)], 1);
const CUT_FACETS = envelope("It would have taken too long", {
  ...(exampleOf(API_SCHEMAS.Facets) as object),
  count: null,
  values: [],
  others: null,
  missing: null,
  distinct: null,
  exact: false,
  reason:
    "counting the values of this segment takes longer than 300 ms; " +
    "narrow the filters, or count the values that you know",
});

interface Call {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly cost?: string;
  readonly parameters?: readonly (keyof typeof PARAMETERS)[];
  readonly requestBody?: ReturnType<typeof body>;
  readonly answer: string;
  readonly schema: keyof typeof API_SCHEMAS;
  readonly examples: Readonly<Record<string, Example>>;
  readonly headers?: readonly (keyof typeof HEADERS)[];
}

/**
 * What is sold is refused for money, a body for what is in it; a key's own calls read no dataset.
 */
function errorsOf({
  cost,
  parameters = [],
  requestBody,
  tags,
}: Call): Readonly<Record<string, keyof typeof RESPONSES>> {
  if (tags.includes("Account")) return NO_PARAMETERS;
  const lookup = parameters.includes("Domain") ? LOOKUP_ERRORS : {};
  return { ...(cost && PAID_ERRORS), ...lookup, ...(requestBody && BODY_ERRORS), ...BUSY };
}

function operation(call: Call) {
  const { answer, cost = "free", examples, parameters = [], schema, ...rest } = call;
  const {
    headers: more = call.tags.includes("Account") ? [] : (["X-Dataset-Version"] as const),
    ...said
  } = rest;

  const success: ApiResponse = {
    description: answer,
    headers: headers(...RATE_HEADERS, ...more),
    content: json(schema, examples),
  };
  const failures = Object.entries({ ...EVERY_ERROR, ...errorsOf(call) }).map(
    ([status, name]): [string, Ref] => [status, { $ref: `#/components/responses/${name}` }],
  );

  return {
    ...said,
    "x-cost": cost,
    parameters: [...parameters, "RequestId"].map(
      (name): Ref => ({ $ref: `#/components/parameters/${name}` }),
    ),
    responses: { "200": success, ...Object.fromEntries(failures) } as Readonly<
      Record<string, ApiResponse | Ref>
    >,
  };
}

export type Operation = ReturnType<typeof operation>;
const get = (call: Call) => ({ get: operation(call) });
const post = (call: Omit<Call, "tags">) => ({ post: operation({ ...call, tags: ["People"] }) });

export const OPERATIONS: Readonly<
  Record<string, { readonly [method in "get" | "post"]?: Operation }>
> = {
  "/v1/account": get({
    operationId: "getAccount",
    summary: "Balance, plan, limits and prices",
    description:
      "The balance, what is held by calls in flight, the plan with its rate limits, " +
      "what each call costs (`costs`), the bounds of the API " +
      "and the dataset being served. Free, always.",
    tags: ["Account"],
    answer: "The account of the key.",
    schema: "AccountEnvelope",
    examples: { account: answerOf("An account", "Account") },
  }),
  "/v1/person/count": post({
    operationId: "countPeople",
    summary: "How many people match",
    description:
      "The exact number of people that match: the most that a search over the same filters " +
      "can return, and so its largest bill. Free, always. A count may come from a " +
      "cache of at most five minutes; `cached` and `as_of` say so.",
    requestBody: COUNT_BODY,
    answer: "The number.",
    schema: "CountEnvelope",
    examples: { count: answerOf("A count", "Count") },
  }),
  "/v1/person/search": post({
    operationId: "searchPeople",
    summary: "The people who match, a page at a time",
    description:
      "A page of people in a fixed total order. Holds `per_page` credits, " +
      "charges for the profiles actually returned and gives the rest back at once. " +
      "A page past the last one is empty and free.",
    cost: "per profile returned",
    parameters: ["IdempotencyKey"],
    requestBody: SEARCH_BODY,
    answer: "A page of people; empty past the last one.",
    schema: "PeopleEnvelope",
    examples: { page: onePerson, empty: envelope("Nobody matches", []) },
    headers: PEOPLE_HEADERS,
  }),
  "/v1/company/enrich": get({
    operationId: "enrichCompany",
    summary: "One company's record",
    description:
      "The record of the company named by exactly one of `domain`, `company_network_url`, " +
      "`name` and `id`. Charged on a match only: a miss is a free 404.",
    tags: ["Companies"],
    cost: "per match",
    parameters: [...LOOKUP, "IdempotencyKey"],
    answer: "The company.",
    schema: "CompanyEnvelope",
    examples: { company: answerOf("A match", "Company", 1) },
  }),
  "/v1/company/employees": get({
    operationId: "listEmployees",
    summary: "The people of one company, a page at a time",
    description:
      "The people of the company named by exactly one of `domain`, `company_network_url`, " +
      "`name` and `id`, in the same fixed order as a search. " +
      "Charged per profile returned. A company that is not known is a free 404; " +
      "a known company with nobody is an empty page.",
    tags: ["Companies"],
    cost: "per profile returned",
    parameters: [...LOOKUP, "PerPage", "Page", "Cursor", "IdempotencyKey"],
    answer: "A page of people; empty where the company is known and nobody works there.",
    schema: "PeopleEnvelope",
    examples: { page: onePerson, empty: envelope("Nobody", []) },
    headers: PEOPLE_HEADERS,
  }),
  "/facets": post({
    operationId: "facetsOfPeople",
    summary: "Which values of a key a segment has (ours, not of the contract)",
    description:
      "The values that a key has among the people who match, with the exact number of people " +
      "of each, how many have another value and how many have none. Free, and counted by the " +
      `rate limits as a count is.${OURS} Values that fewer than \`least\` people share are ` +
      "not told: looking for one person's values is what a search is for. Where it would " +
      "take longer than 300 ms nothing is told, `exact` is false and `reason` says so.",
    requestBody: FACETS_BODY,
    answer: "The values.",
    schema: "FacetsEnvelope",
    examples: { facets: answerOf("Values of industry", "Facets"), cut: CUT_FACETS },
  }),
  "/counts": post({
    operationId: "countPeopleAtCompanies",
    summary: "How many people match at each of several companies (ours, not of the contract)",
    description:
      "The same numbers as a count for each company, from one dataset version and by one " +
      "call. Free; it takes one call of the minute for each hundred companies begun, " +
      `and counts of few people weigh on the account as they do one by one.${OURS}`,
    requestBody: bodyOf("CountsRequest", "companies", "Vice presidents at two companies"),
    answer: "The numbers, in the order of the companies.",
    schema: "CountsEnvelope",
    examples: { counts: answerOf("Of two companies", "Counts") },
  }),
  "/sketch": post({
    operationId: "sketchPeople",
    summary: "Who of one's own people is in a segment, by one call (ours, not of the contract)",
    description:
      "Cells of an invertible Bloom lookup table over digests of everybody in the segment: " +
      "whoever subtracts the digests of their own people reads out exactly who left and how " +
      "many are new. Free; it takes a call of the minute for each thousand cells and each " +
      `ten thousand people begun. Of at most 250,000 people.${OURS}`,
    requestBody: bodyOf("SketchRequest", "first", "The first cell"),
    answer: "The cells.",
    schema: "SketchEnvelope",
    examples: { sketch: answerOf("Of two people", "Sketch") },
  }),
  "/people": post({
    operationId: "peopleByDigest",
    summary: "People by the digests of a sketch (ours, not of the contract)",
    description:
      "The people of the segment with these digests, in their order; who is not there any " +
      `more is left out and free. Sold as a page of a search is.${OURS}`,
    cost: "per profile returned",
    parameters: ["IdempotencyKey"],
    requestBody: bodyOf("PeopleRequest", "one", "One person"),
    answer: "The people.",
    schema: "PeopleEnvelope",
    examples: { people: onePerson, gone: envelope("Not there any more", []) },
    headers: ["X-Suppressed-Count", "X-Dataset-Version"],
  }),
  "/key": get({
    operationId: "getKey",
    summary: "What the key that asks may do (ours, not of the contract)",
    description:
      "Whose key it is, the calls that it may make, until when, what is left of its cap, " +
      `and the balance of its account. Free, and counted by the rate limits.${OURS}`,
    tags: ["Account"],
    answer: "The key.",
    schema: "KeyEnvelope",
    examples: { key: answerOf("A key with a cap and scopes", "Key") },
  }),
};
