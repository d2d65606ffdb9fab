import { COUNT_CACHE_SECONDS } from "../contract/records.ts";
import type { Engine } from "../dataset/engine.ts";
import { CountCache } from "./count-cache.ts";

/** A dataset with the cache of its counts: one for live keys, one for test keys. They share nothing. */
export interface World {
  readonly engine: Engine;
  readonly counts: CountCache;
}

export const makeWorld = (engine: Engine, now: () => number, monotonic: () => number): World => ({
  engine,
  counts: new CountCache({ engine, now, monotonic, ttlMs: COUNT_CACHE_SECONDS * 1_000 }),
});

/** The engine did not answer in time. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** Rejects with DeadlineError where the work takes longer than `ms`. The work itself cannot be stopped; its result is dropped. */
export function within<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new DeadlineError(`no answer from the dataset within ${ms} ms`)), ms);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/**
 * Runs work on one dataset version: where the dataset was replaced meanwhile, it is done again on the new one, so that the rows and
 * the version told with them belong together.
 */
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
