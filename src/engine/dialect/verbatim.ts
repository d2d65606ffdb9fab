// Tested by test/unit/engine/dialect/verbatim.test.ts.
import { isUtf8 } from "node:buffer";
import { scanList } from "../../shared/rows/scan.ts";
import {
  CLOSE_OBJECT,
  OPEN_LIST,
  OPEN_OBJECT,
  scanObject,
  skipSpace,
  skipValue,
} from "../../shared/rows/tokens.ts";
import { type JsonRecord, stringifyExact } from "../../shared/rows/values.ts";

/** Where an item of a list stands in a reply. */
export type Span = readonly [start: number, end: number];

/**
 * The items of a list as they came, of a reply that was read as JSON.
 * @param place of the list; undefined comes back where it is more than names of members
 */
export function itemsAt(body: Buffer, place: string): readonly Span[] | undefined {
  if (/[[|:]/.test(place) || !isUtf8(body)) return undefined;

  let found: readonly Span[] | undefined;
  // Of two members of one name the later one counts, as for JSON.parse.
  const look = (at: number, [name, ...rest]: readonly string[]): number | undefined => {
    if (name !== undefined) {
      if (body[at] === OPEN_OBJECT)
        scanObject(body, at, (key, start) => (key === name ? look(start, rest) : undefined));
      return undefined;
    }
    if (body[at] !== OPEN_LIST) return undefined;
    const { end, ends, starts } = scanList(body, at);
    found = starts.map((start, index) => [start, ends[index] ?? end]);
    return end;
  };

  look(skipSpace(body, 0), place === "" ? [] : place.split("."));
  return found;
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
