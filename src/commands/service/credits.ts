import { type Command, Option } from "commander";
import type { Context } from "../../context.ts";
import { creditsToNumber, formatCredits, formatCreditsGrouped, parseCredits } from "../../contract/money.ts";
import { usageError } from "../../errors.ts";
import type { Balance } from "../../service/ledger/ledger.ts";
import { type AccountOptions, addAccountOptions, requireAccount, withStore } from "./folder.ts";

interface CreditsOptions extends AccountOptions {
  readonly mode: "live" | "test";
}

const modeOption = () =>
  new Option("--mode <mode>", "live credits, or the simulated ones of test keys")
    .choices(["live", "test"])
    .default("live");

export function register(service: Command, context: Context): void {
  const credits = service
    .command("credits")
    .summary("add credits to an account, or show them")
    .description("Add credits to an account, or show what it has.");
  addAccountOptions(credits.command("add").argument("<amount>", "credits, with up to six decimals"))
    .summary("add credits")
    .description("Add credits to the balance of an account.")
    .addOption(modeOption())
    .addHelpText(
      "after",
      "\nExamples:\n  $ headcount service credits add 10000\n  $ headcount service credits add 250.5 --account default --json",
    )
    .action((text: string, _: unknown, command: Command) =>
      add(text, command.optsWithGlobals<CreditsOptions>(), context),
    );
  addAccountOptions(credits.command("show"))
    .summary("show the balance")
    .description("Show the balance of an account, what calls in flight hold of it, and what was used today (UTC).")
    .addOption(modeOption())
    .addHelpText("after", "\nExamples:\n  $ headcount service credits show\n  $ headcount service credits show --json")
    .action((_: unknown, command: Command) => show(command.optsWithGlobals<CreditsOptions>(), context));
}

async function add(text: string, options: CreditsOptions, context: Context): Promise<void> {
  const amount = parseCredits(text);
  if (amount === undefined || amount <= 0n) {
    throw usageError(
      `credits add takes an amount above 0 with at most six decimals, not "${text}"`,
      "for example 250.5",
    );
  }
  await withStore(options, context, async (store) => {
    await requireAccount(store, options.account);
    const balance = await store.grant(options.account, options.mode, amount, "added by service credits add");
    if (!options.quiet && !options.json) context.stderr.write(`Added ${formatCreditsGrouped(amount)} credits.\n`);
    print(balance, options, context);
  });
}

async function show(options: CreditsOptions, context: Context): Promise<void> {
  await withStore(options, context, async (store) => {
    await requireAccount(store, options.account);
    print(await store.balance(options.account, options.mode), options, context);
  });
}

function print(money: Balance, options: CreditsOptions, context: Context): void {
  if (options.json) {
    const document = {
      account: options.account,
      mode: options.mode,
      balance: creditsToNumber(money.balance),
      held: creditsToNumber(money.held),
      used_today: creditsToNumber(money.usedToday),
    };
    context.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const { balance, held, usedToday } = money;
  context.stdout.write(
    `balance\t${formatCredits(balance)}\nheld\t${formatCredits(held)}\nused today\t${formatCredits(usedToday)}\n`,
  );
}
