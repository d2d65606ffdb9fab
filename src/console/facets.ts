import { FACET_KEYS } from "../shared/contract/facets.ts";
import type { FilterKey, Filters } from "../shared/contract/filters.ts";
import { api } from "./api.ts";

/** What the people of a segment have under one key. */
export interface Facets {
  readonly key: string;
  readonly values: readonly { readonly value: string; readonly count?: number }[];
  /** People of values that are not named; null where it was cut. */
  readonly others: number | null;
  readonly missing: number | null;
  readonly exact: boolean;
  readonly reason?: string;
}

/** The keys that a breakdown can be by, the most telling first. */
export const BREAKDOWN_KEYS: readonly FilterKey[] = [
  "department",
  "country",
  "seniority_level",
  "industry",
  ...FACET_KEYS.filter((key) => !["department", "country", "seniority_level", "industry"].includes(key)),
];

export const requestFacets = (
  request: {
    readonly filters: Filters;
    readonly mode: string;
    readonly key: string;
    readonly prefix?: string;
    readonly limit: number;
  },
  signal: AbortSignal,
): Promise<Facets> => api<Facets>("POST", "/facets", request, signal);
