// The one scanner of replies. It finds rows without parsing them, so NDJSON
// and JSON are what was paid for; of rows with the keys of the first one it
// notes where each value stands, to copy CSV (docs/performance.md, Exports).
import { type CliError, failed } from "../errors.ts";

export const QUOTE = 0x22;
export const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

export const ESCAPED = 1;
export const HAS_COMMA = 2;
const LONG_DIGITS = 16;
// Four times a position has to stay within 32 bits; a wider record is as likely a hostile one.
const MOST_BYTES = 2 ** 29 - 1;
const MOST_KEYS = 1_000;

const BARE = new Uint8Array(256);
for (const byte of Buffer.from("0123456789+-.eEtrufalsn")) BARE[byte] = 1;

export interface Spans {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Nothing but single commas between rows and no white space between the tokens of any row. */
  readonly tight: boolean;
  /** Some number has sixteen digits or more: an integer may be beyond 2^53. */
  readonly long: boolean;
  readonly cells?: Cells | undefined;
}

interface Findings {
  spaces: boolean;
  long: boolean;
}

export interface Member {
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

/**
 * A paid reply of which nothing can be made: it stays kept,
 * and whoever reads it ends incomplete, now and later.
 */
export const unreadable = (message: string): CliError =>
  failed.incomplete(message, undefined, "unreadable_reply");

export const malformed = (at: number): CliError =>
  unreadable(`the reply is no valid JSON near byte ${at}`);

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

function skipString(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; ; ) {
    const byte = bytes[at] as number;
    if (byte > BACKSLASH) at++;
    else if (byte === QUOTE) return at + 1;
    else if (byte === BACKSLASH) at += 2;
    else if (byte >= 0x20) at++;
    else throw malformed(at);
  }
}

function skipValue(bytes: Uint8Array, from: number, findings?: Findings): number {
  const length = bytes.length;
  const first = bytes[from];
  if (first === QUOTE) return skipString(bytes, from);

  let at = from;
  if (first !== OPEN_OBJECT && first !== OPEN_LIST) {
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST || byte <= 0x20) break;
    }
    if (at === from) throw malformed(at);
    if (findings !== undefined && at - from >= LONG_DIGITS) findings.long = true;
    return at;
  }

  let depth = 0;
  let digits = 0;
  while (at < length) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      continue;
    }

    at++;

    if (byte >= ZERO && byte <= NINE) {
      if (++digits === LONG_DIGITS && findings !== undefined) findings.long = true;
      continue;
    }

    digits = 0;

    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (--depth === 0) return at;
    } else if (byte <= 0x20 && findings !== undefined) findings.spaces = true;
  }

  throw malformed(from);
}

/**
 * The members of the object that begins at `from`;
 * `visit` may take a value over and return where it ends.
 */
export function scanObject(
  bytes: Buffer,
  from: number,
  visit?: (key: string, start: number) => number | undefined,
): Member[] {
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

export function scanList(bytes: Buffer, from: number): Spans & { readonly end: number } {
  const starts: number[] = [];
  const ends: number[] = [];
  const findings: Findings = { spaces: false, long: false };
  let at = skipSpace(bytes, from + 1);
  if (bytes[at] === CLOSE_LIST) return { starts, ends, tight: true, long: false, end: at + 1 };

  const cells = Cells.learn(bytes, at, skipValue(bytes, at));
  for (;;) {
    let end = cells?.row(at, findings) ?? -1;
    if (end < 0) {
      end = skipValue(bytes, at, findings);
      cells?.pass();
    }

    starts.push(at);
    ends.push(end);

    const separator = skipSpace(bytes, end);
    if (bytes[separator] === CLOSE_LIST) {
      return {
        starts,
        ends,
        tight: !findings.spaces,
        long: findings.long,
        cells,
        end: separator + 1,
      };
    }
    if (bytes[separator] !== COMMA) throw malformed(separator);

    at = skipSpace(bytes, separator + 1);
    if (separator !== end || at !== separator + 1) findings.spaces = true;
  }
}

/** Whether a token is an integer whose text stays as it is: not -0, no fraction, no exponent. */
export function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (at === end || (bytes[at] === ZERO && end - start > 1)) return false;
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > NINE) return false;
  }
  return true;
}

export function compact(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const out = new Uint8Array(end - start);
  let length = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at] as number;
    const after = byte === QUOTE ? skipString(bytes, at) : at + 1;
    if (byte > 0x20) {
      out.set(bytes.subarray(at, after), length);
      length += after - at;
    }
    at = after;
  }

  return out.subarray(0, length);
}

/**
 * The bytes as a view that reads four of them at once:
 * what is most felt of an export is done in such steps.
 */
export const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * The bytes of a word that are zero, as their highest
 * bits; a borrow may set bits above the lowest one.
 */
const zeroBytes = (word: number): number => (word - 0x01010101) & ~word & 0x80808080;

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

    let members: Member[];
    try {
      members = scanObject(bytes, from);
    } catch {
      return undefined;
    }

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
  row(from: number, findings: Findings): number {
    const { bytes, view } = this;
    const tokens = this.#tokens;
    const tokenView = this.#tokenView;
    const offsets = this.#offsets;
    const marks = this.#room();
    const width = this.keys.length;
    const lastWord = bytes.length - 4;
    let mark = this.#rows * width * 2;
    let spaced = this.#spaced;
    let long = false;
    let open = true;
    if (bytes[from] !== OPEN_OBJECT) return -1;

    let at = from + 1;
    for (let column = 0; column < width; column++, mark += 2) {
      marks[mark] = 0;
      if (!open) continue;

      if ((bytes[at] as number) <= 0x20) {
        at = skipSpace(bytes, at);
        spaced = true;
      }

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

      let bits = 0;
      const first = bytes[start] as number;
      at = start;

      if (first === QUOTE) {
        for (at++; ; ) {
          if (at > lastWord) return -1;

          const word = view.getInt32(at, true);
          const controls = (word - 0x20202020) & ~word & 0x80808080;
          const ends = zeroBytes(word ^ 0x22222222) | zeroBytes(word ^ 0x5c5c5c5c) | controls;
          const lowest = ends & -ends;
          if ((zeroBytes(word ^ 0x2c2c2c2c) & (lowest - 1)) !== 0) bits |= HAS_COMMA;

          if (ends === 0) {
            at += 4;
            continue;
          }

          at += (31 - Math.clz32(lowest)) >> 3;
          if (bytes[at] === QUOTE) break;
          if (bytes[at] !== BACKSLASH) throw malformed(at);

          bits |= ESCAPED;
          at += 2;
        }

        at++;
      } else if (first === OPEN_OBJECT || first === OPEN_LIST) {
        at = skipValue(bytes, at, findings);
      } else {
        while (BARE[bytes[at] as number] === 1) at++;
        if (at === start) return -1;
        if (at - start >= LONG_DIGITS) long = true;
      }

      marks[mark] = start;
      marks[mark + 1] = (at << 2) | bits;

      if ((bytes[at] as number) <= 0x20) {
        at = skipSpace(bytes, at);
        spaced = true;
      }

      if (bytes[at] === CLOSE_OBJECT) open = false;
      else if (bytes[at] !== COMMA) return -1;
      at++;
    }

    if (open) return -1;

    if (spaced) findings.spaces = true;
    if (long) findings.long = true;
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
