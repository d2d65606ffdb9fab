import type { Page, View } from "./page.ts";
import { cellOf, fieldValue, type RecordKind } from "./values.ts";

/** Draws rows for a person: handed in by the command, because `output/` knows no terminal. */
export interface RowsTable {
  /** The cells of a page as lines, the header before the first ones; every line ends in a line break. */
  rows(cells: readonly (readonly string[])[]): string;
  end(): string;
}

/** The columns that a terminal shows: few enough to be read at 60 columns. Everything else is kept in the run. */
export const MAIN_COLUMNS: Readonly<Record<RecordKind, readonly string[]>> = {
  person: ["name", "title", "company_name", "location"],
  company: ["name", "domain", "employee_count", "location"],
};

/** A table for a person to look at, drawn by what the command handed in. */
export class TableView implements View {
  readonly unseen: ReadonlySet<string> = new Set();
  readonly #columns: readonly string[];
  readonly #table: RowsTable;

  constructor(columns: readonly string[], table: (columns: readonly string[]) => RowsTable) {
    this.#columns = columns;
    this.#table = table(columns);
  }

  page(page: Page): string {
    return this.#table.rows(
      page.rows().map((row) => this.#columns.map((column) => String(cellOf(fieldValue(row, column) ?? "")))),
    );
  }

  end(): string {
    return this.#table.end();
  }
}
