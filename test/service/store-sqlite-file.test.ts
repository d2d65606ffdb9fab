import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { anchoredClock } from "../../src/service/ledger/clock.ts";
import { StoreUnavailableError } from "../../src/service/ledger/errors.ts";
import { isAlive, SILENCE_MS, thisInstance } from "../../src/service/ledger/instances.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { checkSqliteVersion, SCHEMA_VERSION } from "../../src/service/ledger/schema.ts";
import { openSqliteStore, type SqliteStoreOptions } from "../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../src/service/ledger/sqlite-file.ts";
import { makeApiKey } from "../../src/service/money/keys.ts";
import { long } from "../support/long.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest, keyOf, rewrite } from "../support/store.ts";

let folder: string;
let path: string;
let broken = false;
const stores: Store[] = [];

const open = async (options: Partial<SqliteStoreOptions> = {}): Promise<Store> => {
  const store = await openSqliteStore({ path, now: Date.now, ...options });
  stores.push(store);
  return store;
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headcount-ledger-"));
  path = join(folder, "ledger.db");
});
afterEach(async () => {
  // A ledger that contradicts itself says so also when it is closed.
  for (const store of stores.splice(0))
    await store.close().catch((error: unknown) => expect(broken, String(error)).toBe(true));
  broken = false;
  rmSync(folder, { recursive: true, force: true });
});

/** Does to the file what the store never would. */
const tamper = (sql: string): void => rewrite(path, sql);

describe("a ledger that stays sealed", () => {
  const files = () =>
    readdirSync(folder)
      .sort()
      .map((name) => {
        const { ino, mtimeMs, size } = statSync(join(folder, name));
        return { name, ino, mtimeMs, size };
      });
  const sealed = async (): Promise<ReturnType<typeof files>> => {
    const store = await open();
    await fund(store, 100);
    await store.close();
    return files();
  };

  it("is not touched by whoever only reads it", async () => {
    const before = await sealed();
    const store = await open({ staysSealed: true });
    expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(100));
    expect(await store.callsOfDay("2026-05-05")).toEqual([]);
    expect(await store.recover(0)).toBe(0);
    expect(files()).toEqual(before);
    await store.close();
    expect(files()).toEqual(before);
  });

  it("is opened by the first change, of several at once, and sealed again", async () => {
    const before = await sealed();
    const store = await open({ staysSealed: true });
    await Promise.all([1, 2, 3].map((n) => store.grant(ACCOUNT, "live", c(n), "more")));
    expect(readdirSync(folder)).toEqual(["ledger.db", "ledger.db-shm", "ledger.db-wal"]);
    await store.close();
    expect(files().map(({ name }) => name)).toEqual(before.map(({ name }) => name));
    expect((await verifySqliteFile(path)).breaches).toEqual([]);
    expect((await (await open()).balance(ACCOUNT, "live")).balance).toBe(c(106));
  });

  it("is the same beside another that writes, whoever closes first", async () => {
    await sealed();
    let balance = 100;
    for (const isFirst of [true, false]) {
      const reading = await open({ staysSealed: true });
      expect((await reading.balance(ACCOUNT, "live")).balance).toBe(c(balance));
      const writing = await open({ staysSealed: true });
      await writing.grant(ACCOUNT, "live", c(1), "more");
      balance += 1;
      expect((await reading.balance(ACCOUNT, "live")).balance).toBe(c(balance));
      for (const store of isFirst ? [reading, writing] : [writing, reading]) await store.close();
      expect((await verifySqliteFile(path)).breaches).toEqual([]);
      // Who closed first was in the way of the other's seal: the next one makes it.
      await (await open()).close();
    }
    expect((await (await open()).balance(ACCOUNT, "live")).balance).toBe(c(balance));
  });

  it("that is new, or was not closed, is opened as any other", async () => {
    const store = await open({ staysSealed: true });
    await fund(store, 1);
    const other = await open({ staysSealed: true });
    expect(readdirSync(folder)).toContain("ledger.db-wal");
    expect((await other.balance(ACCOUNT, "live")).balance).toBe(c(1));
  });
});

