import { failureOf } from "../../app/failures.ts";
import { isNewOnly } from "../../engine/purchase/owned.ts";
import { newPeopleIn } from "../../engine/purchase/ownership.ts";
import { costsAtMost, costText, type Quote, rowsToBuy } from "../../engine/purchase/quote.ts";
import type { Target } from "../../engine/runs/plan.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import { formatCredits, ONE_CREDIT } from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { declined, EXIT, usageError } from "../../shared/errors.ts";
import { sameCommand } from "../arguments/export-options.ts";
import type { Printer } from "../terminal/printer.ts";
import type { ParsedPurchase } from "./purchase.ts";
import { quoteEntries, wordingOf } from "./quote-card.ts";

/**
 * Consent to a quote: `--yes`, the cap where nobody
 * can be asked, a small look-up, or a person's `y`.
 */
export async function askConsent(
  {
    quote,
    resuming,
    target,
  }: { readonly quote: Quote; readonly resuming: boolean; readonly target: Target },
  { flags, small }: ParsedPurchase,
  printer: Printer,
  context: Context,
): Promise<void> {
  const asks = canPrompt(context);
  if (flags.yes === true || (!asks && flags.maxCredits !== undefined)) return;
  if (small === true && costsAtMost(quote, ONE_CREDIT)) return;

  const { one, many } = wordingOf(target);
  const price = costText(quote);
  const fresh = isNewOnly(quote) && !resuming ? newPeopleIn(quote.share) : undefined;
  const what =
    fresh === undefined
      ? `${counted(rowsToBuy(quote), one, many)} for ${price}`
      : `${counted(fresh, `new ${one}`, `new ${many}`)} for at most ${price}`;
  const spent = quote.kept > 0 ? "nothing more was spent" : "nothing was spent";

  if (!asks) {
    throw usageError(
      `this buys up to ${what}, and there is no terminal to ask at; ${spent}`,
      sameCommand(context, "--max-credits", formatCredits(quote.total)),
      "consent_needed",
    );
  }

  await printer.noteCard(quoteEntries(quote, target, false));

  const agreed = await context
    .confirm(`${resuming ? "Go on and export" : "Export"} ${what}? [y/N]`)
    .catch((error) => {
      const failure = failureOf(error);
      throw failure.exitCode === EXIT.interrupted
        ? failure.with({ message: `${failure.message}; ${spent}` })
        : error;
    });
  if (!agreed) throw declined(`declined; ${spent}`);
}
