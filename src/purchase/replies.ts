import { unwrapPage } from "../client/envelope.ts";
import { LostReplyError, ServiceError } from "../client/errors.ts";
import type { Credits } from "../contract/money.ts";
import { Page } from "../output/page.ts";

/**
 * An answer that may have been charged although no usable reply came: a connection that broke, or a page of a proxy in the
 * place of the service's envelope.
 */
export function asLost(error: unknown): LostReplyError | undefined {
  if (error instanceof LostReplyError) return error;
  if (!(error instanceof ServiceError) || error.envelope) return undefined;
  const { status } = error;
  // Redirects and refusals by a proxy do not reach the service.
  if (status >= 300 && status < 500) return undefined;
  return new LostReplyError(error.message, "NOT_THE_API", true, error);
}

/** The page size to go on with after a refusal: the bound that the message names, else half. */
export function smallerPage(message: string, perPage: number): number | undefined {
  const named = [...message.matchAll(/\d+/g)].map(([digits]) => Number(digits)).filter((n) => n >= 1 && n < perPage);
  const bound = named.length === 0 ? Math.floor(perPage / 2) : Math.max(...named);
  return bound >= 1 ? bound : undefined;
}

/** What a spooled reply says of itself, where it is whole. */
export function wholeReply(
  body: Buffer,
  now: number,
): { readonly rows: number; readonly used: Credits; readonly remaining: Credits | undefined } | undefined {
  try {
    JSON.parse(body.toString("utf8"));
    const { meta } = unwrapPage({ status: 200, headers: {}, body }, now, 0);
    return { rows: Page.read(body).length, used: meta.creditsUsed, remaining: meta.creditsRemaining };
  } catch {
    return undefined;
  }
}
