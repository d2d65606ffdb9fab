import { join } from "node:path";
import type { DuckDBResult } from "@duckdb/node-api";
import { type Condition, conditionsOf, joinSql, type Sql, whereSql } from "../../contract/conditions.ts";
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
import { type Cube, cubeCount, findCubes } from "./cubes.ts";
import { DIALECT, intersect, isIndexed, meets, planOf, scan } from "./plan.ts";
import { RecordStore } from "./record-store.ts";
import { TimeSlices } from "./time-slices.ts";

export interface DuckDbEngineOptions {
  readonly resources?: Resources;
  readonly segmentBytes?: number;
  /** Whether small tables of counts are kept in memory. Default true; without them DuckDB counts. */
  readonly countsInMemory?: boolean;
  readonly connections?: number;
  /** A read of the row store that takes longer goes on in a thread of its own, in milliseconds: {@link RowReader}. */
  readonly slowReadMs?: number;
  /** A clock in milliseconds, to keep the event loop free; only differences count. */
  readonly monotonic?: () => number;
}

const SEGMENT_BYTES = 128 * 2 ** 20;
/** Records that are read in one piece: a quarter of a millisecond when the file is in memory, some when it is not. */
const RECORDS_AT_ONCE = 25;
const READING_MS = 5;
/** Candidates that are checked on their records, 10 us each; beyond, one pass with a semi-join is cheaper (docs/dataset.md). */
const mostCandidates = (people: number): number => Math.min(1_000, Math.max(200, Math.floor(people / 10_000)));

/** Entries of an index of the row store that are read at once, on this thread: about 0.3 ms. */
const FOUND_AT_ONCE = 1_000;