describe("the ledger's file", () => {
  it("is closed to others again when it was opened to them", async () => {
    await (await open()).close();
    chmodSync(path, 0o644);
    await open();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("of another program is refused and left as it is", async () => {
    const database = new DatabaseSync(path);
    database.exec("CREATE TABLE notes (x); PRAGMA application_id = 7");
    database.close();
    await expect(open()).rejects.toThrow(/another program/);
    const again = new DatabaseSync(path);
    expect(again.prepare("SELECT name FROM sqlite_master").all()).toEqual([{ name: "notes" }]);
    again.close();
  });

  it("of a newer version is refused", async () => {
    await (await open()).close();
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    const before = readFileSync(path);
    await expect(open()).rejects.toThrow(/schema 99.*Upgrade headcount/);
    // A downgrade that is refused leaves it as it is, with its seal.
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(folder).sort()).toEqual(["ledger.db", "ledger.db-seal"]);
  });

  it("that is no database, a folder, or in no folder, is an error that names it", async () => {
    writeFileSync(path, "this is not a database, and long enough to be taken for one".repeat(20));
    await expect(open()).rejects.toThrow(StoreUnavailableError);
    await expect(open({ path: folder })).rejects.toThrow(folder);
    await expect(open({ path: join(folder, "missing", "ledger.db") })).rejects.toThrow(/missing/);
  });

  it.each([
    [4, /ledger schema 4.*no older one was ever released/],
    [99, /ledger schema 99.*Upgrade headcount/],
  ])("of schema %i is refused, and stays as it is", async (version, why) => {
    await (await open()).close();
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
    await expect(open()).rejects.toThrow(why);
    expect((await verifySqliteFile(path)).breaches).toContainEqual(expect.stringMatching(why));
    const after = new DatabaseSync(path, { readOnly: true });
    expect(after.prepare("PRAGMA user_version").get()).toEqual({ user_version: version });
    after.close();
  });

  it("is not entrusted to a SQLite that can corrupt it", () => {
    const version = (text: string) =>
      ({ prepare: () => ({ get: () => ({ version: text }) }) }) as unknown as Parameters<
        typeof checkSqliteVersion
      >[0];
    for (const good of ["3.51.3", "3.53.0", "4.0.0"])
      expect(() => checkSqliteVersion(version(good))).not.toThrow();
    for (const bad of ["3.51.2", "3.45.1", "2.99.9"])
      expect(() => checkSqliteVersion(version(bad))).toThrow(/3\.51\.3/);
  });

  it("is made once when ten open it at the same moment", async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => open()));
    const [first, last] = [all[0], all[9]];
    if (first === undefined || last === undefined) throw new Error("no stores");
    await fund(first, 10);
    expect((await last.balance(ACCOUNT, "live")).balance).toBe(c(10));
  });

  it("takes no charge once it was removed or replaced: nobody would see it again", async () => {
    const store = await open();
    await fund(store, 10);
    const id = await held(store, c(5));
    renameSync(path, `${path}.gone`);
    await expect(store.settle({ holdId: id, amount: c(5), reply: answer() })).rejects.toThrow(
      /removed or replaced/,
    );
    writeFileSync(path, "");
    await expect(store.hold(holdRequest(c(1)))).rejects.toThrow(StoreUnavailableError);
    rmSync(path);
    renameSync(`${path}.gone`, path);
    expect(await store.release(id)).toBe(c(10));
  });

  it.each(["-wal", "-shm"])(
    "takes and tells nothing once its %s was removed: nobody would see it again",
    async (end) => {
      const store = await open();
      await fund(store, 10);
      const id = await held(store, c(5));
      await store.settle({ holdId: await held(store, c(1)), amount: c(1), reply: answer() });
      renameSync(path + end, `${path}.gone`);
      const pattern = new RegExp(`${end} was removed or replaced`);
      await expect(store.settle({ holdId: id, amount: c(5), reply: answer() })).rejects.toThrow(
        pattern,
      );
      await expect(store.balance(ACCOUNT, "live")).rejects.toThrow(pattern);
      await expect(store.findKey("0".repeat(64))).rejects.toThrow(pattern);
      renameSync(`${path}.gone`, path + end);
      expect(await store.release(id)).toBe(c(9));
      expect(await store.verify()).toEqual([]);
    },
  );

  it("stops when another version has moved its schema, and never moves it back", async () => {
    const store = await open();
    await fund(store, 10);
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 70");
    await expect(store.hold(holdRequest(c(1)))).rejects.toThrow(
      /schema 70 now.*Restart the service/,
    );
    await expect(store.createAccount(ACCOUNT, "again")).rejects.toThrow(StoreUnavailableError);
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: 70 });
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    // A refused group is followed by a commit of its own: that must not write the number either.
    await expect(store.createAccount(ACCOUNT, "again")).rejects.toThrow(/exists already/);
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: SCHEMA_VERSION });
    database.close();
  });

  it("shows another process's revocation at once", async () => {
    const [one, two] = [await open(), await open()];
    await fund(one, 10);
    for (let n = 0; n < 100; n += 1) {
      const id = `k${n}`;
      const { hash } = await keyOf(one, { id });
      expect(await two.findKey(hash)).toBeDefined();
      await one.revokeKey(id);
      expect(await two.findKey(hash)).toBeUndefined();
    }
  });

  it("never contains a key's secret", async () => {
    const store = await open();
    await fund(store, 10);
    const { key } = await keyOf(store);
    const secret = key.slice("hc_live_".length, -4);
    for (const file of [path, `${path}-wal`]) {
      expect(existsSync(file)).toBe(true);
      expect(readFileSync(file).includes(Buffer.from(secret))).toBe(false);
      expect(readFileSync(file).includes(Buffer.from(secret.slice(4)))).toBe(false);
    }
  });

  it("refuses changes that the code never makes: triggers and constraints stand behind it", async () => {
    const store = await open();
    await fund(store, 10);
    await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
    const pending = await held(store, c(1));
    await keyOf(store);
    await store.revokeKey("k");
    const database = new DatabaseSync(path);
    for (const [sql, rule] of [
      ["UPDATE entries SET amount = 1", /never changed/],
      ["DELETE FROM entries", /never deleted/],
      ["DELETE FROM holds", /never deleted/],
      ["UPDATE holds SET state = 'voided', posted = NULL WHERE state = 'posted'", /resolves once/],
      ["INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE id = 1", /never replaced/],
      [
        "REPLACE INTO entries SELECT 99, account_id, mode, kind, -1, 1, hold_id, refund_of, operation, note, day, created_at, actor, price, sold, chain FROM entries WHERE hold_id IS NOT NULL",
        /never replaced/,
      ],
      [
        "INSERT OR REPLACE INTO keys SELECT id, account_id, name, mode, prefix, hash, created_at, NULL, NULL, NULL, NULL FROM keys",
        /never replaced/,
      ],
      [
        "INSERT OR REPLACE INTO keys SELECT 'other', account_id, name, mode, prefix, hash, created_at, NULL, NULL, NULL, NULL FROM keys",
        /never replaced/,
      ],
      ["UPDATE keys SET revoked_at = NULL", /stays revoked/],
      ["UPDATE keys SET mode = 'test'", /stays revoked/],
      ["DELETE FROM keys", /never deleted/],
      ["INSERT OR REPLACE INTO holds SELECT * FROM holds", /never replaced/],
      [`UPDATE holds SET request_id = 'x' WHERE id = ${pending}`, /resolves once/],
      [`UPDATE holds SET key_id = 'x' WHERE id = ${pending}`, /resolves once/],
      ["UPDATE balances SET held = balance + 1", /CHECK/],
      ["UPDATE balances SET balance = -1", /CHECK/],
      [
        `UPDATE holds SET state = 'posted', posted = amount + 1, resolved_at = 1 WHERE id = ${pending}`,
        /CHECK/,
      ],
      ["UPDATE balances SET balance = 0.5", /REAL/],
    ] as const) {
      expect(() => database.exec(sql), sql).toThrow(rule);
    }
    database.close();
    expect(await store.verify()).toEqual([]);
  });
});

