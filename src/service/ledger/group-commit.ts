import { setTimeout as setTimer } from "node:timers";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { LedgerInvariantError, StoreUnavailableError } from "./ledger.ts";

export interface GroupCommitOptions {
  /** The longest that a durable change waits for company, in ms. */
  readonly waitMs: number;
  /** The most changes in one transaction. */
  readonly size: number;
  /** How long a locked database is tried again before the changes are refused, in ms. */
  readonly patienceMs: number;
  /** How many more durable changes can come soon: the group does not wait once all of them are in. */
  readonly expected: () => number;
  /** The level of a durable commit; anything but `FULL` loses acknowledged charges when the power fails. */
  readonly synchronous: "FULL" | "NORMAL";
  /** Written again to have something to write: see `#rollback`. */
  readonly schemaVersion: number;
}

/** State that the changes of one transaction share, so that what is the same for all is written once and not once per change. */
export interface BatchState {
  /** A transaction starts: forget everything. */
  begin(): void;
  /** One change starts. */
  beginOne(): void;
  /** The change that started last failed: forget what it did. */
  undoOne(): void;
  /** Write the rows that are still only in memory. Throws where one of them is refused, whichever change it belongs to. */
  flush(): void;
  /** All changes are in: write what is still only in memory, sums too. */
  finish(): void;
}

/** What light work returns where it cannot go on without a savepoint of its own. It has changed nothing. */
export const ALONE = Symbol("alone");

