import { type Cells, viewOf } from "./cells.ts";
import { cellOf } from "./columns.ts";
import { cellText, isFormula } from "./csv-cell.ts";
import { parseAny } from "./exact.ts";
import { BACKSLASH, COMMA, isInteger, OPEN_OBJECT, QUOTE } from "./tokens.ts";

/*
 * CSV rows from the bytes of a reply, without strings: what is plain is copied from one buffer into another, four bytes at a time.
 * What is not plain takes the general way, a cell or a row at a time. A test holds both ways equal.
 */

const APOSTROPHE = 0x27;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LETTER_E = 0x65;
// `null`, `true` and the first four letters of `false` as little-endian numbers.
const NULL = 0x6c6c756e;
const TRUE = 0x65757274;
const FALS = 0x736c6166;

// By the first byte of a text: whether a spreadsheet runs it. It may where the byte is a space, or begins some white space beyond
// ASCII or a full-width form: the general code looks then. Every other byte that a plain string begins with is safe.
const RUNS = 1;
const MAY_RUN = 2;
const GUARDED = new Uint8Array(256);
for (const byte of Buffer.from("=+-@")) GUARDED[byte] = RUNS;
for (const byte of [0x20, 0xc2, 0xe1, 0xe2, 0xe3, 0xef]) GUARDED[byte] = MAY_RUN;
const UNGUARDED = new Uint8Array(256);

// What stands behind a backslash for which byte, `u` aside, and hexadecimal digits by their value and one; else 0.
const LETTER_U = 0x75;
const ESCAPES = new Uint8Array(256);
for (const [index, letter] of [...Buffer.from('"\\/bfnrt')].entries()) {
  ESCAPES[letter] = Buffer.from('"\\/\b\f\n\r\t')[index] ?? 0;
}
const HEX = new Uint8Array(256);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  HEX[digit.charCodeAt(0)] = value + 1;
  HEX[digit.toUpperCase().charCodeAt(0)] = value + 1;
}

/** Writes rows into one buffer, which is used again for the next page. */
export class CsvRows {
  readonly #raw: boolean;
  readonly #crlf: boolean;
  #out = Buffer.allocUnsafeSlow(1 << 16);
  #view = viewOf(this.#out);
  #length = 0;

  constructor(raw: boolean, crlf: boolean) {
    this.#raw = raw;
    this.#crlf = crlf;
  }

  /** Forgets what was written. */
  begin(): void {
    this.#length = 0;
  }

  /** What was written since `begin`. Good until more is written. */
  bytes(): Buffer {
    return this.#out.subarray(0, this.#length);
  }

  text(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += this.#out.write(text, this.#length);
  }

