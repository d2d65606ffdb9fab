import { platform, resourceUsage } from "node:process";
import {
  DatabaseSync,
  type DatabaseSyncInstance,
  type StatementSyncInstance,
} from "@photostructure/sqlite";
import { nativePath } from "../../shared/packages.ts";
import { threadOf } from "../thread.ts";

type Row = Readonly<Record<string, unknown>>;
type Values = readonly (string | number)[];

export interface RowReaderOptions {
  /** A read that takes longer waited for the disk, in milliseconds. Default 1. */
  readonly slowMs?: number | undefined;
  readonly monotonic?: (() => number) | undefined;
  readonly diskReads?: (() => number) | undefined;
}

/** Far above what 25 records from memory take (0.2 ms). */
const SLOW_MS = 1;
/**
 * Quick reads of the other thread before this one reads
 * again; doubled each time that this was too soon.
 */
export const QUICK_BEFORE_RETURN = 256;
const MOST_BEFORE_RETURN = 2 ** 16;
const FORGOTTEN_AFTER = 4_096;
/** SQLite maps at most 2 GiB; what is not mapped is copied: a thousand look-ups take 8 ms more. */
const PRAGMAS = "PRAGMA cache_size = -16384; PRAGMA mmap_size = 2147418112";

const TEXT = `
const { DatabaseSync } = require(workerData.sqlite);
const db = new DatabaseSync(workerData.path, { readOnly: true });
db.exec(workerData.pragmas);
const statements = new Map();
return ({ sql, values }) => {
  const began = performance.now();
  let statement = statements.get(sql);
  if (statement === undefined) statements.set(sql, (statement = db.prepare(sql)));
  const rows = statement.all(...values);
  return [{ rows, ms: performance.now() - began }];
};`;

/**
 * Linux counts blocks read, so that a read that was slow because the machine is busy is told apart.
 */
const linuxDiskReads = (): number => {
  const { fsRead, majorPageFault } = resourceUsage();
  return fsRead + majorPageFault;
};

/** Reads itself while that takes microseconds, in a thread once a read had to wait for the disk. */
export class RowReader {
  readonly #db: DatabaseSyncInstance;
  readonly #statements = new Map<string, StatementSyncInstance>();
  readonly #slowMs: number;
  readonly #now: () => number;
  readonly #diskReads: (() => number) | undefined;
  readonly #thread: ReturnType<
    typeof threadOf<{ sql: string; values: Values }, { rows: readonly Row[]; ms: number }>
  >;
  #away = 0;
  #returnAfter = QUICK_BEFORE_RETURN;
  #quickHere = 0;

  constructor(path: string, options: RowReaderOptions = {}) {
    const sqlite = nativePath("@photostructure/sqlite");
    // A thread has no other than the native one.
    this.#slowMs = sqlite === undefined ? Number.POSITIVE_INFINITY : (options.slowMs ?? SLOW_MS);
    this.#now = options.monotonic ?? (() => performance.now());
    this.#diskReads = options.diskReads ?? (platform === "linux" ? linuxDiskReads : undefined);
    this.#db = new DatabaseSync(path, { readOnly: true });
    this.#db.exec(PRAGMAS);
    this.#thread = threadOf({
      what: "the thread that reads records",
      text: TEXT,
      data: { sqlite, path, pragmas: PRAGMAS },
    });
  }

  get db(): DatabaseSyncInstance {
    return this.#db;
  }

  async all(sql: string, ...values: Values): Promise<readonly Row[]> {
    if (this.#away > 0) return this.#ask(sql, values);

    const diskBefore = this.#diskReads?.() ?? 0;
    const began = this.#now();
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }

    const rows: readonly Row[] = statement.all(...values);
    const isFromDisk = (): boolean =>
      !this.#diskReads || this.#slowMs === 0 || this.#diskReads() > diskBefore;

    if (this.#now() - began > this.#slowMs && isFromDisk()) {
      this.#away = this.#returnAfter;
      this.#returnAfter = Math.min(2 * this.#returnAfter, MOST_BEFORE_RETURN);
      this.#quickHere = 0;
    } else if (++this.#quickHere === FORGOTTEN_AFTER) this.#returnAfter = QUICK_BEFORE_RETURN;

    return rows;
  }

  async close(): Promise<void> {
    this.#db.close();
    await this.#thread.end();
  }

  async #ask(sql: string, values: Values): Promise<readonly Row[]> {
    try {
      const { ms, rows } = await this.#thread.ask({ sql, values });
      this.#away = ms > this.#slowMs ? QUICK_BEFORE_RETURN : Math.max(0, this.#away - 1);
      return rows;
    } catch (error) {
      this.#away = this.#thread.isRunning() ? Math.max(0, this.#away - 1) : 0;
      throw error;
    }
  }
}
