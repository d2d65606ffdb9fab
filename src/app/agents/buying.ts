import { join } from "node:path";
import { stateDir } from "../../engine/connections/paths.ts";
import type { Receipt } from "../../engine/purchase/receipt.ts";
import { type Credits, creditsToNumber, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { usageError } from "../../shared/errors.ts";
import { buy } from "../buy/buy.ts";
import { worldOf } from "../buy/order.ts";
import { failureOf } from "../failures.ts";
import { withinBudget } from "../jobs/named-budget.ts";
import type { HeldQuote } from "./quotes.ts";
import { type AgentWorld, budgetOf, leftOf, runsOf, withinFolder, withService } from "./world.ts";

export interface Purchased {
  readonly receipt: Receipt;
  readonly run: string;
  /** Undefined where nothing is kept of it any more. */
  readonly left: Credits;
}

/** Buys what a quote says, in its turn of the budget. What was paid is in a run by then. @throws CliError */
export async function buyQuoted(held: HeldQuote, world: AgentWorld, signal: AbortSignal): Promise<Purchased> {
  const { budget, context } = world;
  if (budget === undefined) throw usageError("nothing can be bought: no --max-credits was given at the start");
  const inner = withinFolder(world, signal);
  const turn = {
    ...{ folder: join(stateDir(context), "budgets"), name: `${budget.name}.lock`, what: `the budget "${budget.name}"` },
    onWait: () => undefined,
    continues: ({ run }: { readonly run: string }) => run === held.continues,
    refusal: {
      period: `the budget "${budget.name}" (${budget.per})`,
      hint: `a person may buy it: ${held.command}`,
    },
  };
  return await withinBudget(budgetOf(budget, budget.cap, world, held.isTest), turn, inner, async (budgetLeft) => {
    const { quotation } = held;
    const order = { ...quotation.order, budget: budget.name, budgetLeft };
    let begun: string | undefined;
    const start = ({ run }: { readonly run: string }): void => {
      begun = run;
    };
    try {
      const { receipt, run } = await withService(world, signal, (session, context) =>
        buy({ ...quotation, order }, worldOf(session, context), { start }),
      );
      return { receipt, run, left: await leftOf(world, held.isTest) };
    } catch (error) {
      throw begun === undefined ? error : await withWhatIsKept(error, begun, world);
    }
  });
}

/** A failure with what was paid before it: that is kept, and counts in the budget. */
async function withWhatIsKept(error: unknown, run: string, world: AgentWorld): Promise<unknown> {
  const summary = await runsOf(world)
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
