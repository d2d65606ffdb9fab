// Tested by test/cli/resume.test.ts.

import { creditsLess, creditsText, priceOf } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { option, say, usageError } from "../../shared/errors.ts";
import { sha256Of } from "../output/paths.ts";
import { registerIn } from "../output/register.ts";
import { isNarrowed, resumeOf } from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";
import type { Run } from "../runs/run.ts";
import { agreeTo } from "./consent.ts";
import { heldElsewhere, ownedCompanies } from "./earlier.ts";
import { requireGoing } from "./failures.ts";
import { isBegunAnew, isFewerApart, quoteFor, spentOf } from "./offer.ts";
import type { Trade } from "./order.ts";
import { takeOver, widen, withOwned } from "./owned.ts";
import { rowsApart } from "./ownership.ts";
import { requireFree } from "./places.ts";
import { drawnOf, paidAgainText, type Quote } from "./quote.ts";

/**
 * Closes the run where it is refused. @param isNamed
 * asked for by its id: its limit, cap and consent hold on
 * @returns undefined where others bought so many of the rest
 * that the same search pays for fewer if it begins anew
 */
export async function agreeToRest(
  run: Run,
  trade: Trade,
  isNamed: boolean,
): Promise<[Quote, Trade] | undefined> {
  try {
    const bounded = boundedBy(run, trade, isNamed);
    await takeEarlier(run, trade, bounded);

    const overwrite = await mayReplace(run, trade);
    const going: Trade = { ...bounded, options: { ...bounded.options, overwrite } };
    return await agreeBehind(run, going, isNamed);
  } catch (error) {
    await run.close().catch(() => undefined);
    throw error;
  }
}

/** What was agreed to for the run, where it is asked for by its id and nothing else is said. */
function boundedBy({ state }: RunReader, trade: Trade, isNamed: boolean): Trade {
  const { options } = trade;
  const before = isNamed ? state.session : undefined;
  const bounds = {
    limit: options.limit ?? before?.limit ?? undefined,
    maxCredits: options.maxCredits ?? before?.maxCredits ?? undefined,
    // All of it was paid for, whoever was owned: so it goes on.
    fresh: before?.again === true,
  };
  return { ...trade, options: { ...options, ...bounds } };
}

/** What other runs hold of the rest is taken from there. */
async function takeEarlier(run: Run, trade: Trade, bounded: Trade) {
  const { store, deps, options } = trade;
  const companies = options.fresh
    ? []
    : await ownedCompanies(store, run.plan, run.plan.dataset_version, options, deps);
  await takeOver(run, companies, deps.now);
  await takeOver(run, (await heldElsewhere(run, bounded)).pages(), deps.now);
}

/**
 * What is left of a run, behind what it holds and what others hold of it: nothing is written.
 * @returns undefined as {@link agreeToRest}
 */
export async function quoteRest(
  run: RunReader,
  trade: Trade,
  isNamed: boolean,
): Promise<Quote | undefined> {
  const bounded = boundedBy(run, trade, isNamed);
  return await pricedRest(run, bounded, isNamed, (await heldElsewhere(run, bounded)).rows);
}

/** @param held rows that are taken from other runs */
async function pricedRest(
  run: RunReader,
  trade: Trade,
  isNamed: boolean,
  held = 0,
): Promise<Quote | undefined> {
  const { plan } = run;
  const { target } = plan;
  const { options, deps, account } = trade;
  const quote = quoteOfRest(run, trade, held);
  requireGoing(run, quote.credits);

  const looks = quote.credits > 0n && !isNarrowed(target) && !options.fresh;
  const ownership = looks ? await deps.ownership?.(account, target) : undefined;
  const share = await ownership?.look(quote.matches ?? 0, false, plan);
  const seen = {
    ...quote,
    apart: rowsApart(target, share, quote.kept),
    share: share && { ...share, divide: undefined },
  };
  if (!isNamed && isBegunAnew(run, seen, trade, share)) return undefined;
  if (isNamed && (options.limit ?? Infinity) >= (share?.total ?? 0)) requireNobodyAgain(run, seen);
  return seen;
}

