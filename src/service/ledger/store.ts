import { setInterval as setTimer } from "node:timers";
import { type Credits, credits } from "../../shared/contract/money.ts";
import { present, whenGiven } from "../../shared/contract/text.ts";
import { sameHash } from "../money/keys.ts";
import { ACCOUNT_COLUMNS, recordCalls, storedAccount, storedCount } from "./accounts.ts";
import { administration } from "./administration.ts";
import { audit, replyDigest } from "./chain/links.ts";
import { utcDay } from "./clock.ts";
import { consoleStore } from "./console.ts";
import { change, type Row, replyOf, runStatement, type Steps, storedFields } from "./database.ts";
import { HoldResolvedError, StoreUnavailableError, UnknownAccountError } from "./errors.ts";
import {
  type LedgerDatabase,
  type MoneyRequest,
  moneyOf,
  type Place,
  placeIn,
  type Settled,
} from "./facts.ts";
import { KEY_COLUMNS, storedKey } from "./key-steps.ts";
import type {
  Account,
  Administration,
  Balance,
  DayCount,
  HoldOutcome,
  HoldRequest,
  HoldSettlement,
  KeyMode,
  LedgerOptions,
  Store,
  StoredKey,
} from "./ledger.ts";
import { ownedPeople } from "./owned.ts";
import type { ConsoleStore, KeptFilters, KeptReply, PeopleStore, StoredReply } from "./records.ts";
import { versionCache } from "./version-cache.ts";

/** Replies of a thousand people are half a megabyte. */
const REPLIES_AT_ONCE = 16;

const REPLIES = `SELECT hold_id, account_id, mode, key, request_hash, status, headers, body, digest
  FROM idempotency WHERE status IS NOT NULL`;

interface ReplyRow extends KeptReply {
  readonly holdId: unknown;
  readonly requestHash: string;
  readonly digest: string;
}

function peopleStore(database: LedgerDatabase, now: () => number): PeopleStore {
  async function* keptReplies(): AsyncGenerator<ReplyRow> {
    for (let last: unknown; ; ) {
      const after = last === undefined ? "" : " AND hold_id > $1";
      const sql = `${REPLIES}${after} ORDER BY hold_id LIMIT ${REPLIES_AT_ONCE}`;
      const rows = await database.read(sql, ...(last === undefined ? [] : [last]));
      for (const row of rows)
        yield { ...storedFields<Omit<ReplyRow, "reply">>(row, []), reply: replyOf(row) };
      if (rows.length < REPLIES_AT_ONCE) return;
      last = rows.at(-1)?.hold_id;
    }
  }

  return {
    ...ownedPeople(database),

    replies: keptReplies,

    async filters() {
      const rows = await database.read(
        `SELECT account_id, id, filters, '' AS name FROM console_exports
         UNION ALL SELECT account_id, id, filters, name FROM console_segments ORDER BY id`,
      );
      return rows.map((row) => storedFields<KeptFilters>(row, []));
    },

    async rewrite(make) {
      let rewritten = 0;
      for await (const old of keptReplies()) {
        const reply = make(old);
        if (reply !== undefined)
          rewritten += await database.change("durable", () => replace(old, reply));
      }
      return rewritten;
    },

    removeFilters: (these) => database.change("durable", () => remove(these)),

    note: (detail, by) =>
      database.change("durable", () => {
        return audit(
          { actor: by, action: "people.forget", accountId: null, target: "a person", detail },
          now(),
        );
      }),

    wipe: () => database.wipe(["idempotency", "console_exports", "console_segments", "owned"]),
  };
}

/**
 * Only where it is still what was read. The digest of
 * what was settled stays with the hold, and in the chain.
 */
function* replace(
  { digest, holdId, requestHash }: ReplyRow,
  { body, headers, status }: StoredReply,
): Steps<number> {
  const values = [status, JSON.stringify(headers), body.toString()];
  return yield* change(
    "UPDATE idempotency SET status = $1, headers = $2, body = $3, " +
      "digest = $4 WHERE hold_id = $5 AND digest = $6",
    ...values,
    replyDigest([requestHash, ...values]),
    holdId,
    digest,
  );
}

function* remove(these: readonly KeptFilters[]): Steps<void> {
  for (const { filters, id } of these) {
    for (const table of ["console_exports", "console_segments"])
      yield* change(`DELETE FROM ${table} WHERE id = $1 AND filters = $2`, id, filters);
  }
}

const HEARTBEAT_MS = 10_000;
/** The most idempotency records that one transaction removes. */
const PRUNE_ROWS = 500;
const PRUNE_ROUNDS = 10;
const KEEP_COUNTS_MS = 3 * 24 * 60 * 60 * 1000;
const REMEMBERED = 10_000;

function caches(generation: LedgerDatabase["generation"]) {
  const cache = <Value>() => versionCache<Value>(generation, REMEMBERED);
  return {
    keys: cache<StoredKey | undefined>(),
    accounts: cache<Account | undefined>(),
    balances: cache<Balance>(),
    moneys: cache<Pick<Balance, "balance" | "held">>(),
  };
}

