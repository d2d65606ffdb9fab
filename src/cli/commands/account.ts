import type { Session } from "../../app/session.ts";
import { ServiceError } from "../../engine/client/errors.ts";
import { type AccountView, costsOf, type KeyView, type ServiceClient } from "../../engine/client/types.ts";
import type { Context } from "../../shared/context.ts";
import { type Credits, creditsOrNull, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { withSession } from "../session.ts";
import { Printer } from "../terminal/printer.ts";

export function register(program: Command, context: Context, run = runAccount): void {
  program
    .command("account")
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

export function registerWhoami(program: Command, context: Context, run = whoami): void {
  program
    .command("whoami")
    .description(
      "Show which key is in use, where it comes from, whose it is, what it may call, until when, and what is left of its cap and of the balance. Free.",
    )
    .examples(`
  $ headcount -c sample whoami
  $ headcount -c sample whoami --json | jq .cap.left
  $ headcount -c sample whoami | cut -f2             piped: one name and value a line

A service that does not tell a key about itself says "told": false: then scopes, cap and end are not known.`)
    .does((options: GlobalOptions) => run(options, context));
}

async function whoami(options: GlobalOptions, context: Context): Promise<void> {
  const printer = new Printer(context, options);
  await withSession(context, options, async (session) => {
    const account = await session.client.account();
    const key = await told(session.client);
    if (printer.json) printer.document<"whoami">(keyDocument(account, key, session));
    else if (printer.terminal) await printer.card(cardOfKey(account, key, session));
    else printer.leaves(keyDocument(account, key, session));
  });
}

/** What the service tells the key about itself; undefined where it has no such route. */
async function told(client: ServiceClient): Promise<KeyView | undefined> {
  try {
    return await client.key();
  } catch (error) {
    const missing = error instanceof ServiceError && (!error.envelope || [400, 404, 405].includes(error.status));
    if (missing) return undefined;
    throw error;
  }
}

/** `whoami --json`. With `told` a null means that there is no such bound, else that it is not known. */
function keyDocument(account: AccountView, key: KeyView | undefined, session: Session) {
  const { cap } = key ?? {};
  return {
    connection: session.connectionName,
    base_url: session.site.baseUrl,
    told: key !== undefined,
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
    account: {
      id: account.accountId ?? key?.accountId ?? null,
      name: account.accountName ?? key?.accountName ?? null,
    },
    cap: {
      max_credits: creditsOrNull(cap?.maxCredits),
      spent: creditsOrNull(cap?.spent),
      held: creditsOrNull(cap?.held),
      left: creditsOrNull(cap?.left),
    },
    credits: { remaining: creditsOrNull(account.balance), held: creditsOrNull(account.held) },
  };
}

type Entry = readonly [label: string, value: string | undefined];

function cardOfKey(account: AccountView, key: KeyView | undefined, session: Session): readonly Entry[] {
  const listed = (...parts: readonly (string | null | undefined)[]): string => parts.filter(Boolean).join(", ");
  const money = (value: Credits): string => formatCreditsGrouped(value);
  const { cap } = key ?? {};
  const bounds: readonly Entry[] =
    key === undefined
      ? [["may do", "not known: this service does not tell"]]
      : [
          ["may call", key.scopes === null ? "everything" : key.scopes.join(", ")],
          ["expires", key.expiresAt ?? "never"],
          [
            "cap",
            cap == null
              ? "none but the balance"
              : `${money(cap.left)} left of ${money(cap.maxCredits)} credits (${money(cap.spent)} spent)`,
          ],
          ["last used", key.lastUsedAt ?? undefined],
        ];
  return [
    ["key", listed(key?.name, key?.id, key?.prefix ?? account.keyPrefix ?? session.site.key?.shown)],
    ["mode", account.keyMode ?? session.keyMode],
    ["from", session.keySource],
    ["connection", `${session.connectionName} (${session.site.baseUrl})`],
    ["account", account.accountName ?? account.accountId],
    ...bounds,
    ["balance", account.balance === undefined ? undefined : `${money(account.balance)} credits`],
  ];
}
