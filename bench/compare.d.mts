import type { Results, Row } from "./results.d.mts";

export interface ComparedRow {
  readonly name: string;
  readonly old: Row | undefined;
  readonly now: Row | undefined;
  readonly change: number | undefined;
  readonly differs: boolean;
}
export function namedResults(name: string, folder?: string): Results;
export function compareResults(
  older: Results,
  newer: Results,
): { readonly rows: readonly ComparedRow[]; readonly differing: readonly ComparedRow[] };
export function comparisonText(older: Results, newer: Results): string;
