import { isObject } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";

/**
 * Columns that a company is looked up by, best first;
 * in any case, with spaces or hyphens for underscores.
 */
const COLUMNS = [
  "company_network_url",
  "company_linkedin_url",
  "linkedin_company_url",
  "linkedin_company_page",
  "domain",
  "company_domain",
  "company_domain_name",
  "primary_domain",
  "email_domain",
  "website",
  "company_website",
  "account_website",
  "organization_website",
  "website_url",
  "company_website_url",
  "web_site",
  "homepage",
  "company_url",
  "url",
  "company",
];
/** First lines that are no companies, of a list with one column. */
export const HEADINGS = new Set([
  ...COLUMNS,
  "name",
  "company_name",
  "account",
  "account_name",
  "id",
  "companies",
  "domains",
  "email",
  "e_mail",
  "mail",
  "email_address",
  "e_mail_address",
]);
export const columnName = (text: string): string =>
  text
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");

/**
 * The column as it was named, in any spelling; without
 * a name the best of those that name companies.
 */
export function chooseColumn(
  names: readonly string[],
  wanted: string | undefined,
): string | undefined {
  if (wanted !== undefined && names.includes(wanted)) return wanted;
  for (const usual of wanted === undefined ? COLUMNS : [columnName(wanted)]) {
    const match = names.find((name) => columnName(name) === usual);
    if (match !== undefined) return match;
  }
  return undefined;
}

/** What may name a company: ids may be numbers, as long as they are exact. */
export const isWord = (value: unknown): value is string | number =>
  typeof value === "string" || Number.isSafeInteger(value);

/**
 * The objects of NDJSON, with the numbers and texts of their lines.
 * @throws CliError exit 2 for a line that is none
 */
export function* jsonLines(text: string, name: string) {
  for (const [index, raw] of text.split("\n").entries()) {
    const line = raw.trim();
    if (line === "") continue;
    let fields: unknown;
    try {
      fields = JSON.parse(line);
    } catch {}
    if (!isObject(fields)) throw usageError(`line ${index + 1} of ${name} is not a JSON object`);
    yield { line: index + 1, text: line, fields };
  }
}

interface CsvRow {
  readonly line: number;
  readonly cells: readonly string[];
}

/**
 * The rows of a list: comma, semicolon or tab, as the
 * first line has or names. Rows without text are left out.
 */
export async function parseCsv(list: string): Promise<CsvRow[]> {
  const { parse } = await import("csv-parse/sync");
  // Excel's word for the separator; the line stays one, so that the others keep their numbers.
  const [, separator, rest] = /^\ufeff?sep=(.)(\r?\n[\s\S]*)$/i.exec(list) ?? [];
  const text = rest ?? list;
  const firstLine = text.slice(0, text.search(/\r?\n|$/));
  const rows: CsvRow[] = [];
  let twice = 0;
  const options = {
    bom: true,
    delimiter: separator ?? [",", ";", "\t"].find((mark) => firstLine.includes(mark)) ?? ",",
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,

    on_record: (cells: readonly string[], { lines }: { readonly lines: number }) => {
      // A row ends on this line; it began before the line breaks inside its cells.
      const inside = cells.join("").match(/\r?\n/g) ?? [];
      // The parser counts both halves of a CRLF in quotes, from there on.
      twice += inside.filter((text) => text.length > 1).length;
      const line = lines - twice - inside.length;
      if (cells.length > 1 || cells[0]?.trim()) rows.push({ line, cells });
      return null;
    },
  };

  try {
    parse(text, options);
  } catch (error) {
    throw usageError(
      `the list is no CSV: ${(error as Error).message}`,
      "close the quote, or double the quotes inside a cell",
    );
  }

  return rows;
}
