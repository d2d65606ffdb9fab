import type { Engine } from "../../dataset/engine.ts";
import type { PeopleFolders } from "../../dataset/suppression.ts";
import { type Clocks, CountCache } from "../http/count-cache.ts";
import type { KeyMode } from "../ledger/ledger.ts";
import { SuppressedPeople } from "../people/suppressed.ts";

/** A dataset with the cache of its counts: one for live keys, one for test keys. They share nothing. */
export interface ServedDataset {
  readonly engine: Engine;
  readonly counts: CountCache;
  readonly suppressed: SuppressedPeople;
}

/** The datasets by the mode of a key. That of test keys is opened at the first call with one. */
export async function serveDatasets(
  live: Engine,
  openTest: (() => Promise<Engine>) | undefined,
  clocks: Clocks,
  people: PeopleFolders | undefined,
) {
  const suppressed = new SuppressedPeople(people?.suppression);
  const serve = async (engine: Engine, datasetDir: string | undefined): Promise<ServedDataset> => {
    const shown = datasetDir === undefined ? engine : suppressed.over(engine, datasetDir);
    return { engine: shown, counts: await CountCache.over(shown, clocks), suppressed };
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
          // Not for ever: the next call tries again.
          test = undefined;
          throw error;
        });
      return test;
    },
    /** Goes over to newer versions, where there are some, although nobody asks. */
    look(): void {
      const looked = [served.engine.current?.(), test?.then(({ engine }) => engine.current?.())];
      for (const each of looked) each?.catch(() => undefined);
    },
  };
}

/** Does work again where the dataset was replaced meanwhile: rows and the version told with them belong together. */
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
