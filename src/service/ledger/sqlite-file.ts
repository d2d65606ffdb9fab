import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { endianness, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { headOf, verifyChain, verifySums } from "./chain/check.ts";
import { audit } from "./chain/links.ts";
import type { AskBackup, VerifiedFile } from "./database.ts";
import { type Row, runNow } from "./database.ts";
import {
  NoLedgerError,
  resultCode,
  SQLITE_CORRUPT,
  StoreUnavailableError,
  translateError,
} from "./errors.ts";
import {
  assertFilesBeside,
  type BrokenPages,
  brokenPages,
  hasLog,
  lostLedger,
  seal,
} from "./files.ts";
import { PATIENCE_MS } from "./ledger.ts";
import { assertLedger, checkSqliteVersion, makeTables } from "./schema.ts";
import { type Statements, statementsOf } from "./statements.ts";

export const isFile = (path: string): boolean =>
  (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;

/**
 * Verifies a file and writes nothing, not even beside it; at need a copy among the temporary files.
 */
export async function verifySqliteFile(path: string): Promise<VerifiedFile> {
  const damage = lostLedger(path);
  if (damage !== undefined) return { breaches: [`file: ${damage}`], notes: [], head: null };
  const { logged, value: verified } = await lookAt(path, (...args) => verifyOpened(path, ...args));
  // Closed in good order it has no log, whatever a process that was killed before has left in it.
  return logged || !hasLog(path) ? { ...verified, notes: [] } : verified;
}

export async function readSqliteFile<Value>(
  path: string,
  read: (ask: AskBackup) => Promise<Value>,
): Promise<Value> {
  const { value } = await lookAt(path, (place) =>
    withFile(place, READING, async (database, { execute }) => {
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

/**
 * Reads a file at a place.
 * @param sealed what its seal says
 * @param cut what is wrong with its log
 */
type Look<Value> = (place: string, sealed?: BrokenPages, cut?: string) => Promise<Value>;

async function lookAt<Value>(
  path: string,
  look: Look<Value>,
): Promise<{ readonly value: Value; readonly logged: boolean }> {
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

  // Where nobody else is at work SQLite would write
  // the index anew, and with it how far the log went.
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
  "this is a copy that was made while a service was at work, and no log (-wal) is beside " +
  "it: made with .backup it is whole, copied as a file it lacks the latest charges";

async function verifyOpened(
  path: string,
  place: string,
  sealed?: BrokenPages,
  cut?: string,
): Promise<VerifiedFile> {
  const hurt = cut === undefined ? [] : [cut];

  let opened = false;
  try {
    return await withFile(place, READING, (database, statements) => {
      opened = true;
      assertLedger(database, path);

      const breaches = [
        ...hurt,
        ...pageBreaches(sealed, database),
        ...verifySnapshot(database, statements),
      ];
      const open = statements.execute({ sql: "SELECT machine FROM instances", values: [] }).rows
        .length;

      return {
        breaches,
        notes: open === 0 ? [] : [COPIED],
        head: runNow(headOf(), statements.execute),
      };
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

type Opening = NonNullable<
  ConstructorParameters<typeof import("@photostructure/sqlite").DatabaseSync>[1]
>;

const READING: Opening = { readOnly: true };
const WRITING: Opening = { timeout: PATIENCE_MS, enableForeignKeyConstraints: true };

async function withFile<Value>(
  place: string,
  opening: Opening,
  work: (database: DatabaseSyncInstance, statements: Statements) => Promise<Value> | Value,
): Promise<Value> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  let database: DatabaseSyncInstance | undefined;
  try {
    database = new DatabaseSync(place, opening);
    checkSqliteVersion(database);
    return await work(database, statementsOf(database));
  } catch (error) {
    throw translateError(error);
  } finally {
    database?.close();
  }
}

function pageBreaches(
  sealed: BrokenPages | undefined,
  database: DatabaseSyncInstance | undefined,
): readonly string[] {
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
    const row = database?.prepare("SELECT name FROM dbstat WHERE pageno = ?").get(page) as
      | { name: string }
      | undefined;
    return row === undefined ? "" : `, of ${row.name},`;
  } catch {
    return "";
  }
}

/** From one snapshot: other processes go on charging meanwhile. */
export function verifySnapshot(
  database: DatabaseSyncInstance,
  statements: Statements,
): readonly string[] {
  const breaches: string[] = [];
  const look = (sql: string): readonly Row[] => statements.execute({ sql, values: [] }).rows;

  try {
    database.exec("BEGIN");
    for (const row of look("PRAGMA integrity_check")) {
      if (row.integrity_check !== "ok") breaches.push(`file: ${String(row.integrity_check)}`);
    }

    for (const row of look("PRAGMA foreign_key_check")) {
      breaches.push(
        `file: a row of ${String(row.table)} points to a missing row of ${String(row.parent)}`,
      );
    }

    breaches.push(...schemaBreaches(database));
    breaches.push(
      ...runNow(verifySums(), statements.execute),
      ...runNow(verifyChain(), statements.execute),
    );
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
  new Map(
    (database.prepare(SCHEMA).all() as { thing: string; sql: string }[]).map(({ sql, thing }) => [
      thing,
      sql,
    ]),
  );

let ownSchema: ReadonlyMap<string, string> | undefined;

/** What is to be there: made once. */
function schemaAsMade(database: DatabaseSyncInstance): ReadonlyMap<string, string> {
  if (ownSchema !== undefined) return ownSchema;

  const fresh = new (database.constructor as new (path: string) => DatabaseSyncInstance)(
    ":memory:",
  );

  try {
    makeTables(fresh, ":memory:");
    ownSchema = schemaOf(fresh);
    return ownSchema;
  } finally {
    fresh.close();
  }
}

/**
 * Tables, indices and triggers, against those of a
 * new ledger: a trigger that is gone refuses nothing.
 */
function schemaBreaches(database: DatabaseSyncInstance): readonly string[] {
  const [own, other] = [schemaAsMade(database), schemaOf(database)];
  return [...new Set([...own.keys(), ...other.keys()])].flatMap((thing) =>
    own.get(thing) === other.get(thing)
      ? []
      : [`schema: the ${thing} is not as this version makes it`],
  );
}

/*
 * SQLite takes what comes after a damaged frame of a write-ahead log for a commit that was cut. How
 * far the log went is in its index (-shm) too: formats at https://sqlite.org/walformat.html.
 */

const FRAME_HEAD = 24;
const LOG_HEAD = 32;
const INDEX_HEAD = 48;
const LITTLE = 0x377f0682;

export function logBreach(path: string): string | undefined {
  const index = firstBytes(`${path}-shm`, 2 * INDEX_HEAD);
  // Two copies: where they differ somebody is writing.
  if (index === undefined || !index.subarray(0, INDEX_HEAD).equals(index.subarray(INDEX_HEAD)))
    return undefined;

  const expected = endianness() === "LE" ? index.readUInt32LE(16) : index.readUInt32BE(16);
  const log = readFileSync(`${path}-wal`);
  const salts = index.subarray(32, 40);
  const again = firstBytes(`${path}-shm`, INDEX_HEAD)?.subarray(32, 40);
  // Begun anew meanwhile: what was read is two logs.
  if (expected === 0 || again?.equals(salts) !== true) return undefined;

  const valid = validFrames(log, salts);
  if (valid >= expected) return undefined;

  return (
    `file: the log ${path}-wal is damaged at frame ${valid + 1} of ${expected}: ` +
    "what was committed from there on is not seen (or the machine lost power: " +
    "then start the service once, it goes on with what was synced)"
  );
}

function validFrames(log: Buffer, salts: Buffer): number {
  if (log.length < LOG_HEAD || !log.subarray(16, 24).equals(salts)) return 0;

  const little = log.readUInt32BE(0) === LITTLE;
  let sums = checksum(log.subarray(0, 24), little, [0, 0]);
  if (!matches(log, 24, sums)) return 0;

  const page = log.readUInt32BE(8);
  let frames = 0;
  for (let at = LOG_HEAD; at + FRAME_HEAD + page <= log.length; at += FRAME_HEAD + page) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    sums = checksum(log.subarray(at, at + 8), little, sums);
    sums = checksum(log.subarray(at + FRAME_HEAD, at + FRAME_HEAD + page), little, sums);
    if (!matches(log, at + 16, sums)) break;
    frames += 1;
  }

  return frames;
}

type Sums = readonly [number, number];

function checksum(bytes: Buffer, little: boolean, [one, two]: Sums): Sums {
  let [first, second] = [one, two];
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + (little ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at)) + second) >>> 0;
    second =
      (second + (little ? bytes.readUInt32LE(at + 4) : bytes.readUInt32BE(at + 4)) + first) >>> 0;
  }
  return [first, second];
}

const matches = (log: Buffer, at: number, [first, second]: Sums): boolean =>
  log.readUInt32BE(at) === first && log.readUInt32BE(at + 4) === second;

function firstBytes(path: string, length: number): Buffer | undefined {
  let handle: number;
  try {
    handle = openSync(path, "r");
  } catch {
    return undefined;
  }

  try {
    const bytes = Buffer.alloc(length);
    return readSync(handle, bytes, 0, length, 0) === length ? bytes : undefined;
  } finally {
    closeSync(handle);
  }
}

/** One state of a ledger, in a file of its own, while services go on charging. @returns its head */
export async function snapshotLedger(path: string, to: string): Promise<string> {
  await assertFilesBeside(path, PATIENCE_MS);
  if (!isFile(path)) throw new NoLedgerError(path);

  // Made here, so that no moment passes in which others may read it.
  closeSync(openSync(to, "wx", 0o600));
  await withFile(path, WRITING, (database) => {
    assertLedger(database, path);
    database.prepare("VACUUM INTO ?").run(to);
  });

  return withFile(to, WRITING, (copy, { execute }) => {
    // None of the processes at work will ever answer from
    // the copy: what they hold goes back when it is opened.
    copy.exec("DELETE FROM instances");
    return runNow(headOf(), execute);
  });
}

interface Restored {
  readonly at: number;
  readonly by: string;
  readonly madeAt: string;
}

/** Writes into the audit of a restored ledger that it is one, and seals it. */
export async function noteRestored(path: string, { at, by, madeAt }: Restored): Promise<void> {
  await withFile(path, WRITING, (database, { execute }) => {
    assertLedger(database, path);
    const act = {
      actor: by,
      action: "ledger.restore",
      accountId: null,
      target: "ledger",
      detail: { made_at: madeAt },
    };

    database.exec("BEGIN IMMEDIATE");
    runNow(audit(act, at), execute);
    database.exec("COMMIT");
  });

  seal(path, statSync(path).ino);
}
