import type { Filters } from "../contract/filters.ts";
import { type Credits, formatCredits } from "../contract/money.ts";
import { whole } from "../contract/text.ts";
import { accountView, countView } from "./account-view.ts";
import { baseUrlText, isLoopbackHost, parseBaseUrl } from "./addresses.ts";
import { type Unwrapped, unwrap, unwrapPage } from "./envelope.ts";
import { LostReplyError, ServiceError } from "./errors.ts";
import { header } from "./rate-limit.ts";
import { openTransport, type RawReply, type RawRequest, type Timeouts } from "./transport.ts";
import type {
  AccountView,
  CompanyQuery,
  CountView,
  Dialect,
  PagePosition,
  PageReply,
  PaidCallOptions,
  ServiceClient,
} from "./types.ts";

/** One request as `--verbose` shows it: never a key, a filter value or a query. */
export interface RequestLog {
  readonly method: string;
  readonly path: string;
  /** HTTP status, or the code of the failure where no whole answer came. */
  readonly outcome: number | string;
  readonly elapsedMs: number;
  /** Credits charged, as a decimal; undefined where nobody said. */
  readonly creditsUsed: string | undefined;
  readonly requestId: string | undefined;
}

export interface ClientOptions {
  readonly baseUrl: string;
  /** The bearer key. Goes into the `Authorization` header of requests to `baseUrl`'s origin and nowhere else. */
  readonly apiKey: string;
  readonly dialect: Dialect;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Looked at for proxies alone. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log?: ((entry: RequestLog) => void) | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
}

/** What a request is, before headers. */
interface Call {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A client for one service and one key.
 * @throws CliError (exit 2) on a base URL that is neither https nor this machine, or on a bad proxy address
 */
export function createClient(options: ClientOptions): ServiceClient {
  const base = parseBaseUrl(options.baseUrl);
  const { now, dialect } = options;
  const transport = openTransport({ origin: base, env: options.env, now, timeouts: options.timeouts });
  const common: Record<string, string> = {
    authorization: `Bearer ${options.apiKey}`,
    accept: "application/json",
    "user-agent": "headcount",
  };
  // On one machine compressing costs more than it saves.
  if (!isLoopbackHost(base.hostname)) common["accept-encoding"] = "gzip, br";
  const prefix = base.pathname === "/" ? "" : base.pathname;

  async function call(
    { method, path, query, body, idempotencyKey, signal }: Call,
    read: (reply: RawReply, at: number, elapsedMs: number) => Unwrapped,
  ): Promise<Unwrapped & { readonly reply: RawReply }> {
    const headers = { ...common };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
    const request: RawRequest = {
      method,
      path: `${prefix}${path}${query === undefined ? "" : `?${query}`}`,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      paid: idempotencyKey !== undefined,
      signal,
    };
    const startedAt = now();
    const log = (outcome: number | string, used: Credits | undefined, requestId: string | undefined): void =>
      options.log?.({
        method,
        path,
        outcome,
        elapsedMs: now() - startedAt,
        creditsUsed: used === undefined ? undefined : formatCredits(used),
        requestId,
      });
    try {
      const reply = await decoded(await transport.send(request));
      const at = now();
      const unwrapped = read(reply, at, at - startedAt);
      log(reply.status, unwrapped.meta.creditsUsed, unwrapped.meta.requestId);
      return { ...unwrapped, reply };
    } catch (error) {
      if (error instanceof ServiceError) log(error.status, undefined, error.requestId);
      else if (error instanceof LostReplyError) log(error.code, undefined, undefined);
      throw error;
    }
  }

  async function page(request: Call): Promise<PageReply> {
    const { reply, meta, result } = await call(request, unwrapPage);
    const { headers, body } = reply;
    return {
      body,
      meta,
      nextCursor: header(headers, "x-next-cursor") ?? cursorIn(result),
      total: whole(header(headers, "x-total-count")) ?? totalIn(result),
      replayed: header(headers, "idempotent-replayed")?.toLowerCase() === "true",
    };
  }

  return {
    baseUrl: baseUrlText(base),
    dialect,

    async account(signal): Promise<AccountView> {
      const { result, meta } = await call({ method: "GET", path: "/v1/account", signal }, unwrap);
      return accountView(result, meta);
    },

    async count(filters: Filters, signal): Promise<CountView> {
      const request: Call = { method: "POST", path: "/v1/person/count", body: { filters }, signal };
      const { result, meta } = await call(request, unwrap);
      const view = countView(result, meta);
      if (view !== undefined) return view;
      throw new ServiceError({
        status: meta.status,
        detail: ["the answer to a count holds no count"],
        requestId: meta.requestId,
        envelope: false,
      });
    },

    searchPage(filters: Filters, position: PagePosition, { idempotencyKey, signal }: PaidCallOptions) {
      const body = { filters, per_page: position.perPage, ...paging(position, dialect) };
      return page({ method: "POST", path: "/v1/person/search", body, idempotencyKey, signal });
    },

    employeesPage(company: CompanyQuery, position: PagePosition, { idempotencyKey, signal }: PaidCallOptions) {
      const query = new URLSearchParams({ [company.by]: company.value, per_page: String(position.perPage) });
      for (const [name, value] of Object.entries(paging(position, dialect))) query.set(name, String(value));
      return page({ method: "GET", path: "/v1/company/employees", query, idempotencyKey, signal });
    },

    enrich(company: CompanyQuery, { idempotencyKey, signal }: PaidCallOptions) {
      const query = new URLSearchParams({ [company.by]: company.value });
      return page({ method: "GET", path: "/v1/company/enrich", query, idempotencyKey, signal });
    },

    close: () => transport.close(),
  };
}

/** Where a page begins, in the words of the dialect. */
function paging(position: PagePosition, dialect: Dialect): Readonly<Record<string, string | number>> {
  const { offset, perPage, cursor } = position;
  if (dialect.paging === "cursor") return cursor === undefined ? {} : { cursor };
  if (dialect.paging === "offset") return { offset };
  if (offset % perPage !== 0) throw new RangeError(`no page of ${perPage} rows begins at row ${offset}`);
  return { page: offset / perPage + dialect.firstPage };
}

function totalIn(result: unknown): number | undefined {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return undefined;
  const fields = result as Readonly<Record<string, unknown>>;
  return whole(fields.total ?? fields.total_count ?? fields.total_results);
}

function cursorIn(result: unknown): string | undefined {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return undefined;
  const fields = result as Readonly<Record<string, unknown>>;
  const cursor = fields.next_cursor ?? fields.cursor;
  return typeof cursor === "string" && cursor !== "" ? cursor : undefined;
}

/** The reply with its body decompressed, off the main thread. */
async function decoded(reply: RawReply): Promise<RawReply> {
  const encodings = (header(reply.headers, "content-encoding") ?? "")
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((name) => name !== "" && name !== "identity");
  if (encodings.length === 0 || reply.body.length === 0) return reply;
  const { decompress } = await import("./decompress.ts");
  return { ...reply, body: await decompress(reply.body, encodings) };
}
