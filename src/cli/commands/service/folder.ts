import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join, resolve } from "node:path";
import { dataDir } from "../../../engine/connections/paths.ts";
import type { Store } from "../../../service/ledger/ledger.ts";
import type { Context } from "../../../shared/context.ts";
import { echo, harmless, present, withoutPassword } from "../../../shared/contract/text.ts";
import {
  CliError,
  type CodeOf,
  type ErrorCategory,
  failed,
  shellWord,
  usageError,
} from "../../../shared/errors.ts";
import { missingPackage } from "../../../shared/packages.ts";
import type { Command, GlobalOptions } from "../../options.ts";
import { atDesk, type Desk } from "../../terminal/printer.ts";

export type FolderOptions = GlobalOptions & { readonly data?: string; readonly store?: string };

export type AccountOptions = FolderOptions & { readonly account: string };

export const addDataOption = (command: Command): Command =>
  command.option(
    "--data <dir>",
    "data folder with the dataset and the accounts (default: the XDG data folder)",
  );

export const addFolderOptions = (command: Command): Command =>
  addDataOption(command).option(
    "--store <place>",
    "accounts elsewhere: a SQLite file or postgres://..., " +
      "the password in PGPASSWORD (default: in the data folder)",
  );

export const addAccountOptions = (command: Command): Command =>
  addFolderOptions(command).option("--account <id>", "which account", "default");

export const addMode = (command: Command): Command =>
  addAccountOptions(command).oneOf(
    "--mode <mode>",
    "live credits, or the simulated ones of test keys",
    ["live", "test"],
    "live",
  );

/**
 * The options again, for a command that is named to
 * somebody: without them it would mean another folder.
 */
export const placeFlags = ({
  data,
  store,
}: { [Place in "data" | "store"]?: string | undefined }): string =>
  [
    data === undefined ? "" : ` --data ${shellWord(data)}`,
    store === undefined ? "" : ` --store ${shellWord(label(store))}`,
  ].join("");

/** A name alone is no secret, and without it a command that is copied asks as somebody else. */
const label = (store: string): string =>
  /^[a-z]+:\/\/[^:@/]+@[^@]*$/i.test(store) ? store : withoutPassword(store);

/** What most commands of accounts touch: the ledger is sealed also after who only looked. */
export const LEDGER = `reads data
  writes data
  exits 1 8 9`;

export async function folderOf(options: FolderOptions, context: Context): Promise<string> {
  if (options.data === "") throw usageError("--data takes a folder, not an empty text");
  return options.data === undefined
    ? join(dataDir(context), "default")
    : resolve(context.cwd, options.data);
}

export interface StoreDesk<Options = AccountOptions> extends Desk<Options> {
  readonly store: Store;
}

/**
 * Opens the accounts of the options' data folder, does the work, closes
 * them. Errors become those of the command line.
 * @param begins whether accounts are made where there are none, but only beside a dataset, so that
 * a mistyped folder is not a new one
 */
export const atStore = <
  Options extends FolderOptions & { readonly account?: string },
  Args extends unknown[],
>(
  context: Context,
  work: (desk: StoreDesk<Options>, ...args: Args) => Promise<void>,
  begins = false,
) =>
  atDesk(context, async (desk: Desk<Options>, ...args: Args) => {
    const { options } = desk;
    const dir = await folderOf(options, context);

    try {
      const { openStore } = await import("../../../service/admin/data-folder.ts");
      const ledger = await ledgerOf(options, context);
      const isOwn = ledger.store === undefined && existsSync(join(dir, "dataset", "CURRENT"));
      const create = begins && isOwn;
      const store = await openStore(dir, { ...ledger, create });

      try {
        if (options.account !== undefined) await requireAccount(store, options.account, options);
        await work({ ...desk, store }, ...args);
      } finally {
        await store.close();
      }
    } catch (error) {
      throw serviceError(error, dir, options.store);
    }
  });

export function actor({ env }: Context): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    // A user without an entry in the system's list.
    return `cli:${env.USER ?? "unknown"}`;
  }
}

export const storeOf = async (
  { store }: FolderOptions,
  context: Context,
): Promise<string | undefined> =>
  store === undefined ? undefined : ledgerPlaceOf("--store", store, "a SQLite file", context);

export async function ledgerOf(options: FolderOptions, context: Context) {
  const store = await storeOf(options, context);
  return { now: context.now, actor: actor(context), ...present({ store }) };
}

/**
 * What an option names, as a URL or an absolute path.
 * @param files what it takes besides addresses
 */
