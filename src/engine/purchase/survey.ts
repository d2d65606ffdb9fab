// Tested by test/cli/owned-by-default.test.ts and test/unit/quote.test.ts.
import { formatCredits, ZERO } from "../../shared/contract/money.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { checkRoom, savedView } from "../output/sinks/sink.ts";
import { isNarrowed, type Target } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import type { NewPlan } from "../runs/run-store.ts";
import { agreeTo } from "./consent.ts";
import { type Divided, earlierRun, ownedCompanies, type Reuse } from "./earlier.ts";
import { lockOptions } from "./locks.ts";
import {
  isPriceKnown,
  NOTHING,
  newPeopleApart,
  offerOf,
  perPageOf,
  perPageTold,
  quoteFor,
} from "./offer.ts";
import type { Inquiry } from "./order.ts";
import { partsToBuy, rowsWritten, takeOver } from "./owned.ts";
import { mostRows, newPeopleIn, type OwnedPage, type OwnedShare, rowsApart } from "./ownership.ts";
import { drawnOf, type Offer, type Quote } from "./quote.ts";
import type { Drawn } from "./sampling.ts";
import { perMinuteOf } from "./world.ts";

export interface Survey {
  /** Its target is of the new people alone where that was found to be cheap. */
  readonly inquiry: Inquiry;
  readonly offer: Offer;
  readonly quote: Quote;
  readonly sample: Drawn | undefined;
  /** What earlier runs paid for: companies, or what it is part of. */
  readonly companies: readonly OwnedPage[];
  readonly reuse: Reuse | undefined;
}

export async function survey(base: Inquiry): Promise<Survey> {
  const looked = await lookAround(base);
  const { offer, share, sample, companies } = looked;
  const { inquiry, best, earlier, reuse } = await behindEarlier(looked);
  const isNarrow = isNarrowed(inquiry.target);

  const quote: Quote = {
    ...best,
    written: base.options.join?.rows.length ?? rowsWritten(inquiry.target, { ...best, share }),
    overlap: offer.overlap ?? 0,
    apart: rowsApart(inquiry.target, share, Math.max(best.kept, earlier?.stock ?? 0)),
    share: isNarrow || share === undefined ? share : { ...share, divide: undefined },
    reuse,
    datasetVersion: offer.datasetVersion,
  };

  await checkRoom(base.options, quote.written);
  return { inquiry, offer, quote, sample, companies, reuse };
}

/** What a quote is made of: looked at, with nothing decided. */
type Looked = Awaited<ReturnType<typeof lookAround>>;

async function lookAround(base: Inquiry) {
  const { target, identity, options, account, deps, store } = base;
  const offer = options.offer ?? (await offerOf(target, account, deps));
  const ownership = await deps.ownership?.(account, target);
  const looked = await ownership?.look(mostOf(offer), isNarrowed(target), offer);

  const owned = await ownedCompanies(store, identity, offer.datasetVersion, options, deps);
  // Whom nobody has to look up again, and who is all the same.
  const share: OwnedShare | undefined =
    options.fresh && target.kind === "enrich"
      ? {
          total: target.companies.length,
          owned: owned.reduce((sum, { rows }) => sum + rows, 0),
          exact: true,
          calls: 0,
        }
      : looked;
  const companies = options.fresh ? [] : owned;
  const sample = await drawnSample(base, offer);
  return { base, offer, share, companies, sample };
}

/** What is bought behind what earlier runs hold: all that is lacking, or new people alone. */
async function behindEarlier({ base, offer, share, sample, companies }: Looked) {
  const { target } = base;
  const ofParts = offer.parts?.map(({ company_network_url: company }) => company);
  const of = target.kind === "employees" && offer.counts !== undefined ? target.companies : ofParts;
  const isNarrow = isNarrowed(target);
  /** @param rows that earlier runs hold: those are not paid for */
  const quoteBehind = (rows: number, maxCredits = base.options.maxCredits): Quote =>
    quoteFor(
      target,
      isNarrow ? { matches: mostRows(share) } : offer,
      { ...base, options: { ...base.options, maxCredits } },
      {
        spent: { ...NOTHING, rows },
        parts: of && { counts: offer.counts ?? [], of },
        pieces: isNarrow ? share?.estimate?.parts : undefined,
        drawn: drawnOf(sample ?? {}),
      },
    );

  const held = companies.length;
  const anew = quoteBehind(held);
  const all = anew.rowsUncapped ?? anew.rows;
  if (all <= held) return { inquiry: base, best: anew };

  const found = await earlierRun(base, offer.datasetVersion, { ...anew, share }, sample);
  const earlier = typeof found === "string" ? undefined : found;
  const { rows = held, isWhole = false } = earlier ?? {};
  const isCapped = isWhole && rows !== anew.rowsUncapped;
  const best = rows === held ? anew : quoteBehind(rows, isCapped ? ZERO : undefined);

  // What is owned whole is written whole, whatever an earlier run holds of it under its cap.
  const isOwned = isCapped && share?.exact === true && newPeopleIn(share) === 0;
  // Under a cap that does not pay for all new people
  // the first rows are bought, as the segment has them.
  const parted = newPeopleApart(base, share, isWhole && !isOwned ? -1 : all - rows);
  if (parted === undefined) {
    if (typeof found === "string") base.deps.onWarning(found);
    return { inquiry: base, best, earlier, reuse: earlier };
  }

  // Whoever that run brought is among those who are owned.
  return { inquiry: parted.inquiry, best: parted.quote, earlier };
}

