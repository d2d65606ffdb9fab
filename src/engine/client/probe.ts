import { accountView, countShape, countView } from "./account-view.ts";
import { parseBaseUrl } from "./addresses.ts";
import { unwrap } from "./envelope.ts";
import { LostReplyError, ServiceError } from "./errors.ts";
import { type AskPage, type PagingReport, probePaging } from "./probe-paging.ts";
import { serverClock } from "./rate-limit.ts";
import { openTransport } from "./transport.ts";
import type { AccountView } from "./types.ts";
import type { RawReply, RawRequest, Timeouts } from "./wire.ts";

export interface ProbeReport extends PagingReport {
  readonly elapsedMs: number;
  /** How far the service's clock is ahead of ours, milliseconds. */
  readonly skewMs: number | undefined;
  readonly account: AccountView;
  readonly rateLimitHeaders: boolean;
  readonly countShape: string | undefined;
  /** As the contract says. Searches are tried only then. */
  readonly refusesUnknownFilters: boolean;
}

export interface ProbeOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly now: () => number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeouts?: Partial<Timeouts> | undefined;
}

const holdsRows = (result: unknown): boolean =>
  Array.isArray(result) ? result.length > 0 : Object.values(result ?? {}).some((v) => Array.isArray(v) && v.length > 0);

/** By free calls alone. @throws ServiceError or LostReplyError where `account` or `count` fails */
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
  const send = (method: RawRequest["method"], path: string, body?: unknown): Promise<RawReply> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    return transport.send({ method, path: `${prefix}${path}`, headers, signal, ...content });
  };
  const ask: AskPage = async (method, path, body) => {
    try {
      const { result, meta } = unwrap(await send(method, path, body), now(), 0);
      const charged = meta.creditsUsed === undefined ? holdsRows(result) : meta.creditsUsed > 0n;
      const count = countView(result, meta)?.count;
      return { kind: charged ? "charged" : "taken", text: meta.requestId ?? "without id", count };
    } catch (error) {
      if (error instanceof LostReplyError && error.code !== "ABORTED") return { kind: "nothing", text: "" };
      if (!(error instanceof ServiceError)) throw error;
      const text = error.detail.join("; ");
      if ((error.creditsUsed ?? 0n) > 0n) return { kind: "charged", text: error.requestId ?? "without id" };
      if (error.status === 422 || error.status === 400) return { kind: "refused", text };
      return { kind: error.status === 404 && error.envelope ? "miss" : "nothing", text };
    }
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
    const unknown = { filters: { headcount_doctor_probe: "no such filter" } };
    const strict = (await ask("POST", "/v1/person/count", unknown)).kind === "refused";
    const nobody = { name: "headcount doctor probe", connections_min: Number.MAX_SAFE_INTEGER };
    const isEmpty = async (): Promise<boolean> => {
      const told = await ask("POST", "/v1/person/count", { filters: nobody });
      return told.count === 0 && (countView(counted.result, counted.meta)?.count ?? 0) > 0;
    };
    const paging = await probePaging(ask, strict, strict && (await isEmpty()) ? nobody : undefined);
    return {
      elapsedMs: at - startedAt,
      skewMs: clock === undefined ? undefined : clock + 500 - (startedAt + at) / 2,
      account,
      rateLimitHeaders: meta.rateLimit !== undefined,
      countShape: shape,
      refusesUnknownFilters: strict,
      ...paging,
      perPageMax: account.perPageMax ?? paging.perPageMax,
    };
  } finally {
    await transport.close();
  }
}