describe("verify", () => {
  const cases: readonly (readonly [what: string, sql: string, breach: RegExp])[] = [
    [
      "money from nowhere",
      "UPDATE balances SET balance = balance + 1",
      /I1: balance of acme \(live\)/,
    ],
    ["a lost entry", "DELETE FROM entries WHERE kind = 'grant'", /I1: balance of acme/],
    ["a changed entry", "UPDATE entries SET amount = amount + 1 WHERE id = 1", /I1: entry 1 says/],
    [
      "an entry without an account",
      "DELETE FROM balances WHERE mode = 'live'",
      /I1: entry .* which has no balance/,
    ],
    [
      "more held than there is",
      "UPDATE balances SET held = balance + 1",
      /I2: acme \(live\) holds/,
    ],
    ["a forgotten hold", "UPDATE balances SET held = 0", /I2: acme \(live\) has 0 held/],
    [
      "a hold posted above its amount",
      "UPDATE holds SET posted = amount + 1 WHERE state = 'posted'",
      /I3: hold .* reserved/,
    ],
    [
      "a resolved hold that is pending again",
      "UPDATE holds SET state = 'pending' WHERE state = 'posted'",
      /I3: hold/,
    ],
    [
      "a hold resolved without a time",
      "UPDATE holds SET resolved_at = NULL",
      /no time of resolution/,
    ],
    [
      "a charge that no hold explains",
      "UPDATE entries SET hold_id = 999 WHERE kind = 'charge'",
      /I3: entry .* without a posted hold/,
    ],
    [
      "a posted hold without a charge",
      "DELETE FROM entries WHERE kind = 'charge'",
      /I3: hold .* was posted with/,
    ],
    [
      "a stored reply without a charge",
      "UPDATE idempotency SET hold_id = 999 WHERE status IS NOT NULL",
      /I7: a stored reply/,
    ],
    [
      "a call in flight of a hold that is gone",
      "UPDATE idempotency SET hold_id = 998 WHERE status IS NULL",
      /I7: a call in flight/,
    ],
    [
      "a hold whose record was lost",
      "DELETE FROM idempotency WHERE status IS NULL",
      /I7: pending hold/,
    ],
    ["a wrong sum of the day", "UPDATE usage SET charged = charged + 1", /usage: acme/],
    [
      "a reply with one byte changed",
      "UPDATE idempotency SET body = replace(body, 'ok', 'oK')",
      /I14: the stored reply of hold 1/,
    ],
    [
      "a reply with another status",
      "UPDATE idempotency SET status = 201 WHERE status IS NOT NULL",
      /I14: the stored reply/,
    ],
    [
      "a price that nobody set",
      "UPDATE plans SET costs = replace(costs, '1000000', '1000001')",
      /I17: the plan acme is not what the audit/,
    ],
    [
      "a limit that nobody set",
      "UPDATE plans SET per_day = 7",
      /I17: the plan acme is not what the audit/,
    ],
    [
      "credits that nobody added",
      `INSERT INTO entries (account_id, mode, kind, amount, balance_after, note, day, created_at, chain)
      VALUES ('acme', 'live', 'grant', 1000000, 98000000, 'free', '2026-01-01', 1, 'x');
      UPDATE balances SET balance = balance + 1000000 WHERE mode = 'live'`,
      /I17: entry \d+ \(grant\)/,
    ],
    [
      "a grant with another note",
      "UPDATE entries SET note = 'paid' WHERE kind = 'grant'",
      /I17: entry 1 \(grant\)/,
    ],
    [
      "a reply under another key",
      "UPDATE idempotency SET key = 'x' WHERE status IS NOT NULL",
      /I7: the record of hold 1/,
    ],
    [
      "a reply that is kept for longer",
      "UPDATE idempotency SET created_at = created_at + 1",
      /I7: the record of hold 1/,
    ],
    [
      "a charge of another call",
      "UPDATE entries SET note = 'x' WHERE kind = 'charge'",
      /I3: entry .* tell of another call/,
    ],
    [
      "a charge of another time",
      "UPDATE entries SET created_at = 1 WHERE kind = 'charge'",
      /I3: entry .* tell of another/,
    ],
    ["a missing sum of the day", "DELETE FROM usage", /usage: acme .* in no daily sum/],
    [
      "a sum of the day that nothing explains",
      "UPDATE usage SET day = '2020-01-01'",
      /on 2020-01-01, its entries say 0/,
    ],
    [
      "a charge of another price",
      "UPDATE entries SET price = price + 1 WHERE kind = 'charge'",
      /I3: entry \d+ sold 3 rows/,
    ],
    [
      "a charge of another key",
      "UPDATE entries SET actor = 'x' WHERE kind = 'charge'",
      /I3: entry \d+ .* another key/,
    ],
    [
      "a grant by somebody else",
      "UPDATE entries SET actor = 'x' WHERE kind = 'grant'",
      /I17: entry 1 \(grant\)/,
    ],
    [
      "a cap that was passed",
      "UPDATE budgets SET cap = 7",
      /I16: the key key-1 spent 3000000 and holds 5000000, above/,
    ],
    [
      "a key that spent more than is said",
      "UPDATE budgets SET spent = 0",
      /I16: .* has 0 spent, .* sum to 3000000/,
    ],
    [
      "a key that holds less than is said",
      "UPDATE budgets SET held = 9",
      /I16: .* has 9 held, .* sum to 5000000/,
    ],
    [
      "more refunded than was charged",
      `INSERT INTO entries (account_id, mode, kind, amount, balance_after, refund_of, note, day, created_at, chain)
      VALUES ('acme', 'live', 'refund', 3000001, 1, 1, '', '2026-01-01', 1, 'x')`,
      /I3: refunds of hold 1 sum to 3000001/,
    ],
    ["an act of somebody else", "UPDATE audit SET actor = 'x'", /I17: row 1 of the audit/],
  ];
  it.each(cases)("finds %s", async (_what, sql, breach) => {
    const store = await open();
    await fund(store, 100);
    const first = { key: "a", requestHash: "h" };
    const key = {
      id: "key-1",
      name: "k",
      mode: "live" as const,
      prefix: "p",
      hash: "1".repeat(64),
      createdAt: 1,
    };
    await store.createKey({ ...key, accountId: ACCOUNT, maxCredits: c(9) });
    const sold = { price: c(1), rows: 3 };
    await store.settle({
      holdId: await held(store, c(4), { idempotency: first }),
      amount: c(3),
      reply: answer(),
      sold,
    });
    await held(store, c(5), { idempotency: { key: "b", requestHash: "h" } });
    expect(await store.verify()).toEqual([]);
    tamper(sql);
    broken = true;
    expect((await store.verify()).join("\n")).toMatch(breach);
  });

  long("finds a damaged page", async () => {
    const store = await open();
    await fund(store, 1_000);
    for (let n = 0; n < 200; n += 1)
      await store.settle({ holdId: await held(store, c(1)), amount: c(1), reply: answer() });
    await store.close();
    const bytes = readFileSync(path);
    // The heads of the last pages, which hold rows; the first ones hold the schema.
    for (let page = bytes.length / 4096 - 3; page < bytes.length / 4096; page += 1) {
      bytes.fill(0x5a, page * 4096, page * 4096 + 12);
    }
    writeFileSync(path, bytes);
    const again = await open();
    broken = true;
    await expect(again.verify().then((breaches) => breaches.join())).resolves.toMatch(/file: /);
  });
});

