import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import type { PlacedColumn } from "../columns.ts";
import { type ByteSpan, COLUMNS_TAIL, type ColumnFileHeader, type ColumnHeader, KINDS, MAGIC } from "./column-file.ts";
import { type Codes, edgesOf, PEOPLE_A_BLOCK } from "./scan.ts";

export const codesFor = (size: number, people: number): Codes =>
  new KINDS[size < 2 ** 8 ? 1 : size < 2 ** 16 ? 2 : 4](people);

export class ColumnWriter {
  readonly #file: FileHandle;
  readonly #people: number;
  readonly #columns: Record<string, ColumnHeader> = {};
  readonly #orders: Partial<Record<PlacedColumn, ByteSpan>> = {};
  #at = 0;

  private constructor(file: FileHandle, people: number) {
    this.#file = file;
    this.#people = people;
  }

  static async create(path: string, people: number): Promise<ColumnWriter> {
    return new ColumnWriter(await open(path, "wx"), people);
  }

  /** @param values in rising order, texts by code point. @param codes a value's place among them by person */
  async add(column: string, values: readonly string[] | readonly number[], codes: Codes): Promise<void> {
    const size = values.length;
    const before = new Uint32Array(size + 2);
    for (const code of codes) {
      if (code > size) throw new Error(`a person has value ${code} of ${column}, of ${size}`);
      before[code + 1] = (before[code + 1] ?? 0) + 1;
    }
    for (let code = 1; code < before.length; code++) before[code] = (before[code] ?? 0) + (before[code - 1] ?? 0);
    const blocks = Math.ceil(codes.length / PEOPLE_A_BLOCK);
    const least = codesFor(size, blocks);
    const most = codesFor(size, blocks);
    for (let block = 0; block < blocks; block++) {
      [least[block], most[block]] = edgesOf(codes, block);
    }
    this.#columns[column] = {
      size,
      width: codes.BYTES_PER_ELEMENT as 1 | 2 | 4,
      ...(await this.#dictionary(values)),
      before: await this.#put(before),
      codes: await this.#put(codes),
      least: await this.#put(least),
      most: await this.#put(most),
    };
  }

  async addOrder(column: PlacedColumn, people: Uint32Array): Promise<void> {
    this.#orders[column] = await this.#put(people);
  }

  async finish(): Promise<void> {
    const { name, headline } = this.#orders;
    if (!name || !headline) throw new Error("an order of the people is missing");
    const header: ColumnFileHeader = { people: this.#people, columns: this.#columns, orders: { name, headline } };
    const bytes = Buffer.from(JSON.stringify(header));
    const tail = Buffer.alloc(COLUMNS_TAIL);
    tail.writeUInt32LE(crc32(bytes), 0);
    tail.writeUInt32LE(bytes.length, 4);
    tail.write(MAGIC, 8, "latin1");
    await this.#write(Buffer.concat([bytes, tail]), this.#at);
    await this.#file.close();
  }

  abandon(): Promise<void> {
    return this.#file.close();
  }

  async #dictionary(
    values: readonly string[] | readonly number[],
  ): Promise<Pick<ColumnHeader, "numbers" | "starts" | "texts">> {
    if (typeof values[0] === "number") return { numbers: await this.#put(Float64Array.from(values, Number)) };
    const texts = values.map((value) => Buffer.from(String(value)));
    const length = texts.reduce((sum, text) => sum + text.length, 0);
    if (length >= 2 ** 32) throw new Error("the different texts of a column are more than 4 GB");
    const starts = new Uint32Array(texts.length + 1);
    texts.forEach((text, index) => {
      starts[index + 1] = (starts[index] ?? 0) + text.length;
    });
    return { starts: await this.#put(starts), texts: await this.#put(Buffer.concat(texts)) };
  }

  async #put(array: NodeJS.TypedArray): Promise<ByteSpan> {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    const at = this.#at;
    // Zeros between two of them: each begins at a multiple of 8.
    this.#at += bytes.length + (-bytes.length & 7);
    await this.#write(bytes, at);
    return { at, bytes: bytes.length, crc: crc32(bytes) };
  }

  async #write(bytes: Uint8Array, at: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, at + done);
      done += bytesWritten;
    }
  }
}
