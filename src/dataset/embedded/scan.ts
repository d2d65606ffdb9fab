export type Codes = Uint8Array | Uint16Array | Uint32Array;

export interface CodeTest {
  readonly codes: Codes;
  /** The least and the greatest code of each block of people: in the sorted order most blocks need not be read. */
  readonly least: Codes;
  readonly most: Codes;
  /** From and to (not included) of each range, rising and apart. */
  readonly ranges: Uint32Array;
  /** By code, where there is more than one range: 1 where it lies in one. */
  readonly mask: Uint8Array | undefined;
}

/** Whether a person's bit is set: person `i` is bit `i & 31`, the lowest first, of word `i >>> 5`. */
export interface BitTest {
  readonly bits: Uint32Array;
}

export interface Scan {
  /** All have to hold; the one that leaves the fewest comes first. */
  readonly tests: readonly (CodeTest | BitTest)[];
  readonly people: number;
  /** Who alone is looked at: from and to (not included) of spans of positions, rising and apart. */
  readonly spans?: Uint32Array | undefined;
  readonly bits?: Uint32Array | undefined;
  readonly groups?: { readonly codes: Codes; readonly size: number } | undefined;
  /** Not 0 once nobody waits for the answer any more. */
  readonly stop: Int32Array;
}

export interface ScanResult {
  readonly count: number;
  readonly sums: Uint32Array | undefined;
}

/** People of a block. The functions below know it as numbers of their own. */
export const PEOPLE_A_BLOCK = 1_024;

export function peopleWithin(spans: Uint32Array): number {
  let people = 0;
  for (let at = 0; at < spans.length; at += 2) people += (spans[at + 1] ?? 0) - (spans[at] ?? 0);
  return people;
}

/* These run in threads too, which get them as text (scan-threads.ts): they use nothing but each other. */

/** Those from `from`, a multiple of a block, to before `to` who pass all tests. */
export function scanned(work: Scan, from: number, to: number): ScanResult {
  const { bits, groups, spans } = work;
  const words = new Uint32Array(32);
  const sums = groups && new Uint32Array(groups.size);
  let count = 0;
  let span = 0;
  for (let start = from; start < to && Atomics.load(work.stop, 0) === 0; start += 1_024) {
    if (spans) {
      while ((spans[span + 1] ?? to) <= start) span += 2;
      const next = spans[span] ?? to;
      if (next >= to) break;
      if (next > start) start = next - (next % 1_024);
    }
    if (!narrowTests(work, start, words, span)) continue;
    for (let index = 0; index < 32; index++) {
      const word = words[index] ?? 0;
      if (word === 0) continue;
      const place = (start >>> 5) + index;
      if (bits) bits[place] = word;
      count += onesIn(word);
      if (!groups || !sums) continue;
      for (let rest = word; rest !== 0; rest &= rest - 1) {
        const code = groups.codes[place * 32 + 31 - Math.clz32(rest & -rest)] ?? 0;
        sums[code] = (sums[code] ?? 0) + 1;
      }
    }
  }
  return { count, sums };
}

export function onesIn(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** @param span the first that may reach into the block. @returns false where nobody passes all tests */
function narrowTests({ people, spans, tests }: Scan, start: number, words: Uint32Array, span: number): boolean {
  const length = Math.min(1_024, people - start);
  words.fill(0);
  let isWhole = true;
  if (spans) {
    for (let at = span; (spans[at] ?? people) < start + length; at += 2) {
      const from = Math.max(0, (spans[at] ?? 0) - start);
      const to = Math.min(length, (spans[at + 1] ?? 0) - start);
      setBits(words, from, to);
      isWhole = to - from === length;
    }
  } else setBits(words, 0, length);
  for (const test of tests) {
    let any = 0;
    if ("bits" in test) {
      const first = start >>> 5;
      for (let index = 0; index < 32; index++)
        any |= words[index] = (words[index] ?? 0) & (test.bits[first + index] ?? 0);
    } else {
      const known = wantedOf(test, start >>> 10);
      if (known === "none") return false;
      if (known === "all") continue;
      any = isWhole ? marked(test, start, length, words) : sifted(test, start, words);
    }
    if (any === 0) return false;
    isWhole = false;
  }
  return true;
}

function setBits(words: Uint32Array, from: number, to: number): void {
  for (let index = from >>> 5; index * 32 < to; index++) {
    const first = Math.max(0, from - index * 32);
    const end = Math.min(32, to - index * 32);
    words[index] = (words[index] ?? 0) | ((0xffffffff << first) & (0xffffffff >>> (32 - end)));
  }
}

export function wantedOf({ least, most, ranges }: CodeTest, block: number): "none" | "some" | "all" {
  const low = least[block] ?? 0;
  const high = most[block] ?? 0;
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

function marked({ codes, mask, ranges }: CodeTest, start: number, length: number, words: Uint32Array): number {
  const first = ranges[0] ?? 0;
  const last = (ranges[1] ?? 0) - 1;
  let any = 0;
  for (let base = 0; base < length; base += 32) {
    const at = start + base;
    const size = Math.min(32, length - base);
    let word = 0;
    if (mask) for (let bit = 0; bit < size; bit++) word |= (mask[codes[at + bit] ?? 0] ?? 0) << bit;
    else {
      for (let bit = 0; bit < size; bit++) {
        const code = codes[at + bit] ?? 0;
        // The sign of a difference says which is less: codes are below 2^31.
        word |= ((((code - first) | (last - code)) >>> 31) ^ 1) << bit;
      }
    }
    words[base >>> 5] = word;
    any |= word;
  }
  return any;
}

function sifted(test: CodeTest, start: number, words: Uint32Array): number {
  let any = 0;
  for (let index = 0; index < 32; index++) {
    let word = words[index] ?? 0;
    for (let rest = word; rest !== 0; rest &= rest - 1) {
      const bit = rest & -rest;
      if (!passes(test, start + index * 32 + 31 - Math.clz32(bit))) word ^= bit;
    }
    words[index] = word;
    any |= word;
  }
  return any;
}

export function passes(test: CodeTest | BitTest, person: number): boolean {
  if ("bits" in test) return (((test.bits[person >>> 5] ?? 0) >>> (person & 31)) & 1) === 1;
  const code = test.codes[person] ?? 0;
  if (test.mask) return test.mask[code] === 1;
  return code >= (test.ranges[0] ?? 0) && code < (test.ranges[1] ?? 0);
}

export const SCAN_TEXT = [scanned, onesIn, narrowTests, setBits, wantedOf, marked, sifted, passes]
  .map(String)
  .join("\n");

export function edgesOf(codes: Codes, block: number): [least: number, most: number] {
  const end = Math.min(codes.length, (block + 1) * PEOPLE_A_BLOCK);
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let person = block * PEOPLE_A_BLOCK; person < end; person++) {
    const code = codes[person] ?? 0;
    if (code < least) least = code;
    if (code > most) most = code;
  }
  return [least, most];
}
