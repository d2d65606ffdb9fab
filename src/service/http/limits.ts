import { hash } from "node:crypto";
import type { FacetQuestion } from "../../dataset/engine.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { FacetResult } from "../../shared/schema/api.ts";
import { anchoredClock } from "../ledger/clock.ts";
import type { AccountPlan, DayCount, Store, StoredKey } from "../ledger/ledger.ts";
import { invalid, Problem } from "../problem.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export const ANONYMOUS_PER_MINUTE = 600;
const MAX_ANONYMOUS_ADDRESSES = 10_000;
const VALUES_A_CALL = 100;
/** What another process counted is of this minute where it is at most this old. */
const RECENT_MS = 2_500;

export interface RateState {
  readonly allowed: boolean;
  readonly window: "minute" | "day";
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  readonly retryAfter: number;
}

type Rates = Pick<AccountPlan, "perMinute" | "perDay">;

interface Windows {
  minute: number;
  inMinute: number;
  day: number;
  inDay: number;
}

export interface RateLimiterOptions {
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly store: Pick<Store, "recordCalls" | "callsOfDay">;
}

/**
 * Fixed minute and day windows per key (docs/reference/limits.md, Limits and
 * clocks). Time is the wall clock at the start plus what the monotonic
 * clock counted since, so a jump of the wall clock opens no second window.
 */
export class RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly now: () => number;
  readonly #keys = new Map<string, Windows>();
  readonly #anonymous = new Map<string, { minute: number; count: number }>();
  #pending = new Map<number, Map<string, number>>();
  readonly #lastCounts = new Map<
    string,
    { readonly day: number; readonly count: number; readonly at: number }
  >();
  #flushing: Promise<void> | undefined;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
    this.now = anchoredClock(options.now, options.monotonic);
  }

  async load(): Promise<void> {
    await this.#learn(Math.floor(this.now() / DAY_MS), undefined);
  }

  take(keyId: string, plan: Rates): RateState {
    const time = this.now();
    const windows = this.#windows(keyId, time);
    const allowed = windows.inMinute < plan.perMinute && windows.inDay < plan.perDay;

    if (allowed) {
      windows.inMinute++;
      windows.inDay++;
      const ofDay = this.#pending.get(windows.day);
      if (ofDay) ofDay.set(keyId, (ofDay.get(keyId) ?? 0) + 1);
      else this.#pending.set(windows.day, new Map([[keyId, 1]]));
    }

    return this.#stateOf(windows, plan, time, allowed);
  }

  weigh(keyId: string, plan: Rates, more: number): RateState {
    const time = this.now();
    const windows = this.#windows(keyId, time);
    windows.inMinute = Math.max(
      windows.inMinute,
      Math.min(plan.perMinute, windows.inMinute + more),
    );
    return this.#stateOf(windows, plan, time, true);
  }

  #stateOf(
    { day, inDay, inMinute, minute }: Windows,
    { perDay, perMinute }: Rates,
    time: number,
    allowed: boolean,
  ) {
    const minuteLeft = Math.max(0, perMinute - inMinute);
    const dayLeft = Math.max(0, perDay - inDay);

    return dayLeft <= minuteLeft && (dayLeft < minuteLeft || dayLeft === 0)
      ? this.#state(
          { allowed, window: "day", limit: perDay, remaining: dayLeft },
          (day + 1) * DAY_MS,
          time,
        )
      : this.#state(
          { allowed, window: "minute", limit: perMinute, remaining: minuteLeft },
          (minute + 1) * MINUTE_MS,
          time,
        );
  }

  /** @param whose the network of callers without a key, or what else is bounded by the minute */
  takeAnonymous(whose: string, limit = ANONYMOUS_PER_MINUTE): RateState {
    const time = this.now();
    const minute = Math.floor(time / MINUTE_MS);
    let window = this.#anonymous.get(whose);
    if (window === undefined || window.minute < minute) {
      window = { minute, count: 0 };
      this.#anonymous.delete(whose);
      const [oldest] = this.#anonymous.keys();
      if (oldest !== undefined && this.#anonymous.size >= MAX_ANONYMOUS_ADDRESSES)
        this.#anonymous.delete(oldest);
      this.#anonymous.set(whose, window);
    }

    const allowed = window.count < limit;
    if (allowed) window.count++;

    const state = { allowed, window: "minute", limit, remaining: limit - window.count } as const;
    return this.#state(state, (minute + 1) * MINUTE_MS, time);
  }

  /**
   * Writes the calls since the last flush and reads what
   * others counted. What fails is tried again next time.
   */
  flush(): Promise<void> {
    this.#flushing ??= this.#flushOnce().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #flushOnce(): Promise<void> {
    if (this.#pending.size === 0) return;
    const batch = this.#pending;
    this.#pending = new Map();

    const counts: DayCount[] = [];
    for (const [day, ofDay] of batch) {
      for (const [keyId, count] of ofDay) counts.push({ keyId, day: dayText(day), count });
    }

    try {
      await this.#options.store.recordCalls(counts);
    } catch (error) {
      for (const [day, ofDay] of batch) {
        const now = this.#pending.get(day) ?? new Map<string, number>();
        for (const [keyId, count] of ofDay) now.set(keyId, (now.get(keyId) ?? 0) + count);
        this.#pending.set(day, now);
      }
      throw error;
    }

    const day = Math.floor(this.now() / DAY_MS);
    await this.#learn(day, batch.get(day));
  }

  async #learn(day: number, written: ReadonlyMap<string, number> | undefined): Promise<void> {
    for (const { keyId, count } of await this.#options.store.callsOfDay(dayText(day))) {
      const time = this.now();
      const windows = this.#windows(keyId, time);
      if (windows.day !== day) continue;

      const last = this.#lastCounts.get(keyId);

      this.#lastCounts.set(keyId, { day, count, at: time });
      // Never downwards: the store may lag behind what this process let through.
      windows.inDay = Math.max(windows.inDay, count + (this.#pending.get(day)?.get(keyId) ?? 0));
      if (last?.day !== day || time - last.at > RECENT_MS) continue;
      if (Math.floor(last.at / MINUTE_MS) !== windows.minute) continue;

      windows.inMinute += Math.max(0, count - last.count - (written?.get(keyId) ?? 0));
    }
  }

  #windows(keyId: string, time: number): Windows {
    const minute = Math.floor(time / MINUTE_MS);
    const day = Math.floor(time / DAY_MS);
    const windows = this.#keys.get(keyId);
    if (windows === undefined) {
      const fresh = { minute, inMinute: 0, day, inDay: 0 };
      this.#keys.set(keyId, fresh);
      return fresh;
    }

    if (minute > windows.minute) {
      windows.minute = minute;
      windows.inMinute = 0;
    }

    if (day > windows.day) {
      windows.day = day;
      windows.inDay = 0;
    }

    return windows;
  }

  #state(of: Omit<RateState, "reset" | "retryAfter">, end: number, time: number): RateState {
    const { allowed, limit, remaining, window } = of;
    // After a jump the reset is told on the clock that the client shares, not on ours.
    const jump = this.#options.now() - time;
    const reset = Math.ceil((Math.abs(jump) < 1_000 ? end : end + jump) / 1_000);

    // Not spread: on the way of every call, a copy and
    // two properties more take as long as all the rest.
    return {
      allowed,
      window,
      limit,
      remaining,
      reset,
      retryAfter: Math.max(1, Math.ceil((end - time) / 1_000)),
    };
  }
}