/** DuckDB for counts and selection, SQLite for records. See docs/dataset.md for the layout. */
export class DuckDbEngine implements Engine {
  readonly #meta: DatasetMeta;
  readonly #store: RecordStore;
  readonly #mark: ReadMark;
  readonly #pool: ConnectionPool;
  readonly #counts: Counts | undefined;
  readonly #cubes: readonly Cube[];
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
    cubes: readonly Cube[],
    options: DuckDbEngineOptions,
  ) {
    this.#meta = meta;
    this.#store = store;
    this.#mark = mark;
    this.#pool = pool;
    this.#counts = counts;
    this.#cubes = cubes;
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
      const cubes = await findCubes(connection);
      const inMemory = options.countsInMemory !== false;
      const counts = inMemory ? await Counts.load(join(folder, FILES.counts), meta.people) : undefined;
      store = new RecordStore(folder, { slowMs: options.slowReadMs, monotonic: options.monotonic });
      const pool = new ConnectionPool(
        duckdb,
        resources,
        options.connections ?? Math.min(8, Math.max(4, resources.threads)),
      );
      return new DuckDbEngine(meta, store, mark, pool, counts, cubes, options);
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
        return await this.#pool.use((connection) => verifyFiles(connection, this.#store, this.#counts, this.#meta));
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
    const records = await this.#records(segment.slice(slice.offset, slice.limit));
    return { records, total: segment.count };
  }

  async #countNow(filters: CanonicalFilters): Promise<number> {
    const conditions = conditionsOf(filters);
    const known = this.#counts?.count(conditions) ?? (await this.#countIndexed(conditions));
    if (known !== undefined) return known;
    const cube = cubeCount(this.#cubes, conditions, DIALECT);
    const few = cube ? undefined : await this.#selectFew(conditions);
    if (few) return few.count;
    const { lookups, rest } = planOf(conditions);
    if (!cube && lookups.length > 0 && rest.length > 0) {
      return (await this.#narrow(lookups, rest)).count;
    }
    const source = lookups.length > 0 ? intersect(lookups) : scan(rest);
    const sql = cube ?? { text: `SELECT count(*) FROM (${source.text})`, values: source.values };
    return this.#pool.use(async (connection) => {
      const reader = await connection.runAndReadAll(sql.text, [...sql.values]);
      return toNumber(reader.getRowsJS()[0]?.[0]);
    });
  }

  async #select(filters: CanonicalFilters): Promise<Segment> {
    const conditions = conditionsOf(filters);
    const few = await this.#selectFew(conditions);
    if (few) return few;
    const { lookups, rest } = planOf(conditions);
    if (lookups.length === 0) return this.#bitmap(scan(rest));
    if (rest.length > 0) return this.#narrow(lookups, rest);
    // A beginning may match most of the people, a name or an address never does.
    if (conditions.every(({ kind }) => kind === "prefix")) return this.#bitmap(intersect(lookups));
    const found = intersect(lookups);
    if (lookups.length === 1) return this.#sorted(found);
    return this.#ordered({ text: `SELECT rid FROM (${found.text}) ORDER BY rid`, values: found.values });
  }

  /** How many people have one of some names or headlines, or a beginning of them, from the row store's index. */
  async #countIndexed(conditions: readonly Condition[]): Promise<number | undefined> {
    const [condition] = conditions;
    if (conditions.length !== 1 || !condition || !isIndexed(condition)) return undefined;
    return this.#store.count(condition.column, condition, FOUND_AT_ONCE);
  }

  /** Few people of a name, a headline or a beginning: the row store finds them in a tenth of a statement; the rest is checked on records. */
  async #selectFew(conditions: readonly Condition[]): Promise<Segment | undefined> {
    // Addresses have tables of their own.
    if (conditions.some(({ kind }) => kind === "address")) return undefined;
    const most = conditions.length === 1 ? FOUND_AT_ONCE : mostCandidates(this.#meta.people);
    for (const condition of conditions) {
      const found = isIndexed(condition) && (await this.#store.find(condition.column, condition, most));
      if (!found) continue;
      const rest = conditions.filter((other) => other !== condition);
      return rest.length === 0 ? new ListSegment(found.sort()) : this.#filtered(found, rest);
    }
    return undefined;
  }

  async #filtered(rids: Uint32Array, conditions: readonly Condition[]): Promise<Segment> {
    const records = await this.#records(rids);
    return new ListSegment(rids.filter((_, index) => meets(records[index] ?? "", conditions)).sort());
  }

  async #narrow(lookups: readonly Sql[], rest: readonly Condition[]): Promise<Segment> {
    const candidates = intersect(lookups);
    const most = mostCandidates(this.#meta.people);
    const few = await this.#pool.use(async (connection) => {
      const text = `SELECT rid FROM (${candidates.text}) LIMIT ${most + 1}`;
      return collect(await connection.run(text, [...candidates.values]));
    });
    if (few.length <= most) return this.#filtered(few, rest);
    const source = { text: `rid IN (${candidates.text})`, values: candidates.values };
    const joined = joinSql([whereSql(rest, DIALECT), source], " AND ");
    return this.#ordered({ text: `SELECT rid FROM filters.people${joined.text} ORDER BY rid`, values: joined.values });
  }

  async #records(rids: Uint32Array): Promise<string[]> {
    const records: string[] = [];
    for (let start = 0; start < rids.length; start += RECORDS_AT_ONCE) {
      await this.#slices.take();
      records.push(...(await this.#store.people(rids.subarray(start, start + RECORDS_AT_ONCE))));
    }
    return records;
  }

  /** The positions that a statement gives in order. For one that may give many, since DuckDB sorts them in threads of its own. */
  async #ordered(sql: Sql): Promise<Segment> {
    return new ListSegment(await this.#rids(sql));
  }

  /** The positions that a short statement gives: its ORDER BY would cost half as much again. */
  async #sorted(sql: Sql): Promise<Segment> {
    return new ListSegment((await this.#rids(sql)).sort());
  }

  #rids(sql: Sql): Promise<Uint32Array> {
    return this.#pool.use(async (connection) => collect(await connection.stream(sql.text, [...sql.values])));
  }

  /** The positions as bits, aggregated inside DuckDB, so that nothing is copied or sorted row by row. */
  #bitmap(sql: Sql): Promise<Segment> {
    // A whole number of bytes, so that DuckDB puts no padding before the first bit.
    const bits = Math.ceil(this.#meta.people / 8) * 8;
    return this.#pool.use(async (connection) => {
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
