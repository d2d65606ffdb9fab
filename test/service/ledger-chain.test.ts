// apart: whole ledgers are read again for each flipped bit
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { replyDigest } from "../../src/service/ledger/chain/links.ts";
import { IDEMPOTENCY_TTL_MS, type Store } from "../../src/service/ledger/ledger.ts";
import { openPostgresStore } from "../../src/service/ledger/postgres.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../src/service/ledger/sqlite-file.ts";
import { cases } from "../support/campaign.ts";
import { tempDir } from "../support/client.ts";
import { connected, type Database, hasPostgres, openDatabase } from "../support/database.ts";
import { long } from "../support/long.ts";
import { ACCOUNT, answer, c, fund, held, rewrite } from "../support/store.ts";
import { isLeftOut } from "../support/tools.ts";

const NOW = Date.UTC(2026, 10, 22, 8);
const key = {
  name: "k",
  mode: "live" as const,
  prefix: "hc_live_",
  accountId: ACCOUNT,
  createdAt: NOW,
};

/** Something in every table, and something of every kind: charged, given back, in flight, refunded, capped, revoked, purged. */
async function life(store: Store): Promise<void> {
  await fund(store, 500, 50);
  await store.createKey({ ...key, id: "k_1", hash: "1".repeat(64), maxCredits: c(90) });
  await store.createKey({
    ...key,
    id: "k_2",
    hash: "2".repeat(64),
    expiresAt: NOW + 1e9,
    scopes: ["account", "count"],
  });
  await store.createKey({ ...key, id: "k_3", hash: "3".repeat(64), rotatedFrom: "k_1" });
  await store.updateKey("k_3", { maxCredits: c(95), name: "other" });
  await store.revokeKey("k_2");
  await store.setPlan(ACCOUNT, { perMinute: 77, costs: { person_search: c(2) } });
  await store.createAccount("quiet", "Quiet");
  await store.suspendAccount("quiet", true);
  const sold = { price: c(1), rows: 3 };
  for (const idempotency of [
    undefined,
    { key: "a", requestHash: "h" },
    { key: "b", requestHash: "i" },
  ]) {
    const more = { keyId: "k_1", ...(idempotency === undefined ? {} : { idempotency }) };
    await store.settle({
      holdId: await held(store, c(4), more),
      amount: c(3),
      reply: answer(),
      sold,
    });
  }
  const nothing = {
    holdId: await held(store, c(4), { idempotency: { key: "0", requestHash: "h" } }),
    amount: c(0),
  };
  await store.settle({ ...nothing, reply: answer("none") });
  await store.release(await held(store, c(9), { keyId: "k_3" }));
  await store.deduct(ACCOUNT, "live", c(5), { note: "a mistake", reference: "m-1" });
  const [, charge] = await store.entries({ accountId: ACCOUNT, mode: "live", limit: 2 });
  await store.refund(charge?.id ?? 0n, c(1), { note: "a part" });
  await store.recordCalls([{ keyId: "k_1", day: "2026-11-22", count: 12 }]);
  const { console: kept } = store;
  await kept.addLink(
    {
      hash: "4".repeat(64),
      accountId: ACCOUNT,
      role: "owner",
      name: "ada",
      createdAt: NOW,
      expiresAt: NOW + 9,
    },
    "me",
  );
  const session = {
    accountId: ACCOUNT,
    role: "viewer" as const,
    keyHash: null,
    createdAt: NOW,
    seenAt: NOW,
  };
  const times = { expiresAt: NOW + 9 };
  await kept.addSession({
    ...session,
    ...times,
    id: "s",
    hash: "5".repeat(64),
    proofHash: "6".repeat(64),
  });
  const numbers = {
    profiles: 5,
    perPage: 5,
    price: c(1),
    pages: 1,
    rows: 5,
    credits: c(5),
    seenAt: NOW,
    turn: 0,
  };
  const item = {
    id: "e",
    accountId: ACCOUNT,
    mode: "live" as const,
    keyId: "k_1",
    filters: "{}",
    segment: "s",
    onlyNew: false,
    keptUntil: NOW + 1,
    version: "v",
  };
  await kept.enterExport(
    { ...item, ...numbers, createdAt: NOW, state: "ready", why: "" },
    () => undefined,
  );
  await kept.served("http://127.0.0.1:8787");
  await held(store, c(2), { keyId: "k_1", idempotency: { key: "c", requestHash: "h" } });
  expect(await store.verify()).toEqual([]);
}

