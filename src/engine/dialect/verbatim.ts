// Tested by test/unit/engine/dialect/verbatim.test.ts.
import { isUtf8 } from "node:buffer";
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
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
  return itemsIn(body, skipSpace(body, 0), place === "" ? [] : place.split("."))?.spans;
}

/** The reply itself, where it is one object. */
export function wholeAt(body: Buffer): readonly Span[] | undefined {
  const start = skipSpace(body, 0);
  const isObject = isUtf8(body) && body[start] === OPEN_OBJECT;
  return isObject ? [[start, skipValue(body, start)]] : undefined;
}

interface Items {
  readonly spans: readonly Span[];
  /** Behind the list. */
  readonly end: number;
}

function itemsIn(bytes: Buffer, at: number, [name, ...rest]: readonly string[]): Items | undefined {
  if (name === undefined) return bytes[at] === OPEN_LIST ? spansFrom(bytes, at) : undefined;
  if (bytes[at] !== OPEN_OBJECT) return undefined;

  // Of two members of one name the later one counts, as for JSON.parse.
  let found: Items | undefined;
  scanObject(bytes, at, (key, start) => {
    if (key !== name) return undefined;
    found = itemsIn(bytes, start, rest);
    return rest.length === 0 ? found?.end : undefined;
  });
  return found;
}

function spansFrom(bytes: Buffer, list: number): Items | undefined {
  const spans: Span[] = [];
  let at = skipSpace(bytes, list + 1);
  while (at < bytes.length && bytes[at] !== CLOSE_LIST) {
    const end = skipValue(bytes, at);
    if (end < 0) return undefined;
    spans.push([at, end]);
    at = skipSpace(bytes, end);
    if (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  }
  return { spans, end: at + 1 };
}

/** As many bytes as a letter of ours takes at most. */
const UTF8_BYTES = 3;

/** Rows of the contract, each with the vendor's own as it came: copied, and not written anew. */
export function withVendors(
  rows: readonly JsonRecord[],
  body: Buffer,
  spans: readonly Span[],
): Buffer {
  const fields = rows.map((row) => stringifyExact({ ...row, vendor: 0 }).slice(0, -2));
  const size = fields.reduce((sum, { length }) => sum + UTF8_BYTES * length + 2, body.length);

  const out = Buffer.allocUnsafe(size);
  let at = 0;
  for (const [index, [start, end]] of spans.entries()) {
    at += out.write(fields[index] ?? "", at);
    at += body.copy(out, at, start, end);
    out[at++] = CLOSE_OBJECT;
    out[at++] = COMMA;
  }
  return out.subarray(0, Math.max(0, at - 1));
}
