import { join } from "node:path";
import { type Engine, type FacetQuestion, OutOfTimeError } from "../../dataset/engine.ts";
import { type PeopleFolders, suppressionDir } from "../../dataset/suppression.ts";
import { COUNT_CACHE_SECONDS } from "../../shared/contract/records.ts";
import type { Unmatched } from "../../shared/contract/unmatched.ts";
import type { CanonicalFilters, Filters } from "../../shared/contract/vocabulary.ts";
import type { FacetResult } from "../../shared/schema/api.ts";
import type { KeyMode } from "../ledger/ledger.ts";
import { Sketches } from "../people/sketches.ts";
import { SuppressedPeople } from "../people/suppressed.ts";
import { unmatchedValues } from "../people/unmatched.ts";
import { within } from "../problem.ts";

interface Counted {
  readonly count: number;
  readonly cached: boolean;
  readonly asOf: string;
  readonly version: string;
  readonly entry: CountEntry;
}

interface CountEntry extends Pick<Counted, "count" | "version"> {
  readonly times: Map<string, string>;
  unmatched?: Promise<readonly Unmatched[] | undefined>;
}

export interface Clocks {
  readonly now: () => number;
  readonly monotonic: () => number;
}

const MAX_ENTRIES = 10_000;
/** A longer key is not kept. */
const MAX_KEY_LENGTH = 4_096;

/**
 * Counts of one dataset version (docs/reference/contract.md, Count).
 * Who asks at the same time shares one computation.
 */
async function countCache(engine: Engine, { monotonic, now }: Clocks) {
  const { LRUCache } = await import("lru-cache");
  const ttl = COUNT_CACHE_SECONDS * 1_000;
  const perf = { now: () => 1 + monotonic() };
  const entries = new LRUCache<string, CountEntry>({
    max: MAX_ENTRIES,
    ttl,
    ttlResolution: 0,
    perf,
  });

  const running = new Map<string, Promise<CountEntry>>();
  let current = "";
  const time = (): string => new Date(now()).toISOString();

  async function recall(key: string, whose: string): Promise<Counted | undefined> {
    await engine.current?.();
    const { version } = engine.info();
    if (version !== current) {
      entries.clear();
      running.clear();
      current = version;
    }
    const entry = entries.get(key);
    return entry && answerFor(entry, whose, time());
  }

  async function count(filters: CanonicalFilters, key: string, whose: string): Promise<Counted> {
    const counted = await recall(key, whose);
    if (counted !== undefined) return counted;
    const at = time();
    const begun = running.get(key);
    if (begun !== undefined) return { ...answerFor(await begun, whose, at), cached: false };
    const computing = compute(filters, key, engine.info().version).finally(() => {
      if (running.get(key) === computing) running.delete(key);
    });
    running.set(key, computing);
    return answerFor(await computing, whose, at);
  }

  async function compute(
    filters: CanonicalFilters,
    key: string,
    version: string,
  ): Promise<CountEntry> {
    const start = monotonic();
    const people = await engine.count(filters);
    const after = engine.info().version;
    // The dataset was replaced meanwhile: which one was counted is not known, so count again.
    if (after !== version) return compute(filters, key, after);
    const counted = { count: people, version, times: new Map<string, string>() };
    if (version === current && key.length <= MAX_KEY_LENGTH)
      entries.set(key, counted, { start: 1 + start });
    return counted;
  }

  return { recall, count, unmatched: unmatchedOf(engine) };
}

/** Which values nobody has; undefined where that is not known of the version that was counted. */
function unmatchedOf(engine: Engine) {
  let values = unmatchedValues(engine);

  return async ({ count: people, entry, version }: Counted, key: string) => {
    if (values.version !== version) values = unmatchedValues(engine);
    if (values.version !== version) return undefined;
    entry.unmatched ??= values.unmatched(JSON.parse(key) as Filters, people === 0);
    return entry.unmatched;
  };
}

/** An account learns when it asked itself, and not that another one did. */
function answerFor(entry: CountEntry, whose: string, at: string): Counted {
  const { count, times, version } = entry;
  const before = times.get(whose);
  times.set(whose, before ?? at);
  return { count, version, asOf: before ?? at, cached: before !== undefined, entry };
}

export interface ServedDataset {
  readonly engine: Engine;
  readonly counts: Awaited<ReturnType<typeof countCache>>;
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
    return {
      engine: shown,
      counts: await countCache(shown, clocks),
      suppressed,
      sketches: new Sketches(),
    };
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
      const looks = [served.engine.current?.(), test?.then(({ engine }) => engine.current?.())];
      for (const each of looks) each?.catch(() => undefined);
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

export async function facetsOf(
  engine: Engine,
  { filters, question }: { readonly filters: CanonicalFilters; readonly question: FacetQuestion },
  { facet: limitMs, now, work }: Readonly<Record<"facet" | "work", number>> & Pick<Clocks, "now">,
): Promise<FacetResult> {
  const base = { key: question.key, least: question.least, as_of: new Date(now()).toISOString() };
  try {
    return {
      ...base,
      ...(await within(engine.facet(filters, question, limitMs), work)),
      exact: true,
    };
  } catch (error) {
    if (!(error instanceof OutOfTimeError)) throw error;

    const reason =
      `counting the values of this segment takes longer than ${limitMs} ms; ` +
      "narrow the filters, or count the values that you know";
    const nothing = {
      count: null,
      values: [] as const,
      others: null,
      missing: null,
      distinct: null,
    };

    return { ...base, ...nothing, exact: false, reason };
  }
}

export const datasetDir = (dir: string): string => join(dir, "dataset");
export const testDatasetDir = (dir: string): string => join(dir, "test-dataset");

export const peopleFolders = (dir: string): PeopleFolders => ({
  suppression: suppressionDir(datasetDir(dir)),
  dataset: datasetDir(dir),
  testDataset: testDatasetDir(dir),
});
