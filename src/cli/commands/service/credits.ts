import type {
  AccountPlan,
  Adjusted,
  Adjustment,
  Balance,
  PlanChanges,
} from "../../../service/ledger/ledger.ts";
import type { Context } from "../../../shared/context.ts";
import {
  creditsText,
  creditsToNumber,
  formatCredits,
  formatCreditsGrouped,
} from "../../../shared/contract/money.ts";
import { COSTED_CALLS, type CostedCall, KEEP_DAYS_MAX } from "../../../shared/contract/records.ts";
import { echo, grouped, harmless, present, whenGiven } from "../../../shared/contract/text.ts";
import { failed, usageError } from "../../../shared/errors.ts";
import { creditsGiven, settingsOf } from "../../arguments/settings.ts";
import { type Command, wholeNumber } from "../../options.ts";
import type { Printer } from "../../terminal/printer.ts";
import {
  type AccountOptions,
  addAccountOptions,
  addMode,
  atStore,
  LEDGER,
  nameOf,
  placeFlags,
  requireAccount,
  type StoreDesk,
} from "./folder.ts";

type CreditsOptions = AccountOptions & { readonly mode: "live" | "test" };

type AdjustOptions = CreditsOptions & { readonly note?: string; readonly reference?: string };

const addAdjust = (command: Command): Command =>
  command
    .option("--note <text>", "why; kept with the entry and in the audit")
    .option(
      "--reference <text>",
      "names it once and for all, such as an invoice: asked for again it does nothing and says so",
    );

export function register(service: Command, context: Context): void {
  const credits = service
    .command("credits")
    .description(
      "Add credits to an account, take them away, refund a charge, or show what an account has.",
    );

  addAdjust(
    addMode(credits.command("add").argument("<amount>", "credits, with up to six decimals")),
  )
    .description(
      "Add credits to the balance of an account. With --reference it " +
        "can be repeated after a doubt: it adds once.",
    )
    .examples(`
  $ headcount service credits add 10000
  $ headcount service credits add 250.5 --reference invoice-2026-17 --note "paid by transfer" \
--json`)
    .does(LEDGER, atStore(context, adjusting("add"), true));

  addAdjust(
    addMode(credits.command("remove").argument("<amount>", "credits, with up to six decimals")),
  )
    .description(
      "Take credits away from an account, as an entry of its own: never what calls in flight hold.",
    )
    .examples(`\n  $ headcount service credits remove 10 --note "added twice" --reference fix-17`)
    .does(LEDGER, atStore(context, adjusting("remove")));

  registerRefund(credits, context);
  addMode(credits.command("show", { isDefault: true }))
    .description(
      "Show the balance of an account, what calls in flight hold of it, " +
        "and what was used today (UTC).",
    )
    .examples("\n  $ headcount service credits\n  $ headcount service credits show --json")
    .does(LEDGER, atStore(context, show));
}

function registerRefund(credits: Command, context: Context): void {
  const refunding = credits
    .command("refund")
    .argument("<entry-id>", "the charge, as `service entries` shows it")
    .argument("[amount]", "credits, with up to six decimals; all that is left of it by default");

  addAdjust(addAccountOptions(refunding))
    .description(
      "Give a charge back, or a part of it: to the balance, " +
        "and to the cap of the key that was charged.",
    )
    .examples(`
  $ headcount service credits refund 17 --note "stale records"
  $ headcount service credits refund 17 2.5 --reference ticket-88`)
    .does(LEDGER, atStore(context, refund));
}

function adjustmentOf({ note, reference }: AdjustOptions, otherwise: string): Adjustment {
  for (const [flag, text, most] of [
    ["--note", note, 500] as const,
    ["--reference", reference, 200] as const,
  ]) {
    if (
      text === undefined ||
      (text.trim() !== "" && text.length <= most && harmless(text) === text)
    )
      continue;
    throw usageError(`${flag} takes 1 to ${most} characters on one line, not "${echo(text)}"`);
  }

  return { note: note ?? otherwise, ...present({ reference }) };
}

const adjusting =
  (kind: "add" | "remove") =>
  async ({ options, printer, store }: StoreDesk<AdjustOptions>, text: string): Promise<void> => {
    const { account, mode } = options;
    const amount = creditsGiven(`credits ${kind}`, text);
    const adjustment = adjustmentOf(options, `service credits ${kind}`);
    const move = kind === "add" ? store.grant : store.deduct;
    const adjusted = await move.call(store, account, mode, amount, adjustment);
    const sentence = `${kind === "add" ? "Added" : "Removed"} ${creditsText(amount)}.`;
    tell(adjusted, adjustment, printer, sentence);
    print(adjusted, options, printer);
  };

async function refund(
  { options, printer, store }: StoreDesk<AccountOptions & AdjustOptions>,
  id: string,
  text: string | undefined,
) {
  const { account } = options;
  const amount = text === undefined ? undefined : creditsGiven("credits refund", text);
  const entryId = BigInt(wholeNumber("credits refund", 1, Number.MAX_SAFE_INTEGER)(id));
  const adjustment = adjustmentOf(options, "service credits refund");
  const [entry] = await store.entries({ accountId: account, before: entryId + 1n, limit: 1 });
  if (entry?.id !== entryId || entry.kind !== "charge") {
    throw failed.not_found(
      `entry ${id} is no charge of account "${echo(account)}"`,
      `headcount service entries --kind charge${placeFlags(options)}`,
      "unknown_entry",
    );
  }

  const adjusted = await store.refund(entryId, amount, adjustment);
  const by = amount === undefined ? "" : ` by ${creditsText(amount)}`;
  tell(adjusted, adjustment, printer, `Refunded entry ${id}${by}.`);
  print(adjusted, { ...options, mode: entry.mode }, printer);
}

