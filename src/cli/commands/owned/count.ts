import { checkedFilters } from "../../../app/segments/segment-set.ts";
import type { Library } from "../../../engine/library/library.ts";
import type { Context } from "../../../shared/context.ts";
import type { FilterKeySpec, Filters } from "../../../shared/contract/filters.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { csvDocument } from "../../../shared/rows/csv.ts";
import { Printer } from "../../terminal/printer.ts";
import { type CountPart, printParts } from "../count/parts.ts";
import { type ShelfOptions, withLibrary } from "./shelf.ts";

export interface OwnedCount {
  readonly segments: readonly { readonly name: string; readonly filters: Filters }[];
  /** Breaks the one segment down; without values, by those that the people have. */
  readonly by?: FilterKeySpec | undefined;
  readonly values: readonly string[];
  /** Only the largest so many parts. */
  readonly top?: number | undefined;
  readonly format?: "table" | "csv" | "json" | undefined;
}

/** `count --owned`: the same counts over who is owned, offline and free. */
export async function countOwned(
  { segments, by, values, top, format }: OwnedCount,
  options: ShelfOptions,
  context: Context,
): Promise<void> {
  const printer = new Printer(context, options);
  await withLibrary(options, context, printer, async (library) => {
    const count = (filters: Filters): number => library?.count(checkedFilters(filters).canonical) ?? 0;
    const [first] = segments;
    const chosen = printer.json ? "json" : (format ?? (printer.terminal ? "table" : "csv"));
    if (first !== undefined && by !== undefined) {
      const { filters } = first;
      const parts =
        values.length > 0
          ? values.map((value) => ({ value, count: count({ ...filters, [by.key]: value }) }))
          : known(library, by, filters);
      const largest = [...parts].sort((a, b) => b.count - a.count).slice(0, top ?? parts.length);
      return printParts({ by, whole: count(filters), parts: largest, filters }, chosen, printer);
    }
    const rows = segments.map(({ name, filters }) => ({ segment: name, count: count(filters), filters }));
    if (first !== undefined && rows.length === 1) {
      const { count: people, filters } = rows[0] ?? { count: 0, filters: {} };
      if (printer.json) printer.document<"count">({ count: people, owned: true, filters });
      else printer.text(printer.terminal ? `${printer.style.strong(grouped(people))} owned\n` : `${people}\n`);
    } else if (chosen === "json") printer.document<"count">(rows);
    else
      printer.text(
        csvDocument(
          ["segment", "count"],
          rows.map(({ segment, count: people }) => [segment, people]),
        ),
      );
  });
}

function known(library: Library | undefined, by: FilterKeySpec, filters: Filters): CountPart[] {
  if (by.match !== "exact" && by.match !== "department") {
    throw usageError(`--by ${by.key} needs --values`, `--by ${by.field} needs none: it has the values of who is owned`);
  }
  return library?.valuesOf(by, checkedFilters(filters).canonical) ?? [];
}
