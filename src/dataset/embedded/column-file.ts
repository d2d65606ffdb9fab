import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import type { PlacedColumn } from "../columns.ts";
import { DatasetDamagedError } from "../layout.ts";
import { type Dictionary, numberDictionary, textDictionary } from "./dictionary.ts";
import { CodedColumn, type Codes } from "./scan.ts";

/*
 * columns.bin, little-endian: arrays at multiples of 8, a header (JSON), its CRC-32 (u32), its
 * length (u32), the magic. A dictionary holds values in rising order; a missing value has the code
 * after the last. There is a code for each person, in public order, the least and the greatest of
 * each chunk of people, and for each code how many people have one before it. The code of a long
 * text is the place of the person's entry in the row store's index of it.
 */

export const MAGIC = "hccolum2";
export const COLUMNS_TAIL = 16;
export const KINDS: Readonly<
  Record<1 | 2 | 4, (new (length: number) => Codes) & (new (memory: ArrayBuffer) => Codes)>
> = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

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

export interface CodesHeader {
  readonly size: number;
  readonly width: 1 | 2 | 4;
  readonly codes: ByteSpan;
  readonly least: ByteSpan;
  readonly most: ByteSpan;
}

export interface ColumnHeader extends CodesHeader {
  readonly numbers?: ByteSpan;
  readonly starts?: ByteSpan;
  readonly texts?: ByteSpan;
  readonly before: ByteSpan;
}

export interface ColumnFileHeader {
  readonly people: number;
  readonly columns: Readonly<Record<string, ColumnHeader>>;
  readonly placed: Readonly<Record<PlacedColumn, CodesHeader>>;
}

export interface StoredColumn {
  readonly dictionary: Dictionary;
  readonly before: Uint32Array;
  readonly coded: CodedColumn;
}

export interface StoredColumns {
  readonly byName: ReadonlyMap<string, StoredColumn>;
  readonly placed: Readonly<Record<PlacedColumn, CodedColumn>>;
}

/** Reads it without holding the event loop, against its checksums. @throws DatasetDamagedError */
export async function readColumns(path: string, people: number): Promise<StoredColumns> {
  const file = await open(path);
  try {
    const header = await headerOf(file);
    if (header?.people !== people) throw damaged(path);

    const load = async (span: ByteSpan): Promise<ArrayBuffer> =>
      (await loaded(file, span)) ?? Promise.reject(damaged(path));
    const words = async (span: ByteSpan): Promise<Uint32Array> => new Uint32Array(await load(span));

    const coded = async ({
      codes,
      least,
      most,
      size,
      width,
    }: CodesHeader): Promise<CodedColumn> => {
      const all = { codes: await load(codes), least: await load(least), most: await load(most) };
      const Kind = KINDS[width];
      return new CodedColumn({
        size,
        codes: new Kind(all.codes),
        least: new Kind(all.least),
        most: new Kind(all.most),
      });
    };

    const byName = new Map<string, StoredColumn>();
    for (const [name, column] of Object.entries(header.columns)) {
      const { before, numbers, starts, texts } = column;
      const dictionary = numbers
        ? numberDictionary(new Float64Array(await load(numbers)))
        : textDictionary(await words(starts ?? before), Buffer.from(await load(texts ?? before)));
      byName.set(name, { dictionary, before: await words(before), coded: await coded(column) });
    }

    const { headline, name } = header.placed;
    return { byName, placed: { name: await coded(name), headline: await coded(headline) } };
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

async function loaded(
  file: FileHandle,
  { at, bytes, crc }: ByteSpan,
): Promise<ArrayBuffer | undefined> {
  const memory = new ArrayBuffer(bytes);
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
  new DatasetDamagedError(
    `${path} is damaged; restore the dataset from a backup, or import or generate it again`,
  );
