import { crc32 } from "node:zlib";
import { LRUCache } from "lru-cache";
import { KEY_INDEXES, type KeyIndex } from "../columns.ts";
import { RECORDS_A_BLOCK, unpackBlock } from "./blocks.ts";
import { Pace, type PaceOptions } from "./pace.ts";
import { sortedTexts } from "./sorted-texts.ts";
import { type ByteSpan, once, type SpanFile } from "./span-file.ts";

/*
 * records.bin: tables of blocks, of records (records.ts) or of keys (key-blocks.ts). For each block
 * it says where that begins, how many bytes it has, and their CRC-32 (u64, u32, u32); and of keys a
 * mark: bytes that no key of the blocks before is above, and none of its own below. These arrays
 * are read when a table is first asked for.
 */

export const BLOCKS_MAGIC = "hcblock1";

export type RecordTable = "people" | "companies";
export const TABLES = ["people", "companies", ...KEY_INDEXES] as const;
export type BlockTable = RecordTable | KeyIndex;

export interface TableHeader {
  readonly entries: number;
  readonly blocks: ByteSpan;
  readonly starts: ByteSpan;
  readonly marks: ByteSpan;
  /** What blocks are packed against, where they are. */
  readonly dictionary: ByteSpan | undefined;
}

export type BlockFileHeader = Readonly<Record<BlockTable, TableHeader>>;

/** Of one block. */
export const BLOCK_NUMBERS = 4;
/** What a block that is kept costs beside its bytes, about. */
const BLOCK_OVERHEAD = 300;
/** Blocks of a few KB each, held against their sums in one piece: a third of a millisecond. */
const CHECKED_AT_ONCE = 16;

export type Directory = Awaited<ReturnType<typeof directoryOf>>;

async function directoryOf(file: SpanFile<BlockFileHeader>, table: BlockTable) {
  const { blocks, dictionary, entries, marks, starts } = file.header[table];
  const load = (what: string, span: ByteSpan): Promise<ArrayBuffer> =>
    file.load(`${what} of ${table}`, span);

  return {
    table,
    entries,
    blocks: new Uint32Array(await load("blocks", blocks)),
    marks: sortedTexts(
      new Uint32Array(await load("starts", starts)),
      Buffer.from(await load("marks", marks)),
    ),
    dictionary: dictionary && Buffer.from(await load("dictionary", dictionary)),
  };
}
export type Blocks = ReadonlyMap<number, Buffer>;

export class BlockFile {
  readonly #file: SpanFile<BlockFileHeader>;
  readonly #pace: Pace;
  readonly #directories = new Map<string, Promise<Directory>>();
  /** Blocks of keys as they are in the file: of records those that are unpacked are kept. */
  readonly #kept: LRUCache<number, Buffer>;

  /** @param bytes of blocks of keys that are kept in memory */
  constructor(file: SpanFile<BlockFileHeader>, bytes: number, options: PaceOptions) {
    this.#file = file;
    this.#pace = new Pace(options);
    this.#kept = new LRUCache({
      maxSize: Math.max(1, bytes),
      sizeCalculation: ({ length }) => length + BLOCK_OVERHEAD,
    });
  }

  entries(table: BlockTable): number {
    return this.#file.header[table].entries;
  }

  /** @throws DatasetDamagedError */
  directory(table: BlockTable): Promise<Directory> {
    return once(this.#directories, table, () => directoryOf(this.#file, table));
  }

  /** Unpacked, by their numbers, without those that there are not. @throws DatasetDamagedError */
  async read(table: BlockTable, numbers: Iterable<number>): Promise<Blocks> {
    const { blocks, dictionary, marks } = await this.directory(table);
    const place = TABLES.indexOf(table);
    const found = new Map<number, Buffer>();
    const missing = new Map<number, Buffer>();
    const take = (number: number, bytes: Buffer): void => {
      found.set(number, dictionary ? unpackBlock(bytes, dictionary) : bytes);
    };

    for (const number of numbers) {
      const kept = this.#kept.get(number * TABLES.length + place);
      if (kept) take(number, kept);
      else if (number * BLOCK_NUMBERS < blocks.length)
        missing.set(number, Buffer.allocUnsafeSlow(spanOf(blocks, number).bytes));
    }

    if (missing.size > 0) await this.#fill(blocks, missing);

    for (const [number, bytes] of missing) {
      if (crc32(bytes) !== spanOf(blocks, number).crc)
        throw this.#file.damaged(whose(table, number));
      if (marks.size > 0) this.#kept.set(number * TABLES.length + place, bytes);
      take(number, bytes);
    }

    return found;
  }

  async #fill(blocks: Uint32Array, missing: Blocks): Promise<void> {
    if (!this.#pace.isAway) {
      this.#pace.here(() => {
        for (const [number, bytes] of missing) this.#file.fillNow(bytes, spanOf(blocks, number).at);
      });
      return;
    }

    const began = performance.now();
    await Promise.all(
      [...missing].map(([number, bytes]) => this.#file.fill(bytes, spanOf(blocks, number).at)),
    );
    this.#pace.away((performance.now() - began) / missing.size);
  }

  /**
   * Holds every byte against its sum, in little memory.
   * @returns for each part that is damaged or cannot be read
   * a sentence; nothing for a part that is whole, or a few blocks
   */
  async *damage(): AsyncGenerator<string | undefined> {
    for (const table of TABLES) {
      for (const [what, span] of Object.entries(this.#file.header[table]))
        if (typeof span === "object") yield this.#file.damageOf(`${what} of ${table}`, span);

      // Not kept. Where what says where the blocks lie is damaged, that is told of already.
      const load = this.#file.load(table, this.#file.header[table].blocks);
      const blocks = new Uint32Array(await load.catch(() => new ArrayBuffer()));
      for (let number = 0; number * BLOCK_NUMBERS < blocks.length; number++) {
        const found = await this.#file.damageOf(whose(table, number), spanOf(blocks, number));
        if (found !== undefined || number % CHECKED_AT_ONCE === 0) yield found;
      }
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

const spanOf = (blocks: ArrayLike<number>, number: number): ByteSpan => ({
  at: (blocks[number * BLOCK_NUMBERS] ?? 0) + (blocks[number * BLOCK_NUMBERS + 1] ?? 0) * 2 ** 32,
  bytes: blocks[number * BLOCK_NUMBERS + 2] ?? 0,
  crc: blocks[number * BLOCK_NUMBERS + 3] ?? 0,
});

function whose(table: BlockTable, number: number): string {
  const first = number * RECORDS_A_BLOCK;
  const whom = `: people ${first} to ${first + RECORDS_A_BLOCK - 1} in public order`;
  return `block ${number} of ${table}${table === "people" ? whom : ""}`;
}
