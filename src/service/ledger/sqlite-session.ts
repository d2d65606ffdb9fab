import { statSync } from "node:fs";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { translateError } from "./group-commit.ts";
import { StoreUnavailableError } from "./ledger.ts";
import type { Row } from "./rows.ts";

/** One open ledger file: its statements, prepared once by their text, and errors that a caller of the store can act upon. */
export class SqliteSession {
  readonly database: DatabaseSyncInstance;
  readonly #path: string;
  /** Which file was opened, whatever the path names by now. */
  readonly #file: number;
  readonly #statements = new Map<string, StatementSyncInstance>();
  #closed = false;

  constructor(database: DatabaseSyncInstance, path: string) {
    this.database = database;
    this.#path = path;
    this.#file = statSync(path).ino;
  }

  get closed(): boolean {
    return this.#closed;
  }

  closedError(): StoreUnavailableError {
    return new StoreUnavailableError(`the ledger ${this.#path} is closed`);
  }

  assertOpen(): void {
    if (this.#closed) throw this.closedError();
  }

  /** A file that was removed or replaced while it is open still takes writes, and nobody would ever see them again. */
  assertInPlace(): void {
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#file) return;
    throw new StoreUnavailableError(`the ledger ${this.#path} was removed or replaced while it was open`);
  }

  read(sql: string, ...parameters: readonly unknown[]): Row | undefined {
    return this.#guard(() => this.#statement(sql).get(...parameters) as Row | undefined);
  }

  readAll(sql: string, ...parameters: readonly unknown[]): Row[] {
    return this.#guard(() => this.#statement(sql).all(...parameters) as Row[]);
  }

  /** @returns how many rows changed */
  run(sql: string, ...parameters: readonly unknown[]): number {
    return this.#guard(() => Number(this.#statement(sql).run(...parameters).changes));
  }

  /** Leaves the log empty behind. */
  close(): void {
    this.#closed = true;
    // The driver's statements keep the connection half open until they are collected, so SQLite's own checkpoint at the last
    // close does not come: without this one the log would stay, and grow over many short commands.
    try {
      this.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } catch {
      // Everything that was acknowledged is in the log, and stays there.
    }
    this.#statements.clear();
    this.database.close();
  }

  #statement(sql: string): StatementSyncInstance {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    // Amounts above 2^53 millionths must not pass through a float.
    const statement = this.database.prepare(sql, { readBigInts: true });
    this.#statements.set(sql, statement);
    return statement;
  }

  #guard<T>(work: () => T): T {
    this.assertOpen();
    try {
      return work();
    } catch (error) {
      // Inside a transaction the writer has to see SQLite's own code; outside, the caller wants the store's error.
      throw this.database.isTransaction ? error : translateError(error);
    }
  }
}
