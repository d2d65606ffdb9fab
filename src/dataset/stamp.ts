import { statSync } from "node:fs";

/** Changes whenever a file is replaced; "" where there is none. Synchronous: it is asked at every request. */
export function fileStamp(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? "" : `${found.ino}:${found.size}:${found.mtimeMs}`;
}
