/** The Damerau-Levenshtein distance (optimal string alignment) between two short texts. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min((current[j - 1] ?? 0) + 1, (previous[j] ?? 0) + 1, (previous[j - 1] ?? 0) + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

/**
 * The candidate a person most likely meant: the nearest within a third of its length, or one that the text begins or that
 * begins with the text.
 * @returns undefined where nothing is near enough
 */
export function nearest(text: string, candidates: readonly string[]): string | undefined {
  const wanted = text.toLowerCase().slice(0, 64);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const other = candidate.toLowerCase();
    let score = distance(wanted, other);
    if (wanted.length >= 3 && (other.startsWith(wanted) || wanted.startsWith(other))) score = Math.min(score, 1);
    if (score < bestDistance && score <= Math.max(2, Math.floor(other.length / 3))) {
      best = candidate;
      bestDistance = score;
    }
  }
  return best;
}
