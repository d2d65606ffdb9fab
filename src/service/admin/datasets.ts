import { join } from "node:path";
import type { LRUCache } from "lru-cache";
import { type Engine, type FacetQuestion, OutOfTimeError } from "../../dataset/engine.ts";
import { type PeopleFolders, suppressionDir } from "../../dataset/suppression.ts";
import { COUNT_CACHE_SECONDS } from "../../shared/contract/records.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { FacetResult } from "../../shared/schema/api.ts";
import type { KeyMode } from "../ledger/ledger.ts";
import { Sketches } from "../people/sketches.ts";
import { SuppressedPeople } from "../people/suppressed.ts";
import { within } from "../problem.ts";

interface Counted {
  readonly count: number;
  readonly cached: boolean;
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
/** A longer key is not kept. */
const MAX_KEY_LENGTH = 4_096;

/** Counts of one dataset version (docs/contract.md, Count). Who asks at the same time shares one computation. */
class CountCache {
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
    const { LRUCache } = await import("lru-cache");
    const ttl = COUNT_CACHE_SECONDS * 1_000;
    const entries = new LRUCache<string, Known>({
      max: MAX_ENTRIES,
      ttl,
      ttlResolution: 0,
      perf: { now: () => 1 + clocks.monotonic() },
    });
    return new CountCache(engine, clocks, entries);
  }

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

export interface ServedDataset {
  readonly engine: Engine;
  readonly counts: CountCache;
  readonly suppressed: SuppressedPeople;
  readonly sketches: Sketches;
}

export async function serveDatasets(
  live: Engine,
  openTest: (() => Promise<Engine>) | undefined,
  clocks: Clocks,
  people: PeopleFolders | undefined,
) {
  const suppressed = new SuppressedPeople(people?.suppression);
  const serve = async (engine: Engine, datasetDir: string | undefined): Promise<ServedDataset> => {
    const shown = datasetDir === undefined ? engine : suppressed.over(engine, datasetDir);
    return { engine: shown, counts: await CountCache.over(shown, clocks), suppressed, sketches: new Sketches() };
  };
  const served = await serve(live, people?.dataset);
  const opened = Promise.resolve(served);
  let test: Promise<ServedDataset> | undefined;
  return {
    dataset(mode: KeyMode): Promise<ServedDataset> {
      if (mode === "live" || openTest === undefined) return opened;
      test ??= openTest()
        .then((engine) => serve(engine, people?.testDataset))
        .catch((error: unknown) => {
          test = undefined;
          throw error;
        });
      return test;
    },
    look(): void {
      const looked = [served.engine.current?.(), test?.then(({ engine }) => engine.current?.())];
      for (const each of looked) each?.catch(() => undefined);
    },
  };
}

/** Does work again where the dataset was replaced meanwhile. */
export async function onOneVersion<Result>(
  engine: Engine,
  work: (version: string) => Promise<Result>,
): Promise<Result> {
  for (;;) {
    const { version } = engine.info();
    const result = await work(version);
    if (engine.info().version === version) return result;
  }
}

interface FacetLimits {
  readonly facet: number;
  readonly work: number;
  readonly now: () => number;
}

export async function facetsOf(
  engine: Engine,
  { filters, question }: { readonly filters: CanonicalFilters; readonly question: FacetQuestion },
  { facet: limitMs, now, work }: FacetLimits,
): Promise<FacetResult> {
  const told = { key: question.key, least: question.least, as_of: new Date(now()).toISOString() };
  try {
    return { ...told, ...(await within(engine.facet(filters, question, limitMs), work)), exact: true };
  } catch (error) {
    if (!(error instanceof OutOfTimeError)) throw error;
    const reason = `counting the values of this segment takes longer than ${limitMs} ms; narrow the filters, or count the values that you know`;
    const nothing = { count: null, values: [] as const, others: null, missing: null, distinct: null };
    return { ...told, ...nothing, exact: false, reason };
  }
}

export const datasetDir = (dir: string): string => join(dir, "dataset");
export const testDatasetDir = (dir: string): string => join(dir, "test-dataset");

export const peopleFolders = (dir: string): PeopleFolders => ({
  suppression: suppressionDir(datasetDir(dir)),
  dataset: datasetDir(dir),
  testDataset: testDatasetDir(dir),
});
