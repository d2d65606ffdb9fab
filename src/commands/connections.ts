import type { Command } from "commander";
import {
  type Config,
  type Connection,
  checkName,
  findConnection,
  readConfig,
  SAMPLE,
  writeConfig,
} from "../connections/config.ts";
import { configDir, findFolder } from "../connections/paths.ts";
import type { Context } from "../context.ts";
import { harmless } from "../contract/text.ts";
import { usageError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";

export function register(program: Command, context: Context): void {
  const connections = program
    .command("connections")
    .summary("list, use or remove connections")
    .description("List connections, say where each key lives and what the environment overrides; choose or remove one.")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount connections                           all of them, and which is used
  $ headcount connections use work                  use "work" where none is named
  $ headcount connections remove work               forget address and key
  $ headcount connections --json`,
    );
  connections
    .command("list", { isDefault: true })
    .description("list connections and where their keys live (no key is read or shown)")
    .action((_: unknown, command: Command) => list(command.optsWithGlobals<GlobalOptions>(), context));
  connections
    .command("use")
    .description("make a connection the one that is used where none is named")
    .argument("<name>", "name of the connection")
    .action((name: string, _: unknown, command: Command) =>
      use(name, command.optsWithGlobals<GlobalOptions>(), context),
    );
  connections
    .command("remove")
    .description("forget a connection: its address and its key")
    .argument("<name>", "name of the connection")
    .action((name: string, _: unknown, command: Command) =>
      remove(name, command.optsWithGlobals<GlobalOptions>(), context),
    );
}

const KEY_PLACES = { keychain: "keychain", file: "credentials file", none: "none", built_in: "built in" } as const;

interface Row {
  readonly name: string;
  readonly base_url: string | null;
  readonly key_store: keyof typeof KEY_PLACES;
  readonly default: boolean;
  readonly account_id: string | null;
}

function rowsOf(config: Config): Row[] {
  const rows = Object.entries(config.connections).map(
    ([name, { baseUrl, keyStore, accountId }]): Row => ({
      name,
      base_url: baseUrl,
      key_store: keyStore ?? "none",
      default: config.default === name,
      account_id: accountId ?? null,
    }),
  );
  const sample: Row = { name: SAMPLE, base_url: null, key_store: "built_in", default: false, account_id: null };
  return [...rows, sample];
}

async function list(options: GlobalOptions, context: Context): Promise<void> {
  const config = readConfig(findFolder("config", context));
  const rows = rowsOf(config);
  const { env } = context;
  const overrides = {
    HEADCOUNT_API_KEY: Boolean(env.HEADCOUNT_API_KEY?.trim()),
    HEADCOUNT_BASE_URL: env.HEADCOUNT_BASE_URL || null,
    HEADCOUNT_CONNECTION: env.HEADCOUNT_CONNECTION || null,
  };
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ connections: rows, environment: overrides }, undefined, 2)}\n`);
    return;
  }
  if (context.stdout.isTTY !== true) {
    for (const row of rows) {
      context.stdout.write(
        `${[row.name, row.base_url ?? "", row.key_store, row.default ? "default" : ""].join("\t")}\n`,
      );
    }
  } else await printTable(rows, options, context);
  if (options.quiet) return;
  if (overrides.HEADCOUNT_API_KEY)
    context.stderr.write("HEADCOUNT_API_KEY is set: it is used in place of every stored key\n");
  if (overrides.HEADCOUNT_BASE_URL !== null) {
    context.stderr.write("HEADCOUNT_BASE_URL is set: it is used in place of every connection's address\n");
  }
  if (overrides.HEADCOUNT_CONNECTION !== null) {
    context.stderr.write(
      `HEADCOUNT_CONNECTION is set: "${harmless(overrides.HEADCOUNT_CONNECTION)}" is used where none is named\n`,
    );
  }
}

async function printTable(rows: readonly Row[], options: GlobalOptions, context: Context): Promise<void> {
  const [{ renderTable }, { hasColor, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/table.ts"),
    import("../terminal/style.ts"),
  ]);
  const columns = [{ title: "name", fixed: true }, { title: "address" }, { title: "key" }, { title: "" }];
  const cells = rows.map((row) => [
    row.name,
    row.base_url ?? "inside headcount, on synthetic data",
    KEY_PLACES[row.key_store],
    row.default ? "default" : "",
  ]);
  const style = styleFor(hasColor(context.stdout, context.env, options.color));
  context.stdout.write(renderTable(columns, cells, { width: widthOfStream(context.stdout), style }));
}

function existing(config: Config, name: string): Connection {
  const found = findConnection(config, checkName(name));
  if (found !== undefined) return found;
  throw usageError(`there is no connection "${name}"`, "headcount connections lists them", "unknown_connection");
}

async function use(name: string, options: GlobalOptions, context: Context): Promise<void> {
  if (name === SAMPLE) {
    throw usageError(
      '"sample" is for trying things out and is always named',
      "add -c sample, or set HEADCOUNT_CONNECTION=sample in this shell",
      "reserved_name",
    );
  }
  const dir = configDir(context);
  const config = readConfig(dir);
  existing(config, name);
  await writeConfig(dir, { ...config, default: name });
  if (options.json) context.stdout.write(`${JSON.stringify({ default: name })}\n`);
  else if (!options.quiet) context.stderr.write(`"${name}" is used where no connection is named\n`);
}

async function remove(name: string, options: GlobalOptions, context: Context): Promise<void> {
  if (name === SAMPLE)
    throw usageError('"sample" is built in and cannot be removed', "headcount connections", "reserved_name");
  const dir = configDir(context);
  const config = readConfig(dir);
  const connection = existing(config, name);
  const { removeStoredKey } = await import("./logout.ts");
  const keyRemoved = await removeStoredKey(name, connection, dir, context);
  const { [name]: _, ...connections } = config.connections;
  const { default: before, ...rest } = config;
  await writeConfig(dir, {
    ...rest,
    ...(before === undefined || before === name ? {} : { default: before }),
    connections,
  });
  if (options.json) context.stdout.write(`${JSON.stringify({ removed: name, key_removed: keyRemoved })}\n`);
  else if (!options.quiet) {
    context.stderr.write(`Removed the connection "${name}"${keyRemoved ? " and its key" : ""}\n`);
    if (before === name) context.stderr.write("No connection is used by default now: headcount connections use NAME\n");
  }
}
