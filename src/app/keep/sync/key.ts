// Tested by test/cli/sync.test.ts.
import { configDir } from "../../../engine/connections/paths.ts";
import { type FolderKey, folderKeyOf, folderKeyText } from "../../../engine/share/seal.ts";
import type { Context } from "../../../shared/context.ts";
import {
  type CliError,
  command,
  failed,
  type OwnCommand,
  option,
  say,
} from "../../../shared/errors.ts";

const VARIABLE = "HEADCOUNT_SYNC_KEY";

/** Beside the names of connections, none of which has a colon. */
const nameOf = (folder: string): string => `sync:${folder}`;

/** @throws CliError exit 3 where a text is no key */
export function folderKeyIn(text: string, from: string): FolderKey {
  const key = folderKeyOf(text);
  if (key !== undefined) return key;
  throw failed.auth(
    `${from} is no key of a synced folder`,
    "a key begins with hcsync_ and was shown when the folder was first synced",
    "bad_sync_key",
  );
}

/** Of the environment; undefined: it has none. @throws CliError exit 3 where it is none */
export const keyOfEnvironment = ({ env }: Context): FolderKey | undefined =>
  env[VARIABLE] ? folderKeyIn(env[VARIABLE], VARIABLE) : undefined;

/** As it was kept here. @throws CliError exit 3 where there is none */
export async function keptFolderKey(
  folder: string,
  path: string,
  context: Context,
): Promise<FolderKey> {
  const { readKeyFile } = await import("../../../engine/connections/key-file.ts");
  const inFile = readKeyFile(configDir(context), nameOf(folder), context.platform);
  if (inFile !== undefined) return folderKeyIn(inFile, "the credentials file");

  const { openKeychain } = await import("../../../engine/connections/keychain.ts");
  const text = await openKeychain(context)
    .get(nameOf(folder))
    .catch((error: CliError) => {
      throw noKey(path, error);
    });
  if (text === undefined) throw noKey(path);
  return folderKeyIn(text, "the keychain");
}

const noKey = (path: string, cause?: CliError): CliError =>
  failed.auth(
    `the key of ${path} is not kept here${cause === undefined ? "" : `: ${cause.message}`}`,
    say`${command("sync", { arguments: [path], options: [option("join")] })} asks for it once;
      ${VARIABLE} gives it to a container`,
    "no_sync_key",
    cause,
  );

/**
 * As keys of connections are kept.
 * @param inFile unencrypted, where there is no keychain
 * @param toFile what is to be typed for that
 */
export async function keepFolderKey(
  folder: string,
  key: FolderKey,
  { inFile, toFile }: { readonly inFile: boolean; readonly toFile: OwnCommand },
  context: Context,
): Promise<void> {
  const { readKeyFile, writeKeyFile } = await import("../../../engine/connections/key-file.ts");
  const dir = configDir(context);
  // One that is kept there already is kept no better beside it.
  if (inFile || readKeyFile(dir, nameOf(folder), context.platform) !== undefined) {
    writeKeyFile(dir, nameOf(folder), folderKeyText(key), context.platform);
    return;
  }
  const { openKeychain } = await import("../../../engine/connections/keychain.ts");
  const otherwise = say`choose a 0600 file: ${toFile}`;
  await openKeychain({ ...context, otherwise }).set(nameOf(folder), folderKeyText(key));
}
