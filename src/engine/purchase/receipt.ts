// Tested by test/scene/ends.test.ts.

import {
  type Credits,
  credits,
  creditsOrNull,
  creditsText,
  creditsToNumber,
  formatCreditsGrouped,
  roomFor,
} from "../../shared/contract/money.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { command, option, type Raise, Said, type Sentence, say } from "../../shared/errors.ts";
import type { Of } from "../../shared/schema/build.ts";
import type { receipt } from "../../shared/schema/purchase.ts";
import type { Distinct } from "../output/distinct.ts";
import { pendingUnits, placesOf, settledUnits, type Unit } from "../runs/journal.ts";
import { raiseOptions, resumeOf, type Target, unlooked, unreachedGroups } from "../runs/plan.ts";
import type { Run } from "../runs/run.ts";
import type { Narrowed } from "./ownership.ts";
import type { Quote } from "./quote.ts";
import type { Doubled } from "./remaining.ts";

/**
 * What a run did, to account for it: `receipt.json`,
 * `--receipt FILE`, `--json`. Credits are numbers.
 */
export type Receipt = Of<typeof receipt>;

/** Where nobody told the price, what would bind was a guess. */
function boundOf({ run: { state }, quote, outcome, maxCredits }: ReceiptInput): Receipt["bound"] {
  const { ended, price, missing } = outcome;
  if (missing.untold.length > 0) return "matches";
  if (price === quote.unitPrice || ended !== "limit") return quote.bound;
  if (maxCredits !== undefined && state.spent + price > maxCredits) return "cap";
  if (state.rows + state.misses < (quote.rowsUncapped ?? Infinity)) return "agreed";
  return quote.bound === "cap" ? "limit" : quote.bound;
}

export interface ReceiptInput {
  readonly run: Run;
  readonly quote: Quote;
  readonly distinct: Distinct;
  readonly outcome: Doubled;
  readonly maxCredits: Credits | undefined;
  readonly finishedAt: number;
  readonly narrowed?: Narrowed | null;
  /** Rows of people who were owned before; undefined: nobody looked. */
  readonly again?: number | undefined;
}

export function buildReceipt(input: ReceiptInput, shortfall: Sentence | null): Receipt {
  const { run, quote, distinct, outcome, finishedAt, narrowed = null } = input;
  const { plan, state } = run;
  const { target } = plan;
  const isWhole = quote.bound === "matches" || quote.bound === "companies";

  return {
    run: run.id,
    command: plan.command,
    connection: plan.connection,
    service: plan.base_url,
    account_id: plan.account_id,
    key_mode: plan.key_mode,
    filters: filtersOf(target),
    companies: target.kind === "search" ? null : target.companies.map(({ value }) => value),
    sample: quote.sample ?? null,
    new_only: narrowed === null ? null : { new: narrowed.new, whole: narrowed.whole },
    count: unlooked(target) > 0 && plan.matches === 0 ? null : plan.matches,
    wanted: quote.rows,
    bound: boundOf(input),
    received: state.rows,
    distinct: distinct.distinct,
    duplicates: distinct.duplicates,
    suppressed: distinct.suppressed,
    withheld: state.withheld,
    unread: state.unread,
    reused: state.owned,
    paid_again: input.again ?? null,
    owned_elsewhere: [...(quote.share?.elsewhere ?? [])],
    misses: state.misses,
    unit_cost: creditsToNumber(outcome.price),
    unit_rows: quote.parcel ?? 1,
    credits: creditsToNumber(state.settled),
    uncertain_credits: creditsToNumber(state.uncertain),
    foreign_credits: creditsToNumber(state.foreign),
    balance: creditsOrNull(outcome.balance),
    complete:
      shortfall === null &&
      outcome.missing.untold.length === 0 &&
      narrowed?.whole !== null &&
      state.unread === 0 &&
      unlooked(target) === 0 &&
      ((outcome.ended === "all" && (isWhole || !isStaff(target))) ||
        (isWhole && state.rows + state.withheld >= quote.rows)),
    shortfall: shortfall === null ? null : `${shortfall}`,
    dataset_version: plan.dataset_version,
    started: plan.created_at,
    finished: new Date(finishedAt).toISOString(),
    output: null,
    ...(outcome.forgotten > 0 ? { forgotten: outcome.forgotten } : {}),
  };
}

