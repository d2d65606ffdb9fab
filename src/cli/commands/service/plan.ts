import type { AccountPlan, PlanChanges } from "../../../service/ledger/ledger.ts";
import type { Context } from "../../../shared/context.ts";
import { type Credits, creditsToNumber, formatCredits, parseCredits } from "../../../shared/contract/money.ts";
import { COSTED_CALLS, type CostedCall } from "../../../shared/contract/records.ts";
import { nearest } from "../../../shared/contract/suggest.ts";
import { echo, grouped, harmless } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { type Command, wholeNumber } from "../../options.ts";
import type { Printer } from "../../terminal/printer.ts";
import { type AccountOptions, addAccountOptions, atDesk, type Desk, nameOf, requireAccount } from "./folder.ts";

interface SetOptions extends AccountOptions {
  readonly name?: string;
  readonly perMinute?: string;
  readonly perDay?: string;
  readonly cost?: readonly string[];
  readonly smallCounts?: string;
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
    .description(
      "Change the limits or prices of an account; what is not given stays. It holds from the next call on; for services on PostgreSQL within 10 seconds, or 60 where the database does not answer.",
    )
    .option("--name <name>", "name of the plan")
    .option("--per-minute <n>", "calls a minute, per key")
    .option("--per-day <n>", "calls a day (UTC), per key")
    .option("--small-counts <n>", "so few people make a count small: 100 of them a key and day; off: no bound")
    .option("--cost <call=credits...>", `price of a profile or match: ${PRICED.join(", ")}`)
    .examples(`
  $ headcount service plan set --per-minute 60 --per-day 5000
  $ headcount service plan set --cost person_search=0.25 company_enrich=2
  $ headcount service plan set --small-counts 5`)
    .does(atDesk(context, set));
  addAccountOptions(plan.command("show", { isDefault: true }))
    .summary("show limits and prices")
    .description("Show the rate limits and the prices of an account.")
    .examples("\n  $ headcount service plan\n  $ headcount service plan show --json")
    .does(atDesk(context, show));
}

async function set({ options, printer, store }: Desk<SetOptions>): Promise<void> {
  const { name, perDay, perMinute } = options;
  const costs = Object.fromEntries((options.cost ?? []).map(readCost)) as PlanChanges["costs"] & object;
  const changes: PlanChanges = {
    ...(name === undefined ? {} : { name: nameOf(name) }),
    ...(perMinute === undefined ? {} : { perMinute: wholeNumber("--per-minute", 1, MAX_CALLS)(perMinute) }),
    ...(perDay === undefined ? {} : { perDay: wholeNumber("--per-day", 1, MAX_CALLS)(perDay) }),
    ...(options.smallCounts === undefined ? {} : { smallCounts: smallOf(options.smallCounts) }),
    ...(Object.keys(costs).length === 0 ? {} : { costs }),
  };
  if (Object.keys(changes).length === 0) {
    throw usageError("nothing to set", "give --per-minute, --per-day, --cost, --small-counts or --name");
  }
  print(await store.setPlan(options.account, changes), options, printer);
}

const smallOf = (text: string): number | null =>
  text === "off" ? null : wholeNumber("--small-counts", 1, MAX_CALLS)(text);

function readCost(text: string): [CostedCall, Credits] {
  const [call = "", price = ""] = text.split("=", 2);
  const credits = parseCredits(price);
  const known = PRICED.find((name) => name === call);
  if (known !== undefined && credits !== undefined && credits >= 0n) return [known, credits];
  const meant = known ?? nearest(call, PRICED);
  throw usageError(
    `--cost takes CALL=CREDITS, not "${echo(text)}"`,
    known === undefined && meant !== undefined
      ? `did you mean ${meant}=${credits === undefined ? "0.25" : echo(price)}?`
      : `CALL is one of ${PRICED.join(", ")}, CREDITS 0 or more with at most six decimals; for example ${meant ?? "person_search"}=0.25`,
  );
}

const show = async ({ options, printer, store }: Desk<AccountOptions>): Promise<void> =>
  print((await requireAccount(store, options.account, options)).plan, options, printer);

function print(plan: AccountPlan, { account }: AccountOptions, printer: Printer): void {
  if (printer.json) {
    const costs = Object.fromEntries(COSTED_CALLS.map((call) => [call, creditsToNumber(plan.costs[call])]));
    printer.document<"service plan show">({
      account,
      name: plan.name,
      per_minute: plan.perMinute,
      per_day: plan.perDay,
      small_counts: plan.smallCounts,
      costs: costs as never,
    });
  } else {
    const calls = printer.terminal ? grouped : String;
    printer.lines([
      ["plan", harmless(plan.name)],
      ["calls a minute", calls(plan.perMinute)],
      ["calls a day", calls(plan.perDay)],
      ...(plan.smallCounts === null ? [] : [["small counts below", calls(plan.smallCounts)]]),
      ...PRICED.map((call) => [call, formatCredits(plan.costs[call])]),
    ]);
  }
}
