// Tested by test/cli/owned.test.ts.
import { NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { PERSON_FIELDS } from "../../shared/contract/records.ts";
import { counted, echo, someOf, unguarded, whole } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { type JsonRecord, parseExact } from "../../shared/rows/values.ts";
import { asideOf } from "../../shared/tables/dialect.ts";
import { columnsFor, personKind, squeezed } from "../../shared/tables/headings.ts";
import type { InputTable } from "../../shared/tables/table.ts";

export const MAX_BYTES = 1 << 29;

/**
 * The rows of a table as records; `silent`: those that name nobody, with their lines, in words.
 * @throws CliError exit 2 where none names anybody
 */
export function recordsIn(table: InputTable, file: string) {
  const { columns, headings, rows } = table;
  const names = columns.map(fieldCalled);
  const addresses = columnsFor(table, "person").filter(
    (place) => personKind(headings[place] ?? "") === undefined,
  );
  const addressIn = (cells: readonly string[]): string | undefined =>
    addresses
      .map((place) => unguarded(cells[place] ?? "").trim())
      .find((cell) => canonicalAddress(cell)?.includes("/"));

  const lines: string[] = [];
  const records = rows.flatMap(({ line, cells, object }): readonly JsonRecord[] => {
    if (object === undefined && asideOf(cells) !== undefined) return [];
    const record =
      object !== undefined
        ? exactly(object.text, `${file}, line ${line}`)
        : Object.fromEntries(names.map((name, at) => [name, fieldOf(name, cells[at] ?? "")]));
    if (record.id != null || record.network_url != null) return [record];

    const address = addressIn(cells);
    if (address !== undefined) return [{ ...record, network_url: address }];
    lines.push(String(line));
    return [];
  });
  const silent =
    lines.length > 0 &&
    `${counted(lines.length, "row")} without an id or a profile: line ${someOf(lines)}`;
  if (records.length > 0) return { records, silent };

  throw usageError(
    `${file} names nobody: none of its columns has an id or the address of a profile: ` +
      columns.map(echo).join(", "),
    "one of network_url, linkedin_url, profile_url or id is needed",
    "no_identity",
  );
}

/** The same, where each row has to name somebody. @throws CliError exit 2 that names the line */
export function allRecordsIn(table: InputTable, file: string): readonly JsonRecord[] {
  const { records, silent } = recordsIn(table, file);
  if (silent === false) return records;
  throw usageError(
    `${file} has ${silent}`,
    "take them out of the file, or give them an id or the address of a profile",
    "no_identity",
  );
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
