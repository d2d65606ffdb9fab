// Tested by test/cli/output-files.test.ts.
import { createHash } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { access, constants, lstat, realpath, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import host from "node:process";
import { withoutSecrets } from "../../shared/contract/text.ts";
import { type CliError, shellWord, usageError } from "../../shared/errors.ts";
import { ifMissing } from "../../shared/folder.ts";
import { engineOf } from "./tables/target.ts";

/**
 * @returns what is written: the file behind a symbolic link
 * @throws CliError exit 2 where it could not be
 */
export const placeOf = async (output: string | undefined): Promise<string | undefined> =>
  output === undefined || engineOf(output) !== undefined ? output : checkOutput(output);

/**
 * @returns the path to write: behind a symbolic link the file itself
 * @throws CliError exit 2 where it cannot be
 */
export async function checkOutput(path: string): Promise<string> {
  const folder = dirname(path);
  const parent = await stat(folder).catch(() => undefined);
  if (parent === undefined) {
    const told = withoutSecrets(folder);
    throw usageError(
      `the folder ${told} does not exist`,
      `mkdir -p ${shellWord(told)}`,
      "no_folder",
    );
  }
  if (!parent.isDirectory()) throw usageError(`${folder} is not a folder`, undefined, "no_folder");

  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch {
    throw usageError(
      `the folder ${folder} may not be written`,
      "choose another with -o",
      "not_writable",
    );
  }

  const stats = await lstat(path).catch(ifMissing(undefined));
  if (stats === undefined) return path;

  if (stats.isSymbolicLink()) {
    if (host.getuid !== undefined && stats.uid !== host.getuid()) {
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
  return path;
}

/** @throws CliError exit 2 where something else than a file has the name */
export function requireFile(path: string, stats = statSync(path, { throwIfNoEntry: false })): void {
  if (stats?.isDirectory())
    throw usageError(
      `${path} is a folder, not a file`,
      `-o ${shellWord(join(path, "people.csv"))}`,
      "is_folder",
    );
  if (stats?.isFile() === false) throw notAFile(path);
}

const notAFile = (path: string): CliError =>
  usageError(
    `${path} is no regular file`,
    "name a file; without -o rows go to stdout, and > or | leads them on",
    "not_a_file",
  );

export const exists = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => undefined)) !== undefined;

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
