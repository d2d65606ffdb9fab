import type { LRUCache } from "lru-cache";
import type { Engine } from "../../dataset/engine.ts";
import type { CanonicalFilters } from "../../shared/contract/filters.ts";
import { COUNT_CACHE_SECONDS } from "../../shared/contract/records.ts";
import { needed } from "../ledger/errors.ts";

export interface Counted {
  readonly count: number;
  readonly cached: boolean;
  /** ISO-8601: when it was asked for first, by this account. */
  readonly asOf: string;
  readonly version: string;
}

interface Known extends Pick<Counted, "count" | "version"> {
  readonly asked: Map<string, string>;
}

export interface Clocks {
  readonly now: () => number;
  readonly monotonic: () => number;
}

const MAX_ENTRIES = 10_000;
/** A key longer than this is not kept: a list of a thousand values is hardly counted twice in five minutes. */
const MAX_KEY_LENGTH = 4_096;

/** Counts of one dataset version (docs/contract.md, Count). Who asks at the same time shares one computation. */
export class CountCache {
  readonly #engine: Engine;
  readonly #clocks: Clocks;
  readonly #entries: LRUCache<string, Known>;
  readonly #running = new Map<string, Promise<Known>>();
  #version = "";

  private constructor(engine: Engine, clocks: Clocks, entries: LRUCache<string, Known>) {
    this.#engine = engine;
    this.#clocks = clocks;
    this.#entries = entries;
  }

  static async over(engine: Engine, clocks: Clocks): Promise<CountCache> {
    const { LRUCache } = await needed("lru-cache", import("lru-cache"));
    const ttl = COUNT_CACHE_SECONDS * 1_000;
    const entries = new LRUCache<string, Known>({
      max: MAX_ENTRIES,
      ttl,
      ttlResolution: 0,
      perf: { now: () => 1 + clocks.monotonic() },
    });
    return new CountCache(engine, clocks, entries);
  }

  /** @param key canonical JSON of the filters @param whose the account that asks */
  async known(key: string, whose: string): Promise<Counted | undefined> {
    await this.#engine.current?.();
    const { version } = this.#engine.info();
    if (version !== this.#version) {
      this.#entries.clear();
      this.#running.clear();
      this.#version = version;
    }
    const known = this.#entries.get(key);
    return known === undefined ? undefined : told(known, whose, this.#time());
  }

  readonly #time = (): string => new Date(this.#clocks.now()).toISOString();

  async count(filters: CanonicalFilters, key: string, whose: string): Promise<Counted> {
    const known = await this.known(key, whose);
    if (known !== undefined) return known;
    const at = this.#time();
    const running = this.#running.get(key);
    if (running !== undefined) return { ...told(await running, whose, at), cached: false };
    const { version } = this.#engine.info();
    const computing = this.#compute(filters, key, version).finally(() => {
      if (this.#running.get(key) === computing) this.#running.delete(key);
    });
    this.#running.set(key, computing);
    return told(await computing, whose, at);
  }

  async #compute(filters: CanonicalFilters, key: string, version: string): Promise<Known> {
    const start = this.#clocks.monotonic();
    const count = await this.#engine.count(filters);
    const after = this.#engine.info().version;
    // The dataset was replaced meanwhile: which one was counted is not known, so count again.
    if (after !== version) return this.#compute(filters, key, after);
    const counted = { count, version, asked: new Map<string, string>() };
    if (version === this.#version && key.length <= MAX_KEY_LENGTH) {
      this.#entries.set(key, counted, { start: 1 + start });
    }
    return counted;
  }
}

/** An account learns when it asked itself, and not that another one did. */
function told({ asked, count, version }: Known, whose: string, at: string): Counted {
  const before = asked.get(whose);
  asked.set(whose, before ?? at);
  return { count, version, asOf: before ?? at, cached: before !== undefined };
}