interface Job {
  readonly work: (light: boolean) => unknown;
  /** The work reads, changes {@link BatchState} and writes nothing, unless it is told that it has a savepoint. */
  readonly light: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type JobOutcome = { readonly ok: boolean; readonly value: unknown };

/** How long one attempt blocks on a lock of another process; longer waits happen outside, where the event loop runs. */
const LOCK_WAIT_MS = 20;
export const SQLITE_BUSY = 5;
export const SQLITE_CORRUPT = 11;
const SQLITE_CONSTRAINT = 19;

/** SQLite's primary result code of an error; undefined for errors of others. The driver leaves the code out of some of its errors. */
export function resultCode(error: unknown): number | undefined {
  const { code, errcode, message } = (error ?? {}) as { code?: unknown; errcode?: unknown; message?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  if (code !== "ERR_SQLITE_ERROR") return undefined;
  const text = String(message);
  if (/is locked/.test(text)) return SQLITE_BUSY;
  if (/malformed|not a database/.test(text)) return SQLITE_CORRUPT;
  return /constraint failed/.test(text) ? SQLITE_CONSTRAINT : 1;
}

/** Turns what SQLite throws into what a caller of the store can act upon; other errors pass as they are. */
export function translateError(error: unknown): unknown {
  const code = resultCode(error);
  if (code === undefined || code === SQLITE_CONSTRAINT) return error;
  return new StoreUnavailableError(`the ledger cannot be used: ${(error as Error).message}`, { cause: error });
}

/** Refused for what it is, by the rules or by the schema, and not because the file cannot be used. */
const isOfOneChange = (error: unknown): boolean =>
  error instanceof LedgerInvariantError || resultCode(error) === SQLITE_CONSTRAINT;

/**
 * The one writer of a process. Changes that come together share a transaction and its sync, and every promise settles only after
 * the commit. A change that fails takes nothing with it: what it did in memory is undone there, what it wrote is behind a savepoint
 * of its own. The common changes (*light* ones) only gather rows in memory, which are written many at a time; where the database
 * then refuses a row, the transaction is done again with a savepoint for each change, and only the culprit fails.
 *
 * Two kinds of change, because a sync is what costs: a *durable* one (a charge, a grant, a key) is synced before it is
 * acknowledged. A *volatile* one (a hold, its release) is committed, hence visible to every process and safe against a crash
 * of any of them, but not synced: what a power failure takes back is a reservation that nobody lives to use. The next durable
 * commit syncs the same log and with it all that came before.
 */
export class GroupCommit {
  readonly #database: DatabaseSyncInstance;
  readonly #options: GroupCommitOptions;
  readonly #state: BatchState;
  readonly #statements: Record<"begin" | "commit" | "save" | "keep" | "back", StatementSyncInstance>;
  #durable: Job[] = [];
  #volatile: Job[] = [];
  #volatileScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #immediate = false;
  #level = "";
  #retrying: Promise<void> | undefined;
  #attempts = 0;

  constructor(database: DatabaseSyncInstance, state: BatchState, options: GroupCommitOptions) {
    this.#database = database;
    this.#state = state;
    this.#statements = {
      begin: database.prepare("BEGIN IMMEDIATE"),
      commit: database.prepare("COMMIT"),
      save: database.prepare("SAVEPOINT one"),
      keep: database.prepare("RELEASE one"),
      back: database.prepare("ROLLBACK TO one"),
    };
    this.#options = options;
    database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
  }

  /** Transactions begun, whatever became of them: while it stays the same, this process has changed nothing. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Runs `work` inside a transaction; resolves with its value after the commit. `work` must be synchronous. */
  run<T>(durability: "durable" | "volatile", work: () => T): Promise<T> {
    return this.#add(durability, work, false);
  }

  /**
   * As {@link run}, for work that without a savepoint leaves its rows to {@link BatchState}. It may run twice, so it must not
   * change anything else.
   * @param work is told whether it runs without a savepoint; it may then return {@link ALONE} to get one
   */
  runLight<T>(durability: "durable" | "volatile", work: (light: boolean) => T | typeof ALONE): Promise<T> {
    return this.#add(durability, work, true);
  }

  #add<T>(durability: "durable" | "volatile", work: Job["work"], light: boolean): Promise<T> {
    const promise = new Promise<T>((resolve, reject) => {
      const job: Job = { work, light, resolve: resolve as (value: unknown) => void, reject };
      (durability === "durable" ? this.#durable : this.#volatile).push(job);
    });
    this.#schedule();
    return promise;
  }

  /** Resolves once everything that was asked for so far is committed or refused. */
  async drain(): Promise<void> {
    while (this.#durable.length + this.#volatile.length > 0 || this.#retrying !== undefined) {
      if (this.#retrying !== undefined) await this.#retrying;
      else this.#flush(true);
    }
  }

  #schedule(): void {
    if (this.#retrying !== undefined) return;
    if (this.#volatile.length > 0 && !this.#volatileScheduled) {
      this.#volatileScheduled = true;
      setImmediate(() => {
        this.#volatileScheduled = false;
        if (this.#volatile.length > 0) this.#flush(false);
      });
    }
    if (this.#durable.length === 0) return;
    if (this.#durable.length >= Math.min(this.#options.size, this.#options.expected())) {
      if (this.#immediate) return;
      this.#immediate = true;
      setImmediate(() => {
        this.#immediate = false;
        if (this.#durable.length > 0) this.#flush(true);
      });
    } else if (this.#timer === undefined) {
      this.#timer = setTimer(() => this.#flush(true), this.#options.waitMs);
    }
  }

  #flush(durable: boolean): void {
    if (this.#retrying !== undefined) return;
    if (durable) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    const { size } = this.#options;
    const jobs = this.#volatile.splice(0, size);
    const durableJobs = durable ? this.#durable.splice(0, size - jobs.length) : [];
    jobs.push(...durableJobs);
    if (jobs.length === 0) return;
    if (this.#attempt(jobs, durableJobs.length > 0)) this.#schedule();
    else this.#retrying = this.#retry(jobs, durableJobs.length > 0);
  }

  /** Another process holds the lock: tries again with the event loop running, then refuses. */
  async #retry(jobs: readonly Job[], durable: boolean): Promise<void> {
    const attempts = Math.ceil(this.#options.patienceMs / LOCK_WAIT_MS);
    let done = false;
    for (let attempt = 1; attempt < attempts && !done; attempt += 1) {
      // Each attempt waits for the lock itself; this pause only lets the event loop run.
      await new Promise((resolve) => setTimer(resolve, 1 + (attempt % 5)));
      done = this.#attempt(jobs, durable);
    }
    this.#retrying = undefined;
    if (!done) {
      const error = new StoreUnavailableError(
        `the ledger was locked by another process for ${this.#options.patienceMs} ms`,
      );
      for (const job of jobs) job.reject(error);
    }
    this.#schedule();
  }

  /**
   * @param together false: every change gets a savepoint and its rows are written at once
   * @returns false where the lock could not be had; in every other case the jobs are settled
   */
  #attempt(jobs: readonly Job[], durable: boolean, together = true): boolean {
    const database = this.#database;
    const outcomes: JobOutcome[] = [];
    this.#attempts++;
    try {
      const level = durable ? this.#options.synchronous : "NORMAL";
      if (level !== this.#level) {
        database.exec(`PRAGMA synchronous = ${level}`);
        this.#level = level;
      }
      this.#statements.begin.run();
    } catch (error) {
      if (resultCode(error) === SQLITE_BUSY) return false;
      for (const job of jobs) job.reject(translateError(error));
      return true;
    }
    try {
      this.#state.begin();
      for (const job of jobs) outcomes.push((together && job.light && this.#runLight(job)) || this.#runAlone(job));
      this.#state.finish();
      this.#statements.commit.run();
    } catch (error) {
      this.#rollback();
      if (together && isOfOneChange(error)) return this.#attempt(jobs, durable, false);
      for (const job of jobs) job.reject(translateError(error));
      return true;
    }
    for (const [index, job] of jobs.entries()) {
      const outcome = outcomes[index];
      if (outcome?.ok) job.resolve(outcome.value);
      else job.reject(outcome?.value);
    }
    return true;
  }

  /**
   * @returns undefined where the change needs a savepoint
   * @throws where the whole transaction is lost
   */
  #runLight(job: Job): JobOutcome | undefined {
    this.#state.beginOne();
    try {
      const value = job.work(true);
      return value === ALONE ? undefined : { ok: true, value };
    } catch (error) {
      this.#assertUsable(error);
      this.#state.undoOne();
      // Light work believes what this process remembers: what fails is done again by work that looks.
      return undefined;
    }
  }

  /** @throws where the whole transaction is lost: the disk is full, or cannot be read or written */
  #runAlone(job: Job): JobOutcome {
    const { save, keep, back } = this.#statements;
    // What came before must stay when this change goes back, and must be seen when it reads.
    this.#state.flush();
    save.run();
    this.#state.beginOne();
    try {
      const value = job.work(false);
      this.#state.flush();
      keep.run();
      return { ok: true, value };
    } catch (error) {
      this.#assertUsable(error);
      back.run();
      keep.run();
      this.#state.undoOne();
      return { ok: false, value: error };
    }
  }

  /** Throws the error again unless it concerns one change and the transaction goes on. */
  #assertUsable(error: unknown): void {
    const code = resultCode(error);
    if (!this.#database.isTransaction || (code !== undefined && code !== SQLITE_CONSTRAINT)) throw error;
  }

  /**
   * After a commit whose sync failed, its pages may be whole in the log although the change was refused. A following commit
   * overwrites them; one is made at once, so that a crash now cannot bring the refused change back.
   */
  #rollback(): void {
    const database = this.#database;
    try {
      if (database.isTransaction) database.exec("ROLLBACK");
      database.exec(`BEGIN IMMEDIATE; PRAGMA user_version = ${this.#options.schemaVersion}; COMMIT`);
    } catch {
      // The disk is still broken: the callers have their error, and the next commit that succeeds overwrites the pages.
      if (database.isTransaction) database.exec("ROLLBACK");
    }
  }
}
