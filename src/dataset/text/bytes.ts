import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { InputError, type InputFile } from "./input-file.ts";

const CHUNK = 1 << 20;

export interface ReadingOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** A file unpacked, however many members or frames it has. @throws InputError where it is cut off or damaged */
export async function* bytesOf(file: InputFile, options: ReadingOptions = {}): AsyncGenerator<Buffer> {
  const { signal, onBytes } = options;
  const source = createReadStream(file.path, { highWaterMark: CHUNK, ...(signal && { signal }) });
  let bytes = 0;
  source.on("data", (chunk) => {
    bytes += chunk.length;
    onBytes?.(bytes);
  });
  source.pause();
  try {
    if (/\.gz$/i.test(file.name)) {
      const gunzip = createGunzip({ chunkSize: CHUNK });
      // What goes wrong reaches whoever reads.
      pipeline(source, gunzip, () => undefined);
      yield* gunzip;
    } else if (/\.zst$/i.test(file.name)) yield* unpackedZstd(file, source);
    else yield* source;
  } catch (error) {
    if (!isDamage(error)) throw error;
    throw new InputError(`${file.name} is cut off or damaged`, "fetch or pack it again; the dataset is unchanged");
  } finally {
    source.destroy();
  }
}

class DamagedArchive extends Error {}

const isDamage = (error: unknown): boolean =>
  error instanceof DamagedArchive || (error instanceof Error && "code" in error && /^Z_/.test(String(error.code)));

/** Node has zstd from 22.15 only. fzstd takes a file that was cut off for a shorter one: frames are walked first. */
async function* unpackedZstd(file: InputFile, source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  if (!(await isWholeZstd(file.path))) throw new DamagedArchive();
  const { Decompress } = await import("fzstd");
  const parts: Buffer[] = [];
  const unpacker = new Decompress((part) => parts.push(Buffer.from(part)));
  for await (const chunk of source) {
    try {
      unpacker.push(chunk);
    } catch {
      throw new DamagedArchive();
    }
    yield* parts.splice(0);
  }
}

/** UTF-8 without a byte-order mark. @param encoding a label of the WHATWG Encoding Standard */
export async function* utf8Of(file: InputFile, encoding: string, options: ReadingOptions = {}): AsyncGenerator<Buffer> {
  if (encoding !== "utf-8") {
    const decoder = new TextDecoder(encoding);
    for await (const chunk of bytesOf(file, options)) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    yield Buffer.from(decoder.decode());
    return;
  }
  let first = true;
  for await (const chunk of bytesOf(file, options)) {
    yield first ? withoutByteOrderMark(chunk) : chunk;
    first = false;
  }
}

export const withoutByteOrderMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

const FRAME = 0xfd2fb528;
const SKIPPABLE = 0x184d2a50;

/** Walks the frames and blocks of a zstd file (RFC 8878, 3.1): they have to end where the file ends. */
async function isWholeZstd(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const header = Buffer.alloc(18);
    const read = async (at: number, length: number): Promise<boolean> =>
      (await file.read(header, 0, length, at)).bytesRead === length;
    let at = 0;
    while (at < size) {
      if (!(await read(at, 5))) return false;
      const magic = header.readUInt32LE(0);
      if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE) {
        if (!(await read(at + 4, 4))) return false;
        at += 8 + header.readUInt32LE(0);
        continue;
      }
      if (magic !== FRAME) return false;
      const descriptor = header[4] ?? 0;
      const single = (descriptor & 0x20) !== 0;
      const sizeBytes = [single ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
      const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
      at += 5 + (single ? 0 : 1) + dictionaryBytes + sizeBytes;
      for (let last = false; !last; ) {
        if (!(await read(at, 3))) return false;
        const block = header.readUIntLE(0, 3);
        const type = (block >> 1) & 3;
        if (type === 3) return false;
        last = (block & 1) === 1;
        // A block of one repeated byte stores that byte alone.
        at += 3 + (type === 1 ? 1 : block >> 3);
      }
      if ((descriptor & 4) !== 0) at += 4;
    }
    return at === size;
  } finally {
    await file.close();
  }
}
