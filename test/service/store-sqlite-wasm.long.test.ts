import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
import { tempDir } from "../support/client.ts";
import { conformance } from "./store-conformance.ts";

vi.mock("@photostructure/sqlite", async () => {
  const { sqliteWasm } = await import("../support/sqlite-wasm.ts");
  return { DatabaseSync: await sqliteWasm() };
});

// In one process, which has no locks to wait for: that is what the sample's lock sees to.
conformance("SQLite as WebAssembly", async () => {
  const folder = mkdtempSync(join(tmpdir(), "headcount-ledger-"));
  const stores: Store[] = [];
  const open = async (now: () => number): Promise<Store> => {
    const store = await openSqliteStore({ path: join(folder, "ledger.db"), now });
    stores.push(store);
    return store;
  };
  return {
    open,
    another: open,
    cleanUp: async () => {
      for (const store of stores) await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
});

test("SQLite as WebAssembly takes up the log that a killed native one left", async () => {
  const { DatabaseSync: Native } =
    await vi.importActual<typeof import("@photostructure/sqlite")>("@photostructure/sqlite");
  const running = new Native(join(tempDir("headcount-log-"), "running.db"));
  running.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0",
  );
  running.exec(
    "CREATE TABLE rows (value); INSERT INTO rows VALUES (1), (2); BEGIN; INSERT INTO rows VALUES (3)",
  );
  // Its files as they are now are what a kill -9 leaves: all that it wrote is in its log alone.
  const path = join(tempDir("headcount-log-"), "ledger.db");
  for (const end of ["", "-wal", "-shm"]) copyFileSync(running.location() + end, path + end);
  running.close();
  expect(existsSync(`${path}-wal`)).toBe(true);
  const { DatabaseSync } = await import("@photostructure/sqlite");
  const [one, another] = [new DatabaseSync(path), new DatabaseSync(path)];
  expect(one.prepare("SELECT value FROM rows").all()).toEqual([{ value: 1 }, { value: 2 }]);
  another.exec("INSERT INTO rows VALUES (4)");
  expect(one.prepare("SELECT sum(value) AS sum FROM rows").get()).toEqual({ sum: 7 });
  for (const database of [one, another]) database.close();
  expect(existsSync(`${path}-wal`)).toBe(false);
});
