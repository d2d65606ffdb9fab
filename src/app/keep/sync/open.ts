// Tested by test/cli/sync.test.ts.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { stateDir } from "../../../engine/connections/paths.ts";
import { errorCode } from "../../../engine/runs/disk.ts";
import { machineOf } from "../../../engine/runs/machine.ts";
import {
  type FolderHead,
  newFolderHead,
  readFolderHead,
  SharedFolder,
} from "../../../engine/share/folder.ts";
import { type FolderKey, folderKeyText, newFolderKey } from "../../../engine/share/seal.ts";
import type { Context } from "../../../shared/context.ts";
import { command, option, usageError } from "../../../shared/errors.ts";
import { diskOf } from "../store.ts";
import { folderKeyIn, keepFolderKey, keptFolderKey, keyOfEnvironment } from "./key.ts";

interface Opening {
  /** Asks for the key that was shown; undefined: the kept one, or that of the environment. */
  readonly join?: (() => Promise<string>) | undefined;
  /** Whether a key is kept in a file, unencrypted. */
  readonly inFile: boolean;
  /** Whether an empty folder is begun. */
  readonly mayBegin: boolean;
}

interface Opened {
  readonly head: FolderHead;
  readonly key: FolderKey;
  /** The key of a folder that was begun: it is shown this once. */
  readonly made: string | undefined;
}

/** @throws CliError exit 2 for a folder that cannot be synced with, exit 3 without its key */
export async function openFolder(
  path: string,
  { join, inFile, mayBegin }: Opening,
  context: Context,
): Promise<Opened> {
  const head = await readFolderHead(path);
  await requireNoHistory(path, context);
  const given = keyOfEnvironment(context);
  if (head === undefined) {
    // A share that is not mounted is an empty folder, and whoever has a key means no new one.
    if (mayBegin && given === undefined && join === undefined)
      return await begun(path, inFile, context);
    throw usageError(
      `${path} is empty: nobody has synced with it, or it is not mounted`,
      "mount it; the first sync of an empty folder is one by hand and without a key",
      "no_synced_folder",
    );
  }

  if (join === undefined) {
    const key = given ?? (await keptFolderKey(head.id, path, context));
    return { head, key, made: undefined };
  }

  const key = folderKeyIn(await join(), "what was given");
  SharedFolder.open(path, head, key, partsOf(context));
  const typed = [option("join"), option("insecure_storage")];
  const toFile = command("sync", { arguments: [path], options: typed });
  await keepFolderKey(head.id, key, { inFile, toFile }, context);
  return { head, key, made: undefined };
}

/**
 * A history keeps whoever is forgotten. Without git nothing is put into one.
 * @throws CliError exit 2 in a work tree of git that does not ignore it
 */
async function requireNoHistory(path: string, { env }: Context): Promise<void> {
  const words = ["-C", path, "check-ignore", "--quiet", join(path, "runs", "any")];
  const answer = await promisify(execFile)("git", words, { env }).catch((error: unknown) => error);
  // 0: ignored. 1: not ignored. 128: no work tree.
  if ((answer as { readonly code?: unknown }).code !== 1) return;
  throw usageError(
    `${path} is in a work tree of git, whose history would keep whoever is forgotten`,
    "name a folder outside of it, or have git ignore this one: its name in .gitignore",
    "sync_in_history",
  );
}

/**
 * Under a new key: whoever has the old one can open nothing that stays.
 * @param inFile as {@link openFolder} has it
 * @param show gets the new key before anything is sealed with it
 */
export async function rekey(
  path: string,
  { head, key }: Pick<Opened, "head" | "key">,
  { inFile, show }: { readonly inFile: boolean; readonly show: (key: string) => void },
  context: Context,
): Promise<void> {
  const made = newFolderKey();
  show(folderKeyText(made));
  await SharedFolder.open(path, head, key, partsOf(context)).rekey(made);
  if (keyOfEnvironment(context) !== undefined) return;
  const toFile = command("sync", {
    arguments: [path],
    options: [option("join"), option("insecure_storage")],
  });
  await keepFolderKey(head.id, made, { inFile, toFile }, context);
}

const partsOf = (context: Context) => ({
  disk: diskOf(context),
  machine: machineOf(stateDir(context)).id,
});

/** The key is kept before anything is sealed with it. */
async function begun(path: string, inFile: boolean, context: Context): Promise<Opened> {
  const key = newFolderKey();
  const head = newFolderHead(key);
  const toFile = command("sync", { arguments: [path], options: [option("insecure_storage")] });
  await keepFolderKey(head.id, key, { inFile, toFile }, context);

  await SharedFolder.begin(path, head, key, partsOf(context)).catch((error: unknown) => {
    if (errorCode(error) !== "EEXIST") throw error;
    throw usageError(
      `another machine has just begun ${path}`,
      "ask for its key, and join with that",
      "sync_begun",
    );
  });
  return { head, key, made: folderKeyText(key) };
}
