import type { Library } from "../../../engine/library/library.ts";
import { contradiction, type FacetValue } from "../../../shared/contract/facets.ts";
import { normalForm } from "../../../shared/contract/normalise.ts";
import { grouped } from "../../../shared/contract/text.ts";
import type { FilterKeySpec, Filters } from "../../../shared/contract/vocabulary.ts";
import { usageError } from "../../../shared/errors.ts";
import { checkedFilters } from "../../../shared/filters.ts";
import { bar, percent } from "../../../shared/numbers.ts";
import { csvDocument } from "../../../shared/rows/csv-text.ts";
import { type ColumnOf, countColumn, printList } from "../../terminal/list.ts";
import type { Printer } from "../../terminal/printer.ts";
import type { LibraryDesk, ShelfOptions } from "../owned/shelf.ts";

export interface Breakdown {
  readonly by: FilterKeySpec;
  readonly whole: number;
  readonly parts: readonly FacetValue[];
  readonly filters: Filters;
  /** People of other values and people with none, where the service told them apart. */
  readonly rest?: { readonly others: number | undefined; readonly missing: number | undefined };
}

interface Explained extends Breakdown {
  /** What the parts do not hold of the whole; negative where they overlap. */
  readonly unexplained: number;
}

const BAR_WIDTH = 24;
const OTHERS =
  "(another): values beyond --top, and those of so few people " +
  "that a service does not tell them one by one";

/** @param top all where it is not given */
export const largest = (
  parts: readonly FacetValue[],
  top: number | undefined,
): readonly FacetValue[] => [...parts].sort((a, b) => b.count - a.count).slice(0, top);

export const words = ({ key }: FilterKeySpec): string => key.replaceAll("_", " ");

export async function printParts(breakdown: Breakdown, printer: Printer): Promise<void> {
  const { by, whole, filters } = breakdown;
  const parts = [...breakdown.parts].sort(
    (a, b) => b.count - a.count || (a.value < b.value ? -1 : 1),
  );
  const within =
    by.match === "prefix" ? nested(parts.map(({ value }) => value)) : new Map<string, string>();
  // Beginnings of one text are nested or apart: what
  // is within another part is in that one's number.
  const apart = parts.filter(({ value }) => !within.has(value));
  const unexplained = whole - apart.reduce((sum, part) => sum + part.count, 0);

  for (const [inner, outer] of within)
    printer.note(`notice: parts overlap: "${inner}" is counted in "${outer}" too`);

  const explained = { ...breakdown, parts, unexplained };
  if (printer.terminal && !printer.json) return printTable(explained, printer);

  if (printer.json) {
    const { others = null, missing = null } = breakdown.rest ?? {};
    printer.document<"count">({
      count: whole,
      by: by.key,
      parts,
      unexplained,
      others,
      missing,
      filters,
    });
  } else {
    const rows = parts.map(({ value, count }) => [value, count]);
    printer.text(csvDocument([by.key, "count"], rows));
  }

  const text = remainderText(explained);
  if (text !== undefined) printer.note(text);
}

/** Parts that another part holds, by their values: "soft" is within "so". */
function nested(values: readonly string[]): Map<string, string> {
  const normal = values.map(normalForm);
  const outers = new Map<string, string>();
  for (const [index, text] of normal.entries()) {
    const outer = normal.findIndex((other) => other !== text && text.startsWith(other));
    if (outer >= 0) outers.set(values[index] ?? "", values[outer] ?? "");
  }
  return outers;
}

function remainderText({ by, whole, unexplained, rest }: Explained): string | undefined {
  const number = grouped(Math.abs(unexplained));
  if (rest?.others !== undefined && rest.missing !== undefined && unexplained > 0) {
    return (
      `${grouped(rest.others)} of ${grouped(whole)} have another ` +
      `${words(by)}, ${grouped(rest.missing)} none`
    );
  }
  if (unexplained === 0) return undefined;
  // Nobody has two values of one key; of a company, an address and a slug are two texts of one.
  if (unexplained < 0 && by.match !== "company_network_url")
    return contradiction(words(by), -unexplained, whole);
  if (unexplained < 0)
    return `the parts overlap: together they have ${number} more than the segment`;

  return `${number} of ${grouped(whole)} have another ${words(by)} or none`;
}

