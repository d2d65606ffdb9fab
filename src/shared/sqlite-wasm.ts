import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/*
 * SQLite as WebAssembly (the package wa-sqlite) in the form of the native
 * driver, for the sample where that is not installed. It has a rollback
 * journal and no locks: whoever opens a file keeps other processes away.
 */

/** The functions of SQLite that are used. Numbers are addresses in the module's memory too. */
type SqliteCall =
  | `_${"malloc" | "free"}`
  | `_sqlite3_${"open_v2" | "close" | "exec" | "errmsg" | "changes" | "get_autocommit"}`
  | "_sqlite3_prepare_v2"
  | `_sqlite3_${"step" | "reset" | "finalize" | "clear_bindings"}`
  | `_sqlite3_bind_${"null" | "double" | "int64" | "text" | "blob"}`
  | `_sqlite3_column_${"count" | "name" | "type" | "int64" | "double" | "text" | "blob" | "bytes"}`;

/** What Emscripten makes, once its code is there. */
export interface Sqlite
  extends Readonly<Record<SqliteCall, (...numbers: readonly number[]) => number>> {
  readonly HEAPU8: Uint8Array<ArrayBuffer>;
  /** The upper half of the whole number that a call gave. */
  readonly getTempRet0: () => number;
  readonly registerVFS: (files: Files, isDefault: boolean) => number;
}

interface DatabaseOptions {
  readonly readOnly?: boolean;
  readonly enableForeignKeyConstraints?: boolean;
}

/** @param check throws for a path that may not be opened, from the constructor */
export function databasesOf(sqlite: Sqlite, check: (path: string) => void) {
  const files = new Files();
  sqlite.registerVFS(files, true);
  return class DatabaseSync extends Database {
    constructor(path: string, own: DatabaseOptions = {}) {
      check(path);
      super(sqlite, path === ":memory:" ? path : files.nameOf(path), own);
    }
  };
}

const OK = 0;
const IO_ERROR = 10;
const NOT_FOUND = 12;
const FULL = 13;
const CANNOT_OPEN = 14;
const ROW = 100;
const DONE = 101;
const SHORT_READ = IO_ERROR | (2 << 8);
const OPEN = { readOnly: 1, create: 4, deleteOnClose: 8 };
const COPY = -1;

class Database {
  readonly #sqlite: Sqlite;
  readonly #statements = new Set<Statement>();
  readonly hasLog = false;
  #db = 0;
  #asksLast: Statement | undefined;

  constructor(
    sqlite: Sqlite,
    name: string,
    { readOnly = false, enableForeignKeyConstraints = true }: DatabaseOptions,
  ) {
    this.#sqlite = sqlite;
    const place = sqlite._malloc(4);
    const result = withText(sqlite, name, (at) =>
      sqlite._sqlite3_open_v2(at, place, readOnly ? 1 : 6, 0),
    );

    this.#db = new DataView(sqlite.HEAPU8.buffer).getInt32(place, true);
    sqlite._free(place);
    this.#check(result);
    if (!readOnly) this.#foldLog();
    this.exec(
      "PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = " +
        `${enableForeignKeyConstraints ? "ON" : "OFF"}`,
    );
  }

  /**
   * What a native one left in a log beside the file goes
   * into the file: a log wants memory that is shared.
   */
  #foldLog(): void {
    try {
      this.exec("SELECT 1 FROM sqlite_schema");
    } catch (error) {
      if ((error as { readonly errcode?: number }).errcode !== CANNOT_OPEN) return;
      this.exec(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; " +
          "PRAGMA locking_mode = NORMAL",
      );
    }
  }

  get isTransaction(): boolean {
    return this.#sqlite._sqlite3_get_autocommit(this.#db) === 0;
  }

  exec(sql: string): void {
    this.#check(
      withText(this.#sqlite, sql, (at) => this.#sqlite._sqlite3_exec(this.#db, at, 0, 0, 0)),
    );
  }

  prepare(
    sql: string,
    { readBigInts = false }: { readonly readBigInts?: boolean } = {},
  ): Statement {
    const sqlite = this.#sqlite;
    const place = sqlite._malloc(4);
    const result = withText(sqlite, sql, (at) =>
      sqlite._sqlite3_prepare_v2(this.#db, at, -1, place, 0),
    );
    const at = new DataView(sqlite.HEAPU8.buffer).getInt32(place, true);

    sqlite._free(place);
    this.#check(result);

    const check = (code: number): void => this.#check(code);
    const statement = new Statement(sqlite, {
      at,
      db: this.#db,
      readBigInts,
      check,
      lastRow: () => this.#lastRow(),
    });
    this.#statements.add(statement);

    return statement;
  }

  #lastRow(): unknown {
    this.#asksLast ??= this.prepare("SELECT last_insert_rowid() AS row");
    return this.#asksLast.get()?.row;
  }

  close(): void {
    for (const statement of this.#statements) statement.end();
    this.#statements.clear();
    this.#check(this.#sqlite._sqlite3_close(this.#db));
  }

  #check(result: number): void {
    if (result === OK || result === ROW || result === DONE) return;
    const message = textAt(this.#sqlite, this.#sqlite._sqlite3_errmsg(this.#db));
    throw Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode: result });
  }
}

