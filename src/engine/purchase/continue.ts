// Tested by test/cli/resume.test.ts.

import { creditsText, priceOf } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { option, say, usageError } from "../../shared/errors.ts";
import { sha256Of } from "../output/paths.ts";
import { registerIn } from "../output/register.ts";
import { creditsOf } from "../runs/journal.ts";
import { isNarrowed, resumeOf } from "../runs/plan.ts";
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
  const { plan, state } = run;
  const { target } = plan;
  const { store, account, deps } = trade;

  try {
    const before = isNamed ? state.session : undefined;
    const cap = before?.maxCredits == null ? undefined : creditsOf(before.maxCredits);
    const { limit = before?.limit ?? undefined, maxCredits = cap } = trade.options;
    // All of it was paid for, whoever was owned: so it goes on.
    const fresh = before?.again === true;
    const bounded = { ...trade.options, fresh, limit, maxCredits };

    await takeOver(
      run,
      await ownedCompanies(store, plan, plan.dataset_version, trade.options, deps),
      deps.now,
    );

    await takeOver(
      run,
      (await heldElsewhere(run, { ...trade, options: bounded })).pages(),
      deps.now,
    );

    const options = { ...bounded, overwrite: await mayReplace(run, trade) };
    const spent = spentOf(run, trade);

    const priced = (): Quote => ({
      ...quoteFor(target, run.offer, { account, options, deps }, { spent, drawn: drawnOf(plan) }),
      datasetVersion: plan.dataset_version,
    });

    const quote = priced();
    requireGoing(run, quote.credits);

    const looks = quote.credits > 0n && !isNarrowed(target) && !fresh;
    const ownership = looks ? await deps.ownership?.(account, target) : undefined;
    const share = await ownership?.look(quote.matches ?? 0, false, plan);

    // Lost replies may have eaten into what was agreed to for the run.
    const isWithin = isNamed && quote.total <= creditsOf(state.session?.cap);
    // How many are owned beside them is found out at the end.
    const rows =
      options.join?.rows.length ?? (withOwned(plan.target) ? Number.POSITIVE_INFINITY : quote.rows);
    const apart = rowsApart(target, share, quote.kept);
    const seen = { ...quote, apart, share: share && { ...share, divide: undefined } };
    if (!isNamed && isBegunAnew(run, seen, { ...trade, options }, share)) return undefined;

    const isAll = isNamed && (limit ?? Infinity) >= (share?.total ?? 0);
    if (isAll && apart !== undefined && isFewerApart(run, seen)) {
      const next = resumeOf(plan, {
        withOwned: true,
        maxCredits: priceOf(apart, quote.unitPrice, quote.parcel),
      });
      const message = say`${paidAgainText(seen, target, option("with_owned"))}; nothing more was
        spent`;
      throw usageError(
        message,
        say`${next} writes all, and pays for nobody again`,
        "owned_meanwhile",
      ).with({ next });
    }

    await agreeTo(
      seen,
      { target, options, deps },
      { rows, said: [continuing(run, quote, isNamed)], isWithin },
    );

    return [(await widen(run, quote, trade)) ? priced() : seen, { ...trade, options }];
  } catch (error) {
    await run.close().catch(() => undefined);
    throw error;
  }
}

/**
 * @throws CliError exit 5 where files are in the way that the run did not write and may not replace
 */
async function mayReplace({ id, plan }: Run, { options, deps }: Trade): Promise<boolean> {
  const overwrite = options.overwrite || plan.guard?.overwrite === true;
  const { stateDir, disk, now } = deps;
  const sha256 = options.output === undefined ? undefined : await sha256Of(options.output);
  const entries = sha256 === undefined ? [] : await registerIn(stateDir, disk, now).entries();
  const isOwn = entries.some(
    (file) => file.path === options.output && file.by === id && file.sha256[0] === sha256,
  );
  const own = [isOwn ? options.output : undefined, plan.receipt, plan.misses];
  await requireFree({ ...options, overwrite }, own);
  return overwrite || isOwn;
}

function continuing({ id }: Run, { rows, kept, credits, bound }: Quote, isNamed: boolean): string {
  const rest = rows - kept;
  const within =
    bound === "limit" ? ` within --limit ${rows}` : bound === "cap" ? " within --max-credits" : "";
  const toBuy =
    rest > 0 ? `${grouped(rest)} to buy for ${creditsText(credits)}` : `nothing to buy${within}`;
  const stock = kept === 1 ? "1 row is" : `${grouped(kept)} rows are`;
  return (
    `continuing run ${id}: ${stock} paid for and not bought again, ` +
    `${toBuy}${isNamed ? "" : " (--again begins anew)"}`
  );
}
