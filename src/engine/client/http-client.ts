import { type Credits, creditsText } from "../../shared/contract/money.ts";
import { echo, isObject, whole } from "../../shared/contract/text.ts";
import type { FacetKey, Filters } from "../../shared/contract/vocabulary.ts";
import {
  accountView,
  countsView,
  countView,
  facetView,
  keyView,
  sketchView,
} from "./account-view.ts";
import type { CompanyQuery, Dialect, ServiceLimits } from "./dialect.ts";
import { type Unwrapped, unwrap, unwrapPage, unwrapRows } from "./envelope.ts";
import { isWithoutRoute, LostReplyError, ServiceError, withoutCounts } from "./errors.ts";
import { header } from "./rate-limit.ts";
import { type Access, openCalls, type ServiceCall } from "./transport.ts";
import type {
  AccountView,
  CountsView,
  CountView,
  FacetOptions,
  FacetView,
  KeyView,
  PagePosition,
  PageReply,
  PaidCallOptions,
  ReplyMeta,
  ServiceClient,
  SketchView,
} from "./types.ts";
import type { RawReply } from "./wire.ts";

/** One request as `--verbose` shows it: never a key, a filter value or a query. */
export interface RequestLog {
  readonly method: string;
  readonly path: string;
  /** HTTP status, or the code of the failure where no whole answer came. */
  readonly outcome: number | string;
  readonly elapsedMs: number;
  readonly creditsUsed: string | undefined;
  readonly requestId: string | undefined;
}

export interface ClientOptions extends Access {
  readonly dialect: Dialect;
  readonly log?: ((entry: RequestLog) => void) | undefined;
  /** Keeps what replies taught, for the next time. */
  readonly onLimits?: ((limits: ServiceLimits) => void) | undefined;
}

export const createClient = (options: ClientOptions): ServiceClient => new HttpClient(options);

class HttpClient implements ServiceClient {
  readonly baseUrl: string;
  dialect: Dialect;
  readonly #options: ClientOptions;
  readonly #calls: ReturnType<typeof openCalls>;
  #isAnswered = false;

  constructor(options: ClientOptions) {
    this.#calls = openCalls(options);
    this.baseUrl = this.#calls.baseUrl;
    this.dialect = options.dialect;
    this.#options = options;
  }

