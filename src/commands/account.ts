import type { Command } from "commander";
import type { AccountView } from "../client/types.ts";
import type { Context } from "../context.ts";
import { type Credits, creditsToNumber, formatCredits, formatCreditsGrouped } from "../contract/money.ts";
import { grouped } from "../contract/text.ts";
import type { GlobalOptions } from "../options.ts";
import type { Session } from "./session.ts";

export function register(program: Command, context: Context): void {
  program
    .command("account")
    .summary("show balance, plan, limits and prices (free)")
    .description("Show the balance, the plan with its limits and prices, and the dataset behind a connection. Free.")
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample account                     the sample's account, no key needed
  $ headcount -c sample account --json | jq .credits.remaining
  $ headcount -c sample account | cut -f2           piped: one name and value a line

A terminal gets a card, a pipe gets tab-separated lines, --json one document.`,
    )
    .action(async (_: unknown, command: Command) => {
      await run(command.optsWithGlobals<GlobalOptions>(), context);
    });
}

async function run(options: GlobalOptions, context: Context): Promise<void> {
  const { withSession } = await import("./session.ts");
  await withSession(context, options, async (session) => {
    const account = await session.client.account();
    if (options.json) context.stdout.write(`${JSON.stringify(accountDocument(account, session), undefined, 2)}\n`);
    else if (context.stdout.isTTY === true) await printCard(account, session, options, context);
    else await printLines(account, session, context);
    for (const call of account.unknownCosts) {
      session.notice(`warning: the account does not say what ${call} costs; 1 credit is assumed`);
    }
  });
}

const amount = (value: Credits | undefined): number | null => (value === undefined ? null : creditsToNumber(value));

/** `account --json`. Every key is always there; what the service does not tell is null. Credits are JSON numbers. */
export function accountDocument(
  account: AccountView,
  session: Pick<Session, "connectionName" | "keyMode" | "keySource" | "site">,
) {
  const { costs } = account;
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
    credits: { remaining: amount(account.balance), held: amount(account.held), used_today: amount(account.usedToday) },
    rate_limits: { per_minute: account.perMinute ?? null, per_day: account.perDay ?? null },
    costs: {
      person_search: amount(costs.personSearch),
      company_enrich: amount(costs.companyEnrich),
      company_employees: amount(costs.companyEmployees),
    },
    limits: { per_page_max: account.perPageMax ?? null, max_depth: account.maxDepth ?? null },
    dataset: {
      version: account.datasetVersion ?? null,
      people: account.people ?? null,
      companies: account.companies ?? null,
    },
  };
}

async function printCard(
  account: AccountView,
  session: Session,
  options: GlobalOptions,
  context: Context,
): Promise<void> {
  const [{ renderCard }, { hasColor, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/table.ts"),
    import("../terminal/style.ts"),
  ]);
  const whole = (value: number | undefined): string | undefined => (value === undefined ? undefined : grouped(value));
  const money = (value: Credits | undefined): string | undefined =>
    value === undefined ? undefined : formatCreditsGrouped(value);
  const { costs, people, companies, perMinute, perDay } = account;
  const mode = account.keyMode ?? session.keyMode;
  const held = account.held !== undefined && account.held > 0n ? ` (${money(account.held)} held)` : "";
  const balance = money(account.balance);
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["account", account.accountName ?? account.accountId],
    ["connection", `${session.connectionName} (${session.site.baseUrl})`],
    ["key", [mode, account.keyPrefix, `from ${session.keySource}`].filter(Boolean).join(", ")],
    ["plan", account.plan],
    ["balance", balance === undefined ? undefined : `${balance} credits${held}`],
    ["used today", money(account.usedToday)],
    [
      "prices",
      `search ${formatCredits(costs.personSearch)}, employees ${formatCredits(costs.companyEmployees)} a profile; enrich ${formatCredits(costs.companyEnrich)} a match`,
    ],
    [
      "rate limit",
      [perMinute && `${whole(perMinute)} a minute`, perDay && `${whole(perDay)} a day`].filter(Boolean).join(", ") ||
        undefined,
    ],
    ["largest page", whole(account.perPageMax)],
    ["deepest row", whole(account.maxDepth)],
    [
      "dataset",
      [
        people !== undefined && `${whole(people)} people`,
        companies !== undefined && `${whole(companies)} companies`,
        account.datasetVersion && `version ${account.datasetVersion}`,
      ]
        .filter(Boolean)
        .join(", ") || undefined,
    ],
  ];
  const style = styleFor(hasColor(context.stdout, context.env, options.color));
  context.stdout.write(renderCard(rows, { width: widthOfStream(context.stdout), style }));
}

/** One dotted name and value a line, tab-separated: `credits.remaining<TAB>9990`. */
async function printLines(account: AccountView, session: Session, context: Context): Promise<void> {
  const { harmless } = await import("../contract/text.ts");
  const walk = (prefix: string, value: unknown): void => {
    if (typeof value === "object" && value !== null) {
      for (const [name, inner] of Object.entries(value)) walk(prefix === "" ? name : `${prefix}.${name}`, inner);
    } else context.stdout.write(`${prefix}\t${value === null ? "" : harmless(String(value))}\n`);
  };
  walk("", accountDocument(account, session));
}
