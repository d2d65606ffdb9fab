/** The tokens of JSON as bytes: what everything that reads a reply without parsing it is made of. */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** What the bytes between strings told while rows were scanned. */
export interface Findings {
  /** There is white space between tokens. */
  spaces: boolean;
  /** Some number has sixteen digits or more. */
  long: boolean;
}

/** The fewest digits of an integer beyond 2^53. */
export const LONG_DIGITS = 16;

export const malformed = (at: number): Error => new Error(`the reply is no valid JSON near byte ${at}`);

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    at++;
  }
  return at;
}

/** The position after the string that begins at `from` with its quote. */
export function skipString(bytes: Uint8Array, from: number): number {
  let at = from + 1;
  const length = bytes.length;
  while (at < length) {
    const byte = bytes[at] as number;
    if (byte > BACKSLASH) at++;
    else if (byte === QUOTE) return at + 1;
    else if (byte === BACKSLASH) at += 2;
    else if (byte < 0x20) throw malformed(at);
    else at++;
  }
  throw malformed(from);
}

/** The position after the value that begins at `from`. */
export function skipValue(bytes: Uint8Array, from: number, findings?: Findings): number {
  const length = bytes.length;
  const first = bytes[from];
  if (first === QUOTE) return skipString(bytes, from);
  if (first !== OPEN_OBJECT && first !== OPEN_LIST) {
    let at = from;
    while (at < length) {
      const byte = bytes[at] as number;
      if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST || byte <= 0x20) break;
      at++;
    }
    if (at === from) throw malformed(at);
    if (findings !== undefined && at - from >= LONG_DIGITS) findings.long = true;
    return at;
  }
  let depth = 0;
  let digits = 0;
  let at = from;
  while (at < length) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      continue;
    }
    at++;
    if (byte >= ZERO && byte <= NINE) {
      if (++digits === LONG_DIGITS && findings !== undefined) findings.long = true;
      continue;
    }
    digits = 0;
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      depth--;
      if (depth === 0) return at;
    } else if (byte <= 0x20 && findings !== undefined) findings.spaces = true;
  }
  throw malformed(from);
}

/** Whether a token is an integer whose text stays as it is: not -0, which is 0, and nothing with a fraction or an exponent. */
export function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (at === end || (bytes[at] === ZERO && end - start > 1)) return false;
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > NINE) return false;
  }
  return true;
}
