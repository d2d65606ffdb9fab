import { COMPANY_FIELDS, NUMBER_FIELDS, PERSON_FIELDS } from "../contract/records.ts";
import type { Filters } from "../contract/vocabulary.ts";
import { type JsonSchema, list, object, raw, some, text, titled } from "./build.ts";

const TEXT = { type: ["string", "null"] };
const COUNT = { type: ["integer", "null"] };

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
      fields.map((name) => [name, types[name] ?? (NUMBER_FIELDS.has(name) ? COUNT : TEXT)]),
    ),
  });
// Other services have numbers for ids.
const id = { type: ["string", "integer"] };

export const person = row("a person", PERSON_FIELDS, { id });
export const company = row("a company", COMPANY_FIELDS, {
  id,
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
