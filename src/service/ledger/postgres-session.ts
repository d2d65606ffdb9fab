import { randomBytes } from "node:crypto";
import { setTimeout as setPause } from "node:timers";
import type { Pool, PoolClient, QueryResult } from "pg";
import { isUntrusted } from "../../shared/errors.ts";
import type { Durability, PreparedStatement, Row, StatementResult } from "./database.ts";
import { StoreUnavailableError } from "./errors.ts";
import { assertSchema } from "./schema.ts";

/**
 * Serialisation, deadlock, lock timeout, too many connections,
 * shutting down, starting up: it may succeed soon.
 */
const TRANSIENT = /^(40001|40P01|55P03|53300|57P0\d|08...)$/;
const CONNECTION =
  /ECONN|EPIPE|ETIMEDOUT|ENOENT|EHOSTUNREACH|terminat|timeout|Client has encountered a connection error|closed/i;

interface PostgresFailure extends Error {
  readonly code?: string;
  readonly severity?: string;
  readonly hostname?: string;
}

export const isTransientFailure = (error: unknown): boolean => {
  const { code, severity, message } = error as PostgresFailure;
  if (severity !== undefined) return code !== undefined && TRANSIENT.test(code);
  return CONNECTION.test(`${code ?? ""} ${message}`);
};

/**
 * Of a first connection: the user, the password or the database is wrong, or was not given, or the
 * server's certificate is not trusted.
 */
export function isTurnedAway(error: unknown): boolean {
  const { code, severity } = error as PostgresFailure;
  if (severity !== undefined) return code !== undefined && /^(28|3D)/.test(code);
  return code === undefined ? !isTransientFailure(error) : isUntrusted(code);
}

/** What a caller of the store can act upon; other errors pass as they are. */
export function unavailable(error: unknown): unknown {
  const { code, hostname, severity } = error as PostgresFailure;
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    const host = hostname ?? "of that name";
    const where = `there is no host ${host}; check the address of the database`;
    return new StoreUnavailableError(`the ledger's database cannot be reached: ${where}`, {
      cause: error,
    });
  }
  if (severity === undefined && !isTransientFailure(error)) return error;

  return new StoreUnavailableError(
    `the ledger's database cannot be used: ${(error as Error).message}`,
    {
      cause: error,
    },
  );
}

export class CommitInDoubt extends Error {
  override readonly name = "CommitInDoubt";

  constructor(cause: unknown) {
    super("the connection was lost at the commit", { cause });
  }
}

export type Execute = (statement: PreparedStatement) => Promise<StatementResult>;

type Rest = () => number;

export const A_DAY: Rest = () => 86_400_000;

/** How long a server that was away a moment ago is tried. */
const IMPATIENCE_MS = 500;

