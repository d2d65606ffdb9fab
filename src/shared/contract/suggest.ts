// Tested by test/unit/contract-text.test.ts.
import { distance } from "fastest-levenshtein";

/** A hint for a word that is none of these; undefined where none is near. */
export function didYouMean(
  text: string,
  names: readonly string[],
  shown: (name: string) => string = (name) => name,
): string | undefined {
  const near = nearest(text, names);
  return near === undefined ? undefined : `did you mean ${shown(near)}?`;
}

/** The same in the middle of a sentence; empty where none is near. */
export const aside = (near: string | undefined, mark = ""): string =>
  near === undefined ? "" : ` (did you mean ${mark}${near}${mark}?)`;

/** Whether it is the beginning of a word and more of its letters, in their order: "dept". */
const isShort = (text: string, word: string): boolean => {
  let at = 2;
  for (const letter of word.slice(2)) if (letter === text.charAt(at)) at++;
  return text.length > 3 && word.startsWith(text.slice(0, 2)) && at === text.length;
};

/**
 * The nearest within a third of its length, or one of which one is the beginning of the other or
 * short for it; undefined: none is.
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  const wanted = text.slice(0, 64).toLowerCase();
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    let score = distance(wanted, other);
    if (wanted.length >= 3 && (other.startsWith(wanted) || wanted.startsWith(other)))
      score = Math.min(score, 1);
    else if (isShort(wanted, other)) score = Math.min(score, 2);
    if (score < bestDistance && score <= Math.max(2, Math.floor(other.length / 3))) {
      best = candidate;
      bestDistance = score;
    }
  }

  return best;
}
