// The one scanner of replies. It finds rows without parsing them, so NDJSON
// and JSON are what was paid for; of rows with the keys of the first one it
// notes where each value stands, to copy CSV (docs/explanation/performance.md).
import { aligned, ORIGIN, RowMachine } from "./machine.ts";
import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  isJson,
  LETTER_N,
  Mender,
  OPEN_LIST,
  OPEN_OBJECT,
  parsedIn,
  QUOTE,
  type Spacing,
  scanObject,
  skipGap,
  skipSpace,
  skipValue,
} from "./tokens.ts";

export const ESCAPED = 1;
// Four times a position has to stay within 32 bits; a wider record is as likely a hostile one.
const MOST_BYTES = 2 ** 29 - 4 * ORIGIN;
const MOST_KEYS = 1_000;
/** Deeper a nested record is one cell: a hostile one must not make columns without end. */
export const MOST_NESTED = 6;
/** Records that take so many times the bytes of their rows are not kept: the rows are parsed. */
const MOST_RECORDS = 32;

export interface Spans {
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** The numbers of those that are no JSON. */
  readonly broken: readonly number[];
  /** Nothing but single commas between rows and no white space between the tokens of any row. */
  readonly tight: boolean;
  /** Some number has sixteen digits or more: an integer may be beyond 2^53. */
  readonly long: boolean;
  readonly cells?: Cells | undefined;
  /** Of a list; -1: the bytes end before it does, and nobody knows which rows stood behind. */
  readonly end?: number;
}

/** A list up to its end, or that of the bytes: what is no JSON is among its rows, and `broken`. */
export function scanList(bytes: Buffer, from: number): Spans & { readonly end: number } {
  const starts: number[] = [];
  const ends: number[] = [];
  const broken: number[] = [];
  const findings: Spacing = { spaces: false, long: false };
  let at = skipGap(bytes, from + 1);
  let mender: Mender | undefined;
  let sound: number | undefined;

  let scanner = RowScanner.learn(bytes, at, skipValue(bytes, at));
  for (;;) {
    if (scanner !== undefined) {
      const before = starts.length;
      at = scanner.rows(at, starts, ends, findings);
      if (starts.length > before) sound ??= starts[before];
      if (scanner.isFull) scanner = undefined;
    }

    if (at >= bytes.length || bytes[at] === CLOSE_LIST) break;
    let end = parsedEnd(bytes, at, findings);

    // What is no row between a broken one and the next is a piece of it: its quotes are off.
    if (end >= 0 && broken.at(-1) === starts.length - 1 && !isRow(bytes, at)) {
      ends[starts.length - 1] = end;
      at = skipGap(bytes, end);
      continue;
    }

    if (end < 0) {
      broken.push(starts.length);
      mender ??= new Mender(bytes, from);
      end = mender.endOf(at, sound);
    } else sound ??= at;

    scanner?.pass();
    starts.push(at);
    ends.push(end);
    at = skipGap(bytes, end);
    if (at !== end + 1 && bytes[at] !== CLOSE_LIST) findings.spaces = true;
  }

  const tight = !findings.spaces && broken.length === 0;
  return {
    starts,
    ends,
    broken,
    tight,
    long: findings.long,
    cells: scanner?.keep(),
    end: at < bytes.length ? at + 1 : -1,
  };
}

const isRow = (bytes: Buffer, at: number): boolean =>
  bytes[at] === OPEN_OBJECT || bytes[at] === LETTER_N;

/** As `JSON.parse` reads it. */
function parsedEnd(bytes: Buffer, from: number, findings: Spacing): number {
  const end = skipValue(bytes, from, findings);
  return end < 0 || !isJson(bytes, from, end) ? -1 : end;
}

/** Numbers of a record. */
const strideOf = (keys: readonly string[]): number => 2 + keys.length * 2;

/** A column of leaves: of whose rows it is, and which of them each row has there, -1: none. */
interface Leaf {
  readonly name: string;
  readonly from: Cells;
  readonly column: number;
  readonly rows: Int32Array;
}

