// Tested by test/planning/removed.test.ts.
import { groupsBy } from "../../shared/groups.ts";
import { UnsoundCountsError } from "./question.ts";

export interface Chunk<T> {
  readonly items: readonly T[];
  readonly present: number;
}

/** How many of each list are there, asked for at once. */
export type Present<T> = (lists: readonly (readonly T[])[]) => Promise<readonly number[]>;

type Split<T> = Readonly<Record<"members" | "leavers", readonly T[]>>;

export const chunksOf = <T>(items: readonly T[], most: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / most) }, (_, index) =>
    items.slice(index * most, (index + 1) * most),
  );

export async function countChunks<T>(
  items: readonly T[],
  most: number,
  present: Present<T>,
): Promise<Chunk<T>[]> {
  const lists = chunksOf(items, most);
  const counts = await present(lists);
  return lists.map((list, index) => ({
    items: list,
    present: within(counts[index] ?? 0, list.length),
  }));
}

interface Node<T> {
  readonly items: readonly T[];
  readonly absent: number;
}

/**
 * In about log2 of the lists' length rounds, and proved without all that.
 * @throws UnsoundCountsError
 */
export async function findGone<T>(
  chunks: readonly Chunk<T>[],
  most: number,
  present: Present<T>,
): Promise<Split<T>> {
  const leavers = new Set<T>();
  let nodes: Node<T>[] = chunks.map((chunk) => ({
    items: chunk.items,
    absent: chunk.items.length - chunk.present,
  }));
  for (;;) {
    for (const node of nodes)
      if (node.absent === node.items.length) for (const item of node.items) leavers.add(item);
    nodes = nodes.filter((node) => node.absent > 0 && node.absent < node.items.length);
    if (nodes.length === 0) break;
    nodes = await halved(nodes, most, present);
  }

  const all = chunks.flatMap(({ items }) => items);
  const split = {
    members: all.filter((item) => !leavers.has(item)),
    leavers: all.filter((item) => leavers.has(item)),
  };
  if (split.leavers.length > 0) await prove(split, most, present);

  return split;
}

async function halved<T>(
  nodes: readonly Node<T>[],
  most: number,
  present: Present<T>,
): Promise<Node<T>[]> {
  const halves = nodes.map(({ items, absent }) => {
    const left = items.slice(0, items.length >> 1);
    const right = items.slice(items.length >> 1);
    const least = Math.max(0, absent - right.length);
    return { left, right, absent, least, spread: Math.min(absent, left.length) - least };
  });
  const { sets, solve } = weighings(
    halves.map(({ left, spread }) => ({ most: spread, load: left.length })),
    most,
  );

  const lists = sets.map((set) => set.flatMap((index) => halves[index]?.left ?? []));
  const counts = await present(lists);
  const beyond = sets.map((set, index) => {
    const length = lists[index]?.length ?? 0;
    const certain = set.reduce((sum, at) => sum + (halves[at]?.least ?? 0), 0);
    return length - within(counts[index] ?? 0, length) - certain;
  });
  const solution = solve(beyond);
  const noFit = "those of the people who are looked for do not fit each other";
  if (solution === undefined) throw new UnsoundCountsError(noFit);

  return halves.flatMap(({ left, right, absent, least, spread }, index) => {
    const more = solution[index] ?? 0;
    if (more < 0 || more > spread) throw new UnsoundCountsError(noFit);
    return [
      { items: left, absent: least + more },
      { items: right, absent: absent - least - more },
    ];
  });
}

async function prove<T>(
  { members, leavers }: Split<T>,
  most: number,
  present: Present<T>,
): Promise<void> {
  const [inside, outside] = [chunksOf(members, most), chunksOf(leavers, most)];
  const counts = await present([...inside, ...outside]);
  for (const [index, list] of [...inside, ...outside].entries()) {
    const expected = index < inside.length ? list.length : 0;
    if (counts[index] === expected) continue;
    throw new UnsoundCountsError(
      `${expected} of a list are there by one count, ${counts[index]} by another`,
    );
  }
}

function within(count: number, length: number): number {
  if (Number.isSafeInteger(count) && count >= 0 && count <= length) return count;
  throw new UnsoundCountsError(`${count} people are at ${length} addresses`);
}

/** A whole number from 0 to `most`, that is not known. */
interface Unknown {
  readonly most: number;
  readonly load: number;
}

interface Weighings {
  readonly sets: readonly (readonly number[])[];
  /** The unknowns by the sum of each set; undefined where none have these sums. */
  solve(sums: readonly number[]): number[] | undefined;
}

/** It is in the weighings whose bits within `subset` are one of the `chosen`. */
interface Place {
  readonly unknown: number;
  readonly subset: number;
  readonly factor: number;
  readonly chosen: ReadonlySet<number>;
}

const AT_ONCE = 2_048;

/**
 * Many small numbers by fewer sums (coin weighing: Lindström,
 * Cantor and Mills, in mixed radix): 32 bits by 15, 192 by
 * 63. @param room no set's load is larger, unless it is of one unknown
 */
