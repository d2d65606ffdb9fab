// Tested by test/cli/output-files.test.ts.
import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { access, constants, lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import host from "node:process";
import { withoutSecrets } from "../../shared/contract/text.ts";
import { shellWord, usageError } from "../../shared/errors.ts";
import { ifMissing } from "../../shared/folder.ts";
import { notAFile, requireFile } from "./named.ts";
import { DUCKDB, engineOf, lockedPart } from "./tables/target.ts";

/**
 * @returns what is written: the file behind a symbolic link
 * @throws CliError exit 2 where it could not be
 */
export async function placeOf(output: string | undefined): Promise<string | undefined> {
  if (output === undefined || engineOf(output) === "postgres") return output;
  const file = await checkOutput(lockedPart(output).replace(DUCKDB, ""));
  return engineOf(output) === undefined ? file : output;
}

/** Of the 255 of a file system the rest is a draft's, which stands beside it until it is whole. */
const MOST_NAME_BYTES = 210;

const notWritable = (message: string) =>
  usageError(message, "choose another with -o", "not_writable");

/**
 * @returns the path to write: behind a symbolic link the file itself
 * @throws CliError exit 2 where it cannot be
 */
export async function checkOutput(path: string): Promise<string> {
  const folder = dirname(path);
  const parent = await stat(folder).catch(() => undefined);
  if (parent?.isDirectory() !== true) {
    const told = withoutSecrets(folder);
    const isThere = parent !== undefined;
    throw usageError(
      isThere ? `${told} is not a folder` : `the folder ${told} does not exist`,
      isThere ? undefined : `mkdir -p ${shellWord(told)}`,
      "no_folder",
    );
  }

  await access(folder, constants.W_OK | constants.X_OK).catch(() => {
    throw notWritable(`the folder ${folder} may not be written`);
  });

  if (Buffer.byteLength(basename(path)) > MOST_NAME_BYTES)
    throw notWritable(`the name ${basename(path)} is longer than ${MOST_NAME_BYTES} bytes`);

  const stats = await lstat(path).catch(ifMissing(undefined));
  if (stats === undefined) return path;
  const user = host.getuid?.() ?? 0;

  if (stats.isSymbolicLink()) {
    if (stats.uid !== user) {
      throw usageError(
        `${path} is a symbolic link of somebody else: not written through`,
        "choose another name",
        "symlink",
      );
    }

    const target = await realpath(path).catch(() => undefined);
    // A pipe behind /dev/stdout or /dev/fd/63 has no name of its own.
    if (target === undefined && (await exists(path))) throw notAFile(path);
    if (target === undefined)
      throw usageError(`${path} is a symbolic link to nothing`, "remove it", "symlink");

    return checkOutput(target);
  }

  requireFile(path, stats);

  // In such a folder nobody replaces what somebody else put there.
  const isSticky = (parent.mode & 0o1000) !== 0;
  if (isSticky && ![0, parent.uid, stats.uid].includes(user))
    throw notWritable(`${path} is somebody else's, and only he may replace it`);

  return path;
}

export const exists = async (path: string): Promise<boolean> => existsSync(path);

export async function sha256Of(path: string): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    // A pipe would be waited for.
    if (!(await stat(path)).isFile()) throw notAFile(path);
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  } catch (error) {
    return ifMissing(undefined)(error);
  }
  return hash.digest("hex");
}
