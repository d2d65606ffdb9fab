import { EXIT } from "../../shared/errors.ts";
import {
  always,
  anything,
  aSchema,
  creditsShape,
  DIALECT,
  each,
  flag,
  integer,
  type JsonSchema,
  list,
  map,
  maybe,
  type Of,
  object,
  one,
  optionalProperty,
  raw,
  type Schema,
  said,
  some,
  text,
  time,
  titled,
  wholeNumberShape,
} from "../../shared/schema/build.ts";
import { quoteShape, rateLimited, receipt, refreshed, writtenShape } from "../../shared/schema/purchase.ts";
import { company, filters, person, segments } from "../../shared/schema/rows.ts";
import { KEEPING } from "./keeping.ts";
import { SERVING } from "./serving.ts";

const part = object({ value: text, count: wholeNumberShape });
const priced = { unit_cost: maybe(creditsShape), max_cost: maybe(creditsShape) };
const origin = one("live", "test");

const count = some(
  titled(
    "one segment",
    object({
      count: wholeNumberShape,
      cached: said(maybe(flag), "whether it is from the service's cache"),
      as_of: said(maybe(text), "when it was counted, as the service says it"),
      filters: segments,
      ...priced,
      balance: maybe(creditsShape),
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
  titled("several segments", list(object({ segment: text, count: wholeNumberShape, filters, ...priced }))),
  titled("--owned", object({ count: wholeNumberShape, owned: always(true), filters })),
  titled("--owned, several segments", list(object({ segment: text, count: wholeNumberShape, filters }))),
);

const account = object({
  connection: text,
  base_url: text,
  told: said(flag, "whether the service tells a key about itself; where not, what is null is not known"),
  account: object({ id: maybe(text), name: maybe(text) }),
  key: object({
    ...each(maybe(text), "id", "name", "prefix"),
    mode: maybe(origin),
    source: text,
    scopes: said(maybe(list(text)), "calls that it may make; null: all"),
    ...each(maybe(text), "created_at", "expires_at", "last_used_at"),
  }),
  cap: object(each(maybe(creditsShape), "max_credits", "spent", "held", "left")),
  plan: maybe(text),
  credits: object({ balance: maybe(creditsShape), held: maybe(creditsShape), used_today: maybe(creditsShape) }),
  rate_limits: object({ per_minute: maybe(wholeNumberShape), per_day: maybe(wholeNumberShape) }),
  costs: object(each(maybe(creditsShape), "person_search", "company_enrich", "company_employees")),
  limits: object({ per_page_max: maybe(wholeNumberShape), max_depth: maybe(wholeNumberShape) }),
  dataset: object({ version: maybe(text), people: maybe(wholeNumberShape), companies: maybe(wholeNumberShape) }),
});

const key = object({
  ...each(text, "key", "flag", "match", "value", "field", "description"),
  example: some(text, integer),
  values: said(list(text), "the only departments there are, or the usual seniority levels; else empty"),
});

const filterKeys = some(
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
);

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

const LOOKING = {
  account,
  "connections list": object({
    connections: list(connection),
    environment: object({
      HEADCOUNT_API_KEY: said(flag, "whether it is set"),
      HEADCOUNT_BASE_URL: maybe(text),
      HEADCOUNT_CONNECTION: maybe(text),
    }),
  }),
  "connections remove": object({ removed: text, key_removed: flag }),
  "connections set": object({ connection: text, paging: maybe(text), per_page_max: maybe(wholeNumberShape) }),
  "connections use": object({ default: text }),
  count,
  doctor: object({ ok: flag, checks: list(check) }),
  filters: filterKeys,
  login: object({
    connection: text,
    base_url: text,
    account_id: maybe(text),
    key_store: one("keychain", "file"),
    default: flag,
  }),
  logout: object({ connection: text, removed: flag }),
  schema: some(titled("without a command", list(text)), titled("a JSON Schema (2020-12)", aSchema)),
  "segment list": object({
    segments: list(object({ name: text, file: text, saved_at: time, filters: maybe(filters), problem: maybe(text) })),
  }),
  "segment remove": object({ removed: list(text) }),
  "segment save": object({ name: text, file: text, filters }),
  "segment show": filters,
};

const purchase = <Row extends Schema, More extends Schema[]>(row: Row, ...more: readonly [...More]) =>
  some(
    titled("rows, where they go to stdout", list(row)),
    ...more,
    titled("the receipt, with -o FILE", receipt),
    titled("the quote, with --dry-run", quoteShape),
  );

const exportedOwned = titled(
  "what was written of those you own, with -o FILE",
  object({ rows: wholeNumberShape, credits: always(0), output: writtenShape }),
);
const refresh = some(
  titled("what changed", refreshed),
  titled(
    "the plan, with --dry-run",
    object({
      ...each(wholeNumberShape, "count", "owned", "gone", "new"),
      forgotten: said(
        wholeNumberShape,
        "whom you forgot: not bought where they are all who would be new, else perhaps among new",
      ),
      credits_at_most: creditsShape,
      rebuy_credits: creditsShape,
      free_calls: wholeNumberShape,
      rate_limited_seconds: rateLimited,
    }),
  ),
);

const exportedRun = object({
  run: text,
  finished: flag,
  rows: wholeNumberShape,
  credits: always(0),
  output: writtenShape,
});
const either = some(person, company);

const resumed = some(
  titled("rows, where they go to stdout", list(either)),
  titled("the receipt, where there is a file", receipt),
);

const BUYING = {
  employees: purchase(person),
  enrich: purchase(company, titled("one company that is named", company), titled("--keep-input", list(map(anything)))),
  "owned export": some(titled("rows, where they go to stdout", list(person)), exportedOwned),
  refresh,
  resume: resumed,
  "runs export": some(titled("rows, where they go to stdout", list(either)), titled("with -o FILE", exportedRun)),
  search: purchase(person),
};

const ALL = { ...LOOKING, ...BUYING, ...KEEPING, ...SERVING };

/** What each command prints with `--json`: the contract that docs/json.md tells and tests hold. */
export const DESCRIBED: ReadonlyMap<string, Schema> = new Map(
  Object.entries<Schema>(ALL).sort(([a], [b]) => (a < b ? -1 : 1)),
);

/** The same as types: the compiler holds what is printed against what is described. */
export type Documents = { readonly [Path in keyof typeof ALL]: Of<(typeof ALL)[Path]> };

/** Groups of commands, and which of them runs where none is named. */
const USUAL: Readonly<Record<string, string>> = {
  connections: "list",
  data: "show",
  owned: "status",
  runs: "list",
  segment: "list",
  "service accounts": "list",
  "service credits": "show",
  "service keys": "list",
  "service plan": "show",
};

const ERROR = object({
  error: object({
    code: text,
    message: text,
    exit_code: raw<number>({ enum: Object.values(EXIT).filter((code) => code !== EXIT.ok) }),
    status: said(maybe(wholeNumberShape), "of HTTP, where a service answered"),
    request_id: maybe(text),
    hint: maybe(text),
    resumable: said(flag, "next goes on where this stopped, and nothing is paid twice"),
    next: said(maybe(text), "the one command to type next"),
  }),
});

/** A group alone stands for the command that runs then. @returns undefined where none is described */
export function describedPath(path: string): string | undefined {
  const full = USUAL[path] === undefined ? path : `${path} ${USUAL[path]}`;
  return full === "errors" || DESCRIBED.has(full) ? full : undefined;
}

/** @returns JSON Schema (2020-12); undefined where there is nothing to describe */
export function schemaOf(path: string): JsonSchema | undefined {
  const schema = path === "errors" ? ERROR : DESCRIBED.get(path);
  const title = path === "errors" ? "a failure with --json, on stderr" : `headcount ${path} --json`;
  return schema && { $schema: DIALECT, ...schema, title };
}
