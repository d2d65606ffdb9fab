import type { Engine } from "../dataset/engine.ts";
import type { SegmentRequest } from "./requests.ts";

export interface CountAnswer {
  readonly count: number;
  readonly cached: boolean;
  /** ISO-8601: when the number was computed. */
  readonly asOf: string;
  readonly version: string;
}

interface Entry {
  readonly count: number;
  readonly asOf: string;
  /** On the monotonic clock. */
  readonly expires: number;
}

export interface CountCacheOptions {
  readonly engine: Engine;
  readonly now: () => number;
  readonly monotonic: () => number;
  readonly ttlMs: number;
  /** Segments kept at most; the one that was put in first goes first. */
  readonly maxEntries?: number;
}

/** A key longer than this is not kept: a list of a thousand values is hardly counted twice in five minutes. */
const MAX_KEY_LENGTH = 4_096;

/**
 * Counts by canonical filters for one dataset version (contract 4.2: "may be served from a cache of about 5 minutes"). Counts of
 * the same segment that are asked for at the same time share one computation; another dataset version empties the cache.
 */
export class CountCache {
  private readonly options: CountCacheOptions;
  private readonly maxEntries: number;
  private readonly entries = new Map<string, Entry>();
  private readonly running = new Map<string, Promise<CountAnswer>>();
  private version = "";

  constructor(options: CountCacheOptions) {
    this.options = options;
    this.maxEntries = options.maxEntries ?? 10_000;
  }

  /** The number where it is known and young enough. */
  known(request: SegmentRequest): CountAnswer | undefined {
    const { version } = this.options.engine.info();
    if (version !== this.version) {
      this.entries.clear();
      this.running.clear();
      this.version = version;
    }
    const entry = this.entries.get(request.canonical);
    if (entry === undefined) return undefined;
    if (this.options.monotonic() < entry.expires) {
      return { count: entry.count, cached: true, asOf: entry.asOf, version };
    }
    this.entries.delete(request.canonical);
    return undefined;
  }

  async count(request: SegmentRequest): Promise<CountAnswer> {
    const known = this.known(request);
    if (known !== undefined) return known;
    const { version } = this;
    const key = request.canonical;
    const running = this.running.get(key);
    if (running !== undefined) return running;
    const computing = this.compute(request, version).finally(() => {
      if (this.running.get(key) === computing) this.running.delete(key);
    });
    this.running.set(key, computing);
    return computing;
  }

  private async compute(request: SegmentRequest, version: string): Promise<CountAnswer> {
    const { engine, monotonic, now, ttlMs } = this.options;
    const started = monotonic();
    const asOf = new Date(now()).toISOString();
    const count = await engine.count(request.filters);
    const after = engine.info().version;
    // The dataset was replaced meanwhile: which one was counted is not known, so count again.
    if (after !== version) return this.compute(request, after);
    if (version === this.version && request.canonical.length <= MAX_KEY_LENGTH) {
      if (this.entries.size >= this.maxEntries) {
        const [oldest] = this.entries.keys();
        if (oldest !== undefined) this.entries.delete(oldest);
      }
      this.entries.set(request.canonical, { count, asOf, expires: started + ttlMs });
    }
    return { count, cached: false, asOf, version };
  }
}
