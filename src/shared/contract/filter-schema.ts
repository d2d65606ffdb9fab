import { DEPARTMENTS, SENIORITY_LEVELS } from "./departments.ts";
import { FILTER_SPECS, type FilterKey, type FilterKeySpec, MAX_VALUE_LENGTH, MAX_VALUES_PER_KEY } from "./filters.ts";

const EXAMPLES: Readonly<Record<FilterKey, string | number>> = {
  country: "france",
  state: "bavaria",
  city: "paris",
  location: "paris, île-de-france, france",
  title: "head of sales",
  seniority: "Head",
  seniority_level: "director",
  functional_area: "sales",
  industry: "software development",
  first_name: "amélie",
  last_name: "martin",
  name: "amélie martin",
  network_url: "network.example/in/amelie-martin-42",
  title_prefix: "head of",
  headline_prefix: "building",
  location_prefix: "paris",
  name_prefix: "am",
  industry_prefix: "soft",
  connections_min: 100,
  connections_max: 499,
  followers_min: 1_000,
  followers_max: 50_000,
  company_network_url: "northwind-analytics",
  department: "Sales",
};

export const exampleValue = (key: FilterKey): string | number => EXAMPLES[key];

/** The values that a key is known to take: the 20 departments (closed), the seniority levels (the usual ones). */
export function knownValues(key: FilterKey): readonly string[] {
  if (key === "department") return DEPARTMENTS;
  return key === "seniority_level" ? SENIORITY_LEVELS : [];
}

type JsonSchema = Readonly<Record<string, unknown>>;

const text: JsonSchema = { type: "string", minLength: 1, maxLength: MAX_VALUE_LENGTH, pattern: "\\S" };

// Editors complete from the enum; the pattern lets any case pass, as the service does.
const anyCase = (name: string): string =>
  [...name]
    .map((letter) => (/[a-z]/i.test(letter) ? `[${letter.toUpperCase()}${letter.toLowerCase()}]` : letter))
    .join("");

function itemSchema(key: FilterKey): JsonSchema {
  if (key === "department") {
    return { anyOf: [{ enum: DEPARTMENTS }, { type: "string", pattern: `^(${DEPARTMENTS.map(anyCase).join("|")})$` }] };
  }
  return key === "seniority_level" ? { anyOf: [{ enum: SENIORITY_LEVELS }, text] } : text;
}

function valueSchema(spec: FilterKeySpec): JsonSchema {
  const described = { description: spec.description, examples: [exampleValue(spec.key)] };
  if (spec.match === "range") return { ...described, type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  const item = itemSchema(spec.key);
  if (!spec.list) return { ...described, ...item };
  return {
    ...described,
    anyOf: [item, { type: "array", items: item, minItems: 1, maxItems: MAX_VALUES_PER_KEY }],
  };
}

/** A JSON Schema (draft-07) for filter files; `min` above `max` is left to `checkFilters`. */
export function filterFileSchema(): JsonSchema {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "headcount filters",
    description: "Separate keys combine with AND, the elements of an array with OR.",
    anyOf: [
      { $ref: "#/definitions/filters" },
      {
        type: "object",
        properties: { filters: { $ref: "#/definitions/filters" } },
        required: ["filters"],
        additionalProperties: false,
      },
    ],
    definitions: {
      filters: {
        type: "object",
        properties: Object.fromEntries(FILTER_SPECS.map((spec) => [spec.key, valueSchema(spec)])),
        additionalProperties: false,
      },
    },
  };
}
