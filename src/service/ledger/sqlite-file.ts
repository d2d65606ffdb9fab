import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { needed } from "../http/missing-package.ts";
import type { AskBackup } from "./chain/against.ts";
import { headOf, verifyChain } from "./chain/check.ts";
import { type Row, runNow } from "./database.ts";
import { NoLedgerError, StoreUnavailableError } from "./errors.ts";
import { lostLedger } from "./files.ts";
import { resultCode, SQLITE_CORRUPT, translateError } from "./group-commit.ts";
import { verifySums } from "./invariants.ts";
import { logBreach } from "./log-check.ts";
import { assertLedger, checkSqliteVersion, makeTables } from "./schemas.ts";
import { type BrokenPages, brokenPages } from "./seal.ts";
import { Statements } from "./statements.ts";

export const isFile = (path: string): boolean => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

export interface VerifiedFile {
  readonly breaches: readonly string[];
  /** What cannot be seen from the file alone. */
  readonly notes: readonly string[];
  readonly head: string | null;
}

/** Verifies a file and writes nothing, not even beside it; at need a copy among the temporary files. */
export async function verifySqliteFile(path: string): Promise<VerifiedFile> {
  const lost = lostLedger(path);
  if (lost !== undefined) return { breaches: [`file: ${lost}`], notes: [], head: null };
  const { logged, value: verified } = await lookAt(path, (...found) => verifyOpened(path, ...found));
  return logged ? { ...verified, notes: [] } : verified;
}

/** One state of a file's ledger. As {@link verifySqliteFile} it writes nothing. */
export async function readSqliteFile<Value>(path: string, read: (ask: AskBackup) => Promise<Value>): Promise<Value> {
  const { value } = await lookAt(path, (place) =>
    withReader(place, async (database, { execute }) => {
      database.exec("BEGIN");
      try {
        return await read(execute);
      } finally {
        database.exec("ROLLBACK");
      }
    }),
  );
  return value;
}

interface Looked<Value> {
  readonly value: Value;
  readonly logged: boolean;
}

/** Reads a file at a place. @param sealed what its seal says @param cut what is wrong with its log */
type Look<Value> = (place: string, sealed?: BrokenPages, cut?: string) => Promise<Value>;

