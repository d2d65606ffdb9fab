import type { Context } from "../../shared/context.ts";
import { type Credits, creditsText, ZERO } from "../../shared/contract/money.ts";
import { type CliError, failed, isUntrusted } from "../../shared/errors.ts";
import { LostReplyError, ServiceError, WaitTooLongError } from "./errors.ts";
import type { Pacer } from "./pacing.ts";
import type { ReplyMeta, ServiceClient } from "./types.ts";

export interface RetryWait {
  readonly ms: number;
  readonly reason: "rate_limit" | "retry";
  readonly attempt: number;
  readonly error: ServiceError | LostReplyError;
}

export interface RetryOptions extends Pick<Context, "now" | "random"> {
  /**
   * The longest that a service may hold one call up,
   * all its tries and waits together, in milliseconds.
   */
  readonly maxWaitMs: number;
  readonly attempts?: number;
}

export interface CallOptions extends RetryOptions, Pick<Context, "sleep"> {
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

/** A connection alone may take it. */
const LEAST_PATIENCE_MS = 10_000;

/** How long a free call is waited for that gets no answer. */
export const patienceOf = (maxWaitMs: number): number => Math.max(maxWaitMs, LEAST_PATIENCE_MS);

const NEVER = /^ABORTED$|TLS|SSL|EPROTO|UNSENDABLE|PROXY_REFUSED|REPLY_TOO_LARGE|BAD_ENCODING/;

/** Whether it is *safe* is another question: a paid call needs its key for that. */
export function isTransient(error: unknown): error is ServiceError | LostReplyError {
  if (error instanceof LostReplyError) return !NEVER.test(error.code) && !isUntrusted(error.code);
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

const isNotYet = (error: unknown): boolean =>
  error instanceof ServiceError && error.envelope && error.status < 300;

/** The attempts of a call: by `Retry-After`, the reset or jitter (250 ms x 2^n, up to 15 s). */
export class CallAttempts {
  readonly #options: RetryOptions;
  #faults = 0;
  #faultMs = 0;
  #limited = 0;
  #limitedMs = 0;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /**
   * Undefined: no other attempt makes sense.
   * @throws WaitTooLongError, LostReplyError beyond `maxWaitMs`
   */
  after(error: unknown, tookMs = 0): RetryWait | undefined {
    if (!isTransient(error)) return undefined;
    return error instanceof ServiceError && error.status === 429
      ? this.#afterLimit(error)
      : this.#afterFault(error, tookMs);
  }

  #afterLimit(error: ServiceError): RetryWait {
    const { now, random, maxWaitMs } = this.#options;
    const attempt = ++this.#limited;
    const delay = error.retryAfterMs ?? (error.rateLimit && error.rateLimit.resetAt - now());
    const waitMs = Math.ceil(Math.max(delay ?? backoff(attempt, random), leastWait(attempt - 1)));
    const waitedMs = this.#limitedMs;

    if (waitedMs + waitMs > maxWaitMs) {
      const { requestId } = error;
      throw new WaitTooLongError({
        waitMs,
        waitedMs,
        maxWaitMs,
        resetAt: now() + waitMs,
        requestId,
        cause: error,
      });
    }

    const ms = waitMs + Math.floor(random() * 250);
    this.#limitedMs += ms;

    return { ms, reason: "rate_limit", attempt, error };
  }

  #afterFault(error: ServiceError | LostReplyError, tookMs: number): RetryWait | undefined {
    const { random, maxWaitMs, attempts } = this.#options;
    const attempt = ++this.#faults;
    const isLost = error instanceof LostReplyError;
    const isLater = isNotYet(error);
    const unreachable = isLost && /^(ECONNREFUSED|ENOTFOUND)$/.test(error.code);
    const most = attempts ?? (unreachable ? UNREACHABLE_ATTEMPTS : ATTEMPTS);
    if (!isLater && attempt >= most) return undefined;

    const delay = isLost ? undefined : error.retryAfterMs;
    const own = isLater ? leastWait(attempt) : backoff(attempt, random);
    const ms = Math.max(delay ?? 0, own);

    this.#faultMs += tookMs;

    const patience = isLater || delay !== undefined ? maxWaitMs : patienceOf(maxWaitMs);
    if (this.#faultMs + ms > patience) {
      if (!isLost || attempt === 1) return undefined;
      const seconds = Math.ceil(this.#faultMs / 1000);
      const tries = `${error.message} (${attempt} tries, ${seconds} s)`;
      throw new LostReplyError(tries, error.code, error.wasSent, error);
    }

    this.#faultMs += ms;
    return { ms, reason: "retry", attempt, error };
  }
}

const leastWait = (attempt: number): number =>
  Math.min(LEAST_MS * 2 ** Math.min(attempt, 20), CAP_MS);

const backoff = (attempt: number, random: () => number): number =>
  Math.ceil(random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(attempt, 20)));

