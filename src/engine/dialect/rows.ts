// Tested by test/unit/engine/dialect/rows.test.ts.
import { checkFilters } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { COMPANY_FIELDS, NUMBER_FIELDS, PERSON_FIELDS } from "../../shared/contract/records.ts";
import { echo } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { inRow } from "../../shared/dialect/holes.ts";
import type { DialectFile, Words } from "../../shared/dialect/shape.ts";
import { type JsonRecord, type JsonValue, stringifyExact } from "../../shared/rows/values.ts";

/**
 * A vendor's row as one of the contract: the fields that the
 * file finds in it, and the whole of it as it came beside them.
 */
export function contractRow(
  file: DialectFile,
  row: JsonValue,
  record: DialectFile["record"] = file.record,
): JsonRecord {
  const fields = record === file.record ? PERSON_FIELDS : COMPANY_FIELDS;
  const told = fields.flatMap((field): readonly (readonly [string, JsonValue])[] => {
    const from = record[field];
    if (from === undefined) return [];
    const { at, words, join = "; " } = placeOf(from);
    const value = plain(inRow(at, row), join);
    return [[field, typed(field, ourWord(file, words, value))]];
  });
  return { ...Object.fromEntries(told), vendor: row };
}

type From = DialectFile["record"][string];

const placeOf = (from: From): Exclude<From, string> =>
  typeof from === "string" ? { at: from } : from;

/** A flag that says that there is a value is not the value: the plan does not tell it. */
function plain(value: JsonValue | undefined, join: string): JsonValue {
  if (value === undefined || value === null || typeof value === "boolean" || value === "")
    return null;
  if (typeof value !== "object") return value;
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  const texts = items.filter((item) => item !== null && typeof item !== "object").map(String);
  return texts.length === 0 ? null : texts.join(join);
}

/** Identifiers are text, however many digits; what counts is a number. */
function typed(field: string, value: JsonValue): JsonValue {
  if (value === null || NUMBER_FIELDS.has(field)) return value;
  return typeof value === "string" ? value : stringifyExact(value);
}

/** A table read backwards: the first of our words that is said so; else theirs stays. */
function ourWord(file: DialectFile, table: string | undefined, value: JsonValue): JsonValue {
  if (table === undefined || typeof value !== "string") return value;
  const words: Words = file.words?.[table] ?? {};
  const wanted = value.toLowerCase();
  const own = Object.entries(words).find(([, theirs]) => {
    if (typeof theirs === "boolean" || theirs === null) return false;
    const said = typeof theirs === "object" && "say" in theirs ? theirs.say : theirs;
    return [said].flat().some((word) => String(word).toLowerCase() === wanted);
  });
  return own?.[0] ?? value;
}

interface Stray {
  readonly field: string;
  /** Counted from 1. */
  readonly row: number;
  readonly came: string;
}

/**
 * The first row that says something else than it was asked for by. Of a list that
 * a field is the first of, any will do; what a row does not say proves nothing.
 */
export function strayIn(
  file: DialectFile,
  filters: Filters,
  rows: readonly JsonRecord[],
): Stray | undefined {
  const check = checkFilters(filters);
  if (!check.ok) return undefined;

  const { exact, department } = check.canonical;
  const { network_url: _, ...texts } = exact;
  const all = { ...texts, department: department?.map(normalForm) };
  for (const [field, wanted] of Object.entries(all))
    for (const [index, row] of rows.entries()) {
      const said = wordsOf(file, field, row);
      if (wanted === undefined || said.length === 0) continue;
      if (said.some((word) => wanted.includes(normalForm(word)))) continue;
      return { field, row: index + 1, came: echo(said.join(", ")) };
    }

  return undefined;
}

const FIRST = "[0]";

function wordsOf(file: DialectFile, field: string, row: JsonRecord): string[] {
  const { at = "", words } = placeOf(file.record[field] ?? "");
  const said = row[field];
  const list = at.endsWith(FIRST)
    ? inRow(at.slice(0, -FIRST.length), row.vendor ?? null)
    : undefined;
  const values = Array.isArray(list)
    ? (list as readonly JsonValue[]).map((each) => ourWord(file, words, each))
    : [said];
  return values.filter((each) => typeof each === "string");
}
