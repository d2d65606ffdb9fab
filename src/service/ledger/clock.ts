/**
 * The wall clock at the start, then a monotonic one, so that
 * a clock that is set expires nothing (I12). Both in ms.
 */
export function anchoredClock(
  wall: () => number,
  monotonic: (() => number) | undefined,
): () => number {
  if (monotonic === undefined) return wall;
  const start = wall() - monotonic();
  return () => Math.floor(start + monotonic());
}

/** Epoch milliseconds as they are told. */
export function timeOf(at: number): string;
export function timeOf(at: number | null): string | null;
export function timeOf(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

const DAY_MS = 86_400_000;
let lastDay = { number: Number.NaN, text: "" };

export function utcDay(epochMs: number): string {
  const number = Math.floor(epochMs / DAY_MS);
  if (number !== lastDay.number)
    lastDay = { number, text: new Date(epochMs).toISOString().slice(0, 10) };
  return lastDay.text;
}
