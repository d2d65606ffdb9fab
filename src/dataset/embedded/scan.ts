import type { LRUCache } from "lru-cache";
import { type Passing, type Sweep, sweepOf, swept } from "./sweep.ts";

export type Codes = Uint8Array | Uint16Array | Uint32Array;

/**
 * People are looked at in chunks of the public order, in
 * which 16 bits tell one from another: their place in it.
 */
export const PEOPLE_A_CHUNK = 2 ** 16;

const EVERYBODY = Uint16Array.from({ length: PEOPLE_A_CHUNK }, (_, place) => place);
/** Who passes is written here, and read before anything else is asked. */
const ROOM = new Uint16Array(PEOPLE_A_CHUNK);

/** Of the codes of a chunk. */
export function edgesOf(codes: Codes): [least: number, most: number] {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const code of codes) {
    if (code < least) least = code;
    if (code > most) most = code;
  }
  return [least, most];
}

interface Piece {
  readonly places: Uint16Array;
  readonly from: number;
  readonly before: number;
}

const DIGIT_BITS = 12;
const DIGITS = 2 ** DIGIT_BITS;

/** The places of a chunk in the order of their codes. */
class Postings {
  readonly #codes: Codes;
  readonly #shift: number;
  #places: Uint16Array;
  /** Of each highest digit. */
  #ends = new Uint32Array();

