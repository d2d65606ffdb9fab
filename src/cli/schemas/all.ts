import { EXIT } from "../../shared/errors.ts";
import * as s from "../../shared/schema/build.ts";
import {
  quoteShape,
  rateLimited,
  receipt,
  refreshed,
  writtenShape,
} from "../../shared/schema/purchase.ts";
import { company, filters, person, segments } from "../../shared/schema/rows.ts";
import { KEEPING } from "./keeping.ts";
import { SERVING } from "./serving.ts";

const part = s.object({ value: s.text, count: s.wholeNumberShape });
const priced = { unit_cost: s.maybeCredits, max_cost: s.maybeCredits };
const origin = s.one("live", "test");

const count = s.some(
  s.titled(
    "one segment",
    s.object({
      count: s.wholeNumberShape,
      cached: s.said(s.maybeFlag, "whether it is from the service's cache"),
      as_of: s.said(s.maybeText, "when it was counted, as the service says it"),
      filters: segments,
      ...priced,
      balance: s.maybeCredits,
    }),
  ),
  s.titled(
    "--by KEY",
    s.object({
      count: s.wholeNumberShape,
      by: s.text,
      parts: s.said(s.list(part), "the largest first"),
      unexplained: s.said(
        s.integer,
        "of the whole, what the parts do not hold; negative where they overlap",
      ),
      others: s.said(s.maybeWhole, "people of values that are not among the parts"),
      missing: s.said(s.maybeWhole, "people with no value"),
      filters,
    }),
  ),
  s.titled(
    "several segments",
    s.list(s.object({ segment: s.text, count: s.wholeNumberShape, filters, ...priced })),
  ),
  s.titled("--owned", s.object({ count: s.wholeNumberShape, owned: s.always(true), filters })),
  s.titled(
    "--owned, several segments",
    s.list(s.object({ segment: s.text, count: s.wholeNumberShape, filters })),
  ),
);

const account = s.object({
  connection: s.text,
  base_url: s.text,
  told: s.said(
    s.flag,
    "whether the service tells a key about itself; where not, what is null is not known",
  ),
  account: s.object({ id: s.maybeText, name: s.maybeText }),
  key: s.object({
    ...s.each(s.maybeText, "id", "name", "prefix"),
    mode: s.maybe(origin),
    source: s.text,
    scopes: s.said(s.maybeTexts, "calls that it may make; null: all"),
    ...s.each(s.maybeText, "created_at", "expires_at", "last_used_at"),
  }),
  cap: s.object(s.each(s.maybeCredits, "max_credits", "spent", "held", "left")),
  plan: s.maybeText,
  credits: s.object({
    balance: s.maybeCredits,
    held: s.maybeCredits,
    used_today: s.maybeCredits,
  }),
  rate_limits: s.object({
    per_minute: s.maybeWhole,
    per_day: s.maybeWhole,
  }),
  costs: s.object(s.each(s.maybeCredits, "person_search", "company_enrich", "company_employees")),
  limits: s.object({
    per_page_max: s.maybeWhole,
    max_depth: s.maybeWhole,
  }),
  dataset: s.object({
    version: s.maybeText,
    people: s.maybeWhole,
    companies: s.maybeWhole,
  }),
});

const key = s.object({
  ...s.each(s.text, "key", "flag", "match", "value", "field", "description"),
  example: s.some(s.text, s.integer),
  values: s.said(
    s.texts,
    "the only departments there are, or the usual seniority levels; else empty",
  ),
});

const filterKeys = s.some(
  s.titled("all keys", s.object({ filters: s.list(key) })),
  s.titled("one key", key),
  s.titled(
    "--prefix, --top",
    s.object({
      key: s.text,
      prefix: s.maybeText,
      from: s.one("service", "owned"),
      values: s.list(part),
      others: s.maybeWhole,
      missing: s.maybeWhole,
    }),
  ),
);

const check = s.object({
  name: s.text,
  area: s.one("machine", "key", "service"),
  status: s.one("ok", "warn", "fail", "skip"),
  message: s.text,
  fix: s.optionalText,
});

const connection = s.object({
  name: s.text,
  base_url: s.maybeText,
  key_store: s.one("keychain", "file", "none", "built_in"),
  default: s.flag,
  account_id: s.maybeText,
  paging: s.maybeText,
  per_page_max: s.maybeWhole,
});

const dialect = s.object({
  name: s.text,
  ...s.each(s.maybeText, "vendor", "per", "person", "count"),
  stages: s.integer,
  told: s.maybeText,
  filters: s.texts,
  read: s.maybeText,
  called: s.maybeText,
  buys: s.flag,
  why: s.maybeText,
});