/** What a cap leaves of each company is all that is asked for. */
const isStaff = (target: Target): boolean => target.kind === "search" && target.staff !== undefined;

function filtersOf(target: Target): Receipt["filters"] {
  if (target.kind !== "search") return null;
  const { filters, union, except } = target;
  return union === undefined && except === undefined
    ? filters
    : { union: union ?? [filters], except: except ?? [] };
}

/**
 * What gets a first page that was never asked for.
 * @param isCounted whether counts tell who of its people is owned
 */
const fromZero = (isCounted: boolean): Sentence => {
  const paging = option("paging", "page0");
  const how = isCounted
    ? say`${paging} ${option("with_owned")} buys the missing ones alone`
    : say`${option("again")} ${paging} gets the first page too`;
  return say`where it counts pages from 0, the same command with ${how}`;
};

const NO_CURSOR =
  "no cursor to the next one (in X-Next-Cursor, or as next_cursor, nextCursor or " +
  "cursor in result, its meta, pagination, paging or page_info)";

/**
 * What going on gets, with higher bounds perhaps.
 * @param on the command, where no run is left to go on with
 */
type Lack = {
  readonly why: Sentence;
  readonly raise: Raise;
  readonly gets: Sentence;
  readonly on?: Sentence | undefined;
};

/** Why it fell short, if it did, and what goes on. */
export function shortOf(input: ReceiptInput) {
  const lack = whyShort(input) ?? input.narrowed?.shortfall ?? null;
  if (lack === null || typeof lack === "string" || lack instanceof Said) return { shortfall: lack };
  const { plan } = input.run;
  const next = lack.on === undefined ? resumeOf(plan, lack.raise) : undefined;
  // The cap of a list is of one refresh, that of its run from the run's beginning.
  const raise = "list" in plan.target ? undefined : lack.raise;
  return { shortfall: say`${lack.why}; ${next ?? lack.on} ${lack.gets}`, next, raise };
}

/** What the reasons are worked out from. */
type Short = ReturnType<typeof lookedAt>;

/** @returns undefined: it is not that; null: nothing more is wanted, whatever is lacking */
type Reason = (short: Short) => Sentence | Lack | null | undefined;

/** The first that holds is said. */
const REASONS: readonly Reason[] = [
  behindWall,
  cameTwice,
  leavesPartOfSample,
  uncertainCap,
  pageOfItsOwnSize,
  smallestPage,
  dearerThanAgreed,
  unsureOfTheEnd,
  moreThanCounted,
  ({ fewer }) => (fewer > 0 ? undefined : null),
  undivided,
  notGiven,
];

function whyShort(input: ReceiptInput): Sentence | Lack | null {
  const short = lookedAt(input);
  for (const reason of REASONS) {
    const why = reason(short);
    if (why !== undefined) return why;
  }
  return null;
}

function lookedAt(input: ReceiptInput) {
  const { run, quote, outcome } = input;
  const isCounted = run.plan.target.kind === "search" && quote.matches !== null;
  const left = quote.rows - placesOf(run.state);
  return {
    ...input,
    isCounted,
    /** Settled and uncertain. */
    spent: run.state.spent,
    /** What it cost with so many rows more: as much as a cap has to be for them. */
    capFor: (rows: number): Credits =>
      credits(run.state.spent + roomFor(rows, outcome.price, quote.parcel, quote.floor)),
    /** Rows that were told of, or counted, and did not come. */
    fewer: Math.max(outcome.missing.rows, isCounted ? left : 0),
    left,
    came: `${grouped(run.state.rows)} of ${counted(quote.rows, "row")} came`,
  };
}

function behindWall({ outcome: { wall }, came }: Short) {
  if (wall === undefined) return undefined;
  return (
    `the service does not go deeper than row ${grouped(wall.depth)} of this segment ` +
    `("${wall.detail}"): ${came}; split the segment by another filter`
  );
}

function leavesPartOfSample({ outcome, quote, came }: Short) {
  if (outcome.least === undefined || quote.sample === undefined) return undefined;
  return `what cap and balance leave does not pay for the next page of the sample: ${came}`;
}

