// Tested by test/scene/ends.test.ts.

import {
  type Credits,
  credits,
  creditsLess,
  maxCredits,
  ONE_CREDIT,
  sumOfCredits,
  ZERO,
} from "../../shared/contract/money.ts";
import { PER_PAGE_MAX } from "../../shared/contract/records.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import { COMPANIES_MAX, type Filters } from "../../shared/contract/vocabulary.ts";
import { CliError, clauses, option, say, usageError } from "../../shared/errors.ts";
import { groupsBy } from "../../shared/groups.ts";
import { pagingName, requireReached } from "../client/dialect.ts";
import type { AccountView } from "../client/types.ts";
import {
  hasOutlivedKey,
  KEY_LIFE_MS,
  pageCallOf,
  pendingUnits,
  placesOf,
} from "../runs/journal.ts";
import {
  companiesIn,
  type Matches,
  type Plan,
  peopleAt,
  type RunIdentity,
  type Target,
} from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";
import { runMismatch } from "./failures.ts";
import { isSet, joinedOffer, type OneVersion, oneVersion, type SearchTarget } from "./joined.ts";
import type { ExportDeps, ExportOptions, Inquiry, Trade } from "./order.ts";
import { mostRows, type OwnedShare, partedFrom } from "./ownership.ts";
import { makeQuote, type Offer, type Quote, type QuoteInput, rowsToBuy } from "./quote.ts";
import { toldLately } from "./told.ts";
import { perMinuteOf, type Seller } from "./world.ts";

/** The call that a target buys by, as the account names it. */
const PAID_CALLS = {
  search: "person_search",
  employees: "company_employees",
  enrich: "company_enrich",
} as const;

const MAX_COUNTS = 100;

export async function offerOf(
  target: Target,
  account: AccountView,
  deps: ExportDeps,
): Promise<Offer> {
  const offer = await countsOf(target, deps);
  const datasetVersion = offer.datasetVersion ?? account.datasetVersion ?? null;
  return {
    ...offer,
    datasetVersion: (await isNeverStill(datasetVersion, account, deps)) ? null : datasetVersion,
  };
}

/** Whether two free answers named two datasets, and the next one a third. */
async function isNeverStill(
  told: string | null,
  { datasetVersion: before }: AccountView,
  { seller, interrupted, onWarning }: ExportDeps,
): Promise<boolean> {
  if (before === undefined || before === told) return false;

  const { datasetVersion: after } = await seller.client.account(interrupted);
  if (after === undefined || after === told || after === before) return false;

  onWarning(
    `warning: the service names another dataset in each answer (${before}, ${told}, ${after}): ` +
      "they are not compared, as if it named none",
  );
  return true;
}

type Counts = Omit<Offer, "datasetVersion"> & { readonly datasetVersion?: string | undefined };

async function countsOf(target: Target, deps: ExportDeps): Promise<Counts> {
  const { seller, interrupted } = deps;
  if (target.kind !== "search") return await countCompanies(target, deps);
  if (target.named !== undefined) return { matches: target.named.length };
  if (target.staff !== undefined) return await countStaff(target, deps);
  if (isSet(target)) return await joinedOffer(target, seller.client, deps);
  if (seller.client.dialect.counting !== undefined) {
    const told = await toldLately(target, deps);
    if (told !== undefined) return { matches: told };
  }
  const view = await seller.client
    .count(target.filters, interrupted)
    .catch((error) => notCounted(error, deps, target));
  return { matches: view?.count ?? null, datasetVersion: view?.meta.datasetVersion };
}

