import { join } from "node:path";
import { stateDir } from "../../engine/connections/paths.ts";
import { isNewOnly, leastOrMost } from "../../engine/purchase/owned.ts";
import { newPeopleIn } from "../../engine/purchase/ownership.ts";
import {
  beyondFunds,
  costText,
  elsewhereText,
  paidAgain,
  paidAgainText,
  paidTwiceText,
  rowsToBuy,
  uncountedText,
} from "../../engine/purchase/quote.ts";
import { ARGUMENTS, hintsFor, questionsTo } from "../../shared/contract/hints.ts";
import {
  type Credits,
  creditsOrNull,
  creditsText,
  creditsToNumber,
  formatCreditsGrouped,
  priceOf,
} from "../../shared/contract/money.ts";
import { counted, present, someOf } from "../../shared/contract/text.ts";
import { CliError, failed, saidAt, usageError } from "../../shared/errors.ts";
import { buy, quote } from "../buy/buy.ts";
import { learnedNetworks } from "../buy/networks.ts";
import { type Order, worldOf } from "../buy/order.ts";
import { failureOf } from "../failures.ts";
import { withinBudget } from "../jobs/budget.ts";
import { openRuns } from "../keep/store.ts";
import type { Input } from "./schemas.ts";
import { personsCommand, targetOf } from "./targets.ts";
import { IN_TOOLS } from "./tool.ts";
import { type AgentWorld, budgetOf, type HeldQuote, leftOf, withService } from "./world.ts";

/** Free calls that looking for new people may take: an agent waits for them. */
const AGENT_CALLS = 500;

/**
 * Prices what is wanted as a purchase of it would, and keeps that for ten minutes. Free.
 * @throws CliError
 */
export async function heldQuoteFor(
  { target, limit, fresh = false }: Pick<Order, "target" | "limit" | "fresh">,
  world: AgentWorld,
  allowsUnmatched = false,
): Promise<HeldQuote> {
  const { context } = world;
  // Who is asked did not say "again": an agent did.
  const wanted = { target, limit, fresh, maxCalls: AGENT_CALLS, tellsOwned: true };

  return await withService(world, async (session) => {
    const said: string[] = [];
    const quotation = await quote(wanted, worldOf(session, context), {
      warning: (text) => said.push(text),
    });
    const { account, continues, order, quote: offered } = quotation;
    const questions = questionsTo(session.client, context.interrupted, ARGUMENTS);
    const matches = offered.share?.total ?? offered.matches ?? Number.POSITIVE_INFINITY;
    const { hints, unmatched } =
      target.kind === "search"
        ? await hintsFor({ filters: target.filters, count: matches }, questions)
        : { hints: [], unmatched: [] };
    if (unmatched.length > 0 && !allowsUnmatched) throw unmatchedValue(unmatched, hints);

    // What an earlier run holds counts within a cap, though it is not paid for.
    const { parcel, reuse, rows, total, unitPrice } = offered;
    const most = reuse === undefined ? total : priceOf(rows, unitPrice, parcel);
    const bounds = { limit, credits: most, again: fresh };

    return world.quotes.keep({
      target: order.target,
      quote: offered,
      continues,
      hints,
      said,
      isTest: account.keyMode === "test",
      command: personsCommand(order.target, session.connectionName, world.connecting, bounds),
      buy: (within, start, call) =>
        withService(call, (buying) =>
          buy({ ...quotation, order: { ...order, ...within } }, worldOf(buying, call.context), {
            start,
          }),
        ),
    });
  }).catch((error: unknown) => {
    if (!(error instanceof CliError) || error.code !== "unbounded_purchase") throw error;
    throw error.with({ hint: "give profiles, or per_company" });
  });
}

/** An agent rarely means a value that nobody has, and buys other people than it was asked for. */
const unmatchedValue = (unmatched: readonly string[], hints: readonly string[]): CliError =>
  failed
    .incomplete(
      `nobody matches ${someOf(unmatched)}; nothing was bought`,
      "correct the filters; allow_unmatched: true takes them as they are",
      "unmatched_value",
    )
    .with({ details: hints });

