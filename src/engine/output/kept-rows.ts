// Tested by test/cli/keep-input.test.ts.

export const MATCHES = [
  "found",
  "nobody",
  "not found",
  "no company",
  "ambiguous",
  "not asked",
  "suppressed",
] as const;
export type Match = (typeof MATCHES)[number];

export interface JoinRow {
  /** As a JSON object without its closing brace. */
  readonly body: string;
  /** undefined: none that can be asked for, as `match` and `why` say. */
  readonly company: number | undefined;
  readonly match: Match;
  readonly why: string;
}

export interface Join {
  /** As it was read: kept with the run. */
  readonly text: string;
  readonly columns: readonly string[];
  readonly rows: readonly JoinRow[];
  readonly prefix: string;
  readonly json: boolean;
}
