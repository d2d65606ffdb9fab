import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openSqliteStore } from "../../src/service/ledger/sqlite.ts";
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
