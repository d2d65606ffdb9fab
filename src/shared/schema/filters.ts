import {
  DEPARTMENTS,
  FILTER_SPECS,
  type FilterKey,
  type FilterKeySpec,
  knownValues,
  MAX_VALUE_LENGTH,
  MAX_VALUES_PER_KEY,
} from "../contract/vocabulary.ts";
import { DIALECT, type JsonSchema } from "./build.ts";

const text: JsonSchema = {
  type: "string",
  minLength: 1,
  maxLength: MAX_VALUE_LENGTH,
  pattern: "\\S",
};

// Editors complete from the enum; the pattern lets any case pass, as the service does.
const anyCase = (name: string): string =>
  [...name]
    .map((letter) =>
      /[a-z]/i.test(letter) ? `[${letter.toUpperCase()}${letter.toLowerCase()}]` : letter,
    )
    .join("");

function itemSchema(key: FilterKey): JsonSchema {
  const values = knownValues(key);
  if (values.length === 0) return text;
  const any = { type: "string", pattern: `^(${DEPARTMENTS.map(anyCase).join("|")})$` };
  return { anyOf: [{ enum: values }, key === "department" ? any : text] };
}

function valueSchema({ description, example, key, list, match }: FilterKeySpec): JsonSchema {
  const described = { description, examples: [example] };
  if (match === "range")
    return { ...described, type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  const item = itemSchema(key);
  if (!list) return { ...described, ...item };
  return {
    ...described,
    anyOf: [item, { type: "array", items: item, minItems: 1, maxItems: MAX_VALUES_PER_KEY }],
  };
}

/**
 * The object of filters itself: all keys of the
 * contract. `min` above `max` is left to `checkFilters`.
 */
export const filtersSchema = (): JsonSchema => ({
  type: "object",
  properties: Object.fromEntries(FILTER_SPECS.map((spec) => [spec.key, valueSchema(spec)])),
  additionalProperties: false,
});

/** Of filter files: filters bare, or under `filters`. */
export function filterFileSchema(): JsonSchema {
  const filters = { $ref: "#/$defs/filters" };
  const wrapped = {
    type: "object",
    properties: { filters },
    required: ["filters"],
    additionalProperties: false,
  };

  return {
    $schema: DIALECT,
    title: "headcount filters",
    description: "Separate keys combine with AND, the elements of an array with OR.",
    anyOf: [filters, wrapped],
    $defs: { filters: filtersSchema() },
  };
}

/**
 * The filters as small as they can be said: a list of tools is read at every start. Frameworks hold
 * arguments against it before a server sees them, so it lets through what the server has a hint
 * for: a text in place of a list, a value or a key that is misspelt.
 */
export function briefFiltersSchema(): JsonSchema {
  const one = { type: "string" };
  const some = { type: ["string", "array"], items: one };
  const brief = ({ list, match }: FilterKeySpec): JsonSchema => {
    if (match === "range") return { type: "integer", minimum: 0 };
    if (match === "department") return { ...some, description: DEPARTMENTS.join(", ") };
    return list ? some : one;
  };

  return {
    type: "object",
    description: "keys combine with AND, values of a list with OR",
    properties: Object.fromEntries(FILTER_SPECS.map((spec) => [spec.key, brief(spec)])),
  };
}
