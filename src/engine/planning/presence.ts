// Tested by test/planning/cost.test.ts.
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { isSlug, slugOf } from "../../shared/contract/naming/slug.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { groupsBy } from "../../shared/groups.ts";
import {
  addressesOf,
  type Counts,
  type OwnedAddress,
  type SegmentMember,
  UnsoundCountsError,
} from "./question.ts";
import { type Chunk, chunksOf, countChunks, findGone, type Present } from "./removed.ts";

/** One address or one name stands for them: all are there, or nobody can say who. */
interface Group {
  readonly people: readonly SegmentMember[];
  readonly present: number;
}

export interface Presence {
  readonly segment: Filters;
  readonly total: number;
  readonly present: number;
  /** Those in the segment who were not asked after. */
  readonly others: number;
  readonly chunks: readonly Chunk<Item>[];
  /** Several at one address, or without an address and told by the name. */
  readonly groups: readonly Group[];
  /** Free calls that it took. */
  readonly calls: number;
  /** With neither address nor name: no count tells whether they are there. */
  readonly unknown: readonly SegmentMember[];
  /**
   * Where a sketch told it, or ids: digests, or ids, of the others,
   * who are bought by these and by no filter; identities.
   */
  readonly sketch?: Readonly<Record<"fresh" | "members" | "leavers", readonly string[]>>;
}

/** Several people where one of them was imported without an id. */
interface Item {
  readonly address: OwnedAddress;
  readonly people: readonly SegmentMember[];
}

/** One free count for the segment, and one for each list of addresses. */
export async function lookFor(
  segment: Filters,
  people: readonly SegmentMember[],
  counts: Counts,
): Promise<Presence> {
  const { calls } = counts;
  const total = await counts.count(segment);
  const items = byAddress(people);
  const isSeveral = (item: Item): boolean =>
    item.people.filter(({ identity }) => !identity.startsWith("@")).length > 1;
  const single = items.filter((item) => !isSeveral(item));
  const present = presentIn(segment, counts);

  // The first list teaches how many the service takes.
  const size = counts.listSize;
  const begun = await countChunks(single.slice(0, size), size, present);
  const first = counts.listSize === size ? begun : [];
  const chunks = [
    ...first,
    ...(await countChunks(single.slice(first.length * size), counts.listSize, present)),
  ];

  const groups = await Promise.all(
    items
      .filter(isSeveral)
      .map(async ({ address, people }) => group(people, await counts.countAt(segment, [address]))),
  );
  groups.push(...(await byName(segment, people, single, counts)));

  const owned = [...chunks, ...groups].reduce((sum, each) => sum + each.present, 0);
  if (owned > total) throw new UnsoundCountsError(`${owned} of ${total} people are owned`);

  const unknown = people.filter(({ address, name }) => address === undefined && name === undefined);
  const sight = { segment, total, present: owned, others: total - owned, chunks, groups, unknown };

  return { ...sight, calls: counts.calls - calls };
}

export async function tellApart({ segment, chunks, groups }: Presence, counts: Counts) {
  const split = await findGone(chunks, counts.listSize, presentIn(segment, counts));
  const members = split.members.flatMap(({ people }) => people);
  // A group of which only some are there is bought again.
  const whole = groups.filter(({ people, present }) => present === people.length);
  return { owned: [...members, ...whole.flatMap(({ people }) => people)] };
}

export const identitiesThere = async (
  presence: Presence,
  counts: Counts,
): Promise<readonly string[]> =>
  presence.sketch?.members ??
  (await tellApart(presence, counts)).owned.map(({ identity }) => identity);

export const MOST_NAMED = 400;

/**
 * Who took the name of another in the same list is not
 * noticed; the plan contradicts the counts then, and ends.
 */
export async function namesHold(
  segment: Filters,
  members: readonly SegmentMember[],
  counts: Counts,
): Promise<Set<SegmentMember>> {
  const people = members.filter(({ name, address }) => name !== undefined && address !== undefined);
  const most = Math.min(counts.listSize, MOST_NAMED);
  const present: Present<SegmentMember> = (lists) =>
    Promise.all(
      lists.map((list) => {
        const names = [...new Set(list.flatMap(({ name }) => name ?? []))];
        return counts.countAt({ ...segment, name: names }, addressesOf(list));
      }),
    );
  return new Set((await findGone(await countChunks(people, most, present), most, present)).members);
}

