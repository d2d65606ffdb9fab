import { credits, creditsLess, creditsText, ZERO } from "../../shared/contract/money.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { kindOf } from "../output/distinct.ts";
import { checkRoom, checkSink, savedView } from "../output/sinks/sink.ts";
import { creditText, pendingUnits } from "../runs/journal.ts";
import type { Plan, RunIdentity, Target } from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";
import type { Run } from "../runs/run.ts";
import { type NewPlan, RunStore } from "../runs/run-store.ts";
import { agreeTo } from "./consent.ts";
import { type Divided, earlierRun, heldElsewhere, isBoughtElsewhere, ownedCompanies, type Reuse } from "./earlier.ts";
import { requireGoing, staleRun } from "./failures.ts";
import { lockOptions, openRun } from "./locks.ts";
import { checkSame, isPriceKnown, offerOf, perPageOf, perPageTold, quoteFor, runIdentityOf, spentOf } from "./offer.ts";
import type { ExportDeps, ExportOptions, Inquiry, Trade } from "./order.ts";
import {
  isNarrowed,
  mostRows,
  newPeopleIn,
  partedFrom,
  partsToBuy,
  rowsApart,
  rowsWritten,
  takeOver,
} from "./owned.ts";
import type { OwnedPage, OwnedShare } from "./ownership.ts";
import { drawnOf, type Offer, type Quote, rowsToBuy } from "./quote.ts";
import type { Drawn } from "./sampling.ts";
import { withoutSuppressed } from "./unnamed.ts";
import { accountOf, perMinuteOf } from "./world.ts";

export interface Survey {
  /** Its target is of the new people alone where that was found to be cheap. */
  readonly inquiry: Inquiry;
  readonly offer: Offer;
  readonly quote: Quote;
  readonly sample: Drawn | undefined;
  /** That is gone on with. */
  readonly run: RunReader | undefined;
  /** What earlier runs paid for, and what it is part of. */
  readonly owned: {
    readonly pages: () => Iterable<OwnedPage> | AsyncIterable<OwnedPage>;
    readonly reuse?: Reuse | undefined;
  };
}

