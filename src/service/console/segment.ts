import { credits, creditsToNumber, maxCredits, priceOf, subtractCredits, ZERO } from "../../shared/contract/money.ts";
import { PER_PAGE_MAX } from "../../shared/contract/records.ts";
import { facetsOf, onOneVersion } from "../admin/datasets.ts";
import { readFacets } from "../http/requests.ts";
import { timeOf } from "../ledger/clock.ts";
import { type KeyMode, leftOfCap, type Spender, type StoredKey } from "../ledger/ledger.ts";
import type { ConsoleExport } from "../ledger/records.ts";
import { hashOf } from "../money/keys.ts";
import {
  BUYERS,
  bad,
  type ConsoleCall,
  type ConsoleEndpoint,
  countedPeople,
  EVERYBODY,
  exportOf,
  filtersOf,
  inPlanTurn,
  maySee,
  modeOf,
  wholeOf,
} from "./call.ts";
import { keptUntil, moved, quoteOf } from "./exports.ts";
import { ConsoleRefusal } from "./guard.ts";
import { sealToken, unseal } from "./sessions.ts";

const QUOTE_MS = 10 * 60_000;

/** What a quote binds. It is sealed with the secret of the session, so no other can use it and none has to be kept. */
interface Quote {
  readonly kind: "quote";
  readonly mode: KeyMode;
  readonly filters: ConsoleExport["filters"];
  readonly version: string;
  readonly profiles: number;
  readonly credits: string;
  readonly made: number;
}

export const SEGMENT_ENDPOINTS: readonly ConsoleEndpoint[] = [
  { method: "POST", path: "/count", roles: EVERYBODY, run: count },
  { method: "POST", path: "/facets", roles: EVERYBODY, run: facets },
  { method: "POST", path: "/quote", roles: BUYERS, run: quote },
  { method: "POST", path: "/exports", roles: BUYERS, run: buy },
  { method: "GET", path: "/exports", roles: EVERYBODY, run: listExports },
  { method: "GET", path: "/exports/:id", roles: EVERYBODY, run: async (call) => shown(call, await exportOf(call)) },
  { method: "POST", path: "/exports/:id/continue", roles: BUYERS, run: goOn },
  { method: "POST", path: "/exports/:id/stop", roles: BUYERS, run: stop },
];

async function countNow(call: ConsoleCall, mode: KeyMode, key: StoredKey) {
  const { canonical, filters, text } = filtersOf(call);
  const { monotonic } = call.parts;
  const start = monotonic();
  const { counts } = await call.parts.dataset(mode);
  const whose = call.visitor.account.id;
  const found =
    (await counts.known(text, whose)) ??
    (await inPlanTurn(call, key, canonical, () => counts.count(canonical, text, whose)));
  call.parts.smallCounts.tell(key, call.visitor.account.plan, { segment: text, count: found.count });
  return { ...found, filters, ms: Math.round((monotonic() - start) * 10) / 10 };
}

const exportsOf = ({ parts, visitor }: ConsoleCall, mode: KeyMode): Promise<readonly ConsoleExport[]> =>
  parts.store.console.exports(visitor.account.id, mode);

/** What is free to spend: exports that are being bought have what they still need, their holds among it. */
async function moneyOf({ parts, visitor }: ConsoleCall, mode: KeyMode, key: StoredKey, all: readonly ConsoleExport[]) {
  const { balance, held } = await parts.store.balance(visitor.account.id, mode);
  const buying = all.filter((item) => parts.exports.seen(item).state === "buying");
  const needed = (some: readonly ConsoleExport[]) =>
    credits(some.reduce((sum, { price, profiles, rows }) => sum + priceOf(profiles - rows, price), 0n));
  const free = subtractCredits(balance, maxCredits(held, needed(buying)));
  const budget = (await parts.store.key(key.id))?.budget ?? undefined;
  const own = needed(buying.filter(({ keyId }) => keyId === key.id));
  const left = budget && leftOfCap({ ...budget, held: maxCredits(budget.held, own) });
  return left !== undefined && left < free ? { free: left, capped: true } : { free, capped: false };
}

