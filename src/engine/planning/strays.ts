// Tested by test/planning/descent.test.ts.
import { meet, type Segment } from "./algebra.ts";
import { loosened, type Node, newIn, ownedIn, type Piece, piece } from "./node.ts";
import { type Counts, UnsoundCountsError } from "./question.ts";
import type { Values } from "./values.ts";

/** New people whom no filter tells from others, and the smallest part that holds them. */
export interface Stuck {
  readonly node: Node;
  readonly count: number;
}

const isApart = ({ node, count }: Stuck): boolean => newIn(node) === count;

export interface StraysDeps {
  readonly counts: Counts;
  readonly values: Values;
  readonly maxCalls: number;
  readonly room: () => number;
  readonly isCheap: (owned: number, fresh: number) => boolean;
  readonly take: (cell: Node) => void;
}

/**
 * Looks by values for new people who are in no part of
 * a node. Cells that are taken have nobody else new.
 */
export function straysIn(deps: StraysDeps) {
  const cells: Node[] = [];

  /** @param parts have no new person in common @returns who was not found */
  async function find(
    cell: Node,
    parts: readonly Node[],
    strays: number,
  ): Promise<readonly Stuck[]> {
    if (strays === 0) return [];

    const { values, isCheap, room } = deps;
    const owned = ownedIn(cell);
    const isAlone = newIn(cell) === strays;
    if (isAlone && (owned === 0 || (owned <= room() && isCheap(owned, strays)))) return take(cell);

    const before = cells.length;
    let rest = strays;
    const outcome: Stuck[] = [];
    for (const { key, left: lower, right: upper } of await values.cuts(cell, true)) {
      if (rest === 0) break;

      const nodes = [...parts, ...cells.slice(before), ...outcome.map(({ node }) => node)];
      const first = await halfOf(cell, nodes, lower, deps);
      const second = await halfOf(cell, nodes, upper, deps);
      if (first === undefined || second === undefined) break;

      const halves = [first, second];
      if (halves.reduce((sum, half) => sum + half.cell.count, 0) > cell.count) {
        values.refuse(key);
        continue;
      }

      const inside = halves.reduce((sum, { fresh }) => sum + fresh, 0);

      if (halves.some(({ fresh }) => fresh < 0))
        throw new UnsoundCountsError("parts of a part have more new people than it has");
      // Owned people without an address are taken for new ones.
      if (inside > rest) continue;

      const stuck: Stuck[] = [];
      for (const half of halves) stuck.push(...(await find(half.cell, half.parts, half.fresh)));

      // Whoever is in a half is not found by another way that leads there.
      if (inside === rest) return [...outcome, ...stuck];

      // Who is in a cell with others who are new may be told from them by another key.
      outcome.push(...stuck.filter(isApart));
      rest -= stuck
        .filter((each) => !isApart(each))
        .reduce((left, { count }) => left - count, inside);
    }

    if (rest === 0) return outcome;
    if (isAlone && rest === strays && owned <= room()) return take(cell);

    return [...outcome, { node: cell, count: rest }];
  }

  function take(cell: Node): readonly Stuck[] {
    cells.push(cell);
    deps.take(cell);
    return [];
  }

  return find;
}

/** Undefined where the calls end before it is counted. */
async function halfOf(
  cell: Node,
  parts: readonly Node[],
  { filters, holds }: Piece,
  { counts, maxCalls }: Pick<StraysDeps, "counts" | "maxCalls">,
) {
  if (counts.calls >= maxCalls) return undefined;

  const half = await piece(cell, { filters, holds }, counts);
  const shared: Node[] = [];
  let fresh = newIn(half);
  for (const part of fresh === 0 ? [] : parts) {
    const both = meet(part.filters as Segment, filters as Segment);
    if (both === undefined) continue;
    if (counts.calls >= maxCalls) return undefined;
    const node = await piece(loosened(part, "isKnown"), { filters: both, holds }, counts);
    fresh -= newIn(node);
    if (newIn(node) > 0) shared.push(node);
    // Parts share nobody new.
    if (fresh === 0) break;
  }

  return { cell: half, parts: shared, fresh };
}
