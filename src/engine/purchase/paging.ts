// Tested by test/unit/paging.test.ts.
import type { Dialect } from "../client/dialect.ts";

export interface Range {
  readonly from: number;
  readonly to: number;
}

function largestDivisor(value: number, bound: number): number {
  for (let size = Math.min(value, bound); size > 1; size--) if (value % size === 0) return size;
  return 1;
}

/**
 * How many rows to ask for at an offset. A page by number begins at a multiple of its size: landing
 * on a cap takes a few smaller pages (1,007 rows: ten pages of 100, then 5, 1 and 1), and so does
 * coming from a first row to where the largest begin (1, 2, 4, 8, 8 and 1: then pages of 25).
 */
export function pageSize(
  paging: Dialect["paging"],
  offset: number,
  rest: number,
  perPage: number,
): number {
  if (paging !== "page" || offset === 0) return Math.min(rest, perPage);
  return largestDivisor(offset, Math.min(rest, perPage - (offset % perPage)));
}

/** @param begun rows that came by then */
export function requestsFor(
  paging: Dialect["paging"],
  rows: number,
  perPage: number,
  begun = 0,
): number {
  let requests = 0;
  for (let offset = begun; offset < rows; ) {
    const size = pageSize(paging, offset, rows - offset, perPage);
    const pages = size === perPage ? Math.floor((rows - offset) / size) : 1;
    requests += pages;
    offset += pages * size;
  }
  return requests;
}

/**
 * The size of all pages, where they have one: its multiples land on the rows in at
 * most twice the fewest requests, or else below them by less than a row a request.
 */
export function oneSize(rows: number, perPage: number): number {
  const fewest = Math.max(1, Math.ceil(rows / perPage));
  for (let requests = fewest; requests <= 2 * fewest; requests++)
    if (rows % requests === 0) return Math.max(1, rows / requests);
  return Math.max(1, Math.floor(rows / fewest));
}

export const without = (ranges: readonly Range[], from: number, to: number): Range[] =>
  ranges.flatMap((range) =>
    to <= range.from || range.to <= from
      ? [range]
      : [
          { from: range.from, to: Math.min(range.to, from) },
          { from: Math.max(range.from, to), to: range.to },
        ].filter((part) => part.from < part.to),
  );

export function joined(ranges: readonly Range[], from: number, to: number): Range[] {
  const merged: Range[] = [];
  for (const range of [...ranges, { from, to }].sort((a, b) => a.from - b.from)) {
    if (range.from >= range.to) continue;
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to) merged.push(range);
    else merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, range.to) };
  }
  return merged;
}

export const below = (ranges: readonly Range[], end: number): Range[] =>
  ranges.flatMap(({ from, to }) => (from >= end ? [] : [{ from, to: Math.min(to, end) }]));

/**
 * So many rows of all companies: one of each before a second of any,
 * of a company those of its first parts first. With more rows nowhere
 * fewer. @param of the company of each part @returns rows of each part
 */
export function evenly(
  counts: readonly number[],
  of: readonly unknown[],
  { rows, most }: { readonly rows: number; readonly most: number | null },
): number[] {
  const people = new Map<unknown, number>();
  for (const [index, count] of counts.entries())
    people.set(of[index], (people.get(of[index]) ?? 0) + count);

  const wanted = new Map<unknown, number>();
  let rest = rows;
  for (let level = 1; rest > 0 && level <= (most ?? Infinity); level++) {
    const before = rest;
    for (const [company, total] of people) {
      if (rest === 0 || total < level) continue;
      wanted.set(company, level);
      rest--;
    }
    if (rest === before) break;
  }

  return counts.map((count, index) => {
    const some = Math.min(count, wanted.get(of[index]) ?? 0);
    wanted.set(of[index], (wanted.get(of[index]) ?? 0) - some);
    return some;
  });
}
