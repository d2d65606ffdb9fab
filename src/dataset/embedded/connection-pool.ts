import type { DuckDBConnection } from "@duckdb/node-api";
import { type OpenDuckDb, type Resources, releaseDuckDb } from "../duckdb.ts";

export const ATTACHED = ["filters", "lookups"];

/** Connections of one DuckDB; a query that finds none free waits in line. */
export class ConnectionPool {
  readonly #duckdb: OpenDuckDb;
  readonly #resources: Resources;
  readonly #free: DuckDBConnection[];
  readonly #waiting: ((connection: DuckDBConnection) => void)[] = [];
  readonly #most: number;
  #made = 1;

  constructor(duckdb: OpenDuckDb, resources: Resources, most: number) {
    this.#duckdb = duckdb;
    this.#resources = resources;
    this.#free = [duckdb.connection];
    this.#most = most;
  }

  async use<Result>(work: (connection: DuckDBConnection) => Promise<Result>): Promise<Result> {
    const connection = await this.#take();
    try {
      return await work(connection);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(connection);
      else this.#free.push(connection);
    }
  }

  /** Lets go of the files. All connections have to be free. */
  async close(): Promise<void> {
    for (const connection of this.#free) if (connection !== this.#duckdb.connection) connection.closeSync();
    await releaseDuckDb(this.#resources, this.#duckdb, ATTACHED);
  }

  async #take(): Promise<DuckDBConnection> {
    const free = this.#free.pop();
    if (free) return free;
    if (this.#made < this.#most) {
      this.#made++;
      return this.#duckdb.instance.connect();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
