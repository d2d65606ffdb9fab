import { creditsText } from "../../shared/contract/money.ts";
import { grouped } from "../../shared/contract/text.ts";
import { checkRows } from "../output/formats.ts";
import { sha256Of } from "../output/paths.ts";
import { creditsOf } from "../runs/journal.ts";
import type { Run } from "../runs/run.ts";
import { ownedCompanies } from "./earlier.ts";
import { requireGoing } from "./failures.ts";
import { quoteFor, spentOf } from "./offer.ts";
import type { ExportOptions, Trade } from "./order.ts";
import { takeOver } from "./owned.ts";
import { requireFree } from "./places.ts";
import { consentedCap, drawnOf, type Quote, requireBalance, requireBudget, requireSame } from "./quote.ts";
import type { Receipt } from "./receipt.ts";

/** Closes the run where it is refused. @param isNamed asked for by its id: its limit, cap and consent hold on */
export async function agreeToRest(run: Run, trade: Trade, isNamed: boolean): Promise<[Quote, Trade]> {
  const { plan, state } = run;
  const { store, account, deps } = trade;
  try {
    await takeOver(run, await ownedCompanies(store, plan, plan.dataset_version, trade.options, deps), deps.now);
    const overwrite = await mayReplace(run, trade.options);
    const options = { ...trade.options, ...boundsOf(run, trade.options, isNamed), overwrite };
    const spent = spentOf(state);
    const priced = quoteFor(plan.target, run.offer, { account, options, deps }, { spent, drawn: drawnOf(plan) });
    const quote = { ...priced, datasetVersion: plan.dataset_version };
    requireGoing(run, quote);
    if (options.agreed !== undefined) requireSame(options.agreed, quote);
    requireBalance(quote, plan.target);
    requireBudget(quote, options);
    await checkRows(options.join?.rows.length ?? quote.rows, options.output, options, "; nothing more was spent");
    deps.onNotice(continuing(run, quote, isNamed));
    // Lost replies may have eaten into what was agreed to for the run.
    const isWithin = isNamed && consentedCap(quote, state, options.maxCredits) <= creditsOf(state.session?.cap);
    if (quote.credits > 0n && options.agreed === undefined && !isWithin) await deps.consent(quote, true);
    return [quote, { ...trade, options }];
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
