import { join } from "node:path";
import { conditionsOf } from "../../contract/conditions.ts";
import type { Facet } from "../../contract/facets.ts";
import { type CanonicalFilters, canonicalJson } from "../../contract/filters.ts";
import { verifyFiles } from "../build/verify.ts";
import { acquireDuckDb, literal, machineResources, type OpenDuckDb, type Resources, releaseDuckDb } from "../duckdb.ts";
import {
  type CompanyLookup,
  type DatasetInfo,
  type Engine,
  type FacetQuestion,
  type FoundCompany,
  ofCompany,
  type RecordPage,
  type Slice,
} from "../engine.ts";
import { DatasetDamagedError, type DatasetMeta, FILES, markInUse, type ReadMark, readMeta } from "../layout.ts";
import { type Segment, type SegmentCache, segmentCache, WholeDataset } from "../segment.ts";
import { ATTACHED, ConnectionPool } from "./connection-pool.ts";
import { Counts } from "./counts.ts";
import { RecordStore } from "./record-store.ts";
import { Selection } from "./selection.ts";

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

/** DuckDB for counts and selection, SQLite for records. See docs/dataset.md for the layout. */
export class DuckDbEngine implements Engine {
  readonly #meta: DatasetMeta;
  readonly #store: RecordStore;
  readonly #mark: ReadMark;
  readonly #pool: ConnectionPool;
  readonly #counts: Counts | undefined;
  readonly #segments: SegmentCache;
  readonly #selection: Selection;
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
    this.#segments = segmentCache(options.segmentBytes ?? SEGMENT_BYTES);
    const tables = { people: meta.people, counts, store, pool };
    this.#selection = new Selection(tables, options.monotonic ?? (() => performance.now()));
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
        options.statementMs ?? STATEMENT_MS,
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
      return this.#once(`count ${key}`, () => this.#selection.count(conditionsOf(filters)));
    });
  }

  facet(filters: CanonicalFilters, question: FacetQuestion, limitMs: number): Promise<Facet> {
    return this.#call(() => this.#selection.facet(conditionsOf(filters), question, limitMs));
  }

  people(filters: CanonicalFilters, slice: Slice): Promise<RecordPage> {
    return this.#call(() => this.#people(filters, slice));
  }

  async #people(filters: CanonicalFilters, slice: Slice): Promise<RecordPage> {
    const key = canonicalJson(filters);
    if (key === "{}") return this.#page(new WholeDataset(this.#meta.people), slice);
    return this.#page(await this.#segment(key, () => this.#selection.segment(conditionsOf(filters))), slice);
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
      return this.#page(
        await this.#segment(`employer ${company.seq}`, () => this.#selection.ofEmployer(company.seq)),
        slice,
      );
    });
  }

  verify(): Promise<readonly string[]> {
    return this.#call(async () => {
      try {
        return await this.#pool.use(
          (connection) => verifyFiles(connection, this.#store, this.#counts, this.#meta),
          Number.POSITIVE_INFINITY,
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
    const records = await this.#selection.records(segment.slice(slice.offset, slice.limit));
    return { records, total: segment.count };
  }
}
