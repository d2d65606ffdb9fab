// Tested by test/unit/remaining.test.ts.
import type { Credits } from "../../shared/contract/money.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import type { Dialect } from "../client/dialect.ts";
import { type IntentRecord, placesOf, type SettledRecord, type Unit } from "../runs/journal.ts";
import { below, joined, type Range, without } from "./paging.ts";

export interface Targets {
  readonly targets: number;
  /** The most rows of a target that are wanted; undefined: as many as there are. */
  size(target: number): number | undefined;
  count(target: number): number | undefined;
  /** Whom it asks for, where it asks by filters. */
  readonly filters?: ((target: number) => Filters | undefined) | undefined;
  /** Rows that it begins behind: they came as rows of another target. */
  readonly skip?: ((target: number) => number) | undefined;
  /**
   * The size of the one page that a target is, asked for
   * whole or not at all. undefined: targets have many pages.
   */
  readonly page?: ((target: number) => number) | undefined;
  readonly first?: number | undefined;
  /** From each of these targets on: what comes of those before it says whether it is wanted. */
  readonly barriers?: readonly number[];
  /**
   * Whether a total that comes with a page is known to
   * be the target's, and not the page's own length.
   */
  readonly trusted: boolean;
}

export interface Open {
  readonly target: number;
  readonly from: number;
  readonly left: number;
  /** Pages of it one after the other: by cursor, or as long as nobody knows how many there are. */
  readonly sequential: boolean;
  /** What leads there; null: nothing that is known does. undefined: none is needed. */
  readonly cursor: string | null | undefined;
  readonly page?: number | undefined;
  readonly alone?: boolean;
}

/** As many as hardly any service cuts a page down below. */
const COMMON_PAGE = 100;

type Position = Pick<IntentRecord, "target" | "offset" | "perPage" | "cursor">;
type Taught = Pick<SettledRecord, "rows" | "total" | "next" | "miss" | "cut" | "unread" | "exact">;

interface TargetState {
  left: readonly Range[];
  end: number;
  rows: number;
  total?: number;
  /**
   * Rows of its first page where those were fewer than
   * asked for and nothing says whether they are all.
   */
  short?: number;
  /**
   * Where rows were told of behind an empty page, and how
   * far rows came: an empty page behind both is the end.
   */
  gap?: number;
  reached: number;
  /** Its last page was whole, and nothing leads on or says that it was the last. */
  unsure: boolean;
}

export interface Sizes {
  readonly least: number;
  /**
   * The most that is asked for behind the first page: where
   * it came cut, it began elsewhere, and rows come twice.
   */
  readonly behind: number;
  /**
   * What came where more was asked for: it may be the size of every page, whatever is asked for.
   */
  readonly own?: number | undefined;
  /** Whether a page smaller than that came as it was asked for. */
  readonly proven?: boolean;
  readonly accepted: ReadonlySet<number>;
  readonly refused: ReadonlySet<number>;
}

export interface Missing {
  readonly rows: number;
  readonly newer: number;
  readonly unsure: number;
  /**
   * Targets that ended with an empty or a short page,
   * and of which nobody said how many rows they have.
   */
  readonly untold: readonly number[];
}

/**
 * What of a run's targets is still to be asked for, as
 * far as settled pages taught. {@link nextPage} reads it.
 */
export class Remaining {
  /** What replies showed, where nobody said it. */
  paging: Dialect["paging"];
  #isPagingOpen: boolean;
  /**
   * A first page may have lost the cursor that leads on, and nobody said that pages have numbers:
   * the next one may be the same rows, paid for again, so it is as small as there are any.
   */
  isBlind = false;
  readonly #source: Targets;
  readonly #states = new Map<number, TargetState>();
  readonly #begun = new Set<number>();
  readonly #cursors = new Map<string, string>();
  /** Where each of them led to first. */
  readonly #led = new Map<string, number>();
  /** Whether a page led where an earlier one did: what lies there would be paid for again. */
  isLedBack = false;
  #nextTarget = 0;
  #lastTarget = -1;
  #largest = 0;
  #own: number | undefined;
  /** The smallest page that came as it was asked for, with more behind it. */
  #exact = Infinity;
  readonly #accepted = new Set<number>();
  /** Sizes that were refused: the smallest that is given then, and where it was asked for. */
  readonly #refused = new Map<number, { readonly least: number; readonly at: number }>();
  readonly #isSizeKnown: boolean;
  perPage: number;

