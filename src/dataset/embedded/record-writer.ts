import { join } from "node:path";
import { DatabaseSync, type DatabaseSyncInstance, type StatementSyncInstance } from "@photostructure/sqlite";
import { KEY_INDEXES, type KeyIndex } from "../columns.ts";
import { FILES } from "../layout.ts";
import { dictionaryOf, packed, RECORDS_A_BLOCK, sealed } from "./blocks.ts";
import { isPacked, KEYS_A_BLOCK, KeyBlock } from "./key-blocks.ts";
import { RECORD_SEPARATOR } from "./records.ts";

/** What is packed; keys of other indexes are as they are. */
type Packed = "people" | "companies" | "headline";

const TABLES = ["people", "companies", ...KEY_INDEXES.map((index) => `by_${index}`)];

const NONE = Buffer.alloc(0);
/** Blocks that are packed at the same time, in the threads of Node's zlib; more wait. */
const IN_FLIGHT = 32;

/** Writes `records.db`: people and companies are given in the order of their positions, keys in theirs. */
export class RecordWriter {
  readonly #db: DatabaseSyncInstance;
  readonly #inserts: Readonly<Record<string, StatementSyncInstance>>;
  readonly #dictionaries: Record<Packed, Buffer> = { people: NONE, companies: NONE, headline: NONE };
  readonly #records: Record<"people" | "companies", string[]> = { people: [], companies: [] };
  readonly #keys = new Map<KeyIndex, KeyBlock>();
  readonly #blocks = new Map<string, number>();
  readonly #entries = new Map<string, number>();
  readonly #packing = new Set<Promise<void>>();
  #failure: unknown;

  constructor(folder: string) {
    this.#db = new DatabaseSync(join(folder, FILES.records));
    // No journal on disk: the file is built apart from readers and flushed whole before it is published.
    this.#db.exec(`PRAGMA page_size = 32768; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
      CREATE TABLE dictionaries (name TEXT PRIMARY KEY, data BLOB NOT NULL);
      CREATE TABLE sizes (name TEXT PRIMARY KEY, entries INTEGER NOT NULL); BEGIN`);
    this.#inserts = Object.fromEntries(TABLES.flatMap((table) => this.#table(table)));
  }

  /** What blocks of a table are packed against: samples of what it is going to hold. Before the first of them. */
  packAgainst(table: Packed, samples: readonly string[]): void {
    this.#dictionaries[table] = dictionaryOf(samples);
  }

  #table(name: string): [string, StatementSyncInstance][] {
    this.#db.exec(`CREATE TABLE ${name} (block INTEGER PRIMARY KEY, data BLOB NOT NULL)`);
    const inserts: [string, StatementSyncInstance][] = [[name, this.#db.prepare(`INSERT INTO ${name} VALUES (?, ?)`)]];
    if (!name.startsWith("by_")) return inserts;
    this.#db.exec(`CREATE TABLE first_${name} (key TEXT, block INTEGER, PRIMARY KEY (key, block)) WITHOUT ROWID`);
    return [...inserts, [`first_${name}`, this.#db.prepare(`INSERT INTO first_${name} VALUES (?, ?)`)]];
  }

  /** @returns what to wait for before the next one, where many wait to be packed */
  addPerson(doc: string): Promise<void> | undefined {
    return this.#add("people", doc);
  }

  addCompany(doc: string): Promise<void> | undefined {
    return this.#add("companies", doc);
  }

  #add(table: "people" | "companies", doc: string): Promise<void> | undefined {
    const records = this.#records[table];
    return records.push(doc) < RECORDS_A_BLOCK ? undefined : this.#flush(table);
  }

  #flush(table: "people" | "companies"): Promise<void> | undefined {
    const records = this.#records[table];
    this.#records[table] = [];
    return this.#write(table, Buffer.from(records.join(RECORD_SEPARATOR)), records.length, this.#dictionaries[table]);
  }

  addKey(index: KeyIndex, key: string, rid: number): Promise<void> | undefined {
    const block = this.#keys.get(index) ?? new KeyBlock();
    if (block.size === 0) this.#keys.set(index, block);
    block.add(key, rid);
    return block.size < KEYS_A_BLOCK ? undefined : this.#flushKeys(index, block);
  }

  #flushKeys(index: KeyIndex, block: KeyBlock): Promise<void> | undefined {
    this.#keys.delete(index);
    const table = `by_${index}`;
    this.#inserts[`first_${table}`]?.run(block.first, this.#blocks.get(table) ?? 0);
    const dictionary = isPacked(index) ? this.#dictionaries[index] : undefined;
    return this.#write(table, block.bytes(), block.size, dictionary);
  }

  #write(table: string, bytes: Buffer, entries: number, dictionary: Buffer | undefined): Promise<void> | undefined {
    const block = this.#blocks.get(table) ?? 0;
    this.#blocks.set(table, block + 1);
    this.#entries.set(table, (this.#entries.get(table) ?? 0) + entries);
    const insert = (data: Buffer): void => void this.#inserts[table]?.run(block, sealed(data, block));
    if (dictionary === undefined) {
      insert(bytes);
      return undefined;
    }
    const packing: Promise<void> = packed(bytes, dictionary)
      .then(insert)
      .catch((error: unknown) => {
        this.#failure ??= error;
      })
      .finally(() => this.#packing.delete(packing));
    this.#packing.add(packing);
    return this.#packing.size < IN_FLIGHT ? undefined : this.#packed(Promise.race(this.#packing));
  }

  async #packed(blocks: Promise<unknown>): Promise<void> {
    await blocks;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async finish(): Promise<void> {
    for (const table of ["people", "companies"] as const) if (this.#records[table].length > 0) this.#flush(table);
    for (const [index, block] of this.#keys) this.#flushKeys(index, block);
    await this.#packed(Promise.all(this.#packing));
    const dictionary = this.#db.prepare("INSERT INTO dictionaries VALUES (?, ?)");
    for (const [name, data] of Object.entries(this.#dictionaries)) dictionary.run(name, sealed(data, 0));
    const size = this.#db.prepare("INSERT INTO sizes VALUES (?, ?)");
    for (const table of TABLES) size.run(table, this.#entries.get(table) ?? 0);
    this.#db.exec("COMMIT");
    this.#db.close();
  }

  /** Nothing is of use any more. */
  async abandon(): Promise<void> {
    await Promise.all(this.#packing);
    this.#db.close();
  }
}
