// The one scanner of replies. It finds rows without parsing them, so NDJSON
// and JSON are what was paid for; of rows with the keys of the first one it
// notes where each value stands, to copy CSV (docs/explanation/performance.md).
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  DIGIT_NINE,
  DIGIT_ZERO,
  isJson,
  LONG_DIGITS,
  Mender,
  OPEN_LIST,
  OPEN_OBJECT,
  parsedIn,
  QUOTE,
  type Spacing,
  scanObject,
  skipGap,
  skipSpace,
  skipValue,
} from "./tokens.ts";

export const ESCAPED = 1;
export const HAS_COMMA = 2;
// Four times a position has to stay within 32 bits; a wider record is as likely a hostile one.
const MOST_BYTES = 2 ** 29 - 1;
const MOST_KEYS = 1_000;
/** Deeper values are read by `JSON.parse`, which has a stack of its own. */
const MOST_DEPTH = 32;

const BARE = new Uint8Array(256);
for (const byte of Buffer.from("0123456789+-.eEtrufalsn")) BARE[byte] = 1;
/** Words of four bytes, little-endian. */
const [NULL, TRUE, FALS] = [0x6c6c756e, 0x65757274, 0x736c6166];
const LETTER_E = 0x65;
const LETTER_N = 0x6e;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const ESCAPES = new Uint8Array(256);
for (const byte of Buffer.from('"\\/bfnrt')) ESCAPES[byte] = 1;
const HEX = new Uint8Array(256);
for (const byte of Buffer.from("0123456789abcdefABCDEF")) HEX[byte] = 1;
const LETTER_U = 0x75;
const POINT = 0x2e;

export interface Spans {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** The numbers of those that are no JSON. */
  readonly broken: readonly number[];
  /** Nothing but single commas between rows and no white space between the tokens of any row. */
  readonly tight: boolean;
  /** Some number has sixteen digits or more: an integer may be beyond 2^53. */
  readonly long: boolean;
  readonly cells?: Cells | undefined;
}

/** A list up to its end, or that of the bytes: what is no JSON is among its rows, and `broken`. */
export function scanList(bytes: Buffer, from: number): Spans & { readonly end: number } {
  const starts: number[] = [];
  const ends: number[] = [];
  const broken: number[] = [];
  const findings: Spacing = { spaces: false, long: false };
  let at = skipGap(bytes, from + 1);
  let mender: Mender | undefined;
  let sound: number | undefined;

  const cells = Cells.learn(bytes, at, skipValue(bytes, at));
  while (at < bytes.length && bytes[at] !== CLOSE_LIST) {
    let end = cells?.row(at, findings) ?? -1;
    if (end < 0) {
      end = parsedEnd(bytes, at, findings);

      // What is no row between a broken one and the next is a piece of it: its quotes are off.
      if (end >= 0 && broken.at(-1) === starts.length - 1 && !isRow(bytes, at)) {
        ends[starts.length - 1] = end;
        at = skipGap(bytes, end);
        continue;
      }

      cells?.pass();
    }

    if (end < 0) {
      broken.push(starts.length);
      mender ??= new Mender(bytes, from);
      end = mender.endOf(at, sound);
    } else sound ??= at;

    starts.push(at);
    ends.push(end);
    at = skipGap(bytes, end);
    if (at !== end + 1 && bytes[at] !== CLOSE_LIST) findings.spaces = true;
  }

  const tight = !findings.spaces && broken.length === 0;
  return {
    starts,
    ends,
    broken,
    tight,
    long: findings.long,
    cells,
    end: Math.min(at + 1, bytes.length),
  };
}

const isRow = (bytes: Buffer, at: number): boolean =>
  bytes[at] === OPEN_OBJECT || bytes[at] === LETTER_N;

/**
 * The bytes as a view that reads four of them at once:
 * what is most felt of an export is done in such steps.
 */
export const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const isEscape = (bytes: Uint8Array, at: number): boolean =>
  ESCAPES[bytes[at] as number] === 1 ||
  (bytes[at] === LETTER_U && [1, 2, 3, 4].every((digit) => HEX[bytes[at + digit] as number] === 1));

function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while ((bytes[at] as number) >= DIGIT_ZERO && (bytes[at] as number) <= DIGIT_NINE) at++;
  return at;
}

/**
 * Where a text ends, times four, plus what is in it. Four bytes are looked at in one step: of
 * those that are a quote, a backslash or a control character the highest bit is set, and the
 * lowest of these is right (a borrow may set bits above it).
 * @returns -1: it is no text of JSON
 */
