import { type Descent, descend } from "./descent.ts";
import { namesHold, type Presence } from "./presence.ts";
import type { Counts, SegmentMember } from "./question.ts";

export interface Allowed {
  /** Free calls that saving one credit may take; 0: nobody is looked for. */
  readonly callsPerCredit: number;
  readonly maxCalls: number;
  readonly maxRows: number;
  /** Owned people who may be bought again with new ones. */
  readonly maxWaste: number;
  /** Up to this share of the owned, and half of the waste, is bought again under another name. */
  readonly maxRenamed: number;
}

const EXACT = { unreached: [], overlap: 0, beyond: 0 };

/**
 * What to buy so as to have everybody who is new: the whole segment at 0 calls a credit, or where nothing costs less.
 * @throws UnsoundCountsError
 */
export async function findNew(
  { segment, total, others, sketch }: Presence,
  kept: readonly SegmentMember[],
  { maxWaste, maxRenamed, ...allowed }: Allowed,
  counts: Counts,
): Promise<Descent> {
  const { callsPerCredit, maxRows } = allowed;
  const whole = { ...EXACT, leaves: [{ filters: segment, count: total, fresh: others }] };
  if (total > 0 && callsPerCredit === 0) return whole;
  if (others === 0) return { ...EXACT, leaves: [] };
  if (sketch !== undefined) {
    const { fresh } = sketch;
    const digests = fresh.slice(0, maxRows);
    const leaf = { filters: segment, count: digests.length, fresh: digests.length, digests };
    return { ...EXACT, leaves: [leaf], beyond: fresh.length - digests.length };
  }
  if (kept.length === 0 && maxRows >= total) return whole;
  const most = maxRenamed === 0 ? 0 : Math.min(1 + maxRenamed * kept.length, maxWaste / 2);
  const owned = await placed(segment, kept, most, counts);
  const again = kept.length - owned.length;
  const found = await descend({ segment, total, owned, ...allowed, maxWaste: maxWaste - again }, counts);
  return found.leaves.reduce((sum, { count }) => sum + count, 0) >= total ? whole : found;
}

async function placed(
  segment: Presence["segment"],
  kept: readonly SegmentMember[],
  most: number,
  counts: Counts,
): Promise<readonly SegmentMember[]> {
  if (kept.every(({ known }) => known)) return kept;
  const names = await namesHold(segment, kept, counts);
  // Who has no address was found by the name.
  const all = kept.map((each) => ({ ...each, named: each.known || each.address === undefined || names.has(each) }));
  const named = all.filter((each) => each.named);
  return all.length - named.length <= most ? named : all;
}
