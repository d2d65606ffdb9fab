import { type Engine, type FacetQuestion, OutOfTimeError } from "../../dataset/engine.ts";
import type { CanonicalFilters } from "../../shared/contract/filters.ts";
import type { FacetResult } from "../../shared/schema/api.ts";
import { within } from "./deadline.ts";

interface FacetLimits {
  readonly facet: number;
  readonly work: number;
  readonly now: () => number;
}

/** Values of a key inside a segment. What takes too long is answered without them, and says so. */
export async function facetsOf(
  engine: Engine,
  { filters, question }: { readonly filters: CanonicalFilters; readonly question: FacetQuestion },
  { facet: limitMs, now, work }: FacetLimits,
): Promise<FacetResult> {
  const told = { key: question.key, least: question.least, as_of: new Date(now()).toISOString() };
  try {
    return { ...told, ...(await within(engine.facet(filters, question, limitMs), work)), exact: true };
  } catch (error) {
    if (!(error instanceof OutOfTimeError)) throw error;
    const reason = `counting the values of this segment takes longer than ${limitMs} ms; narrow the filters, or count the values that you know`;
    const nothing = { count: null, values: [] as const, others: null, missing: null, distinct: null };
    return { ...told, ...nothing, exact: false, reason };
  }
}
