import type { Page } from "./page.ts";

/** What a row describes; decides the published order of its fields. */
export type RecordKind = "person" | "company";

/** A value as `JSON.parse` gives it; integers beyond 2^53 are bigints, so that no digit of a paid record is lost. */
export type JsonValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };
export type JsonRecord = { readonly [key: string]: JsonValue };

export const FORMATS = ["csv", "ndjson", "json", "parquet", "table"] as const;
export type Format = (typeof FORMATS)[number];
/** Formats whose bytes come page by page; Parquet is written whole from the run (`writeParquet`). */
export type StreamFormat = Exclude<Format, "parquet">;

/** Draws rows for a person: handed in by the command (`terminal/`), because `export/` knows no terminal. */
export interface RowsTable {
  /** The cells of a page as lines, the header before the first ones; every line ends in a line break. */
  rows(cells: readonly (readonly string[])[]): string;
  end(): string;
}

export interface ViewOptions {
  readonly format: StreamFormat;
  readonly kind: RecordKind;
  /**
   * `--fields`, or the union that `collectColumns` found over the whole run. Columns (CSV, table) and members (NDJSON, JSON)
   * are exactly these, in this order. Without it CSV and table take the columns of the first page; NDJSON and JSON pass
   * records on as they came.
   */
  readonly columns?: readonly string[] | undefined;
  /**
   * CSV to a pipe: a last column `extra` holds, as JSON, what a row brings beyond the columns. Ignored where `columns` is given.
   */
  readonly extra?: boolean;
  /** BOM and CRLF, for spreadsheets (CSV only). */
  readonly excel?: boolean;
  /** No formula guard (CSV only). */
  readonly raw?: boolean;
  /** Required for the table format. */
  readonly table?: (columns: readonly string[]) => RowsTable;
}

/**
 * Turns pages into bytes, in order and at once: output is a pure function of the pages. `page` and `end` are synchronous, so
 * that a conversion can overlap with the next request on the wire.
 */
export interface View {
  /**
   * The bytes of one page; the first ones begin with the header, the BOM or the opening bracket. A buffer is good until the next
   * call of `page`, which may use it again: write it out, or copy it, before that.
   */
  page(page: Page): string | Buffer;
  /** What closes the document. Called once, also for an empty run: the document is then valid and empty. */
  end(): string | Buffer;
  /** The columns of CSV and table, as soon as they are fixed. */
  readonly columns: readonly string[] | undefined;
  /**
   * Columns that rows carried and that are neither among the columns nor (`extra`) kept elsewhere. A file whose view has
   * some is rendered again from the run, with the columns of `collectColumns`. Stays empty where `columns` was given.
   */
  readonly unseen: ReadonlySet<string>;
}
