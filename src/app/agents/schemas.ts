import type { JsonSchema } from "../../shared/schema/build.ts";
import { briefFiltersSchema } from "../../shared/schema/filters.ts";

export const ROWS_MOST = 50;
const FIELDS_MOST = 12;
export const RUNS_MOST = 20;
const EXPORT_FORMATS = ["csv", "tsv", "ndjson", "json", "xlsx", "parquet"] as const;

const text: JsonSchema = { type: "string", minLength: 1 };
const number: JsonSchema = { type: "number" };
const maybe = (type: string): JsonSchema => ({ type: [type, "null"] });
const whole = (least: number, most?: number): JsonSchema => ({
  type: "integer",
  minimum: least,
  ...(most === undefined ? {} : { maximum: most }),
});
const list = (items: JsonSchema, most?: number): JsonSchema => ({
  type: "array",
  items,
  ...(most === undefined ? {} : { minItems: 1, maxItems: most }),
});
const object = (properties: Readonly<Record<string, JsonSchema>>, optional: readonly string[] = []): JsonSchema => ({
  type: "object",
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});
const open: JsonSchema = { type: "object" };

export interface ToolSchema {
  readonly input: JsonSchema;
  /** What is checked of it: filters are left to the rules of the contract, which say more. */
  readonly checked: JsonSchema;
  readonly output: JsonSchema;
}

const like: JsonSchema = { type: "object", description: "filters, as in quote" };

/** @param filters where they are to be told whole */
const inputs = (filters: JsonSchema): Readonly<Record<string, JsonSchema>> => ({
  account: object({}),
  buy: object({ quote_id: text }),
  count_people: object({ filters, by: text, top: whole(1, 25) }, ["by", "top"]),
  describe_filters: object({ key: text, prefix: text }, ["key", "prefix"]),
  enrich_company: object({ domain: text, company_network_url: text, name: text, id: text }, [
    "domain",
    "company_network_url",
    "name",
    "id",
  ]),
  export_run: object({ run: text, format: { enum: EXPORT_FORMATS }, fields: list(text, 100), file: text }, [
    "fields",
    "file",
  ]),
  quote: object(
    {
      kind: { enum: ["people", "employees", "enrich"] },
      filters,
      companies: list(text, 1_000),
      profiles: whole(1),
      per_company: whole(1),
    },
    ["filters", "companies", "profiles", "per_company"],
  ),
  read_rows: object(
    { run: text, fields: list(text, FIELDS_MOST), where: like, offset: whole(0), limit: whole(1, ROWS_MOST) },
    ["fields", "where", "offset", "limit"],
  ),
  runs: object(
    {
      state: { enum: ["finished", "running", "unfinished", "closed", "stale", "damaged"] },
      limit: whole(1, RUNS_MOST),
      after: text,
    },
    ["state", "limit", "after"],
  ),
});

const outputs: Readonly<Record<string, JsonSchema>> = {
  account: object({
    balance: maybe("number"),
    held: maybe("number"),
    plan: maybe("string"),
    limits: open,
    costs: open,
    mode: maybe("string"),
    budget: {
      anyOf: [
        object({
          name: text,
          cap: number,
          per: text,
          spent: number,
          left: number,
          resets_at: maybe("string"),
        }),
        { type: "null" },
      ],
    },
  }),
  buy: object({ run: text, profiles: whole(0), credits: number, complete: { type: "boolean" }, budget_left: number }),
  count_people: object(
    {
      count: whole(0),
      as_of: maybe("string"),
      cached: maybe("boolean"),
      unit_cost: number,
      max_cost: number,
      owned: { ...maybe("integer"), description: "of these, by your records; null: not known" },
      hints: list(text),
      parts: list(object({ value: { type: "string" }, count: whole(0) })),
      others: maybe("integer"),
      missing: maybe("integer"),
    },
    ["hints", "parts", "others", "missing"],
  ),
  describe_filters: object({
    keys: list(
      object({ key: text, match: text, list: { type: "boolean" }, description: text, values: list(open) }, ["values"]),
    ),
  }),
  enrich_company: object(
    { found: { type: "boolean" }, company: open, run: text, credits: number, budget_left: number },
    ["company", "run"],
  ),
  export_run: object({ path: text, rows: whole(0), sha256: text }),
  quote: object(
    {
      quote_id: text,
      profiles: whole(0),
      credits: number,
      balance_after: maybe("number"),
      budget_left: maybe("number"),
      allowed: { type: "boolean" },
      why_not: text,
      command: text,
      expires: text,
    },
    ["why_not"],
  ),
  read_rows: object({ source: text, rows: list(open), total: whole(0), next: whole(0), cut: list(text) }, [
    "next",
    "cut",
  ]),
  runs: object(
    {
      runs: list(
        object({
          run: text,
          kind: text,
          filters: { type: "string" },
          profiles: whole(0),
          credits: number,
          state: text,
          when: text,
        }),
      ),
      next: text,
    },
    ["next"],
  ),
};

/** What a tool takes and gives, by its name. */
export function toolSchema(name: string): ToolSchema {
  const input = inputs(briefFiltersSchema())[name];
  const checked = inputs(open)[name];
  const output = outputs[name];
  if (input === undefined || checked === undefined || output === undefined) throw new RangeError(`no tool ${name}`);
  // `like` is told as a reference and checked as any object.
  return { input, checked, output };
}
