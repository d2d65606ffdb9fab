import type { Page } from "../../../shared/rows/page.ts";
import type { StoredRows } from "../stored.ts";
import type { TypedColumn } from "./cells.ts";

export interface WholeRows {
  readonly columns: readonly TypedColumn[];
  readonly rows: number;
  readonly pages: () => AsyncIterable<Page> | Iterable<Page>;
  /** A text was longer than there is room for. */
  readonly onCut: () => void;
}

/** A format that needs all rows before the first byte. */
export interface WholeFormat extends StoredRows {
  load(): Promise<unknown>;
  /** @throws CliError where there are more rows than a file holds @param category usage before anything is bought */
  checkRoom(rows: number, category: "usage" | "incomplete", said?: string): void;
  /** @param scratch a folder of its own to work in, gone at the end */
  bytes(rows: WholeRows, scratch: string): AsyncIterable<Buffer>;
}
