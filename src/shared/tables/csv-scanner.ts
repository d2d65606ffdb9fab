import { counted } from "../contract/text.ts";

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
/** Bytes of the longest record, as of the longest line that DuckDB takes. */
export const LONGEST = 2_000_000;
/** With fewer columns a line of text is easily taken for a row. */
const ENOUGH_COLUMNS = 5;

export const CELL = { plain: 0, quoted: 1, doubled: 2 } as const;

/**
 * Finds records and cells (docs/operate/import.md). While `handle` runs the fields describe the
 * record.
 */
export class CsvScanner {
  data: Buffer = Buffer.alloc(0);
  start = 0;
  end = 0;
  line = 1;
  /** How many the record has. */
  lines = 1;
  cells = 0;
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  forms = new Uint8Array(64);
  problem: string | undefined;

  readonly #delimiter: number;
  readonly #columns: number;
  #rest: Buffer = Buffer.alloc(0);
  /** After a broken quote, until a line is fine again. */
  #doubtful = false;
  #skipping = false;
  /** Whether a row is short that the next line makes whole: neither is one. */
  #torn = false;

  constructor(delimiter: string, columns = 0, line = 1) {
    this.#delimiter = delimiter.charCodeAt(0);
    this.#columns = columns;
    this.line = line;
  }

  /**
   * `handle` is called for each whole record, and
   * returns false to stop. Lines that are blank, but for delimiters and quotes, are no records.
   */
  push(chunk: Buffer, last: boolean, handle: () => boolean): void {
    this.data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = this.#skipping ? this.#skipLine() : 0;
    for (let goesOn = true; goesOn && at < this.data.length; ) {
      this.start = at;
      let next = this.#scan(at, last);
      if (next < 0) break;
      if (this.problem === undefined && this.#isBlank()) {
        this.line += this.lines;
        at = next;
        continue;
      }

      const isBroken = this.problem !== undefined;
      let tears = false;
      if (this.#isShort()) {
        const end = this.#lineEnd(next);
        if (end < 0 && !last && this.data.length - next <= LONGEST) break;
        const more = this.#cellsOf(this.data.toString("latin1", next, end < 0 ? undefined : end));
        tears = !this.#torn && this.cells + more - 1 === this.#columns;
        while (!tears && !this.#torn && this.cells < this.#columns)
          this.#add(this.end, this.end, CELL.plain);
      }
      this.#torn = tears;
      this.problem ??= this.#doubt();

      if (this.problem === undefined) this.#doubtful = false;
      else if (isBroken || (this.lines > 1 && this.#columns >= ENOUGH_COLUMNS)) {
        next = this.#firstLine(last);
        if (next < 0) break;
        this.#doubtful = true;
      }

      goesOn = handle();
      this.line += this.lines;
      at = next;
    }

    this.#rest = this.data.subarray(at);
  }

  #scan(from: number, last: boolean): number {
    const { data } = this;
    const length = data.length;
    const delimiter = this.#delimiter;

    this.cells = 0;
    this.lines = 1;
    this.problem = undefined;

    let at = from;
    for (;;) {
      let begin = at;
      while (data[begin] === SPACE || (data[begin] === TAB && delimiter !== TAB)) begin++;
      if (data[begin] === QUOTE) {
        at = this.#quoted(begin, last);
        if (at < 0 || this.problem !== undefined) return at;
      } else {
        begin = at;
        for (; at < length; at++) {
          const byte = data[at];
          if (byte === delimiter || byte === LF || byte === CR) break;
        }
        this.#add(begin, at, CELL.plain);
      }

      if (at >= length) {
        if (!last && length - from <= LONGEST) return -1;
        if (!last) this.problem = "longer than 2 MB";
        this.end = length;
        return length;
      }

      if (data[at] === delimiter) at++;
      else break;
    }

    if (data[at] === CR && at + 1 >= length && !last) return -1;

    this.end = at;
    if (at - from > LONGEST) this.problem = "longer than 2 MB";

    return this.#afterLineEnd(at);
  }

  /**
   * @returns where the cell's closing quote and the white
   * space after it end; negative where more bytes are needed
   */
  #quoted(open: number, last: boolean): number {
    const { data, start } = this;
    let close = open + 1;
    let form: number = CELL.quoted;
    for (;;) {
      close = data.indexOf(QUOTE, close);
      if (close < 0 || close - start > LONGEST) {
        if (close < 0 && !last && data.length - start <= LONGEST) return -1;
        this.problem = "a quote is opened and not closed";
        return data.length;
      }
      if (data[close + 1] !== QUOTE) break;
      form = CELL.doubled;
      close += 2;
    }

    let after = close + 1;
    while (data[after] === SPACE || (data[after] === TAB && this.#delimiter !== TAB)) after++;
    if (after >= data.length && !last) return -1;

    const byte = data[after];
    if (byte !== undefined && byte !== this.#delimiter && byte !== LF && byte !== CR) {
      this.problem = "there is text after a closing quote";
      return after;
    }

    for (let at = open; at < close; at++) if (this.#endsLine(at)) this.lines++;
    this.#add(open + 1, close, form);

    return after;
  }

  #add(start: number, end: number, form: number): void {
    const index = this.cells++;
    if (index === this.starts.length) {
      this.starts = grown(this.starts, new Int32Array(2 * index));
      this.ends = grown(this.ends, new Int32Array(2 * index));
      this.forms = grown(this.forms, new Uint8Array(2 * index));
    }
    this.starts[index] = start;
    this.ends[index] = end;
    this.forms[index] = form;
  }

  #isBlank(): boolean {
    // Quotes around nothing are a row of a list: writers mark so that a line is none that is empty.
    if (this.cells === 1 && this.forms[0] !== CELL.plain) return false;
    for (let index = 0; index < this.cells; index++)
      for (let at = this.starts[index] ?? 0; at < (this.ends[index] ?? 0); at++)
        if (this.data[at] !== SPACE && this.data[at] !== TAB) return false;
    return true;
  }

  /** Spreadsheets leave out empty cells at the end of a row; text alone on a line is none. */
  #isShort(): boolean {
    const isPlain = this.problem === undefined && this.lines === 1 && !this.#doubtful;
    return isPlain && this.cells > 1 && this.cells < this.#columns;
  }

