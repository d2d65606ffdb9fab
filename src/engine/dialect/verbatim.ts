// Tested by test/unit/engine/dialect/verbatim.test.ts.
import { isUtf8 } from "node:buffer";
import { type Cells, scanList } from "../../shared/rows/scan.ts";
import {
  OPEN_LIST,
  OPEN_OBJECT,
  scanObject,
  skipSpace,
  skipValue,
} from "../../shared/rows/tokens.ts";

/** Where an item of a list stands in a reply. */
export type Span = readonly [start: number, end: number];

/** A reply whose list of records was found without reading it: each is read by itself. */
export interface Listed {
  /** What the reply is without them: an empty list is in their place. */
  readonly around: string;
  readonly spans: readonly Span[];
  /** Where the values of each stand, if that is known. */
  readonly cells: Cells | undefined;
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
  const [at, { broken, cells, end, ends, starts }] = found;
  if (broken.length > 0 || end < 0) return undefined;

  if (starts.some((start) => body[start] !== OPEN_OBJECT)) return undefined;
  const spans = starts.map((start, index): Span => [start, ends[index] ?? end]);
  const around = `${body.toString("utf8", 0, at)}[]${body.toString("utf8", end)}`;
  return { around, spans, cells };
}

/** The reply itself, where it is one object. */
export function wholeAt(body: Buffer): readonly Span[] | undefined {
  const start = skipSpace(body, 0);
  const isObject = isUtf8(body) && body[start] === OPEN_OBJECT;
  return isObject ? [[start, skipValue(body, start)]] : undefined;
}
