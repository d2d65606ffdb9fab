import { closeSync, openSync, statSync, unlinkSync } from "node:fs";

/** A lock that is older was left by a process that died. */
const STALE_MS = 2_000;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** @returns undefined where others held the lock all the while */
export function locked<T>(path: string, patienceMs: number, work: () => T): T | undefined {
  if (!acquire(path, patienceMs)) return undefined;
  try {
    return work();
  } finally {
    remove(path);
  }
}

function acquire(lock: string, patienceMs: number): boolean {
  for (let attempt = 1; attempt <= patienceMs; attempt++) {
    try {
      closeSync(openSync(lock, "wx", 0o600));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (attempt % 200 === 0) removeStale(lock);
      Atomics.wait(pause, 0, 0, 1);
    }
  }

  return false;
}

function removeStale(lock: string): void {
  const stats = statSync(lock, { throwIfNoEntry: false });
  if (stats === undefined) return;
  // Told by the file system's clock, so a fresh file of our own is what to compare with.
  const probe = `${lock}.probe`;
  closeSync(openSync(probe, "w", 0o600));
  const age = statSync(probe).mtimeMs - stats.mtimeMs;
  remove(probe);
  if (age > STALE_MS) remove(lock);
}

/** Without `rmSync`, which loads what removes folders: a millisecond of every command. */
function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