/** A page came smaller than was asked for: all of them may have that size. */
function pageOfItsOwnSize(short: Short) {
  const { outcome, maxCredits, came, fewer, isCounted } = short;
  const { least, own = 0 } = outcome;
  const room = short.capFor(own);
  const left = least === undefined ? fewer : short.left;
  if (left <= 0 || left >= own || maxCredits === undefined || room <= maxCredits) return undefined;

  const [page, what] = isCounted ? ["last", "rest"] : ["next", "next one"];
  const why = say`${came}: a page came with ${grouped(own)} where more was asked for, and the
    ${page} one may have as many: ${option("max_credits", creditsToNumber(room))} leaves room for
    it`;
  return { why, raise: { maxCredits: room }, gets: `buys the ${what}` };
}

function smallestPage({ run, outcome: { least }, maxCredits, spent, came, capFor }: Short) {
  if (least === undefined) return undefined;
  const { rows } = run.state;
  const more = capFor(least);
  const raise =
    maxCredits !== undefined && more > maxCredits ? { maxCredits: more } : { limit: rows + least };

  const why =
    "the service gives no page there that is as small as what is left to buy; " +
    `the smallest that is known has ${counted(least, "row")}: ${came}`;
  if (rows > 0) {
    const gets = say`buys the next one, ${option("limit", rows)} ends whole without it`;
    return { why, raise, gets };
  }

  // A run that holds nothing, and may have cost nothing, is removed.
  const on = spent === 0n ? say`the same command with ${raiseOptions(raise)[0]}` : undefined;
  return { why, on, raise, gets: "buys the next one" };
}

function dearerThanAgreed({ left, quote, outcome, maxCredits, spent, came, capFor }: Short) {
  const { price, ended } = outcome;
  if (price <= quote.unitPrice || ended !== "limit" || left <= 0) return undefined;
  // The user's own cap was reached: that is done, and said.
  if (maxCredits !== undefined && spent + price > maxCredits) return null;

  const why =
    `a row costs ${creditsText(price)}, which the account did not tell, and not the ` +
    `${formatCreditsGrouped(quote.unitPrice)} that were agreed to: ${came}`;
  return { why, raise: { maxCredits: capFor(left) }, gets: "buys the rest" };
}

function unsureOfTheEnd({ run, quote, outcome, came }: Short) {
  if (outcome.missing.unsure === 0) return undefined;
  if (quote.matches !== null)
    return `${came}, the last page whole: how many there are, nobody knows`;
  return (
    `the service gave a whole page, ${NO_CURSOR}, and no total: whether there are more ` +
    `than the ${counted(run.state.rows, "profile")} that came, nobody knows`
  );
}

function moreThanCounted({ quote, outcome: { missing }, came }: Short) {
  if (quote.bound !== "matches" || missing.newer === 0) return undefined;
  const why =
    `the count said ${counted(quote.rows, "profile")}, and since then the pages ` +
    `say ${grouped(quote.rows + missing.newer)}: ${came}`;
  return { why, raise: {}, gets: `prices the other ${grouped(missing.newer)}` };
}

function undivided({ run: { plan }, came }: Short) {
  const { unreached = [] } = plan;
  const behind = unreached.reduce((sum, { count }) => sum + count, 0);
  if (behind === 0) return undefined;
  return (
    `${came}; the service gives only a part of a large segment, and no filter divides ` +
    `${grouped(behind)} of its people further: ${unreachedGroups(unreached)}`
  );
}

function notGiven({ run, quote, isCounted, fewer }: Short) {
  const units = settledUnits(run.state);
  const { paging } = run.plan;
  const { rows } = run.state;
  const isPage0 = quote.sample === undefined && paging === "page" && isFirstPage(units[0], fewer);
  const cut = paging === "cursor" ? `; the last page had ${NO_CURSOR}` : "";
  const why = isPage0 ? ` (${fromZero(isCounted)})` : cut;

  const whole = rows + fewer;
  const all = (isCounted && quote.matches) || 0;
  const isTold = !isCounted && units.some(({ settled }) => settled.total != null);
  const it = isTold ? "its pages told of" : "it counted";
  const what =
    quote.rows < all && whole < all ? `were asked for, of ${grouped(all)} that ${it}` : it;
  return `the service gave ${grouped(rows)} of the ${counted(whole, "profile")} that ${what}${why}`;
}

type TwiceInput = Pick<ReceiptInput, "run" | "distinct" | "outcome">;

export function pagesTwice({ run: { plan }, distinct, outcome }: TwiceInput): number {
  const isApart = plan.target.kind === "search" && (plan.overlap ?? 0) === 0;
  return Math.max(isApart ? distinct.repeatedPages : 0, Number(outcome.repeated));
}

