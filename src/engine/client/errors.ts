import type { Credits } from "../../shared/contract/money.ts";
import { CliError, type CliErrorInit, command, option, say } from "../../shared/errors.ts";

export interface ReplyMeta {
  readonly status: number;
  readonly requestId: string | undefined;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly creditsUsed: Credits | undefined;
  readonly creditsRemaining: Credits | undefined;
  readonly notices: readonly string[];
  readonly datasetVersion: string | undefined;
  readonly rateLimit: RateLimit | undefined;
  readonly deprecation: string | undefined;
}

export interface RateLimit {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  readonly window: "minute" | "day" | undefined;
}

/**
 * An answer that is no success. Not charged, unless its
 * words or the balance say so (docs/reference/contract.md, Credits).
 */
export class ServiceError extends Error {
  override readonly name = "ServiceError";
  declare readonly status: number;
  /** What a vendor said it with, where its file tells what that means. */
  declare readonly answered: number | undefined;
  /** `detail` of the envelope, or the first line of whatever came instead. Untrusted text. */
  declare readonly detail: readonly string[];
  declare readonly requestId: string | undefined;
  declare readonly envelope: boolean;
  /** The service declares that no key came with the request, which had one. */
  declare readonly lostKey: boolean | undefined;
  declare readonly retryAfterMs: number | undefined;
  declare readonly rateLimit: RateLimit | undefined;
  /** By its own words. */
  declare readonly creditsUsed: Credits | undefined;
  /** The balance showed that it cost nothing. */
  declare isFree: true | undefined;
  declare readonly creditsRemaining: Credits | undefined;
  /** Of a 402: as many rows as what is left would pay for, by its header. */
  declare readonly affordableRows: number | undefined;
  /** Pages of which sizes were refused like it, where none came of any. */
  declare refusedSizes: readonly number[] | undefined;
  /** Whether it cost what it says and no more, as its service declares, and what pages it has. */
  declare readonly exact: boolean | undefined;
  /** What leads to its page is a list of ours, which no service takes or refuses. */
  declare readonly isWithoutCursor: boolean | undefined;

  constructor(
    init: Pick<ServiceError, "status" | "detail" | "envelope"> &
      Partial<
        Pick<
          ServiceError,
          | "requestId"
          | "answered"
          | "lostKey"
          | "retryAfterMs"
          | "rateLimit"
          | "creditsUsed"
          | "creditsRemaining"
          | "affordableRows"
          | "exact"
          | "isWithoutCursor"
        >
      >,
  ) {
    super(`the service answered ${init.answered ?? init.status}: ${init.detail.join("; ")}`);
    Object.assign(this, init);
  }
}

export const isWithoutRoute = ({ status }: { readonly status: number }): boolean =>
  [404, 405, 501].includes(status);

/**
 * Where other calls of the address are answered: no error of the address, and nothing to try again.
 */
export const withoutCounts = ({
  status,
  requestId,
}: Pick<CliErrorInit, "status" | "requestId">): CliError =>
  new CliError({
    code: "uncounted",
    category: "service",
    status,
    requestId,
    message: `the service does not count people: POST /v1/person/count is answered ${status}`,
    hint: say`${command("search")} buys without counts; ${option("limit", "N")} or
      ${option("max_credits", "N")} says how many`,
  });

/** No whole answer came. `sent`: a paid call may have been charged. */
export class LostReplyError extends Error {
  override readonly name = "LostReplyError";
  readonly wasSent: boolean;
  readonly code: string;
  /** The variable that names the proxy that it went through, if any. */
  proxy: string | undefined;

  constructor(message: string, code: string, wasSent: boolean, cause?: unknown) {
    super(message, { cause });
    this.proxy = cause instanceof LostReplyError ? cause.proxy : undefined;
    this.code = code;
    this.wasSent = wasSent;
  }
}

/**
 * A rate limit holds a call up for longer than the
 * caller allows (`--max-wait`). Nothing was charged.
 */
export class WaitTooLongError extends Error {
  override readonly name = "WaitTooLongError";
  declare readonly waitMs: number;
  declare readonly waitedMs: number;
  declare readonly maxWaitMs: number;
  declare readonly resetAt: number;
  declare readonly requestId: string | undefined;

  constructor(
    init: Pick<WaitTooLongError, "waitMs" | "waitedMs" | "maxWaitMs" | "resetAt" | "requestId"> &
      ErrorOptions,
  ) {
    super(`the rate limit makes this a wait of ${Math.ceil(init.waitMs / 1000)} s`, {
      cause: init.cause,
    });
    const { cause: _, ...facts } = init;
    Object.assign(this, facts);
  }
}
