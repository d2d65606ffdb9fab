import { readFileSync, renameSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import {
  BLOCK_NUMBERS,
  BLOCKS_MAGIC,
  type BlockFileHeader,
  type BlockTable,
} from "../../src/dataset/embedded/block-file.ts";
import { packing, unpackBlock } from "../../src/dataset/embedded/blocks.ts";
import { crcOf, SPANS_TAIL, SpanWriter } from "../../src/dataset/embedded/span-file.ts";

export interface OwnKey {
  readonly key: string;
  readonly rid: number;
}

export const byBytes = (a: string, b: string): number =>
  Buffer.compare(Buffer.from(a), Buffer.from(b));

/** As an import hands them over: sorted, and of equal ones by position. */
export const sortedKeys = (keys: readonly OwnKey[]): readonly OwnKey[] =>
  keys.toSorted((a, b) => byBytes(a.key, b.key) || a.rid - b.rid);

export const keyLines = (keys: readonly OwnKey[]): Buffer =>
  Buffer.from(keys.map(({ key, rid }) => `${rid} ${Buffer.byteLength(key)} ${key}\n`).join(""));

/** A file of arrays: its header, and the bytes before that. */
function partsOf(path: string): { readonly body: Buffer; readonly header: unknown } {
  const file = readFileSync(path);
  const end = file.length - SPANS_TAIL;
  const start = end - file.readUInt32LE(end + 4);
  return { body: file.subarray(0, start), header: JSON.parse(file.toString("utf8", start, end)) };
}

/** The header of a file of arrays, with what `describe` makes of the bytes of each in its place. */
export function arraysOf(
  path: string,
  describe: (name: string, bytes: Buffer) => unknown,
): unknown {
  const { body, header } = partsOf(path);
  return JSON.parse(JSON.stringify(header), (name, value) => {
    const span = value as { readonly at?: number; readonly bytes: number } | null;
    return span?.at === undefined
      ? (value as unknown)
      : describe(name, Buffer.from(body.subarray(span.at, span.at + span.bytes)));
  });
}

/** Where a block of records or keys lies in their file. */
export function placeOfBlock(
  path: string,
  table: BlockTable,
  number: number,
): { readonly at: number; readonly bytes: number } {
  const { body, header } = partsOf(path);
  const { blocks } = (header as BlockFileHeader)[table];
  const place = (index: number): number =>
    body.readUInt32LE(blocks.at + 4 * (number * BLOCK_NUMBERS + index));
  return { at: place(0) + place(1) * 2 ** 32, bytes: place(2) };
}

/** Changes one block, as a build that is wrong would: its sum is right. */
export async function changeBlock(
  path: string,
  table: BlockTable,
  number: number,
  change: (bytes: Buffer) => Buffer,
): Promise<void> {
  const { body, header } = partsOf(path);
  const own = header as BlockFileHeader;
  const { blocks, dictionary } = own[table];
  const { at, bytes } = placeOfBlock(path, table, number);
  const packed = dictionary && body.subarray(dictionary.at, dictionary.at + dictionary.bytes);
  const before = body.subarray(at, at + bytes);
  const changed = change(packed ? unpackBlock(before, packed) : before);
  const whole = packed ? deflateRawSync(changed, packing(packed)) : changed;

  const writer = await SpanWriter.create(`${path}.changed`, BLOCKS_MAGIC);
  await writer.append(body);
  const numbers = new Uint32Array(
    body.buffer.slice(body.byteOffset + blocks.at, body.byteOffset + blocks.at + blocks.bytes),
  );
  numbers.set([await writer.append(whole), 0, whole.length, crcOf(whole)], number * BLOCK_NUMBERS);
  await writer.finish({ ...own, [table]: { ...own[table], blocks: await writer.put(numbers) } });
  renameSync(`${path}.changed`, path);
}
