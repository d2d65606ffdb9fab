import type { Filters } from "../../shared/contract/vocabulary.ts";
import { descend } from "./descent.ts";
import { MOST_NAMED, type Presence } from "./presence.ts";
import { type Cost, type Counts, type SegmentMember, UnsoundCountsError } from "./question.ts";

export interface Look extends Pick<Presence, "segment" | "total" | "others" | "chunks" | "calls" | "sketch"> {
  readonly members: readonly SegmentMember[];
  readonly listSize: number;
  /** Share of the new people who are like an owned one: told apart by nothing, and bought with them. */
  readonly alike: number;
}

/** The most rows for each new person, by the free calls that saving a credit may take. */
const KINDS: readonly { readonly from: number; readonly rows: number }[] = [
  { from: 5, rows: 1.1 },
  { from: 2, rows: 2 },
  { from: 1, rows: 3 },
];

const SPARE = 2;

export async function costOf(look: Look, callsPerCredit: number): Promise<Cost> {
  const { total, others, sketch, alike } = look;
  // One sketch more proves it.
  if (sketch !== undefined) return { callsPerCredit, calls: 1, rows: callsPerCredit === 0 ? total : others, parts: 1 };
  const kind = KINDS.find(({ from }) => callsPerCredit >= from);
  const each = Math.max(kind?.rows ?? Number.POSITIVE_INFINITY, 1.1 + alike);
  const rows = Math.min(total, Math.ceil(others * each) + SPARE);
  const certain = proofOf(look);
  if (others === 0) return { callsPerCredit: 0, calls: halvingOf(look) + certain, rows: 0, parts: 0 };
  if (kind === undefined || rows === total) {
    return { callsPerCredit: 0, calls: halvingOf(look) + certain, rows: total, parts: 1 };
  }
  const played = await rehearse(look, { callsPerCredit, spare: (rows - others) / others });
  const calls = played.calls + halvingOf(look) + certain;
  return { ...played, callsPerCredit, calls, rows: Math.min(rows, played.rows + SPARE) };
}

/** At the most calls a credit that fits into so many; undefined where none does. */
export async function costWithin(look: Look, callsPerCredit: number, maxCalls: number): Promise<Cost | undefined> {
  for (const each of [callsPerCredit, ...KINDS.map(({ from }) => from).filter((from) => from < callsPerCredit)]) {
    const cost = await costOf(look, each);
    if (cost.calls <= maxCalls) return cost;
  }
  return undefined;
}

/** It is looked for once more, and for the new people. */
const proofOf = ({ others, calls, listSize }: Look): number => calls + Math.ceil(others / listSize);

function halvingOf({ chunks, listSize }: Look): number {
  const asked = chunks.reduce((sum, { items }) => sum + items.length, 0);
  const gone = asked - chunks.reduce((sum, { present }) => sum + present, 0);
  if (gone === 0) return 0;
  const least = Math.min(gone, asked - gone + 1);
  return Math.ceil(0.45 * least * Math.log2(2 + asked / gone) + 12 + asked / listSize);
}

const MOST_PEOPLE = 2_000;
const MOST_NEW = 32;
/** Fewer are no likeness of a segment of which many are new. */
const LEAST_CAST = 400;
const LEAST_PEOPLE = 24;
const TIMES = 3;

type Allowed = Readonly<Record<"callsPerCredit" | "spare", number>>;
type Played = Pick<Cost, "calls" | "parts" | "rows">;

/** More may have to be bought than in any rehearsal. */
const MORE_ROWS = 1.15;