  #doubt(): string | undefined {
    const columns = this.#columns;
    if (columns === 0) return undefined;

    let { cells } = this;
    while (cells > columns && this.starts[cells - 1] === this.ends[cells - 1]) cells--;

    if (cells !== columns) {
      const quote = this.lines > 1 ? `with a quote that spans ${this.lines} lines ` : "";
      return `${quote}${counted(cells, "cell")} where the header has ${columns}`;
    }
    if (this.lines > 1 && columns > 2 && this.#isRowsByItself())
      return "a quoted cell swallows lines that are rows";
    if (!this.#doubtful) return undefined;

    for (let index = 0; index < cells; index++) {
      const quote =
        this.forms[index] === CELL.plain ? this.data.indexOf(QUOTE, this.starts[index]) : -1;
      if (quote >= 0 && quote < (this.ends[index] ?? 0))
        return "a quote within a cell, after a line with a broken one";
    }

    return undefined;
  }

  /** Of a line without quotes. */
  #cellsOf(line: string): number {
    return line.split(String.fromCharCode(this.#delimiter)).length;
  }

  #isRowsByItself(): boolean {
    const lines = this.data.toString("latin1", this.start, this.end).split(/\r\n?|\n/);
    return lines.every((line) => this.#cellsOf(line) === this.#columns);
  }

  #firstLine(last: boolean): number {
    const end = this.#lineEnd(this.start);
    this.lines = 1;
    if (end >= 0 && (end + 1 < this.data.length || last)) {
      this.end = end;
      return this.#afterLineEnd(end);
    }
    if (!last && this.data.length - this.start <= LONGEST) return -1;
    this.end = this.data.length;
    this.#skipping = true;
    return this.data.length;
  }

  #endsLine(at: number): boolean {
    const byte = this.data[at];
    return byte === LF || (byte === CR && this.data[at + 1] !== LF);
  }

  #lineEnd(from: number): number {
    for (let at = from; at < this.data.length; at++)
      if (this.data[at] === LF || this.data[at] === CR) return at;
    return -1;
  }

  #afterLineEnd(at: number): number {
    return at + (this.data[at] === CR && this.data[at + 1] === LF ? 2 : 1);
  }

  #skipLine(): number {
    const end = this.#lineEnd(0);
    if (end < 0) return this.data.length;
    this.#skipping = false;
    return this.#afterLineEnd(end);
  }
}

function grown<Kind extends Int32Array | Uint8Array>(from: Kind, to: Kind): Kind {
  to.set(from);
  return to;
}

/** The cells of the record, as text. */
export const cellTexts = ({ cells, data, starts, ends, forms }: CsvScanner): string[] =>
  Array.from({ length: cells }, (_, index) => {
    const text = data.toString("utf8", starts[index], ends[index]);
    return forms[index] === CELL.doubled ? text.replaceAll('""', '"') : text;
  });
