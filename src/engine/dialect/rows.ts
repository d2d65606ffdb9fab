// Tested by test/unit/engine/dialect/rows.test.ts.
import { checkFilters } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { COMPANY_FIELDS, NUMBER_FIELDS, PERSON_FIELDS } from "../../shared/contract/records.ts";
import { echo } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { inRow } from "../../shared/dialect/holes.ts";
import { type DialectFile, spellingsOf, type Words } from "../../shared/dialect/shape.ts";
import { type JsonRecord, type JsonValue, stringifyExact } from "../../shared/rows/values.ts";

/** A field of the contract, and how it is read in a row. */
interface Reading {
  readonly field: string;
  readonly at: string;
  readonly join: string;
  readonly isNumber: boolean;
  readonly ours: ReadonlyMap<string, string> | undefined;
}

/** What a record says of each field, taken apart once: it is asked for in every row. */
const READINGS = new WeakMap<DialectFile["record"], readonly Reading[]>();

function readingsOf(file: DialectFile, record: DialectFile["record"]): readonly Reading[] {
  const known = READINGS.get(record);
  if (known !== undefined) return known;

  const fields = record === file.record ? PERSON_FIELDS : COMPANY_FIELDS;
  const readings = fields.flatMap((field): readonly Reading[] => {
    const from = record[field];
    if (from === undefined) return [];
    const { at, words, join = "; " } = placeOf(from);
    return [{ field, at, join, isNumber: NUMBER_FIELDS.has(field), ours: oursOf(file, words) }];
  });
  READINGS.set(record, readings);
  return readings;
}

/** The fields of the contract that a file finds in a vendor's row. */
export function contractRow(
  file: DialectFile,
  row: JsonValue,
  record: DialectFile["record"] = file.record,
): JsonRecord {
  const out: Record<string, JsonValue> = {};
  for (const { field, at, join, isNumber, ours } of readingsOf(file, record)) {
    const value = ourWord(ours, plain(inRow(at, row), join));
    const isTold = value === null || isNumber || typeof value === "string";
    // Identifiers are text, however many digits; what counts is a number.
    out[field] = isTold ? value : stringifyExact(value);
  }
  return out;
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

/** Tables read backwards, each once: the first of our words that is said so. */
const OURS = new WeakMap<Words, ReadonlyMap<string, string>>();

function oursOf(file: DialectFile, table: string | undefined) {
  const words = table === undefined ? undefined : file.words?.[table];
  if (words === undefined) return undefined;
  const known = OURS.get(words);
  if (known !== undefined) return known;

  const ours = new Map<string, string>();
  for (const [own, theirs] of Object.entries(words))
    for (const word of spellingsOf(theirs).map((each) => each.toLowerCase()))
      if (!ours.has(word)) ours.set(word, own);
  OURS.set(words, ours);
  return ours;
}

/** Where none of our words is said so, theirs stays. */
const ourWord = (ours: ReadonlyMap<string, string> | undefined, value: JsonValue): JsonValue =>
  ours === undefined || typeof value !== "string"
    ? value
    : (ours.get(value.toLowerCase()) ?? value);

interface Stray {
  readonly field: string;
  /** Counted from 1. */
  readonly row: number;
  readonly came: string;
}

/**
 * The first row that says something else than it was asked for by. Of a list that
 * a field is the first of, any will do; what a row does not say proves nothing.
 * @param items the vendor's own rows
 */
export function strayIn(
  file: DialectFile,
  filters: Filters,
  rows: readonly JsonRecord[],
  items: readonly JsonValue[],
): Stray | undefined {
  const check = checkFilters(filters);
  if (!check.ok) return undefined;

  const { exact, department } = check.canonical;
  const { network_url: _, ...texts } = exact;
  const all = { ...texts, department: department?.map(normalForm) };
  for (const [field, wanted] of Object.entries(all)) {
    if (wanted === undefined) continue;
    // The rows of a segment say the same few words.
    const known = new Map<string, boolean>();
    const isWanted = (word: string): boolean => {
      const isIn = known.get(word) ?? wanted.includes(normalForm(word));
      known.set(word, isIn);
      return isIn;
    };

    for (const [index, row] of rows.entries()) {
      const said = wordsOf(file, field, row, items[index] ?? null);
      if (said.length === 0 || said.some(isWanted)) continue;
      return { field, row: index + 1, came: echo(said.join(", ")) };
    }
  }

  return undefined;
}

const FIRST = "[0]";

function wordsOf(file: DialectFile, field: string, row: JsonRecord, item: JsonValue): string[] {
  const { at = "", words } = placeOf(file.record[field] ?? "");
  const ours = oursOf(file, words);
  const said = row[field];
  const list = at.endsWith(FIRST) ? inRow(at.slice(0, -FIRST.length), item) : undefined;
  const values = Array.isArray(list)
    ? (list as readonly JsonValue[]).map((each) => ourWord(ours, each))
    : [said];
  return values.filter((each) => typeof each === "string");
}
