import { FACET_LEAST, FACET_VALUES_DEFAULT, FACET_VALUES_MAX } from "../contract/facets.ts";
import {
  COMPANY,
  IDEMPOTENCY_SECONDS,
  PER_PAGE_DEFAULT,
  PER_PAGE_MAX,
  PERSON,
} from "../contract/records.ts";
import { SKETCH_CELLS_MAX } from "../contract/sketch.ts";
import {
  COMPANIES_MAX,
  DEPARTMENTS,
  FACET_KEYS,
  FILTER_SPECS,
  type FilterKeySpec,
  MAX_VALUE_LENGTH,
  MAX_VALUES_PER_KEY,
} from "../contract/vocabulary.ts";
import * as s from "./build.ts";
import { described, envelope, ref, request, stamp, word } from "./words.ts";

// What the service is asked and what it answers, as OpenAPI
// publishes it: each with its meaning and an example.

const count = (description: string, example: number) =>
  s.said(s.wholeNumberShape, description, example);
const atLeastOne = (description: string, ...examples: number[]) =>
  s.said(s.more(s.wholeNumberShape, { minimum: 1 }), description, ...examples);
const credits = (description: string, example: number) =>
  s.said(s.more(s.number, { minimum: 0 }), description, example);
const time = (description: string) => s.said(stamp, description, "2026-10-01T09:30:00.000Z");
const free = s.said(s.more(s.number, { minimum: 0, maximum: 0 }), "Always 0: the call is free.", 0);

type Fields = typeof PERSON | typeof COMPANY;

function fieldSchema(name: string, [example, description]: Fields[keyof Fields]): s.Schema {
  if (name === "id") return s.said(s.more(s.text, { minLength: 1 }), description, example);
  if (name === "department") return ref("Department");
  if (typeof example === "object") return s.said(s.texts, description, example);
  return s.said(
    s.maybe(typeof example === "number" ? s.wholeNumberShape : s.text),
    description,
    example,
  );
}

/** A record as published: every field is always there, in this order, and nothing else is. */
const record = (title: string, description: string, fields: Fields): s.Schema => {
  const properties = Object.entries(fields).map(([name, field]) => [
    name,
    fieldSchema(name, field),
  ]);
  const example = Object.fromEntries(
    Object.entries(fields).map(([name, [value]]) => [name, value]),
  );
  return s.more(described(title, description, s.object(Object.fromEntries(properties))), {
    examples: [example],
  });
};

const filterText = s.more(s.text, { minLength: 1, maxLength: MAX_VALUE_LENGTH });

// One named schema for thirteen keys: an anonymous union
// at each makes thirteen classes in a generated client.
function filterSchema({ description, example, list: isList, match }: FilterKeySpec): s.Schema {
  const sentence = `${description.charAt(0).toUpperCase()}${description.slice(1)}.`;
  if (match === "range") {
    const range = s.more(s.wholeNumberShape, { maximum: Number.MAX_SAFE_INTEGER });
    return s.said(range, `${sentence} A row with no value never matches.`, example);
  }
  if (match === "department") return ref("DepartmentOrDepartments");
  return isList ? ref("TextOrTexts") : s.said(filterText, sentence, example);
}

const oneOrMore = (
  title: string,
  description: string,
  item: s.Schema,
  example: unknown,
): s.Schema => {
  const either = s.some(item, s.list(item, { minItems: 1, maxItems: MAX_VALUES_PER_KEY }));
  return s.more(described(title, `${description} An array means OR.`, either), {
    examples: [example],
  });
};

const owner = s.said(
  s.object({ id: word("Identifier.", "default"), name: word("Name.", "default") }),
  "The account that owns the key.",
);
const ofKey = {
  id: word("Identifier, for revoking it.", "k_c6cda93fa1d9"),
  name: word("Name given at creation.", "reporting"),
  mode: s.said(s.one("live", "test"), "Live or test.", "live"),
  prefix: word("What may be shown of the key.", "hc_live_3kTM…0h0F"),
};
const balance = {
  remaining: credits("Balance. Credits held by calls in flight are still in it.", 3_766),
  held: credits("Held by calls in flight; comes back as far as they return fewer profiles.", 0),
};
const perProfile = credits("Credits per profile returned.", 1);