type LedgerStoreOptions = Pick<LedgerOptions, "now" | "heartbeatMs" | "actor">;

export function ledgerStore(
  database: LedgerDatabase,
  options: LedgerStoreOptions,
  open?: Map<string, Place>,
): Store {
  const store = new LedgerStore(database, options, open);
  const { actor = "service", now } = options;
  const [balance, forget] = [store.balance.bind(store), store.forget.bind(store)];
  return Object.assign(store, administration(database, { now, actor, balance, forget }));
}

/** The ledger on any database: keeps what only this process knows, and leaves money to `decide`. */
class LedgerStore implements Omit<Store, keyof Administration> {
  readonly #database: LedgerDatabase;
  readonly #now: () => number;
  readonly #heartbeatMs: number;
  readonly #remembered: ReturnType<typeof caches>;
  readonly #open: Map<string, Place>;
  /** Holds that nobody will settle and that could not be given back yet. */
  readonly #owed = new Set<string>();
  /** Settlements that were reported as failed although their commit may stand. */
  readonly #doubtful = new Set<string>();
  readonly console: ConsoleStore;
  readonly people: PeopleStore;
  #heartbeat: NodeJS.Timeout | undefined;
  #registration: Promise<void> | undefined;
  #registered = false;
  #halted: Error | undefined;

  constructor(
    database: LedgerDatabase,
    options: LedgerStoreOptions,
    open = new Map<string, Place>(),
  ) {
    this.#database = database;
    this.#now = options.now;
    this.console = consoleStore(database, options.now);
    this.people = peopleStore(database, options.now);
    this.#heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS;
    this.#open = open;
    this.#remembered = caches(database.generation);
  }

