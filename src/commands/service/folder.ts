import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join, resolve } from "node:path";
import { dataDir } from "../../connections/paths.ts";
import type { Context } from "../../context.ts";
import { echo, harmless, whole, withoutPassword } from "../../contract/text.ts";
import { CliError, EXIT, usageError } from "../../errors.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import type { Store } from "../../service/ledger/ledger.ts";

/** Options of every command that works on a data folder. */
export interface FolderOptions extends GlobalOptions {
  readonly data?: string;
  readonly store?: string;
}

export interface AccountOptions extends FolderOptions {
  readonly account: string;
}

export const addFolderOptions = (command: Command): Command =>
  command
    .option("--data <dir>", "data folder with the dataset and the accounts (default: the XDG data folder)")
    .option(
      "--store <place>",
      "accounts elsewhere: a SQLite file or postgres://..., the password in PGPASSWORD (default: in the data folder)",
    );

export const addAccountOptions = (command: Command): Command =>
  addFolderOptions(command).option("--account <id>", "which account", "default");

/** The options again, for a command that is named to somebody: without them it would mean another folder. */
export const placeFlags = ({ data, store }: FolderOptions): string =>
  `${data === undefined ? "" : ` --data '${data}'`}${store === undefined ? "" : ` --store '${withoutPassword(store)}'`}`;

/** The data folder that the options name. @throws CliError where there is no home to find the default in */
export async function folderOf(options: FolderOptions, context: Context): Promise<string> {
  if (options.data === "") throw usageError("--data takes a folder, not an empty text");
  return options.data === undefined ? join(dataDir(context), "default") : resolve(context.cwd, options.data);
}

/**
 * Opens the accounts of the options' data folder, does the work, and closes them. Only in a folder with a dataset are accounts
 * made, so that a mistyped folder is not a new one. Errors become those of the command line.
 */
export async function withStore<Result>(
  options: FolderOptions,
  context: Context,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const dir = await folderOf(options, context);
  try {
    const { datasetDir, openStore } = await import("../../service/data-folder.ts");
    const place = await storeOf(options, context);
    const create = place === undefined && existsSync(join(datasetDir(dir), "CURRENT"));
    const shared = { now: context.now, create, actor: actor(context) };
    const store = await openStore(dir, { ...shared, ...(place === undefined ? {} : { store: place }) });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw serviceError(error, dir);
  }
}

/** Who runs this, for the audit. */
function actor({ env }: Context): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A user without an entry in the system's list.
    return `cli:${env.USER ?? "unknown"}`;
  }
}

/** `--store` as a URL or an absolute path. */
export async function storeOf(options: FolderOptions, context: Context): Promise<string | undefined> {
  const { store } = options;
  if (store === undefined) return undefined;
  if (/^postgres(ql)?:\/\//i.test(store)) {
    // An unescaped # or / ends the part with the password, and what follows would pass for a path.
    const url = URL.canParse(store) ? new URL(store) : undefined;
    const hosted = url !== undefined && (url.host !== "" || !store.includes("@"));
    if (hosted && url.hash === "" && !url.pathname.includes("@")) return store;
    throw usageError(
      `--store cannot be read as an address: "${echo(withoutPassword(store))}"`,
      "in a password write / as %2F, # as %23, ? as %3F, @ as %40; or leave it out and set PGPASSWORD",
    );
  }
  // One letter and a colon begin a path on Windows.
  if (store === "" || /^[a-z][a-z0-9+.-]+:/i.test(store)) {
    throw usageError(
      `--store takes a SQLite file or postgres://..., not "${echo(withoutPassword(store))}"`,
      "for example --store postgres://localhost/headcount; a file whose name has a colon as ./NAME",
    );
  }
  return resolve(context.cwd, store);
}

/** A whole number of an option. @throws CliError where it is none or out of bounds */
export function wholeNumber(flag: string, text: string, min: number, max: number): number {
  const value = whole(text, min, max);
  if (value !== undefined) return value;
  throw usageError(`${flag} takes a whole number from ${min} to ${max}, not "${text}"`);
}

/** What went wrong below, as an error of the command line. Faults that nobody can act on stay what they are. */
export function serviceError(error: unknown, dir: string): unknown {
  if (error instanceof CliError || !(error instanceof Error)) return error;
  const { code, remedy } = error as NodeJS.ErrnoException & { readonly remedy?: string };
  const failure = (init: Pick<CliError, "code" | "category" | "exitCode"> & { readonly hint?: string }): CliError =>
    new CliError({ ...init, message: error.message, cause: error });
  if (error.name === "MissingPackageError" || code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") {
    const name = /package '?([^' ,]+)'?/.exec(error.message)?.[1] ?? "one of its packages";
    return new CliError({
      code: "service_not_installed",
      category: "usage",
      exitCode: EXIT.usage,
      message: `the service needs ${name}, which is not installed; the client works without it`,
      hint: remedy ?? "npm install -g headcount --include=optional",
      cause: error,
    });
  }
  switch (error.name) {
    case "StoreUnavailableError":
      return failure({ code: "store_unavailable", category: "service", exitCode: EXIT.service });
    case "DatasetUnavailableError":
      return failure({
        code: "dataset_unavailable",
        category: "service",
        exitCode: EXIT.service,
        hint: "check that every server of the address runs and lets you in, then try again",
      });
    case "DatasetDamagedError":
      return failure({
        code: "dataset_damaged",
        category: "filesystem",
        exitCode: EXIT.usage,
        hint: `headcount service import --people FILE --data ${dir} replaces it`,
      });
    case "StoreConflictError":
    case "RangeError":
      return failure({ code: "usage", category: "usage", exitCode: EXIT.usage });
    case "UnknownAccountError":
      return failure({ code: "unknown_account", category: "not_found", exitCode: EXIT.notFound });
    case "LedgerFormatError":
      return failure({ code: "ledger_format", category: "filesystem", exitCode: EXIT.usage });
    case "NoLedgerError":
      return failure({
        code: "no_accounts",
        category: "usage",
        exitCode: EXIT.usage,
        hint: `name another place with --data or --store; headcount service import --people FILE --data '${dir}' or headcount serve --data '${dir}' begins one`,
      });
    case "NoDatasetError":
      return failure({
        code: "no_dataset",
        category: "usage",
        exitCode: EXIT.usage,
        hint: `headcount service import --people FILE --data ${dir}`,
      });
  }
  if (code === "EACCES" || code === "EROFS" || code === "ENOTDIR" || code === "EEXIST") {
    return failure({
      code: "data_folder",
      category: "filesystem",
      exitCode: EXIT.usage,
      hint: `choose another --data than ${dir}`,
    });
  }
  return error;
}

/** A name that an account, a key or a plan is given. @throws CliError where it cannot be shown in a list as it is */
export function nameOf(text: string): string {
  const name = text.trim();
  if (name === "" || name.length > 100) throw usageError("--name takes 1 to 100 characters");
  if (harmless(name) === name) return name;
  throw usageError(
    `--name takes no tabs, line breaks or control characters: "${echo(name)}"`,
    "a name is shown in lists, one line each",
  );
}

/** The account, or the error that names it. */
export async function requireAccount(store: Store, id: string, options: FolderOptions) {
  const account = await store.account(id);
  if (account !== undefined) return account;
  throw new CliError({
    code: "unknown_account",
    category: "not_found",
    exitCode: EXIT.notFound,
    message: `there is no account "${echo(id)}" in this data folder`,
    hint: `headcount service accounts list${placeFlags(options)}`,
  });
}
