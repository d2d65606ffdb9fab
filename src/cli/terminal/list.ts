import { type Context, written } from "../../shared/context.ts";
import { type Credits, creditsOrNull, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { grouped, harmless } from "../../shared/contract/text.ts";
import { csvDocument } from "../../shared/rows/csv.ts";
import type { Printer } from "./printer.ts";

type Json = string | number | boolean | null;

export interface Listed<Row> {
  readonly name: string;
  readonly value: (row: Row) => Json;
  readonly json?: (row: Row) => unknown;
  readonly title?: string;
  readonly show?: (row: Row) => string;
  readonly align?: "right";
  /** Shortened first where the terminal is narrow. */
  readonly long?: true;
}

/** A list of the service: a table on a terminal, CSV in a pipe, one JSON array with `--json`. */
export class ServiceList<Row> {
  readonly #columns: readonly Listed<Row>[];
  readonly #printer: Printer;
  #begun = false;

  constructor(columns: readonly Listed<Row>[], printer: Printer) {
    this.#columns = columns;
    this.#printer = printer;
  }

  /** Whether rows can be printed a page at a time: CSV alone needs nothing of what follows. */
  get streams(): boolean {
    return !this.#printer.json && !this.#printer.terminal;
  }

  async print(rows: readonly Row[], context: Context, none: string): Promise<void> {
    const columns = this.#columns;
    if (this.#printer.json) {
      this.#printer.document(documentsOf(columns, rows) as never);
    } else if (!this.#printer.terminal) {
      const text = csvDocument(
        columns.map(({ name }) => name),
        rows.map((row) => columns.map(({ value }) => cleaned(value(row)))),
      );
      this.#printer.text(this.#begun ? text.slice(text.indexOf("\n") + 1) : text);
      this.#begun = true;
      await written(context.stdout);
    } else if (rows.length === 0) this.#printer.note(none);
    else {
      const shown = columns.filter(({ title }) => title !== undefined);
      await this.#printer.table(
        shown.map(({ align, long, title }) => ({
          title: title ?? "",
          fixed: long !== true,
          ...(align === undefined ? {} : { align }),
        })),
        rows.map((row) => shown.map(({ show, value }) => harmless(show?.(row) ?? String(value(row) ?? "")))),
      );
    }
  }
}

export const documentsOf = <Row>(columns: readonly Listed<Row>[], rows: readonly Row[]): Record<string, unknown>[] =>
  rows.map((row) => Object.fromEntries(columns.map(({ json, name, value }) => [name, (json ?? value)(row)])));

const cleaned = (value: Json): Json => (typeof value === "string" ? harmless(value) : value);

export const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

export const creditsColumn = <Row>(name: string, title: string, of: (row: Row) => Credits | null): Listed<Row> => ({
  ...{ name, title, align: "right", value: (row) => creditsOrNull(of(row)), show: (row) => money(of(row)) },
});
export const countColumn = <Row>(name: string, of: (row: Row) => number | null): Listed<Row> => ({
  ...{ name, title: name, align: "right", value: of, show: (row) => count(of(row)) },
});
export const timeColumn = <Row>(name: string, title: string, of: (row: Row) => number | null): Listed<Row> => ({
  ...{ name, title, value: (row) => iso(of(row)), show: (row) => minute(of(row)) },
});

export const minute = (at: number | null): string =>
  at === null ? "" : new Date(at).toISOString().slice(0, 16).replace("T", " ");

const money = (value: Credits | null): string => (value === null ? "" : formatCreditsGrouped(value));

const count = (value: number | null): string => (value === null ? "" : grouped(value));
