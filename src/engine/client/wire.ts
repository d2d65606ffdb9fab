import { LostReplyError } from "./errors.ts";

/** Milliseconds. `total` bounds a reply that trickles in without ever being idle. */
export interface Timeouts {
  /** Until a connection stands: name, socket, TLS, and a proxy's tunnel. */
  readonly connect: number;
  readonly headers: number;
  readonly bodyIdle: number;
  readonly total: number;
}

export const TIMEOUTS: Timeouts = {
  connect: 10_000,
  headers: 60_000,
  bodyIdle: 60_000,
  total: 300_000,
};

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

export const exchange = (
  wire: Wire,
  request: RawRequest,
  options: ExchangeOptions,
): Promise<RawReply> =>
  new Promise((resolve, reject) => new Exchange(request, options, { resolve, reject }).begin(wire));

interface Outcome {
  readonly resolve: (reply: RawReply) => void;
  readonly reject: (error: Error) => void;
}

/** One request on its way, bound by times and by the size of its reply. */
class Exchange implements Receiver {
  readonly #request: RawRequest;
  readonly #options: ExchangeOptions;
  readonly #outcome: Outcome;
  readonly #startedAt: number;
  #head: Omit<RawReply, "body"> = { status: 0, headers: {} };
  /** Each chunk is copied as it comes: kept until the end, all of them lie in memory twice. */
  #body = Buffer.alloc(0);
  #length = 0;
  #isSent = false;
  #over = false;
  #timer: NodeJS.Timeout | undefined;
  #cutOff: ((reason: Error) => void) | undefined;

  constructor(request: RawRequest, options: ExchangeOptions, outcome: Outcome) {
    this.#request = request;
    this.#options = options;
    this.#outcome = outcome;
    this.#startedAt = options.now();
  }

  begin(wire: Wire): void {
    const { signal } = this.#request;
    if (signal?.aborted) {
      this.#onAbort();
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    this.#within(this.#options.timeouts.connect, "CONNECT_TIMEOUT");
    this.#cutOff = wire.send(this.#request, this);
  }

  sending(): void {
    this.#isSent = true;
    this.#within(this.#options.timeouts.headers, "HEADERS_TIMEOUT");
  }

  headers(status: number, headers: ReplyHeaders): void {
    this.#head = { status, headers };
    const told = Number(headers["content-length"]);
    const most = replyLimit(this.#request.paid, status);
    if (told <= most) this.#body = Buffer.allocUnsafeSlow(told);
    this.#within(this.#options.timeouts.bodyIdle, "BODY_TIMEOUT");
  }

  data(chunk: Buffer): void {
    if (this.#over) return;
    this.#timer?.refresh();
    const before = this.#length;
    this.#length += chunk.length;

    const { now, timeouts } = this.#options;
    const most = replyLimit(this.#request.paid, this.#head.status);

    if (this.#length > most) this.#giveUp("REPLY_TOO_LARGE", undefined, tooLarge(most));
    else if (now() - this.#startedAt > timeouts.total)
      this.#giveUp(
        "REPLY_TOO_SLOW",
        undefined,
        `the reply took longer than ${timeouts.total / 1000} s`,
      );
    else {
      if (this.#length > this.#body.length) {
        const room = Buffer.allocUnsafeSlow(Math.max(this.#length, 2 * this.#body.length));
        this.#body.copy(room);
        this.#body = room;
      }
      chunk.copy(this.#body, before);
    }
  }

  end(): void {
    if (!this.#settle()) return;
    this.#outcome.resolve({ ...this.#head, body: this.#body.subarray(0, this.#length) });
  }

  failed(error: Error, code?: string): void {
    if (this.#settle())
      this.#outcome.reject(lostReply(error, code, this.#isSent, this.#options.name));
  }

  readonly #onAbort = (): void =>
    this.#giveUp("ABORTED", this.#request.signal?.reason, "the request was cancelled");

  #settle(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener("abort", this.#onAbort);
    return true;
  }

  #giveUp(code: string, cause: unknown, message: string): void {
    if (!this.#settle()) return;
    const error = new LostReplyError(message, code, this.#isSent, cause);
    this.#outcome.reject(error);
    this.#cutOff?.(error);
  }

  #within(ms: number, code: string): void {
    clearTimeout(this.#timer);
    const message = `${this.#options.name}: ${EXPLANATIONS[code]} within ${ms / 1000} s`;
    if (!this.#over) this.#timer = setTimeout(() => this.#giveUp(code, undefined, message), ms);
  }
}

export const replyLimit = (paid: boolean | undefined, status: number): number =>
  paid === true && status < 400 ? MAX_REPLY_BYTES.paid : MAX_REPLY_BYTES.free;

export const tooLarge = (most: number): string =>
  `the reply is larger than ${most / 1024 / 1024} MiB`;

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there (connection refused)",
  ENOTFOUND: "the host name is not known",
  EAI_AGAIN: "the host name could not be looked up just now",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ETIMEDOUT: "the connection timed out",
  ECONNRESET: "the connection was reset",
  EPIPE: "the connection was closed while sending",
  CONNECT_TIMEOUT: "no connection",
  HEADERS_TIMEOUT: "no answer",
  BODY_TIMEOUT: "the answer stopped half way, and nothing more came",
  CLOSED: "the connection was closed before the answer was whole",
  WRONG_LENGTH: "the answer was not as long as it said",
  BROKEN_HTTP: "the answer is no HTTP",
  HEADERS_TOO_LONG: "the answer's headers are too long",
  EPROTO: "no TLS connection could be made; does it speak https?",
  DEPTH_ZERO_SELF_SIGNED_CERT:
    "its certificate is self-signed; trust it with NODE_EXTRA_CA_CERTS=FILE",
  SELF_SIGNED_CERT_IN_CHAIN:
    "its certificate chain is self-signed; trust it with NODE_EXTRA_CA_CERTS=FILE",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    "its certificate cannot be verified; trust its issuer with NODE_EXTRA_CA_CERTS=FILE",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};

function lostReply(
  error: Error,
  own: string | undefined,
  wasSent: boolean,
  name: string,
): LostReplyError {
  // Several addresses were tried: the first one's failure stands for all.
  const first =
    error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = own ?? ("code" in first && typeof first.code === "string" ? first.code : first.name);
  const why =
    EXPLANATIONS[code] ?? (code.startsWith("ERR_SSL_") ? EXPLANATIONS.EPROTO : first.message);
  return new LostReplyError(`${name}: ${why}`, code, wasSent, error);
}
