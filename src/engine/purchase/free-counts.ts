// Tested by test/unit/free-counts.test.ts.

import type { Context } from "../../shared/context.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import {
  type Filters,
  MAX_CHARACTERS,
  MAX_VALUES_PER_KEY,
} from "../../shared/contract/vocabulary.ts";
import {
  type CliError,
  failed,
  option,
  type Sentence,
  say,
  usageError,
} from "../../shared/errors.ts";
import { ServiceError } from "../client/errors.ts";
import { smallerSize } from "../client/refusal.ts";
import type { CountView, RateLimit, ServiceClient, SketchView } from "../client/types.ts";
import {
  type Counts,
  type OwnedAddress,
  SHARE_OF_MINUTE,
  UnsoundCountsError,
} from "../planning/question.ts";
import { incomplete } from "./page-failures.ts";

/** Of the calls of a day so much is left to other users of the key. */
const LEFT_OF_DAY = 0.1;
const MINUTE = 60_000;
const AT_ONCE = 4;
/** Characters of one list: room is left for the other filters of a question. */
const LIST_CHARACTERS = MAX_CHARACTERS * 0.8;

export interface FreeCountsOptions extends Pick<Context, "now" | "sleep"> {
  readonly client: Pick<ServiceClient, "count" | "facets" | "ids" | "sketch">;
  readonly maxCalls: number;
  /** What helps where it takes more. */
  readonly hint?: Sentence;
  readonly signal: AbortSignal;
  /** What the account says; replies tell it better. */
  readonly perMinute?: number | undefined;
  readonly onCall?: ((calls: number) => void) | undefined;
}

type Window = Pick<RateLimit, "limit" | "resetAt"> & { remaining: number };

/**
 * Free counts with manners (docs/explanation/new-people.md, "Manners"): no more
 * than allowed, four fifths of a minute's, never the last tenth of a
 * day's, none that cost credits; all of one version of the dataset.
 */
export class FreeCounts implements Counts {
  readonly #options: FreeCountsOptions;
  listSize = MAX_VALUES_PER_KEY;
  /** Whether one value alone was taken where a list of them was refused. */
  #takesOne = false;
  calls = 0;
  /** Of which all counts so far are; undefined where the service tells none. */
  datasetVersion: string | undefined;
  #minute: Window | undefined;
  #turn: Promise<void> = Promise.resolve();
  readonly #waiting: (() => void)[] = [];
  #flying = 0;

  constructor(options: FreeCountsOptions) {
    this.#options = options;
  }

  get left(): number {
    return this.#options.maxCalls - this.calls;
  }

  /**
   * @throws CliError exit 2: too many calls, or one costs credits;
   * 5: the dataset moved; 7: near the end of the day's calls
   */
  async count(filters: Filters): Promise<number> {
    const { client } = this.#options;
    return (await this.#ask((signal) => client.count(filters, signal))).count;
  }

  /**
   * For whoever asks what the counts mean.
   * @param others calls that stay for what is counted after it
   */
  answers(others: number): Pick<ServiceClient, "count" | "facets"> {
    const { client } = this.#options;
    return {
      count: (filters) => this.#ask((signal) => client.count(filters, signal), others),
      facets: (filters, key, terms) =>
        this.#ask((signal) => client.facets(filters, key, { ...terms, signal }), others),
    };
  }

  /**
   * Undefined where the service gives none: it has none, or none of this segment.
   * @throws CliError as `count`
   */
  sketch(filters: Filters, from: number, cells: number): Promise<SketchView | undefined> {
    const { client } = this.#options;
    return this.#ask((signal) =>
      client.sketch(filters, from, cells, signal).catch((error: unknown) => {
        if (error instanceof ServiceError && [403, 422].includes(error.status)) return undefined;
        throw error;
      }),
    );
  }

  /**
   * Of everybody in a segment, each once; undefined where the service finds none before it is paid.
   * @throws CliError as `count`; UnsoundCountsError where fewer came than it says there are
   */
  async ids(filters: Filters): Promise<ReadonlySet<string> | undefined> {
    const { client } = this.#options;
    const all = new Set<string>();
    for (let next: string | undefined; ; ) {
      const view = await this.#ask((signal) => client.ids(filters, next, signal));
      if (view === undefined) return undefined;

      for (const id of view.ids) all.add(id);
      if (view.next !== null) {
        next = view.next;
        continue;
      }

      const isAll = all.size >= (view.total ?? 0);
      for (const id of view.gone) all.delete(id);
      if (isAll) return all;
      throw new UnsoundCountsError(
        `${counted(all.size, "id")} came of ${counted(view.total ?? 0, "person", "people")}`,
      );
    }
  }

