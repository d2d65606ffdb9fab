/** A share as text: 12.3%. What is not nothing never shows as 0.0%. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "";
  const share = (part / whole) * 100;
  if (part > 0 && share < 0.1) return "<0.1%";
  return `${share.toFixed(1)}%`;
}

/**
 * A time span in words of at most two units: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`.
 */
export function duration(ms: number): string {
  if (ms < 950) return `${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return two(minutes, "min", seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return two(hours, "h", minutes % 60, "min");
  return two(Math.floor(hours / 24), "d", hours % 24, "h");
}

export const inSeconds = (ms: number | undefined): number | null =>
  ms === undefined ? null : ms / 1000;

const two = (large: number, largeUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;

/**
 * How long ago something was: `just now`, `3 min ago`, `5
 * h ago`, `12 days ago`; its date where that is longer.
 */
export function ago(ms: number, epochMs: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ago`;
  if (minutes < 60 * 24 * 60) return `${Math.floor(minutes / (24 * 60))} days ago`;
  return timeText(epochMs).slice(0, 10);
}

/**
 * A time for a person: local to nobody, so that two machines say the same: `2026-01-15 12:00 UTC`.
 */
export const timeText = (epochMs: number): string =>
  `${new Date(epochMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/**
 * A bar for a share of 0..1; anything above nothing shows a sliver.
 * @param unicode blocks in eighths; else `#`
 */
export function bar(share: number, width: number, unicode: boolean): string {
  const bounded = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
  if (!unicode) return "#".repeat(bounded > 0 ? Math.max(1, Math.round(bounded * width)) : 0);
  const eighths = bounded > 0 ? Math.max(1, Math.round(bounded * width * 8)) : 0;
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}

const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** `417 bytes`, `1.2 MB`: in thousands. */
export function bytesText(bytes: number): string {
  const power = Math.min(
    UNITS.length - 1,
    Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)),
  );
  return power === 0 ? `${bytes} bytes` : `${(bytes / 1_000 ** power).toFixed(1)} ${UNITS[power]}`;
}
