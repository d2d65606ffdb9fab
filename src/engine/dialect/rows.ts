// Tested by test/unit/engine/dialect/rows.test.ts.
import { textsAsked } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { COMPANY_FIELDS, NUMBER_FIELDS, PERSON_FIELDS } from "../../shared/contract/records.ts";
import { echo, isObject } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { inRow, pathsOf, reached, type Step } from "../../shared/dialect/holes.ts";
import { type DialectFile, spellingsOf, type Words } from "../../shared/dialect/shape.ts";
import { GrowingBytes } from "../../shared/rows/growing-bytes.ts";
import type { Cells } from "../../shared/rows/scan.ts";
import { isInteger, QUOTE } from "../../shared/rows/tokens.ts";
import { type JsonValue, parseExact, stringifyExact } from "../../shared/rows/values.ts";
import type { Span } from "./verbatim.ts";

/** A field of the contract, and how it is read in a row. */
interface Reading {
  readonly field: string;
  /** What stands before its value in a row that is written. */
  readonly head: Buffer;
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
    const head = Buffer.from(`"${field}":`);
    const isNumber = NUMBER_FIELDS.has(field);
    return [{ field, head, at, join, isNumber, ours: oursOf(file, words) }];
  });
  READINGS.set(record, readings);
  return readings;
}

/** Records as they came: read, or where they stand in a reply, or both. */
export interface Came {
  readonly body: Buffer;
  readonly spans?: readonly Span[] | undefined;
  readonly cells?: Cells | undefined;
  readonly items?: readonly JsonValue[] | undefined;
}

/** A column of the records of a reply, and what leads on in a value of it. */
interface Source {
  readonly column: number;
  readonly rest: readonly Step[];
}

const NOTHING = Buffer.alloc(0);
const COMMA = Buffer.from(",");
const MARK = Buffer.from('"');
/** One page is written after the other, and none while another is. */
const written = new GrowingBytes();

/** The records of a reply, and the fields of the contract that its file finds in them. */
export class Records {
  readonly length: number;
  readonly #readings: readonly Reading[];
  readonly #came: Came;
  readonly #items: (JsonValue | undefined)[];
  readonly #cells: Cells | undefined;
  readonly #sources = new Map<string, readonly Source[] | undefined>();
  /** By its column the value that was read last, and of which record: several fields are in it. */
  readonly #read = new Map<number, { readonly index: number; readonly value: JsonValue }>();
  /** Of whom another id was asked for than he has. */
  readonly #ids = new Map<number, string>();

  constructor(file: DialectFile, came: Came, record: DialectFile["record"] = file.record) {
    const { cells, items, spans } = came;
    this.#readings = readingsOf(file, record);
    this.#came = came;
    this.#items = items === undefined ? [] : [...items];
    this.#cells = cells?.isClear ? cells.leaves() : undefined;
    this.length = items?.length ?? spans?.length ?? 0;
  }

