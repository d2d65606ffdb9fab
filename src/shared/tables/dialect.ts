import { isOfTotals } from "../contract/naming/words.ts";
import { CsvScanner, cellTexts } from "./csv-scanner.ts";

/** How a CSV file is read. Quotes are `"`, doubled inside; there are no comments. */
export interface CsvDialect {
  readonly delimiter: string;
  readonly skippedLines: number;
  /** Those of them that only say what is between cells. */
  readonly declaredLines: number;
  readonly header: readonly string[];
  /** What stands in the file for each of them: `name` for `name 2`, which is the second. */
  readonly copies: ReadonlyMap<string, string>;
}

const DELIMITERS = [",", ";", "\t", "|"];
const LOOKED_AT = 1_000;
const TITLE_LINES = 25;

/** @param pieces the beginning of the file, then whole lines from later on */
export function dialectOf(
  pieces: readonly Buffer[],
  isKnown: (name: string) => boolean,
  skip?: number,
): CsvDialect {
  const [head = Buffer.alloc(0), ...later] = pieces;
  const said =
    skip === undefined
      ? /^"?sep=([^\r\n"])"?\r?\n/i.exec(head.toString("latin1", 0, 20))?.[1]
      : undefined;
  const skipped = skip ?? (said === undefined ? 0 : 1);
  const body = afterLines(head, skipped);

  const candidates = (said === undefined ? DELIMITERS : [said]).map((delimiter) => {
    const first = csvRecords(body, delimiter);
    const sizes = [first, ...later.map((piece) => csvRecords(piece, delimiter))].flatMap((rows) =>
      rows.map((cells) => cells.length),
    );
    const title = skip === undefined ? headerAt(first, isKnown) : 0;
    const header = first[title] ?? [];
    const { size, share } = mostCommon(sizes.slice(title));
    const fits = size === header.length || sizes.length === 1;
    const names = header.filter((name) => isKnown(name)).length;

    return {
      delimiter,
      title,
      header,
      names,
      single: sizes.filter((cells) => cells === 1).length,
      score: (size > 1 ? share : 0) * (fits ? 2 : 1) + Math.min(names, 2) / 2,
      size,
    };
  });

  // Where no delimiter is in the header, or in most rows, there is one column, whatever they hold.
  const several = candidates.filter(
    ({ header, size, names }) => header.length > 1 && (size > 1 || names > 0),
  );
  // Of two that fit alike it is the one under which the first lines belong to the table.
  const best = (several.length > 0 ? several : candidates).reduce((a, b) => {
    if (several.length === 0) return b.single > a.single ? b : a;
    return (b.score - a.score || a.title - b.title || b.size - a.size) > 0 ? b : a;
  });
  const titleEnd = best.title === 0 ? 0 : linesBefore(body, best.delimiter, best.title);
  return {
    delimiter: best.delimiter,
    skippedLines: skipped + titleEnd,
    declaredLines: skipped,
    header: uniqueNames(best.header),
    copies: new Map(uniqueNames(best.header).map((name, at) => [name, best.header[at] || name])),
  };
}

export function afterLines(bytes: Buffer, lines: number): Buffer {
  let at = 0;
  for (let line = 0; line < lines; line++) {
    while (at < bytes.length && bytes[at] !== 0x0a && bytes[at] !== 0x0d) at++;
    at += bytes[at] === 0x0d && bytes[at + 1] === 0x0a ? 2 : 1;
  }
  return bytes.subarray(Math.min(at, bytes.length));
}

function csvRecords(piece: Buffer, delimiter: string): string[][] {
  const records: string[][] = [];
  const scanner = new CsvScanner(delimiter);

  const take = (): boolean => {
    if (scanner.problem === undefined) records.push(cellTexts(scanner).map((cell) => cell.trim()));
    return records.length < LOOKED_AT;
  };

  scanner.push(piece, false, take);
  if (records.length < 2) scanner.push(Buffer.alloc(0), true, take);

  return records;
}

export function mostCommon(sizes: readonly number[]): { size: number; share: number } {
  const counts = new Map<number, number>();
  for (const size of sizes) counts.set(size, (counts.get(size) ?? 0) + 1);
  const [size = 0, count = 0] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a), [0, 0]);
  return { size, share: count / Math.max(sizes.length, 1) };
}

/**
 * Where the header is: the first row as wide as most that is more than half filled or has a known
 * name; a later one only where that one has none and most of the later one's names are known.
 */
export function headerAt(
  records: readonly (readonly string[])[],
  isKnown: (name: string) => boolean,
): number {
  const { size } = mostCommon(records.map((cells) => cells.length));
  const heads = records.slice(0, TITLE_LINES).map((cells, at) => {
    const filled = cells.filter((cell) => cell !== "").length;
    return { at, cells, filled, known: cells.filter((cell) => isKnown(cell)).length };
  });

  if (size <= 1) {
    // A list; above a heading of it, or of a table with few rows, stands what is no value.
    const named = heads.find(({ known, cells }) => known > 1 || (known === 1 && cells.length <= 1));
    const isTitle = heads.slice(0, named?.at ?? 0).every(({ cells }) => isProse(cells.join()));
    return named !== undefined && isTitle ? named.at : 0;
  }

  const wide = heads.filter(({ cells }) => cells.length >= size);
  const first = wide.find(({ filled, known }) => filled * 2 > size || known > 0);
  const isNamed = ({ filled, known }: (typeof heads)[number]) => known > 1 && known * 2 >= filled;
  const named = wide.find(isNamed);
  if (first === undefined) return 0;
  // A row of groups, whose cells were merged, stands above the names of more columns.
  const below = wide.find(({ at }) => at === first.at + 1);
  const groups = new Set(first.cells.filter((cell) => cell !== "")).size;
  if (groups < size && below && isNamed(below) && below.known > groups) return below.at;
  return (first.known === 0 ? (named ?? first) : first).at;
}

/** What stands above or below a list rather than in it. */
export const isProse = (text: string): boolean => /\s|:$/.test(text.trim());

/**
 * What a row is that stands in a table and tells of nobody; undefined for any other.
 * @param isApart whether a blank line is before it
 */
export function asideOf(cells: readonly string[], isApart = false): string | undefined {
  const filled = cells.filter((cell) => cell.trim() !== "");
  if (isOfTotals(filled)) return "a line of totals";
  return isApart && filled.length === 1 && isProse(filled[0] ?? "")
    ? "no row but prose"
    : undefined;
}

function linesBefore(body: Buffer, delimiter: string, records: number): number {
  const scanner = new CsvScanner(delimiter);
  let count = 0;
  let lines = 0;
  scanner.push(body, true, () => {
    lines = scanner.line - 1;
    return count++ < records;
  });
  return lines;
}

/** Names for so many columns: as given; of names that are empty or there twice, others. */
export function uniqueNames(header: readonly string[], width = header.length): string[] {
  const names = new Set<string>();
  return Array.from({ length: width }, (_, index) => {
    const title = header[index] ?? "";
    const base = title === "" ? `column ${index + 1}` : title;
    let name = base;
    for (let copy = 2; names.has(name); copy++) name = `${base} ${copy}`;
    names.add(name);
    return name;
  });
}
