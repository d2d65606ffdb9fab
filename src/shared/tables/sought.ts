// Tested by test/unit/shared/tables.test.ts.
import { canonicalDomain } from "../contract/naming/address.ts";
import { read } from "../contract/naming/read.ts";
import { echo, unguarded } from "../contract/text.ts";
import { option, type Said, say, usageError } from "../errors.ts";
import { columnsFor, type Sought } from "./headings.ts";
import type { InputTable, TableRow } from "./table.ts";

/** Rows that tell which column has addresses. */
const LOOKED_AT = 100;

/** As what an address of it is read, and what is told where no column has a name for it. */
const SOUGHT = {
  company: { as: ["domain", "company"], lacks: "no column that names a company" },
  person: { as: ["person"], lacks: "no column that tells people" },
};
const HEADER = "add a first line such as id,website";
const CHOOSE = say`choose one with ${option("column", "NAME")}`;

/** What stands in some of its cells, without what guards it, and where. */
export const filledCells = ({ cells }: TableRow, places: readonly number[]) =>
  places.flatMap((place) => {
    const text = unguarded(cells[place] ?? "").trim();
    return text === "" ? [] : [{ text, place }];
  });

/** In how many of the first rows each column has an address of what is sought. */
const addressesIn = ({ columns, rows }: InputTable, sought: Sought): number[] =>
  columns.map(
    (_, place) =>
      rows
        .slice(0, LOOKED_AT)
        .filter(({ cells }) => SOUGHT[sought].as.includes(read(cells[place] ?? "").is)).length,
  );

/** Names a column that was not chosen, whose cells are addresses; undefined where none has any. */
export function columnHint(
  table: InputTable,
  sought: Sought,
  chosen: readonly number[],
  counts = addressesIn(table, sought),
): Said | undefined {
  const others = counts.map((count, at) => (chosen.includes(at) ? 0 : count));
  const column = table.columns[others.indexOf(Math.max(1, ...others))];
  return column === undefined
    ? undefined
    : say`${option("column", column)}: its cells are domains or profiles`;
}

/**
 * The places of the columns that name what is sought, best first.
 * @param name of the file, for messages @param column the one that somebody named
 * @param isWord whether a word does as well as an address
 * @throws CliError exit 2 where none does, or where another one alone has addresses
 */
export function columnsSought(
  table: InputTable,
  sought: Sought,
  [name, column, isWord]: readonly [string, string | null | undefined, boolean],
  places = columnsFor(table, sought, column),
): readonly number[] {
  const { columns, isList } = table;
  const [best] = places;
  if (best === undefined && column == null && (isList || columns.length === 1)) return [0];
  // The cells are read only where they are what tells.
  if (best !== undefined && (column != null || isWord)) return places;

  const counts = addressesIn(table, sought);
  const other = columnHint(table, sought, places, counts);
  const isTaken = other === undefined || places.some((place) => counts[place]);
  if (best !== undefined && isTaken) return places;

  const isData = columns.some((each) => canonicalDomain(each) !== undefined);
  const lacks = best !== undefined ? `no address in ${echo(columns[best])}` : SOUGHT[sought].lacks;
  const [lack, hint] =
    column != null
      ? [`no column "${echo(column)}"`, other]
      : isData
        ? ["no line with the names of its columns: the first one is data", HEADER]
        : [lacks, other];
  throw usageError(
    `${name} has ${lack}; its columns: ${columns.map(echo).join(", ")}`,
    hint ?? CHOOSE,
  );
}
