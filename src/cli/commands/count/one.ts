import type { CountedSegment } from "../../../app/count/hints.ts";
import type { NamedFilters, SegmentSet } from "../../../app/segments/segment-set.ts";
import type { Session } from "../../../app/session.ts";
import type { AccountView, CountView } from "../../../engine/client/types.ts";
import type { Context } from "../../../shared/context.ts";
import type { CheckedFilters } from "../../../shared/contract/filters.ts";
import {
  affordableRows,
  type Credits,
  creditsOrNull,
  creditsText,
  creditsToNumber,
  priceOf,
  priceText,
} from "../../../shared/contract/money.ts";
import { counted, grouped } from "../../../shared/contract/text.ts";
import type { FilterKeySpec, Filters } from "../../../shared/contract/vocabulary.ts";
import { checkedFilters } from "../../../shared/filters.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Printer } from "../../terminal/printer.ts";

export interface CountDesk {
  readonly options: CountOptions;
  readonly session: Session;
  readonly printer: Printer;
  readonly context: Context;
}

export async function countOne(
  segment: CheckedFilters,
  counting: CountDesk,
): Promise<readonly CountedSegment[]> {
  const { context, session } = counting;
  const { filters } = segment;
  const [count, account] = await Promise.all([
    session.client.count(filters, context.interrupted),
    pricesFor(counting),
  ]);
  await tell(count, account, filters, counting);
  return [{ filters, count: count.count, unmatched: count.unmatched }];
}

/** One number of several segments: whoever is in at least one of them, without those of others. */
export async function countSet(
  { segments, except }: SegmentSet,
  counting: CountDesk,
): Promise<readonly CountedSegment[]> {
  const { context, session } = counting;
  const { countJoined, isSet, searchTarget } = await import("../../../engine/purchase/joined.ts");
  const target = searchTarget(segments, except);
  if (!isSet(target)) return countOne(checkedFilters(target.filters), counting);

  const people = await countJoined(target, {
    count: (filters) => session.client.count(filters, context.interrupted),
  });
  const { filters, union = [filters], except: without = [] } = target;
  await tell({ count: people }, await pricesFor(counting), { union, except: without }, counting);

  const segmentOf = (each: Filters): CountedSegment => ({
    filters: each,
    count: people === 0 ? undefined : people,
  });

  return [...union.map(segmentOf), ...without.map(segmentOf)];
}

type Total = Pick<CountView, "count"> & Partial<CountView>;
type Question =
  | Filters
  | { readonly union: readonly Filters[]; readonly except: readonly Filters[] };

/** A pipe gets the bare number, which needs no prices. */
export const pricesFor = async ({
  context,
  printer,
  session,
}: CountDesk): Promise<AccountView | undefined> =>
  printer.json || printer.terminal ? session.client.account(context.interrupted) : undefined;

export async function tell(
  count: Total,
  account: AccountView | undefined,
  filters: Question,
  { printer, session }: CountDesk,
): Promise<void> {
  if (account === undefined) printer.text(`${count.count}\n`);
  else if (printer.json) printer.document<"count">(countDocument(count, account, filters));
  else await printCount(count, account, printer);
  noticeUnknownCost(account, session);
}

export function noticeUnknownCost(account: AccountView | undefined, session: Session): void {
  if (account !== undefined && account.costs.person_search === undefined) {
    session.notice("warning: the account does not say what a profile costs");
  }
}

function countDocument(count: Total, account: AccountView, filters: Question) {
  const unit = account.costs.person_search;
  const balance = account.balance ?? account.meta.creditsRemaining;
  return {
    count: count.count,
    cached: count.cached ?? null,
    as_of: count.asOf ?? null,
    filters,
    unit_cost: creditsOrNull(unit),
    max_cost:
      unit === undefined ? null : creditsToNumber(priceOf(count.count, unit, account.parcel)),
    balance: creditsOrNull(balance),
  };
}

async function printCount(
  { count, cached, asOf }: Total,
  account: AccountView,
  printer: Printer,
): Promise<void> {
  const [balance, price] = [account.balance, account.costs.person_search];
  const { parcel } = account;
  const most = price && priceOf(count, price, parcel);
  const isShort = balance !== undefined && most !== undefined && balance < most;
  const short = isShort
    ? `, enough for ${counted(affordableRows(balance, price ?? most, parcel), "profile")}`
    : "";

  printer.text(`${printer.style.strong(grouped(count))} ${count === 1 ? "person" : "people"}\n`);
  await printer.card(
    [
      ["price", price === undefined ? "not told" : priceText(price, parcel)],
      ["at most", most === undefined ? undefined : creditsText(most)],
      ["balance", balance === undefined ? undefined : `${creditsText(balance)}${short}`],
      [
        "counted",
        cached === true && asOf !== undefined ? `${asOf} (from the service's cache)` : undefined,
      ],
    ],
    2,
  );
}

export interface CountOptions extends GlobalOptions {
  readonly by?: readonly string[];
  readonly top?: number;
  readonly union?: boolean;
  readonly strict?: boolean;
  readonly owned?: boolean;
  readonly mode?: "live" | "test";
  readonly yes?: boolean;
  readonly maxCredits?: Credits;
}

/** `values`: those that are given or known; undefined: whoever lists them is to be asked. */
export interface ByKey {
  readonly spec: FilterKeySpec;
  readonly values: readonly string[] | undefined;
}

export type CountRequest = {
  readonly set: SegmentSet;
  readonly options: CountOptions;
} & (
  | { readonly kind: "files" }
  | { readonly kind: "set" }
  | { readonly kind: "one"; readonly segment: NamedFilters }
  | { readonly kind: "parts"; readonly segment: NamedFilters; readonly by: ByKey }
);
