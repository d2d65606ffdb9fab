// AssemblyScript: where the values of a page's rows stand, and CSV of them. `npm run wasm` keeps
// its code in machine.ts, which lays the memory out. Marks count from the page's first byte, which
// stands at ORIGIN; behind the page are 32 zeros, which are no JSON: a look at 16 bytes ends there.

const ORIGIN = 64;
const ESCAPED = 1;
const HAS_COMMA = 2;
/** Deeper values are for the host, whose `JSON.parse` has a stack of its own. */
const MOST_DEPTH = 32;
const LONG_DIGITS = 16;

/**
 * Found: 1: white space between tokens, 2: a number of sixteen digits or more, 4: a nested record,
 * or a row of another kind.
 */
let findings = 0;
/** Where what was asked for ended. */
let at = 0;

export function found(): i32 {
  return findings;
}
export function ended(): i32 {
  return at;
}

// @ts-ignore: decorator
@inline
function byte(p: i32): i32 {
  return load<u8>(p);
}

// @ts-ignore: decorator
@inline
function isSpace(b: i32): bool {
  return b == 0x20 || b == 0x0a || b == 0x0d || b == 0x09;
}

// @ts-ignore: decorator
@inline
function isDigit(b: i32): bool {
  return ((b - 0x30) as u32) <= 9;
}

// @ts-ignore: decorator
@inline
function pastSpace(from: i32): i32 {
  return byte(from) > 0x20 ? from : skipSpace(from);
}

function skipSpace(from: i32): i32 {
  findings |= 1;
  let p = from;
  while (isSpace(byte(p))) p++;
  return p;
}

function isHex(b: i32): bool {
  return isDigit(b) || (((b | 0x20) - 0x61) as u32) < 6;
}

/** Behind what a backslash escapes; -1: nothing of JSON. */
function escapeEnd(p: i32): i32 {
  const b = byte(p + 1);
  if (b == 0x75) {
    for (let digit = p + 2; digit < p + 6; digit++) if (!isHex(byte(digit))) return -1;
    return p + 6;
  }
  const isOne =
    b == 0x22 || b == 0x5c || b == 0x2f || b == 0x62 ||
    b == 0x66 || b == 0x6e || b == 0x72 || b == 0x74;
  return isOne ? p + 2 : -1;
}

/** Where a text ends, times four, plus what is in it; -1: it is no text of JSON. */
function textEnd(from: i32): i32 {
  let bits = 0;
  let p = from + 1;
  while (true) {
    const word = v128.load(p);
    const quotes = i8x16.eq(word, i8x16.splat(0x22));
    const slashes = i8x16.eq(word, i8x16.splat(0x5c));
    const controls = i8x16.lt_u(word, i8x16.splat(0x20));
    const stops = i8x16.bitmask(v128.or(v128.or(quotes, slashes), controls));
    const commas = i8x16.bitmask(i8x16.eq(word, i8x16.splat(0x2c)));

    if (stops == 0) {
      if (commas != 0) bits |= HAS_COMMA;
      p += 16;
      continue;
    }

    const stop = ctz(stops);
    if ((commas & ((1 << stop) - 1)) != 0) bits |= HAS_COMMA;
    p += stop;
    if (byte(p) == 0x22) return ((p + 1) << 2) | bits;
    if (byte(p) != 0x5c) return -1;

    p = escapeEnd(p);
    if (p < 0) return -1;
    bits |= ESCAPED;
  }
}

function digitsEnd(from: i32): i32 {
  let p = from;
  while (isDigit(byte(p))) p++;
  return p;
}

/** Where a number or a word ends; -1: it is none of JSON. */
function bareEnd(from: i32): i32 {
  if (byte(from) > 0x39) {
    const word = load<u32>(from);
    if (word == 0x6c6c756e || word == 0x65757274) return from + 4;
    return word == 0x736c6166 && byte(from + 4) == 0x65 ? from + 5 : -1;
  }

  const digits = byte(from) == 0x2d ? from + 1 : from;
  let p = byte(digits) == 0x30 ? digits + 1 : digitsEnd(digits);
  if (p == digits) return -1;

  if (byte(p) == 0x2e) {
    const after = digitsEnd(p + 1);
    if (after == p + 1) return -1;
    p = after;
  }

  if ((byte(p) | 0x20) == 0x65) {
    const sign = byte(p + 1);
    const power = sign == 0x2b || sign == 0x2d ? p + 2 : p + 1;
    p = digitsEnd(power);
    if (p == power) return -1;
  }

  if (p - from >= LONG_DIGITS) findings |= 2;
  return p;
}

