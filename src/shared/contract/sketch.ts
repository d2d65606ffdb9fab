/*
 * A set sketch (docs/contract-keys.md, Sketches): cells over digests of people. Two sketches of the same cells are
 * subtracted cell by cell; who is in one set alone is read out of what is left. Rateless: any first cells are a sketch.
 */

/** Bytes of a cell: how many digests it holds (modulo 65,536), their digests and their checks, each added by XOR. */
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

/** Cells of one digest: the first, and cell i with a probability of 1 / (1 + i / 2). */
class Walk {
  #state: number;
  at = 0;

  constructor(high: number, low: number) {
    this.#state = (Math.imul(high, 0x9e37_79b1) ^ low) >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
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

  private constructor(from: number, bytes: Buffer) {
    this.from = from;
    this.to = from + bytes.length / CELL_BYTES;
    this.#bytes = bytes;
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
    return bytes.length > 0 && bytes.length % CELL_BYTES === 0 ? new SketchCells(from, bytes) : undefined;
  }

  toString(): string {
    return this.#bytes.toString("base64");
  }

  /** @param times 1, or -1 to take it out */
  add(high: number, low: number, times: 1 | -1): void {
    const check = checkOf(high, low);
    for (const walk = new Walk(high, low); walk.at < this.to; walk.next()) {
      if (walk.at >= this.from) this.#put(walk.at, { count: times, high, low, check });
    }
  }

  minus(other: SketchCells): void {
    for (let cell = this.from; cell < this.to; cell++) {
      const { count, ...rest } = other.at(cell);
      this.#put(cell, { count: -count, ...rest });
    }
  }

  followedBy(next: SketchCells): SketchCells {
    return new SketchCells(this.from, Buffer.concat([this.#bytes, next.#bytes]));
  }

  /** As signed: a cell of a difference may have lost more than it won. */
  at(cell: number): Readonly<Record<"count" | "high" | "low" | "check", number>> {
    const start = (cell - this.from) * CELL_BYTES;
    return {
      count: this.#bytes.readInt16LE(start + PLACES.count),
      high: this.#bytes.readUInt32LE(start + PLACES.high),
      low: this.#bytes.readUInt32LE(start + PLACES.low),
      check: this.#bytes.readUInt32LE(start + PLACES.check),
    };
  }

  #put(cell: number, { count, high, low, check }: ReturnType<SketchCells["at"]>): void {
    const start = (cell - this.from) * CELL_BYTES;
    const bytes = this.#bytes;
    bytes.writeUInt16LE((bytes.readUInt16LE(start) + count + 0x1_0000) & 0xffff, start);
    bytes.writeUInt32LE((bytes.readUInt32LE(start + PLACES.high) ^ high) >>> 0, start + PLACES.high);
    bytes.writeUInt32LE((bytes.readUInt32LE(start + PLACES.low) ^ low) >>> 0, start + PLACES.low);
    bytes.writeUInt32LE((bytes.readUInt32LE(start + PLACES.check) ^ check) >>> 0, start + PLACES.check);
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
  const left = cells.followedBy(SketchCells.empty(cells.to, cells.to));
  const [more, fewer]: [string[], string[]] = [[], []];
  const open = Array.from({ length: left.to }, (_, cell) => cell);
  for (let cell = open.pop(); cell !== undefined; cell = open.pop()) {
    const { check, count, high, low } = left.at(cell);
    if ((count !== 1 && count !== -1) || checkOf(high, low) !== check) continue;
    (count === 1 ? more : fewer).push(hexOf(high, low));
    left.add(high, low, count === 1 ? -1 : 1);
    for (const walk = new Walk(high, low); walk.at < left.to; walk.next()) open.push(walk.at);
  }
  for (let cell = 0; cell < left.to; cell++) {
    const { check, count, high, low } = left.at(cell);
    if (count !== 0 || high !== 0 || low !== 0 || check !== 0) return undefined;
  }
  return { more, fewer };
}

/** How many the difference holds, about: its cells hold them by chance, more to the one side or the other. */
export function differenceSize(cells: SketchCells, net: number): number {
  const first = Math.min(16, cells.to >> 1);
  let sum = 0;
  for (let cell = first; cell < cells.to; cell++) {
    const chance = 1 / (1 + cell / 2);
    sum += (cells.at(cell).count - net * chance) ** 2 / (chance * (1 - chance));
  }
  return Math.max(Math.abs(net), Math.round(sum / (cells.to - first)));
}
