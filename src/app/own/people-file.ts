import { NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { PERSON_FIELDS } from "../../shared/contract/records.ts";
import { unguarded, whole } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { type JsonRecord, parseExact } from "../../shared/rows/values.ts";
import { asideOf } from "../../shared/tables/dialect.ts";
import { squeezed } from "../../shared/tables/headings.ts";
import type { InputTable } from "../../shared/tables/table.ts";

export const MAX_BYTES = 1 << 29;

/** The rows of a table as records. @throws CliError exit 2 that names the line */
export function recordsIn({ columns, rows }: InputTable, file: string): JsonRecord[] {
  const names = columns.map(fieldCalled);
  const records = rows.flatMap(({ line, cells, object }): readonly JsonRecord[] => {
    if (object !== undefined) return [exactly(object.text, `${file}, line ${line}`)];
    if (asideOf(cells) !== undefined) return [];
    const fields = names.map((name, place) => [name, fieldOf(name, cells[place] ?? "")]);
    return [Object.fromEntries(fields)];
  });

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

function exactly(text: string, where: string): JsonRecord {
  try {
    return parseExact(text) as JsonRecord;
  } catch (error) {
    throw usageError(`${where}: ${(error as Error).message}`, "one JSON object a line is read");
  }
}

/** `Network URL` is the field `network_url`, unless another column has that very name. */
function fieldCalled(column: string, _place: number, columns: readonly string[]): string {
  const field = PERSON_FIELDS.find((name) => squeezed(name) === squeezed(column));
  return field === undefined || columns.includes(field) ? column : field;
}

/**
 * Numbers again numbers, and without the apostrophe that keeps a spreadsheet from running a cell.
 */
function fieldOf(name: string, cell: string): string | number | null {
  if (cell === "") return null;
  const number =
    NUMBER_COLUMNS.includes(name) && /^\d+$/.test(cell) ? whole(Number(cell)) : undefined;
  return number ?? unguarded(cell);
}
