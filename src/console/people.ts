// Tested by test/unit/console-people.test.ts.
import { NUMBER_FIELDS, type Person } from "../shared/contract/records.ts";
import { isFormula } from "../shared/contract/text.ts";

export type Field = keyof Person;

export interface Sorting {
  readonly field: Field;
  readonly isDown: boolean;
}

/** Pages of an export by their number, from 0: those that were fetched. */
export type FetchedPages = ReadonlyMap<number, readonly Person[]>;

/** Where the rows of an export stand: a page may be short of whoever was left out since. */
export interface Extent {
  readonly pages: number;
  readonly perPage: number;
  readonly rows: number;
}

/**
 * The rows of a page: as they came, else as many as were paid for. Pages of new people have as
 * many as were new on each: until they came they are taken for equally many.
 */
function rowsOf({ pages, perPage, rows }: Extent, fetched: FetchedPages, page: number): number {
  const isFull = (pages - 1) * perPage < rows;
  const paid = isFull ? Math.min(perPage, rows - page * perPage) : Math.ceil(rows / pages);
  return fetched.get(page)?.length ?? paid;
}

export const rowsIn = (extent: Extent, fetched: FetchedPages): number => {
  let rows = 0;
  for (let page = 0; page < extent.pages; page++) rows += rowsOf(extent, fetched, page);
  return rows;
};

/**
 * Rows in their own order, `undefined` where their page is still to be
 * fetched, and the pages that these are on.
 * @param from the first row, from 0. @param to the row behind the last
 */
export function rowsBetween(extent: Extent, fetched: FetchedPages, from: number, to: number) {
  const rows: (Person | undefined)[] = [];
  const missing: number[] = [];
  let first = 0;

  for (let page = 0; page < extent.pages && first < to; page++) {
    const people = fetched.get(page);
    const length = rowsOf(extent, fetched, page);
    const [start, end] = [Math.max(0, from - first), Math.min(length, to - first)];
    if (start < end && people === undefined) missing.push(page);
    for (let row = start; row < end; row++) rows.push(people?.[row]);
    first += length;
  }

  return { rows, missing };
}

const plain = (value: unknown): string =>
  String(value ?? "")
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase();

/** What of a person is looked through: made once, since every key that is typed asks for it. */
const texts = new WeakMap<Person, string>();

function textOf(person: Person): string {
  const known = texts.get(person);
  if (known !== undefined) return known;
  const text = plain(Object.values(person).join("\n"));
  texts.set(person, text);
  return text;
}

/**
 * Those who have each of the words, whatever their case and accents, in the order that is asked
 * for; without one in their own. Whoever has no value stands last, both ways.
 */
export function arranged(
  people: readonly Person[],
  words: string,
  sorting: Sorting | undefined,
): readonly Person[] {
  const parts = plain(words).split(/\s+/).filter(Boolean);
  const found = people.filter((person) => parts.every((part) => textOf(person).includes(part)));
  if (sorting === undefined) return found;

  const { field, isDown } = sorting;
  const isNumber = NUMBER_FIELDS.has(field);
  const keyed = found.map((person) => {
    const value = person[field];
    return { person, key: value === null || isNumber ? value : plain(value) };
  });

  const way = isDown ? -1 : 1;
  keyed.sort(({ key: one }, { key: other }) => {
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return one < other ? -way : one > other ? way : 0;
  });
  return keyed.map(({ person }) => person);
}

/** Cells for a spreadsheet's clipboard: one line a person, and no cell that is a formula. */
export const asCells = (people: readonly Person[], fields: readonly Field[]): string =>
  [fields, ...people.map((person) => fields.map((field) => cell(person[field])))]
    .map((cells) => cells.join("\t"))
    .join("\n");

function cell(value: Person[Field]): string {
  const text = String(value ?? "").replace(/[\t\r\n]+/g, " ");
  return typeof value === "string" && isFormula(text) ? `'${text}` : text;
}
