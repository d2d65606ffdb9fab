import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { fileDigest } from "../../src/dataset/manifest.ts";
import { manifestText, restore } from "../../src/service/admin/backup.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openPostgresStore } from "../../src/service/ledger/postgres.ts";
import { POSTGRES_STEPS, SQLITE_STEPS } from "../../src/service/ledger/schema/steps.ts";
import { migrate } from "../../src/service/ledger/schemas.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../src/service/ledger/sqlite-file.ts";
import { tempDir } from "../support/client.ts";
import { ACCOUNT, answer, c, held } from "../support/store.ts";
import { type PostgresCluster, postgresBinaries, startCluster } from "../support/store-postgres.ts";

/** What schema 2's own code wrote: two keys, one of them revoked, three charges on two days, a stored reply. */
const OLD = readFileSync(join(import.meta.dirname, "ledger-schema-2.sql"), "utf8");
const now = () => Date.UTC(2026, 4, 6, 13);

/** All of a ledger of schema 2 is there after its first opening, and goes on. */
async function upgraded(store: Store): Promise<void> {
  expect(await store.verify()).toEqual([]);
  expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(79));
  const entries = await store.entries({ accountId: ACCOUNT, mode: "live", limit: 10 });
  expect(entries.map(({ actor, amount, call, kind, price, rows }) => [kind, amount, call, actor, price, rows])).toEqual(
    [
      ["charge", c(-9), "company_employees", "k_1", null, null],
      ["charge", c(-5), "person_search", "k_2", null, null],
      ["charge", c(-7), "person_search", "k_1", null, null],
      ["grant", c(100), null, null, null, null],
    ],
  );
  expect(await store.usage({ accountId: ACCOUNT, mode: "live", by: ["day", "key"] })).toMatchObject([
    { day: "2026-05-05", keyId: "k_1", calls: 1, charged: c(7), rows: null },
    { day: "2026-05-05", keyId: "k_2", calls: 1, charged: c(5), rows: null },
    { day: "2026-05-06", keyId: "k_1", calls: 1, charged: c(9), rows: null },
  ]);
  expect(await store.listKeys(ACCOUNT)).toMatchObject([
    { id: "k_1", spent: c(16), scopes: null, expiresAt: null, budget: null, origin: "k_1", revokedAt: null },
    { id: "k_2", spent: c(5), revokedAt: Date.UTC(2026, 4, 5, 12) },
  ]);
  const { budget } = await store.updateKey("k_1", { maxCredits: c(20) });
  expect(budget).toEqual({ cap: c(20), spent: c(16), held: c(0) });
  await store.refund(entries[2]?.id ?? 0n, undefined, { note: "an old one" });
  const holdId = await held(store, c(11), { keyId: "k_1" });
  await store.settle({ holdId, amount: c(2), reply: answer(), sold: { price: c(1), rows: 2 } });
  expect(await store.usage({ accountId: ACCOUNT, mode: "live", by: ["day"], keyId: "k_1" })).toMatchObject([
    { day: "2026-05-05", charged: c(7), refunded: c(0) },
    { day: "2026-05-06", charged: c(11), refunded: c(7), rows: null },
  ]);
  expect(await store.verify()).toEqual([]);
}

test("a SQLite ledger of schema 2 is brought to this one, whole", async () => {
  const path = join(tempDir(), "ledger.db");
  const database = new DatabaseSync(path);
  migrate(database, path, 0, SQLITE_STEPS.slice(0, 1));
  database.exec(OLD);
  expect(() => database.exec("UPDATE entries SET note = 'x'")).toThrow(/never changed/);
  database.close();
  const store = await openSqliteStore({ path, now });
  await upgraded(store);
  await store.close();
  const after = new DatabaseSync(path);
  for (const table of ["entries", "audit"]) {
    for (const sql of [
      `UPDATE ${table} SET actor = 'x'`,
      `DELETE FROM ${table}`,
      `INSERT OR REPLACE INTO ${table} SELECT * FROM ${table}`,
    ])
      expect(() => after.exec(sql), sql).toThrow(/never (changed|deleted|replaced)/);
  }
  expect(() => after.exec("UPDATE keys SET origin = 'k_2' WHERE id = 'k_1'")).toThrow(/a key is what it is/);
  expect(() => after.exec("UPDATE budgets SET spent = cap + 1")).toThrow(/CHECK/);
  after.close();
});