const dayText = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

/** @param companies how many are counted one by one */
export function weightOf({ department = [], exact }: CanonicalFilters, companies = 0): number {
  let values = department.length + companies;
  for (const [key, texts] of Object.entries(exact))
    if (key !== "network_url") values += texts.length;
  return Math.max(1, Math.ceil(values / VALUES_A_CALL));
}

/**
 * Distinct questions about few people that an account
 * may ask on a UTC day, where its plan bounds them.
 */
export const SMALL_COUNTS_A_DAY = 100;
/** A sketch tells more than a small count: of a whole segment who of one's own people is there. */
const SKETCHES_A_DAY = 10;
const SKETCH = "sketch";
const NO_BOUND = Number.POSITIVE_INFINITY;
const REMEMBERED_QUESTIONS = 10_000;

interface SmallCountsOptions extends RateLimiterOptions {
  readonly onAsked?: ((account: string, isAnswered: boolean) => void) | undefined;
}

interface Disclosure {
  readonly segment: string;
  readonly more?: string;
  /** What is counted, where it is no people: numbers of one kind are compared. */
  readonly kind?: string;
  readonly count: number | null;
}

interface Reply {
  readonly segment: string;
  readonly kind: string;
  readonly count: number;
}

/**
 * Exact free counts spell out what is in a record that nobody bought: an
 * account gets so many small ones a day. Small is a count of few people,
 * and one that differs by few from another: the two tell of those few.
 */
