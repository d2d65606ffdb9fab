import { forgottenOf } from "../../engine/library/forget.ts";
import type { Library } from "../../engine/library/library.ts";
import { type CanonicalFilters, canonicalJson } from "../../shared/contract/filters.ts";

/** Whom nobody can name any more, of those who are in a segment and not owned. */
export interface Forgotten {
  readonly people: number;
  /** They are known to be all of them: nobody else is new, and nobody is bought for them. */
  readonly leftOut: boolean;
}

/**
 * Whoever was bought from this version of the dataset, and forgotten, is in the segment still; of others nobody knows.
 * @param others people in the segment who are not owned
 */
export function forgottenIn(
  segment: CanonicalFilters,
  others: number,
  version: string | undefined,
  library: Library | undefined,
): Forgotten {
  const canonical = canonicalJson(segment);
  if (library === undefined) return { people: 0, leftOut: false };
  const certain = version === undefined ? 0 : forgottenOf(library, canonical, version);
  const leftOut = certain > 0 && others === certain;
  return { people: leftOut ? certain : Math.min(others, forgottenOf(library, canonical, null)), leftOut };
}