  constructor(codes: Codes, size: number) {
    this.#codes = codes;
    this.#shift = Math.max(0, 32 - Math.clz32(size) - DIGIT_BITS);
    this.#places = EVERYBODY.subarray(0, codes.length);
    for (let shift = 0; shift < this.#shift; shift += DIGIT_BITS) this.#sort(shift, DIGITS);
    this.#sort(this.#shift, (size >>> this.#shift) + 1);
  }

  #sort(shift: number, digits: number): void {
    const from = this.#places;
    const to = new Uint16Array(from.length);
    const next = new Uint32Array(digits);

    for (const code of this.#codes) {
      const digit = (code >>> shift) & (DIGITS - 1);
      next[digit] = (next[digit] ?? 0) + 1;
    }

    for (let digit = 0, sum = 0; digit < digits; digit++) {
      const own = next[digit] ?? 0;
      next[digit] = sum;
      sum += own;
    }

    for (let index = 0; index < from.length; index++) {
      const place = from[index] ?? 0;
      const digit = ((this.#codes[place] ?? 0) >>> shift) & (DIGITS - 1);
      const at = next[digit] ?? 0;
      to[at] = place;
      next[digit] = at + 1;
    }

    this.#places = to;
    this.#ends = next;
  }

  get bytes(): number {
    return this.#places.byteLength + this.#ends.byteLength;
  }

  pieces(ranges: Uint32Array): Piece[] {
    const pieces: Piece[] = [];
    for (let at = 0; at < ranges.length; at += 2) {
      const from = this.#below(ranges[at] ?? 0);
      const before = this.#below(ranges[at + 1] ?? 0);
      if (from < before) pieces.push({ places: this.#places, from, before });
    }
    return pieces;
  }

  #below(code: number): number {
    const digit = code >>> this.#shift;
    let low = digit === 0 ? 0 : (this.#ends[digit - 1] ?? 0);
    let high = this.#shift === 0 ? low : (this.#ends[digit] ?? 0);
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#codes[this.#places[middle] ?? 0] ?? 0) < code) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** The codes of a chunk, and the postings where they were made. */
export interface OwnCodes {
  readonly codes: Codes;
  readonly postings?: Postings;
}

interface Codings {
  readonly people: number;
  /** Codes are below it, that of who has no value is it. */
  readonly size: number;
  /** The least and the greatest code of each chunk: in the sorted order most need not be read. */
  readonly least: Codes;
  readonly most: Codes;
  /** Those of all columns that are in memory, and what the first of this one is called there. */
  readonly chunks: LRUCache<number, OwnCodes>;
  readonly first: number;
  readonly load: (chunk: number) => Promise<Codes>;
}

/** So that no question waits for the postings of all. */
const MISSES_A_CHUNK = 8;

/** A code for each person of the dataset, some chunks of them in memory. */
export class CodedColumn {
  readonly of: Codings;
  readonly #reading = new Map<number, Promise<OwnCodes>>();
  #missed = 0;

  constructor(own: Codings) {
    this.of = own;
  }

  /**
   * Of a chunk: at once where it is in memory, else from
   * the file, once for all who wait. @throws DatasetDamagedError
   */
  own(chunk: number): OwnCodes | Promise<OwnCodes> {
    const known = this.of.chunks.get(this.of.first + chunk) ?? this.#reading.get(chunk);
    if (known) return known;

    const fresh = this.of
      .load(chunk)
      .then((codes) => this.#keep(chunk, { codes }))
      .finally(() => this.#reading.delete(chunk));
    this.#reading.set(chunk, fresh);
    return fresh;
  }

  /** Undefined where they are not made yet. */
  postings(chunk: number, { codes, postings }: OwnCodes): Postings | undefined {
    if (postings || this.#missed++ % MISSES_A_CHUNK > 0) return postings;
    return this.#keep(chunk, { codes, postings: new Postings(codes, this.of.size) }).postings;
  }

  #keep(chunk: number, own: OwnCodes): OwnCodes {
    this.of.chunks.set(this.of.first + chunk, own);
    return own;
  }
}

export interface CodeTest {
  readonly column: CodedColumn;
  /** From and to (not included) of each range of codes, rising and apart. */
  readonly ranges: Uint32Array;
  /** A bit for each code, where there is more than one range. */
  readonly mask: Uint32Array | undefined;
  /** Whether to take who passes from the postings is less work than to look at everybody. */
  readonly isListed: boolean;
  /** Looks at everybody, many at once. */
  readonly sweep: Sweep | undefined;
}

/** What finding a range of codes in postings costs, in people that are looked at. */
const PEOPLE_A_RANGE = 64;
/** The share of a chunk from which on a sweep of it is less work than its postings. */
const SWEPT_FROM = 0.1;

/** @param passing how many of all `people` have such a code */
export function testOf(
  column: CodedColumn,
  ranges: readonly (readonly [number, number])[],
  passing: number,
): CodeTest {
  const mask = ranges.length > 1 ? new Uint32Array((column.of.size >>> 5) + 1) : undefined;
  for (const [from, to] of ranges) {
    for (let code = from; mask && code < to; code++)
      mask[code >>> 5] = (mask[code >>> 5] ?? 0) | (1 << (code & 31));
  }
  const cost = passing / column.of.people + (ranges.length * PEOPLE_A_RANGE) / PEOPLE_A_CHUNK;
  return {
    column,
    ranges: Uint32Array.from(ranges.flat()),
    mask,
    isListed: cost < 1,
    sweep: sweepOf(column.of.least.BYTES_PER_ELEMENT, ranges),
  };
}

function wantedOf(
  {
    column: {
      of: { least, most },
    },
    ranges,
  }: CodeTest,
  chunk: number,
): "none" | "some" | "all" {
  const low = least[chunk] ?? 0;
  const high = most[chunk] ?? 0;
  let from = 0;
  let to = ranges.length >>> 1;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((ranges[2 * middle + 1] ?? 0) <= low) from = middle + 1;
    else to = middle;
  }

  if (2 * from >= ranges.length || (ranges[2 * from] ?? 0) > high) return "none";

  return (ranges[2 * from] ?? 0) <= low && (ranges[2 * from + 1] ?? 0) > high ? "all" : "some";
}

/** A test, and the codes that it looks at. */
export interface OpenTest {
  readonly test: CodeTest;
  readonly own: OwnCodes;
}

/**
 * Of which tests the codes of a chunk have to be looked at,
 * since some pass and some do not; undefined where nobody passes all.
 */
export function openOf(tests: readonly CodeTest[], chunk: number): CodeTest[] | undefined {
  const open: CodeTest[] = [];
  for (const test of tests) {
    const share = wantedOf(test, chunk);
    if (share === "none") return undefined;
    if (share === "some") open.push(test);
  }
  return open;
}

/** Puts who of them passes behind those that are in the room. @returns how many are there then */
function sift(
  { own: { codes }, test: { mask, ranges } }: OpenTest,
  { before, from, places }: Piece,
  room: number,
): number {
  let length = room;
  // Without branches: who does not pass is written over by the next.
  if (mask) {
    for (let index = from; index < before; index++) {
      const place = places[index] ?? 0;
      const code = codes[place] ?? 0;
      ROOM[length] = place;
      length += ((mask[code >>> 5] ?? 0) >>> (code & 31)) & 1;
    }
    return length;
  }

  const least = ranges[0] ?? 0;
  const most = (ranges[1] ?? 0) - 1;

  for (let index = from; index < before; index++) {
    const place = places[index] ?? 0;
    const code = codes[place] ?? 0;
    ROOM[length] = place;
    // The sign of a difference says which is less: codes are below 2^31.
    length += (((code - least) | (most - code)) >>> 31) ^ 1;
  }

  return length;
}

/** Who is in the room. */
const inRoom = (count: number): Passing => ({ count, places: ROOM.subarray(0, count) });

/** Sweeps are first: the others look at who is left. */
function ofMany(open: readonly OpenTest[], people: number): Passing {
  const sweeps = open.flatMap(({ own: { codes }, test: { sweep } }) =>
    sweep ? [{ codes, sweep }] : [],
  );

  let found = swept(people, sweeps);
  for (const each of open) {
    if (!each.test.sweep)
      found = inRoom(sift(each, { places: found.places, from: 0, before: found.count }, 0));
  }
  return found;
}

/**
 * Who of a chunk passes all tests.
 * @param open the one that the fewest pass first
 * @param people how many the chunk has
 * @param some who alone is looked at
 */
export function passing(
  open: readonly OpenTest[],
  chunk: number,
  people: number,
  some?: Uint16Array,
): Passing {
  const all = some ?? EVERYBODY.subarray(0, people);
  const [fewest] = open;
  if (!fewest) return { count: all.length, places: all };

  const { test, own } = fewest;
  const postings =
    some === undefined && test.isListed ? test.column.postings(chunk, own) : undefined;
  const listed = postings?.pieces(test.ranges);
  const many = listed?.reduce((sum, { before, from }) => sum + before - from, 0) ?? people;
  if (test.sweep && some === undefined && many > people * SWEPT_FROM) return ofMany(open, people);

  const pieces = listed ?? [{ places: all, from: 0, before: all.length }];
  const [next = fewest, ...others] = postings ? open.slice(1) : open;

  let length = 0;
  for (const piece of pieces) length = sift(next, piece, length);
  for (const other of others) length = sift(other, { places: ROOM, from: 0, before: length }, 0);

  return inRoom(length);
}
