import type { AccountView } from "../../engine/client/types.ts";
import { forgottenOf } from "../../engine/library/forget.ts";
import type { Library } from "../../engine/library/library.ts";
import { identitiesIn, type OwnedPerson, ownedBy } from "../../engine/library/members.ts";
import type { Look } from "../../engine/planning/cost.ts";
import { likenessIn, UNLIKE } from "../../engine/planning/likeness.ts";
import { lookFor, type Presence } from "../../engine/planning/presence.ts";
import {
  limitedMs,
  ownedAddress,
  requireSound,
  type SegmentMember,
  SHARE_OF_MINUTE,
  UnsoundCountsError,
} from "../../engine/planning/question.ts";
import { lookBySketch, presenceIn } from "../../engine/planning/sketched.ts";
import { unsoundRun } from "../../engine/purchase/failures.ts";
import { FreeCounts } from "../../engine/purchase/free-counts.ts";
import type { ExportDeps } from "../../engine/purchase/order.ts";
import { perMinuteOf } from "../../engine/purchase/world.ts";
import { type CheckedFilters, canonicalJson } from "../../shared/contract/filters.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import type { Sentence } from "../../shared/errors.ts";
import { duration } from "../../shared/numbers.ts";

/** By a sketch or by ids its members are those who are there, read when first asked for. */
export interface Sight extends Presence, Look {
  readonly forgotten: Forgotten;
  /** Of a list that is a part of its segment, whose `total` is of the list alone. */
  readonly segmentTotal?: number;
}

/** Of the calls that are left a tenth at most measures likeness: a list takes four. */
const LEFT_A_LIST = 40;

export interface Looking {
  readonly counts: FreeCounts;
  readonly account: AccountView;
  /** Undefined where nobody was ever bought. */
  readonly library: Library | undefined;
  /** Who may be asked after beside them where only counts tell: some of them may be there. */
  readonly beside?: () => readonly string[];
  /** Whether counts are tried first, where they tell. */
  readonly isTried?: boolean;
  /**
   * Whether it is counted how alike the new people are to
   * those who are owned: a quote by the way does without.
   */
  readonly isMeasured?: boolean;
  /** The ids of everybody in it, where they are what it was named by. */
  readonly named?: ReadonlySet<string> | undefined;
  /** Whether who is new must be found by filters: no sketch is asked. */
  readonly byFilters?: boolean;
  /** People who are owned from other services: only their addresses tell whether they are there. */
  readonly elsewhere?: readonly OwnedPerson[];
}

/** Somebody who is owned from another service: known by the address alone. */
const strangerOf = (person: Parameters<typeof memberOf>[0]): SegmentMember => ({
  ...memberOf(person, undefined),
  identity: `@${person.values.network_url_address}`,
});

/**
 * Nobody can ask after who is forgotten: they are left
 * out where they are known to be all of the others.
 */
export async function lookInto(
  { filters, canonical }: CheckedFilters,
  identities: readonly string[],
  {
    counts,
    account,
    library,
    beside = () => [],
    isTried = false,
    isMeasured = false,
    byFilters = false,
    elsewhere: others = [],
    named,
  }: Looking,
): Promise<Sight> {
  const version = (): string | undefined => counts.datasetVersion ?? account.datasetVersion;
  const now = version();

  const membersOf = (some: readonly string[]): SegmentMember[] =>
    library === undefined
      ? []
      : ownedBy(library.database, some).map((person) => memberOf(person, now));

  const elsewhere = (): readonly string[] =>
    library === undefined ? [] : identitiesIn(library.database);
  const isStrange = library === undefined || others.length > 0;
  const begun = counts.calls;
  const ids = named ?? (isStrange ? undefined : await counts.ids(filters));
  // Ids tell of each by himself who is there: of a part of a segment, too.
  const byIds = ids && {
    ...presenceIn(ids, filters, identities, byFilters ? identities : elsewhere()),
    calls: counts.calls - begun,
  };

  // Only our own service names its dataset, and gives sketches.
  const bySketch =
    byIds ??
    (now === undefined || isStrange || byFilters
      ? undefined
      : await lookBySketch(filters, identities, {
          ask: (from, cells) => counts.sketch(filters, from, cells),
          elsewhere,
          membersOf,
          counts,
        }));
  if (bySketch === undefined && isTried) await requireSound(filters, counts);

  // Most sketches need nobody's record.
  const strangers = others.map(strangerOf);
  let members =
    bySketch === undefined
      ? [...membersOf(identities), ...membersOf(beside()), ...strangers]
      : undefined;
  const sight = bySketch ?? (await lookFor(filters, members ?? [], counts));
  const likeness =
    members !== undefined && isMeasured
      ? await likenessIn(sight, members, counts, Math.floor(counts.left / LEFT_A_LIST))
      : UNLIKE;
  const forgotten = forgottenIn(canonical, sight.others, version(), library);
  const rest = forgotten.leftOut ? { total: sight.total - forgotten.people, others: 0 } : {};

  return {
    ...sight,
    ...rest,
    ...likeness,
    listSize: counts.listSize,
    forgotten,
    alone: byFilters,
    get members() {
      members ??= membersOf(bySketch?.sketch?.members ?? []);
      return members;
    },
  };
}

function memberOf(
  { identity, address, name, values, version }: OwnedPerson,
  now: string | undefined,
): SegmentMember {
  const isCurrent = version !== null && version === now;
  const profile = address === undefined ? undefined : ownedAddress(address);
  return { identity, address: profile, name, values, isNamed: isCurrent, isKnown: isCurrent };
}

export const freeCounts = (
  { seller, now, sleep, interrupted: signal }: ExportDeps,
  { perMinute }: AccountView,
  maxCalls: number,
  onCall?: (calls: number) => void,
): FreeCounts =>
  new FreeCounts({ client: seller.client, maxCalls, now, sleep, signal, perMinute, onCall });

export const countingTime = (
  calls: number,
  ...of: Parameters<typeof perMinuteOf>
): number | undefined => limitedMs(calls, perMinuteOf(...of), SHARE_OF_MINUTE);

export const spoken = ({ ms }: { readonly ms: number | undefined }): string =>
  ms ? `, ${duration(ms)} at the rate limit` : "";

/** @throws CliError exit 8 where counts contradict each other */
export async function soundly<T>(so: string, hint: Sentence, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof UnsoundCountsError ? unsoundRun(error, so, hint) : error;
  }
}

/** Whom nobody can name any more, of those who are in a segment and not owned. */
interface Forgotten {
  readonly people: number;
  /** They are known to be all of them: nobody else is new, and nobody is bought for them. */
  readonly leftOut: boolean;
}

/**
 * Whoever was bought from this version of the dataset, and
 * forgotten, is in the segment still; of others nobody knows.
 * @param others people in the segment who are not owned
 */
function forgottenIn(
  segment: CanonicalFilters,
  others: number,
  version: string | undefined,
  library: Library | undefined,
): Forgotten {
  const canonical = canonicalJson(segment);
  if (library === undefined) return { people: 0, leftOut: false };
  const certain = version === undefined ? 0 : forgottenOf(library, canonical, version);
  const leftOut = certain > 0 && others === certain;
  return {
    people: leftOut ? certain : Math.min(others, forgottenOf(library, canonical, null)),
    leftOut,
  };
}
