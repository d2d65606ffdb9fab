import Table from "cli-table3";
import { harmless } from "../../shared/contract/text.ts";
import type { OwnCommand } from "../../shared/errors.ts";
import type { Style } from "./style.ts";
import { isolateRightToLeft, truncate, widthOf, wrap } from "./width.ts";

const GAP = 2;
// A column is not made narrower than this as long as another can give way.
const NARROWEST_COLUMN = 6;

export interface TextColumn {
  readonly title: string;
  readonly align?: "left" | "right";
  readonly fixed?: boolean;
  /** Gives way before the others do. */
  readonly yields?: boolean;
  readonly paint?: (text: string) => string;
}

export interface TableOptions {
  readonly width: number;
  readonly style: Style;
}

function columnWidths(
  columns: readonly TextColumn[],
  rows: readonly (readonly string[])[],
  width: number,
): number[] {
  const widths = columns.map((column, index) =>
    Math.max(widthOf(column.title), ...rows.map((row) => widthOf(row[index] ?? ""))),
  );
  const space = width - GAP * (columns.length - 1);

  const steps = [
    [NARROWEST_COLUMN, columns.filter((column) => column.yields)],
    [NARROWEST_COLUMN, columns],
    [1, columns],
  ] as const;

  for (const [least, yielding] of steps) {
    while (widths.reduce((sum, one) => sum + one, 0) > space) {
      let widest = -1;
      for (const [index, column] of columns.entries()) {
        const own = widths[index] ?? 0;
        const mayGive = column.fixed !== true && yielding.includes(column);
        if (mayGive && own > least && own > (widths[widest] ?? 0)) widest = index;
      }
      if (widest < 0) break;
      widths[widest] = (widths[widest] ?? 1) - 1;
    }
  }

  return widths;
}

const BORDERS = ["top", "bottom", "left", "right"].flatMap((side) => [
  side,
  `${side}-mid`,
  `${side}-left`,
  `${side}-right`,
]);
/**
 * Lines without borders, so that `grep` works on them: nothing between the cells but two spaces.
 */
const NO_LINES = Object.fromEntries(
  [...BORDERS, "mid", "mid-mid", "middle"].map((name) => [name, ""]),
);

/**
 * Cells that fit their widths already, laid out beside each other; a cell may have several lines.
 */
function layOut(
  cells: readonly (readonly string[])[],
  widths: readonly number[],
  aligned: readonly ("left" | "right")[],
): string[] {
  const last = widths.length - 1;
  const table = new Table({
    chars: NO_LINES,
    style: { head: [], border: [], "padding-left": 0, "padding-right": 0 },
    colWidths: widths.map((width, index) => width + (index === last ? 0 : GAP)),
    colAligns: [...aligned],
  });

  // The gap belongs to the cell, so that right-aligned numbers keep it on their right.
  const gap = (index: number): string =>
    index !== last && aligned[index] === "right" ? " ".repeat(GAP) : "";

  table.push(...cells.map((row) => row.map((text, index) => `${text}${gap(index)}`)));
  return table.toString().split("\n");
}

function draw(
  columns: readonly TextColumn[],
  rows: readonly (readonly string[])[],
  widths: readonly number[],
  { style, header }: { readonly style: Style; readonly header: boolean },
): string {
  const cells = [...(header ? [columns.map(({ title }) => title)] : []), ...rows];
  const lines = layOut(
    // Cut here: cli-table3 would cut between the halves of a surrogate pair.
    cells.map((row) =>
      columns.map(({ paint = (text) => text }, index) =>
        paint(truncate(row[index] ?? "", widths[index] ?? 1)),
      ),
    ),
    widths,
    columns.map(({ align = "left" }) => align),
  );
  const shown = lines.map((line) => isolateRightToLeft(line.trimEnd()));

  return shown
    .map((line, index) => `${header && index === 0 ? style.strong(line) : line}\n`)
    .join("");
}

const harmlessCells = (rows: readonly (readonly string[])[]): string[][] =>
  rows.map((row) => row.map(harmless));

