import { join } from "node:path";
import { buy } from "../../cli/purchase/buy.ts";
import { stateDir } from "../../engine/connections/paths.ts";
import { offerOf } from "../../engine/purchase/offer.ts";
import type { ExportDeps, ExportOptions } from "../../engine/purchase/order.ts";
import { runExport } from "../../engine/purchase/purchase.ts";
import type { Receipt } from "../../engine/purchase/receipt.ts";
import { type Credits, creditsToNumber, formatCredits, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { type CliError, declined, usageError } from "../../shared/errors.ts";
import { failureOf } from "../failures.ts";
import { withinBudget } from "../jobs/named-budget.ts";
import type { HeldQuote } from "./quotes.ts";
import { budgetOf, leftOf, orderOf, quietContext, storeOf, type World } from "./world.ts";

export interface Purchased {
  readonly receipt: Receipt;
  readonly run: string;
  /** Undefined where nothing is kept of it any more. */
  readonly left: Credits;
}

/** Buys what a quote says, in its turn of the budget. What was paid is in a run by then. @throws CliError */
export async function buyQuoted(held: HeldQuote, world: World, signal: AbortSignal): Promise<Purchased> {
  const { budget, context } = world;
  if (budget === undefined) throw usageError("nothing can be bought: no --max-credits was given at the start");
  const inner = quietContext(world, signal);
  const turn = {
    ...{ folder: join(stateDir(context), "budgets"), name: `${budget.name}.lock`, what: `the budget "${budget.name}"` },
    onWait: () => undefined,
    continues: ({ run }: { readonly run: string }) => run === held.continues,
    refusal: {
      period: `the budget "${budget.name}" (${budget.per})`,
      hint: `a person may buy it: ${held.command}`,
    },
  };
  return await withinBudget(budgetOf(budget, budget.cap, world, held.isTest), turn, inner, async (left) => {
    const { target, quote, limit } = held;
    const { flags, view } = orderOf(target, limit, quote.total, world);
    let begun: string | undefined;
    const onRun = (run: string): void => {
      begun = run;
    };
    const export_ = (deps: ExportDeps) => exportQuoted(held, { ...view, budget: budget.name, budgetLeft: left }, deps);
    try {
      const result = await buy({ target, flags, view, buy: export_, onRun }, inner);
      if (result?.kind !== "finished") throw new Error("a purchase ended without a receipt");
      return { receipt: result.receipt, run: result.run, left: await leftOf(world, held.isTest) };
    } catch (error) {
      throw begun === undefined ? error : await withWhatIsKept(error, begun, world);
    }
  });
}

async function exportQuoted({ target, quote, datasetVersion }: HeldQuote, view: ExportOptions, deps: ExportDeps) {
  const offer = await offerOf(target, await deps.seller.client.account(deps.interrupted), deps);
  const bound = { ...view, offer };
  const again = await runExport(target, { ...bound, dryRun: true }, deps);
  const price = (each: typeof quote): string => formatCredits(each.unitPrice);
  if (datasetVersion !== offer.datasetVersion)
    throw changed(`the dataset was ${datasetVersion ?? "unnamed"} and is ${offer.datasetVersion ?? "unnamed"}`);
  if (price(again.quote) !== price(quote)) throw changed(`the price was ${price(quote)} and is ${price(again.quote)}`);
  if (again.quote.credits !== quote.credits || again.quote.rows !== quote.rows)
    throw changed(
      `it was ${formatCreditsGrouped(quote.credits)} credits and is ${formatCreditsGrouped(again.quote.credits)}`,
    );
  return await runExport(target, bound, deps);
}

const changed = (what: string): CliError =>
  declined(`${what} since the quote; nothing was spent`, "ask for a new one with the tool quote", "quote_changed");

/** A failure with what was paid before it: that is kept, and counts in the budget. */
async function withWhatIsKept(error: unknown, run: string, world: World): Promise<unknown> {
  const summary = await storeOf(world)
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
      `run ${run} keeps ${counted(rows, "row")} for ${formatCreditsGrouped(settled)} credits${unsure}${open}; a new quote for the same goes on with it`,
    ],
  });
}

export const purchaseDocument = ({ receipt, run, left }: Purchased) => ({
  run,
  profiles: receipt.distinct,
  credits: receipt.credits,
  complete: receipt.shortfall === null,
  budget_left: creditsToNumber(left),
});
