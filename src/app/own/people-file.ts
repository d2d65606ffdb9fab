// Tested by test/cli/owned.test.ts.
import { NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { read } from "../../shared/contract/naming/read.ts";
import { suppressedName } from "../../shared/contract/naming/who.ts";
import { PERSON_FIELDS } from "../../shared/contract/records.ts";
import { counted, echo, someOf, unguarded, whole } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import type { JsonRecord } from "../../shared/rows/values.ts";
import { asideOf } from "../../shared/tables/dialect.ts";
import { columnsFor, personKind, squeezed } from "../../shared/tables/headings.ts";
import { columnHint, columnsSought, filledCells } from "../../shared/tables/sought.ts";
import { headedBy, type InputTable } from "../../shared/tables/table.ts";

export const MAX_BYTES = 1 << 29;

/**
 * The rows of a table as records; `silent`: those that name nobody, with their lines, in words;
 * `by`: the columns that told who they are.
 * @param column the one that alone tells it @param isWord whether ids do beside addresses
 * @throws CliError exit 2 where none names anybody
 */
export function recordsIn(input: InputTable, file: string, column?: string, isWord = false) {
  const table = headedBy(input, column);
  const { columns, headings, rows, isList } = table;
  const names = columns.map(fieldCalled);
  const isTold = isList || column !== undefined;
  // Of what programs number their people by only `id` is a field of a record.
  const usual = columnsFor(table, "person", column).filter(
    (place) => isTold || names[place] === "id" || !personKind(headings[place] ?? ""),
  );
  const places = columnsSought(table, "person", [file, column, isWord], usual);

  const lines: string[] = [];
  const records = rows.flatMap((row): readonly JsonRecord[] => {
    const { line, cells, object } = row;
    if (object === undefined && asideOf(cells) !== undefined) return [];
    const { address, id } = whoIn(filledCells(row, places), names, isTold ? headings : undefined);
    if (address === undefined && id === undefined) {
      lines.push(String(line));
      return [];
    }

    const record: JsonRecord =
      object?.fields ??
      Object.fromEntries(names.map((name, at) => [name, fieldOf(name, cells[at] ?? "")]));
    const whole = isList ? {} : isTold ? { ...record, id: null, network_url: null } : record;
    if (address !== undefined) return [{ ...whole, network_url: address }];
    return [isTold ? { ...whole, id: id ?? null } : whole];
  });

  const silent =
    lines.length > 0 &&
    `${counted(lines.length, "row")} without an id or a profile: line ${someOf(lines)}`;
  const by = places.map((place) => columns[place] ?? "");
  if (records.length > 0) return { records, silent, by };

  throw usageError(
    `${file} names nobody: no id or profile stands in ${by.map(echo).join(", ")}`,
    columnHint(table, "person", places),
    "no_identity",
  );
}

/** @param told the headings of columns of which each alone tells who somebody is */
const whoIn = (
  texts: ReturnType<typeof filledCells>,
  names: readonly string[],
  told: readonly string[] | undefined,
) => ({
  address: texts.find(({ place, text }) => isAddress(text, names[place]))?.text,
  id: texts.find(
    ({ place, text }) =>
      (told !== undefined || names[place] === "id") &&
      suppressedName(text, told ? personKind(told[place] ?? "") : "id")?.kind === "id",
  )?.text,
});

/** A page may be a profile at a network that no record has shown yet. */
function isAddress(text: string, field: string | undefined): boolean {
  const reading = read(text);
  const isPage = reading.is === "domain" && reading.path !== "";
  return reading.is === "person" || isPage || (reading.is === "word" && field === "network_url");
}

/** The same, where each row has to name somebody. @throws CliError exit 2 that names the line */
export function allRecordsIn(
  table: InputTable,
  file: string,
  column?: string,
): readonly JsonRecord[] {
  const { records, silent } = recordsIn(table, file, column, true);
  if (silent === false) return records;
  throw usageError(
    `${file} has ${silent}`,
    "take them out of the file, or give them an id or the address of a profile",
    "no_identity",
  );
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
  return (NUMBER_COLUMNS.includes(name) ? whole(cell) : undefined) ?? unguarded(cell);
}
