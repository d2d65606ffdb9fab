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
  readonly paint?: (text: string) => string;
}

export interface TableOptions {
  readonly width: number;
  readonly style: Style;
}

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

/** Lines without borders, one row each, so that `grep` works on them: nothing between the cells but two spaces. */
function draw(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  widths: readonly number[],
  style: Style,
  header: boolean,
): string {
  const cell = ({ align, paint }: Column, text: string, width: number): string => {
    const short = truncate(text, width);
    const padding = " ".repeat(Math.max(0, width - widthOf(short)));
    const painted = paint?.(short) ?? short;
    return align === "right" ? padding + painted : painted + padding;
  };
  const line = (row: readonly string[]): string =>
    isolateRightToLeft(
      columns
        .map((column, index) => cell(column, row[index] ?? "", widths[index] ?? 1))
        .join(" ".repeat(GAP))
        .trimEnd(),
    );
  const head = header ? [style.strong(line(columns.map(({ title }) => title)))] : [];
  return [...head, ...rows.map(line)].map((text) => `${text}\n`).join("");
}

/** Cells from data made harmless; what a caller styled itself goes through `styled`. */
const harmlessCells = (rows: readonly (readonly string[])[]): string[][] => rows.map((row) => row.map(harmless));

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
