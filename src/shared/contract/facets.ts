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
