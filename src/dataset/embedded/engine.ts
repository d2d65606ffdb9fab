import { join } from "node:path";
import type { DuckDBResult } from "@duckdb/node-api";
import { type Condition, conditionsOf, type Sql } from "../../contract/conditions.ts";
import { type CanonicalFilters, canonicalJson } from "../../contract/filters.ts";
import { verifyFiles } from "../build/verify.ts";
import {
  acquireDuckDb,
  literal,
  machineResources,
  type OpenDuckDb,
  type Resources,
  releaseDuckDb,
  toNumber,
} from "../duckdb.ts";
import {
  type CompanyLookup,
  type DatasetInfo,
  type Engine,
  type FoundCompany,
  ofCompany,
  type RecordPage,
  type Slice,
} from "../engine.ts";
import { DatasetDamagedError, type DatasetMeta, FILES, markInUse, type ReadMark, readMeta } from "../layout.ts";
import { BitmapSegment, ListSegment, type Segment, type SegmentCache, segmentCache, WholeDataset } from "../segment.ts";
import { ATTACHED, ConnectionPool } from "./connection-pool.ts";
import { Counts } from "./counts.ts";
import { hasPlaces, intersect, isIndexed, keysOf, listed, meets, planOf, scan } from "./plan.ts";
import { type FieldsOf, RecordStore } from "./record-store.ts";
import { TimeSlices } from "./time-slices.ts";

export interface DuckDbEngineOptions {
  readonly resources?: Resources;
  readonly segmentBytes?: number;
  /** A statement that takes longer, waiting in line included, is stopped: the call rejects with OutOfTimeError. Default 30 s. */
  readonly statementMs?: number;
  /** Whether small tables of counts are kept in memory. Default true; without them DuckDB counts. */
  readonly countsInMemory?: boolean;
  readonly connections?: number;
  /** A read of the row store that takes longer goes on in a thread of its own, in milliseconds: {@link RowReader}. */
  readonly slowReadMs?: number;
  /** A clock in milliseconds, to keep the event loop free; only differences count. */
  readonly monotonic?: () => number;
}

const SEGMENT_BYTES = 128 * 2 ** 20;
const STATEMENT_MS = 30_000;
/** Records that are read in one piece: a quarter of a millisecond when the file is in memory, some when it is not. */
const RECORDS_AT_ONCE = 25;
const READING_MS = 5;
/** A record without fields meets no condition. */
const NOBODY: FieldsOf = () => null;
/** Candidates that are checked on their records, 5 us each; beyond, one pass with a semi-join is cheaper (docs/dataset.md). */
const mostCandidates = (people: number): number => Math.min(1_000, Math.max(200, Math.floor(people / 1_000)));

/** Entries of an index that are found one by one where nothing else is asked: a third of a millisecond. More are scanned for. */
const FOUND_ALONE = 1_000;

