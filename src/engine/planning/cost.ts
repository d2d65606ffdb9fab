// Tested by test/planning/cost.test.ts.
import type { Filters } from "../../shared/contract/vocabulary.ts";
import { descend } from "./descent.ts";
import { type Dice, dice, draw } from "./draw.ts";
import { type Likeness, newcomerOf } from "./likeness.ts";
import { MOST_NAMED, type Presence } from "./presence.ts";
import { type Cost, type Counts, type SegmentMember, UnsoundCountsError } from "./question.ts";

export interface Look
  extends Likeness,
    Pick<Presence, "segment" | "total" | "others" | "chunks" | "calls" | "sketch"> {
  readonly members: readonly SegmentMember[];
  readonly listSize: number;
  /** Whether nobody who is owned is bought with the new ones, whatever that takes. */
  readonly alone?: boolean;
}

/** The most rows for each new person, by the free calls that saving a credit may take. */
const KINDS: readonly { readonly from: number; readonly rows: number }[] = [
  { from: 5, rows: 1.1 },
  { from: 2, rows: 2 },
  { from: 1, rows: 3 },
];

const SPARE = 2;

export async function costOf(look: Look, callsPerCredit: number): Promise<Cost> {
  const { total, others, sketch, alike, alone = false } = look;
  // Looking once more proves it.
  if (sketch !== undefined)
    return {
      callsPerCredit,
      calls: look.calls,
      rows: callsPerCredit === 0 ? total : others,
      parts: 1,
    };

  const kind = KINDS.find(({ from }) => callsPerCredit >= from);
  const each = Math.max(kind?.rows ?? Number.POSITIVE_INFINITY, 1.1 + alike);
  const rows = alone ? others : Math.min(total, Math.ceil(others * each) + SPARE);
  const certain = proofOf(look);

  if (others === 0)
    return { callsPerCredit: 0, calls: halvingOf(look) + certain, rows: 0, parts: 0 };
  if (kind === undefined || rows === total) {
    return { callsPerCredit: 0, calls: halvingOf(look) + certain, rows: total, parts: 1 };
  }

  const rehearsal = await rehearse(look, { callsPerCredit, spare: (rows - others) / others });
  const calls = rehearsal.calls + halvingOf(look) + certain;
  return { ...rehearsal, callsPerCredit, calls, rows: Math.min(rows, rehearsal.rows + SPARE) };
}

/** At the most calls a credit that fits into so many; undefined where none does. */
export async function costWithin(
  look: Look,
  callsPerCredit: number,
  maxCalls: number,
): Promise<Cost | undefined> {
  for (const each of [
    callsPerCredit,
    ...KINDS.map(({ from }) => from).filter((from) => from < callsPerCredit),
  ]) {
    const cost = await costOf(look, each);
    if (cost.calls <= maxCalls) return cost;
  }
  return undefined;
}

/** It is looked for once more, and for the new people. */
const proofOf = ({ others, calls, listSize }: Look): number => calls + Math.ceil(others / listSize);

function halvingOf({ chunks, listSize }: Look): number {
  const all = chunks.reduce((sum, { items }) => sum + items.length, 0);
  const absent = all - chunks.reduce((sum, { present }) => sum + present, 0);
  if (absent === 0) return 0;
  const least = Math.min(absent, all - absent + 1);
  return Math.ceil(0.45 * least * Math.log2(2 + all / absent) + 12 + all / listSize);
}

const MOST_PEOPLE = 2_000;
const LEAST_PEOPLE = 24;
/**
 * It is played until so many new people, and owned ones, took part: of few one time tells little.
 */
const ENOUGH = 100;
const MOST_TIMES = 6;

type Allowed = Readonly<Record<"callsPerCredit" | "spare", number>>;
type Rehearsal = Pick<Cost, "calls" | "parts" | "rows">;

/** More may have to be bought than in the mean of the rehearsals. */
const MORE_ROWS = 1.15;

/**
 * Finds it out by doing it: some of the owned are taken
 * for new and looked for by counts that are made here.
 */
