import { echo, spanMs } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";

/** Reads `--since`: a span back from now, a date, or `all`. @returns epoch milliseconds @throws CliError exit 2 */
export function sinceMs(text: string, now: number): number {
  if (text === "all") return 0;
  const span = spanMs(text);
  if (span !== undefined) return now - span;
  const date = /^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(date)) return date;
  throw usageError(
    `--since takes 12h, 30d, 8w, a date such as 2026-01-31, or all, not "${echo(text)}"`,
    "for example --since 7d",
  );
}
