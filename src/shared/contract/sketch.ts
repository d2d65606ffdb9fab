// Tested by test/service/sketch.test.ts.
/*
 * A set sketch (docs/reference/contract-keys.md, Sketches): cells over digests of people.
 * Two sketches of the same cells are subtracted cell by cell; who is in one set
 * alone is read out of what is left. Rateless: any first cells are a sketch.
 */

/**
 * Bytes of a cell: how many digests it holds (modulo 65,536),
 * their digests and their checks, each added by XOR.
 */
const CELL_BYTES = 14;
export const SKETCH_CELLS_MAX = 32_768;
export const SKETCH_PEOPLE_MAX = 250_000;
const PLACES = { count: 0, high: 2, low: 6, check: 10 } as const;

/** Digests of 64 bits, as two lists of 32. */
export interface Digests {
  readonly high: Uint32Array;
  readonly low: Uint32Array;
}

export const hexOf = (high: number, low: number): string =>
  high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");

/** What tells one digest in a cell from several that were added up. */
function checkOf(high: number, low: number): number {
  let mixed = Math.imul(high ^ 0x9e37_79b9, 0x85eb_ca6b) ^ low;
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2_ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 13) ^ high, 0x27d4_eb2f);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * Cells of one digest, which all 64 bits lead: the first,
 * and cell i with a probability of 1 / (1 + i / 2).
 */
class Walk {
  readonly #high: number;
  #state: number;
  at = 0;

  constructor(high: number, low: number) {
    this.#high = high;
    this.#state = low;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1) ^ this.#high;
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    const even = (((mixed ^ (mixed >>> 14)) >>> 0) + 1) / 2 ** 32;
    this.at += Math.max(1, Math.ceil((this.at + 1.5) * (1 / Math.sqrt(even) - 1)));
    return this.at;
  }
}

/** Cells `from` up to and without `to` of a set. */
export class SketchCells {
  readonly from: number;
  readonly to: number;
  readonly #bytes: Buffer;
  readonly #view: DataView;

  private constructor(from: number, bytes: Buffer) {
    this.from = from;
    this.to = from + bytes.length / CELL_BYTES;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  static empty(from: number, to: number): SketchCells {
    return new SketchCells(from, Buffer.alloc((to - from) * CELL_BYTES));
  }

  static of({ high, low }: Digests, from: number, to: number): SketchCells {
    const cells = SketchCells.empty(from, to);
    for (let at = 0; at < high.length; at++) cells.add(high[at] ?? 0, low[at] ?? 0, 1);
    return cells;
  }

  /** @returns undefined for what is no text of whole cells */
  static read(text: string, from: number): SketchCells | undefined {
    const bytes = Buffer.from(text, "base64");
    return bytes.length > 0 && bytes.length % CELL_BYTES === 0
      ? new SketchCells(from, bytes)
      : undefined;
  }

  toString(): string {
    return this.#bytes.toString("base64");
  }

  /** @param times 1, or -1 to take it out */
  add(high: number, low: number, times: 1 | -1): void {
    const check = checkOf(high, low);
    for (const walk = new Walk(high, low); walk.at < this.to; walk.next()) {
      if (walk.at >= this.from) this.#put(walk.at, times, high, low, check);
    }
  }

  minus(other: SketchCells): void {
    for (let cell = this.from; cell < this.to; cell++) {
      const { check, count, high, low } = other.at(cell);
      this.#put(cell, -count, high, low, check);
    }
  }

  followedBy(next: SketchCells): SketchCells {
    return new SketchCells(this.from, Buffer.concat([this.#bytes, next.#bytes]));
  }

  /** As signed: a cell of a difference may have lost more than it won. */
  at(cell: number): Readonly<Record<"count" | "high" | "low" | "check", number>> {
    const start = (cell - this.from) * CELL_BYTES;
    return {
      count: this.#view.getInt16(start + PLACES.count, true),
      high: this.#view.getUint32(start + PLACES.high, true),
      low: this.#view.getUint32(start + PLACES.low, true),
      check: this.#view.getUint32(start + PLACES.check, true),
    };
  }

  #put(cell: number, count: number, high: number, low: number, check: number): void {
    const start = (cell - this.from) * CELL_BYTES;
    const view = this.#view;
    view.setInt16(start, view.getInt16(start, true) + count, true);
    view.setUint32(start + PLACES.high, view.getUint32(start + PLACES.high, true) ^ high, true);
    view.setUint32(start + PLACES.low, view.getUint32(start + PLACES.low, true) ^ low, true);
    view.setUint32(start + PLACES.check, view.getUint32(start + PLACES.check, true) ^ check, true);
  }
}

export interface Difference {
  /** In the set that was subtracted from, as hexadecimal digits. */
  readonly more: readonly string[];
  /** In the set that was subtracted. */
  readonly fewer: readonly string[];
}

/** Reads a difference of sets out of the first cells; undefined where they are too few. */
export function differenceIn(cells: SketchCells): Difference | undefined {
  const rest = cells.followedBy(SketchCells.empty(cells.to, cells.to));
  const [more, fewer]: [string[], string[]] = [[], []];
  const open = Array.from({ length: rest.to }, (_, cell) => cell);

  for (let cell = open.pop(); cell !== undefined; cell = open.pop()) {
    const { check, count, high, low } = rest.at(cell);
    if ((count !== 1 && count !== -1) || checkOf(high, low) !== check) continue;
    (count === 1 ? more : fewer).push(hexOf(high, low));
    rest.add(high, low, count === 1 ? -1 : 1);
    for (const walk = new Walk(high, low); walk.at < rest.to; walk.next()) open.push(walk.at);
  }

  for (let cell = 0; cell < rest.to; cell++) {
    const { check, count, high, low } = rest.at(cell);
    if (count !== 0 || high !== 0 || low !== 0 || check !== 0) return undefined;
  }

  return { more, fewer };
}

/**
 * How many the difference holds, about: its cells hold
 * them by chance, more to the one side or the other.
 */
export function differenceSize(cells: SketchCells, net: number): number {
  const first = Math.min(16, cells.to >> 1);
  let sum = 0;
  for (let cell = first; cell < cells.to; cell++) {
    const chance = 1 / (1 + cell / 2);
    sum += (cells.at(cell).count - net * chance) ** 2 / (chance * (1 - chance));
  }
  return Math.max(Math.abs(net), Math.round(sum / (cells.to - first)));
}
