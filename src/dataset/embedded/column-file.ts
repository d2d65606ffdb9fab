import { type FileHandle, open } from "node:fs/promises";
import { crc32 } from "node:zlib";
import { LRUCache } from "lru-cache";
import { DatasetDamagedError } from "../layout.ts";
import { type Dictionary, numberDictionary, textDictionary } from "./dictionary.ts";
import { CodedColumn, type Codes, type OwnCodes, PEOPLE_A_CHUNK } from "./scan.ts";

/*
 * columns.bin, little-endian: arrays at multiples of 8, a header (JSON), its CRC-32 (u32), its
 * length (u32), the magic. A dictionary holds values in rising order; a missing value has the code
 * after the last. There is a code for each person, in public order, the least and the greatest of
 * each chunk of people and the CRC-32 of its codes, and for each code how many people have one
 * before it. The code of a long text is the place of the person's entry in the row store's index
 * of it. Opening reads the header alone: all else is read when it is first asked for.
 */

export const MAGIC = "hccolum3";
export const COLUMNS_TAIL = 16;
export const KINDS: Readonly<
  Record<1 | 2 | 4, (new (length: number) => Codes) & (new (memory: ArrayBuffer) => Codes)>
> = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

/**
 * Bytes that are read, and whose checksum is computed, in
 * one round of the event loop: well below a millisecond.
 */
const READ_AT_ONCE = 2 ** 20;

export interface ByteSpan {
  readonly at: number;
  readonly bytes: number;
  readonly crc: number;
}

const NOTHING: ByteSpan = { at: 0, bytes: 0, crc: 0 };

/** Of a long text there are codes alone. */
export interface ColumnHeader {
  readonly size: number;
  readonly width: 1 | 2 | 4;
  /** Where the codes begin: those of a chunk are held against its sum, a u32. */
  readonly at: number;
  readonly sums: ByteSpan;
  readonly least: ByteSpan;
  readonly most: ByteSpan;
  readonly before?: ByteSpan;
  readonly numbers?: ByteSpan;
  readonly starts?: ByteSpan;
  readonly texts?: ByteSpan;
}

export interface ColumnFileHeader {
  readonly people: number;
  readonly columns: Readonly<Record<string, ColumnHeader>>;
}

export interface StoredColumn {
  readonly dictionary: Dictionary;
  readonly before: Uint32Array;
  readonly coded: CodedColumn;
}

/** Numbers of chunks of one column: more than people can have. */
const CHUNKS_A_COLUMN = 2 ** 20;

/** Columns that are read when they are first asked for, their codes by chunk. */
export class ColumnFile {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #header: ColumnFileHeader;
  readonly #chunks: LRUCache<number, OwnCodes>;
  readonly #columns = new Map<string, Promise<StoredColumn>>();
  readonly #codes = new Map<string, Promise<CodedColumn>>();

