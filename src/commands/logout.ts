import type { Command } from "commander";
import { type Connection, checkName, findConnection, readConfig, SAMPLE, writeConfig } from "../connections/config.ts";
import { configDir } from "../connections/paths.ts";
import type { Context } from "../context.ts";
import { usageError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";

export function register(program: Command, context: Context): void {
  program
    .command("logout")
    .summary("remove a connection's key")
    .description("Remove a connection's key from where login put it. The connection's address stays.")
    .argument("[name]", "name of the connection (default: the one in use)")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount logout                                the key of the default connection
  $ headcount logout work
  $ headcount connections remove work               key and address

The key itself goes on working until it is revoked at the service.`,
    )
    .action(async (name: string | undefined, _: unknown, command: Command) => {
      await run(name, command.optsWithGlobals<GlobalOptions>(), context);
    });
}

async function run(nameGiven: string | undefined, options: GlobalOptions, context: Context): Promise<void> {
  const dir = configDir(context);
  const config = readConfig(dir);
  const name = nameGiven ?? (options.connection || context.env.HEADCOUNT_CONNECTION || config.default);
  if (name === undefined) throw usageError("there is no connection to log out of", "headcount connections lists them");
  if (name === SAMPLE) throw usageError('"sample" is built in and has no key of yours', "headcount connections");
  const connection = findConnection(config, checkName(name));
  if (connection === undefined) {
    throw usageError(`there is no connection "${name}"`, "headcount connections lists them", "unknown_connection");
  }
  const removed = await removeStoredKey(name, connection, dir, context);
  const { keyStore: _, ...rest } = connection;
  await writeConfig(dir, { ...config, connections: { ...config.connections, [name]: rest } });
  if (options.json) context.stdout.write(`${JSON.stringify({ connection: name, removed })}\n`);
  else if (!options.quiet) {
    const text = removed ? `Removed the key of "${name}"` : `"${name}" had no key stored`;
    context.stderr.write(`${text}; it goes on working until it is revoked at the service\n`);
  }
  if (context.env.HEADCOUNT_API_KEY?.trim() && !options.quiet) {
    context.stderr.write("notice: HEADCOUNT_API_KEY is set and goes on being used\n");
  }
}

/**
 * Takes a connection's key out of wherever it is. @returns whether there was one
 * @throws CliError where the store cannot say: a key that may still be there is never reported as gone
 */
export async function removeStoredKey(
  name: string,
  { keyStore }: Connection,
  dir: string,
  context: Context,
): Promise<boolean> {
  if (keyStore === "keychain") {
    const { openKeychain } = await import("../connections/keychain.ts");
    return openKeychain(context).remove(name);
  }
  const { removeFromKeyFile } = await import("../connections/key-file.ts");
  return removeFromKeyFile(dir, name, context.platform);
}
