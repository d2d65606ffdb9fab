import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "@photostructure/sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { backUp, restoreBackup } from "../../src/service/admin/backup.ts";
import { verifyAgainst } from "../../src/service/admin/verify.ts";
import {
  AUDIT_COLUMNS,
  auditLink,
  ENTRY_ROWS,
  HOLD_COLUMNS,
  holdDigest,
  linkOf,
  REPLY_COLUMNS,
  RESOLVED_COLUMNS,
  replyDigest,
  valuesOf,
} from "../../src/service/ledger/chain/links.ts";
import type { Row } from "../../src/service/ledger/database.ts";
import { IDEMPOTENCY_TTL_MS, type Store } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../src/service/ledger/sqlite-file.ts";
import { tempDir } from "../support/client.ts";
import { headcount } from "../support/serve-command.ts";
import { ACCOUNT, answer, c, fund, held, rewrite } from "../support/store.ts";

const NOW = Date.UTC(2026, 10, 22, 8);
const LATER = NOW + 3_600_000;
const key = {
  name: "k",
  mode: "live" as const,
  prefix: "hc_live_",
  accountId: ACCOUNT,
  createdAt: NOW,
};

async function life(store: Store): Promise<void> {
  await fund(store, 500, 50);
  await store.createKey({ ...key, id: "k_1", hash: "1".repeat(64), maxCredits: c(90) });
  await store.createKey({ ...key, id: "k_2", hash: "2".repeat(64) });
  await store.revokeKey("k_2");
  for (const name of ["a", "b", "c"]) {
    const holdId = await held(store, c(4), {
      keyId: "k_1",
      idempotency: { key: name, requestHash: "h" },
    });
    await store.settle({ holdId, amount: c(3), reply: answer(), sold: { price: c(1), rows: 3 } });
  }
  await store.release(await held(store, c(9)));
}

/** What comes after the backup: everything that may change does. */
async function afterwards(store: Store): Promise<void> {
  await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
  await store.grant(ACCOUNT, "live", c(7), "more");
  await store.updateKey("k_1", { maxCredits: c(95), name: "other" });
  await store.setPlan(ACCOUNT, { perMinute: 77 });
  await store.createAccount("new", "New");
  await store.suspendAccount("new", true);
}

/** What the program's own code would have written over the rows as they are now: sound in itself. */
function chainAnew(path: string): void {
  const database = new DatabaseSync(path);
  const all = (sql: string) => database.prepare(sql, { readBigInts: true }).all() as Row[];
  const set = (sql: string, ...values: unknown[]) =>
    database.prepare(sql).run(...(values as never[]));
  const triggers = all("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'");
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
  for (const row of all(
    `SELECT hold_id AS id, ${REPLY_COLUMNS.join(", ")} FROM idempotency WHERE status IS NOT NULL`,
  )) {
    const digest = replyDigest(valuesOf(row, REPLY_COLUMNS));
    set("UPDATE idempotency SET digest = ? WHERE hold_id = ?", digest, row.id);
    set("UPDATE holds SET reply = ? WHERE id = ?", digest, row.id);
  }
  for (const row of all(`SELECT ${[...HOLD_COLUMNS, ...RESOLVED_COLUMNS].join(", ")} FROM holds`))
    set("UPDATE holds SET digest = ? WHERE id = ?", holdDigest(row), row.id);
  const heads = new Map<string, string>();
  for (const row of all(`${ENTRY_ROWS} ORDER BY e.id`)) {
    const place = `${String(row.account_id)} ${String(row.mode)}`;
    const link = linkOf(heads.get(place) ?? "", row);
    heads.set(place, link);
    set("UPDATE entries SET chain = ? WHERE id = ?", link, row.id);
  }
  for (const [place, head] of heads)
    set(
      "UPDATE balances SET head = ? WHERE account_id = ? AND mode = ?",
      head,
      ...place.split(" "),
    );
  let head = "";
  for (const row of all(`SELECT id, ${AUDIT_COLUMNS.join(", ")} FROM audit ORDER BY id`)) {
    head = auditLink(head, valuesOf(row, AUDIT_COLUMNS));
    set("UPDATE audit SET digest = ? WHERE id = ?", head, row.id);
  }
  set("UPDATE chains SET head = ?", head);
  for (const { sql } of triggers) database.exec(String(sql));
  database.close();
}