/** DuckDB for counts and selection, SQLite for records. See docs/dataset.md for the layout. */
export class DuckDbEngine implements Engine {
  readonly #meta: DatasetMeta;
  readonly #store: RecordStore;
  readonly #mark: ReadMark;
  readonly #pool: ConnectionPool;
  readonly #counts: Counts | undefined;
  readonly #statementMs: number;
  readonly #segments: SegmentCache;
  readonly #slices: TimeSlices;
  readonly #running = new Map<string, Promise<Segment | number>>();
  #calls = 0;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  private constructor(
    meta: DatasetMeta,
    store: RecordStore,
    mark: ReadMark,
    pool: ConnectionPool,
    counts: Counts | undefined,
    options: DuckDbEngineOptions,
  ) {
    this.#meta = meta;
    this.#store = store;
    this.#mark = mark;
    this.#pool = pool;
    this.#counts = counts;
    this.#statementMs = options.statementMs ?? STATEMENT_MS;
    this.#segments = segmentCache(options.segmentBytes ?? SEGMENT_BYTES);
    this.#slices = new TimeSlices(READING_MS, options.monotonic ?? (() => performance.now()));
  }

  /** Opens one version folder, read-only. Several processes may read the same folder. */
  static async open(folder: string, options: DuckDbEngineOptions = {}): Promise<DuckDbEngine> {
    const mark = markInUse(folder);
    const resources = options.resources ?? machineResources();
    let duckdb: OpenDuckDb | undefined;
    let store: RecordStore | undefined;
    try {
      const meta = await readMeta(folder);
      duckdb = await acquireDuckDb(resources);
      const { connection } = duckdb;
      await connection.run(`ATTACH ${literal(join(folder, FILES.people))} AS filters (READ_ONLY)`);
      await connection.run(`ATTACH ${literal(join(folder, FILES.lookups))} AS lookups (READ_ONLY)`);
      const inMemory = options.countsInMemory !== false;
      const counts = inMemory ? await Counts.load(join(folder, FILES.counts), meta.people) : undefined;
      store = new RecordStore(folder, { slowMs: options.slowReadMs, monotonic: options.monotonic });
      const pool = new ConnectionPool(
        duckdb,
        resources,
        options.connections ?? Math.min(8, Math.max(4, resources.threads)),
      );
      return new DuckDbEngine(meta, store, mark, pool, counts, options);
    } catch (error) {
      await store?.close();
      if (duckdb) await releaseDuckDb(resources, duckdb, ATTACHED);
      mark.release();
      if (!(error instanceof Error) || error instanceof DatasetDamagedError || "code" in error) throw error;
      throw new DatasetDamagedError(`the dataset in ${folder} cannot be opened: ${error.message}`, { cause: error });
    }
  }

  info(): DatasetInfo {
    const { version, people, companies } = this.#meta;
    return { version, people, companies };
  }

  count(filters: CanonicalFilters): Promise<number> {
    return this.#call(async () => {
      const key = canonicalJson(filters);
      if (key === "{}") return this.#meta.people;
      const known = this.#segments.get(key) ?? this.#running.get(key);
      if (known) {
        const segment = await known;
        if (typeof segment !== "number") return segment.count;
      }
      return this.#once(`count ${key}`, () => this.#countNow(filters));
    });
  }

  people(filters: CanonicalFilters, slice: Slice): Promise<RecordPage> {
    return this.#call(() => this.#people(filters, slice));
  }

  async #people(filters: CanonicalFilters, slice: Slice): Promise<RecordPage> {
    const key = canonicalJson(filters);
    if (key === "{}") return this.#page(new WholeDataset(this.#meta.people), slice);
    return this.#page(await this.#segment(key, () => this.#select(filters)), slice);
  }

  company(lookup: CompanyLookup): Promise<FoundCompany | undefined> {
    return this.#call(async () => {
      const found = await this.#store.company(lookup);
      return found && { id: found.id, record: found.record };
    });
  }

  employees(companyId: string, slice: Slice): Promise<RecordPage> {
    return this.#call(async () => {
      const company = await this.#store.company({ by: "id", value: companyId });
      if (!company) return { records: [], total: 0 };
      if (company.address !== undefined) return this.#people(ofCompany(company.address), slice);
      const sql = {
        text: "SELECT rid FROM lookups.by_employer WHERE key = ?::UINTEGER",
        values: [company.seq],
      };
      return this.#page(await this.#segment(`employer ${company.seq}`, () => this.#sorted(sql)), slice);
    });
  }

  verify(): Promise<readonly string[]> {
    return this.#call(async () => {
      try {
        return await this.#pool.use(undefined, (connection) =>
          verifyFiles(connection, this.#store, this.#counts, this.#meta),
        );
      } catch (error) {
        return [`the files cannot be read to their end: ${error instanceof Error ? error.message : String(error)}`];
      }
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  async #shutDown(): Promise<void> {
    if (this.#calls > 0) {
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    }
    await this.#store.close();
    await this.#pool.close();
    this.#mark.release();
  }

  async #call<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#closing) throw new Error("the dataset is closed");
    this.#calls++;
    try {
      return await work();
    } finally {
      this.#calls--;
      if (this.#calls === 0) this.#idle?.();
    }
  }

  /** Equal questions that are asked at the same time are answered once. */
  async #once<Result extends Segment | number>(key: string, work: () => Promise<Result>): Promise<Result> {
    const running = this.#running.get(key);
    // A key names one kind of result: counts begin with "count ".
    if (running) return (await running) as Result;
    const promise = work();
    this.#running.set(key, promise);
    try {
      return await promise;
    } finally {
      this.#running.delete(key);
    }
  }

  async #segment(key: string, work: () => Promise<Segment>): Promise<Segment> {
    const cached = this.#segments.get(key);
    if (cached) return cached;
    const segment = await this.#once(key, work);
    this.#segments.set(key, segment);
    return segment;
  }

  async #page(segment: Segment, slice: Slice): Promise<RecordPage> {
    const rids = segment.slice(slice.offset, slice.limit);
    const records = await this.#inPieces(rids, (piece) => this.#store.people(piece));
    return { records, total: segment.count };
  }

  async #countNow(filters: CanonicalFilters): Promise<number> {
    const conditions = conditionsOf(filters);
    const known = this.#counts?.count(conditions) ?? (await this.#countIndexed(conditions));
    if (known !== undefined) return known;
    const few = await this.#selectFew(conditions);
    if (few) return few.count;
    const { lookups, rest } = planOf(conditions);
    if (lookups.length > 0 && rest.length > 0) return (await this.#narrow(lookups, rest)).count;
    const source = lookups.length > 0 ? intersect(lookups) : await this.#scan(rest);
    const text = `SELECT count(*) FROM (${source.text})`;
    return this.#pool.use(this.#statementMs, async (connection) => {
      const reader = await connection.runAndReadAll(text, [...source.values]);
      return toNumber(reader.getRowsJS()[0]?.[0]);
    });
  }

  async #select(filters: CanonicalFilters): Promise<Segment> {
    const conditions = conditionsOf(filters);
    const few = await this.#selectFew(conditions);
    if (few) return few;
    const { lookups, rest } = planOf(conditions);
    if (lookups.length === 0) return this.#bitmap(await this.#scan(rest));
    return rest.length > 0 ? this.#narrow(lookups, rest) : this.#sorted(intersect(lookups));
  }

  /** A scan of the filter table; long texts are scanned by their places, which the row store's index knows. */
  async #scan(conditions: readonly Condition[], lookups: readonly Sql[] = []): Promise<Sql> {
    const places = new Map<Condition, readonly [number, number]>();
    for (const condition of conditions) {
      if (hasPlaces(condition)) places.set(condition, await this.#store.places(condition.column, condition));
    }
    return scan(conditions, places, lookups);
  }

  /** How many people have one of some names or headlines, or a beginning of them, from the row store's index. */
  async #countIndexed(conditions: readonly Condition[]): Promise<number | undefined> {
    const [condition] = conditions;
    // One person may be found by two of the addresses.
    if (conditions.length !== 1 || !condition || !isIndexed(condition) || condition.kind === "address")
      return undefined;
    return this.#store.count(condition.column, condition, FOUND_ALONE);
  }

  /** People of some addresses, or few of a name, a headline or a beginning: the row store finds them, what else is asked is checked of them. */
  async #selectFew(conditions: readonly Condition[]): Promise<Segment | undefined> {
    const candidates = mostCandidates(this.#meta.people);
    const most = conditions.length === 1 ? FOUND_ALONE : candidates;
    for (const condition of conditions.toSorted(
      (a, b) => Number(b.kind === "address") - Number(a.kind === "address"),
    )) {
      // Addresses are nowhere else.
      const found = await this.#find(condition, condition.kind === "address" ? Number.POSITIVE_INFINITY : most);
      if (!found) continue;
      const rest = conditions.filter((other) => other !== condition);
      if (rest.length === 0) return new ListSegment(found);
      if (found.length <= candidates) return this.#filtered(found, rest);
      const plan = planOf(rest);
      return this.#ordered(await this.#scan(plan.rest, [listed(found), ...plan.lookups]));
    }
    return undefined;
  }

  /** The positions in order; undefined where there is no index, or where there are more than `most`. */
  async #find(condition: Condition, most: number): Promise<Uint32Array | undefined> {
    if (!isIndexed(condition)) return undefined;
    const { index, wanted } = keysOf(condition);
    if (condition.kind === "prefix" && ((await this.#store.count(index, condition, 0)) ?? 0) > most) return undefined;
    const rids = new Set<number>();
    for (const keys of wanted) {
      for await (const piece of this.#store.find(index, keys)) {
        for (const rid of piece) rids.add(rid);
        if (rids.size > most) return undefined;
        await this.#slices.take();
      }
    }
    return Uint32Array.from(rids).sort();
  }

  async #filtered(rids: Uint32Array, conditions: readonly Condition[]): Promise<Segment> {
    const records = await this.#inPieces(rids, (piece) => this.#store.fields(piece));
    return new ListSegment(rids.filter((_, index) => meets(records[index] ?? NOBODY, conditions)));
  }

  async #narrow(lookups: readonly Sql[], rest: readonly Condition[]): Promise<Segment> {
    const candidates = intersect(lookups);
    const most = mostCandidates(this.#meta.people);
    const few = await this.#pool.use(this.#statementMs, async (connection) => {
      const text = `SELECT rid FROM (${candidates.text}) LIMIT ${most + 1}`;
      return collect(await connection.run(text, [...candidates.values]));
    });
    if (few.length <= most) return this.#filtered(few.sort(), rest);
    return this.#ordered(await this.#scan(rest, lookups));
  }

  async #inPieces<Item>(rids: Uint32Array, read: (piece: Uint32Array) => Promise<Item[]>): Promise<Item[]> {
    const items: Item[] = [];
    for (let start = 0; start < rids.length; start += RECORDS_AT_ONCE) {
      await this.#slices.take();
      items.push(...(await read(rids.subarray(start, start + RECORDS_AT_ONCE))));
    }
    return items;
  }

  /** The positions that a statement gives, in order. For one that may give many, since DuckDB sorts them in threads of its own. */
  async #ordered({ text, values }: Sql): Promise<Segment> {
    return new ListSegment(await this.#rids({ text: `${text} ORDER BY rid`, values }));
  }

  /** The positions that a short statement gives: its ORDER BY would cost half as much again. */
  async #sorted(sql: Sql): Promise<Segment> {
    return new ListSegment((await this.#rids(sql)).sort());
  }

  #rids(sql: Sql): Promise<Uint32Array> {
    return this.#pool.use(this.#statementMs, async (connection) =>
      collect(await connection.stream(sql.text, [...sql.values])),
    );
  }

  /** The positions as bits, aggregated inside DuckDB, so that nothing is copied or sorted row by row. */
  #bitmap(sql: Sql): Promise<Segment> {
    // A whole number of bytes, so that DuckDB puts no padding before the first bit.
    const bits = Math.ceil(this.#meta.people / 8) * 8;
    return this.#pool.use(this.#statementMs, async (connection) => {
      const text = `SELECT bitstring_agg(rid, 0::UINTEGER, ${Math.max(bits - 1, 1)}::UINTEGER) FROM (${sql.text})`;
      const value = (await connection.runAndReadAll(text, [...sql.values])).getRows()[0]?.[0];
      if (value === null || value === undefined) return new ListSegment(new Uint32Array());
      if (typeof value !== "object" || !("data" in value) || !(value.data instanceof Uint8Array)) {
        throw new Error("DuckDB gave no bits");
      }
      // The first byte says how much padding there is: none.
      return new BitmapSegment(new Uint8Array(value.data.subarray(1))).compact(() => this.#slices.take());
    });
  }
}

async function collect(result: DuckDBResult): Promise<Uint32Array> {
  const parts: Uint32Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = await result.fetchChunk();
    if (!chunk || chunk.rowCount === 0) break;
    const part = Uint32Array.from(chunk.getColumnValues(0), Number);
    parts.push(part);
    length += part.length;
  }
  const all = new Uint32Array(length);
  let next = 0;
  for (const part of parts) {
    all.set(part, next);
    next += part.length;
  }
  return all;
}
