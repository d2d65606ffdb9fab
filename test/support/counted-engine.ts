import type { Engine } from "../../src/dataset/engine.ts";
import type { CanonicalFilters } from "../../src/shared/contract/vocabulary.ts";

/** An engine that says what it is asked to count: for `wrapEngine` of {@link startTestService}. */
export const countedBy =
  (asked: (filters: CanonicalFilters) => void) =>
  (engine: Engine): Engine =>
    new Proxy(engine, {
      get: (target, key) => {
        if (key === "count")
          return (filters: CanonicalFilters) => {
            asked(filters);
            return target.count(filters);
          };
        const value = Reflect.get(target, key) as unknown;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
