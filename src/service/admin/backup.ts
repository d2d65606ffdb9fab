import { hash } from "node:crypto";
import { constants } from "node:fs";
import {
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { FILES, markInUse, type Pointer, readPointer } from "../../dataset/layout.ts";
import { fileDigest } from "../../dataset/manifest.ts";
import { suppressionDir } from "../../dataset/suppression.ts";
import { checkVersionFiles } from "../../dataset/versions.ts";
import { ifMissing, syncFolder } from "../../shared/folder.ts";
import { noteRestored, snapshotLedger, verifySqliteFile } from "../ledger/sqlite-file.ts";
import { datasetDir } from "./datasets.ts";

/*
 * A backup is a folder: ledger.db (one state of it), dataset/ (what is served, and who is taken
 * out), and backup.json, written last, with the SHA-256 of every file. It and what is restored are
 * made in DIR.part, and renamed once whole, synced and verified.
 */

export const MANIFEST = "backup.json";
const LEDGER = "ledger.db";
const FORMAT = 1;

interface BackedFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

export interface Manifest {
  readonly format: number;
  readonly made_at: string;
  /** The end of the ledger's chain; null where the accounts are in another place. */
  readonly head: string | null;
  readonly dataset: string | null;
  readonly files: readonly BackedFile[];
}

export class BackupError extends Error {
  override readonly name = "BackupError";
  readonly breaches: readonly string[];

  constructor(message: string, breaches: readonly string[] = []) {
    super(message);
    this.breaches = breaches;
  }
}

class TakenError extends Error {
  override readonly name = "TakenError";
}

interface BackupOptions {
  readonly dir: string;
  readonly ledger: string | undefined;
  readonly to: string;
  readonly now: () => number;
}

export async function backUp({ dir, ledger, now, to }: BackupOptions): Promise<Manifest> {
  return inDraft(to, async (draft) => {
    const madeAt = new Date(now()).toISOString();
    const dataset = await copyDataset(datasetDir(dir), datasetDir(draft));
    const head = await copyLedger(ledger, draft, dataset !== undefined);
    if (head === null && dataset === undefined)
      throw new BackupError(
        `there is nothing to back up in ${dir}` +
          (ledger === undefined ? ": accounts in PostgreSQL are copied by pg_dump" : ""),
      );

    await assertSound(draft);

    const files = await hashed(draft, await filesOf(draft));
    const manifest = {
      format: FORMAT,
      made_at: madeAt,
      head,
      dataset: dataset?.version ?? null,
      files,
    };
    await writeFile(join(draft, MANIFEST), manifestText(manifest), { mode: 0o600 });

    return manifest;
  });
}

async function copyLedger(
  ledger: string | undefined,
  draft: string,
  optional: boolean,
): Promise<string | null> {
  if (ledger === undefined) return null;
  return snapshotLedger(ledger, join(draft, LEDGER)).catch((error: unknown) => {
    if (optional && error instanceof Error && error.name === "NoLedgerError") return null;
    throw error;
  });
}

export interface RestoreOptions {
  readonly from: string;
  readonly dir: string;
  readonly now: () => number;
  readonly actor: string;
}

export async function restoreBackup({ actor, dir, from, now }: RestoreOptions): Promise<Manifest> {
  const manifest = await readManifest(from);
  return inDraft(dir, async (draft) => {
    for (const { path } of manifest.files) {
      await mkdir(dirname(join(draft, path)), { recursive: true, mode: 0o700 });
      await copyFile(join(from, path), join(draft, path), constants.COPYFILE_FICLONE).catch(
        ifMissing(undefined),
      );
    }

    const [damage] = await damagesOf(manifest, draft, from);
    if (damage !== undefined) throw new BackupError(damage);

    if (manifest.head !== null) {
      await noteRestored(join(draft, LEDGER), { at: now(), by: actor, madeAt: manifest.made_at });
    }

    await assertSound(draft);
    return manifest;
  });
}

export async function readManifest(from: string): Promise<Manifest> {
  const path = join(from, MANIFEST);
  let manifest: Partial<Manifest> = {};
  let text = "";
  try {
    text = await readFile(path, "utf8");
    manifest = JSON.parse(text) as Manifest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      throw new BackupError(`${from} is no backup: it has no ${MANIFEST}`);
    if (!(error instanceof SyntaxError)) throw error;
  }

  const { files, format, made_at: madeAt } = manifest;
  if (format !== FORMAT && Number.isInteger(format)) {
    throw new BackupError(
      `${path} has format ${format}; this version of headcount reads ${FORMAT}`,
    );
  }

  const plain =
    Array.isArray(files) && files.every((file: Partial<BackedFile>) => isPlain(String(file?.path)));
  if (!plain || typeof madeAt !== "string" || manifestText(manifest as Manifest) !== text) {
    throw new BackupError(`${path} is not what a backup has written`);
  }

  return manifest as Manifest;
}

export function manifestText({ dataset, files, format, head, made_at }: Manifest): string {
  const said = { format, made_at, head, dataset, files };
  return `${JSON.stringify({ ...said, sha256: hash("sha256", JSON.stringify(said)) }, null, 2)}\n`;
}

export async function checkBackup(folder: string): Promise<readonly string[]> {
  if ((await stat(join(folder, MANIFEST)).catch(ifMissing(undefined))) === undefined) return [];
  try {
    return await damagesOf(await readManifest(folder), folder, folder);
  } catch (error) {
    if (error instanceof BackupError) return [error.message];
    throw error;
  }
}

/**
 * What of a backup in `from` is not as its manifest says, by the files in `folder`: it, or a copy.
 */
async function damagesOf(
  { files }: Manifest,
  folder: string,
  from: string,
): Promise<readonly string[]> {
  const damages: string[] = [];
  for (const { path, sha256 } of files) {
    const digest = await fileDigest(join(folder, path)).catch(ifMissing(undefined));
    if (digest === undefined) damages.push(`the backup ${from} is not whole: ${path} is missing`);
    else if (digest !== sha256)
      damages.push(`${join(from, path)} is not what was backed up: its SHA-256 is another`);
  }
  return damages;
}

/** No path of a manifest leads out of the folder. */
const isPlain = (path: string): boolean => /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/.test(path);

/**
 * Does `work` in DIR.part, syncs it, and makes it DIR.
 * What a killed process left of a draft is removed first.
 */
async function inDraft<Value>(
  target: string,
  work: (draft: string) => Promise<Value>,
): Promise<Value> {
  const { DatabaseSync } = await import("@photostructure/sqlite");
  if ((await readdir(target).catch(ifMissing<string[]>([]))).length > 0) {
    throw new TakenError(`${target} is not empty: name a folder that is missing or empty`);
  }

  const draft = `${target}.part`;
  await mkdir(draft, { recursive: true, mode: 0o700 });

  // The lock is SQLite's, so it dies with the process that held it.
  const lock = new DatabaseSync(join(draft, LOCK), { timeout: 0 });

  try {
    try {
      lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    } catch {
      throw new TakenError(`another process is writing ${draft}`);
    }

    for (const name of await readdir(draft)) {
      if (!name.startsWith(LOCK)) await rm(join(draft, name), { recursive: true });
    }

    try {
      const value = await work(draft);
      await syncAll(draft);
      await rename(draft, target).catch((error: unknown) => {
        const { code } = error as NodeJS.ErrnoException;
        if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
        throw new TakenError(`${target} was made by somebody else meanwhile`);
      });
      syncFolder(dirname(target));
      await rm(join(target, LOCK), { force: true });

      return value;
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    }
  } finally {
    lock.close();
  }
}

const LOCK = "draft.lock";

/**
 * The version that is served, under a mark that keeps it
 * from being removed, and the list of who is taken out.
 */
async function copyDataset(from: string, to: string): Promise<Pointer | undefined> {
  for (;;) {
    const pointer = await readPointer(from);
    if (pointer === undefined) return undefined;

    const source = join(from, pointer.folder);
    let mark: ReturnType<typeof markInUse>;
    try {
      mark = markInUse(source);
    } catch (error) {
      if ((await readPointer(from))?.folder !== pointer.folder) continue;
      throw error;
    }

    try {
      await copyFolder(source, join(to, pointer.folder));
      const list = suppressionDir(from);
      if ((await stat(list).catch(ifMissing(undefined))) !== undefined)
        await copyFolder(list, suppressionDir(to), false);
      await writeFile(join(to, "CURRENT"), `${JSON.stringify({ ...pointer, previous: [] })}\n`);
      return pointer;
    } finally {
      mark.release();
    }
  }
}

/**
 * @param linked whether its files never change again:
 * then they are linked where the disk is the same
 */
async function copyFolder(from: string, to: string, linked = true): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of await readdir(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    // Locks are held on the file itself: a second name of it would share them.
    if (
      linked &&
      name !== FILES.inUse &&
      (await link(source, target).then(
        () => true,
        () => false,
      ))
    )
      continue;

    await copyFile(source, target, constants.COPYFILE_FICLONE);
  }
}

