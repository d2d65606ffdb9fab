import type { AccountView } from "../../../engine/client/types.ts";
import { openRun } from "../../../engine/purchase/locks.ts";
import { runIdentityOf } from "../../../engine/purchase/offer.ts";
import type { ExportDeps } from "../../../engine/purchase/order.ts";
import { endStale, stillOpen } from "../../../engine/purchase/survey.ts";
import { creditsOf, type RunState } from "../../../engine/runs/journal.ts";
import type { Target } from "../../../engine/runs/plan.ts";
import { RunStore } from "../../../engine/runs/run-store.ts";
import { type Credits, credits, creditsText, formatCredits, minCredits, ZERO } from "../../../shared/contract/money.ts";
import { CliError } from "../../../shared/errors.ts";
import { continueRun } from "../../buy/purchase.ts";
import { type PartsOptions, partsOptions, withoutRows } from "./buy-parts.ts";
import type { Brought, RefreshEvents, RefreshResult, Work } from "./work.ts";

/** The people are no longer those that were counted. */
const FEWER = ["incomplete", "dataset_moved"];

/**
 * Buys the rest of what a run for the same list began. Where the service has fewer people by now the run is let go
 * of. @throws CliError exit 4 where it may cost more than `maxCredits`
 */
export async function finishParts(
  target: Target,
  { maxCredits: most, ...options }: PartsOptions,
  account: AccountView,
  deps: ExportDeps,
  agree: RefreshEvents["agreeToRest"],
): Promise<RefreshResult | undefined> {
  const store = new RunStore(deps.stateDir, deps.disk);
  const identity = runIdentityOf(target, null, account, deps.seller);
  const found = await store.findOpen(identity);
  const all = partsOptions(target, { ...options, maxCredits: undefined });
  const trade = { store, account, options: all, deps: withoutRows(deps) };
  const open = await stillOpen({ ...trade, identity }, true);
  if (open === undefined) return found === undefined ? undefined : { run: found.id, spent: ZERO, rows: 0 };
  const { state: before } = await store.open(open.id);
  const spent = ({ settled, uncertain }: RunState): bigint => settled + uncertain;
  const rest = credits(creditsOf(before.session?.cap) - spent(before));
  if (most !== undefined) requireMost(open.id, rest, most);
  if (rest > 0n) await agree(open.id, rest);
  const cap = most === undefined ? undefined : lowerOf(credits(spent(before) + most), before.session?.maxCredits);
  try {
    await continueRun(await openRun(open.id, trade), { ...trade, options: { ...all, maxCredits: cap } }, true);
  } catch (error) {
    if (!(error instanceof CliError) || !FEWER.includes(error.code)) throw error;
    const run = await openRun(open.id, trade);
    if (run.state.done === undefined && run.state.ended === undefined) await endStale(run, error.message, trade);
    else await run.close();
  }
  const { state: after } = await store.open(open.id);
  return { run: open.id, spent: credits(spent(after) - spent(before)), rows: after.rows - before.rows };
}

const lowerOf = (cap: Credits, agreed: string | null | undefined): Credits =>
  agreed == null ? cap : minCredits(cap, creditsOf(agreed));

function requireMost(run: string, left: Credits, most: Credits): void {
  if (left <= most) return;
  throw new CliError({
    code: "over_cap",
    category: "credits",
    message: `run ${run}, which was begun for this list, may cost ${creditsText(left)} more, and --max-credits is ${formatCredits(most)}; nothing was spent`,
    hint: `--max-credits ${formatCredits(left)} finishes it first`,
  });
}

export function afterwards(work: Work, { spent }: RefreshResult): Work {
  const left = (amount: Credits | undefined): Credits | undefined =>
    amount === undefined ? undefined : credits(amount > spent ? amount - spent : ZERO);
  const { terms } = work.order;
  const rest = { maxCredits: left(terms.maxCredits), budgetLeft: left(terms.budgetLeft) };
  return { ...work, order: { ...work.order, terms: { ...terms, ...rest } } };
}

export const withFinished = (found: Brought, finished: RefreshResult | undefined): Brought =>
  finished === undefined || finished.spent === ZERO
    ? found
    : {
        ...found,
        runs: [finished.run, ...found.runs],
        spent: credits(finished.spent + found.spent),
        rows: finished.rows + found.rows,
      };
