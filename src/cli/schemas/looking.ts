import {
  always,
  aSchema,
  creditsShape,
  flag,
  integer,
  list,
  maybe,
  object,
  one,
  optionalProperty,
  said,
  some,
  text,
  time,
  titled,
  wholeNumberShape,
} from "../../shared/schema/build.ts";
import { filters, segments } from "../../shared/schema/rows.ts";

const part = object({ value: text, count: wholeNumberShape });
const priced = { unit_cost: maybe(creditsShape), max_cost: maybe(creditsShape) };
const origin = one("live", "test");

const count = {
  document: some(
    titled(
      "one segment",
      object({
        count: wholeNumberShape,
        cached: said(maybe(flag), "whether it is from the service's cache"),
        as_of: said(maybe(text), "when it was counted, as the service says it"),
        filters: segments,
        ...priced,
        credits_remaining: maybe(creditsShape),
      }),
    ),
    titled(
      "--by KEY",
      object({
        count: wholeNumberShape,
        by: text,
        parts: said(list(part), "the largest first"),
        unexplained: said(integer, "of the whole, what the parts do not hold; negative where they overlap"),
        others: said(maybe(wholeNumberShape), "people of values that are not among the parts"),
        missing: said(maybe(wholeNumberShape), "people with no value"),
        filters,
      }),
    ),
    titled(
      "--by KEY,KEY",
      object({
        count: wholeNumberShape,
        by: list(text, { minItems: 2, maxItems: 2 }),
        columns: list(part),
        rows: list(
          object({
            value: text,
            count: wholeNumberShape,
            cells: said(list(wholeNumberShape), "in the order of the columns"),
          }),
        ),
        filters,
      }),
    ),
    titled(
      "--history",
      object({
        service: text,
        filters,
        history: list(object({ at: time, count: wholeNumberShape, dataset_version: maybe(text) })),
      }),
    ),
    titled("several segments", list(object({ segment: text, count: wholeNumberShape, filters, ...priced }))),
    titled("--owned", object({ count: wholeNumberShape, owned: always(true), filters })),
    titled("--owned, several segments", list(object({ segment: text, count: wholeNumberShape, filters }))),
  ),
};

const account = {
  document: object({
    connection: text,
    base_url: text,
    account: object({ id: maybe(text), name: maybe(text) }),
    key: object({ mode: maybe(origin), prefix: maybe(text), source: text }),
    plan: maybe(text),
    credits: object({ remaining: maybe(creditsShape), held: maybe(creditsShape), used_today: maybe(creditsShape) }),
    rate_limits: object({ per_minute: maybe(wholeNumberShape), per_day: maybe(wholeNumberShape) }),
    costs: object({
      person_search: maybe(creditsShape),
      company_enrich: maybe(creditsShape),
      company_employees: maybe(creditsShape),
    }),
    limits: object({ per_page_max: maybe(wholeNumberShape), max_depth: maybe(wholeNumberShape) }),
    dataset: object({ version: maybe(text), people: maybe(wholeNumberShape), companies: maybe(wholeNumberShape) }),
  }),
};

const whoami = {
  document: object({
    connection: text,
    base_url: text,
    told: said(flag, "whether the service tells a key about itself; where not, what is null is not known"),
    key: object({
      id: maybe(text),
      name: maybe(text),
      prefix: maybe(text),
      mode: maybe(origin),
      source: text,
      scopes: said(maybe(list(text)), "calls that it may make; null: all"),
      created_at: maybe(text),
      expires_at: maybe(text),
      last_used_at: maybe(text),
    }),
    account: object({ id: maybe(text), name: maybe(text) }),
    cap: object({
      max_credits: maybe(creditsShape),
      spent: maybe(creditsShape),
      held: maybe(creditsShape),
      left: maybe(creditsShape),
    }),
    credits: object({ remaining: maybe(creditsShape), held: maybe(creditsShape) }),
  }),
};

const key = object({
  key: text,
  flag: text,
  match: text,
  value: text,
  field: text,
  description: text,
  example: some(text, integer),
  values: said(list(text), "the only departments there are, or the usual seniority levels; else empty"),
});

const filterKeys = {
  document: some(
    titled("all keys", object({ filters: list(key) })),
    titled("one key", key),
    titled(
      "--prefix, --top",
      object({
        key: text,
        prefix: maybe(text),
        from: one("service", "owned"),
        values: list(part),
        others: maybe(wholeNumberShape),
        missing: maybe(wholeNumberShape),
      }),
    ),
    titled("--schema: a JSON Schema of filter files", aSchema),
  ),
};

const check = object({
  name: text,
  area: one("machine", "key", "service"),
  status: one("ok", "warn", "fail", "skip"),
  message: text,
  fix: optionalProperty(text),
});

const connection = object({
  name: text,
  base_url: maybe(text),
  key_store: one("keychain", "file", "none", "built_in"),
  default: flag,
  account_id: maybe(text),
  paging: maybe(text),
  per_page_max: maybe(wholeNumberShape),
});

export const LOOKING = {
  account,
  "connections list": {
    document: object({
      connections: list(connection),
      environment: object({
        HEADCOUNT_API_KEY: said(flag, "whether it is set"),
        HEADCOUNT_BASE_URL: maybe(text),
        HEADCOUNT_CONNECTION: maybe(text),
      }),
    }),
  },
  "connections remove": { document: object({ removed: text, key_removed: flag }) },
  "connections set": {
    document: object({ connection: text, paging: maybe(text), per_page_max: maybe(wholeNumberShape) }),
  },
  "connections use": { document: object({ default: text }) },
  count,
  doctor: { document: object({ ok: flag, checks: list(check) }) },
  filters: filterKeys,
  login: {
    document: object({
      connection: text,
      base_url: text,
      account_id: maybe(text),
      key_store: one("keychain", "file"),
      default: flag,
    }),
  },
  logout: { document: object({ connection: text, removed: flag }) },
  schema: {
    document: some(
      titled("without a command", list(object({ command: text, lines: said(flag, "whether it can write NDJSON") }))),
      titled("a JSON Schema (2020-12)", aSchema),
    ),
  },
  "segment list": {
    document: object({
      segments: list(object({ name: text, file: text, saved_at: time, filters: maybe(filters), problem: maybe(text) })),
    }),
  },
  "segment remove": { document: object({ removed: list(text) }) },
  "segment save": { document: object({ name: text, file: text, filters }) },
  "segment show": { document: filters },
  whoami,
};
