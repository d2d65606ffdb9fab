import type { FacetQuestion } from "../../src/dataset/engine.ts";
import type { Facet } from "../../src/shared/contract/facets.ts";
import { normalForm } from "../../src/shared/contract/normalise.ts";
import type { Person } from "../../src/shared/contract/records.ts";
import { FACET_KEYS, type FacetKey } from "../../src/shared/contract/vocabulary.ts";

/** The facet of some people, by the words of docs/reference/contract.md and nothing clever. */
export function naiveFacet(
  people: readonly Person[],
  { key, least, limit, prefix }: FacetQuestion,
): Facet {
  const values = people.map((person) => {
    const own = person[key];
    return own === null || key === "department" ? own : normalForm(own) || null;
  });
  const groups = new Map<string, number>();
  for (const value of values) if (value !== null) groups.set(value, (groups.get(value) ?? 0) + 1);
  const wanted = [...groups].filter(([value]) => normalForm(value).startsWith(prefix));
  const told = wanted
    .filter(([, count]) => count >= least)
    .sort(([a, m], [b, n]) => n - m || Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .slice(0, limit)
    .map(([value, count]) => ({ value, count }));
  const missing = values.filter((value) => value === null).length;
  const sum = told.reduce((total, { count }) => total + count, 0);
  return {
    count: values.length,
    values: told,
    others: values.length - missing - sum,
    missing,
    distinct: wanted.length,
  };
}

/** Any key, with beginnings of values that there are and of others. */
export function randomFacet(people: readonly Person[], random: () => number): FacetQuestion {
  const key = FACET_KEYS[Math.floor(random() * FACET_KEYS.length)] as FacetKey;
  const own = people[Math.floor(random() * people.length)]?.[key] ?? "nothing";
  const from = [...normalForm(own)];
  return {
    key,
    prefix: random() < 0.5 ? "" : from.slice(0, Math.floor(random() * 4)).join(""),
    limit: [1, 5, 20, 1_000][Math.floor(random() * 4)] ?? 1,
    least: [1, 3, 10][Math.floor(random() * 3)] ?? 1,
  };
}