export class PostgresSession {
  readonly #pool: Pool;
  readonly #patienceMs: number;
  #away = false;
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
   * Tries again what may succeed soon: one deadline
   * over attempts, pauses and answers, from `since` on.
   */
  async retried<Value>(
    work: (repeated: boolean, left: Rest) => Promise<Value>,
    since = performance.now(),
  ): Promise<Value> {
    const patience = this.#away ? Math.min(IMPATIENCE_MS, this.#patienceMs) : this.#patienceMs;
    const deadline = Math.max(
      since + patience,
      performance.now() + Math.min(IMPATIENCE_MS, patience),
    );
    const left = (): number => Math.max(1, deadline - performance.now());

    for (let attempt = 0; ; attempt += 1) {
      this.assertOpen();
      try {
        const value = await work(attempt > 0, left);
        this.#away = false;
        return value;
      } catch (thrown) {
        const error = thrown instanceof CommitInDoubt ? thrown.cause : thrown;
        if (!isTransientFailure(error)) throw unavailable(error);
        const ms = Math.min(10 * 2 ** attempt, 250) * (0.5 + (randomBytes(1)[0] ?? 0) / 256);
        this.#away = left() <= ms;
        if (this.#away) throw unavailable(error);
        await new Promise((resolve) => setPause(resolve, ms));
        if (this.#closed) throw unavailable(error);
      }
    }
  }

  read(sql: string, values: readonly unknown[], each?: Rest): Promise<readonly Row[]> {
    return this.retried(async (_, left) => {
      const client = await this.#connect(left);
      try {
        const { rows } = await ask(client, { sql, values }, each ?? left);
        client.release();
        return rows;
      } catch (error) {
        client.release(isBroken(error));
        throw error;
      }
    });
  }

  snapshot<Value>(work: (execute: Execute) => Promise<Value>): Promise<Value> {
    const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    return this.retried((_, left) => this.#transaction(begin, work, left, A_DAY));
  }

  transaction<Value>(
    durability: Durability,
    work: (execute: Execute) => Promise<Value>,
    left: Rest,
  ): Promise<Value> {
    const synced = durability === "durable" ? "on" : "off";
    return this.#transaction(`BEGIN; SET LOCAL synchronous_commit = ${synced}`, work, left, left);
  }

  async #transaction<Value>(
    begin: string,
    work: (execute: Execute) => Promise<Value>,
    left: Rest,
    each: Rest,
  ): Promise<Value> {
    const client = await this.#connect(left);
    try {
      const [begun] = [
        await timed(client, `${begin}; SELECT version FROM schema_version`, [], left),
      ]
        .flat()
        .slice(-1);
      assertSchema((begun?.rows[0] as Row | undefined)?.version);
      const value = await work((statement) => ask(client, statement, each));

      await commit(client, left);
      client.release();

      return value;
    } catch (error) {
      await giveUp(client, error, left);
      throw error;
    }
  }

  async #connect(left: Rest): Promise<PoolClient> {
    const connecting = this.#pool.connect();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setPause(() => resolve(undefined), left());
    });
    const client = await Promise.race([connecting, late]).finally(() => clearTimeout(timer));
    if (client !== undefined) return client;

    connecting.then(
      (unused) => unused.release(),
      () => undefined,
    );

    throw new Error("timeout: no connection to the database came free");
  }
}

const isBroken = (error: unknown): boolean =>
  (error as PostgresFailure).severity === undefined && isTransientFailure(error);

async function commit(client: PoolClient, left: Rest): Promise<void> {
  try {
    const { command } = await timed(client, "COMMIT", [], left);
    if (command !== "COMMIT")
      throw new Error("the database rolled back what it was told to commit");
  } catch (error) {
    throw isTransientFailure(error) ? new CommitInDoubt(error) : error;
  }
}

/** Ends a failed transaction: a connection that may still be inside one is never used again. */
async function giveUp(client: PoolClient, error: unknown, left: Rest): Promise<void> {
  if (error instanceof CommitInDoubt || isBroken(error)) {
    client.release(true);
    return;
  }
  try {
    await timed(client, "ROLLBACK", [], left);
    client.release();
  } catch {
    client.release(true);
  }
}

/** A server that was stopped answers nothing at all: every question has its time. */
function timed(
  client: PoolClient,
  text: string,
  values: unknown[],
  left: Rest,
): Promise<QueryResult> {
  const question = { text, values, query_timeout: left() };
  return client.query(question);
}

async function ask(
  client: PoolClient,
  statement: PreparedStatement,
  left: Rest,
): Promise<StatementResult> {
  const { text, values } = numbered(statement);
  const { rows, rowCount } = await timed(client, text, values, left);
  return { rows: rows as Row[], changed: rowCount ?? 0 };
}

/**
 * The tuples of a statement as parameters with their
 * types: PostgreSQL takes them for texts otherwise.
 */
function numbered(statement: PreparedStatement): {
  readonly text: string;
  readonly values: unknown[];
} {
  if (!("rows" in statement)) return { text: statement.sql, values: [...statement.values] };
  const { rows, sql, types } = statement;
  const names = types.map((type) => (type === "id" || type === "utf8" ? "text" : type));
  const tuples = rows.map((_, row) => {
    const first = row * names.length + 1;
    return `(${names.map((name, column) => `$${first + column}::${name}`).join(", ")})`;
  });
  return { text: sql.replace("%", tuples.join(", ")), values: rows.flat() };
}
