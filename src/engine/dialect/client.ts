// Tested by test/cli/vendors.test.ts.
import { type Credits, creditsText, formatCredits, ZERO } from "../../shared/contract/money.ts";
import { grouped, isObject, whole } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { type Filling, filled, inRow, isNothing, placed } from "../../shared/dialect/holes.ts";
import type { DialectFile, Meaning, VendorCall } from "../../shared/dialect/shape.ts";
import { type CliError, failed, option, say, usageError } from "../../shared/errors.ts";
import { type JsonValue, stringifyExact } from "../../shared/rows/values.ts";
import { type DeclaredPace, requestTurn } from "../client/declared-limit.ts";
import type { CompanyQuery, Dialect } from "../client/dialect.ts";
import { LostReplyError } from "../client/errors.ts";
import type { ClientOptions } from "../client/http-client.ts";
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
import { type CallSpan, Charges } from "./charges.ts";
import { expressionsOf, nobodyBy } from "./expressions.ts";
import {
  amountAt,
  failureIn,
  meantBy,
  metaOf,
  notAsDeclared,
  type VendorReply,
} from "./meanings.ts";
import { type CountPage, type KnownNames, Names } from "./names.ts";
import { type Came, Records, strayIn } from "./rows.ts";
import {
  accountTold,
  cannotBuy,
  namesIn,
  pagingOfFile,
  paidCounting,
  pricedCounting,
} from "./terms.ts";
import { wholeAt } from "./verbatim.ts";

export interface VendorTerms extends KnownNames {
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
  readonly rows: Records;
  readonly asked?: number;
  readonly stop?: CliError;
}

/** What is told of a page that nothing lies behind. */
const ALONE = { filters: {}, nextCursor: null, total: undefined, withheld: 0 };

/** Ids that are looked up at once: what is left of them stands in the journal, page by page. */
const MOST_IDS = 100;

/**
 * Whoever was merged into another answers with that one's id. He is found, and would be paid for,
 * by his own again: of one who is missing and one nobody asked for, the id that found him is his.
 */
function nameAsAsked(ids: readonly string[], rows: Records): void {
  const there = rows.ids();
  const [missing, ...others] = ids.filter((id) => !there.includes(id));
  const [stray, ...more] = there.flatMap((id, at) => (ids.includes(String(id)) ? [] : [at]));
  if (missing !== undefined && stray !== undefined && others.length + more.length === 0)
    rows.name(stray, missing);
}

interface How {
  readonly paid: boolean;
  readonly signal?: AbortSignal | undefined;
}

type Answer = VendorReply & { readonly span: CallSpan };

/** What a file of a vendor makes of the calls of the contract. Throws as they do. */
export class DialectClient implements ServiceClient {
  readonly baseUrl: string;
  readonly dialect: Dialect;
  readonly #file: DialectFile;
  readonly #options: ClientOptions;
  readonly #calls: ReturnType<typeof openCalls>;
  readonly #isProbe: boolean;
  readonly #nobodyThere: Records;
  readonly #charges: Charges;
  /** Ids by which nobody could be read, though searches find them. */
  readonly #gone = new Set<string>();
  readonly names: Names;
  readonly #onCharged: VendorTerms["onCharged"];
  readonly #pace: DeclaredPace | undefined;