/** All values of a file; undefined where it cannot be read. */
function dump(path: string): string | undefined {
  let database: DatabaseSyncInstance | undefined;
  try {
    const opened = new DatabaseSync(path, { readOnly: true });
    database = opened;
    const tables = opened
      .prepare("SELECT name FROM sqlite_schema WHERE CAST(type AS text) = 'table' ORDER BY name")
      .all();
    const rows = (tables as { name: string }[]).map(({ name }) => {
      return [name, opened.prepare(`SELECT * FROM "${name}"`, { readBigInts: true }).all()];
    });
    return JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
  } catch {
    return undefined;
  } finally {
    database?.close();
  }
}

/** A ledger file with a life in it, closed or as a kill would leave it, in one file without a log. */
async function ledgerFile(): Promise<string> {
  const folder = tempDir();
  const store = await openSqliteStore({ path: join(folder, "ledger.db"), now: () => NOW });
  await life(store);
  const copy = join(folder, "copy.db");
  const reader = new DatabaseSync(join(folder, "ledger.db"), { readOnly: true });
  reader.exec(`VACUUM INTO '${copy}'`);
  reader.close();
  await store.close();
  return copy;
}

const randomBit = (trial: number, bits: number): number =>
  Math.floor((Math.abs(Math.sin(trial + 1)) * 1e6 * bits) % bits);

test("every flipped bit of a ledger's file that changes what it says is found and named", async () => {
  const path = await ledgerFile();
  const whole = readFileSync(path);
  const before = dump(path);
  expect((await verifySqliteFile(path)).breaches).toEqual([]);
  const flipped = join(tempDir(), "ledger.db");
  const unseen: string[] = [];
  let found = 0;
  for (let trial = 0; trial < cases(150, 3_000); trial += 1) {
    const bit = randomBit(trial, whole.length * 8);
    const bytes = Buffer.from(whole);
    bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    writeFileSync(flipped, bytes);
    const breaches = await verifySqliteFile(flipped).then(
      (verified) => verified.breaches,
      (error: unknown) => [String(error)],
    );
    if (breaches.length > 0) found += 1;
    else if (dump(flipped) !== before)
      unseen.push(`byte ${bit >> 3} of ${whole.length}, bit ${bit & 7}`);
  }
  expect(unseen).toEqual([]);
  expect(found).toBeGreaterThan(0);
}, 3_600_000);

test("every flipped bit of a closed ledger's folder is found, also where it means nothing, and its page is named", async () => {
  const folder = tempDir();
  const path = join(folder, "ledger.db");
  const store = await openSqliteStore({ path, now: () => NOW });
  await life(store);
  await store.close();
  expect(readdirSync(folder).sort()).toEqual(["ledger.db", "ledger.db-seal"]);
  expect(await verifySqliteFile(path)).toMatchObject({ breaches: [], notes: [] });
  const files = ["ledger.db", "ledger.db-seal"].map(
    (name) => [join(folder, name), readFileSync(join(folder, name))] as const,
  );
  const bits = files.reduce((sum, [, bytes]) => sum + bytes.length * 8, 0);
  for (let trial = 0; trial < cases(100, 1_000); trial += 1) {
    let bit = randomBit(trial, bits);
    for (const [file, bytes] of files) {
      const at = bit >> 3;
      if (bit >= 0 && at < bytes.length) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << (bit & 7));
        writeFileSync(file, flipped);
        const { breaches } = await verifySqliteFile(path);
        const named = file === path ? `file: page ${Math.floor(at / 4096) + 1}` : "file: the seal";
        expect(breaches.join("\n"), `byte ${at} of ${file}`).toContain(named);
        writeFileSync(file, bytes);
      }
      bit -= bytes.length * 8;
    }
  }
  expect((await verifySqliteFile(path)).breaches).toEqual([]);
  // Whoever opens it to write breaks the seal first, and it is sealed again at the end.
  const again = await openSqliteStore({ path, now: () => NOW });
  expect(readdirSync(folder)).not.toContain("ledger.db-seal");
  await again.grant(ACCOUNT, "live", c(1), "more");
  await again.close();
  expect(readdirSync(folder).sort()).toEqual(["ledger.db", "ledger.db-seal"]);
  expect(statSync(`${path}-seal`).mode & 0o777).toBe(0o600);
  expect((await verifySqliteFile(path)).breaches).toEqual([]);
  const last = await openSqliteStore({ path, now: () => NOW });
  const other = new DatabaseSync(path);
  other.exec("SELECT 1 FROM accounts");
  await last.close();
  expect(readdirSync(folder)).not.toContain("ledger.db-seal");
  other.close();
}, 3_600_000);

