import { join } from "node:path";
import { deflateRawSync, type ZlibOptions } from "node:zlib";
import type { KeyIndex } from "../columns.ts";
import { FILES } from "../layout.ts";
import { threadOf } from "../thread.ts";
import {
  BLOCKS_MAGIC,
  type BlockTable,
  type RecordTable,
  TABLES,
  type TableHeader,
} from "./block-file.ts";
import { dictionaryOf, type Pieces, packing, RECORDS_A_BLOCK } from "./blocks.ts";
import { isPacked, type KeyBlocks, keyBlocks } from "./key-blocks.ts";
import { RECORD_SEPARATOR } from "./records.ts";
import { crcOf, SpanWriter } from "./span-file.ts";

const NONE = Buffer.alloc(0);
const LINE_FEED = 10;
const SEPARATOR_BYTE = RECORD_SEPARATOR.charCodeAt(0);

class Draft {
  dictionary: Buffer | undefined;
  entries = 0;
  last = NONE;
  /** Of each block where it begins (two of 32 bits), its bytes, their sum. */
  readonly blocks: number[] = [];
  readonly starts = [0];
  readonly marks: Buffer[] = [];
}

/**
 * Rows come in the order of their positions, keys in
 * theirs, all but the last part of a table in whole blocks.
 */
export class RecordWriter {
  readonly #file: SpanWriter;
  readonly #packer: BlockPacker;
  readonly #drafts = Object.fromEntries(TABLES.map((table) => [table, new Draft()])) as Readonly<
    Record<BlockTable, Draft>
  >;

  private constructor(file: SpanWriter, threads: number) {
    this.#file = file;
    this.#packer = new BlockPacker(threads);
  }

  static async create(folder: string, threads: number): Promise<RecordWriter> {
    const file = await SpanWriter.create(join(folder, FILES.records), BLOCKS_MAGIC);
    return new RecordWriter(file, threads);
  }

  /**
   * What blocks of a table are packed against: samples of
   * what it is going to hold. Before the first of them.
   */
  packAgainst(table: RecordTable | "headline", samples: readonly string[]): void {
    this.#drafts[table].dictionary = dictionaryOf(samples);
  }

  /**
   * @param lines stored records, a line feed behind each; spoiled
   * @param isLast else what fills no block is left
   */
  async addRecords(table: RecordTable, lines: Buffer<ArrayBuffer>, isLast: boolean) {
    const ends: number[] = [];
    let count = 0;
    let start = 0;
    let rows = 0;
    for (let at = lines.indexOf(LINE_FEED); at >= 0; at = lines.indexOf(LINE_FEED, at + 1)) {
      lines[at] = SEPARATOR_BYTE;
      if (++rows % RECORDS_A_BLOCK > 0 && !(isLast && at === lines.length - 1)) continue;
      // Blocks are moved together: there is nothing behind the last record of one.
      const to = ends.at(-1) ?? 0;
      lines.copyWithin(to, start, at);
      ends.push(to + at - start);
      start = at + 1;
      count = rows;
    }

    await this.#write(table, count, { bytes: lines, ends });

    return { count, size: start };
  }

  async addKeys(
    index: KeyIndex,
    lines: Buffer,
    isLast: boolean,
  ): Promise<Pick<KeyBlocks, "rids" | "size">> {
    const draft = this.#drafts[index];
    const { last, marks, rids, size, ...blocks } = keyBlocks(index, lines, isLast, draft.last);
    draft.last = last;
    draft.marks.push(Buffer.concat(marks));
    for (const mark of marks) draft.starts.push((draft.starts.at(-1) ?? 0) + mark.length);
    await this.#write(index, rids.length, blocks);
    return { rids, size };
  }

  async #write(table: BlockTable, entries: number, blocks: Pieces): Promise<void> {
    const draft = this.#drafts[table];
    draft.entries += entries;
    if (isPacked(table)) {
      const options = packing(draft.dictionary ?? NONE);
      for await (const packed of this.#packer.pack(blocks, options))
        await this.#append(draft, packed);
    } else await this.#append(draft, blocks);
  }

