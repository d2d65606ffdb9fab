const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"] as const;

/**
 * A horizontal bar for a share of 0..1. Anything above nothing shows at least a sliver.
 * @param unicode block characters in eighths; else `#`
 */
export function bar(share: number, width: number, unicode: boolean): string {
  const bounded = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
  if (!unicode) return "#".repeat(bounded > 0 ? Math.max(1, Math.round(bounded * width)) : 0);
  const eighths = bounded > 0 ? Math.max(1, Math.round(bounded * width * 8)) : 0;
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}
