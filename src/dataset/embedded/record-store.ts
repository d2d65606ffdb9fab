import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { Condition } from "../../shared/contract/conditions.ts";
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { slugOf } from "../../shared/contract/naming/slug.ts";
import { KEY_INDEXES, type KeyIndex, type ListedIndex, type PlacedColumn } from "../columns.ts";
import type { CompanyLookup, FoundCompany } from "../engine.ts";
import { FILES } from "../layout.ts";
import { opened, RECORDS_A_BLOCK, unpackBlock } from "./blocks.ts";
import { KEYS_A_BLOCK, ridsOf, spanIn } from "./key-blocks.ts";
import { addressKeys, type KeyList } from "./keys.ts";
import { type Block, blockOf, COMPANIES, PEOPLE, type Stored } from "./records.ts";
import { RowReader, type RowReaderOptions } from "./row-reader.ts";

/**
 * Keys that are looked up in one piece, and blocks of
 * entries that are read by one: about a millisecond each.
 */
const KEYS_AT_ONCE = 100;
const BLOCKS_AT_ONCE = 32;
/**
 * Unpacked blocks that are kept, in bytes of all of
 * them: the end of a page is the beginning of the next.
 */
const KEPT_BYTES = 4 * 2 ** 20;

interface LeadingBlock {
  readonly number: number;
  readonly block: Buffer | undefined;
}

const NO_BLOCK: LeadingBlock = { number: 0, block: undefined };
const NOTHING = { below: 0, upTo: 0, size: 0 };

type KeyRange = Pick<Extract<Condition, { kind: "prefix" }>, "from" | "before">;
type Table = "people" | "companies";
const TABLES = [
  "people",
  "companies",
  ...KEY_INDEXES.map((index) => `by_${index}` as const),
] as const;

const entriesOf = (table: (typeof TABLES)[number], data: Buffer): number =>
  table === "people" || table === "companies" ? blockOf(data).starts.length - 1 : (data[0] ?? 0);

export interface StoredCompany extends FoundCompany {
  /** Position in the order of ids; what employees refer to. */
  readonly seq: number;
  readonly address: string | undefined;
}

/**
 * Every call is a few look-ups of blocks, on this
 * thread while they are quick: see {@link RowReader}.
 */
