import { COMPANY_FIELDS, PERSON_FIELDS } from "../../shared/contract/records.ts";

export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a command prints with `--json`, and where it can write rows as NDJSON, a line of them. */
export interface Described {
  readonly document: JsonSchema;
  readonly line?: JsonSchema;
}

export const anything: JsonSchema = {};
export const text: JsonSchema = { type: "string" };
export const flag: JsonSchema = { type: "boolean" };
export const whole: JsonSchema = { type: "integer", minimum: 0 };
export const integer: JsonSchema = { type: "integer" };
export const number: JsonSchema = { type: "number" };
export const credits: JsonSchema = { type: "number", description: "credits, at most six decimals" };
export const time: JsonSchema = { type: "string", format: "date-time", description: "ISO-8601, UTC" };
export const digest: JsonSchema = { type: "string", pattern: "^[0-9a-f]{64}$", description: "SHA-256" };
export const one = (...values: readonly (string | boolean)[]): JsonSchema => ({ enum: values });
export const list = (items: JsonSchema): JsonSchema => ({ type: "array", items });
export const map = (values: JsonSchema): JsonSchema => ({ type: "object", additionalProperties: values });
export const said = (schema: JsonSchema, description: string): JsonSchema => ({ ...schema, description });
export const some = (...schemas: readonly JsonSchema[]): JsonSchema => ({ anyOf: schemas });
export const titled = (title: string, schema: JsonSchema): JsonSchema => ({ title, ...schema });

/** Also null: what is not known, or is not there. */
export const maybe = (schema: JsonSchema): JsonSchema =>
  typeof schema.type === "string" && schema.enum === undefined
    ? { ...schema, type: [schema.type, "null"] }
    : { anyOf: [schema, { type: "null" }] };

/** An object of ours: every key is always there, but for those of `optional`, and there is no other. */
export const object = <Of extends object = Record<string, unknown>>(
  properties: { readonly [Key in keyof Of]-?: JsonSchema },
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema => ({
  type: "object",
  properties: { ...properties, ...optional },
  required: Object.keys(properties),
  additionalProperties: false,
});

/** A record is the service's, which may have more fields; `--fields` leaves others out. */
const record = (title: string, fields: readonly string[], types: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  title,
  type: "object",
  properties: Object.fromEntries(fields.map((name) => [name, types[name] ?? { type: ["string", "null"] }])),
});
const counts = { type: ["integer", "null"] };
// Other services have numbers for ids.
const id = { type: ["string", "integer"] };

export const person = record("a person", PERSON_FIELDS, { id, connections: counts, followers: counts });
export const company = record("a company", COMPANY_FIELDS, {
  ...{ id, employee_count: counts, founded_year: counts, followers: counts },
  specialties: { type: ["array", "null"], items: text },
});

export const filters: JsonSchema = { type: "object", description: "as `headcount filters --schema` describes them" };
export const segments = some(
  filters,
  titled("several segments", object({ union: list(filters), except: list(filters) })),
);
