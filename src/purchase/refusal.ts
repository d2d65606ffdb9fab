import { LostReplyError, ServiceError } from "../client/errors.ts";

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
