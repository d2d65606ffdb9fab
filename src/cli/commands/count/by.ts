import type { CountedSegment } from "../../../app/count/hints.ts";
import type { KnownValues } from "../../../app/count/values.ts";
import type { Context } from "../../../shared/context.ts";
import { FILTER_SPECS, type FilterKeySpec, type Filters, filterSpec } from "../../../shared/contract/filters.ts";
import { nearest } from "../../../shared/contract/suggest.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { type CliError, usageError } from "../../../shared/errors.ts";
import { keyName, valuesGiven, valuesWithin } from "../../arguments/filter-options.ts";
import type { Column, Printer } from "../../terminal/printer.ts";
import { widthOf } from "../../terminal/width.ts";
import { type ByKey, type CountDesk, type CountOptions, type CountRequest, formatOf } from "./one.ts";
import { type CountPart, type Matrix, nested, printParts, words } from "./parts.ts";
import { countAll } from "./several.ts";

const TOP = 20;
const MAX_CELLS = 2_000;

/** The keys of --by with the values to count. @throws CliError (exit 2) before any request */
export async function readByKeys(
  context: Context,
  { by = [], owned }: CountOptions,
  filters: Filters,
): Promise<readonly ByKey[]> {
  const given = new Map<FilterKeySpec, readonly string[]>();
  for (const word of by) {
    const [key = "", value] = word.split(/=(.*)/s, 2);
    const spec = breakdownKey(key);
    const before = given.get(spec);
    if (before !== undefined && value === undefined) throw wrongKeys();
    const values = value === undefined ? [] : await valuesGiven(context, "--by", [value]);
    given.set(spec, [...(before ?? []), ...values]);
  }
  if (given.size > 2) throw wrongKeys();
  return [...given].map(([spec, own]) => {
    const values = own.length === 0 ? undefined : own;
    return {
      spec,
      values: owned === true && values === undefined ? undefined : valuesWithin(spec.key, filters, values),
    };
  });
}

const wrongKeys = (): CliError =>
  usageError(
    "--by takes one key, or two different ones for a matrix",
    "a key's values: --by KEY=VALUE, again for more",
  );

function breakdownKey(by: string): FilterKeySpec {
  const key = keyName(by);
  const spec = filterSpec(key);
  const usable = FILTER_SPECS.filter(({ match }) => match !== "range").map((known) => known.key);
  if (spec === undefined) {
    const near = nearest(key, usable);
    const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
    throw usageError(`--by takes a filter key, not "${by}"${hint}; keys: ${usable.join(", ")}`);
  }
  if (spec.match === "range") {
    throw usageError(`--by ${key} makes no parts: it is a range; keys: ${usable.join(", ")}`);
  }
  return spec;
}

type PartsRequest = CountRequest & { readonly kind: "parts" };

export async function countParts(
  { segment, by }: PartsRequest,
  counting: CountDesk,
): Promise<readonly CountedSegment[]> {
  const { options, printer } = counting;
  const { filters } = segment;
  const [first, second] = by;
  if (first === undefined) throw new RangeError("nothing to break down by");
  const format = formatOf(options, printer) ?? "csv";
  if (second !== undefined) {
    const matrix = await matrixOf([first, second], filters, counting);
    await printMatrix(matrix, format, printer);
    return [{ filters, count: matrix.whole }];
  }
  const { spec } = first;
  const listed = first.values === undefined ? await listedFor(spec, filters, counting) : undefined;
  if (listed?.from === "service") {
    const { values: parts, whole = 0, others, missing } = listed;
    await printParts({ by: spec, whole, parts, filters, rest: { others, missing } }, format, printer);
    return [{ filters, count: whole }];
  }
  const values = first.values ?? listed?.values.map(({ value }) => value) ?? [];
  const each = values.map((value) => ({ ...filters, [spec.key]: value }));
  const [total = { count: 0 }, ...counts] = await countAll([filters, ...each], counting);
  const parts = values.map((value, index): CountPart => ({ value, count: counts[index]?.count ?? 0 }));
  await printParts({ by: spec, whole: total.count, parts: largest(parts, options.top), filters }, format, printer);
  return [{ filters, count: total.count }];
}

const largest = (parts: readonly CountPart[], top: number | undefined): readonly CountPart[] =>
  top === undefined ? parts : [...parts].sort((a, b) => b.count - a.count).slice(0, top);

