import {
  flag,
  type JsonSchema,
  list,
  maybe,
  more,
  number,
  type Of,
  object,
  one,
  optional,
  raw,
  said,
  text,
  whole,
} from "../../shared/schema/build.ts";
import { briefFiltersSchema } from "../../shared/schema/filters.ts";

export const ROWS_MOST = 50;
const FIELDS_MOST = 12;
export const RUNS_MOST = 20;
const EXPORT_FORMATS = ["csv", "tsv", "ndjson", "json", "xlsx", "parquet"] as const;

const word = more(text, { minLength: 1 });
const upTo = (maximum: number, minimum = 1) => optional(more(whole, { minimum, maximum }));
const words = (maxItems: number) => optional(list(word, { minItems: 1, maxItems }));
const some = optional(more(whole, { minimum: 1 }));
const open = raw<Readonly<Record<string, unknown>>>({ type: "object" });

/** A segment, told whole where a client reads what a tool takes; as any object where it is checked: the contract's rules say more. */
type Filters = typeof open;
const like = raw<Readonly<Record<string, unknown>>>({ type: "object", description: "filters, as in quote" });

const inputs = (filters: Filters) => ({
  account: object({}),
  buy: object({ quote_id: word }),
  count_people: object({ filters, by: optional(word), top: upTo(25) }),
  describe_filters: object({ key: optional(word), prefix: optional(word) }),
  enrich_company: object({
    ...{ domain: optional(word), company_network_url: optional(word), name: optional(word), id: optional(word) },
  }),
  export_run: object({ run: word, format: one(...EXPORT_FORMATS), fields: words(100), file: optional(word) }),
  quote: object({
    kind: one("people", "employees", "enrich"),
    filters: optional(filters),
    companies: words(1_000),
    profiles: some,
    per_company: some,
    new_only: optional(said(flag, "of people: only who is not yours")),
    again: optional(said(flag, "buy anew what is yours too")),
  }),
  read_rows: object({
    ...{
      run: word,
      fields: words(FIELDS_MOST),
      where: optional(like),
      offset: optional(whole),
      limit: upTo(ROWS_MOST),
    },
  }),
  runs: object({
    state: optional(one("finished", "running", "unfinished", "closed", "stale", "damaged")),
    limit: upTo(RUNS_MOST),
    after: optional(word),
  }),
});

export type ToolName = keyof ReturnType<typeof inputs>;
/** What a tool is given. */
export type Given<Name extends ToolName> = Of<ReturnType<typeof inputs>[Name]>;

const budget = object({ name: text, cap: number, per: text, spent: number, left: number, resets_at: maybe(text) });
const hints = optional(list(text));
const run = object({
  ...{ run: text, kind: text, filters: text, profiles: whole, credits: number, state: text, when: text },
});

/** What a tool gives. */
export type Result<Name extends ToolName> = Of<(typeof outputs)[Name]>;

const outputs = {
  account: object({
    ...{ balance: maybe(number), held: maybe(number), plan: maybe(text), limits: open, costs: open },
    ...{ mode: maybe(text), budget: maybe(budget) },
  }),
  buy: object({ run: text, profiles: whole, credits: number, complete: flag, budget_left: number }),
  count_people: object({
    ...{ count: whole, as_of: maybe(text), cached: maybe(flag), unit_cost: number, max_cost: number },
    owned: said(maybe(whole), "of these, by your records; null: not known"),
    hints,
    parts: optional(list(object({ value: text, count: whole }))),
    others: optional(maybe(whole)),
    missing: optional(maybe(whole)),
  }),
  describe_filters: object({
    keys: list(object({ key: text, match: text, list: flag, description: text, values: optional(list(open)) })),
  }),
  enrich_company: object({
    ...{ found: flag, company: optional(open), run: optional(text), credits: number, budget_left: number },
  }),
  export_run: object({ path: text, rows: whole, sha256: text }),
  quote: object({
    ...{
      quote_id: text,
      profiles: whole,
      yours: whole,
      credits: number,
      balance_after: maybe(number),
      budget_left: maybe(number),
    },
    ...{ allowed: flag, why_not: optional(text), hints, command: text, expires: text },
  }),
  read_rows: object({ source: text, rows: list(open), total: whole, next: optional(whole), cut: optional(list(text)) }),
  runs: object({ runs: list(run), next: optional(text) }),
} as const;

export interface ToolSchema {
  readonly input: JsonSchema;
  readonly checked: JsonSchema;
  readonly output: JsonSchema;
}

export const toolSchema = (name: ToolName): ToolSchema => ({
  input: { ...inputs(raw(briefFiltersSchema()))[name] },
  checked: { ...inputs(open)[name] },
  output: { ...outputs[name] },
});