/** People of each company, title by title until as many are there as are wanted of it. */
async function countStaff(
  { staff, union = [], owned }: SearchTarget,
  deps: ExportDeps,
): Promise<Counts> {
  const most = staff?.most ?? Infinity;
  const byPart = new Map<Filters, number>();
  const people = new Map<unknown, number>();
  const version = oneVersion();
  for (const rung of rungsOf(union)) {
    // How many of them are new is not known yet.
    const open = rung.filter(
      ({ company_network_url: at }) => owned !== undefined || (people.get(at) ?? 0) < most,
    );

    for (const { filters, count } of await countEach(open, deps, version)) {
      if (count === 0) continue;
      byPart.set(filters, count);
      people.set(
        filters.company_network_url,
        count + (people.get(filters.company_network_url) ?? 0),
      );
    }
  }

  const parts = union.filter((filters) => byPart.has(filters));
  const counts = parts.map((filters) => byPart.get(filters) ?? 0);
  const matches = [...people.values()].reduce((sum, count) => sum + Math.min(count, most), 0);
  const companies = companiesIn(union);
  const have = people.size === 1 || companies === 1 ? "has" : "have";

  if (companies > 0)
    deps.onNotice(
      `${grouped(people.size)} of ${counted(companies, "company", "companies")} ` +
        `${have} somebody who matches`,
    );

  return { matches, parts, counts, datasetVersion: version.told };
}

/** Segments that differ by their company alone, together. */
const rungsOf = (union: readonly Filters[]): Iterable<readonly Filters[]> =>
  groupsBy(union, ({ company_network_url: _, ...filters }) => JSON.stringify(filters)).values();

/** People of each segment of a rung, by one call for many where the service has it. */
async function countEach(
  rung: readonly Filters[],
  { seller: { client }, interrupted }: ExportDeps,
  version: OneVersion,
) {
  const parts: { readonly filters: Filters; readonly count: number }[] = [];
  for (let at = 0; at < rung.length; at += COMPANIES_MAX) {
    const part = rung.slice(at, at + COMPANIES_MAX);
    const { company_network_url: _, ...others } = part[0] ?? {};
    const companies = part.map(({ company_network_url: company }) => String(company));
    const once =
      part.length === 1 ? undefined : await client.counts(others, companies, interrupted);

    for (const [index, filters] of part.entries()) {
      const { count, meta } =
        once === undefined
          ? await client.count(filters, interrupted)
          : { count: once.counts[index] ?? 0, meta: once.meta };
      version.see(meta);
      parts.push({ filters, count });
    }
  }

  return parts;
}

async function countCompanies(
  target: Exclude<Target, { kind: "search" }>,
  deps: ExportDeps,
): Promise<Counts> {
  const { companies } = target;
  if (target.kind === "enrich") return { matches: companies.length };

  const segments = companies.map(({ value }) => ({ company_network_url: value }));
  const isOpen =
    companies.length > MAX_COUNTS || companies.some(({ by }) => by !== "company_network_url");
  const version = oneVersion();
  const parts = isOpen
    ? undefined
    : await countEach(segments, deps, version).catch((error: unknown) => notCounted(error, deps));
  if (parts === undefined)
    return { matches: target.perCompany === null ? null : target.perCompany * companies.length };

  const counts = parts.map(({ count }) => count);
  const matches = counts.reduce((sum, count) => sum + peopleAt(count, target), 0);

  return {
    matches,
    uncounted: counts.filter((count) => count === 0).length,
    counts,
    datasetVersion: version.told,
  };
}

function notCounted(error: unknown, { onNotice }: ExportDeps, search?: SearchTarget): undefined {
  if (!(error instanceof CliError && error.code === "uncounted")) throw error;

  const { sample, owned } = search ?? {};
  if (sample !== undefined || owned !== undefined) {
    const why =
      sample === undefined
        ? "who is new is found by counts"
        : "of an unknown number nobody is drawn";
    throw usageError(
      `the service does not count people, and ${why}`,
      say`without that option the first rows are bought, as ${option("limit", "N")} or
      ${option("max_credits", "N")} says`,
      "uncounted",
    );
  }

  const why = error.category === "usage" ? error.message : "the service does not count people";
  onNotice(`notice: ${why}: how many there are, only their pages tell`);
}

/** Pages that were drawn are asked for whole. */
export const WHOLE_PAGE = PER_PAGE_MAX;

/** The largest page, as account or connection tell it; undefined where neither does. */
export const perPageTold = (account: AccountView, { seller }: ExportDeps): number | undefined =>
  account.perPageMax ?? seller.client.dialect.perPageMax;

