import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { type CliError, failed, option, say } from "../../shared/errors.ts";
import { ifMissing, syncFolder } from "../../shared/folder.ts";
import { type Disk, FILE_MODE } from "./disk.ts";
import { keptText, type LogEntry, type LogRecord, ofKept } from "./record.ts";

const LAST_LINE = 8_192;

/** Works on a log that is there; undefined where there is none. */
export function reading<Result>(
  path: string,
  work: (read: LogSource, size: number) => Result,
): Result | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    return ifMissing(undefined)(error);
  }

  try {
    return work(logSourceOf(file), fstatSync(file).size);
  } finally {
    closeSync(file);
  }
}

export const readLog = <Kind extends LogRecord>(path: string): DecodedLog<Kind> =>
  reading(path, (read, size) => scanLog<Kind>(read, size, path)) ?? { entries: [], validBytes: 0 };

export const readLastRecord = (path: string): LogRecord | undefined =>
  reading(path, (read, size) => {
    const length = Math.min(size, LAST_LINE);
    const tail = read(size - length, length);
    if (tail.at(-1) !== 10) return undefined;
    return decodeLine(tail.subarray(tail.lastIndexOf(10, -2) + 1, -1))?.record;
  });

interface Waiting<Kind extends LogRecord> {
  readonly records: readonly Kind[];
  readonly payload: Buffer | undefined;
  readonly resolve: (at: number) => void;
  readonly reject: (error: unknown) => void;
}

/** Of one writer: what waits goes out as one group, in one write and one sync. */
export class Log<Kind extends LogRecord> {
  readonly #disk: Disk;
  readonly #file: FileHandle;
  readonly #what: string;
  #size: number;
  #queue: Waiting<Kind>[] = [];
  #writing: Promise<void> | undefined;
  #needed = false;
  #torn = false;

  private constructor(disk: Disk, file: FileHandle, what: string, size: number) {
    this.#disk = disk;
    this.#file = file;
    this.#what = what;
    this.#size = size;
  }