long(
  "every flipped bit in the log of a service that was killed is found",
  async () => {
    const place = tempDir();
    const store = await openSqliteStore({ path: join(place, "ledger.db"), now: () => NOW });
    await life(store);
    const folder = tempDir();
    const ends = ["", "-wal", "-shm"];
    const kept = ends.map(
      (end) => [`ledger.db${end}`, readFileSync(join(place, `ledger.db${end}`))] as const,
    );
    await store.close();
    const path = join(folder, "ledger.db");
    const put = (): void => {
      for (const [name, bytes] of kept) writeFileSync(join(folder, name), bytes);
    };
    put();
    expect((await verifySqliteFile(path)).breaches).toEqual([]);
    const log = kept[1]?.[1] ?? Buffer.alloc(0);
    expect(log.length).toBeGreaterThan(100_000);
    for (let trial = 0; trial < cases(16, 1_000); trial += 1) {
      const bit = trial < 8 ? trial * 31 : randomBit(trial, log.length * 8);
      put();
      const bytes = Buffer.from(log);
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(`${path}-wal`, bytes);
      // Twice: to look is not to forget how far the log went.
      for (let look = 0; look < 2; look += 1) {
        const { breaches } = await verifySqliteFile(path);
        expect(breaches.join("\n"), `byte ${bit >> 3}`).toMatch(
          /ledger\.db-wal is damaged at frame \d+ of \d+/,
        );
      }
    }
  },
  3_600_000,
);

