import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import type {
  HoldRequest,
  HoldSettlement,
  NewKey,
  Store,
  StoredReply,
} from "../../src/service/ledger/ledger.ts";
import type { ConsoleExport } from "../../src/service/ledger/records.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../../src/service/ledger/sqlite.ts";
import { makeApiKey } from "../../src/service/money/keys.ts";
import { type Credits, credits } from "../../src/shared/contract/money.ts";

export const ACCOUNT = "acme";

/** Whole credits as money. */
export const c = (whole: number): Credits => credits(BigInt(whole) * 1_000_000n);

export interface TestLedger {
  readonly store: Store;
  readonly path: string;
  /** A further store on the same file, as another process would open it. Closed with the rest. */
  another(options?: Partial<SqliteStoreOptions>): Promise<Store>;
  close(): Promise<void>;
}

/** A SQLite ledger in a folder of its own, with the account {@link ACCOUNT}. */
export async function temporaryLedger(
  options: Partial<SqliteStoreOptions> & { readonly live?: number; readonly test?: number } = {},
): Promise<TestLedger> {
  const folder = mkdtempSync(join(tmpdir(), "headcount-ledger-"));
  const path = join(folder, "ledger.db");
  const { live = 0, test = 0, ...rest } = options;
  const open = (more: Partial<SqliteStoreOptions> = {}): Promise<Store> =>
    openSqliteStore({ path, now: Date.now, ...rest, ...more });
  const stores = [await open()];
  const [store] = stores;
  if (store === undefined) throw new Error("no store");
  await fund(store, live, test);
  return {
    store,
    path,
    another: async (more) => {
      const other = await open(more);
      stores.push(other);
      return other;
    },
    close: async () => {
      for (const each of stores) await each.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Makes {@link ACCOUNT} and grants it whole credits. */
export async function fund(store: Store, live: number, test = 0): Promise<void> {
  await store.createAccount(ACCOUNT, "Acme");
  if (live > 0) await store.grant(ACCOUNT, "live", c(live), "first");
  if (test > 0) await store.grant(ACCOUNT, "test", c(test), "first");
}

/** Makes an API key of {@link ACCOUNT}, by default one that is known as `k`. @returns its secret and the hash of it */
export async function keyOf(
  store: Store,
  more: Partial<NewKey> = {},
): Promise<{ readonly key: string; readonly hash: string }> {
  const { key, hash, prefix, mode } = makeApiKey(more.mode ?? "live");
  const id = more.id ?? "k";
  await store.createKey({
    id,
    name: id,
    mode,
    prefix,
    hash,
    accountId: ACCOUNT,
    createdAt: 1,
    ...more,
  });
  return { key, hash };
}

export const holdRequest = (amount: Credits, more: Partial<HoldRequest> = {}): HoldRequest => ({
  accountId: ACCOUNT,
  mode: "live",
  keyId: "key-1",
  call: "person_search",
  amount,
  requestId: randomUUID(),
  ...more,
});

/** The answer of a call, with the balance in it as the service would put it. */
export const answer =
  (text = "ok"): HoldSettlement["reply"] =>
  (balance): StoredReply => ({ status: 200, headers: { "x-a": "é" }, body: `${text} ${balance}` });

/** Holds and returns the hold's id. */
export async function held(
  store: Store,
  amount: Credits,
  more: Partial<HoldRequest> = {},
): Promise<string> {
  const outcome = await store.hold(holdRequest(amount, more));
  if (outcome.kind !== "held") throw new Error(`expected a hold, got ${outcome.kind}`);
  return outcome.holdId;
}

/** What only somebody with the file in hand can do: the triggers that would refuse it are put back afterwards. */
export function rewrite(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
  const triggers = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
    .all() as {
    name: string;
    sql: string;
  }[];
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
  database.exec(sql);
  for (const trigger of triggers) database.exec(trigger.sql);
  database.close();
}

/** An export of the console that is just begun. */
export const exportItem = (more: Pick<ConsoleExport, "id" | "createdAt">): ConsoleExport => ({
  ...{
    accountId: ACCOUNT,
    mode: "live",
    keyId: "console:1",
    filters: "{}",
    segment: "s",
    onlyNew: false,
    keptUntil: more.createdAt + 86_400_000,
    version: "v1",
    profiles: 3_000,
  },
  ...{
    perPage: 1_000,
    price: c(1),
    state: "buying",
    why: "",
    pages: 0,
    rows: 0,
    credits: c(0),
    turn: 0,
  },
  ...{ seenAt: more.createdAt, ...more },
});
