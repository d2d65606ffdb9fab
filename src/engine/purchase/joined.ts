// Tested by test/unit/joined.test.ts.

import { FACET_VALUES_MAX } from "../../shared/contract/facets.ts";
import { type CheckedFilters, checkFilters } from "../../shared/contract/filters.ts";
import { counted, grouped } from "../../shared/contract/text.ts";
import {
  type FacetKey,
  FILTER_SPECS,
  type FilterKey,
  type Filters,
  isFacetKey,
} from "../../shared/contract/vocabulary.ts";
import { type CliError, clauses, failed, option, say, usageError } from "../../shared/errors.ts";
import { checkedFilters } from "../../shared/filters.ts";
import type { CountView, ServiceClient } from "../client/types.ts";
import {
  InseparableError,
  joinedFilters,
  type Segment,
  Sets,
  segmentOf,
} from "../planning/algebra.ts";
import type { Target } from "../runs/plan.ts";

const MAX_COUNTS = 2_000;

export type SearchTarget = Target & { readonly kind: "search" };

/**
 * What a search buys: one segment where the several can
 * be one, else their union without those of `except`.
 */
export function searchTarget(
  segments: readonly CheckedFilters[],
  except: readonly CheckedFilters[],
): SearchTarget {
  const spelled = spelling([...segments, ...except].map(({ filters }) => filters));
  const [union, without] = [segments, except].map((each) =>
    joinedFilters(each.map(({ canonical }) => segmentOf(canonical))),
  );
  const [first = {}] = union ?? [];
  const filters = segments.length === 1 ? (segments[0]?.filters ?? {}) : spelled(first);
  const texts = (sets: readonly Segment[] = []): string => sets.map(textOf).sort().join(" or ");
  const canonical = `${texts(union)}${except.length === 0 ? "" : ` except ${texts(without)}`}`;

  return {
    kind: "search",
    filters,
    canonical,
    ...(union === undefined || union.length < 2 ? {} : { union: union.map(spelled) }),
    ...(without === undefined || without.length === 0 ? {} : { except: without.map(spelled) }),
  };
}

const textOf = (segment: Segment): string =>
  JSON.stringify(
    Object.fromEntries(
      FILTER_SPECS.flatMap(({ key }) => (key in segment ? [[key, segment[key]]] : [])),
    ),
  );

/**
 * Gives values the spelling back that they came with:
 * a service may tell upper case from lower case.
 */
function spelling(sets: readonly Filters[]): (segment: Segment) => Filters {
  const raw = new Map<string, string>();
  for (const filters of sets)
    for (const [key, value] of Object.entries(filters))
      for (const text of [value].flat()) {
        const checked = checkFilters({ [key]: text });
        const [normal] = checked.ok ? [segmentOf(checked.canonical)[key as FilterKey]].flat() : [];
        if (typeof text === "string" && normal !== undefined && !raw.has(`${key} ${normal}`))
          raw.set(`${key} ${normal}`, text);
      }

  const spelled = (key: string, value: string | number): string | number =>
    raw.get(`${key} ${value}`) ?? value;

  return (segment) =>
    Object.fromEntries(
      Object.entries(segment).map(([key, value]) => [
        key,
        Array.isArray(value)
          ? value.map((one: string) => spelled(key, one))
          : spelled(key, value as string | number),
      ]),
    ) as Filters;
}

export const isSet = (target: Target): boolean =>
  target.kind === "search" && (target.union !== undefined || target.except !== undefined);

type ListOf = (filters: Filters, key: FilterKey) => Promise<readonly string[] | undefined>;

/**
 * Values of a key as a service lists them: of the segment,
 * or where it keeps rare ones back of its whole dataset.
 */
function valuesFrom(client: ServiceClient, signal: AbortSignal): ListOf {
  const lists = new Map<FilterKey, Promise<readonly string[] | undefined>>();
  const list = async (
    filters: Filters,
    key: FacetKey,
    whole: boolean,
  ): Promise<readonly string[] | undefined> => {
    const facet = await client.facets(filters, key, { limit: FACET_VALUES_MAX, signal });
    if (facet === undefined || !facet.exact || (whole && facet.others !== 0)) return undefined;
    return facet.values.map(({ value }) => value);
  };

  return async (filters, key) => {
    if (!isFacetKey(key)) return undefined;
    const all = lists.get(key) ?? list({}, key, false);
    lists.set(key, all);
    // Nobody lists anything where the first answer was that there is no such call.
    return (await all) === undefined ? undefined : ((await list(filters, key, true)) ?? all);
  };
}

