import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { StoreUnavailableError } from "../../src/service/ledger/errors.ts";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { snapshotLedger, verifySqliteFile } from "../../src/service/ledger/sqlite-file.ts";
import { tempDir } from "../support/client.ts";
import { ACCOUNT, answer, c, fund, held, holdRequest } from "../support/store.ts";

const SQLITE = createRequire(import.meta.url).resolve("@photostructure/sqlite");
/** Another program with a SQLite of its own: within one process files that were removed are shared. */
const elsewhere = (path: string, code: string): string =>
  execFileSync(
    process.execPath,
    [
      "-e",
      `const { DatabaseSync } = require(process.argv[1]); const db = new DatabaseSync(process.argv[2]); ${code}`,
    ].concat(SQLITE, path),
    { encoding: "utf8" },
  );

const READ = `const one = (sql) => Object.values(db.prepare(sql).get())[0];
  console.log(one("PRAGMA integrity_check"), one("SELECT balance FROM balances WHERE mode = 'live'"))`;

const open = (path: string, patienceMs?: number): Promise<Store> =>
  openSqliteStore({ path, now: Date.now, ...(patienceMs === undefined ? {} : { patienceMs }) });

async function charged(): Promise<{ readonly path: string; readonly store: Store }> {
  const path = join(tempDir(), "ledger.db");
  const store = await open(path);
  await fund(store, 100);
  await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
  return { path, store };
}

describe("files of a ledger that are removed under a running process", () => {
  test("what another program writes into the log meanwhile is neither overwritten by a refused call nor at the end", async () => {
    const { path, store } = await charged();
    rmSync(`${path}-shm`);
    const WRITE = `db.exec("CREATE TABLE IF NOT EXISTS other (x)"); const put = db.prepare("INSERT INTO other VALUES (?)");
      const some = () => { for (let n = 0; n < 150; n += 1) put.run("x".repeat(3000)); }; db.exec("BEGIN"); some(); db.exec("COMMIT");
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)"); db.exec("BEGIN"); some(); db.exec("COMMIT");`;
    for (let round = 0; round < 2; round += 1) {
      elsewhere(path, WRITE);
      await expect(store.hold(holdRequest(c(1)))).rejects.toThrow(/-shm was removed or replaced/);
      await expect(store.grant(ACCOUNT, "live", c(1), "more")).rejects.toThrow(
        StoreUnavailableError,
      );
    }
    await store.close();
    expect(elsewhere(path, READ)).toBe("ok 97000000\n");
    expect(
      elsewhere(path, `console.log(db.prepare("SELECT COUNT(*) AS n FROM other").get().n)`),
    ).toBe("600\n");
  });

  test.each([["-shm"], ["-wal"], ["-wal", "-shm"]])(
    "no other process begins new ones beside it (%s %s), and its end saves what it acknowledged",
    async (...ends) => {
      const { path, store } = await charged();
      for (const end of ends) rmSync(path + end);
      const refused = new RegExp(
        `${path} is open in another process, and ${path}${ends[0]} was removed under it`,
      );
      await expect(open(path, 60)).rejects.toThrow(refused);
      await expect(snapshotLedger(path, join(tempDir(), "copy.db"))).rejects.toThrow(refused);
      for (const end of ends) expect(existsSync(path + end)).toBe(false);
      await store.close();
      expect(elsewhere(path, READ)).toBe("ok 97000000\n");
    },
    30_000,
  );

  test("a log whose ledger is gone is no new ledger, and none is backed up", async () => {
    const { path, store } = await charged();
    renameSync(path, `${path}.gone`);
    await expect(open(path)).rejects.toThrow(`${path} is gone and its log ${path}-wal is there`);
    await expect(snapshotLedger(path, join(tempDir(), "copy.db"))).rejects.toThrow(
      `${path} is gone`,
    );
    expect(existsSync(path)).toBe(false);
    renameSync(`${path}.gone`, path);
    expect((await store.balance(ACCOUNT, "live")).balance).toBe(c(97));
    await store.close();
  });

  test("an empty file, or none, beside the log of a killed process or the seal of a closed one is no new ledger", async () => {
    const { path, store } = await charged();
    const killed = join(tempDir(), "ledger.db");
    copyFileSync(`${path}-wal`, `${killed}-wal`);
    await store.close();
    const closed = join(tempDir(), "ledger.db");
    copyFileSync(`${path}-seal`, `${closed}-seal`);
    for (const [place, what, end] of [
      [killed, "log", "-wal"],
      [closed, "seal", "-seal"],
    ] as const) {
      const before = readFileSync(place + end);
      for (const state of ["gone", "empty"]) {
        if (state === "empty") writeFileSync(place, "");
        const told = `${place} is ${state} and its ${what} ${place}${end} is there: put the ledger back`;
        await expect(open(place)).rejects.toThrow(told);
        await expect(
          openSqliteStore({ path: place, now: Date.now, create: false }),
        ).rejects.toThrow(told);
        await expect(snapshotLedger(place, join(tempDir(), "copy.db"))).rejects.toThrow(told);
        expect((await verifySqliteFile(place)).breaches).toEqual([expect.stringContaining(told)]);
      }
      expect(readFileSync(place + end)).toEqual(before);
    }
  });

  test("what a kill has left is opened without its index too", async () => {
    const { path, store } = await charged();
    const copy = join(tempDir(), "ledger.db");
    for (const end of ["", "-wal"]) copyFileSync(path + end, copy + end);
    const left = await open(copy);
    expect((await left.balance(ACCOUNT, "live")).balance).toBe(c(97));
    expect(await left.verify()).toEqual([]);
    await left.close();
    await store.close();
  });
});
