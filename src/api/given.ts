// Tested by test/api/given.test.ts.
import { aside, nearest } from "../shared/contract/suggest.ts";
import { echo } from "../shared/contract/text.ts";
import { type CliError, usageError } from "../shared/errors.ts";

/** What a field takes: a `typeof`, a class, or `any` where whoever reads it looks itself. */
type Takes = "any" | "boolean" | "function" | "number" | "object" | "string" | typeof AbortSignal;
type Fields = Readonly<Record<string, Takes>>;

export const CALL = { signal: AbortSignal } satisfies Fields;
export const GOING_ON = { ...CALL, wait: "boolean" } satisfies Fields;
export const TERMS = {
  ...GOING_ON,
  limit: "number",
  again: "boolean",
  strict: "boolean",
  requireComplete: "boolean",
} satisfies Fields;

const wrong = (message: string): CliError => usageError(message, undefined, "bad_argument");

const isOf = (value: unknown, takes: Takes): boolean =>
  typeof takes === "string"
    ? takes === "any" || (typeof value === takes && value !== null)
    : value instanceof takes;

/**
 * An argument of a program, which no compiler may have looked at. A field that is misspelt is not
 * passed over: without its limit a purchase is of everybody. Values are not said: one is a key.
 * @param what it is, in words @throws CliError of kind usage that names the field
 */
export function given<T>(value: T, what: string, fields: Fields): T {
  if (typeof value !== "object" || value === null) throw wrong(`${what} must be an object`);

  const names = Object.keys(fields);
  for (const [name, one] of Object.entries(value)) {
    const takes = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (takes === undefined) {
      const near = aside(nearest(name, names));
      throw wrong(`unknown field of ${what}: ${echo(name)}${near}; it takes ${names.join(", ")}`);
    }

    if (one !== undefined && !isOf(one, takes)) {
      const kind = typeof takes === "string" ? takes : takes.name;
      throw wrong(`${name} of ${what} must be of type ${kind}`);
    }
  }
  return value;
}
