import { existsSync, mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Folders are for their owner alone: they hold keys, and personal data that was paid for. */
export const FOLDER_MODE = 0o700;

/**
 * Makes a folder and those above it. Node's own recursion never ends where a parent that is there says ENOENT, as
 * below /proc. @returns the highest folder that was made, if any @throws Error the system's, with its code
 */
export function makeFolder(path: string): string | undefined {
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return undefined;
    const above = dirname(path);
    if (code !== "ENOENT" || above === path || existsSync(above)) throw error;
    const first = makeFolder(above);
    const own = makeFolder(path);
    return first ?? own;
  }
}
