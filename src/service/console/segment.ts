import {
  credits,
  creditsToNumber,
  maxCredits,
  priceOf,
  ZERO,
} from "../../shared/contract/money.ts";
import { PER_PAGE_MAX } from "../../shared/contract/records.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { readFacets } from "../http/requests.ts";
import { type Asker, facetPeople, unmatchedOf } from "../http/sale.ts";
import { timeOf } from "../ledger/clock.ts";
import { type KeyMode, leftOfCap, type Spender, type StoredKey } from "../ledger/ledger.ts";
import type { ConsoleExport, Standing, StoredExport } from "../ledger/records.ts";
import { hashOf } from "../money/keys.ts";
import {
  amountOf,
  BUYERS,
  bad,
  type ConsoleCall,
  type ConsoleEndpoint,
  chosen,
  countedPeople,
  countNow,
  EVERYBODY,
  exportOf,
  maySee,
  modeOf,
  ownedHere,
  wholeOf,
} from "./call.ts";
import { dearer, keptSegment, moved, quoteOf } from "./exports.ts";
import { ConsoleRefusal } from "./guard.ts";
import { sealToken, unseal } from "./sessions.ts";

const QUOTE_MS = 10 * 60_000;
const DAY_MS = 86_400_000;

/**
 * What a quote binds, sealed with the secret of the session: no other can use it, and none is kept.
 */
interface Quote {
  readonly mode: KeyMode;
  readonly filters: ConsoleExport["filters"];
  readonly version: string;
  readonly onlyNew: boolean;
  readonly profiles: number;
  readonly credits: string;
  readonly made: number;
  /** The exports of the same people that it told of: one more, and it binds no longer. */
  readonly told: readonly string[];
}

export const SEGMENT_ENDPOINTS: readonly ConsoleEndpoint[] = [
  { method: "POST", path: "/count", roles: EVERYBODY, run: count },
  { method: "POST", path: "/facets", roles: EVERYBODY, run: facets },
  { method: "POST", path: "/quote", roles: BUYERS, run: quote },
  { method: "POST", path: "/exports", roles: BUYERS, run: buy },
  { method: "GET", path: "/exports", roles: EVERYBODY, run: listExports },
  {
    method: "GET",
    path: "/exports/:id",
    roles: EVERYBODY,
    run: async (call) => viewOf(call, await exportOf(call)),
  },
  { method: "POST", path: "/exports/:id/continue", roles: BUYERS, run: goOn },
  { method: "POST", path: "/exports/:id/stop", roles: BUYERS, run: stop },
];

async function standingOf(
  { parts: { store }, visitor }: ConsoleCall,
  key: StoredKey,
  state?: ConsoleExport["state"],
): Promise<Standing> {
  const { id: accountId } = visitor.account;
  const money = await store.money(accountId, key.mode);
  const exports = await store.console.exports({ accountId, mode: key.mode }, state);
  return { ...money, budget: (await store.key(key.id))?.budget, exports };
}

/** Exports that are being bought have what they still need, their holds among it. */
function freeOf(
  { parts }: ConsoleCall,
  key: StoredKey,
  { balance, budget, exports, held }: Standing,
) {
  const buying = exports.filter(
    (item) => item.state === "buying" && parts.exports.viewOf(item).state === "buying",
  );

  const needed = (some: readonly ConsoleExport[]) =>
    credits(
      some.reduce((sum, { price, profiles, rows }) => sum + priceOf(profiles - rows, price), 0n),
    );

  const free = credits(balance - maxCredits(held, needed(buying)));
  const own = needed(buying.filter(({ origin }) => origin === key.origin));
  const remainder = budget ? leftOfCap({ ...budget, held: maxCredits(budget.held, own) }) : free;
  return remainder < free ? { free: remainder, capped: true } : { free, capped: false };
}

/** @throws ConsoleRefusal 402 where it and what others still need is more than there is */
function assertFree(call: ConsoleCall, key: StoredKey, needed: bigint, standing: Standing): void {
  const { capped, free } = freeOf(call, key, standing);
  if (needed <= free) return;
  const what = capped ? "the cap of this key" : "the balance, less what is being bought,";
  throw new ConsoleRefusal(402, "too_expensive", `${what} does not cover this; nothing was bought`);
}

export type CountAnswer = Awaited<ReturnType<typeof count>>;

async function count(call: ConsoleCall) {
  const mode = modeOf(call);
  const asker = countedPeople(call, mode, "count");
  const { key } = asker.call;
  const counted = await countNow(call, asker);
  const { asOf, cached, canonical, count: people, filters, ms } = counted;
  const unmatched = await unmatchedOf(asker, call.parts, counted, filters);
  await call.parts.store.console.noteCount({
    accountId: key.accountId,
    mode,
    segment: hashOf(canonical),
    people,
    countedAt: call.parts.now(),
  });
  const { free } = freeOf(call, key, await standingOf(call, key, "buying"));
  const { credits: cost, creditsNumber } = quoteOf(call.visitor.account, people);

  return {
    count: people,
    cached,
    as_of: asOf,
    ms,
    unmatched: unmatched ?? null,
    price: creditsToNumber(call.visitor.account.plan.costs.person_search),
    credits: creditsNumber,
    balance_after: creditsToNumber(credits(free - cost)),
  };
}