  /** What stands at a place in one of them. */
  found(index: number, place: string): JsonValue | undefined {
    const sources = this.#cells?.knows(index) === true ? this.#sourcesOf(place) : undefined;
    if (sources === undefined) return inRow(place, this.#item(index));
    for (const { column, rest } of sources) {
      const value = reached(this.#valueAt(index, column), rest);
      if (value !== undefined && value !== null) return value;
    }
    return undefined;
  }

  /** A field of the contract; undefined: its file finds none. */
  value(index: number, field: string): JsonValue | undefined {
    const reading = this.#readings.find((each) => each.field === field);
    return reading && this.#valueOf(index, reading);
  }

  ids(): readonly (JsonValue | undefined)[] {
    return Array.from({ length: this.length }, (_, index) => this.value(index, "id"));
  }

  /** Another is asked for by an id than it has. */
  name(index: number, id: string): void {
    this.#ids.set(index, id);
  }

  /** Rows of the contract, each with the vendor's own as it came. */
  written({ head, tail }: { readonly head: string; readonly tail: string }): Buffer {
    const { body, spans } = this.#came;
    const out = written;
    out.clear();
    out.text(head);
    for (let index = 0; index < this.length; index++) {
      if (index > 0) out.text(",");
      const [start, end] = spans?.[index] ?? [];
      const item = start === undefined ? this.#item(index) : undefined;
      // What is no record holds its place as it came: it was paid for, too.
      if (item !== undefined && !isObject(item)) {
        out.text(stringifyExact(item));
        continue;
      }

      out.text("{");
      for (const reading of this.#readings) {
        out.span(reading.head);
        this.#write(out, index, reading);
        out.span(COMMA);
      }
      out.text('"vendor":');
      if (item !== undefined) out.text(stringifyExact(item));
      else out.span(body, start, end);
      out.text("}");
    }
    out.text(tail);
    return out.copied();
  }

  #write(out: GrowingBytes, index: number, reading: Reading): void {
    const { body } = this.#came;
    const plain = this.#plainAt(index, reading);
    if (plain === undefined) {
      out.text(stringifyExact(this.#valueOf(index, reading)));
      return;
    }

    const [start, end] = plain;
    const mark = reading.isNumber || body[start] === QUOTE ? NOTHING : MARK;
    out.span(mark);
    out.span(body, start, end);
    out.span(mark);
  }

  /** Where a text or an integer stands that is the field as it is. */
  #plainAt(index: number, { at, ours }: Reading): Span | undefined {
    const cells = this.#cells;
    if (cells === undefined || ours !== undefined || this.#ids.has(index)) return undefined;
    const [source, other] = (cells.knows(index) && this.#sourcesOf(at)) || [];
    if (source === undefined || other !== undefined || source.rest.length > 0) return undefined;

    const { bytes } = cells;
    const start = cells.start(index, source.column);
    const end = cells.mark(index, source.column) >> 2;
    const isText = bytes[start] === QUOTE && end - start > 2;
    return start > 0 && (isText || isInteger(bytes, start, end)) ? [start, end] : undefined;
  }

  #valueOf(index: number, { at, field, isNumber, join, ours }: Reading): JsonValue {
    const named = field === "id" ? this.#ids.get(index) : undefined;
    if (named !== undefined) return named;
    const value = ourWord(ours, plain(this.found(index, at), join));
    const isTold = value === null || isNumber || typeof value === "string";
    // Identifiers are text, however many digits; what counts is a number.
    return isTold ? value : stringifyExact(value);
  }

  #item(index: number): JsonValue {
    const [start, end] = this.#came.spans?.[index] ?? [];
    if (start === undefined) return this.#items[index] ?? null;
    this.#items[index] ??= parseExact(this.#came.body.toString("utf8", start, end));
    return this.#items[index];
  }

  #valueAt(index: number, column: number): JsonValue | undefined {
    const known = this.#read.get(column);
    if (known?.index === index) return known.value;
    const start = this.#cells?.start(index, column) ?? 0;
    if (start === 0) return undefined;
    const end = (this.#cells?.mark(index, column) ?? 0) >> 2;
    const value = parseExact(this.#came.body.toString("utf8", start, end));
    this.#read.set(column, { index, value });
    return value;
  }

  /** Undefined: what stands there is a record, or perhaps one. */
  #sourcesOf(place: string): readonly Source[] | undefined {
    if (!this.#sources.has(place)) this.#sources.set(place, sourcesIn(this.#cells, place));
    return this.#sources.get(place);
  }
}

function sourcesIn(cells: Cells | undefined, place: string): readonly Source[] | undefined {
  const keys = cells?.keys ?? [];
  const sources: Source[] = [];
  for (const path of pathsOf(place)) {
    const steps = "steps" in path ? path.steps : [];
    const most = steps.findIndex((step) => typeof step !== "string");
    const names = steps.slice(0, most < 0 ? steps.length : most);
    if (keys.some((key) => key.startsWith(`${names.join(".")}.`))) return undefined;

    let length = names.length;
    while (length > 0 && !keys.includes(names.slice(0, length).join("."))) length--;
    const column = keys.indexOf(names.slice(0, length).join("."));
    if (length > 0) sources.push({ column, rest: steps.slice(length) });
  }
  return sources;
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
 */
export function strayIn(file: DialectFile, filters: Filters, rows: Records): Stray | undefined {
  for (const [field, wanted] of textsAsked(filters)) {
    const from = file.record[field];
    if (from === undefined) continue;
    const { at: place, words } = placeOf(from);
    const ours = oursOf(file, words);
    // The rows of a segment say the same few words.
    const known = new Map<string, boolean>();
    const isWanted = (word: string): boolean => {
      const isIn = known.get(word) ?? wanted.includes(normalForm(word));
      known.set(word, isIn);
      return isIn;
    };

    for (let index = 0; index < rows.length; index++) {
      const list = place.endsWith(FIRST)
        ? rows.found(index, place.slice(0, -FIRST.length))
        : undefined;
      const values: readonly (JsonValue | undefined)[] = Array.isArray(list)
        ? (list as readonly JsonValue[]).map((each) => ourWord(ours, each))
        : [rows.value(index, field)];
      const said = values.filter((each) => typeof each === "string");
      if (said.length === 0 || said.some(isWanted)) continue;
      return { field, row: index + 1, came: echo(said.join(", ")) };
    }
  }

  return undefined;
}

const FIRST = "[0]";