/** Where any value ends; -1: it is none of JSON, or too deep. */
function valueEnd(from: i32, depth: i32): i32 {
  const first = byte(from);
  if (first == 0x22) return textEnd(from) >> 2;
  if (first != 0x7b && first != 0x5b) return bareEnd(from);
  if (depth == MOST_DEPTH) return -1;

  const close = first + 2;
  let p = pastSpace(from + 1);
  if (byte(p) == close) return p + 1;

  while (true) {
    if (first == 0x7b) {
      if (byte(p) != 0x22) return -1;
      p = textEnd(p) >> 2;
      if (p < 0) return -1;
      p = pastSpace(p);
      if (byte(p) != 0x3a) return -1;
      p = pastSpace(p + 1);
    }

    p = valueEnd(p, depth + 1);
    if (p < 0) return -1;

    p = pastSpace(p);
    if (byte(p) == close) return p + 1;
    if (byte(p) != 0x2c) return -1;
    p = pastSpace(p + 1);
  }
}

/** Marks a row. @returns the place behind it, -1: it is another kind of row */
function row(from: i32, width: i32, tokens: i32, offsets: i32, marks: i32): i32 {
  if (byte(from) != 0x7b) return -1;
  let open = true;
  let p = from + 1;

  for (let column = 0; column < width; column++, marks += 8, offsets += 4) {
    store<i32>(marks, 0);
    if (!open) continue;
    p = pastSpace(p);

    // The key: as it was in the first row, else the row does not have it, or is of another kind.
    const tokenEnd = tokens + load<i32>(offsets, 4);
    let token = tokens + load<i32>(offsets);
    let start = p;
    for (; token + 8 <= tokenEnd && load<u64>(start) == load<u64>(token); token += 8) start += 8;
    for (; token < tokenEnd && byte(start) == byte(token); token++) start++;
    if (token < tokenEnd) continue;

    const packed = byte(start) == 0x22 ? textEnd(start) : valueEnd(start, 0) << 2;
    if (packed < 0) return -1;
    if (byte(start) == 0x7b) findings |= 4;
    store<i32>(marks, start - ORIGIN);
    store<i32>(marks, packed - (ORIGIN << 2), 4);

    p = pastSpace(packed >> 2);
    if (byte(p) == 0x7d) open = false;
    else if (byte(p) != 0x2c) return -1;
    p++;
  }

  return open ? -1 : p;
}

/**
 * Writes a record of each row: where it begins, where it ends, its marks. It ends before a row of
 * another kind, at the end of the list, or where there is no room for more than `most`.
 * @returns how many
 */
export function scan(
  from: i32, end: i32, width: i32, tokens: i32, offsets: i32, records: i32, most: i32,
): i32 {
  const stride = (2 + 2 * width) << 2;
  findings = 0;
  let count = 0;
  let p = from;
  for (; count < most && p < end && byte(p) != 0x5d; count++, records += stride) {
    const after = row(p, width, tokens, offsets, records + 8);
    if (after < 0) {
      findings |= 4;
      break;
    }
    store<i32>(records, p - ORIGIN);
    store<i32>(records, after - ORIGIN, 4);

    p = after;
    while (byte(p) == 0x2c || isSpace(byte(p))) p++;
    if (p != after + 1 && byte(p) != 0x5d) findings |= 1;
  }

  at = p;
  return count;
}

// @ts-ignore: decorator
@inline
function mix(value: u32): u32 {
  let hash = value;
  hash = (hash ^ (hash >>> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >>> 13)) * 0xc2b2ae35;
  return hash ^ (hash >>> 16);
}

function isInteger(start: i32, end: i32): bool {
  const digits = byte(start) == 0x2d ? start + 1 : start;
  if (digits == end || (byte(digits) == 0x30 && end - start > 1)) return false;
  return digitsEnd(digits) >= end;
}

// The hash of what a row told so far.
let a: u32 = 0;
let b: u32 = 0;

// @ts-ignore: decorator
@inline
function wordAt(p: i32, end: i32): u32 {
  const left = end - p;
  if (left >= 4) return load<u32>(p);
  return left <= 0 ? 0 : load<u32>(p) & ((1 << (left << 3)) - 1);
}

/** Takes a value into the hash. @returns how long it is; -1: it is no plain text and no integer */
function takeIn(start: i32, packed: i32): i32 {
  if (start == ORIGIN || load<u32>(start) == 0x6c6c756e) return 0;
  const isText = byte(start) == 0x22 && (packed & ESCAPED) == 0;
  const first = isText ? start + 1 : start;
  const end = isText ? (packed >> 2) - 1 : packed >> 2;
  if (!isText && !isInteger(start, end)) return -1;

  for (let p = first; p < end; p += 8) {
    const low = wordAt(p, end);
    const high = wordAt(p + 4, end);
    a = (a ^ low) * 0x5bd1e995;
    b = (b ^ high) * 0x297a2d39;
    a ^= b >>> 15;
    b ^= a >>> 13;
  }

  a ^= end - first;
  return end - first;
}

/**
 * Writes what `identityHash` (hashes.ts) makes of two columns in each row: three numbers, of which
 * the last is 0 where those are not plain, or the first is empty. They may take the place of the
 * records.
 * @param address the number of its column; below 0: no row has it
 */