async function rehearse(look: Look, allowed: Allowed): Promise<Rehearsal> {
  const { total, others, members, listSize } = look;
  const isSure = members.every(({ isKnown }) => isKnown);
  const names = isSure ? 0 : Math.ceil(members.length / Math.min(listSize, MOST_NAMED)) + 15;

  if (members.length < LEAST_PEOPLE) {
    const levels = Math.log2(total / others);
    return { calls: Math.ceil(others * (2.4 * levels + 7)) + names, rows: total, parts: others };
  }

  const size = Math.min(members.length, MOST_PEOPLE);
  const fresh = Math.min(size - 1, Math.max(1, Math.round((size * others) / total)));
  let [calls, rows, parts] = [0, 0, 0];
  const times = Math.min(MOST_TIMES, Math.ceil(ENOUGH / Math.min(fresh, size - fresh)));
  const scale = others / fresh / times;

  for (let time = 0; time < times; time++) {
    const random = dice(`rehearsal ${time}`);
    const cast = draw(members.length, size, random).flatMap((at) => members[at] ?? []);
    const rehearsal = await play(cast, fresh, look, { ...allowed, random });
    calls += rehearsal.calls * scale;
    rows += rehearsal.rows * scale;
    parts += rehearsal.parts * scale;
  }

  const deeper = Math.max(1, depth(total, others) / depth(size, fresh));
  return {
    calls: Math.ceil(calls * deeper) + names,
    rows: Math.ceil(rows * MORE_ROWS),
    parts: Math.ceil(parts),
  };
}

const depth = (total: number, fresh: number): number => 1 + Math.log2(Math.max(1, total / fresh));

async function play(
  cast: readonly SegmentMember[],
  fresh: number,
  { segment, listSize, alike, still, traits }: Look,
  { callsPerCredit, spare, random }: Allowed & { readonly random: Dice },
): Promise<Rehearsal> {
  const owned = cast.slice(fresh);
  const newcomers = cast.slice(0, fresh).map((each, at): SegmentMember => {
    const like = at < Math.round(alike * fresh) ? owned[random(owned.length)] : undefined;
    return like === undefined
      ? newcomerOf(each, traits, random)
      : { ...like, address: each.address };
  });

  const now = owned.map((each): SegmentMember => {
    const isStill = each.isKnown || random(1_000) < 1_000 * still;
    return isStill
      ? each
      : { ...each, values: { ...each.values, followers: Number(each.values.followers) + 1 } };
  });
  const counts = ownCounts([...newcomers, ...now], segment, listSize);

  const input = {
    segment,
    total: cast.length,
    owned: owned.map((member) => ({ ...member, isNamed: true })),
    callsPerCredit,
    maxCalls: 20_000,
    maxWaste: Math.round(spare * fresh),
    maxRows: cast.length,
  };

  try {
    const { leaves, unreached } = await descend(input, counts);
    const parts = [
      ...leaves,
      ...unreached.flatMap(({ within }) => within.map(({ rows: count }) => ({ count }))),
    ];
    const rows = parts.reduce((sum, { count }) => sum + count, 0);
    return { calls: counts.calls, rows, parts: parts.length };
  } catch (error) {
    if (!(error instanceof UnsoundCountsError)) throw error;
    return { calls: counts.calls, rows: cast.length, parts: 1 };
  }
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

    async countAt(filters, addresses) {
      calls += Math.ceil(addresses.length / listSize);
      const list = new Set(addresses);
      return matching(filters).filter(({ address }) => address !== undefined && list.has(address))
        .length;
    },
  };
}

function holding(key: string, wanted: unknown): (member: SegmentMember) => boolean {
  const field = key.replace(/_(prefix|min|max)$/, "");
  const of = (member: SegmentMember): unknown =>
    field === "name" ? member.name : member.values[field];

  if (key.endsWith("_prefix"))
    return (member) => String(of(member) ?? "").startsWith(String(wanted));
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
