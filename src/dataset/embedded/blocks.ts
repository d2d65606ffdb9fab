import { inflateRawSync, type ZlibOptions } from "node:zlib";

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
