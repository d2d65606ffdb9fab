import { type FileHandle, open, readFile } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { CliError, EXIT } from "../errors.ts";
import { type Disk, errorCode, FILE_MODE } from "./disk.ts";

/** One line of a log: `t` says what happened, the rest is the kind's own. */
export interface LogRecord {
  readonly t: string;
  /** The line's checksum: no record has a member of that name. */
  readonly sum?: never;
}

/** More than any line of a shared log. */
const TAIL_BYTES = 65_536;
const CHECKSUM = /,"sum":"([0-9a-f]{8})"\}$/;
const hex = (value: number): string => (value >>> 0).toString(16).padStart(8, "0");

/** The CRC-32 of some bytes as eight hexadecimal digits. */
export const checksum = (data: Buffer | string): string => hex(crc32(data));

/** A record as one line of JSON that ends in a checksum over everything before it. */
export function encodeLine(record: LogRecord): string {
  const body = JSON.stringify(record).slice(0, -1);
  return `${body},"sum":"${checksum(body)}"}\n`;
}

/** @returns undefined where the line was changed or torn */
export function decodeLine(line: string): LogRecord | undefined {
  const match = CHECKSUM.exec(line);
  if (match === null) return undefined;
  if (checksum(line.slice(0, match.index)) !== match[1]) return undefined;
  try {
    const { sum: _sum, ...record } = JSON.parse(line) as LogRecord;
    return record;
  } catch {
    return undefined;
  }
}

export interface DecodedLog<Entry extends LogRecord> {
  readonly records: Entry[];
  /** Where the next line goes: a torn last line is not counted. */
  readonly validBytes: number;
}

/**
 * Reads a log. A last line that is torn (the writer died) is dropped; a bad line with good ones after it was damaged later,
 * and nothing is built on such a file.
 * @throws CliError `damaged_log` naming the file and the line
 */
export function decodeLog<Entry extends LogRecord>(bytes: Buffer, path: string): DecodedLog<Entry> {
  const records: Entry[] = [];
  let at = 0;
  for (let line = 1; at < bytes.length; line++) {
    const end = bytes.indexOf(10, at);
    const record = end < 0 ? undefined : decodeLine(bytes.toString("utf8", at, end));
    if (record === undefined) {
      const torn = end < 0 || (end === bytes.length - 1 && isTorn(bytes.subarray(at, end)));
      if (torn) return { records, validBytes: at };
      throw damaged(`${path} is damaged at line ${line}: its checksum does not match`);
    }
    records.push(record as Entry);
    at = end + 1;
  }
  return { records, validBytes: bytes.length };
}

/** A line that was not written to its end. One that has a checksum at its end was, and has changed since. */
const isTorn = (line: Buffer): boolean => !CHECKSUM.test(line.toString("latin1"));

const damaged = (message: string): CliError =>
  new CliError({
    code: "damaged_log",
    category: "filesystem",
    exitCode: EXIT.incomplete,
    message,
    hint: "nothing was bought or changed; restore the file from a backup, or look at the pages beside it",
  });

/** Reads a log without opening it for writing; a missing file is an empty log. */
export async function readLog<Entry extends LogRecord>(path: string): Promise<DecodedLog<Entry>> {
  try {
    return decodeLog<Entry>(await readFile(path), path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return { records: [], validBytes: 0 };
    throw error;
  }
}

interface Pending {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * An append-only log of one writer. `append` resolves once its lines are on the disk; what is appended while a sync is under
 * way goes out together with the next one.
 */
export class Log<Entry extends LogRecord> {
  readonly #disk: Disk;
  readonly #file: FileHandle;
  readonly #what: string;
  #size: number;
  #queue: Pending[] = [];
  #writing: Promise<void> | undefined;
  #torn = false;

  private constructor(disk: Disk, file: FileHandle, what: string, size: number) {
    this.#disk = disk;
    this.#file = file;
    this.#what = what;
    this.#size = size;
  }

  /** Opens or creates a log, drops a torn last line, and returns what is in it. */
  static async open<Entry extends LogRecord>(
    disk: Disk,
    path: string,
    what: string,
  ): Promise<{ readonly log: Log<Entry>; readonly records: Entry[] }> {
    const { records, validBytes } = await readLog<Entry>(path);
    const file = await open(path, "a", FILE_MODE);
    const { size } = await file.stat();
    if (size !== validBytes) {
      await file.truncate(validBytes);
      await file.sync();
    }
    return { log: new Log<Entry>(disk, file, what, validBytes), records };
  }

  /**
   * Opens a log to append only: reads no more than its last line, which is dropped where it is torn. For logs that many
   * processes share, under a lock.
   */
  static async openTail<Entry extends LogRecord>(disk: Disk, path: string, what: string): Promise<Log<Entry>> {
    const file = await open(path, "a+", FILE_MODE);
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const tail = Buffer.alloc(size - from);
    await file.read(tail, 0, tail.length, from);
    const end = tail.lastIndexOf(10);
    const start = end <= 0 ? 0 : tail.lastIndexOf(10, end - 1) + 1;
    const whole = end >= 0 && decodeLine(tail.toString("utf8", start, end)) !== undefined;
    if (end >= 0 && !whole && !isTorn(tail.subarray(start, end))) {
      await file.close();
      throw damaged(`${path} is damaged in its last line: its checksum does not match`);
    }
    const validBytes = end < 0 ? from : from + (whole ? end + 1 : start);
    if (validBytes !== size) await file.truncate(validBytes);
    return new Log<Entry>(disk, file, what, validBytes);
  }

  /** Resolves once the records are synced. Rejects where the disk is full; the log itself stays sound. */
  append(...records: readonly Entry[]): Promise<void> {
    const text = records.map(encodeLine).join("");
    return new Promise((resolve, reject) => {
      this.#queue.push({ text, resolve, reject });
      this.#writing ??= this.#drain();
    });
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  async #drain(): Promise<void> {
    // One turn later, so that what is appended in the same turn shares the sync.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#queue;
      this.#queue = [];
      const data = Buffer.from(batch.map(({ text }) => text).join(""), "utf8");
      try {
        // After a write that failed half way the next line must not be glued to its remains.
        if (this.#torn) await this.#file.truncate(this.#size);
        this.#torn = true;
        await this.#disk.append(this.#file, data, this.#what);
        this.#torn = false;
        this.#size += data.length;
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#writing = undefined;
  }
}
