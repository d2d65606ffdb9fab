// Tested by test/cli/vendors.test.ts.
import { type Credits, creditsText, formatCredits, ZERO } from "../../shared/contract/money.ts";
import { counted, grouped, isObject, whole } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { type Filling, filled, isNothing, placed } from "../../shared/dialect/holes.ts";
import { type DialectFile, paidCall, type VendorCall } from "../../shared/dialect/shape.ts";
import { CliError, say, usageError } from "../../shared/errors.ts";
import { type JsonRecord, type JsonValue, stringifyExact } from "../../shared/rows/values.ts";
import { accountView } from "../client/account-view.ts";
import { type DeclaredPace, requestTurn } from "../client/declared-limit.ts";
import type { CompanyQuery, Dialect, Seen } from "../client/dialect.ts";
import { LostReplyError, type ReplyMeta } from "../client/errors.ts";
import type { ClientOptions } from "../client/http-client.ts";
import { rateLimitOf } from "../client/rate-limit.ts";
import { openCalls, type ServiceCall } from "../client/transport.ts";
import type {
  AccountView,
  CountView,
  IdsView,
  PagePosition,
  PageReply,
  PaidCallOptions,
  ServiceClient,
} from "../client/types.ts";
import { expressionsOf, nobodyBy, wordsIn } from "./expressions.ts";
import {
  amountAt,
  declaredPrice,
  failureIn,
  meantBy,
  notAsDeclared,
  type VendorReply,
} from "./meanings.ts";
import { contractRow, strayIn } from "./rows.ts";
import {
  cannotBuy,
  namesIn,
  pagingOfFile,
  paidCounting,
  parcelOf,
  pricedCounting,
  termsOf,
} from "./terms.ts";
import { itemsAt, type Span, wholeAt, withVendors } from "./verbatim.ts";

export interface Names {
  readonly nobody: readonly string[];
  readonly untried: readonly string[];
  /** How many words of the file were counted, each alone, and those that find nobody. */
  readonly words: number;
  readonly unknown: readonly string[];
}

export interface VendorTerms {
  /** Filters that need no trying: it was seen earlier that the vendor heeds them. */
  readonly heeded?: readonly string[] | undefined;
  readonly onSeen?: ((seen: Seen) => void) | undefined;
  /** Gets what a call took that by the file costs nothing: no run has it. */
  readonly onCharged?: ((amount: Credits) => void) | undefined;
  /** What the copy of the file is called. */
  readonly copy?: string | undefined;
  /** Whether only the key is looked at, and nothing is to be bought. */
  readonly isProbe?: boolean | undefined;
  /** How all that is asked of the connection keeps to the limit that the file declares. */
  readonly pace?: DeclaredPace | undefined;
}

/** Of people whose ids are known by then those that are still to be read. */
interface Found {
  readonly ids: readonly string[];
  /** Of the next page of ids; null: there is none. */
  readonly next: string | null;
}

/** The people of a reply; of one that is not as declared what it may have charged for, and why. */
interface Rows {
  readonly rows: readonly JsonRecord[];
  /** The vendor's own, one for each. */
  readonly items?: readonly JsonValue[];
  readonly asked?: number;
  readonly stop?: CliError;
  /** Where those stand in the reply, if that is known. */
  readonly spans?: readonly Span[] | undefined;
}

/** A call whose end nobody tells, as its process is gone, may be charged so long. */
const CHARGED_MS = 300_000;

/** Ids that are looked up at once: what is left of them stands in the journal, page by page. */
const MOST_IDS = 100;

/**
 * Whoever was merged into another answers with that one's id. He is found, and would be paid for,
 * by his own again: of one who is missing and one nobody asked for, the id that found him is his.
 */
function underIds(ids: readonly string[], rows: readonly JsonRecord[]): readonly JsonRecord[] {
  const came = new Set(rows.map(({ id }) => id));
  const [missing, ...others] = ids.filter((id) => !came.has(id));
  const strays = rows.filter(({ id }) => typeof id !== "string" || !ids.includes(id));
  const isTold = missing !== undefined && others.length === 0 && strays.length === 1;
  return isTold ? rows.map((row) => (row === strays[0] ? { ...row, id: missing } : row)) : rows;
}

