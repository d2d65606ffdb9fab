import { type Command, Option } from "commander";
import type { Context } from "../../context.ts";
import { creditsToNumber, formatCredits, formatCreditsGrouped, parseCredits } from "../../contract/money.ts";
import { echo } from "../../contract/text.ts";
import { usageError } from "../../errors.ts";
import type { Balance } from "../../service/ledger/ledger.ts";
import { Printer } from "../../terminal/printer.ts";
import { type AccountOptions, addAccountOptions, requireAccount, withStore } from "./folder.ts";

interface CreditsOptions extends AccountOptions {
  readonly mode: "live" | "test";
}

const addOptions = (command: Command): Command =>
  addAccountOptions(command).addOption(
    new Option("--mode <mode>", "live credits, or the simulated ones of test keys")
      .choices(["live", "test"])
      .default("live"),
  );

export function register(service: Command, context: Context): void {
  const credits = service
    .command("credits")
    .summary("add credits to an account, or show them")
    .description("Add credits to an account, or show what it has.");
  addOptions(credits.command("add").argument("<amount>", "credits, with up to six decimals"))
    .summary("add credits")
    .description("Add credits to the balance of an account.")
    .addHelpText(
      "after",
      "\nExamples:\n  $ headcount service credits add 10000\n  $ headcount service credits add 250.5 --json",
    )
    .action((text: string, _: unknown, command: Command) =>
      add(text, command.optsWithGlobals<CreditsOptions>(), context),
    );
  addOptions(credits.command("show", { isDefault: true }))
    .summary("show the balance")
    .description("Show the balance of an account, what calls in flight hold of it, and what was used today (UTC).")
    .addHelpText("after", "\nExamples:\n  $ headcount service credits\n  $ headcount service credits show --json")
    .action((_: unknown, command: Command) => show(command.optsWithGlobals<CreditsOptions>(), context));
}

async function add(text: string, options: CreditsOptions, context: Context): Promise<void> {
  const amount = parseCredits(text);
  if (amount === undefined || amount <= 0n) {
    throw usageError(
      `credits add takes an amount above 0 with at most six decimals, not "${echo(text)}"`,
      "for example 250.5",
    );
  }
  await withStore(options, context, async (store) => {
    await requireAccount(store, options.account);
    const balance = await store.grant(options.account, options.mode, amount, "added by service credits add");
    const printer = new Printer(context, options);
    if (!printer.json) printer.note(`Added ${formatCreditsGrouped(amount)} credits.`);
    print(balance, options, printer);
  });
}

async function show(options: CreditsOptions, context: Context): Promise<void> {
  await withStore(options, context, async (store) => {
    await requireAccount(store, options.account);
    print(await store.balance(options.account, options.mode), options, new Printer(context, options));
  });
}

function print({ balance, held, usedToday }: Balance, { account, mode }: CreditsOptions, printer: Printer): void {
  if (printer.json) {
    const [free, kept, used] = [balance, held, usedToday].map(creditsToNumber);
    printer.document({ account, mode, balance: free, held: kept, used_today: used });
  } else {
    printer.lines([
      ["balance", formatCredits(balance)],
      ["held", formatCredits(held)],
      ["used today", formatCredits(usedToday)],
    ]);
  }
}
