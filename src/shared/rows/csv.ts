import { ColumnUnion, eachCell, publishedFields } from "./columns.ts";
import { CsvBytes } from "./csv-bytes.ts";
import { BOM, type CsvStyle, guardOf, lineBreakOf, type Separator } from "./csv-text.ts";
import type { Page, View } from "./page.ts";
import type { Cells } from "./scan.ts";
import {
  type Cell,
  cellOf,
  fieldValue,
  type JsonRecord,
  type JsonValue,
  type RecordKind,
  stringifyExact,
  WRAPPERS,
} from "./values.ts";

export interface CsvOptions extends CsvStyle {
  readonly kind: RecordKind;
  readonly columns?: readonly string[] | undefined;
  /**
   * To a pipe: a last column holds, as JSON, what a
   * row brings beyond the columns of the first page.
   */
  readonly extra?: boolean | undefined;
  readonly separator?: Separator | undefined;
}

/**
 * CSV page by page. Rows of which it is known where
 * their values stand are copied, all others are parsed.
 */
export class CsvView implements View {
  readonly unseen = new Set<string>();
  readonly #options: CsvOptions;
  readonly #out: CsvBytes;
  #columns: readonly string[] | undefined;
  #index: ReadonlyMap<string, number> = new Map();
  #extra: string | undefined;
  #started = false;

  constructor(options: CsvOptions) {
    this.#options = options;
    this.#out = new CsvBytes(guardOf(options), lineBreakOf(options), options.separator);
    if (options.columns !== undefined) this.#fix(options.columns);
  }

  page(page: Page): Buffer {
    const out = this.#out;
    out.begin();

    if (page.length > 0) {
      if (this.#columns === undefined) {
        const union = new ColumnUnion();
        union.add(page);
        this.#fix(union.columns(this.#options.kind));
      }

      this.#header();

      const nested = this.#options.columns !== undefined;
      const cellsOf = (index: number): Cell[] =>
        nested ? this.#pinnedCells(page.row(index)) : this.#cells(page.row(index));
      const cells = nested ? page.cells : page.cells?.leaves();
      const sources = cells === undefined ? [] : this.#sources(cells);
      const positions = page.indexes.map((index) => page.position(index));
      const isCopied =
        cells !== undefined &&
        sources.length > 0 &&
        out.rows({ cells, positions, sources, nested }, cellsOf);
      if (!isCopied) out.lines(positions.map((_, index) => cellsOf(index)));
    }

    return out.bytes();
  }

  end(): Buffer {
    if (this.#columns === undefined) this.#fix(publishedFields(this.#options.kind));
    this.#out.begin();
    this.#header();
    return this.#out.bytes();
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

  #header(): void {
    if (this.#started) return;
    this.#started = true;
    const columns = this.#columns ?? [];
    if (this.#options.excel === true) this.#out.text(BOM);
    this.#out.lines([this.#extra === undefined ? columns : [...columns, this.#extra]]);
  }

  /** For each column the number of its key, or -1 where it stays empty; none for other names. */
  #sources({ keys }: Cells): number[] {
    const columns = this.#columns ?? [];
    const sources = columns.map((column) => keys.indexOf(column));
    if (this.#options.columns === undefined) {
      // A key beyond the columns goes to `unseen` or `extra`.
      if (keys.some((key) => !this.#index.has(key))) return [];
      if (this.#extra !== undefined) sources.push(-1);
    } else {
      // A column that is named twice, or may be found inside a nested record.
      if (this.#index.size !== columns.length) return [];
      for (const key of keys) if (columns.some((column) => column.startsWith(`${key}.`))) return [];
      if (sources.includes(-1) && keys.some((key) => WRAPPERS.includes(key))) return [];
    }

    return sources;
  }

  #pinnedCells(row: JsonRecord): Cell[] {
    return (this.#columns ?? []).map((column) => cellOf(fieldValue(row, column) ?? null));
  }

  #cells(row: JsonRecord): Cell[] {
    const width = this.#index.size + (this.#extra === undefined ? 0 : 1);
    const cells = new Array<Cell>(width).fill(null);
    let rest: Record<string, JsonValue> | undefined;
    eachCell(row, (column, value) => {
      const index = this.#index.get(column);
      if (index !== undefined) cells[index] = cellOf(value);
      else if (this.#extra === undefined) this.unseen.add(column);
      else {
        rest ??= Object.create(null) as Record<string, JsonValue>;
        rest[column] = value;
      }
    });
    if (rest !== undefined) cells[width - 1] = stringifyExact(rest);

    return cells;
  }
}
