import type { FilterKeySpec, Filters } from "../contract/filters.ts";
import { grouped } from "../contract/text.ts";
import { bar, percent } from "../terminal/numbers.ts";
import type { Printer } from "../terminal/printer.ts";

export interface Part {
  readonly value: string;
  readonly count: number;
}

/** A segment broken down by a key. */
export interface Breakdown {
  readonly by: FilterKeySpec;
  readonly whole: number;
  readonly parts: readonly Part[];
  /** What the parts do not hold of the whole; negative where they overlap. */
  readonly unexplained: number;
  readonly filters: Filters;
}

const BAR_WIDTH = 24;

export const words = ({ key }: FilterKeySpec): string => key.replaceAll("_", " ");

export async function printParts(found: Breakdown, format: "table" | "csv" | "json", printer: Printer): Promise<void> {
  const { by, whole, parts, unexplained, filters } = found;
  if (format === "table") return printTable(found, printer);
  if (format === "json") printer.document({ count: whole, by: by.key, parts, unexplained, filters });
  else {
    const rows = parts.map(({ value, count }) => [value, count]);
    // A plain count loads nothing that writes CSV.
    const { csvDocument } = await import("../output/csv.ts");
    printer.text(csvDocument([by.key, "count"], rows));
  }
  const text = remainderText(found);
  if (text !== undefined) printer.note(text);
}

function remainderText({ by, whole, unexplained }: Breakdown): string | undefined {
  const number = grouped(Math.abs(unexplained));
  if (unexplained === 0) return undefined;
  if (unexplained < 0) return `the parts overlap: together they have ${number} more than the segment`;
  return `${number} of ${grouped(whole)} have another ${words(by)} or none`;
}

async function printTable(found: Breakdown, printer: Printer): Promise<void> {
  const { by, whole, parts, unexplained } = found;
  const rows = unexplained > 0 ? [...parts, { value: "(another or none)", count: unexplained }] : parts;
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
  printer.text(`${printer.style.strong(grouped(whole))} ${whole === 1 ? "person" : "people"} in all\n`);
  if (unexplained < 0) printer.text(`${remainderText(found)}\n`);
}
