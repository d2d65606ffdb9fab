import { closeSync, openSync, statSync } from "node:fs";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { needed } from "../http/missing-package.ts";
import { audit } from "./chain/audit.ts";
import { headOf } from "./chain/check.ts";
import { runNow } from "./database.ts";
import { NoLedgerError } from "./errors.ts";
import { assertFilesBeside } from "./files.ts";
import { translateError } from "./group-commit.ts";
import { PATIENCE_MS } from "./ledger.ts";
import { assertLedger, checkSqliteVersion } from "./schemas.ts";
import { seal } from "./seal.ts";
import { isFile } from "./sqlite-file.ts";
import { Statements } from "./statements.ts";

/** One state of a ledger, in a file of its own, while services go on charging. @returns its head */
export async function snapshotLedger(path: string, to: string): Promise<string> {
  await assertFilesBeside(path, PATIENCE_MS);
  if (!isFile(path)) throw new NoLedgerError(path);
  // Made here, so that no moment passes in which others may read it.
  closeSync(openSync(to, "wx", 0o600));
  await withFile(path, (database) => {
    assertLedger(database, path);
    database.prepare("VACUUM INTO ?").run(to);
  });
  return withFile(to, (copy) => {
    // None of the processes at work will ever answer from the copy: what they hold goes back when it is opened.
    copy.exec("DELETE FROM instances");
    return runNow(headOf(), new Statements(copy).execute);
  });
}

interface Restored {
  readonly at: number;
  readonly by: string;
  readonly madeAt: string;
}

/** Writes into the audit of a restored ledger that it is one, and seals it. */
export async function noteRestored(path: string, { at, by, madeAt }: Restored): Promise<void> {
  await withFile(path, (database) => {
    assertLedger(database, path);
    const act = { actor: by, action: "ledger.restore", accountId: null, target: "ledger", detail: { made_at: madeAt } };
    database.exec("BEGIN IMMEDIATE");
    runNow(audit(act, at), new Statements(database).execute);
    database.exec("COMMIT");
  });
  seal(path, statSync(path).ino);
}

async function withFile<Value>(path: string, work: (database: DatabaseSyncInstance) => Value): Promise<Value> {
  const { DatabaseSync } = await needed("@photostructure/sqlite", import("@photostructure/sqlite"));
  let database: DatabaseSyncInstance | undefined;
  try {
    database = new DatabaseSync(path, { timeout: PATIENCE_MS, enableForeignKeyConstraints: true });
    checkSqliteVersion(database);
    return work(database);
  } catch (error) {
    throw translateError(error);
  } finally {
    database?.close();
  }
}
