import { isPlaced, type KeyIndex } from "../columns.ts";

/*
 * Sorted keys of people or companies in blocks: how many entries (1 byte), whose they are
 * (positions, 4 bytes each, little-endian; not of long texts, of which the columns have it), then
 * each key as three LEB128 numbers (bytes shared with the key before at its beginning, at its end,
 * and bytes between), then those. Addresses share both ends.
 */

/**
 * Look-ups read one block, so few entries are quick;
 * the key that leads a block is stored once more.
 */
export const KEYS_A_BLOCK = 64;

/**
 * Long texts are packed on top (14 bytes each in place
 * of 55): the others are looked up by the thousand.
 */
export const isPacked = (index: KeyIndex): index is "headline" => index === "headline";

/** A line for {@link keyBlocks}, in SQL: the position, how many bytes the key has, and the key. */
export const keyLineSql = (key: string, rid: string): string =>
  `concat(${rid}, ' ', strlen(${key}), ' ', ${key})`;

export type KeyBlocks = ReturnType<typeof keyBlocks>;

const ridBytes = (index: KeyIndex): number => (isPlaced(index) ? 0 : 4);

/**
 * Lines as {@link keyLineSql} makes them, sorted by key.
 * @param isLast else what fills no block is left
 */
export function keyBlocks(index: KeyIndex, lines: Buffer, isLast: boolean) {
  const firsts: string[] = [];
  const rids: number[] = [];
  const ends: number[] = [];
  const writer = new ByteWriter(lines.length);
  let at = 0;
  let size = 0;

  const number = (): number => {
    let value = 0;
    for (let byte = lines[at++] ?? SPACE; byte !== SPACE; byte = lines[at++] ?? SPACE)
      value = value * 10 + byte - ZERO;
    return value;
  };

  while (at < lines.length) {
    const head = writer.length;
    writer.reserve(1 + ridBytes(index) * KEYS_A_BLOCK);

    const own: number[] = [];
    let first = "";
    let before = 0;
    let beforeLength = 0;
    while (at < lines.length && own.length < KEYS_A_BLOCK) {
      const rid = number();
      const length = number();
      if (at + length >= lines.length) break;

      own.push(rid);
      if (own.length === 1) first = lines.toString("utf8", at, at + length);

      const most = Math.min(length, beforeLength);
      let start = 0;
      while (start < most && lines[at + start] === lines[before + start]) start++;

      let end = 0;
      while (
        end < most - start &&
        lines[at + length - 1 - end] === lines[before + beforeLength - 1 - end]
      )
        end++;

      writer.number(start);
      writer.number(end);
      writer.number(length - start - end);
      writer.copy(lines, at + start, at + length - end);
      before = at;
      beforeLength = length;
      at += length + 1;
    }

    if (own.length < KEYS_A_BLOCK && !(isLast && at === lines.length)) {
      writer.length = head;
      break;
    }

    writer.head(head, own, ridBytes(index));
    firsts.push(first);
    for (const rid of own) rids.push(rid);
    ends.push(writer.length);
    size = at;
  }

  return { bytes: writer.bytes.subarray(0, writer.length), ends, firsts, rids, size };
}

const SPACE = 32;
const ZERO = 48;

class ByteWriter {
  bytes: Buffer<ArrayBuffer>;
  length = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size);
  }

  reserve(bytes: number): void {
    const end = this.length + bytes;
    if (end > this.bytes.length) {
      const before = this.bytes;
      this.bytes = Buffer.allocUnsafeSlow(2 * end);
      before.copy(this.bytes, 0, 0, this.length);
    }
    this.length = end;
  }

  number(value: number): void {
    let rest = value;
    for (; rest > 127; rest >>>= 7) this.#byte((rest & 127) | 128);
    this.#byte(rest);
  }

  copy(from: Buffer, start: number, end: number): void {
    const at = this.length;
    this.reserve(end - start);
    from.copy(this.bytes, at, start, end);
  }

  head(at: number, rids: readonly number[], bytes: number): void {
    this.bytes[at] = rids.length;
    if (bytes === 0) return;
    for (const [index, rid] of rids.entries())
      this.bytes.writeUInt32LE(rid, at + 1 + bytes * index);
    if (rids.length === KEYS_A_BLOCK) return;
    const keys = at + 1 + bytes * KEYS_A_BLOCK;
    this.bytes.copy(this.bytes, at + 1 + bytes * rids.length, keys, this.length);
    this.length -= bytes * (KEYS_A_BLOCK - rids.length);
  }

  #byte(value: number): void {
    const at = this.length;
    this.reserve(1);
    this.bytes[at] = value;
  }
}

export function ridsOf(block: Buffer, from = 0, before = block[0] ?? 0): number[] {
  const rids: number[] = [];
  for (let index = from; index < before; index++) rids.push(block.readUInt32LE(1 + 4 * index));
  return rids;
}

let scratch = Buffer.alloc(1_024);

/** How many entries of a block are below a key, how many up to it, and how many there are. */
export function spanIn(index: KeyIndex, block: Buffer, key: Buffer) {
  const size = block[0] ?? 0;
  let at = 1 + ridBytes(index) * size;
  const number = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = block[at++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };

  let length = 0;
  // How far the last key is the beginning of ours, and whether it is below it.
  let matched = 0;
  let below = 0;
  for (let entry = 0; entry < size; entry++) {
    const start = number();
    const end = number();
    const between = number();
    const whole = start + between + end;
    if (whole > scratch.length)
      scratch = Buffer.concat([scratch.subarray(0, length), Buffer.alloc(2 * whole)]);

    if (end > 0) scratch.copyWithin(start + between, length - end, length);
    for (let place = 0; place < between; place++) scratch[start + place] = block[at + place] ?? 0;
    at += between;
    length = whole;

    if (start > matched) {
      below = entry + 1;
      continue;
    }
    if (start < matched) return { below, upTo: entry, size };

    while (matched < length && matched < key.length && scratch[matched] === key[matched]) matched++;
    if (matched === key.length && length > matched) return { below, upTo: entry, size };
    if (matched < length && (scratch[matched] ?? 0) > (key[matched] ?? 0))
      return { below, upTo: entry, size };

    if (matched < key.length) below = entry + 1;
  }

  return { below, upTo: size, size };
}
