import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { conditionsOf } from "../../shared/contract/conditions.ts";
import type { Facet } from "../../shared/contract/facets.ts";
import { canonicalJson } from "../../shared/contract/filters.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import { verifyFiles } from "../build/verify.ts";
import { DatasetDamagedError } from "../damaged.ts";
import { machineResources } from "../duckdb.ts";
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
import { type DatasetMeta, FILES, markInUse, readMeta } from "../layout.ts";
import {
  type SegmentCache,
  type SegmentPositions,
  segmentCache,
  wholeDataset,
} from "../segment.ts";
import { ColumnFile } from "./column-file.ts";
import { RecordStore } from "./record-store.ts";
import { PeopleSelection } from "./selection.ts";

export interface EmbeddedEngineOptions {
  readonly segmentBytes?: number;
  /** Of codes, postings and keys that are kept in memory. Default: a third of the machine's. */
  readonly columnBytes?: number;
  /**
   * After the opening all is held against its sums: told once a sentence for each part that is
   * damaged, there or where a call meets it, and nothing at the end. Without it nobody looks at
   * what is not asked for.
   */
  readonly onChecked?: (damage?: string) => void;
  /** A search of all people that takes longer is given up with OutOfTimeError. Default 30 s. */
  readonly limitMs?: number;
  /** A read of records or keys that takes longer waited for the disk, in milliseconds: pace.ts. */
  readonly slowReadMs?: number;
  readonly monotonic?: () => number;
}

const SEGMENT_BYTES = 128 * 2 ** 20;
const LIMIT_MS = 30_000;
/** What of the bytes that are kept is for keys; the rest is for codes and postings. */
const KEY_SHARE = 1 / 4;
/** After each piece of a MB at most, 0.4 ms of CPU: what is asked meanwhile hardly waits. */
const CHECK_PAUSE_MS = 2;

interface Parts {
  readonly meta: DatasetMeta;
  readonly store: RecordStore;
  readonly mark: ReturnType<typeof markInUse>;
  readonly columns: ColumnFile;
}

/** Columns and keys for counts and selection, and records: docs/contributing/dataset-layout.md. */
export class EmbeddedEngine implements Engine {
  readonly looksUp = true;
  readonly damage: string[] = [];
  readonly #parts: Parts;
  readonly #segments: SegmentCache;
  readonly #selection: PeopleSelection;
  readonly #onChecked: EmbeddedEngineOptions["onChecked"];
  #calls = 0;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;

  private constructor(parts: Parts, options: EmbeddedEngineOptions) {
    const { columns, meta, store } = parts;
    this.#parts = parts;
    this.#segments = segmentCache(options.segmentBytes ?? SEGMENT_BYTES);
    this.#selection = new PeopleSelection(
      { people: meta.people, columns, store },
      {
        limitMs: options.limitMs ?? LIMIT_MS,
        monotonic: options.monotonic ?? (() => performance.now()),
      },
    );

    this.#onChecked = options.onChecked;
    if (options.onChecked) void this.#check(options.onChecked);
  }

  /** Opens one version folder, read-only. Several processes may read the same folder. */
  static async open(folder: string, options: EmbeddedEngineOptions = {}): Promise<EmbeddedEngine> {
    const mark = markInUse(folder);
    let columns: ColumnFile | undefined;
    try {
      const meta = await readMeta(folder);
      const bytes = options.columnBytes ?? machineResources().memoryBytes;
      const keyBytes = Math.floor(bytes * KEY_SHARE);
      const path = join(folder, FILES.columns);
      columns = await ColumnFile.open(path, meta.people, bytes - keyBytes);
      const store = await RecordStore.open(folder, keyBytes, {
        slowMs: options.slowReadMs,
        monotonic: options.monotonic,
      });
      return new EmbeddedEngine({ meta, store, mark, columns }, options);
    } catch (error) {
      await columns?.close();
      mark.release();
      if (!(error instanceof Error) || error instanceof DatasetDamagedError) throw error;
      // What the system denies is no damage; a file that is not there is.
      if ("code" in error && error.code !== "ENOENT") throw error;
      throw new DatasetDamagedError(`the dataset in ${folder} cannot be opened: ${error.message}`, {
        cause: error,
      });
    }
  }

  info(): DatasetInfo {
    const { companies, people, version } = this.#parts.meta;
    return { version, people, companies };
  }

  count(filters: CanonicalFilters): Promise<number> {
    return this.#call(async () => {
      const key = canonicalJson(filters);
      if (key === "{}") return this.#parts.meta.people;
      return this.#segments.get(key)?.count ?? this.#selection.count(conditionsOf(filters));
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
    if (key === "{}") return this.#page(wholeDataset(this.#parts.meta.people), slice);
    return this.#page(
      await this.#segment(key, () => this.#selection.segment(conditionsOf(filters))),
      slice,
    );
  }

  company(lookup: CompanyLookup): Promise<FoundCompany | undefined> {
    return this.#call(async () => {
      const company = await this.#parts.store.company(lookup);
      return company && { id: company.id, record: company.record };
    });
  }

  employees(companyId: string, slice: Slice): Promise<RecordPage> {
    return this.#call(async () => {
      const company = await this.#parts.store.company({ by: "id", value: companyId });
      if (!company) return { records: [], total: 0 };
      if (company.address !== undefined) return this.#people(ofCompany(company.address), slice);
      return this.#page(
        await this.#segment(`employer ${company.seq}`, () =>
          this.#selection.ofEmployer(company.seq),
        ),
        slice,
      );
    });
  }

  verify(): Promise<readonly string[]> {
    return this.#call(async () => {
      try {
        const { columns, meta, store } = this.#parts;
        return await verifyFiles(columns, store, meta);
      } catch (error) {
        return [
          "the files cannot be read to their end: " +
            `${error instanceof Error ? error.message : String(error)}`,
        ];
      }
    });
  }

  async #check(onChecked: (damage?: string) => void): Promise<void> {
    for (const file of [this.#parts.columns, this.#parts.store]) {
      for await (const found of file.damage()) {
        if (this.#closing) return;
        if (found !== undefined) this.#hurt(found);
        await pause(CHECK_PAUSE_MS, undefined, { ref: false });
      }
    }
    onChecked();
  }

  #hurt(found: string): void {
    if (this.damage.includes(found)) return;
    this.damage.push(found);
    this.#onChecked?.(found);
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
    await this.#parts.store.close();
    await this.#parts.columns.close();
    this.#parts.mark.release();
  }

  async #call<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#closing) throw new Error("the dataset is closed");
    this.#calls++;
    try {
      return await work();
    } catch (error) {
      if (error instanceof DatasetDamagedError) this.#hurt(error.message);
      throw error;
    } finally {
      this.#calls--;
      if (this.#calls === 0) this.#idle?.();
    }
  }

  async #segment(key: string, work: () => Promise<SegmentPositions>): Promise<SegmentPositions> {
    const cached = this.#segments.get(key);
    if (cached) return cached;
    const segment = await work();
    this.#segments.set(key, segment);
    return segment;
  }

  async #page(segment: SegmentPositions, slice: Slice): Promise<RecordPage> {
    const records = await this.#selection.records(segment.slice(slice.offset, slice.limit));
    return { records, total: segment.count };
  }
}
