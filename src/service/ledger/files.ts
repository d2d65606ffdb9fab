import { hash } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { setTimeout as setPause } from "node:timers";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { replaceFile, syncFolder } from "../../shared/folder.ts";
import { LedgerDamagedError, resultCode, SQLITE_BUSY, StoreUnavailableError } from "./errors.ts";

/*
 * A ledger's file is sealed when its last process closes it: a digest
 * of every page. Rows have chains of their own; the seal says which
 * page is hurt. Whoever opens the file to write breaks it first.
 */

const PAGE = 4_096;
const CHUNK = 256 * PAGE;
const TITLE = "headcount seal 1";

const sealOf = (path: string): string => `${path}-seal`;

const digestOf = (bytes: Uint8Array): string => hash("sha256", bytes, "base64url").slice(0, 16);

function digestsOf(path: string, file?: number): readonly string[] {
  const handle = openSync(path, "r");
  try {
    if (file !== undefined && fstatSync(handle).ino !== file)
      throw new Error(`${path} is another file by now`);

    const digests: string[] = [];
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (let size = CHUNK, position = 0; size === CHUNK; position += size) {
      size = readWhole(handle, buffer, position);
      for (let at = 0; at < size; at += PAGE)
        digests.push(digestOf(buffer.subarray(at, Math.min(at + PAGE, size))));
    }

    return digests;
  } finally {
    closeSync(handle);
  }
}

function readWhole(handle: number, buffer: Buffer, position: number): number {
  let size = 0;
  for (let bytes = 1; bytes > 0 && size < buffer.length; size += bytes) {
    bytes = readSync(handle, buffer, size, buffer.length - size, position + size);
  }
  return size;
}

export function seal(path: string, file: number): void {
  const lines = [TITLE, ...digestsOf(path, file)];
  const text = `${lines.join("\n")}\n`;
  replaceFile(sealOf(path), `${text}${hash("sha256", text, "base64url")}\n`);
}

export const isSealed = (path: string): boolean => existsSync(sealOf(path));

/**
 * Durable before anything is written: a seal that came
 * back after a power failure would accuse a sound file.
 */
export function breakSeal(path: string): void {
  if (!isSealed(path)) return;
  rmSync(sealOf(path), { force: true });
  syncFolder(dirname(path));
}

export interface BrokenPages {
  readonly pages: readonly number[];
  readonly seal: string | undefined;
}

export function brokenPages(path: string): BrokenPages | undefined {
  let text: string;
  try {
    text = readFileSync(sealOf(path), "latin1");
  } catch {
    return undefined;
  }

  const end = text.lastIndexOf("\n", text.length - 2) + 1;
  const [title, ...sealed] = text.slice(0, end).split("\n").slice(0, -1);
  if (
    title !== TITLE ||
    `${hash("sha256", text.slice(0, end), "base64url")}\n` !== text.slice(end)
  ) {
    return { pages: [], seal: `the seal ${sealOf(path)} is not what was written` };
  }

  const digests = digestsOf(path);
  const most = Math.max(digests.length, sealed.length);
  const pages = Array.from({ length: most }, (_, index) => index).filter(
    (index) => digests[index] !== sealed[index],
  );
  return { pages: pages.map((index) => index + 1), seal: undefined };
}

export function lostLedger(path: string): string | undefined {
  const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (sizeOf(path) > 0) return undefined;

  const remnant = [`${path}-wal`, sealOf(path)].find((file) => sizeOf(file) > 0);
  if (remnant === undefined) return undefined;

  const [state, what] = [
    existsSync(path) ? "empty" : "gone",
    remnant === sealOf(path) ? "seal" : "log",
  ];

  return (
    `${path} is ${state} and its ${what} ${remnant} is there: ` +
    `put the ledger back, or move the ${what} away to begin a new one`
  );
}

const inodeOf = (path: string): number | undefined =>
  statSync(path, { throwIfNoEntry: false })?.ino;

export function ledgerFiles(path: string, hasLog: boolean) {
  const opened = new Map(
    (hasLog ? ["", "-wal", "-shm"] : [""]).map((end) => [path + end, statSync(path + end).ino]),
  );

  /** A file that was removed or replaced under us takes writes that nobody sees again. */
  function assertInPlace(committed = false): void {
    for (const [each, file] of opened) {
      if (inodeOf(each) === file) continue;
      throw new StoreUnavailableError(
        `${each} was removed or replaced while the ledger was open; ` +
          "nothing more is charged. Put it back, or restart the service",
        { inDoubt: committed },
      );
    }
  }

  return {
    assertInPlace,
    ledger: opened.get(path) ?? 0,
    /**
     * Whether somebody else has begun files in the place
     * of ours: neither sees the locks of the other then.
     */
    areReplaced: () => [...opened].some(([each, file]) => (inodeOf(each) ?? file) !== file),
  };
}

/**
 * Before a ledger is opened to write: SQLite would make a missing index anew, beside a process at
 * work on the removed one: two writers that do not see each other damage the file.
 * @throws StoreUnavailableError where another process has it
 * open without its files; LedgerDamagedError where only its log or seal is there
 */
export async function assertFilesBeside(path: string, patienceMs: number): Promise<void> {
  const damage = lostLedger(path);
  if (damage !== undefined) throw new LedgerDamagedError(damage);
  if (!existsSync(path)) return;

  const missing = (): string | undefined =>
    [`${path}-wal`, `${path}-shm`].find((file) => !existsSync(file));

  for (
    let waited = 0;
    missing() !== undefined && hasLog(path) && !(await isAlone(path));
    waited += 20
  ) {
    if (waited >= patienceMs) {
      throw new StoreUnavailableError(
        `${path} is open in another process, and ${missing()} was removed under it. ` +
          "Stop that process, then try again",
      );
    }
    await new Promise((resolve) => setPause(resolve, 20));
  }
}

/**
 * Whether the file is one that SQLite keeps a log of
 * (https://sqlite.org/fileformat.html, offset 18).
 */
export function hasLog(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const handle = openSync(path, "r");
  try {
    const version = Buffer.alloc(1);
    return readSync(handle, version, 0, 1, 18) === 1 && version[0] === 2;
  } finally {
    closeSync(handle);
  }
}

/**
 * Every process that has the file open holds a lock on the
 * file itself too. What a log has left is folded into it.
 */
async function isAlone(path: string): Promise<boolean> {
  const { DatabaseSync } = await import("@photostructure/sqlite");

  let database: DatabaseSyncInstance | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec(
      "PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1; " +
        "PRAGMA locking_mode = EXCLUSIVE; SELECT 1 FROM sqlite_schema",
    );
    return true;
  } catch (error) {
    // What else is wrong with it is told by whoever opens it.
    return resultCode(error) !== SQLITE_BUSY;
  } finally {
    database?.close();
  }
}