/** The first page of a call that counts. */
interface Counting {
  readonly call: VendorCall;
  readonly rows: number;
}

interface How {
  readonly paid: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** What came, and what was under way beside it. */
interface Answer extends VendorReply {
  readonly charged: Credits | undefined;
  readonly balance: Credits | undefined;
  /** When it was asked for: epoch milliseconds. */
  readonly askedAt: number;
  /** Paid calls that had gone out by then; not a number where others were under way meanwhile. */
  readonly begun: number;
}

/** What a file of a vendor makes of the calls of the contract. Throws as they do. */
export class DialectClient implements ServiceClient {
  readonly baseUrl: string;
  readonly dialect: Dialect;
  readonly #file: DialectFile;
  readonly #options: ClientOptions;
  readonly #calls: ReturnType<typeof openCalls>;
  readonly #isProbe: boolean;
  /** As the last reply told it; undefined where something was lost since. */
  #balance: Credits | undefined;
  /** When that reply was asked for, and how many paid calls had gone out by it. */
  #seenAt = 0;
  #toldAt = 0;
  /** Paid calls that are under way, and all that went out. */
  #flying = 0;
  #begun = 0;
  /** Whether a balance that only a call of its own tells was seen to fall by a price. */
  #isSeen = false;
  /** Ids by which nobody could be read, though searches find them. */
  readonly #gone = new Set<string>();
  /** Filters that were seen to be no names that the vendor passes over. */
  readonly #heeded: Set<string>;
  readonly #onSeen: VendorTerms["onSeen"];
  readonly #onCharged: VendorTerms["onCharged"];
  readonly #pace: DeclaredPace | undefined;
  /** Where the balance alone tells a charge: knows who else of this machine is charged. */
  readonly #payer: DeclaredPace["pacer"] | undefined;

  constructor(file: DialectFile, options: ClientOptions, terms: VendorTerms = {}) {
    const { copy, heeded, isProbe = false, onCharged, onSeen, pace } = terms;
    this.#heeded = new Set(heeded);
    this.#onSeen = onSeen;
    this.#onCharged = onCharged;
    pace?.pacer.declare(file.limits?.per_minute);
    this.#pace = pace;
    const { balance, charged } = paidCall(file).reply ?? {};
    const isByBalance = (balance ?? file.calls.account) !== undefined && charged === undefined;
    this.#payer = isByBalance ? pace?.pacer : undefined;
    const headers = filled(file.headers, { key: options.apiKey }) as Record<string, string>;
    this.#calls = openCalls({ ...options, headers });
    this.baseUrl = this.#calls.baseUrl;

    const names = namesIn(file);
    const counting = paidCounting(file);
    const tries = (filters: Filters): number => this.#untried(filters).length;
    this.dialect = { ...pagingOfFile(file), vendor: file.name, file: copy, names, counting, tries };
    this.#file = file;
    this.#options = options;
    this.#isProbe = isProbe;
  }

