import { createRequire } from "node:module";
import { resolve } from "node:path";
import { execPath } from "node:process";
import { fileURLToPath } from "node:url";
import { type CliError, failed, shellWord } from "./errors.ts";
import { packageRoot, packageVersion } from "./paths.ts";

/**
 * What cannot be part of one bundle: the package
 * headcount-service brings them (docs/contributing/dependencies.md).
 */
export const NATIVES: readonly string[] = ["@duckdb/node-api", "@photostructure/sqlite"];

/**
 * Where a package stands: in the own tree, or in that of headcount-service.
 * @throws Error as `require.resolve`
 */
export function packagePath(name: string): string {
  const resolver = createRequire(import.meta.url);
  try {
    return resolver.resolve(name);
  } catch (error) {
    try {
      return createRequire(resolver.resolve("headcount-service/package.json")).resolve(name);
    } catch {
      throw error;
    }
  }
}

/** @returns undefined where it is missing */
export function nativePath(name: string): string | undefined {
  try {
    return packagePath(name);
  } catch {
    return undefined;
  }
}

let own: readonly string[] = [];

/**
 * From here on SQLite may be the one of the program itself
 * (sqlite-wasm.ts) for files that begin so, and no others.
 */
export function allowOwnSqlite(...beginnings: readonly string[]): void {
  own = beginnings;
}

/** @param path default: any */
export const mayBeOwnSqlite = (path?: string): boolean =>
  own.some((beginning) => path === undefined || path.startsWith(beginning));

/**
 * What brings a package, for `npm`: our own ones stand in no registry, where anybody could take
 * their names, so they are files of a release (docs/contributing/dependencies.md, "What is
 * published").
 */
const tarball = (name: string): string => `${name}-${packageVersion()}.tgz`;

/**
 * The command that brings a package: npx, a project and a global install look for it in other
 * places. Where it names tarballs it is called in their folder.
 */
function installCommand(name: string, root: string): string {
  const what = NATIVES.includes(name) ? tarball("headcount-service") : name;
  // Of npm's global folder, and of a Debian package.
  const prefix = /^(.*)[\\/]lib[\\/](?:node_modules[\\/])?headcount[\\/]$/.exec(root)?.[1];
  if (prefix !== undefined) {
    const own = prefix === resolve(execPath, "../..");
    return `npm install -g ${own ? "" : `--prefix ${shellWord(prefix)} `}${what}`;
  }
  if (/[\\/]_npx[\\/]/.test(root))
    return `npx -p ./${tarball("headcount")} -p ${what} headcount doctor`;
  if (/[\\/]npm[\\/]node_modules[\\/]headcount[\\/]$/.test(root)) return `npm install -g ${what}`;
  if (/[\\/]node_modules[\\/]headcount[\\/]$/.test(root)) return `npm install ${what}`;

  return `npm install --prefix ${shellWord(root)}`;
}

/**
 * How a missing package is brought, in words; behind the colon stands the command alone.
 * @param root the folder of the installed package, with a slash
 */
export function toInstall(name: string, root = fileURLToPath(packageRoot())): string {
  const command = installCommand(name, root);
  const where = command.endsWith(".tgz") ? " in the folder of the release" : "";
  return `install what it needs${where}: ${command}`;
}

/**
 * A package that may be left out, and was (README, "Installation"):
 * exit 2, with the command that installs it; else undefined. It says
 * so in two ways: to `import`, and to a `require` further down.
 */
export function missingPackage(error: unknown): CliError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND") return undefined;

  // A file of our own that is not found is a bug, and stays one.
  const missing = /(?:package|module) '?([^' ,./][^' ,]*)'?/.exec(message)?.[1];
  if (missing === undefined) return undefined;

  return failed.usage(
    `this needs the optional package ${missing}, which is not installed; ` +
      "searches and runs work without it",
    toInstall(missing),
    "missing_package",
    error,
  );
}

/** Before anything is bought. @throws CliError (exit 2) that names the missing one */
export async function optional<Package>(
  name: string,
  what: string,
  loading: Promise<Package>,
  instead: string,
): Promise<Package> {
  try {
    return await loading;
  } catch (cause) {
    throw failed.usage(
      `${what} needs the optional package ${name}, which cannot be loaded: ${firstLine(cause)}`,
      `${instead}, or ${toInstall(name)}`,
      "missing_package",
      cause,
    );
  }
}

const firstLine = (error: unknown): string =>
  error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : "";
