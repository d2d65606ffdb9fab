import type { Filters } from "../../shared/contract/filters.ts";
import { canonicalAddress, isSlug, slugOf } from "../../shared/contract/normalise.ts";
import { UnsoundCountsError } from "./parts.ts";
import { type Counts, type OwnedAddress, ownedAddress, type SegmentMember } from "./question.ts";
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
  /** With neither address nor name: no count tells whether they are there. */
  readonly unknown: readonly SegmentMember[];
}

/** Several people where one of them was imported without an id. */
interface Item {
  readonly address: OwnedAddress;
  readonly people: readonly SegmentMember[];
}

export interface Whereabouts {
  readonly kept: readonly SegmentMember[];
  /** Also those of a group of which only some are there: they are bought again. */
  readonly gone: readonly SegmentMember[];
}

/** One free count for the segment, and one for each list of addresses. */
export async function lookFor(segment: Filters, people: readonly SegmentMember[], counts: Counts): Promise<Presence> {
  const total = await counts.count(segment);
  const { items, several } = byAddress(people);
  const present = presentIn(segment, counts);
  const [first] = chunksOf(items, counts.listSize);
  // The first list teaches how many the service takes.
  const size = counts.listSize;
  const begun = first === undefined ? [] : await countChunks(first, size, present);
  const again = counts.listSize === size ? begun : [];
  const rest = items.slice(again.length === 0 ? 0 : (first?.length ?? 0));
  const chunks = [...again, ...(await countChunks(rest, counts.listSize, present))];
  const groups = [...(await atOneAddress(segment, several, counts)), ...(await byName(segment, people, items, counts))];
  const there = [...chunks, ...groups].reduce((sum, each) => sum + each.present, 0);
  if (there > total) throw new UnsoundCountsError(`the counts do not add up: ${there} of ${total} people are owned`);
  const unknown = people.filter(({ address, name }) => address === undefined && name === undefined);
  return { segment, total, present: there, others: total - there, chunks, groups, unknown };
}

/** Nobody can ask after who is forgotten: they are left out only where the others are all of them. */
export const leaveOut = (presence: Presence, forgotten: number): Presence =>
  presence.others === forgotten ? { ...presence, total: presence.total - forgotten, others: 0 } : presence;

/** @throws UnsoundCountsError */
export async function tellApart({ segment, chunks, groups, unknown }: Presence, counts: Counts): Promise<Whereabouts> {
  const found = await findGone(chunks, counts.listSize, presentIn(segment, counts));
  const kept = found.kept.flatMap(({ people }) => people);
  const gone = found.gone.flatMap(({ people }) => people);
  for (const { people, present } of groups) (present === people.length ? kept : gone).push(...people);
  return { kept, gone: [...gone, ...unknown] };
}

export const MOST_NAMED = 400;

/**
 * Who has the name that was bought. Who took the name of another in the same list is not noticed; the plan
 * contradicts the counts then, and ends.
 */
export async function namesHold(
  segment: Filters,
  kept: readonly SegmentMember[],
  counts: Counts,
): Promise<Set<SegmentMember>> {
  const named = kept.filter(({ name, address }) => name !== undefined && address !== undefined);
  const most = Math.min(counts.listSize, MOST_NAMED);
  const present: Present<SegmentMember> = (lists) =>
    Promise.all(
      lists.map((list) => {
        const names = [...new Set(list.flatMap(({ name }) => (name === undefined ? [] : [name])))];
        const addresses = list.flatMap(({ address }) => (address === undefined ? [] : [address]));
        return counts.listed({ ...segment, name: names }, addresses);
      }),
    );
  return new Set((await findGone(await countChunks(named, most, present), most, present)).kept);
}

export const isWholeSegment = ({ chunks, groups, others, unknown }: Presence): boolean =>
  others === 0 &&
  unknown.length === 0 &&
  chunks.every(({ items, present }) => items.length === present) &&
  groups.every(({ people, present }) => people.length === present);

const presentIn =
  (segment: Filters, counts: Counts): Present<Item> =>
  (lists) =>
    Promise.all(
      lists.map((list) =>
        counts.listed(
          segment,
          list.map(({ address }) => address),
        ),
      ),
    );

function byAddress(people: readonly SegmentMember[]): {
  readonly items: readonly Item[];
  readonly several: readonly Item[];
} {
  const canonical = (person: SegmentMember): string => canonicalAddress(person.address ?? "") ?? "";
  const bare = new Set(people.map(canonical).filter(isSlug));
  const found = new Map<string, [SegmentMember, ...SegmentMember[]]>();
  for (const person of people) {
    if (person.address === undefined) continue;
    const own = canonical(person);
    // A bare slug is that of any host: it would be counted with each of them.
    const key = bare.has(slugOf(own)) ? slugOf(own) : own;
    const there = found.get(key);
    if (there === undefined) found.set(key, [person]);
    else there.push(person);
  }
  const items = [...found].map(([key, owners]) => ({
    address: owners[0].address ?? ownedAddress(key),
    people: owners,
  }));
  const ids = (item: Item): number => item.people.filter(({ identity }) => !identity.startsWith("@")).length;
  return { items: items.filter((item) => ids(item) <= 1), several: items.filter((item) => ids(item) > 1) };
}

const atOneAddress = (segment: Filters, several: readonly Item[], counts: Counts): Promise<Group[]> =>
  Promise.all(several.map(async ({ address, people }) => group(people, await counts.listed(segment, [address]))));

/**
 * One name after the other, without those whose addresses are owned. Where as many are there as are owned, nobody
 * left.
 */
async function byName(
  segment: Filters,
  people: readonly SegmentMember[],
  items: readonly Item[],
  counts: Counts,
): Promise<Group[]> {
  const named = new Map<string, SegmentMember[]>();
  for (const person of people) {
    if (person.address !== undefined || person.name === undefined) continue;
    named.set(person.name, [...(named.get(person.name) ?? []), person]);
  }
  const addresses = new Map<string, OwnedAddress[]>();
  for (const { address, people: owners } of items) {
    const name = owners[0]?.name;
    if (name !== undefined && named.has(name)) addresses.set(name, [...(addresses.get(name) ?? []), address]);
  }
  return Promise.all(
    [...named].map(async ([name, owners]) => {
      const own = { ...segment, name };
      const listed = addresses.get(name) ?? [];
      const there = (await counts.count(own)) - (listed.length === 0 ? 0 : await counts.listed(own, listed));
      return group(owners, there);
    }),
  );
}

/** More of them than are owned: the rest is new. */
const group = (people: readonly SegmentMember[], present: number): Group => ({
  people,
  present: present < people.length ? 0 : people.length,
});