/** For free calls only. */
export async function retryCall<T>(
  call: (signal?: AbortSignal) => Promise<T>,
  options: CallOptions,
): Promise<T> {
  const attempts = new CallAttempts(options);
  for (;;) {
    options.signal?.throwIfAborted();
    const startedAt = options.now();
    try {
      return await call(options.signal);
    } catch (error) {
      const wait = attempts.after(error, options.now() - startedAt);
      if (wait === undefined) throw error;
      options.onWait?.(wait);
      await options.sleep(wait.ms, options.signal);
    }
  }
}

export interface PacedOptions extends CallOptions {
  readonly pacer: Pacer;
  readonly onReply: (meta: ReplyMeta) => void;
  /** A call that is free by the contract says that it took so much. */
  readonly onCharged: (amount: Credits) => void;
  readonly onTurn: (ms: number) => void;
}

async function turnOf(
  { maxWaitMs, onTurn, pacer, sleep }: PacedOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  const waitMs = pacer.take();
  // What is too long is left to the service: it may
  // know better, and its refusal says until when.
  if (waitMs <= 0 || waitMs > maxWaitMs) return;
  onTurn(waitMs);
  await sleep(waitMs, signal);
}

const chargedForFree = (amount: Credits): CliError =>
  failed.incomplete(
    `the service says that it charged ${creditsText(amount)} for a call that is free by the ` +
      "contract: nothing more is asked of it",
    '"price" of a dialect file says what a call costs: then it is quoted, and asked about',
    "charged_for_free",
  );

type Replied = { readonly meta: ReplyMeta } | undefined;

async function watch<T extends Replied>(
  call: Promise<T>,
  { onReply, pacer }: PacedOptions,
): Promise<T> {
  try {
    const reply = await call;
    if (reply === undefined) return reply;
    pacer.observe(reply.meta.rateLimit);
    onReply(reply.meta);
    return reply;
  } catch (error) {
    pacer.observe((error as Partial<ServiceError>).rateLimit);
    throw error;
  }
}

/**
 * Free calls wait for their turn and are retried; paid
 * ones stay single attempts, for whoever keeps the books.
 * Behind a free one that charges none goes out.
 */
export function paced(client: ServiceClient, options: PacedOptions): ServiceClient {
  let dear: CliError | undefined;
  /** Whether counts charge the first one tells, before any other goes out. */
  let first: Promise<unknown> | undefined;

  function free<T extends Replied>(
    call: (signal?: AbortSignal) => Promise<T>,
    signal = options.signal,
  ): Promise<T> {
    const attempt = async (inner?: AbortSignal): Promise<T> => {
      await turnOf(options, inner);
      if (dear !== undefined) throw dear;
      const reply = await watch(call(inner), options);
      const { creditsUsed = ZERO } = reply?.meta ?? {};
      if (creditsUsed <= 0n) return reply;

      options.onCharged(creditsUsed);
      dear = chargedForFree(creditsUsed);
      throw dear;
    };

    return retryCall(attempt, { ...options, signal });
  }

  return {
    baseUrl: client.baseUrl,
    get dialect() {
      return client.dialect;
    },
    learn: (limits) => client.learn(limits),
    account: (signal) => free((inner) => client.account(inner), signal),
    key: (signal) => free((inner) => client.key(inner), signal),
    count: async (filters, signal) => {
      if (first !== undefined) await first;
      const reply = free((inner) => client.count(filters, inner), signal);
      first ??= reply.catch(() => undefined);
      return reply;
    },
    counts: (filters, companies, signal) =>
      free((inner) => client.counts(filters, companies, inner), signal),
    facets: (filters, key, { signal, ...fields } = {}) =>
      free((inner) => client.facets(filters, key, { ...fields, signal: inner }), signal),
    sketch: (filters, from, cells, signal) =>
      free((inner) => client.sketch(filters, from, cells, inner), signal),
    ids: (filters, next, signal) => free((inner) => client.ids(filters, next, inner), signal),
    peopleByDigest: (filters, digests, call) =>
      watch(client.peopleByDigest(filters, digests, call), options),
    searchPage: (filters, position, call) =>
      watch(client.searchPage(filters, position, call), options),
    employeesPage: (company, position, call) =>
      watch(client.employeesPage(company, position, call), options),
    enrich: (company, call) => watch(client.enrich(company, call), options),
    close: () => client.close(),
  };
}
