import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { setTimeout as setPause, setInterval as setTimer } from "node:timers";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
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
  OverchargeError,
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
import { BatchMoney, type Money } from "./batch-money.ts";
import { anchoredClock, utcDay } from "./clock.ts";
import { GroupCommit, resultCode, SQLITE_BUSY, SQLITE_CORRUPT, translateError } from "./group-commit.ts";
import { INVARIANTS } from "./invariants.ts";
import { isAlive, type ProcessIdentity, thisProcess } from "./liveness.ts";
import { checkSqliteVersion, migrate, SCHEMA_VERSION } from "./sqlite-schema.ts";
import { checkPlan, decodeCosts, encodeCosts, MAX_BALANCE } from "./values.ts";

export interface SqliteStoreOptions {
  /** The ledger's file; made with mode 0600 where it is missing. Its folder must exist. */
  readonly path: string;
  /** Wall clock, epoch milliseconds. */
  readonly now: () => number;
  /**
   * Milliseconds that never go back, to keep a running process free of wall clock jumps. Without it `now` is believed as it is
   * (tests move it at will).
   */
  readonly monotonic?: () => number;
  /** The longest that a charge waits for others to share its sync: 2 ms. */
  readonly groupWaitMs?: number;
  /** The most changes in one transaction: 64. */
  readonly groupSize?: number;
  /** How often it says that it lives and tidies up: 10,000 ms. */
  readonly heartbeatMs?: number;
  /** How long a ledger locked by another process is tried before StoreUnavailableError: 5,000 ms. */
  readonly patienceMs?: number;
  /** Default `FULL`. `NORMAL` loses acknowledged charges on a power failure; only the control experiments use it. */
  readonly synchronous?: "FULL" | "NORMAL";
}

type Row = Record<string, unknown>;

type HoldState = "pending" | "posted" | "voided" | "expired";

interface OpenHold {
  readonly id: bigint;
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly call: string;
  readonly amount: Credits;
  readonly idempotencyKey: string | null;
}

/** How often an instance with holds says that it lives, and gives back what dead ones left. */
const HEARTBEAT_MS = 10_000;
/** Old idempotency records removed per heartbeat: few, so that no transaction is long. */
const PRUNE_ROWS = 500;
/** Day counters are needed for today and, around midnight, yesterday. */
const KEEP_COUNTS_MS = 3 * 24 * 60 * 60 * 1000;