  async #ask<View extends Pick<CountView, "meta"> | undefined>(
    call: (signal: AbortSignal) => Promise<View>,
    others = 0,
  ): Promise<View> {
    if (this.#flying >= AT_ONCE) await new Promise<void>((go) => this.#waiting.push(go));
    this.#flying++;

    try {
      const turn = this.#turn.then(() => this.#wait(others));
      this.#turn = turn.catch(() => undefined);
      await turn;
      const view = await call(this.#options.signal);
      // What told nothing is none of the counts that are quoted and said.
      if (view === undefined) this.calls--;
      else this.#read(view.meta);
      return view;
    } finally {
      this.#flying--;
      this.#waiting.shift()?.();
    }
  }

  async countAt(filters: Filters, addresses: readonly OwnedAddress[]): Promise<number> {
    const sums = this.#lists(addresses).map((list) => this.#list(filters, list));
    const settled = await Promise.allSettled(sums);
    const failed = settled.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return settled.reduce((sum, each) => sum + (each.status === "fulfilled" ? each.value : 0), 0);
  }

  #lists(addresses: readonly OwnedAddress[]): OwnedAddress[][] {
    const lists: OwnedAddress[][] = [];
    let room = 0;
    for (const address of addresses) {
      const list = lists.at(-1);
      room -= address.length;
      if (list !== undefined && list.length < this.listSize && room >= 0) list.push(address);
      else {
        lists.push([address]);
        room = LIST_CHARACTERS - address.length;
      }
    }

    return lists;
  }

  async #list(filters: Filters, list: readonly OwnedAddress[]): Promise<number> {
    try {
      return await this.count({ ...filters, network_url: list });
    } catch (error) {
      const most = longestList(error, list.length);
      if (most === undefined) throw error;
      // A service that refuses one value too refuses something else than how many there are.
      if (!this.#takesOne) await this.count({ ...filters, network_url: list.slice(0, 1) });
      this.#takesOne = true;
      this.listSize = Math.min(this.listSize, most);
      return this.countAt(filters, list);
    }
  }

  /** Takes a turn: calls are handed out one after the other, replies may come in any order. */
  async #wait(others: number) {
    const { maxCalls, hint, now, sleep, signal, perMinute, onCall } = this.#options;
    if (this.calls + others >= maxCalls) {
      throw usageError(
        `this takes more than ${counted(maxCalls, "free call")}`,
        hint ?? say`${option("max_calls")} allows more`,
        "too_many_counts",
      );
    }

    const full = (): Window | undefined =>
      perMinute === undefined
        ? undefined
        : { limit: perMinute, remaining: perMinute, resetAt: now() + MINUTE };

    if (now() >= (this.#minute?.resetAt ?? 0)) this.#minute = full();

    const minute = this.#minute;
    if (
      minute !== undefined &&
      minute.remaining <= Math.ceil(minute.limit * (1 - SHARE_OF_MINUTE))
    ) {
      await sleep(Math.max(0, minute.resetAt - now()), signal);
      this.#minute = { limit: minute.limit, remaining: minute.limit, resetAt: now() + MINUTE };
    }

    if (this.#minute !== undefined) this.#minute.remaining--;
    this.calls++;
    onCall?.(this.calls);
  }

  #read({ creditsUsed, datasetVersion, rateLimit }: CountView["meta"]) {
    if (creditsUsed !== undefined && creditsUsed > 0n) {
      throw usageError(
        "counts cost credits at this service, so nothing is planned by them",
        undefined,
        "counts_cost",
      );
    }

    if (datasetVersion !== undefined) {
      this.datasetVersion ??= datasetVersion;
      if (this.datasetVersion !== datasetVersion) {
        throw incomplete(
          "dataset_moved",
          `the service changed its dataset from ${this.datasetVersion} to ` +
            `${datasetVersion} after ${grouped(this.calls)} free counts; ` +
            "counts of both do not add up",
          { hint: "nothing was bought by them; the same command counts anew" },
        );
      }
    }

    this.#observe(rateLimit);
  }

  #observe(limit: RateLimit | undefined) {
    if (limit === undefined) return;

    const { now } = this.#options;
    if (limit.window === "day" || limit.resetAt - now() > 2 * MINUTE) {
      if (limit.remaining <= limit.limit * LEFT_OF_DAY) throw endOfDay(limit);
      return;
    }

    const before = this.#minute;
    const same = before !== undefined && Math.abs(before.resetAt - limit.resetAt) <= 2_000;
    const remaining = limit.remaining - (this.#flying - 1);
    this.#minute = {
      limit: limit.limit,
      remaining: same ? Math.min(before.remaining, remaining) : remaining,
      resetAt: limit.resetAt,
    };
  }
}

const endOfDay = ({ limit, remaining, resetAt }: RateLimit): CliError =>
  failed.rate_limit(
    `${grouped(remaining)} of the day's ${grouped(limit)} calls ` +
      `${remaining === 1 ? "is" : "are"} left, which free counts leave to others`,
    `the day's calls are new at ${new Date(resetAt).toISOString()}; what was bought is kept`,
    "day_limit_near",
  );

/** How many values of one key to ask for where so many were refused; undefined: not about that. */
function longestList(error: unknown, length: number): number | undefined {
  const isRefused = error instanceof ServiceError && [400, 413, 414, 422].includes(error.status);
  return isRefused ? smallerSize(length) : undefined;
}
