export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly n: number;
}
export interface Ratio {
  readonly value: number;
  readonly min: number;
  readonly max: number;
}
export type Target = { readonly atMost: number } | { readonly atLeast: number };
export type Verdict = "meets" | "misses" | "not measured";

export function median(samples: readonly number[]): number;
export function summarise(samples: readonly number[]): Summary;
export function ratioOf(above: readonly number[], below: readonly number[]): Ratio;
export function verdict(value: number | null | undefined, target: Target): Verdict;
export function within(ours: number, theirs: number, ratio: number, slack: number): Verdict;
export function worst(verdicts: readonly Verdict[]): Verdict;
export function spread(values: readonly number[]): number;
export function growthExponent(points: readonly (readonly [size: number, cost: number])[]): number;
