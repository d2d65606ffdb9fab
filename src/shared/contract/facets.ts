// Tested by test/scene/contradicted.test.ts.
import { grouped } from "./text.ts";

// Tested by test/service/facets.test.ts.

export const FACET_VALUES_DEFAULT = 20;
export const FACET_VALUES_MAX = 1_000;
/**
 * A value that fewer people of the segment share is not
 * told: the facets of one person would be the record.
 */
export const FACET_LEAST = 3;

export interface FacetValue {
  /** In normal form (a department as its name): as it is, it can be sent as a filter. */
  readonly value: string;
  readonly count: number;
}

/**
 * Values of a key among the people of a segment: `count`
 * is the sum of all values told, `others` and `missing`.
 */
export interface Facet {
  readonly count: number;
  /** The most frequent first, then by code point. */
  readonly values: readonly FacetValue[];
  /** People with a value that is not told. */
  readonly others: number;
  /** People without a value. */
  readonly missing: number;
  /** Different values in the segment; with a prefix those that begin with it. */
  readonly distinct: number;
}

/**
 * Parts of a segment by a key of which everybody has one value cannot have more people than it.
 * @param more how many they have beyond the whole
 */
export const contradiction = (key: string, more: number, whole: number): string =>
  `warning: the counts contradict each other: nobody has two values of ${key}, and together ` +
  `the parts have ${grouped(more)} more than the ${grouped(whole)} of the segment; it is counted ` +
  "too low, or they too high";
