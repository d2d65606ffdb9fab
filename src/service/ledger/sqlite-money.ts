import { type Credits, credits, formatCredits } from "../../contract/money.ts";
import { BatchMoney, type Money } from "./batch-money.ts";
import { utcDay } from "./clock.ts";
import { ALONE, type BatchState } from "./group-commit.ts";
import {
  type Balance,
  type HoldOutcome,
  type HoldRequest,
  HoldResolvedError,
  IDEMPOTENCY_TTL_MS,
  type KeyMode,
  LedgerInvariantError,
  OverchargeError,
  type Settlement,
  type StoredReply,
  UnknownAccountError,
} from "./ledger.ts";
import { type HoldState, holdTerms, storedReply } from "./rows.ts";
import type { SqliteInstances } from "./sqlite-instances.ts";
import { RowBuffer } from "./sqlite-rows.ts";
import type { SqliteSession } from "./sqlite-session.ts";
import { MAX_BALANCE } from "./values.ts";

interface OpenHold {
  readonly id: bigint;
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly call: string;
  readonly amount: Credits;
  readonly idempotencyKey: string | null;
}

/**
 * What happens to money inside one transaction on SQLite. Balances are read once and written once; holds, their resolutions, entries
 * and idempotency records are gathered and written many at a time.
 *
 * `hold`, `settle` and `release` take `light`: then they must not write, only gather, and return ALONE where that is not enough.
 * That is so where something about this hold or key was gathered before in the same transaction, which reading would not show, or
 * where anything but the common case is found. A light settlement trusts that a hold of this process is still pending; the count of
 * the rows that its statement changed tells whether that was so.
 */
export class SqliteMoney implements BatchState {
  readonly #session: SqliteSession;
  readonly #instances: SqliteInstances;
  readonly #now: () => number;
  /** Holds of this instance that nobody settled yet. What never changes of a hold need not be read again. */
  readonly #open = new Map<string, OpenHold>();
  readonly #money = new BatchMoney();
  readonly #holds: RowBuffer;
  readonly #records: RowBuffer;
  readonly #resolutions: RowBuffer;
  readonly #entries: RowBuffer;
  readonly #replies: RowBuffer;
  readonly #buffers: readonly RowBuffer[];
  /** The lengths of the buffers when the change that is under way began. */
  #marks: readonly number[] = [];
  /** Holds that this transaction resolves, and idempotency keys that it takes. */
  readonly #resolved = new Set<bigint>();
  readonly #taken = new Set<string>();
  /** The number of the next hold; unknown until the transaction asks. Holds are never deleted. */
  #nextId: bigint | undefined;
  /** When the transaction began: one instant for all that it writes. */
  #time = 0;
  /** Whether this instance is in the ledger, so that its holds are known to be somebody's. */
  registered = false;

