import * as s from "../../shared/schema/build.ts";
import { briefFiltersSchema } from "../../shared/schema/filters.ts";

const ROWS_MOST = 50;
/** As `--limit` takes it. */
const ROWS_BOUGHT_MOST = 1e12;
const FIELDS_MOST = 12;
export const RUNS_MOST = 20;
const EXPORT_FORMATS = ["csv", "tsv", "ndjson", "json", "xlsx", "parquet"] as const;

const word = s.more(s.text, { minLength: 1 });
const upTo = (maximum: number, minimum = 1) =>
  s.optionalProperty(s.more(s.wholeNumberShape, { minimum, maximum }));
const words = (maxItems: number) => s.optionalProperty(s.list(word, { minItems: 1, maxItems }));
const open = s.raw<Readonly<Record<string, unknown>>>({ type: "object" });

/**
 * @param filters a segment: told whole where a client reads what a tool takes, as some send nothing
 * that is not declared; any object where it is checked
 */
const inputs = (filters: typeof open) => ({
  account: s.object({}),
  buy: s.object({ quote_id: word }),
  count_people: s.object({ filters, by: s.optionalProperty(word), top: upTo(25) }),
  describe_filters: s.object({ key: s.optionalProperty(word), prefix: s.optionalProperty(word) }),
  enrich_company: s.object(
    s.each(s.optionalProperty(word), "domain", "company_network_url", "name", "id"),
  ),
  export_run: s.object({
    run: word,
    format: s.one(...EXPORT_FORMATS),
    fields: words(100),
    file: s.optionalProperty(word),
  }),
  quote: s.object({
    kind: s.one("people", "employees", "enrich"),
    filters: s.optionalProperty(filters),
    companies: words(1_000),
    ...s.each(upTo(ROWS_BOUGHT_MOST), "profiles", "per_company"),
    titles: s.optionalProperty(
      s.said(s.list(word, { minItems: 1, maxItems: 20 }), "the best first"),
    ),
    new_only: s.optionalProperty(s.said(s.flag, "only who is not yours")),
    again: s.optionalProperty(s.said(s.flag, "buy yours anew")),
    allow_unmatched: s.optionalProperty(s.flag),
  }),
  read_rows: s.object({
    run: word,
    fields: words(FIELDS_MOST),
    where: s.optionalProperty(filters),
    offset: s.optionalWhole,
    limit: upTo(ROWS_MOST),
  }),
  runs: s.object({
    state: s.optionalProperty(
      s.one("finished", "running", "unfinished", "closed", "stale", "over", "damaged"),
    ),
    limit: upTo(RUNS_MOST),
    after: s.optionalProperty(word),
  }),
});

export type ToolName = keyof ReturnType<typeof inputs>;
export type Input<Name extends ToolName> = s.Of<ReturnType<typeof inputs>[Name]>;

const budget = s.object({
  name: s.text,
  cap: s.number,
  per: s.text,
  spent: s.number,
  left: s.number,
  resets_at: s.maybeText,
});
const hints = s.optionalProperty(s.texts);
const run = s.object({
  ...s.each(s.text, "run", "kind", "filters", "state", "when"),
  profiles: s.wholeNumberShape,
  credits: s.number,
});

export type Result<Name extends ToolName> = s.Of<(typeof outputs)[Name]>;

const outputs = {
  account: s.object({
    ...s.each(s.maybeNumber, "balance", "held"),
    ...s.each(s.maybeText, "plan", "mode"),
    source: s.text,
    ...s.each(open, "limits", "costs"),
    budget: s.maybe(budget),
  }),
  buy: s.object({
    run: s.text,
    profiles: s.wholeNumberShape,
    ...s.each(s.number, "credits", "uncertain_credits", "budget_left"),
    unread: s.said(s.wholeNumberShape, "rows paid for that cannot be read"),
    complete: s.flag,
  }),
  count_people: s.object({
    count: s.wholeNumberShape,
    as_of: s.maybeText,
    cached: s.maybeFlag,
    ...s.each(s.maybeNumber, "unit_cost", "max_cost"),
    owned: s.said(s.maybeWhole, "by your records; null: not known"),
    hints,
    parts: s.optionalProperty(s.list(s.object({ value: s.text, count: s.wholeNumberShape }))),
    ...s.each(s.optionalProperty(s.maybeWhole), "others", "missing"),
  }),
  describe_filters: s.object({
    keys: s.list(
      s.object({
        key: s.text,
        match: s.text,
        list: s.flag,
        description: s.text,
        values: s.optionalProperty(s.list(open)),
      }),
    ),
  }),
  enrich_company: s.object({
    found: s.flag,
    company: s.optionalProperty(open),
    run: s.optionalText,
    credits: s.number,
    budget_left: s.number,
  }),
  export_run: s.object({ path: s.text, rows: s.wholeNumberShape, sha256: s.text }),
  quote: s.object({
    ...s.each(s.text, "quote_id", "command", "expires"),
    profiles: s.wholeNumberShape,
    ...s.each(s.maybeWhole, "yours", "paid_again"),
    credits: s.number,
    ...s.each(s.maybeNumber, "balance_after", "budget_left"),
    allowed: s.flag,
    why_not: s.optionalText,
    notice: s.optionalProperty(s.said(s.text, "to know first")),
    hints,
  }),
  read_rows: s.object({
    source: s.text,
    rows: s.list(open),
    total: s.wholeNumberShape,
    next: s.optionalWhole,
    cut: s.optionalProperty(s.texts),
  }),
  runs: s.object({ runs: s.list(run), next: s.optionalText }),
} as const;

export const toolSchema = (
  name: ToolName,
): Readonly<Record<"input" | "checked" | "output", s.JsonSchema>> => ({
  input: { ...inputs(s.raw(briefFiltersSchema()))[name] },
  checked: { ...inputs(open)[name] },
  output: { ...outputs[name] },
});
