import { LostReplyError } from "./errors.ts";
import { proxyFor } from "./proxy.ts";

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
  /** Whether it costs credits; see {@link openTransport}. */
  readonly paid?: boolean;
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

/** What a wire tells of one request, in this order; the last word is `end` or `failed`. */
export interface Receiver {
  /** The request goes onto an open connection now: whatever fails before was never sent. */
  sending(): void;
  headers(status: number, headers: ReplyHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  failed(error: Error): void;
}

/** How requests go out and answers come in: `node:http` or undici. What {@link openTransport} promises holds for both. */
export interface Wire {
  /** Sends one request, once. @returns what cuts it off at any time */
  send(request: RawRequest, receiver: Receiver): (reason: Error) => void;
  /** Closes every socket at once. */
  close(): Promise<void>;
}

/**
 * The way to one origin, through a proxy where the environment names one. Free calls go over `node:http`: a command that makes
 * one call takes half as long as with undici. From the first paid call on, and through a proxy, all go over undici's pool.
 */
export function openTransport(options: TransportOptions): Transport {
  const timeouts = { ...TIMEOUTS, ...options.timeouts };
  const { origin, now } = options;
  const proxy = proxyFor(origin, options.env);
  const name = `${origin.origin}${proxy === undefined ? "" : " (through a proxy)"}`;
  let light: Promise<Wire> | undefined;
  let pool: Promise<Wire> | undefined;
  const wireFor = ({ paid }: RawRequest): Promise<Wire> => {
    if (paid === true || proxy !== undefined || pool !== undefined) {
      pool ??= import("./undici-wire.ts").then(({ undiciWire }) => undiciWire(origin, proxy, timeouts));
      return pool;
    }
    light ??= import("./http-wire.ts").then(({ httpWire }) => httpWire(origin, timeouts));
    return light;
  };
  return {
    send: async (request) => exchange(await wireFor(request), request, name, timeouts, now),
    close: async () => {
      await Promise.all([light, pool].map(async (wire) => (await wire)?.close()));
    },
  };
}

function exchange(
  wire: Wire,
  request: RawRequest,
  name: string,
  timeouts: Timeouts,
  now: () => number,
): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    const startedAt = now();
    let sent = false;
    let over = false;
    let status = 0;
    let headers: ReplyHeaders = {};
    const chunks: Buffer[] = [];
    let length = 0;
    let cutOff: ((reason: Error) => void) | undefined;

    const settle = (): boolean => {
      if (over) return false;
      over = true;
      signal?.removeEventListener("abort", onAbort);
      return true;
    };
    const giveUp = (error: LostReplyError): void => {
      if (!settle()) return;
      reject(error);
      cutOff?.(error);
    };
    const onAbort = (): void =>
      giveUp(new LostReplyError("the request was cancelled", "ABORTED", sent, signal?.reason));

    if (signal?.aborted) {
      onAbort();
      return;
    }
    signal?.addEventListener("abort", onAbort, { once: true });
    cutOff = wire.send(request, {
      sending() {
        sent = true;
      },
      headers(statusCode, replyHeaders) {
        status = statusCode;
        headers = replyHeaders;
      },
      data(chunk) {
        length += chunk.length;
        chunks.push(chunk);
        if (length > MAX_REPLY_BYTES) {
          giveUp(new LostReplyError("the reply is larger than 256 MiB", "REPLY_TOO_LARGE", true));
        } else if (now() - startedAt > timeouts.total) {
          giveUp(new LostReplyError(`the reply took longer than ${timeouts.total / 1000} s`, "REPLY_TOO_SLOW", true));
        }
      },
      end() {
        if (!settle()) return;
        const [only] = chunks;
        const body = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
        resolve({ status, headers, body });
      },
      failed(error) {
        if (settle()) reject(lost(error, sent, name));
      },
    });
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
  BROKEN_HTTP: "the answer is no HTTP",
  EPROTO: "no TLS connection could be made; does it speak https?",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed; trust it with NODE_EXTRA_CA_CERTS=FILE",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate chain is self-signed; trust it with NODE_EXTRA_CA_CERTS=FILE",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate cannot be verified; trust its issuer with NODE_EXTRA_CA_CERTS=FILE",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};

function lost(error: Error, sent: boolean, name: string): LostReplyError {
  // Several addresses were tried: the first one's failure stands for all.
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const told = "code" in first && typeof first.code === "string" ? first.code : first.name;
  // Each wire has its own names for what is no HTTP.
  const code = /^HPE_|^HTTPParserError$/.test(told) ? "BROKEN_HTTP" : told;
  const why = EXPLANATIONS[code] ?? (/^ERR_SSL_|^EPROTO$/.test(code) ? EXPLANATIONS.EPROTO : first.message);
  return new LostReplyError(`${name}: ${why}`, code, sent, error);
}
