// Tested by test/unit/quote.test.ts.

import {
  affordableRows,
  type Credits,
  credits,
  creditsLess,
  creditsOrNull,
  creditsText,
  creditsToNumber,
  formatCredits,
  formatCreditsGrouped,
  maxCredits as maxOf,
  minCredits,
  priceOf,
  roomFor,
  sumOfCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import {
  type CliError,
  clauses,
  command,
  declined,
  failed,
  type Option,
  type OwnCommand,
  option,
  type Sentence,
  say,
  usageError,
} from "../../shared/errors.ts";
import { inSeconds } from "../../shared/numbers.ts";
import type { Of } from "../../shared/schema/build.ts";
import type { quoteShape, sample } from "../../shared/schema/purchase.ts";
import { type DrawnPage, pagesOf, rowsBegun, rowsOf } from "../planning/draw.ts";
import { limitedMs } from "../planning/question.ts";
import type { RunState } from "../runs/journal.ts";
import { describeTarget, type Matches, type Plan, type Target } from "../runs/plan.ts";
import type { OwnedShare } from "./ownership.ts";
import { evenly, requestsFor } from "./paging.ts";

export interface Offer extends Matches, Pick<Plan, "counts" | "parts" | "overlap" | "digests"> {
  readonly datasetVersion: string | null;
}

type Bound = "matches" | "limit" | "cap" | "companies" | "sample";

export interface Quote {
  /**
   * People that match; null where no free count tells
   * (employees of a company that is named by its domain).
   */
  readonly matches: number | null;
  /** Rows to have at the end, those of earlier sessions included: at most this many. */
  readonly rows: number;
  /**
   * What `rows` would be if no credits were uncertain:
   * lost replies may have used up a part of the cap.
   */
  readonly rowsIfNothingLost: number;
  /** What `rows` would be without a cap; undefined: nothing else bounds them. */
  readonly rowsUncapped: number | undefined;
  readonly kept: number;
  /** The most rows that are written: with those that are owned, where they are wanted. */
  readonly written: number;
  readonly bound: Bound;
  readonly unitPrice: Credits;
  /** Rows that one price pays for; undefined: a row. */
  readonly parcel?: number | undefined;
  /** What the first call takes at most by the file of a vendor, before he was seen to keep it. */
  readonly firstCall?: Credits | undefined;
  /** The day on which the price was read on a public page; undefined: the account tells it. */
  readonly priceRead?: string | undefined;
  /** Why `unitPrice` is a guess, in words; undefined: it is none. */
  readonly assumed?: string | undefined;
  readonly credits: Credits;
  /**
   * With what was spent already: what `--max-credits` must
   * be for it, because that counts from the run's beginning.
   */
  readonly total: Credits;
  /** The dearest answer of its run that brought no rows. */
  readonly floor: Credits;
  readonly settled: Credits;
  /** What was spent already, with what may have been. */
  readonly spent: Credits;
  readonly balance: Credits | undefined;
  readonly balanceAfter: Credits | undefined;
  /** Of the cap of the key, where it is told. */
  readonly capLeft: Credits | undefined;
  readonly requests: number;
  /**
   * The largest page, which requests are counted on;
   * undefined: nobody told it, and requests are the fewest.
   */
  readonly pageRows: number | undefined;
  /**
   * How long the rate limit alone makes it take, in
   * milliseconds; 0: not at all, undefined: none is known.
   */
  readonly durationMs: number | undefined;
  /**
   * People of several segments that are in more than one of their parts, and paid for each time.
   */
  readonly overlap?: number;
  /**
   * The most rows that the service gives of one segment, where
   * that is less than is wanted: the segment is divided.
   */
  readonly depth: number | undefined;
  readonly sample: SampleQuote | undefined;
  readonly share?: OwnedShare | undefined;
  /**
   * Of a purchase of all that would pay for owned people
   * again: at most so many rows are its new people alone.
   */
  readonly apart?: number | undefined;
  readonly datasetVersion?: string | null;
  /**
   * What looking companies up costs, which is within `credits`
   * and `requests`: their people are counted after it.
   */
  readonly lookUps?: { readonly companies: number; readonly credits: Credits } | undefined;
  readonly reuse?:
    | { readonly run: string; readonly rows: number; readonly text: string }
    | undefined;
}

export type SampleQuote = Of<typeof sample>;

/** A page that no reply came to. */
interface Lost {
  readonly rows: number;
  readonly hold: Credits;
  /** By how much asking again for it raises what the run may cost. */
  readonly again: Credits;
}

export interface QuoteInput
  extends Matches,
    Pick<Quote, "assumed" | "balance" | "parcel" | "priceRead">,
    Partial<Pick<Quote, "capLeft" | "pageRows">> {
  readonly target: Target;
  readonly price: Credits;
  readonly limit: number | undefined;
  readonly maxCredits: Credits | undefined;
  readonly maxDepth: number | undefined;
  readonly perPage: number;
  readonly perMinute: number | undefined;
  /**
   * Calls before the first page; `isUnproven`: of a vendor that has one row, which is looked at;
   * false: a whole page, as he sells no smaller one.
   */
  readonly tries?: number | undefined;
  readonly isUnproven?: boolean | undefined;
  readonly paging: Plan["paging"];
  /**
   * `lost`: pages that no reply came to. What they may have
   * cost is uncertain, as it will be once the run goes on.
   */
  readonly spent: Pick<RunState, "rows" | "settled" | "uncertain"> & {
    readonly floor: Credits;
    readonly lost?: readonly Lost[];
  };
  readonly parts?:
    | { readonly counts: readonly number[]; readonly of: readonly unknown[] }
    | undefined;
  /** Parts that will be found, about: nobody knows their sizes yet. */
  readonly pieces?: number | undefined;
  readonly drawn?: { readonly seed: number; readonly pages: readonly DrawnPage[] } | undefined;
}

export const drawnOf = ({
  draw,
  counts = [],
}: Pick<Plan, "draw" | "counts">): QuoteInput["drawn"] =>
  draw && { seed: draw.seed, pages: pagesOf(draw.pages, counts) };

export function makeQuote(input: QuoteInput): Quote {
  const { target, matches, price, parcel, maxDepth = Infinity, spent, balance, drawn } = input;
  const { bound, allowed, lossless, rowsUncapped } = boundsOf(input);

  const inPages = (most: number): number =>
    drawn === undefined ? most : rowsBegun(drawn.pages, most).rows;
  const rows = inPages(allowed);
  const toBuy = rowsToBuy({ rows, kept: spent.rows });
  const cost = priceOf(toBuy, price, parcel);
  if (bound === "limit") requireWhole(toBuy, input);
  const before = credits(spent.settled + spent.uncertain);
  const isFirst = toBuy > 0 && spent.rows === 0;
  const looked = isFirst && input.isUnproven ? 1 : 0;
  const tries = isFirst ? (input.tries ?? 0) : 0;
  const requests = looked + tries + requestCount(input, toBuy, looked);
  const isWhole = target.kind === "search" && !target.staff && drawn === undefined;
  // Whom nobody counts nobody divides: they are asked for as they are, up to the wall.
  const isDivided = isWhole && matches !== null;

  return {
    matches,
    rows,
    written: rows,
    rowsIfNothingLost: Math.max(rows, inPages(lossless)),
    rowsUncapped: Number.isFinite(rowsUncapped) ? rowsUncapped : undefined,
    kept: spent.rows,
    bound,
    unitPrice: price,
    parcel,
    firstCall:
      isFirst && input.isUnproven !== undefined
        ? priceOf(looked || Math.min(toBuy, parcel ?? input.perPage), price, parcel)
        : undefined,
    priceRead: input.priceRead,
    assumed: input.assumed,
    credits: cost,
    total: credits(before + roomFor(toBuy, price, parcel, spent.floor)),
    floor: spent.floor,
    settled: spent.settled,
    spent: before,
    balance,
    balanceAfter: balance === undefined ? undefined : credits(balance - cost),
    capLeft: input.capLeft,
    requests,
    pageRows: input.pageRows,
    durationMs: limitedMs(requests, input.perMinute),
    depth: isDivided && maxDepth < rows ? maxDepth : undefined,
    sample: drawn && {
      seed: drawn.seed,
      rows: rowsOf(drawn.pages),
      together: Math.max(1, ...drawn.pages.slice(0, 1_000).map(({ size }) => size)),
    },
  };
}

/**
 * What bounds the rows, and how many there would be
 * without a cap, or under it had no reply been lost.
 */
function boundsOf(input: QuoteInput) {
  const { target, matches, uncounted = 0, price, parcel, limit, maxCredits, spent, drawn } = input;
  const within = target.kind === "search" ? target.within : undefined;
  const bounds: [Bound, number][] = [];
  if (drawn !== undefined) bounds.push(["sample", rowsOf(drawn.pages)]);
  else if (matches !== null)
    bounds.push([target.kind === "enrich" ? "companies" : "matches", matches + uncounted]);

  // Those who were owned when it began are among the rows of its limit.
  const owned = within === undefined ? 0 : within.rows - within.fresh;
  if (limit !== undefined) bounds.push(["limit", Math.max(0, limit - owned)]);

  const rowsUncapped = Math.min(...bounds.map(([, most]) => most));
  let lossless = rowsUncapped;
  if (maxCredits !== undefined) {
    bounds.push(["cap", spent.rows + rowsLeft(input, maxCredits, rowsUncapped - spent.rows)]);
    const paid = affordableRows(credits(maxCredits - spent.settled), price, parcel);
    lossless = Math.min(lossless, spent.rows + paid);
  }

  const [least] = bounds.filter(([, most]) => Number.isFinite(most)).sort(([, a], [, b]) => a - b);
  if (least === undefined) throw unbounded(target);

  const [first, allowed] = least;
  const bound: Bound = within !== undefined && first === "matches" ? "limit" : first;
  return { bound, allowed, lossless, rowsUncapped };
}

function unbounded({ kind }: Target): CliError {
  const [cap, limit] = [option("max_credits", "N"), option("limit", "N")];
  return usageError(
    "nobody can tell beforehand how many people " +
      `${kind === "search" ? "match" : "these companies have"}, ` +
      "so something must bound the purchase",
    kind === "search"
      ? say`add ${cap} or ${limit}`
      : say`add ${cap}, ${limit} or ${option("per_company", "N")}`,
    "unbounded_purchase",
  );
}

/**
 * What earlier sessions paid counts, as does what lost
 * replies may have cost; no part of such a page is asked for.
 */
function rowsLeft(
  { target, spent, price, parcel, paging }: QuoteInput,
  maxCredits: Credits,
  open: number,
): number {
  const rest = credits(maxCredits - spent.settled - spent.uncertain);
  const shelved = (spent.lost ?? []).filter(({ hold }) => hold > rest);

  // Their reply may come at no further charge; while they wait for it that counts.
  const waiting = sumOfCredits(shelved.map(({ hold, again }) => hold - again));
  const lost = shelved.reduce((sum, { rows }) => sum + rows, 0);
  const isOne =
    target.kind === "search" ? target.union === undefined : target.companies.length === 1;
  const behind = paging === "cursor" && isOne && lost > 0 ? 0 : Math.max(0, open - lost);
  const spare = creditsLess(spent.floor, price);
  return Math.min(affordableRows(credits(rest - waiting - spare), price, parcel), behind);
}

/** @throws CliError exit 2 for a limit within rows that are sold together: all of them are paid */
function requireWhole(rows: number, { price, parcel = 1 }: QuoteInput) {
  const over = rows % parcel;
  if (over === 0) return;
  const fits = [rows - over, rows - over + parcel].filter((each) => each > 0);
  const limits = fits.map((each) => option("limit", each));
  throw usageError(
    say`rows are sold ${parcel} together there, for ${creditsText(price)}, and ${option("limit")}
      would end ${over} rows into them; nothing was spent`,
    clauses(...limits.map((limit) => say`${limit} fits`)),
    "part_of_parcel",
  );
}

/**
 * The cap that a run is held to, all told: what the user
 * set, and never more than was quoted and agreed to.
 */
export function consentedCap(
  quote: Quote,
  session: RunState["session"],
  cap = quote.total,
): Credits {
  // A lower cap takes nothing back of what an earlier one allowed.
  return minCredits(quote.total, maxOf(cap, minCredits(quote.spent, session?.cap ?? ZERO)));
}

/** A segment behind a wall is bought in parts that are two thirds full, about. */
const PARTS_A_WALL = 1.5;

/** @param looked rows of the first page, beside whose call all others are counted */
function requestCount(input: QuoteInput, rows: number, looked: number): number {
  const { target, paging, maxDepth = rows, parcel, perPage, parts, drawn, spent } = input;
  if (target.kind === "enrich") return rows;
  if (drawn !== undefined) {
    const { pages } = rowsBegun(drawn.pages, spent.rows + rows - looked);
    return pages - rowsBegun(drawn.pages, spent.rows).pages;
  }

  const behind = maxDepth < rows ? Math.ceil((PARTS_A_WALL * rows) / maxDepth) : 1;
  const pieces = target.kind === "employees" ? target.companies.length : (input.pieces ?? behind);
  const each = { length: Math.max(1, Math.min(rows, pieces)) };
  const spread = () => Array.from(each, (_, at) => Math.floor((rows + at) / each.length));
  const sizes = parts === undefined ? spread() : sizesOf(input, parts, rows);
  // Of what is paid together no page is smaller.
  const by = parcel ? "cursor" : paging;
  const most = parcel ?? Math.max(1, perPage);
  return sizes.reduce((sum, size, at) => sum + requestsFor(by, size, most, at ? 0 : looked), 0);
}

/** Rows to buy of each part, or company, behind those that are kept. */
function sizesOf(
  { target, spent }: QuoteInput,
  { counts, of }: NonNullable<QuoteInput["parts"]>,
  rows: number,
) {
  if (target.kind === "search" && target.staff !== undefined) {
    return evenly(counts, of, { rows, most: target.staff.most });
  }

  let [kept, left] = [spent.rows, rows];
  const [least, most] =
    target.kind === "employees"
      ? [1, target.perCompany ?? Number.MAX_VALUE]
      : [0, Number.MAX_VALUE];

  return counts.map((count) => {
    const own = Math.min(Math.max(count, least), most);
    const before = Math.min(kept, own);
    const size = Math.min(left, own - before);
    [kept, left] = [kept - before, left - size];
    return size;
  });
}

/**
 * What is held against a budget is what may be charged: as much as was quoted, which a cap bounds.
 * @param spent what the run that goes on has cost already, which the budget counts
 * @throws CliError exit 4 where it may be more than is left, with something to buy
 */
export function requireBudget(
  { credits: cost, total }: Pick<Quote, "credits" | "total">,
  budgetLeft: Credits | undefined,
  spent = ZERO,
): void {
  const most = credits(total - spent);
  if (budgetLeft === undefined || cost === ZERO || most <= budgetLeft) return;
  const more = spent > 0n ? "more " : "";
  const rest = maxOf(budgetLeft, ZERO);
  throw failed.credits(
    `it costs up to ${creditsText(most)}, and the budget has ${formatCreditsGrouped(rest)} left; ` +
      `nothing ${more}was spent`,
    rest === ZERO ? undefined : `a cap of at most ${formatCredits(credits(rest + spent))} fits`,
    "over_budget",
  );
}

/** Whether it is known to cost no more. */
export const costsAtMost = ({ assumed, credits: cost }: Quote, most: Credits): boolean =>
  cost <= (assumed === undefined ? most : ZERO);

/** What rows of it cost in words, all of them by default, and whether anybody told so. */
export const costText = (
  { assumed, ...quote }: Pick<Quote, "assumed" | "credits">,
  cost = quote.credits,
): string =>
  creditsText(cost) +
  (assumed === undefined ? "" : " (assumed: the account does not tell the price)");

/** What a quote is beyond, in words; undefined: it is within the balance and the cap of the key. */
export function beyondFunds({ balance, capLeft, credits: cost }: Quote) {
  const isCapped = capLeft !== undefined && (balance === undefined || capLeft < balance);
  const free = isCapped ? capLeft : balance;
  if (free === undefined || cost <= free) return undefined;
  return {
    free,
    said:
      `${isCapped ? "the cap of the key leaves" : "the balance is"} ` +
      `${formatCreditsGrouped(free)}`,
  };
}

export function requireBalance(quote: Quote, target: Target): void {
  const { kept, parcel, rows, unitPrice } = quote;
  if (quote.rowsIfNothingLost === 0 && quote.total === 0n && quote.bound === "cap") {
    const one =
      parcel === undefined
        ? `one ${target.kind === "enrich" ? "company" : "profile"} ` +
          `costs ${costText(quote, unitPrice)},`
        : `${parcel} profiles, which are sold together, cost ${costText(quote, unitPrice)},`;
    const [what, fits] =
      quote.sample === undefined
        ? [
            one,
            clauses(
              say`${option("max_credits", creditsToNumber(unitPrice))} pays for
                ${parcel === undefined ? "one" : "them"}`,
              say`${command("account")} shows the prices`,
            ),
          ]
        : [
            "the first people of the sample are bought together, for",
            say`${option("sample", "N")} of what the cap pays for fits`,
          ];
    throw failed.credits(
      say`${what} more than ${option("max_credits")}; nothing was spent`,
      fits,
      "over_cap",
    );
  }

  const beyond = beyondFunds(quote);
  if (beyond === undefined) return;

  const fits = kept + Math.min(rows, affordableRows(beyond.free, unitPrice, parcel));
  const [one, many] = target.kind === "enrich" ? ["company", "companies"] : ["profile", "profiles"];
  throw failed.credits(
    `${counted(rows - kept, `${one} costs`, `${many} cost`)} up to ` +
      `${costText(quote)}, ${beyond.said}; nothing was spent`,
    clauses(
      fits > kept && !("list" in target)
        ? say`${option("limit", fits)} would fit`
        : "top the account up, or take another key",
      say`${command("account")} shows the balance and the cap`,
    ),
    "insufficient_credits",
  );
}

export function requireSame(agreed: Quote, now: Quote): void {
  const same = (what: string, was: string, is: string): void => {
    const message = `${what} was ${was} and is ${is} since the quote; nothing was spent`;
    if (was !== is) throw declined(message, "ask for a new quote", "quote_changed");
  };
  same("the dataset", agreed.datasetVersion ?? "unnamed", now.datasetVersion ?? "unnamed");
  same("the price", formatCredits(agreed.unitPrice), formatCredits(now.unitPrice));
  same("the cost", creditsText(agreed.credits), creditsText(now.credits));
  same("the size", grouped(rowsToBuy(agreed)), grouped(rowsToBuy(now)));
}

export function overlapWarning({ overlap = 0, unitPrice, parcel }: Quote): string {
  const price = creditsText(priceOf(overlap, unitPrice, parcel));
  return (
    `warning: up to ${grouped(overlap)} ${overlap === 1 ? "person is" : "people are"} ` +
    "in more than one of the segments, and no filter takes those apart: " +
    `paid for each time (up to ${price} more), written once`
  );
}

export function paidTwiceText({ overlap = 0 }: Quote, target: Target): string | undefined {
  if (overlap > 0) return `up to ${grouped(overlap)}, in more than one segment`;
  const [, second] = target.kind === "employees" ? target.companies : [];
  if (second === undefined || second.by === "company_network_url") return undefined;
  return "of a company that two of the names mean, one page at most";
}

/** Rows beyond those that are counted; undefined where there are none. */
export function uncountedText({ matches, rows }: Quote, { kind }: Target): string | undefined {
  const more = kind === "employees" && matches !== null ? rows - matches : 0;
  return more > 0
    ? `at most ${counted(more, "row")}, one of each company where nobody is counted`
    : undefined;
}

/** Rows that are still to be paid for. An unfinished run may hold more than is wanted now. */
export const rowsToBuy = ({ rows, kept }: Pick<Quote, "rows" | "kept">): number =>
  Math.max(0, rows - kept);

/** At most so many of the rows to buy are owned already; 0 where only new people are bought. */
export function paidAgain(quote: Pick<Quote, "share" | "rows" | "kept">): number {
  const { share, kept } = quote;
  if (share === undefined || share.divide !== undefined) return 0;
  // What a run holds of it is owned too, and is taken from there.
  return Math.min(rowsToBuy(quote), Math.max(0, share.owned - kept));
}

/** As {@link paidAgain}, in words; undefined where nothing is known to be paid for again. */
export function whoIsPaidAgain(quote: Quote, target: Target): string | undefined {
  const { share, rows } = quote;
  const again = paidAgain(quote);
  if (share === undefined || again === 0) return undefined;

  const { owned, total, exact } = share;
  const toBuy = rowsToBuy(quote);
  const isDrawn = quote.sample !== undefined;
  const isAll = isDrawn
    ? owned >= total
    : rows >= total && !(target.kind === "employees" && target.perCompany !== null);
  const about = isAll ? (exact ? "" : "about ") : isDrawn ? "about " : "up to ";
  const many = isDrawn
    ? Math.min(again, Math.max(1, Math.round((toBuy * owned) / Math.max(1, total))))
    : again;
  const source = exact ? "" : " by your records";
  return (
    `${about}${grouped(many)} of the ${grouped(toBuy)} to buy ` +
    `${many === 1 ? "is" : "are"} yours already${source}`
  );
}

/** Who is owned from other services, by the addresses in their records; undefined: nobody is. */
export function elsewhereText({ share }: Pick<Quote, "share">): string | undefined {
  const { elsewhere = [] } = share ?? {};
  if (elsewhere.length === 0) return undefined;
  const each = elsewhere.map(({ service, people }) => `${grouped(people)} from ${service}`);
  return `up to ${each.join(", ")}, by the profile addresses in your records`;
}

/**
 * What would be paid for again and what would not, in a sentence.
 * @param option what buys only new people
 */
export function paidAgainText(
  quote: Quote,
  target: Target,
  around: Option | OwnCommand = option("new_only"),
): Sentence | undefined {
  const { share } = quote;
  const who = whoIsPaidAgain(quote, target);
  if (share === undefined || who === undefined) return undefined;
  return say`${who} and would be paid for again; ${wayAround(quote, share, target, around)}`;
}

function wayAround(
  quote: Quote,
  share: OwnedShare,
  target: Target,
  around: Option | OwnCommand,
): Sentence {
  const { owned, total, exact, estimate, calls } = share;
  if (target.kind === "enrich")
    return say`without ${option("again")} only the others are looked up`;
  if (quote.sample !== undefined) return "a sample is drawn from all of the segment";
  const isStaff =
    target.kind === "employees"
      ? target.companies.length > 1 || target.perCompany !== null
      : target.staff !== undefined;
  if (isStaff) return say`${around} buys only the others`;
  if (target.kind === "search" && (target.union ?? target.except) !== undefined)
    return say`${around} takes one segment after the other, and pays for nobody again`;
  if (!exact && calls === 0) return "no count tells who the others are";
  if (total === owned) return exact ? "nobody is new" : say`${around} looks whether anybody is new`;
  if (estimate?.callsPerCredit === 0) return "finding the others costs more than buying all of it";
  const whom = quote.rows < total ? "new people" : "the others";
  return say`${around} buys only ${whom} for ${exact ? "" : "about "}${newPriceText(quote, share)}`;
}

export function newPriceText(quote: Quote, { total, owned, estimate }: OwnedShare): string {
  const price = (rows: number): Credits =>
    priceOf(Math.min(rows, rowsToBuy(quote)), quote.unitPrice, quote.parcel);
  const [least, most] = [price(total - owned), price(estimate?.rows ?? 0)];
  return most > least
    ? `${formatCreditsGrouped(least)} to ${creditsText(most)}`
    : creditsText(least);
}

type QuoteDocument = Of<typeof quoteShape>;

export const quoteJson = (quote: Quote, target: Target): QuoteDocument => ({
  target: describeTarget(target),
  matches: quote.matches,
  rows: quote.rows,
  kept: quote.kept,
  bound: quote.bound,
  unit_cost: quote.assumed === undefined ? creditsToNumber(quote.unitPrice) : null,
  unit_rows: quote.parcel ?? 1,
  price_read: quote.priceRead ?? null,
  first_call: creditsOrNull(quote.firstCall),
  credits: creditsToNumber(quote.credits),
  balance: creditsOrNull(quote.balance),
  balance_after: creditsOrNull(quote.balanceAfter),
  cap_left: creditsOrNull(quote.capLeft),
  requests: quote.requests,
  page_rows: quote.pageRows ?? null,
  rate_limited_seconds: inSeconds(quote.durationMs),
  max_depth: quote.depth ?? null,
  overlap: quote.overlap ?? 0,
  sample: quote.sample ?? null,
  ...shareJson(quote),
  paid_again: quote.share === undefined ? null : paidAgain(quote),
  look_ups: quote.lookUps
    ? { ...quote.lookUps, credits: creditsToNumber(quote.lookUps.credits) }
    : null,
  reuse: quote.reuse === undefined ? null : { run: quote.reuse.run, rows: quote.reuse.rows },
});

function shareJson({ share, unitPrice, parcel }: Quote) {
  const { owned = null, exact = null, total = 0, calls = null, estimate } = share ?? {};
  const { elsewhere = [] } = share ?? {};
  const price = (rows: number): number => creditsToNumber(priceOf(rows, unitPrice, parcel));

  return {
    owned,
    owned_exact: exact,
    owned_calls: calls,
    owned_elsewhere: [...elsewhere],
    new_only:
      estimate === undefined || owned === null
        ? null
        : {
            new: total - owned,
            credits: price(total - owned),
            max_credits: price(estimate.rows),
            calls: estimate.calls,
            calls_per_credit: estimate.callsPerCredit,
          },
  };
}
