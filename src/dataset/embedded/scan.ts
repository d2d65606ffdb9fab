export type Codes = Uint8Array | Uint16Array | Uint32Array;

/** People are looked at in chunks of the public order, in which 16 bits tell one from another: their place in it. */
export const PEOPLE_A_CHUNK = 2 ** 16;

const EVERYBODY = Uint16Array.from({ length: PEOPLE_A_CHUNK }, (_, place) => place);
const NOBODY = new Uint16Array();
/** Who passes is written here, and read before anything else is asked. */
const ROOM = new Uint16Array(PEOPLE_A_CHUNK);

export function edgesOf(codes: Codes, chunk: number): [least: number, most: number] {
  const end = Math.min(codes.length, (chunk + 1) * PEOPLE_A_CHUNK);
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let person = chunk * PEOPLE_A_CHUNK; person < end; person++) {
    const code = codes[person] ?? 0;
    if (code < least) least = code;
    if (code > most) most = code;
  }
  return [least, most];
}

const DIGIT_BITS = 11;
const DIGITS = 2 ** DIGIT_BITS;

/** The places of a chunk in the order of their codes, by a sort of one digit after another from the lowest on. */
function grouped(codes: Codes, size: number): Uint16Array {
  let from = EVERYBODY.subarray(0, codes.length);
  for (let shift = 0; shift === 0 || (shift < 32 && size >>> shift > 0); shift += DIGIT_BITS) {
    const to = new Uint16Array(codes.length);
    const next = new Uint32Array(DIGITS + 1);
    for (let place = 0; place < codes.length; place++) {
      const digit = ((codes[place] ?? 0) >>> shift) % DIGITS;
      next[digit + 1] = (next[digit + 1] ?? 0) + 1;
    }
    for (let digit = 1; digit < DIGITS; digit++) next[digit] = (next[digit] ?? 0) + (next[digit - 1] ?? 0);
    for (let index = 0; index < from.length; index++) {
      const place = from[index] ?? 0;
      const digit = ((codes[place] ?? 0) >>> shift) % DIGITS;
      const at = next[digit] ?? 0;
      to[at] = place;
      next[digit] = at + 1;
    }
    from = to;
  }
  return from;
}

/** A code for each person of the dataset. */
export class CodedColumn {
  readonly codes: Codes;
  /** Codes are below it, that of who has no value is it. */
  readonly size: number;
  /** The least and the greatest code of each chunk: in the sorted order most need not be read. */
  readonly least: Codes;
  readonly most: Codes;
  readonly #postings: Uint16Array[] = [];

  constructor({ codes, least, most, size }: Pick<CodedColumn, "codes" | "size" | "least" | "most">) {
    this.codes = codes;
    this.size = size;
    this.least = least;
    this.most = most;
  }

  /** The places of a chunk in the order of their codes: made, in half a millisecond, when first asked for, and kept. */
  postings(chunk: number): Uint16Array {
    const known = this.#postings[chunk];
    if (known) return known;
    const first = chunk * PEOPLE_A_CHUNK;
    const made = grouped(this.codes.subarray(first, first + PEOPLE_A_CHUNK), this.size);
    this.#postings[chunk] = made;
    return made;
  }
}

export interface CodeTest {
  readonly column: CodedColumn;
  /** From and to (not included) of each range of codes, rising and apart. */
  readonly ranges: Uint32Array;
  /** A bit for each code, where there is more than one range: whether it lies in one. */
  readonly mask: Uint32Array | undefined;
  /** Whether to take who passes from the postings is less work than to look at everybody. */
  readonly isListed: boolean;
}

/** What finding a range of codes in the postings of a chunk costs, in people that are looked at. */
const PEOPLE_A_RANGE = 256;

/** @param passing how many of all `people` have such a code */
export function testOf(column: CodedColumn, ranges: readonly (readonly [number, number])[], passing: number): CodeTest {
  const mask = ranges.length > 1 ? new Uint32Array((column.size >>> 5) + 1) : undefined;
  for (const [from, to] of ranges) {
    for (let code = from; mask && code < to; code++) mask[code >>> 5] = (mask[code >>> 5] ?? 0) | (1 << (code & 31));
  }
  const cost = passing / column.codes.length + (ranges.length * PEOPLE_A_RANGE) / PEOPLE_A_CHUNK;
  return { column, ranges: Uint32Array.from(ranges.flat()), mask, isListed: cost < 1 };
}

function wantedOf({ column: { least, most }, ranges }: CodeTest, chunk: number): "none" | "some" | "all" {
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

/** Who passes one test, by the postings. */
function listed({ column, ranges }: CodeTest, chunk: number): Uint16Array {
  const { codes } = column;
  const order = column.postings(chunk);
  const first = chunk * PEOPLE_A_CHUNK;
  const below = (code: number, from: number): number => {
    let low = from;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((codes[first + (order[middle] ?? 0)] ?? 0) < code) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  let length = 0;
  let end = 0;
  for (let at = 0; at < ranges.length; at += 2) {
    const start = below(ranges[at] ?? 0, end);
    end = below(ranges[at + 1] ?? 0, start);
    if (ranges.length === 2) return order.subarray(start, end);
    for (let index = start; index < end; index++) ROOM[length++] = order[index] ?? 0;
  }
  return ROOM.subarray(0, length);
}

/** Who of them passes one test. Without branches: who does not is written over by the next. */
function sifted({ column: { codes }, mask, ranges }: CodeTest, first: number, among: Uint16Array): Uint16Array {
  let length = 0;
  if (mask) {
    for (let index = 0; index < among.length; index++) {
      const place = among[index] ?? 0;
      const code = codes[first + place] ?? 0;
      ROOM[length] = place;
      length += ((mask[code >>> 5] ?? 0) >>> (code & 31)) & 1;
    }
    return ROOM.subarray(0, length);
  }
  const least = ranges[0] ?? 0;
  const most = (ranges[1] ?? 0) - 1;
  for (let index = 0; index < among.length; index++) {
    const place = among[index] ?? 0;
    const code = codes[first + place] ?? 0;
    ROOM[length] = place;
    // The sign of a difference says which is less: codes are below 2^31.
    length += (((code - least) | (most - code)) >>> 31) ^ 1;
  }
  return ROOM.subarray(0, length);
}

/**
 * The places of who of a chunk passes all tests, each once, in no order: to be read before the next chunk is looked at.
 * @param tests the one that the fewest pass first
 * @param some who alone is looked at
 */
export function passing(tests: readonly CodeTest[], people: number, chunk: number, some?: Uint16Array): Uint16Array {
  const first = chunk * PEOPLE_A_CHUNK;
  const open: CodeTest[] = [];
  for (const test of tests) {
    const wanted = wantedOf(test, chunk);
    if (wanted === "none") return NOBODY;
    if (wanted === "some") open.push(test);
  }
  const [fewest] = open;
  const isListed = some === undefined && fewest?.isListed === true;
  let left = some ?? EVERYBODY.subarray(0, people - first);
  if (fewest && isListed) left = listed(fewest, chunk);
  for (const test of isListed ? open.slice(1) : open) left = sifted(test, first, left);
  return left;
}
