import { isPlaced } from "../columns.ts";

/*
 * Sorted keys of people or companies in blocks: whose they are (positions, 4 bytes each,
 * little-endian; not of long texts, of which the columns have it), then each key: how many bytes
 * it shares with the one before, how many more it has, and these. Of an address that is its slug
 * and a slash; what comes behind is its tail: 0 where that of the entry before is the same, else
 * its length and one, and its bytes. A number is a byte, or from 255 on that and 4 bytes.
 */

/** Look-ups read one block, so few entries are quick; memory has 16 bytes and a mark of each. */
export const KEYS_A_BLOCK = 64;

/**
 * Records are packed, and so are long texts (14 bytes each in
 * place of 55): other keys are looked up by the thousand.
 */
export const isPacked = (table: string): boolean =>
  table === "people" || table === "companies" || table === "headline";

/** A line for {@link keyBlocks}, in SQL: the position, how many bytes the key has, and the key. */
export const keyLineSql = (key: string, rid: string): string =>
  `concat(${rid}, ' ', strlen(${key}), ' ', ${key})`;

/** A byte that says that a number is behind it. */
const WIDE = 255;
const SLASH = 47;
const SPACE = 32;
const ZERO = 48;
const NO_KEY: Buffer = Buffer.alloc(0);

/** How long the part of a key is that is stored as what it does not share: up to its slash. */
function headOf(index: string, key: Buffer): number {
  if (isPlaced(index)) return key.length;
  let length = 0;
  while (length < key.length && key[length++] !== SLASH);
  return length;
}

function sharedBytes(a: Buffer, b: Buffer, most = a.length): number {
  let length = 0;
  while (length < most && a[length] === b[length]) length++;
  return length;
}

/** Lines that are whole, at most as many as a block has. */
function linesFrom(lines: Buffer, start: number) {
  const rids: number[] = [];
  const keys: Buffer[] = [];
  let at = start;
  let end = start;
  const number = (): number => {
    let value = 0;
    for (let byte = lines[at++] ?? SPACE; byte !== SPACE; byte = lines[at++] ?? SPACE)
      value = value * 10 + byte - ZERO;
    return value;
  };

  while (at < lines.length && keys.length < KEYS_A_BLOCK) {
    const rid = number();
    const length = number();
    if (at + length >= lines.length) break;
    rids.push(rid);
    keys.push(lines.subarray(at, at + length));
    at += length + 1;
    end = at;
  }

  return { rids, keys, end };
}

/** @returns where they end */
function writeKeys(bytes: Buffer, start: number, index: string, keys: readonly Buffer[]): number {
  let at = start;
  const number = (value: number): void => {
    bytes[at++] = Math.min(value, WIDE);
    if (value >= WIDE) at = bytes.writeUInt32LE(value, at);
  };

  // Parts of keys are told by numbers: making an object of each would be half of the work.
  let before = NO_KEY;
  let headBefore = 0;
  for (const key of keys) {
    const head = headOf(index, key);
    const same = sharedBytes(before, key, Math.min(headBefore, head));
    number(same);
    number(head - same);
    for (let place = same; place < head; place++) bytes[at++] = key[place] ?? 0;

    if (!isPlaced(index)) {
      const isSame = before !== NO_KEY && before.compare(key, head, key.length, headBefore) === 0;
      number(isSame ? 0 : key.length - head + 1);
      if (!isSame) at += key.copy(bytes, at, head);
    }
    before = key;
    headBefore = head;
  }

  return at;
}

export type KeyBlocks = ReturnType<typeof keyBlocks>;

/**
 * Lines as {@link keyLineSql} makes them, sorted by key.
 * @param isLast else what fills no block is left
 * @param before the key before the first
 */
export function keyBlocks(
  index: string,
  lines: Buffer,
  isLast: boolean,
  before: Buffer<ArrayBuffer>,
) {
  /** Of each block what tells its first key from the one before it. */
  const marks: Buffer[] = [];
  const rids: number[] = [];
  const ends: number[] = [];
  // An entry has no more beside its key than its line and the key once more.
  const bytes = Buffer.allocUnsafeSlow(2 * lines.length);
  let last: Buffer = before;
  let length = 0;
  let size = 0;

  while (size < lines.length) {
    const own = linesFrom(lines, size);
    const [first = NO_KEY] = own.keys;
    const isWhole = own.keys.length === KEYS_A_BLOCK || (isLast && own.end === lines.length);
    if (!isWhole) break;

    marks.push(Buffer.from(first.subarray(0, sharedBytes(last, first) + 1)));
    for (const rid of own.rids) {
      rids.push(rid);
      if (!isPlaced(index)) length = bytes.writeUInt32LE(rid, length);
    }
    length = writeKeys(bytes, length, index, own.keys);
    ends.push(length);

    last = own.keys.at(-1) ?? last;
    size = own.end;
  }

  return { bytes, ends, marks, rids, size, last: Buffer.from(last) };
}

/** Of the entries from one to before another. */
export function ridsOf(block: Buffer, from: number, before: number): number[] {
  const rids: number[] = [];
  for (let index = from; index < before; index++) rids.push(block.readUInt32LE(4 * index));
  return rids;
}

/** A key that is looked for. */
export type SoughtKey = ReturnType<typeof soughtKey>;

export function soughtKey(index: string, key: string) {
  const bytes = Buffer.from(key);
  return { bytes, head: headOf(index, bytes) };
}

function numberAt(block: Buffer, at: number): number {
  const byte = block[at] ?? 0;
  return byte < WIDE ? byte : block.readUInt32LE(at + 1);
}

const widthOf = (value: number): number => (value < WIDE ? 1 : 5);

/** Less than 0 where a tail comes before that of a key, more where behind it. */
function orderOfTail(block: Buffer, at: number, key: Buffer, head: number): number {
  const length = numberAt(block, at) - 1;
  const own = at + widthOf(length + 1);
  for (let place = 0; place < length && head + place < key.length; place++) {
    const order = (block[own + place] ?? 0) - (key[head + place] ?? 0);
    if (order !== 0) return order;
  }
  return length - (key.length - head);
}

/** @param size how many entries it has @returns how many are below a key, and how many up to it */
export function spanIn(
  index: string,
  block: Buffer,
  size: number,
  { bytes: key, head }: SoughtKey,
): { below: number; upTo: number } {
  const isListed = !isPlaced(index);
  let at = isListed ? 4 * size : 0;
  // How far the entry before is the beginning of the key.
  let matched = 0;
  let below = 0;
  let tail = 0;
  for (let entry = 0; entry < size; entry++) {
    const shared = numberAt(block, at);
    at += widthOf(shared);
    const more = numberAt(block, at);
    const own = at + widthOf(more);
    at = own + more;

    if (isListed) {
      const length = numberAt(block, at);
      if (length > 0) tail = at;
      at += widthOf(length) + Math.max(0, length - 1);
    }

    if (shared > matched) {
      below = entry + 1;
      continue;
    }
    if (shared < matched) return { below, upTo: entry };

    let place = 0;
    while (place < more && matched < head && block[own + place] === key[matched]) {
      place++;
      matched++;
    }

    let order = -1;
    if (place < more) order = matched < head ? (block[own + place] ?? 0) - (key[matched] ?? 0) : 1;
    else if (matched === head) order = isListed ? orderOfTail(block, tail, key, head) : 0;

    if (order > 0) return { below, upTo: entry };
    if (order < 0) below = entry + 1;
  }

  return { below, upTo: size };
}
