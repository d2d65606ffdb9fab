import { join } from "node:path";
import { deflateRawSync, type ZlibOptions } from "node:zlib";
import {
  DatabaseSync,
  type DatabaseSyncInstance,
  type StatementSyncInstance,
} from "@photostructure/sqlite";
import { KEY_INDEXES, type KeyIndex } from "../columns.ts";
import { FILES } from "../layout.ts";
import { threadOf } from "../thread.ts";
import { dictionaryOf, type Pieces, packing, RECORDS_A_BLOCK, sealed } from "./blocks.ts";
import { isPacked, type KeyBlocks, keyBlocks } from "./key-blocks.ts";
import { RECORD_SEPARATOR } from "./records.ts";

type Packed = "people" | "companies" | "headline";

const TABLES = ["people", "companies", ...KEY_INDEXES.map((index) => `by_${index}`)];

const NONE = Buffer.alloc(0);
const LINE_FEED = 10;
const SEPARATOR_BYTE = RECORD_SEPARATOR.charCodeAt(0);

/**
 * Rows come in the order of their positions, keys in
 * theirs, all but the last part of a table in whole blocks.
 */
export class RecordWriter {
  readonly #db: DatabaseSyncInstance;
  readonly #inserts: Readonly<Record<string, StatementSyncInstance>>;
  readonly #dictionaries: Record<Packed, Buffer> = {
    people: NONE,
    companies: NONE,
    headline: NONE,
  };
  readonly #blocks = new Map<string, number>();
  readonly #entries = new Map<string, number>();
  readonly #packer: BlockPacker;

  constructor(folder: string, threads: number) {
    this.#packer = new BlockPacker(threads);
    this.#db = new DatabaseSync(join(folder, FILES.records));
    // No journal on disk: the file is built apart from
    // readers and flushed whole before it is published.
    this.#db.exec(`PRAGMA page_size = 32768; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
      CREATE TABLE dictionaries (name TEXT PRIMARY KEY, data BLOB NOT NULL);
      CREATE TABLE sizes (name TEXT PRIMARY KEY, entries INTEGER NOT NULL); BEGIN`);
    this.#inserts = Object.fromEntries(TABLES.flatMap((table) => this.#table(table)));
  }

  /**
   * What blocks of a table are packed against: samples of
   * what it is going to hold. Before the first of them.
   */
  packAgainst(table: Packed, samples: readonly string[]): void {
    this.#dictionaries[table] = dictionaryOf(samples);
  }

  #table(name: string): [string, StatementSyncInstance][] {
    this.#db.exec(`CREATE TABLE ${name} (block INTEGER PRIMARY KEY, data BLOB NOT NULL)`);
    const inserts: [string, StatementSyncInstance][] = [
      [name, this.#db.prepare(`INSERT INTO ${name} VALUES (?, ?)`)],
    ];

    if (!name.startsWith("by_")) return inserts;

    this.#db.exec(
      `CREATE TABLE first_${name} (key TEXT, block INTEGER, ` +
        "PRIMARY KEY (key, block)) WITHOUT ROWID",
    );

    return [
      ...inserts,
      [`first_${name}`, this.#db.prepare(`INSERT INTO first_${name} VALUES (?, ?)`)],
    ];
  }

  /**
   * @param lines stored records, a line feed behind each; spoiled
   * @param isLast else what fills no block is left
   */
  async addRecords(table: "people" | "companies", lines: Buffer<ArrayBuffer>, isLast: boolean) {
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

    this.#count(table, count);
    await this.#write(table, { bytes: lines, ends }, this.#dictionaries[table]);

    return { count, size: start };
  }

  async addKeys(
    index: KeyIndex,
    lines: Buffer,
    isLast: boolean,
  ): Promise<Pick<KeyBlocks, "rids" | "size">> {
    const table = `by_${index}`;
    const { firsts, rids, size, ...blocks } = keyBlocks(index, lines, isLast);
    const from = this.#blocks.get(table) ?? 0;
    for (const [at, first] of firsts.entries())
      this.#inserts[`first_${table}`]?.run(first, from + at);
    this.#count(table, rids.length);
    await this.#write(table, blocks, isPacked(index) ? this.#dictionaries[index] : undefined);
    return { rids, size };
  }

  #count(table: string, entries: number): void {
    this.#entries.set(table, (this.#entries.get(table) ?? 0) + entries);
  }

  async #write(table: string, blocks: Pieces, dictionary: Buffer | undefined): Promise<void> {
    if (dictionary === undefined) this.#insert(table, blocks);
    else
      for await (const packed of this.#packer.pack(blocks, packing(dictionary)))
        this.#insert(table, packed);
  }

  #insert(table: string, { bytes, ends }: Pieces): void {
    let block = this.#blocks.get(table) ?? 0;
    let start = 0;
    for (const end of ends) {
      this.#inserts[table]?.run(block, sealed(bytes.subarray(start, end), block));
      start = end;
      block++;
    }
    this.#blocks.set(table, block);
  }

  async finish(): Promise<void> {
    await this.#packer.close();
    const dictionary = this.#db.prepare("INSERT INTO dictionaries VALUES (?, ?)");
    for (const [name, data] of Object.entries(this.#dictionaries))
      dictionary.run(name, sealed(data, 0));
    const size = this.#db.prepare("INSERT INTO sizes VALUES (?, ?)");
    for (const table of TABLES) size.run(table, this.#entries.get(table) ?? 0);
    this.#db.exec("COMMIT");
    this.#db.close();
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
    this.#db.close();
  }
}

/** So many blocks are handed over at once: a message costs as much as packing one. */
const BLOCKS_A_MESSAGE = 128;

const TEXT = `
const { deflateRawSync } = require("node:zlib");
return ({ bytes, ends, options }) => {
  const packed = ends.map((end, index) => deflateRawSync(bytes.subarray(ends[index - 1] ?? 0, end), options));
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