  constructor(file: DialectFile, options: ClientOptions, terms: VendorTerms = {}) {
    const { copy, isProbe = false, onCharged, pace } = terms;
    this.names = new Names(file, pricedCounting(file), (...asked) => this.#found(...asked), terms);
    this.#onCharged = onCharged;
    pace?.pacer.declare(file.limits);
    this.#pace = pace;
    this.#charges = new Charges(file, options.now, pace?.pacer);
    const headers = filled(file.headers, { key: options.apiKey }) as Record<string, string>;
    this.#calls = openCalls({ ...options, headers });
    this.baseUrl = this.#calls.baseUrl;

    const names = namesIn(file);
    const counting = paidCounting(file);
    const tries = (filters: Filters): number => this.names.untried(filters).length;
    this.dialect = { ...pagingOfFile(file), vendor: file.name, file: copy, names, counting, tries };
    this.#file = file;
    this.#nobodyThere = new Records(file, { body: Buffer.alloc(0), items: [] });
    this.#options = options;
    this.#isProbe = isProbe;
  }

  /** What the file declares, and the balance where a free call tells it. */
  async account(signal?: AbortSignal): Promise<AccountView> {
    const refusal = this.#isProbe ? undefined : cannotBuy(this.#file);
    if (refusal !== undefined) throw refusal;

    const { account, key } = this.#file.calls;
    const call: VendorCall | undefined = account ?? (this.#isProbe ? key : undefined);
    if (call === undefined) return accountTold(this.#file, metaOf(this.#options.now()));

    const reply = await this.#send(call, {}, { paid: false, signal });
    if (reply.is !== "ok" && (call !== key || ["key", "undeclared"].includes(reply.is)))
      throw this.#failure(reply, call);
    const balance = amountAt(call.reply?.balance, reply.told);
    return accountTold(this.#file, metaOf(this.#options.now(), reply, undefined, balance));
  }

  /** @throws CliError exit 2 where a count costs credits: none is bought unasked */
  async count(filters: Filters, signal?: AbortSignal): Promise<CountView> {
    // What the file cannot say is refused, whatever a count costs.
    const expressions = expressionsOf(this.#file, filters);
    const counting = pricedCounting(this.#file);
    if (counting === undefined || counting.price > 0n) throw this.#uncounted(counting?.price);

    const { call, rows } = counting;
    await this.names.require(Object.keys(filters), counting, signal);
    const reply = await this.#ask(call, { filters: expressions, rows }, signal);
    const count = this.#countIn(reply, call);
    const meta = metaOf(this.#options.now(), reply, amountAt(call.reply?.charged, reply.told));
    return { count, cached: undefined, asOf: undefined, unmatched: null, meta };
  }

  /** How many are found, for nothing. */
  async #found(
    filters: readonly unknown[],
    { call, rows }: CountPage,
    signal: AbortSignal | undefined,
  ): Promise<number> {
    return this.#countIn(await this.#ask(call, { filters, rows }, signal, "refused"), call);
  }

  /** Of a free call; where its file has no total the ids that came tell it. */
  #countIn(reply: VendorReply, call: VendorCall): number {
    const { rows, total } = call.reply ?? {};
    const found = placed(total ?? rows, reply.told);
    const count = reply.is === "ok" ? whole(Array.isArray(found) ? found.length : found) : 0;
    if (count !== undefined) return count;
    const is = total === undefined ? "a list of ids" : "a whole number";
    throw notAsDeclared(this.#file, reply, { place: total ?? rows, is });
  }

  /**
   * Where counts cost credits a name is tried by the first page that is bought, as long as nobody
   * costs nothing by the file. Whoever comes by a value that nobody has is that page, and the last;
   * so is one that charged for nobody, and what it charged is that page's.
   */
  async #passedOver(
    call: VendorCall,
    filters: Filters,
    ask: Filling,
    signal: AbortSignal | undefined,
  ): Promise<PageReply | undefined> {
    const rows = call.pages?.size[0] ?? Number(ask.rows);
    for (const key of this.names.untried(filters)) {
      const values = { ...ask, filters: [nobodyBy(this.#file, key)], rows };
      const reply = await this.#send(call, values, { paid: true, signal });
      const found =
        reply.is === "refused" ? { rows: this.#nobodyThere } : this.#rowsOf(reply, call, rows);
      const page = await this.#pageOf(reply, call, { ...ALONE, ...found });
      const people = found.rows.length;
      const stop = page.stop ?? (people > 0 && this.names.passedOver(key, "sold", people));
      if (stop) return { ...page, stop };

      this.names.see([key], true);
      this.#charges.passed(reply.span);
    }

    return undefined;
  }

  /** A page, the first one if nothing else is said, for nothing. @param nor what is nobody, too */
  async #ask(
    call: VendorCall,
    page: Filling,
    signal: AbortSignal | undefined,
    nor: Meaning = "none",
  ): Promise<Answer> {
    const values = { page: firstOf(call), offset: 0, ...page };
    const reply = await this.#send(call, values, { paid: false, signal });
    if (!["ok", "none", nor].includes(reply.is)) throw this.#failure(reply, call);
    return reply;
  }

  #failure(reply: VendorReply, call: VendorCall): Error {
    return failureIn(reply, call, this.#options.now());
  }

  #uncounted(price = ZERO): CliError {
    const { name } = this.#file;
    const why =
      price > 0n ? `a count costs ${creditsText(price)} there` : "its file has no call that counts";
    return usageError(
      `${name} has no free count: ${why}, and none is bought unasked`,
      say`a search needs no count: ${option("max_credits", "N")} bounds what it buys`,
      "uncounted",
    );
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

    const isOn = moreIn(reply, call) ?? (rows.length >= perPage || !endsShort(call));
    const isLast = rows.length === 0 || !isOn;
    const next = text(placed(call.reply?.next, reply.told)) ?? null;
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
    const rows = Math.min(this.#file.calls.search.pages?.size[1] ?? MOST_IDS, MOST_IDS);
    const find = (next: string | undefined) => this.#find(filters, next, rows, options.signal);
    // A cursor may lead to nobody, which costs nothing to know: then those before were the last.
    const onFrom = async ({ ids, next }: Found): Promise<Found> =>
      ids.length === 0 && next !== null ? onFrom(await find(next)) : { ids, next };
    const first = cursor === undefined ? await find(undefined) : undefined;
    const found = await onFrom(first ?? (JSON.parse(cursor ?? "") as Found));

    const wanted = found.ids.slice(0, Math.min(perPage, call.most ?? 1));
    if (wanted.length === 0) return this.#nobody(first?.total ?? 0);

    const rest = await onFrom({ ids: found.ids.slice(wanted.length), next: found.next });
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
    const sent = this.#file.ids?.numbers === true ? ids.map(asNumber) : ids;
    const each = sent.map((id) => (call.each === undefined ? id : filled(call.each, { id })));
    const reply = await this.#send(call, { id: sent[0], ids: each }, { paid: true, signal });
    const found = this.#rowsOf(reply, call, ids.length);
    if (found.stop !== undefined)
      return this.#pageOf(reply, call, { ...page, ...found, withheld: 0 });

    const { rows } = found;
    nameAsAsked(ids, rows);
    const came = new Set(rows.ids());
    for (const id of ids) if (!came.has(id)) this.#gone.add(id);
    const withheld = Math.max(0, ids.length - rows.length);
    return this.#pageOf(reply, call, { ...page, ...found, withheld });
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
    await this.names.require(Object.keys(filters), counting, signal);
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
    const reply = await this.#ask(search, values, signal);

    const list = reply.is === "none" ? [] : placed(places.rows, reply.told);
    const items = [list].flat().filter((item) => item !== null);
    const ids = items.flatMap((item) => text(inRow(places.id ?? "", item ?? null)) ?? []);
    if (!Array.isArray(list) || ids.length < items.length) {
      const place = [places.rows, places.id].filter(Boolean).join("[0].");
      throw notAsDeclared(this.#file, reply, { place, is: "a list of ids" });
    }

    const cursor = text(placed(places.next, reply.told)) ?? null;
    const isOn = moreIn(reply, search) ?? (isByCursor || ids.length === rows);
    return {
      // Whoever is found twice is read once.
      ids: [...new Set(ids)],
      next: ids.length > 0 && isOn ? (isByCursor ? cursor : String(at + rows)) : null,
      total: totalIn(reply, search),
      meta: metaOf(this.#options.now(), reply, amountAt(places.charged, reply.told)),
    };
  }

  /**
   * @param asked rows that such a reply may have charged for
   * @throws ServiceError, LostReplyError for what is neither people nor nobody
   */
  #rowsOf(reply: VendorReply, call: VendorCall, asked: number): Rows {
    if (reply.is === "none" || reply.is === "gone") return { rows: this.#nobodyThere };
    if (reply.is !== "ok") throw this.#failure(reply, call);

    const { rows, row = "" } = call.reply ?? {};
    const { listed, raw, told } = reply;
    const { body } = raw;
    const make = (came: Omit<Came, "body">): Rows => ({
      rows: new Records(this.#file, { body, ...came }, call.record),
    });
    if (listed !== undefined) return make(listed);
    if (rows === undefined && isNothing(row, told)) return { rows: this.#nobodyThere };

    const found = placed(rows ?? row, told);
    const list = (rows === undefined ? [found] : found) as JsonValue | undefined;
    // Whom nobody is found for who was asked for is null there, and no row.
    const isSought = call !== this.#file.calls.search;
    const items = Array.isArray(list) ? list.filter((each) => each !== null || !isSought) : [];
    const isRead = items.length === 0 || items.some(isObject);
    if (Array.isArray(list) && isRead)
      return make({ items, spans: rows === undefined && row === "" ? wholeAt(body) : undefined });

    return {
      rows: this.#nobodyThere,
      asked,
      stop: notAsDeclared(this.#file, reply, {
        place: rows ?? row,
        is: rows === undefined ? "a record" : "a list of people",
      }),
    };
  }

  async #pageOf(
    reply: Answer,
    call: VendorCall,
    page: Pick<PageReply, "nextCursor" | "total" | "withheld"> &
      Rows & { readonly filters: Filters },
  ): Promise<PageReply> {
    const { rows, asked = rows.length, filters, stop, ...facts } = page;
    const { account } = this.#file.calls;
    const askBalance = account && (() => this.#send(account, {}, { paid: false }));
    const cost = await this.#charges.ofPage(call, reply.told, asked, reply.span, askBalance);
    const { balance, declared, told } = cost;
    const charged = told ?? declared;

    const stray = strayIn(this.#file, filters, rows);
    if (stray !== undefined) this.names.see([stray.field], false);
    const forNobody =
      asked === 0 && charged > declared && dear(this.#file, charged, declared, "brought nobody");
    return {
      ...facts,
      body: rows.written(around(charged, balance, stop && reply.told.body)),
      meta: metaOf(this.#options.now(), reply, charged, balance),
      replayed: false,
      exact: true,
      price: { declared, told },
      stop: stop ?? (stray ? strange(this.#file, stray) : forNobody || undefined),
    };
  }

  #nobody(total: number): PageReply {
    return {
      body: this.#nobodyThere.written(around(ZERO, undefined)),
      meta: metaOf(this.#options.now(), undefined, ZERO),
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
      ...ALONE,
      ...this.#rowsOf(reply, company, 1),
    });
  }

  #cannot(what: string): CliError {
    return usageError(`${this.#file.name} cannot ${what}`, undefined, "not_of_vendor");
  }

  async #send(call: VendorCall, values: Filling, { paid, signal }: How): Promise<Answer> {
    const { apiKey, log, now } = this.#options;
    const { body, query } = call;
    const request: ServiceCall = {
      method: call.method,
      path: String(filled(call.path, encoded(values))),
      paid,
      signal,
      ...(query === undefined ? {} : { query: queryOf(filled(query, values)) }),
      ...(body === undefined ? {} : { body: stringifyExact(filled(body, values) as JsonValue) }),
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
    const span = this.#charges.begin(paid);
    try {
      const raw = await this.#calls.send(request).finally(() => this.#charges.end(span));
      const reply = { ...meantBy(this.#file, raw, call), span };
      tell(reply.raw.status, amountAt(call.reply?.charged, reply.told));
      if (!paid) this.#requireFree(call, reply);
      return reply;
    } catch (error) {
      if (!(error instanceof LostReplyError)) throw error;
      tell(error.code);
      // Of a free call nothing can have been charged.
      throw paid ? error : new LostReplyError(error.message, error.code, false, error);
    }
  }

  /** @throws CliError exit 5 where a call charged that sells nobody: no other goes out */
  #requireFree(call: VendorCall, { told, span }: Answer): void {
    const charged = this.#charges.ofFree(call, told, span);
    if (charged <= 0n) return;
    this.#onCharged?.(charged);
    throw dear(this.#file, charged, ZERO, "sells nobody");
  }
}

const firstOf = ({ pages }: VendorCall): number => pages?.first ?? 1;

const totalIn = ({ told }: VendorReply, { reply }: VendorCall): number | undefined =>
  whole(placed(reply?.total, told));

/** Whether another page follows, where the reply says it. */
function moreIn({ told }: VendorReply, { reply }: VendorCall): boolean | undefined {
  const more = placed(reply?.more, told);
  return typeof more === "boolean" ? more : undefined;
}

const endsShort = ({ pages }: VendorCall): boolean => (pages?.end ?? ["short"]).includes("short");

/** Numbers by their digits; undefined for what is none, or empty. */
const text = (value: JsonValue | undefined): string | undefined =>
  ["string", "number", "bigint"].includes(typeof value) ? String(value) || undefined : undefined;

/** With all its digits; what is no number is sent as it is, and its vendor says so. */
const asNumber = (id: string): string | bigint => (/^(?:0|[1-9]\d*)$/.test(id) ? BigInt(id) : id);

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

const dear = ({ name }: DialectFile, charged: Credits, declared: Credits, does: string): CliError =>
  failed.incomplete(
    `${name} charged ${creditsText(charged)} for a call that ${does}, ` +
      `which by its file costs ${creditsText(declared)}`,
    `"price" says in the file what a call costs, and "none" of it what nobody costs; where ` +
      "others buy by the same key elsewhere, connections add ... --shared-key",
    declared > 0n ? "price_moved" : "charged_for_free",
  );

const strange = (
  { name }: DialectFile,
  { field, row, came }: NonNullable<ReturnType<typeof strayIn>>,
): CliError =>
  failed.incomplete(
    `row ${row} of ${name} says ${field} "${came}", which was not asked for`,
    `what came is kept; a search without ${field}, or a file that says it otherwise, buys on`,
    "not_as_filtered",
  );
