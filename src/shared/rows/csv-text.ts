import { stringify } from "csv-stringify/sync";
import { isFormula } from "../contract/text.ts";
import type { Cell } from "./values.ts";

export type Separator = "," | "\t";

// `start`: a text that a spreadsheet might run gets a leading apostrophe. `inside`: also what
// follows a semicolon, a tab or a line break, at which Excel splits lines where commas are decimal.
export type FormulaGuard = "none" | "start" | "inside";

const RUN_AND_FORMULA = /([;\s\p{Cc}\p{Cf}"]+)([=+\-@\uff1d\uff0b\uff0d\uff20]?)/gu;

export function guarded(text: string, guard: FormulaGuard): string {
  if (guard === "none") return text;
  const begun = isFormula(text) ? `'${text}` : text;
  if (guard === "start") return begun;
  return begun.replace(RUN_AND_FORMULA, (match, run: string, formula: string) =>
    formula === "" || !/[;\t\r\n]/.test(run) ? match : `${run}'${formula}`,
  );
}

export const BOM = "\ufeff";

export interface CsvStyle {
  readonly excel?: boolean | undefined;
  readonly raw?: boolean | undefined;
}

export const guardOf = ({ excel, raw }: CsvStyle): FormulaGuard =>
  raw === true ? "none" : excel === true ? "inside" : "start";
export const lineBreakOf = ({ excel }: CsvStyle): string => (excel === true ? "\r\n" : "\n");

export const SPACE_AT_AN_END = /^ | $/;

/**
 * Rows as CSV. A number is never guarded; a lone empty
 * cell is quoted, since readers skip empty lines.
 */
export const linesText = (
  rows: readonly (readonly Cell[])[],
  guard: FormulaGuard,
  lineBreak: string,
  separator: Separator = ",",
): string =>
  stringify(
    rows.map((row) =>
      row.map((cell) => (typeof cell === "string" ? guarded(cell, guard) : cell)),
    ) as Cell[][],
    {
      delimiter: separator,
      record_delimiter: lineBreak,
      // Also the line break that is not this document's
      // own: readers disagree on which of them ends a row.
      quote_record_delimiter: true,
      // Some readers take spaces off the ends of a cell that has no quotes.
      quoted_match: SPACE_AT_AN_END,
      quoted_empty: rows[0]?.length === 1,
      cast: { boolean: String },
    },
  );

export function csvDocument(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
  style: CsvStyle = {},
): string {
  const text = linesText([columns, ...rows], guardOf(style), lineBreakOf(style));
  return style.excel === true ? BOM + text : text;
}