const LOOKING = {
  account,
  "connections add": s.object({ connection: s.text, base_url: s.text, digest: s.digest, dialect }),
  "connections dialects": s.object({ dialects: s.list(dialect) }),
  "connections list": s.object({
    connections: s.list(connection),
    environment: s.object({
      HEADCOUNT_API_KEY: s.said(s.flag, "whether it is set"),
      HEADCOUNT_BASE_URL: s.maybeText,
      HEADCOUNT_CONNECTION: s.maybeText,
    }),
  }),
  "connections remove": s.object({ removed: s.text, key_removed: s.flag }),
  "connections set": s.object({
    connection: s.text,
    paging: s.maybeText,
    per_page_max: s.maybeWhole,
  }),
  "connections use": s.object({ default: s.text }),
  count,
  doctor: s.object({ ok: s.flag, checks: s.list(check) }),
  filters: filterKeys,
  login: s.object({
    connection: s.text,
    base_url: s.text,
    account_id: s.maybeText,
    key_store: s.one("keychain", "file"),
    default: s.flag,
  }),
  logout: s.object({ connection: s.text, removed: s.flag }),
  schema: s.some(
    s.titled("without a command", s.texts),
    s.titled("a JSON Schema (2020-12)", s.aSchema),
  ),
  "segment list": s.object({
    segments: s.list(
      s.object({
        name: s.text,
        file: s.text,
        saved_at: s.time,
        filters: s.maybe(filters),
        problem: s.maybeText,
      }),
    ),
  }),
  "segment remove": s.object({ removed: s.texts }),
  "segment save": s.object({ name: s.text, file: s.text, filters }),
  "segment show": filters,
};

const purchase = <Row extends s.Schema, More extends s.Schema[]>(
  row: Row,
  ...more: readonly [...More]
) =>
  s.some(
    s.titled("rows, where they go to stdout", s.list(row)),
    ...more,
    s.titled("the receipt, with -o FILE", receipt),
    s.titled("the quote, with --dry-run", quoteShape),
  );

const exportedOwned = s.titled(
  "what was written of those you own, with -o FILE",
  s.object({ rows: s.wholeNumberShape, credits: s.always(0), output: writtenShape }),
);
const refresh = s.some(
  s.titled("what changed", refreshed),
  s.titled(
    "the plan, with --dry-run",
    s.object({
      ...s.each(s.wholeNumberShape, "count", "owned", "gone", "new"),
      forgotten: s.said(
        s.wholeNumberShape,
        "whom you forgot: not bought where they are all who would be new, else perhaps among new",
      ),
      unit_cost: s.said(s.maybeCredits, "null: nobody told it, and credits count 1 a row"),
      credits_at_most: s.creditsShape,
      rebuy_credits: s.creditsShape,
      free_calls: s.wholeNumberShape,
      rate_limited_seconds: rateLimited,
    }),
  ),
);

const exportedRun = s.object({
  run: s.text,
  finished: s.flag,
  rows: s.wholeNumberShape,
  unread: s.said(s.wholeNumberShape, "rows that are no JSON: left out, and kept"),
  credits: s.always(0),
  output: writtenShape,
});
const either = s.some(person, company);

const BUYING = {
  employees: purchase(person),
  enrich: purchase(
    company,
    s.titled("one company that is named", company),
    s.titled("--keep-input", s.list(s.members)),
  ),
  "owned export": s.some(s.titled("rows, where they go to stdout", s.list(person)), exportedOwned),
  read: purchase(person),
  refresh,
  resume: purchase(either),
  "runs export": s.some(
    s.titled("rows, where they go to stdout", s.list(either)),
    s.titled("with -o FILE", exportedRun),
  ),
  search: purchase(person),
};

const ALL = { ...LOOKING, ...BUYING, ...KEEPING, ...SERVING };

/**
 * What each command prints with `--json`: the contract that docs/reference/json.md tells and tests
 * hold.
 */
export const DESCRIBED: ReadonlyMap<string, s.Schema> = new Map(
  Object.entries<s.Schema>(ALL).sort(([a], [b]) => (a < b ? -1 : 1)),
);

/** The same as types: the compiler holds what is printed against what is described. */
export type Documents = { readonly [Path in keyof typeof ALL]: s.Of<(typeof ALL)[Path]> };

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

const ERROR = s.object({
  error: s.object({
    code: s.text,
    message: s.text,
    exit_code: s.raw<number>({ enum: Object.values(EXIT).filter((code) => code !== EXIT.ok) }),
    status: s.said(s.maybeWhole, "of HTTP, where a service answered"),
    request_id: s.maybeText,
    hint: s.maybeText,
    resumable: s.said(s.flag, "next goes on where this stopped, and nothing is paid twice"),
    next: s.said(s.maybeText, "the one command to type next"),
  }),
});

/**
 * A group alone stands for the command that runs then.
 * @returns undefined where none is described
 */
export function describedPath(path: string): string | undefined {
  const full = USUAL[path] === undefined ? path : `${path} ${USUAL[path]}`;
  return full === "errors" || DESCRIBED.has(full) ? full : undefined;
}

/** @returns JSON Schema (2020-12); undefined where there is nothing to describe */
export function schemaOf(path: string): s.JsonSchema | undefined {
  const schema = path === "errors" ? ERROR : DESCRIBED.get(path);
  const title = path === "errors" ? "a failure with --json, on stderr" : `headcount ${path} --json`;
  return schema && { $schema: s.DIALECT, ...schema, title };
}
