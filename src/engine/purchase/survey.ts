import { ZERO } from "../../shared/contract/money.ts";
import { counted } from "../../shared/contract/text.ts";
import { kindOf } from "../output/distinct.ts";
import { checkRows } from "../output/formats.ts";
import { checkRoom, checkSink } from "../output/sinks/sink.ts";
import { emptyState } from "../runs/journal.ts";
import type { Plan, Target } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import { RunStore } from "../runs/run-store.ts";
import { earlierRun, type Reuse } from "./earlier.ts";
import { staleRun } from "./failures.ts";
import { openRun } from "./locks.ts";
import { checkSame, offerOf, quoteFor, runIdentityOf, spentOf, termsOf } from "./offer.ts";
import type { ExportDeps, ExportOptions, Inquiry, Trade } from "./order.ts";
import { isNarrowed, mostRows, rowsWritten } from "./owned.ts";
import { ownedCompanies } from "./owned-companies.ts";
import {
  type Offer,
  overlapWarning,
  paidAgainText,
  type Quote,
  requireBalance,
  requireBudget,
  requireSame,
} from "./quote.ts";
import { type Drawn, drawn, drawnOf, isSampled } from "./sampling.ts";
import type { OwnedPage } from "./take-over.ts";
import { withoutSuppressed } from "./unnamed.ts";

/** What free calls and the runs that are there say of an inquiry. */
export interface Survey {
  readonly offer: Offer;
  readonly quote: Quote;
  readonly sample: Drawn | undefined;
  /** What earlier runs paid for, and what it is part of. */
  readonly owned: {
    readonly pages: () => Iterable<OwnedPage> | AsyncIterable<OwnedPage>;
    readonly reuse?: Reuse | undefined;
  };
}

/** Whether it can be written, and who asks: before anything is counted. @throws CliError */
export async function inquire(asked: Target, options: ExportOptions, deps: ExportDeps): Promise<Inquiry> {
  await checkSink(options, kindOf({ plan: { command: asked.kind } }), deps.disk);
  const store = new RunStore(deps.stateDir, deps.disk);
  const target = withoutSuppressed(asked, await store.suppression(), deps.onNotice);
  const account = await deps.seller.client.account(deps.interrupted);
  const identity = runIdentityOf(target, options.output ?? null, account, deps.seller);
  return { store, account, options, deps, target, identity };
}

/**
 * The run that the same command left unfinished. One whose dataset is gone counts no more.
 * @param buys whether that one is let go of, and said @throws CliError exit 10 where that is not wanted
 */
export async function stillOpen(
  { identity, ...trade }: Omit<Inquiry, "target">,
  buys: boolean,
): Promise<Plan | undefined> {
  const { store, account, options, deps } = trade;
  const open = options.fresh ? undefined : await store.findOpen(identity);
  const moved = open === undefined ? undefined : await checkSame(open, account, deps);
  if (open === undefined || moved === undefined) return open;
  if (options.onNewDataset === "fail") throw staleRun(open.id, moved, "declined", "--again begins anew");
  if (!buys) return undefined;
  const run = await openRun(open.id, trade);
  const { rows } = run.state;
  await endStale(run, moved, trade);
  deps.onWarning(
    `warning: ${moved}: run ${open.id} is stale, and this begins anew; headcount runs export ${open.id} writes the ${counted(rows, "row")} that it holds at 0 credits`,
  );
  return undefined;
}

export async function endStale(run: Run, why: string, { store, deps }: Pick<Trade, "store" | "deps">): Promise<void> {
  try {
    await store.end(run, "stale", why, deps.now());
  } finally {
    await run.close();
  }
}

/** Counts, draws and prices. Free. @param open the run that it would go on with */
export async function survey(inquiry: Inquiry, open: string | undefined): Promise<Survey> {
  const { target, identity, options, account, deps, store } = inquiry;
  const offer = options.offer ?? (await offerOf(target, account, deps));
  const { datasetVersion } = offer;
  const known = await (await deps.ownership?.(account))?.look(offer.matches ?? Number.POSITIVE_INFINITY);
  const matches = isNarrowed(target) ? mostRows(known) : offer.matches;
  const run = open === undefined ? undefined : await store.open(open);
  const companies = run === undefined ? await ownedCompanies(store, identity, datasetVersion, options, deps) : [];
  const sample =
    run === undefined && isSampled(target)
      ? await drawn(target, offer, termsOf(target, options, account, deps), deps)
      : undefined;
  const pricedWith = (rows: number): Quote => {
    const spent = spentOf(run?.state ?? { ...emptyState(), rows, owned: rows });
    return quoteFor(target, matches, inquiry, { spent, drawn: drawnOf(run?.plan ?? sample ?? {}) });
  };
  const anew = pricedWith(companies.length);
  const isAnew = run === undefined && anew.credits > 0n;
  const reuse = isAnew ? await earlierRun(inquiry, datasetVersion, anew) : undefined;
  const isWhole = (reuse?.rows ?? 0) >= anew.rows;
  const priced = reuse === undefined ? anew : isWhole ? withoutCost(anew) : pricedWith(reuse.rows);
  const quote = { ...priced, overlap: offer.overlap ?? 0, known, reuse, datasetVersion };
  await checkRoom(options, rowsOf(inquiry, quote));
  return { offer, quote, sample, owned: { pages: reuse?.pages ?? (() => companies), reuse } };
}

/** Refuses what cannot be paid or written, and asks for consent. @throws CliError */
export async function agree({ quote }: Survey, inquiry: Inquiry): Promise<void> {
  const { target, account, options, deps } = inquiry;
  if (options.agreed !== undefined) {
    requireSame(options.agreed, { ...quote, datasetVersion: account.datasetVersion ?? quote.datasetVersion ?? null });
  }
  requireBalance(quote, target);
  requireBudget(quote, options);
  await checkRows(rowsOf(inquiry, quote), options.output, options, "; nothing was spent");
  if (quote.reuse !== undefined) deps.onNotice(`notice: ${quote.reuse.text}`);
  const again = options.fresh ? undefined : paidAgainText(quote, target, "--new-only");
  if (again !== undefined) deps.onWarning(`notice: ${again}`);
  if ((quote.overlap ?? 0) > 0) deps.onWarning(overlapWarning(quote));
  if (quote.credits > 0n && options.agreed === undefined) await deps.consent(quote, false);
}

const rowsOf = ({ target, options }: Inquiry, quote: Quote): number =>
  options.join?.rows.length ?? rowsWritten(target, quote);

/** Where an earlier run holds all of it. */
const withoutCost = (quote: Quote): Quote => ({
  ...quote,
  ...{ kept: quote.rows, credits: ZERO, total: ZERO, balanceAfter: quote.balance, requests: 0, durationMs: 0 },
});