export function renderTable(
  columns: readonly TextColumn[],
  rows: readonly (readonly string[])[],
  options: TableOptions,
): string {
  const safe = harmlessCells(rows);
  return draw(columns, safe, columnWidths(columns, safe, options.width), {
    style: options.style,
    header: true,
  });
}

const NUMBER = /^-?\d[\d.,]*$/;

type Shown = TextColumn & { readonly index: number };

function fitting(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  always: number,
  width: number,
): Shown[] {
  let room = width + GAP;
  const shown: Shown[] = [];
  for (const [index, title] of titles.entries()) {
    const cells = rows.map((row) => row[index] ?? "").filter((cell) => cell !== "");
    const needed = Math.max(widthOf(title), ...cells.map(widthOf)) + GAP;
    if (index >= always && (cells.length === 0 || needed > room)) continue;
    room -= needed;
    const isNumber = cells.length > 0 && cells.every((cell) => NUMBER.test(cell));
    shown.push({ index, title, ...(isNumber ? { align: "right" } : {}) });
  }

  return shown;
}

/** What is left of the width belongs to the last column: later pages may need it. */
function toTheEdge(
  widths: readonly number[],
  columns: readonly TextColumn[],
  width: number,
): number[] {
  const spare = width - widths.reduce((sum, one) => sum + one + GAP, -GAP);
  const last = columns.at(-1)?.align === "right" ? -1 : widths.length - 1;
  return widths.map((own, index) => (index === last ? own + Math.max(0, spare) : own));
}

/**
 * Rows that grow page by page, laid out by the first
 * one; a card each where columns would be too narrow.
 */
export function createRowsTable(
  columns: readonly string[],
  always: number,
  options: TableOptions,
): (cells: readonly (readonly string[])[]) => string {
  const titles = columns.map(harmless);
  const asCards = Math.min(always, titles.length) * (NARROWEST_COLUMN + GAP) - GAP > options.width;
  let layout: { readonly shown: readonly Shown[]; readonly widths: readonly number[] } | undefined;
  let cards = 0;
  const card = (row: readonly string[]): string =>
    (cards++ === 0 ? "" : "\n") +
    renderCard(
      titles.map((title, index) => [title, row[index]] as const),
      options,
    );

  return (cells) => {
    if (cells.length === 0) return "";
    if (asCards) return cells.map(card).join("");

    const safe = harmlessCells(cells);
    const header = layout === undefined;
    const shown = layout?.shown ?? fitting(titles, safe, always, options.width);
    const rows = safe.map((row) => shown.map(({ index }) => row[index] ?? ""));
    layout ??= {
      shown,
      widths: toTheEdge(columnWidths(shown, rows, options.width), shown, options.width),
    };

    return draw(shown, rows, layout.widths, { style: options.style, header });
  };
}

/** Label and value; a command is not broken into lines, so that what is copied is one. */
export type Entries = readonly (readonly [label: string, value: string | OwnCommand | undefined])[];

export function renderCard(
  entries: Entries,
  options: TableOptions & { readonly indent?: number },
): string {
  const shown = entries.filter(
    (entry): entry is readonly [string, string | OwnCommand] =>
      entry[1] !== undefined && entry[1] !== "",
  );
  const indent = " ".repeat(options.indent ?? 0);
  const labels = Math.max(0, ...shown.map(([label]) => widthOf(label)));
  const room = Math.max(10, options.width - indent.length - labels - GAP);
  if (shown.length === 0) return "";

  const values = shown.map(([, value]) =>
    typeof value === "string" ? wrap(harmless(value), room) : [harmless(`${value}`)],
  );
  const cells = shown.map(([label], index) => [
    options.style.faint(label.padEnd(labels)),
    values[index]?.join("\n") ?? "",
  ]);
  const widest = Math.max(...values.flat().map(widthOf));

  return layOut(cells, [labels, widest], ["left", "left"])
    .map((line) => `${indent}${isolateRightToLeft(line)}`.trimEnd())
    .map((line) => `${line}\n`)
    .join("");
}
