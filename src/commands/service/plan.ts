import type { Command } from "commander";
import type { Context } from "../../context.ts";
import { type Credits, creditsToNumber, formatCredits, parseCredits } from "../../contract/money.ts";
import { COSTED_CALLS, type CostedCall } from "../../contract/records.ts";
import { usageError } from "../../errors.ts";
import type { Plan } from "../../service/ledger/ledger.ts";
import { type AccountOptions, addAccountOptions, requireAccount, wholeNumber, withStore } from "./folder.ts";

interface SetOptions extends AccountOptions {
  readonly name?: string;
  readonly perMinute?: string;
  readonly perDay?: string;
  readonly cost?: readonly string[];
}

/** Calls that have a price; account and count are free by contract. */
const PRICED = COSTED_CALLS.filter((call) => call !== "account" && call !== "person_count");
const MAX_CALLS = 1_000_000_000;

export function register(service: Command, context: Context): void {
  const plan = service
    .command("plan")
    .summary("set or show limits and prices of an account")
    .description("Set or show the rate limits and the prices of an account.");
  addAccountOptions(plan.command("set"))
    .summary("change limits or prices")
    .description("Change the limits or prices of an account; what is not given stays. It holds from the next call on.")
    .option("--name <name>", "name of the plan")
    .option("--per-minute <n>", "calls a minute, per key")
    .option("--per-day <n>", "calls a day (UTC), per key")
    .option("--cost <call=credits...>", `price of a profile or match: ${PRICED.join(", ")}`)
    .addHelpText(
      "after",
      `
Examples:
  $ headcount service plan set --per-minute 60 --per-day 5000
  $ headcount service plan set --cost person_search=0.25 company_enrich=2`,
    )
    .action((_: unknown, command: Command) => set(command.optsWithGlobals<SetOptions>(), context));
  addAccountOptions(plan.command("show"))
    .summary("show limits and prices")
    .description("Show the rate limits and the prices of an account.")
    .addHelpText("after", "\nExamples:\n  $ headcount service plan show\n  $ headcount service plan show --json")
    .action((_: unknown, command: Command) => show(command.optsWithGlobals<AccountOptions>(), context));
}

async function set(options: SetOptions, context: Context): Promise<void> {
  const { perDay, perMinute } = options;
  const changes = {
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(perMinute === undefined ? {} : { perMinute: wholeNumber("--per-minute", perMinute, 1, MAX_CALLS) }),
    ...(perDay === undefined ? {} : { perDay: wholeNumber("--per-day", perDay, 1, MAX_CALLS) }),
  };
  const costs = Object.fromEntries((options.cost ?? []).map(readCost)) as Partial<Record<CostedCall, Credits>>;
  if (Object.keys(changes).length === 0 && Object.keys(costs).length === 0) {
    throw usageError("nothing to set", "give --per-minute, --per-day, --cost or --name");
  }
  await withStore(options, context, async (store) => {
    const { plan } = await requireAccount(store, options.account);
    const changed = { ...plan, ...changes, costs: { ...plan.costs, ...costs } };
    await store.setPlan(options.account, changed);
    print(changed, options, context);
  });
}

function readCost(text: string): [CostedCall, Credits] {
  const [call = "", price = ""] = text.split("=", 2);
  const credits = parseCredits(price);
  const known = PRICED.find((name) => name === call);
  if (known === undefined || credits === undefined || credits < 0n) {
    throw usageError(
      `--cost takes CALL=CREDITS, not "${text}"`,
      `CALL is one of ${PRICED.join(", ")}; for example person_search=0.25`,
    );
  }
  return [known, credits];
}

async function show(options: AccountOptions, context: Context): Promise<void> {
  await withStore(options, context, async (store) => {
    print((await requireAccount(store, options.account)).plan, options, context);
  });
}

function print(plan: Plan, options: AccountOptions, context: Context): void {
  if (options.json) {
    const costs = Object.fromEntries(COSTED_CALLS.map((call) => [call, creditsToNumber(plan.costs[call])]));
    const document = {
      account: options.account,
      name: plan.name,
      per_minute: plan.perMinute,
      per_day: plan.perDay,
      costs,
    };
    context.stdout.write(`${JSON.stringify(document)}\n`);
    return;
  }
  const lines = [
    `plan\t${plan.name}`,
    `calls a minute\t${plan.perMinute}`,
    `calls a day\t${plan.perDay}`,
    ...PRICED.map((call) => `${call}\t${formatCredits(plan.costs[call])}`),
  ];
  context.stdout.write(`${lines.join("\n")}\n`);
}
