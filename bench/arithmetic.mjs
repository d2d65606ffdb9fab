/**
 * The arithmetic behind every figure: kept apart from processes and clocks so that a unit test can hold it.
 * Samples are plain numbers in the unit of their row (mostly milliseconds).
 */

/** The middle of the samples; of an even number, the mean of the two in the middle. Throws on none. */
export function median(samples) {
  if (samples.length === 0) throw new RangeError("no samples: there is no median");
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median, least, greatest and number of samples. */
export function summarise(samples) {
  return {
    median: median(samples),
    min: Math.min(...samples),
    max: Math.max(...samples),
    n: samples.length,
  };
}

/** The sample below which that part of them lies. */
export const percentile = (samples, part) =>
  samples.toSorted((a, b) => a - b)[
    Math.min(samples.length - 1, Math.floor(part * samples.length))
  ];

/**
 * The ratio of the medians of two series that were taken in turn, and between which bounds the ratios of the single pairs lie.
 * `above` is what stands over the line: ours for "at most 1.2 times the yardstick", the yardstick for "at least 4 times faster".
 */
export function ratioOf(above, below) {
  if (above.length !== below.length)
    throw new RangeError(`not pairs: ${above.length} and ${below.length} samples`);
  const pairs = above.map((value, index) => value / below[index]);
  return { value: median(above) / median(below), min: Math.min(...pairs), max: Math.max(...pairs) };
}

/**
 * Whether a measured value meets its target: `{ atMost: 1.2 }` or `{ atLeast: 4 }`. Nothing measured is "not measured", never
 * a pass.
 */
export function verdict(value, target) {
  if (value === undefined || value === null || Number.isNaN(value)) return "not measured";
  if ("atMost" in target) return value <= target.atMost ? "meets" : "misses";
  if ("atLeast" in target) return value >= target.atLeast ? "meets" : "misses";
  throw new TypeError("a target is { atMost } or { atLeast }");
}

/** "At most `ratio` times the yardstick, or `slack` more where that is more": small times need room for what is fixed. */
export function within(ours, theirs, ratio, slack) {
  return verdict(ours, { atMost: Math.max(theirs * ratio, theirs + slack) });
}

/** The verdict over several parts: the worst of them. */
export function worst(verdicts) {
  for (const level of ["misses", "not measured"]) if (verdicts.includes(level)) return level;
  return verdicts.length === 0 ? "not measured" : "meets";
}

/** How much the greatest of the values lies above the least, as a share: 0.1 for [100, 105, 110]. */
export function spread(values) {
  if (values.length === 0) throw new RangeError("no values: there is no spread");
  return Math.max(...values) / Math.min(...values) - 1;
}

/**
 * The exponent b of cost = a * size^b by least squares on the logarithms: 1 is linear growth, 0 is none.
 * @param points pairs of size and cost, all above zero, at least two sizes
 */
export function growthExponent(points) {
  if (points.length < 2) throw new RangeError("growth needs at least two sizes");
  const xs = points.map(([size]) => Math.log(size));
  const ys = points.map(([, cost]) => Math.log(cost));
  const meanX = xs.reduce((sum, x) => sum + x, 0) / xs.length;
  const meanY = ys.reduce((sum, y) => sum + y, 0) / ys.length;
  const covariance = xs.reduce((sum, x, index) => sum + (x - meanX) * (ys[index] - meanY), 0);
  const variance = xs.reduce((sum, x) => sum + (x - meanX) ** 2, 0);
  if (variance === 0) throw new RangeError("growth needs at least two different sizes");
  return covariance / variance;
}