test("a backup of schema 2 is restored as a ledger of this one, the backup stays as it was, and verify names what it looked at", async () => {
  const place = tempDir();
  const from = join(place, "backup");
  mkdirSync(from);
  const path = join(from, "ledger.db");
  const database = new DatabaseSync(path);
  migrate(database, path, 0, SQLITE_STEPS.slice(0, 1));
  database.exec(OLD);
  database.close();
  const before = readFileSync(path);
  const files = [{ path: "ledger.db", bytes: before.length, sha256: await fileDigest(path) }];
  const madeAt = new Date(now()).toISOString();
  writeFileSync(
    join(from, "backup.json"),
    manifestText({ format: 1, made_at: madeAt, head: "x", dataset: null, files }),
  );
  await expect(verifySqliteFile(path)).rejects.toThrow(`${path} has an older ledger schema`);
  const restored = join(place, "data");
  await restore({ from, dir: restored, now, actor: "me" });
  expect(readFileSync(path)).toEqual(before);
  expect(readdirSync(restored).sort()).toEqual(["ledger.db", "ledger.db-seal"]);
  expect((await verifySqliteFile(join(restored, "ledger.db"))).breaches).toEqual([]);
  const store = await openSqliteStore({ path: join(restored, "ledger.db"), now });
  expect(await store.audit({ limit: 1 })).toMatchObject([{ action: "ledger.restore", actor: "me" }]);
  await upgraded(store);
  await store.close();
  // One of another program, or of a newer version, is still none of ours.
  const newer = new DatabaseSync(path);
  newer.exec("PRAGMA user_version = 99");
  newer.close();
  const changed = [{ path: "ledger.db", bytes: statSync(path).size, sha256: await fileDigest(path) }];
  const text = manifestText({ format: 1, made_at: madeAt, head: "x", dataset: null, files: changed });
  writeFileSync(join(from, "backup.json"), text);
  const refused = restore({ from, dir: join(place, "newer"), now, actor: "me" });
  await expect(refused).rejects.toThrow(/ledger schema 99; this version of headcount knows up to \d+\. Upgrade/);
  expect(readdirSync(place).sort()).toEqual(["backup", "data"]);
});

describe.skipIf(postgresBinaries() === undefined && process.env.CI === undefined)("on PostgreSQL", () => {
  let cluster: PostgresCluster | undefined;
  afterAll(() => cluster?.remove());

  test("a ledger of schema 2 is brought to this one, whole", async () => {
    cluster = await startCluster();
    const client = new pg.Client({ connectionString: cluster.url });
    await client.connect();
    await client.query(
      "CREATE SCHEMA old; SET search_path = old; CREATE TABLE schema_version (version integer NOT NULL)",
    );
    await client.query(`${POSTGRES_STEPS[0]?.sql}; INSERT INTO schema_version VALUES (2); ${OLD}`);
    const store = await openPostgresStore({ url: cluster.url, schema: "old", now });
    await upgraded(store);
    await store.close();
    for (const sql of ["UPDATE entries SET actor = 'x'", "DELETE FROM audit", "TRUNCATE audit"])
      await expect(client.query(sql), sql).rejects.toThrow(/never (changed|deleted)/);
    await expect(client.query("UPDATE keys SET origin = 'k_2' WHERE id = 'k_1'")).rejects.toThrow(
      /a key is what it is/,
    );
    await client.end();
  });
});
