// Tested by test/planning/descent.test.ts.
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { addressesOf, type Counts, type SegmentMember, UnsoundCountsError } from "./question.ts";

export interface Node {
  readonly filters: Filters;
  readonly count: number;
  readonly placed: readonly SegmentMember[];
  /** Owned people of whom `afloat` are in it, nobody knows which. All have addresses. */
  readonly floating: readonly SegmentMember[];
  readonly afloat: number;
}

export const ownedIn = ({ placed, afloat }: Node): number => placed.length + afloat;

export const newIn = (node: Node): number => node.count - ownedIn(node);

/** Owned people whom names alone tell: divided by values they are taken for new ones. */
export const untoldIn = ({ placed }: Node): number =>
  placed.filter(({ isKnown, address }) => !isKnown && address === undefined).length;

/** What tells a part of a node: the filters, and whether somebody whose values hold is in it. */
export interface Piece {
  readonly filters: Filters;
  readonly holds: (member: SegmentMember) => boolean;
}

/** Only those stay placed whose place a split by values or names tells; the others are counted. */
export function loosened(node: Node, by: "isKnown" | "isNamed"): Node {
  // Who has no address cannot be asked after either: taken for new, and bought again.
  const floaters = node.placed.filter((member) => !member[by] && member.address !== undefined);
  return {
    ...node,
    placed: node.placed.filter((member) => member[by]),
    floating: [...node.floating, ...floaters],
    afloat: node.afloat + floaters.length,
  };
}

export async function piece(node: Node, { filters, holds }: Piece, counts: Counts): Promise<Node> {
  const count = await counts.count(filters);
  const afloat =
    node.afloat === 0 || count === 0
      ? 0
      : await counts.countAt(filters, addressesOf(node.floating));
  const part = partOf(node, { filters, holds }, count, afloat);
  if (count <= node.count && ownedIn(part) <= count) return part;
  throw new UnsoundCountsError(
    `a part of ${node.count} people has ${count}, ${ownedIn(part)} of them owned`,
  );
}

/** What is left beside a piece, where nobody is in neither or both. */
export const rest = (node: Node, part: Node, piece: Piece): Node =>
  partOf(node, piece, node.count - part.count, node.afloat - part.afloat);

const partOf = (node: Node, { filters, holds }: Piece, count: number, afloat: number): Node => ({
  filters,
  count,
  placed: node.placed.filter(holds),
  floating: afloat === 0 ? [] : node.floating,
  afloat,
});
