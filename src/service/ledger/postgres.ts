import type { Pool } from "pg";
import { headOf, verifyChain, verifySums } from "./chain/check.ts";
import { anchoredClock } from "./clock.ts";
import {
  change,
  type Durability,
  type Row,
  runStatement,
  type Steps,
  statementRows,
  type VerifiedFile,
} from "./database.ts";
import { HoldResolvedError, StoreRefusedError, StoreUnavailableError } from "./errors.ts";
import {
  answer,
  type Caller,
  type LedgerDatabase,
  type MoneyRequest,
  type Outcome,
  type Place,
  placeIn,
  placeKey,
} from "./facts.ts";
import { moveMoney } from "./group.ts";
import { instancesBy } from "./instances.ts";
import { GROUP_SIZE, type LedgerOptions, PATIENCE_MS, type Store } from "./ledger.ts";
import {
  A_DAY,
  CommitInDoubt,
  type Execute,
  isTransientFailure,
  isTurnedAway,
  PostgresSession,
  unavailable,
} from "./postgres-session.ts";
import { makePostgresTables, POSTGRES_SCHEMA } from "./schema.ts";
import { ledgerStore } from "./store.ts";

export interface PostgresStoreOptions extends LedgerOptions {
  /** `postgres://user:password@host:port/database`. The password is in no message. */
  readonly url: string;
  readonly schema?: string;
  readonly connections?: number;
}

const INT8 = 20;

export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { ledger, now } = await openLedger(options);
  return ledgerStore(ledger, { ...options, now });
}

export async function readPostgres<Value>(
  url: string,
  read: (execute: Execute) => Promise<Value>,
): Promise<Value> {
  const { ledger } = await openLedger({ url, now: Date.now, create: false });
  try {
    return await ledger.snapshot(read);
  } finally {
    await ledger.close();
  }
}

async function openLedger(options: PostgresStoreOptions) {
  const { default: pg } = await import("pg");
  const schema = options.schema ?? "headcount";
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema))
    throw new RangeError(`not a name for a schema: ${JSON.stringify(schema)}`);

  const patienceMs = options.patienceMs ?? PATIENCE_MS;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections ?? 10,
    connectionTimeoutMillis: Math.min(2000, patienceMs),
    query_timeout: Math.max(patienceMs, 2000),
    application_name: "headcount",
    types: {
      getTypeParser: ((oid: number, format?: "text" | "binary") =>
        oid === INT8
          ? (text: string) => BigInt(text)
          : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  });

  // The request on a broken connection gets the error;
  // without a listener the same event would end the process.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => {
    client.on("error", () => undefined);
    // Before anything else that it is asked. Not as options of its start, which poolers refuse.
    client
      .query(`SET search_path = ${schema}; SET lock_timeout = ${patienceMs}`)
      .catch(() => client.end());
  });

  try {
    const client = await pool.connect().catch((error) => {
      throw isTurnedAway(error) ? new StoreRefusedError(error) : error;
    });
    try {
      await makePostgresTables(client, schema, options.create ?? true);
    } finally {
      client.release();
    }
  } catch (error) {
    await pool.end();
    throw unavailable(error);
  }

  const now = anchoredClock(options.now, options.monotonic);
  return {
    ledger: new PostgresLedger(pool, {
      now,
      patienceMs,
      groupSize: options.groupSize ?? GROUP_SIZE,
    }),
    now,
  };
}

interface Job extends Caller {
  readonly request: MoneyRequest;
  readonly durability: Durability;
  readonly askedAt: number;
  earlier?: unknown;
}

type PostgresLedgerOptions = Required<Pick<LedgerOptions, "now" | "patienceMs" | "groupSize">>;

/**
 * A queue for each account: what comes while its
 * transaction is under way goes together in the next.
 */
class PostgresLedger implements LedgerDatabase {
  readonly instances = instancesBy("CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS bigint)");
  readonly rowLock = " FOR UPDATE OF p";
  readonly #session: PostgresSession;
  readonly #options: PostgresLedgerOptions;
  readonly #queues = new Map<string, { readonly place: Place; readonly jobs: Job[] }>();
  readonly #running = new Set<Promise<void>>();
  #sequence = 0;
  #generations = 0;

  constructor(pool: Pool, options: PostgresLedgerOptions) {
    this.#session = new PostgresSession(pool, options.patienceMs);
    this.#options = options;
  }

  readonly generation = (): number => ++this.#generations;
  readonly makeHoldId = (): string => `${this.instances.id}-${(++this.#sequence).toString(36)}`;

  get closed(): boolean {
    return this.#session.closed;
  }

  read(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    return this.#session.read(sql, values);
  }

