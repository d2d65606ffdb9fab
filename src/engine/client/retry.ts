import { LostReplyError, ServiceError, WaitTooLongError } from "./errors.ts";

export interface RetryWait {
  readonly ms: number;
  readonly reason: "rate_limit" | "retry";
  readonly attempt: number;
  readonly error: ServiceError | LostReplyError;
}

export interface RetryOptions {
  readonly now: () => number;
  readonly random: () => number;
  /** The longest that a service may have one call wait, all its waits together, in milliseconds. */
  readonly maxWaitMs: number;
  readonly attempts?: number;
}

export interface CallOptions extends RetryOptions {
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly signal?: AbortSignal | undefined;
  readonly onWait?: ((wait: RetryWait) => void) | undefined;
}

const ATTEMPTS = 5;
/** A service that is restarted is back in a moment; a wrong address should be told soon. */
const UNREACHABLE_ATTEMPTS = 3;
const BASE_MS = 250;
/** A service that says 0 again and again is not asked again at once. */
const LEAST_MS = 100;
const CAP_MS = 15_000;

const NEVER = /^ABORTED$|CERT|TLS|SSL|EPROTO|SIGNATURE|UNSENDABLE|PROXY_REFUSED|REPLY_TOO_LARGE|BAD_ENCODING/;

/** Whether it is *safe* is another question: a paid call needs its key for that. */
export function isTransient(error: unknown): error is ServiceError | LostReplyError {
  if (error instanceof LostReplyError) return !NEVER.test(error.code);
  if (!(error instanceof ServiceError)) return false;
  const { status, retryAfterMs } = error;
  return (
    isNotYet(error) ||
    status >= 500 ||
    status === 429 ||
    status === 408 ||
    (status === 409 && retryAfterMs !== undefined)
  );
}

const isNotYet = (error: unknown): boolean => error instanceof ServiceError && error.envelope && error.status < 300;

/** By `Retry-After`, the reset or full jitter (250 ms x 2^n, at most 15 s). */
export class CallAttempts {
  readonly #options: RetryOptions;
  #faults = 0;
  #limited = 0;
  #laterMs = 0;
  #heldUpSince: number | undefined;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** @returns undefined where no other attempt makes sense. @throws WaitTooLongError where the limit holds up beyond `maxWaitMs` */
  after(error: unknown): RetryWait | undefined {
    if (!isTransient(error)) return undefined;
    return error instanceof ServiceError && error.status === 429 ? this.#limit(error) : this.#fault(error);
  }

  #limit(error: ServiceError): RetryWait {
    const { now, random, maxWaitMs } = this.#options;
    const attempt = ++this.#limited;
    const asked = error.retryAfterMs ?? (error.rateLimit === undefined ? undefined : error.rateLimit.resetAt - now());
    const least = Math.min(LEAST_MS * 2 ** Math.min(attempt - 1, 20), CAP_MS);
    const waitMs = Math.ceil(Math.max(asked ?? backoff(attempt, random), least));
    const waitedMs = this.#heldUp();
    if (waitedMs + waitMs > maxWaitMs) {
      const { requestId } = error;
      throw new WaitTooLongError({ waitMs, waitedMs, maxWaitMs, resetAt: now() + waitMs, requestId, cause: error });
    }
    return { ms: waitMs + Math.floor(random() * 250), reason: "rate_limit", attempt, error };
  }

  #fault(error: ServiceError | LostReplyError): RetryWait | undefined {
    const { random, maxWaitMs, attempts } = this.#options;
    const attempt = ++this.#faults;
    const unreachable = error instanceof LostReplyError && /^(ECONNREFUSED|ENOTFOUND)$/.test(error.code);
    if (isNotYet(error)) return this.#later(error, attempt);
    if (attempt >= (attempts ?? (unreachable ? UNREACHABLE_ATTEMPTS : ATTEMPTS))) return undefined;
    const asked = error instanceof ServiceError ? error.retryAfterMs : undefined;
    if (asked !== undefined && this.#heldUp() + asked > maxWaitMs) return undefined;
    return { ms: Math.max(asked ?? 0, backoff(attempt, random)), reason: "retry", attempt, error };
  }

  #later(error: ServiceError | LostReplyError, attempt: number): RetryWait | undefined {
    const asked = error instanceof ServiceError ? error.retryAfterMs : undefined;
    const ms = Math.max(asked ?? 0, Math.min(LEAST_MS * 2 ** Math.min(attempt, 20), CAP_MS));
    this.#laterMs += ms;
    return this.#laterMs > this.#options.maxWaitMs ? undefined : { ms, reason: "retry", attempt, error };
  }

  #heldUp(): number {
    this.#heldUpSince ??= this.#options.now();
    return this.#options.now() - this.#heldUpSince;
  }
}

const backoff = (attempt: number, random: () => number): number =>
  Math.ceil(random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(attempt, 20)));

/** For free calls only. */
export async function retryCall<T>(call: (signal?: AbortSignal) => Promise<T>, options: CallOptions): Promise<T> {
  const attempts = new CallAttempts(options);
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      return await call(options.signal);
    } catch (error) {
      const wait = attempts.after(error);
      if (wait === undefined) throw error;
      options.onWait?.(wait);
      await options.sleep(wait.ms, options.signal);
    }
  }
}
