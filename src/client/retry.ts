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
  /** Longest wait of one call in milliseconds, all its waits together. */
  readonly maxWaitMs: number;
  /** Milliseconds since the call was first told to wait; default 0. */
  readonly waitedMs?: number;
  /** Attempts in all for failures that are no rate limit; default 5. */
  readonly attempts?: number;
  readonly signal?: AbortSignal | undefined;
  /** Called before each wait, so that a person sees a countdown. */
  readonly onWait?: ((wait: Wait) => void) | undefined;
}

const ATTEMPTS = 5;
/** A service that is being restarted is back in a moment; a wrong address should be told soon. */
const UNREACHABLE_ATTEMPTS = 3;
/** For a caller that does not count the time: a rate limit is not a fault, but one that never ends is. */
const RATE_LIMIT_ATTEMPTS = 1_000;
const BASE_MS = 250;
/** A service that says 0 again and again is not asked again at once: 0.1, 0.2, 0.4, ... 15 seconds. */
const LEAST_MS = 100;
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
const NEVER = /CERT|TLS|SSL|EPROTO|SIGNATURE|UNSENDABLE|PROXY_REFUSED|REPLY_TOO_LARGE|BAD_ENCODING/;

/** 409 with `Retry-After`: the same idempotency key is still being answered. */
const isInFlight = (error: ServiceError): boolean => error.status === 409 && error.retryAfterMs !== undefined;

/**
 * How long to wait before the next attempt: by `Retry-After`, else the window's reset, else full jitter over 250 ms x 2^n
 * (at most 15 s).
 * @param attempt attempts made so far, from 1
 * @returns undefined where another attempt makes no sense or all are used up
 * @throws WaitTooLongError where a rate limit would keep the call waiting for more than `maxWaitMs` in all
 */
export function nextWait(error: unknown, attempt: number, options: RetryOptions): Wait | undefined {
  if (!isTransient(error)) return undefined;
  const { maxWaitMs, waitedMs = 0, now, random } = options;
  if (error instanceof ServiceError && error.status === 429) {
    if (attempt >= RATE_LIMIT_ATTEMPTS) return undefined;
    const asked = askedMs(error, now());
    const least = Math.min(LEAST_MS * 2 ** Math.min(attempt - 1, 20), CAP_MS);
    const needed = Math.ceil(Math.max(asked ?? backoff(attempt, random), least));
    refuseLongWait(error, needed, options);
    // A little jitter keeps a herd from coming back in one moment.
    const ms = needed + Math.floor(random() * 250);
    return { ms, reason: "rate_limit", attempt, error };
  }
  const unreachable = error instanceof LostReplyError && /^(ECONNREFUSED|ENOTFOUND)$/.test(error.code);
  if (attempt >= (options.attempts ?? (unreachable ? UNREACHABLE_ATTEMPTS : ATTEMPTS))) return undefined;
  const asked = error instanceof ServiceError ? error.retryAfterMs : undefined;
  if (asked !== undefined && waitedMs + asked > maxWaitMs) return undefined;
  return { ms: Math.max(asked ?? 0, backoff(attempt, random)), reason: "retry", attempt, error };
}

const askedMs = (error: ServiceError, now: number): number | undefined =>
  error.retryAfterMs ?? (error.rateLimit ? error.rateLimit.resetAt - now : undefined);

/** @throws WaitTooLongError where a call that has waited for so long would have to wait for longer than it may in all */
function refuseLongWait(
  error: ServiceError,
  asked: number,
  { maxWaitMs, waitedMs = 0, now }: Pick<RetryOptions, "maxWaitMs" | "waitedMs" | "now">,
): void {
  if (waitedMs + asked > maxWaitMs)
    throw new WaitTooLongError(asked, maxWaitMs, now() + asked, error.requestId, error, waitedMs);
}

const backoff = (attempt: number, random: () => number): number =>
  Math.ceil(random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(attempt, 20)));

/** Makes a call until it succeeds, makes no sense any more, or its attempts are used up. For free calls only. */
export async function retryCall<T>(call: (signal?: AbortSignal) => Promise<T>, options: RetryOptions): Promise<T> {
  let heldUpSince: number | undefined;
  for (let attempt = 1; ; attempt++) {
    options.signal?.throwIfAborted();
    try {
      return await call(options.signal);
    } catch (error) {
      heldUpSince ??= options.now();
      const wait = nextWait(error, attempt, { ...options, waitedMs: options.now() - heldUpSince });
      if (wait === undefined) throw error;
      options.onWait?.(wait);
      await options.sleep(wait.ms, options.signal);
    }
  }
}

/**
 * Bounds how long a rate limit may hold up one paid call, over all its attempts: those are made by whoever keeps the books, and
 * known here by their idempotency key.
 * @returns a function that is told of each attempt's failure and throws WaitTooLongError in its place where it has been enough
 */
export function patience(options: Pick<RetryOptions, "maxWaitMs" | "now">): {
  refused(idempotencyKey: string, error: unknown): void;
  answered(idempotencyKey: string): void;
} {
  const since = new Map<string, number>();
  return {
    refused(key, error) {
      if (!(error instanceof ServiceError) || error.status !== 429) return;
      const first = since.get(key) ?? options.now();
      since.set(key, first);
      const at = options.now();
      refuseLongWait(error, askedMs(error, at) ?? 0, { ...options, waitedMs: at - first });
    },
    answered: (key) => void since.delete(key),
  };
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
