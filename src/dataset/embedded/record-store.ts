import { join } from "node:path";
import { LRUCache } from "lru-cache";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { slugOf } from "../../shared/contract/naming/slug.ts";
import type { Company } from "../../shared/contract/records.ts";
import type { KeyIndex, ListedIndex, PlacedColumn } from "../columns.ts";
import type { CompanyLookup, FoundCompany } from "../engine.ts";
import { FILES } from "../layout.ts";
import {
  BLOCKS_MAGIC,
  BlockFile,
  type BlockFileHeader,
  type Blocks,
  type BlockTable,
  type Directory,
  type RecordTable,
} from "./block-file.ts";
import { RECORDS_A_BLOCK } from "./blocks.ts";
import { KEYS_A_BLOCK, ridsOf, soughtKey, spanIn } from "./key-blocks.ts";
import { addressKeys, type KeyList } from "./keys.ts";
import type { PaceOptions } from "./pace.ts";
import { type Block, blockOf, RECORD_FORMS, type Stored } from "./records.ts";
import { SpanFile } from "./span-file.ts";

/**
 * Unpacked blocks that are kept, in bytes of all of
 * them: the end of a page is the beginning of the next.
 */
const KEPT_BYTES = 4 * 2 ** 20;
/** A whole number of blocks. */
const RECORDS_A_PIECE = 32 * RECORDS_A_BLOCK;

export interface StoredCompany extends FoundCompany {
  /** Position in the order of ids; what employees refer to. */
  readonly seq: number;
  readonly address: string | undefined;
}

/** Keys that are looked up in one piece, and entries that are read by one: a millisecond each. */
const KEYS_AT_ONCE = 200;
const ENTRIES_AT_ONCE = 4_096;

type Sought = ReturnType<typeof soughtIn>;

/** Entries of an index, from the first to before the second. */
type Span = readonly [from: number, before: number];

