import type { Dialect } from "../client/types.ts";
import { pageSize } from "./paging.ts";
import type { Open } from "./remaining.ts";

/** What is known of what is left to buy. */
export interface State {
  readonly paging: Dialect["paging"];
  /** The largest page to ask for, as far as is known. */
  readonly perPage: number;
  /** What is open, in the order of the output. */
  readonly open: () => Iterable<Open>;
}

/** What may be asked for now. */
export interface Limits {
  /** Rows that may still be bought, what is in flight taken off; infinite where nothing bounds them. */
  readonly rows: number;
  /** Rows that the balance covers beside what is in flight; undefined where nobody knows it. */
  readonly covered: number | undefined;
  /** Whether anything is in flight, or waits to be asked for again: what it brings may change all this. */
  readonly moving: boolean;
  /** Targets of which something is in flight or waits to be asked for again. */
  readonly busy: ReadonlySet<number>;
}

/** Rows to ask for. */
export interface Ask {
  readonly target: number;
  readonly offset: number;
  readonly perPage: number;
  readonly cursor?: string;
}

/** `wait`: what is in flight decides; `end`: nothing is left or allowed; `broke`: the balance is thought to be used up. */
export type Next = Ask | "wait" | "end" | "broke";

/** What to ask for next: the first rows that are open, as many in one page as service, limits and balance allow. */
export function nextPage({ paging, perPage, open }: State, { rows, covered, moving, busy }: Limits): Next {
  const idle = moving ? "wait" : "end";
  if (rows < 1) return idle;
  for (const { target, from, left, sequential, cursor } of open()) {
    if (cursor === null || (sequential && busy.has(target))) continue;
    // A smaller page now, or a whole one once it is known what is in flight costs.
    if (covered !== undefined && covered < Math.min(rows, perPage, left) && moving) return "wait";
    if (covered !== undefined && covered < 1) return "broke";
    const size = pageSize(paging, from, Math.min(left, rows, covered ?? left), perPage);
    return { target, offset: from, perPage: size, ...(cursor === undefined ? {} : { cursor }) };
  }
  return idle;
}