async function facets(call: ConsoleCall) {
  const asker = countedPeople(call, modeOf(call), "count");
  const { mode: _, ...question } = call.body;
  const request = readFacets(
    Buffer.from(JSON.stringify(question)),
    call.visitor.account.plan.smallCounts,
  );
  return (await facetPeople(asker, call.parts, request)).facet;
}

export type QuoteAnswer = Awaited<ReturnType<typeof quote>>;

async function quote(call: ConsoleCall) {
  const mode = modeOf(call);
  const asker = countedPeople(call, mode, "search");
  const { key } = asker.call;
  const counted = await countNow(call, asker);
  const { count: people, filters, version } = counted;
  const { parts, visitor } = call;
  const { mine, onlyNew, profiles } = await wantedOf(call, asker, counted);

  const { credits: cost, creditsNumber, requests } = quoteOf(visitor.account, profiles);
  const now = await standingOf(call, key);
  const { capped, free } = freeOf(call, key, now);
  const made = parts.now();
  const segment = { filters: JSON.stringify(filters), version, onlyNew };
  const bought = boughtOf(call, segment, now.exports);
  const told = bought.map(({ id }) => id);
  const sealed: Quote = { mode, ...segment, profiles, credits: String(cost), made, told };

  return {
    quote_id: sealToken(sealed, visitor.secret),
    count: people,
    only_new: onlyNew,
    owned: mine?.ids.length ?? null,
    new: mine?.fresh ?? null,
    profiles,
    credits: creditsNumber,
    requests,
    balance: creditsToNumber(free),
    balance_after: creditsToNumber(credits(free - cost)),
    allowed: cost <= free,
    bound_by: capped ? ("key" as const) : ("balance" as const),
    expires: timeOf(made + QUOTE_MS),
    bought,
  };
}

/** So many of a segment, of everybody or of who is new. @throws ConsoleRefusal 422 */
async function wantedOf(
  { body, parts }: ConsoleCall,
  asker: Asker,
  counted: Awaited<ReturnType<typeof countNow>>,
) {
  const { count: people } = counted;
  if (people === 0) throw bad("nobody is in this segment: there is nothing to buy");

  const onlyNew = chosen(body.who ?? "all", "who", ["all", "new"]) === "new";
  const mine = onlyNew ? await ownedHere(asker, parts, counted) : undefined;
  const most = mine?.fresh ?? people;
  if (most === 0)
    throw new ConsoleRefusal(422, "none_new", "you own all of them: nobody new is there to buy");

  const profiles = Math.min(most, wholeOf(body.profiles ?? most, "profiles", 1, 1e9));
  const depth = parts.maxDepth;
  // Whoever is new may stand anywhere in the segment.
  if (depth !== undefined && (onlyNew ? people : profiles) > depth) {
    throw bad(
      `this service gives the first ${depth} people of a segment: ` +
        "ask for at most so many, or narrow the filters",
    );
  }

  return { mine, onlyNew, profiles };
}

/**
 * Exports of this very segment and version of the dataset
 * that cost nothing again, or are under way; newest first.
 */
function boughtOf(
  call: ConsoleCall,
  { filters, version }: Pick<Quote, "filters" | "version">,
  all: readonly StoredExport[],
) {
  const { parts, visitor } = call;
  const canonicalOf = (text: string) => keptSegment(text).canonical;
  const segment = canonicalOf(filters);
  return all
    .filter((item) => item.version === version && parts.exports.isKept(item))
    .filter((item) => maySee(visitor.key)(item) && canonicalOf(item.filters) === segment)
    .map((item) => viewOf(call, item))
    .filter(({ rows, state }) => rows > 0 || state === "buying");
}

const refused = (code: string, why: string) =>
  new ConsoleRefusal(409, code, `${why}: ask again; nothing was bought`);

/** @returns whose money buys. @throws ConsoleRefusal 409 where the quote binds no more */
function binding(
  { parts, visitor }: ConsoleCall,
  { credits: agreed, made, mode, profiles }: Quote,
): Spender {
  if (parts.now() - made > QUOTE_MS)
    throw refused("quote_expired", "the quote is older than ten minutes");
  if (String(quoteOf(visitor.account, profiles).credits) !== agreed) {
    throw refused("price_changed", "the price changed since this quote");
  }
  return parts.sessions.acting(visitor, mode, "search");
}

