import { UnsoundCountsError } from "./question.ts";
import { weighings } from "./weighings.ts";

export interface Chunk<T> {
  readonly items: readonly T[];
  readonly present: number;
}

/** How many of each list are there, asked for at once. */
export type Present<T> = (lists: readonly (readonly T[])[]) => Promise<readonly number[]>;

type Found<T> = Readonly<Record<"kept" | "gone", readonly T[]>>;

export const chunksOf = <T>(items: readonly T[], most: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / most) }, (_, index) => items.slice(index * most, (index + 1) * most));

export async function countChunks<T>(items: readonly T[], most: number, present: Present<T>): Promise<Chunk<T>[]> {
  const lists = chunksOf(items, most);
  const counts = await present(lists);
  return lists.map((list, index) => ({ items: list, present: within(counts[index] ?? 0, list.length) }));
}

interface Node<T> {
  readonly items: readonly T[];
  readonly gone: number;
}

/** In about log2 of the lists' length rounds, and proved without all that. @throws UnsoundCountsError */
export async function findGone<T>(chunks: readonly Chunk<T>[], most: number, present: Present<T>): Promise<Found<T>> {
  const gone = new Set<T>();
  let nodes: Node<T>[] = chunks.map((chunk) => ({ items: chunk.items, gone: chunk.items.length - chunk.present }));
  for (;;) {
    for (const node of nodes) if (node.gone === node.items.length) for (const item of node.items) gone.add(item);
    nodes = nodes.filter((node) => node.gone > 0 && node.gone < node.items.length);
    if (nodes.length === 0) break;
    nodes = await halved(nodes, most, present);
  }
  const all = chunks.flatMap(({ items }) => items);
  const found = { kept: all.filter((item) => !gone.has(item)), gone: all.filter((item) => gone.has(item)) };
  if (found.gone.length > 0) await prove(found, most, present);
  return found;
}

async function halved<T>(nodes: readonly Node<T>[], most: number, present: Present<T>): Promise<Node<T>[]> {
  const halves = nodes.map(({ items, gone }) => {
    const left = items.slice(0, items.length >> 1);
    const right = items.slice(items.length >> 1);
    const least = Math.max(0, gone - right.length);
    return { left, right, gone, least, spread: Math.min(gone, left.length) - least };
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
  const found = solve(beyond);
  const noFit = "those of the people who are looked for do not fit each other";
  if (found === undefined) throw new UnsoundCountsError(noFit);
  return halves.flatMap(({ left, right, gone, least, spread }, index) => {
    const more = found[index] ?? 0;
    if (more < 0 || more > spread) throw new UnsoundCountsError(noFit);
    return [
      { items: left, gone: least + more },
      { items: right, gone: gone - least - more },
    ];
  });
}

async function prove<T>({ kept, gone }: Found<T>, most: number, present: Present<T>): Promise<void> {
  const [there, away] = [chunksOf(kept, most), chunksOf(gone, most)];
  const counts = await present([...there, ...away]);
  for (const [index, list] of [...there, ...away].entries()) {
    const expected = index < there.length ? list.length : 0;
    if (counts[index] === expected) continue;
    throw new UnsoundCountsError(`${expected} of a list are there by one count, ${counts[index]} by another`);
  }
}

function within(count: number, length: number): number {
  if (Number.isSafeInteger(count) && count >= 0 && count <= length) return count;
  throw new UnsoundCountsError(`${count} people are at ${length} addresses`);
}