function textEnd({ bytes, view }: Cells, from: number): number {
  const lastWord = bytes.length - 4;
  let bits = 0;
  for (let at = from + 1; ; ) {
    if (at > lastWord) return -1;

    const word = view.getInt32(at, true);
    const ascii = ~word & 0x80808080;
    const ends =
      (((word ^ 0x22222222) - 0x01010101) |
        ((word ^ 0x5c5c5c5c) - 0x01010101) |
        (word - 0x20202020)) &
      ascii;
    const lowest = ends & -ends;
    const commas = ((word ^ 0x2c2c2c2c) - 0x01010101) & ascii;
    if ((commas & (lowest - 1)) !== 0) bits |= HAS_COMMA;

    if (ends === 0) {
      at += 4;
      continue;
    }

    at += (31 - Math.clz32(lowest)) >> 3;
    if (bytes[at] === QUOTE) return ((at + 1) << 2) | bits;
    if (bytes[at] !== BACKSLASH || !isEscape(bytes, at + 1)) return -1;

    bits |= ESCAPED;
    at += 2;
  }
}

/** Where a number or a word ends. @returns -1: it is none of JSON */
function bareEnd({ bytes, view }: Cells, from: number, findings: Spacing): number {
  let at = plainEnd(bytes, view, from);
  if (at === from || BARE[bytes[at] as number] === 1) {
    for (at = from; BARE[bytes[at] as number] === 1; ) at++;
    if (!NUMBER.test(bytes.toString("latin1", from, at))) return -1;
  }

  if (at - from >= LONG_DIGITS) findings.long = true;
  return at;
}

/** Behind a word of JSON, or the digits of a number, with a fraction perhaps. */
function plainEnd(bytes: Buffer, view: DataView, from: number): number {
  const first = bytes[from] as number;
  if (first > DIGIT_NINE) {
    const word = from > bytes.length - 4 ? 0 : view.getInt32(from, true);
    if (word === NULL || word === TRUE) return from + 4;
    return word === FALS && bytes[from + 4] === LETTER_E ? from + 5 : from;
  }

  const at = first === DIGIT_ZERO ? from + 1 : digitsEnd(bytes, from);
  if (bytes[at] !== POINT || at === from) return at;
  const after = digitsEnd(bytes, at + 1);
  return after > at + 1 ? after : at;
}

/** Where any value ends. @returns -1: it is none of JSON */
function valueEnd(cells: Cells, from: number, findings: Spacing, depth: number): number {
  const { bytes } = cells;
  const first = bytes[from] as number;
  if (first === QUOTE) return textEnd(cells, from) >> 2;
  if (first !== OPEN_OBJECT && first !== OPEN_LIST) return bareEnd(cells, from, findings);
  if (depth === MOST_DEPTH) return parsedEnd(bytes, from, findings);

  const close = first === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST;
  let at = pastSpace(bytes, from + 1, findings);
  if (bytes[at] === close) return at + 1;

  for (;;) {
    if (first === OPEN_OBJECT) {
      if (bytes[at] !== QUOTE) return -1;
      at = pastSpace(bytes, textEnd(cells, at) >> 2, findings);
      if (bytes[at] !== COLON) return -1;
      at = pastSpace(bytes, at + 1, findings);
    }

    at = valueEnd(cells, at, findings, depth + 1);
    if (at < 0) return -1;

    at = pastSpace(bytes, at, findings);
    if (bytes[at] === close) return at + 1;
    if (bytes[at] !== COMMA) return -1;
    at = pastSpace(bytes, at + 1, findings);
  }
}

/** As `JSON.parse` reads it. */
function parsedEnd(bytes: Buffer, from: number, findings: Spacing): number {
  const end = skipValue(bytes, from, findings);
  return end < 0 || !isJson(bytes, from, end) ? -1 : end;
}

function pastSpace(bytes: Uint8Array, from: number, findings: Spacing): number {
  if ((bytes[from] as number) > 0x20) return from;
  findings.spaces = true;
  return skipSpace(bytes, from);
}

export class Cells {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly keys: readonly string[];
  // Two numbers for each key of each row: where its value begins (0: none; -1 first in a row:
  // nothing is known), and four times where it ends, plus ESCAPED and HAS_COMMA.
  marks = new Int32Array(0);
  /** `"key":` of each key, one after another, with the white space that stood round the colon. */
  readonly #tokens: Uint8Array;
  readonly #tokenView: DataView;
  readonly #offsets: Int32Array;
  readonly #spaced: boolean;
  readonly #expected: number;
  #rows = 0;

  private constructor(
    bytes: Buffer,
    keys: readonly string[],
    tokens: readonly Uint8Array[],
    expected: number,
  ) {
    this.keys = keys;
    this.bytes = bytes;
    this.view = viewOf(bytes);
    this.#tokens = Buffer.concat(tokens);
    this.#tokenView = viewOf(this.#tokens);
    this.#offsets = new Int32Array(keys.length + 1);

    for (const [index, token] of tokens.entries()) {
      this.#offsets[index + 1] = (this.#offsets[index] ?? 0) + token.length;
    }

    this.#spaced = tokens.some((token) => token.at(-1) !== COLON || token.at(-2) !== QUOTE);
    this.#expected = expected;
  }