async function drawnSample(inquiry: Inquiry, offer: Offer): Promise<Drawn | undefined> {
  const { target, options, account, deps } = inquiry;
  if (target.kind !== "search" || target.sample === undefined) return undefined;

  const isOpen =
    offer.parts === undefined &&
    isPriceKnown(target, account) &&
    perPageTold(account, deps) === undefined;

  // Pages may be smaller than is thought; where all are wanted, any size will do.
  if (
    isOpen &&
    mostOf(offer) <= target.sample.rows &&
    quoteFor(target, offer, inquiry).bound === "matches"
  ) {
    deps.onNotice(
      `notice: ${counted(mostOf(offer), "person matches", "people match")}: ` +
        "the sample is all of them",
    );
    return undefined;
  }

  const { drawn } = await import("./sampling.ts");
  const { filters, sample } = target;
  const perPageMax = perPageOf(options, account, deps);
  const terms = { ...account, perMinute: perMinuteOf(account, deps), perPageMax };

  return await drawn(
    { filters, sample },
    offer,
    { ...terms, priceKnown: isPriceKnown(target, account) },
    deps,
  );
}

export async function agree({ quote, inquiry }: Survey, draft: Target): Promise<void> {
  const { target, account } = inquiry;
  const earlier = quote.reuse && `notice: ${quote.reuse.text}`;
  const { owned = 0, total = 0 } = quote.share ?? {};
  const who =
    `${grouped(owned)} of the ${grouped(total)} ` + `${owned === 1 ? "is" : "are"} yours already`;
  const why = "not paid for again, and written from what you own (--again pays for all)";
  const unasked = `notice: ${who}: ${why}`;
  const said = [earlier, isNarrowed(target) && !isNarrowed(draft) && unasked].flatMap(
    (text) => text || [],
  );
  const { datasetVersion: told = null } = quote;
  const datasetVersion = told === null ? null : (account.datasetVersion ?? told);
  await agreeTo({ ...quote, datasetVersion }, inquiry, { rows: quote.written, said });
}

const mostOf = ({ matches }: Offer): number => matches ?? Infinity;

/**
 * Divides what was agreed to, and makes the run that is to buy it.
 * @returns with the quote that its parts make
 */
export async function begin(survey: Survey): Promise<{ run: Run; quote: Quote }> {
  const { inquiry, quote, offer, sample, companies, reuse } = survey;
  const { target, options, deps, store } = inquiry;
  const parts = reuse?.division ?? sample ?? (await partsToBuy(target, offer, quote, deps));
  const division = {
    matches: isNarrowed(target) ? mostRows(quote.share) : offer.matches,
    ...parts,
  };
  const plan = planOf(survey, division);
  const run = await store.create(plan, deps.now(), lockOptions("the new run", options.wait, deps));

  if (options.join !== undefined) await run.keepInput(options.join.text);
  await takeOver(run, reuse?.pages() ?? companies, deps.now);
  if (!isNarrowed(target)) return { run, quote };

  return { run, quote: { ...quoteFor(target, division, inquiry), share: quote.share } };
}

function planOf(
  { quote, offer, inquiry: { identity, options, deps } }: Survey,
  parts: Divided,
): NewPlan {
  const { file: dialect, firstPage, paging } = deps.seller.client.dialect;
  const { overwrite, allowEmpty, minRows, maxShrink, requireComplete } = options;

  return {
    command: identity.target.kind,
    ...identity,
    dataset_version: offer.datasetVersion,
    unit_price: formatCredits(quote.unitPrice),
    ...parts,
    paging,
    first_page: paging === "page" ? firstPage : undefined,
    dialect,
    view: savedView(options),
    per_page: options.perPage ?? null,
    guard: { overwrite, allowEmpty, minRows, maxShrink, requireComplete },
    misses: options.misses ?? null,
    receipt: options.receipt ?? null,
  };
}