/** Whether it can be written, and who asks: before anything is counted. @throws CliError */
export async function inquire(draft: Target, options: ExportOptions, deps: ExportDeps): Promise<Inquiry> {
  await checkSink(options, kindOf({ plan: { command: draft.kind } }), deps.disk);
  const store = new RunStore(deps.stateDir, deps.disk);
  const target = withoutSuppressed(draft, await store.suppression(), deps.onNotice);
  const account = await accountOf(deps, options.agreed);
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
  const open = options.fresh ? undefined : await openOf(identity, store);
  const moved = open === undefined ? undefined : await checkSame(open, account, deps);
  if (open === undefined) return undefined;
  if (moved === undefined) return (await isBoughtElsewhere(open, store)) ? undefined : open;
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

/** A search may go on with what it began as one for new people alone. */
async function openOf(identity: RunIdentity, store: RunStore): Promise<Plan | undefined> {
  const { target } = identity;
  const open = await store.findOpen(identity);
  if (open !== undefined || target.kind !== "search" || target.owned !== undefined) return open;
  return store.findOpen({ ...identity, target: { ...target, owned: "with" } });
}

export async function endStale(run: Run, why: string, { store, account, deps }: Omit<Trade, "options">): Promise<void> {
  const booked = run.state.uncertain;
  try {
    await store.end(run, { how: "stale", why, at: deps.now() }, account.balance);
  } finally {
    await run.close();
  }
  const more = credits(run.state.uncertain - booked);
  if (more > 0n)
    deps.onWarning(`warning: ${creditsText(more)} may have been charged for pages that run ${run.id} got no reply to`);
}

/** The search for its new people alone, where limit, cap and balance allow all of them. */
export function newPeopleApart(inquiry: Inquiry, share: OwnedShare | undefined) {
  const target = partedFrom(inquiry.target, share, inquiry.options.limit);
  if (target === undefined) return undefined;
  const narrowed = { ...inquiry, target, identity: { ...inquiry.identity, target } };
  const quote = quoteFor(target, { matches: mostRows(share) }, narrowed, { pieces: share?.estimate?.parts });
  return quote.bound === "matches" ? { inquiry: narrowed, quote } : undefined;
}

/** Whether its new people alone, with whoever is on pages without a reply, are fewer than a run of all has left. */
export const isFewerApart = ({ state }: RunReader, quote: Quote): boolean =>
  quote.apart !== undefined &&
  quote.apart + pendingUnits(state).reduce((sum, { intent }) => sum + intent.perPage, 0) < rowsToBuy(quote);

/** Whether the same search begun anew buys those alone, within what the cap of the run leaves. */
export function isBegunAnew(run: RunReader, quote: Quote, trade: Trade, share: OwnedShare | undefined): boolean {
  const { plan, state } = run;
  if (state.session?.again === true || !isFewerApart(run, quote)) return false;
  const cap = trade.options.maxCredits;
  const maxCredits = cap === undefined ? undefined : creditsLess(cap, state.settled + state.uncertain);
  const inquiry = { ...trade, options: { ...trade.options, maxCredits }, target: plan.target, identity: plan };
  return newPeopleApart(inquiry, share) !== undefined;
}

export async function survey(base: Inquiry, open: string | undefined): Promise<Survey> {
  const { target, identity, options, account, deps, store } = base;
  const offer = options.offer ?? (await offerOf(target, account, deps));
  const { datasetVersion } = offer;
  const ownership = await deps.ownership?.(account, target);
  const share = await ownership?.look(mostOf(offer), isNarrowed(target), offer);
  const run = open === undefined ? undefined : await store.open(open);
  const isCounted = run === undefined || (target.kind === "search" && offer.matches !== null);
  const there = isNarrowed(target) ? { matches: mostRows(share) } : isCounted ? offer : run.offer;
  const companies = run === undefined ? await ownedCompanies(store, identity, datasetVersion, options, deps) : [];
  const sample = run === undefined ? await drawnSample(base, offer) : undefined;
  const before = spentOf(run, base);
  const pricedWith = (rows: number, maxCredits = options.maxCredits): Quote => {
    const spent = { ...before, rows: before.rows + rows };
    const ofParts = offer.parts?.map(({ company_network_url: company }) => company);
    const of = target.kind === "employees" && offer.counts !== undefined ? target.companies : ofParts;
    const parts = of && { counts: offer.counts ?? [], of };
    const pieces = isNarrowed(target) ? share?.estimate?.parts : undefined;
    const trade = { ...base, options: { ...options, maxCredits } };
    return quoteFor(target, there, trade, { spent, parts, pieces, drawn: drawnOf(run?.plan ?? sample ?? {}) });
  };
  const held = run === undefined ? companies.length : (await heldElsewhere(run, base)).rows;
  const anew = pricedWith(held);
  const isAnew = run === undefined && (anew.rowsUncapped ?? anew.rows) > held;
  const earlier = isAnew ? await earlierRun(base, datasetVersion, { ...anew, share }, sample) : undefined;
  const { rows = held, isWhole = false } = earlier ?? {};
  const isCapped = isWhole && rows !== anew.rowsUncapped;
  const priced = rows === held ? anew : pricedWith(rows, isCapped ? ZERO : options.maxCredits);
  // What is owned whole is written whole, whatever an earlier run holds of it under its cap.
  const isOwned = isCapped && share?.exact === true && newPeopleIn(share) === 0;
  const isFewer = isWhole ? isOwned : mostRows(share) <= (anew.rowsUncapped ?? anew.rows) - rows;
  // Under a cap that does not pay for all new people the first rows are bought, as the segment has them.
  const parted = isAnew && isFewer ? newPeopleApart(base, share) : undefined;
  const { inquiry, quote: best } = parted ?? { inquiry: base, quote: priced };
  // Whoever that run brought is among those who are owned.
  const reuse = parted === undefined ? earlier : undefined;
  const quote: Quote = {
    ...best,
    overlap: offer.overlap ?? 0,
    apart: rowsApart(inquiry.target, share, Math.max(best.kept, earlier?.stock ?? 0)),
    share: isNarrowed(inquiry.target) || share === undefined ? share : { ...share, divide: undefined },
    reuse,
    datasetVersion,
  };
  if (run !== undefined) {
    requireGoing(run, quote.credits);
    if (isBegunAnew(run, quote, base, share)) return await survey(base, undefined);
  }
  await checkRoom(options, rowsOf(inquiry, quote));
  return { inquiry, offer, quote, sample, run, owned: { pages: reuse?.pages ?? (() => companies), reuse } };
}

async function drawnSample(inquiry: Inquiry, offer: Offer): Promise<Drawn | undefined> {
  const { target, options, account, deps } = inquiry;
  if (target.kind !== "search" || target.sample === undefined) return undefined;
  const isOpen = offer.parts === undefined && isPriceKnown(target, account) && perPageTold(account, deps) === undefined;
  // Pages may be smaller than is thought; where all are wanted, any size will do.
  if (isOpen && mostOf(offer) <= target.sample.rows && quoteFor(target, offer, inquiry).bound === "matches") {
    deps.onNotice(`notice: ${counted(mostOf(offer), "person matches", "people match")}: the sample is all of them`);
    return undefined;
  }
  const { drawn } = await import("./sampling.ts");
  const { filters, sample } = target;
  const perPageMax = perPageOf(options, account, deps);
  const terms = { ...account, perMinute: perMinuteOf(account, deps), perPageMax };
  return await drawn({ filters, sample }, offer, { ...terms, priceKnown: isPriceKnown(target, account) }, deps);
}

export async function agree({ quote, inquiry }: Survey, draft: Target): Promise<void> {
  const { target, account } = inquiry;
  const earlier = quote.reuse && `notice: ${quote.reuse.text}`;
  const { owned = 0, total = 0 } = quote.share ?? {};
  const who = `${grouped(owned)} of the ${grouped(total)} ${owned === 1 ? "is" : "are"} yours already`;
  const unasked = `notice: ${who}: not paid for again, and written from what you own (--again pays for all)`;
  const said = [earlier, isNarrowed(target) && !isNarrowed(draft) && unasked].flatMap((text) => text || []);
  const datasetVersion = account.datasetVersion ?? quote.datasetVersion ?? null;
  await agreeTo({ ...quote, datasetVersion }, inquiry, { rows: rowsOf(inquiry, quote), said });
}

const rowsOf = ({ target, options }: Inquiry, quote: Quote): number =>
  options.join?.rows.length ?? rowsWritten(target, quote);

const mostOf = ({ matches }: Offer): number => matches ?? Number.POSITIVE_INFINITY;

/** Divides what was agreed to, and makes the run that is to buy it. @returns with the quote that its parts make */
export async function begin(survey: Survey): Promise<{ run: Run; quote: Quote }> {
  const { inquiry, quote, offer, sample, owned } = survey;
  const { target, options, deps, store } = inquiry;
  const parts = owned.reuse?.division ?? sample ?? (await partsToBuy(target, offer, quote, deps));
  const division = { matches: isNarrowed(target) ? mostRows(quote.share) : offer.matches, ...parts };
  const plan = planOf(survey, division);
  const run = await store.create(plan, deps.now(), lockOptions("the new run", options.wait, deps));
  if (options.join !== undefined) await run.keepInput(options.join.text);
  await takeOver(run, owned.pages(), deps.now);
  if (!isNarrowed(target)) return { run, quote };
  return { run, quote: { ...quoteFor(target, division, inquiry), share: quote.share } };
}

function planOf({ quote, offer, inquiry: { identity, options, deps } }: Survey, parts: Divided): NewPlan {
  const { paging, firstPage } = deps.seller.client.dialect;
  const { overwrite, allowEmpty, minRows, maxShrink, requireComplete } = options;
  return {
    command: identity.target.kind,
    ...identity,
    dataset_version: offer.datasetVersion,
    unit_price: creditText(quote.unitPrice),
    ...parts,
    paging,
    ...(paging === "page" && firstPage !== undefined ? { first_page: firstPage } : {}),
    view: savedView(options),
    per_page: options.perPage ?? null,
    guard: { overwrite, allowEmpty, minRows, maxShrink, requireComplete },
    misses: options.misses ?? null,
    receipt: options.receipt ?? null,
  };
}
