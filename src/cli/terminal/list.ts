import { type Credits, creditsOrNull, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { grouped, harmless } from "../../shared/contract/text.ts";
import { csvDocument } from "../../shared/rows/csv-text.ts";
import type { Printer } from "./printer.ts";

type Json = string | number | boolean | null;

/** Members of a row that hold such values. */
type Members<Row, Value> = {
  [Name in keyof Row]: Row[Name] extends Value ? Name : never;
}[keyof Row] &
  string;

/** Without a `value` it shows the member of its name. */
export type ColumnOf<Row> = Look<Row> &
  (
    | { readonly name: string; readonly value: (row: Row) => Json }
    | { readonly name: Members<Row, Json>; readonly value?: undefined }
  );

interface Look<Row> {
  readonly json?: (row: Row) => unknown;
  /** Default: its name; null: it is for programs alone. */
  readonly title?: string | null;
  readonly show?: (row: Row) => string;
  readonly align?: "right";
  /** Shortened first where the terminal is narrow. */
  readonly long?: true | "first";
}

/**
 * A table on a terminal, CSV in a pipe, one JSON array with `--json`.
 * @param none said where there is no row
 */
export async function printList<Row>(
  columns: readonly ColumnOf<Row>[],
  rows: readonly Row[],
  printer: Printer,
  none: string,
): Promise<void> {
  if (printer.json) return printer.document(documentsOf(columns, rows));
  if (!printer.terminal) return printer.text(csvOf(columns, rows));
  if (rows.length === 0) return printer.note(none);

  const shown = columns.filter(({ title }) => title !== null);
  await printer.table(
    shown.map(({ align = "left" as const, long, name, title }) => ({
      title: title ?? name,
      fixed: long === undefined,
      yields: long === "first",
      align,
    })),
    rows.map((row) =>
      shown.map((column) => harmless(column.show?.(row) ?? String(valueShown(column, row) ?? ""))),
    ),
  );
}

const PAGE = 500;
export const SCREENFUL = 30;

/** Prints a list page after page, however many rows there are; CSV as they come. */
export async function printPages<Row>(
  columns: readonly ColumnOf<Row>[],
  { limit, printer }: { readonly limit: number | undefined; readonly printer: Printer },
  next: (limit: number, last: Row | undefined) => Promise<readonly Row[]>,
): Promise<void> {
  const streams = !printer.json && !printer.terminal;
  const rows: Row[] = [];
  let last: Row | undefined;
  for (
    let rest = limit ?? (printer.terminal && !printer.json ? SCREENFUL : Number.POSITIVE_INFINITY);
    ;
  ) {
    const size = Math.min(PAGE, rest);
    const page = await next(size, last);
    if (streams) {
      const text = csvOf(columns, page);
      printer.text(last === undefined ? text : text.slice(text.indexOf("\n") + 1));
      await printer.drain();
    } else rows.push(...page);

    last = page.at(-1);
    rest -= page.length;
    if (page.length < size || rest <= 0) break;
  }

  if (!streams) await printList(columns, rows, printer, "Nothing to list.");
}

const csvOf = <Row>(columns: readonly ColumnOf<Row>[], rows: readonly Row[]): string =>
  csvDocument(
    columns.map(({ name }) => name),
    rows.map((row) => columns.map((column) => cleaned(valueShown(column, row)))),
  );

export const documentsOf = <Row>(
  columns: readonly ColumnOf<Row>[],
  rows: readonly Row[],
): Record<string, unknown>[] =>
  rows.map((row) =>
    Object.fromEntries(
      columns.map((column) => [
        column.name,
        column.json ? column.json(row) : valueShown(column, row),
      ]),
    ),
  );

/** What a column shows of a row. */
export const valueShown = <Row>({ name, value }: ColumnOf<Row>, row: Row): Json =>
  value === undefined ? (row[name as keyof Row] as Json) : value(row);

const cleaned = (value: Json): Json => (typeof value === "string" ? harmless(value) : value);

export const iso = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();

export const creditsColumn = <Row>(
  name: string,
  title = name,
  of = (row: Row) => row[name as keyof Row] as Credits | null,
): ColumnOf<Row> => ({
  name,
  title,
  align: "right",
  value: (row) => creditsOrNull(of(row)),
  show: (row) => money(of(row)),
});
/** @param title default: its name */
export const countColumn = <Row>(
  name: Members<Row, number | null>,
  title: string = name,
): ColumnOf<Row> => ({
  name,
  title,
  align: "right",
  value: (row) => row[name] as number | null,
  show: (row) => count(row[name] as number | null),
});
export const timeColumn = <Row>(
  name: string,
  title: string,
  of: (row: Row) => number | null,
): ColumnOf<Row> => ({
  name,
  title,
  value: (row) => iso(of(row)),
  show: (row) => minute(of(row)),
});

const minute = (at: number | null): string =>
  at === null ? "" : new Date(at).toISOString().slice(0, 16).replace("T", " ");

const money = (value: Credits | null): string =>
  value === null ? "" : formatCreditsGrouped(value);

const count = (value: number | null): string => (value === null ? "" : grouped(value));
