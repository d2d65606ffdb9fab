import { buy, type Quotation, quote, resume } from "../app/buy/buy.ts";
import { narrowed } from "../app/buy/options.ts";
import type { Events, Order as Wanted } from "../app/buy/order.ts";
import { openRuns } from "../app/keep/store.ts";
import { searchTarget } from "../engine/purchase/joined.ts";
import { type CheckedFilters, isUnfiltered } from "../shared/contract/filters.ts";
import { ARGUMENTS } from "../shared/contract/hints.ts";
import { type Credits, creditsText, typedCredits } from "../shared/contract/money.ts";
import { whole } from "../shared/contract/text.ts";
import { declined, failed, option, type Sentence, say, usageError } from "../shared/errors.ts";
import { checkedFilters } from "../shared/filters.ts";
import type { Connected } from "./connected.ts";
import { CALL, GOING_ON, given, TERMS } from "./given.ts";
import type { Consent, Order, Quote, Terms } from "./index.ts";
import { Purchasing } from "./purchase.ts";
import { shownOffer } from "./views.ts";

const MOST_ROWS = 1e12;
const ORDER = {
  filters: "any",
  people: "any",
  everybody: "boolean",
} as const;
const CONSENT = {
  maxCredits: "any",
  agree: "function",
} as const;

/** What a program orders, as the command orders it. @throws CliError of kind usage */
function wantedOf(order: Order, terms: Terms): Wanted {
  const { filters, people, everybody } = given(order, "an order", ORDER);
  const checked =
    everybody === true
      ? checkedFilters(filters)
      : boundedSegment(filters, say`${option("everybody", "true")} agrees to that`);

  const { limit, again, strict, requireComplete, wait } = given(terms, "terms", TERMS);
  if (limit !== undefined && whole(String(limit), 1, MOST_ROWS) === undefined)
    throw usageError(say`${option("limit")} takes a whole number from 1, not ${String(limit)}`);
  if (people !== undefined && people !== "all" && people !== "new")
    throw usageError(say`${option("people")} is all or new, not ${String(people)}`);

  return {
    target: narrowed(searchTarget([checked], []), { newOnly: people === "new" }),
    limit,
    fresh: again === true,
    strict: strict === true,
    requireComplete: requireComplete === true,
    wait: wait === true,
  };
}

/** @param hint what agrees to everybody, where something does @throws CliError of kind usage */
export function boundedSegment(filters: unknown, hint?: Sentence): CheckedFilters {
  const checked = checkedFilters(filters);
  if (!isUnfiltered(checked.canonical)) return checked;
  throw usageError("no filter is given, so this would buy the whole dataset", hint, "unfiltered");
}

interface Allowed<Asked = Quotation["quote"]> {
  readonly maxCredits: Credits | undefined;
  readonly agree: (asked: Asked) => Promise<void>;
}

const allowedBy = (consent: Consent): Allowed => allowed(consent, shownOffer);

/**
 * @param shown what is asked about, as a program sees it
 * @throws CliError of kind usage where it allows nothing, or no amount
 */
export function allowed<Asked, Shown>(
  consent: {
    readonly maxCredits?: string | number;
    readonly agree?: (offer: Shown) => boolean | Promise<boolean>;
  },
  shown: (asked: Asked) => Shown,
): Allowed<Asked> {
  const { agree, maxCredits } = given(Object(consent) as typeof consent, "consent", CONSENT);
  if (agree === undefined && maxCredits === undefined)
    throw usageError(
      "nobody agreed to a purchase",
      say`${option("max_credits", "N")} is the most that it may cost`,
      "consent_needed",
    );

  const most = typedCredits(maxCredits);
  if (maxCredits !== undefined && most === undefined)
    throw usageError(
      say`${option("max_credits")} takes credits with at most six decimals,
        not ${String(maxCredits)}`,
    );

  return {
    maxCredits: most,
    agree: async (asked) => {
      if (agree !== undefined && !(await agreed(async () => agree(shown(asked)))))
        throw declined("nobody agreed to what it costs; nothing was spent");
    },
  };
}

/** What a program's own function throws is no fault of ours. */
async function agreed(agree: () => Promise<boolean>): Promise<boolean> {
  try {
    return await agree();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw declined(`agree failed, so nothing was spent: ${why}`, undefined, "agree_failed", error);
  }
}

