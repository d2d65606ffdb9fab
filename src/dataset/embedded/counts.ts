import { readFile, writeFile } from "node:fs/promises";
import { endianness } from "node:os";
import { setImmediate } from "node:timers/promises";
import { crc32 } from "node:zlib";
import type { Condition } from "../../contract/conditions.ts";
import { DatasetDamagedError } from "../layout.ts";
import { type Dictionary, intersection, masksOf, NumberDictionary, type Ranges, TextDictionary } from "./dictionary.ts";

/*
 * counts.bin, little-endian: magic (8 bytes), CRC-32 of the rest (u32), length of the header (u32), header (JSON), arrays at multiples of 8.
 * A dictionary holds the values of a column in rising order, so that a prefix or a range is a range of codes; a missing value has the code
 * after the last. A table has a sorted row for each combination of codes, and for each how many people come before it.
 */

const MAGIC = "hccount1";
const PREAMBLE = 16;
/** Bytes whose checksum is computed in one round of the event loop: well below a millisecond. */
const CHECKED_AT_ONCE = 2 ** 20;

type Value = string | number | null;

interface Span {
  /** From the first byte after the header, in bytes. */
  readonly at: number;
  readonly length: number;
}

interface Header {
  readonly people: number;
  readonly dictionaries: readonly {
    readonly column: string;
    /** Whole numbers as 64-bit floats. */
    readonly numbers?: Span;
    /** Where each text begins, and where the last ends. */
    readonly starts?: Span;
    readonly texts?: Span;
  }[];
  readonly tables: readonly {
    readonly columns: readonly string[];
    readonly codes: readonly Span[];
    readonly before: Span;
  }[];
}

interface Table {
  readonly columns: readonly string[];
  readonly rows: number;
  readonly codes: readonly Uint32Array[];
  /** People before each row, and all people at the end. */
  readonly before: Uint32Array;
}

export class CountsWriter {
  readonly #values = new Map<string, Map<Value, number>>();
  readonly #tables: { columns: readonly string[]; codes: number[][]; counts: number[] }[] = [];

  /** A table: `rows` in the order of its columns' values, missing ones last, and the number of people of each. */
  add(columns: readonly string[], rows: Iterable<readonly [values: readonly Value[], people: number]>): void {
    const known = columns.map((column) => {
      const values = this.#values.get(column) ?? new Map<Value, number>();
      this.#values.set(column, values);
      return values;
    });
    const codes: number[][] = columns.map(() => []);
    const counts: number[] = [];
    for (const [values, people] of rows) {
      values.forEach((value, index) => {
        const codesOf = known[index];
        const code = codesOf?.get(value) ?? codesOf?.size ?? 0;
        codesOf?.set(value, code);
        codes[index]?.push(code);
      });
      counts.push(people);
    }
    this.#tables.push({ columns, codes, counts });
  }

  /** @throws Error where the rows of a table are in another order, or are not all people */
  async write(path: string, people: number): Promise<void> {
    const parts: Uint8Array[] = [];
    let length = 0;
    const put = (array: Uint8Array | Uint32Array | Float64Array): Span => {
      const at = length;
      const padding = -array.byteLength & 7;
      parts.push(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), new Uint8Array(padding));
      length += array.byteLength + padding;
      return { at, length: array.length };
    };
    const dictionaries: Header["dictionaries"][number][] = [];
    const places = new Map<string, Uint32Array>();
    for (const [column, codes] of this.#values) {
      const { sorted, place } = inOrder(codes);
      places.set(column, place);
      if (sorted.every((value) => typeof value === "number")) {
        dictionaries.push({ column, numbers: put(Float64Array.from(sorted)) });
      } else {
        const texts = sorted.map((value) => Buffer.from(String(value)));
        const starts = new Uint32Array(texts.length + 1);
        texts.forEach((text, index) => {
          starts[index + 1] = (starts[index] ?? 0) + text.length;
        });
        dictionaries.push({ column, starts: put(starts), texts: put(Buffer.concat(texts)) });
      }
    }
    const tables = this.#tables.map(({ columns, codes, counts }) => {
      const placed = columns.map((column, index) => {
        const place = places.get(column);
        return Uint32Array.from(codes[index] ?? [], (code) => place?.[code] ?? 0);
      });
      for (let row = 1; row < counts.length; row++) {
        if (!isRising(placed, row)) throw new Error(`the counts by ${columns.join(", ")} are out of order`);
      }
      const before = new Uint32Array(counts.length + 1);
      counts.forEach((count, row) => {
        before[row + 1] = (before[row] ?? 0) + count;
      });
      if (before[counts.length] !== people) throw new Error(`the counts by ${columns.join(", ")} are not all people`);
      return { columns, codes: placed.map(put), before: put(before) };
    });
    const text = JSON.stringify({ people, dictionaries, tables } satisfies Header);
    const header = Buffer.from(text.padEnd(text.length + (-(Buffer.byteLength(text) + PREAMBLE) & 7)));
    const body = Buffer.concat([header, ...parts]);
    const preamble = Buffer.alloc(PREAMBLE);
    preamble.write(MAGIC, "latin1");
    preamble.writeUInt32LE(crc32(body), 8);
    preamble.writeUInt32LE(header.length, 12);
    await writeFile(path, Buffer.concat([preamble, body]));
  }
}

