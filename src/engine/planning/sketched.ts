// Tested by test/planning/sketched.test.ts.
import { digestsOf } from "../../shared/contract/person-digest.ts";
import {
  type Digests,
  differenceIn,
  differenceSize,
  hexOf,
  SKETCH_CELLS_MAX,
  SketchCells,
} from "../../shared/contract/sketch.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import type { Presence } from "./presence.ts";
import { addressesOf, type Counts, type SegmentMember } from "./question.ts";

interface Sketch {
  readonly count: number;
  readonly key: string;
  readonly cells: SketchCells;
}

/** The cells from one on, so many; undefined where no sketch is given. */
type AskSketch = (from: number, cells: number) => Promise<Sketch | undefined>;

/** Tell a difference of some 180, and of a larger one its size to a tenth. */
const FIRST_CELLS = 256;
/** Few, which tell the size to a hundredth. */
const SECOND_CELLS = { each: 1.15, beside: 300 };
/** What almost every difference is read out of: 1.36 a person, and more of a small one. */
const ALL_CELLS = { each: 1.4, beside: 200 };
const MORE = 1.5;
const MOST_CELLS = 2 ** 19;

/**
 * Who of `ids` is in a segment, and digests of everybody
 * else in it; undefined where no sketch tells.
 */
async function reconcile(ids: readonly string[], ask: AskSketch) {
  let own: Digests | undefined;
  let all: SketchCells | undefined;
  for (let wanted = FIRST_CELLS; wanted <= MOST_CELLS; ) {
    const from: number = all?.to ?? 0;
    const sketch = await ask(from, Math.min(wanted - from, SKETCH_CELLS_MAX));
    if (sketch === undefined) return undefined;

    const { cells, count: total, key } = sketch;
    own ??= digestsOf(key, ids);
    cells.minus(SketchCells.of(own, from, cells.to));
    all = all?.followedBy(cells) ?? cells;
    if (all.to < wanted) continue;

    const difference = differenceIn(all);
    if (difference !== undefined) return { total, key, own, ...difference };

    const size = differenceSize(all, total - ids.length);
    const { each, beside } = from === 0 ? SECOND_CELLS : ALL_CELLS;
    wanted = Math.ceil(each * size + beside);
    if (wanted <= all.to) wanted = Math.ceil(MORE * all.to);
  }

  return undefined;
}

interface SketchDeps {
  readonly ask: AskSketch;
  /** Identities of everybody else who is owned: some may have moved into the segment. */
  readonly elsewhere: () => readonly string[];
  readonly membersOf: (identities: readonly string[]) => readonly SegmentMember[];
  readonly counts: Counts;
}

/** Up to this share of a list may be at their addresses under other ids: they are bought again. */
const MOST_RENUMBERED = 0.01;

/**
 * What {@link lookFor} finds, by one to five calls in all;
 * undefined where no sketch tells, or somebody has no id.
 */
export async function lookBySketch(
  segment: Filters,
  ids: readonly string[],
  { ask, elsewhere, membersOf, counts }: SketchDeps,
): Promise<Presence | undefined> {
  if (ids.length === 0 || ids.some((id) => id.startsWith("@"))) return undefined;
  const difference = await reconcile(ids, ask);
  if (difference === undefined) return undefined;

  const { key, total } = difference;
  const away = new Set(ownersOf(difference.fewer, ids, difference.own).values());
  const leavers = [...away];
  // An id need not outlive a dataset: whoever is still at
  // the address has another one, and only counts tell them.
  const addresses = addressesOf(membersOf(leavers)).slice(0, counts.listSize);
  const renumbered = addresses.length === 0 ? 0 : await counts.countAt(segment, addresses);
  if (renumbered > ids.length * MOST_RENUMBERED) return undefined;

  const own = new Set(ids);
  const others = difference.more.length === 0 ? [] : elsewhere().filter((id) => !own.has(id));
  const moved = ownersOf(difference.more, others, digestsOf(key, others));
  const members = [...ids.filter((id) => !away.has(id)), ...moved.values()];
  const fresh = difference.more.filter((digest) => !moved.has(digest));
  const sight = {
    segment,
    total,
    present: members.length,
    others: fresh.length,
    sketch: { fresh, members, leavers },
  };

  return { ...sight, chunks: [], groups: [], unknown: [], calls: 1 };
}

/** What {@link lookFor} finds, where `all` are the ids of everybody in the segment. */
export function presenceIn(
  all: ReadonlySet<string>,
  segment: Filters,
  asked: readonly string[],
  owned: readonly string[],
): Presence {
  const own = new Set(owned);
  const members = owned.filter((id) => all.has(id));
  const fresh = [...all].filter((id) => !own.has(id));
  const leavers = asked.filter((id) => !all.has(id));
  return {
    segment,
    total: all.size,
    present: members.length,
    others: fresh.length,
    sketch: { fresh, members, leavers },
    chunks: [],
    groups: [],
    unknown: [],
    calls: 0,
  };
}

/** Whose the digests are, by digest. */
function ownersOf(
  digests: readonly string[],
  ids: readonly string[],
  { high, low }: Digests,
): Map<string, string> {
  const wanted = new Set(digests);
  if (wanted.size === 0) return new Map();
  return new Map(
    ids.flatMap((id, at) => {
      const digest = hexOf(high[at] ?? 0, low[at] ?? 0);
      return wanted.has(digest) ? [[digest, id] as const] : [];
    }),
  );
}