describe("a ledger is held against a backup of it", () => {
  let place = "";
  let backup = "";
  let path = "";
  let store: Store;
  beforeAll(async () => {
    place = tempDir();
    path = join(place, "ledger.db");
    store = await openSqliteStore({ path, now: () => NOW });
    await life(store);
    await held(store, c(2), { keyId: "k_1", idempotency: { key: "d", requestHash: "h" } });
    backup = join(tempDir(), "backup");
    await backUp({ dir: place, ledger: path, to: backup, now: () => NOW });
  });
  afterAll(() => store.close());

  /** The ledger as it is, in a file of its own. */
  function copied(): string {
    const dir = tempDir();
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec(`VACUUM INTO '${join(dir, "ledger.db")}'`);
    reader.close();
    return dir;
  }
  const against = (dir: string, at = LATER) => verifyAgainst({ dir, backup, now: () => at });

  test("all of it is in the running one, whatever came since then, and in what is restored of it", async () => {
    expect(await against(place)).toEqual([]);
    await afterwards(store);
    expect(await against(place)).toEqual([]);
    const restored = join(tempDir(), "restored");
    await restoreBackup({ from: backup, dir: restored, now: () => LATER, actor: "me" });
    expect(await against(restored)).toEqual([]);
    const again = await openSqliteStore({ path: join(restored, "ledger.db"), now: () => LATER });
    await again.recover(0);
    await afterwards(again);
    expect(await against(restored)).toEqual([]);
    await again.close();
    expect(await against(restored)).toEqual([]);
    // The other way round: what came after the backup is missing in it.
    const newer = join(tempDir(), "backup");
    await backUp({ dir: place, ledger: path, to: newer, now: () => LATER });
    const missing = await verifyAgainst({ dir: backup, backup: newer, now: () => LATER });
    expect(missing.join("\n")).toMatch(
      /I18: entry 6 \(charge of 3, 2026-11-22T08:00:00.000Z\) of acme \(live\) is in the backup and is gone/,
    );
    expect(missing.join("\n")).toMatch(
      /I18: row \d+ \(credits.add\) of the audit is in the backup and is gone/,
    );
  });

  const ANEW: readonly (readonly [what: string, sql: string, breach: RegExp])[] = [
    [
      "an entry of another note",
      "UPDATE entries SET note = 'gift' WHERE id = 1",
      /I18: entry 1 \(grant of 500, .*\) of acme \(live\) is another than in the backup: from there/,
    ],
    [
      "a charge that never was, with its sums",
      `DELETE FROM entries WHERE id = 5; UPDATE entries SET balance_after = balance_after + 3000000 WHERE id > 5 AND mode = 'live';
       UPDATE holds SET state = 'voided', posted = NULL, reply = NULL WHERE id = 3; DELETE FROM idempotency WHERE hold_id = 3;
       UPDATE balances SET balance = balance + 3000000 WHERE mode = 'live' AND account_id = 'acme';
       UPDATE budgets SET spent = spent - 3000000; UPDATE usage SET calls = calls - 1, sold = sold - 3, charged = charged - 3000000 WHERE key_id = 'k_1'`,
      /I18: entry 5 \(charge of 3, .*\) of acme \(live\) is (another|in the backup and is gone)/,
    ],
    [
      "an act of somebody else",
      "UPDATE audit SET actor = 'nobody' WHERE id = 2",
      /I18: row 2 \(\S+\) of the audit is another/,
    ],
    [
      "a hold of another request",
      "UPDATE holds SET request_id = 'x' WHERE state = 'voided'",
      /I18: hold 4 is another than in the backup/,
    ],
    [
      "another reply",
      "UPDATE idempotency SET body = 'another' WHERE key = 'a'",
      /I18: the stored reply of hold 1 is another than in the backup, and its day is not over/,
    ],
  ];

  test.each(ANEW)(
    "a history that was written anew, sound in itself, with %s",
    async (_, sql, breach) => {
      const dir = copied();
      expect(await against(dir)).toEqual([]);
      rewrite(join(dir, "ledger.db"), sql);
      chainAnew(join(dir, "ledger.db"));
      expect((await verifySqliteFile(join(dir, "ledger.db"))).breaches).toEqual([]);
      expect((await against(dir)).join("\n")).toMatch(breach);
    },
  );

  test("a key that changed without an act, and a stored reply that is gone before its day is over", async () => {
    const dir = copied();
    rewrite(
      join(dir, "ledger.db"),
      "UPDATE keys SET revoked_at = NULL WHERE id = 'k_2'; DELETE FROM idempotency WHERE key = 'b'",
    );
    expect(await against(dir)).toEqual([
      "I18: the key k_2 is another than in the backup, and no act since then says so",
      "I18: the stored reply of hold 2 of the backup is gone, and its day is not over",
    ]);
    expect(await against(dir, NOW + IDEMPOTENCY_TTL_MS)).toEqual([
      "I18: the key k_2 is another than in the backup, and no act since then says so",
    ]);
  });

  test("a backup that is not sound, not what was written, or none", async () => {
    const hurt = copied();
    rewrite(
      join(hurt, "ledger.db"),
      "UPDATE balances SET balance = balance + 1 WHERE mode = 'test'",
    );
    const found = await verifyAgainst({ dir: place, backup: hurt, now: () => LATER });
    expect(found.join("\n")).toMatch(
      /^the backup is not sound itself: I1: balance of acme \(test\)/,
    );
    const folder = join(tempDir(), "backup");
    await backUp({ dir: place, ledger: path, to: folder, now: () => LATER });
    copyFileSync(join(backup, "ledger.db"), join(folder, "ledger.db"));
    await expect(verifyAgainst({ dir: place, backup: folder, now: () => LATER })).rejects.toThrow(
      /is not what was backed up: its SHA-256/,
    );
    const nothing = join(place, "nothing");
    await expect(verifyAgainst({ dir: place, backup: nothing, now: () => LATER })).rejects.toThrow(
      /is no backup: nothing is there/,
    );
  });

  test("service verify --against, from outside", async () => {
    const [sound, json] = [["service", "verify", "--data", place, "--against", backup], ["--json"]];
    const { code, err, out } = await headcount(...sound);
    expect([code, out], err).toEqual([
      0,
      expect.stringMatching(/^ledger\tsound\ndataset\tnone\nagainst\tsound\nhead\t/),
    ]);
    expect(JSON.parse((await headcount(...sound, ...json)).out)).toMatchObject({
      sound: true,
      against: [],
    });
    const plain = await headcount("service", "verify", "--data", place, "--json");
    expect(JSON.parse(plain.out)).toMatchObject({ sound: true, against: null });
    const dir = copied();
    rewrite(join(dir, "ledger.db"), "UPDATE entries SET note = 'gift' WHERE id = 1");
    chainAnew(join(dir, "ledger.db"));
    const anew = await headcount("service", "verify", "--data", dir, "--against", backup);
    expect([anew.code, anew.out]).toEqual([
      1,
      expect.stringMatching(/^ledger\tsound\ndataset\tnone\nagainst\t1 found\n/),
    ]);
    expect(anew.err).toContain("I18: entry 1 (grant of 500");
    const none = await headcount(
      "service",
      "verify",
      "--data",
      place,
      "--against",
      join(place, "none"),
    );
    expect([none.code, none.out]).toEqual([2, ""]);
    const odd = await headcount("service", "verify", "--data", place, "--against", "mysql://x");
    expect([odd.code, odd.err]).toEqual([
      2,
      expect.stringContaining("--against takes a folder of service backup"),
    ]);
  });
});
