// Tested by test/service/unmatched.test.ts.
import type { Engine } from "../../dataset/engine.ts";
import { FACET_LEAST, FACET_VALUES_MAX } from "../../shared/contract/facets.ts";
import { canonicalJson, checkFilters } from "../../shared/contract/filters.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { type Asked, type Unmatched, unmatchedIn } from "../../shared/contract/unmatched.ts";
import {
  type FacetKey,
  type FilterKey,
  type Filters,
  isFacetKey,
} from "../../shared/contract/vocabulary.ts";
import { Problem } from "../problem.ts";

/** Where a count of one filter is a search, so many are made for a notice. */
const MOST_SEARCHES = 10;
/** A longer list is a program's, which wants a number: it is not looked into, value by value. */
const MOST_VALUES = 100;
/** Values that are remembered as somebody's, which spares a count of each. */
const MOST_HAD = 10_000;
/** A list of the values of a key that takes longer is not waited for. */
const LIST_MS = 2_000;

const EVERYBODY = { exact: {}, prefix: {}, range: {} } as const;

/** Values that somebody has: a program asks with the same ones again and again. */
class Had {
  readonly #values = new Set<string>();

  has(key: string, text: string): boolean {
    return this.#values.has(`${key} ${text}`);
  }

  /** The value of a single filter that found somebody. */
  learn(filters: Filters): void {
    const [[key, value] = [], ...others] = Object.entries(filters);
    if (others.length > 0 || Array.isArray(value)) return;
    if (this.#values.size >= MOST_HAD) this.#values.clear();
    this.#values.add(`${key} ${normalForm(String(value))}`);
  }
}

/**
 * Which values of a segment nobody has, in one version of a dataset. Where a count of one filter is
 * looked up that is known of every list, else of segments of nobody alone.
 */
export function unmatchedValues(engine: Engine) {
  const { version } = engine.info();
  const lists = new Map<FacetKey, Promise<readonly string[]>>();
  const had = new Had();

  function listed(key: FacetKey): Promise<readonly string[]> {
    const question = { key, prefix: "", limit: FACET_VALUES_MAX, least: FACET_LEAST };
    const list =
      lists.get(key) ??
      engine
        .facet(EVERYBODY, question, LIST_MS)
        .then(({ values }) => values.map(({ value }) => value))
        .catch(() => []);
    lists.set(key, list);
    return list;
  }

  function asked(): Asked {
    let searches = engine.looksUp === true ? Number.POSITIVE_INFINITY : MOST_SEARCHES;
    return {
      async values(filters, key) {
        const own = [filters[key as FilterKey] ?? []].flat();
        if (own.length === 0) return isFacetKey(key) ? listed(key) : [];
        return own.map((value) => normalForm(String(value))).filter((text) => had.has(key, text));
      },

      async count(filters) {
        if (searches-- <= 0) return undefined;
        const check = checkFilters(filters);
        const count = check.ok ? await engine.count(check.canonical) : 0;
        if (count > 0) had.learn(filters);
        return count;
      },
    };
  }

  /** Undefined where not every value was looked at. */
  async function unmatched(
    filters: Filters,
    isEmpty: boolean,
  ): Promise<readonly Unmatched[] | undefined> {
    const longest = Math.max(0, ...Object.values(filters).map((value) => [value].flat().length));
    if (longest > MOST_VALUES) return undefined;
    if (!isEmpty && longest <= 1) return [];
    if (!isEmpty && engine.looksUp !== true) return undefined;

    try {
      const looked = await unmatchedIn(filters, isEmpty, asked());
      return looked.open.length > 0 ? undefined : looked.unmatched;
    } catch {
      // The count itself was answered; a notice is worth no error.
      return undefined;
    }
  }

  return { version, unmatched };
}

interface Telling {
  /** Counts of fewer people are bounded; null: they are not. */
  readonly few: number | null;
  /** @throws Problem 429 where the account was told too much today */
  readonly tell: (disclosure: { readonly segment: string; readonly count: number }) => void;
}

/**
 * What an account may be told, in the words it sent: that nobody has a value is a count of nobody,
 * and the nearest that few have is left out.
 */
export function tellable(
  found: readonly Unmatched[] | undefined,
  sent: Filters,
  { few, tell }: Telling,
): readonly Unmatched[] | undefined {
  try {
    return found?.map(({ key, near, value }) => {
      const check = checkFilters({ [key]: value });
      if (few !== null && check.ok) tell({ segment: canonicalJson(check.canonical), count: 0 });

      const texts = [sent[key] ?? value].flat();
      return {
        key,
        value: texts.find((text) => normalForm(String(text)) === value) ?? value,
        near: near !== null && near.count < (few ?? 0) ? null : near,
      };
    });
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}
