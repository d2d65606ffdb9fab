import { randomBytes } from "node:crypto";
import { readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync, type DatabaseSyncInstance } from "@photostructure/sqlite";
import { ifMissing, replaceFile, syncFolder } from "../shared/folder.ts";
import { DatasetDamagedError } from "./damaged.ts";
import { isAsWritten, writeManifest } from "./manifest.ts";

/*
 * Layout: docs/operate/import.md. `build-*` is a version that is
 * being written; the lock dies with the process that holds it.
 */

export const FILES = {
  columns: "columns.bin",
  records: "records.bin",
  meta: "meta.json",
  inUse: "in-use.db",
} as const;

/**
 * Raised when the stored form changes: a folder of another format is refused, and imported again.
 */
export const DATASET_FORMAT = 9;

export interface DatasetMeta {
  readonly format: number;
  readonly version: string;
  readonly people: number;
  readonly companies: number;
  readonly created_at: string;
  readonly source: string;
}

export interface Pointer {
  readonly version: string;
  readonly folder: string;
  /** Folders of versions that were served before and are kept to go back to, last first. */
  readonly previous: readonly string[];
}

const isFolder = (value: unknown): value is string =>
  typeof value === "string" && /^[\w.-]+$/.test(value);

export class NoDatasetError extends Error {
  override readonly name = "NoDatasetError";
}

/**
 * What CURRENT names, or undefined where there is no dataset yet.
 * @throws Error where CURRENT is not what we write
 */
export async function readPointer(datasetDir: string): Promise<Pointer | undefined> {
  const text = await readFile(join(datasetDir, "CURRENT"), "utf8").catch(
    ifMissing(undefined, "ENOTDIR"),
  );
  if (text === undefined) return undefined;

  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "version" in value && "folder" in value) {
      const { version, folder } = value;
      const previous =
        "previous" in value && Array.isArray(value.previous) ? value.previous.filter(isFolder) : [];
      if (typeof version === "string" && isFolder(folder)) return { version, folder, previous };
    }
  } catch {}

  throw new DatasetDamagedError(
    `${join(datasetDir, "CURRENT")} is not a dataset pointer; import or generate the dataset again`,
  );
}

/**
 * What is wrong where nothing says which version is
 * served; undefined where none was ever published.
 */
export async function lostPointer(datasetDir: string): Promise<string | undefined> {
  const names = await readdir(datasetDir).catch(ifMissing<string[]>([], "ENOTDIR"));
  const versions = names.filter((name) => /^v-\d/.test(name)).sort();
  if (versions.length === 0 || (await readPointer(datasetDir)) !== undefined) return undefined;
  return (
    `${join(datasetDir, "CURRENT")} is gone and ${versions.join(", ")} is there: ` +
    "nothing says what is served. Restore the folder from a backup, " +
    "or import or generate the dataset again"
  );
}

export async function currentPointer(datasetDir: string): Promise<Pointer> {
  const pointer = await readPointer(datasetDir);
  if (pointer === undefined) throw new NoDatasetError(`no dataset in ${datasetDir}`);
  return pointer;
}

export async function currentVersion(datasetDir: string) {
  const folder = join(datasetDir, (await currentPointer(datasetDir)).folder);
  return { folder, meta: await readMeta(folder) };
}

/** @throws DatasetDamagedError */
export async function readMeta(folder: string): Promise<DatasetMeta> {
  const meta = JSON.parse(await readFile(join(folder, FILES.meta), "utf8")) as DatasetMeta;
  if (meta.format !== DATASET_FORMAT) {
    const what = `the dataset in ${folder} has format ${meta.format}`;
    throw new DatasetDamagedError(
      `${what}, this version reads ${DATASET_FORMAT}; import or generate it again`,
    );
  }
  if (!(await isAsWritten(folder, FILES.meta)))
    throw new DatasetDamagedError(
      `meta.json in ${folder} is not what was written; restore it from a backup, or import again`,
    );
  return meta;
}

export const hasDataset = async (datasetDir: string): Promise<boolean> =>
  (await readPointer(datasetDir)) !== undefined &&
  currentVersion(datasetDir).then(
    () => true,
    () => false,
  );

