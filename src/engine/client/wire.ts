import { LostReplyError } from "./errors.ts";

/** Milliseconds. `total` bounds a reply that trickles in without ever being idle. */
export interface Timeouts {
  /** Until a connection stands: name, socket, TLS, and a proxy's tunnel. */
  readonly connect: number;
  readonly headers: number;
  readonly bodyIdle: number;
  readonly total: number;
}

export const TIMEOUTS: Timeouts = { connect: 10_000, headers: 60_000, bodyIdle: 60_000, total: 300_000 };

/** A page of 1,000 records has a megabyte, a free answer a kilobyte. */
const MAX_REPLY_BYTES = { paid: 128 * 1024 * 1024, free: 8 * 1024 * 1024 } as const;

export type ReplyHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface RawRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly paid?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface RawReply {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: Buffer;
}

/** What a wire tells of one request, in this order; the last word is `end` or `failed`. */
export interface Receiver {
  /** Whatever fails before was never sent. */
  sending(): void;
  headers(status: number, headers: ReplyHeaders): void;
  data(chunk: Buffer): void;
  end(): void;
  failed(error: Error, code?: string): void;
}

/** Limits of time and size are not its business. */
export interface Wire {
  /** @returns what cuts it off at any time */
  send(request: RawRequest, receiver: Receiver): (reason: Error) => void;
  close(): Promise<void>;
}

export interface ExchangeOptions {
  readonly name: string;
  readonly timeouts: Timeouts;
  readonly now: () => number;
}

export function exchange(wire: Wire, request: RawRequest, options: ExchangeOptions): Promise<RawReply> {
  const { name, timeouts, now } = options;
  const { signal } = request;
  return new Promise((resolve, reject) => {
    const startedAt = now();
    const chunks: Buffer[] = [];
    let head: Omit<RawReply, "body"> = { status: 0, headers: {} };
    let length = 0;
    let sent = false;
    let over = false;
    let timer: NodeJS.Timeout | undefined;
    let cutOff: ((reason: Error) => void) | undefined;

    const settle = (): boolean => {
      if (over) return false;
      over = true;
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      return true;
    };
    const giveUp = (code: string, cause?: unknown, message = `${name}: ${EXPLANATIONS[code]}`): void => {
      if (!settle()) return;
      const error = new LostReplyError(message, code, sent, cause);
      reject(error);
      cutOff?.(error);
    };
    const onAbort = (): void => giveUp("ABORTED", signal?.reason, "the request was cancelled");
    const within = (ms: number, code: string): void => {
      clearTimeout(timer);
      if (!over) timer = setTimeout(() => giveUp(code), ms);
    };

    if (signal?.aborted) return onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    within(timeouts.connect, "CONNECT_TIMEOUT");
    cutOff = wire.send(request, {
      sending() {
        sent = true;
        within(timeouts.headers, "HEADERS_TIMEOUT");
      },
      headers(status, headers) {
        head = { status, headers };
        within(timeouts.bodyIdle, "BODY_TIMEOUT");
      },
      data(chunk) {
        if (over) return;
        timer?.refresh();
        length += chunk.length;
        chunks.push(chunk);
        const most = replyLimit(request.paid, head.status);
        if (length > most) giveUp("REPLY_TOO_LARGE", undefined, tooLarge(most));
        else if (now() - startedAt > timeouts.total)
          giveUp("REPLY_TOO_SLOW", undefined, `the reply took longer than ${timeouts.total / 1000} s`);
      },
      end() {
        if (!settle()) return;
        const [only] = chunks;
        resolve({ ...head, body: chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length) });
      },
      failed(error, code) {
        if (settle()) reject(lost(error, code, sent, name));
      },
    });
  });
}

export const replyLimit = (paid: boolean | undefined, status: number): number =>
  paid === true && status < 400 ? MAX_REPLY_BYTES.paid : MAX_REPLY_BYTES.free;

export const tooLarge = (most: number): string => `the reply is larger than ${most / 1024 / 1024} MiB`;

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there (connection refused)",
  ENOTFOUND: "the host name is not known",
  EAI_AGAIN: "the host name could not be looked up just now",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ETIMEDOUT: "the connection timed out",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while sending",
  CONNECT_TIMEOUT: "no connection within the time limit",
  HEADERS_TIMEOUT: "no answer within the time limit",
  BODY_TIMEOUT: "the answer stopped half way",
  CLOSED: "the connection was closed before the answer was whole",
  WRONG_LENGTH: "the answer was not as long as it said",
  BROKEN_HTTP: "the answer is no HTTP",
  HEADERS_TOO_LONG: "the answer's headers are too long",
  EPROTO: "no TLS connection could be made; does it speak https?",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed; trust it with NODE_EXTRA_CA_CERTS=FILE",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate chain is self-signed; trust it with NODE_EXTRA_CA_CERTS=FILE",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate cannot be verified; trust its issuer with NODE_EXTRA_CA_CERTS=FILE",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};

function lost(error: Error, given: string | undefined, sent: boolean, name: string): LostReplyError {
  // Several addresses were tried: the first one's failure stands for all.
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = given ?? ("code" in first && typeof first.code === "string" ? first.code : first.name);
  const why = EXPLANATIONS[code] ?? (code.startsWith("ERR_SSL_") ? EXPLANATIONS.EPROTO : first.message);
  return new LostReplyError(`${name}: ${why}`, code, sent, error);
}
