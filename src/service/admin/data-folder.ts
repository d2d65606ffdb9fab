import { join } from "node:path";
import type { ReloadOptions } from "../../dataset/embedded/reloading-engine.ts";
import type { Engine } from "../../dataset/engine.ts";
import { ZERO } from "../../shared/contract/money.ts";
import { present, whenGiven } from "../../shared/contract/text.ts";
import { makeFolder } from "../../shared/folder.ts";
import type { ServiceOptions } from "../http/options.ts";
import type { AskBackup, VerifiedFile } from "../ledger/database.ts";
import { StoreConflictError } from "../ledger/errors.ts";
import type { LedgerOptions, Store } from "../ledger/ledger.ts";
import { datasetDir, peopleFolders } from "./datasets.ts";
import { createKey, DEFAULT_ACCOUNT, FIRST_CREDITS } from "./keys.ts";

interface StoreOptions
  extends Partial<Pick<LedgerOptions, "now" | "monotonic" | "actor" | "create" | "staysSealed">> {
  /** A SQLite file, or `postgres://...`. Default: `ledger.db` in the data folder. */
  readonly store?: string;
}

interface DataFolderOptions extends StoreOptions {
  /**
   * A dataset elsewhere: another folder, or `clickhouse://...`.
   * Default: the folder `dataset` in the data folder.
   */
  readonly dataset?: string;
  readonly clickHousePassword?: string;
  readonly onSample?: () => void;
  readonly signal?: AbortSignal;
  readonly onReload?: (version: string) => void;
  readonly onReloadError?: (error: Error) => void;
  /** Told what of the dataset is damaged, and nothing once all of it was held against its sums. */
  readonly onChecked?: (damage?: string) => void;
}

/** What a service is started with. */
export interface DataFolder
  extends Required<Pick<ServiceOptions, "engine" | "store" | "testEngine" | "leftOut">> {
  close(): Promise<void>;
}

