import { tellHints } from "../app/count/hints.ts";
import { openRuns } from "../app/keep/store.ts";
import { inSession, type Session, type SessionEvents } from "../app/session.ts";
import { ARGUMENTS } from "../shared/contract/hints.ts";
import { usageError } from "../shared/errors.ts";
import { checkedFilters } from "../shared/filters.ts";
import { Connected, interruption } from "./connected.ts";
import { quietContext } from "./context.ts";
import { HeadcountError } from "./errors.ts";
import { CALL, given } from "./given.ts";
import type { Call, ConnectOptions, connect as Declared, Headcount } from "./index.ts";
import { ownedOf } from "./owned.ts";
import { privacyAt } from "./privacy.ts";
import { quoteRefresh, refreshList } from "./refresh.ts";
import { tradeAt } from "./trade.ts";
import { shownAccount, shownRun } from "./views.ts";

export { HeadcountError } from "./errors.ts";

const MAX_WAIT_MS = 300_000;
const OPTIONS = {
  ...CALL,
  connection: "string",
  baseUrl: "string",
  apiKey: "string",
  stateDir: "string",
  env: "object",
  log: "function",
  notice: "function",
  maxWaitMs: "number",
} as const;

/** A session that stays open until it is let go of. */
function held(
  open: (hold: (session: Session) => Promise<void>) => Promise<void>,
): Promise<{ readonly session: Session; readonly release: () => Promise<void> }> {
  return new Promise((resolve, reject) => {
    const over = open(
      (session) =>
        new Promise<void>((end) => {
          const release = (): Promise<void> => {
            end();
            return over;
          };
          resolve({ session, release });
        }),
    );

    over.catch(reject);
  });
}

/** What a program listens with never ends what it listens to. */
const unharmed =
  <Heard>(listen: ((heard: Heard) => void) | undefined) =>
  (heard: Heard): void => {
    try {
      listen?.(heard);
    } catch {
      // A fault of the program, which would cost it a purchase that is under way.
    }
  };

function eventsOf(options: ConnectOptions, now: () => number): SessionEvents {
  const log = unharmed(options.log);
  const at = (): string => new Date(now()).toISOString();

  return {
    notice: unharmed(options.notice),
    pause: (until, reason) => {
      const facts = { until: new Date(until).toISOString(), reason };
      log({ code: "waiting", at: at(), facts });
    },
    log: ({ method, path, outcome, elapsedMs, requestId = null }) =>
      log({
        code: "request",
        at: at(),
        facts: { method, path, outcome, elapsedMs: Math.round(elapsedMs), requestId },
      }),
  };
}

/** Counted as `count` promises: for nothing. */
async function freeCount(desk: Connected, filters: unknown, call: Call) {
  const { client } = desk.session;
  const price = client.dialect.counting;
  if (price !== undefined)
    throw usageError("a count costs credits at this service", undefined, "count_costs");

  const { interrupted } = desk.world(given(call, "the call", CALL).signal);
  const segment = checkedFilters(filters);
  const { asOf, ...counted } = await client.count(segment.filters, interrupted);
  const say = { strict: false, session: desk.session, say: desk.hint, words: ARGUMENTS };
  await tellHints([{ ...counted, filters: segment.filters }], say, interrupted);
  return { count: counted.count, asOf: asOf ?? null };
}

/** @throws CliError of kind usage for an option that is none */
function checkedOptions(options: ConnectOptions): ConnectOptions {
  const { maxWaitMs = MAX_WAIT_MS } = given(options, "options", OPTIONS);
  if (!(maxWaitMs >= 0)) throw usageError("maxWaitMs is a number of milliseconds, 0 or more");
  return options;
}

const opened: typeof Declared = async (options = {}) => {
  const { connection, baseUrl, maxWaitMs = MAX_WAIT_MS, signal } = checkedOptions(options);
  const closing = new AbortController();
  const context = quietContext(options, interruption(signal, closing.signal));
  const connecting = { connection, baseUrl, maxWait: maxWaitMs / 1_000 };
  const events = eventsOf(options, context.now);

  const { session, release } = await held((hold) => inSession(context, connecting, events, hold));

  const desk = new Connected(session, context, options.notice && unharmed(options.notice));
  const close = async (): Promise<void> => {
    const over = desk.close();
    closing.abort();
    await over;
    await release();
  };

  return {
    ...tradeAt(desk),

    account: (call = {}) =>
      desk.ask(async () => {
        const { interrupted } = desk.world(given(call, "the call", CALL).signal);
        return shownAccount(await session.client.account(interrupted), session.keyMode);
      }),

    count: (filters, call = {}) => desk.ask(() => freeCount(desk, filters, call)),
    runs: () => desk.ask(async () => (await openRuns(context).list()).map(shownRun)),
    refresh: (...what) => desk.ask(() => refreshList(desk, what)),
    quoteRefresh: (...what) => desk.ask(() => quoteRefresh(desk, what)),
    owned: ownedOf(desk),
    ...privacyAt(desk),
    close,
    [Symbol.asyncDispose]: close,
  } satisfies Headcount;
};

export const connect: typeof Declared = (options) =>
  opened(options).catch((error: unknown) => {
    throw new HeadcountError(error);
  });