type Cell = string | number | bigint | null | Uint8Array;

interface StatementOptions {
  readonly at: number;
  readonly db: number;
  readonly readBigInts: boolean;
  readonly check: (result: number) => void;
  readonly lastRow: () => unknown;
}

class Statement {
  readonly #sqlite: Sqlite;
  readonly #at: number;
  readonly #options: StatementOptions;
  readonly #names: readonly string[];

  constructor(sqlite: Sqlite, options: StatementOptions) {
    const { at } = options;
    this.#sqlite = sqlite;
    this.#at = at;
    this.#options = options;
    const count = sqlite._sqlite3_column_count(at);
    this.#names = Array.from({ length: count }, (_, column) =>
      textAt(sqlite, sqlite._sqlite3_column_name(at, column)),
    );
  }

  all(...values: readonly unknown[]): Record<string, Cell>[] {
    const rows: Record<string, Cell>[] = [];
    this.#run(values, () => {
      rows.push(Object.fromEntries(this.#names.map((name, column) => [name, this.#cell(column)])));
    });
    return rows;
  }

  get(...values: readonly unknown[]): Record<string, Cell> | undefined {
    return this.all(...values)[0];
  }

  *iterate(...values: readonly unknown[]): Generator<Record<string, Cell>> {
    yield* this.all(...values);
  }

  /** The native driver has it; here an option of `prepare` says it once. */
  readonly setReadBigInts = (): void => undefined;

  run(...values: readonly unknown[]): {
    readonly changes: number;
    readonly lastInsertRowid: unknown;
  } {
    this.#run(values, () => undefined);
    const { db, lastRow } = this.#options;
    const changes = this.#sqlite._sqlite3_changes(db);
    // Asked by few: it is a statement of its own.
    return {
      changes,
      get lastInsertRowid() {
        return lastRow();
      },
    };
  }

  end(): void {
    this.#sqlite._sqlite3_finalize(this.#at);
  }

  #run(values: readonly unknown[], onRow: () => void): void {
    const { check } = this.#options;
    try {
      for (const [index, value] of values.entries()) check(this.#bind(index + 1, value));
      for (;;) {
        const result = this.#sqlite._sqlite3_step(this.#at);
        check(result);
        if (result === DONE) return;
        onRow();
      }
    } finally {
      this.#sqlite._sqlite3_reset(this.#at);
      this.#sqlite._sqlite3_clear_bindings(this.#at);
    }
  }

  #bind(place: number, value: unknown): number {
    const sqlite = this.#sqlite;
    if (value === null || value === undefined) return sqlite._sqlite3_bind_null(this.#at, place);
    if (typeof value === "bigint" || Number.isSafeInteger(value)) {
      const whole = BigInt(value as bigint);
      const [low, high] = [
        Number(BigInt.asIntN(32, whole)),
        Number(BigInt.asIntN(32, whole >> 32n)),
      ];
      return sqlite._sqlite3_bind_int64(this.#at, place, low, high);
    }

    if (typeof value === "number") return sqlite._sqlite3_bind_double(this.#at, place, value);
    if (typeof value !== "string" && !(value instanceof Uint8Array))
      throw new TypeError("SQLite has no such value");

    const bytes = Buffer.from(value as string);
    const at = sqlite._malloc(bytes.length + 1);
    sqlite.HEAPU8.set(bytes, at);

    const bind = typeof value === "string" ? sqlite._sqlite3_bind_text : sqlite._sqlite3_bind_blob;
    const result = bind(this.#at, place, at, bytes.length, COPY);

    sqlite._free(at);
    return result;
  }

  #cell(column: number): Cell {
    const sqlite = this.#sqlite;
    switch (sqlite._sqlite3_column_type(this.#at, column)) {
      case 1: {
        const low = sqlite._sqlite3_column_int64(this.#at, column);
        const whole = (BigInt(sqlite.getTempRet0()) << 32n) | BigInt(low >>> 0);
        return this.#options.readBigInts ? whole : Number(whole);
      }
      case 2:
        return sqlite._sqlite3_column_double(this.#at, column);
      case 3: {
        const at = sqlite._sqlite3_column_text(this.#at, column);
        return bytesAt(sqlite, at, sqlite._sqlite3_column_bytes(this.#at, column)).toString();
      }
      case 4: {
        const at = sqlite._sqlite3_column_blob(this.#at, column);
        return Buffer.from(bytesAt(sqlite, at, sqlite._sqlite3_column_bytes(this.#at, column)));
      }
      default:
        return null;
    }
  }
}

const bytesAt = (sqlite: Sqlite, at: number, size: number): Buffer =>
  Buffer.from(sqlite.HEAPU8.buffer, at, size);

const textAt = (sqlite: Sqlite, at: number): string =>
  bytesAt(sqlite, at, sqlite.HEAPU8.indexOf(0, at) - at).toString();

function withText<Value>(sqlite: Sqlite, text: string, use: (at: number) => Value): Value {
  const bytes = Buffer.from(`${text}\0`);
  const at = sqlite._malloc(bytes.length);
  sqlite.HEAPU8.set(bytes, at);
  try {
    return use(at);
  } finally {
    sqlite._free(at);
  }
}

/** What SQLite asks of the system's files (https://sqlite.org/c3ref/io_methods.html). */
class Files {
  readonly name = "files";
  readonly #paths: string[] = [];
  readonly #open = new Map<number, number>();

  /** SQLite gets short names: the module has no room for those of more than 64 bytes. */
  nameOf(path: string): string {
    const index = this.#paths.indexOf(path);
    return `/${index < 0 ? this.#paths.push(path) - 1 : index}`;
  }

  #pathOf(name: string): string {
    return name.replace(/^\/(\d+)/, (_, place: string) => this.#paths[Number(place)] ?? "");
  }

  xOpen(name: string | null, file: number, flags: number, out: DataView): number {
    const path = name ? this.#pathOf(name) : join(tmpdir(), `headcount-${randomUUID()}`);
    const isNew = (flags & OPEN.create) !== 0 && !existsSync(path);
    return attempt(CANNOT_OPEN, () => {
      const handle = openSync(
        path,
        (flags & OPEN.readOnly) !== 0 ? "r" : isNew ? "wx+" : "r+",
        0o600,
      );
      if ((flags & OPEN.deleteOnClose) !== 0) rmSync(path, { force: true });
      this.#open.set(file, handle);
      out.setInt32(0, flags, true);
    });
  }

  xClose(file: number): number {
    const result = this.#with(file, closeSync);
    this.#open.delete(file);
    return result;
  }

  #with(file: number, work: (handle: number) => unknown): number {
    return attempt(IO_ERROR, () => work(this.#open.get(file) ?? -1));
  }

  xRead(file: number, data: Uint8Array, at: number): number {
    return this.#with(file, (handle) => {
      for (let from = 0; from < data.length; ) {
        const count = readSync(handle, data, from, data.length - from, at + from);
        if (count === 0) {
          data.fill(0, from);
          return SHORT_READ;
        }
        from += count;
      }
    });
  }

  xWrite(file: number, data: Uint8Array, at: number): number {
    return this.#with(file, (handle) => {
      for (let from = 0; from < data.length; )
        from += writeSync(handle, data, from, data.length - from, at + from);
    });
  }

  xTruncate(file: number, size: number): number {
    return this.#with(file, (handle) => ftruncateSync(handle, size));
  }

  xSync(file: number): number {
    return this.#with(file, fsyncSync);
  }

  xFileSize(file: number, out: DataView): number {
    return this.#with(file, (handle) => out.setBigInt64(0, BigInt(fstatSync(handle).size), true));
  }

  xDelete(name: string, syncFolder: number): number {
    const path = this.#pathOf(name);
    return attempt(IO_ERROR, () => {
      rmSync(path, { force: true });
      if (syncFolder === 0) return;
      const folder = openSync(dirname(path), "r");
      // Windows cannot flush folders.
      attempt(IO_ERROR, () => fsyncSync(folder));
      closeSync(folder);
    });
  }

  xAccess(name: string, _flags: number, out: DataView): number {
    out.setInt32(0, existsSync(this.#pathOf(name)) ? 1 : 0, true);
    return OK;
  }

  xCheckReservedLock(_file: number, out: DataView): number {
    out.setInt32(0, 0, true);
    return OK;
  }

  readonly xLock = (): number => OK;
  readonly xUnlock = (): number => OK;
  readonly xFileControl = (): number => NOT_FOUND;
  readonly xSectorSize = (): number => 4_096;
  readonly xDeviceCharacteristics = (): number => 0;
}

/** @returns SQLite's result code */
function attempt(failure: number, work: () => unknown): number {
  try {
    return Number(work() ?? OK);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    return code === "ENOSPC" || code === "EDQUOT" ? FULL : failure;
  }
}
