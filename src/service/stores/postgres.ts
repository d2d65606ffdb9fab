import { randomBytes } from "node:crypto";
import { setTimeout as setPause, setInterval as setTimer } from "node:timers";
import type { Pool, PoolClient } from "pg";
import { type Credits, credits, formatCredits } from "../../contract/money.ts";
import { sameHash } from "../keys.ts";
import {
  type Account,
  type Balance,
  type DayCount,
  type HoldOutcome,
  type HoldRequest,
  HoldResolvedError,
  IDEMPOTENCY_TTL_MS,
  type KeyMode,
  LedgerInvariantError,
  type Plan,
  type Settlement,
  STANDARD_PLAN,
  type Store,
  StoreConflictError,
  type StoredKey,
  type StoredReply,
  StoreUnavailableError,
  UnknownAccountError,
} from "../store.ts";
import { anchoredClock, utcDay } from "./clock.ts";
import { FreshCache } from "./fresh-cache.ts";
import { INVARIANTS } from "./invariants.ts";
import { isAlive, thisProcess } from "./liveness.ts";
import {
  decide,
  type HoldRow,
  type IdempotencyRow,
  type MoneyJob,
  type MoneyRequest,
  type Outcome,
  recordKey,
  refundOf,
  type Snapshot,
  type Writes,
} from "./postgres-batch.ts";
import { migratePostgres } from "./postgres-schema.ts";
import { checkPlan, decodeCosts, encodeCosts } from "./values.ts";

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. The password is in no message. */
  readonly url: string;
  /** Wall clock, epoch milliseconds. */
  readonly now: () => number;
  /** Milliseconds that never go back; see SqliteStoreOptions. */
  readonly monotonic?: () => number;
  /** The schema that holds the tables: `headcount`. */
  readonly schema?: string;
  /** The most connections: 10. */
  readonly connections?: number;
  /** The most requests in one transaction: 64. */
  readonly groupSize?: number;
  /** How often it says that it lives and tidies up: 10,000 ms. */
  readonly heartbeatMs?: number;
  /** How long a store that is away or busy is tried before StoreUnavailableError: 5,000 ms. */
  readonly patienceMs?: number;
  /** How long a key is believed without asking again: 10,000 ms; revocation is seen by other processes after that. */
  readonly keyFreshMs?: number;
}

/** A key read longer ago than this is not accepted, also where the store is away (I10). */
const KEY_STALE_MS = 60_000;
const KEYS_REMEMBERED = 10_000;
const HEARTBEAT_MS = 10_000;
const KEEP_COUNTS_MS = 3 * 24 * 60 * 60 * 1000;
const PRUNE_ROWS = 500;
const INT8 = 20;

/** Serialisation, deadlock, lock timeout, too many connections, shutting down, starting up: the same request may succeed soon. */
const TRANSIENT = /^(40001|40P01|55P03|53300|57P0\d|08...)$/;
const CONNECTION =
  /ECONN|EPIPE|ETIMEDOUT|ENOENT|EHOSTUNREACH|terminat|timeout|Client has encountered a connection error|closed/i;

interface PostgresFailure extends Error {
  readonly code?: string;
  readonly severity?: string;
}

const isTransient = (error: unknown): boolean => {
  const { code, severity, message } = error as PostgresFailure;
  if (severity !== undefined) return code !== undefined && TRANSIENT.test(code);
  return CONNECTION.test(`${code ?? ""} ${message}`);
};
/** Errors of the database or of the way to it, as opposed to our own. */
const isOfDatabase = (error: unknown): boolean =>
  (error as PostgresFailure).severity !== undefined || isTransient(error);

function unavailable(error: unknown): unknown {
  if (!isOfDatabase(error)) return error;
  return new StoreUnavailableError(`the ledger's database cannot be used: ${(error as Error).message}`, {
    cause: error,
  });
}

/** A commit was sent and no answer came: it may or may not stand. */
class CommitInDoubt extends Error {
  override readonly name = "CommitInDoubt";
  readonly outcomes: readonly Outcome[];

  constructor(cause: unknown, outcomes: readonly Outcome[]) {
    super("the connection was lost at the commit", { cause });
    this.outcomes = outcomes;
  }
}

