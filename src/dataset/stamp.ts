import { statSync } from "node:fs";

/** Changes whenever a file is replaced; "" where there is none. Asked at every request: through the thread pool it would cost twenty times as much. */
export function fileStamp(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? "" : `${found.ino}:${found.size}:${found.mtimeMs}`;
}
