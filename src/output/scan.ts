/**
 * Finds rows in the bytes of a reply without parsing them: what is passed on as NDJSON or JSON is then exactly what was paid
 * for, whatever the size of its numbers and the order of its keys.
 */

import { CellScanner, type Cells } from "./cells.ts";
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  type Findings,
  malformed,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
  skipString,
  skipValue,
} from "./tokens.ts";

/** Where the rows of a list are: row i is `bytes[starts[i], ends[i])`. */
export interface RowSpans {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Nothing but single commas between rows and no white space between the tokens of any row. */
  readonly tight: boolean;
  /** Some number has sixteen digits or more: an integer may be beyond 2^53. */
  readonly long: boolean;
  /** Where the values of the rows are, where the first row is a record that others are likely to look like. */
  readonly cells?: Cells | undefined;
}

interface Member {
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

/** The names under which services hold the array of a page (api-decisions, "Search `result`"). */
const LIST_NAMES = ["profiles", "people", "persons", "results", "items", "data", "employees"] as const;
/** The names under which services hold the one record of a look-up. */
const RECORD_NAMES = ["company", "data"] as const;

// Services that leave out what is not known send rows with more keys than the first one: looked for among so many.
const LEARNING_ROWS = 16;

/**
 * The elements of the list that begins at `from`.
 * @param model where the row begins that the others are expected to look like; without it the first
 */
function scanList(bytes: Buffer, from: number, model?: number): RowSpans & { readonly end: number } {
  const starts: number[] = [];
  const ends: number[] = [];
  const findings: Findings = { spaces: false, long: false };
  let at = skipSpace(bytes, from + 1);
  if (bytes[at] === CLOSE_LIST) return { starts, ends, tight: true, long: false, end: at + 1 };
  const cells = CellScanner.learn(bytes, model ?? at, skipValue(bytes, model ?? at));
  for (;;) {
    let end = cells?.row(at, findings) ?? -1;
    if (end < 0) {
      end = skipValue(bytes, at, findings);
      if (starts.length < LEARNING_ROWS && cells?.isPartOf(at, end) === true) return scanList(bytes, from, at);
      cells?.pass();
    }
    starts.push(at);
    ends.push(end);
    const separator = skipSpace(bytes, end);
    if (bytes[separator] === CLOSE_LIST) {
      return { starts, ends, tight: !findings.spaces, long: findings.long, cells, end: separator + 1 };
    }
    if (bytes[separator] !== COMMA) throw malformed(separator);
    at = skipSpace(bytes, separator + 1);
    if (separator !== end || at !== separator + 1) findings.spaces = true;
  }
}

/** The members of the object that begins at `from`; `visit` may take a value over by returning the position after it. */
function scanObject(bytes: Buffer, from: number, visit?: (key: string, start: number) => number | undefined): Member[] {
  const members: Member[] = [];
  let at = skipSpace(bytes, from + 1);
  if (bytes[at] === CLOSE_OBJECT) return members;
  for (;;) {
    if (bytes[at] !== QUOTE) throw malformed(at);
    const keyEnd = skipString(bytes, at);
    const key = JSON.parse(bytes.toString("utf8", at, keyEnd)) as string;
    const colon = skipSpace(bytes, keyEnd);
    if (bytes[colon] !== COLON) throw malformed(colon);
    const start = skipSpace(bytes, colon + 1);
    const end = visit?.(key, start) ?? skipValue(bytes, start);
    members.push({ key, start, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === CLOSE_OBJECT) return members;
    if (bytes[at] !== COMMA) throw malformed(at);
    at = skipSpace(bytes, at + 1);
  }
}

/** The last member of that name: of a repeated key `JSON.parse` takes the last, too. */
const memberOf = (members: readonly Member[], name: string): Member | undefined =>
  members.findLast((member) => member.key === name);

/**
 * The rows of a reply: the elements of `result`, or of the list it holds under one of the usual names; a `result` that is one
 * record (a look-up) is one row; `null` is none.
 * @throws Error where the bytes are no JSON or hold no rows
 */
export function scanRows(bytes: Buffer): RowSpans {
  const begin = skipSpace(bytes, bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0);
  if (bytes[begin] === OPEN_LIST) return scanList(bytes, begin);
  if (bytes[begin] !== OPEN_OBJECT) throw malformed(begin);
  let list: ReturnType<typeof scanList> | undefined;
  const members = scanObject(bytes, begin, (key, start) => {
    if (key !== "result") return undefined;
    list = bytes[start] === OPEN_LIST ? scanList(bytes, start) : undefined;
    return list?.end;
  });
  if (list !== undefined) return list;
  const result = memberOf(members, "result");
  if (result === undefined) throw new Error("the reply holds no result");
  if (bytes[result.start] !== OPEN_OBJECT) {
    if (bytes[result.start] === 0x6e) return { starts: [], ends: [], tight: true, long: false };
    throw new Error("the reply holds no list of records");
  }
  const inner = scanObject(bytes, result.start);
  for (const name of LIST_NAMES) {
    const found = memberOf(inner, name);
    if (found !== undefined && bytes[found.start] === OPEN_LIST) return scanList(bytes, found.start);
  }
  let record: { readonly start: number; readonly end: number } = result;
  if (inner.length === 1) {
    const wrapped = RECORD_NAMES.map((name) => memberOf(inner, name)).find((member) => member !== undefined);
    if (wrapped !== undefined && bytes[wrapped.start] === OPEN_OBJECT) record = wrapped;
  }
  return { starts: [record.start], ends: [record.end], tight: false, long: true };
}

/** A value's bytes without the white space between its tokens: one line, every token as it came. */
export function compact(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const out = new Uint8Array(end - start);
  let length = 0;
  let at = start;
  while (at < end) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      const after = skipString(bytes, at);
      out.set(bytes.subarray(at, after), length);
      length += after - at;
      at = after;
      continue;
    }
    if (byte > 0x20) out[length++] = byte;
    at++;
  }
  return out.subarray(0, length);
}