  change<Value>(durability: Durability, work: (repeated: boolean) => Steps<Value>): Promise<Value> {
    return this.#session.retried((repeated, left) =>
      this.#session.transaction(
        durability,
        (execute) => runStatement(work(repeated), execute),
        left,
      ),
    );
  }

  async money(
    durability: Durability,
    request: MoneyRequest,
    hint: Place | undefined,
  ): Promise<unknown> {
    this.#session.assertOpen();

    const place = hint ?? (await this.#placeOf(request));
    return new Promise((resolve, reject) => {
      const job: Job = { request, durability, resolve, reject, askedAt: performance.now() };
      const id = placeKey(place);
      const queue = this.#queues.get(id);
      if (queue !== undefined) {
        queue.jobs.push(job);
        return;
      }
      this.#queues.set(id, { place, jobs: [job] });
      const running = this.#work(id).finally(() => this.#running.delete(running));
      this.#running.add(running);
    });
  }

  verify(): Promise<readonly string[]> {
    return this.snapshot(findBreaches);
  }

  snapshot<Value>(read: (execute: Execute) => Promise<Value>): Promise<Value> {
    return this.#session.snapshot(read);
  }

  async tidy(): Promise<void> {}

  /** Its own log keeps copies until it reuses the files: docs/how-to/personal-data.md says so. */
  async wipe(tables: readonly string[]): Promise<boolean> {
    for (const table of tables) await this.#session.read(`VACUUM FULL ${table}`, [], A_DAY);
    return true;
  }

  async drain(): Promise<void> {
    await Promise.all(this.#running);
  }

  async close(): Promise<void> {
    await this.drain();
    await this.#session.close();
  }

  async #placeOf(request: MoneyRequest): Promise<Place> {
    if (request.kind === "hold") return request.request;
    if (request.kind === "adjust") return request.place;
    const holdId = request.kind === "settle" ? request.settlement.holdId : request.holdId;
    const [row] = await this.read("SELECT account_id, mode FROM holds WHERE id = $1", holdId);
    if (row === undefined) throw new HoldResolvedError(holdId, "unknown");
    return placeIn(row);
  }

  async #work(id: string): Promise<void> {
    // Whoever asks in the same turn of the event loop travels along.
    await new Promise((resolve) => setImmediate(resolve));
    const queue = this.#queues.get(id);
    while (queue !== undefined && queue.jobs.length > 0) {
      const jobs = queue.jobs.splice(0, this.#options.groupSize);
      try {
        await this.#commitGroup(queue.place, jobs);
      } catch (error) {
        // The database refused what the rules had let pass.
        // Each alone, so that only the culprit fails.
        const alone = jobs.length > 1 && !isUnavailable(error) ? jobs : [];
        if (alone.length === 0) for (const job of jobs) refuse(job, error);
        for (const job of alone) {
          await this.#commitGroup(queue.place, [job]).catch((reason: unknown) =>
            refuse(job, reason),
          );
        }
      }
    }

    this.#queues.delete(id);
  }

  async #commitGroup(place: Place, jobs: readonly Job[]): Promise<void> {
    // Only a charge or a grant must outlive a power failure;
    // the sync of the next one covers the holds before it.
    const durability = jobs.some((job) => job.durability === "durable") ? "durable" : "volatile";
    let decided: readonly Outcome[] = [];
    const attempt = async (execute: Execute): Promise<readonly Outcome[]> => {
      const options = { instances: this.instances, now: this.#options.now(), lock: place };
      decided = await runStatement(moveMoney(jobs, options), execute);
      return decided;
    };

    const outcomes = await this.#session.retried(async (_, left) => {
      try {
        return await this.#session.transaction(durability, attempt, left);
      } catch (error) {
        for (const [index, job] of error instanceof CommitInDoubt ? jobs.entries() : []) {
          const outcome = decided[index];
          if (outcome?.ok) job.earlier = outcome.value;
        }
        throw error;
      }
    }, jobs[0]?.askedAt);
    answer(jobs, outcomes);
  }
}

export const verifyPostgres = async (execute: Execute): Promise<VerifiedFile> => ({
  breaches: await findBreaches(execute),
  notes: [],
  head: await runStatement(headOf(), execute),
});

const findBreaches = async (execute: Execute): Promise<readonly string[]> => [
  ...(await runStatement(missingTriggers(), execute)),
  ...(await runStatement(planned(verifySums(), "nestloop"), execute)),
  ...(await runStatement(planned(verifyChain(), "hashjoin", "mergejoin"), execute)),
];

/**
 * Keeps the planner from what only its statistics could defend: after a restore it has none. Sums
 * of all are joined as a whole, and pages of five hundred row by row.
 */
function* planned<Value>(steps: Steps<Value>, ...without: readonly string[]): Steps<Value> {
  for (const join of without) yield* change(`SET LOCAL enable_${join} = off`);
  const value = yield* steps;
  for (const join of without) yield* change(`SET LOCAL enable_${join} = on`);
  return value;
}

const TRIGGERS = `SELECT t.tgname AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
  WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND NOT t.tgisinternal
  AND t.tgenabled IN ('O', 'A')`;

/** A trigger that is gone or switched off refuses nothing. */
function* missingTriggers(): Steps<readonly string[]> {
  const triggers = new Set((yield* statementRows(TRIGGERS)).map(({ name }) => name as string));
  const names = [...POSTGRES_SCHEMA.matchAll(/CREATE TRIGGER (\w+)/g)].map(
    ([, name]) => name ?? "",
  );
  const missing = names.filter((name) => !triggers.has(name));
  return missing.map((name) => `schema: the trigger ${name} is gone or switched off`);
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof StoreUnavailableError &&
  (error.cause === undefined || isTransientFailure(error.cause));

function refuse(job: Job, error: unknown): void {
  const doubtful = job.earlier !== undefined && error instanceof StoreUnavailableError;
  job.reject(
    doubtful
      ? new StoreUnavailableError(error.message, { cause: error.cause, inDoubt: true })
      : error,
  );
}
