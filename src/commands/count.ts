import { type Command, Option } from "commander";
import type { AccountView, CountView } from "../client/types.ts";
import type { Context } from "../context.ts";
import type { Filters } from "../contract/filters.ts";
import { affordableRows, creditsToNumber, formatCreditsGrouped, priceOf } from "../contract/money.ts";
import { usageError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import { addFilterOptions, type FilterOptions, lowerCaseHint, readFilterSets } from "./filter-options.ts";
import { noticeUnknownCost } from "./unknown-cost.ts";

/** The options of `count`, filters aside. */
export interface CountOptions extends GlobalOptions {
  readonly by?: string;
  readonly values?: readonly string[];
  readonly format?: "table" | "csv" | "json";
}

export function register(program: Command, context: Context): void {
  const command = program
    .command("count")
    .summary("count the people in a segment (free)")
    .description(
      "Count the people that match the filters, exactly and for free, with what buying them would cost at most.",
    )
    .option("--by <key>", "break the segment down by this filter key, with one free count a value")
    .option("--values <value...>", "the values to break down by (department and seniority-level need none)")
    .addOption(
      new Option("--format <format>", "of a breakdown or of several files: table, csv or json").choices([
        "table",
        "csv",
        "json",
      ]),
    );
  addFilterOptions(command)
    .addHelpText(
      "after",
      `
Examples:
  $ headcount -c sample count --department Sales
  $ headcount -c sample count --department Sales --department Marketing --connections-min 500 --json
  $ headcount -c sample count --seniority-level director --by department
  $ echo '{"department": "Legal"}' | headcount -c sample count -f -

A pipe gets the bare number. With several -f files there is one row for each.`,
    )
    .action(async (_: unknown, self: Command) => {
      await run(self.optsWithGlobals<CountOptions & FilterOptions>(), context);
    });
}

async function run(options: CountOptions & FilterOptions, context: Context): Promise<void> {
  const sets = await readFilterSets(context, options);
  const [only, ...others] = sets;
  if (options.by !== undefined || others.length > 0) {
    if (options.by === undefined) return (await import("./count-files.ts")).countFiles(sets, options, context);
    if (only === undefined || others.length > 0) throw usageError("--by breaks one segment down; give one -f file");
    return (await import("./count-breakdown.ts")).countBreakdown(only, options.by, options, context);
  }
  if (options.values !== undefined)
    throw usageError("--values goes with --by", "for example --by country --values france");
  if (options.format !== undefined) {
    throw usageError("--format goes with --by or several -f files", "--json prints the count as a JSON document");
  }
  const filters = only?.filters ?? {};
  const { withSession } = await import("./session.ts");
  await withSession(context, options, async (session) => {
    const priced = options.json === true || context.stdout.isTTY === true;
    const [count, account] = await Promise.all([
      session.client.count(filters, context.interrupted),
      priced ? session.client.account(context.interrupted) : undefined,
    ]);
    if (account === undefined) context.stdout.write(`${count.count}\n`);
    else if (options.json) context.stdout.write(`${JSON.stringify(countDocument(count, account, filters))}\n`);
    else await printCount(count, account, options, context);
    noticeUnknownCost(account, session);
    const hint = count.count === 0 ? lowerCaseHint(filters) : undefined;
    if (hint !== undefined) session.notice(`hint: ${hint}`);
  });
}

/** `count --json`. Credits are JSON numbers; what the service does not tell is null. */
export function countDocument(count: CountView, account: AccountView, filters: Filters) {
  const unit = account.costs.personSearch;
  const balance = account.balance ?? count.meta.creditsRemaining;
  return {
    count: count.count,
    cached: count.cached ?? null,
    as_of: count.asOf ?? null,
    filters,
    unit_cost: creditsToNumber(unit),
    max_cost: creditsToNumber(priceOf(count.count, unit)),
    credits_remaining: balance === undefined ? null : creditsToNumber(balance),
  };
}

async function printCount(
  { count, cached, asOf }: CountView,
  account: AccountView,
  options: CountOptions,
  context: Context,
): Promise<void> {
  const [{ counted, grouped }, { renderCard }, { hasColor, styleFor, widthOfStream }] = await Promise.all([
    import("../terminal/numbers.ts"),
    import("../terminal/table.ts"),
    import("../terminal/style.ts"),
  ]);
  const style = styleFor(hasColor(context.stdout, context.env, options.color));
  const unit = account.costs.personSearch;
  const most = priceOf(count, unit);
  const balance = account.balance;
  const credits = (amount: typeof most): string =>
    `${formatCreditsGrouped(amount)} ${formatCreditsGrouped(amount) === "1" ? "credit" : "credits"}`;
  const short =
    balance !== undefined && balance < most ? `, enough for ${counted(affordableRows(balance, unit), "profile")}` : "";
  context.stdout.write(`${style.strong(grouped(count))} ${count === 1 ? "person" : "people"}\n`);
  context.stdout.write(
    renderCard(
      [
        ["price", `${credits(unit)} a profile`],
        ["at most", credits(most)],
        ["balance", balance === undefined ? undefined : `${credits(balance)}${short}`],
        ["counted", cached === true && asOf !== undefined ? `${asOf} (from the service's cache)` : undefined],
      ],
      { width: widthOfStream(context.stdout), style, indent: 2 },
    ),
  );
}
