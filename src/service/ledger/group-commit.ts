import { setTimeout as setTimer } from "node:timers";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import type { Durability } from "./database.ts";
import {
  resultCode,
  SQLITE_BUSY,
  SQLITE_CONSTRAINT,
  StoreUnavailableError,
  translateError,
} from "./errors.ts";
import { answer, type Caller, type Outcome } from "./facts.ts";

interface GroupCommitOptions<Request> {
  /**
   * Inside a transaction. What concerns one request is its
   * outcome; what it throws takes the whole group back.
   */
  readonly apply: (group: readonly Request[]) => readonly Outcome[];
  /** Called after each commit: what it throws is what the callers get instead of their outcomes. */
  readonly confirm: () => void;
  readonly waitMs: number;
  readonly size: number;
  readonly patienceMs: number;
  /**
   * How many more durable changes can come soon: the group does not wait once all of them are in.
   */
  readonly expected: () => number;
  /** Anything but `FULL` loses acknowledged charges when the power fails. */
  readonly synchronous: "FULL" | "NORMAL";
}

type Job<Request> = Caller & { readonly request: Request };

/** How long one attempt blocks the event loop on a lock of another process. */
const LOCK_WAIT_MS = 20;
function isOfOneChange(error: unknown): boolean {
  const code = resultCode(error);
  return (
    code === SQLITE_CONSTRAINT || (code === undefined && !(error instanceof StoreUnavailableError))
  );
}

/**
 * The one writer of a process. Volatile changes are committed
 * at once; durable ones wait for company and sync all.
 */
export class GroupCommit<Request> {
  readonly #database: DatabaseSyncInstance;
  readonly #options: GroupCommitOptions<Request>;
  readonly #begin: StatementSyncInstance;
  readonly #commit: StatementSyncInstance;
  #durable: Job<Request>[] = [];
  #volatile: Job<Request>[] = [];
  #volatileScheduled = false;
  #timer: NodeJS.Timeout | undefined;
  #immediate = false;
  #level = "";
  #retrying: Promise<void> | undefined;

  constructor(database: DatabaseSyncInstance, options: GroupCommitOptions<Request>) {
    this.#database = database;
    this.#options = options;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commit = database.prepare("COMMIT");
    database.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
  }

  run(durability: Durability, request: Request): Promise<unknown> {
    const promise = new Promise<unknown>((resolve, reject) => {
      (durability === "durable" ? this.#durable : this.#volatile).push({
        request,
        resolve,
        reject,
      });
    });
    this.#schedule();
    return promise;
  }

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

  async #retry(jobs: readonly Job<Request>[], durable: boolean): Promise<void> {
    const attempts = Math.ceil(this.#options.patienceMs / LOCK_WAIT_MS);
    let isDone = false;
    for (let attempt = 1; attempt < attempts && !isDone; attempt += 1) {
      await new Promise((resolve) => setTimer(resolve, 1 + (attempt % 5)));
      isDone = this.#attempt(jobs, durable);
    }

    this.#retrying = undefined;

    if (!isDone) {
      const error = new StoreUnavailableError(
        `the ledger was locked by another process for ${this.#options.patienceMs} ms`,
      );
      for (const job of jobs) job.reject(error);
    }

    this.#schedule();
  }

  #attempt(jobs: readonly Job<Request>[], durable: boolean): boolean {
    try {
      const level = durable ? this.#options.synchronous : "NORMAL";
      if (level !== this.#level) {
        this.#database.exec(`PRAGMA synchronous = ${level}`);
        this.#level = level;
      }
      this.#begin.run();
    } catch (error) {
      if (resultCode(error) === SQLITE_BUSY) return false;
      for (const job of jobs) job.reject(translateError(error));
      return true;
    }

    let outcomes: readonly Outcome[];
    let committing = false;
    try {
      outcomes = this.#options.apply(jobs.map(({ request }) => request));
      committing = true;
      this.#commit.run();
    } catch (error) {
      this.#rollback(committing);
      if (jobs.length > 1 && isOfOneChange(error)) this.#eachAlone(jobs, durable);
      else for (const job of jobs) job.reject(translateError(error));
      return true;
    }

    try {
      this.#options.confirm();
    } catch (error) {
      for (const job of jobs) job.reject(error);
      return true;
    }

    answer(jobs, outcomes);
    return true;
  }

  #eachAlone(jobs: readonly Job<Request>[], durable: boolean): void {
    for (const job of jobs) {
      if (!this.#attempt([job], durable)) {
        job.reject(
          new StoreUnavailableError(
            "the ledger was locked by another process in the middle of a change",
          ),
        );
      }
    }
  }

  /**
   * A refused commit may stand whole in the log: one is
   * written over it, so that a crash cannot bring it back.
   */
  #rollback(committing: boolean): void {
    const database = this.#database;
    try {
      if (database.isTransaction) database.exec("ROLLBACK");
      if (!committing) return;
      database.exec("BEGIN IMMEDIATE");
      // The number as it is by now: a newer version of
      // the program may have moved the schema meanwhile.
      const { user_version: version } = database.prepare("PRAGMA user_version").get() as {
        user_version: number;
      };
      database.exec(`PRAGMA user_version = ${version}; COMMIT`);
    } catch {
      // The next commit that succeeds overwrites the pages.
      if (database.isTransaction) database.exec("ROLLBACK");
    }
  }
}