function cameTwice({
  run,
  quote,
  distinct,
  outcome,
}: TwiceInput & Pick<ReceiptInput, "quote">): Sentence | undefined {
  const { state, plan } = run;
  const { overlap = 0 } = plan;
  const pages = pagesTwice({ run, distinct, outcome });
  if (pages > 0) {
    const rows =
      distinct.distinct < state.rows
        ? `: ${counted(distinct.distinct, "different profile")} in ` +
          `${counted(state.rows, "row")}; the repeated ones are paid for, and written once`
        : ", of rows without id and address";
    const told =
      plan.dialect === undefined
        ? say`${command("doctor")} tells how the service pages, and ${option("paging")} says it`
        : "its file says otherwise";
    return say`the service gave ${pages === 1 ? "a page" : `${grouped(pages)} pages`} twice${rows};
      ${told}`;
  }
  if (outcome.doubled <= overlap) return undefined;

  return (
    `${grouped(outcome.doubled)} of ${counted(state.rows, "row")} came twice and were paid ` +
    `for: ${counted(distinct.distinct, "different profile")} of ${grouped(quote.rows)}`
  );
}

function uncertainCap({ run, quote, outcome, capFor }: Short): Lack | undefined {
  const { state } = run;
  const lost = pendingUnits(state);
  const { rowsIfNothingLost: agreed, rowsUncapped: all = agreed } = quote;
  // Under a cap that was lowered nothing is agreed to, and what was lost is lacking all the same.
  const places = placesOf(state);
  const wanted = places < agreed || lost.length === 0 ? agreed : all;
  const doubt = credits(state.books.atMost - state.settled);
  if (outcome.ended !== "limit" || places >= wanted || doubt === 0n) return undefined;

  // A cap below that would leave rows out once more.
  const missing = Math.min(all - places, run.rest ?? Infinity);
  const { least = 1 } = outcome;
  const maxCredits = capFor(Math.ceil(missing / least) * least);
  const why =
    `${creditsText(doubt)} may have been charged for replies that were lost, ` +
    "failed or said otherwise, and count against the cap: " +
    `${grouped(state.rows)} of ${counted(wanted, "row")} came`;
  return { why, raise: { maxCredits }, gets: `buys the other ${grouped(missing)}` };
}

/** Nothing tells what lies before page 1, and asking for page 0 might be charged. */
export const firstPageUntold = ({ state: { rows } }: Run): Sentence =>
  say`${rows === 0 ? "no profile came, and " : ""}nobody said how many there are, nor that page 1 is
    the first: ${fromZero(false)}; ${command("doctor")} finds out for free, and
    ${option("paging", "page")} says that it is`;

/**
 * Whether so many rows may be a page 0 that was never asked for.
 * @param unit the first that was settled
 */
function isFirstPage(unit: Unit | undefined, rows: number): boolean {
  const { intent: { perPage } = { perPage: 0 }, settled } = unit ?? {};
  return (
    rows > 0 &&
    (rows === settled?.rows || (settled?.rows === 0 ? rows <= perPage : rows === perPage))
  );
}

/**
 * Rows of a company's first page that were never asked for, because the service
 * counts pages from 0 and nobody said so. One free count of the address in its
 * people's rows tells: a lack of exactly one page. @returns undefined: untold
 */
export async function missingFirstPage(
  { plan: { paging, first_page: told }, state }: Run,
  untold: readonly number[],
  addresses: ReadonlyMap<number, string | undefined>,
  count: (filters: { readonly company_network_url: string }) => Promise<{ readonly count: number }>,
): Promise<number | undefined> {
  if (untold.length === 0 || paging !== "page" || told === 0) return 0;
  const target = untold.find((each) => addresses.get(each) !== undefined) ?? -1;
  const address = addresses.get(target);
  // What is bought is whole without it: that this count fails, too, is no reason to fail.
  const counted = address && (await count({ company_network_url: address }).catch(() => undefined));
  if (!counted) return told === undefined ? undefined : 0;
  const pages = settledUnits(state).filter(({ intent }) => intent.target === target);
  const first = pages.find(({ intent }) => intent.offset === 0);
  const lacking = counted.count - pages.reduce((sum, { settled }) => sum + placesOf(settled), 0);
  return isFirstPage(first, lacking) ? lacking : 0;
}