  /** @param isSizeKnown whether the service said how large a page may be */
  constructor(
    source: Targets,
    { paging, firstPage }: Dialect,
    perPage: number,
    isSizeKnown: boolean,
  ) {
    this.#source = source;
    this.paging = paging;
    this.#isPagingOpen = paging === "page" && firstPage === undefined && !source.trusted;
    this.perPage = perPage;
    this.#isSizeKnown = isSizeKnown;
  }

  get sizes(): Sizes {
    const behind = this.#isSizeKnown ? Infinity : Math.max(this.#largest, COMMON_PAGE);
    const own = this.#own;
    const proven = this.#exact < (own ?? 0);

    return {
      least: this.#least,
      behind,
      own,
      proven,
      accepted: this.#accepted,
      refused: new Set(this.#refused.keys()),
    };
  }

  /** The smallest page that is known to be given, where smaller ones were refused. */
  get smallestGiven(): number {
    if (this.#least === 1) return 1;
    const given = [...this.#accepted].filter((size) => size >= this.#least);
    return given.length > 0 ? Math.min(...given) : this.#least;
  }

  /**
   * The service refused a page for its size.
   * @param least the smallest that it gives, where it is known
   * @param at how far into a target: what lies behind a wall was refused for that
   */
  refuse(size: number, least = 1, at = 0): void {
    this.#refused.set(size, { least, at });
  }

  /** The service goes no deeper: what was refused there says nothing of sizes. */
  wallAt({ target, offset }: Position): void {
    this.cut(target, offset);
    for (const [size, { at }] of this.#refused) if (at >= offset) this.#refused.delete(size);
  }

  get #least(): number {
    return Math.max(1, ...[...this.#refused.values()].map(({ least }) => least));
  }

  lowerPerPage(rows: number): void {
    this.perPage = Math.max(this.#least, Math.min(this.perPage, rows));
  }

  get somethingLeft(): boolean {
    return this.#firstUnbegun() !== undefined || this.#begun.size > 0;
  }

  *open(): Generator<Open> {
    const { first } = this.#source;
    if (first !== undefined && !this.#states.has(first)) yield* this.#openOf(first);
    for (const target of [...this.#begun].sort((a, b) => a - b)) yield* this.#openOf(target);
    const unbegun = this.#firstUnbegun();
    if (unbegun !== undefined) yield* this.#openOf(unbegun);
  }

  *#openOf(target: number): Generator<Open> {
    const { left } = this.#stateOf(target);
    const [first] = left;
    if (first === undefined) return;

    const { from, to } = first;
    const cursor =
      this.paging === "cursor" && from > 0
        ? (this.#cursors.get(`${target}:${from}`) ?? null)
        : undefined;
    const sequential = this.paging === "cursor" || this.#expected(target) === undefined;
    const { barriers = [], page } = this.#source;
    const alone = barriers.some((barrier) => target >= barrier && this.#lastTarget < barrier);
    yield { target, from, left: to - from, sequential, cursor, page: page?.(target), alone };
  }

  take({ target, offset, perPage }: Position): void {
    this.#lastTarget = Math.max(this.#lastTarget, target);
    this.#leave(target, without(this.#begin(target).left, offset, offset + perPage));
  }

  giveBack({ target, offset, perPage }: Position): void {
    const { end, left } = this.#begin(target);
    const to = Math.min(offset + perPage, end, this.#bound(target));
    this.#leave(target, joined(left, offset, to));
    this.#endWithoutCursor(target);
  }

  cut(target: number, end: number): void {
    const state = this.#begin(target);
    state.end = Math.min(end, state.end);
    this.#leave(target, below(state.left, end));
  }

  isPastEnd({ target, offset }: Position): boolean {
    return offset >= this.#stateOf(target).end;
  }

  #lead(target: number, end: number, cursor: string) {
    this.#cursors.set(`${target}:${end}`, cursor);
    const name = `${target}:${cursor}`;
    if (!this.#led.has(name)) this.#led.set(name, end);
    else if (this.#led.get(name) !== end) this.isLedBack = true;
  }

  /**
   * What a settled page teaches. A short page is the last only where that is said
   * (docs/explanation/complete.md).
   */
  learn(position: Position, taught: Taught): void {
    const { exact, rows, total, next, miss } = taught;
    const { target, offset, perPage } = position;
    const end = offset + rows;
    this.#learnPaging(position, taught);
    if (rows > 0 && rows <= perPage) this.#accepted.add(perPage);

    this.#largest = Math.max(this.#largest, rows);
    const state = this.#begin(target);
    state.rows += rows;
    if (rows > 0) state.reached = Math.max(state.reached, end);

    // A total may be the page's own length, unless it is declared to be none; where
    // fewer are there than were counted, an empty page tells.
    const least = Math.max(this.#source.count(target) ?? 0, offset > 0 ? end : end + 1);
    if (miss) this.#tell(target, 0);
    else if (total !== undefined && (exact || this.#source.trusted || total >= least))
      this.#tell(target, total);

    if (typeof next === "string") this.#lead(target, end, next);

    const expected = this.#expected(target);
    const more =
      expected === undefined ? (next === undefined ? undefined : next !== null) : expected > end;
    const isShort = rows < perPage;
    if (rows === perPage && more) this.#exact = Math.min(this.#exact, rows);

    // More came than there were to be, or a cursor leads on behind all that were counted, and no
    // page told how many there are: nothing says that these were all. Some give a cursor with
    // the last page, too. A drawn page is as large as its place.
    const isLed = typeof next === "string" && state.total === undefined;
    const isBeyond = isLed ? end >= (expected ?? Infinity) : end > (expected ?? end);
    const isOver = !isShort && next !== null && isBeyond && this.#source.page === undefined;
    if (isOver) state.unsure = true;

    const isSmaller = this.paging === "page" && offset > 0 && perPage < this.#largest;
    // A smaller page lies elsewhere where all pages have the
    // size of the larger ones: at their end, or behind it.
    const isTail = rows > 0 && isShort && (offset / perPage) * this.#largest + rows === expected;

    if (isSmaller && more && (rows === 0 || isTail)) {
      this.refuse(perPage, this.#largest);
      this.giveBack(position);
      this.take({ target, offset: (expected ?? 0) - rows, perPage: rows });
    } else if (this.paging === "cursor" && typeof next !== "string") {
      // Where no more are wanted, it does not matter whether there are.
      const isWanted = end < this.#wanted(target);
      state.unsure = isOver || (more === undefined && !isShort && isWanted);
      this.cut(target, end);
    } else if (rows === 0 && more && this.#isGap(target, offset)) return;
    else if (rows === 0 || more === false) this.cut(target, end);
    else if (!isShort) this.#clampedAt(target, offset, perPage);
    // With page numbers only the first page can be put right:
    // later ones would begin at other rows than was thought.
    else if (this.paging === "page" && offset > 0) {
      this.cut(target, end);
      this.#clampedAt(target, offset, perPage);
    } else if (more === undefined && (this.#largest > rows || this.#source.trusted))
      this.cut(target, end);
    else {
      if (offset === 0 && more) this.#sizeIs(rows);
      else if (offset === 0) state.short = rows;
      this.giveBack({ target, offset: end, perPage: perPage - rows });
    }
  }

  #learnPaging({ offset, cursor }: Position, { next, cut }: Taught) {
    if (!this.#isPagingOpen) return;
    // Who gives a cursor may not know page numbers: the first page would come again, and cost.
    if (offset === 0 && typeof next === "string") {
      this.paging = "cursor";
      for (const begun of [...this.#begun]) this.#endWithoutCursor(begun);
    } else if (offset > 0 && cursor === undefined) {
      this.paging = "page";
      this.#isPagingOpen = false;
    }

    this.isBlind = this.#isPagingOpen && (this.isBlind || cut === true);
  }

  /**
   * What of the targets did not come although it was told
   * of; what is still open, or not wanted, is not missing.
   */
  get missing(): Missing {
    let rows = 0;
    let newer = 0;
    let unsure = 0;
    const untold: number[] = [];
    for (const [target, state] of this.#states) {
      const expected = Math.min(this.#expected(target) ?? 0, this.#wanted(target));
      const open = below(state.left, expected).reduce((sum, { from, to }) => sum + to - from, 0);
      rows += Math.max(0, expected - state.rows - open);

      const counted = this.#source.count(target);
      if (counted !== undefined && counted === this.#source.size(target))
        newer += Math.max(0, (state.total ?? 0) - counted);

      if (state.unsure) unsure++;
      if (this.#expected(target) === undefined && state.end < this.#wanted(target))
        untold.push(target);
    }

    return { rows, newer, unsure, untold };
  }

  /**
   * Whether an empty page lies before rows that were told
   * of: it is asked for once more by whoever goes on.
   */
  isHole({ intent: { target, offset }, settled }: Unit): boolean {
    if (settled === undefined) return false;
    const isEmpty = placesOf(settled) === 0 && settled.miss !== true;
    return isEmpty && (settled.used ?? 0n) <= 0n && offset < (this.#expected(target) ?? 0);
  }

  hasBefore({ target, offset }: Position): boolean {
    for (const other of this.#begun) {
      if (other < target) return true;
      if (other === target && (this.#stateOf(other).left[0]?.from ?? offset) < offset) return true;
    }
    return (this.#firstUnbegun() ?? target) < target;
  }

  #expected(target: number): number | undefined {
    return this.#states.get(target)?.total ?? this.#source.count(target);
  }

  /** Rows of it that are wanted. */
  #wanted(target: number): number {
    return this.#source.size(target) ?? Number.MAX_SAFE_INTEGER;
  }

  #bound(target: number): number {
    return Math.min(this.#wanted(target), this.#expected(target) ?? Number.MAX_SAFE_INTEGER);
  }

  #tell(target: number, total: number) {
    const state = this.#begin(target);
    const end = Math.min(total, this.#wanted(target));
    const counted = this.#source.count(target) ?? end;
    if (end > counted && state.total === undefined) state.left = joined(state.left, counted, end);
    state.total = total;
    this.cut(target, end);
  }

  /**
   * An empty page before rows that were told of may be
   * a fault. Two with nothing behind them are the end.
   */
  #isGap(target: number, offset: number): boolean {
    const state = this.#begin(target);
    if (state.gap !== undefined && state.gap >= state.reached) return false;
    state.gap = offset;
    return true;
  }

  /**
   * Where a cursor is wanted since another target told one, nothing
   * leads on in a target that told none: it ends where its rows did.
   */
  #endWithoutCursor(target: number) {
    const { left, short, reached } = this.#stateOf(target);
    const from = left[0]?.from ?? 0;
    const isLed = from === 0 || this.#cursors.has(`${target}:${from}`);
    if (this.paging !== "cursor" || isLed || from > reached) return;

    const isUntold = this.#expected(target) === undefined && short === undefined;
    this.#begin(target).unsure = isUntold;
    this.cut(target, from);
  }

  /** A page after a short one had rows: so the short one was all that the service gives at once. */
  #clampedAt(target: number, offset: number, perPage: number) {
    const { short } = this.#stateOf(target);
    if (short !== undefined && offset > 0 && perPage <= short) this.#sizeIs(short);
  }

  #sizeIs(rows: number) {
    this.#own = rows;
    this.lowerPerPage(rows);
  }

  #stateOf(target: number): TargetState {
    const state = this.#states.get(target);
    if (state !== undefined) return state;
    const [from, to] = [this.#source.skip?.(target) ?? 0, this.#bound(target)];
    return {
      left: to > from ? [{ from, to }] : [],
      end: Number.MAX_SAFE_INTEGER,
      rows: from,
      reached: 0,
      unsure: false,
    };
  }

  /** Something of it was asked for. */
  #begin(target: number): TargetState {
    const state = this.#stateOf(target);
    this.#states.set(target, state);
    this.#leave(target, state.left);
    return state;
  }

  #leave(target: number, left: readonly Range[]) {
    this.#stateOf(target).left = left;
    if (left.length === 0) this.#begun.delete(target);
    else this.#begun.add(target);
  }

  #firstUnbegun(): number | undefined {
    const { targets } = this.#source;
    const isPast = (target: number): boolean =>
      this.#states.has(target) || this.#stateOf(target).left.length === 0;
    while (this.#nextTarget < targets && isPast(this.#nextTarget)) this.#nextTarget++;
    return this.#nextTarget < targets ? this.#nextTarget : undefined;
  }
}

export interface Wall {
  /** The deepest row that the service gives of a segment. */
  readonly depth: number;
  readonly detail: string;
}

export interface BuyResult {
  /** `all`: nothing is left to ask for. `limit`: the rows or credits allowed are used up. */
  readonly ended: "all" | "limit";
  readonly wall: Wall | undefined;
  readonly repeated: boolean;
  readonly missing: Missing;
  /** The smallest page that the service gives, where what was left was less than that. */
  readonly least: number | undefined;
  readonly own: Sizes["own"];
  /** Credits a row, as they were charged where nobody told them beforehand. */
  readonly price: Credits;
  readonly balance: Credits | undefined;
}

export interface Doubled extends BuyResult {
  readonly doubled: number;
  readonly forgotten: number;
}