/**
 * Opens the ledger on PostgreSQL, creating or migrating its schema.
 * @throws StoreUnavailableError where the server cannot be reached; Error where the schema is newer or the server does not sync
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { default: pg } = await import("pg");
  const schema = options.schema ?? "headcount";
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema))
    throw new RangeError(`not a name for a schema: ${JSON.stringify(schema)}`);
  const patienceMs = options.patienceMs ?? 5000;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.connections ?? 10,
    options: `-c search_path=${schema}`,
    connectionTimeoutMillis: Math.min(2000, patienceMs),
    // A server that was stopped answers nothing at all.
    query_timeout: Math.max(patienceMs, 2000),
    lock_timeout: patienceMs,
    application_name: "headcount",
    types: {
      getTypeParser: ((oid: number, format?: "text" | "binary") =>
        oid === INT8
          ? (text: string) => BigInt(text)
          : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    },
  });
  // A connection that breaks, idle or in use: the request on it gets the error, and the pool makes another. Without a listener
  // the same event would end the process.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => client.on("error", () => undefined));
  try {
    const client = await pool.connect();
    try {
      await migratePostgres(client, schema);
    } finally {
      client.release();
    }
  } catch (error) {
    await pool.end();
    throw unavailable(error);
  }
  return new PostgresStore(pool, { ...options, patienceMs });
}

interface AccountQueue {
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly jobs: MoneyJob[];
}

type Row = Record<string, unknown>;

/**
 * Each account has a queue of its own: while one transaction of it is under way the next requests gather, and all go together in
 * the following one. So a hot account waits for its own syncs and never for its own row lock, request by request.
 */
class PostgresStore implements Store {
  readonly #pool: Pool;
  readonly #now: () => number;
  readonly #patienceMs: number;
  readonly #groupSize: number;
  readonly #queues = new Map<string, AccountQueue>();
  readonly #running = new Set<Promise<void>>();
  readonly #instance = randomBytes(8).toString("hex");
  readonly #self = thisProcess();
  readonly #keys: FreshCache<StoredKey>;
  readonly #accounts: FreshCache<Account>;
  /** Whose the holds of this instance are, so that a settlement need not ask. */
  readonly #open = new Map<string, { readonly accountId: string; readonly mode: KeyMode }>();
  /** Settlements that were reported as failed although their commit may stand. */
  readonly #doubtful = new Set<string>();
  /** Holds that nobody will settle and that could not be given back yet: the database was away. */
  readonly #owed = new Set<string>();
  #sequence = 0;
  #heartbeat: NodeJS.Timeout | undefined;
  #registration: Promise<void> | undefined;
  readonly #heartbeatMs: number;
  #closed = false;

  constructor(pool: Pool, options: PostgresStoreOptions & { readonly patienceMs: number }) {
    this.#pool = pool;
    this.#heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    this.#now = options.monotonic === undefined ? options.now : anchoredClock(options.now, options.monotonic);
    this.#patienceMs = options.patienceMs;
    this.#groupSize = options.groupSize ?? 64;
    const freshMs = Math.min(options.keyFreshMs ?? 10_000, KEY_STALE_MS);
    const cache = { freshMs, staleMs: KEY_STALE_MS, now: this.#now, size: KEYS_REMEMBERED };
    this.#keys = new FreshCache(cache);
    this.#accounts = new FreshCache(cache);
  }

  async findKey(hash: string): Promise<StoredKey | undefined> {
    this.#assertOpen();
    const key = await this.#keys.get(
      hash,
      async () => {
        const [row] = await this.#query(`${KEY_COLUMNS} WHERE k.hash = $1 AND k.revoked_at IS NULL`, [hash]);
        return row === undefined ? undefined : storedKey(row);
      },
      (error) => error instanceof StoreUnavailableError,
    );
    return key !== undefined && sameHash(key.hash, hash) ? key : undefined;
  }

