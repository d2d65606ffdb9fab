import { closeSync, fstatSync, openSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { type Disk, errorCode, FILE_MODE, syncFolder } from "./disk.ts";
import {
  type DecodedLog,
  decodeLine,
  encodeLine,
  type LogRecord,
  type LogSource,
  logSourceOf,
  scanLog,
  undamaged,
} from "./log-lines.ts";

const LAST_LINE = 8_192;

function reading<Result>(path: string, work: (read: LogSource, size: number) => Result): Result | undefined {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
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

  static async open<Kind extends LogRecord>(
    disk: Disk,
    path: string,
    what: string,
  ): Promise<{ readonly log: Log<Kind>; readonly decoded: DecodedLog<Kind> }> {
    const file = await open(path, "a+", FILE_MODE);
    try {
      const { size } = await file.stat();
      if (size === 0) await syncFolder(dirname(path));
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

  async #drain(): Promise<void> {
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

function encodeGroup(
  batch: readonly Waiting<LogRecord>[],
  from: number,
): { readonly parts: Buffer[]; readonly payloads: number[]; readonly length: number } {
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
