import { afterPrefix } from "../shared/contract/conditions.ts";
import type { Facet } from "../shared/contract/facets.ts";
import { type Dictionary, rangesOf } from "./embedded/dictionary.ts";
import type { FacetQuestion } from "./engine.ts";

export function facetOf(
  sums: Uint32Array,
  dictionary: Dictionary,
  { key, least, limit, prefix }: FacetQuestion,
): Facet {
  const { size } = dictionary;
  const begins = {
    kind: "prefix",
    column: key,
    from: prefix,
    before: afterPrefix(prefix),
  } as const;

  // Departments are kept as their names, all else in the normal form that a prefix comes in.
  const byName = key === "department";
  const [[from, to] = [0, size]] = byName ? [] : rangesOf(begins, dictionary);
  const isMore = (a: number, b: number): number => (sums[b] ?? 0) - (sums[a] ?? 0) || a - b;
  let distinct = 0;
  let codes: number[] = [];

  let enough = Math.max(1, least);
  for (let code = from; code < to; code++) {
    const people = sums[code] ?? 0;
    if (
      people === 0 ||
      (byName && !String(dictionary.value(code)).toLowerCase().startsWith(prefix))
    )
      continue;

    distinct++;
    if (people < enough) continue;

    codes.push(code);
    // Codes rise with the values: a later one has to be more, not as many.
    if (codes.length < 2 * limit + 100) continue;

    codes = codes.sort(isMore).slice(0, limit);
    enough = Math.max(enough, (sums[codes.at(-1) ?? 0] ?? 0) + 1);
  }

  const values = codes.sort(isMore).slice(0, limit);
  return withOthers({
    count: sums.reduce((sum, people) => sum + people, 0),
    missing: sums[size] ?? 0,
    distinct,
    values: values.map((code) => ({
      value: String(dictionary.value(code)),
      count: sums[code] ?? 0,
    })),
  });
}

export const withOthers = (facet: Omit<Facet, "others">): Facet => ({
  ...facet,
  others: facet.values.reduce((rest, { count }) => rest - count, facet.count - facet.missing),
});
