// Tested by test/cli/output-packed.test.ts.
import {
  cellOf,
  fieldValue,
  type JsonRecord,
  type JsonValue,
  stringifyExact,
} from "../../../shared/rows/values.ts";

/** Decided by every value of the run, so that no value is lost in a narrower type. */
export type ColumnType =
  | "text"
  | "integer"
  | "long"
  | "decimal"
  | "boolean"
  | "instant"
  | "date"
  | "list";

export interface TypedColumn {
  readonly field: string;
  /** Its name: told apart from the others without regard to case. */
  readonly name: string;
  readonly type: ColumnType;
  /** Whether no row has a value for it: its type is what the contract says, or a guess. */
  readonly empty: boolean;
}

/** A list that is no column of its own, and what is nested too deeply, is JSON. */
export const textOf = (value: NonNullable<JsonValue>): string =>
  (Array.isArray(value) ? stringifyExact(value) : String(cellOf(value))).toWellFormed();

export const valueIn = (row: JsonRecord, { field }: TypedColumn): JsonValue =>
  fieldValue(row, field) ?? null;

/** Since 1970; `Date` keeps only milliseconds. */
export function micros(text: string): bigint {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  const seconds = Date.parse(text.replace(/\.\d+/, ""));
  return BigInt(seconds) * 1000n + BigInt(fraction.padEnd(6, "0"));
}

const DAY_MS = 86_400_000;
export const days = (text: string): number => Date.parse(`${text}T00:00:00Z`) / DAY_MS;
