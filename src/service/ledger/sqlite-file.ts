import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DatabaseSyncInstance, StatementSyncInstance } from "@photostructure/sqlite";
import { needed } from "../missing-package.ts";
import { type Result, type Row, runNow, type Statement } from "./database.ts";
import { NoLedgerError, StoreUnavailableError } from "./errors.ts";
import { resultCode, SQLITE_CORRUPT, translateError } from "./group-commit.ts";
import { verifyAll } from "./invariants.ts";
import { assertLedger, checkSqliteVersion } from "./schemas.ts";

const MOST_ROWS = 64;

interface Prepared {
  readonly statement: StatementSyncInstance;
  readonly reads: boolean;
}

function outcomeOf({ reads, statement }: Prepared, values: readonly unknown[]): Result {
  if (reads) return { rows: statement.all(...values) as Row[], changed: 0 };
  return { rows: [], changed: Number(statement.run(...values).changes) };
}

export class Statements {
  readonly #database: DatabaseSyncInstance;
  readonly #known = new Map<string, Map<number, Prepared>>();

  constructor(database: DatabaseSyncInstance) {
    this.#database = database;
  }

  clear(): void {
    this.#known.clear();
  }

  readonly execute = (statement: Statement): Result => {
    if (!("rows" in statement)) return outcomeOf(this.#prepared(statement.sql, 0), statement.values);
    const { rows, sql, types } = statement;
    const found: Row[] = [];
    let changed = 0;
    for (let at = 0; at < rows.length; ) {
      const size = 2 ** Math.floor(Math.log2(Math.min(rows.length - at, MOST_ROWS)));
      const values: unknown[] = [];
      for (const row of rows.slice(at, at + size)) {
        for (const [column, value] of row.entries()) values.push(types[column] === "id" ? rowId(value) : value);
      }
      const result = outcomeOf(this.#prepared(sql, size, types.length), values);
      found.push(...result.rows);
      changed += result.changed;
      at += size;
    }
    return { rows: found, changed };
  };

  /** @param rows how many tuples stand for `%`: powers of two, so that few statements are ever prepared */
  #prepared(sql: string, rows: number, width = 0): Prepared {
    const sizes = this.#known.get(sql) ?? new Map<number, Prepared>();
    this.#known.set(sql, sizes);
    const known = sizes.get(rows);
    if (known !== undefined) return known;
    const tuple = `(${Array.from({ length: width }, () => "?").join(", ")})`;
    const text = sql.replace(/\$(\d+)/g, "?$1").replace("%", Array.from({ length: rows }, () => tuple).join(", "));
    // Amounts above 2^53 millionths must not pass through a float.
    const statement = this.#database.prepare(text, { readBigInts: true });
    const prepared = { statement, reads: /^\s*(SELECT|PRAGMA)/.test(text) };
    sizes.set(rows, prepared);
    return prepared;
  }
}

/** The number of a hold; null where the text is none, which no hold has. */
function rowId(value: unknown): bigint | null {
  return typeof value === "string" && /^\d{1,18}$/.test(value) ? BigInt(value) : null;
}

export const isFile = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

export interface Verified {
  readonly breaches: readonly string[];
  /** What cannot be seen from the file alone. */
  readonly notes: readonly string[];
}

/** Verifies a file and writes nothing, not even beside it; at need a copy in the folder for temporary files. @throws NoLedgerError */
export async function verifySqliteFile(path: string): Promise<Verified> {
  if (!isFile(path)) throw new NoLedgerError(path);
  const log = `${path}-wal`;
  for (let attempt = 0; !isFile(log) && attempt < 3; attempt += 1) {
    const { mtimeMs } = statSync(path);
    const verified = await verifyOpened(`${pathToFileURL(path).href}?immutable=1`);
    // Nobody wrote meanwhile: what was read was one state.
    if (!isFile(log) && statSync(path).mtimeMs === mtimeMs) {
      return { ...verified, notes: statSync(log, { throwIfNoEntry: false }) === undefined ? verified.notes : [] };
    }
  }
  if (statSync(`${path}-shm`, { throwIfNoEntry: false }) !== undefined) {
    const verified = await verifyOpened(path).catch((error: unknown) => {
      if (error instanceof StoreUnavailableError) return undefined;
      throw error;
    });
    if (verified !== undefined) return { ...verified, notes: [] };
  }
  const folder = mkdtempSync(join(tmpdir(), "headcount-verify-"));
  try {
    for (const end of ["", "-wal"]) copyFileSync(path + end, join(folder, `ledger.db${end}`));
    return { ...(await verifyOpened(join(folder, "ledger.db"))), notes: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function verifyOpened(place: string): Promise<Verified> {
  const { DatabaseSync } = await needed("@photostructure/sqlite", import("@photostructure/sqlite"));
  let database: DatabaseSyncInstance | undefined;
  try {
    database = new DatabaseSync(place, { readOnly: true });
    checkSqliteVersion(database);
    assertLedger(database, place);
    const statements = new Statements(database);
    const breaches = verifySnapshot(database, statements);
    const open = statements.execute({ sql: "SELECT machine FROM instances", values: [] }).rows.length;
    const note =
      "this is a copy that was made while a service was at work, and no log (-wal) is beside it: made with .backup it is whole, copied as a file it lacks the latest charges";
    return { breaches, notes: open === 0 ? [] : [note] };
  } catch (error) {
    if (resultCode(error) === SQLITE_CORRUPT && database !== undefined) {
      return { breaches: [`file: ${(error as Error).message}`], notes: [] };
    }
    throw translateError(error);
  } finally {
    database?.close();
  }
}

/** From one snapshot: other processes go on charging meanwhile. */
export function verifySnapshot(database: DatabaseSyncInstance, statements: Statements): readonly string[] {
  const breaches: string[] = [];
  const look = (sql: string): readonly Row[] => statements.execute({ sql, values: [] }).rows;
  try {
    database.exec("BEGIN");
    for (const row of look("PRAGMA integrity_check")) {
      if (row.integrity_check !== "ok") breaches.push(`file: ${String(row.integrity_check)}`);
    }
    for (const row of look("PRAGMA foreign_key_check")) {
      breaches.push(`file: a row of ${String(row.table)} points to a missing row of ${String(row.parent)}`);
    }
    breaches.push(...runNow(verifyAll(), statements.execute));
  } catch (error) {
    if (resultCode(error) !== SQLITE_CORRUPT) throw translateError(error);
    breaches.push(`file: ${(error as Error).message}`);
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
  }
  return breaches;
}
