// Tested by test/unit/output-formats.test.ts.
import { isDay, momentMs } from "../../../shared/contract/text.ts";
import { ColumnUnion, eachCell, publishedFields } from "../../../shared/rows/columns.ts";
import type { Page } from "../../../shared/rows/page.ts";
import { fieldValue, type JsonValue, type RecordKind } from "../../../shared/rows/values.ts";
import type { ColumnType } from "./cells.ts";

export interface WholeOptions {
  /** In order; read twice. */
  readonly pages: () => AsyncIterable<Page> | Iterable<Page>;
  readonly kind: RecordKind;
  readonly columns?: readonly string[] | undefined;
}

/** What a column keeps whole: seconds, of which it has six decimals. */
const INSTANT = /:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-])/;
const LOWEST_BIGINT = -(2n ** 63n);
const HIGHEST_BIGINT = 2n ** 63n - 1n;

/** Where a run has no value. */
const PUBLISHED_TYPES: Readonly<Record<string, ColumnType>> = {
  connections: "integer",
  followers: "integer",
  employee_count: "integer",
  founded_year: "integer",
  specialties: "list",
  updated_at: "instant",
};

/** As CSV has them; `taken`: names that are not free. */
export async function surveyColumns(
  { pages, kind, columns: pinned }: WholeOptions,
  others: readonly string[] = [],
) {
  const union = new ColumnUnion();
  const types = new Map<string, ColumnType>();
  let rows = 0;

  const note = (column: string, value: JsonValue | undefined): void => {
    const type = value === undefined || value === null ? undefined : typeOf(value);
    if (type !== undefined) types.set(column, common(types.get(column), type));
  };

  for await (const page of pages()) {
    rows += page.length;
    if (pinned === undefined) union.add(page);
    for (const row of page.rows()) {
      if (pinned === undefined) eachCell(row, note);
      else for (const column of pinned) note(column, fieldValue(row, column));
    }
  }

  const columns = pinned ?? union.columns(kind);
  const fields = columns.length === 0 ? publishedFields(kind) : columns;
  const names = distinctNames(fields, others);
  const typed = fields.map((field, index) => ({
    field,
    name: names[index] ?? field,
    type: types.get(field) ?? PUBLISHED_TYPES[field] ?? "text",
    empty: !types.has(field),
  }));
  return { columns: typed, rows };
}

function typeOf(value: NonNullable<JsonValue>): ColumnType {
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "bigint":
      return value >= LOWEST_BIGINT && value <= HIGHEST_BIGINT ? "long" : "text";
    case "number":
      return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? "integer" : "decimal";
    case "string":
      return timeOf(value) ?? "text";
    default:
      return Array.isArray(value) && value.every((item) => typeof item === "string")
        ? "list"
        : "text";
  }
}

function timeOf(text: string): "instant" | "date" | undefined {
  if (isDay(text)) return "date";
  return INSTANT.test(text) && !Number.isNaN(momentMs(text)) ? "instant" : undefined;
}

function common(a: ColumnType | undefined, b: ColumnType): ColumnType {
  if (a === undefined || a === b) return b;
  const among = (...types: readonly ColumnType[]): boolean =>
    types.includes(a) && types.includes(b);
  if (among("integer", "long")) return "long";
  // A long beside a decimal would lose digits in a double.
  return among("integer", "decimal") ? "decimal" : "text";
}

/** Without regard to case; a second one gets a number. */
function distinctNames(columns: readonly string[], others: readonly string[]): string[] {
  const used = new Set(others);
  return columns.map((column) => {
    const own = column === "" ? "unnamed" : column;
    let name = own;
    for (let number = 2; used.has(name.toLowerCase()); number++) name = `${own}_${number}`;
    used.add(name.toLowerCase());
    return name;
  });
}
