// Tested by test/unit/rows-broken.test.ts.
// What JSON is made of, in bytes, and where a row ends that is none. Nothing here says that
// something is JSON but `JSON.parse`.

export const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DIGIT_ZERO = 0x30;
const DIGIT_NINE = 0x39;
export const COLON = 0x3a;
export const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
export const CLOSE_LIST = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
/** How `null` begins. */
export const LETTER_N = 0x6e;

/** Of digits: an integer that has so many may be beyond 2^53. */
const LONG_DIGITS = 16;

export interface Spacing {
  spaces: boolean;
  long: boolean;
}

export interface Member {
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

export function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  for (; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
  }
  return at;
}

/** Behind white space and commas: what stands between two rows. */
export function skipGap(bytes: Uint8Array, from: number): number {
  let at = skipSpace(bytes, from);
  while (bytes[at] === COMMA) at = skipSpace(bytes, at + 1);
  return at;
}

/** What is no text of JSON is found by whoever reads it. @returns -1: it does not end */
function skipString(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; ; ) {
    const byte = bytes[at];
    if (byte === undefined) return -1;
    if (byte > BACKSLASH) at++;
    else if (byte === QUOTE) return at + 1;
    else at += byte === BACKSLASH ? 2 : 1;
  }
}

/** By its brackets and texts alone. @returns where a value ends, -1: they do not match */
export function skipValue(bytes: Uint8Array, from: number, findings?: Spacing): number {
  const length = bytes.length;
  const first = bytes[from];
  if (first === QUOTE) return skipString(bytes, from);

  let at = from;
  if (first !== OPEN_OBJECT && first !== OPEN_LIST) {
    for (; at < length; at++) {
      const byte = bytes[at] as number;
      if (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_LIST || byte <= 0x20) break;
    }
    if (findings !== undefined && at - from >= LONG_DIGITS) findings.long = true;
    return at === from ? -1 : at;
  }

  let depth = 0;
  let digits = 0;
  while (at < length) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      at = skipString(bytes, at);
      if (at < 0) return -1;
      continue;
    }

    at++;

    if (byte >= DIGIT_ZERO && byte <= DIGIT_NINE) {
      if (++digits === LONG_DIGITS && findings !== undefined) findings.long = true;
      continue;
    }

    digits = 0;

    if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth++;
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (--depth === 0) return at;
    } else if (byte <= 0x20 && findings !== undefined) findings.spaces = true;
  }

  return -1;
}

/** The value that `bytes[start, end)` is, in the words of JSON; undefined: it is none. */
export function parsedIn(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString("utf8", start, end)) as unknown;
  } catch {
    return undefined;
  }
}

export const isJson = (bytes: Buffer, start: number, end: number): boolean =>
  parsedIn(bytes, start, end) !== undefined;

/**
 * The members of the object that begins at `from`, as far as it can be read: of the last one
 * perhaps nobody knows where it ends. `visit` may take a value over and return where it ends.
 */
export function scanObject(
  bytes: Buffer,
  from: number,
  visit?: (key: string, start: number) => number | undefined,
): Member[] {
  const members: Member[] = [];
  let at = skipSpace(bytes, from + 1);
  while (bytes[at] === QUOTE) {
    const keyEnd = skipString(bytes, at);
    const key = keyEnd < 0 ? undefined : parsedIn(bytes, at, keyEnd);
    const colon = skipSpace(bytes, keyEnd);
    if (typeof key !== "string" || bytes[colon] !== COLON) return members;

    const start = skipSpace(bytes, colon + 1);
    const end = visit?.(key, start) ?? skipValue(bytes, start);
    members.push({ key, start, end: end < 0 ? bytes.length : end });
    at = skipSpace(bytes, end < 0 ? bytes.length : end);
    if (bytes[at] !== COMMA) return members;

    at = skipSpace(bytes, at + 1);
  }

  return members;
}

/** Whether a token is an integer whose text stays as it is: not -0, no fraction, no exponent. */
export function isInteger(bytes: Uint8Array, start: number, end: number): boolean {
  let at = bytes[start] === MINUS ? start + 1 : start;
  if (at === end || (bytes[at] === DIGIT_ZERO && end - start > 1)) return false;
  for (; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < DIGIT_ZERO || byte > DIGIT_NINE) return false;
  }
  return true;
}

export function compact(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const out = new Uint8Array(end - start);
  let length = 0;
  for (let at = start; at < end; ) {
    const byte = bytes[at] as number;
    const after = byte === QUOTE ? skipString(bytes, at) : at + 1;
    if (byte > 0x20) {
      out.set(bytes.subarray(at, after), length);
      length += after - at;
    }
    at = after;
  }

  return out.subarray(0, length);
}

/** A hostile reply has brackets, and rows that are none, without end: so much is looked at. */
const mostWork = ({ length }: Buffer): number => 2 ** 22 + 16 * length;
/** What a row costs that is refused, however short it is. */
const REFUSED = 2_048;
/** Bytes that may be looked at still, of each reply. */
const work = new WeakMap<Buffer, number>();

/** @returns whether there is room for it */
function spend(bytes: Buffer, looks: number): boolean {
  const left = (work.get(bytes) ?? mostWork(bytes)) - looks;
  work.set(bytes, left);
  return left > 0;
}

/** So many brackets from the end of a reply that of its list is looked for. */
const MOST_ENDS = 64;

