// Tested by test/cli/vendor-counts.test.ts.
import { buy } from "../../../app/buy/buy.ts";
import { worldOf } from "../../../app/buy/order.ts";
import { countBought } from "../../../app/count/bought.ts";
import type { CountedSegment } from "../../../app/count/hints.ts";
import { canPrompt } from "../../../shared/context.ts";
import type { CheckedFilters } from "../../../shared/contract/filters.ts";
import { type Credits, creditsText, formatCredits } from "../../../shared/contract/money.ts";
import { declined, failed, option, say, usageError } from "../../../shared/errors.ts";
import { sameCommand } from "../../arguments/export-options.ts";
import { type CountDesk, pricesFor, tell } from "./one.ts";

/** @returns nobody of whom hints would be looked for: those are found by counts */
export async function countPaid(
  segment: CheckedFilters,
  desk: CountDesk,
): Promise<readonly CountedSegment[]> {
  const { context, options, session } = desk;
  const agree = (price: Credits): Promise<void> => agreeToCount(price, desk);
  const terms = { maxCredits: options.maxCredits, agree, buy };

  const count = await countBought(segment, terms, worldOf(session, context));
  await tell({ count }, await pricesFor(desk), segment.filters, desk);
  if (count === 0 && options.strict === true)
    throw failed.incomplete(say`nobody matches (${option("strict")})`);
  return [];
}

async function agreeToCount(price: Credits, { context, options }: CountDesk): Promise<void> {
  const asks = canPrompt(context);
  if (options.yes === true || (!asks && options.maxCredits !== undefined)) return;

  const cost = creditsText(price);
  if (!asks)
    throw usageError(
      `this count costs ${cost}, and there is no terminal to ask at; nothing was spent`,
      sameCommand(context, "--max-credits", formatCredits(price)),
      "consent_needed",
    );
  if (!(await context.confirm(`Count for ${cost}? [y/N]`)))
    throw declined("declined; nothing was spent");
}
