import { RateLimiter, type RateLimiterOptions } from "../http/limits.ts";
import type { AccountPlan, Store, StoredKey } from "../ledger/ledger.ts";
import { Problem } from "../problem.ts";

/** Counts of few people that a key may ask on a UTC day, where its plan bounds them. */
export const SMALL_COUNTS_A_DAY = 100;

interface SmallCountsOptions extends Omit<RateLimiterOptions, "store"> {
  readonly store: Pick<Store, "recordSmallCounts" | "smallCountsOfDay">;
  readonly onAsked?: ((key: string, isAnswered: boolean) => void) | undefined;
}

/** Exact free counts of few people spell out what is in a record that nobody bought: so many a day. */
export class SmallCounts {
  readonly #limiter: RateLimiter;
  readonly #onAsked: SmallCountsOptions["onAsked"];

  constructor({ onAsked, store, ...clocks }: SmallCountsOptions) {
    const kept = {
      recordCalls: (counts: Parameters<Store["recordSmallCounts"]>[0]) => store.recordSmallCounts(counts),
      callsOfDay: (day: string) => store.smallCountsOfDay(day),
    };
    this.#limiter = new RateLimiter({ ...clocks, store: kept });
    this.#onAsked = onAsked;
  }

  load = (): Promise<void> => this.#limiter.load();
  flush = (): Promise<void> => this.#limiter.flush();

  /** @param count that is about to be told; null: none is @throws Problem 429 where there were too many today */
  tell(
    { origin }: Pick<StoredKey, "origin">,
    { smallCounts }: Pick<AccountPlan, "smallCounts">,
    count: number | null,
  ): void {
    if (smallCounts === null || count === null || count >= smallCounts) return;
    // Keys that follow one another share what they may ask.
    const rate = this.#limiter.take(origin, { perMinute: Number.POSITIVE_INFINITY, perDay: SMALL_COUNTS_A_DAY });
    this.#onAsked?.(origin, rate.allowed);
    if (rate.allowed) return;
    throw new Problem(
      429,
      [
        `this key asked for ${SMALL_COUNTS_A_DAY} counts of fewer than ${smallCounts} people today, and its plan has no more of them; this one is of fewer too. Ask for larger segments, or again after midnight (UTC)`,
      ],
      { "retry-after": String(rate.retryAfter), "x-ratelimit-window": "small-counts" },
    );
  }
}
