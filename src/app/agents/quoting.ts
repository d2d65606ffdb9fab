import { isNarrowed, newPeopleIn } from "../../engine/purchase/owned.ts";
import { rowsToBuy } from "../../engine/purchase/quote.ts";
import type { Target } from "../../engine/runs/plan.ts";
import type { Context } from "../../shared/context.ts";
import { type Credits, creditsOrNull, creditsToNumber, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { CliError } from "../../shared/errors.ts";
import { quote } from "../buy/buy.ts";
import { worldOf } from "../buy/order.ts";
import { ARGUMENTS, hintsFor, Questions } from "../count/hints.ts";
import type { Session } from "../session.ts";
import type { HeldQuote } from "./quotes.ts";
import type { Given } from "./schemas.ts";
import { personsCommand, targetOf } from "./targets.ts";
import { type AgentWorld, leftOf, withService } from "./world.ts";

/** Free calls that looking for new people may take: an agent waits for them. */
const LOOKING = { maxCalls: 500 };

export interface QuoteRequest {
  readonly target: Target;
  readonly limit?: number | undefined;
  /** Whether what is owned is bought anew. */
  readonly again?: boolean | undefined;
}

/** Prices what is wanted as a purchase of it would, and keeps that for ten minutes. Free. @throws CliError */
export async function quoteFor(wanted: QuoteRequest, world: AgentWorld, signal: AbortSignal): Promise<HeldQuote> {
  const { target, limit, again = false } = wanted;
  const order = { target, limit, fresh: again, tellOwned: !again, looking: LOOKING };
  const look = async (session: Session, context: Context) => {
    const quotation = await quote(order, worldOf(session, context));
    const questions = new Questions(session.client, context.interrupted, ARGUMENTS);
    const matches = quotation.quote.matches ?? Number.POSITIVE_INFINITY;
    const { hints } = target.kind === "search" ? await hintsFor(target.filters, matches, questions) : { hints: [] };
    return { quotation, hints, connection: session.connectionName };
  };
  const { quotation, hints, connection } = await withService(world, signal, look).catch((error: unknown) => {
    if (!(error instanceof CliError) || error.code !== "unbounded_purchase") throw error;
    throw error.with({ hint: "give profiles, or per_company" });
  });
  const { account, continues, quote: offered } = quotation;
  const isTest = account.keyMode === "test";
  const bounds = { limit, credits: offered.total, again };
  const command = personsCommand(quotation.order.target, connection, world.connecting, bounds);
  return world.quotes.keep({
    target: quotation.order.target,
    quote: offered,
    quotation,
    isTest,
    continues,
    command,
    hints,
  });
}

/** The tool `quote`. */
export async function quoteTool(given: Given<"quote">, world: AgentWorld, signal: AbortSignal) {
  const { profiles: limit, again } = given;
  const held = await quoteFor({ target: targetOf(given), limit, again }, world, signal);
  const { quote, isTest, target } = held;
  const left = world.budget === undefined ? undefined : await leftOf(world, isTest);
  const why = whyNot(held, left);
  return {
    quote_id: held.id,
    profiles: Math.min(
      rowsToBuy(quote),
      (isNarrowed(target) ? newPeopleIn(quote.known) : undefined) ?? Number.MAX_VALUE,
    ),
    yours: target.kind === "enrich" ? quote.kept : (quote.known?.owned ?? 0),
    credits: creditsToNumber(quote.credits),
    balance_after: creditsOrNull(quote.balanceAfter),
    budget_left: creditsOrNull(left),
    allowed: why === undefined,
    ...(why === undefined ? {} : { why_not: why }),
    ...(held.hints.length === 0 ? {} : { hints: held.hints }),
    command: held.command,
    expires: new Date(held.expiresAt).toISOString(),
  };
}

function whyNot({ quote }: HeldQuote, left: Credits | undefined): string | undefined {
  const { credits, balance } = quote;
  if (left === undefined) return "nothing can be bought here: the server was started without --max-credits";
  if (credits > left)
    return `it costs ${formatCreditsGrouped(credits)} credits, and the budget has ${formatCreditsGrouped(left)} left`;
  if (balance !== undefined && credits > balance)
    return `it costs ${formatCreditsGrouped(credits)} credits, and the balance is ${formatCreditsGrouped(balance)}`;
  return undefined;
}