  async #append(draft: Draft, { bytes, ends }: Pieces): Promise<void> {
    const at = await this.#file.append(bytes.subarray(0, ends.at(-1) ?? 0));
    let start = 0;
    for (const end of ends) {
      const own = at + start;
      const sum = crcOf(bytes.subarray(start, end));
      draft.blocks.push(own % 2 ** 32, Math.floor(own / 2 ** 32), end - start, sum);
      start = end;
    }
  }

  async finish(): Promise<void> {
    await this.#packer.close();
    const header: Record<string, TableHeader> = {};

    for (const table of TABLES) {
      const { blocks, dictionary, entries, marks, starts } = this.#drafts[table];
      header[table] = {
        entries,
        blocks: await this.#file.put(Uint32Array.from(blocks)),
        starts: await this.#file.put(Uint32Array.from(starts)),
        marks: await this.#file.put(Buffer.concat(marks)),
        dictionary: isPacked(table) ? await this.#file.put(dictionary ?? NONE) : undefined,
      };
    }
    await this.#file.finish(header);
  }

  /**
   * What is being packed fails at once, so that neither
   * threads nor this one hold up who waits for the end.
   */
  async stop(): Promise<void> {
    await this.#packer.close();
  }

  async abandon(): Promise<void> {
    await this.stop();
    await this.#file.abandon();
  }
}

/** So many blocks are handed over at once: a message costs as much as packing one. */
const BLOCKS_A_MESSAGE = 128;

const TEXT = `
const { deflateRawSync } = require("node:zlib");
return ({ bytes, ends, options }) => {
  const packed = ends.map((end, index) =>
    deflateRawSync(bytes.subarray(ends[index - 1] ?? 0, end), options));
  let length = 0;
  const packedEnds = packed.map((each) => (length += each.length));
  const all = new Uint8Array(length);
  for (const [index, each] of packed.entries()) all.set(each, packedEnds[index - 1] ?? 0);
  return [{ bytes: all, ends: packedEnds }, [all.buffer]];
};`;

type Job = Pieces & { readonly options: ZlibOptions };

/** Deflates blocks in threads of its own: Node's zlib costs half as much again for each call. */
export class BlockPacker {
  readonly #threads: readonly ReturnType<typeof threadOf<Job, Pieces>>[];
  #isClosed = false;

  constructor(threads: number) {
    this.#threads = Array.from({ length: threads }, () =>
      threadOf<Job, Pieces>({ what: "a thread that packs blocks", text: TEXT }),
    );
  }

  async *pack(blocks: Pieces, options: ZlibOptions): AsyncGenerator<Pieces> {
    const { bytes, ends } = blocks;
    // A thread takes as long to start as these take to pack.
    if (ends.length < BLOCKS_A_MESSAGE) {
      for (const [index, end] of ends.entries()) {
        const packed = deflateRawSync(bytes.subarray(ends[index - 1] ?? 0, end), options);
        yield { bytes: packed, ends: [packed.length] };
      }
      return;
    }
    if (this.#isClosed) throw closed();

    const jobs: Promise<Pieces>[] = [];
    for (let from = 0; from < ends.length; from += BLOCKS_A_MESSAGE) {
      const start = ends[from - 1] ?? 0;
      const own = ends.slice(from, from + BLOCKS_A_MESSAGE).map((end) => end - start);
      // Neither Buffer's own slice, which shares the memory, nor from(), which goes value by value.
      const piece = Uint8Array.prototype.slice.call(bytes, start, start + (own.at(-1) ?? 0));
      const thread = this.#threads[jobs.length % this.#threads.length];
      if (thread) jobs.push(thread.ask({ bytes: piece, ends: own, options }, [piece.buffer]));
    }

    // Whoever waits for the first is told of its failure; the others fail with it.
    for (const job of jobs) job.catch(() => undefined);
    for (const job of jobs) yield await job;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#threads.map((thread) => thread.end(closed())));
  }
}

const closed = (): Error => new Error("the packer is closed");