  /** A row by the general code. */
  line(line: string): void {
    this.text(line);
    this.text(this.#crlf ? "\r\n" : "\n");
  }

  /**
   * The row of which `cells` tell.
   * @param at which of their rows
   * @param size its bytes
   * @param sources for each column the number of its key, each at most once; below 0: an empty cell
   * @param nested whether a nested record is one cell; else it is several columns, which takes the general code
   * @returns whether it was written: else it takes the general code
   * @throws SyntaxError where a value is no JSON
   */
  row({ bytes, view, keys, marks }: Cells, at: number, size: number, sources: Int32Array, nested: boolean): boolean {
    const base = at * keys.length * 2;
    const width = sources.length;
    if (marks[base] === -1 || width === 0) return false;
    // No plain cell is longer than its JSON and an apostrophe; what the general code makes of a cell may be longer, and takes
    // from the room above that.
    const plain = size + width * 2 + 8;
    this.#reserve(plain * 4);
    const out = this.#out;
    const outView = this.#view;
    const guard = this.#raw ? UNGUARDED : GUARDED;
    let to = this.#length;
    for (let column = 0; column < width; column++) {
      if (column > 0) out[to++] = COMMA;
      const source = sources[column] as number;
      if (source < 0) continue;
      const start = marks[base + source * 2] as number;
      if (start === 0) continue;
      const mark = marks[base + source * 2 + 1] as number;
      const end = mark >> 1;
      const first = bytes[start] as number;
      if (first === QUOTE) {
        const runs = guard[bytes[start + 1] as number] as number;
        if ((mark & 1) === 1) {
          const after = runs === 0 ? copyEscaped(bytes, start + 1, end - 1, out, to) : -1;
          if (after >= 0) {
            to = after;
            continue;
          }
        } else if (runs !== MAY_RUN || !isFormula(bytes.toString("utf8", start + 1, end - 1))) {
          const from = start + 1;
          const length = end - 1 - from;
          if (runs === RUNS) out[to++] = APOSTROPHE;
          let commas = 0;
          let done = 0;
          // Reads and writes up to three bytes too many: the reply goes on for that long, and the next cell writes over them.
          for (; done < length; done += 4) {
            const word = view.getInt32(from + done, true);
            outView.setInt32(to + done, word, true);
            const left = length - done;
            const other = (left < 4 ? word & ((1 << (left << 3)) - 1) : word) ^ 0x2c2c2c2c;
            commas |= (other - 0x01010101) & ~other;
          }
          to += length;
          if ((commas & 0x80808080) !== 0) {
            const begin = to - length - (runs === RUNS ? 1 : 0);
            out.copyWithin(begin + 1, begin, to);
            out[begin] = QUOTE;
            out[to + 1] = QUOTE;
            to += 2;
          }
          continue;
        }
      } else if (first === OPEN_OBJECT) {
        if (!nested) return false;
      } else {
        const after = copyBare(bytes, view, start, end, out, to);
        if (after >= 0) {
          to = after;
          continue;
        }
      }
      const text = cellText(cellOf(parseAny(bytes.toString("utf8", start, end))), this.#raw);
      if (to + text.length * 3 + plain > out.length) return false;
      to += out.write(text, to);
    }
    // A lone empty cell would be an empty line, which readers skip: the row would be lost.
    if (width === 1 && to === this.#length) {
      out[to++] = QUOTE;
      out[to++] = QUOTE;
    }
    if (this.#crlf) out[to++] = CARRIAGE_RETURN;
    out[to++] = LINE_FEED;
    this.#length = to;
    return true;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#out.length) return;
    const wider = Buffer.allocUnsafeSlow(Math.max(this.#out.length * 2, this.#length + more));
    this.#out.copy(wider, 0, 0, this.#length);
    this.#out = wider;
    this.#view = viewOf(wider);
  }
}

/**
 * Copies the inside of a string with escapes. A pair of them that makes one character, and one that the text begins with, are left
 * to the general code.
 * @returns the position after it, or -1
 */
function copyEscaped(bytes: Uint8Array, start: number, end: number, out: Buffer, begin: number): number {
  if (bytes[start] === BACKSLASH && bytes[start + 1] !== QUOTE) return -1;
  let quoted = false;
  let to = begin + 1;
  for (let from = start; from < end; ) {
    let code = bytes[from++] as number;
    if (code === BACKSLASH) {
      const letter = bytes[from++] as number;
      code = ESCAPES[letter] as number;
      if (code === 0) {
        code = letter === LETTER_U ? fourDigits(bytes, from) : -1;
        from += 4;
        if (code < 0 || (code & 0xf800) === 0xd800) return -1;
        if (code > 0x7f) {
          if (code > 0x7ff) {
            out[to++] = 0xe0 | (code >> 12);
            out[to++] = 0x80 | ((code >> 6) & 0x3f);
          } else out[to++] = 0xc0 | (code >> 6);
          out[to++] = 0x80 | (code & 0x3f);
          continue;
        }
      }
      if (code === QUOTE) out[to++] = QUOTE;
      if (code === QUOTE || code === LINE_FEED || code === CARRIAGE_RETURN) quoted = true;
    }
    if (code === COMMA) quoted = true;
    out[to++] = code;
  }
  if (!quoted) {
    out.copyWithin(begin, begin + 1, to);
    return to - 1;
  }
  out[begin] = QUOTE;
  out[to++] = QUOTE;
  return to;
}

/** The number of four hexadecimal digits, or -1. */
function fourDigits(bytes: Uint8Array, from: number): number {
  let number = 0;
  for (let at = from; at < from + 4; at++) {
    const digit = HEX[bytes[at] as number] as number;
    if (digit === 0) return -1;
    number = number * 16 + digit - 1;
  }
  return number;
}

/** Copies a literal or an integer. @returns the position after it, or -1 where it is neither */
function copyBare(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  out: Uint8Array,
  begin: number,
): number {
  if (!isInteger(bytes, start, end)) {
    const length = end - start;
    const word = view.getInt32(start, true);
    if (length === 4 && word === NULL) return begin;
    const isFalse = length === 5 && word === FALS && bytes[end - 1] === LETTER_E;
    if (!isFalse && (length !== 4 || word !== TRUE)) return -1;
  }
  let to = begin;
  for (let from = start; from < end; from++) out[to++] = bytes[from] as number;
  return to;
}
