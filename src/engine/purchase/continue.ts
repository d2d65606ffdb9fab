import { creditsText } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { sha256Of } from "../output/paths.ts";
import { creditsOf } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import { agreeTo } from "./consent.ts";
import { heldElsewhere, ownedCompanies } from "./earlier.ts";
import { requireGoing } from "./failures.ts";
import { quoteFor, spentOf } from "./offer.ts";
import type { ExportOptions, Trade } from "./order.ts";
import { isNarrowed, takeOver, widen } from "./owned.ts";
import { requireFree } from "./places.ts";
import { consentedCap, drawnOf, type Quote } from "./quote.ts";
import type { Receipt } from "./receipt.ts";

/** Closes the run where it is refused. @param isNamed asked for by its id: its limit, cap and consent hold on */
export async function agreeToRest(run: Run, trade: Trade, isNamed: boolean): Promise<[Quote, Trade]> {
  const { plan, state } = run;
  const { target } = plan;
  const { store, account, deps } = trade;
  try {
    const bounded = { ...trade.options, ...boundsOf(run, trade.options, isNamed) };
    await takeOver(run, await ownedCompanies(store, plan, plan.dataset_version, trade.options, deps), deps.now);
    await takeOver(run, (await heldElsewhere(run, { ...trade, options: bounded })).pages(), deps.now);
    const options = { ...bounded, overwrite: await mayReplace(run, trade.options) };
    const spent = spentOf(state);
    const priced = (): Quote => ({
      ...quoteFor(target, run.offer, { account, options, deps }, { spent, drawn: drawnOf(plan) }),
      datasetVersion: plan.dataset_version,
    });
    const quote = priced();
    requireGoing(run, quote);
    const looks = quote.credits > 0n && !isNarrowed(target);
    const ownership = looks ? await deps.ownership?.(account, target) : undefined;
    const share = await ownership?.look(quote.matches ?? 0, false, plan);
    // Lost replies may have eaten into what was agreed to for the run.
    const isWithin = isNamed && consentedCap(quote, state, options.maxCredits) <= creditsOf(state.session?.cap);
    const rows = options.join?.rows.length ?? quote.rows;
    const seen = { ...quote, share: share && { ...share, divide: undefined } };
    await agreeTo(seen, { target, options, deps }, { rows, said: [continuing(run, quote, isNamed)], isWithin });
    return [(await widen(run, quote, trade)) ? priced() : quote, { ...trade, options }];
  } catch (error) {
    await run.close().catch(() => undefined);
    throw error;
  }
}

function boundsOf({ state: { session } }: Run, { limit, maxCredits }: ExportOptions, inherits: boolean) {
  const cap = inherits && session?.maxCredits != null ? creditsOf(session.maxCredits) : undefined;
  return { limit: limit ?? (inherits ? (session?.limit ?? undefined) : undefined), maxCredits: maxCredits ?? cap };
}

/** @throws CliError exit 5 where files are in the way that the run did not write and may not replace */
async function mayReplace(run: Run, options: ExportOptions): Promise<boolean> {
  const { plan } = run;
  const overwrite = options.overwrite || plan.guard?.overwrite === true;
  const isOwn = options.output !== undefined && (await isOwnOutput(run, options.output));
  const own = [isOwn ? options.output : undefined, plan.receipt, plan.misses];
  await requireFree({ ...options, overwrite }, own);
  return overwrite || isOwn;
}

async function isOwnOutput(run: Run, output: string): Promise<boolean> {
  const receipt = (await run.receipt()) as Partial<Receipt> | undefined;
  const expected = receipt?.output?.sha256;
  return typeof expected === "string" && expected === (await sha256Of(output));
}

function continuing({ id }: Run, { rows, kept, credits }: Quote, isNamed: boolean): string {
  const rest = rows - kept;
  const toBuy = rest > 0 ? `${grouped(rest)} to buy for ${creditsText(credits)}` : "nothing to buy";
  const stock = kept === 1 ? "1 row is" : `${grouped(kept)} rows are`;
  return `continuing run ${id}: ${stock} paid for and not bought again, ${toBuy}${isNamed ? "" : " (--again begins anew)"}`;
}
