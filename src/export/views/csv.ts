import { stringify } from "csv-stringify/sync";
import { type Cell, cellOf, eachCell, fieldValue, publishedFields, sortColumns } from "./columns.ts";
import { stringifyExact } from "./exact.ts";
import type { Page } from "./page.ts";
import type { JsonRecord, JsonValue, RecordKind, View } from "./types.ts";

const BOM = "\ufeff";
// What spreadsheets run as a formula: these characters and their full-width forms, also behind leading white space.
const FORMULA = /^\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;

/** Whether a spreadsheet might run a text as a formula. Checks one character for nearly every text. */
function isFormula(text: string): boolean {
  const first = text.charCodeAt(0);
  if ((first > 0x40 && first < 0x80) || (first > 0x2f && first < 0x3d)) return false;
  return FORMULA.test(text);
}

/** A text that a spreadsheet might run gets a leading apostrophe. Never numbers. */
export const guarded = (cell: Cell): Cell => (typeof cell === "string" && isFormula(cell) ? `'${cell}` : cell);

export interface CsvStyle {
  /** BOM and CRLF. */
  readonly excel?: boolean | undefined;
  /** No formula guard. */
  readonly raw?: boolean | undefined;
}

/** Rows as CSV text, without a BOM: headers, and the small tables of `count --by` and `spend`. */
export function csvText(rows: readonly (readonly Cell[])[], style: CsvStyle = {}): string {
  if (rows.length === 0) return "";
  const cells = style.raw === true ? rows : rows.map((row) => row.map(guarded));
  return stringify(cells as Cell[][], {
    record_delimiter: style.excel === true ? "windows" : "unix",
    // Also the line break that is not this document's own: readers disagree on which of them ends a row.
    quote_record_delimiter: true,
    cast: { boolean: String },
  });
}

/** A whole small CSV document: header and rows. */
export const csvDocument = (
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: CsvStyle = {},
): string => `${style.excel === true ? BOM : ""}${csvText([columns, ...rows], style)}`;

const NEEDS_QUOTES = /[",\r\n]/;

/**
 * One cell as csv-stringify writes it. By hand for pages, because it is half of what a row costs (docs/performance.md); a test
 * holds it equal to csv-stringify.
 */
function cellText(cell: Cell, raw: boolean): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const text = raw || !isFormula(cell) ? cell : `'${cell}`;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

interface CsvOptions extends CsvStyle {
  readonly kind: RecordKind;
  readonly columns?: readonly string[] | undefined;
  readonly extra?: boolean | undefined;
}

/** CSV page by page, in one go for each; no per-row streams. */
export class CsvView implements View {
  readonly unseen = new Set<string>();
  readonly #options: CsvOptions;
  #columns: readonly string[] | undefined;
  #index: ReadonlyMap<string, number> = new Map();
  #extra: string | undefined;
  #started = false;

  constructor(options: CsvOptions) {
    this.#options = options;
    if (options.columns !== undefined) this.#fix(options.columns);
  }

  get columns(): readonly string[] | undefined {
    return this.#columns;
  }

  page(page: Page): string {
    if (page.length === 0) return "";
    const rows = page.rows();
    if (this.#columns === undefined) {
      const found = new Set<string>();
      for (const row of rows) eachCell(row, (column) => found.add(column));
      this.#fix(sortColumns(found, this.#options.kind));
    }
    const lineBreak = this.#options.excel === true ? "\r\n" : "\n";
    let text = this.#header();
    for (const row of rows) text += (this.#plainLine(row) ?? this.#line(row)) + lineBreak;
    return text;
  }

  end(): string {
    if (this.#columns === undefined) this.#fix(publishedFields(this.#options.kind));
    return this.#header();
  }

  #fix(columns: readonly string[]): void {
    this.#columns = columns;
    this.#index = new Map(columns.map((column, index) => [column, index]));
    if (this.#options.extra === true && this.#options.columns === undefined) {
      let name = "extra";
      while (this.#index.has(name)) name += "_";
      this.#extra = name;
    }
  }

  #header(): string {
    if (this.#started) return "";
    this.#started = true;
    const columns = this.#columns ?? [];
    const names = this.#extra === undefined ? columns : [...columns, this.#extra];
    return `${this.#options.excel === true ? BOM : ""}${csvText([names], this.#options)}`;
  }

  /**
   * The line of a record whose members are exactly the columns, in their order and without nesting: nearly every record.
   * @returns undefined for every other record
   */
  #plainLine(row: JsonRecord): string | undefined {
    const columns = this.#columns ?? [];
    if (columns.length < 2) return undefined;
    const raw = this.#options.raw === true;
    let line = "";
    let index = 0;
    for (const key in row) {
      const value = row[key];
      if (key !== columns[index] || value === undefined || (typeof value === "object" && value !== null))
        return undefined;
      line += index === 0 ? cellText(value, raw) : `,${cellText(value, raw)}`;
      index++;
    }
    if (index !== columns.length) return undefined;
    return this.#extra === undefined ? line : `${line},`;
  }

  #line(row: JsonRecord): string {
    const cells = this.#options.columns === undefined ? this.#cells(row) : this.#pinnedCells(row);
    const raw = this.#options.raw === true;
    const line = cells.map((cell) => cellText(cell, raw)).join(",");
    // A lone empty cell would be an empty line, which readers skip: the row would be lost.
    return line === "" && cells.length === 1 ? '""' : line;
  }

  #pinnedCells(row: JsonRecord): Cell[] {
    const columns = this.#columns ?? [];
    return columns.map((column) => {
      const value = fieldValue(row, column);
      return value === undefined ? null : cellOf(value);
    });
  }

  #cells(row: JsonRecord): Cell[] {
    const width = this.#index.size + (this.#extra === undefined ? 0 : 1);
    const cells = new Array<Cell>(width).fill(null);
    let rest: Record<string, JsonValue> | undefined;
    const put = (column: string, value: JsonValue): void => {
      const index = this.#index.get(column);
      if (index !== undefined) cells[index] = cellOf(value);
      else if (this.#extra === undefined) this.unseen.add(column);
      else {
        rest ??= Object.create(null) as Record<string, JsonValue>;
        rest[column] = value;
      }
    };
    eachCell(row, put);
    if (rest !== undefined) cells[width - 1] = stringifyExact(rest);
    return cells;
  }
}
