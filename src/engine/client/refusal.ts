import { LostReplyError, ServiceError } from "./errors.ts";

/** No usable reply came, and it may have been charged. */
export function asLost(error: unknown): LostReplyError | undefined {
  if (error instanceof LostReplyError) return error;
  if (!(error instanceof ServiceError) || error.envelope) return undefined;
  const { status } = error;
  if (status >= 300 && status < 500) return undefined;
  return new LostReplyError(error.message, "NOT_THE_API", true, error);
}

/**
 * Bounds that services put on a page or a list, the largest first. What a refusal says is never
 * read for one (docs/reference/contract.md, "Errors"): the next of these that is taken is the
 * bound.
 */
export const USUAL_BOUNDS = [1_000, 500, 250, 200, 100, 50, 25, 20, 10, 5, 2, 1] as const;

/**
 * The next smaller size to try where one was refused; undefined: none is left.
 * @param fits what the service says that it would take; one that is not smaller is not believed,
 * as the same again would be refused for ever
 */
export const smallerSize = (refused: number, fits = refused): number | undefined =>
  fits < refused ? fits : USUAL_BOUNDS.find((bound) => bound < refused);