/**
 * Opens the ledger, creating or migrating it.
 * @throws StoreUnavailableError where the file cannot be opened or locked; Error where it is not a ledger, or a newer one
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const patienceMs = options.patienceMs ?? 5000;
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
  readonly #database: DatabaseSyncInstance;
  readonly #writer: GroupCommit;
  readonly #statements = new Map<string, StatementSyncInstance>();
  readonly #now: () => number;
  readonly #path: string;
  /** Which file was opened, whatever the path names by now. */
  readonly #file: number;
  readonly #instance = randomBytes(8).toString("hex");
  readonly #self: ProcessIdentity = thisProcess();
  /** Holds of this instance that nobody settled yet. What never changes of a hold need not be read again. */
  readonly #open = new Map<string, OpenHold>();
  /** Holds that nobody will settle and that could not be given back yet: the file was locked, or the disk full. */
  readonly #owed = new Set<string>();
  readonly #money = new BatchMoney();
  /** When the transaction began: one instant for all that it writes. */
  #time = 0;
  #registered = false;
  #heartbeat: NodeJS.Timeout | undefined;
  readonly #heartbeatMs: number;
  #closed = false;

  constructor(database: DatabaseSyncInstance, options: SqliteStoreOptions) {
    this.#database = database;
    this.#path = options.path;
    this.#file = statSync(options.path).ino;
    this.#heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    this.#now = options.monotonic === undefined ? options.now : anchoredClock(options.now, options.monotonic);
    const state = {
      begin: () => {
        this.#assertInPlace();
        this.#money.begin();
        this.#time = this.#now();
      },
      beginOne: () => this.#money.beginOne(),
      undoOne: () => this.#money.undoOne(),
      finish: () => this.#writeMoney(),
    };
    this.#writer = new GroupCommit(database, state, {
      waitMs: options.groupWaitMs ?? 2,
      size: options.groupSize ?? 64,
      patienceMs: options.patienceMs ?? 5000,
      expected: () => this.#open.size,
      synchronous: options.synchronous ?? "FULL",
      schemaVersion: SCHEMA_VERSION,
    });
  }

  async findKey(hash: string): Promise<StoredKey | undefined> {
    const row = this.#read(`${KEY_COLUMNS} WHERE k.hash = ? AND k.revoked_at IS NULL`, hash);
    if (row === undefined || !sameHash(row.hash as string, hash)) return undefined;
    return storedKey(row);
  }

  async account(accountId: string): Promise<Account | undefined> {
    const row = this.#read(
      `SELECT a.id, a.name, p.name AS plan, p.per_minute, p.per_day, p.costs
       FROM accounts a JOIN plans p ON p.account_id = a.id WHERE a.id = ?`,
      accountId,
    );
    if (row === undefined) return undefined;
    const plan: Plan = {
      name: row.plan as string,
      perMinute: Number(row.per_minute),
      perDay: Number(row.per_day),
      costs: decodeCosts(row.costs as string),
    };
    return { id: row.id as string, name: row.name as string, plan };
  }

  async balance(accountId: string, mode: KeyMode): Promise<Balance> {
    return this.#balance(accountId, mode);
  }

  hold(request: HoldRequest): Promise<HoldOutcome> {
    if (request.amount < 0n) return Promise.reject(new RangeError("a hold cannot be negative"));
    return this.#write("volatile", () => this.#hold(request)).then((outcome) => {
      if (outcome.kind === "held") {
        this.#open.set(outcome.holdId, {
          id: BigInt(outcome.holdId),
          accountId: request.accountId,
          mode: request.mode,
          call: request.call,
          amount: request.amount,
          idempotencyKey: request.idempotency?.key ?? null,
        });
        this.#beat();
      }
      return outcome;
    });
  }

  settle(settlement: Settlement): Promise<{ readonly reply: StoredReply; readonly balance: Credits }> {
    return this.#write("durable", () => this.#settle(settlement)).finally(() => this.#open.delete(settlement.holdId));
  }

  release(holdId: string): Promise<Credits> {
    const work = this.#write("volatile", () => this.#release(holdId, "voided"));
    return work
      .catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) this.#owed.add(holdId);
        throw error;
      })
      .finally(() => this.#open.delete(holdId));
  }

  recordCalls(counts: readonly DayCount[]): Promise<void> {
    return this.#write("volatile", () => {
      for (const { keyId, day, count } of counts) {
        this.#run(
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
    return this.#readAll("SELECT key_id, day, count FROM call_counts WHERE day = ?", day).map((row) => ({
      keyId: row.key_id as string,
      day: row.day as string,
      count: Number(row.count),
    }));
  }

  createAccount(id: string, name: string): Promise<Account> {
    return this.#write("durable", () => {
      if (this.#read("SELECT 1 FROM accounts WHERE id = ?", id) !== undefined) {
        throw new StoreConflictError(`an account named ${JSON.stringify(id)} exists already`);
      }
      this.#run("INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)", id, name, this.#time);
      this.#writePlan(id, STANDARD_PLAN);
      for (const mode of ["live", "test"]) this.#run("INSERT INTO balances (account_id, mode) VALUES (?, ?)", id, mode);
      return { id, name, plan: STANDARD_PLAN };
    });
  }

  createKey(key: Omit<StoredKey, "revokedAt" | "accountName">): Promise<void> {
    return this.#write("durable", () => {
      this.#assertAccount(key.accountId);
      if (this.#read("SELECT 1 FROM keys WHERE id = ? OR hash = ?", key.id, key.hash) !== undefined) {
        throw new StoreConflictError(`a key ${key.id}, or one with the same secret, exists already`);
      }
      this.#run(
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
    return this.#readAll(`${KEY_COLUMNS} WHERE k.account_id = ? ORDER BY k.created_at, k.id`, accountId).map(storedKey);
  }

  revokeKey(keyId: string): Promise<boolean> {
    return this.#write(
      "durable",
      () => this.#run("UPDATE keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", this.#time, keyId) === 1,
    );
  }

  grant(accountId: string, mode: KeyMode, amount: Credits, note: string): Promise<Balance> {
    if (amount <= 0n)
      return Promise.reject(new RangeError(`only credits above zero can be added, not ${formatCredits(amount)}`));
    return this.#write("durable", () => {
      const money = this.#moneyOf(accountId, mode);
      const balance = credits(money.balance + amount);
      if (balance > MAX_BALANCE) throw new RangeError(`a balance cannot exceed ${formatCredits(MAX_BALANCE)} credits`);
      this.#setMoney({ ...money, balance });
      this.#appendEntry(accountId, mode, "grant", amount, balance, null, note);
      return { balance, held: money.held, usedToday: this.#usedToday(accountId, mode) };
    });
  }

  setPlan(accountId: string, plan: Plan): Promise<void> {
    checkPlan(plan);
    return this.#write("durable", () => {
      this.#assertAccount(accountId);
      this.#writePlan(accountId, plan);
    });
  }

  recover(olderThanMs: number): Promise<number> {
    return this.#write("volatile", () => this.#recover(olderThanMs));
  }

  async verify(): Promise<readonly string[]> {
    this.#assertOpen();
    await this.#writer.drain();
    const breaches: string[] = [];
    try {
      // One snapshot for all: other processes go on charging meanwhile.
      this.#database.exec("BEGIN");
      for (const row of this.#readAll("PRAGMA integrity_check")) {
        if (row.integrity_check !== "ok") breaches.push(`file: ${String(row.integrity_check)}`);
      }
      for (const row of this.#readAll("PRAGMA foreign_key_check")) {
        breaches.push(`file: a row of ${String(row.table)} points to a missing row of ${String(row.parent)}`);
      }
      for (const sql of INVARIANTS) {
        for (const row of this.#readAll(sql)) breaches.push(String(Object.values(row)[0]));
      }
    } catch (error) {
      if (resultCode(error) !== SQLITE_CORRUPT) throw translateError(error);
      breaches.push(`file: ${(error as Error).message}`);
    } finally {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
    return breaches;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    clearInterval(this.#heartbeat);
    try {
      if (this.#heartbeat !== undefined) {
        await this.#write("volatile", () => {
          // Whoever closes the store has answered everybody: what is still held was for nobody.
          this.#resolveAll(this.#instance, "voided", 0);
          this.#run("DELETE FROM instances WHERE id = ?", this.#instance);
        });
      }
      await this.#writer.drain();
    } finally {
      this.#closed = true;
      // The driver's statements keep the connection half open until they are collected, so SQLite's own checkpoint at the last
      // close does not come: without this one the log would stay, and grow over many short commands.
      try {
        this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      } catch {
        // Everything that was acknowledged is in the log, and stays there.
      }
      this.#statements.clear();
      this.#database.close();
    }
  }

  // ---- inside a transaction ----

  #hold(request: HoldRequest): HoldOutcome {
    const { accountId, mode, call, amount, idempotency } = request;
    if (idempotency !== undefined) {
      const known = this.#lookUp(request, idempotency.key, idempotency.requestHash);
      if (known !== undefined) return known;
    }
    const now = this.#time;
    const money = this.#moneyOf(accountId, mode);
    const { balance } = money;
    if (balance - money.held < amount) return { kind: "insufficient", balance, held: money.held };
    if (!this.#registered) this.#register(now);
    const id = this.#insert(
      `INSERT INTO holds (account_id, mode, key_id, call, amount, state, owner, request_id, idempotency_key, created_at)
       VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?)`,
      accountId,
      mode,
      request.keyId,
      call,
      amount,
      this.#instance,
      request.requestId,
      idempotency?.key ?? null,
      now,
    );
    if (idempotency !== undefined) {
      this.#run(
        `INSERT INTO idempotency (account_id, mode, call, key, request_hash, state, hold_id, created_at)
         VALUES (?, ?, ?, ?, ?, 'in_flight', ?, ?)`,
        accountId,
        mode,
        call,
        idempotency.key,
        idempotency.requestHash,
        id,
        now,
      );
    }
    const held = credits(money.held + amount);
    this.#setMoney({ ...money, held });
    return { kind: "held", holdId: id.toString(), balance, held };
  }

  /** What an idempotency key already stands for; undefined where it is free. */
  #lookUp(request: HoldRequest, key: string, requestHash: string): HoldOutcome | undefined {
    const record = this.#read(
      `SELECT i.state, i.request_hash, i.hold_id, i.created_at, i.status, i.headers, i.body, h.owner
       FROM idempotency i JOIN holds h ON h.id = i.hold_id
       WHERE i.account_id = ? AND i.mode = ? AND i.call = ? AND i.key = ?`,
      request.accountId,
      request.mode,
      request.call,
      key,
    );
    if (record === undefined) return undefined;
    if (record.state === "in_flight") {
      if (this.#isOwnerAlive(record.owner as string, this.#time)) {
        return record.request_hash === requestHash ? { kind: "in_flight" } : { kind: "mismatch" };
      }
      // Its process died before it answered: nothing was charged, and the key is free again.
      this.#release(String(record.hold_id), "expired");
      return undefined;
    }
    if (this.#time - Number(record.created_at) >= IDEMPOTENCY_TTL_MS) {
      this.#run("DELETE FROM idempotency WHERE hold_id = ?", record.hold_id);
      return undefined;
    }
    if (record.request_hash !== requestHash) return { kind: "mismatch" };
    const headers = JSON.parse(record.headers as string) as Record<string, string>;
    return { kind: "replay", reply: { status: Number(record.status), headers, body: record.body as string } };
  }

  #settle({ holdId, amount, reply }: Settlement): { readonly reply: StoredReply; readonly balance: Credits } {
    const hold = this.#open.get(holdId) ?? this.#findHold(holdId);
    if (amount < 0n) throw new RangeError(`a charge cannot be negative: ${formatCredits(amount)}`);
    if (amount > hold.amount) throw new OverchargeError(holdId, amount, hold.amount);
    const { accountId, mode } = hold;
    const now = this.#time;
    this.#resolve(hold, "posted", amount, now);
    const money = this.#moneyOf(accountId, mode);
    const balance = credits(money.balance - amount);
    const charged = credits(money.charged + amount);
    this.#setMoney({ ...money, balance, held: credits(money.held - hold.amount), charged });
    if (amount > 0n) this.#appendEntry(accountId, mode, "charge", credits(-amount), balance, hold.id, hold.call);
    const answer = reply(balance);
    if (hold.idempotencyKey !== null) {
      const stored = this.#run(
        `UPDATE idempotency SET state = 'stored', status = ?, headers = ?, body = ?, created_at = ?
         WHERE hold_id = ? AND state = 'in_flight'`,
        answer.status,
        JSON.stringify(answer.headers),
        answer.body,
        now,
        hold.id,
      );
      if (stored !== 1) throw new LedgerInvariantError(`hold ${holdId} has lost its idempotency record`);
    }
    return { reply: answer, balance };
  }

  #release(holdId: string, state: "voided" | "expired"): Credits {
    const hold = this.#open.get(holdId) ?? this.#findHold(holdId);
    const { accountId, mode } = hold;
    const money = this.#moneyOf(accountId, mode);
    if (this.#stateOf(hold.id) !== "pending") return money.balance;
    this.#resolve(hold, state, null, this.#time);
    if (hold.idempotencyKey !== null) this.#run("DELETE FROM idempotency WHERE hold_id = ?", hold.id);
    this.#setMoney({ ...money, held: credits(money.held - hold.amount) });
    return money.balance;
  }

  /** pending -> posted, voided or expired, once (I3). */
  #resolve(hold: OpenHold, state: "posted" | "voided" | "expired", posted: Credits | null, now: number): void {
    const changed = this.#run(
      "UPDATE holds SET state = ?, posted = ?, resolved_at = ? WHERE id = ? AND state = 'pending'",
      state,
      posted,
      now,
      hold.id,
    );
    if (changed !== 1) throw new HoldResolvedError(hold.id.toString(), this.#stateOf(hold.id));
  }

  #recover(olderThanMs: number): number {
    const now = this.#time;
    let count = 0;
    for (const { owner } of this.#readAll("SELECT DISTINCT owner FROM holds WHERE state = 'pending'")) {
      if (this.#isOwnerAlive(owner as string, now)) continue;
      count += this.#resolveAll(owner as string, "expired", olderThanMs);
    }
    for (const { id } of this.#readAll("SELECT id FROM instances")) {
      if (this.#isOwnerAlive(id as string, now)) continue;
      this.#run(
        "DELETE FROM instances WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM holds WHERE owner = ?1 AND state = 'pending')",
        id,
      );
    }
    return count;
  }

  #resolveAll(owner: string, state: "voided" | "expired", olderThanMs: number): number {
    const latest = olderThanMs === 0 ? Number.MAX_SAFE_INTEGER : this.#time - olderThanMs;
    const holds = this.#readAll(
      "SELECT id FROM holds WHERE owner = ? AND state = 'pending' AND created_at <= ?",
      owner,
      latest,
    );
    for (const { id } of holds) this.#release(String(id), state);
    return holds.length;
  }

  #isOwnerAlive(owner: string, now: number): boolean {
    if (owner === this.#instance) return true;
    const row = this.#read("SELECT pid, started, machine, heartbeat_at FROM instances WHERE id = ?", owner);
    if (row === undefined) return false;
    const identity = { pid: Number(row.pid), started: row.started as string, machine: row.machine as string };
    return isAlive(identity, this.#self, now - Number(row.heartbeat_at));
  }

  /** Makes this instance known with its first hold, so that a command that only reads or grants leaves no trace. */
  #register(now: number): void {
    this.#run(
      `INSERT INTO instances (id, pid, started, machine, heartbeat_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET heartbeat_at = excluded.heartbeat_at`,
      this.#instance,
      this.#self.pid,
      this.#self.started,
      this.#self.machine,
      now,
    );
  }

  /** Starts the heartbeat once the transaction that registered this instance is committed. */
  #beat(): void {
    this.#registered = true;
    if (this.#heartbeat !== undefined || this.#closed) return;
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

  #tend(owed: readonly string[]): void {
    const now = this.#time;
    for (const holdId of owed) this.#release(holdId, "voided");
    this.#register(now);
    this.#recover(0);
    this.#run(
      `DELETE FROM idempotency WHERE rowid IN
       (SELECT rowid FROM idempotency WHERE created_at < ? AND state = 'stored' ORDER BY created_at LIMIT ${PRUNE_ROWS})`,
      now - IDEMPOTENCY_TTL_MS,
    );
    this.#run("DELETE FROM call_counts WHERE day < ?", utcDay(now - KEEP_COUNTS_MS));
  }

  #appendEntry(
    accountId: string,
    mode: KeyMode,
    kind: "grant" | "charge",
    amount: Credits,
    balanceAfter: Credits,
    holdId: bigint | null,
    note: string,
  ): void {
    const now = this.#time;
    this.#run(
      `INSERT INTO entries (account_id, mode, kind, amount, balance_after, hold_id, note, day, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      accountId,
      mode,
      kind,
      amount,
      balanceAfter,
      holdId,
      note,
      utcDay(now),
      now,
    );
  }

  #writePlan(accountId: string, plan: Plan): void {
    this.#run(
      "INSERT OR REPLACE INTO plans (account_id, name, per_minute, per_day, costs) VALUES (?, ?, ?, ?, ?)",
      accountId,
      plan.name,
      plan.perMinute,
      plan.perDay,
      encodeCosts(plan.costs),
    );
  }

  /** @throws HoldResolvedError where no such hold was ever made */
  #findHold(holdId: string): OpenHold {
    const row = /^\d{1,18}$/.test(holdId)
      ? this.#read("SELECT id, account_id, mode, call, amount, idempotency_key FROM holds WHERE id = ?", BigInt(holdId))
      : undefined;
    if (row === undefined) throw new HoldResolvedError(holdId, "unknown");
    return {
      id: row.id as bigint,
      accountId: row.account_id as string,
      mode: row.mode as KeyMode,
      call: row.call as string,
      amount: credits(row.amount as bigint),
      idempotencyKey: row.idempotency_key as string | null,
    };
  }

  #stateOf(id: bigint): HoldState {
    return this.#read("SELECT state FROM holds WHERE id = ?", id)?.state as HoldState;
  }

  #balance(accountId: string, mode: KeyMode): Balance {
    const { balance, held } = this.#readMoney(accountId, mode);
    return { balance, held, usedToday: this.#usedToday(accountId, mode) };
  }

  #usedToday(accountId: string, mode: KeyMode): Credits {
    const row = this.#read(
      "SELECT charged FROM usage_days WHERE account_id = ? AND mode = ? AND day = ?",
      accountId,
      mode,
      utcDay(this.#now()),
    );
    return credits((row?.charged ?? 0n) as bigint);
  }

  #readMoney(accountId: string, mode: KeyMode): Money {
    const row = this.#read("SELECT balance, held FROM balances WHERE account_id = ? AND mode = ?", accountId, mode);
    if (row === undefined) throw new UnknownAccountError(accountId);
    const money = { balance: credits(row.balance as bigint), held: credits(row.held as bigint) };
    return assertSound({ accountId, mode, ...money, charged: credits(0n) });
  }

  /** The account's money as this transaction has left it so far. */
  #moneyOf(accountId: string, mode: KeyMode): Money {
    return this.#money.get(accountId, mode) ?? this.#readMoney(accountId, mode);
  }

  #setMoney(money: Money): void {
    this.#money.set(assertSound(money));
  }

  #writeMoney(): void {
    const day = utcDay(this.#time);
    for (const { accountId, mode, balance, held, charged } of this.#money.all()) {
      this.#run(
        "UPDATE balances SET balance = ?, held = ? WHERE account_id = ? AND mode = ?",
        balance,
        held,
        accountId,
        mode,
      );
      if (charged === 0n) continue;
      this.#run(
        `INSERT INTO usage_days (account_id, mode, day, charged) VALUES (?, ?, ?, ?)
         ON CONFLICT (account_id, mode, day) DO UPDATE SET charged = charged + excluded.charged`,
        accountId,
        mode,
        day,
        charged,
      );
    }
  }

  #assertAccount(accountId: string): void {
    if (this.#read("SELECT 1 FROM accounts WHERE id = ?", accountId) === undefined)
      throw new UnknownAccountError(accountId);
  }

  /** A file that was removed or replaced while it is open still takes writes, and nobody would ever see them again. */
  #assertInPlace(): void {
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino === this.#file) return;
    throw new StoreUnavailableError(`the ledger ${this.#path} was removed or replaced while it was open`);
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreUnavailableError(`the ledger ${this.#path} is closed`);
  }

  // ---- statements ----

  #write<T>(durability: "durable" | "volatile", work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new StoreUnavailableError(`the ledger ${this.#path} is closed`));
    return this.#writer.run(durability, work);
  }

  #statement(sql: string): StatementSyncInstance {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    // Amounts above 2^53 millionths must not pass through a float.
    const statement = this.#database.prepare(sql, { readBigInts: true });
    this.#statements.set(sql, statement);
    return statement;
  }

  #read(sql: string, ...parameters: readonly unknown[]): Row | undefined {
    return this.#guard(() => this.#statement(sql).get(...parameters) as Row | undefined);
  }

  #readAll(sql: string, ...parameters: readonly unknown[]): Row[] {
    return this.#guard(() => this.#statement(sql).all(...parameters) as Row[]);
  }

  /** @returns the new row's number */
  #insert(sql: string, ...parameters: readonly unknown[]): bigint {
    return this.#guard(() => BigInt(this.#statement(sql).run(...parameters).lastInsertRowid));
  }

  /** @returns how many rows changed */
  #run(sql: string, ...parameters: readonly unknown[]): number {
    return this.#guard(() => Number(this.#statement(sql).run(...parameters).changes));
  }

  #guard<T>(work: () => T): T {
    this.#assertOpen();
    try {
      return work();
    } catch (error) {
      // Inside a transaction the writer has to see SQLite's own code; outside, the caller wants the store's error.
      throw this.#database.isTransaction ? error : translateError(error);
    }
  }
}

/** I2, asserted on every figure that enters or leaves the store, besides the constraint in the schema. */
function assertSound(money: Money): Money {
  const { accountId, mode, balance, held } = money;
  if (held < 0n || held > balance) {
    throw new LedgerInvariantError(`${accountId} (${mode}) would hold ${held} of ${balance} millionths`);
  }
  return money;
}

const KEY_COLUMNS = `SELECT k.id, k.name, k.mode, k.prefix, k.hash, k.account_id, k.created_at, k.revoked_at,
  a.name AS account_name FROM keys k JOIN accounts a ON a.id = k.account_id`;

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
