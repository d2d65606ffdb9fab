import { JOB_COMMANDS, type JobCommand, type JobKey } from "../../cli/commands/jobs/keys.ts";
import { FILTER_KEYS } from "../../shared/contract/filters.ts";
import { DIALECT, type JsonSchema } from "../../shared/schema/build.ts";
import { filtersSchema } from "../../shared/schema/filters.ts";

const TEXT: JsonSchema = { type: "string", pattern: "\\S" };

function keySchema({ takes, description, values, key }: JobKey): JsonSchema {
  if (key === "filters") {
    const file = { ...TEXT, description: "a file of filters" };
    return { description: "who is wanted", anyOf: [filtersSchema(), file, { type: "array", items: file }] };
  }
  if (takes === "switch") return { description, type: "boolean" };
  const scalar: JsonSchema = { type: ["string", "number"] };
  // Editors complete from the enum; the other lets whatever the flag takes pass.
  const one: JsonSchema = values?.kind === "list" ? { anyOf: [{ enum: values.values }, scalar] } : scalar;
  return { description, ...(takes === "list" ? { anyOf: [one, { type: "array", items: one }] } : one) };
}

/** A JSON Schema for files of jobs, made from the flags of the commands that a job may be. */
export async function jobsSchema(keysOf: (command: JobCommand) => Promise<readonly JobKey[]>): Promise<JsonSchema> {
  const properties: Record<string, JsonSchema> = {
    command: { description: "what it does", enum: JOB_COMMANDS },
    schedule: {
      description: "five fields as in a crontab (minute hour day month weekday) in the machine's time zone, or @daily",
      type: "string",
      examples: ["0 6 * * 1", "30 5 1 * *", "@daily"],
    },
  };
  for (const command of JOB_COMMANDS) for (const key of await keysOf(command)) properties[key.key] = keySchema(key);
  return {
    $schema: DIALECT,
    title: "headcount jobs",
    description: `Exports that run on a schedule. Keys of a job are the flags of its command; ${FILTER_KEYS.length} filters are in "filters".`,
    type: "object",
    required: ["jobs"],
    additionalProperties: false,
    properties: {
      $schema: { type: "string" },
      budget: {
        description: "credits of a calendar month (UTC), over all jobs",
        type: "string",
        examples: ["2000/month"],
      },
      log: { ...TEXT, description: "a file that gets one JSON line a run" },
      notify: { ...TEXT, description: "shell command for a failure or a changed file" },
      jobs: {
        type: "object",
        propertyNames: { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" },
        additionalProperties: {
          type: "object",
          required: ["output", "max_credits"],
          additionalProperties: false,
          properties,
        },
      },
    },
  };
}
