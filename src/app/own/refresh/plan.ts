import { costOf } from "../../../engine/planning/cost.ts";
import type { Counts } from "../../../engine/planning/question.ts";
import { type BoughtParts, verifyCalls } from "../../../engine/planning/verify.ts";
import { costText, requireBudget } from "../../../engine/purchase/quote.ts";
import {
  affordableRows,
  creditsText,
  creditsToNumber,
  formatCredits,
  minCredits,
  priceOf,
  ZERO,
} from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import {
  type CliError,
  type CodeOf,
  clauses,
  failed,
  option,
  type Sentence,
  say,
} from "../../../shared/errors.ts";
import { CALLS_PER_CREDIT } from "../bounds.ts";
import { countingTime, type Sight, spoken } from "../look.ts";
import {
  profilePrice,
  type RefreshPlan,
  type RefreshResult,
  type RefreshTerms,
  type Work,
} from "./work.ts";

type Survey = {
  sight: Sight;
  partsOf: BoughtParts;
  counts: Counts;
  finished: RefreshResult | undefined;
};

/** @throws CliError exit 4 where it takes more credits or calls than allowed */
export async function refreshPlanOf(
  { sight, partsOf, counts, finished }: Survey,
  work: Work,
): Promise<RefreshPlan> {
  const { order, account, deps } = work;
  const { buyChanged, maxCredits } = order.terms;
  const { price, assumed } = profilePrice(account);
  if (assumed !== undefined) deps.onNotice(`warning: ${assumed}`);

  const anew = order.terms.again === true;
  const about = await costOf(sight, anew ? 0 : CALLS_PER_CREDIT);
  const { total, others, present, forgotten } = sight;
  const calls = counts.calls + about.calls + verifyCalls(order.verify, sight, partsOf, counts);
  const worth = maxCredits === undefined ? about.rows : affordableRows(maxCredits, price);
  const rows = anew ? total : others === 0 ? 0 : Math.min(total, worth);

  const plan = {
    unitPrice: price,
    assumed,
    total,
    owned: present,
    gone: goneOf(sight),
    others,
    forgotten: forgotten.people,
    leftOut: forgotten.leftOut,
    rows,
    most: (buyChanged === true ? maxCredits : undefined) ?? priceOf(rows, price),
    calls,
    ms: countingTime(calls, account, deps),
    again: priceOf(total, price),
  };

  requireAllowed(plan, about.rows, finished, order.terms);
  if (plan.rows > 0 || buyChanged === true)
    requireBudget({ credits: plan.most, total: plan.most }, order.terms.budgetLeft);
  return plan;
}

/** Who is owned of the list and not there: by the sketch, else those who were asked for. */
function goneOf({ sketch, chunks, groups, present }: Sight): number {
  if (sketch !== undefined) return sketch.leavers.length;
  const sizes = [
    ...chunks.map(({ items }) => items.length),
    ...groups.map(({ people }) => people.length),
  ];
  return sizes.reduce((sum, each) => sum + each, 0) - present;
}

/**
 * @param about rows that it takes to find who is new
 * @throws CliError exit 4 where it takes more credits or calls than allowed
 */
function requireAllowed(
  plan: RefreshPlan,
  about: number,
  finished: RefreshResult | undefined,
  { again, maxCredits, maxCalls }: RefreshTerms,
): void {
  const { unitPrice: price, total, others, calls } = plan;
  const pays =
    maxCredits === undefined ? Number.POSITIVE_INFINITY : affordableRows(maxCredits, price);
  const anew = again === true;

  if (anew && total > pays) {
    throw over(
      "over_cap",
      say`the whole segment costs ${costText({ assumed: plan.assumed, credits: plan.again })}, and
        ${option("max_credits")} is ${formatCredits(maxCredits ?? price)}`,
      clauses(
        say`${option("max_credits", creditsToNumber(plan.again))} buys it again`,
        say`without ${option("again")} only who is new is paid for`,
      ),
    );
  }

  if (others > pays) {
    throw over(
      "over_cap",
      say`${counted(others, "person is", "people are")} new, and
        ${option("max_credits", creditsToNumber(maxCredits ?? price))} pays for ${grouped(pays)}`,
      say`${option("max_credits", creditsToNumber(priceOf(Math.max(others, about), price)))}
        brings the list up to date`,
    );
  }

  if (calls > maxCalls) {
    throw over(
      "over_calls",
      say`this takes about ${counted(calls, "free call")}${spoken(plan)}, more than
        ${option("max_calls", maxCalls)}`,
      say`${option("max_calls", Math.ceil(calls * 1.25))} brings the list up to date for at most
        ${creditsText(minCredits(plan.again, plan.most))}`,
    );
  }

  function over(code: CodeOf<"credits">, message: Sentence, hint: Sentence): CliError {
    const nothing =
      finished === undefined || finished.spent === ZERO
        ? "nothing was spent"
        : `nothing was spent beside the ${creditsText(finished.spent)} ` +
          `that finished run ${finished.run}`;
    const cost = creditsText(plan.again);
    const whole = say`${option("again")} buys the whole segment again for ${cost}`;
    const details = anew ? [] : [whole];
    return failed.credits(say`${message}; ${nothing}`, hint, code).with({ details });
  }
}
