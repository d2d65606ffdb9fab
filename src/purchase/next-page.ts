import type { Dialect } from "../client/types.ts";
import type { IntentRecord, SettledRecord } from "../runs/journal.ts";
import { Gaps, pageSize } from "./paging.ts";

/** What an agenda must know of the targets of a run. */
export interface Targets {
  readonly targets: number;
  /** Rows of a target where they are known or bounded before the first call; undefined: as many as there are. */
  size(target: number): number | undefined;
  /** Whether all rows of that size are expected: then a short page may only mean that the service gives smaller pages. */
  readonly expectsAll: boolean;
}

/** The next rows to ask for. */
export interface Slot {
  readonly target: number;
  readonly from: number;
  /** How many rows in one piece are left there. */
  readonly left: number;
  readonly cursor: string | undefined;
}

type Position = Pick<IntentRecord, "target" | "offset" | "perPage">;

/**
 * What of a run's targets is still to be asked for: pure bookkeeping of row ranges, taught by settled pages where targets end,
 * which cursor leads on, and how large pages are.
 */
export class Agenda {
  readonly #source: Targets;
  readonly #paging: Dialect["paging"];
  readonly #gaps = new Map<number, Gaps>();
  /** Targets that were begun and of which something is left. */
  readonly #open = new Set<number>();
  /** Targets whose number of rows is known, so that several of their pages can be in flight. */
  readonly #known = new Set<number>();
  readonly #ends = new Map<number, number>();
  /** The cursor that leads to an offset of a target, by `target:offset`. */
  readonly #cursors = new Map<string, string>();
  #nextTarget = 0;
  #perPage: number;

  constructor(source: Targets, paging: Dialect["paging"], perPage: number) {
    this.#source = source;
    this.#paging = paging;
    this.#perPage = perPage;
  }

  /** The largest page to ask for, as far as is known. */
  get perPage(): number {
    return this.#perPage;
  }

  lowerPerPage(rows: number): void {
    this.#perPage = Math.max(1, Math.min(this.#perPage, rows));
  }

  /** Whether anything is left to ask for. */
  get somethingLeft(): boolean {
    this.#skipBegun();
    return this.#nextTarget < this.#source.targets || this.#open.size > 0;
  }

  /** The first rows that may be asked for now. @param isBusy whether something of a target is in flight */
  next(isBusy: (target: number) => boolean): Slot | undefined {
    this.#skipBegun();
    const candidates = [...this.#open].sort((a, b) => a - b);
    if (this.#nextTarget < this.#source.targets) candidates.push(this.#nextTarget);
    for (const target of candidates) {
      if (this.#isSequential(target) && isBusy(target)) continue;
      const gap = this.#gapsOf(target).first;
      if (gap === undefined) continue;
      const byCursor = this.#paging === "cursor" && gap.from > 0;
      const cursor = byCursor ? this.#cursors.get(`${target}:${gap.from}`) : undefined;
      if (!byCursor || cursor !== undefined) return { target, from: gap.from, left: gap.to - gap.from, cursor };
      // No page leads there: the one before was the last.
      this.#change(target, (gaps) => gaps.cut(gap.from));
    }
    return undefined;
  }

  /** How many rows to ask for at a slot, where `room` may still be bought. */
  sizeFor({ from, left }: Slot, room: number): number {
    return pageSize(this.#paging, from, Math.min(left, room), this.#perPage);
  }

  /** These rows are being asked for, or are there. */
  take({ target, offset, perPage }: Position): void {
    this.#change(target, (gaps) => gaps.take(offset, offset + perPage));
  }

  /** The request for these rows came to nothing. */
  giveBack({ target, offset, perPage }: Position): void {
    const end = Math.min(offset + perPage, this.#end(target));
    this.#change(target, (gaps) => gaps.giveBack(offset, end));
  }

  /** A target has no rows from `end` on. */
  cut(target: number, end: number): void {
    this.#ends.set(target, Math.min(end, this.#end(target)));
    this.#change(target, (gaps) => gaps.cut(end));
  }

  /** Whether a target is known to end before this. */
  isPastEnd({ target, offset }: Position): boolean {
    return offset >= this.#end(target);
  }

  /** What a settled page teaches: where its target ends, how its pages go on, how large they are. */
  learn({ target, offset, perPage }: Position, { rows, total, next }: SettledRecord): void {
    const end = offset + rows;
    if (total !== undefined) {
      this.#known.add(target);
      this.cut(target, total);
    }
    if (this.#paging === "cursor") {
      if (next === undefined) this.cut(target, end);
      else this.#cursors.set(`${target}:${end}`, next);
    }
    if (rows >= perPage || this.isPastEnd({ target, offset: end, perPage })) return;
    // Fewer than asked for: the end, unless the service gives smaller pages than it was asked for and says nothing. With page
    // numbers that can be put right at the first page only: later ones would begin at other rows than was thought.
    const mayBeClamped = this.#source.expectsAll && rows > 0 && (this.#paging !== "page" || offset === 0);
    if (!mayBeClamped) this.cut(target, end);
    else {
      if (offset === 0) this.lowerPerPage(rows);
      this.giveBack({ target, offset: end, perPage: perPage - rows });
    }
  }

  /** Whether rows before these are still to be asked for. */
  hasBefore({ target, offset }: Position): boolean {
    this.#skipBegun();
    for (const other of this.#open) {
      if (other < target) return true;
      if (other === target && (this.#gapsOf(other).first?.from ?? offset) < offset) return true;
    }
    return this.#nextTarget < target && this.#nextTarget < this.#source.targets;
  }

  /** Pages of a target one after the other: by cursor, or as long as nobody knows how many there are. */
  #isSequential(target: number): boolean {
    return this.#paging === "cursor" || !(this.#known.has(target) || this.#source.expectsAll);
  }

  #end(target: number): number {
    return this.#ends.get(target) ?? Number.MAX_SAFE_INTEGER;
  }

  #gapsOf(target: number): Gaps {
    let gaps = this.#gaps.get(target);
    if (gaps === undefined) {
      gaps = new Gaps([{ from: 0, to: this.#source.size(target) ?? Number.MAX_SAFE_INTEGER }]);
      this.#gaps.set(target, gaps);
      if (gaps.first !== undefined) this.#open.add(target);
    }
    return gaps;
  }

  #change(target: number, change: (gaps: Gaps) => void): void {
    const gaps = this.#gapsOf(target);
    change(gaps);
    if (gaps.first === undefined) this.#open.delete(target);
    else this.#open.add(target);
  }

  /** Moves on to the first target that was not begun and may have rows. */
  #skipBegun(): void {
    const isPast = (target: number): boolean => this.#gaps.has(target) || this.#source.size(target) === 0;
    while (this.#nextTarget < this.#source.targets && isPast(this.#nextTarget)) this.#nextTarget++;
  }
}
