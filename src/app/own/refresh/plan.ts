import { sameCommand } from "../../../cli/arguments/export-options.ts";
import { costOf, countingMs } from "../../../engine/planning/cost.ts";
import type { Presence } from "../../../engine/planning/presence.ts";
import type { Counts, Member } from "../../../engine/planning/question.ts";
import { overBudget } from "../../../engine/purchase/quote.ts";
import { type Bought, verifyCalls } from "../../../engine/purchase/refresh.ts";
import { canPrompt } from "../../../shared/context.ts";
import {
  affordableRows,
  type Credits,
  creditsText,
  creditsToNumber,
  formatCredits,
  formatCreditsGrouped,
  minCredits,
  priceOf,
  ZERO,
} from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import { CliError, declined, usageError } from "../../../shared/errors.ts";
import { duration } from "../../../shared/numbers.ts";
import type { Forgotten } from "../../keep/forgotten.ts";
import type { Finished, RefreshFlags, Work } from "./work.ts";

/** What a refresh will do at most, told before anything finer than the segment itself is counted. */
export interface Plan {
  readonly total: number;
  /** People in the segment who are owned. */
  readonly owned: number;
  /** People who are owned and no longer in the segment. */
  readonly gone: number;
  readonly others: number;
  /** People whom you forgot: beside the others where `leftOut`, else perhaps among them, at most so many. */
  readonly forgotten: number;
  readonly leftOut: boolean;
  /** Rows to buy for the new people, at most. */
  readonly rows: number;
  /** Credits, at most. */
  readonly most: Credits;
  /** Free calls in all, about. */
  readonly calls: number;
  /** What they take at the share of the rate limit that is used. */
  readonly ms: number;
  /** What buying the whole segment again costs. */
  readonly again: Credits;
}

interface Looked {
  readonly look: Presence;
  readonly members: readonly Member[];
  readonly bought: Bought;
  readonly counts: Counts;
  readonly forgotten: Forgotten;
  /** What was begun before, and the same command finished. */
  readonly finished: Finished | undefined;
}

/** @throws CliError exit 4 where it takes more credits or calls than allowed: with what that would be, and what buying anew costs */
export async function planOf(
  { look, members, bought, counts, forgotten, finished }: Looked,
  work: Work,
): Promise<Plan> {
  const { order, account, session } = work;
  const { buyChanged, maxCredits, maxCalls, callsPerCredit } = order.flags;
  const price = account.costs.personSearch;
  const about = await costOf({ ...look, members, listSize: counts.listSize }, callsPerCredit);
  const { total, others, present } = look;
  const pays = maxCredits === undefined ? Number.POSITIVE_INFINITY : affordableRows(maxCredits, price);
  const again = priceOf(total, price);
  const calls = counts.calls + about.calls + verifyCalls(order.verify, members, bought, counts);
  const rows = Math.min(total, maxCredits === undefined ? about.rows : pays);
  const asked = [...look.chunks.map(({ items }) => items.length), ...look.groups.map(({ people }) => people.length)];
  const plan = {
    total,
    owned: present,
    gone: asked.reduce((sum, each) => sum + each, 0) - present,
    others,
    forgotten: forgotten.people,
    leftOut: forgotten.leftOut,
    rows,
    most: (buyChanged === true ? maxCredits : undefined) ?? priceOf(rows, price),
    calls,
    ms: countingMs(calls, account.perMinute ?? session.pacer.perMinute()),
    again,
  };
  const nothing =
    finished === undefined || finished.spent === ZERO
      ? "nothing was spent"
      : `nothing was spent beside the ${creditsText(finished.spent)} that finished run ${finished.run}`;
  if (others > pays) {
    throw over(
      "over_cap",
      `${counted(others, "person is", "people are")} new, and --max-credits ${formatCredits(maxCredits ?? price)} pays for ${grouped(pays)}; ${nothing}`,
      plan,
      `--max-credits ${formatCredits(priceOf(Math.max(others, about.rows), price))} brings the list up to date`,
    );
  }
  if (calls > maxCalls) {
    throw over(
      "over_calls",
      `this takes about ${grouped(calls)} free calls${spoken(plan)}, more than --max-calls ${maxCalls}; ${nothing}`,
      plan,
      `--max-calls ${Math.ceil(calls * 1.25)} brings the list up to date for at most ${formatCreditsGrouped(minCredits(again, plan.most))} credits; a smaller --calls-per-credit takes fewer calls and more credits`,
    );
  }
  return plan;
}