async function buy(call: ConsoleCall) {
  const { body, parts, visitor } = call;
  // Who may not buy is told that first.
  parts.sessions.acting(visitor, visitor.key?.mode ?? "live", "search");

  const quote = unseal(body.quote_id, visitor.secret) as Quote | undefined;
  if (quote === undefined) {
    throw new ConsoleRefusal(
      409,
      "no_quote",
      "this is no quote of this session: ask for one; nothing was bought",
    );
  }

  const id = hashOf(String(body.quote_id)).slice(0, 16);
  // First: what a quote has bought is bought, whatever changed since.
  const purchase = await parts.store.console.export(visitor.account.id, id);
  if (purchase !== undefined) return viewOf(call, purchase);

  const key = binding(call, quote);
  const { engine } = await parts.dataset(quote.mode);
  if (engine.info().version !== quote.version) throw moved();

  const assertUnsold = (standing: Standing): void => {
    if (boughtOf(call, quote, standing.exports).some((each) => !quote.told.includes(each.id))) {
      throw refused("bought_since", "people of this segment were bought since this quote");
    }
    assertFree(call, key, BigInt(quote.credits), standing);
  };

  const now = parts.now();
  const { filters, mode, onlyNew, profiles, version } = quote;
  const { plan } = visitor.account;
  const item: ConsoleExport = {
    id,
    accountId: visitor.account.id,
    mode,
    keyId: key.id,
    filters,
    segment: hashOf(keptSegment(filters).canonical),
    version,
    onlyNew,
    profiles,
    perPage: onlyNew ? PER_PAGE_MAX : Math.min(PER_PAGE_MAX, profiles),
    price: plan.costs.person_search,
    createdAt: now,
    seenAt: now,
    state: "buying",
    why: "",
    pages: 0,
    rows: 0,
    credits: ZERO,
    turn: 0,
    keptUntil: now + plan.keepDays * DAY_MS,
  };
  // A quote that is sent twice makes one export: its name is the quote's.
  if (await parts.store.console.enterExport(item, assertUnsold)) parts.exports.work(item, key);

  return viewOf(call, item);
}

export type ExportAnswer = ReturnType<typeof viewOf>;

function viewOf({ parts, visitor }: ConsoleCall, item: ConsoleExport) {
  const {
    createdAt,
    credits,
    filters,
    id,
    keptUntil,
    keyId,
    mode,
    pages,
    perPage,
    price,
    profiles,
    rows,
    state,
    version,
    why,
  } = parts.exports.viewOf(item);
  const now = visitor.account.plan.costs.person_search;

  return {
    id,
    mode,
    by: keyId,
    profiles,
    rows,
    pages,
    per_page: perPage,
    state,
    why,
    version,
    filters: JSON.parse(filters) as Filters,
    credits: creditsToNumber(credits),
    // At the price that was agreed to while it is being bought, else at today's.
    credits_left: creditsToNumber(priceOf(profiles - rows, state === "buying" ? price : now)),
    credits_anew: creditsToNumber(priceOf(profiles, now)),
    price: creditsToNumber(now),
    price_agreed: creditsToNumber(price),
    made: timeOf(createdAt),
    kept_until: timeOf(keptUntil),
    kept: parts.exports.isKept(item),
  };
}

async function listExports(call: ConsoleCall) {
  const place = { accountId: call.visitor.account.id, mode: modeOf(call) };
  const exports = (await call.parts.store.console.exports(place)).filter(maySee(call.visitor.key));
  const newest = exports.toSorted((one, other) => other.createdAt - one.createdAt);
  return { exports: newest.map((item) => viewOf(call, item)) };
}

/**
 * Buys the rest, in a turn of its own, for the `credits`
 * that the click agrees to; without, at the old price.
 */
async function goOn(call: ConsoleCall) {
  const item = await exportOf(call);
  const { body, parts, visitor } = call;
  if (item.state === "ready" || (item.state === "buying" && parts.exports.isWorking(item)))
    return viewOf(call, item);

  if (!parts.exports.isKept(item)) {
    throw new ConsoleRefusal(
      410,
      "expired",
      "its first pages are no longer kept: buy the segment anew",
    );
  }

  const rest = item.profiles - item.rows;
  const agreed =
    body.credits === undefined ? priceOf(rest, item.price) : amountOf(body.credits, "credits");
  const price = visitor.account.plan.costs.person_search;
  const key = parts.sessions.acting(visitor, item.mode, "search");
  const needed = priceOf(rest, price);
  if (needed > agreed) throw dearer();

  const next: ConsoleExport = {
    ...item,
    state: "buying",
    why: "",
    price,
    seenAt: parts.now(),
    turn: item.turn + 1,
  };
  const assertLeft = (now: Standing): void => assertFree(call, key, needed, now);

  if (await parts.store.console.enterExport({ ...next, keyId: key.id }, assertLeft))
    parts.exports.work(next, key);

  return viewOf(call, await exportOf(call));
}

async function stop(call: ConsoleCall) {
  const item = await exportOf(call);
  await call.parts.store.console.stopExport(item, "you stopped it");
  return viewOf(call, await exportOf(call));
}
