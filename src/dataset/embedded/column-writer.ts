import { crc32 } from "node:zlib";
import type { PlacedColumn } from "../columns.ts";
import { COLUMNS_MAGIC, type ColumnFileHeader, type ColumnHeader, KINDS } from "./column-file.ts";
import { type Codes, edgesOf, PEOPLE_A_CHUNK } from "./scan.ts";
import { crcOf, SpanWriter } from "./span-file.ts";

export const codesFor = (size: number, people: number): Codes =>
  new KINDS[size < 2 ** 8 ? 1 : size < 2 ** 16 ? 2 : 4](people);

/**
 * The different values of a column in rising order, of texts by code point, a line
 * feed behind each, and how many and how many bytes without these.
 */
export interface ColumnValues {
  readonly isNumber: boolean;
  readonly size: number;
  readonly bytes: number;
  /**
   * Gives all lines, in pieces that are spoiled.
   * @param take returns how many bytes of whole lines it took
   */
  readonly each: (take: (lines: Buffer) => Promise<number>) => Promise<void>;
}

export function valueLines(values: readonly (string | number)[], isNumber = false): ColumnValues {
  const lines = Buffer.from(values.map((value) => `${value}\n`).join(""));
  const each: ColumnValues["each"] = async (take) => void (await take(lines));
  return { isNumber, size: values.length, bytes: lines.length - values.length, each };
}

const LINE_FEED = 10;

export class ColumnWriter {
  readonly #file: SpanWriter;
  readonly #people: number;
  readonly #columns: Record<string, ColumnHeader> = {};

  private constructor(file: SpanWriter, people: number) {
    this.#file = file;
    this.#people = people;
  }

  static async create(path: string, people: number): Promise<ColumnWriter> {
    return new ColumnWriter(await SpanWriter.create(path, COLUMNS_MAGIC), people);
  }

  /** @param codes a value's place among them by person */
  async add(column: string, values: ColumnValues, codes: Codes): Promise<void> {
    const { isNumber, size } = values;
    const before = new Uint32Array(size + 2);
    for (const code of codes) {
      if (code > size) throw new Error(`a person has value ${code} of ${column}, of ${size}`);
      before[code + 1] = (before[code + 1] ?? 0) + 1;
    }

    for (let code = 1; code < before.length; code++)
      before[code] = (before[code] ?? 0) + (before[code - 1] ?? 0);

    this.#columns[column] = {
      ...(await this.#coded(codes, size)),
      ...(await (isNumber ? this.#numbers(values) : this.#texts(values))),
      before: await this.#file.put(before),
    };
  }

  /** @param order the people who have a text, in the order of these: of equal ones by position */
  async addOrder(column: PlacedColumn, order: Uint32Array): Promise<void> {
    const codes = codesFor(order.length, this.#people).fill(order.length);
    for (const [place, person] of order.entries()) codes[person] = place;
    this.#columns[column] = await this.#coded(codes, order.length);
  }

  async #coded(codes: Codes, size: number): Promise<ColumnHeader> {
    const chunks = Math.ceil(codes.length / PEOPLE_A_CHUNK);
    const least = codesFor(size, chunks);
    const most = codesFor(size, chunks);
    const sums = new Uint32Array(chunks);
    for (let chunk = 0; chunk < chunks; chunk++) {
      const first = chunk * PEOPLE_A_CHUNK;
      const own = codes.subarray(first, first + PEOPLE_A_CHUNK);
      [least[chunk], most[chunk]] = edgesOf(own);
      sums[chunk] = crcOf(own);
    }

    return {
      size,
      width: codes.BYTES_PER_ELEMENT as 1 | 2 | 4,
      at: await this.#file.append(codes),
      sums: await this.#file.put(sums),
      least: await this.#file.put(least),
      most: await this.#file.put(most),
    };
  }

  finish(): Promise<void> {
    const header: ColumnFileHeader = { people: this.#people, columns: this.#columns };
    return this.#file.finish(header);
  }

  abandon(): Promise<void> {
    return this.#file.abandon();
  }

  async #numbers({ each, size }: ColumnValues): Promise<Pick<ColumnHeader, "numbers">> {
    const numbers: number[] = [];
    await each(async (lines) => {
      const end = lines.lastIndexOf(LINE_FEED) + 1;
      for (const line of lines.toString("latin1", 0, end).split("\n").slice(0, -1))
        numbers.push(Number(line));
      return end;
    });
    if (numbers.length !== size) throw new Error(`${numbers.length} numbers, not ${size}`);

    return { numbers: await this.#file.put(Float64Array.from(numbers)) };
  }

  /** As they come: so they are never in memory as a whole. */
  async #texts({
    bytes,
    each,
    size,
  }: ColumnValues): Promise<Pick<ColumnHeader, "starts" | "texts">> {
    if (bytes >= 2 ** 32) throw new Error("the different texts of a column are more than 4 GB");

    const starts = new Uint32Array(size + 1);
    const at = this.#file.reserve(bytes);
    let crc = 0;
    let total = 0;
    let texts = 0;
    await each(async (lines) => {
      let start = 0;
      let to = 0;
      for (let end = lines.indexOf(LINE_FEED); end >= 0; end = lines.indexOf(LINE_FEED, start)) {
        lines.copyWithin(to, start, end);
        to += end - start;
        start = end + 1;
        starts[++texts] = total + to;
      }

      const own = lines.subarray(0, to);
      await this.#file.write(own, at + total);
      crc = crc32(own, crc);
      total += to;

      return start;
    });
    if (texts !== size || total !== bytes)
      throw new Error(`${texts} texts of ${total} bytes, not ${size} of ${bytes}`);

    return { starts: await this.#file.put(starts), texts: { at, bytes, crc } };
  }
}
