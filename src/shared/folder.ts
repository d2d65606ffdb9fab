import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/** Folders are for their owner alone: they hold keys, and personal data that was paid for. */
export const FOLDER_MODE = 0o700;

/**
 * In a `catch`: what stands for a file or folder that is not there.
 * @param alike other codes of the system that say so: a folder that is a
 * file (ENOTDIR) is no empty one where something is told of what is in it
 */
export const ifMissing =
  <Value>(value: Value, ...alike: readonly "ENOTDIR"[]) =>
  (error: unknown): Value => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || alike.some((each) => each === code)) return value;
    throw error;
  };

/**
 * Makes a folder and those above it, each with its name on the disk, whoever makes them beside it.
 * Node's own recursion never ends where a parent that is there says
 * ENOENT, as below /proc. @throws Error the system's, with its code
 */
export function makeFolder(path: string): void {
  const above = dirname(path);
  try {
    makeIn(above, path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" || above === path) throw error;
    // By now another process may have made it.
    makeFolder(above);
    makeIn(above, path);
  }
}

function makeIn(above: string, path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    throw error;
  }

  syncFolder(above);
}

/**
 * The names in it are on the disk, where that can be had:
 * not on Windows, nor in a folder that may not be read.
 */
export function syncFolder(path: string): void {
  let folder: number | undefined;
  try {
    folder = openSync(path, "r");
    fsyncSync(folder);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EINVAL", "EPERM", "EACCES", "ENOTSUP", "EISDIR"].includes(code)) throw error;
  } finally {
    if (folder !== undefined) closeSync(folder);
  }
}

/** For its owner alone: whole or not at all, and on the disk when this returns. */
export function replaceFile(path: string, text: string): void {
  const draft = `${path}.${crypto.randomUUID()}.new`;
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: "wx", flush: true });
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }

  syncFolder(dirname(path));
}
