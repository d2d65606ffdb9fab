import type { DuckDBConnection } from "@duckdb/node-api";
import { type OpenDuckDb, type Resources, releaseDuckDb } from "../duckdb.ts";
import { OutOfTimeError } from "../engine.ts";

export const ATTACHED = ["filters", "lookups"];

/** An interrupt that comes between two statements is lost, so it is repeated. */
const INTERRUPT_EVERY_MS = 20;

interface Waiting {
  readonly resolve: (connection: DuckDBConnection) => void;
  readonly reject: (error: Error) => void;
}

/** Connections of one DuckDB; a query that finds none free waits in line. */
export class ConnectionPool {
  readonly #duckdb: OpenDuckDb;
  readonly #resources: Resources;
  readonly #free: DuckDBConnection[];
  readonly #waiting = new Set<Waiting>();
  readonly #most: number;
  readonly #limitMs: number;
  #made = 1;

  /** @param most connections at a time. @param limitMs of a use that says no other */
  constructor(duckdb: OpenDuckDb, resources: Resources, most: number, limitMs: number) {
    this.#duckdb = duckdb;
    this.#resources = resources;
    this.#free = [duckdb.connection];
    this.#most = most;
    this.#limitMs = limitMs;
  }

  /**
   * @param limitMs for waiting and working together; Infinity for as long as it takes. @throws OutOfTimeError where it took longer;
   * the statement has ended by then
   */
  async use<Result>(
    work: (connection: DuckDBConnection) => Promise<Result>,
    limitMs: number = this.#limitMs,
  ): Promise<Result> {
    const late = new OutOfTimeError(`no answer from the dataset within ${limitMs} ms`);
    const place: { connection?: DuckDBConnection; waiting?: Waiting; interrupting?: NodeJS.Timeout } = {};
    const stop = (): void => {
      const { connection, waiting } = place;
      if (waiting && this.#waiting.delete(waiting)) waiting.reject(late);
      connection?.interrupt();
      place.interrupting = setTimeout(stop, INTERRUPT_EVERY_MS);
    };
    const timer = limitMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(stop, limitMs);
    try {
      place.connection = await this.#take((waiting) => {
        place.waiting = waiting;
      });
      return await work(place.connection);
    } catch (error) {
      throw place.interrupting ? late : error;
    } finally {
      clearTimeout(timer);
      clearTimeout(place.interrupting);
      if (place.connection) this.#give(place.connection);
    }
  }

  /** Lets go of the files. All connections have to be free. */
  async close(): Promise<void> {
    for (const connection of this.#free) if (connection !== this.#duckdb.connection) connection.closeSync();
    await releaseDuckDb(this.#resources, this.#duckdb, ATTACHED);
  }

  async #take(inLine: (waiting: Waiting) => void): Promise<DuckDBConnection> {
    const free = this.#free.pop();
    if (free) return free;
    if (this.#made < this.#most) {
      this.#made++;
      return this.#duckdb.instance.connect();
    }
    return new Promise((resolve, reject) => {
      const waiting = { resolve, reject };
      this.#waiting.add(waiting);
      inLine(waiting);
    });
  }

  #give(connection: DuckDBConnection): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#free.push(connection);
      return;
    }
    this.#waiting.delete(next);
    next.resolve(connection);
  }
}
