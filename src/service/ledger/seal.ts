import { hash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/*
 * A ledger's file is sealed when its last process closes it: a digest of every page. Rows have chains of their
 * own; the seal says which page is hurt. Whoever opens the file to write breaks it first.
 */

const PAGE = 4_096;
const CHUNK = 256 * PAGE;
const TITLE = "headcount seal 1";

export const sealOf = (path: string): string => `${path}-seal`;

/** Twelve bytes are plenty against chance, and nobody's signature. */
const digestOf = (bytes: Uint8Array): string => hash("sha256", bytes, "base64url").slice(0, 16);

/** Each page's digest, in order. @param file the inode that is meant, whatever the path names by now */
function digestsOf(path: string, file?: number): readonly string[] {
  const handle = openSync(path, "r");
  try {
    if (file !== undefined && fstatSync(handle).ino !== file) throw new Error(`${path} is another file by now`);
    const digests: string[] = [];
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (let size = CHUNK, position = 0; size === CHUNK; position += size) {
      size = readWhole(handle, buffer, position);
      for (let at = 0; at < size; at += PAGE) digests.push(digestOf(buffer.subarray(at, Math.min(at + PAGE, size))));
    }
    return digests;
  } finally {
    closeSync(handle);
  }
}

function readWhole(handle: number, buffer: Buffer, position: number): number {
  let size = 0;
  for (let read = 1; read > 0 && size < buffer.length; size += read) {
    read = readSync(handle, buffer, size, buffer.length - size, position + size);
  }
  return size;
}

/** Called by whoever has the file for itself. Whole or not at all. */
export function seal(path: string, file: number): void {
  const lines = [TITLE, ...digestsOf(path, file)];
  const text = `${lines.join("\n")}\n`;
  const draft = `${sealOf(path)}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${text}${hash("sha256", text, "base64url")}\n`, { mode: 0o600, flag: "wx", flush: true });
  renameSync(draft, sealOf(path));
  syncFolder(path);
}

/** Durable before anything is written: a seal that came back after a power failure would accuse a sound file. */
export function breakSeal(path: string): void {
  if (!existsSync(sealOf(path))) return;
  rmSync(sealOf(path), { force: true });
  syncFolder(path);
}

function syncFolder(path: string): void {
  try {
    const handle = openSync(dirname(path), "r");
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // Windows cannot flush folders.
  }
}

export interface BrokenPages {
  readonly pages: readonly number[];
  readonly seal: string | undefined;
}

/** What is not as it was sealed; undefined where there is no seal. */
export function brokenPages(path: string): BrokenPages | undefined {
  let text: string;
  try {
    text = readFileSync(sealOf(path), "latin1");
  } catch {
    return undefined;
  }
  const end = text.lastIndexOf("\n", text.length - 2) + 1;
  const [title, ...sealed] = text.slice(0, end).split("\n").slice(0, -1);
  if (title !== TITLE || `${hash("sha256", text.slice(0, end), "base64url")}\n` !== text.slice(end)) {
    return { pages: [], seal: `the seal ${sealOf(path)} is not what was written` };
  }
  const found = digestsOf(path);
  const most = Math.max(found.length, sealed.length);
  const pages = Array.from({ length: most }, (_, index) => index).filter((index) => found[index] !== sealed[index]);
  return { pages: pages.map((index) => index + 1), seal: undefined };
}