const REPLY = replyDigest(["h", 200, "{}", "another"]);
/** Each leaves sums, constraints and digests of its own row in order: only the chain can tell. */
const REWRITTEN: readonly (readonly [what: string, sql: string, breach: RegExp])[] = [
  [
    "a grant that never was, with its balance",
    `INSERT INTO entries (account_id, mode, kind, amount, balance_after, note, day, created_at, actor, chain)
     SELECT account_id, mode, 'grant', 1000000, balance + 1000000, 'gift', '2026-11-22', 1, 'me', 'x' FROM balances
     WHERE account_id = 'acme' AND mode = 'live';
     UPDATE balances SET balance = balance + 1000000 WHERE account_id = 'acme' AND mode = 'live'`,
    /I17: entry \d+ \(grant\) of acme \(live\) does not follow/,
  ],
  [
    "a last entry that is gone, with its balance",
    `DELETE FROM entries WHERE kind = 'refund';
     UPDATE balances SET balance = balance - 1000000 WHERE account_id = 'acme' AND mode = 'live';
     UPDATE budgets SET spent = spent + 1000000; UPDATE usage SET refunded = 0`,
    /I17: the entries of acme \(live\) do not end where its balance says/,
  ],
  [
    "a request of another name",
    "UPDATE holds SET request_id = 'x' WHERE state = 'voided'",
    /I14: hold \d+ is not what/,
  ],
  [
    "a key that lives again",
    "UPDATE keys SET revoked_at = NULL",
    /I17: the key k_2 is not what the audit last made of it/,
  ],
  [
    "another secret",
    "UPDATE keys SET hash = replace(hash, '1', '7') WHERE id = 'k_1'",
    /I17: the key k_1 is not/,
  ],
  ["a higher cap", "UPDATE budgets SET cap = cap + 1", /I17: the cap k_1 is not/],
  [
    "a lower price",
    "UPDATE plans SET costs = replace(costs, '2000000', '0') WHERE account_id = 'acme'",
    /I17: the plan acme/,
  ],
  [
    "an account that is no longer suspended",
    "UPDATE accounts SET suspended_at = NULL",
    /I17: the account quiet is not/,
  ],
  [
    "a key that nobody made",
    "INSERT INTO keys SELECT 'k_9', account_id, name, mode, prefix, replace(hash, '1', '9'), created_at, NULL, NULL, NULL, NULL FROM keys WHERE id = 'k_1'",
    /I17: the key k_9/,
  ],
  [
    "a session with another role",
    "UPDATE console_sessions SET role = 'owner'",
    /I17: the session \S+ is not/,
  ],
  [
    "a session that ends later",
    "UPDATE console_sessions SET expires_at = expires_at + 1",
    /I17: the session \S+ is/,
  ],
  ["a cap that is gone", "DELETE FROM budgets", /I17: the cap k_1 is gone/],
  [
    "an act that is gone",
    "DELETE FROM audit WHERE id = (SELECT MAX(id) FROM audit)",
    /I17: the audit does not end/,
  ],
  [
    "an act in the middle that is gone",
    "DELETE FROM audit WHERE action = 'keys.revoke'",
    /I17: row \d+ of the audit/,
  ],
  [
    "another reply, digested anew",
    `UPDATE idempotency SET status = 200, headers = '{}', body = 'another', digest = '${REPLY}' WHERE key = 'a'`,
    /I17: the stored reply of hold \d+ is not the one that was settled/,
  ],
  ...["a", "0"].map(
    (key) =>
      [
        `a stored reply that is gone (${key})`,
        `DELETE FROM idempotency WHERE key = '${key}'`,
        /^I7: the stored reply of hold \d+ is gone before its time$/,
      ] as const,
  ),
  [
    "a stored reply whose day is said to be over",
    `DELETE FROM idempotency WHERE key = 'a';
     UPDATE holds SET kept_until = created_at WHERE idempotency_key = 'a'`,
    /I17: entry \d+ \(charge\) of acme \(live\) does not follow/,
  ],
  [
    "one of a call that cost nothing",
    `DELETE FROM idempotency WHERE key = '0';
     UPDATE holds SET kept_until = created_at WHERE idempotency_key = '0'`,
    /I14: hold \d+ is not what/,
  ],
  [
    "a link that is good for longer",
    "UPDATE console_links SET expires_at = expires_at + 1",
    /I17: the link 4+ is not what the audit last made of it/,
  ],
  ["a link that is gone", "DELETE FROM console_links", /I17: the link 4+ is gone/],
];

test.each(REWRITTEN)("the chain tells of %s", async (_, sql, breach) => {
  const path = await ledgerFile();
  rewrite(path, sql);
  vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  expect((await verifySqliteFile(path)).breaches.join("\n")).toMatch(breach);
});

test("a trigger that is gone is told, and stored replies that went after their day break nothing", async () => {
  const path = await ledgerFile();
  rewrite(path, "DELETE FROM idempotency WHERE status IS NOT NULL");
  expect((await verifySqliteFile(path)).breaches).toEqual([]);
  const database = new DatabaseSync(path);
  database.exec("DROP TRIGGER entries_stay");
  database.close();
  expect((await verifySqliteFile(path)).breaches).toEqual([
    "schema: the trigger entries_stay is not as this version makes it",
  ]);
});

