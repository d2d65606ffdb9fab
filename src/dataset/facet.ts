import type { Facet, FacetValue } from "../contract/facets.ts";
import type { FacetQuestion } from "./engine.ts";

/** The facet of people who are grouped by their value, null for those without one. */
export function facetOf(
  groups: Iterable<readonly [value: string | null, people: number]>,
  { key, least, limit, prefix }: FacetQuestion,
): Facet {
  let count = 0;
  let missing = 0;
  let distinct = 0;
  const shared: FacetValue[] = [];
  for (const [value, people] of groups) {
    count += people;
    if (value === null) missing += people;
    else if ((key === "department" ? value.toLowerCase() : value).startsWith(prefix)) {
      distinct++;
      if (people >= least) shared.push({ value, count: people });
    }
  }
  shared.sort((a, b) => b.count - a.count || byCodePoints(a.value, b.value));
  return withOthers({ count, values: shared.slice(0, limit), missing, distinct });
}

export const withOthers = (facet: Omit<Facet, "others">): Facet => ({
  ...facet,
  others: facet.values.reduce((rest, { count }) => rest - count, facet.count - facet.missing),
});

const byCodePoints = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
