import { randomBytes } from "node:crypto";
import { setTimeout as setPause } from "node:timers";
import type { Pool, PoolClient } from "pg";
import type { Durability, Result, Row, Statement } from "./database.ts";
import { StoreUnavailableError } from "./ledger.ts";

/** Serialisation, deadlock, lock timeout, too many connections, shutting down, starting up: the same request may succeed soon. */
const TRANSIENT = /^(40001|40P01|55P03|53300|57P0\d|08...)$/;
const CONNECTION =
  /ECONN|EPIPE|ETIMEDOUT|ENOENT|EHOSTUNREACH|terminat|timeout|Client has encountered a connection error|closed/i;

interface PostgresFailure extends Error {
  readonly code?: string;
  readonly severity?: string;
}

export const isTransient = (error: unknown): boolean => {
  const { code, severity, message } = error as PostgresFailure;
  if (severity !== undefined) return code !== undefined && TRANSIENT.test(code);
  return CONNECTION.test(`${code ?? ""} ${message}`);
};

/** Turns what the database throws into what a caller of the store can act upon; other errors pass as they are. */
export function unavailable(error: unknown, inDoubt = false): unknown {
  if ((error as PostgresFailure).severity === undefined && !isTransient(error)) return error;
  const message = `the ledger's database cannot be used: ${(error as Error).message}`;
  return new StoreUnavailableError(message, { cause: error, inDoubt });
}

/** A commit was sent and no answer came: it may or may not stand. */
export class CommitInDoubt extends Error {
  override readonly name = "CommitInDoubt";

  constructor(cause: unknown) {
    super("the connection was lost at the commit", { cause });
  }
}

/** One connection inside one transaction. */
export type Execute = (statement: Statement) => Promise<Result>;

/** The way to the database: what fails for a moment is tried again, up to the patience. */
export class PostgresSession {
  readonly #pool: Pool;
  readonly #patienceMs: number;
  #closed = false;

  constructor(pool: Pool, patienceMs: number) {
    this.#pool = pool;
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
    await this.#pool.end();
  }

  /**
   * Works until it succeeds, fails for good, or the patience is at its end; the pauses grow and are jittered.
   * @param work is told whether it is done again. What it throws goes through {@link unavailable}, but for CommitInDoubt's cause
   */
  async retried<Value>(work: (repeated: boolean) => Promise<Value>): Promise<Value> {
    let left = this.#patienceMs;
    for (let attempt = 0; ; attempt += 1) {
      this.assertOpen();
      try {
        return await work(attempt > 0);
      } catch (thrown) {
        const error = thrown instanceof CommitInDoubt ? thrown.cause : thrown;
        if (!isTransient(error) || left <= 0) throw unavailable(error);
        const ms = Math.min(10 * 2 ** attempt, 250) * (0.5 + (randomBytes(1)[0] ?? 0) / 256);
        left -= ms;
        await new Promise((resolve) => setPause(resolve, ms));
        if (this.#closed) throw unavailable(error);
      }
    }
  }

  read(sql: string, values: readonly unknown[]): Promise<readonly Row[]> {
    return this.retried(async () => (await this.#pool.query<Row>(sql, [...values])).rows);
  }

  /** What only reads, from one snapshot. */
  async snapshot<Value>(work: (execute: Execute) => Promise<Value>): Promise<Value> {
    return this.retried(() => this.#transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", work));
  }

  /** One attempt. @throws CommitInDoubt where nobody knows whether it stands */
  transaction<Value>(durability: Durability, work: (execute: Execute) => Promise<Value>): Promise<Value> {
    const synced = durability === "durable" ? "on" : "off";
    return this.#transaction(`BEGIN; SET LOCAL synchronous_commit = ${synced}`, work);
  }

  async #transaction<Value>(begin: string, work: (execute: Execute) => Promise<Value>): Promise<Value> {
    const client = await this.#pool.connect();
    try {
      await client.query(begin);
      const value = await work((statement) => execute(client, statement));
      await commit(client);
      client.release();
      return value;
    } catch (error) {
      await giveUp(client, error);
      throw error;
    }
  }
}

async function commit(client: PoolClient): Promise<void> {
  try {
    const { command } = await client.query("COMMIT");
    if (command !== "COMMIT") throw new Error("the database rolled back what it was told to commit");
  } catch (error) {
    throw isTransient(error) ? new CommitInDoubt(error) : error;
  }
}

/** Ends a failed transaction: a connection that may still be inside one is never used again. */
async function giveUp(client: PoolClient, error: unknown): Promise<void> {
  const broken = (error as PostgresFailure).severity === undefined && isTransient(error);
  if (error instanceof CommitInDoubt || broken) {
    client.release(true);
    return;
  }
  try {
    await client.query("ROLLBACK");
    client.release();
  } catch {
    client.release(true);
  }
}

async function execute(client: PoolClient, statement: Statement): Promise<Result> {
  const { text, values } = numbered(statement);
  const { rows, rowCount } = await client.query<Row>(text, values);
  return { rows, changed: rowCount ?? 0 };
}

/** The tuples of a statement as parameters with their types: PostgreSQL takes them for texts otherwise. */
function numbered(statement: Statement): { readonly text: string; readonly values: unknown[] } {
  if (!("rows" in statement)) return { text: statement.sql, values: [...statement.values] };
  const { rows, sql, types } = statement;
  const names = types.map((type) => (type === "id" ? "text" : type));
  const tuples = rows.map((_, row) => {
    return `(${names.map((name, column) => `$${row * names.length + column + 1}::${name}`).join(", ")})`;
  });
  return { text: sql.replace("%", tuples.join(", ")), values: rows.flat() };
}
