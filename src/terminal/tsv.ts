/** A value for a pipe: bare, times in ISO form, nothing for null. */
export type TsvValue = string | number | bigint | boolean | null | undefined;

/**
 * Rows for a pipe: tab-separated, no header, nothing shortened. Tabs and line breaks inside a value become spaces, so that
 * every row is one line and every cell is one field.
 */
export const tsv = (rows: readonly (readonly TsvValue[])[]): string =>
  rows.map((row) => `${row.map(field).join("\t")}\n`).join("");

const field = (value: TsvValue): string =>
  value === null || value === undefined
    ? ""
    : String(value)
        .toWellFormed()
        .replace(/[\t\r\n\u2028\u2029]+/g, " ");