const account = described(
  "Account",
  "Balance, plan, limits and prices of the key's account.",
  s.object({
    account: owner,
    key: s.said(s.object(ofKey), "The key that asked. Its secret is never shown again."),
    plan: s.said(s.object({ name: word("Name of the plan.", "standard") }), "The plan."),
    credits: s.said(
      s.object({ ...balance, used_today: credits("Charged since midnight UTC.", 1_234) }),
      "Money of the account, in credits.",
    ),
    rate_limits: s.said(
      s.object({
        per_minute: count("In a minute.", 600),
        per_day: count("In a UTC day.", 100_000),
      }),
      "Calls that one key may make.",
    ),
    costs: s.said(
      s.object({
        account: credits("Always 0.", 0),
        person_count: credits("Always 0.", 0),
        person_search: perProfile,
        company_enrich: credits("Credits per match.", 1),
        company_employees: perProfile,
      }),
      "What a call costs, in credits. Decimals are possible.",
    ),
    limits: s.said(
      s.object({
        per_page_max: atLeastOne("Largest `per_page`.", PER_PAGE_MAX),
        max_depth: s.said(
          s.maybeWhole,
          "Largest `page` x `per_page`; null where there is none.",
          null,
        ),
        count_cache_seconds: count("How old a count may be, in seconds.", 300),
        idempotency_seconds: count(
          "How long a paid call that is repeated under its `Idempotency-Key` " +
            "is answered again and charged nothing, in seconds.",
          IDEMPOTENCY_SECONDS,
        ),
      }),
      "Bounds of the API.",
    ),
    dataset: s.said(
      s.object({
        version: word(
          "Changes with every import; cursors and cached counts belong to one version.",
          "20261001-093000-32ba0b",
        ),
        people: count("Number of people.", 50_000),
        companies: count("Number of companies.", 7_143),
      }),
      "What is being served.",
    ),
  }),
);

const key = described(
  "Key",
  "What the key that asks may do, until when, and what is left of its cap.",
  s.object({
    account: owner,
    key: s.said(
      s.object({
        ...ofKey,
        scopes: s.said(s.maybeTexts, "Calls that it may make; null: all.", ["count", "search"]),
        created_at: time("When it was made."),
        expires_at: s.said(s.maybe(stamp), "When it ends; null: never.", null),
        last_used_at: s.said(s.maybe(stamp), "When it was last used.", "2026-10-01T09:29:00.000Z"),
      }),
      "The key that asked. Its secret is never shown again.",
    ),
    cap: s.said(
      s.maybe(
        s.object({
          max_credits: credits("What the key may spend in all.", 500),
          spent: credits("Charged to the key, less what was refunded.", 120),
          held: credits("Held by its calls in flight.", 0),
          left: credits("What it may still spend.", 380),
        }),
      ),
      "The key's own bound; null: none but the balance.",
    ),
    credits: s.said(s.object(balance), "Money of the account, in credits."),
  }),
);

const facetKey = s.said(
  s.raw<(typeof FACET_KEYS)[number]>({ type: "string", enum: FACET_KEYS }),
  "The key whose values are wanted. `name` and `network_url` " +
    "name single people and have no facets.",
  "industry",
);
const people = (description: string, example: number) =>
  s.said(s.maybeWhole, `${description} Null where \`exact\` is false.`, example);
const facetValue = described(
  "FacetValue",
  "A value and who has it.",
  s.object({
    value: word(
      "In the form that filters are matched in; it can be sent as a filter as it is.",
      "software development",
    ),
    count: atLeastOne("People of the segment who have it.", 310),
  }),
);

const facets = described(
  "Facets",
  "Values of a key in a segment. `count` is the sum of all values told, `others` and `missing`.",
  s.object({
    key: facetKey,
    least: atLeastOne(
      "Values that fewer people of the segment share are not told; they are in `others`.",
      FACET_LEAST,
    ),
    as_of: time("When it was computed."),
    count: people("People of the segment.", 2_614),
    values: s.said(
      s.list(facetValue, { maxItems: FACET_VALUES_MAX }),
      "The most frequent values first, then by code point.",
      [
        { value: "software development", count: 310 },
        { value: "hospitals and health care", count: 121 },
      ],
    ),
    missing: people("People without a value.", 100),
    distinct: people(
      "Different values in the segment, told or not; with a `prefix` those that begin so.",
      57,
    ),
    others: people("People with a value that is not told.", 2_083),
    exact: s.said(
      s.flag,
      "Whether this is all of it. Where it would have taken " +
        "too long it is false, and nothing is told.",
      true,
    ),
    reason: s.optionalProperty(word("Why nothing is told; there where `exact` is false.", "")),
  }),
);