async function assertSound(folder: string): Promise<void> {
  const ledger = join(folder, LEDGER);
  const hasLedger = (await stat(ledger).catch(ifMissing(undefined))) !== undefined;
  const breaches = hasLedger ? [...(await verifySqliteFile(ledger)).breaches] : [];
  breaches.push(...((await verifyVersions(datasetDir(folder))) ?? []));
  if (breaches.length > 0)
    throw new BackupError("what was copied is not sound: nothing was kept of it", breaches);
}

/** @returns null where the folder has no dataset */
export async function verifyVersions(folder: string): Promise<readonly string[] | null> {
  const hurt = await checkVersionFiles(folder);
  if (hurt === undefined) return null;

  try {
    const { openDataset } = await import("../../dataset/embedded/open.ts");
    const engine = await openDataset(folder);
    try {
      return [...hurt, ...(await engine.verify())];
    } finally {
      await engine.close();
    }
  } catch (error) {
    // What is so damaged that it cannot be opened is a breach too, and hides none of the ledger.
    if (hurt.length > 0) return hurt;
    if (error instanceof Error && error.name === "DatasetDamagedError") return [error.message];
    throw error;
  }
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith(LOCK));
  return files
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();
}

async function hashed(folder: string, paths: readonly string[]): Promise<readonly BackedFile[]> {
  const files: BackedFile[] = [];
  for (const path of paths) {
    const file = join(folder, path);
    files.push({ path, bytes: (await stat(file)).size, sha256: await fileDigest(file) });
  }
  return files;
}

async function syncAll(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.name.startsWith(LOCK)) syncFolder(join(entry.parentPath, entry.name));
  }
  syncFolder(folder);
}
