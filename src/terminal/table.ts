import Table from "cli-table3";
import { harmless } from "../contract/text.ts";
import type { Style } from "./style.ts";
import { isolateRightToLeft, truncate, widthOf, wrap } from "./width.ts";

const GAP = 2;
// A column is not made narrower than this as long as another can give way.
const NARROWEST_COLUMN = 6;

export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** Never shortened: numbers, ids, bars. */
  readonly fixed?: boolean;
  /** Colours a cell once it is laid out. */
  readonly paint?: (text: string) => string;
}

export interface TableOptions {
  /** Columns of the terminal. */
  readonly width: number;
  readonly style: Style;
}

/** Lines without borders, one row each, so that `grep` works on them: nothing between the cells but two spaces. */
const NO_LINES = Object.fromEntries(
  [
    "top",
    "top-mid",
    "top-left",
    "top-right",
    "bottom",
    "bottom-mid",
    "bottom-left",
    "bottom-right",
    "left",
    "left-mid",
    "mid",
    "mid-mid",
    "right",
    "right-mid",
    "middle",
  ].map((name) => [name, ""]),
);

/** Widths that fit: what each column needs, the widest shortened first until the line fits. */
function columnWidths(columns: readonly Column[], rows: readonly (readonly string[])[], width: number): number[] {
  const widths = columns.map((column, index) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[index] ?? ""))),
  );
  const space = width - GAP * (columns.length - 1);
  for (const least of [NARROWEST_COLUMN, 1]) {
    while (widths.reduce((sum, one) => sum + one, 0) > space) {
      let widest = -1;
      for (const [index, column] of columns.entries()) {
        const own = widths[index] ?? 0;
        if (column.fixed !== true && own > least && own > (widths[widest] ?? 0)) widest = index;
      }
      if (widest < 0) break;
      widths[widest] = (widths[widest] ?? 1) - 1;
    }
  }
  return widths;
}

function draw(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widths: readonly number[],
  style: Style,
  header: boolean,
): string {
  const last = columns.length - 1;
  const table = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    colWidths: widths.map((width, index) => width + (index === last ? 0 : GAP)),
    colAligns: columns.map((column) => column.align ?? "left"),
  });
  const cell = (text: string, index: number): string => {
    const short = truncate(text, widths[index] ?? 1);
    const cut = columns[index]?.paint?.(short) ?? short;
    // The gap belongs to the cell, so that right-aligned numbers keep it on their right.
    return index === last ? cut : columns[index]?.align === "right" ? `${cut}${" ".repeat(GAP)}` : cut;
  };
  if (header) table.push(columns.map((column, index) => cell(column.title, index)));
  for (const row of rows) table.push(columns.map((_, index) => cell(row[index] ?? "", index)));
  const lines = table.toString().split("\n");
  return lines
    .map((line, index) => {
      const laidOut = isolateRightToLeft(line.trimEnd());
      return `${header && index === 0 ? style.strong(laidOut) : laidOut}\n`;
    })
    .join("");
}

/** Cells from data made harmless; what a caller styled itself goes through `styled`. */
const harmlessCells = (rows: readonly (readonly string[])[]): string[][] => rows.map((row) => row.map(harmless));

/** A whole table: header and rows, every line with its line break. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  options: TableOptions,
): string {
  const safe = harmlessCells(rows);
  return draw(columns, safe, columnWidths(columns, safe, options.width), options.style, true);
}

/** A table that grows page by page; the first page fixes the widths. */
export function createRowsTable(
  columns: readonly string[],
  options: TableOptions,
): { rows(cells: readonly (readonly string[])[]): string; end(): string } {
  const titled = columns.map((title) => ({ title: harmless(title) }));
  let widths: number[] | undefined;
  return {
    rows(cells) {
      if (cells.length === 0) return "";
      const safe = harmlessCells(cells);
      const first = widths === undefined;
      widths ??= columnWidths(titled, safe, options.width);
      return draw(titled, safe, widths, options.style, first);
    },
    end: () => "",
  };
}

/** Labels and values, one pair a line, long values wrapped beneath themselves. Empty values are left out. */
export function renderCard(
  entries: readonly (readonly [label: string, value: string | undefined])[],
  options: TableOptions & { readonly indent?: number },
): string {
  const shown = entries.filter(
    (entry): entry is readonly [string, string] => entry[1] !== undefined && entry[1] !== "",
  );
  const indent = " ".repeat(options.indent ?? 0);
  const labels = Math.max(0, ...shown.map(([label]) => widthOf(label)));
  const room = Math.max(10, options.width - indent.length - labels - GAP);
  const lines: string[] = [];
  for (const [label, value] of shown) {
    const [first = "", ...others] = wrap(harmless(value), room);
    lines.push(`${indent}${options.style.faint(label.padEnd(labels + GAP))}${isolateRightToLeft(first)}`);
    for (const other of others) lines.push(`${indent}${" ".repeat(labels + GAP)}${isolateRightToLeft(other)}`);
  }
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}
