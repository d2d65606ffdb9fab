import { grouped } from "../../../shared/contract/text.ts";
import type { Column, Printer } from "../../terminal/printer.ts";
import { widthOf } from "../../terminal/width.ts";
import { type Matrix, words } from "./parts.ts";

const REST = "(another or none)";
const ALL = "(all)";
const GAP = 2;
/** What names of rows are shortened to at most before a column gives way. */
const NAMES = 24;

/** Numbers of a row: of each column, of nobody's column, and of all. Nested parts (soft, so) would make the rest too small. */
const withRest = (cells: readonly number[], all: number): readonly number[] => [
  ...cells,
  all - cells.reduce((sum, cell) => sum + cell, 0),
  all,
];

export async function printMatrix(matrix: Matrix, format: "table" | "csv" | "json", printer: Printer): Promise<void> {
  const { by, whole, columns, rows, filters } = matrix;
  const [down, across] = by;
  if (format === "json") {
    return printer.document<"count">({
      count: whole,
      by: [down.key, across.key],
      columns,
      rows: rows.map(({ value, count, cells }) => ({ value, count, cells })),
      filters,
    });
  }
  if (format === "table") return printTable(matrix, printer);
  const { csvDocument } = await import("../../../shared/rows/csv.ts");
  const lines = [
    ...rows.map(({ value, count, cells }) => [value, ...withRest(cells, count)]),
    [REST, ...restOf(matrix)],
    [
      ALL,
      ...withRest(
        columns.map(({ count }) => count),
        whole,
      ),
    ],
  ];
  printer.text(csvDocument([down.key, ...columns.map(({ value }) => value), REST, ALL], lines));
}

/** What the rows leave of each column. */
function restOf({ columns, rows, whole }: Matrix): readonly number[] {
  const left = columns.map(({ count }, at) => count - rows.reduce((sum, { cells }) => sum + (cells[at] ?? 0), 0));
  return withRest(left, whole - rows.reduce((sum, { count }) => sum + count, 0));
}

/** As many columns as fit, the largest first; what the others hold is in the rest, and said. */
async function printTable(matrix: Matrix, printer: Printer): Promise<void> {
  const { by, whole, columns, rows } = matrix;
  const [down, across] = by;
  const widthFor = (title: string, largest: number): number => Math.max(widthOf(title), grouped(largest).length) + GAP;
  const names = Math.min(NAMES, Math.max(...[words(down), REST, ...rows.map(({ value }) => value)].map(widthOf)));
  let left = printer.width - names - widthFor("other", whole) - widthFor(ALL, whole);
  const fits = columns.findIndex(({ value, count }) => {
    left -= widthFor(value, count);
    return left < 0;
  });
  const shown = fits < 0 ? columns.length : Math.max(1, fits);
  const kept = columns.slice(0, shown);
  const line = (cells: readonly number[], all: number): string[] => withRest(cells.slice(0, shown), all).map(grouped);
  const number = (title: string): Column => ({ title, align: "right", fixed: true });
  const remaining = restOf(matrix);
  const rest = remaining.some((count) => count !== 0) ? [[REST, ...line(remaining, remaining.at(-1) ?? 0)]] : [];
  await printer.table(
    [{ title: words(down) }, ...kept.map(({ value }) => number(value)), number("other"), number(ALL)],
    [
      ...rows.map(({ value, count, cells }) => [value, ...line(cells, count)]),
      ...rest,
      [
        ALL,
        ...line(
          columns.map(({ count }) => count),
          whole,
        ),
      ],
    ],
  );
  const hidden = columns.length - shown;
  const more = hidden === 0 ? "none" : `none, or one of ${hidden} that do not fit here (--format csv has all)`;
  printer.note(`other: another ${words(across)} or ${more}`);
}