export const perPageOf = (
  { perPage }: ExportOptions,
  account: AccountView,
  deps: ExportDeps,
): number => Math.min(perPage ?? PER_PAGE_MAX, perPageTold(account, deps) ?? PER_PAGE_MAX);

export const isPriceKnown = (target: Target, { costs }: AccountView): boolean =>
  costs[PAID_CALLS[target.kind]] !== undefined;

type Spent = QuoteInput["spent"] & { readonly price?: Credits | undefined };

export const NOTHING: Spent = { rows: 0, settled: ZERO, uncertain: ZERO, floor: ZERO };

/**
 * Whether keys are kept long enough. A gateway that drops headers it does not know drops them, too.
 */
export const keepsKeys = (
  { idempotencyMs = 0 }: AccountView,
  datasetVersion: string | null,
): boolean => idempotencyMs > KEY_LIFE_MS && datasetVersion !== null;

/**
 * With what pages that no reply came to may have cost,
 * where nothing promises that they come again for it.
 */
export function spentOf(run: RunReader, { account, deps }: Omit<Trade, "store">): Spent {
  const { settled } = run.state;
  const books = run.state.books.begun(account.balance);
  const { floor, price } = books;
  const isKept = keepsKeys(account, run.plan.dataset_version) && books.keepsKeys;
  const lost = pendingUnits(run.state).map((unit) => {
    const call = pageCallOf(unit, isKept && !hasOutlivedKey(unit, deps.now()));
    return { rows: call.rows, hold: books.holdOf(call), again: books.riskOf(call) };
  });
  // What asking again under a promised key takes is spoken for by the reply that was lost.
  const spokenFor = sumOfCredits(lost.map(({ hold, again }) => hold - again));
  const uncertain = credits(books.atMost - settled - spokenFor);
  return { rows: placesOf(run.state), settled, uncertain, lost, price, floor };
}

/**
 * What a row of it costs: as it is told, or dearer where that was paid; and
 * why that is a guess where nobody told.
 */
export function rowPrice({ kind }: Pick<Target, "kind">, { costs }: AccountView, paid?: Credits) {
  const call = PAID_CALLS[kind];
  const price = paid === undefined ? costs[call] : maxCredits(costs[call] ?? ZERO, paid);
  const untold =
    `the account does not tell what ${call} costs; ` +
    "counted as 1 credit until the first row tells";
  return { price: price ?? ONE_CREDIT, assumed: price === undefined ? untold : undefined };
}

export function quoteFor(
  target: Target,
  { matches, uncounted }: Matches,
  { account, options, deps }: Omit<Trade, "store">,
  {
    spent = NOTHING,
    ...whole
  }: { readonly spent?: Spent } & Pick<QuoteInput, "drawn" | "parts" | "pieces"> = {},
): Quote {
  const price = rowPrice(target, account, spent.price);
  if (price.assumed !== undefined) deps.onNotice(`warning: ${price.assumed}`);

  const { dialect } = deps.seller.client;
  const { isUnproven, paging, pageRows: learned, tries } = dialect;
  const { parcel, priceRead } = account;
  const terms: Partial<QuoteInput> =
    target.kind === "enrich"
      ? { pageRows: 1 }
      : { pageRows: perPageTold(account, deps) ?? learned, parcel, priceRead, isUnproven };
  requirePage(options.perPage, terms.parcel);

  const quote = makeQuote({
    target,
    matches,
    uncounted,
    ...price,
    ...terms,
    balance: account.balance,
    capLeft: account.capLeft,
    limit: options.limit,
    maxCredits: options.maxCredits,
    maxDepth: account.maxDepth,
    perPage: Math.min(options.perPage ?? PER_PAGE_MAX, terms.pageRows ?? PER_PAGE_MAX),
    perMinute: perMinuteOf(account, deps),
    paging,
    tries: target.kind === "search" ? tries?.(target.filters) : 0,
    spent,
    ...whole,
  });
  requireReached(dialect, quote.depth, matches);
  return quote;
}

/** @throws CliError exit 2 where rows that are sold together are asked for in other pages */
function requirePage(perPage = PER_PAGE_MAX, parcel = perPage) {
  if (perPage >= parcel) return;
  throw usageError(
    say`rows are sold ${parcel} together there, and ${option("per_page")} asks for ${perPage}`,
    say`without ${option("per_page")} a page has all of them`,
    "part_of_parcel",
  );
}