  /** What the file declares, and the balance where a free call tells it. */
  async account(signal?: AbortSignal): Promise<AccountView> {
    const refusal = this.#isProbe ? undefined : cannotBuy(this.#file);
    if (refusal !== undefined) throw refusal;

    const { account, key } = this.#file.calls;
    const call = account ?? (this.#isProbe ? key : undefined);
    const reply =
      call === undefined ? undefined : await this.#send(call, {}, { paid: false, signal });
    const isGood = reply === undefined || reply.is === "ok" || (call === key && reply.is !== "key");
    if (call !== undefined && reply !== undefined && !isGood) throw this.#failure(reply, call);

    const balance = account === undefined ? undefined : reply?.balance;
    const result = { ...termsOf(this.#file), balance: balance && formatCredits(balance) };
    const view = accountView(result, this.#meta(reply, undefined, balance));
    const priceRead = paidCall(this.#file).price?.read;
    return { ...view, parcel: parcelOf(this.#file), priceRead };
  }

  /** @throws CliError exit 2 where a count costs credits: none is bought unasked */
  async count(filters: Filters, signal?: AbortSignal): Promise<CountView> {
    // What the file cannot say is refused, whatever a count costs.
    const expressions = expressionsOf(this.#file, filters);
    const counting = pricedCounting(this.#file);
    if (counting === undefined || counting.price > 0n) throw this.#uncounted(counting?.price);

    const { call, rows } = counting;
    await this.#requireHeeded(Object.keys(filters), counting, signal);
    const reply = await this.#ask(call, expressions, rows, signal);
    if (reply.is !== "ok" && reply.is !== "none") throw this.#failure(reply, call);

    const place = call.reply?.total ?? "total";
    const count = reply.is === "none" ? 0 : totalIn(reply, call);
    if (count === undefined)
      throw notAsDeclared(this.#file, reply, { place, is: "a whole number" });
    const meta = this.#meta(reply, reply.charged);
    return { count, cached: undefined, asOf: undefined, unmatched: null, meta };
  }

  /**
   * Counts by a value that nobody has, once for each filter, for nothing.
   * @returns keys that found nobody or were refused, and those that no such value is written for;
   * undefined where a count costs credits
   * @throws CliError exit 2 for the first that finds somebody: the vendor passes it over
   */
  async tryNames(signal?: AbortSignal): Promise<Names | undefined> {
    const counting = pricedCounting(this.#file);
    if (counting === undefined || counting.price > 0n) return undefined;

    const keys = Object.keys(this.#file.filters);
    await this.#requireHeeded(keys, counting, signal);
    const isTried = (key: string): boolean => this.#heeded.has(key);
    const words = wordsIn(this.#file);
    const unknown: string[] = [];
    // A word that the vendor spells otherwise finds nobody, and says nothing.
    for (const { key, word } of words) {
      const asked = expressionsOf(this.#file, { [key]: [word] });
      if ((await this.#found(asked, counting, signal)) === 0) unknown.push(`${key} "${word}"`);
    }
    return {
      nobody: keys.filter(isTried),
      untried: keys.filter((key) => !isTried(key)),
      words: words.length,
      unknown,
    };
  }

  /** How many are found, for nothing; undefined: somebody, and it is not told how many. */
  async #found(
    filters: readonly unknown[],
    { call, rows }: Counting,
    signal: AbortSignal | undefined,
  ): Promise<number | undefined> {
    const reply = await this.#ask(call, filters, rows, signal);
    if (reply.is === "none" || reply.is === "refused") return 0;
    if (reply.is !== "ok") throw this.#failure(reply, call);
    return totalIn(reply, call);
  }

  /**
   * A name that is passed over finds everybody: then a value that nobody has does, too.
   * @throws CliError exit 2 where it is
   */
  async #requireHeeded(
    keys: readonly string[],
    counting: Counting,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const seen: string[] = [];
    try {
      for (const key of keys) {
        const nobody = this.#heeded.has(key) ? undefined : nobodyBy(this.#file, key);
        if (nobody === undefined) continue;

        const count = (await this.#found([nobody], counting, signal)) ?? 0;
        if (count > 0) throw this.#passesOver(key, "counts", count);
        seen.push(key);
      }
    } finally {
      this.#tell(seen, true);
    }
  }

  /** What a reply contradicts is tried again. */
  #tell(keys: readonly string[], isHeeded: boolean): void {
    for (const key of keys) {
      if (isHeeded) this.#heeded.add(key);
      else this.#heeded.delete(key);
    }
    if (keys.length > 0) this.#onSeen?.({ keys, isHeeded });
  }

  /** Of the filters of a search those that are tried by the first page that is bought. */
  #untried(filters: Filters): readonly string[] {
    const { search } = this.#file.calls;
    const isFreeToCount = pricedCounting(this.#file)?.price === ZERO;
    if (isFreeToCount || declaredPrice(search, 0) > 0n) return [];
    return Object.keys(filters).filter(
      (key) => !this.#heeded.has(key) && nobodyBy(this.#file, key) !== undefined,
    );
  }

  /**
   * Where counts cost credits a name is tried by the first page that is bought, as long as nobody
   * costs nothing: whoever comes by a value that nobody has is that page, and the last.
   */
  async #passedOver(
    call: VendorCall,
    filters: Filters,
    ask: Filling,
    signal: AbortSignal | undefined,
  ): Promise<PageReply | undefined> {
    const rows = call.pages?.size[0] ?? Number(ask.rows);
    for (const key of this.#untried(filters)) {
      const nobody = nobodyBy(this.#file, key);
      const balance = this.#balance;
      const values = { ...ask, filters: [nobody], rows };
      const reply = await this.#send(call, values, { paid: true, signal });
      const found = reply.is === "refused" ? { rows: [] } : this.#rowsOf(reply, call, rows);
      if (found.rows.length > 0 || found.stop !== undefined) {
        const end = { nextCursor: null, total: undefined, withheld: 0 };
        const page = await this.#pageOf(reply, call, { ...end, ...found, filters: {} });
        return { ...page, stop: found.stop ?? this.#passesOver(key, "sold", found.rows.length) };
      }

      this.#tell([key], true);
      // What it cost all the same is seen in what the balance falls by next.
      if (this.#isAlone(reply)) {
        this.#balance = balance;
        this.#toldAt = reply.begun;
      }
    }

    return undefined;
  }

  #passesOver(key: string, does: string, people: number): CliError {
    this.#tell([key], false);
    return usageError(
      say`${this.#file.name} passes the filter ${key} over: by a value that nobody has it ${does}
        ${counted(people, "person", "people")}`,
      say`the file calls it otherwise than the vendor does; a search without ${key} is not held up`,
      "filter_swallowed",
    );
  }

  /** The first page, for nothing. */
  #ask(
    call: VendorCall,
    filters: readonly unknown[],
    rows: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const ask = { filters, rows, page: firstOf(call), offset: 0 };
    return this.#send(call, ask, { paid: false, signal });
  }

  #failure(reply: VendorReply, call: VendorCall): Error {
    return failureIn(reply, call, this.#options.now());
  }

  #uncounted(price = ZERO): CliError {
    const { name } = this.#file;
    const why =
      price > 0n ? `a count costs ${creditsText(price)} there` : "its file has no call that counts";
    return new CliError({
      code: "uncounted",
      category: "usage",
      message: `${name} has no free count: ${why}, and none is bought unasked`,
      hint: "one segment is counted where that is agreed to; a search buys without, as a cap says",
    });
  }

  async counts() {
    return undefined;
  }

  async facets() {
    return undefined;
  }

  async sketch() {
    return undefined;
  }

  async key() {
    return undefined;
  }

  learn(): void {}

  close(): Promise<void> {
    return this.#calls.close();
  }

  searchPage(filters: Filters, at: PagePosition, options: PaidCallOptions): Promise<PageReply> {
    const { search, read } = this.#file.calls;
    return search.gives === "ids" && read !== undefined
      ? this.#readPage(read, filters, at, options)
      : this.#page(search, filters, at, options);
  }

  /** One stage: what is found is what is bought. */
  async #page(
    call: VendorCall,
    filters: Filters,
    { offset, perPage, cursor }: PagePosition,
    options: PaidCallOptions,
  ): Promise<PageReply> {
    const page = firstOf(call) + Math.floor(offset / perPage);
    const values = {
      filters: expressionsOf(this.#file, filters),
      rows: perPage,
      page,
      offset,
      cursor,
    };
    const isFirst = offset === 0 && cursor === undefined;
    const passed = isFirst && (await this.#passedOver(call, filters, values, options.signal));
    if (passed) return passed;

    const reply = await this.#send(call, values, { paid: true, signal: options.signal });
    const found = this.#rowsOf(reply, call, perPage);
    const { rows } = found;

    const isLast = rows.length === 0 || (rows.length < perPage && endsShort(call));
    const next = text(placed(call.reply?.next ?? "next", reply.told)) ?? null;
    const isByCursor = call.pages?.by === "cursor";
    const total = totalIn(reply, call);
    return this.#pageOf(reply, call, {
      ...found,
      filters,
      nextCursor: isLast ? null : isByCursor ? next : undefined,
      total: reply.is === "none" && offset === 0 ? 0 : total,
      withheld: 0,
    });
  }

  /** Two stages: ids are found for nothing, and so many of them read as one call takes. */
  async #readPage(
    call: VendorCall,
    filters: Filters,
    { perPage, cursor }: PagePosition,
    options: PaidCallOptions,
  ): Promise<PageReply> {
    const begun = cursor === undefined ? undefined : (JSON.parse(cursor) as Found);
    const rows = Math.min(this.#file.calls.search.pages?.size[1] ?? MOST_IDS, MOST_IDS);
    const find = (next: string | undefined) => this.#find(filters, next, rows, options.signal);
    const first = begun === undefined ? await find(undefined) : undefined;
    let found: Found = begun ?? first ?? { ids: [], next: null };
    while (found.ids.length === 0 && found.next !== null) found = await find(found.next);

    const wanted = found.ids.slice(0, Math.min(perPage, call.most ?? 1));
    if (wanted.length === 0) return this.#nobody(first?.total ?? 0);

    let rest: Found = { ids: found.ids.slice(wanted.length), next: found.next };
    // A cursor may lead to nobody, which costs nothing to know: then these were the last.
    while (rest.ids.length === 0 && rest.next !== null) {
      const { ids, next } = await find(rest.next);
      rest = { ids, next };
    }
    const isLast = rest.ids.length === 0 && rest.next === null;
    return this.#read(wanted, call, options, {
      filters,
      nextCursor: isLast ? null : JSON.stringify(rest),
      total: first?.total,
    });
  }

  /** @param ids no more than one call takes */
  async #read(
    ids: readonly string[],
    call: VendorCall,
    { signal }: PaidCallOptions,
    page: Pick<PageReply, "nextCursor" | "total"> & { readonly filters: Filters },
  ): Promise<PageReply> {
    const each = ids.map((id) => (call.each === undefined ? id : filled(call.each, { id })));
    const reply = await this.#send(call, { id: ids[0], ids: each }, { paid: true, signal });
    const found = this.#rowsOf(reply, call, ids.length);
    if (found.stop !== undefined)
      return this.#pageOf(reply, call, { ...page, ...found, withheld: 0 });

    const rows = underIds(ids, found.rows);
    const came = new Set(rows.map(({ id }) => id));
    for (const id of ids) if (!came.has(id)) this.#gone.add(id);
    const withheld = Math.max(0, ids.length - rows.length);
    return this.#pageOf(reply, call, { ...page, ...found, rows, withheld });
  }

  async ids(
    filters: Filters,
    next: string | undefined,
    signal?: AbortSignal,
  ): Promise<IdsView | undefined> {
    const { idRows } = this.dialect;
    if (idRows === undefined) return undefined;

    const { search } = this.#file.calls;
    const depth = search.pages?.depth ?? Number.POSITIVE_INFINITY;
    const counting = { call: search, rows: idRows };
    await this.#requireHeeded(Object.keys(filters), counting, signal);
    const { ids, total = 0, ...found } = await this.#find(filters, next, idRows, signal);
    if (total > depth)
      throw usageError(
        `${this.#file.name} finds the ids of ${grouped(depth)} people of a segment at most, and ` +
          `this one has ${grouped(total)}: who of them is owned nobody can tell`,
        "a narrower segment, one for each value of another filter",
        "too_deep",
      );

    return { ...found, ids, total, gone: this.#gone };
  }

  async #find(
    filters: Filters,
    next: string | undefined,
    rows: number,
    signal: AbortSignal | undefined,
  ): Promise<Found & Pick<IdsView, "meta" | "total">> {
    const { search } = this.#file.calls;
    const { pages, reply: places } = search;
    const isByCursor = pages?.by === "cursor";
    const at = next === undefined ? 0 : Number(next);
    const place = isByCursor ? { cursor: next } : { page: firstOf(search) + at / rows, offset: at };
    const values = { filters: expressionsOf(this.#file, filters), rows, ...place };
    const reply = await this.#send(search, values, { paid: false, signal });
    if (reply.is !== "ok" && reply.is !== "none") throw this.#failure(reply, search);

    const list = reply.is === "none" ? [] : placed(places.rows, reply.told);
    if (!Array.isArray(list))
      throw notAsDeclared(this.#file, reply, { place: places.rows, is: "a list of ids" });
    const of = (item: JsonValue): JsonValue | undefined =>
      places.id === undefined ? item : placed(places.id, { ...reply.told, body: item });
    const items = (list as readonly JsonValue[]).filter((item) => item !== null);
    const ids = items.map((item) => {
      const id = text(of(item));
      if (id !== undefined) return id;
      const place = [places.rows, places.id].filter(Boolean).join("[0].");
      throw notAsDeclared(this.#file, reply, { place, is: "a list of ids" });
    });

    const cursor = text(placed(places.next ?? "next", reply.told)) ?? null;
    const further = isByCursor ? cursor : ids.length === rows ? String(at + rows) : null;
    return {
      // Whoever is found twice is read once.
      ids: [...new Set(ids)],
      next: ids.length === 0 ? null : further,
      total: totalIn(reply, search),
      meta: this.#meta(reply, reply.charged),
    };
  }

  /**
   * @param asked rows that such a reply may have charged for
   * @throws ServiceError, LostReplyError for what is neither people nor nobody
   */
  #rowsOf(reply: VendorReply, call: VendorCall, asked: number): Rows {
    if (reply.is === "none" || reply.is === "gone") return { rows: [] };
    if (reply.is !== "ok") throw this.#failure(reply, call);

    const { rows, row = "" } = call.reply ?? {};
    if (rows === undefined && isNothing(row, reply.told)) return { rows: [] };
    const found = placed(rows ?? row, reply.told);
    const list = (rows === undefined ? [found] : found) as JsonValue | undefined;
    // Whoever is null there is nobody, and no row.
    const items = Array.isArray(list) ? list.filter((each) => each !== null) : [];
    const isRead = found !== undefined && Array.isArray(list) && !items.some(isNoRecord);
    if (!isRead) {
      const is = rows === undefined ? "a record" : "a list of people";
      const stop = notAsDeclared(this.#file, reply, { place: rows ?? row, is });
      return { rows: [], asked, stop };
    }

    const { body } = reply.raw;
    const one = row === "" ? wholeAt(body) : undefined;
    const spans = rows === undefined ? one : itemsAt(body, rows);
    return {
      rows: items.map((each) => contractRow(this.#file, each, call.record)),
      items,
      spans: spans?.length === items.length ? spans : undefined,
    };
  }

  async #pageOf(
    reply: Answer,
    call: VendorCall,
    page: Pick<PageReply, "nextCursor" | "total" | "withheld"> &
      Rows & { readonly filters: Filters },
  ): Promise<PageReply> {
    const { rows, asked = rows.length, items = [], spans, filters, stop, ...facts } = page;
    const { balance } = reply;
    const declared = declaredPrice(call, asked);
    const told = reply.charged ?? this.#fellBy(reply);
    const isUntold = told === undefined && balance === undefined;
    const inBalance = isUntold ? await this.#inBalance(reply, declared) : told;
    const charged = inBalance ?? declared;
    this.#see(reply);

    const stray = strayIn(this.#file, filters, rows, items);
    if (stray !== undefined) this.#tell([stray.field], false);
    const forNobody =
      asked === 0 && charged > declared && dear(this.#file, charged, declared, "brought nobody");
    return {
      ...facts,
      body: spans
        ? withVendors(rows, reply.raw.body, spans, around(charged, balance))
        : writtenAnew(rows, items, around(charged, balance, stop && reply.told.body)),
      meta: this.#meta(reply, charged, balance),
      replayed: false,
      exact: true,
      price: { declared, told: inBalance },
      stop: stop ?? (stray ? strange(this.#file, stray) : forNobody || undefined),
    };
  }

  #see({ askedAt, balance, begun }: Answer): void {
    if (balance === undefined) return;
    this.#balance = balance;
    this.#seenAt = askedAt;
    this.#toldAt = begun;
  }

  /** @throws CliError exit 5 where a call charged that sells nobody: no other goes out */
  #seeFree(call: VendorCall, reply: Answer): void {
    // Who has no price in the file only tells: a balance may have fallen for others.
    const fell = call.price === undefined ? ZERO : this.#fellBy(reply, 0);
    const charged = reply.charged ?? fell ?? ZERO;
    this.#see(reply);
    if (charged <= 0n) return;
    this.#onCharged?.(charged);
    throw dear(this.#file, charged, ZERO, "sells nobody");
  }

  /** Whether so many paid calls went out since the balance was told, and nothing beside them. */
  #isAlone({ begun }: Answer, calls = 1): boolean {
    return begun === this.#toldAt + calls;
  }

  /** By how much the balance fell since the last reply, with nothing else of ours under way. */
  #fellBy(reply: Answer, calls = 1): Credits | undefined {
    const { balance } = reply;
    const isAlone = this.#isAlone(reply, calls);
    if (balance === undefined || this.#balance === undefined || !isAlone) return undefined;
    // Of what others of this machine took nobody can say which of them did.
    if (this.#isShared(this.#seenAt)) return undefined;
    const fell = this.#balance - balance;
    return fell < 0n ? undefined : (fell as Credits);
  }

  /**
   * Where no reply tells a charge the balance is asked for after the first: one that fell by as
   * much or more tells it. One that fell by less may be late, and proves nothing.
   */
  async #inBalance(reply: Answer, declared: Credits): Promise<Credits | undefined> {
    const { account } = this.#file.calls;
    const [before, since] = [this.#balance, this.#seenAt];
    const isAlone = this.#isAlone(reply) && declared > 0n;
    if (this.#isSeen || !isAlone || before === undefined || account === undefined) return undefined;

    this.#isSeen = true;
    // The page is paid, and kept, whatever comes of the question.
    const told = await this.#send(account, {}, { paid: false }).catch(() => undefined);
    // Pages that went out while it was asked are in the answer too.
    const isOwn = told?.begun === reply.begun && !this.#isShared(since);
    if (told?.balance === undefined || !isOwn) return undefined;
    const fell = before - told.balance;
    return fell < declared ? undefined : (fell as Credits);
  }

  /** Whether calls of others of this machine may have been charged since then. */
  #isShared(since: number): boolean {
    return this.#payer?.pays(this.#chargedUntil(), since) === true;
  }

  /** Until when what is under way may be charged. */
  #chargedUntil(): number {
    return this.#options.now() + (this.#flying > 0 ? CHARGED_MS : 0);
  }

  #nobody(total: number): PageReply {
    return {
      body: writtenAnew([], [], around(ZERO, undefined)),
      meta: this.#meta(undefined, ZERO),
      nextCursor: null,
      total,
      replayed: false,
      exact: true,
      withheld: 0,
    };
  }

  async peopleByDigest(
    filters: Filters,
    ids: readonly string[],
    options: PaidCallOptions,
  ): Promise<PageReply> {
    const { read } = this.#file.calls;
    if (read === undefined) throw this.#cannot("be asked for people by their ids");
    return this.#read(ids, read, options, { filters, nextCursor: undefined, total: undefined });
  }

  employeesPage(
    { value }: CompanyQuery,
    at: PagePosition,
    options: PaidCallOptions,
  ): Promise<PageReply> {
    return this.searchPage({ company_network_url: value }, at, options);
  }

  async enrich({ by, value }: CompanyQuery, { signal }: PaidCallOptions): Promise<PageReply> {
    const { company } = this.#file.calls;
    if (company === undefined) throw this.#cannot("look companies up");
    const reply = await this.#send(company, { [by]: value }, { paid: true, signal });
    return this.#pageOf(reply, company, {
      ...this.#rowsOf(reply, company, 1),
      filters: {},
      nextCursor: null,
      total: undefined,
      withheld: 0,
    });
  }

  #cannot(what: string): CliError {
    return usageError(`${this.#file.name} cannot ${what}`, undefined, "not_of_vendor");
  }

  async #send(call: VendorCall, values: Filling, { paid, signal }: How): Promise<Answer> {
    const { apiKey, log, now } = this.#options;
    const path = String(filled(call.path, encoded(values)));
    const { body, query } = call;
    const request: ServiceCall = {
      method: call.method,
      path,
      paid,
      signal,
      ...(query === undefined ? {} : { query: queryOf(filled(query, values)) }),
      ...(body === undefined ? {} : { body: filled(body, values) }),
      headers: filled(call.headers ?? {}, { key: apiKey }) as Record<string, string>,
    };

    if (this.#pace?.pacer.isDeclared) await requestTurn(this.#pace, signal);
    const startedAt = now();
    const tell = (outcome: number | string, used?: Credits): void =>
      log?.({
        method: call.method,
        path: call.path,
        requestId: undefined,
        outcome,
        elapsedMs: now() - startedAt,
        creditsUsed: used === undefined ? undefined : creditsText(used),
      });
    const isAlone = this.#flying === 0;
    if (paid) {
      this.#flying++;
      this.#begun++;
      this.#payer?.pays(this.#chargedUntil(), startedAt);
    }
    const own = this.#begun;
    try {
      const meant = meantBy(this.#file, await this.#calls.send(request));
      const begun = isAlone && this.#begun === own ? own : Number.NaN;
      const charged = amountAt(call.reply?.charged, meant.told);
      const balance = amountAt(call.reply?.balance, meant.told);
      const reply = { ...meant, charged, balance, askedAt: startedAt, begun };
      tell(reply.raw.status, reply.charged);
      if (!paid) this.#seeFree(call, reply);
      else if (reply.is !== "ok") this.#balance = undefined;
      return reply;
    } catch (error) {
      if (!(error instanceof LostReplyError)) throw error;
      tell(error.code);
      if (paid) this.#balance = undefined;
      // Of a free call nothing can have been charged.
      throw paid ? error : new LostReplyError(error.message, error.code, false, error);
    } finally {
      if (paid) {
        this.#flying--;
        this.#payer?.pays(this.#chargedUntil(), startedAt);
      }
    }
  }

  #meta(reply?: VendorReply, used?: Credits, remaining?: Credits): ReplyMeta {
    const at = this.#options.now();
    return {
      status: 200,
      requestId: undefined,
      at,
      creditsUsed: used,
      creditsRemaining: remaining,
      notices: [],
      datasetVersion: undefined,
      rateLimit: reply && rateLimitOf(reply.raw.headers, at),
      deprecation: undefined,
    };
  }
}

const isNoRecord = (value: JsonValue): boolean => !isObject(value);

const firstOf = ({ pages }: VendorCall): number => pages?.first ?? 1;

const totalIn = ({ told }: VendorReply, { reply }: VendorCall): number | undefined =>
  whole(placed(reply?.total ?? "total", told));

const endsShort = ({ pages }: VendorCall): boolean => (pages?.end ?? ["short"]).includes("short");

/** Numbers by their digits; undefined for what is none, or empty. */
const text = (value: JsonValue | undefined): string | undefined =>
  typeof value === "string"
    ? value || undefined
    : typeof value === "number" || typeof value === "bigint"
      ? String(value)
      : undefined;

const encoded = (values: Filling): Filling =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" ? encodeURIComponent(value) : value,
    ]),
  );

function queryOf(fields: unknown): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields as Record<string, unknown>))
    for (const each of [value].flat()) query.append(name, String(each));
  return query;
}

/**
 * What stands around the rows of a page of the contract that a reply amounts to.
 * @param whole what came, of which no row is
 */
function around(used: Credits, remaining: Credits | undefined, whole?: JsonValue) {
  const kept = whole === undefined ? "" : `,"vendor_reply":${stringifyExact(whole)}`;
  const balance = remaining === undefined ? "" : `,"credits_remaining":${formatCredits(remaining)}`;
  return {
    head: '{"status":true,"detail":[],"result":[',
    tail: `],"credits_used":${formatCredits(used)}${balance}${kept}}`,
  };
}

const writtenAnew = (
  rows: readonly JsonRecord[],
  items: readonly JsonValue[],
  { head, tail }: ReturnType<typeof around>,
): Buffer => {
  const texts = rows.map((row, at) => stringifyExact({ ...row, vendor: items[at] ?? null }));
  return Buffer.from(`${head}${texts.join(",")}${tail}`);
};

const dear = ({ name }: DialectFile, charged: Credits, declared: Credits, does: string): CliError =>
  new CliError({
    code: "price_moved",
    category: "incomplete",
    message:
      `${name} charged ${creditsText(charged)} for a call that ${does}, ` +
      `which by its file costs ${creditsText(declared)}`,
    hint: `"price" says in the file what a call costs, and "none" of it what nobody costs`,
  });

const strange = (
  { name }: DialectFile,
  { field, row, came }: NonNullable<ReturnType<typeof strayIn>>,
): CliError =>
  new CliError({
    code: "not_as_filtered",
    category: "incomplete",
    message: `row ${row} of ${name} says ${field} "${came}", which was not asked for`,
    hint: `what came is kept; a search without ${field}, or a file that says it otherwise, buys on`,
  });