/** The values in rising order without the missing one, and for each code given so far the place in this order. */
function inOrder(codes: ReadonlyMap<Value, number>): { sorted: (string | number)[]; place: Uint32Array } {
  const present = [...codes.keys()].filter((value) => value !== null);
  const keyed = present.map((value) => ({ value, key: typeof value === "string" ? Buffer.from(value) : undefined }));
  keyed.sort((a, b) => (a.key && b.key ? Buffer.compare(a.key, b.key) : Number(a.value) - Number(b.value)));
  const sorted = keyed.map(({ value }) => value);
  const place = new Uint32Array(codes.size).fill(sorted.length);
  sorted.forEach((value, index) => {
    place[codes.get(value) ?? 0] = index;
  });
  return { sorted, place };
}

function isRising(codes: readonly Uint32Array[], row: number): boolean {
  for (const column of codes) {
    const step = (column[row] ?? 0) - (column[row - 1] ?? 0);
    if (step !== 0) return step > 0;
  }
  return false;
}

/** Tables of counts in memory: the count of filters on the columns of one of them takes some look-ups, of microseconds. */
export class Counts {
  readonly #dictionaries: ReadonlyMap<string, Dictionary>;
  readonly #tables: readonly Table[];

  private constructor(dictionaries: ReadonlyMap<string, Dictionary>, tables: readonly Table[]) {
    this.#dictionaries = dictionaries;
    this.#tables = tables.toSorted((a, b) => a.rows - b.rows);
  }

  /** Reads without holding the event loop. @returns undefined where the byte order is another. @throws DatasetDamagedError */
  static async load(path: string, people: number): Promise<Counts | undefined> {
    if (endianness() !== "LE") return undefined;
    const file = await readFile(path);
    const damaged = new DatasetDamagedError(`${path} is damaged; import or generate the dataset again`);
    if (file.length < PREAMBLE || file.toString("latin1", 0, 8) !== MAGIC) throw damaged;
    let sum = 0;
    for (let at = PREAMBLE; at < file.length; at += CHECKED_AT_ONCE) {
      sum = crc32(file.subarray(at, at + CHECKED_AT_ONCE), sum);
      await setImmediate();
    }
    if (sum !== file.readUInt32LE(8)) throw damaged;
    const start = PREAMBLE + file.readUInt32LE(12);
    const header = JSON.parse(file.toString("utf8", PREAMBLE, start)) as Header;
    if (header.people !== people) throw damaged;
    // Typed arrays need an aligned start.
    const body = (file.byteOffset + start) % 8 === 0 ? file.subarray(start) : new Uint8Array(file.subarray(start));
    const words = ({ at, length }: Span): Uint32Array => new Uint32Array(body.buffer, body.byteOffset + at, length);
    const dictionaries = new Map<string, Dictionary>();
    for (const { column, numbers, starts, texts } of header.dictionaries) {
      if (numbers) {
        const { at, length } = numbers;
        dictionaries.set(column, new NumberDictionary(new Float64Array(body.buffer, body.byteOffset + at, length)));
      } else if (starts && texts) {
        const bytes = Buffer.from(body.buffer, body.byteOffset + texts.at, texts.length);
        dictionaries.set(column, new TextDictionary(words(starts), bytes));
      }
    }
    const tables = header.tables.map(({ columns, codes, before }) => ({
      columns,
      rows: before.length - 1,
      codes: codes.map(words),
      before: words(before),
    }));
    return new Counts(dictionaries, tables);
  }

  get columnSets(): readonly (readonly string[])[] {
    return this.#tables.map(({ columns }) => columns);
  }