export class RecordStore {
  readonly #rows: RowReader;
  readonly #path: string;
  readonly #dictionaries: ReadonlyMap<string, Buffer>;
  readonly #sizes: ReadonlyMap<string, number>;
  readonly #cache = new LRUCache<string, Block>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ bytes }) => bytes.buffer.byteLength,
  });

  constructor(folder: string, options: RowReaderOptions = {}) {
    this.#path = join(folder, FILES.records);
    this.#rows = new RowReader(this.#path, options);

    const { db } = this.#rows;
    const dictionaries: { name: string; data: unknown }[] = db
      .prepare("SELECT name, data FROM dictionaries")
      .all();
    const sizes: { name: string; entries: number }[] = db
      .prepare("SELECT name, entries FROM sizes")
      .all();

    this.#dictionaries = new Map(
      dictionaries.map(({ name, data }) => [
        name,
        opened(data, 0, `${this.#path}: the dictionary of ${name}`),
      ]),
    );
    this.#sizes = new Map(sizes.map(({ name, entries }) => [name, Number(entries)]));
  }

  /** In the order of the positions. @throws Error where one is missing, DatasetDamagedError */
  async people(rids: Uint32Array): Promise<Buffer[]> {
    return PEOPLE.json(await this.#records("people", rids));
  }

  async #records(table: Table, rids: Uint32Array): Promise<Stored[]> {
    const blocks = new Map<number, Block>();
    const missing = new Set<number>();
    for (const rid of rids) {
      const number = Math.floor(rid / RECORDS_A_BLOCK);
      if (blocks.has(number) || missing.has(number)) continue;
      const block = this.#cache.get(`${table} ${number}`);
      if (block) blocks.set(number, block);
      else missing.add(number);
    }

    for (const [number, data] of await this.#blocks(table, [...missing])) {
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

  async #blocks(
    table: string,
    numbers: readonly number[],
  ): Promise<(readonly [block: number, data: Buffer])[]> {
    if (numbers.length === 0) return [];
    const sql =
      "SELECT t.block AS block, t.data AS data FROM json_each(?) AS " +
      `wanted JOIN ${table} AS t ON t.block = wanted.value`;
    const rows = await this.#rows.all(sql, `[${numbers.join(",")}]`);
    return rows.map((row) => {
      const block = Number(row.block);
      return [block, this.#open(table, block, row.data)] as const;
    });
  }

  #open(table: string, block: number, data: unknown): Buffer {
    const bytes = opened(data, block, `${this.#path}: ${table}`);
    const dictionary = this.#dictionaries.get(table.replace("by_", ""));
    return dictionary === undefined ? bytes : unpackBlock(bytes, dictionary);
  }

  async company(lookup: CompanyLookup): Promise<StoredCompany | undefined> {
    if (lookup.by !== "company_network_url")
      return this.#companyAt(`company_${lookup.by}`, [lookup.value]);

    const slug = slugOf(lookup.value);
    if (slug === lookup.value)
      return this.#companyAt("company_address", addressKeys([{ slug, address: undefined }]));

    const whole = await this.#companyAt(
      "company_address",
      addressKeys([{ slug, address: lookup.value }]),
    );
    // A company of which only the slug is known may be this one.
    return whole ?? this.#companyAt("company_address", [`${slug}/`]);
  }

  async #companyAt(index: ListedIndex, keys: KeyList): Promise<StoredCompany | undefined> {
    let seq = Number.POSITIVE_INFINITY;
    for await (const piece of this.find(index, keys))
      for (const rid of piece) seq = Math.min(seq, rid);
    if (seq === Number.POSITIVE_INFINITY) return undefined;

    const stored = await this.#records("companies", Uint32Array.of(seq));
    const [record] = COMPANIES.json(stored);
    const [fields] = stored.map((each) => COMPANIES.fields(each));
    if (!record || !fields) return undefined;

    const address = fields("company_network_url");
    return {
      seq,
      id: String(fields("id")),
      address: typeof address === "string" ? canonicalAddress(address) : undefined,
      record,
    };
  }

  async *companies(): AsyncGenerator<string> {
    const companies = this.rows("companies");
    for (let start = 0; start < companies; start += RECORDS_A_BLOCK) {
      const length = Math.min(RECORDS_A_BLOCK, companies - start);
      const records = await this.#records(
        "companies",
        Uint32Array.from({ length }, (_, index) => start + index),
      );
      for (const record of COMPANIES.json(records)) yield record.toString();
    }
  }

  /**
   * Positions in no order, in pieces of about a millisecond.
   * The same one may come twice where it is wanted twice.
   */
  async *find(index: ListedIndex, keys: KeyList): AsyncGenerator<readonly number[]> {
    for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
      const few: number[] = [];
      for (const { before, block, from } of await this.#spans(
        index,
        keys.slice(start, start + KEYS_AT_ONCE),
      )) {
        if (block)
          few.push(...ridsOf(block, from % KEYS_A_BLOCK, ((before - 1) % KEYS_A_BLOCK) + 1));
        else if (from < before) yield* this.#entries(index, from, before);
      }

      yield few;
    }
  }

  async *#entries(
    index: ListedIndex,
    from: number,
    before: number,
  ): AsyncGenerator<readonly number[]> {
    const end = Math.ceil(before / KEYS_A_BLOCK);
    for (let start = Math.floor(from / KEYS_A_BLOCK); start < end; start += BLOCKS_AT_ONCE) {
      const numbers = Array.from(
        { length: Math.min(BLOCKS_AT_ONCE, end - start) },
        (_, number) => start + number,
      );
      const blocks = await this.#blocks(`by_${index}`, numbers);
      yield blocks.flatMap(([block, data]) => {
        const first = block * KEYS_A_BLOCK;
        return ridsOf(data, Math.max(0, from - first), Math.min(data[0] ?? 0, before - first));
      });
    }
  }

  /**
   * Which entries, counted from 0 in the order of the index,
   * have each key: from the first to before the second.
   */
  async spans(
    index: PlacedColumn,
    keys: readonly string[],
  ): Promise<(readonly [number, number])[]> {
    const spans: (readonly [number, number])[] = [];
    for (let start = 0; start < keys.length; start += KEYS_AT_ONCE) {
      const some = await this.#spans(index, keys.slice(start, start + KEYS_AT_ONCE));
      spans.push(...some.map(({ before, from }) => [from, before] as const));
    }
    return spans;
  }

  /**
   * Which entries, counted from 0 in the order of the index,
   * lie in a range: from the first to before the second.
   */
  async places(
    index: PlacedColumn,
    { from, before }: KeyRange,
  ): Promise<readonly [number, number]> {
    // By code points: SQLite compares the bytes of UTF-8.
    const keys = before === undefined ? [from] : [from, before];
    const [start = 0, end = this.rows(`by_${index}`)] = await this.#countsBelow(index, "<", keys);
    return [start, end];
  }

  /** @returns with the block where they all lie in one */
  async #spans(index: KeyIndex, wanted: KeyList) {
    const keys = wanted.map((one) => (typeof one === "string" ? one : one.from));
    const leading = await this.#leading(index, "<", keys);
    const spans = wanted.map((one, place) => {
      const { block, number } = leading[place] ?? NO_BLOCK;
      const {
        below,
        size,
        upTo: last,
      } = block ? spanIn(index, block, Buffer.from(keys[place] ?? "")) : NOTHING;
      const upTo =
        block && typeof one !== "string"
          ? spanIn(index, block, Buffer.from(one.before)).below
          : last;

      const first = number * KEYS_A_BLOCK;
      const isWhole = upTo < size;
      return {
        one,
        isWhole,
        from: first + below,
        before: first + upTo,
        block: isWhole && upTo > below ? block : null,
      };
    });

    for (const below of ["<", "<="] as const) {
      const long = spans.filter(
        ({ isWhole, one }) => !isWhole && (typeof one === "string") === (below === "<="),
      );
      const ends = long.map(({ one }) => (typeof one === "string" ? one : one.before));
      for (const [place, before] of (await this.#countsBelow(index, below, ends)).entries()) {
        const span = long[place];
        if (span) span.before = before;
      }
    }

    return spans;
  }

  /** Of each key in turn. */
  async #leading(
    index: KeyIndex,
    below: "<" | "<=",
    keys: readonly string[],
  ): Promise<readonly LeadingBlock[]> {
    const rows = await this.#rows.all(
      `SELECT t.block AS block, t.data AS data FROM json_each(?) AS wanted LEFT JOIN by_${index} AS t ON t.block =
        coalesce((SELECT block FROM first_by_${index} WHERE key ${below} wanted.value ORDER BY key DESC, block DESC LIMIT 1), 0)`,
      JSON.stringify(keys),
    );
    return rows.map(({ block: row, data }) => {
      const number = Number(row);
      return { number, block: data === null ? undefined : this.#open(`by_${index}`, number, data) };
    });
  }

  async #countsBelow(
    index: KeyIndex,
    below: "<" | "<=",
    keys: readonly string[],
  ): Promise<readonly number[]> {
    if (keys.length === 0) return [];
    const leading = await this.#leading(index, below, keys);
    return leading.map(({ block, number }, place) => {
      const span = block ? spanIn(index, block, Buffer.from(keys[place] ?? "")) : NOTHING;
      return number * KEYS_A_BLOCK + (below === "<" ? span.below : span.upTo);
    });
  }

  astray(index: ListedIndex, people: number): number {
    const marks = new Uint8Array(people);
    let astray = 0;
    for (const [block, data] of this.#sealed(`by_${index}`)) {
      for (const rid of ridsOf(this.#open(`by_${index}`, block, data))) {
        if (rid >= people || marks[rid] === 1) astray++;
        else marks[rid] = 1;
      }
    }
    return astray;
  }

  rows(table: Table | `by_${KeyIndex}`): number {
    return this.#sizes.get(table) ?? 0;
  }

  check(): string[] {
    const { db } = this.#rows;
    const checks: { integrity_check: string }[] = db.prepare("PRAGMA integrity_check(5)").all();
    const problems = checks.map((row) => row.integrity_check).filter((text) => text !== "ok");

    for (const table of TABLES) {
      let entries = 0;
      let next = 0;
      for (const [block, data] of this.#sealed(table)) {
        if (block !== next) problems.push(`${this.#path}: ${table}: block ${next} is missing`);
        next = block + 1;

        try {
          entries += entriesOf(table, this.#open(table, block, data));
        } catch (error) {
          const first = block * RECORDS_A_BLOCK;
          const whom =
            table === "people"
              ? `: people ${first} to ${first + RECORDS_A_BLOCK - 1} in public order`
              : "";
          problems.push(`${error instanceof Error ? error.message : String(error)}${whom}`);
        }
      }

      if (problems.length === 0 && entries !== this.rows(table)) {
        problems.push(`${this.#path}: ${table} has ${entries} entries, not ${this.rows(table)}`);
      }
    }

    return problems;
  }

  *#sealed(table: string): Generator<readonly [block: number, data: unknown]> {
    // Not iterate(): it reads freed memory where its statement is collected as garbage in between.
    const some = this.#rows.db.prepare(
      `SELECT block, data FROM ${table} WHERE block >= ? ORDER BY block LIMIT 256`,
    );
    for (let rows = some.all(0); rows.length > 0; rows = some.all(Number(rows.at(-1).block) + 1)) {
      for (const { block, data } of rows) yield [Number(block), data];
    }
  }

  close(): Promise<void> {
    return this.#rows.close();
  }
}