  async findKey(hash: string): Promise<StoredKey | undefined> {
    this.#assertServing();
    return this.#remembered.keys.get(hash, async () => {
      const [row] = await this.#database.read(
        `${KEY_COLUMNS} WHERE k.hash = $1 AND k.revoked_at IS NULL`,
        hash,
      );
      const key = whenGiven(row, storedKey);
      return key !== undefined && sameHash(key.hash, hash) ? key : undefined;
    });
  }

  account(accountId: string): Promise<Account | undefined> {
    return this.#remembered.accounts.get(accountId, async () => {
      const [row] = await this.#database.read(`${ACCOUNT_COLUMNS} WHERE a.id = $1`, accountId);
      return whenGiven(row, storedAccount);
    });
  }

  balance(accountId: string, mode: KeyMode): Promise<Balance> {
    const day = utcDay(this.#now());
    return this.#remembered.balances.get(`${mode} ${day} ${accountId}`, async () => {
      const used = `, CAST((SELECT COALESCE(SUM(u.charged), 0) FROM usage u
        WHERE u.account_id = b.account_id AND u.mode = b.mode AND u.day = $3) AS bigint) AS used`;
      const row = await this.#row(used, accountId, mode, day);
      const { balance, held } = moneyOf(row);
      return { balance, held, usedToday: credits(row.used as bigint) };
    });
  }

  money(accountId: string, mode: KeyMode): Promise<Pick<Balance, "balance" | "held">> {
    return this.#remembered.moneys.get(`${mode} ${accountId}`, async () => {
      const { balance, held } = moneyOf(await this.#row("", accountId, mode));
      return { balance, held };
    });
  }

  async #row(
    more: string,
    accountId: string,
    mode: KeyMode,
    ...values: readonly string[]
  ): Promise<Row> {
    const sql =
      `SELECT b.account_id, b.mode, b.balance, b.held${more} FROM ` +
      "balances b WHERE b.account_id = $1 AND b.mode = $2";
    const [row] = await this.#database.read(sql, accountId, mode, ...values);
    if (row === undefined) throw new UnknownAccountError(accountId);
    return row;
  }

  async hold(request: HoldRequest): Promise<HoldOutcome> {
    if (request.amount < 0n) throw new RangeError("a hold cannot be negative");
    this.#assertServing();
    if (!this.#registered) await this.#register();

    const holdId = this.#database.makeHoldId?.();
    const { accountId, mode } = request;
    const place = { accountId, mode };
    const moneyRequest: MoneyRequest = {
      kind: "hold",
      request,
      ...present({ holdId }),
    };

    try {
      const outcome = (await this.#database.money("volatile", moneyRequest, place)) as HoldOutcome;
      if (outcome.kind === "held") this.#open.set(outcome.holdId, place);
      return outcome;
    } catch (error) {
      if (holdId !== undefined && error instanceof StoreUnavailableError && error.inDoubt)
        this.#owed.add(holdId);
      throw error;
    }
  }

  async settle(settlement: HoldSettlement): Promise<Settled> {
    const { holdId } = settlement;
    try {
      const place = this.#open.get(holdId);
      const settled = (await this.#database.money(
        "durable",
        { kind: "settle", settlement },
        place,
      )) as Settled;
      // Where it failed, the release that follows need not ask whose it is.
      this.#open.delete(holdId);
      return settled;
    } catch (error) {
      if (error instanceof StoreUnavailableError && error.inDoubt) this.#doubtful.add(holdId);
      throw error;
    }
  }

  async release(holdId: string): Promise<Credits> {
    try {
      const refund = this.#doubtful.has(holdId);
      const request: MoneyRequest = { kind: "release", holdId, state: "voided", refund };
      const balance = (await this.#database.money(
        // A refund is an entry, and one that was seen must outlive a power failure.
        refund ? "durable" : "volatile",
        request,
        this.#open.get(holdId),
      )) as Credits;

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

  async probe(): Promise<void> {
    this.#assertServing();
    if (this.#registered) await this.#beat();
    else await this.#register();
  }

  recordCalls(counts: readonly DayCount[]): Promise<void> {
    const now = this.#now();
    return this.#database.change("volatile", () => recordCalls(counts, now));
  }

  async callsOfDay(day: string): Promise<readonly DayCount[]> {
    return (
      await this.#database.read("SELECT key_id, day, count FROM call_counts WHERE day = $1", day)
    ).map(storedCount);
  }

  forget(): void {
    for (const each of Object.values(this.#remembered)) each.drop();
  }

  async recover(olderThanMs: number): Promise<number> {
    const now = this.#now();
    const { instances } = this.#database;
    const pending = await this.#database.read(
      `SELECT h.id, h.account_id, h.mode, ${instances.columns} FROM holds h
        LEFT JOIN instances i ON i.id = h.owner
       WHERE h.state = 'pending' AND h.created_at <= $1`,
      olderThanMs === 0 ? Number.MAX_SAFE_INTEGER : now - olderThanMs,
    );
    const dead = pending.filter((row) => !instances.isAlive(row, now));
    await this.#giveBack(dead, "expired");

    const idle = await this.#database.read(instances.idle);
    const gone = idle.filter((row) => !instances.isAlive(row, now));
    if (gone.length > 0) await this.#database.change("volatile", () => instances.forget(gone));

    this.#beginTending();

    return dead.length;
  }

  verify(): Promise<readonly string[]> {
    return this.#database.verify();
  }

  look<Value>(steps: Steps<Value>): Promise<Value> {
    return runStatement(steps, async (statement) => {
      const { sql, values } = statement as { sql: string; values: readonly unknown[] };
      return { rows: await this.#database.read(sql, ...values), changed: 0 };
    });
  }

  halt(why: Error | undefined): void {
    this.#halted = why;
  }

  #assertServing(): void {
    if (this.#halted !== undefined) throw this.#halted;
  }

  async close(): Promise<void> {
    if (this.#database.closed) return;
    clearInterval(this.#heartbeat);

    try {
      await this.#registration?.catch(() => undefined);
      await this.#database.drain();
      if (this.#registered) {
        // Whoever closes the store has answered everybody: what is still held was for nobody.
        const sql = "SELECT id, account_id, mode FROM holds WHERE owner = $1 AND state = 'pending'";
        await this.#giveBack(await this.#database.read(sql, this.#database.instances.id), "voided");
        await this.#database.change("volatile", () => this.#database.instances.leave());
      }
    } catch (error) {
      // The database is away: another process gives the
      // holds back once this one is seen to be gone.
      if (!(error instanceof StoreUnavailableError)) throw error;
    } finally {
      await this.#database.close();
      this.forget();
    }
  }

  async #giveBack(holds: readonly Row[], state: "voided" | "expired"): Promise<void> {
    await Promise.all(
      holds.map((row) => {
        const request = { kind: "release", holdId: String(row.id), state, refund: false } as const;
        return this.#database.money("volatile", request, placeIn(row));
      }),
    );
  }

  #register(): Promise<void> {
    this.#registration ??= this.#beat().then(
      () => {
        this.#registered = true;
        this.#beginTending();
      },
      (error: unknown) => {
        this.#registration = undefined;
        throw error;
      },
    );

    return this.#registration;
  }

  #beat(): Promise<void> {
    return this.#database.change("volatile", () => this.#database.instances.beat(this.#now()));
  }

  #beginTending(): void {
    if (this.#heartbeat !== undefined || this.#database.closed) return;
    // A store that is away has nothing to tend; whoever needs it gets the error.
    this.#heartbeat = setTimer(() => void this.#tend().catch(() => undefined), this.#heartbeatMs);
    this.#heartbeat.unref();
  }

  async #tend(): Promise<void> {
    if (this.#registered) await this.#beat();
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
    await this.#prune();
  }

  async #prune(): Promise<void> {
    const now = this.#now();

    const some = (): Promise<number> =>
      this.#database.change("volatile", () =>
        change(
          `DELETE FROM idempotency WHERE hold_id IN
           (SELECT hold_id FROM idempotency WHERE kept_until <= $1 AND status IS NOT NULL
            ORDER BY kept_until LIMIT ${PRUNE_ROWS})`,
          now,
        ),
      );

    let pruned = 0;
    for (let round = 0; round < PRUNE_ROUNDS && pruned === round * PRUNE_ROWS; round += 1)
      pruned += await some();
    await this.#database.change("volatile", () =>
      change("DELETE FROM call_counts WHERE day < $1", utcDay(now - KEEP_COUNTS_MS)),
    );
    if (pruned > 0) await this.#database.tidy();
  }
}
