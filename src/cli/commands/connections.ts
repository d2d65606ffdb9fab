import {
  DEFAULT_DIALECT,
  type Dialect,
  pagingName,
  pagingOf,
} from "../../engine/client/dialect.ts";
import {
  type Connection,
  existingConnection,
  readConfig,
  SAMPLE,
  updateConfig,
  updateConnection,
} from "../../engine/connections/config.ts";
import { configDir, findFolder } from "../../engine/connections/paths.ts";
import type { Context } from "../../shared/context.ts";
import { counted, harmless, present, shownAddress } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { settingsOf } from "../arguments/settings.ts";
import { Argument, type Command, type GlobalOptions, offering, wholeNumber } from "../options.ts";
import type { Documents } from "../schemas/all.ts";
import { type ColumnOf, printList } from "../terminal/list.ts";
import { atDesk, type Desk } from "../terminal/printer.ts";
import { registerDialects } from "./dialects.ts";

export function register(program: Command, context: Context): void {
  const connections = program
    .command("connections")
    .description(
      "List connections, say where each key lives and what the environment overrides; " +
        "choose one, say how it pages, or remove it.",
    )
    .examples(`
  $ headcount connections                           all of them, and which is used
  $ headcount connections use work                  use "work" where none is named
  $ headcount connections set work paging=offset    by rows to skip (or page, page0, cursor)
  $ headcount connections set work per-page-max=50 paging=auto
  $ headcount connections remove work               forget address and key
  $ headcount connections --json`);
  const nameWord = (): Argument =>
    offering(new Argument("<name>", "name of the connection"), { kind: "connections" });

  connections
    .command("list", { isDefault: true })
    .description("list connections and where their keys live (no key is read or shown)")
    .does("reads connection", atDesk(context, list));

  connections
    .command("use")
    .description("make a connection the one that is used where none is named")
    .addArgument(nameWord())
    .does(
      `reads connection
      writes connection`,
      atDesk(context, use),
    );

  connections
    .command("set")
    .description("say how a service pages, where doctor cannot find it out")
    .addArgument(nameWord())
    .argument("<setting...>", "paging=page|page0|offset|cursor, per-page-max=N; auto: not known")
    .does(
      `reads connection
      writes connection`,
      atDesk(context, set),
    );

  connections
    .command("remove")
    .description("forget a connection: its address and its key")
    .addArgument(nameWord())
    .does(
      `reads connection
      writes connection`,
      atDesk(context, remove),
    );

  registerDialects(connections, context);
}

const KEY_PLACES = {
  keychain: "keychain",
  file: "credentials file",
  none: "none",
  built_in: "built in",
} as const;

type Row = Documents["connections list"]["connections"][number];

const rowOf = (name: string, isDefault: boolean, own?: Connection): Row => ({
  name,
  base_url: own?.baseUrl ?? null,
  key_store: own === undefined ? "built_in" : (own.keyStore ?? "none"),
  default: isDefault,
  account_id: own?.accountId ?? null,
  paging: own?.dialect === undefined ? null : pagingName(own.dialect),
  per_page_max: own?.dialect?.perPageMax ?? null,
});

const COLUMNS: readonly ColumnOf<Row>[] = [
  { name: "name" },
  {
    name: "base_url",
    title: "address",
    long: true,
    show: ({ base_url: address }) => address ?? "inside headcount, on synthetic data",
  },
  { name: "key_store", title: "key", show: ({ key_store: store }) => KEY_PLACES[store] },
  { name: "default", title: "", value: (row) => (row.default ? "default" : "") },
];

async function list({ options, printer, context }: Desk<GlobalOptions>) {
  const config = readConfig(findFolder("config", context));
  const own = Object.entries(config.connections).map(([name, each]) =>
    rowOf(name, config.default === name, each),
  );
  const rows = [...own, rowOf(SAMPLE, false)];
  const { HEADCOUNT_API_KEY, HEADCOUNT_BASE_URL, HEADCOUNT_CONNECTION } = context.env;
  const environment = {
    HEADCOUNT_API_KEY: Boolean(HEADCOUNT_API_KEY?.trim()),
    HEADCOUNT_BASE_URL: HEADCOUNT_BASE_URL ? shownAddress(HEADCOUNT_BASE_URL) : null,
    HEADCOUNT_CONNECTION: HEADCOUNT_CONNECTION || null,
  };
  if (options.json) return printer.document<"connections list">({ connections: rows, environment });

  await printList(COLUMNS, rows, printer, "none");

  const uses = {
    HEADCOUNT_API_KEY: "it is used in place of every stored key",
    HEADCOUNT_BASE_URL: "it is used in place of every connection's address",
    HEADCOUNT_CONNECTION: `"${harmless(HEADCOUNT_CONNECTION ?? "")}" is used where none is named`,
  };
  for (const [name, use] of Object.entries(uses))
    if (environment[name as keyof typeof uses]) printer.note(`${name} is set: ${use}`);
}

async function use({ options, printer, context }: Desk<GlobalOptions>, name: string) {
  if (name === SAMPLE) {
    throw usageError(
      '"sample" is for trying things out and is always named',
      "add -c sample, or set HEADCOUNT_CONNECTION=sample in this shell",
      "reserved_name",
    );
  }

  await updateConfig(configDir(context), (config) => {
    existingConnection(config, name);
    return { ...config, default: name };
  });
  if (options.json) printer.document<"connections use">({ default: name });
  else printer.note(`"${name}" is used where no connection is named`);
}

