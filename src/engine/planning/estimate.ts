/** What finding and buying the new people of a segment takes, as simulated on people with long tails (docs/new-only.md, "What it costs"). */
export interface Estimate {
  readonly callsPerCredit: number;
  /** Free calls, about. */
  readonly calls: number;
  /** The most rows that are bought: the new people, and owned ones with whom they share the last parts. */
  readonly rows: number;
}

/** The most rows for each new person, and the calls against those at 5 calls a credit. */
const KINDS: readonly { readonly from: number; readonly rows: number; readonly calls: number }[] = [
  { from: 10, rows: 1.05, calls: 1.15 },
  { from: 5, rows: 1.1, calls: 1 },
  { from: 2, rows: 2, calls: 0.65 },
  { from: 1, rows: 3, calls: 0.45 },
];

/** Calls before the first new person is found: whose names hold, what covers the segment. */
const BASE = 40;

/** Small numbers are rounded up by this many rows. */
const SPARE = 2;

/**
 * @param known whether everybody owned was bought from the version of the dataset that is there now
 * @returns one that buys everything, without dividing, where that costs no more
 */
export function estimate(total: number, fresh: number, callsPerCredit: number, known: boolean): Estimate {
  const whole = { callsPerCredit: 0, calls: 0, rows: total };
  const kind = KINDS.find(({ from }) => callsPerCredit >= from);
  if (fresh === 0) return { ...whole, rows: 0 };
  if (kind === undefined || fresh === total) return whole;
  const rows = Math.min(total, Math.ceil(fresh * kind.rows) + SPARE);
  if (rows === total) return whole;
  const levels = Math.log2(total / fresh);
  const each = known ? 1.9 * levels + 2 : 2.4 * levels + 7;
  return { callsPerCredit, calls: Math.ceil(fresh * each * kind.calls) + BASE, rows };
}

/** The estimate at the most calls a credit that fits into so many calls; undefined where none does. */
export function fitting(
  total: number,
  fresh: number,
  {
    callsPerCredit,
    known,
    maxCalls,
  }: { readonly callsPerCredit: number; readonly known: boolean; readonly maxCalls: number },
): Estimate | undefined {
  const tried = [callsPerCredit, ...KINDS.map(({ from }) => from).filter((from) => from < callsPerCredit)];
  for (const each of tried) {
    const made = estimate(total, fresh, each, known);
    if (made.calls <= maxCalls) return made;
  }
  return undefined;
}