test("a ledger whose replies are purged after their day goes on, and its head moves with every act", async () => {
  const path = join(tempDir(), "ledger.db");
  let now = NOW;
  const store = await openSqliteStore({ path, now: () => now, heartbeatMs: 10 });
  await life(store);
  const { head } = await verifySqliteFile(path);
  now += IDEMPOTENCY_TTL_MS;
  await store.recover(0);
  await expect
    .poll(() => count(path, "SELECT COUNT(*) AS n FROM idempotency WHERE status IS NOT NULL"))
    .toBe(0);
  expect(await store.verify()).toEqual([]);
  expect((await verifySqliteFile(path)).head).toBe(head);
  await store.grant(ACCOUNT, "test", c(1), "more");
  expect((await verifySqliteFile(path)).head).not.toBe(head);
  await store.close();
});

function count(path: string, sql: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return (database.prepare(sql).get() as { n: number }).n;
  } finally {
    database.close();
  }
}

describe.skipIf(isLeftOut(hasPostgres))("on PostgreSQL", () => {
  let database: Database | undefined;
  afterAll(() => database?.drop());

  long(
    "the chain is one and the same, with servers and operators at once, and tells what was rewritten",
    async () => {
      database = await openDatabase();
      const { url } = database;
      const stores = await Promise.all(
        [1, 2].map(() => openPostgresStore({ url, now: () => NOW })),
      );
      const [one, two] = stores as [Store, Store];
      await life(one);
      for (const id of ["x", "y"]) {
        await one.createAccount(id, id);
        await one.grant(id, "live", c(200), "first");
      }
      await Promise.all(
        Array.from({ length: 30 }, async (_, n) => {
          const store = n % 2 === 0 ? one : two;
          const accountId = ["x", "y", ACCOUNT][n % 3] as string;
          const holdId = await held(store, c(2), {
            accountId,
            idempotency: { key: `p${n}`, requestHash: "h" },
          });
          await store.settle({ holdId, amount: c(n % 3), reply: answer() });
          await store.grant(accountId, "live", c(1), "more");
          if (n % 5 === 0) await store.setPlan(accountId, { perDay: 1000 + n });
        }),
      );
      expect(await two.verify()).toEqual([]);
      const client = await connected(url);
      await client.query("SET search_path = headcount");
      for (const sql of [
        "UPDATE entries SET note = 'x'",
        "DELETE FROM entries",
        "TRUNCATE entries CASCADE",
        "INSERT INTO entries OVERRIDING SYSTEM VALUE SELECT * FROM entries ON CONFLICT (id) DO UPDATE SET note = 'x'",
        "DELETE FROM audit",
        "DELETE FROM holds",
      ]) {
        await expect(client.query(sql), sql).rejects.toThrow(/never (changed|deleted)/);
      }
      vi.useFakeTimers({ now: NOW, toFake: ["Date"] });
      onTestFinished(() => void vi.useRealTimers());
      for (const [sql, breach] of [
        [
          "UPDATE entries SET note = 'x' WHERE kind = 'grant' AND account_id = 'x'",
          /I17: entry \d+ \(grant\) of x \(live\)/,
        ],
        [
          "UPDATE holds SET owner = 'x' WHERE state = 'voided'",
          /I14: hold \S+ is not what was written/,
        ],
        [
          "UPDATE keys SET revoked_at = NULL",
          /I17: the key k_2 is not what the audit last made of it/,
        ],
        ["UPDATE plans SET per_day = 5 WHERE account_id = 'y'", /I17: the plan y is not/],
        ["DELETE FROM console_links", /I17: the link 4+ is gone/],
        ["DELETE FROM idempotency WHERE key = 'a'", /I7: the stored reply of hold \S+ is gone/],
      ] as const) {
        await client.query("BEGIN; SET LOCAL session_replication_role = replica");
        await client.query(sql);
        await client.query("COMMIT");
        expect((await one.verify()).join("\n"), sql).toMatch(breach);
      }
      await client.query("ALTER TABLE entries DISABLE TRIGGER entries_append_only");
      expect((await one.verify()).join("\n")).toMatch(
        /schema: the trigger entries_append_only is gone or switched off/,
      );
      await client.end();
      await Promise.all(stores.map((store) => store.close()));
    },
  );
});