  /** How many people meet all conditions, or undefined where no table has all the columns that they look at. */
  count(conditions: readonly Condition[]): number | undefined {
    const table = this.#tables.find(({ columns }) => conditions.every(({ column }) => columns.includes(column)));
    if (!table) return undefined;
    const wanted: (Ranges | undefined)[] = table.columns.map(() => undefined);
    for (const condition of conditions) {
      const level = table.columns.indexOf(condition.column);
      const ranges = this.#dictionaries.get(condition.column)?.ranges(condition) ?? [];
      if (ranges.length === 0) return 0;
      const before = wanted[level];
      wanted[level] = before ? intersection(before, ranges) : ranges;
    }
    const last = wanted.findLastIndex((ranges) => ranges !== undefined);
    return peopleIn(table, wanted, last, 0, 0, table.rows);
  }

  /** For each value of a column how many people meet all conditions, null for those without one; undefined as in {@link count}. */
  groups(
    column: string,
    conditions: readonly Condition[],
  ): (readonly [value: string | null, people: number])[] | undefined {
    const table = this.#tables.find(
      ({ columns }) => columns.includes(column) && conditions.every((condition) => columns.includes(condition.column)),
    );
    const dictionary = this.#dictionaries.get(column);
    const grouped = table?.codes[table.columns.indexOf(column)];
    if (!table || !dictionary || !grouped) return undefined;
    const wanted = conditions.map((condition) => ({
      codes: table.codes[table.columns.indexOf(condition.column)] ?? grouped,
      ranges: this.#dictionaries.get(condition.column)?.ranges(condition) ?? [],
    }));
    const sums = new Uint32Array(dictionary.size + 1);
    const isWanted = masksOf(wanted.map(({ ranges }) => ranges));
    for (let row = 0; row < table.rows; row++) {
      if (!wanted.every(({ codes }, index) => isWanted[index]?.[codes[row] ?? 0] === 1)) continue;
      const code = grouped[row] ?? 0;
      sums[code] = (sums[code] ?? 0) + (table.before[row + 1] ?? 0) - (table.before[row] ?? 0);
    }
    const groups: (readonly [string | null, number])[] = [];
    for (const [code, people] of sums.entries()) {
      if (people > 0) groups.push([code < dictionary.size ? String(dictionary.value(code)) : null, people]);
    }
    return groups;
  }

  *rows(columns: readonly string[]): Generator<readonly [values: readonly Value[], people: number]> {
    const table = this.#tables.find((other) => other.columns.join() === columns.join());
    if (!table) return;
    for (let row = 0; row < table.rows; row++) {
      const values = columns.map((column, index) => {
        const dictionary = this.#dictionaries.get(column);
        const code = table.codes[index]?.[row] ?? 0;
        return dictionary && code < dictionary.size ? dictionary.value(code) : null;
      });
      yield [values, (table.before[row + 1] ?? 0) - (table.before[row] ?? 0)];
    }
  }
}

/** People from row `low` to `high`, which agree on the columns before `level`. Sorted rows with a range of codes lie together. */
function peopleIn(
  table: Table,
  wanted: readonly (Ranges | undefined)[],
  last: number,
  level: number,
  low: number,
  high: number,
): number {
  const codes = table.codes[level];
  if (level > last || !codes) return (table.before[high] ?? 0) - (table.before[low] ?? 0);
  let people = 0;
  const ranges = wanted[level] ?? EVERYTHING;
  let from = low;
  for (const [first, end] of ranges) {
    from = firstAtLeast(codes, first, from, high);
    const to = end > MOST_CODES ? high : firstAtLeast(codes, end, from, high);
    if (level === last) people += (table.before[to] ?? 0) - (table.before[from] ?? 0);
    else {
      while (from < to) {
        const next = firstAtLeast(codes, (codes[from] ?? 0) + 1, from, to);
        people += peopleIn(table, wanted, last, level + 1, from, next);
        from = next;
      }
    }
    from = to;
  }
  return people;
}

const MOST_CODES = 0xffff_ffff;
const EVERYTHING: Ranges = [[0, MOST_CODES + 1]];

/** The first row from `low` to `high` whose code is at least `code`, else `high`. Near rows are found first: groups are often small. */
function firstAtLeast(codes: Uint32Array, code: number, low: number, high: number): number {
  let from = low;
  let step = 1;
  while (from + step < high && (codes[from + step - 1] ?? 0) < code) {
    from += step;
    step *= 2;
  }
  let to = Math.min(from + step, high);
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((codes[middle] ?? 0) < code) from = middle + 1;
    else to = middle;
  }
  return from;
}
