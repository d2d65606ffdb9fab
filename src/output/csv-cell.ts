import type { Cell } from "./columns.ts";

// What spreadsheets run as a formula: these characters and their full-width forms, also behind leading white space.
const FORMULA = /^\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]/;

/** Whether a spreadsheet might run a text as a formula. Checks one character for nearly every text. */
export function isFormula(text: string): boolean {
  const first = text.charCodeAt(0);
  if ((first > 0x40 && first < 0x80) || (first > 0x2f && first < 0x3d)) return false;
  return FORMULA.test(text);
}

/** A text that a spreadsheet might run gets a leading apostrophe. Never numbers. */
export const guarded = (cell: Cell): Cell => (typeof cell === "string" && isFormula(cell) ? `'${cell}` : cell);

const NEEDS_QUOTES = /[",\r\n]/;

/**
 * One cell as csv-stringify writes it. By hand for pages, because it is half of what a row costs (docs/performance.md); a test
 * holds it equal to csv-stringify.
 */
export function cellText(cell: Cell, raw: boolean): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const text = raw || !isFormula(cell) ? cell : `'${cell}`;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