describe("a reply that was damaged", () => {
  it("is not replayed, and its neighbours are", async () => {
    const store = await open();
    await fund(store, 100);
    const keys = ["a", "b"].map((key) => ({ idempotency: { key, requestHash: "h" } }));
    for (const each of keys)
      await store.settle({ holdId: await held(store, c(1), each), amount: c(1), reply: answer() });
    tamper("UPDATE idempotency SET body = 'free' WHERE key = 'a'");
    broken = true;
    const [damaged, whole] = await Promise.allSettled(
      keys.map((each) => store.hold(holdRequest(c(1), each))),
    );
    expect(damaged).toMatchObject({ status: "rejected", reason: { name: "LedgerInvariantError" } });
    expect(whole).toMatchObject({ status: "fulfilled", value: { kind: "replay" } });
  });
});

describe("changes of one group", () => {
  it("are done each alone where one of them is refused", async () => {
    const store = await open();
    await fund(store, 100);
    const results = await Promise.allSettled([
      store.grant(ACCOUNT, "live", c(1), "before"),
      store.createAccount(ACCOUNT, "again"),
      store.createAccount("other", "Other"),
      store.grant(ACCOUNT, "live", c(2), "after"),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
      "fulfilled",
    ]);
    expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(103));
    expect(await store.account("other")).toBeDefined();
  });
});

