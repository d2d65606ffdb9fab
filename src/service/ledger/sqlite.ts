import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { setTimeout as setPause } from "node:timers";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { anchoredClock } from "./clock.ts";
import { type Durability, type Result, type Row, runNow, type Statement, type Steps } from "./database.ts";
import { readGroup, writeGroup } from "./group.ts";
import { GroupCommit, resultCode, SQLITE_BUSY, SQLITE_CORRUPT, translateError } from "./group-commit.ts";
import { Instances } from "./instances.ts";
import { verifyAll } from "./invariants.ts";
import { GROUP_SIZE, type LedgerOptions, PATIENCE_MS, type Store, StoreUnavailableError } from "./ledger.ts";
import { decide, type MoneyRequest, type Outcome, type Place } from "./rules.ts";
import { assertSchema, checkSqliteVersion, migrate, SQLITE_VERSION } from "./schemas.ts";
import { type LedgerDatabase, LedgerStore } from "./store.ts";

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
    // What is pruned leaves no bytes behind, and gives its room back.
    database.exec("PRAGMA secure_delete = ON; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_size_limit = 4194304");
    // Turning the log on needs the file alone for a moment, and SQLite does not wait for that by itself.
    await whileBusy(patienceMs, () => database.exec("PRAGMA journal_mode = WAL"));
    await whileBusy(patienceMs, () => migrate(database, options.path));
    const now = options.monotonic === undefined ? options.now : anchoredClock(options.now, options.monotonic);
    const open = new Map<string, Place>();
    const ledger = new SqliteLedger(database, { ...options, patienceMs, now, open });
    return new LedgerStore(ledger, { now, heartbeatMs: options.heartbeatMs }, open);
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

/** Money, decided with the rest of its group, or one piece of administration. */
type Change = MoneyRequest | { readonly kind: "steps"; readonly steps: () => Steps<unknown> };

interface SqliteLedgerOptions extends SqliteStoreOptions {
  readonly patienceMs: number;
  /** Holds that wait for their settlement. */
  readonly open: ReadonlyMap<string, Place>;
}

/** The most pages that are given back at once: 16 MB. */
const VACUUM_PAGES = 4_000;
/** The most rows of one statement. */
const MOST_ROWS = 64;

/** One open ledger file: its statements, prepared once by their text, and one writer. */
class SqliteLedger implements LedgerDatabase {
  readonly instances = new Instances("NULL");
  readonly makeHoldId = undefined;
  readonly #database: DatabaseSyncInstance;
  readonly #path: string;
  readonly #now: () => number;
  /** Which files were opened, whatever their paths name by now: the ledger, its log and the log's index. */
  readonly #files: ReadonlyMap<string, number>;
  readonly #statements = new Map<string, Map<number, Prepared>>();
  readonly #writer: GroupCommit<Change>;
  #closed = false;