export class SmallCounts {
  readonly #limiter: RateLimiter;
  readonly #onAsked: SmallCountsOptions["onAsked"];
  readonly #answers = new Map<string, Map<string, Reply>>();

  constructor({ onAsked, ...options }: SmallCountsOptions) {
    this.#limiter = new RateLimiter(options);
    this.#onAsked = onAsked;
  }

  load = (): Promise<void> => this.#limiter.load();
  flush = (): Promise<void> => this.#limiter.flush();

  /**
   * @throws Problem 429 where the account was told too
   * much today; what it was told already is told again
   */
  tell(
    { accountId, mode }: Pick<StoredKey, "accountId" | "mode">,
    plan: SmallPlan,
    disclosure: Disclosure,
  ): void {
    const { smallCounts: few } = plan;
    const { count, kind = "people", more = "" } = disclosure;
    if (few === null || count === null) return;

    const whose = `${mode} ${accountId}`;
    const answers = this.#answers.get(whose) ?? new Map<string, Reply>();
    const segment = hash("sha256", disclosure.segment, "base64url").slice(0, 22);
    const question = `${segment} ${kind} ${more}`;
    if (answers.get(question)?.count === count) return;

    if (kind === SKETCH) this.#spendSketch(whose);
    else if (count < few || hasNear(answers, { segment, kind, count }, few))
      this.#spend(whose, few);

    answers.delete(question);

    const [oldest] = answers.keys();
    if (oldest !== undefined && answers.size >= REMEMBERED_QUESTIONS) answers.delete(oldest);
    this.#answers.set(whose, answers.set(question, { segment, kind, count }));
  }

  /** What a facet tells: of how many people, and with a prefix of how many values that begin so. */
  tellFacet(
    key: Pick<StoredKey, "accountId" | "mode">,
    plan: SmallPlan,
    {
      canonical: segment,
      question,
    }: { readonly canonical: string; readonly question: FacetQuestion },
    { count, distinct }: Pick<FacetResult, "count" | "distinct">,
  ): void {
    const { key: kind, prefix } = question;
    this.tell(key, plan, { segment, more: kind, count });
    if (prefix !== "")
      this.tell(key, plan, { segment: `${segment}\n${prefix}`, kind, count: distinct });
  }

  /** @throws Problem 422 for a sketch of few people, or one too many; 429 as {@link tell} */
  tellSketch(
    key: Pick<StoredKey, "accountId" | "mode">,
    plan: SmallPlan,
    {
      segment,
      version,
      count,
    }: { readonly segment: string; readonly version: string; readonly count: number },
  ): void {
    this.tell(key, plan, { segment, count });
    if (count > 0 && count < (plan.smallCounts ?? 0)) {
      throw invalid(
        `a sketch of fewer than ${plan.smallCounts} people is ` +
          "not given to this account: ask for a count",
      );
    }
    this.tell(key, plan, { segment, kind: SKETCH, more: version, count });
  }

  #spendSketch(whose: string): void {
    const rate = this.#limiter.take(`${whose} ${SKETCH}`, {
      perMinute: NO_BOUND,
      perDay: SKETCHES_A_DAY,
    });
    this.#onAsked?.(whose, rate.allowed);
    if (rate.allowed) return;
    throw invalid(
      `this account had ${SKETCHES_A_DAY} sketches today, and its plan has no more: ask for counts`,
    );
  }

  #spend(whose: string, few: number): void {
    const rate = this.#limiter.take(whose, { perMinute: NO_BOUND, perDay: SMALL_COUNTS_A_DAY });
    this.#onAsked?.(whose, rate.allowed);
    if (rate.allowed) return;

    throw new Problem(
      429,
      [
        `this account asked for ${SMALL_COUNTS_A_DAY} counts of fewer than ${few} people ` +
          "today, or that differ by fewer from another, and its plan has no more of them; " +
          "this one does too. Ask for larger segments, or again after midnight (UTC)",
      ],
      { "retry-after": String(rate.retryAfter), "x-ratelimit-window": "small-counts" },
    );
  }
}

type SmallPlan = Pick<AccountPlan, "smallCounts">;

function hasNear(
  answers: ReadonlyMap<string, Reply>,
  { count, kind, segment }: Reply,
  few: number,
): boolean {
  for (const other of answers.values()) {
    if (other.kind === kind && other.segment !== segment && Math.abs(other.count - count) < few)
      return true;
  }
  return false;
}
