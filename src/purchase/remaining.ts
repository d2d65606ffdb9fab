import type { Dialect } from "../client/types.ts";
import type { IntentRecord, SettledRecord } from "../runs/journal.ts";
import { below, joined, type Range, without } from "./paging.ts";

/** What must be known of the targets of a run before the first call. */
export interface Targets {
  readonly targets: number;
  /** Rows of a target where they are known or bounded before the first call; undefined: as many as there are. */
  size(target: number): number | undefined;
  /** Whether all rows of that size are expected: then a short page may only mean that the service gives smaller pages. */
  readonly expectsAll: boolean;
}

/** The first rows of a target that are still to be asked for. */
export interface Open {
  readonly target: number;
  readonly from: number;
  /** How many rows in one piece are left there. */
  readonly left: number;
  /** Pages of it one after the other: by cursor, or as long as nobody knows how many there are. */
  readonly sequential: boolean;
  /** What leads there; null: nothing that is known does. undefined: none is needed. */
  readonly cursor: string | null | undefined;
}

type Position = Pick<IntentRecord, "target" | "offset" | "perPage">;

interface TargetState {
  readonly left: readonly Range[];
  /** It has no rows from here on. */
  readonly end: number;
  /** Whether a reply told how many rows it has, so that several of its pages can be in flight. */
  readonly told: boolean;
}

/**
 * What of a run's targets is still to be asked for: row ranges, taught by settled pages where targets end, which cursor leads on,
 * and how large pages are. {@link nextPage} reads it.
 */
export class Remaining {
  readonly paging: Dialect["paging"];
  readonly #source: Targets;
  readonly #states = new Map<number, TargetState>();
  /** Targets that were begun and of which something is left. */
  readonly #begun = new Set<number>();
  /** The cursor that leads to an offset of a target, by `target:offset`. */
  readonly #cursors = new Map<string, string>();
  #nextTarget = 0;
  #perPage: number;

  constructor(source: Targets, paging: Dialect["paging"], perPage: number) {
    this.#source = source;
    this.paging = paging;
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
    return this.#firstUnbegun() !== undefined || this.#begun.size > 0;
  }

  /** What is open, target by target, in the order of the output; of the targets that were not begun only the first. */
  *open(): Generator<Open> {
    for (const target of [...this.#begun].sort((a, b) => a - b)) yield* this.#openOf(target);
    const unbegun = this.#firstUnbegun();
    if (unbegun !== undefined) yield* this.#openOf(unbegun);
  }

  *#openOf(target: number): Generator<Open> {
    const { left, told } = this.#stateOf(target);
    const [first] = left;
    if (first === undefined) return;
    const { from, to } = first;
    const cursor = this.paging === "cursor" && from > 0 ? (this.#cursors.get(`${target}:${from}`) ?? null) : undefined;
    const sequential = this.paging === "cursor" || !(told || this.#source.expectsAll);
    yield { target, from, left: to - from, sequential, cursor };
  }

  /** These rows are being asked for, or are there. */
  take({ target, offset, perPage }: Position): void {
    this.#change(target, (state) => ({ ...state, left: without(state.left, offset, offset + perPage) }));
  }

  /** The request for these rows came to nothing. */
  giveBack({ target, offset, perPage }: Position): void {
    this.#change(target, (state) => {
      const end = Math.min(offset + perPage, state.end);
      return { ...state, left: joined(state.left, offset, end) };
    });
  }

  /** A target has no rows from `end` on. */
  cut(target: number, end: number): void {
    this.#change(target, (state) => ({ ...state, end: Math.min(end, state.end), left: below(state.left, end) }));
  }

  /** Whether a target is known to end before this. */
  isPastEnd({ target, offset }: Pick<Position, "target" | "offset">): boolean {
    return offset >= this.#stateOf(target).end;
  }

  /** What a settled page teaches: where its target ends, how its pages go on, how large they are. */
  learn({ target, offset, perPage }: Position, { rows, total, next }: SettledRecord): void {
    const end = offset + rows;
    if (total !== undefined) {
      this.#change(target, (state) => ({ ...state, told: true }));
      this.cut(target, total);
    }
    if (this.paging === "cursor") {
      if (next === undefined) this.cut(target, end);
      else this.#cursors.set(`${target}:${end}`, next);
    }
    if (rows >= perPage || this.isPastEnd({ target, offset: end })) return;
    // Fewer than asked for: the end, unless the service gives smaller pages than it was asked for and says nothing. With page
    // numbers that can be put right at the first page only: later ones would begin at other rows than was thought.
    const mayBeClamped = this.#source.expectsAll && rows > 0 && (this.paging !== "page" || offset === 0);
    if (!mayBeClamped) this.cut(target, end);
    else {
      if (offset === 0) this.lowerPerPage(rows);
      this.giveBack({ target, offset: end, perPage: perPage - rows });
    }
  }

  /** Whether rows before these are still to be asked for. */
  hasBefore({ target, offset }: Pick<Position, "target" | "offset">): boolean {
    for (const other of this.#begun) {
      if (other < target) return true;
      if (other === target && (this.#stateOf(other).left[0]?.from ?? offset) < offset) return true;
    }
    return (this.#firstUnbegun() ?? target) < target;
  }

  #stateOf(target: number): TargetState {
    const known = this.#states.get(target);
    if (known !== undefined) return known;
    const to = this.#source.size(target) ?? Number.MAX_SAFE_INTEGER;
    return { left: to > 0 ? [{ from: 0, to }] : [], end: Number.MAX_SAFE_INTEGER, told: false };
  }

  #change(target: number, change: (state: TargetState) => TargetState): void {
    const state = change(this.#stateOf(target));
    this.#states.set(target, state);
    if (state.left.length === 0) this.#begun.delete(target);
    else this.#begun.add(target);
  }

  /** The first target that was not begun and may have rows. */
  #firstUnbegun(): number | undefined {
    const { targets } = this.#source;
    const isPast = (target: number): boolean => this.#states.has(target) || this.#source.size(target) === 0;
    while (this.#nextTarget < targets && isPast(this.#nextTarget)) this.#nextTarget++;
    return this.#nextTarget < targets ? this.#nextTarget : undefined;
  }
}
