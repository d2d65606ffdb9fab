import {
  BACKSLASH,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  type Findings,
  LONG_DIGITS,
  malformed,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  skipSpace,
  skipString,
  skipValue,
} from "./tokens.ts";

/*
 * The records of a page nearly always carry the same keys in the same order, spelled the same. Where they do, a row is scanned by
 * comparing the bytes of its keys with those of one of the first rows, and where each value stands is written down on the way: CSV is then
 * copied value by value, and ids are read, without `JSON.parse` and without a second search. Four bytes are looked at in one go
 * (docs/performance.md has what that saves).
 */

/** Where the values of the rows of a page stand. */
export interface Cells {
  readonly bytes: Buffer;
  /** The same bytes, to look at four of them at once. */
  readonly view: DataView;
  /** The keys that rows were compared with; every one but once. */
  readonly keys: readonly string[];
  /**
   * Two numbers for each key of each row: where its value begins, and twice where it ends, plus 1 for a string with escapes.
   * A begin of 0: the row does not have this key. A row whose first number is -1 is another kind of row, of which nothing is
   * known here.
   */
  readonly marks: Int32Array;
}

// A wider record is as likely a hostile one.
const MOST_KEYS = 1_000;
// Twice a position has to stay within 32 bits.
const MOST_BYTES = 2 ** 30 - 1;

// What numbers, `true`, `false` and `null` are made of.
const BARE = new Uint8Array(256);
for (const byte of Buffer.from("0123456789+-.eEtrufalsn")) BARE[byte] = 1;

/** The bytes as a view that reads four of them at once. */
export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Scans rows that look like one of them. */
export class CellScanner implements Cells {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly keys: readonly string[];
  marks = new Int32Array(0);
  /** `"key":` of each key, one after another, with the white space that stood round the colon. */
  readonly #tokens: Uint8Array;
  readonly #tokenView: DataView;
  /** Where each of them begins in `#tokens`, and where the last one ends. */
  readonly #offsets: Int32Array;
  readonly #spaced: boolean;
  /** How many rows there are likely to be. */
  readonly #expected: number;
  #rows = 0;

  private constructor(bytes: Buffer, keys: readonly string[], tokens: readonly Uint8Array[], expected: number) {
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
   * @returns undefined where it is no object or an unusual one (no keys, very many, one of them twice)
   */
  static learn(bytes: Buffer, from: number, end: number): CellScanner | undefined {
    if (bytes[from] !== OPEN_OBJECT || bytes.length > MOST_BYTES) return undefined;
    const keys = new Set<string>();
    const tokens: Uint8Array[] = [];
    let at = skipSpace(bytes, from + 1);
    while (bytes[at] === QUOTE && tokens.length < MOST_KEYS) {
      const keyEnd = skipString(bytes, at);
      const colon = skipSpace(bytes, keyEnd);
      if (bytes[colon] !== COLON) return undefined;
      const start = skipSpace(bytes, colon + 1);
      tokens.push(bytes.subarray(at, start));
      const key = keyOf(bytes.subarray(at, keyEnd));
      if (key === undefined || keys.has(key)) return undefined;
      keys.add(key);
      at = skipSpace(bytes, skipValue(bytes, start));
      if (bytes[at] === CLOSE_OBJECT) {
        // Room for a few more rows than there are if all are as long as this one.
        return new CellScanner(bytes, [...keys], tokens, ((bytes.length - from) / (end - from)) * 1.1 + 1);
      }
      if (bytes[at] !== COMMA) return undefined;
      at = skipSpace(bytes, at + 1);
    }
    return undefined;
  }

  /**
   * Scans the next row and writes down where its values stand.
   * @returns the position after it, or -1 where it is another kind of row: `pass` it then
   */
  row(from: number, findings: Findings): number {
    const bytes = this.bytes;
    const view = this.view;
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
        at = skipSpace(bytes, at) | 0;
        spaced = true;
      }
      // The key: as it was in that row, else the row does not have it, or is another kind of row.
      let token = offsets[column] as number;
      const tokenEnd = offsets[column + 1] as number;
      const start = at + tokenEnd - token;
      if (start > lastWord) return -1;
      let key = at;
      while (token + 4 <= tokenEnd && view.getInt32(key) === tokenView.getInt32(token)) {
        token += 4;
        key += 4;
      }
      while (token < tokenEnd && bytes[key] === tokens[token]) {
        token++;
        key++;
      }
      if (token < tokenEnd) continue;
      // The value.
      at = start;
      let escaped = 0;
      const first = bytes[at] as number;
      if (first === QUOTE) {
        at++;
        for (;;) {
          if (at > lastWord) return -1;
          const word = view.getInt32(at, true);
          // Zero bytes are found by what a subtraction borrows: here quotes, backslashes, and what is below 0x20.
          const quotes = word ^ 0x22222222;
          const slashes = word ^ 0x5c5c5c5c;
          const hit =
            (((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes) | ((word - 0x20202020) & ~word)) &
            0x80808080;
          if (hit === 0) {
            at += 4;
            continue;
          }
          // The lowest bit that is set belongs to the first byte that needs a look; a borrow reaches only the bytes above it.
          at += (31 - Math.clz32(hit & -hit)) >> 3;
          const byte = bytes[at] as number;
          if (byte === QUOTE) break;
          if (byte !== BACKSLASH) throw malformed(at);
          escaped = 1;
          at += 2;
        }
        at++;
      } else if (first === OPEN_OBJECT || first === OPEN_LIST) {
        at = skipValue(bytes, at, findings) | 0;
      } else {
        while (BARE[bytes[at] as number] === 1) at++;
        if (at === start) return -1;
        if (at - start >= LONG_DIGITS) long = true;
      }
      marks[mark] = start;
      marks[mark + 1] = (at << 1) | escaped;
      if ((bytes[at] as number) <= 0x20) {
        at = skipSpace(bytes, at) | 0;
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

  /** Whether the row that is `bytes[from, end)` has all of these keys and others: those are better known, too. */
  isPartOf(from: number, end: number): boolean {
    const other = CellScanner.learn(this.bytes, from, end)?.keys ?? [];
    return other.length > this.keys.length && this.keys.every((key) => other.includes(key));
  }

  /** Counts a row of another kind. */
  pass(): void {
    this.#room()[this.#rows++ * this.keys.length * 2] = -1;
  }

  /** The marks, with room for one more row. */
  #room(): Int32Array {
    const stride = this.keys.length * 2;
    if ((this.#rows + 1) * stride > this.marks.length) {
      const wider = new Int32Array(Math.ceil(Math.max(this.#rows * 1.5 + 1, this.#expected)) * stride);
      wider.set(this.marks);
      this.marks = wider;
    }
    return this.marks;
  }
}

function keyOf(token: Uint8Array): string | undefined {
  try {
    return JSON.parse(Buffer.from(token).toString()) as string;
  } catch {
    return undefined;
  }
}
