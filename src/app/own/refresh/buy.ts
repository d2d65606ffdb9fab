import { boughtBefore, identitiesIn } from "../../../engine/library/members.ts";
import { type Leaf, partsOf } from "../../../engine/planning/descent.ts";
import { quoteOfRest } from "../../../engine/purchase/continue.ts";
import { PAGE_TWICE } from "../../../engine/purchase/failures.ts";
import { endStale, stillOpen } from "../../../engine/purchase/inquiry.ts";
import { openRun } from "../../../engine/purchase/locks.ts";
import { runIdentityOf } from "../../../engine/purchase/offer.ts";
import type { ExportOptions, Trade } from "../../../engine/purchase/order.ts";
import { payerOf } from "../../../engine/purchase/world.ts";
import { creditsOf, pendingUnits } from "../../../engine/runs/journal.ts";
import type { Target } from "../../../engine/runs/plan.ts";
import { canonicalJson } from "../../../shared/contract/filters.ts";
import {
  type Credits,
  credits,
  creditsText,
  creditsToNumber,
  formatCredits,
  formatCreditsGrouped,
  maxCredits as maxOf,
  priceOf,
  ZERO,
} from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import { CliError, failed, option, say } from "../../../shared/errors.ts";
import { optionsOf } from "../../buy/order.ts";
import { buyExport, continueRun } from "../../buy/purchase.ts";
import { libraryOf } from "./begin.ts";
import type { Followed } from "./list.ts";
import { capOf, profilePrice, type RefreshResult, type Work } from "./work.ts";

/** Whoever was bought since is owned, too. */
export async function takeIn(work: Work): Promise<void> {
  const library = await libraryOf(work);
  work.latest.library.close();
  work.latest.library = library;
}

const targetOf = ({ filters, canonical }: Followed, { order: { output = "" } }: Work): Target => ({
  kind: "search",
  filters,
  canonical: canonicalJson(canonical),
  list: output,
});

const optionsFor = (
  target: Target,
  { order: { terms } }: Work,
  maxCredits: Credits | undefined,
): ExportOptions =>
  optionsOf({
    target,
    allowEmpty: true,
    job: terms.job,
    budgetLeft: maxCredits === undefined ? terms.budgetLeft : undefined,
    perPage: terms.perPage,
    wait: terms.wait === true,
    maxCredits,
  });

/** The people are no longer those that were counted. */
const FEWER = ["incomplete", "dataset_moved", PAGE_TWICE];

/**
 * Where the service has fewer people by now the run is let go of.
 * @throws CliError exit 4 over `maxCredits`
 */
export async function finishRest(list: Followed, work: Work): Promise<RefreshResult | undefined> {
  const { account, deps, store, events, order } = work;
  const { maxCredits: most } = order.terms;
  const target = targetOf(list, work);
  const identity = runIdentityOf(target, null, account, deps.seller);
  const entry = await store.findOpen(identity);
  if (entry === undefined) return undefined;

  const options = optionsFor(target, work, undefined);
  const trade = { store, account, options, deps };
  const open = await stillOpen({ ...trade, identity }, true);
  if (open === undefined) return { run: entry.id, spent: ZERO, rows: 0 };

  const before = await standingOf(open.id, trade);
  const { spent, rest } = before;
  if (most !== undefined && rest > most) {
    throw failed.credits(
      say`run ${open.id}, which was begun for this list, may cost ${creditsText(rest)} more, and
        ${option("max_credits")} is ${formatCredits(most)}; nothing was spent`,
      say`${option("max_credits", creditsToNumber(rest))} finishes it first`,
      "over_cap",
    );
  }
  if (rest > 0n) await events.agreeToRest(open.id, rest);

  const maxCredits = maxOf(before.total, credits(spent + (capOf(order.terms) ?? ZERO)));
  const after = await goOn(open.id, spent, { ...trade, options: { ...options, maxCredits } });
  await takeIn(work);

  const { database } = work.latest.library;
  const run = { run: open.id, at: Date.parse(open.created_at) };
  const again = boughtBefore(database, identitiesIn(database, run), run);
  return {
    ...run,
    spent: credits(after.spent - spent),
    rows: after.rows - before.rows,
    again: again.size,
  };
}

async function standingOf(id: string, trade: Trade) {
  const run = await trade.store.open(id);
  const uncapped = { ...trade, options: { ...trade.options, maxCredits: undefined } };
  const { total, spent, credits: rest } = quoteOfRest(run, uncapped);
  return {
    rows: run.state.rows,
    spent,
    rest,
    // With room for an answer without rows, where one was charged.
    total,
    isOpen: pendingUnits(run.state).length > 0,
  };
}

/** Asks once more for a page that was lost, where the cap has room beside what is booked of it. */
async function goOn(id: string, spentBefore: Credits, trade: Trade): ReturnType<typeof standingOf> {
  try {
    await continueRun(await openRun(id, trade), trade, true);
  } catch (error) {
    if (!(error instanceof CliError) || !FEWER.includes(error.code)) throw error;

    // The balance that it began with is told anew: what it bought is off.
    const next = {
      ...trade,
      account: await payerOf(trade.deps),
    };
    const { spent, total, isOpen } = await standingOf(id, next);
    if (isOpen && error.code !== "dataset_moved") {
      const fits = total <= (trade.options.maxCredits ?? ZERO);
      if (!fits || spent <= spentBefore) throw error;
      return await goOn(id, spent, next);
    }

    const run = await openRun(id, trade);
    if (run.state.done === undefined && run.state.ended?.how !== "stale")
      await endStale(run, error.message, trade);
    else await run.close();
  }

  return await standingOf(id, trade);
}

/** Buys without asking: that was done. @throws CliError; what was paid is kept */
export async function buyLeaves(
  leaves: readonly Leaf[],
  {
    list,
    datasetVersion,
    most,
  }: { readonly list: Followed; readonly datasetVersion: string | null; readonly most: Credits },
  work: Work,
): Promise<RefreshResult> {
  const matches = leaves.reduce((sum, { count }) => sum + count, 0);
  const cost = priceOf(matches, profilePrice(work.account).price);
  if (cost > most) {
    throw failed.credits(
      `what is to be bought costs ${creditsText(cost)}, more than the ` +
        `${formatCreditsGrouped(most)} that were agreed to; ` +
        "nothing was spent, and the list stays as it was",
      say`${option("max_credits", creditsToNumber(cost))} buys it`,
      "over_cap",
    );
  }

  const target = targetOf(list, work);
  const offer = { matches, datasetVersion, ...partsOf(leaves) };
  const { receipt } = await buyExport(
    target,
    { ...optionsFor(target, work, most), offer },
    work.deps,
  );
  const { received, unit_cost: price, run } = receipt;

  if (!receipt.complete && receipt.unread === 0) {
    throw failed.incomplete(
      `a row costs ${counted(price, "credit")}, which the account did not tell: ` +
        `${grouped(received)} of ${counted(matches, "row")} came for ` +
        "what was agreed to, and the list stays as it was",
      say`the same command with a larger ${option("max_credits")} buys the others: at least
        ${formatCredits(priceOf(matches - received, creditsOf(price)))}`,
    );
  }

  await takeIn(work);

  return {
    run,
    spent: credits(creditsOf(receipt.credits) + creditsOf(receipt.uncertain_credits)),
    rows: received,
  };
}
