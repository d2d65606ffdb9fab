import { OutOfTimeError, type RecordPage } from "../../dataset/engine.ts";
import { canonicalJson, checkFilters } from "../../shared/contract/filters.ts";
import { credits, creditsToNumber, priceOf, ZERO } from "../../shared/contract/money.ts";
import { PER_PAGE_MAX } from "../../shared/contract/records.ts";
import type { RateLimiter } from "../http/limits.ts";
import { type Sellable, type ServiceParts, sale, searchOrder } from "../http/sale.ts";
import { StoreUnavailableError, UnknownAccountError } from "../ledger/errors.ts";
import type { Account, Spender } from "../ledger/ledger.ts";
import { type ConsoleExport, pageKey } from "../ledger/records.ts";
import type { Sale } from "../money/billing.ts";
import { hashOf } from "../money/keys.ts";
import { newOf } from "../people/owned.ts";
import { LEFT_OUT } from "../people/suppressed.ts";
import { DeadlineError, OutcomeUnknownError, Problem } from "../problem.ts";
import { ConsoleRefusal, takeCall } from "./guard.ts";

const GONE = "the service ended while it was bought";
/** A worker that was not heard of for so long is gone, or its service is. */
const SILENT_MS = 15_000;
/** Before that it is said that nothing is heard. */
const QUIET_MS = 3_000;
const TRIES = 10;
const IN_FLIGHT_TRIES = 30;
const WAIT_MS = 1_000;
/** A minute of the plan is waited for; its day is not. */
const MOST_WAIT_S = 60;
const MAY_PASS = [DeadlineError, OutOfTimeError, OutcomeUnknownError, StoreUnavailableError];

const ENDING = "it ends with the page that is being bought";

interface Turn {
  end: Promise<void>;
  waits: string;
}

export interface ExportsOptions extends ServiceParts {
  readonly limiter: RateLimiter;
  readonly onFault: (id: string, error: unknown) => void;
}

/**
 * Purchases that go on without their tab; each page under its own key, so that none is paid twice.
 */
export class Exports {
  readonly #options: ExportsOptions;
  readonly #working = new Map<string, Turn>();
  #closed = false;

  constructor(options: ExportsOptions) {
    this.#options = options;
  }