/**
 * Where the values of rows stand that have the keys of the first one. A record of each row is in
 * `records`: where it begins and ends, then two numbers for each key: where its value begins (0:
 * none; -1 first: nothing is known of the row), and four times where it ends, plus `ESCAPED`.
 */
export class Cells {
  readonly bytes: Buffer;
  readonly keys: readonly string[];
  readonly records: Int32Array;
  /** Each row is of its kind, and without a nested record. */
  readonly isFlat: boolean;
  /** The `identityHash` of each row, one after another; 0 last where none was made. */
  ids: Int32Array | undefined;
  readonly #stride: number;
  #leaves: Cells | undefined;

  constructor(bytes: Buffer, keys: readonly string[], records: Int32Array, isFlat: boolean) {
    this.bytes = bytes;
    this.keys = keys;
    this.records = records;
    this.isFlat = isFlat;
    this.#stride = strideOf(keys);
  }

  get #length(): number {
    return this.records.length / this.#stride;
  }

  /** Whether nobody can take a key for `b` in a nested record `a`. */
  get isClear(): boolean {
    return !this.keys.some((key) => key.includes("."));
  }

  /** Whether it is known where the values of a row stand. */
  knows(row: number): boolean {
    return this.records[row * this.#stride + 2] !== -1;
  }

  /** Where the value of a key begins in a row that is known; 0: the row does not have it. */
  start(row: number, key: number): number {
    return this.records[row * this.#stride + 2 + key * 2] ?? 0;
  }

  /** Four times where that ends, plus `ESCAPED` where it is a text with escapes in it. */
  mark(row: number, key: number): number {
    return this.records[row * this.#stride + 3 + key * 2] ?? 0;
  }

  /** The same with keys of nested records, `a.b`, where those are alike, too. */
  leaves(): Cells {
    this.#leaves ??= this.isFlat ? this : this.#takenApart(0);
    return this.#leaves;
  }

  #takenApart(depth: number): Cells {
    const leaves = this.keys.flatMap((_, column) => this.#leavesOf(column, depth));
    const keys = leaves.map(({ name }) => name);
    const isApart = leaves.some(({ from }) => from !== this);
    if (!isApart || !this.isClear || keys.length > MOST_KEYS) return this;

    const stride = strideOf(keys);
    const records = new Int32Array(this.#length * stride);
    for (let row = 0, at = 0; row < this.#length; row++, at += stride) {
      let isKnown = this.knows(row);
      for (const [index, { column, from, rows }] of leaves.entries()) {
        const inner = rows[row] ?? -1;
        if (inner < 0) continue;
        isKnown &&= from.knows(inner);
        records[at + 2 + index * 2] = from.start(inner, column);
        records[at + 3 + index * 2] = from.mark(inner, column);
      }
      if (!isKnown) records[at + 2] = -1;
    }

    return new Cells(this.bytes, keys, records, false);
  }

  /** A key itself where it is no record, and those of the records that stand there. */
  #leavesOf(column: number, depth: number): readonly Leaf[] {
    const { bytes } = this;
    const name = this.keys[column] ?? "";
    const own = new Int32Array(this.#length).fill(-1);
    const nested = new Int32Array(this.#length).fill(-1);
    const starts: number[] = [];
    for (let row = 0; row < this.#length; row++) {
      const start = this.knows(row) ? this.start(row, column) : 0;
      if (start === 0) continue;
      if (bytes[start] !== OPEN_OBJECT) own[row] = row;
      // An empty one has nothing to show.
      else if (bytes[start + 1] !== CLOSE_OBJECT) nested[row] = starts.push(start) - 1;
    }

    const records = depth < MOST_NESTED ? RowScanner.of(bytes, starts) : undefined;
    const inner = records?.isClear ? records.#takenApart(depth + 1) : undefined;
    if (inner === undefined) return [{ name, from: this, column, rows: own.map((_, row) => row) }];
    const leaves = inner.keys.map((key, at): Leaf => {
      return { name: `${name}.${key}`, from: inner, column: at, rows: nested };
    });
    const isOwn = own.some((row) => row >= 0);
    return isOwn ? [{ name, from: this, column, rows: own }, ...leaves] : leaves;
  }
}

/** Every so-manieth number: a loop of its own, which is compiled alone. */
function pushEvery(step: number, numbers: Int32Array, to: number[]): void {
  for (let at = 0; at < numbers.length; at += step) to.push(numbers[at] as number);
}

/** Finds where the values of rows stand, in the memory of the machine. */
class RowScanner {
  readonly #bytes: Buffer;
  readonly #keys: readonly string[];
  readonly #stride: number;
  #isFlat = true;
  /** There was no room for more: what it has is not all. */
  isFull = false;
  readonly #machine: RowMachine;
  /** `"key":` of each key, one after another, with the white space that stood round the colon. */
  readonly #tokens: number;
  readonly #offsets: number;
  readonly #first: number;
  readonly #isSpaced: boolean;
  /** Rows that there are records of, and that there is room for. */
  #rows = 0;
  #room: number;

  private constructor(
    bytes: Buffer,
    keys: readonly string[],
    tokens: readonly Buffer[],
    { scanner, behind, expected }: { scanner: RowMachine; behind: number; expected: number },
  ) {
    this.#bytes = bytes;
    this.#keys = keys;
    this.#stride = strideOf(keys);
    this.#machine = scanner;
    this.#room = Math.max(1, expected);

    const text = Buffer.concat(tokens);
    this.#tokens = behind;
    this.#offsets = aligned(behind + text.length);
    this.#first = aligned(this.#offsets + 4 * (keys.length + 1));
    this.#isSpaced = tokens.some((token) => token.at(-1) !== COLON || token.at(-2) !== QUOTE);
    if (!this.#makeRoom()) return;

    text.copy(scanner.bytes, this.#tokens);
    let offset = 0;
    for (const [index, token] of [...tokens, Buffer.alloc(0)].entries()) {
      scanner.words[this.#offsets / 4 + index] = offset;
      offset += token.length;
    }
  }

  /**
   * Learns from the row that is `bytes[from, end)`.
   * @returns undefined where it is no object or an unusual one
   */
  static learn(bytes: Buffer, from: number, end: number): RowScanner | undefined {
    if (bytes[from] !== OPEN_OBJECT || bytes.length > MOST_BYTES) return undefined;

    const members = scanObject(bytes, from);
    if (bytes[skipSpace(bytes, members.at(-1)?.end ?? from)] !== CLOSE_OBJECT) return undefined;
    const keys = members.map(({ key }) => key);
    if (keys.length === 0 || keys.length > MOST_KEYS || new Set(keys).size < keys.length)
      return undefined;

    const scanner = RowMachine.for(bytes);
    const behind = scanner?.hold(bytes);
    if (scanner === undefined || behind === undefined) return undefined;

    let before = from + 1;
    const tokens = members.map(({ start, end: after }) => {
      const token = bytes.subarray(bytes.indexOf(QUOTE, before), start);
      before = after;
      return token;
    });
    const expected = Math.ceil(((bytes.length - from) / (end - from)) * 1.1 + 1);
    return new RowScanner(bytes, keys, tokens, { scanner, behind, expected });
  }

  /** Records that stand here and there, as `rows` has those of a list. */
  static of(bytes: Buffer, starts: readonly number[]): Cells | undefined {
    const [first] = starts;
    const scanner =
      first === undefined ? undefined : RowScanner.learn(bytes, first, skipValue(bytes, first));
    for (const start of starts) {
      if (scanner === undefined || !scanner.#hasRoom()) return undefined;
      if (scanner.#scan(start, 1) === 0) scanner.pass();
    }
    return scanner?.keep();
  }

  /**
   * Scans rows, as many as are alike.
   * @returns where the first one stands that is not, or the end of the list
   */
  rows(from: number, starts: number[], ends: number[], findings: Spacing): number {
    const { code } = this.#machine;
    let at = from;
    for (;;) {
      if (!this.#hasRoom()) return at;

      const place = this.#record(this.#rows);
      const count = this.#scan(at, this.#room - this.#rows);
      const records = this.#machine.words.subarray(place, place + count * this.#stride);
      pushEvery(this.#stride, records, starts);
      pushEvery(this.#stride, records.subarray(1), ends);

      at = code.ended() - ORIGIN;
      const found = code.found();
      if ((found & 1) !== 0 || (count > 0 && this.#isSpaced)) findings.spaces = true;
      if ((found & 2) !== 0) findings.long = true;
      if (this.#rows < this.#room) return at;
    }
  }

  /** @returns of how many rows there are records now more */
  #scan(at: number, most: number): number {
    const { code } = this.#machine;
    const count = code.scan(
      at + ORIGIN,
      this.#bytes.length + ORIGIN,
      this.#keys.length,
      this.#tokens,
      this.#offsets,
      this.#record(this.#rows) * 4,
      most,
    );
    this.#rows += count;
    if ((code.found() & 4) !== 0) this.#isFlat = false;
    return count;
  }

  #hasRoom(): boolean {
    return !this.isFull && (this.#rows < this.#room || this.#makeRoom());
  }

  /** The next row is of another kind. */
  pass(): void {
    this.#isFlat = false;
    if (this.#rows === this.#room) this.#makeRoom();
    if (!this.isFull) this.#machine.words[this.#record(this.#rows++) + 2] = -1;
  }

  /** Before another page is scanned. */
  keep(): Cells {
    const { code, words } = this.#machine;
    const [first, behind] = [this.#record(0), this.#record(this.#rows)];
    const cells = new Cells(this.#bytes, this.#keys, words.slice(first, behind), this.#isFlat);

    // Over the records, of which there is a copy now: one has at least four numbers, a hash three.
    const id = this.#keys.indexOf("id");
    const address = this.#keys.indexOf("network_url");
    if (id >= 0) {
      code.hashes(first * 4, this.#keys.length, this.#rows, id, address, first * 4);
      cells.ids = words.slice(first, first + this.#rows * 3);
    }

    return cells;
  }

  #record(row: number): number {
    return this.#first / 4 + row * this.#stride;
  }

  /** For half as many rows more where those are full. */
  #makeRoom(): boolean {
    if (this.#rows === this.#room) this.#room = Math.ceil(this.#room * 1.5) + 1;
    const size = this.#room * this.#stride * 4;
    const isSmall = size <= MOST_RECORDS * (this.#bytes.length + 2_048);
    this.isFull = !isSmall || !this.#machine.reserve(this.#first + size);
    return !this.isFull;
  }
}

/**
 * What can be read of an object that is not JSON as a whole: members that are, and of an object
 * among them as much.
 */
export function readable(bytes: Buffer, from = skipSpace(bytes, 0), depth = 4) {
  const fields: [string, unknown][] = [];
  const read = (start: number): readonly [end: number, value: unknown] => {
    if (bytes[start] === OPEN_OBJECT && depth > 0) {
      const inner = readable(bytes, start, depth - 1);
      return [inner.end, inner.fields];
    }
    const end = bytes[start] === OPEN_LIST ? scanList(bytes, start).end : skipValue(bytes, start);
    return [end, end < 0 ? undefined : parsedIn(bytes, start, end)];
  };

  const members = scanObject(bytes, from, (key, start) => {
    const [end, value] = read(start);
    if (value !== undefined) fields.push([key, value]);
    return end;
  });
  const last = members.at(-1)?.end ?? from + 1;
  const after = skipSpace(bytes, last);

  const end = bytes[after] === CLOSE_OBJECT ? after + 1 : last;
  return { fields: Object.fromEntries(fields) as Readonly<Record<string, unknown>>, end };
}