  constructor(database: DatabaseSyncInstance, options: SqliteLedgerOptions) {
    this.#database = database;
    this.#path = options.path;
    this.#now = options.now;
    this.#files = new Map(["", "-wal", "-shm"].map((end) => [options.path + end, statSync(options.path + end).ino]));
    this.#writer = new GroupCommit(database, {
      apply: (group) => this.#apply(group),
      confirm: () => this.#assertInPlace(true),
      waitMs: options.groupWaitMs ?? 2,
      size: options.groupSize ?? GROUP_SIZE,
      patienceMs: options.patienceMs,
      expected: () => options.open.size,
      synchronous: options.synchronous ?? "FULL",
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  async read(sql: string, ...values: readonly unknown[]): Promise<readonly Row[]> {
    this.#assertOpen();
    this.#assertInPlace();
    try {
      return this.#execute({ sql, values }).rows;
    } catch (error) {
      throw translateError(error);
    }
  }

  async change<Value>(durability: Durability, work: (repeated: boolean) => Steps<Value>): Promise<Value> {
    this.#assertOpen();
    return (await this.#writer.run(durability, { kind: "steps", steps: () => work(false) })) as Value;
  }

  async money(durability: Durability, request: MoneyRequest): Promise<unknown> {
    this.#assertOpen();
    return this.#writer.run(durability, request);
  }

  async tidy(): Promise<void> {
    this.#assertOpen();
    await this.#writer.drain();
    try {
      this.#database.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES}); PRAGMA wal_checkpoint(TRUNCATE)`);
    } catch (error) {
      // Another process is at work: next time.
      if (resultCode(error) !== SQLITE_BUSY) throw translateError(error);
    }
  }

  drain(): Promise<void> {
    return this.#writer.drain();
  }

  async verify(): Promise<readonly string[]> {
    this.#assertOpen();
    await this.#writer.drain();
    const breaches: string[] = [];
    const look = (sql: string): readonly Row[] => this.#execute({ sql, values: [] }).rows;
    try {
      // One snapshot for all: other processes go on charging meanwhile.
      this.#database.exec("BEGIN");
      for (const row of look("PRAGMA integrity_check")) {
        if (row.integrity_check !== "ok") breaches.push(`file: ${String(row.integrity_check)}`);
      }
      for (const row of look("PRAGMA foreign_key_check")) {
        breaches.push(`file: a row of ${String(row.table)} points to a missing row of ${String(row.parent)}`);
      }
      breaches.push(...runNow(verifyAll(), (statement) => this.#execute(statement)));
    } catch (error) {
      if (resultCode(error) !== SQLITE_CORRUPT) throw translateError(error);
      breaches.push(`file: ${(error as Error).message}`);
    } finally {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
    return breaches;
  }

  /** Leaves the log empty behind. */
  async close(): Promise<void> {
    await this.#writer.drain();
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

  /** Inside a transaction. */
  #apply(group: readonly Change[]): readonly Outcome[] {
    this.#assertInPlace();
    assertSchema(this.#execute({ sql: "PRAGMA user_version", values: [] }).rows[0]?.user_version, SQLITE_VERSION);
    const outcomes = new Map<Change, Outcome>();
    const execute = (statement: Statement): Result => this.#execute(statement);
    const money: { readonly request: MoneyRequest }[] = [];
    for (const change of group) {
      if (change.kind === "steps") outcomes.set(change, { ok: true, value: runNow(change.steps(), execute) });
      else money.push({ request: change });
    }
    if (money.length > 0) {
      const options = { instances: this.instances, now: this.#now() };
      const decided = decide(runNow(readGroup(money, options), execute), money);
      runNow(writeGroup(decided.writes, options), execute);
      for (const [index, outcome] of decided.outcomes.entries()) {
        const request = money[index]?.request;
        if (request !== undefined) outcomes.set(request, outcome);
      }
    }
    return group.map((change) => outcomes.get(change) ?? { ok: false, error: new Error("a change was forgotten") });
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreUnavailableError(`the ledger ${this.#path} is closed`);
  }

  /** A file that was removed or replaced while it is open still takes writes, and nobody would ever see them again. */
  #assertInPlace(committed = false): void {
    for (const [path, file] of this.#files) {
      if (statSync(path, { throwIfNoEntry: false })?.ino === file) continue;
      throw new StoreUnavailableError(
        `${path} was removed or replaced while the ledger was open; nothing more is charged. Put it back, or restart the service`,
        { inDoubt: committed },
      );
    }
  }

  #execute(statement: Statement): Result {
    if (!("rows" in statement)) return outcomeOf(this.#prepared(statement.sql, 0), statement.values);
    const { rows, sql, types } = statement;
    const found: Row[] = [];
    let changed = 0;
    for (let at = 0; at < rows.length; ) {
      const size = 2 ** Math.floor(Math.log2(Math.min(rows.length - at, MOST_ROWS)));
      const values: unknown[] = [];
      for (const row of rows.slice(at, at + size)) {
        for (const [column, value] of row.entries()) values.push(types[column] === "id" ? rowId(value) : value);
      }
      const result = outcomeOf(this.#prepared(sql, size, types.length), values);
      found.push(...result.rows);
      changed += result.changed;
      at += size;
    }
    return { rows: found, changed };
  }

  /** @param rows how many tuples stand for `%`: powers of two, so that few statements are ever prepared */
  #prepared(sql: string, rows: number, width = 0): Prepared {
    const sizes = this.#statements.get(sql) ?? new Map<number, Prepared>();
    this.#statements.set(sql, sizes);
    const known = sizes.get(rows);
    if (known !== undefined) return known;
    const tuple = `(${Array.from({ length: width }, () => "?").join(", ")})`;
    const text = sql.replace(/\$(\d+)/g, "?$1").replace("%", Array.from({ length: rows }, () => tuple).join(", "));
    // Amounts above 2^53 millionths must not pass through a float.
    const statement = this.#database.prepare(text, { readBigInts: true });
    const prepared = { statement, reads: /^\s*(SELECT|PRAGMA)/.test(text) };
    sizes.set(rows, prepared);
    return prepared;
  }
}

interface Prepared {
  readonly statement: StatementSyncInstance;
  readonly reads: boolean;
}

function outcomeOf({ reads, statement }: Prepared, values: readonly unknown[]): Result {
  if (reads) return { rows: statement.all(...values) as Row[], changed: 0 };
  return { rows: [], changed: Number(statement.run(...values).changes) };
}

/** The number of a hold; null where the text is none, which no hold has. */
function rowId(value: unknown): bigint | null {
  return typeof value === "string" && /^\d{1,18}$/.test(value) ? BigInt(value) : null;
}
