// Tested by test/planning/removed.test.ts.
import { groupsBy } from "../../shared/groups.ts";
import { countChunks, findGone } from "./removed.ts";

export interface PersonValue<T> {
  readonly person: T;
  readonly value: string;
}

export interface Question<T> {
  readonly values: readonly string[];
  readonly people: readonly T[];
}

export interface Most {
  readonly people: number;
  readonly values: number;
}

/**
 * No value's sets are among another's (a completely
 * separating system): whoever moved is missing from one.
 */
export async function findChanged<T>(
  pairs: readonly PersonValue<T>[],
  most: Most,
  present: (questions: readonly Question<T>[]) => Promise<readonly number[]>,
): Promise<T[]> {
  const changed = new Set<T>();
  for (const { values, people } of questionsFor(pairs, most)) {
    const rest = people.filter((person) => !changed.has(person));
    const count = (lists: readonly (readonly T[])[]): Promise<readonly number[]> =>
      present(lists.map((list) => ({ values, people: list })));
    const { leavers } = await findGone(
      await countChunks(rest, most.people, count),
      most.people,
      count,
    );
    for (const person of leavers) changed.add(person);
  }

  return [...changed];
}

export const testCalls = (pairs: readonly PersonValue<unknown>[], most: Most): number =>
  questionsFor(pairs, most).reduce(
    (sum, { people }) => sum + Math.ceil(people.length / most.people),
    0,
  );

function questionsFor<T>(pairs: readonly PersonValue<T>[], most: Most): Question<T>[] {
  const single = [...groupsBy(pairs, ({ value }) => value)]
    .map(([value, group]) => ({ values: [value], people: group.map(({ person }) => person) }))
    .sort((a, b) => b.people.length - a.people.length);
  // What many people share fills a count by itself.
  const isAlone = ({ people }: Question<T>): boolean => people.length * 2 >= most.people;
  const shared = single.filter((each) => !isAlone(each));
  const sizes = shared.map(({ people }) => people.length);
  const { sets, each } = designFor(sizes, most);
  if (each === 1 && sets >= shared.length) return single;

  const together = Array.from({ length: sets }, () => ({
    values: [] as string[],
    people: [] as T[],
  }));

  for (const [index, code] of codesFor(sizes, sets, each).entries()) {
    for (const set of code) {
      together[set]?.values.push(...(shared[index]?.values ?? []));
      together[set]?.people.push(...(shared[index]?.people ?? []));
    }
  }

  return [...single.filter(isAlone), ...together.filter(({ people }) => people.length > 0)];
}

const MOST_EACH = 8;

/** How many sets, and how many of them each value is in, for the fewest counts. */
function designFor(
  sizes: readonly number[],
  most: Most,
): { readonly sets: number; readonly each: number } {
  const values = sizes.length;
  const people = sizes.reduce((sum, size) => sum + size, 0);
  let best = { sets: values, each: 1, calls: Math.max(values, Math.ceil(people / most.people)) };
  for (let each = 2; each <= MOST_EACH && values > 2; each++) {
    const least = fewestSets(values, each);
    for (const sets of [least, Math.max(least, Math.ceil((people * each) / most.people))]) {
      if ((values * each) / sets > most.values * 0.8 || sets >= values) continue;
      const calls = sets * Math.max(1, Math.ceil((people * each) / sets / most.people));
      if (calls < best.calls) best = { sets, each, calls };
    }
  }

  return best;
}

function fewestSets(values: number, each: number): number {
  for (let sets = each + 1; ; sets++) {
    let ways = 1;
    for (let chosen = 0; chosen < each; chosen++) ways = (ways * (sets - chosen)) / (chosen + 1);
    if (Math.round(ways) >= values) return sets;
  }
}

/** Each value its own choice of sets, the emptiest first. @param sizes largest first */
function codesFor(sizes: readonly number[], sets: number, each: number): number[][] {
  const load = new Float64Array(sets);
  const used = new Set<string>();
  return sizes.map((size) => {
    const order = Array.from(load.keys()).sort((a, b) => (load[a] ?? 0) - (load[b] ?? 0));
    const code = firstUnused(order, each, used) ?? [];
    used.add(keyOf(code));
    for (const set of code) load[set] = (load[set] ?? 0) + size;
    return code;
  });
}

const keyOf = (code: readonly number[]): string => [...code].sort((a, b) => a - b).join();

function firstUnused(
  order: readonly number[],
  each: number,
  used: ReadonlySet<string>,
): number[] | undefined {
  const search = (from: number, chosen: number[]): number[] | undefined => {
    if (chosen.length === each) return used.has(keyOf(chosen)) ? undefined : chosen;
    for (let at = from; at < order.length; at++) {
      const code = search(at + 1, [...chosen, order[at] ?? 0]);
      if (code !== undefined) return code;
    }
    return undefined;
  };
  return search(0, []);
}
