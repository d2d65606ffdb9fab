// Tested by test/unit/next-page.test.ts.
import type { Dialect } from "../client/dialect.ts";
import type { PagePosition } from "../client/types.ts";
import { pageSize } from "./paging.ts";
import type { Open, Sizes } from "./remaining.ts";

export interface State {
  readonly paging: Dialect["paging"];
  readonly perPage: number;
  readonly sizes: Sizes;
  /** Whether a second page was seen to be another than the first, and none to come again. */
  readonly turns: "unknown" | "yes" | "no";
  readonly open: () => Iterable<Open>;
}

export interface Limits {
  /**
   * Rows that may still be bought, what is in flight taken off; infinite where nothing bounds them.
   */
  readonly rows: number;
  /** Rows that the balance covers beside what is in flight; undefined where nobody knows it. */
  readonly covered: number | undefined;
  /** Rows that the user's own cap leaves room for; infinite where there is none. */
  readonly whole: number;
  /**
   * Whether it is known what a row costs, and how pages follow: until then the
   * smallest page is asked for, and nothing beside it.
   */
  readonly priced: boolean;
  readonly moving: boolean;
  readonly busy: ReadonlySet<number>;
  readonly proving: boolean;
}

export interface Ask extends PagePosition {
  readonly target: number;
  readonly most: number;
}

/**
 * `wait` for what is in flight; `end`; `broke`: no balance;
 * `indivisible`: less is left than the smallest page.
 */
export type Next = Ask | "wait" | "end" | "broke" | "indivisible";

/**
 * What to ask for next: the first rows that are open, as
 * many in one page as service, limits and balance allow.
 */
export function nextPage(state: State, limits: Limits): Next {
  const { rows, moving, busy } = limits;
  const idle = moving ? "wait" : "end";
  if (rows < 1 || state.turns === "no" || (moving && !limits.priced)) return idle;

  const perPage = limits.priced ? state.perPage : state.sizes.least;
  const covered = limits.covered ?? Infinity;
  let indivisible = false;
  for (const open of state.open()) {
    const { target, from, left, sequential, cursor } = open;
    if (cursor === null || (sequential && busy.has(target))) continue;
    if (open.alone && moving) return "wait";
    if (from > 0 && state.turns === "unknown" && (limits.proving || busy.has(target))) continue;
    // Where all pages have one size the last one has it too, once nothing is in flight.
    if (busy.has(target) && left < (state.sizes.own ?? 0)) continue;

    // A smaller page now, or a whole one once it is known what is in flight costs.
    // Where all pages may have one size a smaller one begins elsewhere.
    const [room, most] =
      state.sizes.own === undefined ? [covered, rows] : [Math.min(covered, rows), left];
    if (room < Math.min(most, perPage, left) && moving) return "wait";
    if (covered < 1) return "broke";

    if (open.page !== undefined) {
      // Until two pages were seen to differ, the service may give the same one again and again.
      if (state.turns === "unknown" && moving) continue;
      if (left <= rows && left <= covered)
        return { target, offset: from, perPage: open.page, most: left };
      indivisible = true;
      continue;
    }

    // A page beyond the end of what is open: only where nothing
    // that lies there is in flight and may come to nothing.
    const whole = busy.has(target) ? 0 : limits.whole;
    const allowed = Math.min(left, rows, covered);
    // A page as large as those before may come where the
    // cap has no room for it: no smaller one ever came.
    const { own = 0, proven = false } = state.sizes;
    const isStaked = !proven && allowed < own && whole < Math.min(own, left);
    const size = isStaked ? undefined : sizeOf(state, { ...open, allowed, perPage, whole });

    if (size === undefined) indivisible = true;
    else
      return {
        target,
        offset: from,
        perPage: size,
        most: Math.min(size, left),
        cursor,
      };
  }

  return indivisible && !moving ? "indivisible" : idle;
}

interface Room extends Pick<Open, "from" | "left"> {
  readonly allowed: number;
  readonly perPage: number;
  readonly whole: number;
}

/** The size of a page that begins at `from`; undefined where the service gives none that fits. */
function sizeOf(
  { paging, sizes: { least, behind, refused, accepted } }: State,
  { from, left, allowed, whole, ...room }: Room,
): number | undefined {
  const perPage = paging === "page" && from > 0 ? Math.min(room.perPage, behind) : room.perPage;
  const natural = pageSize(paging, from, allowed, perPage);

  const fits = (size: number): boolean =>
    size >= least &&
    size <= perPage &&
    !refused.has(size) &&
    (paging !== "page" || from % size === 0);

  if (fits(natural)) return natural;

  const fitting = [...accepted].filter(fits).sort((a, b) => a - b);
  const smaller = fitting.findLast((size) => size <= allowed);
  // A page larger than what is left of the target costs no
  // more than that; nothing is staked on it beyond a cap.
  if (smaller !== undefined || left > allowed) return smaller;

  const larger = fitting.find((size) => size > allowed && size <= whole);
  if (larger !== undefined) return larger;

  for (let size = allowed + 1; size <= Math.min(perPage, whole); size++)
    if (fits(size)) return size;

  return undefined;
}
