import type { Command } from "commander";
import type { Context } from "../../context.ts";
import { whole } from "../../contract/text.ts";
import { CliError, EXIT, usageError } from "../../errors.ts";
import type { GlobalOptions } from "../../options.ts";
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
    .option("--store <place>", "accounts elsewhere: a SQLite file or postgres://... (default: in the data folder)");

export const addAccountOptions = (command: Command): Command =>
  addFolderOptions(command).option("--account <id>", "which account", "default");

/** The data folder that the options name. @throws CliError where there is no home to find the default in */
export async function folderOf(options: FolderOptions, context: Context): Promise<string> {
  const [{ dataDir }, { join, resolve }] = await Promise.all([
    import("../../connections/paths.ts"),
    import("node:path"),
  ]);
  if (options.data === "") throw usageError("--data takes a folder, not an empty text");
  return options.data === undefined ? join(dataDir(context), "default") : resolve(context.cwd, options.data);
}

/** Opens the accounts of the options' data folder, does the work, and closes them. Errors become those of the command line. */
export async function withStore<Result>(
  options: FolderOptions,
  context: Context,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const dir = await folderOf(options, context);
  try {
    const { openStore } = await import("../../service/data-folder.ts");
    const place = await storeOf(options, context);
    const store = await openStore(dir, { now: context.now, ...(place === undefined ? {} : { store: place }) });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw serviceError(error, dir);
  }
}

/** `--store` as a URL or an absolute path. */
export async function storeOf(options: FolderOptions, context: Context): Promise<string | undefined> {
  const { store } = options;
  if (store === undefined) return undefined;
  if (/^postgres(ql)?:\/\//i.test(store)) return store;
  if (store === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(store)) {
    throw usageError(
      `--store takes a SQLite file or postgres://..., not "${store.replace(/\/\/[^/]*@/, "//")}"`,
      "for example --store postgres://localhost/headcount",
    );
  }
  const { resolve } = await import("node:path");
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
    case "StoreConflictError":
    case "RangeError":
      return failure({ code: "usage", category: "usage", exitCode: EXIT.usage });
    case "UnknownAccountError":
      return failure({ code: "unknown_account", category: "not_found", exitCode: EXIT.notFound });
    case "NoDatasetError":
      return failure({
        code: "no_dataset",
        category: "usage",
        exitCode: EXIT.usage,
        hint: `headcount service import --people FILE --data ${dir}`,
      });
  }
  if (code === "EACCES" || code === "EROFS" || code === "ENOTDIR" || code === "EEXIST" || code === "ENOSPC") {
    return failure({
      code: "data_folder",
      category: "filesystem",
      exitCode: EXIT.usage,
      hint: `choose another --data than ${dir}`,
    });
  }
  return error;
}

/** The account, or the error that names it. */
export async function requireAccount(store: Store, id: string) {
  const account = await store.account(id);
  if (account !== undefined) return account;
  throw new CliError({
    code: "unknown_account",
    category: "not_found",
    exitCode: EXIT.notFound,
    message: `there is no account "${id}" in this data folder`,
    hint: 'every data folder has the account "default"',
  });
}