/**
 * `NAME=VALUE` words as changes of a dialect; `auto` takes what was known back.
 * @throws CliError exit 2
 */
function dialectBy(words: readonly string[]): (before: Dialect | undefined) => Dialect | undefined {
  const { paging: how, "per-page-max": most } = settingsOf("connections set", words, [
    "paging",
    "per-page-max",
  ]);
  const paging = how === undefined || how === "auto" ? how : pagingOf(how);
  const perPageMax =
    most === undefined || most === "auto" ? most : wholeNumber("per-page-max", 1, 100_000)(most);

  return (before) => {
    const { perPageMax: current, ...rest } = before ?? DEFAULT_DIALECT;
    const largest = perPageMax === "auto" ? undefined : (perPageMax ?? current);
    if (paging === "auto" && largest === undefined) return undefined;
    return {
      ...rest,
      ...(paging === "auto" ? { paging: "page", firstPage: undefined } : paging),
      ...present({ perPageMax: largest }),
    };
  };
}

async function set(
  { options, printer, context }: Desk<GlobalOptions>,
  name: string,
  words: readonly string[],
) {
  if (name === SAMPLE)
    throw usageError('"sample" is built in; nothing of it is to be set', "headcount connections");

  const change = dialectBy(words);
  const { connections } = await updateConnection(
    configDir(context),
    name,
    ({ dialect: before, ...rest }) => {
      const dialect = change(before);
      return { ...rest, ...present({ dialect }) };
    },
  );
  const dialect = connections[name]?.dialect;
  const paging = dialect === undefined ? null : pagingName(dialect);

  if (options.json)
    return printer.document<"connections set">({
      connection: name,
      paging,
      per_page_max: dialect?.perPageMax ?? null,
    });

  const largest =
    dialect?.perPageMax === undefined
      ? ""
      : `, at most ${counted(dialect.perPageMax, "profile")} a page`;

  printer.note(
    `"${name}" pages by ${paging ?? "page"}${largest}; headcount doctor -c ${name} checks it`,
  );
}

async function remove({ options, printer, context }: Desk<GlobalOptions>, name: string) {
  if (name === SAMPLE)
    throw usageError(
      '"sample" is built in and cannot be removed',
      "headcount connections",
      "reserved_name",
    );

  const dir = configDir(context);
  const keyRemoved = await removeStoredKey(
    name,
    existingConnection(readConfig(dir), name),
    dir,
    context,
  );

  let wasDefault = false;
  await updateConfig(
    dir,
    ({ default: before, connections: { [name]: _, ...connections }, ...rest }) => {
      wasDefault = before === name;
      return {
        ...rest,
        ...(before === undefined || wasDefault ? {} : { default: before }),
        connections,
      };
    },
  );
  if (options.json)
    return printer.document<"connections remove">({ removed: name, key_removed: keyRemoved });

  printer.note(`Removed the connection "${name}"${keyRemoved ? " and its key" : ""}`);
  if (wasDefault)
    printer.note("No connection is used by default now: headcount connections use NAME");
}

export function registerLogout(program: Command, context: Context): void {
  program
    .command("logout")
    .description(
      "Remove a connection's key from where login put it. The connection's address stays.",
    )
    .argument("[name]", "name of the connection (default: the one in use)")
    .examples(`
  $ headcount logout                                the key of the default connection
  $ headcount logout work
  $ headcount connections remove work               key and address

The key itself goes on working until it is revoked at the service.`)
    .does(
      `reads connection
      writes connection`,
      atDesk(context, logout),
    );
}

async function logout(
  { options, printer, context }: Desk<GlobalOptions>,
  nameGiven: string | undefined,
) {
  const dir = configDir(context);
  const config = readConfig(dir);
  const name =
    nameGiven ?? (options.connection || context.env.HEADCOUNT_CONNECTION || config.default);
  if (name === undefined)
    throw usageError("there is no connection to log out of", "headcount connections lists them");
  if (name === SAMPLE)
    throw usageError('"sample" is built in and has no key of yours', "headcount connections");

  const removed = await removeStoredKey(name, existingConnection(config, name), dir, context);
  await updateConnection(dir, name, ({ keyStore: _, ...rest }) => rest);

  if (options.json) printer.document<"logout">({ connection: name, removed });
  else if (!removed) printer.note(`"${name}" had no key stored`);
  else
    printer.note(
      `Removed the key of "${name}"; it goes on working until it is revoked at the service`,
    );

  if (context.env.HEADCOUNT_API_KEY?.trim())
    printer.note("notice: HEADCOUNT_API_KEY is set and goes on being used");
}

/**
 * Takes a connection's key out of wherever it is. @returns whether there was one @throws CliError
 * where the store cannot say: what may still be there is never reported as gone
 */
export async function removeStoredKey(
  name: string,
  { keyStore }: Connection,
  dir: string,
  context: Context,
): Promise<boolean> {
  if (keyStore === "keychain") {
    const { openKeychain } = await import("../../engine/connections/keychain.ts");
    return openKeychain(context).remove(name);
  }
  const { removeFromKeyFile } = await import("../../engine/connections/key-file.ts");
  return removeFromKeyFile(dir, name, context.platform);
}
