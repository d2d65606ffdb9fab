import type { Dialect } from "../client/types.ts";

/** Rows of one target that are still to be bought, as a half-open range. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** The divisors of `value` that are at most `bound`, largest first; only the first is needed. */
function largestDivisor(value: number, bound: number): number {
  if (value <= bound) return value;
  let best = 1;
  for (let small = 1; small * small <= value; small++) {
    if (value % small !== 0) continue;
    if (small <= bound && small > best) best = small;
    const large = value / small;
    if (large <= bound) return Math.max(best, large);
  }
  return best;
}

/**
 * How many rows to ask for at an offset. With page numbers a page begins at a multiple of its size, so the size must divide the
 * offset; landing on a cap then takes a few smaller pages (1,007 rows: ten pages of 100, then 5, 1 and 1).
 * @param left rows that may still be bought, at least 1
 * @param perPage the size wanted, at least 1
 */
export function pageSize(paging: Dialect["paging"], offset: number, left: number, perPage: number): number {
  const bound = Math.max(1, Math.min(left, perPage));
  return paging === "page" && offset > 0 ? largestDivisor(offset, bound) : bound;
}

/** How many requests buy `rows` rows from offset 0. */
export function requestsFor(paging: Dialect["paging"], rows: number, perPage: number): number {
  const whole = Math.floor(rows / perPage);
  let requests = whole;
  for (let offset = whole * perPage; offset < rows; requests++) {
    offset += pageSize(paging, offset, rows - offset, perPage);
  }
  return requests;
}

/** The rows of a target that are still to be bought, kept as a sorted list of ranges that do not touch. */
export class Gaps {
  #list: Gap[];

  constructor(gaps: readonly Gap[]) {
    this.#list = gaps.filter(({ from, to }) => from < to);
  }

  /** The first range, or undefined where nothing is left. */
  get first(): Gap | undefined {
    return this.#list[0];
  }

  /** Rows left in all. */
  get rows(): number {
    return this.#list.reduce((sum, { from, to }) => sum + (to - from), 0);
  }

  /** Takes `[from, to)` out: it is being bought. */
  take(from: number, to: number): void {
    this.#list = this.#list.flatMap((gap) =>
      to <= gap.from || gap.to <= from
        ? [gap]
        : [
            { from: gap.from, to: Math.min(gap.to, from) },
            { from: Math.max(gap.from, to), to: gap.to },
          ].filter((part) => part.from < part.to),
    );
  }

  /** Gives `[from, to)` back: the request for it came to nothing. */
  giveBack(from: number, to: number): void {
    const sorted = [...this.#list, { from, to }].filter((gap) => gap.from < gap.to).sort((a, b) => a.from - b.from);
    const merged: Gap[] = [];
    for (const gap of sorted) {
      const last = merged.at(-1);
      if (last !== undefined && gap.from <= last.to) {
        merged[merged.length - 1] = { from: last.from, to: Math.max(last.to, gap.to) };
      } else merged.push(gap);
    }
    this.#list = merged;
  }

  /** Forgets everything from `end` on: the service has no more. */
  cut(end: number): void {
    this.#list = this.#list.flatMap(({ from, to }) => (from >= end ? [] : [{ from, to: Math.min(to, end) }]));
  }
}