describe("a ledger that another process holds", () => {
  it("is tried for a while and then refused, and nothing is charged", async () => {
    const store = await open({ patienceMs: 200 });
    await fund(store, 10);
    const id = await held(store, c(5));
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(store.settle({ holdId: id, amount: c(5), reply: answer() })).rejects.toThrow(
      StoreUnavailableError,
    );
    await expect(store.hold(holdRequest(c(1)))).rejects.toThrow(/locked by another process/);
    // Reads go on.
    expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(10));
    other.exec("COMMIT");
    other.close();
    expect(await store.release(id)).toBe(c(10));
  });

  it("is written as soon as it is free", async () => {
    const store = await open({ patienceMs: 5000 });
    await fund(store, 10);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    const waiting = store.hold(holdRequest(c(1)));
    await new Promise((resolve) => setTimeout(resolve, 60));
    other.exec("COMMIT");
    other.close();
    expect((await waiting).kind).toBe("held");
  });
});

describe("who lives", () => {
  const self = thisInstance();

  it("is known by number and start, so that a reused number is not taken for its predecessor", () => {
    expect(isAlive(self, self, 0, true)).toBe(true);
    expect(isAlive({ ...self, started: "1" }, self, 0, true)).toBe(false);
    expect(isAlive({ ...self, pid: 4_194_303 }, self, 0, true)).toBe(false);
  });

  it("is judged by the heartbeat on another machine, and nobody outlives a reboot", () => {
    const elsewhere = { ...self, machine: "id|other|boot|pid:[1]" };
    expect(isAlive(elsewhere, self, SILENCE_MS, true)).toBe(true);
    expect(isAlive(elsewhere, self, SILENCE_MS + 1, true)).toBe(false);
    const machine = (id: string, boot: string, space = "pid:[4026531836]") => ({
      ...self,
      machine: `${id}|app|${boot}|${space}`,
    });
    expect(isAlive(machine("m1", "earlier"), machine("m1", "now"), 0, true)).toBe(false);
    // Behind one database two copies of a machine meet, with one id and one host name.
    expect(isAlive(machine("m1", "earlier"), machine("m1", "now"), 0, false)).toBe(true);
    // Another machine, or a container, of the same host name: its holds are its own until it is silent.
    for (const [owner, here] of [
      [machine("m2", "earlier"), machine("m1", "now")],
      [machine("", "earlier"), machine("", "now")],
      [machine("m1", "earlier", "pid:[4]"), machine("m1", "now", "pid:[5]")],
      [machine("m1", "earlier", "pid:[4]"), machine("m1", "now")],
    ] as const) {
      expect(isAlive(owner, here, SILENCE_MS, true)).toBe(true);
      expect(isAlive(owner, here, SILENCE_MS + 1, true)).toBe(false);
    }
  });
});