function tell(
  { repeated }: Adjusted,
  { reference }: Adjustment,
  printer: Printer,
  sentence: string,
): void {
  if (!printer.json)
    printer.note(repeated ? `"${reference}" was done before: nothing was done now.` : sentence);
}

const show = async ({ options, printer, store }: StoreDesk<CreditsOptions>): Promise<void> =>
  print(await store.balance(options.account, options.mode), options, printer);

function print(
  { balance, held, usedToday, repeated }: Balance & { readonly repeated?: boolean },
  { account, mode }: CreditsOptions,
  printer: Printer,
): void {
  if (printer.json) {
    printer.document<"service credits show" | "service credits add">({
      account,
      mode,
      balance: creditsToNumber(balance),
      held: creditsToNumber(held),
      used_today: creditsToNumber(usedToday),
      ...present({ repeated }),
    });
  } else {
    const amount = printer.terminal ? formatCreditsGrouped : formatCredits;
    printer.lines([
      ["balance", amount(balance)],
      ["held", amount(held)],
      ["used today", amount(usedToday)],
    ]);
  }
}

/** Calls that have a price; account and count are free by contract. */
const PRICED = COSTED_CALLS.filter((call) => call !== "account" && call !== "person_count");
const PLAN_SETTINGS = [
  "name",
  "per-minute",
  "per-day",
  "small-counts",
  "keep-days",
  ...PRICED,
] as const;
const MAX_CALLS = 1_000_000_000;

export function registerPlan(service: Command, context: Context): void {
  const plan = service
    .command("plan")
    .description("Set or show the rate limits and the prices of an account.");

  addAccountOptions(
    plan.command("set").argument("<setting...>", `NAME=VALUE: ${PLAN_SETTINGS.join(", ")}`),
  )
    .description(
      "Change the limits or prices of an account; what is not given stays. " +
        "It holds from the next call on.",
    )
    .examples(`
  $ headcount service plan set per-minute=60 per-day=5000        calls a minute and a day (UTC), \
of each key
  $ headcount service plan set person_search=0.25 company_enrich=2      credits of a profile, of \
a match
  $ headcount service plan set small-counts=5
  $ headcount service plan set keep-days=7      rows of a purchase on the page are kept (30)

Counts of fewer people than small-counts are small: an account gets 100 of them a day; off: no \
bound.`)
    .does(LEDGER, atStore(context, setPlan, true));

  addAccountOptions(plan.command("show", { isDefault: true }))
    .description("Show the rate limits and the prices of an account.")
    .examples("\n  $ headcount service plan\n  $ headcount service plan show --json")
    .does(LEDGER, atStore(context, showPlan));
}

async function setPlan({ options, printer, store }: StoreDesk, words: readonly string[]) {
  const {
    name,
    "per-day": perDay,
    "per-minute": perMinute,
    "small-counts": small,
    "keep-days": keepDays,
    ...prices
  } = settingsOf("plan set", words, PLAN_SETTINGS);
  const costs = Object.fromEntries(
    Object.entries(prices).map(([call, text]) => [call, creditsGiven(call, text)]),
  );

  const changes: PlanChanges = present({
    name: whenGiven(name, (text) => nameOf(text, "name")),
    perMinute: whenGiven(perMinute, wholeNumber("per-minute", 1, MAX_CALLS)),
    perDay: whenGiven(perDay, wholeNumber("per-day", 1, MAX_CALLS)),
    keepDays: whenGiven(keepDays, wholeNumber("keep-days", 1, KEEP_DAYS_MAX)),
    smallCounts:
      small === "off" ? null : whenGiven(small, wholeNumber("small-counts", 1, MAX_CALLS)),
    costs: Object.keys(costs).length === 0 ? undefined : costs,
  });
  printPlan(await store.setPlan(options.account, changes), options, printer);
}

const showPlan = async ({ options, printer, store }: StoreDesk): Promise<void> =>
  printPlan((await requireAccount(store, options.account, options)).plan, options, printer);

function printPlan(plan: AccountPlan, { account }: AccountOptions, printer: Printer): void {
  if (printer.json) {
    const costs = Object.fromEntries(
      COSTED_CALLS.map((call) => [call, creditsToNumber(plan.costs[call])]),
    );

    printer.document<"service plan show">({
      account,
      name: plan.name,
      per_minute: plan.perMinute,
      per_day: plan.perDay,
      small_counts: plan.smallCounts,
      keep_days: plan.keepDays,
      costs: costs as Record<CostedCall, number>,
    });
  } else {
    const calls = printer.terminal ? grouped : String;
    printer.lines([
      ["account", account],
      ["plan", harmless(plan.name)],
      ["calls a minute", calls(plan.perMinute)],
      ["calls a day", calls(plan.perDay)],
      ...(plan.smallCounts === null ? [] : [["small counts below", calls(plan.smallCounts)]]),
      ["days that rows are kept", String(plan.keepDays)],
      ...PRICED.map((call) => [call, formatCredits(plan.costs[call])]),
    ]);
  }
}
