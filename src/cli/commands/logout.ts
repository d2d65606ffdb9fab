import {
  type Connection,
  existingConnection,
  readConfig,
  SAMPLE,
  updateConfig,
  withConnection,
} from "../../engine/connections/config.ts";
import { configDir } from "../../engine/connections/paths.ts";
import type { Context } from "../../shared/context.ts";
import { usageError } from "../../shared/errors.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { Printer } from "../terminal/printer.ts";

export function register(program: Command, context: Context): void {
  program
    .command("logout")
    .summary("remove a connection's key")
    .description("Remove a connection's key from where login put it. The connection's address stays.")
    .argument("[name]", "name of the connection (default: the one in use)")
    .examples(`
  $ headcount logout                                the key of the default connection
  $ headcount logout work
  $ headcount connections remove work               key and address

The key itself goes on working until it is revoked at the service.`)
    .does((options: GlobalOptions, name: string | undefined) => run(name, options, context));
}

async function run(nameGiven: string | undefined, options: GlobalOptions, context: Context): Promise<void> {
  const print = new Printer(context, options);
  const dir = configDir(context);
  const config = readConfig(dir);
  const name = nameGiven ?? (options.connection || context.env.HEADCOUNT_CONNECTION || config.default);
  if (name === undefined) throw usageError("there is no connection to log out of", "headcount connections lists them");
  if (name === SAMPLE) throw usageError('"sample" is built in and has no key of yours', "headcount connections");
  const removed = await removeStoredKey(name, existingConnection(config, name), dir, context);
  await updateConfig(dir, (now) => {
    const { keyStore: _, ...rest } = existingConnection(now, name);
    return withConnection(now, name, rest);
  });
  if (options.json) print.document<"logout">({ connection: name, removed });
  else if (!removed) print.note(`"${name}" had no key stored`);
  else print.note(`Removed the key of "${name}"; it goes on working until it is revoked at the service`);
  if (context.env.HEADCOUNT_API_KEY?.trim()) print.note("notice: HEADCOUNT_API_KEY is set and goes on being used");
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
    const { openKeychain } = await import("../../engine/connections/keychain.ts");
    return openKeychain(context).remove(name);
  }
  const { removeFromKeyFile } = await import("../../engine/connections/key-file.ts");
  return removeFromKeyFile(dir, name, context.platform);
}
