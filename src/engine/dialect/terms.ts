// Tested by test/unit/engine/dialect/terms.test.ts.
import { formatCredits, ZERO } from "../../shared/contract/money.ts";
import { PER_PAGE_MAX } from "../../shared/contract/records.ts";
import { holesOf } from "../../shared/dialect/holes.ts";
import {
  countingOf,
  type DialectFile,
  paidCall,
  type VendorCall,
} from "../../shared/dialect/shape.ts";
import { type CliError, usageError } from "../../shared/errors.ts";
import { type AccountView, accountView } from "../client/account-view.ts";
import type { Dialect } from "../client/dialect.ts";
import type { ReplyMeta } from "../client/errors.ts";
import { declaredPrice } from "./meanings.ts";

/** How a file pages. Ids that are found first make a list, which is gone through by a cursor. */
export function pagingOfFile(file: DialectFile): Dialect {
  const { calls, ids, record } = file;
  const { search } = calls;
  const { by = "cursor", first = 1, size: [, idRows = 1] = [] } = search.pages ?? {};
  const parcel = parcelOf(file);
  // An id that is another one tomorrow, or in no row, tells nobody who is owned.
  const isFree = declaredPrice(search, 1) === ZERO;
  const isToldById = isFree && ids?.lasting === true && record.id !== undefined;
  if (search.gives === "ids")
    return { paging: "cursor", isUnproven: true, ...(isToldById ? { idRows } : {}) };
  const isOneSize = search.pages?.one_size === true;
  // Nor is there a page of one row where so many are paid for whatever comes.
  const isUnproven = !isOneSize && parcel === undefined;
  if (by === "cursor") return { paging: by, isUnproven, isOneSize };
  const firstPage = first === 0 ? 0 : 1;
  return { paging: by, isUnproven, depth: search.pages?.depth, firstPage };
}

/** How a file counts, and what that costs; undefined: no call of it counts. */
export function pricedCounting(file: DialectFile) {
  const counting = countingOf(file);
  return counting && { ...counting, price: declaredPrice(counting.call, counting.rows) };
}

/** What the page of a search costs that counts; undefined: none does, or for nothing. */
export function paidCounting(file: DialectFile): Dialect["counting"] {
  const { call, price = ZERO, rows = 1 } = pricedCounting(file) ?? {};
  return call === file.calls.search && price > 0n ? { price, rows } : undefined;
}

const BY = ["domain", "company_network_url", "name", "id"] as const;

/** By what a file names a company. */
export function namesIn({ calls: { company }, filters }: DialectFile) {
  const asked = company === undefined ? [] : holesOf([company.path, company.query, company.body]);
  return {
    enrich: BY.filter((by) => asked.includes(by)),
    employees: BY.filter((by) => by === "company_network_url" && filters[by] !== undefined),
  };
}

/** What an account of the contract tells, as the file declares it, and a balance that was told. */
export function accountTold(file: DialectFile, meta: ReplyMeta): AccountView {
  const { creditsRemaining: left } = meta;
  const balance = left && formatCredits(left);
  const priceRead = paidCall(file).price?.read;
  return { ...accountView({ ...termsOf(file), balance }, meta), parcel: parcelOf(file), priceRead };
}

export function termsOf(file: DialectFile) {
  const { calls, limits } = file;
  const { pages } = calls.search;
  const most = calls.search.gives === "ids" ? (calls.read?.most ?? 1) : pages?.size[1];
  const { price, rows } = unitOf(paidCall(file)) ?? {};
  const { per_minute = Infinity, per_second = Infinity } = limits ?? {};
  const perMinute = Math.min(per_minute, 60 * per_second);

  return {
    costs: {
      person_search: price,
      company_employees: price,
      company_enrich: calls.company?.price?.credits,
    },
    limits: {
      per_page_max: rows === undefined || rows === 1 ? Math.min(most ?? 1, PER_PAGE_MAX) : rows,
      max_depth: pages?.depth,
      per_minute: Number.isFinite(perMinute) ? perMinute : undefined,
    },
  };
}

/**
 * What a request costs at most, as so much for each so many rows that it begins. Of what is paid
 * together a page is asked for, neither more nor less: then all of a purchase costs as much, too.
 * Undefined where no such unit says it.
 */
function unitOf({ most = 1, pages, price }: VendorCall) {
  const [, largest = most] = pages?.size ?? [];
  const { credits = "0", per = "call", rows: begun } = price ?? {};
  const rows = { row: 1, request: largest, started: begun, call: undefined }[per];
  if (rows === undefined || rows > Math.min(largest, PER_PAGE_MAX)) return undefined;
  return { price: credits, rows };
}

/** Rows that are paid for together; undefined: each is paid for by itself. */
export function parcelOf(file: DialectFile): number | undefined {
  const { rows = 1 } = unitOf(paidCall(file)) ?? {};
  return rows === 1 ? undefined : rows;
}

/** Why people of a vendor cannot be bought by its file; undefined: they can. */
export function cannotBuy(file: DialectFile): CliError | undefined {
  const { gives, pages } = file.calls.search;
  const [least = 1] = pages?.size ?? [];
  const unit = unitOf(paidCall(file));
  const refused = (why: string): CliError =>
    usageError(
      `${file.name} cannot be bought from yet: ${why}`,
      "docs/how-to/vendors.md says which vendors can",
      "not_of_vendor",
    );

  if (unit === undefined) return refused("its price says of no number of rows what they cost");
  if (gives === "ids")
    return unit.rows === 1 ? undefined : refused("people who are read by ids are paid together");
  return least > unit.rows
    ? refused(`a page has at least ${least} rows, whatever the cap`)
    : undefined;
}

/** A file in a few facts, for whoever chooses one. Credits as the file writes them. */
export function summaryOf(file: DialectFile) {
  const { called = false, calls, filters, from = [], name, vendor } = file;
  const counting = pricedCounting(file);
  const isOfIds = calls.search.gives === "ids";
  const refusal = cannotBuy(file);
  const { price, reply: { charged, balance } = {} } = paidCall(file);

  return {
    name,
    vendor: vendor ?? null,
    per: price?.per ?? null,
    person: price?.credits ?? null,
    count: counting ? formatCredits(counting.price) : null,
    stages: isOfIds ? 2 : 1,
    told: charged ?? balance ?? calls.account?.reply?.balance ?? null,
    filters: Object.keys(filters),
    read: from.map(({ read }) => read).sort()[0] ?? null,
    called: typeof called === "string" ? called : null,
    buys: refusal === undefined,
    why: refusal?.message ?? null,
  };
}
