import { randomBytes } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { sampleDir, sampleId, stateDir } from "../engine/connections/paths.ts";
import { libraryPath } from "../engine/library/path.ts";
import { Disk } from "../engine/runs/disk.ts";
import { acquireLock, isLocked, type Lock } from "../engine/runs/lock.ts";
import type { DataFolder } from "../service/admin/data-folder.ts";
import type { Context, Sample } from "../shared/context.ts";
import { failed } from "../shared/errors.ts";
import { ifMissing, makeFolder } from "../shared/folder.ts";
import { allowOwnSqlite, missingPackage, nativePath } from "../shared/packages.ts";

/** The real service on the sample's data folder, made once. */
export async function startSample(
  context: Context,
  notice: (text: string) => void,
): Promise<Sample> {
  const dir = sampleDir(context);

  const { now } = context;
  let folder: DataFolder | undefined;
  let release = async (): Promise<void> => undefined;
  try {
    makeFolder(dir);
    const libraries = (["live", "test"] as const).map((mode) =>
      libraryPath(stateDir(context), sampleId(dir), mode),
    );

    allowOwnSqlite(join(dir, "/"), ...libraries);
    release = await holdSample(dir, context, notice);

    const [{ ledgerFile, openDataFolder }, { isSealed }, { startService }] = await Promise.all([
      import("../service/admin/data-folder.ts"),
      import("../service/ledger/files.ts"),
      import("../service/http/server.ts"),
    ]);
    const onSample = (): void =>
      notice("making the sample dataset of 50,000 synthetic people (once)");
    const open = (): Promise<DataFolder> =>
      openDataFolder(dir, { now, onSample, staysSealed: true });

    folder = await open().catch((error: unknown) => {
      if (!(error instanceof Error && error.name === "DatasetDamagedError")) throw error;
      // Of another version, or broken: it is made again from nothing, accounts and runs stay.
      rmSync(join(dir, "dataset"), { recursive: true, force: true });
      return open();
    });

    const { engine, store, testEngine } = folder;
    const key = await sampleKey(dir, folder, context);
    // Where nothing was bought the ledger stays as it is: a free call waits for no disk.
    const within = { keepsCalls: () => !isSealed(ledgerFile(dir)) };
    const service = await startService({ engine, store, testEngine, now, within });
    const opened = folder;

    const close = async (): Promise<void> => {
      await service.close();
      await opened.close();
      await release();
    };

    return { url: service.url, connect: service.connect, key, dir, close };
  } catch (error) {
    await folder?.close();
    await release();
    throw explained(error, dir);
  }
}

let sampleLock: Promise<Lock> | undefined;
let holders = 0;

async function holdSample(
  dir: string,
  context: Context,
  notice: (text: string) => void,
): Promise<() => Promise<void>> {
  holders++;
  sampleLock ??= lockSample(dir, context, notice);

  const release = async (): Promise<void> => {
    if (--holders > 0) return;
    const lock = sampleLock;
    sampleLock = undefined;
    await (await lock)?.release();
  };

  await sampleLock.catch(async (error: unknown) => {
    await release().catch(() => undefined);
    throw error;
  });

  return release;
}

/**
 * The program's own SQLite has no locks: it is at work
 * alone. Native ones are side by side, each with its lock.
 */
async function lockSample(
  dir: string,
  { now, sleep }: Context,
  notice: (text: string) => void,
): Promise<Lock> {
  const alone = join(dir, "sample.lock");
  const onWait = (path: string): void =>
    notice(`waiting for another process that is at work on the sample (${path})`);
  const lock = (path: string): Promise<Lock> =>
    acquireLock(path, { now, sleep, wait: true, onWait: () => onWait(path), what: "the sample" });

  const ended = async (path: string): Promise<void> => {
    if (await isLocked(path)) onWait(path);
    while (await isLocked(path)) await sleep(250);
  };

  if (nativePath("@photostructure/sqlite") === undefined) {
    const own = await lock(alone);
    for (const path of await natives(dir)) await ended(path);
    return own;
  }

  for (;;) {
    await ended(alone);
    const own = await lock(join(dir, `native-${randomBytes(6).toString("hex")}.lock`));
    await natives(dir);
    if (!(await isLocked(alone))) return own;
    await own.release();
  }
}

/** @returns the locks of those at work; what others left goes */
async function natives(dir: string): Promise<string[]> {
  const names = readdirSync(dir);
  const living: string[] = [];
  for (const name of names.filter((each) => /^native-\w+\.lock$/.test(each))) {
    if (await isLocked(join(dir, name))) living.push(join(dir, name));
    else
      for (const file of names.filter((each) => each.startsWith(name)))
        rmSync(join(dir, file), { force: true });
  }
  return living;
}

/**
 * Kept in its folder, readable for its owner alone,
 * and made again where the ledger no longer knows it.
 */
async function sampleKey(
  dir: string,
  { store }: DataFolder,
  { now, sleep }: Context,
): Promise<string> {
  const [{ createKey }, { parseApiKey }] = await Promise.all([
    import("../service/admin/keys.ts"),
    import("../service/money/keys.ts"),
  ]);
  const file = join(dir, "sample.key");

  const read = async (): Promise<string | undefined> => {
    const text = (await readFile(file, "utf8").catch(ifMissing(""))).trim();
    const parsed = parseApiKey(text);
    const stored = parsed && (await store.findKey(parsed.hash));
    return stored === undefined || stored.revokedAt !== null ? undefined : text;
  };

  const before = await read();
  if (before !== undefined) return before;

  const lock = await acquireLock(join(dir, "key.lock"), {
    now,
    sleep,
    wait: true,
    what: "the sample's key",
  });

  try {
    const theirs = await read();
    if (theirs !== undefined) return theirs;
    const { key } = await createKey(store, { name: "sample", mode: "live", now });
    await new Disk().replaceFile(file, `${key}\n`, "key");
    return key;
  } finally {
    await lock.release();
  }
}

function explained(error: unknown, dir: string): unknown {
  const { code, name, message } = error as NodeJS.ErrnoException;
  const missing = missingPackage(error);
  if (missing !== undefined) {
    return missing.with({
      message: `the sample connection runs the service inside headcount: ${missing.message}`,
    });
  }

  if (name === "LedgerFormatError") {
    return failed.filesystem(
      message,
      `remove ${dir}: it holds the sample alone, which is made again`,
      "ledger_format",
      error,
    );
  }

  // Of a ledger that cannot be opened the cause says why.
  if (error instanceof Error && error.cause !== undefined && code === undefined) {
    const why = explained(error.cause, dir);
    return why === error.cause ? error : why;
  }
  if (code === undefined || !/^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR|ENOSPC|EDQUOT)$/.test(code))
    return error;

  return failed.filesystem(
    `the sample's folder ${dir} cannot be made or written: ${message}`,
    "set XDG_DATA_HOME to a folder that may be written and has 50 MB of room",
    "sample_folder",
    error,
  );
}