const spoken = ({ ms }: Pick<Plan, "ms">): string => (ms === 0 ? "" : `, ${duration(ms)} at the rate limit,`);

const over = (code: string, message: string, { again }: Pick<Plan, "again">, hint: string): CliError =>
  new CliError({
    code,
    category: "credits",
    message,
    details: [`--calls-per-credit 0 buys the whole segment again for ${formatCreditsGrouped(again)} credits`],
    hint,
  });

/** Whoever is forgotten is bought where somebody else is new: no filter leaves a person out. */
function forgottenText({ forgotten, leftOut }: Plan): string {
  if (forgotten === 0) return "";
  if (leftOut) return `, and ${grouped(forgotten)} whom you forgot: not bought`;
  return `, up to ${grouped(forgotten)} of them whom you forgot: paid for, and in no file`;
}

function entriesOf(plan: Plan, { order }: Work): [string, string][] {
  const also = order.flags.buyChanged === true ? ", the changed ones included" : "";
  return [
    ["segment", counted(plan.total, "person", "people")],
    ["owned", grouped(plan.owned)],
    ["gone", grouped(plan.gone)],
    ["new", `${grouped(plan.others)}${forgottenText(plan)}`],
    ["cost", plan.others === 0 && also === "" ? "nothing" : `at most ${creditsText(plan.most)}${also}`],
    ["to buy it again", creditsText(plan.again)],
    ["free calls", `about ${grouped(plan.calls)}${spoken(plan).replace(/,$/, "")}`],
  ];
}

/** `--dry-run`. */
export async function printPlan(plan: Plan, work: Work): Promise<void> {
  const { printer } = work;
  if (!printer.json) return printer.card(entriesOf(plan, work), 2);
  printer.document({
    count: plan.total,
    owned: plan.owned,
    gone: plan.gone,
    new: plan.others,
    forgotten: plan.forgotten,
    credits_at_most: creditsToNumber(
      plan.others === 0 && work.order.flags.buyChanged !== true ? priceOf(0, plan.most) : plan.most,
    ),
    rebuy_credits: creditsToNumber(plan.again),
    free_calls: plan.calls,
    rate_limited_seconds: plan.ms / 1_000,
  });
}

/** @throws CliError exit 4 where it may pass a budget */
export function requireBudgetFor(plan: Plan, { budgetLeft, buyChanged }: RefreshFlags): void {
  if (budgetLeft === undefined || (plan.others === 0 && buyChanged !== true)) return;
  if (plan.most > budgetLeft) throw overBudget(plan.most, budgetLeft, ZERO);
}

/** Consent to the purchase, before anything is looked at more closely. @throws CliError exit 2 where nobody can be asked, 10 where declined */
export async function agree(plan: Plan, work: Work): Promise<void> {
  const { order, context, printer } = work;
  const { yes, maxCredits } = order.flags;
  if (plan.others === 0) return;
  const asks = canPrompt(context);
  if (yes === true || (!asks && maxCredits !== undefined)) return;
  const what = `about ${counted(plan.others, "new person", "new people")}${forgottenText(plan)} for at most ${creditsText(plan.most)}`;
  if (!asks) {
    throw usageError(
      `this buys ${what}, and there is no terminal to ask at; nothing was spent`,
      sameCommand(context, "--max-credits", formatCredits(plan.most)),
      "consent_needed",
    );
  }
  await printer.noteCard(entriesOf(plan, work));
  printer.note("It counts beginnings of names and values within this segment to find them, and buys what it finds.");
  if (await context.confirm(`Buy ${what}? [y/N]`)) return;
  throw declined("declined; nothing was spent");
}
