import { stringify } from "csv-stringify/sync";
import { type Cell, ColumnUnion, cellOf, eachCell, fieldValue, publishedFields } from "./columns.ts";
import { cellText, guarded } from "./csv-cell.ts";
import { CsvRows } from "./csv-rows.ts";
import { stringifyExact } from "./exact.ts";
import type { Page } from "./page.ts";
import type { JsonRecord, JsonValue, RecordKind, View } from "./types.ts";

const BOM = "\ufeff";

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

interface CsvOptions extends CsvStyle {
  readonly kind: RecordKind;
  readonly columns?: readonly string[] | undefined;
  readonly extra?: boolean | undefined;
}

/**
 * CSV page by page, in one go for each; no per-row streams. Rows of which a page knows where their values stand are copied from its
 * bytes (csv-rows.ts), all others are parsed.
 */
export class CsvView implements View {
  readonly unseen = new Set<string>();
  readonly #options: CsvOptions;
  readonly #rows: CsvRows;
  #columns: readonly string[] | undefined;
  #index: ReadonlyMap<string, number> = new Map();
  #extra: string | undefined;
  #started = false;

  constructor(options: CsvOptions) {
    this.#options = options;
    this.#rows = new CsvRows(options.raw === true, options.excel === true);
    if (options.columns !== undefined) this.#fix(options.columns);
  }

  get columns(): readonly string[] | undefined {
    return this.#columns;
  }

  page(page: Page): Buffer {
    const rows = this.#rows;
    rows.begin();
    if (page.length > 0) {
      if (this.#columns === undefined) {
        const union = new ColumnUnion();
        union.add(page);
        this.#fix(union.columns(this.#options.kind));
      }
      rows.text(this.#header());
      const { cells } = page;
      const sources = cells === undefined ? undefined : this.#sources(cells.keys);
      const nested = this.#options.columns !== undefined;
      for (let index = 0; index < page.length; index++) {
        const copied =
          cells !== undefined &&
          sources !== undefined &&
          rows.row(cells, page.position(index), page.size(index), sources, nested);
        if (!copied) rows.line(this.#line(page.row(index)));
      }
    }
    return rows.bytes();
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
   * For each column the number of the key that it is made of, or -1 where it stays empty.
   * @returns undefined where columns and keys are not simply the same names
   */
  #sources(keys: readonly string[]): Int32Array | undefined {
    const columns = this.#columns ?? [];
    const sources = columns.map((column) => keys.indexOf(column));
    if (this.#options.columns === undefined) {
      // A key beyond the columns goes to `unseen` or `extra`.
      if (keys.some((key) => !this.#index.has(key))) return undefined;
      if (this.#extra !== undefined) sources.push(-1);
    } else {
      const named = new Set(columns);
      // A column that is named twice, or may be a path into a nested record.
      if (named.size !== columns.length) return undefined;
      for (const key of keys) if (columns.some((column) => column.startsWith(`${key}.`))) return undefined;
    }
    return Int32Array.from(sources);
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
