import {
  type FormulaGuard,
  guarded,
  linesText,
  type Separator,
  SPACE_AT_AN_END,
} from "./csv-text.ts";
import { GrowingBytes } from "./growing-bytes.ts";
import { aligned, RowMachine } from "./machine.ts";
import type { Cells } from "./scan.ts";
import { type Cell, cellOf, parseExact } from "./values.ts";

/** Bytes at which a text may begin that a spreadsheet might run. */
const LOOK = Buffer.alloc(256);
for (const byte of Buffer.from(" =+-@\u007f")) LOOK[byte] = 1;
for (const [from, to] of [
  [0xc2, 0xc2],
  [0xd8, 0xe3],
  [0xef, 0xf4],
] as const)
  LOOK.fill(1, from, to + 1);
const GUARDS: readonly FormulaGuard[] = ["none", "start", "inside"];
/** What the machine writes beyond its last cell. */
const SLACK = 16;
const NEEDS_QUOTES: Readonly<Record<Separator, RegExp>> = { ",": /[",\r\n]/, "\t": /["\t\r\n]/ };
function cellText(cell: Cell, guard: FormulaGuard, separator: Separator): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const text = guarded(cell, guard);
  const isQuoted = NEEDS_QUOTES[separator].test(text) || SPACE_AT_AN_END.test(text);
  return isQuoted ? `"${text.replaceAll('"', '""')}"` : text;
}

interface Rows {
  readonly cells: Cells;
  /** The number of each row among those of `cells`. */
  readonly positions: readonly number[];
  /** For each column the number of its key, each at most once; below 0: an empty cell. */
  readonly sources: readonly number[];
  /** Whether a nested record is one cell; else it is several columns. */
  readonly nested: boolean;
}

/** CSV from the bytes of a reply: what is plain is copied, into memory that is used again. */
export class CsvBytes {
  readonly #guard: FormulaGuard;
  readonly #lineBreak: string;
  readonly #separator: Separator;
  readonly #out = new GrowingBytes();

  constructor(guard: FormulaGuard, lineBreak: string, separator: Separator = ",") {
    this.#guard = guard;
    this.#lineBreak = lineBreak;
    this.#separator = separator;
  }

  begin(): void {
    this.#out.clear();
  }

  bytes(): Buffer {
    return this.#out.bytes;
  }

  text(text: string): void {
    this.#out.text(text);
  }

  lines(rows: readonly (readonly Cell[])[]): void {
    this.text(this.#linesText(rows));
  }

  /**
   * Copies rows.
   * @param parsed the cells of a row that cannot be copied
   * @returns false: nothing is written, each has to be parsed
   */
  rows(
    { cells, positions, sources, nested }: Rows,
    parsed: (index: number) => readonly Cell[],
  ): boolean {
    const machine = RowMachine.for(cells.bytes);
    const records = machine?.hold(cells.bytes);
    if (machine === undefined || records === undefined) return false;

    const rows = records + cells.records.length * 4;
    const columns = rows + positions.length * 4;
    const look = columns + sources.length * 4;
    const out = aligned(look + LOOK.length);
    // No plain cell is longer than its JSON.
    const room = cells.bytes.length + positions.length * (sources.length + 4) + SLACK;
    if (!machine.reserve(out + room)) return false;
    machine.words.set(cells.records, records / 4);
    machine.words.set(positions, rows / 4);
    machine.words.set(sources, columns / 4);
    machine.bytes.set(LOOK, look);

    const { code } = machine;
    const form = [
      GUARDS.indexOf(this.#guard),
      this.#separator.charCodeAt(0),
      this.#lineBreak.length - 1,
      Number(nested),
    ];
    const places = [records, cells.keys.length, rows, positions.length, columns, sources.length];
    for (let row = 0, column = 0, at = out; ; ) {
      const stop = code.csv(...places, look, ...form, row, column, at);
      at = code.ended();
      if (stop === 0) {
        this.#out.span(machine.bytes.subarray(out, at));
        return true;
      }

      row = code.stoppedRow();
      column = stop === 1 ? code.stoppedColumn() + 1 : 0;
      const text =
        stop === 1
          ? this.#cellText(cells, positions[row] ?? 0, sources[column - 1] ?? 0)
          : this.#linesText([parsed(row++)]);
      if (!machine.reserve(at + text.length * 3 + room))
        throw new RangeError("no memory for a page of CSV");
      at += machine.bytes.write(text, at);
    }
  }

  /** As `linesText` has them, which takes four times as long. */
  #linesText(rows: readonly (readonly Cell[])[]): string {
    if (rows[0]?.length === 1)
      return linesText(rows, this.#guard, this.#lineBreak, this.#separator);
    const textOf = (cell: Cell): string => cellText(cell, this.#guard, this.#separator);
    return rows.map((row) => row.map(textOf).join(this.#separator) + this.#lineBreak).join("");
  }

  #cellText(cells: Cells, row: number, key: number): string {
    const json = cells.bytes.toString("utf8", cells.start(row, key), cells.mark(row, key) >> 2);
    return cellText(cellOf(parseExact(json)), this.#guard, this.#separator);
  }
}