/** @throws CliError exit 4, 10 before anything is asked of the service */
async function agreeTo({ quote: quoted }: Quotation, { agree, maxCredits }: Allowed) {
  if (maxCredits !== undefined && maxCredits < quoted.total) {
    const [most, cost] = [maxCredits, quoted.total].map(creditsText);
    const message = `the quote is ${cost}, and ${most} are allowed; nothing was spent`;
    throw failed.credits(message, undefined, "over_cap").with({
      option: "max_credits",
      raise: { maxCredits: quoted.total },
    });
  }
  await agree(quoted);
}

/** @throws CliError of kind usage for a run whose rows a program cannot be given */
async function requireOfPrograms(id: string, { context }: Connected): Promise<void> {
  const { output, target, view } = await openRuns(context).readPlan(id);
  if (target.kind !== "search" || target.list !== undefined || target.staff !== undefined)
    throw usageError(`run ${id} is not of one segment alone`, undefined, "not_of_programs");
  if (output === null && view.format !== "ndjson")
    throw usageError(`run ${id} writes ${view.format}`, undefined, "not_of_programs");
}

/** A run that paid for nothing is gone. */
async function keptIn(
  run: string | undefined,
  { context }: Connected,
): Promise<string | undefined> {
  if (run === undefined) return undefined;
  const runs = await openRuns(context).ids();
  return runs.includes(run) ? run : undefined;
}

type Begin = ConstructorParameters<typeof Purchasing>[0];
type Quotes = WeakMap<object, Quotation>;

const told = ({ notice, hint }: Connected): Events => ({
  notice,
  warning: notice,
  hint,
  words: ARGUMENTS,
});

/** As its errors are told: with the run that keeps what was paid. */
const begun = (desk: Connected, begin: Begin): Purchasing =>
  new Purchasing(async (rows, began) => {
    let run: string | undefined;
    try {
      const finished = await begin(rows, (id) => {
        run = id;
        began(id);
      });
      if (finished.failure !== undefined) throw finished.failure;
      return finished;
    } catch (error) {
      throw desk.told(error, await keptIn(run, desk));
    }
  });

/** What only looks like a quote is none: those that were made here are known by themselves. */
const buying = (
  desk: Connected,
  quotes: Quotes,
  [what, consent, terms = {}]: readonly [Order | Quote, Consent, Terms?],
): Purchasing =>
  begun(desk, async (rows, began) => {
    const most = allowedBy(consent);
    const events: Events = { ...told(desk), start: ({ run }) => began(run) };
    const quotation = quotes.get(Object(what));
    if (quotation !== undefined) {
      const world = desk.world(given(terms, "the call of a quote", CALL).signal);
      await agreeTo(quotation, most);
      return await buy({ ...quotation, order: { ...quotation.order, rows } }, world, events);
    }

    if (!("filters" in Object(what)))
      throw usageError("this is no quote of this connection", undefined, "unknown_quote");
    const { agree, maxCredits } = most;
    const order = { ...wantedOf(what as Order, terms), rows, maxCredits };
    return await buy(order, desk.world(terms.signal), { ...events, agree });
  });

export function tradeAt(desk: Connected) {
  const quotes: Quotes = new WeakMap();
  const kept = (purchase: Purchasing): Purchasing => {
    desk.track(purchase.settled);
    return purchase;
  };

  return {
    quote: (order: Order, terms: Terms = {}): Promise<Quote> =>
      desk.ask(async () => {
        const wanted = wantedOf(order, terms);
        const quotation = await quote(wanted, desk.world(terms.signal), told(desk));
        const offer = Object.freeze(shownOffer(quotation.quote)) as Quote;
        quotes.set(offer, quotation);
        return offer;
      }),

    buy: (...what: readonly [Order | Quote, Consent, Terms?]) => kept(buying(desk, quotes, what)),

    resume: (run: string, consent?: Consent, call: Terms = {}) =>
      kept(
        begun(desk, async (rows, began) => {
          const { agree, maxCredits } = consent === undefined ? {} : allowedBy(consent);
          const { signal, wait = false } = given(call, "the call", GOING_ON);
          const world = desk.world(signal);
          const id = await openRuns(desk.context).resolve(String(run));
          await requireOfPrograms(id, desk);

          const start: Events["start"] = ({ run: same }) => began(same);
          const events: Events = { ...told(desk), agree, start };
          return await resume(id, { rows, maxCredits, wait }, world, events);
        }),
      ),
  };
}
