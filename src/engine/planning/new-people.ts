// Tested by test/planning/cost.test.ts.
import { type Descent, type DescentInput, descend } from "./descent.ts";
import { namesHold, type Presence } from "./presence.ts";
import type { Counts, SegmentMember } from "./question.ts";

export interface Allowed
  extends Pick<DescentInput, "callsPerCredit" | "maxCalls" | "maxRows" | "maxWaste"> {
  /** Up to this share of the owned, and half of the waste, is bought again under another name. */
  readonly maxRenamed: number;
}

const EXACT = { unreached: [], overlap: 0, beyond: 0 };

/**
 * What to buy so as to have everybody who is new: the whole
 * segment at 0 calls a credit, or where nothing costs less.
 * @throws UnsoundCountsError
 */
export async function findNew(
  { segment, total, others, sketch }: Presence,
  members: readonly SegmentMember[],
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
  if (members.length === 0 && maxRows >= total) return whole;

  const most = maxRenamed === 0 ? 0 : Math.min(1 + maxRenamed * members.length, maxWaste / 2);
  const owned = await withNames(segment, members, most, counts);
  const again = members.length - owned.length;
  const descent = await descend(
    { segment, total, owned, ...allowed, maxWaste: maxWaste - again },
    counts,
  );
  return descent.leaves.reduce((sum, { count }) => sum + count, 0) >= total ? whole : descent;
}

async function withNames(
  segment: Presence["segment"],
  members: readonly SegmentMember[],
  most: number,
  counts: Counts,
): Promise<readonly SegmentMember[]> {
  if (members.every(({ isKnown }) => isKnown)) return members;
  const names = await namesHold(segment, members, counts);
  // Who has no address was found by the name.
  const all = members.map((one) => ({
    ...one,
    isNamed: one.isKnown || one.address === undefined || names.has(one),
  }));
  const holders = all.filter((each) => each.isNamed);
  return all.length - holders.length <= most ? holders : all;
}
