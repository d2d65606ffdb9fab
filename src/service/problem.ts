import type { FastifyError } from "fastify";
import { OutOfTimeError } from "../dataset/engine.ts";
import { OlderLedgerError } from "./ledger/errors.ts";

/**
 * An answer that is an error: thrown anywhere in a request, sent in the envelope, never charged.
 */
export class Problem extends Error {
  override readonly name = "Problem";
  readonly status: number;
  readonly detail: readonly string[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    detail: readonly string[],
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail[0] ?? `status ${status}`);
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }
}

export const invalid = (...detail: readonly string[]): Problem => new Problem(422, detail);

export const ended = (what: string): Problem =>
  new Problem(401, [what], { "www-authenticate": "Bearer" });

export const suspended = (): Problem =>
  new Problem(403, [
    "this account is suspended: its balance is kept, " +
      "and nothing is sold until its operator resumes it",
  ]);

/** The client went away before the charge: nothing was charged and there is nobody to tell. */
export class VanishedError extends Error {
  override readonly name = "VanishedError";
}

export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** Rejects with DeadlineError where the work takes longer than `ms`. Its result is dropped. */
export function within<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new DeadlineError(`no answer from the dataset within ${ms} ms`)),
      ms,
    );
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export const unsupportedMediaType = (): Problem =>
  new Problem(415, ["send the body as Content-Type: application/json (in UTF-8)"]);

export function assertScope(
  { scopes }: { readonly scopes: readonly string[] | null },
  scope: string,
): void {
  if (scopes === null || scope === "account" || scopes.includes(scope)) return;
  throw new Problem(403, [`this key may not call ${scope}; its scopes: ${scopes.join(", ")}`]);
}

/**
 * After the charge it could not be learned whether it was
 * committed. The stored reply decides, where there is one.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = "OutcomeUnknownError";
}

/** What a failure anywhere in a request is to the client (docs/reference/contract.md, Errors). */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;

  const { code, statusCode } = (
    typeof error === "object" && error !== null ? error : {}
  ) as Partial<FastifyError>;
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return unsupportedMediaType();
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) {
    return invalid("the body cannot be read");
  }

  if (error instanceof DeadlineError || error instanceof OutOfTimeError) {
    return new Problem(500, [`${error.message}; nothing was charged, try again`]);
  }

  if (error instanceof OlderLedgerError) {
    const why =
      "this service has stopped selling: its ledger is older than the one that it served before; " +
      "nothing was charged, and its operator has to put that right";
    return new Problem(503, [why], { "retry-after": "5" });
  }

  if (error instanceof OutcomeUnknownError) {
    return new Problem(500, [
      "internal error; ask again with the same Idempotency-Key to learn the outcome",
    ]);
  }
  if (error instanceof VanishedError)
    return new Problem(500, [`${error.message}; nothing was charged`]);

  return new Problem(500, ["internal error; nothing was charged"]);
}
