// Tested by test/planning/parts.test.ts.
import type { Filters } from "../../shared/contract/vocabulary.ts";

declare const owned: unique symbol;

/** Somebody's who is owned, or one of the user's own filters: nobody else is asked after. */
export type OwnedAddress = string & { readonly [owned]: true };

export const ownedAddress = (address: string): OwnedAddress => address as OwnedAddress;

/** Free and exact. */
export interface Counts {
  count(filters: Filters): Promise<number>;
  /** Who matches and has one of these addresses, in lists of at most `listSize`. */
  countAt(filters: Filters, addresses: readonly OwnedAddress[]): Promise<number>;
  readonly listSize: number;
  readonly calls: number;
}

/** Others use the key too: counts take at most this share of a minute's calls. */
export const SHARE_OF_MINUTE = 0.8;

/**
 * In milliseconds at the rate limit: a minute for each window
 * behind the first; undefined where no limit is known.
 */
export function limitedMs(
  calls: number,
  perMinute: number | undefined,
  share = 1,
): number | undefined {
  if (calls === 0) return 0;
  return perMinute ? Math.floor((calls - 1) / (perMinute * share)) * 60_000 : undefined;
}

export interface SegmentMember {
  readonly identity: string;
  readonly address: OwnedAddress | undefined;
  /** In normal form. */
  readonly name: string | undefined;
  /** Normal forms by column, as they were bought. */
  readonly values: Readonly<Record<string, string | number | null>>;
  /** Whether the name holds now. */
  readonly isNamed: boolean;
  /** Whether all values hold now: they were bought from this version of the dataset. */
  readonly isKnown: boolean;
}

export const addressesOf = (members: readonly SegmentMember[]): OwnedAddress[] =>
  members.flatMap(({ address }) => address ?? []);

/** Approximate counts, or a dataset that moved. Nothing may be bought by them. */
export class UnsoundCountsError extends Error {
  constructor(why: string) {
    super(`the counts do not add up: ${why}; they are approximate, or the dataset moved`);
  }
}

/** Numbers that lie in the midst of what people have. */
const CUTS = { connections: 300, followers: 500 } as const;

/**
 * Whether a few counts are exact: everybody with a number is on one side of a cut.
 * @throws UnsoundCountsError
 */
export async function requireSound(segment: Filters, counts: Counts): Promise<void> {
  for (const key of ["connections", "followers"] as const) {
    const [lowest, highest, at] = [`${key}_min`, `${key}_max`, CUTS[key]] as const;
    if (segment[lowest] !== undefined || segment[highest] !== undefined) continue;

    const [all, below, above] = await Promise.all([
      counts.count({ ...segment, [lowest]: 0 }),
      counts.count({ ...segment, [lowest]: 0, [highest]: at }),
      counts.count({ ...segment, [lowest]: at + 1 }),
    ]);
    if (below + above === all) continue;

    throw new UnsoundCountsError(
      `of ${all} people with ${key}, ${below} have at most ${at} and ${above} more`,
    );
  }
}

/** docs/explanation/new-people.md, "What it costs". */
export interface Cost {
  readonly callsPerCredit: number;
  /** Free calls, about, with those that prove it in the end. */
  readonly calls: number;
  /** The most: the new people, and owned ones in the same parts. */
  readonly rows: number;
  /** Purchases, about: a request each at least. */
  readonly parts: number;
}
