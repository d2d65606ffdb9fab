import { chmodSync, closeSync, openSync } from "node:fs";
import { setTimeout as setPause, setInterval as setTimer } from "node:timers";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { type Credits, formatCredits } from "../../contract/money.ts";
import { sameHash } from "../keys.ts";
import { anchoredClock, utcDay } from "./clock.ts";
import { type ALONE, GroupCommit, resultCode, SQLITE_BUSY, SQLITE_CORRUPT, translateError } from "./group-commit.ts";
import { INVARIANTS } from "./invariants.ts";
import {
  type Account,
  type Balance,
  type DayCount,
  type HoldOutcome,
  type HoldRequest,
  IDEMPOTENCY_TTL_MS,
  type KeyMode,
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
import { ACCOUNT_COLUMNS, dayCount, KEY_COLUMNS, storedAccount, storedKey } from "./rows.ts";
import { SqliteInstances } from "./sqlite-instances.ts";
import { SqliteMoney } from "./sqlite-money.ts";
import { checkSqliteVersion, migrate, SCHEMA_VERSION } from "./sqlite-schema.ts";
import { SqliteSession } from "./sqlite-session.ts";
import { checkPlan, encodeCosts } from "./values.ts";

export interface SqliteStoreOptions extends LedgerOptions {
  /** The ledger's file; made with mode 0600 where it is missing. Its folder must exist. */
  readonly path: string;
  /** The longest that a charge waits for others to share its sync: 2 ms. */
  readonly groupWaitMs?: number;
  /** Default `FULL`. `NORMAL` loses acknowledged charges on a power failure; only the control experiments use it. */
  readonly synchronous?: "FULL" | "NORMAL";
}

/**
 * Opens the ledger, creating or migrating it.
 * @throws StoreUnavailableError where the file cannot be opened or locked; Error where it is not a ledger, or a newer one
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const patienceMs = options.patienceMs ?? PATIENCE_MS;
  let database: DatabaseSyncInstance;
  try {
    // Made here and not by SQLite, so that no moment passes in which others may read it; the log files inherit the mode.
    closeSync(openSync(options.path, "a", 0o600));
    chmodSync(options.path, 0o600);
    database = new DatabaseSync(options.path, { timeout: 20, enableForeignKeyConstraints: true });
  } catch (error) {
    throw new StoreUnavailableError(`the ledger ${options.path} cannot be opened: ${(error as Error).message}`, {
      cause: error,
    });
  }
  try {
    checkSqliteVersion(database);
    database.exec("PRAGMA trusted_schema = OFF; PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1");
    // Turning the log on needs the file alone for a moment, and SQLite does not wait for that by itself.
    await whileBusy(patienceMs, () => database.exec("PRAGMA journal_mode = WAL"));
    await whileBusy(patienceMs, () => migrate(database, options.path));
    return new SqliteStore(database, options);
  } catch (error) {
    database.close();
    throw translateError(error);
  }
}

async function whileBusy(patienceMs: number, work: () => void): Promise<void> {
  for (let waited = 0; ; waited += 20) {
    try {
      work();
      return;
    } catch (error) {
      if (resultCode(error) !== SQLITE_BUSY || waited >= patienceMs) throw error;
      await new Promise((resolve) => setPause(resolve, 5));
    }
  }
}

class SqliteStore implements Store {
  readonly #session: SqliteSession;
  readonly #writer: GroupCommit;
  readonly #instances: SqliteInstances;
  readonly #money: SqliteMoney;
  /** Holds that nobody will settle and that could not be given back yet: the file was locked, or the disk full. */
  readonly #owed = new Set<string>();
  readonly #now: () => number;
  #heartbeat: NodeJS.Timeout | undefined;
  readonly #heartbeatMs: number;
  /** See {@link version}: the number and what it stands for. */
  readonly #state = { version: 0, others: undefined as unknown, own: -1, day: "" };

  constructor(database: DatabaseSyncInstance, options: SqliteStoreOptions) {
    this.#session = new SqliteSession(database, options.path);
    this.#instances = new SqliteInstances(this.#session);
    this.#heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    const now = options.monotonic === undefined ? options.now : anchoredClock(options.now, options.monotonic);
    this.#now = now;
    this.#money = new SqliteMoney(this.#session, this.#instances, now);
    this.#writer = new GroupCommit(database, this.#money, {
      waitMs: options.groupWaitMs ?? 2,
      size: options.groupSize ?? GROUP_SIZE,
      patienceMs: options.patienceMs ?? PATIENCE_MS,
      expected: () => this.#money.openHolds,
      synchronous: options.synchronous ?? "FULL",
      schemaVersion: SCHEMA_VERSION,
    });
  }

  async findKey(hash: string): Promise<StoredKey | undefined> {
    const row = this.#session.read(`${KEY_COLUMNS} WHERE k.hash = ? AND k.revoked_at IS NULL`, hash);
    if (row === undefined || !sameHash(row.hash as string, hash)) return undefined;
    return storedKey(row);
  }

  async account(accountId: string): Promise<Account | undefined> {
    const row = this.#session.read(`${ACCOUNT_COLUMNS} WHERE a.id = ?`, accountId);
    return row === undefined ? undefined : storedAccount(row);
  }

  async balance(accountId: string, mode: KeyMode): Promise<Balance> {
    return this.#money.balance(accountId, mode);
  }

  version(): number {
    const state = this.#state;
    // SQLite counts what other connections committed.
    const others = this.#session.read("PRAGMA data_version")?.data_version;
    const own = this.#writer.attempts;
    const day = utcDay(this.#now());
    if (others !== state.others || own !== state.own || day !== state.day) {
      Object.assign(state, { version: state.version + 1, others, own, day });
    }
    return state.version;
  }

  hold(request: HoldRequest): Promise<HoldOutcome> {
    if (request.amount < 0n) return Promise.reject(new RangeError("a hold cannot be negative"));
    return this.#writeLight("volatile", (light) => this.#money.hold(request, light)).then((outcome) => {
      if (outcome.kind === "held") {
        this.#money.remember(outcome.holdId, request);
        this.#beat();
      }
      return outcome;
    });
  }

  settle(settlement: Settlement): Promise<{ readonly reply: StoredReply; readonly balance: Credits }> {
    return this.#writeLight("durable", (light) => this.#money.settle(settlement, light)).finally(() =>
      this.#money.forget(settlement.holdId),
    );
  }

  release(holdId: string): Promise<Credits> {
    return this.#writeLight("volatile", (light) => this.#money.release(holdId, "voided", light))
      .catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) this.#owed.add(holdId);
        throw error;
      })
      .finally(() => this.#money.forget(holdId));
  }

  recordCalls(counts: readonly DayCount[]): Promise<void> {
    return this.#write("volatile", () => {
      for (const { keyId, day, count } of counts) {
        this.#session.run(
          `INSERT INTO call_counts (key_id, day, count) VALUES (?, ?, ?)
           ON CONFLICT (day, key_id) DO UPDATE SET count = count + excluded.count`,
          keyId,
          day,
          count,
        );
      }
    });
  }

  async callsOfDay(day: string): Promise<readonly DayCount[]> {
    return this.#session.readAll("SELECT key_id, day, count FROM call_counts WHERE day = ?", day).map(dayCount);
  }

  createAccount(id: string, name: string): Promise<Account> {
    return this.#write("durable", () => {
      if (this.#session.read("SELECT 1 FROM accounts WHERE id = ?", id) !== undefined) {
        throw new StoreConflictError(`an account named ${JSON.stringify(id)} exists already`);
      }
      this.#session.run("INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)", id, name, this.#money.time);
      this.#writePlan(id, STANDARD_PLAN);
      for (const mode of ["live", "test"])
        this.#session.run("INSERT INTO balances (account_id, mode) VALUES (?, ?)", id, mode);
      return { id, name, plan: STANDARD_PLAN };
    });
  }

  createKey(key: Omit<StoredKey, "revokedAt" | "accountName">): Promise<void> {
    return this.#write("durable", () => {
      this.#assertAccount(key.accountId);
      if (this.#session.read("SELECT 1 FROM keys WHERE id = ? OR hash = ?", key.id, key.hash) !== undefined) {
        throw new StoreConflictError(`a key ${key.id}, or one with the same secret, exists already`);
      }
      this.#session.run(
        "INSERT INTO keys (id, account_id, name, mode, prefix, hash, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        key.id,
        key.accountId,
        key.name,
        key.mode,
        key.prefix,
        key.hash,
        key.createdAt,
      );
    });
  }

  async listKeys(accountId: string): Promise<readonly StoredKey[]> {
    return this.#session
      .readAll(`${KEY_COLUMNS} WHERE k.account_id = ? ORDER BY k.created_at, k.id`, accountId)
      .map(storedKey);
  }

  revokeKey(keyId: string): Promise<boolean> {
    return this.#write(
      "durable",
      () =>
        this.#session.run(
          "UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
          this.#money.time,
          keyId,
        ) === 1,
    );
  }

  grant(accountId: string, mode: KeyMode, amount: Credits, note: string): Promise<Balance> {
    if (amount <= 0n)
      return Promise.reject(new RangeError(`only credits above zero can be added, not ${formatCredits(amount)}`));
    return this.#write("durable", () => this.#money.grant(accountId, mode, amount, note));
  }

  setPlan(accountId: string, plan: Plan): Promise<void> {
    checkPlan(plan);
    return this.#write("durable", () => {
      this.#assertAccount(accountId);
      this.#writePlan(accountId, plan);
    });
  }

  recover(olderThanMs: number): Promise<number> {
    return this.#write("volatile", () => this.#money.recover(olderThanMs));
  }

  async verify(): Promise<readonly string[]> {
    this.#session.assertOpen();
    await this.#writer.drain();
    const breaches: string[] = [];
    try {
      // One snapshot for all: other processes go on charging meanwhile.
      this.#session.database.exec("BEGIN");
      for (const row of this.#session.readAll("PRAGMA integrity_check")) {
        if (row.integrity_check !== "ok") breaches.push(`file: ${String(row.integrity_check)}`);
      }
      for (const row of this.#session.readAll("PRAGMA foreign_key_check")) {
        breaches.push(`file: a row of ${String(row.table)} points to a missing row of ${String(row.parent)}`);
      }
      for (const sql of INVARIANTS) {
        for (const row of this.#session.readAll(sql)) breaches.push(String(Object.values(row)[0]));
      }
    } catch (error) {
      if (resultCode(error) !== SQLITE_CORRUPT) throw translateError(error);
      breaches.push(`file: ${(error as Error).message}`);
    } finally {
      if (this.#session.database.isTransaction) this.#session.database.exec("ROLLBACK");
    }
    return breaches;
  }

  async close(): Promise<void> {
    if (this.#session.closed) return;
    clearInterval(this.#heartbeat);
    try {
      if (this.#heartbeat !== undefined) {
        await this.#write("volatile", () => {
          // Whoever closes the store has answered everybody: what is still held was for nobody.
          this.#money.releaseAll(this.#instances.id, "voided", 0);
          this.#instances.leave();
        });
      }
      await this.#writer.drain();
    } finally {
      this.#session.close();
    }
  }

  // ---- inside a transaction ----

  #tend(owed: readonly string[]): void {
    const { time } = this.#money;
    for (const holdId of owed) this.#money.release(holdId, "voided", false);
    this.#instances.register(time);
    this.#money.recover(0);
    this.#session.run(
      `DELETE FROM idempotency WHERE rowid IN
       (SELECT rowid FROM idempotency WHERE created_at < ? AND state = 'stored' ORDER BY created_at LIMIT ${PRUNE_ROWS})`,
      time - IDEMPOTENCY_TTL_MS,
    );
    this.#session.run("DELETE FROM call_counts WHERE day < ?", utcDay(time - KEEP_COUNTS_MS));
  }

  #writePlan(accountId: string, plan: Plan): void {
    this.#session.run(
      "INSERT OR REPLACE INTO plans (account_id, name, per_minute, per_day, costs) VALUES (?, ?, ?, ?, ?)",
      accountId,
      plan.name,
      plan.perMinute,
      plan.perDay,
      encodeCosts(plan.costs),
    );
  }

  #assertAccount(accountId: string): void {
    if (this.#session.read("SELECT 1 FROM accounts WHERE id = ?", accountId) === undefined)
      throw new UnknownAccountError(accountId);
  }

  // ---- transactions ----

  /** Starts the heartbeat once the transaction that registered this instance is committed. */
  #beat(): void {
    this.#money.registered = true;
    if (this.#heartbeat !== undefined || this.#session.closed) return;
    this.#heartbeat = setTimer(() => {
      const owed = [...this.#owed];
      this.#write("volatile", () => this.#tend(owed)).then(
        () => {
          for (const holdId of owed) this.#owed.delete(holdId);
        },
        // A store that cannot be written now has nothing to tend; whoever needs it gets the error.
        () => undefined,
      );
    }, this.#heartbeatMs);
    this.#heartbeat.unref();
  }

  #write<T>(durability: "durable" | "volatile", work: () => T): Promise<T> {
    if (this.#session.closed) return Promise.reject(this.#session.closedError());
    return this.#writer.run(durability, work);
  }

  /** As {@link GroupCommit.runLight}. */
  #writeLight<T>(durability: "durable" | "volatile", work: (light: boolean) => T | typeof ALONE): Promise<T> {
    if (this.#session.closed) return Promise.reject(this.#session.closedError());
    return this.#writer.runLight(durability, work);
  }
}
