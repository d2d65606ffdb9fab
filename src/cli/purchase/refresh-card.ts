import { basename } from "node:path";
import { spoken } from "../../app/own/look.ts";
import type { RefreshOrder, RefreshPlan, RefreshReceipt } from "../../app/own/refresh/work.ts";
import { costText } from "../../engine/purchase/quote.ts";
import { creditsOf } from "../../engine/runs/journal.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import {
  type Credits,
  creditsToNumber,
  formatCredits,
  formatCreditsGrouped,
  priceOf,
} from "../../shared/contract/money.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { declined, usageError } from "../../shared/errors.ts";
import { inSeconds } from "../../shared/numbers.ts";
import { sameCommand } from "../arguments/export-options.ts";
import type { Desk, Printer } from "../terminal/printer.ts";

/** Whoever is forgotten is bought where somebody else is new: no filter leaves a person out. */
function forgottenText({ forgotten, leftOut }: RefreshPlan): string {
  if (forgotten === 0) return "";
  if (leftOut) return `, and ${grouped(forgotten)} whom you forgot: not bought`;
  return `, up to ${grouped(forgotten)} of them whom you forgot: paid for, and in no file`;
}

const mostText = (plan: RefreshPlan, credits = plan.most): string => costText({ ...plan, credits });

function entriesOf(plan: RefreshPlan, { terms, verify }: RefreshOrder): [string, string][] {
  const also = terms.buyChanged === true ? ", the changed ones included" : "";
  const more = verify.length > 0 ? ", and more the more people changed" : "";
  return [
    ["segment", counted(plan.total, "person", "people")],
    ["owned", grouped(plan.owned)],
    ["gone", grouped(plan.gone)],
    ["new", `${grouped(plan.others)}${forgottenText(plan)}`],
    ["cost", plan.rows === 0 && also === "" ? "nothing" : `at most ${mostText(plan)}${also}`],
    ["to buy it again", mostText(plan, plan.again)],
    ["free calls", `about ${grouped(plan.calls)}${spoken(plan)}${more}`],
  ];
}

export async function printPlan(
  plan: RefreshPlan,
  order: RefreshOrder,
  printer: Printer,
): Promise<void> {
  if (printer.json) printer.document<"refresh">(planJson(plan, order));
  else await printer.card(entriesOf(plan, order), 2);
}

export function planJson(plan: RefreshPlan, { terms }: RefreshOrder) {
  return {
    count: plan.total,
    owned: plan.owned,
    gone: plan.gone,
    new: plan.others,
    forgotten: plan.forgotten,
    unit_cost: plan.assumed === undefined ? creditsToNumber(plan.unitPrice) : null,
    credits_at_most: creditsToNumber(
      plan.rows === 0 && terms.buyChanged !== true ? priceOf(0, plan.most) : plan.most,
    ),
    rebuy_credits: creditsToNumber(plan.again),
    free_calls: plan.calls,
    rate_limited_seconds: inSeconds(plan.ms),
  };
}

/**
 * Consent, before more is looked at.
 * @throws CliError exit 2 where nobody can be asked, 10 where declined
 */
export async function agreeToRefresh(
  plan: RefreshPlan,
  order: RefreshOrder,
  { context, options, printer }: Desk<{ readonly yes?: boolean }>,
): Promise<void> {
  if (options.yes === true) return;

  const who =
    order.terms.again === true
      ? `the whole segment again, ${counted(plan.total, "person", "people")},`
      : `about ${counted(plan.others, "new person", "new people")}${forgottenText(plan)}`;
  const what = `${who} for at most ${mostText(plan)}`;

  await askFor(what, plan.most, order, context, async () => {
    await printer.noteCard(entriesOf(plan, order));
    printer.note(
      "It counts beginnings of names and values within this " +
        "segment to find them, and buys what it finds.",
    );
  });
}

/** @param show what a person sees before the question @throws CliError as {@link agreeToRefresh} */
export async function askFor(
  what: string,
  most: Credits,
  order: RefreshOrder,
  context: Context,
  show: () => Promise<void> = async () => undefined,
): Promise<void> {
  const asks = canPrompt(context);
  if (!asks && order.terms.maxCredits !== undefined) return;
  if (!asks) {
    throw usageError(
      `this buys ${what}, and there is no terminal to ask at; nothing was spent`,
      sameCommand(context, "--max-credits", formatCredits(most)),
      "consent_needed",
    );
  }

  await show();
  if (!(await context.confirm(`Buy ${what}? [y/N]`))) throw declined("declined; nothing was spent");
}

/** What a person does not see in the files, and pays for. */
function unseenText({
  bought_again: again,
  bought_suppressed: bought,
  forgotten,
  suppressed,
}: RefreshReceipt): string {
  const parts = [
    again === 0
      ? ""
      : `${grouped(again)} of those bought ${again === 1 ? "was" : "were"} yours already`,
    forgotten === 0 ? "" : `${grouped(forgotten)} whom you forgot: not bought`,
    suppressed === 0
      ? ""
      : `${grouped(suppressed)} suppressed: ` +
        `in no file${bought === 0 ? "" : `, ${grouped(bought)} of them bought now`}`,
  ].filter((part) => part !== "");
  return parts.map((part) => `; ${part}`).join("");
}

/** What was not looked for is not said to be none. */
function changedText({ changed, not_checked: left, verified }: RefreshReceipt): string {
  const rest = left === 0 ? "" : ` of what could be compared (${counted(left, "value")} could not)`;
  if (verified.length > 0) return `${grouped(changed)} changed${rest}`;
  const prefix = changed === 0 ? "" : `${grouped(changed)} changed by what was bought meanwhile, `;
  return `${prefix}changes not looked for (--verify-fields)`;
}

/** Where somebody is: a file with nobody is not named. */
const inFile = ({ file, rows }: RefreshReceipt["files"]["added"]): string =>
  rows === 0 ? "" : ` (${basename(file)})`;

export function printRefreshed(receipt: RefreshReceipt, name: string, printer: Printer): void {
  if (printer.json) printer.document<"refresh">(receipt);
  const { list, added, removed, changed } = receipt.files;
  const credits = (amount: number): string => formatCreditsGrouped(creditsOf(amount));
  printer.say(
    `${name}: ${counted(list.rows, "person", "people")}, ${grouped(added.rows)} added` +
      `${inFile(added)}, ${grouped(removed.rows)} removed${inFile(removed)}, ` +
      `${changedText(receipt)}${inFile(changed)}; ` +
      `${credits(receipt.credits)} ${receipt.credits === 1 ? "credit" : "credits"} ` +
      `(${credits(receipt.rebuy_credits)} to buy it again), ` +
      `${counted(receipt.free_calls, "free call")}${unseenText(receipt)}`,
  );
}
