// Tested by test/cli/output-rows.test.ts.
import { grouped } from "../../shared/contract/text.ts";
import type { View } from "../../shared/rows/page.ts";
import { cellOf, fieldValue, type JsonValue, type RecordKind } from "../../shared/rows/values.ts";

const COUNTS: readonly string[] = ["connections", "followers", "employee_count"];

/** What is counted has separators, years and ids stay as they are. */
export function spokenValue(field: string, value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  const isCount = COUNTS.includes(field.slice(field.lastIndexOf(".") + 1));
  return isCount && (typeof value === "number" || typeof value === "bigint")
    ? grouped(value)
    : String(cellOf(value));
}

/** Handed in by the command: `output/` knows no terminal. */
export type DrawTable = (columns: readonly string[], always: number) => DrawRows;

/**
 * The cells of a page as lines, the header before the first ones; every line ends in a line break.
 */
type DrawRows = (cells: readonly (readonly string[])[]) => string;

/** The most telling first, as many as there is room for. */
const MAIN_COLUMNS: Readonly<Record<RecordKind, readonly string[]>> = {
  person: [
    "name",
    "title",
    "company_name",
    "location",
    "department",
    "seniority_level",
    "connections",
    "industry",
    "followers",
    "network_url",
  ],
  company: [
    "name",
    "domain",
    "employee_count",
    "location",
    "industry",
    "founded_year",
    "followers",
    "type",
    "company_network_url",
  ],
};
const ALWAYS = 4;

/** @param fields what was asked for; undefined: the main columns */
export function tableView(
  kind: RecordKind,
  fields: readonly string[] | undefined,
  table: DrawTable,
): View {
  const columns = fields ?? MAIN_COLUMNS[kind];
  const draw = table(columns, fields?.length ?? ALWAYS);
  return {
    unseen: new Set(),
    page: (page) =>
      draw(
        page.rows().map((row) => columns.map((name) => spokenValue(name, fieldValue(row, name)))),
      ),
    end: () => "",
  };
}
