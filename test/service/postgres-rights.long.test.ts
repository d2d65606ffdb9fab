import { spawn } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPostgresStore } from "../../src/service/ledger/postgres.ts";
import { credits } from "../../src/shared/contract/money.ts";
import { freePort } from "../support/free-port.ts";
import { type PostgresCluster, postgresBinaries, startCluster } from "../support/store-postgres.ts";
import { isLeftOut } from "../support/tools.ts";

// A ledger on PostgreSQL behind a pooler, and as a role that may do no more than it must.

const POOLER = "/usr/sbin/pgbouncer";

describe.skipIf(isLeftOut(postgresBinaries() !== undefined && existsSync(POOLER)))(
  "PostgreSQL",
  () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      cluster = await startCluster();
    });
    afterAll(() => cluster.remove());

    async function asked(...statements: string[]): Promise<void> {
      const client = new pg.Client(cluster.url);
      await client.connect();
      for (const sql of statements) await client.query(sql);
      await client.end();
    }

    async function charge(url: string, schema: string): Promise<void> {
      const store = await openPostgresStore({ url, schema, now: Date.now });
      try {
        if ((await store.account("a")) === undefined) await store.createAccount("a", "A");
        await store.grant("a", "live", credits(1_000_000n), "for the test");
        const amount = credits(100_000n);
        const one = {
          accountId: "a",
          mode: "live",
          keyId: "k",
          call: "person_search",
          amount,
        } as const;
        const holds = await Promise.all(
          ["1", "2", "3"].map((id) => store.hold({ ...one, requestId: `${schema}-${id}` })),
        );
        expect(holds.map(({ kind }) => kind)).toEqual(["held", "held", "held"]);
        expect(await store.verify()).toEqual([]);
      } finally {
        await store.close();
      }
    }

    test.each([
      ["session", "pooled_session", false],
      ["transaction", "pooled_transaction", true],
    ])("behind pgbouncer in %s mode", async (mode, schema, isRole) => {
      const { password } = new URL(cluster.url);
      // Between transactions a pooler of this mode hands out other connections: there the path is the role's own.
      if (isRole)
        await asked(`CREATE SCHEMA ${schema}`, `ALTER ROLE headcount SET search_path = ${schema}`);
      const port = await freePort();
      const users = join(cluster.folder, "users.txt");
      writeFileSync(users, `"headcount" "${password}"\n`);
      const config = join(cluster.folder, `${mode}.ini`);
      writeFileSync(
        config,
        `[databases]\npostgres = host=127.0.0.1 port=${cluster.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = plain\nauth_file = ${users}\npool_mode = ${mode}\nserver_reset_query = DISCARD ALL\nuser = postgres\n`,
      );
      chmodSync(cluster.folder, 0o755);
      const pooler = spawn(POOLER, [config], { stdio: "ignore" });
      try {
        await listens(port);
        await charge(`postgres://headcount:${password}@127.0.0.1:${port}/postgres`, schema);
      } finally {
        pooler.kill("SIGKILL");
        await asked("ALTER ROLE headcount RESET search_path");
      }
    });

    test("a role that may make nothing but tables in a schema that is there", async () => {
      await asked(
        "CREATE ROLE clerk LOGIN PASSWORD 'only-for-this-test'",
        "CREATE SCHEMA clerks AUTHORIZATION clerk",
        "REVOKE CREATE ON DATABASE postgres FROM PUBLIC",
      );
      const url = new URL(cluster.url);
      url.username = "clerk";
      url.password = "only-for-this-test";
      await charge(url.href, "clerks");
      await expect(
        openPostgresStore({ url: url.href, schema: "others", now: Date.now }),
      ).rejects.toThrow(/permission denied/);
    });
  },
);

async function listens(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = createConnection(port, "127.0.0.1", () => resolve(true)).on("error", () =>
        resolve(false),
      );
      socket.unref();
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("pgbouncer does not listen");
}