async function count(call: ConsoleCall) {
  const mode = modeOf(call);
  const key = countedPeople(call, mode, "count");
  const { asOf, cached, count: people, ms } = await countNow(call, mode, key);
  const { free } = await moneyOf(call, mode, key, await exportsOf(call, mode));
  const { credits, creditsNumber } = quoteOf(call.visitor.account, people);
  return {
    count: people,
    cached,
    as_of: asOf,
    ms,
    credits: creditsNumber,
    balance_after: creditsToNumber(subtractCredits(free, credits)),
  };
}

async function facets(call: ConsoleCall) {
  const mode = modeOf(call);
  const key = countedPeople(call, mode, "count");
  const { body, parts } = call;
  const { mode: _, ...asked } = body;
  const request = readFacets(Buffer.from(JSON.stringify(asked)), call.visitor.account.plan.smallCounts);
  const { engine } = await parts.dataset(mode);
  const limits = { ...parts.facetTimeouts, now: parts.now };
  const told = await inPlanTurn(call, key, request.filters, () =>
    onOneVersion(engine, () => facetsOf(engine, request, limits)),
  );
  parts.smallCounts.tellFacet(key, call.visitor.account.plan, request, told);
  return told;
}

async function quote(call: ConsoleCall) {
  const mode = modeOf(call);
  const key = countedPeople(call, mode, "search");
  const { count: people, filters, version } = await countNow(call, mode, key);
  const { body, parts, visitor } = call;
  const profiles = Math.min(people, wholeOf(body.profiles ?? Math.max(1, people), "profiles", 1, 1e9));
  if (profiles === 0) throw bad("nobody is in this segment: there is nothing to buy");
  const depth = parts.maxDepth;
  if (depth !== undefined && profiles > depth) {
    throw bad(
      `this service gives the first ${depth} people of a segment: ask for at most so many, or narrow the filters`,
    );
  }
  const { credits, creditsNumber, requests } = quoteOf(visitor.account, profiles);
  const all = await exportsOf(call, mode);
  const { capped, free } = await moneyOf(call, mode, key, all);
  const made = parts.now();
  const bound = { mode, filters: JSON.stringify(filters), version, profiles };
  const sealed: Quote = { kind: "quote", ...bound, credits: String(credits), made };
  return {
    quote_id: sealToken(sealed, visitor.secret),
    count: people,
    profiles,
    credits: creditsNumber,
    requests,
    balance: creditsToNumber(free),
    balance_after: creditsToNumber(subtractCredits(free, credits)),
    allowed: credits <= free,
    bound_by: capped ? "key" : "balance",
    expires: timeOf(made + QUOTE_MS),
    bought: boughtOf(call, sealed, all),
  };
}

/** Exports of this very segment and version of the dataset that cost nothing again, or are under way; newest first. */
function boughtOf(call: ConsoleCall, { filters, version }: Quote, all: readonly ConsoleExport[]) {
  const { parts, visitor } = call;
  const segmentOf = (text: string) => filtersOf({ body: { filters: JSON.parse(text) } }).text;
  const segment = segmentOf(filters);
  return all
    .filter((item) => item.version === version && parts.exports.isKept(item))
    .filter((item) => maySee(visitor.key)(item) && segmentOf(item.filters) === segment)
    .map((item) => shown(call, item))
    .filter(({ rows, state }) => rows > 0 || state === "buying");
}

const refused = (code: string, why: string) => new ConsoleRefusal(409, code, `${why}: ask again; nothing was bought`);

/** @returns whose money buys. @throws ConsoleRefusal 409 where the quote binds no more */
function binding({ parts, visitor }: ConsoleCall, { credits: agreed, made, mode, profiles }: Quote): Spender {
  if (parts.now() - made > QUOTE_MS) throw refused("quote_expired", "the quote is older than ten minutes");
  if (String(quoteOf(visitor.account, profiles).credits) !== agreed) {
    throw refused("price_changed", "the price changed since this quote");
  }
  return parts.sessions.acting(visitor, mode, "search");
}

