// Tested by test/cli/output-files.test.ts.
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type CliError, shellWord, usageError } from "../../shared/errors.ts";

/**
 * What is given as the name of a file to write, as an absolute path.
 * @throws CliError exit 2 for the name of a folder, and for stdout, which is none
 */
export function pathNamed(text: string, cwd: string): string {
  const path = resolve(cwd, text);
  if (text === "-") throw notAFile(text);
  if (/[/\\]$/.test(text)) throw isFolder(path);
  return path;
}

/** @throws CliError exit 2 where something else than a file has the name */
export function requireFile(
  path: string,
  stats = existsSync(path) ? statSync(path) : undefined,
): void {
  if (stats?.isDirectory()) throw isFolder(path);
  if (stats?.isFile() === false) throw notAFile(path);
}

export const notAFile = (path: string): CliError =>
  usageError(
    `${path} is no regular file`,
    "name a file; without -o rows go to stdout, and > or | leads them on",
    "not_a_file",
  );

const isFolder = (path: string): CliError =>
  usageError(
    `${path} is a folder, not a file`,
    `name a file in it: ${shellWord(join(path, "people.csv"))}`,
    "is_folder",
  );