/** Every call is a few reads of blocks, here while they are quick: see {@link BlockFile}. */
export class RecordStore {
  readonly #file: BlockFile;
  readonly #cache = new LRUCache<string, Block>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ bytes }) => bytes.buffer.byteLength,
  });

  private constructor(file: BlockFile) {
    this.#file = file;
  }

  /** @param keyBytes of blocks of keys that are kept in memory. @throws DatasetDamagedError */
  static async open(folder: string, keyBytes = 0, options: PaceOptions = {}): Promise<RecordStore> {
    const path = join(folder, FILES.records);
    const file = await SpanFile.open<BlockFileHeader>(path, BLOCKS_MAGIC);
    return new RecordStore(new BlockFile(file, keyBytes, options));
  }

  /** In the order of the positions. @throws Error where one is missing, DatasetDamagedError */
  async people(rids: Uint32Array): Promise<Buffer[]> {
    return RECORD_FORMS.people.json(await this.#records("people", rids));
  }

  async #records(table: RecordTable, rids: Uint32Array): Promise<Stored[]> {
    const blocks = new Map<number, Block>();
    const missing = new Set<number>();
    for (const rid of rids) {
      const number = Math.floor(rid / RECORDS_A_BLOCK);
      if (blocks.has(number) || missing.has(number)) continue;
      const block = this.#cache.get(`${table} ${number}`);
      if (block) blocks.set(number, block);
      else missing.add(number);
    }

    for (const [number, data] of await this.#file.read(table, missing)) {
      const block = blockOf(data);
      this.#cache.set(`${table} ${number}`, block);
      blocks.set(number, block);
    }

    return Array.from(rids, (rid) => {
      const block = blocks.get(Math.floor(rid / RECORDS_A_BLOCK));
      const place = rid % RECORDS_A_BLOCK;
      if (!block || place + 1 >= block.starts.length)
        throw new Error(`the row store has no record ${rid} of ${table}`);
      return { block, place };
    });
  }

  async company(lookup: CompanyLookup): Promise<StoredCompany | undefined> {
    const seq = await this.#position(lookup);
    if (seq === undefined) return undefined;
    const [record] = RECORD_FORMS.companies.json(
      await this.#records("companies", Uint32Array.of(seq)),
    );
    if (!record) return undefined;

    const { id, company_network_url: url } = JSON.parse(record.toString()) as Company;
    return { seq, id, address: url === null ? undefined : canonicalAddress(url), record };
  }

  /** All of a table, in order, as JSON text. @param onRead told before each piece */
  async *all(table: RecordTable, onRead?: (done: number) => void): AsyncGenerator<string> {
    const rows = this.rows(table);
    for (let start = 0; start < rows; start += RECORDS_A_PIECE) {
      onRead?.(start);
      const length = Math.min(RECORDS_A_PIECE, rows - start);
      const rids = Uint32Array.from({ length }, (_, index) => start + index);
      for (const record of RECORD_FORMS[table].json(await this.#records(table, rids)))
        yield record.toString();
    }
  }

  /**
   * Of each key or range in turn which entries have it, counted
   * from 0 in the order of the index. @throws DatasetDamagedError
   */
  async spans(index: PlacedColumn, wanted: KeyList): Promise<Span[]> {
    const spans: Span[] = [];
    for await (const piece of this.#pieces(index, wanted)) spans.push(...piece.spans);
    return spans;
  }

  /**
   * Positions in no order, in pieces of about a millisecond. The same one may
   * come twice where it is wanted twice. @throws DatasetDamagedError
   */
  async *find(index: ListedIndex, wanted: KeyList): AsyncGenerator<readonly number[]> {
    for await (const { blocks, spans } of this.#pieces(index, wanted)) {
      let few: number[] = [];
      for (const [from, before] of spans) {
        for (let at = from, next = 0; at < before; at = next) {
          const number = Math.floor(at / KEYS_A_BLOCK);
          const first = number * KEYS_A_BLOCK;
          next = Math.min(before, first + KEYS_A_BLOCK);

          const own = blocks.has(number) ? blocks : await this.#file.read(index, [number]);
          few.push(...ridsOf(own.get(number) ?? NOTHING, at - first, next - first));

          if (few.length < ENTRIES_AT_ONCE) continue;
          yield few;
          few = [];
        }
      }
      yield few;
    }
  }

  /** Of the first by id that is named so. */
  async #position({ by, value }: CompanyLookup): Promise<number | undefined> {
    if (by !== "company_network_url") return this.#first(`company_${by}`, [value]);

    const slug = slugOf(value);
    const address = slug === value ? undefined : value;
    const found = await this.#first("company_address", addressKeys([{ slug, address }]));
    // A company of which only the slug is known may be this one.
    return found ?? this.#first("company_address", [`${slug}/`]);
  }

  async #first(index: ListedIndex, keys: KeyList): Promise<number | undefined> {
    let first = Number.POSITIVE_INFINITY;
    for await (const piece of this.find(index, keys)) first = Math.min(first, ...piece);
    return Number.isFinite(first) ? first : undefined;
  }

  async *#pieces(index: KeyIndex, wanted: KeyList) {
    const directory = await this.#file.directory(index);
    for (let start = 0; start < wanted.length; start += KEYS_AT_ONCE) {
      const some = wanted.slice(start, start + KEYS_AT_ONCE);
      const sought = some.map((one) => soughtIn(directory, one));
      const numbers = new Set<number>();
      for (const { before, from } of sought) {
        numbers.add(from.block);
        if (before) numbers.add(before.block);
      }
      const blocks = await this.#file.read(index, numbers);
      yield { blocks, spans: sought.map((one) => spanOf(directory, one, blocks)) };
    }
  }

  /** How many entries are of people who have one already, or of whom there are not. */
  async astray(index: ListedIndex, people: number): Promise<number> {
    const marks = new Uint8Array(people);
    let astray = 0;
    for await (const rids of this.find(index, [{ from: "", before: undefined }])) {
      for (const rid of rids) {
        if (rid >= people || marks[rid] === 1) astray++;
        else marks[rid] = 1;
      }
    }
    return astray;
  }

  rows(table: BlockTable): number {
    return this.#file.entries(table);
  }

  /** @returns for each part a sentence where it is damaged or cannot be read */
  damage(): AsyncGenerator<string | undefined> {
    return this.#file.damage();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Blocks that have the last entry below a key, and below what comes behind it or a range. */
function soughtIn({ marks, table }: Directory, one: KeyList[number]) {
  const isKey = typeof one === "string";
  const key = soughtKey(table, isKey ? one : one.from);
  const below = marks.below(key.bytes);
  const from = { key, block: Math.max(0, below - 1) };
  if (!isKey && one.before === undefined) return { isKey, from, before: undefined };

  const end = isKey ? key : soughtKey(table, one.before ?? "");
  // Mostly not: then it ends in the block where it begins.
  const goesOn = below < marks.size && marks.compare(end.bytes, below) <= 0;
  if (!goesOn) return { isKey, from, before: { key: end, block: from.block } };
  const marked = isKey ? marks.upTo(end.bytes) : marks.below(end.bytes);
  return { isKey, from, before: { key: end, block: Math.max(0, marked - 1) } };
}

function spanOf(directory: Directory, { before, from, isKey }: Sought, blocks: Blocks): Span {
  const { entries, table } = directory;
  const placesOf = ({ block, key }: Sought["from"]): Span => {
    const first = block * KEYS_A_BLOCK;
    const size = Math.min(KEYS_A_BLOCK, entries - first);
    const { below, upTo } = spanIn(table, blocks.get(block) ?? NOTHING, size, key);
    return [first + below, first + upTo];
  };

  const start = placesOf(from);
  if (before === undefined) return [start[0], entries];
  if (isKey && before.block === from.block) return start;
  return [start[0], placesOf(before)[isKey ? 1 : 0]];
}

/** Of an index without keys. */
const NOTHING = Buffer.alloc(0);
