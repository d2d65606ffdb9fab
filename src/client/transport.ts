import { createRequire } from "node:module";
import { setFlagsFromString } from "node:v8";
import type { Dispatcher } from "undici";
import { LostReplyError } from "./errors.ts";
import { type ProxySettings, proxyFor } from "./proxy.ts";

/** Time limits in milliseconds. `total` bounds a reply that trickles in without ever being idle. */
export interface Timeouts {
  readonly connect: number;
  readonly headers: number;
  readonly bodyIdle: number;
  readonly total: number;
}

export const TIMEOUTS: Timeouts = { connect: 10_000, headers: 60_000, bodyIdle: 60_000, total: 300_000 };

/** More than any page of 1,000 records; a reply beyond it is given up rather than held in memory. */
export const MAX_REPLY_BYTES = 256 * 1024 * 1024;

export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface RawRequest {
  readonly method: "GET" | "POST";
  /** Path and query, from the origin on. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface RawReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  /** As it came over the wire: still compressed where `content-encoding` says so. */
  readonly body: Buffer;
}

export interface Transport {
  /** One request, no retry, no redirect. Rejects with {@link LostReplyError} where no whole reply came. */
  send(request: RawRequest): Promise<RawReply>;
  /** Closes every socket at once. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly origin: URL;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  readonly timeouts?: Partial<Timeouts> | undefined;
}

type DispatcherConstructor = new (...args: unknown[]) => Dispatcher;

interface UndiciParts {
  readonly Pool: DispatcherConstructor;
  readonly EnvHttpProxyAgent: DispatcherConstructor;
}

const require = createRequire(import.meta.url);

/**
 * undici's pool by itself: the whole package costs three times as much to load, which is most of the run time of
 * `headcount count`. It is a file of the package, not of its documented interface, hence the way back to the front door.
 */
function loadPool(): DispatcherConstructor {
  try {
    return require("undici/lib/dispatcher/pool.js") as DispatcherConstructor;
  } catch {
    return (require("undici") as UndiciParts).Pool;
  }
}

function openDispatcher(origin: URL, proxy: ProxySettings | undefined, timeouts: Timeouts): Dispatcher {
  const settings = {
    connections: 16,
    pipelining: 1,
    connect: { timeout: timeouts.connect },
    headersTimeout: timeouts.headers,
    bodyTimeout: timeouts.bodyIdle,
  };
  if (proxy === undefined) return new (loadPool())(origin.origin, settings);
  return new (require("undici") as UndiciParts).EnvHttpProxyAgent({ ...settings, ...proxy });
}

let parserKept = false;

/**
 * V8 would compile undici's WASM parser a second time, optimised, and the process waits for that at its end (~75 ms). Called as
 * late as can be, before the first request: with changed flags V8 no longer takes Node's own modules from their code cache.
 */
function keepParserAsItIs(): void {
  if (parserKept) return;
  parserKept = true;
  setFlagsFromString("--wasm-tiering-budget=1000000000");
}

/** A connection pool to one origin, through a proxy where the environment names one. */
export function openTransport(options: TransportOptions): Transport {
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const proxy = proxyFor(options.origin, options.env);
  const dispatcher = openDispatcher(options.origin, proxy, timeouts);
  const origin = options.origin.origin;
  return {
    send: (request) => exchange(dispatcher, origin, request, timeouts, options.now, proxy !== undefined),
    close: () => dispatcher.destroy(),
  };
}

function exchange(
  dispatcher: Dispatcher,
  origin: string,
  request: RawRequest,
  timeouts: Timeouts,
  now: () => number,
  proxied: boolean,
): Promise<RawReply> {
  keepParserAsItIs();
  return new Promise((resolve, reject) => {
    const { signal } = request;
    const startedAt = now();
    let sent = false;
    let controller: Dispatcher.DispatchController | undefined;
    let status = 0;
    let headers: ReplyHeaders = {};
    const chunks: Buffer[] = [];
    let length = 0;
    let failure: LostReplyError | undefined;

    const settle = (): void => signal?.removeEventListener("abort", onAbort);
    const fail = (error: LostReplyError): void => {
      settle();
      reject(error);
    };
    const giveUp = (error: LostReplyError): void => {
      failure ??= error;
      controller?.abort(error);
      fail(failure);
    };
    const onAbort = (): void =>
      giveUp(new LostReplyError("the request was cancelled", "ABORTED", sent, signal?.reason));

    if (signal?.aborted) {
      onAbort();
      return;
    }
    signal?.addEventListener("abort", onAbort, { once: true });
    dispatcher.dispatch(
      {
        origin,
        path: request.path,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null,
        // Only the caller decides what is sent again: undici must not repeat a request on its own.
        idempotent: false,
      },
      {
        onRequestStart(started) {
          controller = started;
          // Called right before the first byte goes onto an open connection: whatever fails earlier was never sent.
          if (failure) started.abort(failure);
          else sent = true;
        },
        onResponseStart(_, statusCode, replyHeaders) {
          if (statusCode < 200) return;
          status = statusCode;
          headers = replyHeaders;
        },
        onResponseData(_, chunk) {
          length += chunk.length;
          chunks.push(chunk);
          if (length > MAX_REPLY_BYTES) {
            giveUp(new LostReplyError("the reply is larger than 256 MiB", "REPLY_TOO_LARGE", true));
          } else if (now() - startedAt > timeouts.total) {
            giveUp(new LostReplyError(`the reply took longer than ${timeouts.total / 1000} s`, "REPLY_TOO_SLOW", true));
          }
        },
        onResponseEnd() {
          settle();
          const [only] = chunks;
          const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
          resolve({ status, headers, body });
        },
        onResponseError(_, error) {
          fail(failure ?? lost(error, sent, origin, proxied));
        },
      },
    );
  });
}

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there (connection refused)",
  ENOTFOUND: "the host name is not known",
  EAI_AGAIN: "the host name could not be looked up just now",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ETIMEDOUT: "the connection timed out",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while sending",
  UND_ERR_CONNECT_TIMEOUT: "no connection within the time limit",
  UND_ERR_HEADERS_TIMEOUT: "no answer within the time limit",
  UND_ERR_BODY_TIMEOUT: "the answer stopped half way",
  UND_ERR_SOCKET: "the connection was closed before the answer was whole",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "the answer was not as long as it said",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed; trust it with NODE_EXTRA_CA_CERTS=FILE",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate chain is self-signed; trust it with NODE_EXTRA_CA_CERTS=FILE",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate cannot be verified; trust its issuer with NODE_EXTRA_CA_CERTS=FILE",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};

function lost(error: Error, sent: boolean, origin: string, proxied: boolean): LostReplyError {
  // Several addresses were tried: the first one's failure stands for all.
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = "code" in first && typeof first.code === "string" ? first.code : first.name;
  const why = EXPLANATIONS[code] ?? (code.startsWith("HPE_") ? "the answer is no HTTP" : first.message);
  return new LostReplyError(`${origin}${proxied ? " (through a proxy)" : ""}: ${why}`, code, sent, error);
}