  static async open<Kind extends LogRecord>(disk: Disk, path: string, what: string) {
    const file = await open(path, "a+", FILE_MODE);
    try {
      const { size } = await file.stat();
      if (size === 0) syncFolder(dirname(path));
      const decoded = undamaged(scanLog<Kind>(logSourceOf(file.fd), size, path));
      if (size !== decoded.validBytes) await file.truncate(decoded.validBytes);
      if (size > 0) await file.sync();
      return { log: new Log<Kind>(disk, file, what, decoded.validBytes), decoded };
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Resolves once they are synced. Rejects where the disk is full; the log itself stays sound. */
  async append(...records: readonly Kind[]): Promise<void> {
    await this.#add(records, undefined, true);
  }

  /** @returns where in the file the bytes begin */
  appendWith(record: Kind, payload: Buffer): Promise<number> {
    return this.#add([record], payload, true);
  }

  /** As {@link append}, for what may share the sync of the next append, or of {@link hurry}. */
  async appendLater(...records: readonly Kind[]): Promise<void> {
    await this.#add(records, undefined, false);
  }

  hurry(): void {
    if (this.#queue.length === 0) return;
    this.#needed = true;
    this.#writing ??= this.#drain();
  }

  read(at: number, length: number): Buffer {
    return logSourceOf(this.#file.fd)(at, length);
  }

  async close(): Promise<void> {
    this.hurry();
    await this.#writing;
    await this.#file.close();
  }

  #add(records: readonly Kind[], payload: Buffer | undefined, now: boolean): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ records, payload, resolve, reject });
      if (now) this.hurry();
    });
  }

  async #drain() {
    await Promise.resolve();
    while (this.#needed) {
      const batch = this.#queue;
      this.#queue = [];
      this.#needed = false;

      try {
        // After a write that failed half way.
        if (this.#torn) await this.#file.truncate(this.#size);
        this.#torn = true;
        const { parts, payloads, length } = encodeGroup(batch, this.#size);
        await this.#disk.append(this.#file, parts, this.#what);
        this.#torn = false;
        this.#size += length;
        for (const [index, { resolve }] of batch.entries()) resolve(payloads[index] ?? 0);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }

    this.#writing = undefined;
  }
}

function encodeGroup(batch: readonly Waiting<LogRecord>[], from: number) {
  const parts: Buffer[] = [];
  const payloads: number[] = [];
  let length = 0;
  let first: number | undefined = from;
  let text = "";

  const put = (part: Buffer): void => {
    parts.push(part);
    length += part.length;
  };

  for (const { records, payload } of batch) {
    for (const record of records) {
      text += encodeLine(record, first);
      first = undefined;
    }

    if (payload === undefined) {
      payloads.push(0);
      continue;
    }

    put(Buffer.from(text, "utf8"));
    payloads.push(from + length);
    put(payload);
    text = "\n";
  }

  if (text !== "") put(Buffer.from(text, "utf8"));

  return { parts, payloads, length };
}

export interface DecodedLog<Kind extends LogRecord> {
  readonly entries: LogEntry<Kind>[];
  readonly validBytes: number;
  readonly damage?: CliError | undefined;
}

const SUM_LENGTH = 18;
const SUM = /^,"sum":"([0-9a-f]{8})"\}$/;
const WINDOW = 65_536;
const LONGEST_LINE = 1 << 22;
const LINE_START = Buffer.from('{"t":');
const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, "0");

export const checksum = (data: Buffer | string): string => hex(crc32(data));

/** Ends in a checksum over everything before it. @param from see {@link LogRecord} */
export function encodeLine(record: LogRecord, from?: number): string {
  const body = keptText(record).slice(0, -1);
  const marked = from === undefined ? body : `${body},"from":${from}`;
  if (marked.length > LONGEST_LINE / 4)
    throw new RangeError(`a line of ${marked.length} characters is too long for a log`);
  return `${marked},"sum":"${checksum(marked)}"}\n`;
}

function decodeLine(line: Buffer) {
  const body = line.length - SUM_LENGTH;
  const sum = body < 0 ? undefined : SUM.exec(line.toString("latin1", body))?.[1];
  if (sum === undefined || checksum(line.subarray(0, body)) !== sum) return undefined;

  try {
    const {
      sum: _,
      from,
      ...record
    } = ofKept(line.toString("utf8")) as LogRecord & { readonly from?: number };
    return { record: record as LogRecord, from: from as number | undefined };
  } catch {
    return undefined;
  }
}

const isTorn = (line: Buffer): boolean =>
  !SUM.test(line.toString("latin1", Math.max(0, line.length - SUM_LENGTH)));

export type LogSource = (at: number, length: number) => Buffer;

/**
 * Synchronously: lines lie in the system's cache or are
 * few, and a thread for each costs ten times as much.
 */
export const logSourceOf =
  (file: number): LogSource =>
  (at, length) => {
    const bytes = Buffer.allocUnsafe(length);
    let offset = 0;
    for (let count = -1; offset < length && count !== 0; offset += count)
      count = readSync(file, bytes, offset, length - offset, at + offset);
    return bytes.subarray(0, offset);
  };

/**
 * The line that begins at a place; undefined where
 * it has no end, or is none of ours for its length.
 */
function linesOf(read: LogSource): (place: number) => Buffer | undefined {
  let bytes: Buffer = Buffer.alloc(0);

  let base = 0;
  return (place) => {
    for (let length = WINDOW; ; length *= 4) {
      const start = place - base;
      if (start >= 0 && start < bytes.length) {
        const end = bytes.indexOf(10, start);
        if (end >= 0) return bytes.subarray(start, end);
      }
      if (length > LONGEST_LINE) return undefined;
      const more = read(place, length);
      if (base === place && more.length === bytes.length) return undefined;
      [bytes, base] = [more, place];
    }
  };
}

/**
 * What a dying writer left of the last group is dropped: the last group that was synced
 * ends where a later one begins (`from`), and what comes after is believed as far as
 * its checksums hold. A bad line before is damage of a later day (`damage`): nothing is
 * built on such a file, and what can be read of it goes on with the next group.
 */
export function scanLog<Kind extends LogRecord>(
  read: LogSource,
  size: number,
  path: string,
): DecodedLog<Kind> {
  const { entries, end, trusted, damage } = linesIn<Kind>(read, size, path);
  const bad = entries.findIndex(({ record, start, end: place }) => {
    const { follows, crc } = record;
    return start >= trusted && follows !== undefined && checksum(read(place, follows)) !== crc;
  });
  if (bad < 0) return { entries, validBytes: end, damage };

  return { entries: entries.slice(0, bad), validBytes: entries[bad]?.start ?? 0, damage };
}

/** Every line that can be read. `trusted`: everything up to there had been synced. */
function linesIn<Kind extends LogRecord>(read: LogSource, size: number, path: string) {
  const lineAt = linesOf(read);
  const entries: (LogEntry<Kind> & { readonly start: number })[] = [];
  let at = 0;
  let lastGroup: number | undefined;
  let damage: CliError | undefined;
  for (let line = 1; at < size; line++) {
    const { entry, isSound, isTail, end, follows } = entryAt(lineAt(at), at, size);
    if (entry === undefined || !isSound) {
      // Nothing tells what had been synced: there only the last line can be torn.
      const next = groupAfter(read, size, at);
      if (next === undefined && (lastGroup !== undefined || isTail || entry !== undefined)) break;
      damage ??= damaged(path, line);
      if (next === undefined) break;
      at = next;
      continue;
    }

    lastGroup = entry.from ?? lastGroup;
    entries.push({ record: entry.record as Kind, end, start: at });
    if (follows > 0) line++;
    at = behind(end, follows);
  }

  return { entries, end: at, trusted: lastGroup ?? at, damage };
}

/** Where the next line begins: a payload has a line end of its own. */
const behind = (end: number, follows: number): number => (follows > 0 ? end + follows + 1 : end);

/** @param bytes of the line that begins there. `isTail`: it may be torn, as the last one */
function entryAt(bytes: Buffer | undefined, at: number, size: number) {
  const entry = bytes && decodeLine(bytes);
  const end = at + (bytes?.length ?? 0) + 1;
  const follows = entry?.record.follows ?? 0;
  return {
    entry,
    end,
    follows,
    isSound: (entry?.from ?? at) === at && behind(end, follows) <= size,
    isTail: bytes === undefined || (end === size && isTorn(bytes)),
  };
}

/** Everything up to there had been synced. */
function groupAfter(read: LogSource, size: number, place: number): number | undefined {
  const lineAt = linesOf(read);
  const piece = 1 << 20;
  for (let base = place + 1; base < size; base += piece) {
    const bytes = read(base, piece + LINE_START.length);
    for (let hit = bytes.indexOf(LINE_START); hit >= 0; hit = bytes.indexOf(LINE_START, hit + 1)) {
      const start = base + hit;
      const line = lineAt(start);
      if (line !== undefined && decodeLine(line)?.from === start) return start;
    }
  }

  return undefined;
}

export function undamaged<Kind extends LogRecord>(decoded: DecodedLog<Kind>): DecodedLog<Kind> {
  if (decoded.damage !== undefined) throw decoded.damage;
  return decoded;
}

/** What helps where a file of a run is damaged. */
export const FROM_BACKUP = say`nothing was bought or changed; restore the file from a backup, or
  begin anew with ${option("again")}`;

const damaged = (path: string, line: number): CliError =>
  failed.incomplete(
    `${path} is damaged at line ${line}: its checksum does not match`,
    FROM_BACKUP,
    "damaged_log",
  );
