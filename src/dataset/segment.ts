import { LRUCache } from "lru-cache";
import { onesIn } from "./embedded/scan.ts";

/** Positions: 32-bit ones in the embedded engine, those of a cluster as whole numbers in floats. */
export type Rids = Uint32Array | Float64Array;

/** The people of a segment: positions (`rid`) in public order. Any page costs the same, wherever it lies. */
export interface SegmentPositions<Positions extends Rids = Uint32Array> {
  readonly count: number;
  readonly bytes: number;
  /** The positions of a page; shorter at the end, empty beyond it. */
  slice(offset: number, limit: number): Positions;
}

export class WholeDataset implements SegmentPositions {
  readonly count: number;
  readonly bytes = 0;

  constructor(people: number) {
    this.count = people;
  }

  slice(offset: number, limit: number): Uint32Array {
    const length = Math.max(0, Math.min(limit, this.count - offset));
    return Uint32Array.from({ length }, (_, index) => offset + index);
  }
}

export class ListSegment<Positions extends Rids = Uint32Array> implements SegmentPositions<Positions> {
  readonly count: number;
  readonly bytes: number;
  readonly #rids: Positions;

  constructor(rids: Positions) {
    this.#rids = rids;
    this.count = rids.length;
    this.bytes = rids.byteLength;
  }

  slice(offset: number, limit: number): Positions {
    // A part of an array is an array of its kind; TypeScript knows it of each kind, not of both.
    return this.#rids.subarray(Math.min(offset, this.count), Math.min(offset + limit, this.count)) as Positions;
  }
}

const PIECE = 16_384;
const BLOCK = 128;

/** A segment with many people: one bit for each person of the dataset, however many match. */
export class BitmapSegment implements SegmentPositions {
  readonly count: number;
  readonly bytes: number;
  readonly #bits: Uint32Array;
  readonly #before: Uint32Array;

  /** @param bits person `i` is bit `i & 31`, the lowest first, of word `i >>> 5` */
  constructor(bits: Uint32Array) {
    this.#bits = bits;
    this.#before = new Uint32Array(Math.ceil(bits.length / BLOCK));
    let count = 0;
    for (let index = 0; index < bits.length; index++) {
      if (index % BLOCK === 0) this.#before[index / BLOCK] = count;
      count += onesIn(bits[index] ?? 0);
    }
    this.count = count;
    this.bytes = bits.byteLength + this.#before.byteLength;
  }

  slice(offset: number, limit: number): Uint32Array {
    const rids = new Uint32Array(Math.max(0, Math.min(limit, this.count - offset)));
    if (rids.length === 0) return rids;
    let low = 0;
    let high = this.#before.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.#before[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    let skip = offset - (this.#before[low] ?? 0);
    let found = 0;
    for (let index = low * BLOCK; found < rids.length; index++) {
      let word = this.#bits[index] ?? 0;
      const ones = onesIn(word);
      if (skip >= ones) {
        skip -= ones;
        continue;
      }
      for (; skip > 0; skip--) word &= word - 1;
      for (; word !== 0 && found < rids.length; word &= word - 1) {
        rids[found++] = index * 32 + 31 - Math.clz32(word & -word);
      }
    }
    return rids;
  }

  /** The smaller of the two forms. @param turn awaited before each piece of work, of a millisecond or less */
  async compact(turn: () => Promise<void>): Promise<SegmentPositions> {
    if (this.count * 4 >= this.bytes) return this;
    const rids = new Uint32Array(this.count);
    for (let done = 0; done < rids.length; done += PIECE) {
      await turn();
      rids.set(this.slice(done, PIECE), done);
    }
    return new ListSegment(rids);
  }
}

export type SegmentCache<Positions extends Rids = Uint32Array> = LRUCache<string, SegmentPositions<Positions>>;

/** Segments that were asked for lately. @param budget in bytes; a segment that alone exceeds it is not kept */
export const segmentCache = <Positions extends Rids = Uint32Array>(budget: number): SegmentCache<Positions> =>
  new LRUCache({ maxSize: budget, sizeCalculation: ({ bytes }, key) => bytes + 2 * key.length + 200 });
