import type { Session } from "../../app/session.ts";
import { type AccountView, costsOf } from "../../engine/client/types.ts";
import type { Context } from "../../shared/context.ts";
import { type Credits, creditsOrNull, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { withSession } from "../session.ts";
import { Printer } from "../terminal/printer.ts";

export function register(program: Command, context: Context, run = runAccount): void {
  program
    .command("account")
    .summary("show balance, plan, limits and prices (free)")
    .description("Show the balance, the plan with its limits and prices, and the dataset behind a connection. Free.")
    .examples(`
  $ headcount -c sample account                     the sample's account, no key needed
  $ headcount -c sample account --json | jq .credits.remaining
  $ headcount -c sample account | cut -f2           piped: one name and value a line

A terminal gets a card, a pipe gets tab-separated lines, --json one document.`)
    .does((options: GlobalOptions) => run(options, context));
}

async function runAccount(options: GlobalOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await withSession(context, options, async (session) => {
    const account = await session.client.account();
    if (printer.json) printer.document<"account">(accountDocument(account, session));
    else if (printer.terminal) await printer.card(cardOf(account, session));
    else printer.leaves(accountDocument(account, session));
    for (const call of account.unknownCosts) {
      session.notice(`warning: the account does not say what ${call} costs; 1 credit is assumed`);
    }
  });
}

/** `account --json`. Every key is always there; what the service does not tell is null. Credits are JSON numbers. */
function accountDocument(
  account: AccountView,
  session: Pick<Session, "connectionName" | "keyMode" | "keySource" | "site">,
) {
  return {
    connection: session.connectionName,
    base_url: session.site.baseUrl,
    account: { id: account.accountId ?? null, name: account.accountName ?? null },
    key: {
      mode: account.keyMode ?? session.keyMode ?? null,
      prefix: account.keyPrefix ?? null,
      source: session.keySource,
    },
    plan: account.plan ?? null,
    credits: {
      remaining: creditsOrNull(account.balance),
      held: creditsOrNull(account.held),
      used_today: creditsOrNull(account.usedToday),
    },
    rate_limits: { per_minute: account.perMinute ?? null, per_day: account.perDay ?? null },
    costs: costsOf(account),
    limits: { per_page_max: account.perPageMax ?? null, max_depth: account.maxDepth ?? null },
    dataset: {
      version: account.datasetVersion ?? null,
      people: account.people ?? null,
      companies: account.companies ?? null,
    },
  };
}

function cardOf(account: AccountView, session: Session): readonly (readonly [string, string | undefined])[] {
  const number = (value: number | undefined): string | undefined => (value === undefined ? undefined : grouped(value));
  const money = (value: Credits | undefined): string | undefined =>
    value === undefined ? undefined : formatCreditsGrouped(value);
  const listed = (...parts: readonly (string | false | undefined)[]): string => parts.filter(Boolean).join(", ");
  const { balance, costs, people, companies, perMinute, perDay } = account;
  const held = account.held !== undefined && account.held > 0n ? ` (${money(account.held)} held)` : "";
  return [
    ["account", account.accountName ?? account.accountId],
    ["connection", `${session.connectionName} (${session.site.baseUrl})`],
    ["key", listed(account.keyMode ?? session.keyMode, account.keyPrefix, `from ${session.keySource}`)],
    ["plan", account.plan],
    ["balance", balance === undefined ? undefined : `${money(balance)} credits${held}`],
    ["used today", money(account.usedToday)],
    [
      "prices",
      `search ${money(costs.personSearch)}, employees ${money(costs.companyEmployees)} a profile; enrich ${money(costs.companyEnrich)} a match`,
    ],
    [
      "rate limit",
      listed(
        perMinute !== undefined && `${number(perMinute)} a minute`,
        perDay !== undefined && `${number(perDay)} a day`,
      ),
    ],
    ["largest page", number(account.perPageMax)],
    ["deepest row", number(account.maxDepth)],
    [
      "dataset",
      listed(
        people !== undefined && `${number(people)} people`,
        companies !== undefined && `${number(companies)} companies`,
        account.datasetVersion && `version ${account.datasetVersion}`,
      ),
    ],
  ];
}
