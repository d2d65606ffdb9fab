import { randomBytes } from "node:crypto";
import { setTimeout as setPause } from "node:timers";
import type { Pool, PoolClient } from "pg";
import { LedgerInvariantError, StoreUnavailableError } from "./ledger.ts";
import { giveUp, isTransient, unavailable } from "./postgres-errors.ts";
import type { Row } from "./rows.ts";

/** The way to the database: what fails for a moment is tried again, up to the patience. */
export class PostgresSession {
  readonly pool: Pool;
  readonly #patienceMs: number;
  #closed = false;

  constructor(pool: Pool, patienceMs: number) {
    this.pool = pool;
    this.#patienceMs = patienceMs;
  }

  get closed(): boolean {
    return this.#closed;
  }

  assertOpen(): void {
    if (this.#closed) throw new StoreUnavailableError("the ledger is closed");
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.pool.end();
  }

  /** Yields a pause per attempt, growing and jittered; a pause answers false once the patience is at its end. */
  *pauses(): Generator<() => Promise<boolean>> {
    let left = this.#patienceMs;
    for (let attempt = 0; ; attempt += 1) {
      yield async () => {
        const ms = Math.min(10 * 2 ** attempt, 250) * (0.5 + (randomBytes(1)[0] ?? 0) / 256);
        if (left <= 0) return false;
        left -= ms;
        await new Promise((resolve) => setPause(resolve, ms));
        return !this.#closed;
      };
    }
  }

  async #retried<T>(work: (repeated: boolean) => Promise<T>): Promise<T> {
    let repeated = false;
    for (const pause of this.pauses()) {
      this.assertOpen();
      try {
        return await work(repeated);
      } catch (error) {
        if (!isTransient(error) || !(await pause())) throw unavailable(error);
        repeated = true;
      }
    }
    throw new LedgerInvariantError("unreachable: pauses never end by themselves");
  }

  query(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#retried(async () => (await this.pool.query<Row>(sql, [...values])).rows);
  }

  connect(): Promise<PoolClient> {
    return this.#retried(() => this.pool.connect());
  }

  /** @param work is told whether an earlier attempt, whose outcome is unknown, came before */
  transaction<T>(durable: boolean, work: (client: PoolClient, repeated: boolean) => Promise<T>): Promise<T> {
    return this.#retried(async (repeated) => {
      const client = await this.pool.connect();
      try {
        await client.query(`BEGIN; SET LOCAL synchronous_commit = ${durable ? "on" : "off"}`);
        const value = await work(client, repeated);
        await client.query("COMMIT");
        client.release();
        return value;
      } catch (error) {
        await giveUp(client, error);
        throw error;
      }
    });
  }
}