  async account(accountId: string): Promise<Account | undefined> {
    this.#assertOpen();
    return this.#accounts.get(
      accountId,
      async () => {
        const [row] = await this.#query(
          `SELECT a.id, a.name, p.name AS plan, p.per_minute, p.per_day, p.costs
           FROM accounts a JOIN plans p ON p.account_id = a.id WHERE a.id = $1`,
          [accountId],
        );
        if (row === undefined) return undefined;
        const plan: Plan = {
          name: row.plan as string,
          perMinute: Number(row.per_minute),
          perDay: Number(row.per_day),
          costs: decodeCosts(row.costs as string),
        };
        return { id: row.id as string, name: row.name as string, plan };
      },
      (error) => error instanceof StoreUnavailableError,
    );
  }

  async balance(accountId: string, mode: KeyMode): Promise<Balance> {
    const [row] = await this.#query(
      `SELECT b.balance, b.held, COALESCE(u.charged, 0) AS used FROM balances b
       LEFT JOIN usage_days u ON u.account_id = b.account_id AND u.mode = b.mode AND u.day = $3
       WHERE b.account_id = $1 AND b.mode = $2`,
      [accountId, mode, utcDay(this.#now())],
    );
    if (row === undefined) throw new UnknownAccountError(accountId);
    const [balance, held] = [credits(row.balance as bigint), credits(row.held as bigint)];
    if (held < 0n || held > balance)
      throw new LedgerInvariantError(`${accountId} (${mode}) holds ${held} of ${balance}`);
    return { balance, held, usedToday: credits(row.used as bigint) };
  }

  async hold(request: HoldRequest): Promise<HoldOutcome> {
    if (request.amount < 0n) throw new RangeError("a hold cannot be negative");
    this.#assertOpen();
    await this.#register();
    const holdId = `${this.#instance}-${(++this.#sequence).toString(36)}`;
    const { accountId, mode } = request;
    const outcome = await this.#enqueue<HoldOutcome>(accountId, mode, { kind: "hold", holdId, request });
    if (outcome.kind === "held") this.#open.set(holdId, { accountId, mode });
    return outcome;
  }

  async settle(settlement: Settlement): Promise<{ readonly reply: StoredReply; readonly balance: Credits }> {
    const { accountId, mode } = await this.#accountOfHold(settlement.holdId);
    const work = this.#enqueue<{ reply: StoredReply; balance: Credits }>(accountId, mode, {
      kind: "settle",
      settlement,
    });
    return work.finally(() => this.#open.delete(settlement.holdId));
  }

  async release(holdId: string): Promise<Credits> {
    try {
      const { accountId, mode } = await this.#accountOfHold(holdId);
      const refund = this.#doubtful.has(holdId);
      const request: MoneyRequest = { kind: "release", holdId, state: "voided", refund };
      const balance = await this.#enqueue<Credits>(accountId, mode, request);
      this.#doubtful.delete(holdId);
      this.#owed.delete(holdId);
      return balance;
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#owed.add(holdId);
      throw error;
    } finally {
      this.#open.delete(holdId);
    }
  }

  async recordCalls(counts: readonly DayCount[]): Promise<void> {
    // One row per key and day, always in the same order: two processes then never wait for each other in a circle.
    const sums = new Map<string, DayCount>();
    for (const each of counts) {
      const id = `${each.day} ${each.keyId}`;
      sums.set(id, { ...each, count: each.count + (sums.get(id)?.count ?? 0) });
    }
    const rows = [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
    if (rows.length === 0) return;
    await this.#transaction(false, async (client) => {
      await client.query(
        `INSERT INTO call_counts (key_id, day, count) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
         ON CONFLICT (day, key_id) DO UPDATE SET count = call_counts.count + excluded.count`,
        [rows.map((row) => row.keyId), rows.map((row) => row.day), rows.map((row) => row.count)],
      );
    });
  }

  async callsOfDay(day: string): Promise<readonly DayCount[]> {
    const rows = await this.#query("SELECT key_id, day, count FROM call_counts WHERE day = $1", [day]);
    return rows.map((row) => ({ keyId: row.key_id as string, day: row.day as string, count: Number(row.count) }));
  }

  async createAccount(id: string, name: string): Promise<Account> {
    const createdAt = this.#now();
    await this.#transaction(true, async (client, repeated) => {
      const found = await client.query<Row>("SELECT name, created_at FROM accounts WHERE id = $1", [id]);
      const [row] = found.rows;
      if (row !== undefined) {
        if (repeated && row.name === name && row.created_at === BigInt(createdAt)) return;
        throw new StoreConflictError(`an account named ${JSON.stringify(id)} exists already`);
      }
      await client.query("INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3)", [id, name, createdAt]);
      await writePlan(client, id, STANDARD_PLAN);
      await client.query("INSERT INTO balances (account_id, mode) VALUES ($1, 'live'), ($1, 'test')", [id]);
    });
    return { id, name, plan: STANDARD_PLAN };
  }

  async createKey(key: Omit<StoredKey, "revokedAt" | "accountName">): Promise<void> {
    await this.#transaction(true, async (client, repeated) => {
      await assertAccount(client, key.accountId);
      const found = await client.query<Row>("SELECT id, hash FROM keys WHERE id = $1 OR hash = $2", [key.id, key.hash]);
      const [row] = found.rows;
      if (row !== undefined) {
        if (repeated && row.id === key.id && row.hash === key.hash) return;
        throw new StoreConflictError(`a key ${key.id}, or one with the same secret, exists already`);
      }
      await client.query(
        `INSERT INTO keys (id, account_id, name, mode, prefix, hash, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
        [key.id, key.accountId, key.name, key.mode, key.prefix, key.hash, key.createdAt],
      );
    });
  }

  async listKeys(accountId: string): Promise<readonly StoredKey[]> {
    const rows = await this.#query(`${KEY_COLUMNS} WHERE k.account_id = $1 ORDER BY k.created_at, k.id`, [accountId]);
    return rows.map(storedKey);
  }

  async revokeKey(keyId: string): Promise<boolean> {
    const revokedAt = this.#now();
    try {
      return await this.#transaction(true, async (client, repeated) => {
        const { rowCount } = await client.query(
          "UPDATE keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
          [keyId, revokedAt],
        );
        if (rowCount === 1 || !repeated) return rowCount === 1;
        const found = await client.query("SELECT 1 FROM keys WHERE id = $1 AND revoked_at = $2", [keyId, revokedAt]);
        return found.rows.length === 1;
      });
    } finally {
      // Also where the outcome is unknown: to ask again costs nothing.
      this.#keys.drop();
    }
  }

  async grant(accountId: string, mode: KeyMode, amount: Credits, note: string): Promise<Balance> {
    if (amount <= 0n) throw new RangeError(`only credits above zero can be added, not ${formatCredits(amount)}`);
    await this.#enqueue(accountId, mode, { kind: "grant", operation: randomBytes(12).toString("hex"), amount, note });
    return this.balance(accountId, mode);
  }

  async setPlan(accountId: string, plan: Plan): Promise<void> {
    checkPlan(plan);
    try {
      await this.#transaction(true, async (client) => {
        await assertAccount(client, accountId);
        await writePlan(client, accountId, plan);
      });
    } finally {
      this.#accounts.drop();
    }
  }

  async recover(olderThanMs: number): Promise<number> {
    const latest = olderThanMs === 0 ? Number.MAX_SAFE_INTEGER : this.#now() - olderThanMs;
    const rows = await this.#query(
      `SELECT h.id, h.account_id, h.mode, h.owner, ${OWNER_COLUMNS}
       FROM holds h LEFT JOIN instances i ON i.id = h.owner WHERE h.state = 'pending' AND h.created_at <= $1`,
      [latest],
    );
    const dead = rows.filter((row) => !this.#isOwnerAlive(row));
    await Promise.all(
      dead.map((row) =>
        this.#enqueue(row.account_id as string, row.mode as KeyMode, {
          kind: "release",
          holdId: row.id as string,
          state: "expired",
          refund: false,
        }),
      ),
    );
    return dead.length;
  }

  async verify(): Promise<readonly string[]> {
    const client = await this.#connect();
    try {
      // One snapshot for all: other processes go on charging meanwhile.
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const breaches: string[] = [];
      for (const sql of INVARIANTS) {
        for (const row of (await client.query<Row>(sql)).rows) breaches.push(String(Object.values(row)[0]));
      }
      await client.query("COMMIT");
      client.release();
      return breaches;
    } catch (error) {
      client.release(true);
      throw unavailable(error);
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    clearInterval(this.#heartbeat);
    try {
      await Promise.all(this.#running);
      if (this.#registration !== undefined) {
        // Whoever closes the store has answered everybody: what is still held was for nobody.
        const rows = await this.#query("SELECT id FROM holds WHERE owner = $1 AND state = 'pending'", [this.#instance]);
        await Promise.all(rows.map((row) => this.release(row.id as string)));
        await this.#query("DELETE FROM instances WHERE id = $1", [this.#instance]);
      }
    } catch (error) {
      // The database is away: another process gives the holds back once this one is seen to be gone.
      if (!(error instanceof StoreUnavailableError)) throw error;
    } finally {
      this.#closed = true;
      await this.#pool.end();
    }
  }

  // ---- one account's money ----

  #enqueue<T>(accountId: string, mode: KeyMode, request: MoneyRequest): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) {
        reject(new StoreUnavailableError("the ledger is closed"));
        return;
      }
      const id = `${mode} ${accountId}`;
      const job: MoneyJob = { request, resolve, reject };
      const queue = this.#queues.get(id);
      if (queue !== undefined) {
        queue.jobs.push(job);
        return;
      }
      const started: AccountQueue = { accountId, mode, jobs: [job] };
      this.#queues.set(id, started);
      const run = this.#work(id, started).finally(() => this.#running.delete(run));
      this.#running.add(run);
    });
  }

  async #work(id: string, queue: AccountQueue): Promise<void> {
    // Whoever asks in the same turn of the event loop travels along.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.jobs.length > 0) {
      const jobs = queue.jobs.splice(0, this.#groupSize);
      try {
        await this.#settleGroup(queue, jobs);
      } catch (error) {
        // The database refused what the rules in memory had let pass. Each alone, so that only the culprit fails.
        const alone = jobs.length > 1 && !isTransient(error) ? jobs : [];
        if (alone.length === 0) for (const job of jobs) job.reject(unavailable(error));
        for (const job of alone) {
          await this.#settleGroup(queue, [job]).catch((reason: unknown) => job.reject(unavailable(reason)));
        }
      }
    }
    this.#queues.delete(id);
  }

  async #settleGroup(queue: AccountQueue, jobs: readonly MoneyJob[]): Promise<void> {
    const outcomes = await this.#commitGroup(queue, jobs);
    for (const [index, job] of jobs.entries()) {
      const outcome = outcomes[index];
      if (outcome?.ok) job.resolve(outcome.value as never);
      else job.reject(outcome?.error);
    }
  }

  /** Repeats the group where the database asks for it, or where nobody knows whether its commit stands. */
  async #commitGroup(queue: AccountQueue, jobs: readonly MoneyJob[]): Promise<readonly Outcome[]> {
    for (const pause of this.#pauses()) {
      try {
        return await this.#attemptGroup(queue, jobs);
      } catch (error) {
        if (error instanceof CommitInDoubt) {
          for (const [index, job] of jobs.entries()) {
            const outcome = error.outcomes[index];
            if (outcome?.ok) job.doubtful = outcome.value ?? null;
          }
        } else if (!isTransient(error)) throw error;
        if (await pause()) continue;
        for (const { request, doubtful } of jobs) {
          if (doubtful === undefined) continue;
          if (request.kind === "settle") this.#doubtful.add(request.settlement.holdId);
          if (request.kind === "hold") this.#owed.add(request.holdId);
        }
        throw error instanceof CommitInDoubt ? error.cause : error;
      }
    }
    throw new LedgerInvariantError("unreachable: pauses never end by themselves");
  }

  async #attemptGroup(queue: AccountQueue, jobs: readonly MoneyJob[]): Promise<readonly Outcome[]> {
    const client = await this.#pool.connect();
    try {
      // Only a charge or a grant must outlive a power failure; the sync of the next one covers the holds before it.
      const durable = jobs.some(({ request }) => request.kind === "settle" || request.kind === "grant");
      await client.query(`BEGIN; SET LOCAL synchronous_commit = ${durable ? "on" : "off"}`);
      const snapshot = await this.#readSnapshot(client, queue, jobs);
      const { balance, held } = snapshot;
      const { writes, outcomes } = decide(snapshot, jobs);
      await this.#write(client, snapshot, writes, balance !== snapshot.balance || held !== snapshot.held);
      try {
        const { command } = await client.query("COMMIT");
        if (command !== "COMMIT") throw new LedgerInvariantError("the database rolled back what it was told to commit");
      } catch (error) {
        throw isTransient(error) ? new CommitInDoubt(error, outcomes) : error;
      }
      client.release();
      return outcomes;
    } catch (error) {
      await giveUp(client, error);
      throw error;
    }
  }

  async #readSnapshot(client: PoolClient, queue: AccountQueue, jobs: readonly MoneyJob[]): Promise<Snapshot> {
    const { accountId, mode } = queue;
    const locked = await client.query<Row>(
      "SELECT balance, held FROM balances WHERE account_id = $1 AND mode = $2 FOR UPDATE",
      [accountId, mode],
    );
    const [money] = locked.rows;
    if (money === undefined) throw new UnknownAccountError(accountId);
    const holdIds: string[] = [];
    const calls: string[] = [];
    const keys: string[] = [];
    const operations: string[] = [];
    for (const { request, doubtful } of jobs) {
      if (request.kind === "settle") holdIds.push(request.settlement.holdId);
      else if (request.kind === "release") {
        holdIds.push(request.holdId);
        if (request.refund) operations.push(refundOf(request.holdId));
      } else if (request.kind === "grant") {
        if (doubtful !== undefined) operations.push(request.operation);
      } else {
        if (doubtful !== undefined) holdIds.push(request.holdId);
        if (request.request.idempotency !== undefined) {
          calls.push(request.request.call);
          keys.push(request.request.idempotency.key);
        }
      }
    }
    const records = new Map<string, IdempotencyRow>();
    if (keys.length > 0) {
      const found = await client.query<Row>(
        `SELECT r.call, r.key, r.request_hash, r.state, r.hold_id, r.created_at, r.status, r.headers, r.body, h.owner,
           ${OWNER_COLUMNS}
         FROM idempotency r JOIN holds h ON h.id = r.hold_id LEFT JOIN instances i ON i.id = h.owner
         WHERE r.account_id = $1 AND r.mode = $2 AND (r.call, r.key) IN (SELECT * FROM unnest($3::text[], $4::text[]))`,
        [accountId, mode, calls, keys],
      );
      for (const row of found.rows) {
        const record = idempotencyRow(row, this.#isOwnerAlive(row));
        records.set(recordKey(record.call, record.key), record);
        if (record.state === "in_flight" && !record.ownerAlive) holdIds.push(record.holdId);
      }
    }
    const holds = new Map<string, HoldRow>();
    if (holdIds.length > 0) {
      const found = await client.query<Row>(
        "SELECT id, call, amount, state, posted, idempotency_key FROM holds WHERE id = ANY($1) AND account_id = $2 AND mode = $3",
        [holdIds, accountId, mode],
      );
      for (const row of found.rows) {
        holds.set(row.id as string, {
          id: row.id as string,
          call: row.call as string,
          amount: credits(row.amount as bigint),
          state: row.state as HoldRow["state"],
          posted: row.posted === null ? null : credits(row.posted as bigint),
          idempotencyKey: row.idempotency_key as string | null,
        });
      }
    }
    const done = new Set<string>();
    if (operations.length > 0) {
      const found = await client.query<Row>("SELECT operation FROM entries WHERE operation = ANY($1)", [operations]);
      for (const row of found.rows) done.add(row.operation as string);
    }
    const [balance, held] = [credits(money.balance as bigint), credits(money.held as bigint)];
    return { accountId, mode, now: this.#now(), balance, held, holds, records, operations: done };
  }

  async #write(client: PoolClient, snapshot: Snapshot, writes: Writes, moneyChanged: boolean): Promise<void> {
    const { accountId, mode, now } = snapshot;
    if (writes.forgotten.length > 0) {
      await client.query("DELETE FROM idempotency WHERE hold_id = ANY($1)", [writes.forgotten]);
    }
    if (moneyChanged) {
      await client.query("UPDATE balances SET balance = $3, held = $4 WHERE account_id = $1 AND mode = $2", [
        accountId,
        mode,
        snapshot.balance,
        snapshot.held,
      ]);
    }
    if (writes.holds.length > 0) {
      const { holds } = writes;
      await client.query(
        `INSERT INTO holds (account_id, mode, state, owner, created_at, id, key_id, call, amount, request_id, idempotency_key)
         SELECT $1, $2, 'pending', $3, $4::bigint, * FROM
           unnest($5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[])`,
        [
          accountId,
          mode,
          this.#instance,
          now,
          holds.map(({ id }) => id),
          holds.map(({ request }) => request.keyId),
          holds.map(({ request }) => request.call),
          holds.map(({ request }) => request.amount),
          holds.map(({ request }) => request.requestId),
          holds.map(({ request }) => request.idempotency?.key ?? null),
        ],
      );
    }
    if (writes.resolved.length > 0) {
      const { resolved } = writes;
      const { rowCount } = await client.query(
        `UPDATE holds h SET state = v.state, posted = v.posted, resolved_at = $4
         FROM unnest($1::text[], $2::text[], $3::bigint[]) AS v (id, state, posted)
         WHERE h.id = v.id AND h.state = 'pending'`,
        [resolved.map(({ id }) => id), resolved.map(({ state }) => state), resolved.map(({ posted }) => posted), now],
      );
      if (rowCount !== resolved.length) {
        throw new LedgerInvariantError(`${resolved.length} holds were to be resolved, ${rowCount} were pending`);
      }
    }
    if (writes.entries.length > 0) {
      const { entries } = writes;
      await client.query(
        `INSERT INTO entries (account_id, mode, day, created_at, kind, amount, balance_after, hold_id, operation, note)
         SELECT $1, $2, $3, $4::bigint, kind, amount, balance_after, hold_id, operation, note FROM
           unnest($5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::text[], $10::text[]) WITH ORDINALITY
           AS v (kind, amount, balance_after, hold_id, operation, note, position) ORDER BY position`,
        [
          accountId,
          mode,
          utcDay(now),
          now,
          entries.map(({ kind }) => kind),
          entries.map(({ amount }) => amount),
          entries.map(({ balanceAfter }) => balanceAfter),
          entries.map(({ holdId }) => holdId),
          entries.map(({ operation }) => operation),
          entries.map(({ note }) => note),
        ],
      );
    }
    if (writes.records.length > 0) {
      const { records } = writes;
      await client.query(
        `INSERT INTO idempotency (account_id, mode, state, created_at, call, key, request_hash, hold_id)
         SELECT $1, $2, 'in_flight', $3::bigint, * FROM unnest($4::text[], $5::text[], $6::text[], $7::text[])`,
        [
          accountId,
          mode,
          now,
          records.map(({ request }) => request.call),
          records.map(({ request }) => request.idempotency?.key),
          records.map(({ request }) => request.idempotency?.requestHash),
          records.map(({ id }) => id),
        ],
      );
    }
    if (writes.replies.length > 0) {
      const { replies } = writes;
      const { rowCount } = await client.query(
        `UPDATE idempotency r SET state = 'stored', created_at = $5, status = v.status, headers = v.headers, body = v.body
         FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[]) AS v (hold_id, status, headers, body)
         WHERE r.hold_id = v.hold_id AND r.state = 'in_flight'`,
        [
          replies.map(({ holdId }) => holdId),
          replies.map(({ reply }) => reply.status),
          replies.map(({ reply }) => JSON.stringify(reply.headers)),
          replies.map(({ reply }) => reply.body),
          now,
        ],
      );
      if (rowCount !== replies.length) throw new LedgerInvariantError("a hold has lost its idempotency record");
    }
    if (writes.charged > 0n) {
      await client.query(
        `INSERT INTO usage_days (account_id, mode, day, charged) VALUES ($1, $2, $3, $4)
         ON CONFLICT (account_id, mode, day) DO UPDATE SET charged = usage_days.charged + excluded.charged`,
        [accountId, mode, utcDay(now), writes.charged],
      );
    }
  }

  // ---- instances ----

  #isOwnerAlive(row: Row): boolean {
    if (row.owner === this.#instance) return true;
    if (row.owner_pid === null) return false;
    const identity = {
      pid: Number(row.owner_pid),
      started: row.owner_started as string,
      machine: row.owner_machine as string,
    };
    return isAlive(identity, this.#self, Number(row.silent_ms));
  }

  /** Makes this instance known before its first hold. */
  #register(): Promise<void> {
    this.#registration ??= this.#beat().then(
      () => {
        this.#heartbeat = setTimer(() => {
          // A store that is away has nothing to tend; whoever needs it gets the error.
          this.#tend().catch(() => undefined);
        }, this.#heartbeatMs);
        this.#heartbeat.unref();
      },
      (error: unknown) => {
        this.#registration = undefined;
        throw error;
      },
    );
    return this.#registration;
  }

  async #beat(): Promise<void> {
    const { pid, started, machine } = this.#self;
    await this.#query(
      `INSERT INTO instances (id, pid, started, machine) VALUES ($1, $2, $3, $4)
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = clock_timestamp()`,
      [this.#instance, pid, started, machine],
    );
  }

  async #tend(): Promise<void> {
    await this.#beat();
    for (const holdId of new Set([...this.#doubtful, ...this.#owed])) {
      try {
        await this.release(holdId);
      } catch (error) {
        // The hold in doubt was never committed.
        if (!(error instanceof HoldResolvedError)) throw error;
        this.#owed.delete(holdId);
      }
    }
    await this.recover(0);
    await this.#query(
      `DELETE FROM idempotency WHERE hold_id IN
       (SELECT hold_id FROM idempotency WHERE created_at < $1 AND state = 'stored' LIMIT ${PRUNE_ROWS})`,
      [this.#now() - IDEMPOTENCY_TTL_MS],
    );
    await this.#query("DELETE FROM call_counts WHERE day < $1", [utcDay(this.#now() - KEEP_COUNTS_MS)]);
    await this.#query(
      `DELETE FROM instances i WHERE heartbeat_at < clock_timestamp() - interval '1 hour'
       AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.owner = i.id AND h.state = 'pending')`,
      [],
    );
  }

  // ---- connections ----

  async #accountOfHold(holdId: string): Promise<{ readonly accountId: string; readonly mode: KeyMode }> {
    const known = this.#open.get(holdId);
    if (known !== undefined) return known;
    const [row] = await this.#query("SELECT account_id, mode FROM holds WHERE id = $1", [holdId]);
    if (row === undefined) throw new HoldResolvedError(holdId, "unknown");
    return { accountId: row.account_id as string, mode: row.mode as KeyMode };
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreUnavailableError("the ledger is closed");
  }

  /** Yields a pause per attempt, growing and jittered; a pause answers false once the patience is at its end. */
  *#pauses(): Generator<() => Promise<boolean>> {
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
    for (const pause of this.#pauses()) {
      this.#assertOpen();
      try {
        return await work(repeated);
      } catch (error) {
        if (!isTransient(error) || !(await pause())) throw unavailable(error);
        repeated = true;
      }
    }
    throw new LedgerInvariantError("unreachable: pauses never end by themselves");
  }

  #query(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return this.#retried(async () => (await this.#pool.query<Row>(sql, [...values])).rows);
  }

  #connect(): Promise<PoolClient> {
    return this.#retried(() => this.#pool.connect());
  }

  /** @param work is told whether an earlier attempt, whose outcome is unknown, came before */
  #transaction<T>(durable: boolean, work: (client: PoolClient, repeated: boolean) => Promise<T>): Promise<T> {
    return this.#retried(async (repeated) => {
      const client = await this.#pool.connect();
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

/** Ends a failed transaction: a connection that may still be inside one is never used again. */
async function giveUp(client: PoolClient, error: unknown): Promise<void> {
  if (error instanceof CommitInDoubt || ((error as PostgresFailure).severity === undefined && isTransient(error))) {
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

const OWNER_COLUMNS = `i.pid AS owner_pid, i.started AS owner_started, i.machine AS owner_machine,
  EXTRACT(EPOCH FROM clock_timestamp() - i.heartbeat_at)::float8 * 1000 AS silent_ms`;

const KEY_COLUMNS = `SELECT k.id, k.name, k.mode, k.prefix, k.hash, k.account_id, k.created_at, k.revoked_at,
  a.name AS account_name FROM keys k JOIN accounts a ON a.id = k.account_id`;

function idempotencyRow(row: Row, ownerAlive: boolean): IdempotencyRow {
  const state = row.state as IdempotencyRow["state"];
  return {
    call: row.call as string,
    key: row.key as string,
    requestHash: row.request_hash as string,
    state,
    holdId: row.hold_id as string,
    createdAt: Number(row.created_at),
    ownerAlive,
    reply:
      state === "stored"
        ? {
            status: Number(row.status),
            headers: JSON.parse(row.headers as string) as Record<string, string>,
            body: row.body as string,
          }
        : undefined,
  };
}

function storedKey(row: Row): StoredKey {
  return {
    id: row.id as string,
    name: row.name as string,
    mode: row.mode as KeyMode,
    prefix: row.prefix as string,
    hash: row.hash as string,
    accountId: row.account_id as string,
    accountName: row.account_name as string,
    createdAt: Number(row.created_at),
    revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
  };
}

async function writePlan(client: PoolClient, accountId: string, plan: Plan): Promise<void> {
  await client.query(
    `INSERT INTO plans (account_id, name, per_minute, per_day, costs) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (account_id) DO UPDATE SET name = excluded.name, per_minute = excluded.per_minute,
       per_day = excluded.per_day, costs = excluded.costs`,
    [accountId, plan.name, plan.perMinute, plan.perDay, encodeCosts(plan.costs)],
  );
}

async function assertAccount(client: PoolClient, accountId: string): Promise<void> {
  const { rows } = await client.query("SELECT 1 FROM accounts WHERE id = $1", [accountId]);
  if (rows.length === 0) throw new UnknownAccountError(accountId);
}