export const runIdentityOf = (
  target: Target,
  output: string | null,
  account: AccountView,
  { connectionName, serviceId }: Seller,
): RunIdentity => ({
  connection: connectionName,
  base_url: serviceId,
  account_id: account.accountId ?? null,
  key_mode: account.keyMode ?? null,
  target,
  output,
});

/**
 * @returns how the dataset moved since, if it did.
 * @throws CliError exit 5 where anything else is not the run's
 */
export async function checkSame(
  plan: Plan,
  account: AccountView,
  deps: ExportDeps,
): Promise<string | undefined> {
  const { client } = deps.seller;
  const now = runIdentityOf(plan.target, plan.output, account, deps.seller);
  const differences: string[] = [];
  const compare = (what: string, was: string | null, is: string | null): void => {
    if (was !== null && is !== null && was !== is)
      differences.push(`${what} was ${was} and is ${is}`);
  };

  compare("the service", plan.base_url, now.base_url);
  compare("the account", plan.account_id, now.account_id);
  compare("the key mode", plan.key_mode, now.key_mode);

  compare("the dialect", plan.dialect ?? null, client.dialect.file ?? null);

  const pages = pagingName({ paging: plan.paging, firstPage: plan.first_page });
  const count = differences.length;
  compare("the paging", pages, pagingName(client.dialect));

  if (differences.length > 0)
    throw runMismatch(
      plan.id,
      differences,
      count === 0
        ? clauses(
            say`${option("paging", pages)} goes on with it`,
            say`the same command with ${option("again")} buys everything anew`,
          )
        : undefined,
    );

  let version = account.datasetVersion ?? null;
  if (version === null && plan.dataset_version !== null && plan.target.kind === "search") {
    version =
      (await client.count(plan.target.filters, deps.interrupted)).meta.datasetVersion ?? null;
  }

  compare("the dataset version", plan.dataset_version, version);
  return differences[0];
}

/**
 * The search for its new people alone, where cap and
 * balance allow all of them that the limit does.
 * @param most rows that it may buy, as all of it is bought for those
 */
export function newPeopleApart(inquiry: Inquiry, share: OwnedShare | undefined, most = Infinity) {
  const parted = partedFrom(inquiry.target, share, inquiry.options.limit);
  // Where all of it is wanted again nobody is parted from it.
  if (parted === undefined || inquiry.options.fresh) return undefined;

  const { target, rows } = parted;
  // Within a limit, those that come first are taken where that costs no more.
  if ("within" in target ? rows >= most : rows > most) return undefined;

  const narrowed = { ...inquiry, target, identity: { ...inquiry.identity, target } };
  const quote = quoteFor(target, { matches: mostRows(share) }, narrowed, {
    pieces: share?.estimate?.parts,
  });
  return quote.rows < rows ? undefined : { inquiry: narrowed, quote };
}

/**
 * Whether its new people alone, with whoever is on pages
 * without a reply, are fewer than a run of all has left.
 */
export const isFewerApart = ({ state }: RunReader, quote: Quote): boolean =>
  quote.apart !== undefined &&
  quote.apart + pendingUnits(state).reduce((sum, { intent }) => sum + intent.perPage, 0) <
    rowsToBuy(quote);

/**
 * Whether the same search begun anew buys those alone,
 * within what the cap leaves once the run is let go of.
 */
export function isBegunAnew(
  run: RunReader,
  quote: Quote,
  trade: Trade,
  share: OwnedShare | undefined,
): boolean {
  const { plan, state } = run;
  if (state.session?.again || !isFewerApart(run, quote)) return false;

  const cap = trade.options.maxCredits;
  const maxCredits = cap && creditsLess(cap, state.books.begun(trade.account.balance).atMost);
  const inquiry = {
    ...trade,
    options: { ...trade.options, maxCredits },
    target: plan.target,
    identity: plan,
  };
  return newPeopleApart(inquiry, share) !== undefined;
}
