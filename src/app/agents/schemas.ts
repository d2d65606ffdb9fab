import {
  each,
  flag,
  type JsonSchema,
  list,
  maybe,
  more,
  number,
  type Of,
  object,
  one,
  optionalProperty,
  raw,
  said,
  text,
  wholeNumberShape,
} from "../../shared/schema/build.ts";
import { briefFiltersSchema } from "../../shared/schema/filters.ts";

const ROWS_MOST = 50;
const FIELDS_MOST = 12;
export const RUNS_MOST = 20;
const EXPORT_FORMATS = ["csv", "tsv", "ndjson", "json", "xlsx", "parquet"] as const;

const word = more(text, { minLength: 1 });
const upTo = (maximum: number, minimum = 1) => optionalProperty(more(wholeNumberShape, { minimum, maximum }));
const words = (maxItems: number) => optionalProperty(list(word, { minItems: 1, maxItems }));
const some = optionalProperty(more(wholeNumberShape, { minimum: 1 }));
const open = raw<Readonly<Record<string, unknown>>>({ type: "object" });

/** A segment: told whole where a client reads what a tool takes, any object where it is checked. */
type Filters = typeof open;
const like = raw<Readonly<Record<string, unknown>>>({ type: "object", description: "as in quote" });

const inputs = (filters: Filters) => ({
  account: object({}),
  buy: object({ quote_id: word }),
  count_people: object({ filters, by: optionalProperty(word), top: upTo(25) }),
  describe_filters: object({ key: optionalProperty(word), prefix: optionalProperty(word) }),
  enrich_company: object(each(optionalProperty(word), "domain", "company_network_url", "name", "id")),
  export_run: object({ run: word, format: one(...EXPORT_FORMATS), fields: words(100), file: optionalProperty(word) }),
  quote: object({
    kind: one("people", "employees", "enrich"),
    filters: optionalProperty(filters),
    companies: words(1_000),
    ...each(some, "profiles", "per_company"),
    titles: optionalProperty(said(list(word, { minItems: 1, maxItems: 20 }), "the best first")),
    new_only: optionalProperty(said(flag, "of people: only who is not yours")),
    again: optionalProperty(said(flag, "buy anew what is yours too")),
  }),
  read_rows: object({
    run: word,
    fields: words(FIELDS_MOST),
    where: optionalProperty(like),
    offset: optionalProperty(wholeNumberShape),
    limit: upTo(ROWS_MOST),
  }),
  runs: object({
    state: optionalProperty(one("finished", "running", "unfinished", "closed", "stale", "over", "damaged")),
    limit: upTo(RUNS_MOST),
    after: optionalProperty(word),
  }),
});

export type ToolName = keyof ReturnType<typeof inputs>;
export type Input<Name extends ToolName> = Of<ReturnType<typeof inputs>[Name]>;

const budget = object({ name: text, cap: number, per: text, spent: number, left: number, resets_at: maybe(text) });
const hints = optionalProperty(list(text));
const run = object({
  ...each(text, "run", "kind", "filters", "state", "when"),
  profiles: wholeNumberShape,
  credits: number,
});

export type Result<Name extends ToolName> = Of<(typeof outputs)[Name]>;

const outputs = {
  account: object({
    ...each(maybe(number), "balance", "held"),
    ...each(maybe(text), "plan", "mode"),
    ...each(open, "limits", "costs"),
    budget: maybe(budget),
  }),
  buy: object({
    ...{ run: text, profiles: wholeNumberShape },
    ...each(number, "credits", "uncertain_credits", "budget_left"),
    complete: flag,
  }),
  count_people: object({
    count: wholeNumberShape,
    as_of: maybe(text),
    cached: maybe(flag),
    ...each(number, "unit_cost", "max_cost"),
    owned: said(maybe(wholeNumberShape), "by your records; null: not known"),
    hints,
    parts: optionalProperty(list(object({ value: text, count: wholeNumberShape }))),
    ...each(optionalProperty(maybe(wholeNumberShape)), "others", "missing"),
  }),
  describe_filters: object({
    keys: list(object({ key: text, match: text, list: flag, description: text, values: optionalProperty(list(open)) })),
  }),
  enrich_company: object({
    found: flag,
    company: optionalProperty(open),
    run: optionalProperty(text),
    credits: number,
    budget_left: number,
  }),
  export_run: object({ path: text, rows: wholeNumberShape, sha256: text }),
  quote: object({
    ...each(text, "quote_id", "command", "expires"),
    profiles: wholeNumberShape,
    ...each(maybe(wholeNumberShape), "yours", "paid_again"),
    credits: number,
    ...each(maybe(number), "balance_after", "budget_left"),
    allowed: flag,
    why_not: optionalProperty(text),
    notice: optionalProperty(said(text, "paid for again, or uncounted")),
    hints,
  }),
  read_rows: object({
    source: text,
    rows: list(open),
    total: wholeNumberShape,
    next: optionalProperty(wholeNumberShape),
    cut: optionalProperty(list(text)),
  }),
  runs: object({ runs: list(run), next: optionalProperty(text) }),
} as const;

export const toolSchema = (name: ToolName): Readonly<Record<"input" | "checked" | "output", JsonSchema>> => ({
  input: { ...inputs(raw(briefFiltersSchema()))[name] },
  checked: { ...inputs(open)[name] },
  output: { ...outputs[name] },
});
