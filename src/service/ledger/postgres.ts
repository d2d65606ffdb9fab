import { randomBytes } from "node:crypto";
import { setInterval as setTimer } from "node:timers";
import type { Pool, PoolClient } from "pg";
import { type Credits, credits, formatCredits } from "../../contract/money.ts";
import { sameHash } from "../keys.ts";
import { anchoredClock, utcDay } from "./clock.ts";
import { FreshCache } from "./fresh-cache.ts";
import { INVARIANTS } from "./invariants.ts";
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
} from "./ledger.ts";
import { GROUP_SIZE, HEARTBEAT_MS, KEEP_COUNTS_MS, type LedgerOptions, PATIENCE_MS, PRUNE_ROWS } from "./options.ts";
import type { MoneyRequest } from "./postgres-batch.ts";
import { unavailable } from "./postgres-errors.ts";
import { OWNER_COLUMNS, PostgresInstances } from "./postgres-instances.ts";
import { PostgresMoney } from "./postgres-money.ts";
import { migratePostgres } from "./postgres-schema.ts";
import { PostgresSession } from "./postgres-session.ts";
import { ACCOUNT_COLUMNS, dayCount, KEY_COLUMNS, type Row, storedAccount, storedKey } from "./rows.ts";
import { checkPlan, encodeCosts } from "./values.ts";

export interface PostgresStoreOptions extends LedgerOptions {
  /** `postgres://user:password@host:port/database`. The password is in no message. */
  readonly url: string;
  /** The schema that holds the tables: `headcount`. */
  readonly schema?: string;
  /** The most connections: 10. */
  readonly connections?: number;
  /** How long a key is believed without asking again: 10,000 ms; revocation is seen by other processes after that. */
  readonly keyFreshMs?: number;
}

/** A key read longer ago than this is not accepted, also where the store is away (I10). */
const KEY_STALE_MS = 60_000;
const KEYS_REMEMBERED = 10_000;
const INT8 = 20;

