import { type Command, Option } from "commander";
import type { Context } from "../../context.ts";
import { CliError, EXIT, usageError } from "../../errors.ts";
import type { StoredKey } from "../../service/ledger/ledger.ts";
import { type AccountOptions, addAccountOptions, requireAccount, withStore } from "./folder.ts";

interface CreateOptions extends AccountOptions {
  readonly name: string;
  readonly mode: "live" | "test";
}

export function register(service: Command, context: Context): void {
  const keys = service
    .command("keys")
    .summary("make, list and revoke API keys")
    .description("Make, list and revoke the API keys of an account. A key is shown once, when it is made.");
  addAccountOptions(keys.command("create"))
    .summary("make a key and show it once")
    .description("Make a key. It is printed once and stored only as a SHA-256.")
    .option("--name <name>", "what the key is for", "unnamed")
    .addOption(
      new Option("--mode <mode>", "test keys see a synthetic dataset and spend simulated credits")
        .choices(["live", "test"])
        .default("live"),
    )
    .addHelpText(
      "after",
      `
Examples:
  $ headcount service keys create --name nightly
  $ headcount service keys create --mode test --json`,
    )
    .action((_: unknown, command: Command) => create(command.optsWithGlobals<CreateOptions>(), context));
  addAccountOptions(keys.command("list"))
    .summary("list the keys of an account")
    .description("List the keys of an account, revoked ones too. Secrets are not kept, so they cannot be shown.")
    .addHelpText("after", "\nExamples:\n  $ headcount service keys list\n  $ headcount service keys list --json")
    .action((_: unknown, command: Command) => list(command.optsWithGlobals<AccountOptions>(), context));
  addAccountOptions(keys.command("revoke").argument("<key-id>", "as `service keys list` shows it"))
    .summary("revoke a key, at once")
    .description("Revoke a key. Calls with it are refused from then on; it cannot be brought back.")
    .addHelpText("after", "\nExamples:\n  $ headcount service keys revoke k_0a1b2c3d4e5f")
    .action((id: string, _: unknown, command: Command) =>
      revoke(id, command.optsWithGlobals<AccountOptions>(), context),
    );
}

async function create(options: CreateOptions, context: Context): Promise<void> {
  const name = options.name.trim();
  if (name === "" || name.length > 100) throw usageError("--name takes 1 to 100 characters");
  await withStore(options, context, async (store) => {
    await requireAccount(store, options.account);
    const { createKey } = await import("../../service/data-folder.ts");
    const made = await createKey(store, { accountId: options.account, name, mode: options.mode, now: context.now });
    if (options.json) context.stdout.write(`${JSON.stringify(made)}\n`);
    else context.stdout.write(`${made.key}\n`);
    if (!options.quiet && !options.json) {
      context.stderr.write(`Key ${made.id} (${options.mode}). It is shown this once: keep it now.\n`);
    }
  });
}

async function list(options: AccountOptions, context: Context): Promise<void> {
  await withStore(options, context, async (store) => {
    await requireAccount(store, options.account);
    const keys = await store.listKeys(options.account);
    if (options.json) context.stdout.write(`${JSON.stringify(keys.map(shown), undefined, 2)}\n`);
    else for (const key of keys) context.stdout.write(`${line(key)}\n`);
  });
}

async function revoke(id: string, options: AccountOptions, context: Context): Promise<void> {
  await withStore(options, context, async (store) => {
    const known = (await store.listKeys(options.account)).some((key) => key.id === id);
    if (!known || !(await store.revokeKey(id))) {
      throw new CliError({
        code: known ? "already_revoked" : "unknown_key",
        category: "not_found",
        exitCode: EXIT.notFound,
        message: known ? `key ${id} was revoked before` : `account "${options.account}" has no key ${id}`,
        hint: "headcount service keys list",
      });
    }
    if (options.json) context.stdout.write(`${JSON.stringify({ id, revoked: true })}\n`);
    else if (!options.quiet) context.stderr.write(`Revoked ${id}.\n`);
  });
}

const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

const shown = (key: StoredKey) => ({
  id: key.id,
  name: key.name,
  mode: key.mode,
  prefix: key.prefix,
  created_at: time(key.createdAt),
  revoked_at: time(key.revokedAt),
});

const line = (key: StoredKey): string =>
  [key.id, key.mode, key.prefix, key.name, time(key.createdAt), key.revokedAt === null ? "active" : "revoked"].join(
    "\t",
  );