export function hashes(
  records: i32, width: i32, rows: i32, id: i32, address: i32, out: i32,
): void {
  const stride = (2 + 2 * width) << 2;
  for (let row = 0; row < rows; row++, records += stride, out += 12) {
    const marks = records + 8;
    const isKnown = load<i32>(marks) != -1;
    const idAt = load<i32>(marks + (id << 3)) + ORIGIN;
    const idMark = load<i32>(marks + (id << 3), 4) + (ORIGIN << 2);
    const addressAt = address < 0 ? ORIGIN : load<i32>(marks + (address << 3)) + ORIGIN;
    const addressMark = address < 0 ? 0 : load<i32>(marks + (address << 3), 4) + (ORIGIN << 2);

    store<i32>(out, 0, 8);
    a = 0x811c9dc5;
    b = 0x9747b28c;
    if (!isKnown || takeIn(idAt, idMark) <= 0 || takeIn(addressAt, addressMark) < 0) continue;

    const mark = mix(a + b) >>> 16;
    store<i32>(out, mix(b));
    store<i32>(out, mix(a ^ (b << 7)), 4);
    store<i32>(out, mark == 0 ? 1 : mark, 8);
  }
}

// Where CSV stopped, for the host to write a cell or a row itself.
let rowAt = 0;
let columnAt = 0;
let rowBegin = 0;

export function stoppedRow(): i32 {
  return rowAt;
}
export function stoppedColumn(): i32 {
  return columnAt;
}

/** Up to 15 bytes too many, over which the next cell is written. */
// @ts-ignore: decorator
@inline
function copy(from: i32, to: i32, length: i32): void {
  for (let done = 0; done < length; done += 16) v128.store(to + done, v128.load(from + done));
}

function has(wanted: i32, start: i32, end: i32): bool {
  for (let p = start; p < end; p++) if (byte(p) == wanted) return true;
  return false;
}

/** A text whose escapes are of quotes alone. @returns the place behind the cell, -1: it has others */
function quotesDoubled(start: i32, end: i32, to: i32): i32 {
  for (let p = start; p < end; p++) {
    if (byte(p) == 0x5c) {
      if (byte(++p) != 0x22) return -1;
      store<u8>(to++, 0x22);
    }
    store<u8>(to++, byte(p));
  }
  return to;
}

/**
 * Writes rows as CSV from `out`; no cell is longer than its JSON.
 * @param rows the number of each row's record
 * @param sources for each column the number of its key; below 0: an empty cell
 * @param look a byte each: whether a text that begins with it may be a formula
 * @param guard 0: none, 1: at the start, 2: also inside
 * @returns 0: all is written, 1: the cell where it stopped is the host's, 2: the row is
 */
export function csv(
  records: i32, width: i32, rows: i32, count: i32, sources: i32, columns: i32,
  look: i32, guard: i32, separator: i32, crlf: i32, nested: i32,
  index: i32, from: i32, out: i32,
): i32 {
  const stride = (2 + 2 * width) << 2;
  let column = from;
  let to = out;
  for (; index < count; index++, column = 0) {
    const marks = records + load<i32>(rows + (index << 2)) * stride + 8;
    if (column == 0) rowBegin = to;
    rowAt = index;
    if (load<i32>(marks) == -1) {
      at = to;
      return 2;
    }

    for (; column < columns; column++) {
      if (column > 0) store<u8>(to++, separator);
      const source = load<i32>(sources + (column << 2));
      if (source < 0 || load<i32>(marks + (source << 3)) == 0) continue;

      const start = load<i32>(marks + (source << 3)) + ORIGIN;
      const mark = load<i32>(marks + (source << 3), 4) + (ORIGIN << 2);
      const end = mark >> 2;
      const first = byte(start);
      const word = load<u32>(start);
      if (first == 0x22) {
        const second = byte(start + 1);
        const isPlain =
          (guard == 0 || byte(look + second) == 0) && (guard < 2 || !has(0x3b, start, end));
        const isQuoted =
          ((mark & HAS_COMMA) != 0 && separator == 0x2c) || second == 0x20 || byte(end - 2) == 0x20;
        if (isPlain && (mark & ESCAPED) == 0) {
          // With a comma in it the JSON text, quotes and all, is the cell.
          const inset = isQuoted ? 0 : 1;
          copy(start + inset, to, end - start - 2 * inset);
          to += end - start - 2 * inset;
          continue;
        }

        const after = isPlain && second != 0x5c ? quotesDoubled(start, end, to) : -1;
        if (after >= 0) {
          to = after;
          continue;
        }
      } else if (first == 0x7b && nested == 0) {
        at = rowBegin;
        return 2;
      } else if (word == 0x6c6c756e) {
        continue;
      } else if (word == 0x65757274 || word == 0x736c6166 || isInteger(start, end)) {
        copy(start, to, end - start);
        to += end - start;
        continue;
      }

      columnAt = column;
      at = to;
      return 1;
    }

    if (columns == 1 && to == rowBegin) {
      store<u16>(to, 0x2222);
      to += 2;
    }
    if (crlf != 0) store<u8>(to++, 0x0d);
    store<u8>(to++, 0x0a);
  }

  at = to;
  return 0;
}
