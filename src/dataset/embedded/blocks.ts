import { crc32, inflateRawSync, type ZlibOptions } from "node:zlib";
import { DatasetDamagedError } from "../layout.ts";

/**
 * Records of a block: 16 are quicker to unpack and
 * larger, 64 slower and smaller (docs/explanation/performance.md).
 */
export const RECORDS_A_BLOCK = 32;
/**
 * Deflate takes each block's dictionary in anew: twice
 * as much would save 2 bytes a record for 0.8 us of CPU.
 */
const DICTIONARY_BYTES = 16_384;
const CHECKSUM_BYTES = 4;

export interface Pieces {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly ends: readonly number[];
}

export function dictionaryOf(samples: readonly string[]): Buffer {
  const bytes = Buffer.from(samples.join(""));
  return bytes.subarray(Math.max(0, bytes.length - DICTIONARY_BYTES));
}

/**
 * How blocks are packed. Level 3 packs a record into
 * 3 to 5 bytes less, for a quarter of this CPU more.
 */
export const packing = (dictionary: Buffer): ZlibOptions => ({
  level: 2,
  memLevel: 9,
  ...(dictionary.length > 0 && { dictionary }),
});

export const unpackBlock = (bytes: Uint8Array, dictionary: Buffer): Buffer =>
  inflateRawSync(bytes, dictionary.length > 0 ? { dictionary } : {});

/**
 * A block behind its checksum, in which its number
 * is: a block in the place of another is noticed too.
 */
export function sealed(bytes: Uint8Array, block: number): Buffer {
  const whole = Buffer.allocUnsafe(CHECKSUM_BYTES + bytes.length);
  whole.writeUInt32LE(crc32(bytes, block), 0);
  whole.set(bytes, CHECKSUM_BYTES);
  return whole;
}

export function opened(data: unknown, block: number, place: string): Buffer {
  if (data instanceof Uint8Array && data.length >= CHECKSUM_BYTES) {
    const whole = Buffer.from(data.buffer, data.byteOffset, data.length);
    const bytes = whole.subarray(CHECKSUM_BYTES);
    if (crc32(bytes, block) === whole.readUInt32LE(0)) return bytes;
  }
  throw new DatasetDamagedError(
    `${place}: block ${block} is damaged; restore the dataset from a backup or import it again`,
  );
}
