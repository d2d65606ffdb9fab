import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { endianness } from "node:os";

/*
 * SQLite takes what comes after a damaged frame of a write-ahead log for a commit that was cut. How far the log
 * went is in its index (-shm) too: formats at https://sqlite.org/walformat.html.
 */

const FRAME_HEAD = 24;
const LOG_HEAD = 32;
const INDEX_HEAD = 48;
const LITTLE = 0x377f0682;

/** One sentence where the log of a ledger does not reach as far as its index says. */
export function logBreach(path: string): string | undefined {
  const index = firstBytes(`${path}-shm`, 2 * INDEX_HEAD);
  // Two copies: where they differ somebody is writing.
  if (index === undefined || !index.subarray(0, INDEX_HEAD).equals(index.subarray(INDEX_HEAD))) return undefined;
  const expected = endianness() === "LE" ? index.readUInt32LE(16) : index.readUInt32BE(16);
  const log = readFileSync(`${path}-wal`);
  const salts = index.subarray(32, 40);
  const again = firstBytes(`${path}-shm`, INDEX_HEAD)?.subarray(32, 40);
  // Begun anew meanwhile: what was read is two logs.
  if (expected === 0 || again?.equals(salts) !== true) return undefined;
  const valid = validFrames(log, salts);
  if (valid >= expected) return undefined;
  return `file: the log ${path}-wal is damaged at frame ${valid + 1} of ${expected}: what was committed from there on is not seen (or the machine lost power: then start the service once, it goes on with what was synced)`;
}

/** How many frames, from the first on, are of this log and what was written. */
function validFrames(log: Buffer, salts: Buffer): number {
  if (log.length < LOG_HEAD || !log.subarray(16, 24).equals(salts)) return 0;
  const little = log.readUInt32BE(0) === LITTLE;
  let sums = checksum(log.subarray(0, 24), little, [0, 0]);
  if (!matches(log, 24, sums)) return 0;
  const page = log.readUInt32BE(8);
  let frames = 0;
  for (let at = LOG_HEAD; at + FRAME_HEAD + page <= log.length; at += FRAME_HEAD + page) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    sums = checksum(log.subarray(at, at + 8), little, sums);
    sums = checksum(log.subarray(at + FRAME_HEAD, at + FRAME_HEAD + page), little, sums);
    if (!matches(log, at + 16, sums)) break;
    frames += 1;
  }
  return frames;
}

type Sums = readonly [number, number];

function checksum(bytes: Buffer, little: boolean, [one, two]: Sums): Sums {
  let [first, second] = [one, two];
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)) + second) >>> 0;
    second = (second + (little ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4)) + first) >>> 0;
  }
  return [first, second];
}

const matches = (log: Buffer, at: number, [first, second]: Sums): boolean =>
  log.readUInt32BE(at) === first && log.readUInt32BE(at + 4) === second;

function firstBytes(path: string, length: number): Buffer | undefined {
  let handle: number;
  try {
    handle = openSync(path, "r");
  } catch {
    return undefined;
  }
  try {
    const bytes = Buffer.alloc(length);
    return readSync(handle, bytes, 0, length, 0) === length ? bytes : undefined;
  } finally {
    closeSync(handle);
  }
}