  /** In the item's turn, once an earlier one in this process is over. */
  work(item: ConsoleExport, key: Spender): void {
    if (this.#closed) return;
    const before = this.#working.get(item.id)?.end ?? Promise.resolve();
    const turn: Turn = { end: before, waits: "" };
    this.#working.set(item.id, turn);
    turn.end = before
      .then(() => this.#buy(item, key, turn))
      .catch((error: unknown) => this.#options.onFault(item.id, error))
      .finally(() => this.#working.get(item.id) === turn && this.#working.delete(item.id));
  }

  /**
   * @returns it as a person should see it: stopped
   * where its service is gone, with what it waits for
   */
  viewOf(item: ConsoleExport): ConsoleExport {
    if (item.state === "ready") return item;

    const turn = this.#working.get(item.id);
    if (turn !== undefined)
      return { ...item, state: "buying", why: item.state === "stopped" ? ENDING : turn.waits };
    if (item.state === "stopped") return item;

    const silent = this.#options.now() - item.seenAt;
    if (silent < QUIET_MS) return item;

    const seconds = Math.round(silent / 1_000);

    // Another process may be at it, and wait for its minute.
    if (silent < SILENT_MS)
      return {
        ...item,
        why: `no word of it for ${seconds} s; after ${SILENT_MS / 1_000} s it can be continued`,
      };

    return { ...item, state: "stopped", why: GONE };
  }

  isWorking = ({ id }: ConsoleExport): boolean => this.#working.has(id);

  isKept = (item: ConsoleExport): boolean => this.#options.now() < item.keptUntil;

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#working.values()].map(({ end }) => end));
  }

  async #buy(item: ConsoleExport, key: Spender, turn: Turn): Promise<void> {
    const { console: store } = this.#options.store;
    let now = item;
    const advance = (changes: Partial<ConsoleExport> = {}): Promise<boolean> => {
      now = { ...now, ...changes, seenAt: this.#options.now() };
      return store.advanceExport(now);
    };

    try {
      let isWanted = true;
      while (isWanted && !this.#closed) {
        if (!this.isKept(now))
          throw new ConsoleRefusal(410, "expired", "its first pages are no longer kept");
        isWanted = await this.#page(now, key, turn, advance);
      }
      if (this.#closed) await store.stopExport(item, GONE, item.turn);
    } catch (error) {
      await store.stopExport(item, reasonOf(error), item.turn);
      if (isFault(error)) throw error;
    }
  }

  /** Buys and notes a page: tried again it is free. @returns whether the turn goes on */
  async #page(
    item: ConsoleExport,
    key: Spender,
    turn: Turn,
    advance: (changes?: Partial<ConsoleExport>) => Promise<boolean>,
  ): Promise<boolean> {
    let isCounted = false;
    for (let tries = 1; ; tries++) {
      try {
        // Price and plan may be others by now.
        const account = await this.#options.store.account(item.accountId);
        if (account === undefined) throw new UnknownAccountError(item.accountId);
        if (account.plan.costs.person_search > item.price) throw dearer();

        if (!isCounted) takeCall(this.#options.limiter, key, account);
        isCounted = true;

        const { answer, charge } = await this.#sell(item, key, account);
        const pages = item.pages + 1;
        const sold = Number(answer.headers[ROWS] ?? 0);
        const rows = item.rows + sold;
        const spent = credits(item.credits + charge);
        // Whoever was bought elsewhere meanwhile is not looked for behind the end of the segment.
        const isOver =
          item.onlyNew && pages * item.perPage >= Number(answer.headers["x-total-count"]);
        const profiles = isOver ? rows : item.profiles;
        const isWanted = await advance({ pages, rows, profiles, credits: spent });

        if (sold === 0 && !item.onlyNew)
          throw new ConsoleRefusal(
            409,
            "short",
            "the segment has fewer people than were agreed to",
          );

        return isWanted;
      } catch (error) {
        const ms = waitAfter(error, tries);
        if (ms === undefined) throw error;
        if (isOfPlan(error)) tries--;
        if (isFault(error)) this.#options.onFault(item.id, error);
        turn.waits = reasonOf(error);
        if (!(await this.#pause(ms, advance))) return false;
        turn.waits = "";
      }
    }
  }

  /** As a page of a search is sold, under the key of the page. */
  async #sell(item: ConsoleExport, key: Spender, account: Account): Promise<Sale> {
    const { onlyNew, pages, profiles, version } = item;
    const segment = keptSegment(item.filters);
    const offset = pages * item.perPage;
    const most = profiles - item.rows;
    const perPage = onlyNew ? item.perPage : Math.min(item.perPage, profiles - offset);
    const requestId = pageKey(item, pages);
    const identity = `console\n${segment.canonical}\n${version}\n${offset} ${perPage} ${onlyNew}`;

    const asker = {
      call: { requestId, charged: ZERO, account, key },
      isGone: () => false,
    };
    const paging = {
      offset,
      perPage,
      page: pages + 1,
      ...(onlyNew && {
        chosen: (page: RecordPage) => newOf(this.#options.store, item, page, most),
      }),
    };
    const order = searchOrder(asker, this.#options, segment, paging);

    const work: Sellable["work"] = async (served, now) => {
      if (now !== version) throw moved();
      const page = await order.work(served, now);
      // Rows of the segment: the export goes on behind them, whoever of them is left out.
      const rows = page.rows + Number(page.headers[LEFT_OUT] ?? 0);
      return { ...page, headers: { ...page.headers, [ROWS]: String(rows) } };
    };

    return sale(
      asker,
      this.#options,
      { ...order, work, rows: Math.min(perPage, most) },
      {
        part: "page",
        idempotency: { key: requestId, requestHash: hashOf(identity) },
        keptUntil: item.keptUntil,
        onlyNew,
      },
    );
  }

  /**
   * Waits, and is heard of meanwhile where the accounts can be reached.
   * @returns false where it was stopped
   */
  async #pause(ms: number, isWanted: () => Promise<boolean>): Promise<boolean> {
    for (let rest = ms; rest > 0 && !this.#closed; rest -= WAIT_MS) {
      await this.#options.sleep(Math.min(rest, WAIT_MS));
      const wanted = await isWanted().catch((error: unknown) => {
        if (error instanceof StoreUnavailableError) return true;
        throw error;
      });
      if (!wanted) return false;
    }
    return !this.#closed;
  }
}

const isFault = (error: unknown): boolean => !(error instanceof Problem);

/** For whoever buys; what is wrong with the service is for the log alone. */
function reasonOf(error: unknown): string {
  const isSlow = error instanceof DeadlineError || error instanceof OutOfTimeError;
  return isSlow || !isFault(error) ? (error as Error).message : "an internal error of the service";
}

const isOfPlan = (error: unknown): boolean => error instanceof Problem && error.status === 429;

/**
 * How long to wait before a page is asked for again, in milliseconds; undefined: that would not
 * help. A 409 that may be asked again is another process at this very page: what it gets is ours.
 */
function waitAfter(error: unknown, tries: number): number | undefined {
  const isProblem = error instanceof Problem;
  if (tries >= (isProblem && error.status === 409 ? IN_FLIGHT_TRIES : TRIES)) return undefined;
  if (!isProblem)
    return MAY_PASS.some((kind) => error instanceof kind) ? tries * WAIT_MS : undefined;

  const seconds = Number(error.headers["retry-after"] ?? Number.POSITIVE_INFINITY);
  return seconds <= MOST_WAIT_S ? seconds * 1_000 : undefined;
}

const ROWS = "x-rows";

/** The filters of an export or quote, which were checked when it was made. */
export function keptSegment(text: string) {
  const check = checkFilters(JSON.parse(text));
  if (check.ok) return { filters: check.canonical, canonical: canonicalJson(check.canonical) };
  throw new Error("an export was kept with filters that are none");
}

/**
 * A page of it from its stored reply, without the suppressed.
 * @param page from 0. @throws ConsoleRefusal 410: never short
 */
export async function storedPage(
  { dataset, store }: ServiceParts,
  item: ConsoleExport,
  page: number,
): Promise<string> {
  const key = pageKey(item, page);
  const { accountId, mode } = item;
  const reply = await store.console.storedReply(accountId, mode, "person_search", key);
  if (reply === undefined) {
    throw new ConsoleRefusal(410, "expired", `page ${page + 1} of ${item.pages} is no longer kept`);
  }

  const { suppressed } = await dataset(mode);
  return (await suppressed.shown(reply)).body.toString();
}

export const quoteOf = (account: Account, profiles: number) => {
  const credits = priceOf(profiles, account.plan.costs.person_search);
  return {
    credits,
    creditsNumber: creditsToNumber(credits),
    requests: Math.ceil(profiles / PER_PAGE_MAX),
  };
};

export const dearer = (): ConsoleRefusal =>
  new ConsoleRefusal(
    409,
    "price_changed",
    "a profile costs more than was agreed to: Continue says what " +
      "the rest costs now; nothing more was bought",
  );

export const moved = (): ConsoleRefusal =>
  new ConsoleRefusal(
    409,
    "dataset_moved",
    "the dataset was replaced since this quote: ask for a new one; nothing more was bought",
  );