async function buy(call: ConsoleCall) {
  const { body, parts, visitor } = call;
  // Who may not buy is told that first, whatever they sent.
  parts.sessions.acting(visitor, visitor.key?.mode ?? "live", "search");
  const opened = unseal(body.quote_id, visitor.secret) as Partial<Quote> | undefined;
  if (opened?.kind !== "quote") {
    throw new ConsoleRefusal(409, "no_quote", "this is no quote of this session: ask for one; nothing was bought");
  }
  const quote = opened as Quote;
  const id = hashOf(String(body.quote_id)).slice(0, 16);
  // Before anything that may have changed since: what a quote has bought is bought.
  const known = await parts.store.console.export(visitor.account.id, id);
  if (known !== undefined) return shown(call, known);
  const key = binding(call, quote);
  const { engine } = await parts.dataset(quote.mode);
  if (engine.info().version !== quote.version) throw moved();
  const all = await exportsOf(call, quote.mode);
  const { capped, free } = await moneyOf(call, quote.mode, key, all);
  if (BigInt(quote.credits) > free) {
    const what = capped ? "the cap of this key" : "the balance, less what is being bought,";
    throw new ConsoleRefusal(402, "too_expensive", `${what} does not cover this; nothing was bought`);
  }
  if (boughtOf(call, quote, all).some(({ made }) => Date.parse(made) > quote.made)) {
    throw refused("bought_since", "people of this segment were bought since this quote");
  }
  const now = parts.now();
  const { filters, mode, profiles, version } = quote;
  const item: ConsoleExport = {
    ...{ id, accountId: visitor.account.id, mode, keyId: key.id, filters, version, profiles },
    perPage: Math.min(PER_PAGE_MAX, profiles),
    price: visitor.account.plan.costs.person_search,
    ...{ createdAt: now, seenAt: now, state: "buying", why: "" },
    ...{ pages: 0, rows: 0, credits: ZERO },
  };
  // A quote that is sent twice makes one export: its name is the quote's.
  if (await parts.store.console.addExport(item)) parts.exports.work(item, key);
  return shown(call, item);
}

function shown({ parts }: ConsoleCall, item: ConsoleExport) {
  const { createdAt, credits, filters, id, mode, pages, perPage, price, profiles, rows, state, version, why } =
    parts.exports.seen(item);
  return {
    ...{ id, mode, profiles, per_page: perPage, rows, pages, state, why, version },
    filters: JSON.parse(filters) as unknown,
    credits: creditsToNumber(credits),
    credits_left: creditsToNumber(priceOf(profiles - rows, price)),
    made: timeOf(createdAt),
    kept_until: timeOf(keptUntil(item)),
    kept: parts.exports.isKept(item),
  };
}

async function listExports(call: ConsoleCall) {
  const found = await exportsOf(call, modeOf(call));
  return { exports: found.filter(maySee(call.visitor.key)).map((item) => shown(call, item)) };
}

async function goOn(call: ConsoleCall) {
  const item = await exportOf(call);
  const { parts, visitor } = call;
  const now = parts.exports.seen(item);
  if (now.state === "ready") return shown(call, item);
  if (!parts.exports.isKept(item)) {
    throw new ConsoleRefusal(410, "expired", "its first pages are no longer kept: buy the segment anew");
  }
  parts.exports.assertPrice(item, visitor.account);
  parts.exports.work(item, parts.sessions.acting(visitor, item.mode, "search"));
  return shown(call, { ...item, state: "buying", why: "", seenAt: parts.now() });
}

async function stop(call: ConsoleCall) {
  const item = await exportOf(call);
  await call.parts.exports.stop(item);
  return shown(call, await exportOf(call));
}