function restRows({ unexplained, rest }: Explained): readonly FacetValue[] {
  if (unexplained <= 0) return [];
  if (rest?.others === undefined || rest.missing === undefined)
    return [{ value: "(another or none)", count: unexplained }];
  const rows = [
    { value: "(another)", count: rest.others },
    { value: "(none)", count: rest.missing },
  ];
  return rows.filter(({ count }) => count > 0);
}

async function printTable(breakdown: Explained, printer: Printer): Promise<void> {
  const { by, whole, parts, unexplained } = breakdown;
  const rows = [...parts, ...restRows(breakdown)];
  // The remainder is no part: its bar would only flatten those of the parts.
  const longest = Math.max(1, ...parts.map((part) => part.count));
  const width = Math.max(4, Math.min(BAR_WIDTH, printer.width - 50));

  await printer.table(
    [
      { title: words(by) },
      { title: "people", align: "right", fixed: true },
      { title: "share", align: "right", fixed: true },
      { title: "", fixed: true, paint: printer.style.bar },
    ],
    rows.map(({ value, count }, index) => {
      const drawn = index < parts.length ? bar(count / longest, width, printer.unicode) : "";
      return [value, grouped(count), percent(count, whole), drawn];
    }),
  );

  printer.text(
    `${printer.style.strong(grouped(whole))} ${whole === 1 ? "person" : "people"} in all\n`,
  );
  if (unexplained < 0) printer.text(`${remainderText(breakdown)}\n`);
  else if ((breakdown.rest?.others ?? 0) > 0) printer.note(OTHERS);
}

export interface OwnedCount {
  readonly segments: readonly { readonly name: string; readonly filters: Filters }[];
  readonly by?: FilterKeySpec | undefined;
  readonly values: readonly string[];
  readonly top?: number | undefined;
}

/** `count --owned`: the same counts over who is owned, offline and free. */
export function countOwned(
  { library, printer }: LibraryDesk<ShelfOptions>,
  { segments, by, values, top }: OwnedCount,
): void | Promise<void> {
  const count = (filters: Filters): number =>
    library?.count(checkedFilters(filters).canonical) ?? 0;
  const [first] = segments;
  if (first !== undefined && by !== undefined) {
    const { filters } = first;
    const parts =
      values.length > 0
        ? values.map((value) => ({ value, count: count({ ...filters, [by.key]: value }) }))
        : ownedValues(library, by, filters);
    return printParts({ by, whole: count(filters), parts: largest(parts, top), filters }, printer);
  }

  const rows = segments.map(({ name, filters }) => ({
    segment: name,
    count: count(filters),
    filters,
  }));

  if (first !== undefined && rows.length === 1) {
    const { count: people, filters } = rows[0] ?? { count: 0, filters: {} };
    if (printer.json) printer.document<"count">({ count: people, owned: true, filters });
    else
      printer.text(
        printer.terminal ? `${printer.style.strong(grouped(people))} owned\n` : `${people}\n`,
      );
  } else if (printer.json) printer.document<"count">(rows);
  else return printList(SEGMENTS, rows, printer, "none");
}

export const SEGMENTS: readonly ColumnOf<{ readonly segment: string; readonly count: number }>[] = [
  { name: "segment", long: true },
  countColumn("count", "people"),
];

function ownedValues(
  library: Library | undefined,
  by: FilterKeySpec,
  filters: Filters,
): FacetValue[] {
  if (by.match === "prefix" || by.match === "range") {
    throw usageError(
      `--by ${by.key} needs values: --by ${by.key}=VALUE`,
      `--by ${by.field} needs none: it has the values of who is owned`,
    );
  }
  return library?.valuesOf(by, checkedFilters(filters).canonical) ?? [];
}
