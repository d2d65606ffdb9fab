export interface Change {
  readonly name: string;
  readonly kind: string;
  readonly lines: readonly string[];
}

export const KINDS: readonly string[];
export function changeOf(name: string, text: string): Change;
export function changesIn(root: string): Change[];
export function withVersion(
  text: string,
  version: string,
  day: string,
  changes: readonly Change[],
): string;
export function putTogether(root: string, day: string): number;
export function checkTogether(root: string): void;
