// Tested by test/planning/cost.test.ts.
import { type FilterKey, type Filters, knownValues } from "../../shared/contract/vocabulary.ts";
import { groupsBy } from "../../shared/groups.ts";
import type { Dice } from "./draw.ts";
import { MOST_NAMED, type Presence } from "./presence.ts";
import { addressesOf, type Counts, type SegmentMember } from "./question.ts";
import { chunksOf } from "./removed.ts";
import { LISTS, LONGEST_LIST, memberFilters, RANGES } from "./values.ts";

/** What new people have in a key. */
interface Trait {
  readonly key: string;
  /** With the share of this and those before it. */
  readonly kinds: readonly { readonly upTo: number; readonly make: Make }[];
}

/** Of what an owned person has. */
type Make = (one: SegmentMember, random: Dice) => string | number | null | undefined;

/**
 * Shares: of the new people, who are like an owned one in
 * all that filters tell; of the owned, who did not move.
 */
export type Likeness = Readonly<Record<"alike" | "still", number>> & {
  readonly traits: readonly Trait[];
};

export const UNLIKE: Likeness = { alike: 0, still: 1, traits: [] };

const NEW_A_KIND = 24;

/**
 * By a tenth of the free counts that finding them takes.
 * @param most lists of names that are asked about
 */
export async function likenessIn(
  presence: Presence,
  people: readonly SegmentMember[],
  counts: Counts,
  most: number,
): Promise<Likeness> {
  const isTold = people.length > 0 && presence.others >= NEW_A_KIND && most > 0;
  const traits = isTold ? await traitsIn(presence, people, counts) : [];
  return { ...(await copiesIn(presence, people, counts, most)), traits };
}

/** A free count for each list, three for each number. */
async function traitsIn(
  { segment, others, present }: Presence,
  people: readonly SegmentMember[],
  counts: Counts,
): Promise<readonly Trait[]> {
  const traits: Trait[] = [];
  for (const key of [...LISTS, ...RANGES]) {
    const own = people.flatMap(({ values: { [key]: value } }) => value ?? []);
    if (own.length === 0 || Object.keys(segment).some((filter) => filter.startsWith(key))) continue;

    const kinds: Trait["kinds"][number][] = [];
    let upTo = 0;
    for (const { filters, having, make } of kindsOf(key, own, counts.listSize)) {
      const fresh =
        (await counts.count({ ...segment, ...filters })) - (having * present) / people.length;
      // Who has none stays without.
      upTo += Math.max(0, fresh / others) * (having === 0 ? 1 : people.length / having);
      kinds.push({ upTo, make });
    }

    const unowned = knownValues(key as FilterKey).filter((value) => !own.includes(value));
    const other: Make = (one, random) =>
      one.values[key] && (unowned[random(Math.max(1, unowned.length))] ?? null);

    if (kinds.length > 0)
      traits.push({ key, kinds: [...kinds, { upTo: Number.POSITIVE_INFINITY, make: other }] });
  }

  return traits;
}

/** @param own the values of those of the owned who have one */
function kindsOf(
  key: string,
  own: readonly (string | number)[],
  listSize: number,
): readonly { readonly filters: Filters; readonly having: number; readonly make: Make }[] {
  const asOwned: Make = (one) => one.values[key];
  if (RANGES.every((range) => range !== key)) {
    const values = [...new Set(own)];
    return values.length > Math.min(LONGEST_LIST, listSize)
      ? []
      : [{ filters: { [key]: values }, having: own.length, make: asOwned }];
  }

  const least = own.reduce<number>(
    (low, number) => Math.min(low, Number(number)),
    Number.POSITIVE_INFINITY,
  );
  const greatest = own.reduce<number>((high, number) => Math.max(high, Number(number)), 0);

  const from = (min: number, max?: number): Filters => ({
    [`${key}_min`]: min,
    ...(max && { [`${key}_max`]: max }),
  });

  const below: Make = (_, random) => random(least);

  return [
    ...(least > 1 ? [{ filters: from(0, least - 1), having: 0, make: below }] : []),
    {
      filters: from(greatest + 1),
      having: 0,
      make: (_, random) => greatest + 1 + random(greatest + 1),
    },
    { filters: from(least, greatest), having: own.length, make: asOwned },
  ];
}

/** A newcomer made of somebody owned. */
export function newcomerOf(
  one: SegmentMember,
  traits: Likeness["traits"],
  random: Dice,
): SegmentMember {
  const values = { ...one.values };
  for (const { key, kinds } of traits) {
    const at = random(1_000) / 1_000;
    values[key] = kinds.find(({ upTo }) => at < upTo)?.make(one, random) ?? null;
  }
  return { ...one, values };
}

/** So many new people are worth a list of names that is asked about. */
const NEW_A_LIST = 5;
const MOST_STILL = 24;

/**
 * Of the namesakes of people with few followers half have few by chance,
 * of those with many half have many, and all of them where they are
 * copies. By four free calls for each of at most so many lists of names.
 */
async function copiesIn(
  { segment, others, present }: Presence,
  people: readonly SegmentMember[],
  counts: Counts,
  most: number,
): Promise<Omit<Likeness, "traits">> {
  const hasFilter = Object.keys(segment).some((key) => /^(name|followers|network_url)/.test(key));
  const numbers = people.flatMap(({ values: { followers } }) =>
    typeof followers === "number" ? [followers] : [],
  );
  const median = numbers.sort((a, b) => a - b)[numbers.length >> 1];
  if (hasFilter || median === undefined) return UNLIKE;

  const names = [...groupsBy(people, ({ name = "" }) => name)];
  const lists = [true, false].flatMap((isFew) => {
    const side = isFew
      ? { followers_min: 0, followers_max: median }
      : { followers_min: median + 1 };
    const isHere = ({ address, values: { followers } }: SegmentMember): boolean =>
      address !== undefined && typeof followers === "number" && followers <= median === isFew;

    // A name that people on both sides have tells nothing.
    const own = names.filter(([name, owners]) => name !== "" && owners.every(isHere));
    return chunksOf(own, Math.min(counts.listSize, MOST_NAMED)).map((list, at) => ({
      list,
      at,
      side,
    }));
  });
  lists.sort((a, b) => a.at - b.at);

  let [sample, all, alike] = [0, 0, 0];
  for (const { list, side } of lists.slice(0, Math.min(most, Math.floor(others / NEW_A_LIST)))) {
    const owned = addressesOf(list.flatMap(([, owners]) => owners));
    const newIn = async (filters: Filters) =>
      (await counts.count(filters)) - (await counts.countAt(filters, owned));
    const filters = { ...segment, name: list.map(([name]) => name) };
    const fresh = await newIn(filters);
    sample += owned.length;
    all += fresh;
    alike += fresh === 0 ? 0 : 2 * (await newIn({ ...filters, ...side })) - fresh;
  }

  if (alike <= 2 * Math.sqrt(all)) return UNLIKE;

  const moving = people.filter(({ isKnown, address }) => !isKnown && address !== undefined);
  const some = moving.filter(
    (_, at) => at % Math.ceil(moving.length / Math.min(MOST_STILL, 2 * others)) === 0,
  );
  let still = 0;
  for (const one of some)
    still += await counts.countAt({ ...memberFilters(one), ...segment }, addressesOf([one]));

  return {
    // Who is like somebody who left is told apart like anybody else.
    alike: Math.min(1, (alike * present) / (others * sample)),
    still: some.length === 0 ? 1 : Math.min(1, (still * people.length) / (some.length * present)),
  };
}