export async function publish(
  datasetDir: string,
  draft: string,
  meta: DatasetMeta,
  keep: number,
): Promise<void> {
  await writeFile(join(draft, FILES.meta), `${JSON.stringify(meta, null, 2)}\n`, { flush: true });
  const inUse = new DatabaseSync(join(draft, FILES.inUse));
  inUse.exec("CREATE TABLE readers (note TEXT); PRAGMA journal_mode = DELETE");
  inUse.close();
  await writeManifest(draft);
  syncFolder(draft);

  // A sample of another format may have the same name.
  const isTaken =
    (await stat(join(datasetDir, `v-${meta.version}`)).catch(() => undefined)) !== undefined;
  const folder = `v-${meta.version}${isTaken ? `-${randomBytes(3).toString("hex")}` : ""}`;
  await rename(draft, join(datasetDir, folder));

  const before = await readPointer(datasetDir).catch(() => undefined);
  const previous = before === undefined ? [] : [before.folder, ...before.previous].slice(0, keep);
  await pointTo(datasetDir, { version: meta.version, folder, previous });
}

export async function pointTo(datasetDir: string, pointer: Pointer): Promise<void> {
  replaceFile(join(datasetDir, "CURRENT"), `${JSON.stringify(pointer)}\n`);
}

/**
 * A mark that a version is being read, held for as
 * long as the engine is open. Dies with the process.
 */
export function markInUse(folder: string): { release(): void } {
  const db = new DatabaseSync(join(folder, FILES.inUse), { readOnly: true });
  try {
    // An open read transaction holds SQLite's shared lock on the file.
    db.exec("BEGIN");
    db.prepare("SELECT count(*) FROM readers").get();
  } catch (error) {
    db.close();
    throw error;
  }
  return { release: () => db.close() };
}

function isUnused(folder: string): boolean {
  let db: DatabaseSyncInstance | undefined;
  try {
    db = new DatabaseSync(join(folder, FILES.inUse));
    db.exec("BEGIN EXCLUSIVE; ROLLBACK");
    return true;
  } catch {
    return false;
  } finally {
    db?.close();
  }
}

/**
 * Removes versions that nobody reads or keeps, and drafts
 * of builds that died. The caller holds the build lock.
 */
export async function removeUnused(datasetDir: string): Promise<void> {
  const current = await readPointer(datasetDir);
  for (const entry of await readdir(datasetDir, { withFileTypes: true })) {
    if (entry.name === current?.folder || current?.previous.includes(entry.name)) continue;
    const path = join(datasetDir, entry.name);
    const old = entry.isDirectory() && entry.name.startsWith("v-");
    if (entry.name.startsWith("build-") || (old && isUnused(path))) {
      // Where a file is still open on Windows this fails, and the next import tries again.
      await rm(path, { recursive: true, force: true }).catch(() => undefined);
    }
  }
}

/**
 * Waits for versions that are still read.
 * @returns the folders that are read at the end of the wait
 */
export async function purgeOldVersions(
  datasetDir: string,
  sleep: (ms: number) => Promise<void>,
  patienceMs: number,
): Promise<readonly string[]> {
  if ((await readPointer(datasetDir)) === undefined) return [];
  for (let waited = 0; ; waited += 200) {
    await withBuildLock({ datasetDir, sleep }, () => removeUnused(datasetDir));
    const current = await readPointer(datasetDir);
    const folders = (await readdir(datasetDir)).filter(
      (name) => /^(?:v|build)-/.test(name) && name !== current?.folder,
    );
    if (folders.length === 0 || waited >= patienceMs) return folders;
    await sleep(200);
  }
}

export interface Building {
  readonly datasetDir: string;
  readonly sleep: (ms: number) => Promise<void>;
  readonly signal?: AbortSignal;
}

/** Of SQLite: another connection has the lock. */
const BUSY = 5;

/** Runs `work` as the folder's only builder; waits for another. @throws the reason of `signal` */
export async function withBuildLock<Result>(
  { datasetDir, sleep, signal }: Building,
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = join(datasetDir, "lock.db");
  await writeFile(lock, "", { flag: "a", mode: 0o600 });

  const db = new DatabaseSync(lock);
  try {
    for (;;) {
      signal?.throwIfAborted();
      try {
        db.exec("BEGIN EXCLUSIVE");
        break;
      } catch (error) {
        if ((error as { readonly errcode?: number }).errcode !== BUSY) throw error;
        await sleep(100);
      }
    }

    return await work();
  } finally {
    db.close();
  }
}

export function newVersion(now: number): string {
  const [day, time] = new Date(now).toISOString().replaceAll(/[-:]/g, "").split(/[T.]/);
  return `${day}-${time}-${randomBytes(3).toString("hex")}`;
}

export const newDraftName = (): string => `build-${randomBytes(6).toString("hex")}`;
