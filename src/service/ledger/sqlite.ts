import { chmodSync, closeSync, openSync } from "node:fs";
import { setTimeout as setPause } from "node:timers";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { anchoredClock } from "./clock.ts";
import { type Durability, type Row, runNow, type Steps } from "./database.ts";
import {
  NoLedgerError,
  resultCode,
  SQLITE_BUSY,
  StoreUnavailableError,
  translateError,
} from "./errors.ts";
import type { LedgerDatabase, MoneyRequest, Outcome, Place } from "./facts.ts";
import { assertFilesBeside, breakSeal, isSealed, ledgerFiles, seal } from "./files.ts";
import { moveMoney } from "./group.ts";
import { GroupCommit } from "./group-commit.ts";
import { instancesBy } from "./instances.ts";
import { GROUP_SIZE, type LedgerOptions, PATIENCE_MS, type Store } from "./ledger.ts";
import { assertKnown, assertSchema, checkSqliteVersion, keepsLog, makeTables } from "./schema.ts";
import { isFile, verifySnapshot } from "./sqlite-file.ts";
import { type Statements, statementsOf } from "./statements.ts";
import { ledgerStore } from "./store.ts";

export interface SqliteStoreOptions extends LedgerOptions {
  /** The ledger's file; made with mode 0600 where it is missing. Its folder must exist. */
  readonly path: string;
  readonly groupWaitMs?: number;
  /**
   * Default `FULL`. `NORMAL` loses acknowledged charges on
   * a power failure; only the control experiments use it.
   */
  readonly synchronous?: "FULL" | "NORMAL";
}

/**
 * @throws StoreUnavailableError where the file cannot be
 * opened or locked; Error where it is no ledger of ours
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const patienceMs = options.patienceMs ?? PATIENCE_MS;
  let database: DatabaseSyncInstance;

  await assertFilesBeside(options.path, patienceMs);
  if (options.create === false && !isFile(options.path)) throw new NoLedgerError(options.path);

  try {
    // Made here and not by SQLite, so that no moment passes in which others may read it.
    closeSync(openSync(options.path, "a", 0o600));
    chmodSync(options.path, 0o600);
    database = new DatabaseSync(options.path, { timeout: 20, enableForeignKeyConstraints: true });
  } catch (error) {
    throw new StoreUnavailableError(
      `the ledger ${options.path} cannot be opened: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }

  try {
    checkSqliteVersion(database);
    database.exec(
      "PRAGMA trusted_schema = OFF; PRAGMA fullfsync = 1; PRAGMA checkpoint_fullfsync = 1",
    );
    const isKnown = await whileBusy(patienceMs, () => assertKnown(database, options.path));

    const now = anchoredClock(options.now, options.monotonic);
    const open = new Map<string, Place>();
    const ledger = new SqliteLedger(database, { ...options, patienceMs, now, open });
    if (!(options.staysSealed && isKnown && isSealed(options.path))) await ledger.wake();

    return ledgerStore(ledger, { ...options, now }, open);
  } catch (error) {
    database.close();
    throw translateError(error);
  }
}

async function prepareToWrite(
  database: DatabaseSyncInstance,
  path: string,
  patienceMs: number,
): Promise<void> {
  await whileBusy(patienceMs, () => {
    breakSeal(path);
    database.exec(
      "PRAGMA secure_delete = ON; PRAGMA auto_vacuum = INCREMENTAL; " +
        "PRAGMA journal_size_limit = 4194304",
    );
    // Turning the log on needs the file alone for a
    // moment, and SQLite does not wait for that by itself.
    database.exec("PRAGMA journal_mode = WAL");
    // Another process may have sealed it while this one waited for the file.
    breakSeal(path);
  });

  await whileBusy(patienceMs, () => makeTables(database, path));
}

async function whileBusy<Value>(patienceMs: number, work: () => Value): Promise<Value> {
  for (let waited = 0; ; waited += 20) {
    try {
      return work();
    } catch (error) {
      if (resultCode(error) !== SQLITE_BUSY || waited >= patienceMs) throw error;
      await new Promise((resolve) => setPause(resolve, 5));
    }
  }
}

type Change = MoneyRequest | { readonly kind: "steps"; readonly steps: () => Steps<unknown> };

interface SqliteLedgerOptions extends SqliteStoreOptions {
  readonly patienceMs: number;
  readonly open: ReadonlyMap<string, Place>;
}

function reading<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw translateError(error);
  }
}

const VACUUM_PAGES = 4_000;
/**
 * Of all ledgers that this process has open: what one of them commits is new to the others at once.
 */
let commits = 0;
const abandoned: DatabaseSyncInstance[] = [];

class SqliteLedger implements LedgerDatabase {
  readonly instances = instancesBy("NULL");
  readonly makeHoldId = undefined;
  readonly rowLock = "";
  readonly #database: DatabaseSyncInstance;
  readonly #options: SqliteLedgerOptions;
  #files: ReturnType<typeof ledgerFiles>;
  /** Whether it is open to be written, and its seal broken. */
  #isAwake = false;
  #waking: Promise<void> | undefined;
  readonly #statements: Statements;
  readonly #dataVersion: StatementSyncInstance;
  readonly #writer: GroupCommit<Change>;
  #closed = false;
  #looked = false;
  #asking: Promise<number> | undefined;
  #believed = false;
  #commits = -1;
  #others: unknown;
  #generation = 0;

