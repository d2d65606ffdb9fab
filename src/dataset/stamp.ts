import { statSync } from "node:fs";

/**
 * Changes whenever a file is replaced; "" where there
 * is none. Synchronous: it is asked at every request.
 */
export function fileStamp(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? "" : `${stats.ino}:${stats.size}:${stats.mtimeMs}`;
}