/** Finds it out by doing it: some of the owned are taken for new and looked for by counts that are made here. */
async function rehearse(look: Look, allowed: Allowed): Promise<Played> {
  const { total, others, members, listSize } = look;
  const isKnown = members.every(({ known }) => known);
  const names = isKnown ? 0 : Math.ceil(members.length / Math.min(listSize, MOST_NAMED)) + 15;
  if (members.length < LEAST_PEOPLE) {
    const levels = Math.log2(total / others);
    return { calls: Math.ceil(others * (2.4 * levels + 7)) + names, rows: total, parts: others };
  }
  const people = spread(members, MOST_PEOPLE);
  const newIn = (some: number): number => Math.round((some * others) / total);
  const fresh = Math.max(1, Math.min(Math.max(MOST_NEW, newIn(LEAST_CAST)), newIn(people.length)));
  const size = Math.min(people.length, Math.max(LEAST_PEOPLE, Math.round((fresh * total) / others)));
  let [calls, rows, parts] = [0, 0, 0];
  for (let time = 0; time < TIMES; time++) {
    const cast = rotated(people, time).slice(0, size);
    const played = await play(cast, fresh, look, allowed);
    calls += played.calls / TIMES;
    rows = Math.max(rows, played.rows);
    parts += played.parts / TIMES;
  }
  const deeper = Math.max(1, depth(total, others) / depth(size, fresh));
  // The more is new, the less the owned tell of it: whole kinds of people may be missing among them.
  const unlike = 1 + Math.min(1, 4 * (others / total) ** 2);
  const scale = others / fresh;
  return {
    calls: Math.ceil(calls * scale * deeper * unlike) + names,
    rows: Math.ceil(rows * scale * MORE_ROWS),
    parts: Math.ceil(parts * scale),
  };
}

const depth = (total: number, fresh: number): number => 1 + Math.log2(Math.max(1, total / fresh));

async function play(
  cast: readonly SegmentMember[],
  fresh: number,
  { segment, listSize, alike }: Look,
  { callsPerCredit, spare }: Allowed,
): Promise<Played> {
  const owned = cast.slice(fresh);
  const newcomers = cast.slice(0, fresh).map((each, at): SegmentMember => {
    const like = at < Math.round(alike * fresh) ? owned[at] : undefined;
    return like === undefined ? each : { ...like, address: each.address };
  });
  const counts = ownCounts([...newcomers, ...owned], segment, listSize);
  const input = {
    segment,
    total: cast.length,
    owned: owned.map((member) => ({ ...member, named: true })),
    callsPerCredit,
    maxCalls: 20_000,
    maxWaste: Math.ceil(spare * fresh),
    maxRows: cast.length,
  };
  try {
    const { leaves, unreached } = await descend(input, counts);
    const bought = [...leaves, ...unreached.flatMap(({ within }) => within.map(({ rows: count }) => ({ count })))];
    const rows = bought.reduce((sum, { count }) => sum + count, 0);
    return { calls: counts.calls, rows, parts: bought.length };
  } catch (error) {
    if (!(error instanceof UnsoundCountsError)) throw error;
    return { calls: counts.calls, rows: cast.length, parts: 1 };
  }
}

const spread = <T>(items: readonly T[], most: number): readonly T[] =>
  items.length <= most
    ? items
    : Array.from({ length: most }, (_, at) => items[Math.floor((at * items.length) / most)]).flatMap(
        (item) => item ?? [],
      );

function rotated<T>(items: readonly T[], time: number): T[] {
  const step = 7_919 + 2 * time;
  const order = items.map((item, at) => ({ item, key: ((at + 1) * step * 2_654_435_761) % 4_294_967_296 }));
  return order.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

/** Counts of people who are owned, by what was bought of them. */
function ownCounts(people: readonly SegmentMember[], segment: Filters, listSize: number): Counts {
  const own = segment as Readonly<Record<string, unknown>>;
  const matching = (filters: Filters): readonly SegmentMember[] => {
    const tests = Object.entries(filters).filter(([key, value]) => own[key] !== value);
    const holds = tests.map(([key, value]) => holding(key, value));
    return people.filter((member) => holds.every((hold) => hold(member)));
  };
  let calls = 0;
  return {
    listSize,
    get calls() {
      return calls;
    },
    async count(filters) {
      calls++;
      return matching(filters).length;
    },
    async listed(filters, addresses) {
      calls += Math.ceil(addresses.length / listSize);
      const asked = new Set(addresses);
      return matching(filters).filter(({ address }) => address !== undefined && asked.has(address)).length;
    },
  };
}

function holding(key: string, wanted: unknown): (member: SegmentMember) => boolean {
  const field = key.replace(/_(prefix|min|max)$/, "");
  const of = (member: SegmentMember): unknown => (field === "name" ? member.name : member.values[field]);
  if (key.endsWith("_prefix")) return (member) => String(of(member) ?? "").startsWith(String(wanted));
  if (key.endsWith("_min") || key.endsWith("_max")) {
    const sign = key.endsWith("_min") ? 1 : -1;
    return (member) => {
      const value = of(member);
      return typeof value === "number" && sign * value >= sign * Number(wanted);
    };
  }
  const among = new Set([wanted].flat().map(String));
  return (member) => among.has(String(of(member) ?? ""));
}