  constructor(database: DatabaseSyncInstance, options: SqliteLedgerOptions) {
    this.#database = database;

    this.#statements = statementsOf(database);
    this.#dataVersion = database.prepare("PRAGMA data_version");
    this.#options = options;
    this.#files = ledgerFiles(options.path, false);
    this.#writer = new GroupCommit(database, {
      apply: (group) => this.#apply(group),
      confirm: () => this.#files.assertInPlace(true),
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
    this.#look();
    return reading(() => this.#statements.execute({ sql, values }).rows);
  }

  /**
   * Asked once for all that came in this turn of the event
   * loop, and believed while only promises are waited for.
   */
  readonly generation = (): number | Promise<number> => {
    if (this.#believed && this.#commits === commits && !this.#closed) return this.#generation;
    this.#asking ??= nextTurn().then(() => {
      this.#asking = undefined;
      return this.#askGeneration();
    });
    return this.#asking;
  };

  #askGeneration(): number {
    this.#look();
    const others = reading(() => this.#dataVersion.get()?.data_version);
    if (others !== this.#others || this.#commits !== commits) this.#generation += 1;
    this.#others = others;
    this.#commits = commits;
    this.#believed = true;

    const doubt = (): void => {
      this.#believed = false;
    };

    queueMicrotask(() => process.nextTick(doubt));
    return this.#generation;
  }

  #look(): void {
    this.#assertOpen();
    if (this.#looked) return;
    this.#files.assertInPlace();
    this.#looked = true;
    setImmediate(() => {
      this.#looked = false;
    });
  }

  async change<Value>(
    durability: Durability,
    work: (repeated: boolean) => Steps<Value>,
  ): Promise<Value> {
    this.#assertOpen();
    if (!this.#isAwake) await this.wake();
    return (await this.#writer.run(durability, {
      kind: "steps",
      steps: () => work(false),
    })) as Value;
  }

  async money(durability: Durability, request: MoneyRequest): Promise<unknown> {
    this.#assertOpen();
    if (!this.#isAwake) await this.wake();
    return this.#writer.run(durability, request);
  }

  /** Before the first change. */
  wake(): Promise<void> {
    const { path, patienceMs } = this.#options;
    this.#waking ??= prepareToWrite(this.#database, path, patienceMs)
      .then(() => {
        this.#files = ledgerFiles(path, keepsLog(this.#database));
        this.#isAwake = true;
      })
      .catch((error: unknown) => {
        this.#waking = undefined;
        throw translateError(error);
      });
    return this.#waking;
  }

  async tidy(): Promise<void> {
    await this.#settled();
    try {
      this.#database.exec(
        `PRAGMA incremental_vacuum(${VACUUM_PAGES}); PRAGMA wal_checkpoint(TRUNCATE)`,
      );
    } catch (error) {
      if (resultCode(error) !== SQLITE_BUSY) throw translateError(error);
    }
  }

  async wipe(): Promise<boolean> {
    await this.#settled();

    const emptied = (): boolean => {
      const [row] = this.#statements.execute({
        sql: "PRAGMA wal_checkpoint(TRUNCATE)",
        values: [],
      }).rows;
      return Number(row?.busy) === 0;
    };

    try {
      // Writers of other processes wait for as long as the file is built again.
      await whileBusy(this.#options.patienceMs, () => this.#database.exec("VACUUM"));
      for (let waited = 0; ; waited += 20) {
        if (emptied()) return true;
        if (waited >= this.#options.patienceMs) return false;
        await new Promise((resolve) => setPause(resolve, 20));
      }
    } catch (error) {
      if (resultCode(error) === SQLITE_BUSY) return false;
      throw translateError(error);
    }
  }

  drain(): Promise<void> {
    return this.#writer.drain();
  }

  async verify(): Promise<readonly string[]> {
    await this.#settled();
    return verifySnapshot(this.#database, this.#statements);
  }

  async close(): Promise<void> {
    await this.#writer.drain();
    this.#closed = true;

    // What our index says of the log is no longer so: folded
    // back by it, the log would overwrite what others wrote.
    if (this.#files.areReplaced()) {
      abandoned.push(this.#database);
      return;
    }

    // The driver keeps the connection half open, so that SQLite
    // does not empty the log at the last close by itself.
    try {
      // Whoever only read leaves it to those who write.
      if (this.#isAwake) {
        this.#database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
        this.#sealAlone();
      }
    } catch {
      // All that was acknowledged is in the log, and stays there.
    }

    this.#statements.clear();
    this.#database.close();
  }

  /** Where no other process has the file open it is left without its log, and sealed. */
  #sealAlone(): void {
    this.#files.assertInPlace();
    this.#statements.clear();
    // The last commit may have been unsynced; a rollback journal
    // that is not synced in order can put back a torn page.
    this.#database.exec("PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE");
    try {
      seal(this.#options.path, this.#files.ledger);
    } finally {
      this.#database.exec("ROLLBACK");
    }
  }

  #apply(group: readonly Change[]): readonly Outcome[] {
    commits += 1;
    this.#files.assertInPlace();
    assertSchema(
      this.#statements.execute({ sql: "PRAGMA user_version", values: [] }).rows[0]?.user_version,
    );

    const { execute } = this.#statements;
    const done = group.map((change): Outcome | undefined =>
      change.kind === "steps" ? { ok: true, value: runNow(change.steps(), execute) } : undefined,
    );
    const money = group.flatMap((change) => (change.kind === "steps" ? [] : [{ request: change }]));
    const options = { instances: this.instances, now: this.#options.now() };
    const moved = money.length === 0 ? [] : [...runNow(moveMoney(money, options), execute)];

    return done.map(
      (outcome) =>
        outcome ?? moved.shift() ?? { ok: false, error: new Error("a change was forgotten") },
    );
  }

  async #settled(): Promise<void> {
    this.#assertOpen();
    if (!this.#isAwake) await this.wake();
    await this.#writer.drain();
    this.#files.assertInPlace();
  }

  #assertOpen(): void {
    if (this.#closed) throw new StoreUnavailableError(`the ledger ${this.#options.path} is closed`);
  }
}
