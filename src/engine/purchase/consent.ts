// Tested by test/cli/consent.test.ts.
import type { Credits } from "../../shared/contract/money.ts";
import type { OwnCommand } from "../../shared/errors.ts";
import { checkRows } from "../output/formats.ts";
import type { Inquiry } from "./order.ts";
import {
  elsewhereText,
  overlapWarning,
  paidAgainText,
  type Quote,
  requireBalance,
  requireBudget,
  requireSame,
} from "./quote.ts";

/**
 * Refuses what cannot be paid or written, says what is
 * paid for again, and asks for consent. @throws CliError
 * @param isWithin of a run that goes on: whether so much was agreed to when it began
 * @param spent what it has cost already
 * @param around what buys only new people, where that is no option of the command that is typed
 */
export async function agreeTo(
  quote: Quote,
  { target, options, deps }: Pick<Inquiry, "target" | "options" | "deps">,
  {
    rows,
    said,
    isWithin,
    spent,
    around,
  }: {
    readonly rows: number;
    readonly said: readonly string[];
    readonly isWithin?: boolean;
    readonly spent?: Credits;
    readonly around?: OwnCommand | undefined;
  },
): Promise<void> {
  if (options.agreed !== undefined) requireSame(options.agreed, quote);
  requireBalance(quote, target);
  requireBudget(quote, options.budgetLeft, spent);
  await checkRows(
    rows,
    options.output,
    options,
    `; nothing ${isWithin === undefined ? "" : "more "}was spent`,
  );
  for (const line of said) deps.onNotice(line);

  const again = options.fresh ? undefined : paidAgainText(quote, target, around);
  if (again !== undefined) deps.onWarning(`warning: ${again}`);
  const elsewhere = elsewhereText(quote);
  if (elsewhere !== undefined) deps.onWarning(`warning: some are owned already: ${elsewhere}`);
  if ((quote.overlap ?? 0) > 0) deps.onWarning(overlapWarning(quote));

  const isAgreed = isWithin !== undefined && (isWithin || quote.credits === 0n);
  if (options.agreed === undefined && !isAgreed) await deps.consent(quote, isWithin !== undefined);
}
