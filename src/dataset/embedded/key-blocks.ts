/*
 * Sorted keys, each with the position of a person or a company, in blocks. A block: how many entries (1 byte), their positions (4 bytes
 * each, little-endian), then each key as three LEB128 numbers (bytes shared with the key before at its beginning, at its end, and bytes
 * between) and the bytes between. Addresses share both their beginning and their end.
 */

/** Look-ups read one block, so few entries are quick; the key that leads a block is stored once more, so many are small. */
export const KEYS_A_BLOCK = 64;

/** Long texts are packed on top (14 bytes each in place of 55): the others are looked up by the thousand, in microseconds. */
export const isPacked = (index: string): index is "headline" => index === "headline";

export class KeyBlock {
  readonly #parts: number[] = [];
  readonly #rids: number[] = [];
  #last: Buffer = Buffer.alloc(0);

  /** The first key. */
  first = "";

  get size(): number {
    return this.#rids.length;
  }

  add(key: string, rid: number): void {
    if (this.size === 0) this.first = key;
    const bytes = Buffer.from(key);
    const before = this.#last;
    const most = Math.min(bytes.length, before.length);
    let start = 0;
    while (start < most && bytes[start] === before[start]) start++;
    let end = 0;
    while (end < most - start && bytes[bytes.length - 1 - end] === before[before.length - 1 - end]) end++;
    this.#number(start);
    this.#number(end);
    this.#number(bytes.length - start - end);
    for (let at = start; at < bytes.length - end; at++) this.#parts.push(bytes[at] ?? 0);
    this.#rids.push(rid);
    this.#last = bytes;
  }

  bytes(): Buffer {
    const head = Buffer.alloc(1 + 4 * this.size);
    head[0] = this.size;
    for (const [index, rid] of this.#rids.entries()) head.writeUInt32LE(rid, 1 + 4 * index);
    return Buffer.concat([head, Buffer.from(this.#parts)]);
  }

  #number(value: number): void {
    let rest = value;
    for (; rest > 127; rest >>>= 7) this.#parts.push((rest & 127) | 128);
    this.#parts.push(rest);
  }
}

/** The positions of a block, from one entry to before another. */
export function ridsOf(block: Buffer, from = 0, before = block[0] ?? 0): number[] {
  const rids: number[] = [];
  for (let index = from; index < before; index++) rids.push(block.readUInt32LE(1 + 4 * index));
  return rids;
}

export interface Span {
  /** Entries below the key. */
  readonly below: number;
  /** Those and the ones that are the key. */
  readonly upTo: number;
  readonly size: number;
}

let scratch = Buffer.alloc(1_024);

/** Where a key stands among those of a block, by the bytes of UTF-8. */
export function spanIn(block: Buffer, key: Buffer): Span {
  const size = block[0] ?? 0;
  let at = 1 + 4 * size;
  const number = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = block[at++] ?? 0;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  let length = 0;
  // How far the last key is the beginning of ours, and whether it is below it. What comes after it shares `start` bytes with it.
  let matched = 0;
  let below = 0;
  for (let index = 0; index < size; index++) {
    const start = number();
    const end = number();
    const between = number();
    const whole = start + between + end;
    if (whole > scratch.length) scratch = Buffer.concat([scratch.subarray(0, length), Buffer.alloc(2 * whole)]);
    if (end > 0) scratch.copyWithin(start + between, length - end, length);
    for (let place = 0; place < between; place++) scratch[start + place] = block[at + place] ?? 0;
    at += between;
    length = whole;
    if (start > matched) {
      below = index + 1;
      continue;
    }
    if (start < matched) return { below, upTo: index, size };
    while (matched < length && matched < key.length && scratch[matched] === key[matched]) matched++;
    if (matched === key.length && length > matched) return { below, upTo: index, size };
    if (matched < length && (scratch[matched] ?? 0) > (key[matched] ?? 0)) return { below, upTo: index, size };
    if (matched < key.length) below = index + 1;
  }
  return { below, upTo: size, size };
}
