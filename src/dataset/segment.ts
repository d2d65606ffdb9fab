import { LRUCache } from "lru-cache";
import { PEOPLE_A_CHUNK } from "./embedded/scan.ts";
import type { Passing } from "./embedded/sweep.ts";

/** Positions: 32-bit ones in the embedded engine, those of a cluster as whole numbers in floats. */
export type Rids = Uint32Array | Float64Array;

/**
 * The people of a segment: positions (`rid`) in public
 * order. Any page costs the same, wherever it lies.
 */
export interface SegmentPositions<Positions extends Rids = Uint32Array> {
  readonly count: number;
  readonly bytes: number;
  /** The positions of a page; shorter at the end, empty beyond it. */
  slice(offset: number, limit: number): Positions;
}

export const wholeDataset = (count: number): SegmentPositions => ({
  count,
  bytes: 0,
  slice(offset, limit) {
    const length = Math.max(0, Math.min(limit, count - offset));
    return Uint32Array.from({ length }, (_, index) => offset + index);
  },
});

export const listSegment = <Positions extends Rids = Uint32Array>(
  rids: Positions,
): SegmentPositions<Positions> => ({
  count: rids.length,
  bytes: rids.byteLength,
  // A part of an array is an array of its kind; TypeScript knows it of each kind, not of both.
  slice: (offset, limit) =>
    rids.subarray(
      Math.min(offset, rids.length),
      Math.min(offset + limit, rids.length),
    ) as Positions,
});

const WORDS_A_CHUNK = PEOPLE_A_CHUNK / 32;

function bitsOf(places: Uint16Array): Uint32Array {
  const bits = new Uint32Array(WORDS_A_CHUNK);
  for (let index = 0; index < places.length; index++) {
    const place = places[index] ?? 0;
    bits[place >>> 5] = (bits[place >>> 5] ?? 0) | (1 << (place & 31));
  }
  return bits;
}

/**
 * The places whose bits are set, in their order: place `i`
 * is bit `i & 31`, the lowest first, of word `i >>> 5`.
 */
function placesIn(bits: Uint32Array, count: number): Uint16Array {
  const places = new Uint16Array(count);
  let length = 0;
  for (let index = 0; index < bits.length; index++) {
    for (let word = bits[index] ?? 0; word !== 0; word &= word - 1) {
      places[length++] = index * 32 + 31 - Math.clz32(word & -word);
    }
  }
  return places;
}

interface SegmentPiece {
  readonly chunk: number;
  readonly before: number;
  readonly count: number;
  /** Places in their order, or where that is smaller a bit for each of the chunk. */
  readonly marks: Uint16Array | Uint32Array;
}

/** Positions in pieces, one for each chunk of people where any lie. */
export class ChunkedSegment implements SegmentPositions {
  readonly #pieces: SegmentPiece[] = [];
  count = 0;
  bytes = 0;

  /** @param some who of the chunk lies in it. Chunks come in their order */
  add(chunk: number, some: Passing): void {
    const { count } = some;
    if (count === 0) return;

    let marks: SegmentPiece["marks"] = some.bits?.slice() ?? bitsOf(some.places);
    if (count < 2 * WORDS_A_CHUNK) marks = placesIn(marks, count);
    this.#pieces.push({ chunk, before: this.count, count, marks });
    this.count += count;
    this.bytes += marks.byteLength;
  }

  slice(offset: number, limit: number): Uint32Array {
    const rids = new Uint32Array(Math.max(0, Math.min(limit, this.count - offset)));
    let length = 0;
    const first = this.#pieces.findLastIndex(({ before }) => before <= offset);

    for (const { before, chunk, count, marks } of this.#pieces.slice(Math.max(0, first))) {
      if (length === rids.length) break;
      const places = marks instanceof Uint16Array ? marks : placesIn(marks, count);
      for (let at = offset + length - before; at < count && length < rids.length; at++) {
        rids[length++] = chunk * PEOPLE_A_CHUNK + (places[at] ?? 0);
      }
    }

    return rids;
  }
}

export type SegmentCache<Positions extends Rids = Uint32Array> = LRUCache<
  string,
  SegmentPositions<Positions>
>;

/**
 * Segments that were asked for lately.
 * @param budget in bytes; a segment that alone exceeds it is not kept
 */
export const segmentCache = <Positions extends Rids = Uint32Array>(
  budget: number,
): SegmentCache<Positions> =>
  new LRUCache({
    maxSize: budget,
    sizeCalculation: ({ bytes }, key) => bytes + 2 * key.length + 200,
  });