export interface Counting {
  readonly count: (filters: Filters) => Promise<CountView>;
  readonly values?: ListOf;
}

function look(
  { filters, union = [filters], except = [] }: SearchTarget,
  { count, values }: Counting,
) {
  const spelled = spelling([...union, ...except]);
  const version = oneVersion();
  let calls = 0;
  const sets = new Sets(
    async (segment) => {
      if (++calls > MAX_COUNTS) throw tooMany();
      const view = await count(spelled(segment));
      version.see(view.meta);
      return view.count;
    },
    async (segment, key) => values?.(spelled(segment), key),
  );
  const segment = (each: Filters): Segment => segmentOf(checkedFilters(each).canonical);

  return {
    sets,
    spelled,
    segments: union.map(segment),
    except: except.map(segment),
    calls: () => calls,
    version,
  };
}

export async function countJoined(target: SearchTarget, counting: Counting): Promise<number> {
  const { sets, segments, except } = look(target, counting);
  return (await sets.people([...segments, ...except])) - (await sets.people(except));
}

/**
 * By free counts.
 * @throws CliError exit 2 for an `except` that cannot be left out, 8 for counts that do not add up
 */
export async function joinedOffer(
  target: SearchTarget,
  client: ServiceClient,
  {
    interrupted,
    onNotice,
  }: { readonly interrupted: AbortSignal; readonly onNotice: (text: string) => void },
) {
  const view = look(target, {
    count: (filters) => client.count(filters, interrupted),
    values: valuesFrom(client, interrupted),
  });
  const { sets, spelled, segments, except } = view;

  try {
    const { parts, overlap } = await sets.parts(segments, except);
    const matches = parts.reduce((sum, { count }) => sum + count, 0);
    const people = (await sets.people([...segments, ...except])) - (await sets.people(except));
    if (matches - overlap > people || matches < people) throw unsound(matches, people);

    const where = parts.length === 1 ? "" : ` in ${counted(parts.length, "part")}`;
    const apart = overlap === 0 ? "" : `, ${grouped(matches - people)} of them more than once`;
    onNotice(
      `the segments are ${counted(people, "person", "people")}${where}${apart}, ` +
        `as ${counted(view.calls(), "free count")} told`,
    );

    return {
      matches,
      parts: parts.map(({ segment }) => spelled(segment)),
      counts: parts.map(({ count }) => count),
      overlap: matches - people,
      datasetVersion: view.version.told,
    };
  } catch (error) {
    if (!(error instanceof InseparableError)) throw error;
    const except = option("except");
    const people = counted(error.people, "person", "people");
    throw usageError(
      say`${except} cannot be held to: ${grouped(error.both)} of ${people} are in it, and no filter
        says "but not those"; nothing was spent`,
      clauses(
        say`without ${except} they are bought too, for ${counted(error.both, "profile")} more`,
        say`an ${except} by department, seniority level, a range, or the keys of the segment can be
          held to`,
      ),
      "inseparable",
    );
  }
}

const tooMany = (): CliError =>
  usageError(
    `taking these segments apart takes more than ${grouped(MAX_COUNTS)} free counts; ` +
      "nothing was spent",
    "give fewer segments at once",
    "too_many_counts",
  );

export type OneVersion = ReturnType<typeof oneVersion>;

/** Counts that are to be of one dataset. */
export function oneVersion() {
  const versions = new Set<string | undefined>();
  return {
    /** @throws CliError exit 8 where another one was told before */
    see({ datasetVersion }: CountView["meta"]): void {
      if (versions.add(datasetVersion).size > 1) throw movedBetween();
    },
    get told(): string | undefined {
      return [...versions][0];
    },
  };
}

const movedBetween = (): CliError =>
  failed.service(
    "the service changed its dataset between two counts; nothing was spent",
    "run it again",
    "dataset_moved",
  );

const unsound = (parts: number, people: number): CliError =>
  failed.service(
    `the counts do not add up: the parts hold ${counted(parts, "person", "people")} ` +
      `and the segments ${grouped(people)}; they are approximate, ` +
      "or the dataset moved; nothing was spent",
    "run it again, or buy the segments one after the other",
    "unsound_counts",
  );
