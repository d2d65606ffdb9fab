import { COMPANY_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import type { Filters } from "../contract/vocabulary.ts";
import { type JsonSchema, list, object, raw, some, text, titled } from "./build.ts";

/** A row is the service's, which may have more fields; `--fields` leaves others out. */
const row = (
  title: string,
  fields: readonly string[],
  types: Readonly<Record<string, JsonSchema>>,
) =>
  raw<Readonly<Record<string, unknown>>>({
    title,
    type: "object",
    properties: Object.fromEntries(
      fields.map((name) => [name, types[name] ?? { type: ["string", "null"] }]),
    ),
  });
const counts = { type: ["integer", "null"] };
// Other services have numbers for ids.
const id = { type: ["string", "integer"] };

export const person = row("a person", PERSON_FIELDS, {
  id,
  connections: counts,
  followers: counts,
});
export const company = row("a company", COMPANY_FIELDS, {
  id,
  employee_count: counts,
  founded_year: counts,
  followers: counts,
  specialties: { type: ["array", "null"], items: text },
});

export const filters = raw<Filters>({
  type: "object",
  description: "as `headcount schema filter-file` says",
});
export const segments = some(
  filters,
  titled("several segments", object({ union: list(filters), except: list(filters) })),
);