export const isUrl = (text: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(text);

/**
 * The accounts alone. A new folder gets the account `default`. Several processes may do so at once.
 */
export async function openStore(dir: string, options: StoreOptions = {}): Promise<Store> {
  const { create = true, staysSealed = false } = options;
  const now = options.now ?? Date.now;
  const monotonic = options.monotonic ?? (() => performance.now());
  const place = ledgerFile(dir, options.store);
  const shared = {
    now,
    monotonic,
    create,
    staysSealed,
    ...present({ actor: options.actor }),
  };
  if (create) makeFolder(dir);

  const store = isUrl(place)
    ? await import("../ledger/postgres.ts").then(({ openPostgresStore }) =>
        openPostgresStore({ ...shared, url: place }),
      )
    : await import("../ledger/sqlite.ts").then(({ openSqliteStore }) =>
        openSqliteStore({ ...shared, path: place }),
      );

  try {
    await setUp(store);
  } catch (error) {
    await store.close();
    throw error;
  }

  return store;
}

/**
 * Writes nothing.
 * @param place a file or an address
 * @throws NoLedgerError where there are no accounts
 */
export async function verifyLedger(place: string): Promise<VerifiedFile> {
  if (!isUrl(place)) return (await import("../ledger/sqlite-file.ts")).verifySqliteFile(place);
  const { readPostgres, verifyPostgres } = await import("../ledger/postgres.ts");
  return readPostgres(place, verifyPostgres);
}

export async function readLedger<Value>(
  place: string,
  read: (ask: AskBackup) => Promise<Value>,
): Promise<Value> {
  if (isUrl(place)) return (await import("../ledger/postgres.ts")).readPostgres(place, read);
  return (await import("../ledger/sqlite-file.ts")).readSqliteFile(place, read);
}

export const ledgerFile = (dir: string, store?: string): string => store ?? join(dir, "ledger.db");

export async function openDataFolder(
  dir: string,
  options: DataFolderOptions = {},
): Promise<DataFolder> {
  const store = await openStore(dir, options);
  try {
    const engine = await openEngine(dir, options);
    const leftOut = peopleFolders(dir);
    let test: Promise<Engine> | undefined;
    return {
      engine,
      store,
      leftOut,

      testEngine() {
        test ??= openTestDataset(leftOut.testDataset, leftOut.suppression).catch(
          (error: unknown) => {
            test = undefined;
            throw error;
          },
        );
        return test;
      },

      async close() {
        await engine.close();
        await test?.then((opened) => opened.close()).catch(() => undefined);
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function openEngine(dir: string, options: DataFolderOptions): Promise<Engine> {
  if (options.dataset?.startsWith("clickhouse://")) {
    const { followClickHouse } = await import("../../dataset/clickhouse/engine.ts");
    return followClickHouse(
      options.dataset,
      options.clickHousePassword ?? "",
      reloadOptions(options),
    );
  }

  const { DatasetDamagedError } = await import("../../dataset/damaged.ts");
  const { lostPointer, readPointer } = await import("../../dataset/layout.ts");
  const { ReloadingEngine } = await import("../../dataset/embedded/reloading-engine.ts");
  const folder = options.dataset ?? datasetDir(dir);

  if (options.dataset === undefined && (await readPointer(folder)) === undefined) {
    const damage = await lostPointer(folder);
    // Made-up people must not be sold in the place of those that were imported.
    if (damage !== undefined) throw new DatasetDamagedError(damage);
    options.onSample?.();
    const { ensureSample } = await import("../../dataset/build/sample.ts");
    await ensureSample(folder, present({ signal: options.signal }));
  }

  return ReloadingEngine.open(folder, reloadOptions(options));
}

function reloadOptions({
  monotonic,
  onChecked,
  onReload,
  onReloadError,
}: DataFolderOptions): ReloadOptions {
  return {
    now: monotonic ?? (() => performance.now()),
    ...present({
      onChecked,
      onReload: whenGiven(
        onReload,
        (tell) =>
          ({ version }: { version: string }) =>
            tell(version),
      ),
      onError: whenGiven(
        onReloadError,
        (tell) => (error: unknown) =>
          tell(error instanceof Error ? error : new Error(String(error))),
      ),
    }),
  };
}

export async function createFirstKey(store: Store, now: () => number) {
  if ((await store.listKeys(DEFAULT_ACCOUNT)).length > 0) return undefined;
  return createKey(store, { name: "first", mode: "live", now });
}

async function setUp(store: Store): Promise<void> {
  if ((await store.account(DEFAULT_ACCOUNT)) === undefined) {
    try {
      await store.createAccount(DEFAULT_ACCOUNT, DEFAULT_ACCOUNT);
      await endow(store);
      return;
    } catch (error) {
      if (!(error instanceof StoreConflictError)) throw error;
    }
  }

  // The one that made the account is about to endow it,
  // unless it died on the way. Keys are made only afterwards.
  for (let attempt = 0; attempt < 40; attempt++) {
    const { balance, usedToday } = await store.balance(DEFAULT_ACCOUNT, "test");
    if (balance > ZERO || usedToday > ZERO || (await store.listKeys(DEFAULT_ACCOUNT)).length > 0)
      return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }

  await endow(store);
}

/** Only what is missing: who endowed before may have died between the two. */
async function endow(store: Store): Promise<void> {
  for (const [mode, note] of [
    ["live", "first credits of a new data folder"],
    ["test", "simulated credits for test keys"],
  ] as const) {
    const { balance } = await store.balance(DEFAULT_ACCOUNT, mode);
    if (balance === ZERO) await store.grant(DEFAULT_ACCOUNT, mode, FIRST_CREDITS, note);
  }
}

export const TEST_PEOPLE = 1_000;
const TEST_SEED = 20_260_404;
const TEST_VERSION = "test-1";

/**
 * Opens the dataset of test keys in a folder, making it
 * there first where it is missing (once, in about a second).
 * @param suppression the folder of the list of people who are left out of it
 */
export async function openTestDataset(datasetDir: string, suppression?: string): Promise<Engine> {
  const { ensureGenerated } = await import("../../dataset/build/sample.ts");
  const { ReloadingEngine } = await import("../../dataset/embedded/reloading-engine.ts");
  const name = `test data of ${TEST_PEOPLE} people`;
  const generate = { name, version: TEST_VERSION, people: TEST_PEOPLE, seed: TEST_SEED };
  await ensureGenerated(generate, {
    datasetDir,
    ...present({ suppression }),
  });
  return ReloadingEngine.open(datasetDir, { now: () => performance.now() });
}
