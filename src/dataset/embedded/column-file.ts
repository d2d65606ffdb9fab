import { LRUCache } from "lru-cache";
import { type Dictionary, numberDictionary, textDictionary } from "./dictionary.ts";
import { CodedColumn, type Codes, type OwnCodes, PEOPLE_A_CHUNK } from "./scan.ts";
import { type ByteSpan, once, SpanFile } from "./span-file.ts";

/*
 * columns.bin: a dictionary holds values in rising order; a missing value has the code
 * after the last. There is a code for each person, in public order, the least and the greatest of
 * each chunk of people and the CRC-32 of its codes, and for each code how many people have one
 * before it. The code of a long text is the place of the person's entry in the index of it
 * (key-blocks.ts).
 */

export const COLUMNS_MAGIC = "hccolum3";
export const KINDS: Readonly<
  Record<1 | 2 | 4, (new (length: number) => Codes) & (new (memory: ArrayBuffer) => Codes)>
> = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };

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
  readonly #file: SpanFile<ColumnFileHeader>;
  readonly #chunks: LRUCache<number, OwnCodes>;
  readonly #columns = new Map<string, Promise<StoredColumn>>();
  readonly #codes = new Map<string, Promise<CodedColumn>>();

  private constructor(file: SpanFile<ColumnFileHeader>, bytes: number) {
    this.#file = file;
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
    const isOwn = (header: ColumnFileHeader): boolean => header.people === people;
    return new ColumnFile(await SpanFile.open(path, COLUMNS_MAGIC, isOwn), bytes);
  }

  get #header(): ColumnFileHeader {
    return this.#file.header;
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
      const load = (span: ByteSpan = NOTHING): Promise<ArrayBuffer> => this.#file.load(name, span);

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
        least: new Kind(await this.#file.load(name, least)),
        most: new Kind(await this.#file.load(name, most)),
        chunks: this.#chunks,
        first: Object.keys(this.#header.columns).indexOf(name) * CHUNKS_A_COLUMN,
        load: async (chunk) =>
          new Kind(await this.#file.load(whose(name, chunk), this.#spanOf(header, sums, chunk))),
      });
    });
  }

  #headerOf(name: string): ColumnHeader {
    const header = this.#header.columns[name];
    if (!header) throw new Error(`the dataset has no column ${name}`);
    return header;
  }

  async #sums(name: string, { sums }: ColumnHeader): Promise<Uint32Array> {
    return new Uint32Array(await this.#file.load(name, sums));
  }

  #spanOf({ at, width }: ColumnHeader, sums: Uint32Array, chunk: number): ByteSpan {
    const first = chunk * PEOPLE_A_CHUNK;
    return {
      at: at + first * width,
      bytes: Math.min(PEOPLE_A_CHUNK, this.#header.people - first) * width,
      crc: sums[chunk] ?? 0,
    };
  }

  /**
   * Holds every byte against its sum, in little memory.
   * @returns for each part a sentence where it is damaged or cannot be read
   */
  async *damage(): AsyncGenerator<string | undefined> {
    for await (const [what, span] of this.#parts()) yield this.#file.damageOf(what, span);
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
