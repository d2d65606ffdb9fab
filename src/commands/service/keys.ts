import { type Command, Option } from "commander";
import { type Context, written } from "../../context.ts";
import { echo, harmless } from "../../contract/text.ts";
import { CliError, EXIT, systemFailure } from "../../errors.ts";
import type { StoredKey } from "../../service/ledger/ledger.ts";
import { Printer } from "../../terminal/printer.ts";
import { type AccountOptions, addAccountOptions, nameOf, placeFlags, requireAccount, withStore } from "./folder.ts";

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
    .description(
      "Make a key. It is printed once and stored only as a SHA-256; one that could not be printed is revoked at once.",
    )
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
  addAccountOptions(keys.command("list", { isDefault: true }))
    .summary("list the keys of an account")
    .description("List the keys of an account, revoked ones too. Secrets are not kept, so they cannot be shown.")
    .addHelpText("after", "\nExamples:\n  $ headcount service keys\n  $ headcount service keys list --json")
    .action((_: unknown, command: Command) => list(command.optsWithGlobals<AccountOptions>(), context));
  addAccountOptions(keys.command("revoke").argument("<key-id>", "as `service keys list` shows it"))
    .summary("revoke a key")
    .description(
      "Revoke a key; it cannot be brought back. Calls with it are refused from then on; by services on PostgreSQL within 10 seconds, or 60 where the database does not answer.",
    )
    .addHelpText("after", "\nExamples:\n  $ headcount service keys revoke k_0a1b2c3d4e5f")
    .action((id: string, _: unknown, command: Command) =>
      revoke(id, command.optsWithGlobals<AccountOptions>(), context),
    );
}

async function create(options: CreateOptions, context: Context): Promise<void> {
  const { account: accountId, mode } = options;
  const name = nameOf(options.name);
  const printer = new Printer(context, options);
  await withStore(options, context, async (store) => {
    await requireAccount(store, accountId);
    const { createKey } = await import("../../service/data-folder.ts");
    const made = await createKey(store, { accountId, name, mode, now: context.now });
    try {
      if (printer.json) printer.document(made);
      else printer.text(`${made.key}\n`);
      await written(context.stdout);
    } catch (error) {
      // Nobody has seen it, and nobody ever will.
      await store.revokeKey(made.id);
      throw systemFailure(error)?.with({ hint: `nobody saw key ${made.id}, so it was revoked; make another` }) ?? error;
    }
    if (!printer.json) printer.note(`Key ${made.id} (${mode}). It is shown this once: keep it now.`);
  });
}

async function list(options: AccountOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await withStore(options, context, async (store) => {
    await requireAccount(store, options.account);
    const keys = await store.listKeys(options.account);
    if (printer.json) printer.document(keys.map(shown));
    else printer.lines(keys.map(line));
  });
}

async function revoke(id: string, options: AccountOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await withStore(options, context, async (store) => {
    const key = (await store.listKeys(options.account)).find((each) => each.id === id);
    if (key === undefined) {
      throw new CliError({
        code: "unknown_key",
        category: "not_found",
        exitCode: EXIT.notFound,
        message: `account "${echo(options.account)}" has no key ${echo(id)}`,
        hint: `headcount service keys list${placeFlags(options)}`,
      });
    }
    const revoked = key.revokedAt === null && (await store.revokeKey(id));
    if (printer.json) printer.document({ id, revoked: true });
    else printer.note(revoked ? `Revoked ${id}.` : `Key ${id} was revoked before.`);
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

const line = (key: StoredKey): string[] => {
  const state = key.revokedAt === null ? "active" : "revoked";
  return [key.id, key.mode, key.prefix, harmless(key.name), time(key.createdAt) ?? "", state];
};
