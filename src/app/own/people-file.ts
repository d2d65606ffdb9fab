import { NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { whole } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { isNested, type JsonRecord, parseExact } from "../../shared/rows/values.ts";
import { parseCsv } from "../buy/companies.ts";

export const MAX_BYTES = 1 << 29;

/** A JSON list, NDJSON, or CSV with a header. @throws CliError exit 2 that names the line */
export async function recordsIn(text: string, file: string): Promise<JsonRecord[]> {
  const records = /^\s*[[{]/.test(text) ? jsonRecords(text, file) : await csvRecords(text, file);
  for (const [index, record] of records.entries()) {
    if (record.id != null || record.network_url != null) continue;
    throw usageError(
      `${file}: record ${index + 1} has neither id nor network_url, ` +
        "so nobody could tell it from others",
      "give the file a column with one of these names",
      "no_identity",
    );
  }

  return records;
}

function jsonRecords(text: string, file: string): JsonRecord[] {
  const list = text.trimStart().startsWith("[");
  const values = list
    ? [parsed(text, `${file}`)].flat()
    : text
        .split("\n")
        .flatMap((line, index) =>
          line.trim() === "" ? [] : [parsed(line, `${file}, line ${index + 1}`)],
        );

  return values.map((value, index) => {
    if (isNested(value)) return value;
    throw usageError(`${file}: record ${index + 1} is no JSON object`);
  });
}

function parsed(text: string, where: string): ReturnType<typeof parseExact> {
  try {
    return parseExact(text);
  } catch (error) {
    throw usageError(
      `${where}: ${(error as Error).message}`,
      "one JSON object a line, or one list of them",
    );
  }
}

async function csvRecords(text: string, file: string): Promise<JsonRecord[]> {
  const [header, ...rows] = await parseCsv(text);
  if (header === undefined) throw usageError(`${file} is empty`);
  const names = header.cells.map((cell) => cell.trim());
  return rows.map(({ cells }) =>
    Object.fromEntries(names.map((name, index) => [name, fieldOf(name, cells[index] ?? "")])),
  );
}

/**
 * Numbers again numbers, and without the apostrophe that keeps a spreadsheet from running a cell.
 */
function fieldOf(name: string, cell: string): string | number | null {
  if (cell === "") return null;
  const number =
    NUMBER_COLUMNS.includes(name) && /^\d+$/.test(cell) ? whole(Number(cell)) : undefined;
  return number ?? cell.replace(/^'(?=[=+\-@\t\r\n])/, "");
}
