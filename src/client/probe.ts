import { accountView, countShape, countView } from "./account-view.ts";
import { parseBaseUrl } from "./addresses.ts";
import { unwrap } from "./envelope.ts";
import { LostReplyError, ServiceError } from "./errors.ts";
import { serverClock } from "./rate-limit.ts";
import { openTransport } from "./transport.ts";
import type { AccountView, Dialect } from "./types.ts";
import type { RawReply, Timeouts } from "./wire.ts";

/** What was found out about a service without spending anything. */
export interface ProbeReport {
  /** Round trip of `account`, milliseconds. */
  readonly elapsedMs: number;
  /** How far the service's clock is ahead of ours, milliseconds; undefined where it does not tell. */
  readonly skewMs: number | undefined;
  readonly account: AccountView;
  /** Whether the three rate-limit headers came (docs/contract.md, Limits). */
  readonly rateLimitHeaders: boolean;
  /** Under which name the count came; undefined where none was found. */
  readonly countShape: string | undefined;
  /** Whether an unknown filter key is refused with a 422, as the contract says. Everything else is probed only then. */
  readonly refusesUnknownFilters: boolean;
  /** The dialect as far as it showed; undefined where paging could not be found out. */
  readonly paging: Dialect["paging"] | undefined;
  readonly firstPage: 0 | 1 | undefined;
  readonly perPageMax: number | undefined;
  /** What the probes were charged, in words; should never be there. */
  readonly charged: string | undefined;
}

export interface ProbeOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly now: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
}

/** No service has such a filter: a body that carries it is refused before anything is bought (docs/contract.md, Filters). */
const NO_FILTER = { headcount_doctor_probe: "no such filter" };

/**
 * Finds out how a service speaks, by free calls alone: `account`, `count`, and searches that are certain to be refused. A search
 * is sent only after the free count has shown that the service refuses unknown filters.
 * @throws ServiceError or LostReplyError where `account` or `count` fails
 */
export async function probeService(options: ProbeOptions): Promise<ProbeReport> {
  const { now, signal } = options;
  const base = parseBaseUrl(options.baseUrl);
  const transport = openTransport({ origin: base, env: options.env, now, timeouts: options.timeouts });
  const prefix = base.pathname === "/" ? "" : base.pathname;
  const headers = {
    authorization: `Bearer ${options.apiKey}`,
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": "headcount",
  };
  const send = async (method: "GET" | "POST", path: string, body?: unknown): Promise<RawReply> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    return transport.send({ method, path: `${prefix}${path}`, headers, signal, ...content });
  };
  try {
    const startedAt = now();
    const first = await send("GET", "/v1/account");
    const at = now();
    const { result, meta } = unwrap(first, at, at - startedAt);
    const account = accountView(result, meta);
    const clock = serverClock(first.headers);

    const counted = unwrap(await send("POST", "/v1/person/count", { filters: {} }), now(), 0);
    const shape = countView(counted.result, counted.meta) === undefined ? undefined : countShape(counted.result);

    const refusal = await send("POST", "/v1/person/count", { filters: NO_FILTER });
    const strict = refusal.status === 422;
    const search = strict ? await probeSearch(send, now) : {};
    return {
      elapsedMs: at - startedAt,
      // The header has whole seconds: half a second is its middle.
      skewMs: clock === undefined ? undefined : clock + 500 - (startedAt + at) / 2,
      account,
      rateLimitHeaders: meta.rateLimit !== undefined,
      countShape: shape,
      refusesUnknownFilters: strict,
      paging: search.paging,
      firstPage: search.firstPage,
      perPageMax: account.perPageMax ?? search.perPageMax,
      charged: search.charged,
    };
  } finally {
    await transport.close();
  }
}

interface SearchFindings {
  readonly paging?: Dialect["paging"];
  readonly firstPage?: 0 | 1;
  readonly perPageMax?: number;
  readonly charged?: string;
}

async function probeSearch(
  send: (method: "POST", path: string, body: unknown) => Promise<RawReply>,
  now: () => number,
): Promise<SearchFindings> {
  const probes = [
    { filters: NO_FILTER, headcount_doctor_probe: true },
    { filters: NO_FILTER, per_page: 1, page: "probe" },
    { filters: NO_FILTER, per_page: 1, offset: "probe" },
    { filters: NO_FILTER, per_page: 1, cursor: 0 },
    { filters: NO_FILTER, per_page: 1_000_000_000 },
    { filters: NO_FILTER, per_page: 1, page: -1 },
  ];
  const details: string[] = [];
  for (const body of probes) {
    const detail = await refusedSearch(send, body, now);
    if (detail.charged !== undefined) return { charged: detail.charged };
    details.push(detail.text);
    // A list of the valid fields says it all at once.
    if (details.length === 1 && pagingIn(detail.text, true) !== undefined) break;
  }
  const [listed = "", ...each] = details;
  const paging =
    pagingIn(listed, true) ?? (["page", "offset", "cursor"] as const).find((_, at) => pagingIn(each[at] ?? "", false));
  const bound = /per_page\b[^.;]*?\b(?:and|most|maximum|max|exceed|<=|to)\D{0,12}(\d{1,7})\b/i.exec(each[3] ?? "")?.[1];
  const from = /\bpage\b[^.;]*?\bfrom ([01])\b/i.exec(each[4] ?? "")?.[1];
  return {
    ...(paging === undefined ? {} : { paging }),
    ...(from === undefined ? {} : { firstPage: from === "0" ? 0 : 1 }),
    ...(bound === undefined ? {} : { perPageMax: Number(bound) }),
  };
}

async function refusedSearch(
  send: (method: "POST", path: string, body: unknown) => Promise<RawReply>,
  body: unknown,
  now: () => number,
): Promise<{ readonly text: string; readonly charged?: string }> {
  try {
    const { meta } = unwrap(await send("POST", "/v1/person/search", body), now(), 0);
    return {
      text: "",
      charged: `a search with an unknown filter was not refused (request ${meta.requestId ?? "without id"})`,
    };
  } catch (error) {
    if (error instanceof ServiceError && error.status === 422) return { text: error.detail.join("; ") };
    if (error instanceof ServiceError || error instanceof LostReplyError) return { text: "" };
    throw error;
  }
}

/** The paging parameter that a refusal speaks of: in a list of valid fields, or as one that it knows and finds wrong. */
function pagingIn(text: string, list: boolean): Dialect["paging"] | undefined {
  const fields = list ? /valid (?:fields|parameters|keys)\W+(.*)/i.exec(text)?.[1] : text;
  if (fields === undefined) return undefined;
  if (
    !list &&
    /unknown|unexpected|not (?:allowed|permitted)|additional|extra/i.test(fields.replace(/unknown filter[^;]*/gi, ""))
  )
    return undefined;
  if (/\bpage\b(?!\s*size)/i.test(fields.replaceAll("per_page", ""))) return "page";
  if (/\boffset\b/i.test(fields)) return "offset";
  return /\bcursor\b/i.test(fields) ? "cursor" : undefined;
}
