import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import type { PlacedColumn } from "../columns.ts";
import { DatasetDamagedError } from "../layout.ts";
import { type Dictionary, numberDictionary, textDictionary } from "./dictionary.ts";
import type { Codes } from "./scan.ts";

/*
 * columns.bin, little-endian: arrays at multiples of 8, a header (JSON), its CRC-32 (u32), its length (u32), the magic.
 * A dictionary holds values in rising order; a missing value has the code after the last. There is a code for each
 * person, in public order, the least and the greatest of each block of people, and for each code how many people have
 * one before it. An order holds the people by a long text, as the row store's index of it has them.
 */

export const MAGIC = "hccolum1";
export const COLUMNS_TAIL = 16;
export const KINDS: Readonly<
  Record<1 | 2 | 4, (new (length: number) => Codes) & (new (memory: SharedArrayBuffer) => Codes)>
> = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

/** Bytes that are read, and whose checksum is computed, in one round of the event loop: well below a millisecond. */
const READ_AT_ONCE = 2 ** 20;

export interface ByteSpan {
  readonly at: number;
  readonly bytes: number;
  readonly crc: number;
}

export interface ColumnHeader {
  readonly size: number;
  readonly width: 1 | 2 | 4;
  readonly numbers?: ByteSpan;
  readonly starts?: ByteSpan;
  readonly texts?: ByteSpan;
  readonly before: ByteSpan;
  readonly codes: ByteSpan;
  readonly least: ByteSpan;
  readonly most: ByteSpan;
}

export interface ColumnFileHeader {
  readonly people: number;
  readonly columns: Readonly<Record<string, ColumnHeader>>;
  readonly orders: Readonly<Record<PlacedColumn, ByteSpan>>;
}

export interface StoredColumn {
  readonly dictionary: Dictionary;
  readonly before: Uint32Array;
  readonly codes: Codes;
  readonly least: Codes;
  readonly most: Codes;
}

export interface StoredColumns {
  readonly byName: ReadonlyMap<string, StoredColumn>;
  readonly orders: Readonly<Record<PlacedColumn, Uint32Array>>;
}

/** Reads it without holding the event loop, against its checksums. @throws DatasetDamagedError */
export async function readColumns(path: string, people: number): Promise<StoredColumns> {
  const file = await open(path);
  try {
    const header = await headerOf(file);
    if (header?.people !== people) throw damaged(path);
    const load = async (span: ByteSpan): Promise<SharedArrayBuffer> =>
      (await loaded(file, span)) ?? Promise.reject(damaged(path));
    const words = async (span: ByteSpan): Promise<Uint32Array> => new Uint32Array(await load(span));
    const byName = new Map<string, StoredColumn>();
    for (const [name, { before, codes, least, most, numbers, starts, texts, width }] of Object.entries(
      header.columns,
    )) {
      const dictionary = numbers
        ? numberDictionary(new Float64Array(await load(numbers)))
        : textDictionary(await words(starts ?? before), Buffer.from(await load(texts ?? before)));
      byName.set(name, {
        dictionary,
        before: await words(before),
        codes: new KINDS[width](await load(codes)),
        least: new KINDS[width](await load(least)),
        most: new KINDS[width](await load(most)),
      });
    }
    return { byName, orders: { name: await words(header.orders.name), headline: await words(header.orders.headline) } };
  } finally {
    await file.close();
  }
}

async function headerOf(file: FileHandle): Promise<ColumnFileHeader | undefined> {
  const { size } = await file.stat();
  const tail = Buffer.alloc(COLUMNS_TAIL);
  await file.read(tail, 0, COLUMNS_TAIL, Math.max(0, size - COLUMNS_TAIL));
  const bytes = Buffer.alloc(Math.min(tail.readUInt32LE(4), size));
  await file.read(bytes, 0, bytes.length, Math.max(0, size - COLUMNS_TAIL - bytes.length));
  const isWhole = tail.toString("latin1", 8) === MAGIC && crc32(bytes) === tail.readUInt32LE(0);
  return isWhole ? (JSON.parse(bytes.toString()) as ColumnFileHeader) : undefined;
}

async function loaded(file: FileHandle, { at, bytes, crc }: ByteSpan): Promise<SharedArrayBuffer | undefined> {
  const memory = new SharedArrayBuffer(bytes);
  const whole = new Uint8Array(memory);
  let sum = 0;
  for (let from = 0; from < bytes; from += READ_AT_ONCE) {
    const piece = whole.subarray(from, from + READ_AT_ONCE);
    const { bytesRead } = await file.read(piece, 0, piece.length, at + from);
    if (bytesRead !== piece.length) return undefined;
    sum = crc32(piece, sum);
  }
  return sum === crc ? memory : undefined;
}

const damaged = (path: string): DatasetDamagedError =>
  new DatasetDamagedError(`${path} is damaged; restore the dataset from a backup, or import or generate it again`);
