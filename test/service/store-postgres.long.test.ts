import { afterAll, beforeAll, describe, it } from "vitest";
import type { Store } from "../../src/service/ledger/ledger.ts";
import { openPostgresStore } from "../../src/service/ledger/postgres.ts";
import { type Database, hasPostgres, openDatabase } from "../support/database.ts";
import { isLeftOut } from "../support/tools.ts";
import { conformance } from "./store-conformance.ts";

// A machine of ours that tests must have it; a contributor's laptop need not.
if (isLeftOut(hasPostgres)) {
  describe.skip("PostgreSQL is not installed (Debian: apt-get install postgresql), so its store is not tested here", () => {
    it("conforms", () => undefined);
  });
} else {
  let database: Database;
  let schemas = 0;
  beforeAll(async () => {
    database = await openDatabase();
  });
  afterAll(async () => {
    await database?.drop();
  });
  conformance("PostgreSQL", async () => {
    schemas += 1;
    const schema = `ledger_${schemas}`;
    const stores: Store[] = [];
    const open = async (now: () => number): Promise<Store> => {
      const store = await openPostgresStore({ url: database.url, now, schema, connections: 4 });
      stores.push(store);
      return store;
    };
    return {
      open,
      another: open,
      cleanUp: async () => {
        for (const store of stores) await store.close();
      },
    };
  });
}
