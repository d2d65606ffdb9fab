/**
 * A clock that starts at the wall clock's time and then runs by a monotonic one, so that a wall clock set forward or back
 * (NTP, a person, a paused machine) neither expires nor prolongs anything in a running process (I12).
 * @param wall epoch milliseconds
 * @param monotonic milliseconds from any origin that never go back
 */
export function anchoredClock(wall: () => number, monotonic: () => number): () => number {
  const start = wall() - monotonic();
  return () => Math.floor(start + monotonic());
}

const DAY_MS = 86_400_000;
let lastDay = { number: Number.NaN, text: "" };

/** The UTC day of an instant as `YYYY-MM-DD`. Asked for with every charge, hence remembered. */
export function utcDay(epochMs: number): string {
  const number = Math.floor(epochMs / DAY_MS);
  if (number !== lastDay.number) lastDay = { number, text: new Date(epochMs).toISOString().slice(0, 10) };
  return lastDay.text;
}
