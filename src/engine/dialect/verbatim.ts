// Tested by test/unit/engine/dialect/verbatim.test.ts.
import { isUtf8 } from "node:buffer";
import { scanList } from "../../shared/rows/scan.ts";
import {
  CLOSE_OBJECT,
  LETTER_N,
  OPEN_LIST,
  OPEN_OBJECT,
  scanObject,
  skipSpace,
  skipValue,
} from "../../shared/rows/tokens.ts";
import {
  type JsonRecord,
  type JsonValue,
  parseExact,
  stringifyExact,
} from "../../shared/rows/values.ts";

/** Where an item of a list stands in a reply. */
export type Span = readonly [start: number, end: number];

/** A reply whose list of records was found without reading it: each is read by itself. */
export interface Listed {
  /** What the reply is without them: an empty list is in their place. */
  readonly around: string;
  readonly spans: readonly Span[];
  readonly isLong: boolean;
}

/**
 * The records of a list as they came, and what stands around it.
 * @param place of the list; undefined comes back where it is more than names of members, and
 * where what is there is no list of records, as JSON has them
 */
export function listApart(body: Buffer, place: string): Listed | undefined {
  if (/[[|:]/.test(place) || !isUtf8(body)) return undefined;

  let found: readonly [at: number, list: ReturnType<typeof scanList>] | undefined;
  // Of two members of one name the later one counts, as for JSON.parse.
  const look = (at: number, [name, ...rest]: readonly string[]): number | undefined => {
    if (name === undefined) {
      found = body[at] === OPEN_LIST ? [at, scanList(body, at)] : undefined;
      return found?.[1].end;
    }
    if (body[at] === OPEN_OBJECT)
      scanObject(body, at, (key, start) => (key === name ? look(start, rest) : undefined));
    return undefined;
  };

  look(skipSpace(body, 0), place === "" ? [] : place.split("."));
  if (found === undefined) return undefined;
  const [at, { broken, end, ends, long, starts }] = found;
  if (broken.length > 0 || end < 0) return undefined;

  // Whoever is null there is nobody.
  const spans = starts.flatMap((start, index): Span[] =>
    body[start] === LETTER_N ? [] : [[start, ends[index] ?? end]],
  );
  if (spans.some(([start]) => body[start] !== OPEN_OBJECT)) return undefined;
  const around = `${body.toString("utf8", 0, at)}[]${body.toString("utf8", end)}`;
  return { around, spans, isLong: long };
}

/** The reply itself, where it is one object. */
export function wholeAt(body: Buffer): readonly Span[] | undefined {
  const start = skipSpace(body, 0);
  const isObject = isUtf8(body) && body[start] === OPEN_OBJECT;
  return isObject ? [[start, skipValue(body, start)]] : undefined;
}

/** As many bytes as a letter of ours takes at most. */
const UTF8_BYTES = 3;

/**
 * Rows of the contract, each with the vendor's own as it came: copied, and not written anew.
 * @param rows the contract's fields of each
 */
export function withVendors(
  rows: readonly JsonRecord[],
  body: Buffer,
  spans: readonly Span[],
  { head, tail }: { readonly head: string; readonly tail: string },
): Buffer {
  const fields = rows.map((row) => stringifyExact(row).slice(0, -1));
  const letters = fields.reduce((sum, { length }) => sum + length, head.length + tail.length);

  const out = Buffer.allocUnsafe(UTF8_BYTES * letters + SEPARATORS * rows.length + body.length);
  let at = out.write(head);
  for (const [index, [start, end]] of spans.entries()) {
    at += out.write(`${index === 0 ? "" : ","}${fields[index]},"vendor":`, at);
    at += body.copy(out, at, start, end);
    out[at++] = CLOSE_OBJECT;
  }
  at += out.write(tail, at);
  return out.subarray(0, at);
}

/** Bytes between the fields of a row, the vendor's own and the next row. */
const SEPARATORS = 12;

/** Each record by itself: a letter beyond Latin-1 makes but that one's text slow. */
export const recordsOf = (body: Buffer, { isLong, spans }: Listed): readonly JsonValue[] =>
  spans.map(([start, end]) => {
    const text = body.toString("utf8", start, end);
    return isLong ? parseExact(text) : (JSON.parse(text) as JsonValue);
  });