export const isWholeSegment = ({ chunks, groups, others, sketch, unknown }: Presence): boolean =>
  others === 0 &&
  !sketch?.leavers.length &&
  unknown.length === 0 &&
  chunks.every(({ items, present }) => items.length === present) &&
  groups.every(({ people, present }) => people.length === present);

const presentIn =
  (segment: Filters, counts: Counts): Present<Item> =>
  (lists) =>
    Promise.all(
      lists.map((list) =>
        counts.countAt(
          segment,
          list.map(({ address }) => address),
        ),
      ),
    );

function byAddress(people: readonly SegmentMember[]): Item[] {
  const canonical = ({ address }: SegmentMember): string => canonicalAddress(address ?? "") ?? "";
  const bare = new Set(people.map(canonical).filter(isSlug));
  const withAddress = people.filter(({ address }) => address !== undefined);
  // A bare slug is that of any host: it would be counted with each of them.
  const keyOf = (own: string): string => (bare.has(slugOf(own)) ? slugOf(own) : own);
  return [...groupsBy(withAddress, (person) => keyOf(canonical(person))).values()].flatMap(
    (owners) => addressesOf(owners.slice(0, 1)).map((address) => ({ address, people: owners })),
  );
}

interface Namesakes {
  readonly name: string;
  readonly owners: readonly SegmentMember[];
  readonly addresses: readonly OwnedAddress[];
}

/**
 * Without those of the names whose addresses are owned. Where as many are there
 * as are owned, nobody left: looked at twice, in other lists, as somebody who
 * left and a new namesake of another make up for each other in one of them.
 */
async function byName(
  segment: Filters,
  people: readonly SegmentMember[],
  items: readonly Item[],
  counts: Counts,
): Promise<Group[]> {
  const addresses = groupsBy(items, (item) => item.people[0]?.name);
  const isSaid = namesOf(segment);
  const withName = people.filter(({ address, name }) => address === undefined && isSaid(name));
  const all = [...groupsBy(withName, ({ name = "" }) => name)].map(([name, owners]): Namesakes => {
    return { name, owners, addresses: addresses.get(name)?.map(({ address }) => address) ?? [] };
  });

  // Two of one list are never in one list again: there are as many lists as one is long.
  const size = Math.min(
    counts.listSize,
    MOST_NAMED,
    Math.max(1, Math.floor(Math.sqrt(all.length))),
  );

  const groups: Group[] = [];
  const even = async (list: readonly Namesakes[]): Promise<readonly Namesakes[]> => {
    const own = {
      ...segment,
      name: list.length === 1 ? (list[0]?.name ?? "") : list.map(({ name }) => name),
    };
    const places = list.flatMap((each) => each.addresses);
    const present =
      (await counts.count(own)) - (places.length === 0 ? 0 : await counts.countAt(own, places));
    const owners = list.flatMap((each) => each.owners);
    if (present === owners.length) return list;

    if (list.length === 1) groups.push(group(owners, present));
    if (list.length === 1) return [];

    const isMixed = Math.abs(present - owners.length) * 2 > list.length;
    return evenIn(chunksOf(list, isMixed ? 1 : Math.ceil(list.length / 2)));
  };

  const evenIn = async (lists: readonly (readonly Namesakes[])[]) =>
    (await Promise.all(lists.map(even))).flat();
  const once = await evenIn(chunksOf(all, size));
  const across = Math.min(once.length, Math.max(size, Math.ceil(once.length / size)));
  const lists = Array.from({ length: across }, (_, at) =>
    once.filter((_one, index) => index % across === at),
  );
  const twice = (await evenIn(lists)).flatMap(({ owners }) => owners);
  return twice.length === 0 ? groups : [...groups, group(twice, twice.length)];
}

/** Which names somebody of a segment may have: of one that says names itself, no other. */
function namesOf(segment: Filters): (name: string | undefined) => boolean {
  const said = [segment.name ?? []].flat().map((name) => normalForm(String(name)));
  return (name) => name !== undefined && (said.length === 0 || said.includes(name));
}

/** More of them than are owned: the rest is new. */
const group = (people: readonly SegmentMember[], present: number): Group => ({
  people,
  present: present < people.length ? 0 : people.length,
});
