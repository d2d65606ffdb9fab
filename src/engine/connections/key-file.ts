import { closeSync, fstatSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CliError, failed, shellWord } from "../../shared/errors.ts";
import { makeFolder, replaceFile } from "../../shared/folder.ts";
import { locked } from "../client/lock-file.ts";
import { LOCK_MS } from "./config.ts";

export const keyFile = (dir: string): string => join(dir, "credentials.json");

/** @throws CliError (exit 3) where others may read the file, or it cannot be understood */
export function readKeyFile(
  dir: string,
  name: string,
  platform: NodeJS.Platform,
): string | undefined {
  const keys = readAll(dir, platform);
  return Object.hasOwn(keys, name) ? keys[name] : undefined;
}

export function writeKeyFile(
  dir: string,
  name: string,
  key: string,
  platform: NodeJS.Platform,
): void {
  change(dir, platform, (keys) => ({ ...keys, [name]: key }));
}

export function removeFromKeyFile(dir: string, name: string, platform: NodeJS.Platform): boolean {
  if (readKeyFile(dir, name, platform) === undefined) return false;
  change(dir, platform, ({ [name]: _, ...rest }) => rest);
  return true;
}

type Keys = Readonly<Record<string, string>>;

/** One process after the other; a file without a key is removed. */
function change(dir: string, platform: NodeJS.Platform, edit: (keys: Keys) => Keys): void {
  const file = keyFile(dir);
  try {
    makeFolder(dir);
    const result = locked(`${file}.lock`, LOCK_MS, () => {
      const keys = edit(readAll(dir, platform));
      if (Object.keys(keys).length === 0) rmSync(file, { force: true });
      else replaceFile(file, `${JSON.stringify(keys, undefined, 2)}\n`);

      return true;
    });
    if (result === undefined) throw new Error("another headcount is changing it");
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw problem(
      `the credentials file ${file} cannot be written: ${(error as Error).message}`,
      "make its folder writable, or set HEADCOUNT_CONFIG_DIR to one that is",
      error,
    );
  }
}

function readAll(dir: string, platform: NodeJS.Platform): Keys {
  const file = keyFile(dir);
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw problem(
      `the credentials file ${file} cannot be read (${code})`,
      `make it readable for you alone: chmod 600 ${shellWord(file)}`,
      error,
    );
  }

  try {
    const { mode } = fstatSync(handle);
    if (platform !== "win32" && (mode & 0o077) !== 0) {
      throw problem(
        `the credentials file ${file} may be read by others (mode ` +
          `${(mode & 0o777).toString(8).padStart(4, "0")}); it is not used`,
        `chmod 600 ${shellWord(file)}, and replace the key if somebody may have seen it`,
      );
    }

    const parsed: unknown = JSON.parse(readFileSync(handle, "utf8"));
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
      throw new SyntaxError("no JSON object");

    return Object.fromEntries(
      Object.entries(parsed).filter(([, value]) => typeof value === "string"),
    );
  } catch (error) {
    if (error instanceof CliError) throw error;
    // The parser's message would quote the file, keys and all.
    throw problem(
      `the credentials file ${file} is broken`,
      "remove it and run headcount login again",
    );
  } finally {
    closeSync(handle);
  }
}

const problem = (message: string, hint: string, cause?: unknown): CliError =>
  failed.auth(message, hint, "credentials_file", cause);