describe("the heartbeat", () => {
  const eventually = async (check: () => Promise<boolean>): Promise<void> => {
    for (let n = 0; n < 500; n += 1) {
      if (await check()) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    throw new Error("it never came");
  };
  const read = <T>(sql: string): T[] => {
    const database = new DatabaseSync(path);
    const rows = database.prepare(sql).all() as T[];
    database.close();
    return rows;
  };

  it("gives back what a dead process held, and frees its idempotency keys before that already", async () => {
    const [gone, store] = [await open(), await open({ heartbeatMs: 20 })];
    await fund(store, 100);
    const first = { key: "first", requestHash: "h" };
    await held(gone, c(10), { idempotency: first });
    await held(gone, c(30), { idempotency: { key: "second", requestHash: "h" } });
    expect((await store.hold(holdRequest(c(10), { idempotency: first }))).kind).toBe("in_flight");
    tamper("UPDATE instances SET pid = 4194303");
    const again = await held(store, c(10), { idempotency: first });
    await eventually(async () => (await store.balance(ACCOUNT, "live")).held === c(10));
    await store.settle({ holdId: again, amount: c(10), reply: answer() });
    expect(read("SELECT state FROM holds ORDER BY id")).toEqual([
      { state: "expired" },
      { state: "expired" },
      { state: "posted" },
    ]);
    expect(await store.verify()).toEqual([]);
  });

  it("forgets at the next start a process that is gone, not one that is at work", async () => {
    const gone = await open();
    await fund(gone, 100);
    await held(gone, c(10));
    tamper("UPDATE instances SET pid = 4194303");
    const working = await open();
    await held(working, c(1));
    const store = await open();
    expect(await store.recover(0)).toBe(1);
    expect(read<{ pid: number }>("SELECT pid FROM instances")).toEqual([{ pid: process.pid }]);
    expect((await store.balance(ACCOUNT, "live")).held).toBe(c(1));
  });

  it("a ledger that was closed in good order is no copy, whoever was killed before", async () => {
    const store = await open();
    await fund(store, 100);
    await store.close();
    tamper("INSERT INTO instances VALUES ('gone', 4194303, '1', 'this', 0)");
    await (await open()).close();
    expect(await verifySqliteFile(path)).toMatchObject({ breaches: [], notes: [] });
  });

  it("gives back later what could not be given back when it was asked for", async () => {
    const store = await open({ heartbeatMs: 20, patienceMs: 50 });
    await fund(store, 100);
    const id = await held(store, c(10), { idempotency: { key: "k", requestHash: "h" } });
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    await expect(store.release(id)).rejects.toThrow(StoreUnavailableError);
    other.exec("COMMIT");
    other.close();
    await eventually(async () => (await store.balance(ACCOUNT, "live")).held === c(0));
    expect(
      (await store.hold(holdRequest(c(1), { idempotency: { key: "k", requestHash: "h" } }))).kind,
    ).toBe("held");
  });

  it("says that the process lives, and removes what nobody needs any more", async () => {
    let time = Date.UTC(2026, 4, 5);
    const store = await open({ now: () => time, heartbeatMs: 20 });
    await fund(store, 100);
    await store.recordCalls([{ keyId: "k", day: "2026-05-05", count: 1 }]);
    const idempotency = { key: "old", requestHash: "h" };
    await store.settle({
      holdId: await held(store, c(1), { idempotency }),
      amount: c(1),
      reply: answer(),
    });
    time += 5 * 86_400_000;
    await eventually(async () => read("SELECT * FROM idempotency").length === 0);
    await eventually(async () => (await store.callsOfDay("2026-05-05")).length === 0);
    // The round that removed may have begun before the clock went on: then the next one says it.
    const beats = () => read<{ heartbeat_at: number }>("SELECT heartbeat_at FROM instances");
    await eventually(async () => beats()[0]?.heartbeat_at === time);
    expect(beats()).toHaveLength(1);
    expect(await store.verify()).toEqual([]);
    await store.close();
    expect(read("SELECT * FROM instances")).toEqual([]);
  });
});

describe("what is kept no longer", () => {
  it("leaves no bytes behind, in the file or its log, and gives its room back, with no hold in the process that tidies", async () => {
    let time = Date.UTC(2026, 4, 5);
    const first = await open({ now: () => time });
    await fund(first, 5_000);
    const reply = () => ({ status: 200, headers: {}, body: "marker-of-a-profile ".repeat(200) });
    for (let n = 0; n < 1_200; n += 50) {
      await Promise.all(
        Array.from({ length: 50 }, async (_, k) => {
          const idempotency = { key: `k-${n + k}`, requestHash: "h" };
          return first.settle({
            holdId: await held(first, c(1), { idempotency }),
            amount: c(1),
            reply,
          });
        }),
      );
    }
    await first.close();
    const before = statSync(path).size;
    time += 86_400_000;
    const store = await open({ now: () => time, heartbeatMs: 20 });
    await store.recover(0);
    for (let n = 0; statSync(path).size > before / 4; n += 1) {
      if (n === 500)
        throw new Error(`${before} bytes were ${statSync(path).size} bytes in the end`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const seen = () =>
      [path, `${path}-wal`].some((file) =>
        readFileSync(file, "latin1").includes("marker-of-a-profile"),
      );
    expect(seen()).toBe(false);
    // Also what this very process has written, whose log nobody has folded back yet.
    const idempotency = { key: "late", requestHash: "h" };
    await store.settle({ holdId: await held(store, c(1), { idempotency }), amount: c(1), reply });
    expect(seen()).toBe(true);
    time += 86_400_000;
    for (let n = 0; seen(); n += 1) {
      if (n === 200) throw new Error("its bytes are still there");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await store.verify()).toEqual([]);
  });
});

describe("the clock of a running process", () => {
  long(
    "follows intervals, not the wall: jumps expire nothing, double nothing and lose nothing",
    async () => {
      let wall = Date.UTC(2026, 4, 5, 12);
      let elapsed = 0;
      const store = await open({ now: () => wall + elapsed, monotonic: () => elapsed });
      await fund(store, 1000);
      const pending = await held(store, c(1));
      const idempotency = { key: "k", requestHash: "h" };
      await store.settle({
        holdId: await held(store, c(1), { idempotency }),
        amount: c(1),
        reply: answer(),
      });
      let seed = 12345;
      for (let jump = 0; jump < 200; jump += 1) {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
        wall += (seed % (2 * 86_400_000)) - 86_400_000;
        elapsed += 60_000;
        expect((await store.hold(holdRequest(c(1), { idempotency }))).kind).toBe("replay");
        expect(await store.recover(0)).toBe(0);
        const id = await held(store, c(2));
        await store.settle({ holdId: id, amount: c(1), reply: answer() });
      }
      expect(await store.balance(ACCOUNT, "live")).toEqual({
        balance: c(799),
        held: c(1),
        usedToday: c(201),
      });
      elapsed += 24 * 3_600_000;
      expect((await store.hold(holdRequest(c(1), { idempotency }))).kind).toBe("held");
      await store.settle({ holdId: pending, amount: c(1), reply: answer() });
      expect(await store.verify()).toEqual([]);
    },
  );

  it("never runs back", () => {
    let wall = 1000;
    let elapsed = 0;
    const now = anchoredClock(
      () => wall,
      () => elapsed,
    );
    wall = 0;
    elapsed = 5.7;
    expect(now()).toBe(1005);
  });
});

describe("what a ledger remembers of its reads", () => {
  const { hash, mode, prefix } = makeApiKey("live");
  const key = { id: "remembered", name: "k", mode, prefix, hash, accountId: ACCOUNT, createdAt: 1 };

  async function asked(store: Store) {
    const [found, account, money] = [
      await store.findKey(hash),
      await store.account(ACCOUNT),
      await store.money(ACCOUNT, "live"),
    ];
    const { balance } = await store.balance(ACCOUNT, "live");
    expect(balance).toBe(money.balance);
    return { key: found?.name, perMinute: account?.plan.perMinute, balance };
  }

  it("is forgotten as soon as another process has committed", async () => {
    const store = await open();
    await fund(store, 10);
    await store.createKey(key);
    expect(await asked(store)).toEqual({ key: "k", perMinute: 600, balance: c(10) });
    broken = true;
    for (const [sql, told] of [
      ["UPDATE plans SET per_minute = 7", { key: "k", perMinute: 7, balance: c(10) }],
      [
        "UPDATE balances SET balance = 3000000 WHERE mode = 'live'",
        { key: "k", perMinute: 7, balance: c(3) },
      ],
      ["UPDATE keys SET revoked_at = 1", { key: undefined, perMinute: 7, balance: c(3) }],
    ] as const) {
      // A call that comes after it comes in a later turn of the event loop.
      await new Promise(setImmediate);
      tamper(sql);
      expect(await asked(store)).toEqual(told);
      expect(await asked(store)).toEqual(told);
    }
  });

  it("is forgotten by all ledgers of a process when one commits", async () => {
    const [one, two] = [await open(), await open()];
    await fund(one, 10);
    await one.createKey(key);
    expect(await asked(two)).toEqual({ key: "k", perMinute: 600, balance: c(10) });
    await one.setPlan(ACCOUNT, { perMinute: 7 });
    expect(await asked(two)).toEqual({ key: "k", perMinute: 7, balance: c(10) });
    await held(one, c(4));
    expect(await two.money(ACCOUNT, "live")).toEqual({ balance: c(10), held: c(4) });
    await one.revokeKey(key.id);
    expect((await asked(two)).key).toBeUndefined();
    await two.grant(ACCOUNT, "live", c(1), "one more");
    expect((await asked(one)).balance).toBe(c(11));
  });

  it("helps nobody once it is closed", async () => {
    const store = await open();
    await fund(store, 10);
    await store.createKey(key);
    await asked(store);
    await store.close();
    await expect(store.findKey(hash)).rejects.toThrow(StoreUnavailableError);
    await expect(store.money(ACCOUNT, "live")).rejects.toThrow(StoreUnavailableError);
  });
});