const filters = described(
  "Filters",
  "What the people must match. Separate keys combine with AND, the elements of one array " +
    "with OR. `{}` is the whole dataset. Text matches in any case and Unicode form (NFKC, " +
    "case-folded, white space collapsed); addresses match without scheme, `www.`, query and " +
    "trailing slash, and a bare slug matches too. An unknown key is a 422 that lists the " +
    "valid ones. All keys together take 2,000 values and " +
    "100,000 characters in their normal form.",
  s.more(s.object({}), {
    properties: Object.fromEntries(FILTER_SPECS.map((spec) => [spec.key, filterSchema(spec)])),
    examples: [{ department: "Sales", country: ["france", "germany"], connections_min: 100 }],
  }),
);

/** Of search and employees, whose parameters they are too. */
export const PAGING = {
  per_page: s.said(
    s.more(s.wholeNumberShape, { minimum: 1, maximum: PER_PAGE_MAX }),
    `Profiles wanted on the page; ${PER_PAGE_DEFAULT} where it is not sent. ` +
      "So many credits are held until the call is settled.",
    25,
  ),
  page: s.said(
    s.more(s.wholeNumberShape, { minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
    "Which page, counting from 1; the first where neither it nor `cursor` is sent.",
  ),
  cursor: s.said(
    filterText,
    "In place of `page`: the `X-Next-Cursor` of the page before. " +
      "A cursor of another dataset version is a 422.",
  ),
};

/** By their names, in the order of the document. */
export const API_SCHEMAS = {
  Person: record(
    "Person",
    "One person. Missing values are null; every filterable attribute is in the record.",
    PERSON,
  ),
  Company: record("Company", "One company. Missing values are null.", COMPANY),
  Department: described(
    "Department",
    "The 20 departments in their exact spelling.",
    s.more(s.one(...DEPARTMENTS), { examples: ["Sales"] }),
  ),
  TextOrTexts: oneOrMore("TextOrTexts", "A text in any case and Unicode form.", filterText, [
    "france",
    "germany",
  ]),
  DepartmentOrDepartments: oneOrMore(
    "DepartmentOrDepartments",
    "One of the 20 departments. The service takes their names in any case.",
    ref("Department"),
    "Sales",
  ),
  Filters: filters,
  CountRequest: request(
    "CountRequest",
    "Filters to count.",
    s.object({ filters: ref("Filters") }),
    {
      filters: { department: "Sales" },
    },
  ),
  SearchRequest: request(
    "SearchRequest",
    "Filters and the page wanted. `page` and `cursor` exclude each other.",
    s.object({
      filters: ref("Filters"),
      per_page: s.optionalProperty(PAGING.per_page),
      page: s.optionalProperty(PAGING.page),
      cursor: s.optionalProperty(PAGING.cursor),
    }),
    { filters: { department: "Sales" }, per_page: 25, page: 1 },
  ),
  Account: account,
  Count: described(
    "Count",
    "An exact number.",
    s.object({
      count: count("People that match: the largest number a search can return and bill.", 2_614),
      cached: s.said(s.flag, "Whether it came from the cache.", false),
      as_of: time("When it was computed."),
      unmatched: s.optionalProperty(
        s.said(
          s.list(ref("Unmatched")),
          "Values that nobody has, whatever the other filters say: of lists, and where the count " +
            "is 0 of every key. `detail` says the same in words. Not there where the service " +
            "did not look.",
          [],
        ),
      ),
    }),
  ),
  TextOrNumber: s.more(
    described("TextOrNumber", "A value as it was sent.", s.some(s.text, s.number)),
    { examples: ["USA"] },
  ),
  Unmatched: described(
    "Unmatched",
    "A value of a filter that nobody has.",
    s.object({
      key: word("The filter.", "country"),
      value: ref("TextOrNumber"),
      near: s.said(
        s.maybe(
          s.object({
            key: word("The filter that finds it.", "country"),
            value: ref("TextOrTexts"),
            count: atLeastOne("People who have it, whatever the other filters say.", 12_345),
          }),
        ),
        "Another name, or the nearest value, that somebody has; null: none is known.",
      ),
    }),
  ),
  AccountEnvelope: envelope("AccountEnvelope", ref("Account"), free),
  CountsRequest: request(
    "CountsRequest",
    "Filters of people, and the companies to count them at.",
    s.object({
      filters: ref("Filters"),
      companies: s.said(
        s.list(filterText, { minItems: 1, maxItems: COMPANIES_MAX }),
        "Profile addresses or slugs. The filters name none beside them.",
      ),
    }),
    { filters: { seniority_level: "vp" }, companies: ["northwind-analytics", "zephyr-pulse-co"] },
  ),
  Counts: described(
    "Counts",
    "Exact numbers, of one dataset version.",
    s.object({
      counts: s.said(
        s.list(s.wholeNumberShape),
        "People that match at each company, in the order asked.",
        [12, 0],
      ),
      as_of: time("When they were computed."),
    }),
  ),
  CountsEnvelope: envelope("CountsEnvelope", ref("Counts"), free),
  SketchRequest: request(
    "SketchRequest",
    "Filters of people, and which cells of their sketch.",
    s.object({
      filters: ref("Filters"),
      from: s.optionalProperty(
        s.said(s.wholeNumberShape, "The first cell: as many as are there already.", 0),
      ),
      cells: s.optionalProperty(
        s.said(s.wholeNumberShape, `How many, at most ${SKETCH_CELLS_MAX}.`, 128),
      ),
    }),
    { filters: { department: "Legal", country: "germany" }, cells: 1 },
  ),
  Sketch: described(
    "Sketch",
    "Cells over digests of the people of a segment, of one dataset version.",
    s.object({
      count: count("People of the segment, each of whom is in the first cell.", 2),
      key: word(
        "Begins what is hashed: digests are of this API key and this segment.",
        "5f0c1a9e7b3d4826a1c9e0f2b4d68037",
      ),
      from: count("The first cell.", 0),
      cells: word("14 bytes each, in base64.", "AgBPGvY0I9w7cQ7Kq5k="),
      as_of: time("When it was computed."),
    }),
  ),
  SketchEnvelope: envelope("SketchEnvelope", ref("Sketch"), free),
  PeopleRequest: request(
    "PeopleRequest",
    "The filters of a sketch, and digests that were read out of it.",
    s.object({
      filters: ref("Filters"),
      digests: s.list(s.more(s.text, { pattern: "^[0-9a-f]{16}$" }), {
        minItems: 1,
        maxItems: PER_PAGE_MAX,
        uniqueItems: true,
      }),
    }),
    { filters: { department: "Legal", country: "germany" }, digests: ["1af63423dc3b710e"] },
  ),
  CountEnvelope: envelope("CountEnvelope", ref("Count"), free),
  PeopleEnvelope: envelope(
    "PeopleEnvelope",
    s.said(s.list(ref("Person"), { maxItems: PER_PAGE_MAX }), "The people of the page, in order."),
    credits("Profiles returned x the plan's cost of the call.", 1),
  ),
  CompanyEnvelope: envelope(
    "CompanyEnvelope",
    ref("Company"),
    credits("The plan's cost of a match.", 1),
  ),
  ErrorEnvelope: described(
    "ErrorEnvelope",
    "The envelope of every error. Nothing is ever charged for one.",
    s.object({
      status: s.said(s.flag, "Always false: the call failed.", false),
      detail: s.said(s.list(s.text, { minItems: 1 }), "What is wrong, one message each.", [
        "the API key is missing or not valid",
      ]),
      result: s.said(s.maybe(s.raw({ type: "object" })), "Always null.", null),
      credits_used: s.said(s.more(s.number, { minimum: 0, maximum: 0 }), "Always 0.", 0),
      credits_remaining: credits("Balance; 0 and meaningless on a 401.", 3_766),
    }),
  ),
  FacetsRequest: request(
    "FacetsRequest",
    "A segment, and the key whose values inside it are wanted.",
    s.object({
      filters: ref("Filters"),
      key: facetKey,
      prefix: s.optionalProperty(
        s.said(
          s.more(s.text, { maxLength: MAX_VALUE_LENGTH }),
          "Only values that begin so, in any case. Empty is none.",
          "soft",
        ),
      ),
      limit: s.optionalProperty(
        s.said(
          s.more(s.wholeNumberShape, { minimum: 1, maximum: FACET_VALUES_MAX }),
          `The most values; ${FACET_VALUES_DEFAULT} where it is left out.`,
          FACET_VALUES_DEFAULT,
        ),
      ),
    }),
    { filters: { department: "Sales" }, key: "industry", prefix: "soft", limit: 10 },
  ),
  Facets: facets,
  FacetsEnvelope: envelope("FacetsEnvelope", ref("Facets"), free),
  Key: key,
  KeyEnvelope: envelope("KeyEnvelope", ref("Key"), free),
};

/**
 * `result` of `GET /v1/account`, `GET /key` and `POST
 * /facets` (docs/reference/contract.md). Times are ISO-8601.
 */
export type AccountResult = s.Of<typeof account>;
export type KeyResult = s.Of<typeof key>;
export type FacetResult = s.Of<typeof facets>;
