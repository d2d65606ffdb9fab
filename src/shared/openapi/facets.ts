import { FACET_KEYS, FACET_LEAST, FACET_VALUES_DEFAULT, FACET_VALUES_MAX } from "../contract/facets.ts";
import { MAX_VALUE_LENGTH } from "../contract/filters.ts";
import { envelope, free } from "./schemas.ts";
import type { Json, OpenApiSchema } from "./types.ts";

const people = (description: string, example: number): OpenApiSchema => ({
  type: "integer",
  minimum: 0,
  nullable: true,
  description: `${description} Null where \`exact\` is false.`,
  example,
});

/** What the result of a facet looks like, whole and cut. */
export const FACETS_EXAMPLE: Json = {
  key: "industry",
  least: FACET_LEAST,
  as_of: "2026-10-01T09:30:00.000Z",
  count: 2_614,
  values: [
    { value: "software development", count: 310 },
    { value: "hospitals and health care", count: 121 },
  ],
  missing: 100,
  distinct: 57,
  others: 2_083,
  exact: true,
};
export const CUT_FACETS_EXAMPLE: Json = {
  key: "industry",
  least: FACET_LEAST,
  as_of: "2026-10-01T09:30:00.000Z",
  count: null,
  values: [],
  others: null,
  missing: null,
  distinct: null,
  exact: false,
  reason:
    "counting the values of this segment takes longer than 300 ms; narrow the filters, or count the values that you know",
};

const key: OpenApiSchema = {
  type: "string",
  enum: FACET_KEYS,
  description: "The key whose values are wanted. `name` and `network_url` name single people and have no facets.",
  example: "industry",
};

const FACETS_REQUEST: OpenApiSchema = {
  title: "FacetsRequest",
  description: "A segment, and the key whose values inside it are wanted.",
  type: "object",
  properties: {
    filters: { $ref: "#/components/schemas/Filters" },
    key,
    prefix: {
      type: "string",
      maxLength: MAX_VALUE_LENGTH,
      description: "Only values that begin so, in any case. Empty is none.",
      example: "soft",
    },
    limit: {
      type: "integer",
      minimum: 1,
      maximum: FACET_VALUES_MAX,
      description: `The most values; ${FACET_VALUES_DEFAULT} where it is left out.`,
      example: FACET_VALUES_DEFAULT,
    },
  },
  required: ["filters", "key"],
  additionalProperties: false,
  example: { filters: { department: "Sales" }, key: "industry", prefix: "soft", limit: 10 },
};

const FACETS: OpenApiSchema = {
  title: "Facets",
  description: "Values of a key in a segment. `count` is the sum of all values told, `others` and `missing`.",
  type: "object",
  properties: {
    key,
    least: {
      type: "integer",
      minimum: 1,
      description: "Values that fewer people of the segment share are not told; they are in `others`.",
      example: FACET_LEAST,
    },
    as_of: {
      type: "string",
      format: "date-time",
      description: "When it was computed.",
      example: "2026-10-01T09:30:00.000Z",
    },
    count: people("People of the segment.", 2_614),
    values: {
      type: "array",
      maxItems: FACET_VALUES_MAX,
      description: "The most frequent values first, then by code point.",
      items: {
        title: "FacetValue",
        description: "A value and who has it.",
        type: "object",
        properties: {
          value: {
            type: "string",
            description: "In the form that filters are matched in; it can be sent as a filter as it is.",
            example: "software development",
          },
          count: { type: "integer", minimum: 1, description: "People of the segment who have it.", example: 310 },
        },
        required: ["value", "count"],
        additionalProperties: false,
      },
    },
    missing: people("People without a value.", 100),
    distinct: people("Different values in the segment, told or not; with a `prefix` those that begin so.", 57),
    others: people("People with a value that is not told.", 2_083),
    exact: {
      type: "boolean",
      description: "Whether this is all of it. Where it would have taken too long it is false, and nothing is told.",
      example: true,
    },
    reason: { type: "string", description: "Why nothing is told; there where `exact` is false.", example: "" },
  },
  required: ["key", "least", "as_of", "count", "values", "missing", "distinct", "others", "exact"],
  additionalProperties: false,
};

/** The schemas of our own call, beside those of the contract's. */
export const FACET_SCHEMAS: Readonly<Record<string, OpenApiSchema>> = {
  FacetsRequest: FACETS_REQUEST,
  Facets: FACETS,
  FacetsEnvelope: envelope("FacetsEnvelope", { $ref: "#/components/schemas/Facets" }, free),
};
