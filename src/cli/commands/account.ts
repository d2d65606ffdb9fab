import type { Session } from "../../app/session.ts";
import { type AccountView, costsOf, type KeyView, untoldCosts } from "../../engine/client/types.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Credits,
  creditsOrNull,
  creditsText,
  formatCreditsGrouped,
} from "../../shared/contract/money.ts";
import { grouped, whenGiven } from "../../shared/contract/text.ts";
import { timeText } from "../../shared/numbers.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { withSession } from "../session.ts";
import { atDesk, type Desk } from "../terminal/printer.ts";

export function register(program: Command, context: Context): void {
  program
    .command("account")
    .alias("whoami")
    .description(
      "Show whose key is in use, what it may call, until when and what is " +
        "left of its cap; the balance, the plan with its limits and prices, " +
        "and the dataset behind a connection. Free.",
    )
    .examples(`
  $ headcount -c sample account                     the sample's account, no key needed
  $ headcount -c sample account --json | jq .credits.balance
  $ headcount -c sample account | cut -f2           piped: one name and value a line

A terminal gets a card, a pipe gets tab-separated lines, --json one document. A service that does \
not tell a key about itself says "told": false: then scopes, cap and end are not known.`)
    .does(
      `asks account key
      reads connection
      writes pacing
      exits 3 7 8 130`,
      atDesk(context, runAccount),
    );
}

async function runAccount({ options, printer, context }: Desk<GlobalOptions>) {
  await withSession(context, options, async (session) => {
    const account = await session.client.account();
    const key = await session.client.key();
    if (printer.json) printer.document<"account">(accountDocument(account, key, session));
    else if (printer.terminal) await printer.card(cardOf(account, key, session));
    else printer.leaves(accountDocument(account, key, session));
    for (const call of untoldCosts(account)) {
      session.notice(
        `warning: the account does not say what ${call} costs; a purchase assumes 1 credit`,
      );
    }
  });
}

/**
 * With `told` a null of key and cap means that there is no such bound, else that it is not known.
 */
function accountDocument(account: AccountView, key: KeyView | undefined, session: Session) {
  const { cap } = key ?? {};
  return {
    connection: session.connectionName,
    base_url: session.site.baseUrl,
    told: key !== undefined,
    account: {
      id: account.accountId ?? key?.accountId ?? null,
      name: account.accountName ?? key?.accountName ?? null,
    },
    key: {
      id: key?.id ?? null,
      name: key?.name ?? null,
      prefix: key?.prefix ?? account.keyPrefix ?? session.site.key?.shown ?? null,
      mode: account.keyMode ?? session.keyMode ?? null,
      source: session.keySource,
      scopes: key?.scopes ?? null,
      created_at: key?.createdAt ?? null,
      expires_at: key?.expiresAt ?? null,
      last_used_at: key?.lastUsedAt ?? null,
    },
    cap: {
      max_credits: creditsOrNull(cap?.maxCredits),
      spent: creditsOrNull(cap?.spent),
      held: creditsOrNull(cap?.held),
      left: creditsOrNull(cap?.left),
    },
    plan: account.plan ?? null,
    credits: {
      balance: creditsOrNull(account.balance),
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

type Entry = readonly [label: string, value: string | undefined];

/** What bounds the key; a service that does not tell bounds it by what only a refusal says. */
function boundsOf(key: KeyView | undefined): readonly Entry[] {
  if (key === undefined) return [["may do", "not known: this service does not tell"]];

  const { cap, expiresAt, lastUsedAt, scopes } = key;
  const at = (text: string): string => timeText(Date.parse(text));
  const money = (value: Credits): string => formatCreditsGrouped(value);

  return [
    ["may call", scopes === null ? "everything" : scopes.join(", ")],
    ["expires", expiresAt === null ? "never" : at(expiresAt)],
    [
      "cap",
      cap === null
        ? "none but the balance"
        : `${money(cap.left)} left of ${creditsText(cap.maxCredits)} (${money(cap.spent)} spent)`,
    ],
    ["last used", lastUsedAt === null ? undefined : at(lastUsedAt)],
  ];
}

function cardOf(
  account: AccountView,
  key: KeyView | undefined,
  session: Session,
): readonly Entry[] {
  const number = (value: number | undefined): string | undefined => whenGiven(value, grouped);
  const money = (value: Credits | undefined): string | undefined =>
    whenGiven(value, formatCreditsGrouped);
  const list = (...parts: readonly (string | false | undefined)[]): string =>
    parts.filter(Boolean).join(", ");
  const price = (value: Credits | undefined): string => money(value) ?? "not told";
  const { balance, costs, people, companies, perMinute, perDay } = account;
  const held =
    account.held !== undefined && account.held > 0n ? ` (${money(account.held)} held)` : "";

  return [
    ["account", account.accountName ?? account.accountId],
    ["connection", `${session.connectionName} (${session.site.baseUrl})`],
    [
      "key",
      list(
        account.keyMode ?? session.keyMode,
        key?.name ?? undefined,
        key?.id,
        account.keyPrefix,
        `from ${session.keySource}`,
      ),
    ],
    ...boundsOf(key),
    ["plan", account.plan],
    ["balance", balance === undefined ? undefined : `${creditsText(balance)}${held}`],
    ["used today", money(account.usedToday)],
    [
      "prices",
      `search ${price(costs.person_search)}, employees ${price(costs.company_employees)} ` +
        (account.parcel === undefined ? "a profile" : `for ${account.parcel} profiles`) +
        `; enrich ${price(costs.company_enrich)} a match`,
    ],
    [
      "rate limit",
      list(
        perMinute !== undefined && `${number(perMinute)} a minute`,
        perDay !== undefined && `${number(perDay)} a day`,
      ),
    ],
    ["largest page", number(account.perPageMax)],
    ["deepest row", number(account.maxDepth)],
    [
      "dataset",
      list(
        people !== undefined && `${number(people)} people`,
        companies !== undefined && `${number(companies)} companies`,
        account.datasetVersion && `version ${account.datasetVersion}`,
      ),
    ],
  ];
}