/** @throws CliError exit 2 where nobody knows any values of the key */
async function listedFor(
  spec: FilterKeySpec,
  filters: Filters,
  { context, options: { top = TOP, json }, printer, session }: CountDesk,
): Promise<KnownValues> {
  const { valuesIn } = await import("../../../app/count/values.ts");
  const listed = await valuesIn(session, context, { spec, filters, limit: top });
  if (listed?.from === "owned" && listed.values.length > 0 && json !== true) {
    const known = listed.values.length === 1 ? "the one value" : `the ${listed.values.length} most frequent values`;
    printer.note(
      `the service lists no values: counted ${listed.values.length === 1 ? "is" : "are"} ${known} among who you own`,
    );
  }
  if (listed !== undefined && (listed.from === "service" || listed.values.length > 0)) return listed;
  throw usageError(
    `--by ${spec.key} needs values: neither the service nor what you own lists what a ${words(spec)} can be`,
    `for example --by ${spec.key}=${spec.key === "country" ? "france --by country=germany" : `A --by ${spec.key}=B`}, or --by ${spec.key}=@FILE with one a line`,
  );
}

async function matrixOf(keys: readonly [ByKey, ByKey], filters: Filters, counting: CountDesk): Promise<Matrix> {
  const valuesOf = async ({ spec, values }: ByKey): Promise<readonly string[]> =>
    values ?? (await listedFor(spec, filters, counting)).values.map(({ value }) => value);
  const [down, across] = [await valuesOf(keys[0]), await valuesOf(keys[1])];
  for (const [index, values] of [down, across].entries()) {
    const [inner, outer] = [...(keys[index]?.spec.match === "prefix" ? nested(values) : [])][0] ?? [];
    if (inner !== undefined)
      throw usageError(`parts overlap: "${inner}" is counted in "${outer}" too`, "leave one out");
  }
  const [{ key: first }, { key: second }] = [keys[0].spec, keys[1].spec];
  const edges = [
    filters,
    ...down.map((value) => ({ ...filters, [first]: value })),
    ...across.map((value) => ({ ...filters, [second]: value })),
  ];
  const [total = { count: 0 }, ...views] = await countAll(edges, counting);
  const totals = views.map(({ count }) => count);
  // A row or a column of nobody needs no cells.
  const ranked = (values: readonly string[], counts: readonly number[]): readonly CountPart[] =>
    largest(
      values.map((value, index) => ({ value, count: counts[index] ?? 0 })),
      counting.options.top ?? values.length,
    ).filter(({ count }) => count > 0);
  const rows = ranked(down, totals);
  const columns = ranked(across, totals.slice(down.length));
  if (rows.length * columns.length > MAX_CELLS) {
    throw usageError(
      `a matrix of ${rows.length} by ${columns.length} takes ${grouped(rows.length * columns.length)} free counts, more than ${grouped(MAX_CELLS)}`,
      "--top N takes the largest N of both",
      "too_many_counts",
    );
  }
  const pairs = rows.flatMap((row) =>
    columns.map((column) => ({ ...filters, [first]: row.value, [second]: column.value })),
  );
  const cells = (await countAll(pairs, counting)).map(({ count }) => count);
  return {
    by: [keys[0].spec, keys[1].spec],
    filters,
    whole: total.count,
    columns,
    rows: rows.map((row, index) => ({
      ...row,
      cells: cells.slice(index * columns.length, (index + 1) * columns.length),
    })),
  };
}

const REST = "(another or none)";
const ALL = "(all)";
const GAP = 2;
const NAMES = 24;

/** Nested parts (soft, so) would make the rest too small: both the column of nobody and that of all are told. */
const withRest = (cells: readonly number[], all: number): readonly number[] => [
  ...cells,
  all - cells.reduce((sum, cell) => sum + cell, 0),
  all,
];

async function printMatrix(matrix: Matrix, format: "table" | "csv" | "json", printer: Printer): Promise<void> {
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
  if (format === "table") return printMatrixTable(matrix, printer);
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

function restOf({ columns, rows, whole }: Matrix): readonly number[] {
  const left = columns.map(({ count }, at) => count - rows.reduce((sum, { cells }) => sum + (cells[at] ?? 0), 0));
  return withRest(left, whole - rows.reduce((sum, { count }) => sum + count, 0));
}

/** As many columns as fit, the largest first; what the others hold is in the rest, and said. */
async function printMatrixTable(matrix: Matrix, printer: Printer): Promise<void> {
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