/**
 * Finds where a row ends that is no JSON: by its brackets where these hold, else where the next
 * row begins that is like the others, else with its list. It decides of no row whether it is one
 * of JSON: what it hands back as the beginning of the next is read as any other.
 */
export class Mender {
  readonly #bytes: Buffer;
  readonly #end: number;
  #keys: readonly string[] | undefined;

  /** @param list where the list begins whose rows these are */
  constructor(bytes: Buffer, list: number) {
    this.#bytes = bytes;
    this.#end = endOfList(bytes, list);
  }

  /**
   * @param at where the row begins
   * @param sound where one of the same list begins that is JSON, if there is any before
   * @returns the byte behind it
   */
  endOf(at: number, sound: number | undefined): number {
    const rest = Math.max(this.#end, at + 1);
    if (!spend(this.#bytes, REFUSED)) return rest;

    if (sound !== undefined) this.#keys ??= this.#keysAt(sound).keys;
    if (this.#keys?.length === 0) this.#keys = undefined;
    const { end, strays } = outline(this.#bytes, at);
    const holds = end > 0 && this.#isBorder(at, end);
    const begins = holds ? strays : this.#objects(at + 1);
    for (const begin of begins) if (this.#isLike(begin)) return begin;

    return holds ? end : rest;
  }

  /** Whether brackets that end there are those of the row: the list ends, or another row begins. */
  #isBorder(at: number, end: number): boolean {
    const bytes = this.#bytes;
    const behind = skipSpace(bytes, end);
    const next = skipGap(bytes, behind);
    if (bytes[next] === CLOSE_LIST) return next === this.#end || !this.#goesOn(next);
    if (bytes[behind] === COMMA && parsedIn(bytes, next, next + 4) === null) return true;
    // An object of JSON that is like no row stands within the row that is broken.
    return (
      bytes[behind] === COMMA &&
      bytes[next] === bytes[at] &&
      (this.#keysAt(next).keys.length === 0 || this.#isLike(next))
    );
  }

  /** Whether rows come behind it, where nobody knows which bracket ends the list. */
  #goesOn(from: number): boolean {
    if (this.#end < this.#bytes.length) return true;
    for (const at of this.#objects(from)) if (this.#isLike(at)) return true;
    return false;
  }

  *#objects(from: number): Iterable<number> {
    for (
      let at = this.#bytes.indexOf(OPEN_OBJECT, from);
      at >= 0 && at < this.#end;
      at = this.#bytes.indexOf(OPEN_OBJECT, at + 1)
    )
      yield at;
  }

  /** Of the object of JSON that begins there, if one does. */
  #keysAt(at: number): { readonly keys: readonly string[]; readonly end: number } {
    const none = { keys: [], end: at + 1 };
    const end = spend(this.#bytes, 0) ? skipValue(this.#bytes, at) : -1;
    spend(this.#bytes, (end < 0 ? this.#bytes.length : end) - at);
    const value = end < 0 ? undefined : parsedIn(this.#bytes, at, end);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? { keys: Object.keys(value), end } : none;
  }

  /** Whether a row begins there: an object of JSON with half of the keys that rows have. */
  #isLike(at: number): boolean {
    this.#keys ??= this.#mostKeys(at);
    const { keys } = this.#keysAt(at);
    const shared = this.#keys.filter((key) => keys.includes(key));
    return keys.length > 0 && shared.length * 2 >= this.#keys.length;
  }

  /** Where no row is known: those of the largest object, as what stands within a row is smaller. */
  #mostKeys(from: number): readonly string[] {
    let most: readonly string[] = [];
    let after = from;
    for (const at of this.#objects(from)) {
      if (at < after) continue;
      const { keys, end } = this.#keysAt(at);
      after = end;
      if (keys.length > most.length) most = keys;
    }
    return most;
  }
}

/**
 * Where the brackets of a value end (-1: they do not match), and each `{` that is none of its own:
 * within a text, as where a quote is missing, or in an object that has no room for one.
 */
function outline(bytes: Buffer, from: number): { end: number; strays: number[] } {
  const strays: number[] = [];
  const first = bytes[from];
  if (first !== OPEN_OBJECT && first !== OPEN_LIST)
    return { end: Math.max(skipValue(bytes, from), from + 1), strays };

  const open: number[] = [];
  let before = COLON;
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++)
        if (bytes[at] === BACKSLASH) at++;
        else if (bytes[at] === OPEN_OBJECT) strays.push(at);
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (byte === OPEN_OBJECT && open.at(-1) === OPEN_OBJECT && before !== COLON) strays.push(at);
      open.push(byte);
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (open.pop() !== (byte === CLOSE_OBJECT ? OPEN_OBJECT : OPEN_LIST))
        return { end: -1, strays };
      if (open.length === 0) return { end: at + 1, strays };
    }
    if (byte > 0x20) before = byte;
  }
  return { end: -1, strays };
}

/** The bracket that ends a list: with nothing in it what is before and behind it is JSON. */
function endOfList(bytes: Buffer, list: number): number {
  const head = bytes.subarray(0, list + 1);
  let end = bytes.length;
  let at = bytes.length;
  for (let looks = 0; looks < MOST_ENDS && at > list; looks++) {
    at = bytes.lastIndexOf(CLOSE_LIST, at - 1);
    if (at <= list || !spend(bytes, head.length + bytes.length - at)) break;
    const rest = Buffer.concat([head, bytes.subarray(at)]);
    if (isJson(rest, 0, rest.length)) end = at;
  }
  return end;
}