  private constructor(path: string, file: FileHandle, header: ColumnFileHeader, bytes: number) {
    this.#path = path;
    this.#file = file;
    this.#header = header;
    this.#chunks = new LRUCache({
      maxSize: Math.max(1, bytes),
      sizeCalculation: ({ codes, postings }) => codes.byteLength + (postings?.bytes ?? 0),
    });
  }

  /**
   * @param bytes of codes and their postings that are kept in memory
   * @throws DatasetDamagedError
   */
  static async open(path: string, people: number, bytes: number): Promise<ColumnFile> {
    const file = await open(path);
    try {
      const header = await headerOf(file);
      if (header?.people !== people) throw damaged(path, "its header");
      return new ColumnFile(path, file, header, bytes);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** All but those of long texts. */
  get names(): readonly string[] {
    const { columns } = this.#header;
    return Object.keys(columns).filter((name) => columns[name]?.before);
  }

  /** @throws DatasetDamagedError */
  column(name: string): Promise<StoredColumn> {
    return once(this.#columns, name, async () => {
      const { before, numbers, starts, texts } = this.#headerOf(name);
      const load = (span: ByteSpan = NOTHING): Promise<ArrayBuffer> => this.#load(name, span);

      const dictionary = numbers
        ? numberDictionary(new Float64Array(await load(numbers)))
        : textDictionary(new Uint32Array(await load(starts)), Buffer.from(await load(texts)));

      return {
        dictionary,
        before: new Uint32Array(await load(before)),
        coded: await this.coded(name),
      };
    });
  }

  /** @throws DatasetDamagedError */
  coded(name: string): Promise<CodedColumn> {
    return once(this.#codes, name, async () => {
      const header = this.#headerOf(name);
      const { least, most, size, width } = header;
      const Kind = KINDS[width];
      const sums = await this.#sums(name, header);

      return new CodedColumn({
        people: this.#header.people,
        size,
        least: new Kind(await this.#load(name, least)),
        most: new Kind(await this.#load(name, most)),
        chunks: this.#chunks,
        first: Object.keys(this.#header.columns).indexOf(name) * CHUNKS_A_COLUMN,
        load: async (chunk) =>
          new Kind(await this.#load(whose(name, chunk), this.#spanOf(header, sums, chunk))),
      });
    });
  }

  #headerOf(name: string): ColumnHeader {
    const header = this.#header.columns[name];
    if (!header) throw new Error(`the dataset has no column ${name}`);
    return header;
  }

  async #sums(name: string, { sums }: ColumnHeader): Promise<Uint32Array> {
    return new Uint32Array(await this.#load(name, sums));
  }

  #spanOf({ at, width }: ColumnHeader, sums: Uint32Array, chunk: number): ByteSpan {
    const first = chunk * PEOPLE_A_CHUNK;
    return {
      at: at + first * width,
      bytes: Math.min(PEOPLE_A_CHUNK, this.#header.people - first) * width,
      crc: sums[chunk] ?? 0,
    };
  }

  async #load(what: string, span: ByteSpan): Promise<ArrayBuffer> {
    const memory = new ArrayBuffer(span.bytes);
    const isWhole = await this.#read(span, (from, length) => new Uint8Array(memory, from, length));
    if (!isWhole) throw damaged(this.#path, what);
    return memory;
  }

  /**
   * Without holding the event loop.
   * @param room of a piece.
   * @returns whether it is what was written
   */
  async #read(
    { at, bytes, crc }: ByteSpan,
    room: (from: number, length: number) => Uint8Array,
  ): Promise<boolean> {
    let sum = 0;
    for (let from = 0; from < bytes; from += READ_AT_ONCE) {
      const piece = room(from, Math.min(READ_AT_ONCE, bytes - from));
      const { bytesRead } = await this.#file.read(piece, 0, piece.length, at + from);
      if (bytesRead !== piece.length) return false;
      sum = crc32(piece, sum);
    }
    return sum === crc;
  }

  /**
   * Holds every byte against its sum, in little memory.
   * @returns for each part a sentence where it is damaged or cannot be read
   */
  async *damage(): AsyncGenerator<string | undefined> {
    const room = new Uint8Array(READ_AT_ONCE);
    for await (const [what, span] of this.#parts()) {
      const read = this.#read(span, (_, length) => room.subarray(0, length));
      yield (await read.catch(() => false)) ? undefined : damaged(this.#path, what).message;
    }
  }

  async *#parts(): AsyncGenerator<readonly [what: string, ByteSpan]> {
    for (const [name, header] of Object.entries(this.#header.columns)) {
      for (const span of Object.values(header)) if (typeof span === "object") yield [name, span];

      // Sums that are damaged are told of already.
      const sums = await this.#sums(name, header).catch(() => new Uint32Array());
      for (const chunk of sums.keys())
        yield [whose(name, chunk), this.#spanOf(header, sums, chunk)];
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

const whose = (name: string, chunk: number): string =>
  `${name} of people from ${chunk * PEOPLE_A_CHUNK} in public order`;

/** What is made once for all who ask; what failed is made again. */
function once<Value>(
  made: Map<string, Promise<Value>>,
  name: string,
  make: () => Promise<Value>,
): Promise<Value> {
  const known = made.get(name);
  if (known) return known;
  const fresh = make();
  made.set(name, fresh);
  fresh.catch(() => made.delete(name));
  return fresh;
}

async function headerOf(file: FileHandle): Promise<ColumnFileHeader | undefined> {
  const { size } = await file.stat();
  const tail = Buffer.alloc(COLUMNS_TAIL);
  await file.read(tail, 0, COLUMNS_TAIL, Math.max(0, size - COLUMNS_TAIL));
  const bytes = Buffer.alloc(Math.min(tail.readUInt32LE(4), size));
  await file.read(bytes, 0, bytes.length, Math.max(0, size - COLUMNS_TAIL - bytes.length));
  const isWhole = tail.toString("latin1", 8) === MAGIC && crc32(bytes) === tail.readUInt32LE(0);
  return isWhole ? (JSON.parse(bytes.toString()) as ColumnFileHeader) : undefined;
}

const damaged = (path: string, what: string): DatasetDamagedError =>
  new DatasetDamagedError(
    `${path} is damaged (${what}); restore the dataset from a backup, ` +
      "or import or generate it again",
  );