  constructor(session: SqliteSession, instances: SqliteInstances, now: () => number) {
    this.#session = session;
    this.#instances = instances;
    this.#now = now;
    const execute = (sql: string, values: readonly unknown[]): number => session.run(sql, ...values);
    this.#holds = new RowBuffer(
      9,
      (tuples) =>
        `INSERT INTO holds (id, account_id, mode, key_id, call, amount, request_id, idempotency_key, created_at, state, owner)
         SELECT v.*, 'pending', '${instances.id}' FROM (VALUES ${tuples}) AS v`,
      execute,
    );
    this.#records = new RowBuffer(
      7,
      (tuples) =>
        `INSERT INTO idempotency (account_id, mode, call, key, request_hash, hold_id, created_at, state)
         SELECT v.*, 'in_flight' FROM (VALUES ${tuples}) AS v`,
      execute,
    );
    this.#resolutions = new RowBuffer(
      4,
      (tuples) =>
        `WITH v (id, state, posted, resolved_at) AS (VALUES ${tuples})
         UPDATE holds SET state = v.state, posted = v.posted, resolved_at = v.resolved_at
         FROM v WHERE holds.id = v.id AND holds.state = 'pending'`,
      execute,
    );
    this.#entries = new RowBuffer(
      9,
      (tuples) =>
        `INSERT INTO entries (account_id, mode, kind, amount, balance_after, hold_id, note, day, created_at) VALUES ${tuples}`,
      execute,
    );
    this.#replies = new RowBuffer(
      5,
      (tuples) =>
        `WITH v (hold_id, status, headers, body, created_at) AS (VALUES ${tuples})
         UPDATE idempotency SET state = 'stored', status = v.status, headers = v.headers, body = v.body,
           created_at = v.created_at
         FROM v WHERE idempotency.hold_id = v.hold_id AND idempotency.state = 'in_flight'`,
      execute,
    );
    this.#buffers = [this.#holds, this.#records, this.#resolutions, this.#entries, this.#replies];
  }

  /** The instant of the transaction, epoch milliseconds. */
  get time(): number {
    return this.#time;
  }

  /** Holds of this process that wait for their settlement. */
  get openHolds(): number {
    return this.#open.size;
  }

  /** A hold of this process was committed. */
  remember(holdId: string, request: HoldRequest): void {
    this.#open.set(holdId, {
      id: BigInt(holdId),
      accountId: request.accountId,
      mode: request.mode,
      call: request.call,
      amount: request.amount,
      idempotencyKey: request.idempotency?.key ?? null,
    });
  }

  /** Nobody will settle this hold any more. */
  forget(holdId: string): void {
    this.#open.delete(holdId);
  }

  // ---- the transaction ----

  begin(): void {
    this.#session.assertInPlace();
    this.#money.begin();
    this.#marks = [];
    this.#truncate();
    this.#resolved.clear();
    this.#taken.clear();
    this.#nextId = undefined;
    this.#time = this.#now();
  }

  beginOne(): void {
    this.#money.beginOne();
    this.#marks = this.#buffers.map(({ length }) => length);
  }

  undoOne(): void {
    this.#money.undoOne();
    this.#truncate();
  }

  #truncate(): void {
    for (const [index, buffer] of this.#buffers.entries()) buffer.truncate(this.#marks[index] ?? 0);
  }

  flush(): void {
    this.#holds.write();
    this.#records.write();
    const resolving = this.#resolutions.length;
    const resolved = this.#resolutions.write();
    if (resolved !== resolving) {
      throw new LedgerInvariantError(`${resolving} holds were to be resolved, ${resolved} were pending`);
    }
    this.#entries.write();
    const replying = this.#replies.length;
    if (this.#replies.write() !== replying) throw new LedgerInvariantError("a hold has lost its idempotency record");
  }

  finish(): void {
    this.flush();
    const day = utcDay(this.#time);
    for (const { accountId, mode, balance, held, charged } of this.#money.all()) {
      this.#session.run(
        "UPDATE balances SET balance = ?, held = ? WHERE account_id = ? AND mode = ?",
        balance,
        held,
        accountId,
        mode,
      );
      if (charged === 0n) continue;
      this.#session.run(
        `INSERT INTO usage_days (account_id, mode, day, charged) VALUES (?, ?, ?, ?)
         ON CONFLICT (account_id, mode, day) DO UPDATE SET charged = charged + excluded.charged`,
        accountId,
        mode,
        day,
        charged,
      );
    }
  }

  // ---- the changes ----

  hold(request: HoldRequest, light: boolean): HoldOutcome | typeof ALONE {
    const { accountId, mode, call, amount, idempotency } = request;
    if (light && !this.registered) return ALONE;
    const taken = idempotency === undefined ? undefined : `${accountId} ${mode} ${call} ${idempotency.key}`;
    if (idempotency !== undefined && taken !== undefined) {
      if (light && (this.#taken.has(taken) || this.#record(request, idempotency.key) !== undefined)) return ALONE;
      const known = light ? undefined : this.#lookUp(request, idempotency.key, idempotency.requestHash);
      if (known !== undefined) return known;
    }
    const money = this.#moneyOf(accountId, mode);
    const { balance } = money;
    if (balance - money.held < amount) return { kind: "insufficient", balance, held: money.held };
    if (!this.registered) this.#instances.register(this.#time);
    const held = credits(money.held + amount);
    this.#setMoney({ ...money, held });
    const id = this.#makeId();
    const { keyId, requestId } = request;
    this.#holds.add(id, accountId, mode, keyId, call, amount, requestId, idempotency?.key ?? null, this.#time);
    if (idempotency !== undefined && taken !== undefined) {
      this.#taken.add(taken);
      this.#records.add(accountId, mode, call, idempotency.key, idempotency.requestHash, id, this.#time);
    }
    return { kind: "held", holdId: id.toString(), balance, held };
  }

  settle(settlement: Settlement, light: boolean): { reply: StoredReply; balance: Credits } | typeof ALONE {
    const { holdId, amount, reply } = settlement;
    const open = this.#open.get(holdId);
    if (light && (open === undefined || this.#resolved.has(open.id))) return ALONE;
    const hold = open ?? this.#findHold(holdId);
    if (amount < 0n) throw new RangeError(`a charge cannot be negative: ${formatCredits(amount)}`);
    if (amount > hold.amount) throw new OverchargeError(holdId, amount, hold.amount);
    if (!light) {
      const state = this.#stateOf(hold.id);
      if (state !== "pending") throw new HoldResolvedError(holdId, state);
    }
    const { accountId, mode } = hold;
    const money = this.#moneyOf(accountId, mode);
    const balance = credits(money.balance - amount);
    const charged = credits(money.charged + amount);
    this.#setMoney({ ...money, balance, held: credits(money.held - hold.amount), charged });
    this.#resolve(hold, "posted", amount);
    if (amount > 0n) this.#enter(accountId, mode, "charge", credits(-amount), balance, hold.id, hold.call);
    const answer = reply(balance);
    if (hold.idempotencyKey !== null) {
      this.#replies.add(hold.id, answer.status, JSON.stringify(answer.headers), answer.body, this.#time);
    }
    return { reply: answer, balance };
  }

  release(holdId: string, state: "voided" | "expired", light: boolean): Credits | typeof ALONE {
    const open = this.#open.get(holdId);
    const simple = open !== undefined && open.idempotencyKey === null && !this.#resolved.has(open.id);
    if (light && !simple) return ALONE;
    const hold = open ?? this.#findHold(holdId);
    const { accountId, mode } = hold;
    const money = this.#moneyOf(accountId, mode);
    if (!light && this.#stateOf(hold.id) !== "pending") return money.balance;
    this.#setMoney({ ...money, held: credits(money.held - hold.amount) });
    this.#resolve(hold, state, null);
    if (hold.idempotencyKey !== null) this.#session.run("DELETE FROM idempotency WHERE hold_id = ?", hold.id);
    return money.balance;
  }

  /** Never light. */
  grant(accountId: string, mode: KeyMode, amount: Credits, note: string): Balance {
    const money = this.#moneyOf(accountId, mode);
    const balance = credits(money.balance + amount);
    if (balance > MAX_BALANCE) throw new RangeError(`a balance cannot exceed ${formatCredits(MAX_BALANCE)} credits`);
    this.#setMoney({ ...money, balance });
    this.#enter(accountId, mode, "grant", amount, balance, null, note);
    return { balance, held: money.held, usedToday: this.#usedToday(accountId, mode) };
  }

  /**
   * Never light. Gives back what dead processes hold, as far as it is older than `olderThanMs`.
   * @returns how many holds
   */
  recover(olderThanMs: number): number {
    let count = 0;
    for (const { owner } of this.#session.readAll("SELECT DISTINCT owner FROM holds WHERE state = 'pending'")) {
      if (this.#instances.isAlive(owner as string, this.#time)) continue;
      count += this.releaseAll(owner as string, "expired", olderThanMs);
    }
    // So that an instance without holds is seen to have none.
    this.flush();
    this.#instances.prune(this.#time);
    return count;
  }

  /** Never light. Gives back all that one instance holds. @returns how many holds */
  releaseAll(owner: string, state: "voided" | "expired", olderThanMs: number): number {
    const latest = olderThanMs === 0 ? Number.MAX_SAFE_INTEGER : this.#time - olderThanMs;
    const holds = this.#session.readAll(
      "SELECT id FROM holds WHERE owner = ? AND state = 'pending' AND created_at <= ?",
      owner,
      latest,
    );
    for (const { id } of holds) this.release(String(id), state, false);
    return holds.length;
  }

  /** As it is committed. */
  balance(accountId: string, mode: KeyMode): Balance {
    const { balance, held } = this.#readMoney(accountId, mode);
    return { balance, held, usedToday: this.#usedToday(accountId, mode) };
  }

  // ---- parts ----

  #record(request: HoldRequest, key: string) {
    return this.#session.read(
      `SELECT i.state, i.request_hash, i.hold_id, i.created_at, i.status, i.headers, i.body, h.owner
       FROM idempotency i JOIN holds h ON h.id = i.hold_id
       WHERE i.account_id = ? AND i.mode = ? AND i.call = ? AND i.key = ?`,
      request.accountId,
      request.mode,
      request.call,
      key,
    );
  }

  /** What an idempotency key already stands for; undefined where it is free, or made free here. */
  #lookUp(request: HoldRequest, key: string, requestHash: string): HoldOutcome | undefined {
    const record = this.#record(request, key);
    if (record === undefined) return undefined;
    if (record.state === "in_flight") {
      if (this.#instances.isAlive(record.owner as string, this.#time)) {
        return record.request_hash === requestHash ? { kind: "in_flight" } : { kind: "mismatch" };
      }
      // Its process died before it answered: nothing was charged, and the key is free again.
      this.release(String(record.hold_id), "expired", false);
      return undefined;
    }
    if (this.#time - Number(record.created_at) >= IDEMPOTENCY_TTL_MS) {
      this.#session.run("DELETE FROM idempotency WHERE hold_id = ?", record.hold_id);
      return undefined;
    }
    return record.request_hash === requestHash ? { kind: "replay", reply: storedReply(record) } : { kind: "mismatch" };
  }

  /** pending -> posted, voided or expired, once (I3): {@link flush} counts. */
  #resolve(hold: OpenHold, state: HoldState, posted: Credits | null): void {
    this.#resolved.add(hold.id);
    this.#resolutions.add(hold.id, state, posted, this.#time);
  }

  #enter(
    accountId: string,
    mode: KeyMode,
    kind: "grant" | "charge",
    amount: Credits,
    balanceAfter: Credits,
    holdId: bigint | null,
    note: string,
  ): void {
    const day = utcDay(this.#time);
    this.#entries.add(accountId, mode, kind, amount, balanceAfter, holdId, note, day, this.#time);
  }

  #makeId(): bigint {
    const id =
      this.#nextId ??
      (this.#session.read("SELECT COALESCE(MAX(id), 0) + 1 AS id FROM holds")?.id as bigint | undefined);
    if (id === undefined) throw new LedgerInvariantError("the ledger does not tell the number of the next hold");
    this.#nextId = id + 1n;
    return id;
  }

  /** @throws HoldResolvedError where no such hold was ever made */
  #findHold(holdId: string): OpenHold {
    const row = /^\d{1,18}$/.test(holdId)
      ? this.#session.read(
          "SELECT id, account_id, mode, call, amount, idempotency_key FROM holds WHERE id = ?",
          BigInt(holdId),
        )
      : undefined;
    if (row === undefined) throw new HoldResolvedError(holdId, "unknown");
    const [id, accountId, mode] = [row.id as bigint, row.account_id as string, row.mode as KeyMode];
    return { id, accountId, mode, ...holdTerms(row) };
  }

  #stateOf(id: bigint): HoldState {
    if (this.#resolved.has(id)) this.flush();
    return this.#session.read("SELECT state FROM holds WHERE id = ?", id)?.state as HoldState;
  }

  #usedToday(accountId: string, mode: KeyMode): Credits {
    const row = this.#session.read(
      "SELECT charged FROM usage_days WHERE account_id = ? AND mode = ? AND day = ?",
      accountId,
      mode,
      utcDay(this.#now()),
    );
    return credits((row?.charged ?? 0n) as bigint);
  }

  #readMoney(accountId: string, mode: KeyMode): Money {
    const row = this.#session.read(
      "SELECT balance, held FROM balances WHERE account_id = ? AND mode = ?",
      accountId,
      mode,
    );
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
}

/** I2, asserted on every figure that enters or leaves the store, besides the constraint in the schema. */
function assertSound(money: Money): Money {
  const { accountId, mode, balance, held } = money;
  if (held < 0n || held > balance) {
    throw new LedgerInvariantError(`${accountId} (${mode}) would hold ${held} of ${balance} millionths`);
  }
  return money;
}
