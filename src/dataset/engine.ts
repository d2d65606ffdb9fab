import type { Facet } from "../shared/contract/facets.ts";
import type { CanonicalFilters, FacetKey } from "../shared/contract/vocabulary.ts";

export interface DatasetInfo {
  /**
   * Changes with every import, generate or reload; cursors, count caches and runs are bound to it.
   */
  readonly version: string;
  readonly people: number;
  readonly companies: number;
}

/**
 * A slice of an ordered list, zero-based. The order
 * is the public order of the dataset version (`rid`).
 */
export interface Slice {
  readonly offset: number;
  readonly limit: number;
}

/**
 * Records as JSON text in UTF-8, one object each, fields
 * in published order: they go onto the wire byte for byte.
 */
export interface RecordPage {
  readonly records: readonly Buffer[];
  readonly total: number;
  /**
   * Which rows of the slice are left out since the version
   * was built: `records` lacks them, `total` does not.
   */
  readonly leftOut?: readonly number[];
}

/**
 * How one company is named: exactly one of the four
 * (docs/reference/contract.md, Enrich). Values in normal or canonical form.
 */
export interface CompanyLookup {
  readonly by: "domain" | "company_network_url" | "name" | "id";
  readonly value: string;
}

export interface FoundCompany {
  readonly id: string;
  readonly record: Buffer;
}

export interface FacetQuestion {
  readonly key: FacetKey;
  /** In normal form: only values that begin so. '' for all. */
  readonly prefix: string;
  readonly limit: number;
  readonly least: number;
}

export class OutOfTimeError extends Error {
  override readonly name = "OutOfTimeError";
}

/**
 * Where data cannot be read completely all methods reject:
 * never a short answer. A count is what `people` pages through.
 */
export interface Engine {
  info(): DatasetInfo;
  /** Whether a count of one filter is looked up, and nobody searched for. */
  readonly looksUp?: boolean | undefined;
  /** What of the stored data is known to be damaged, a sentence each: what needs it rejects. */
  readonly damage?: readonly string[] | undefined;
  /**
   * Resolves once a newer version has taken over: before an answer that was kept is given again.
   */
  current?(): Promise<void>;
  count(filters: CanonicalFilters): Promise<number>;
  /** How many of the segment have each value of a key. @throws OutOfTimeError after `limitMs` */
  facet(filters: CanonicalFilters, question: FacetQuestion, limitMs: number): Promise<Facet>;
  /**
   * The people of a slice of the segment, in public order;
   * the same row is at the same offset for every slice.
   */
  people(filters: CanonicalFilters, slice: Slice): Promise<RecordPage>;
  /**
   * The company, or undefined. Where a name is shared,
   * the one that comes first in the order of ids.
   */
  company(lookup: CompanyLookup): Promise<FoundCompany | undefined>;
  /**
   * People of a company by its id, in public order: those
   * that {@link ofCompany} finds where it has an address.
   */
  employees(companyId: string, slice: Slice): Promise<RecordPage>;
  /**
   * Recomputes what can be checked of the stored data.
   * @returns one sentence for each breach; empty when sound
   */
  verify(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/**
 * The filter that finds the people of a company by its
 * address: a count of it is the number of its employees.
 */
export const ofCompany = (address: string): CanonicalFilters => ({
  exact: {},
  prefix: {},
  range: {},
  company_network_url: address,
});
