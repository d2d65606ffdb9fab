import { parse, stringify } from "lossless-json";
import { failed, option, say } from "../errors.ts";

export type RecordKind = "person" | "company";

/**
 * A value as `JSON.parse` gives it; integers beyond 2^53
 * are bigints, so that no digit of a paid record is lost.
 */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };
export type JsonRecord = { readonly [key: string]: JsonValue };

export type Cell = string | number | bigint | boolean | null;

/** How a number begins that may be beyond 2^53: digits in texts and fractions are none. */
const LONG = /(?:^|[\s:,[])-?\d{16}/;
const INTEGER = /^-?\d+$/;

const exactNumber = (token: string): number | bigint => {
  const value = Number(token);
  return INTEGER.test(token) && !Number.isSafeInteger(value) ? BigInt(token) : value;
};
const READING = {
  parseNumber: exactNumber,
  onDuplicateKey: ({ newValue }: { readonly newValue: unknown }): unknown => newValue,
};

/**
 * What recurses stops where a hostile service nests without
 * end: the reply is kept, and other formats write it.
 */
function bounded<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw failed.incomplete(
      "a record is nested too deeply for this format",
      say`${option("format", "ndjson")} without ${option("fields")} writes every record as it came`,
      "too_deep",
      cause,
    );
  }
}

/**
 * `JSON.parse` with integers beyond 2^53 as bigints.
 * @throws SyntaxError, CliError (exit 5) for too deep a nesting
 */
export const parseExact = (text: string): JsonValue =>
  (LONG.test(text) ? bounded(() => parse(text, null, READING)) : JSON.parse(text)) as JsonValue;

/**
 * `JSON.stringify` that writes bigints as integers.
 * @throws CliError (exit 5) for too deep a nesting
 */
export const stringifyExact = (value: JsonValue): string =>
  bounded(() => {
    try {
      return JSON.stringify(value);
    } catch (error) {
      // Only a bigint is no JSON.
      if (!(error instanceof TypeError)) throw error;
      return stringify(value) ?? "null";
    }
  });

export const isNested = (value: JsonValue | undefined): value is JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const joined = (list: readonly JsonValue[]): string =>
  list
    .map((item) =>
      item === null ? "" : typeof item === "object" ? stringifyExact(item) : String(item),
    )
    .join("; ");

export const cellOf = (value: JsonValue): Cell =>
  typeof value !== "object" || value === null
    ? value
    : Array.isArray(value)
      ? joined(value)
      : stringifyExact(value);

/**
 * The names under which services hold a person inside a
 * row that says more (`{"profile":{...},"score":1}`).
 */
const PERSONS: readonly string[] = ["profile", "person", "employee", "record"];
export const WRAPPERS: readonly string[] = ["company", "organization", ...PERSONS];
const COMPANY = "company";

/**
 * What a field names in a record: an own member, else the path `a.b`, else that of the record
 * inside the row; `company_name` and the like also inside a nested company.
 */
export function fieldValue(record: JsonRecord, field: string): JsonValue | undefined {
  if (Object.hasOwn(record, field)) return record[field];

  const inside = (name: string, inner: string): JsonValue | undefined => {
    const nested = Object.hasOwn(record, name) ? record[name] : undefined;
    return isNested(nested) ? fieldValue(nested, inner) : undefined;
  };

  for (let dot = field.indexOf("."); dot > 0; dot = field.indexOf(".", dot + 1)) {
    const value = inside(field.slice(0, dot), field.slice(dot + 1));
    if (value !== undefined) return value;
  }

  if (field.startsWith(`${COMPANY}_`)) {
    const value = inside(COMPANY, field) ?? inside(COMPANY, field.slice(COMPANY.length + 1));
    if (value !== undefined) return value;
  }

  for (const name of PERSONS) {
    const value = inside(name, field);
    if (value !== undefined) return value;
  }

  return undefined;
}