  /**
   * Learns from the row that is `bytes[from, end)`.
   * @returns undefined where it is no object or an unusual one
   */
  static learn(bytes: Buffer, from: number, end: number): Cells | undefined {
    if (bytes[from] !== OPEN_OBJECT || bytes.length > MOST_BYTES) return undefined;

    const members = scanObject(bytes, from);
    if (bytes[skipSpace(bytes, members.at(-1)?.end ?? from)] !== CLOSE_OBJECT) return undefined;
    const keys = members.map(({ key }) => key);
    if (keys.length === 0 || keys.length > MOST_KEYS || new Set(keys).size < keys.length)
      return undefined;

    let before = from + 1;
    const tokens = members.map(({ start, end: after }) => {
      const token = bytes.subarray(bytes.indexOf(QUOTE, before), start);
      before = after;
      return token;
    });
    return new Cells(bytes, keys, tokens, ((bytes.length - from) / (end - from)) * 1.1 + 1);
  }

  /**
   * Scans the next row.
   * @returns the position after it, or -1 where it is another kind of row: `pass` it then
   */
  row(from: number, findings: Spacing): number {
    const { bytes, view } = this;
    const tokens = this.#tokens;
    const tokenView = this.#tokenView;
    const offsets = this.#offsets;
    const marks = this.#room();
    const width = this.keys.length;
    const lastWord = bytes.length - 4;
    let mark = this.#rows * width * 2;
    let open = true;
    if (bytes[from] !== OPEN_OBJECT) return -1;

    let at = from + 1;
    for (let column = 0; column < width; column++, mark += 2) {
      marks[mark] = 0;
      if (!open) continue;

      at = pastSpace(bytes, at, findings);

      // The key: as it was in that row, else the row does not have it, or is another kind of row.
      let token = offsets[column] as number;
      const tokenEnd = offsets[column + 1] as number;
      let start = at;

      if (at + tokenEnd - token > lastWord) return -1;

      for (
        ;
        token + 4 <= tokenEnd && view.getInt32(start) === tokenView.getInt32(token);
        token += 4
      )
        start += 4;

      while (token < tokenEnd && bytes[start] === tokens[token]) {
        token++;
        start++;
      }

      if (token < tokenEnd) continue;

      const packed =
        bytes[start] === QUOTE ? textEnd(this, start) : valueEnd(this, start, findings, 0) << 2;
      if (packed < 0) return -1;

      at = packed >> 2;
      marks[mark] = start;
      marks[mark + 1] = packed;

      at = pastSpace(bytes, at, findings);
      if (bytes[at] === CLOSE_OBJECT) open = false;
      else if (bytes[at] !== COMMA) return -1;
      at++;
    }

    if (open) return -1;

    if (this.#spaced) findings.spaces = true;
    this.#rows++;

    return at;
  }

  pass(): void {
    this.#room()[this.#rows++ * this.keys.length * 2] = -1;
  }

  #room(): Int32Array {
    const stride = this.keys.length * 2;
    if ((this.#rows + 1) * stride > this.marks.length) {
      const wider = new Int32Array(
        Math.ceil(Math.max(this.#rows * 1.5 + 1, this.#expected)) * stride,
      );
      wider.set(this.marks);
      this.marks = wider;
    }
    return this.marks;
  }
}

/**
 * What can be read of an object that is not JSON as a whole: members that are, and of an object
 * among them as much.
 */
export function readable(bytes: Buffer, from = skipSpace(bytes, 0), depth = 4) {
  const fields: [string, unknown][] = [];
  const read = (start: number): readonly [end: number, value: unknown] => {
    if (bytes[start] === OPEN_OBJECT && depth > 0) {
      const inner = readable(bytes, start, depth - 1);
      return [inner.end, inner.fields];
    }
    const end = bytes[start] === OPEN_LIST ? scanList(bytes, start).end : skipValue(bytes, start);
    return [end, end < 0 ? undefined : parsedIn(bytes, start, end)];
  };

  const members = scanObject(bytes, from, (key, start) => {
    const [end, value] = read(start);
    if (value !== undefined) fields.push([key, value]);
    return end;
  });
  const last = members.at(-1)?.end ?? from + 1;
  const after = skipSpace(bytes, last);

  const end = bytes[after] === CLOSE_OBJECT ? after + 1 : last;
  return { fields: Object.fromEntries(fields) as Readonly<Record<string, unknown>>, end };
}
