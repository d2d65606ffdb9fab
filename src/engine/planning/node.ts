import type { Filters } from "../../shared/contract/filters.ts";
import { UnsoundCountsError } from "./parts.ts";
import type { Counts, OwnedAddress, SegmentMember } from "./question.ts";

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

export interface Piece {
  readonly filters: Filters;
  readonly holds: (member: SegmentMember) => boolean;
}

/** Only those stay placed whose place a split by values or names tells; the others are counted. */
export function loosened(node: Node, by: "known" | "named"): Node {
  const loose = node.placed.filter((member) => !member[by]);
  if (loose.length === 0) return node;
  // Who has no address cannot be asked after either: taken for new, and bought again.
  const listed = loose.filter(({ address }) => address !== undefined);
  return {
    ...node,
    placed: node.placed.filter((member) => member[by]),
    floating: [...node.floating, ...listed],
    afloat: node.afloat + listed.length,
  };
}

export async function piece(node: Node, { filters, holds }: Piece, counts: Counts): Promise<Node> {
  const count = await counts.count(filters);
  const afloat = node.afloat === 0 || count === 0 ? 0 : await counts.listed(filters, addressesOf(node.floating));
  const placed = node.placed.filter(holds);
  if (count > node.count || placed.length + afloat > count) {
    throw unsound(`a part of ${node.count} people has ${count}, ${placed.length + afloat} of them owned`);
  }
  return { filters, count, placed, floating: afloat === 0 ? [] : node.floating, afloat };
}

/** What is left beside a piece, where nobody is in neither or both. */
export function rest(node: Node, part: Node, { filters, holds }: Piece): Node {
  const afloat = node.afloat - part.afloat;
  return {
    filters,
    count: node.count - part.count,
    placed: node.placed.filter(holds),
    floating: afloat === 0 ? [] : node.floating,
    afloat,
  };
}

const addressesOf = (members: readonly SegmentMember[]): OwnedAddress[] =>
  members.flatMap(({ address }) => (address === undefined ? [] : [address]));

export const unsound = (message: string): UnsoundCountsError =>
  new UnsoundCountsError(`the counts do not add up: ${message}; they are approximate, or the dataset moved`);