export function weighings(unknowns: readonly Unknown[], room: number): Weighings {
  const whole = unknowns.length <= AT_ONCE ? packed(unknowns, room) : undefined;
  if (whole !== undefined) return whole;

  const half = unknowns.length >> 1;
  if (half === 0) return oneByOne(unknowns.length);

  const left = weighings(unknowns.slice(0, half), room);
  const right = weighings(unknowns.slice(half), room);

  return {
    sets: [...left.sets, ...right.sets.map((set) => set.map((index) => index + half))],

    solve: (sums) => {
      const first = left.solve(sums.slice(0, left.sets.length));
      const second = right.solve(sums.slice(left.sets.length));
      return first && second && [...first, ...second];
    },
  };
}

const oneByOne = (count: number): Weighings => ({
  sets: Array.from({ length: count }, (_, index) => [index]),
  solve: (sums) => [...sums],
});

const bitsOf = (mask: number): number => {
  let bits = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits++;
  return bits;
};

function oddSubsets(mask: number): number[] {
  const masks: number[] = [];
  for (let subset = mask; subset !== 0; subset = (subset - 1) & mask)
    if (bitsOf(subset) % 2 === 1) masks.push(subset);
  return masks;
}

/**
 * Weighings are sets of bits. At each stand unknowns whose factors are the digits of a mixed radix,
 * each in so many of the odd subsets as its factor says: the alternating sum over all subsets tells
 * the digits. What stands at other sets cancels out, but for larger ones, which are known first.
 * @returns undefined where a set exceeds the room
 */
function packed(unknowns: readonly Unknown[], room: number): Weighings | undefined {
  const standing = layout(unknowns);
  const count = standing.at(-1)?.subset ?? 0;
  if (count >= unknowns.length) return oneByOne(unknowns.length);

  const load = new Float64Array(count + 1);
  const sets = Array.from({ length: count + 1 }, (): number[] => []);
  const weightOf = (index: number): number => unknowns[index]?.load ?? 0;
  const places: Place[] = [];
  // The heaviest first, so that the light ones even it out.
  for (const { unknown, subset, factor } of [...standing].sort(
    (a, b) => weightOf(b.unknown) * b.factor - weightOf(a.unknown) * a.factor,
  )) {
    const members = new Map(oddSubsets(subset).map((odd) => [odd, [] as number[]]));
    for (let weighing = 1; weighing <= count; weighing++)
      members.get(weighing & subset)?.push(weighing);

    const emptiest = [...members]
      .map(([odd, list]) => ({
        odd,
        list,
        fullest: list.reduce((most, at) => Math.max(most, load[at] ?? 0), 0),
      }))
      .sort((a, b) => a.fullest - b.fullest)
      .slice(0, factor);

    for (const { list, fullest } of emptiest) {
      if (fullest + weightOf(unknown) > room) return undefined;
      for (const at of list) {
        load[at] = (load[at] ?? 0) + weightOf(unknown);
        sets[at]?.push(unknown);
      }
    }

    places.push({ unknown, subset, factor, chosen: new Set(emptiest.map(({ odd }) => odd)) });
  }

  return { sets: sets.slice(1), solve: (sums) => solve(unknowns, places, sums) };
}

/** As many small ones as there is room for, and then the largest. */
function layout(unknowns: readonly Unknown[]): Omit<Place, "chosen">[] {
  const mostOf = (index: number | undefined): number => unknowns[index ?? 0]?.most ?? 0;
  const order = unknowns.map((_, index) => index).sort((a, b) => mostOf(a) - mostOf(b));
  const standing: Omit<Place, "chosen">[] = [];
  let small = 0;
  let large = order.length - 1;
  for (let subset = 1; small <= large; subset++) {
    const largest = 2 ** (bitsOf(subset) - 1);
    let factor = 1;
    for (; small < large; small++) {
      const next = factor * (mostOf(order[small]) + 1);
      if (next > largest) break;
      standing.push({ unknown: order[small] ?? 0, subset, factor });
      factor = next;
    }
    standing.push({ unknown: order[large--] ?? 0, subset, factor });
  }

  return standing;
}

function solve(
  unknowns: readonly Unknown[],
  places: readonly Place[],
  sums: readonly number[],
): number[] | undefined {
  const rest = [0, ...sums];
  const values = new Array<number>(unknowns.length).fill(0);
  for (const [subset, group] of [...groupsBy(places, (place) => place.subset)].sort(
    ([a], [b]) => bitsOf(b) - bitsOf(a),
  )) {
    let digits = 0;
    for (let at = subset; at !== 0; at = (at - 1) & subset)
      digits += (bitsOf(at) % 2 === 1 ? 1 : -1) * (rest[at] ?? 0);

    for (const { unknown, factor, chosen } of group.sort((a, b) => b.factor - a.factor)) {
      const value = Math.floor(digits / factor);
      if (value < 0 || value > (unknowns[unknown]?.most ?? 0)) return undefined;
      digits -= value * factor;
      values[unknown] = value;
      if (value === 0) continue;
      for (let at = 1; at < rest.length; at++)
        if (chosen.has(at & subset)) rest[at] = (rest[at] ?? 0) - value;
    }

    if (digits !== 0) return undefined;
  }

  return rest.some((sum) => sum !== 0) ? undefined : values;
}
