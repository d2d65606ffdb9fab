import { LostReplyError, ServiceError, WaitTooLongError } from "./errors.ts";
import type { ServiceClient } from "./types.ts";

/** A wait before the next attempt, as it is announced. */
export interface Wait {
  readonly ms: number;
  readonly reason: "rate_limit" | "retry";
  /** Attempts made so far. */
  readonly attempt: number;
  readonly error: ServiceError | LostReplyError;
}

export interface RetryOptions {
  readonly now: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  /** Longest single wait in milliseconds. */
  readonly maxWaitMs: number;
  /** Attempts in all for failures that are no rate limit; default 5. */
  readonly attempts?: number;
  readonly signal?: AbortSignal | undefined;
  /** Called before each wait, so that a person sees a countdown. */
  readonly onWait?: ((wait: Wait) => void) | undefined;
}

const ATTEMPTS = 5;
/** A service that is being restarted is back in a moment; a wrong address should be told soon. */
const UNREACHABLE_ATTEMPTS = 3;
/** A rate limit is not a fault, but one that never ends is. */
const RATE_LIMIT_ATTEMPTS = 50;
const BASE_MS = 250;
const CAP_MS = 15_000;

/**
 * Whether another attempt may help: a 5xx, a 408 or a 429, an answer that is none of the API's (a proxy's page), or no whole
 * answer at all. 401, 402, 403, 404, 422 and redirects say the same thing again. Says nothing about whether an attempt is
 * *safe*: a paid call needs its idempotency key for that.
 */
export function isTransient(error: unknown): error is ServiceError | LostReplyError {
  if (error instanceof LostReplyError) return error.code !== "ABORTED" && !NEVER.test(error.code);
  if (!(error instanceof ServiceError)) return false;
  return error.status >= 500 || error.status === 429 || error.status === 408 || isInFlight(error);
}

// A certificate or a wrong request does not get better by itself.
const NEVER = /CERT|TLS|SSL|EPROTO|SIGNATURE|UND_ERR_INVALID_ARG|REPLY_TOO_LARGE|BAD_ENCODING/;

/** 409 with `Retry-After`: the same idempotency key is still being answered. */
const isInFlight = (error: ServiceError): boolean => error.status === 409 && error.retryAfterMs !== undefined;

/**
 * How long to wait before the next attempt: by `Retry-After`, else the window's reset, else full jitter over 250 ms x 2^n
 * (at most 15 s).
 * @param attempt attempts made so far, from 1
 * @returns undefined where another attempt makes no sense or all are used up
 * @throws WaitTooLongError where a rate limit asks for more than `maxWaitMs`
 */
export function nextWait(error: unknown, attempt: number, options: RetryOptions): Wait | undefined {
  if (!isTransient(error)) return undefined;
  if (error instanceof ServiceError && error.status === 429) {
    if (attempt >= RATE_LIMIT_ATTEMPTS) return undefined;
    const asked = error.retryAfterMs ?? (error.rateLimit ? error.rateLimit.resetAt - options.now() : undefined);
    // Never at once, even where a service says 0; a little jitter keeps a herd from coming back in one moment.
    const ms = Math.max(asked ?? backoff(attempt, options.random), 100) + Math.floor(options.random() * 250);
    if (asked !== undefined && asked > options.maxWaitMs) {
      throw new WaitTooLongError(asked, options.maxWaitMs, options.now() + asked, error.requestId, error);
    }
    return { ms: Math.ceil(ms), reason: "rate_limit", attempt, error };
  }
  const unreachable = error instanceof LostReplyError && /^(ECONNREFUSED|ENOTFOUND)$/.test(error.code);
  if (attempt >= (options.attempts ?? (unreachable ? UNREACHABLE_ATTEMPTS : ATTEMPTS))) return undefined;
  const asked = error instanceof ServiceError ? error.retryAfterMs : undefined;
  if (asked !== undefined && asked > options.maxWaitMs) return undefined;
  return { ms: Math.max(asked ?? 0, backoff(attempt, options.random)), reason: "retry", attempt, error };
}

const backoff = (attempt: number, random: () => number): number =>
  Math.ceil(random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(attempt, 20)));

/** Makes a call until it succeeds, makes no sense any more, or its attempts are used up. For free calls only. */
export async function retryCall<T>(call: (signal?: AbortSignal) => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    options.signal?.throwIfAborted();
    try {
      return await call(options.signal);
    } catch (error) {
      const wait = nextWait(error, attempt, options);
      if (wait === undefined) throw error;
      options.onWait?.(wait);
      await options.sleep(wait.ms, options.signal);
    }
  }
}

/** The client with its free calls retried; the paid ones stay single attempts, for whoever keeps the books. */
export function retrying(client: ServiceClient, options: RetryOptions): ServiceClient {
  const within = (signal: AbortSignal | undefined): RetryOptions => ({ ...options, signal: signal ?? options.signal });
  return {
    baseUrl: client.baseUrl,
    dialect: client.dialect,
    account: (signal) => retryCall((inner) => client.account(inner), within(signal)),
    count: (filters, signal) => retryCall((inner) => client.count(filters, inner), within(signal)),
    searchPage: (filters, position, call) => client.searchPage(filters, position, call),
    employeesPage: (company, position, call) => client.employeesPage(company, position, call),
    enrich: (company, call) => client.enrich(company, call),
    close: () => client.close(),
  };
}