  async account(signal?: AbortSignal): Promise<AccountView> {
    const { result, meta } = await this.#call(
      { method: "GET", path: "/v1/account", signal },
      unwrap,
    );
    this.#isAnswered = true;
    return accountView(result, meta);
  }

  key(signal?: AbortSignal): Promise<KeyView | undefined> {
    return this.#ours({ method: "GET", path: "/key", signal }, keyView);
  }

  async count(filters: Filters, signal?: AbortSignal): Promise<CountView> {
    const call: ServiceCall = {
      method: "POST",
      path: "/v1/person/count",
      body: { filters },
      signal,
    };

    const { result, meta } = await this.#call(call, unwrap).catch(async (error: unknown) => {
      if (!(error instanceof ServiceError && isWithoutRoute(error))) throw error;
      // Whether the address is the API's, another call tells.
      if (!this.#isAnswered) await this.account(signal).catch(() => undefined);
      throw this.#isAnswered ? withoutCounts(error) : error;
    });
    return countView(result, meta) ?? lacking(meta, `no exact count: ${echo(result)}`);
  }

  async facets(
    filters: Filters,
    key: FacetKey,
    options: FacetOptions = {},
  ): Promise<FacetView | undefined> {
    const { signal, ...fields } = options;
    const read = (result: unknown, meta: ReplyMeta) => facetView(result, key, meta);
    return await this.#ours(
      { method: "POST", path: "/facets", body: { filters, key, ...fields }, signal },
      read,
    );
  }

  counts(
    filters: Filters,
    companies: readonly string[],
    signal?: AbortSignal,
  ): Promise<CountsView | undefined> {
    const read = (result: unknown, meta: ReplyMeta) => countsView(result, companies.length, meta);
    return this.#ours(
      { method: "POST", path: "/counts", body: { filters, companies }, signal },
      read,
    );
  }

  sketch(
    filters: Filters,
    from: number,
    cells: number,
    signal?: AbortSignal,
  ): Promise<SketchView | undefined> {
    const read = (result: unknown, meta: ReplyMeta) => sketchView(result, { from, cells }, meta);
    return this.#ours(
      { method: "POST", path: "/sketch", body: { filters, from, cells }, signal },
      read,
    );
  }

  async ids() {
    return undefined;
  }

  /** A call that only our service has: undefined elsewhere. */
  async #ours<View>(
    call: ServiceCall,
    read: (result: unknown, meta: ReplyMeta) => View | Promise<View>,
  ): Promise<View | undefined> {
    try {
      const { result, meta } = await this.#call(call, unwrap);
      return await read(result, meta);
    } catch (error) {
      if (error instanceof ServiceError && isElsewhere(error, call)) return undefined;
      throw error;
    }
  }

  searchPage(
    filters: Filters,
    position: PagePosition,
    options: PaidCallOptions,
  ): Promise<PageReply> {
    const body = { filters, per_page: position.perPage, ...paging(position, this.dialect) };
    return this.#page({ method: "POST", path: "/v1/person/search", body, ...options });
  }

  peopleByDigest(
    filters: Filters,
    digests: readonly string[],
    options: PaidCallOptions,
  ): Promise<PageReply> {
    return this.#page({ method: "POST", path: "/people", body: { filters, digests }, ...options });
  }

  employeesPage(
    company: CompanyQuery,
    position: PagePosition,
    options: PaidCallOptions,
  ): Promise<PageReply> {
    const query = new URLSearchParams({
      [company.by]: company.value,
      per_page: String(position.perPage),
    });
    for (const [name, value] of Object.entries(paging(position, this.dialect)))
      query.set(name, String(value));
    return this.#page({ method: "GET", path: "/v1/company/employees", query, ...options });
  }

  enrich(company: CompanyQuery, options: PaidCallOptions): Promise<PageReply> {
    const query = new URLSearchParams({ [company.by]: company.value });
    return this.#page({ method: "GET", path: "/v1/company/enrich", query, ...options }, false);
  }

  learn(limits: ServiceLimits): void {
    const { pageRows = 0 } = limits;
    if (pageRows < 1 || pageRows === this.dialect.pageRows) return;
    this.dialect = { ...this.dialect, pageRows };
    this.#options.onLimits?.({ pageRows });
  }

  close(): Promise<void> {
    return this.#calls.close();
  }

  async #page(call: ServiceCall, isPage = true): Promise<PageReply> {
    const { reply, isCut, meta, result } = await this.#call(call, isPage ? unwrapRows : unwrapPage);
    const { headers, body } = reply;
    const next = cursorOf(toldOf(result, ["next_cursor", "nextCursor", "cursor"]));
    const total = toldOf(result, ["total", "total_count", "total_results"]);

    return {
      body,
      isCut,
      meta,
      nextCursor: header(headers, "x-next-cursor") ?? next,
      total: whole(header(headers, "x-total-count") ?? total),
      replayed: header(headers, "idempotent-replayed")?.toLowerCase() === "true",
      withheld: whole(header(headers, "x-suppressed-count")) ?? 0,
    };
  }

  async #call(
    call: ServiceCall,
    read: typeof unwrap,
  ): Promise<Unwrapped & { readonly reply: RawReply }> {
    const { now } = this.#options;
    const startedAt = now();

    const log = (outcome: number | string, used?: Credits, requestId?: string): void =>
      this.#options.log?.({
        method: call.method,
        path: call.path,
        outcome,
        elapsedMs: now() - startedAt,
        creditsUsed: used === undefined ? undefined : creditsText(used),
        requestId,
      });

    try {
      const reply = await this.#calls.send(call);
      const unwrapped = read(reply, now());
      log(reply.status, unwrapped.meta.creditsUsed, unwrapped.meta.requestId);
      return { ...unwrapped, reply };
    } catch (error) {
      if (error instanceof ServiceError) log(error.status, undefined, error.requestId);
      else if (error instanceof LostReplyError) log(error.code);
      throw error;
    }
  }
}

function lacking({ status, requestId }: ReplyMeta, what: string): never {
  throw new ServiceError({ status, detail: [what], requestId, envelope: false });
}

function paging(
  position: PagePosition,
  dialect: Dialect,
): Readonly<Record<string, string | number>> {
  const { offset, perPage, cursor } = position;
  // Also where nobody said that it goes by cursor, and a reply gave one.
  if (cursor !== undefined) return { cursor };
  if (dialect.paging === "cursor") return {};
  if (dialect.paging === "offset") return { offset };
  if (offset % perPage !== 0)
    throw new RangeError(`no page of ${perPage} rows begins at row ${offset}`);
  return { page: offset / perPage + (dialect.firstPage ?? 1) };
}

function toldOf(result: unknown, names: readonly string[]): unknown {
  if (!isObject(result)) return undefined;
  for (const place of [result, result.meta, result.pagination, result.paging, result.page_info]) {
    const name = isObject(place) ? names.find((one) => place[one] !== undefined) : undefined;
    if (isObject(place) && name !== undefined) return place[name];
  }
  return undefined;
}

/**
 * Sent back as it came: a number, where it is exact,
 * by its digits. 0 is how some say that there is none.
 */
function cursorOf(value: unknown): string | null | undefined {
  if (value === 0) return null;
  if (Number.isSafeInteger(value)) return String(value);
  return value === null || (typeof value === "string" && value !== "") ? value : undefined;
}

/** How a service without the route speaks: a 404, or the answer of a gateway or a website. */
const isElsewhere = (error: ServiceError, { body }: ServiceCall): boolean => {
  const { envelope, status } = error;
  if (body === undefined && (!envelope || status === 400)) return true;
  return isWithoutRoute(error) || (!envelope && status < 500 && status !== 408 && status !== 429);
};
