import { resolve } from "node:path";
import { outputGuard, outputView } from "../app/buy/options.ts";
import { MAX_CALLS } from "../app/own/bounds.ts";
import { refresh } from "../app/own/refresh/bring.ts";
import type { RefreshOrder } from "../app/own/refresh/work.ts";
import { usageError } from "../shared/errors.ts";
import type { Connected } from "./connected.ts";
import { GOING_ON, given } from "./given.ts";
import type { Headcount, Refreshed } from "./index.ts";
import { allowedBy, boundedSegment } from "./trade.ts";
import { shownRefresh } from "./views.ts";

/** As a job does: the cap is the consent, and nobody is asked. @throws CliError */
export async function refreshList(
  desk: Connected,
  [list, filters, cap, call = {}]: Parameters<Headcount["refresh"]>,
): Promise<Refreshed> {
  const { signal, wait = false } = given(call, "the call", GOING_ON);
  if (typeof list !== "string") throw usageError("a list is the path of its file");
  const segment = filters === undefined ? undefined : boundedSegment(filters);
  const { maxCredits } = allowedBy({ maxCredits: Object(cap).maxCredits });
  const context = desk.contextOf(signal);
  const output = resolve(context.cwd, list);
  const order: RefreshOrder & { readonly output: string } = {
    word: segment === undefined ? output : undefined,
    segment,
    output,
    view: outputView({}, output, false),
    verify: [],
    terms: { ...outputGuard({}), maxCredits, maxCalls: MAX_CALLS, wait },
  };

  const receipt = await refresh(order, desk.session, context, {
    agree: async () => undefined,
    agreeToRest: async () => undefined,
    warning: desk.notice,
  });
  return shownRefresh(receipt);
}
