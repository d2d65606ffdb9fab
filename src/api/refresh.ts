import { resolve } from "node:path";
import { outputGuard, outputView } from "../app/buy/options.ts";
import { MAX_CALLS } from "../app/own/bounds.ts";
import { planRefresh, refresh } from "../app/own/refresh/bring.ts";
import { ARGUMENTS } from "../shared/contract/hints.ts";
import { declined, usageError } from "../shared/errors.ts";
import type { Connected } from "./connected.ts";
import { GOING_ON, given } from "./given.ts";
import type { Call, Headcount, Refreshed, RefreshOffer, Terms } from "./index.ts";
import { allowed, boundedSegment } from "./trade.ts";
import { shownPlan, shownRefresh } from "./views.ts";

/** What a program means by a list. @throws CliError of kind usage */
function orderOf(
  desk: Connected,
  list: string,
  filters: unknown,
  call: Call & Pick<Terms, "wait">,
) {
  const { signal, wait = false } = given(call, "the call", GOING_ON);
  if (typeof list !== "string") throw usageError("a list is the path of its file");
  const segment = filters === undefined ? undefined : boundedSegment(filters);
  const context = desk.contextOf(signal);
  const output = resolve(context.cwd, list);

  const order = {
    word: segment === undefined ? output : undefined,
    segment,
    output,
    view: outputView({}, output, false),
    verify: [],
    terms: { ...outputGuard({}), maxCalls: MAX_CALLS, wait },
  };
  return { order, context };
}

/** The cap is the consent, or who is asked; nobody else is. @throws CliError */
export async function refreshList(
  desk: Connected,
  [list, filters, consent, call = {}]: Parameters<Headcount["refresh"]>,
): Promise<Refreshed> {
  const { order, context } = orderOf(desk, list, filters, call);
  const { maxCredits, agree } = allowed(consent, shownPlan);
  const capped = { ...order, terms: { ...order.terms, maxCredits } };

  const receipt = await refresh(capped, desk.session, context, {
    agree,
    agreeToRest: async (run) => {
      if (maxCredits === undefined)
        throw declined(`the rest of run ${run}, which was begun for this list, needs a cap`);
    },
    warning: desk.notice,
    words: ARGUMENTS,
  });
  return shownRefresh(receipt);
}

export async function quoteRefresh(
  desk: Connected,
  [list, filters, call = {}]: Parameters<Headcount["quoteRefresh"]>,
): Promise<RefreshOffer> {
  const { order, context } = orderOf(desk, list, filters, call);
  const nobody = async (): Promise<void> => undefined;
  const events = {
    agree: nobody,
    agreeToRest: nobody,
    warning: desk.notice,
    words: ARGUMENTS,
  };
  return shownPlan(await planRefresh(order, desk.session, context, events));
}
