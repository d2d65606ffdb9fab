import type { Ranges } from "./dictionary.ts";
import { type Codes, PEOPLE_A_BLOCK } from "./scan.ts";

export interface SortedKey {
  readonly codes: Codes;
  readonly size: number;
  readonly ranges: Ranges | undefined;
}

export interface SortedSpans {
  /** From and to (not included) of each span of positions, rising and apart. */
  readonly spans: Uint32Array;
  /** So many keys need no look any more: whoever is in a span has what is asked of them, and nobody else has. */
  readonly keys: number;
}

const MOST_SPANS = 8_192;

/** By binary search. @returns undefined where that leaves out nobody, or is no less work */
export function sortedSpans(
  keys: readonly SortedKey[],
  people: number,
  most = Math.min(MOST_SPANS, people / PEOPLE_A_BLOCK),
): SortedSpans | undefined {
  const used = leading(keys, most);
  if (used === 0) return undefined;
  let spans = [0, people];
  for (const [place, { codes, ranges = [[0, 2 ** 32]] }] of keys.slice(0, used).entries()) {
    const isLast = place + 1 === used;
    const narrower: number[] = [];
    for (let span = 0; span < spans.length; span += 2) {
      let at = spans[span] ?? 0;
      const to = spans[span + 1] ?? 0;
      for (const [least, most] of ranges) {
        at = firstFrom(codes, least, at, to);
        const end = firstFrom(codes, most, at, to);
        // The next key is sorted among those who have the same of this one.
        while (at < end) {
          const next = isLast ? end : firstFrom(codes, (codes[at] ?? 0) + 1, at, end);
          narrower.push(at, next);
          at = next;
        }
      }
    }
    spans = narrower;
  }
  return { spans: Uint32Array.from(spans), keys: used };
}

/** How many keys divide the people into no more spans than that, up to the last that anything is asked of. */
function leading(keys: readonly SortedKey[], most: number): number {
  let used = 0;
  let spans = 1;
  for (const [place, { ranges, size }] of keys.entries()) {
    if (ranges) {
      if (spans * ranges.length > most) break;
      used = place + 1;
    }
    spans *= ranges ? ranges.reduce((sum, [from, to]) => sum + to - from, 0) : size;
    if (spans > most) break;
  }
  return used;
}

function firstFrom(codes: Codes, code: number, from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((codes[middle] ?? 0) < code) low = middle + 1;
    else high = middle;
  }
  return low;
}
