import { randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { CliError, EXIT } from "../errors.ts";

/** The file of keys that `login --insecure-storage` chooses where no keychain works. */
export const keyFile = (dir: string): string => join(dir, "credentials.json");

/**
 * The key of a connection, or undefined where the file has none.
 * @throws CliError (exit 3) where others may read the file, or where it cannot be read or understood
 */
export function readKeyFile(dir: string, name: string, platform: NodeJS.Platform): string | undefined {
  const keys = readAll(dir, platform);
  return Object.hasOwn(keys, name) ? keys[name] : undefined;
}

/** Puts a key into the file, mode 0600, whole or not at all. */
export function writeKeyFile(dir: string, name: string, key: string, platform: NodeJS.Platform): void {
  replace(dir, { ...readAll(dir, platform), [name]: key });
}

/** Takes a key out of the file. @returns whether there was one */
export function removeFromKeyFile(dir: string, name: string, platform: NodeJS.Platform): boolean {
  const { [name]: found, ...rest } = readAll(dir, platform);
  if (found === undefined) return false;
  if (Object.keys(rest).length === 0) rmSync(keyFile(dir), { force: true });
  else replace(dir, rest);
  return true;
}

function readAll(dir: string, platform: NodeJS.Platform): Readonly<Record<string, string>> {
  const file = keyFile(dir);
  let handle: number;
  try {
    handle = openSync(file, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return {};
    throw problem(
      `the credentials file ${file} cannot be read (${code})`,
      `make it readable for you alone: chmod 600 '${file}'`,
      error,
    );
  }
  try {
    // Windows has no such bits; there the profile folder's own rights hold.
    const { mode } = fstatSync(handle);
    if (platform !== "win32" && (mode & 0o077) !== 0) {
      throw problem(
        `the credentials file ${file} may be read by others (mode ${(mode & 0o777).toString(8).padStart(4, "0")}); it is not used`,
        `chmod 600 '${file}', and replace the key if somebody may have seen it`,
      );
    }
    const parsed: unknown = JSON.parse(readFileSync(handle, "utf8"));
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new SyntaxError("no JSON object");
    return Object.fromEntries(Object.entries(parsed).filter(([, value]) => typeof value === "string"));
  } catch (error) {
    if (error instanceof CliError) throw error;
    // The parser's message would quote the file, keys and all.
    throw problem(`the credentials file ${file} is broken`, "remove it and run headcount login again");
  } finally {
    closeSync(handle);
  }
}

function replace(dir: string, keys: Readonly<Record<string, string>>): void {
  const file = keyFile(dir);
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const handle = openSync(temporary, "wx", 0o600);
    try {
      writeSync(handle, `${JSON.stringify(keys, undefined, 2)}\n`);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(temporary, file);
  } catch (error) {
    removeQuietly(temporary);
    throw problem(
      `the credentials file ${file} cannot be written: ${(error as Error).message}`,
      "make its folder writable, or set HEADCOUNT_CONFIG_DIR to one that is",
      error,
    );
  }
}

/** Best effort: whatever stopped the write is what gets reported. */
function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // Nothing was there: its folder is no folder.
  }
}

const problem = (message: string, hint: string, cause?: unknown): CliError =>
  new CliError({
    code: "credentials_file",
    category: "auth",
    exitCode: EXIT.auth,
    message,
    hint,
    ...(cause === undefined ? {} : { cause }),
  });
