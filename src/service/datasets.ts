import type { Engine } from "../dataset/engine.ts";
import { type Clocks, CountCache } from "./count-cache.ts";
import type { KeyMode } from "./ledger/ledger.ts";

/** A dataset with the cache of its counts: one for live keys, one for test keys. They share nothing. */
export interface ServedDataset {
  readonly engine: Engine;
  readonly counts: CountCache;
}

/** The datasets by the mode of a key. That of test keys is opened at the first call with one; without it they see the live one. */
export async function serveDatasets(live: Engine, openTest: (() => Promise<Engine>) | undefined, clocks: Clocks) {
  const serve = async (engine: Engine): Promise<ServedDataset> => ({
    engine,
    counts: await CountCache.over(engine, clocks),
  });
  const served = await serve(live);
  let test: Promise<ServedDataset> | undefined;
  return async (mode: KeyMode): Promise<ServedDataset> => {
    if (mode === "live" || openTest === undefined) return served;
    test ??= openTest()
      .then(serve)
      .catch((error: unknown) => {
        // Not for ever: the next call tries again.
        test = undefined;
        throw error;
      });
    return test;
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
