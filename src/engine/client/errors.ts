import type { Credits } from "../../shared/contract/money.ts";
import type { RateLimit } from "./types.ts";

/** A service's answer that is no success. Not charged, unless its words or the balance say so (docs/contract.md, Credits). */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly status: number;
  /** `detail` of the envelope, or the first line of whatever came instead. Untrusted text. */
  readonly detail: readonly string[];
  readonly requestId: string | undefined;
  /** Whether the body was the contract's envelope; a proxy's HTML page is not. */
  readonly envelope: boolean;
  readonly retryAfterMs: number | undefined;
  readonly rateLimit: RateLimit | undefined;
  readonly creditsUsed: Credits | undefined;
  readonly creditsRemaining: Credits | undefined;

  constructor(
    init: Pick<ServiceError, "status" | "detail" | "envelope"> &
      Partial<Pick<ServiceError, "requestId" | "retryAfterMs" | "rateLimit" | "creditsUsed" | "creditsRemaining">>,
  ) {
    super(`the service answered ${init.status}: ${init.detail.join("; ")}`);
    this.status = init.status;
    this.detail = init.detail;
    this.requestId = init.requestId;
    this.envelope = init.envelope;
    this.retryAfterMs = init.retryAfterMs;
    this.rateLimit = init.rateLimit;
    this.creditsUsed = init.creditsUsed;
    this.creditsRemaining = init.creditsRemaining;
  }
}

/** No whole answer came. `sent`: the request may have reached the service, so that a paid call may have been charged. */
export class LostReplyError extends Error {
  override readonly name = "LostReplyError";
  readonly sent: boolean;
  readonly code: string;

  constructor(message: string, code: string, sent: boolean, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.sent = sent;
  }
}

/** A rate limit holds a call up for longer than the caller allows (`--max-wait`). Nothing was charged. */
export class WaitTooLongError extends Error {
  override readonly name = "WaitTooLongError";
  readonly waitMs: number;
  readonly waitedMs: number;
  readonly maxWaitMs: number;
  readonly resetAt: number;
  readonly requestId: string | undefined;

  constructor(
    init: Pick<WaitTooLongError, "waitMs" | "waitedMs" | "maxWaitMs" | "resetAt" | "requestId"> & ErrorOptions,
  ) {
    super(`the rate limit asks for a wait of ${Math.ceil(init.waitMs / 1000)} s`, { cause: init.cause });
    this.waitMs = init.waitMs;
    this.waitedMs = init.waitedMs;
    this.maxWaitMs = init.maxWaitMs;
    this.resetAt = init.resetAt;
    this.requestId = init.requestId;
  }
}
