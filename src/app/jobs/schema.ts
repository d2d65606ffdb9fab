import { DIALECT, type JsonSchema } from "../../shared/schema/build.ts";
import { filtersSchema } from "../../shared/schema/filters.ts";
import { KEYS, TEXT } from "./keys.ts";

const text = (description: string): JsonSchema => ({ ...TEXT, description });

const FILTERS: JsonSchema = { anyOf: [filtersSchema(), TEXT, { type: "array", items: TEXT }] };

const keySchemas = (): JsonSchema =>
  Object.fromEntries(
    Object.entries(KEYS).map(([name, { takes, says }]) => [
      name,
      { description: says, ...(name === "filters" ? FILTERS : takes.schema) },
    ]),
  );

/** A JSON Schema for files of jobs, from the keys that a job may have. */
export const jobsSchema = (): JsonSchema => ({
  $schema: DIALECT,
  title: "headcount jobs",
  description: "Exports that run on a schedule.",
  type: "object",
  required: ["jobs"],
  additionalProperties: false,
  properties: {
    $schema: { type: "string" },
    budget: { ...text("credits of a calendar month (UTC), over all jobs at one service"), examples: ["2000/month"] },
    log: text(KEYS.log.says),
    notify: text(KEYS.notify.says),
    notify_failure: text(KEYS.notify_failure.says),
    jobs: {
      type: "object",
      propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" },
      additionalProperties: {
        type: "object",
        required: ["max_credits"],
        additionalProperties: false,
        properties: keySchemas(),
      },
    },
  },
});