export async function quoteTool(input: Input<"quote">, world: AgentWorld) {
  const { profiles: limit, again } = input;
  const offer = await heldQuoteFor(
    {
      target: await targetOf(input, () => learnedNetworks(world.context)),
      limit,
      fresh: again === true,
    },
    world,
    input.allow_unmatched,
  );
  const { quote: offered, isTest, target } = offer;
  const rest = world.budget && (await leftOf(world, isTest));
  const why = whyNot(offer, rest);
  const notice = noticeOf(offer);
  const mayBeUnknown = again === true || target.kind === "employees";
  const isUnknown = mayBeUnknown && offered.share === undefined;
  const fresh = (isNewOnly(offered) ? newPeopleIn(offered.share) : undefined) ?? Number.MAX_VALUE;

  return {
    most: leastOrMost(offered, target),
    quote_id: offer.id,
    profiles: Math.min(rowsToBuy(offered), fresh),
    yours: isUnknown
      ? null
      : (offered.share?.owned ?? (target.kind === "enrich" ? offered.kept : 0)),
    paid_again: isUnknown ? null : paidAgain(offered),
    credits: creditsToNumber(offered.credits),
    balance_after: creditsOrNull(offered.balanceAfter),
    budget_left: creditsOrNull(rest),
    allowed: why === undefined,
    ...present({ why_not: why, notice, hints: offer.hints.length > 0 ? offer.hints : undefined }),
    command: offer.command,
    expires: new Date(offer.expiresAt).toISOString(),
  };
}

function noticeOf({ quote: offered, target, said }: HeldQuote): string | undefined {
  const [twice, uncounted] = [paidTwiceText(offered, target), uncountedText(offered, target)];
  const elsewhere = elsewhereText(offered);
  const others = [
    ...said,
    offered.assumed,
    twice && `paid twice: ${twice}`,
    uncounted && `uncounted: ${uncounted}`,
    elsewhere && `owned elsewhere: ${elsewhere}`,
  ];

  const again = paidAgainText(offered, target);
  const first = again && saidAt(again, IN_TOOLS);
  return [first, ...others].filter((each) => each).join("; ") || undefined;
}

function whyNot({ quote: offered }: HeldQuote, rest: Credits | undefined): string | undefined {
  if (rest === undefined)
    return "nothing can be bought here: the server was started without --max-credits";
  const cost = costText(offered);
  if (offered.credits > rest)
    return `it costs ${cost}, and the budget has ${formatCreditsGrouped(rest)} left`;
  const beyond = beyondFunds(offered);
  return beyond && `it costs ${cost}, and ${beyond.said}`;
}

/**
 * Buys what a quote says, in its turn of the budget. What was paid is in a run by then.
 * @throws CliError
 */
export async function buyQuoted(offer: HeldQuote, world: AgentWorld) {
  const { budget, context } = world;
  if (budget === undefined)
    throw usageError("nothing can be bought: no --max-credits was given at the start");

  const { name, per } = budget;
  const turn = {
    folder: join(stateDir(context), "budgets"),
    name: `${name}.lock`,
    what: `the budget "${name}"`,
    onWait: () => undefined,
    continues: ({ run }: { readonly run: string }) => run === offer.continues,
    refusal: { period: `the budget "${name}" (${per})` },
  };

  return await withinBudget(
    budgetOf(budget, world, offer.isTest),
    turn,
    context,
    async (budgetLeft) => {
      let begun: string | undefined;
      const start = ({ run }: { readonly run: string }): void => {
        begun = run;
      };
      try {
        const { receipt, run } = await offer.buy({ budget: name, budgetLeft }, start, world);
        return { receipt, run, budget_left: creditsToNumber(await leftOf(world, offer.isTest)) };
      } catch (error) {
        throw begun === undefined ? error : await withWhatIsKept(error, begun, world);
      }
    },
  );
}

/** A failure with what was paid before it: that is kept, and counts in the budget. */
async function withWhatIsKept(
  error: unknown,
  run: string,
  { context }: AgentWorld,
): Promise<unknown> {
  const summary = await openRuns(context)
    .summary(run)
    .catch(() => undefined);
  if (summary === undefined) return error;

  const failure = failureOf(error);
  const { rows, settled, uncertain, pending } = summary;
  const unsure = uncertain > 0n ? `, ${formatCreditsGrouped(uncertain)} uncertain` : "";
  const open = pending > 0 ? `, ${counted(pending, "request")} without a reply` : "";

  return failure.with({
    details: [
      ...failure.details,
      `run ${run} keeps ${counted(rows, "row")} for ${creditsText(settled)}${unsure}${open}`,
    ],
  });
}
