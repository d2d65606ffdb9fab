import {
  type FormulaGuard,
  guarded,
  linesText,
  type Separator,
  SPACE_AT_AN_END,
} from "./csv-text.ts";
import { type Cells, ESCAPED, HAS_COMMA, viewOf } from "./scan.ts";
import { COMMA, isInteger, OPEN_OBJECT, QUOTE } from "./tokens.ts";
import { type Cell, cellOf, parseExact } from "./values.ts";

const LOOK = new Uint8Array(256);
for (const byte of Buffer.from(" =+-@\u007f")) LOOK[byte] = 1;
for (const [from, to] of [
  [0xc2, 0xc2],
  [0xd8, 0xe3],
  [0xef, 0xf4],
] as const)
  LOOK.fill(1, from, to + 1);
const NEEDS_QUOTES: Readonly<Record<Separator, RegExp>> = { ",": /[",\r\n]/, "\t": /["\t\r\n]/ };
const NULL = 0x6c6c756e; // little-endian
const BOOLEANS = ["true", "false"].map((word) => Buffer.from(word));
const SEMICOLON = 0x3b;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

function cellText(cell: Cell, guard: FormulaGuard, separator: Separator): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const text = guarded(cell, guard);
  const isQuoted = NEEDS_QUOTES[separator].test(text) || SPACE_AT_AN_END.test(text);
  return isQuoted ? `"${text.replaceAll('"', '""')}"` : text;
}

/** CSV from the bytes of a reply: what is plain is copied into a buffer that is used again. */
export class CsvBytes {
  readonly #guard: FormulaGuard;
  readonly #lineBreak: string;
  readonly #separator: Separator;
  #out = Buffer.allocUnsafeSlow(1 << 16);
  #view = viewOf(this.#out);
  #length = 0;

  constructor(guard: FormulaGuard, lineBreak: string, separator: Separator = ",") {
    this.#guard = guard;
    this.#lineBreak = lineBreak;
    this.#separator = separator;
  }

  begin(): void {
    this.#length = 0;
  }

  bytes(): Buffer {
    return this.#out.subarray(0, this.#length);
  }

  text(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += this.#out.write(text, this.#length);
  }

  lines(rows: readonly (readonly Cell[])[]): void {
    this.text(linesText(rows, this.#guard, this.#lineBreak, this.#separator));
  }

  /**
   * Copies the row `at` of `cells`, which has `size` bytes.
   * @returns whether it was written: else it has to be parsed
   * @param sources for each column the number of its key, each at most once; below 0: an empty cell
   * @param nested whether a nested record is one cell; else it is several columns
   */
  row(
    { bytes, view, keys, marks }: Cells,
    at: number,
    size: number,
    sources: Int32Array,
    nested: boolean,
  ): boolean {
    const base = at * keys.length * 2;
    const width = sources.length;
    const guard = this.#guard;
    const separator = this.#separator === "," ? COMMA : TAB;
    if (marks[base] === -1 || width === 0) return false;

    // No plain cell is longer than its JSON.
    const room = size + width + 4;
    this.#reserve(room);

    const begin = this.#length;
    let out = this.#out;
    let outView = this.#view;
    let to = begin;
    for (let column = 0; column < width; column++) {
      if (column > 0) out[to++] = separator;

      const source = sources[column] as number;
      const start = source < 0 ? 0 : (marks[base + source * 2] as number);
      if (start === 0) continue;

      const mark = marks[base + source * 2 + 1] as number;
      const end = mark >> 2;
      const first = bytes[start] as number;
      let plain = true;
      if (first === QUOTE) {
        plain =
          (mark & ESCAPED) === 0 && (guard === "none" || LOOK[bytes[start + 1] as number] === 0);
        if (guard === "inside" && bytes.subarray(start, end).includes(SEMICOLON)) plain = false;

        if (plain) {
          // With a comma in it the JSON string, quotes and all, is the cell.
          const quoted =
            ((mark & HAS_COMMA) !== 0 && separator === COMMA) ||
            bytes[start + 1] === SPACE ||
            bytes[end - 2] === SPACE;
          if (quoted) out[to++] = QUOTE;

          const after = to + end - start - 2;
          // Reads and writes up to three bytes too many: the next cell writes over them.
          for (let from = start + 1; to < after; from += 4, to += 4)
            outView.setInt32(to, view.getInt32(from, true), true);
          to = after;
          if (quoted) out[to++] = QUOTE;
          continue;
        }
      } else if (first === OPEN_OBJECT && !nested) {
        this.#length = begin;
        return false;
      } else if (!isInteger(bytes, start, end)) {
        if (end - start === 4 && view.getInt32(start, true) === NULL) continue;
        plain = BOOLEANS.some(
          (word) => word.length === end - start && word.compare(bytes, start, end) === 0,
        );
      }

      if (plain) {
        for (let from = start; from < end; from++) out[to++] = bytes[from] as number;
        continue;
      }

      this.#length = to;
      this.text(
        cellText(cellOf(parseExact(bytes.toString("utf8", start, end))), guard, this.#separator),
      );
      this.#reserve(room);
      out = this.#out;
      outView = this.#view;
      to = this.#length;
    }

    if (width === 1 && to === begin) {
      out[to++] = QUOTE;
      out[to++] = QUOTE;
    }

    if (this.#lineBreak.length > 1) out[to++] = CARRIAGE_RETURN;
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