async function lookAt<Value>(path: string, look: Look<Value>): Promise<Looked<Value>> {
  if (!isFile(path)) throw new NoLedgerError(path);
  const log = `${path}-wal`;
  for (let attempt = 0; !isFile(log) && attempt < 3; attempt += 1) {
    const { mtimeMs } = statSync(path);
    const value = await look(`${pathToFileURL(path).href}?immutable=1`, brokenPages(path));
    // Nobody wrote meanwhile: what was read was one state.
    if (!isFile(log) && statSync(path).mtimeMs === mtimeMs) {
      return { value, logged: statSync(log, { throwIfNoEntry: false }) !== undefined };
    }
  }
  const cut = isFile(log) ? logBreach(path) : undefined;
  // Where nobody else is at work SQLite would write the index anew, and with it how far the log went.
  if (cut === undefined && statSync(`${path}-shm`, { throwIfNoEntry: false }) !== undefined) {
    try {
      return { value: await look(path), logged: true };
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }
  const folder = mkdtempSync(join(tmpdir(), "headcount-verify-"));
  try {
    for (const end of ["", "-wal"]) copyFileSync(path + end, join(folder, `ledger.db${end}`));
    return { value: await look(join(folder, "ledger.db"), undefined, cut), logged: true };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const COPIED =
  "this is a copy that was made while a service was at work, and no log (-wal) is beside it: made with .backup it is whole, copied as a file it lacks the latest charges";

async function verifyOpened(path: string, place: string, sealed?: BrokenPages, cut?: string): Promise<VerifiedFile> {
  const hurt = cut === undefined ? [] : [cut];
  let opened = false;
  try {
    return await withReader(place, async (database, statements) => {
      opened = true;
      assertLedger(database, path);
      const breaches = [...hurt, ...pageBreaches(sealed, database), ...verifySnapshot(database, statements)];
      const open = statements.execute({ sql: "SELECT machine FROM instances", values: [] }).rows.length;
      return { breaches, notes: open === 0 ? [] : [COPIED], head: runNow(headOf(), statements.execute) };
    });
  } catch (error) {
    const broken = [...hurt, ...pageBreaches(sealed, undefined)];
    const cause = error instanceof StoreUnavailableError ? error.cause : error;
    if (broken.length > 0 || (resultCode(cause) === SQLITE_CORRUPT && opened)) {
      return { breaches: [...broken, `file: ${(cause as Error).message}`], notes: [], head: null };
    }
    throw error;
  }
}

async function withReader<Value>(
  place: string,
  work: (database: DatabaseSyncInstance, statements: Statements) => Promise<Value>,
): Promise<Value> {
  const { DatabaseSync } = await needed("@photostructure/sqlite", import("@photostructure/sqlite"));
  let database: DatabaseSyncInstance | undefined;
  try {
    database = new DatabaseSync(place, { readOnly: true });
    checkSqliteVersion(database);
    return await work(database, new Statements(database));
  } catch (error) {
    throw translateError(error);
  } finally {
    database?.close();
  }
}

/** One sentence for each page that is not as it was sealed. @param database knows what is on it */
function pageBreaches(sealed: BrokenPages | undefined, database: DatabaseSyncInstance | undefined): readonly string[] {
  if (sealed === undefined) return [];
  const pages = sealed.pages.slice(0, MOST_PAGES).map((page) => {
    return `file: page ${page}${contentOf(page, database)} is not as it was sealed`;
  });
  const more = sealed.pages.length - pages.length;
  const rest = more > 0 ? [`file: ${more} more pages are not as they were sealed`] : [];
  return [...pages, ...rest, ...(sealed.seal === undefined ? [] : [`file: ${sealed.seal}`])];
}

const MOST_PAGES = 20;

function contentOf(page: number, database: DatabaseSyncInstance | undefined): string {
  try {
    const row = database?.prepare("SELECT name FROM dbstat WHERE pageno = ?").get(page) as { name: string } | undefined;
    return row === undefined ? "" : `, of ${row.name},`;
  } catch {
    return "";
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
    breaches.push(...schemaBreaches(database));
    breaches.push(...runNow(verifySums(), statements.execute), ...runNow(verifyChain(), statements.execute));
  } catch (error) {
    if (resultCode(error) !== SQLITE_CORRUPT) throw translateError(error);
    breaches.push(`file: ${(error as Error).message}`);
  } finally {
    if (database.isTransaction) database.exec("ROLLBACK");
  }
  return breaches;
}

const SCHEMA = "SELECT type || ' ' || name AS thing, sql FROM sqlite_schema WHERE sql IS NOT NULL";

const schemaOf = (database: DatabaseSyncInstance): ReadonlyMap<string, string> =>
  new Map((database.prepare(SCHEMA).all() as { thing: string; sql: string }[]).map(({ sql, thing }) => [thing, sql]));

let made: ReadonlyMap<string, string> | undefined;

/** What is to be there: made once, for it takes longer than all else that verify does with a small ledger. */
function schemaAsMade(database: DatabaseSyncInstance): ReadonlyMap<string, string> {
  if (made !== undefined) return made;
  const fresh = new (database.constructor as new (path: string) => DatabaseSyncInstance)(":memory:");
  try {
    makeTables(fresh, ":memory:");
    made = schemaOf(fresh);
    return made;
  } finally {
    fresh.close();
  }
}

/** Tables, indices and triggers, against those of a new ledger: a trigger that is gone refuses nothing. */
function schemaBreaches(database: DatabaseSyncInstance): readonly string[] {
  const [known, found] = [schemaAsMade(database), schemaOf(database)];
  return [...new Set([...known.keys(), ...found.keys()])].flatMap((thing) =>
    known.get(thing) === found.get(thing) ? [] : [`schema: the ${thing} is not as this version makes it`],
  );
}