/**
 * Opens the ledger on PostgreSQL, creating or migrating its schema.
 * @throws StoreUnavailableError where the server cannot be reached; Error where the schema is newer or the server does not sync
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { default: pg } = await import("pg");
  const schema = options.schema ?? "headcount";
  if (!/^[a-z_][a-z0-9_]{0,40}$/.test(schema))
    throw new RangeError(`not a name for a schema: ${JSON.stringify(schema)}`);
  const patienceMs = options.patienceMs ?? PATIENCE_MS;
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

class PostgresStore implements Store {
  readonly #session: PostgresSession;
  readonly #instances: PostgresInstances;
  readonly #money: PostgresMoney;
  readonly #now: () => number;
  readonly #keys: FreshCache<StoredKey>;
  readonly #accounts: FreshCache<Account>;
  /** Whose the holds of this instance are, so that a settlement need not ask. */
  readonly #open = new Map<string, { readonly accountId: string; readonly mode: KeyMode }>();
  #sequence = 0;
  #heartbeat: NodeJS.Timeout | undefined;
  #registration: Promise<void> | undefined;
  readonly #heartbeatMs: number;

  constructor(pool: Pool, options: PostgresStoreOptions & { readonly patienceMs: number }) {
    this.#heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    this.#now = options.monotonic === undefined ? options.now : anchoredClock(options.now, options.monotonic);
    this.#session = new PostgresSession(pool, options.patienceMs);
    this.#instances = new PostgresInstances(this.#session);
    this.#money = new PostgresMoney(this.#session, this.#instances, this.#now, options.groupSize ?? GROUP_SIZE);
    const freshMs = Math.min(options.keyFreshMs ?? 10_000, KEY_STALE_MS);
    const cache = { freshMs, staleMs: KEY_STALE_MS, now: this.#now, size: KEYS_REMEMBERED };
    this.#keys = new FreshCache(cache);
    this.#accounts = new FreshCache(cache);
  }

  async findKey(hash: string): Promise<StoredKey | undefined> {
    this.#session.assertOpen();
    const key = await this.#keys.get(
      hash,
      async () => {
        const [row] = await this.#session.query(`${KEY_COLUMNS} WHERE k.hash = $1 AND k.revoked_at IS NULL`, [hash]);
        return row === undefined ? undefined : storedKey(row);
      },
      (error) => error instanceof StoreUnavailableError,
    );
    return key !== undefined && sameHash(key.hash, hash) ? key : undefined;
  }

  async account(accountId: string): Promise<Account | undefined> {
    this.#session.assertOpen();
    return this.#accounts.get(
      accountId,
      async () => {
        const [row] = await this.#session.query(`${ACCOUNT_COLUMNS} WHERE a.id = $1`, [accountId]);
        return row === undefined ? undefined : storedAccount(row);
      },
      (error) => error instanceof StoreUnavailableError,
    );
  }

  async balance(accountId: string, mode: KeyMode): Promise<Balance> {
    const [row] = await this.#session.query(
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
    this.#session.assertOpen();
    await this.#register();
    const holdId = `${this.#instances.id}-${(++this.#sequence).toString(36)}`;
    const { accountId, mode } = request;
    const outcome = await this.#money.enqueue<HoldOutcome>(accountId, mode, { kind: "hold", holdId, request });
    if (outcome.kind === "held") this.#open.set(holdId, { accountId, mode });
    return outcome;
  }

  async settle(settlement: Settlement): Promise<{ readonly reply: StoredReply; readonly balance: Credits }> {
    const { accountId, mode } = await this.#accountOfHold(settlement.holdId);
    const work = this.#money.enqueue<{ reply: StoredReply; balance: Credits }>(accountId, mode, {
      kind: "settle",
      settlement,
    });
    return work.finally(() => this.#open.delete(settlement.holdId));
  }

  async release(holdId: string): Promise<Credits> {
    try {
      const { accountId, mode } = await this.#accountOfHold(holdId);
      const refund = this.#money.doubtful.has(holdId);
      const request: MoneyRequest = { kind: "release", holdId, state: "voided", refund };
      const balance = await this.#money.enqueue<Credits>(accountId, mode, request);
      this.#money.doubtful.delete(holdId);
      this.#money.owed.delete(holdId);
      return balance;
    } catch (error) {
      if (error instanceof StoreUnavailableError) this.#money.owed.add(holdId);
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
    await this.#session.transaction(false, async (client) => {
      await client.query(
        `INSERT INTO call_counts (key_id, day, count) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
         ON CONFLICT (day, key_id) DO UPDATE SET count = call_counts.count + excluded.count`,
        [rows.map((row) => row.keyId), rows.map((row) => row.day), rows.map((row) => row.count)],
      );
    });
  }

  async callsOfDay(day: string): Promise<readonly DayCount[]> {
    const rows = await this.#session.query("SELECT key_id, day, count FROM call_counts WHERE day = $1", [day]);
    return rows.map(dayCount);
  }

  async createAccount(id: string, name: string): Promise<Account> {
    const createdAt = this.#now();
    await this.#session.transaction(true, async (client, repeated) => {
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
    await this.#session.transaction(true, async (client, repeated) => {
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
    const rows = await this.#session.query(`${KEY_COLUMNS} WHERE k.account_id = $1 ORDER BY k.created_at, k.id`, [
      accountId,
    ]);
    return rows.map(storedKey);
  }

  async revokeKey(keyId: string): Promise<boolean> {
    const revokedAt = this.#now();
    try {
      return await this.#session.transaction(true, async (client, repeated) => {
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
    await this.#money.enqueue(accountId, mode, {
      kind: "grant",
      operation: randomBytes(12).toString("hex"),
      amount,
      note,
    });
    return this.balance(accountId, mode);
  }

  async setPlan(accountId: string, plan: Plan): Promise<void> {
    checkPlan(plan);
    try {
      await this.#session.transaction(true, async (client) => {
        await assertAccount(client, accountId);
        await writePlan(client, accountId, plan);
      });
    } finally {
      this.#accounts.drop();
    }
  }

  async recover(olderThanMs: number): Promise<number> {
    const latest = olderThanMs === 0 ? Number.MAX_SAFE_INTEGER : this.#now() - olderThanMs;
    const rows = await this.#session.query(
      `SELECT h.id, h.account_id, h.mode, h.owner, ${OWNER_COLUMNS}
       FROM holds h LEFT JOIN instances i ON i.id = h.owner WHERE h.state = 'pending' AND h.created_at <= $1`,
      [latest],
    );
    const dead = rows.filter((row) => !this.#instances.isAlive(row));
    await Promise.all(
      dead.map((row) =>
        this.#money.enqueue(row.account_id as string, row.mode as KeyMode, {
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
    const client = await this.#session.connect();
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
    if (this.#session.closed) return;
    clearInterval(this.#heartbeat);
    try {
      await this.#money.drain();
      if (this.#registration !== undefined) {
        // Whoever closes the store has answered everybody: what is still held was for nobody.
        const rows = await this.#session.query("SELECT id FROM holds WHERE owner = $1 AND state = 'pending'", [
          this.#instances.id,
        ]);
        await Promise.all(rows.map((row) => this.release(row.id as string)));
        await this.#instances.leave();
      }
    } catch (error) {
      // The database is away: another process gives the holds back once this one is seen to be gone.
      if (!(error instanceof StoreUnavailableError)) throw error;
    } finally {
      await this.#session.close();
    }
  }

  // ---- instances ----

  /** Makes this instance known before its first hold. */
  #register(): Promise<void> {
    this.#registration ??= this.#instances.beat().then(
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

  async #tend(): Promise<void> {
    await this.#instances.beat();
    for (const holdId of new Set([...this.#money.doubtful, ...this.#money.owed])) {
      try {
        await this.release(holdId);
      } catch (error) {
        // The hold in doubt was never committed.
        if (!(error instanceof HoldResolvedError)) throw error;
        this.#money.owed.delete(holdId);
      }
    }
    await this.recover(0);
    await this.#session.query(
      `DELETE FROM idempotency WHERE hold_id IN
       (SELECT hold_id FROM idempotency WHERE created_at < $1 AND state = 'stored' LIMIT ${PRUNE_ROWS})`,
      [this.#now() - IDEMPOTENCY_TTL_MS],
    );
    await this.#session.query("DELETE FROM call_counts WHERE day < $1", [utcDay(this.#now() - KEEP_COUNTS_MS)]);
    await this.#instances.prune();
  }

  // ---- parts ----

  async #accountOfHold(holdId: string): Promise<{ readonly accountId: string; readonly mode: KeyMode }> {
    const known = this.#open.get(holdId);
    if (known !== undefined) return known;
    const [row] = await this.#session.query("SELECT account_id, mode FROM holds WHERE id = $1", [holdId]);
    if (row === undefined) throw new HoldResolvedError(holdId, "unknown");
    return { accountId: row.account_id as string, mode: row.mode as KeyMode };
  }
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