export function ledgerPlaceOf(
  option: string,
  store: string,
  files: string,
  context: Context,
): string {
  if (/^postgres(ql)?:\/\//i.test(store)) {
    // An unescaped # or / ends the part with the password, and what follows would pass for a path.
    const url = URL.canParse(store) ? new URL(store) : undefined;
    const hosted = url !== undefined && (url.host !== "" || !store.includes("@"));
    if (hosted && url.hash === "" && !url.pathname.includes("@")) return store;
    throw usageError(
      `${option} cannot be read as an address: "${echo(store)}"`,
      "in a password write / as %2F, # as %23, ? as %3F, @ as %40; " +
        "or leave it out and set PGPASSWORD",
    );
  }

  // One letter and a colon begin a path on Windows.
  if (store === "" || /^[a-z][a-z0-9+.-]+:/i.test(store)) {
    throw usageError(
      `${option} takes ${files} or postgres://..., not "${echo(store)}"`,
      `for example ${option} postgres://localhost/headcount; ` +
        "a file whose name has a colon as ./NAME",
    );
  }

  return resolve(context.cwd, store);
}

type Kind = {
  readonly [Category in ErrorCategory]: readonly [
    code: CodeOf<Category>,
    category: Category,
    hint?: string,
  ];
}[ErrorCategory];

/**
 * What went wrong below, as an error of the command line.
 * Faults that nobody can act on stay what they are.
 */
export function serviceError(error: unknown, dir: string, store?: string): unknown {
  if (error instanceof CliError || !(error instanceof Error)) return error;

  const importing = `headcount service import --people FILE --data ${shellWord(dir)}`;
  const place = placeFlags({ data: dir, store });
  const make = `headcount service keys create --name NAME${place}`;
  const keyed = store === undefined ? `; so does ${make} where people were imported` : "";
  const kinds: Readonly<Record<string, Kind>> = {
    folder: ["data_folder", "filesystem", `choose another --data than ${dir}`],
    StoreUnavailableError: ["store_unavailable", "service"],
    LedgerDamagedError: [
      "ledger_damaged",
      "internal",
      "headcount service restore BACKUP --data NEW makes a data folder of the newest backup",
    ],
    StoreRefusedError: [
      "store_refused",
      "usage",
      "--store names the user, the host and a database that is there; " +
        "PGPASSWORD, or a line of ~/.pgpass, has the password",
    ],
    DatasetRefusedError: [
      "dataset_refused",
      "usage",
      "the address names the user and a database that is there; " +
        "HEADCOUNT_CLICKHOUSE_PASSWORD has the password",
    ],
    DatasetUnavailableError: [
      "dataset_unavailable",
      "service",
      "check that every server of the address runs and lets you in, then try again",
    ],
    DatasetDamagedError: ["dataset_damaged", "filesystem", `${importing} replaces it`],
    StoreConflictError: ["usage", "usage"],
    RangeError: ["usage", "usage"],
    UnknownAccountError: ["unknown_account", "not_found"],
    LedgerFormatError: ["ledger_format", "filesystem"],
    NoLedgerError: [
      "no_accounts",
      "usage",
      `name another place with --data or --store; headcount serve${place} begins one${keyed}`,
    ],
    TooManyRefusedError: [
      "too_many_refused",
      "incomplete",
      "mend the rows, or raise --max-refused",
    ],
    NoDatasetError: ["no_dataset", "usage", `${importing} makes DIR/dataset (--dataset)`],
  };

  const { name, code: refused = "" } = error as NodeJS.ErrnoException;
  const kind = kinds[/^(EACCES|EROFS|ENOTDIR|EEXIST)$/.test(refused) ? "folder" : name];
  if (kind === undefined) return missingPackage(error) ?? error;

  const [code, category, hint] = kind;
  return new CliError({ code, category, message: error.message, hint, cause: error });
}

/**
 * A name that an account, a key or a plan is given.
 * @throws CliError where it cannot be shown in a list as it is
 */
export function nameOf(text: string, what = "--name"): string {
  const name = text.trim();
  if (name === "" || name.length > 100) throw usageError(`${what} takes 1 to 100 characters`);
  if (harmless(name) === name) return name;
  throw usageError(
    `${what} takes no tabs, line breaks or control characters: "${echo(name)}"`,
    "a name is shown in lists, one line each",
  );
}

export async function requireAccount(store: Store, id: string, options: FolderOptions) {
  const account = await store.account(id);
  if (account !== undefined) return account;
  throw failed.not_found(
    `there is no account "${echo(id)}" in this data folder`,
    `headcount service accounts list${placeFlags(options)}`,
    "unknown_account",
  );
}