/** @param held rows that are taken from other runs */
export function quoteOfRest(run: RunReader, trade: Trade, held = 0): Quote {
  const { plan, offer } = run;
  const before = spentOf(run, trade);
  const spent = { ...before, rows: before.rows + held };
  const quote = quoteFor(plan.target, offer, trade, { spent, drawn: drawnOf(plan) });
  return { ...quote, datasetVersion: plan.dataset_version };
}

async function agreeBehind(
  run: Run,
  trade: Trade,
  isNamed: boolean,
): Promise<[Quote, Trade] | undefined> {
  const { plan, state } = run;
  const { target } = plan;
  const { options, deps } = trade;
  const seen = await pricedRest(run, trade, isNamed);
  if (seen === undefined) return undefined;

  // How many are owned beside them is found out at the end.
  const written = withOwned(target) ? Infinity : seen.rows;
  await agreeTo(
    seen,
    { target, options, deps },
    {
      rows: options.join?.rows.length ?? written,
      said: [continuing(run, seen, isNamed)],
      // Lost replies may have eaten into what was agreed to for the run.
      spent: state.spent,
      isWithin: isNamed && seen.total <= (state.session?.cap ?? 0n),
      around: isNamed && target.kind === "search" ? resumeOf(plan, { withOwned: true }) : undefined,
    },
  );

  return [(await widen(run, seen, trade)) ? quoteOfRest(run, trade) : seen, trade];
}

/** @throws CliError exit 2 where the new people alone cost less than going on does */
function requireNobodyAgain(run: RunReader, seen: Quote) {
  const { plan } = run;
  const { apart } = seen;
  if (apart === undefined || !isFewerApart(run, seen)) return;

  const maxCredits = priceOf(apart, seen.unitPrice, seen.parcel);
  const next = resumeOf(plan, { withOwned: true, maxCredits });
  const again = paidAgainText(seen, plan.target, option("with_owned"));
  throw usageError(
    say`${again}; nothing more was spent`,
    say`${next} writes all, and pays for nobody again`,
    "owned_meanwhile",
  ).with({ next });
}

/**
 * @throws CliError exit 5 where files are in the way that the run did not write and may not replace
 */
async function mayReplace({ id, plan }: Run, { options, deps }: Trade): Promise<boolean> {
  const overwrite = options.overwrite || plan.guard?.overwrite === true;
  const { stateDir, disk, now } = deps;
  const sha256 = options.output && (await sha256Of(options.output));
  const entries = sha256 === undefined ? [] : await registerIn(stateDir, disk, now).entries();
  const isOwn = entries.some(
    (file) => file.path === options.output && file.by === id && file.sha256[0] === sha256,
  );
  const own = [isOwn ? options.output : undefined, plan.receipt, plan.misses];
  await requireFree({ ...options, overwrite }, own);
  return overwrite || isOwn;
}

function continuing({ id }: Run, quote: Quote, isNamed: boolean): string {
  const { rows, kept, credits, bound, floor, unitPrice } = quote;
  const rest = rows - kept;

  const within =
    bound === "limit" ? ` within --limit ${rows}` : bound === "cap" ? " within --max-credits" : "";
  const spare = creditsLess(floor, unitPrice);
  const more = spare > 0n ? `, and up to ${creditsText(spare)} for an answer without rows` : "";
  const toBuy =
    rest > 0
      ? `${grouped(rest)} to buy for ${creditsText(credits)}${more}`
      : `nothing to buy${within}`;
  const stock = kept === 1 ? "1 row is" : `${grouped(kept)} rows are`;
  return (
    `continuing run ${id}: ${stock} paid for and not bought again, ` +
    `${toBuy}${isNamed ? "" : " (--again begins anew)"}`
  );
}
