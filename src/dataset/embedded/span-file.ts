import { readSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { DatasetDamagedError } from "../damaged.ts";

/*
 * Files of arrays, little-endian: spans at multiples of 8, each of which the header or another
 * span has the CRC-32 of, a header (JSON), its CRC-32 (u32), its length (u32), the magic.
 * Opening reads the header alone: all else is read when it is first asked for.
 */

export const SPANS_TAIL = 16;

/**
 * Bytes that are read, and whose checksum is computed, in
 * one round of the event loop: well below a millisecond.
 */
const READ_AT_ONCE = 2 ** 20;

export interface ByteSpan {
  readonly at: number;
  readonly bytes: number;
  readonly crc: number;
}

const bytesOf = ({ buffer, byteLength, byteOffset }: NodeJS.TypedArray): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

export const crcOf = (array: NodeJS.TypedArray): number => crc32(bytesOf(array));

export class SpanWriter {
  readonly #file: FileHandle;
  readonly #magic: string;
  #at = 0;

  private constructor(file: FileHandle, magic: string) {
    this.#file = file;
    this.#magic = magic;
  }

  /** @param magic of 8 letters: what the file is */
  static async create(path: string, magic: string): Promise<SpanWriter> {
    return new SpanWriter(await open(path, "wx"), magic);
  }

  async put(array: NodeJS.TypedArray): Promise<ByteSpan> {
    const bytes = bytesOf(array);
    return { at: await this.append(bytes), bytes: bytes.length, crc: crc32(bytes) };
  }

  /** @returns where it lies */
  async append(array: NodeJS.TypedArray): Promise<number> {
    const bytes = bytesOf(array);
    const at = this.reserve(bytes.length);
    await this.write(bytes, at);
    return at;
  }

  /** Zeros between two of them: each begins at a multiple of 8. */
  reserve(bytes: number): number {
    const at = this.#at;
    this.#at += bytes + ((8 - (bytes % 8)) % 8);
    return at;
  }

  async write(bytes: Uint8Array, at: number): Promise<void> {
    for (let length = 0; length < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(
        bytes,
        length,
        bytes.length - length,
        at + length,
      );
      length += bytesWritten;
    }
  }

  /** On the disk when this resolves. */
  async finish(header: object): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(header));
    const tail = Buffer.alloc(SPANS_TAIL);
    tail.writeUInt32LE(crc32(bytes), 0);
    tail.writeUInt32LE(bytes.length, 4);
    tail.write(this.#magic, 8, "latin1");
    await this.write(Buffer.concat([bytes, tail]), this.#at);
    await this.#file.sync();
    await this.#file.close();
  }

  abandon(): Promise<void> {
    return this.#file.close();
  }
}

export class SpanFile<Header> {
  readonly header: Header;
  readonly #path: string;
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle, header: Header) {
    this.#path = path;
    this.#file = file;
    this.header = header;
  }

  /**
   * @param isOwn whether a header that is whole is of this dataset
   * @throws DatasetDamagedError
   */
  static async open<Header>(
    path: string,
    magic: string,
    isOwn: (header: Header) => boolean = () => true,
  ): Promise<SpanFile<Header>> {
    const file = await open(path);
    try {
      const header = (await headerOf(file, magic)) as Header | undefined;
      if (header === undefined || !isOwn(header)) throw damaged(path, "its header");
      return new SpanFile(path, file, header);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** @param what is told where it is damaged. @throws DatasetDamagedError */
  async load(what: string, span: ByteSpan): Promise<ArrayBuffer> {
    const memory = new ArrayBuffer(span.bytes);
    const sum = await this.#read(span, (from, length) => new Uint8Array(memory, from, length));
    if (sum !== span.crc) throw this.damaged(what);
    return memory;
  }

  /** Holds it against its sum, in little memory. @returns a sentence where it is not as written */
  async damageOf(what: string, span: ByteSpan): Promise<string | undefined> {
    const room = new Uint8Array(Math.min(READ_AT_ONCE, span.bytes));
    const read = this.#read(span, (_, length) => room.subarray(0, length));
    const isWhole = (await read.catch(() => undefined)) === span.crc;
    return isWhole ? undefined : this.damaged(what).message;
  }

  damaged(what: string): DatasetDamagedError {
    return damaged(this.#path, what);
  }

  /** @returns whether there were so many bytes */
  async fill(bytes: Uint8Array, at: number): Promise<boolean> {
    const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, at);
    return bytesRead === bytes.length;
  }

  /** The same while everything waits. */
  fillNow(bytes: Uint8Array, at: number): boolean {
    return readSync(this.#file.fd, bytes, 0, bytes.length, at) === bytes.length;
  }

  /**
   * Without holding the event loop: to wait for a few KB costs more than to read them.
   * @param room of a piece.
   * @returns the sum of what is there, undefined where it is cut short
   */
  async #read(
    { at, bytes }: ByteSpan,
    room: (from: number, length: number) => Uint8Array,
  ): Promise<number | undefined> {
    let sum = 0;
    for (let from = 0; from < bytes; from += READ_AT_ONCE) {
      const piece = room(from, Math.min(READ_AT_ONCE, bytes - from));
      const isSmall = piece.length < READ_AT_ONCE / 64;
      const isThere = isSmall ? this.fillNow(piece, at + from) : await this.fill(piece, at + from);
      if (!isThere) return undefined;
      sum = crc32(piece, sum);
    }
    return sum;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function headerOf(file: FileHandle, magic: string): Promise<unknown> {
  const { size } = await file.stat();
  const tail = Buffer.alloc(SPANS_TAIL);
  await file.read(tail, 0, SPANS_TAIL, Math.max(0, size - SPANS_TAIL));
  const bytes = Buffer.alloc(Math.min(tail.readUInt32LE(4), size));
  await file.read(bytes, 0, bytes.length, Math.max(0, size - SPANS_TAIL - bytes.length));
  const isWhole = tail.toString("latin1", 8) === magic && crc32(bytes) === tail.readUInt32LE(0);
  return isWhole ? (JSON.parse(bytes.toString()) as unknown) : undefined;
}

const damaged = (path: string, what: string): DatasetDamagedError =>
  new DatasetDamagedError(
    `${path} is damaged (${what}); restore the dataset from a backup, ` +
      "or import or generate it again",
  );

/** What is made once for all who ask; what failed is made again. */
export function once<Value>(
  made: Map<string, Promise<Value>>,
  name: string,
  make: () => Promise<Value>,
): Promise<Value> {
  const known = made.get(name);
  if (known) return known;
  const fresh = make();
  made.set(name, fresh);
  fresh.catch(() => made.delete(name));
  return fresh;
}
