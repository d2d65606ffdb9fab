// Tested by test/planning/descent.test.ts.
import { type FilterKey, type Filters, knownValues } from "../../shared/contract/vocabulary.ts";
import { type Node, newIn, type Piece } from "./node.ts";
import type { Counts, SegmentMember } from "./question.ts";

type RangeKey = "followers" | "connections";
type List = (typeof LISTS | typeof RARE)[number];

export const RANGES: readonly RangeKey[] = ["followers", "connections"];
export const LISTS = [
  "department",
  "seniority_level",
  "functional_area",
  "industry",
  "country",
  "state",
  "city",
] as const satisfies readonly FilterKey[];
/** Most people have none of those that can be listed: for whom nothing else tells apart. */
const RARE = [
  "seniority",
  "title",
  "location",
  "last_name",
  "first_name",
] as const satisfies readonly FilterKey[];

export const LONGEST_LIST = 50;

export interface Cut {
  readonly key: string;
  readonly left: Piece;
  readonly right: Piece;
  /** What is not in the left half is in the right one. */
  readonly covers: boolean;
  /** How likely somebody is in one of the halves. */
  readonly sure: number;
}

interface ListValues {
  readonly key: List;
  readonly values: readonly string[];
  readonly unseen: number;
}

export class Values {
  readonly #segment: Filters;
  readonly #total: number;
  readonly #counts: Counts;
  readonly #lists: ListValues[] = [];
  readonly #long: ListValues[] = [];
  readonly #covering = new Map<RangeKey, Promise<boolean>>();
  readonly #unusable = new Set<string>();

  constructor(segment: Filters, total: number, owned: readonly SegmentMember[], counts: Counts) {
    this.#segment = segment;
    this.#total = total;
    this.#counts = counts;

    const longest = Math.min(LONGEST_LIST, counts.listSize);
    for (const key of [...LISTS, ...RARE]) {
      const own = segment[key];
      if (own !== undefined && !Array.isArray(own)) continue;

      const tally = timesOf(key, owned);
      const vocabulary = knownValues(key);
      const often = (a: string, b: string): number =>
        (tally.get(b) ?? 0) - (tally.get(a) ?? 0) || (a < b ? -1 : 1);
      const values = [
        own ?? (vocabulary.length > 0 ? vocabulary : [...tally.keys()].sort(often)),
      ].flat();
      const isLong = values.length > longest || RARE.some((rare) => rare === key);

      // As many new people have a value of none of the owned
      // as owned ones are alone with theirs (Good and Turing).
      const alone =
        vocabulary.length > 0 ? 0 : [...tally.values()].filter((times) => times === 1).length;
      const without = owned.length - [...tally.values()].reduce((sum, times) => sum + times, 0);
      const unseen = (alone + without) / Math.max(1, owned.length);

      if (values.length < 2) continue;

      if (!isLong) this.#lists.push({ key, values, unseen });
      else if (own === undefined)
        this.#long.push({ key, values: values.slice(0, longest), unseen: 1 });
    }
  }

  /** The best first. @param all also those that leave many out */
  async cuts(node: Node, all = false): Promise<Cut[]> {
    const { filters } = node;
    const fresh = newIn(node);
    const members = [...node.placed, ...node.floating];
    const rated: { readonly score: number; readonly cut: Cut }[] = [];
    const rate = (halves: Halves | undefined, sure: number, covers = false): void => {
      const score = (halves?.balance ?? 0) * sure ** fresh * (covers ? 1 : 0.7);
      if (halves !== undefined && halves.balance > 0.05 && score > 0)
        rated.push({ score, cut: { ...halves, covers, sure } });
    };

    const usable = (key: string): boolean => !this.#unusable.has(key);

    for (const key of RANGES.filter(usable)) {
      const cut = rangeCut(filters, key, members);
      const covers = cut !== undefined && (await this.#covers(key));
      rate(cut, covers ? 1 : (cut?.with ?? 0), covers);
    }

    for (const { key, values, unseen } of this.#lists)
      if (usable(key)) rate(listCut(filters, key, values, members), 1 - unseen);

    const likely = rated.sort((a, b) => b.score - a.score).map(({ cut }) => cut);
    if (!all) return likely;

    const others = [
      ...RANGES.map((key) => middleCut(filters, key)),
      ...[...this.#lists, ...this.#long].map(({ key, values }) =>
        listCut(filters, key, values, members),
      ),
    ].flatMap((cut) => (cut === undefined ? [] : [{ ...cut, covers: false, sure: 0 }]));

    return [
      ...likely,
      ...others.filter(({ key }) => usable(key) && likely.every((cut) => cut.key !== key)),
    ];
  }

  /** Somebody has several values of it. */
  refuse(key: string): void {
    this.#unusable.add(key);
  }

  /** Everybody in the segment has a number there, and so everybody in each part of it. */
  #covers(key: RangeKey): Promise<boolean> {
    const before = this.#covering.get(key);
    if (before !== undefined) return before;

    const { [`${key}_min`]: min, [`${key}_max`]: max } = this.#segment as Record<string, unknown>;
    const answer =
      min !== undefined || max !== undefined
        ? Promise.resolve(true)
        : this.#counts
            .count({ ...this.#segment, [`${key}_min`]: 0 })
            .then((count) => count === this.#total);
    this.#covering.set(key, answer);

    return answer;
  }
}

/** Filters for whoever has these values, and this name. */
export function memberFilters({ name, values }: SegmentMember): Filters {
  const own: Record<string, string | number> = name === undefined ? {} : { name };
  for (const key of [...LISTS, ...RARE]) {
    const value = values[key];
    if (typeof value === "string") own[key] = value;
  }

  for (const key of RANGES) {
    const value = values[key];
    if (typeof value === "number")
      Object.assign(own, { [`${key}_min`]: value, [`${key}_max`]: value });
  }

  return own;
}

interface Halves extends Pick<Cut, "key" | "left" | "right"> {
  readonly balance: number;
  readonly with: number;
}

const spanOf = (filters: Filters, key: RangeKey) => ({
  from: Number(filters[`${key}_min`] ?? 0),
  to: Number(filters[`${key}_max`] ?? Number.POSITIVE_INFINITY),
});

function rangeCut(
  filters: Filters,
  key: RangeKey,
  members: readonly SegmentMember[],
): Halves | undefined {
  const { from, to } = spanOf(filters, key);
  const numbers = members
    .flatMap(({ values: { [key]: value } }) =>
      typeof value === "number" && value >= from && value <= to ? [value] : [],
    )
    .sort((a, b) => a - b);
  if (numbers.length === 0 || from >= to) return undefined;

  const median = numbers[(numbers.length - 1) >> 1] ?? 0;
  // Of many with the same number the cut is made beside them, where it halves better.
  const above = numbers.filter((number) => number > median).length;
  const below = numbers.filter((number) => number < median).length;
  const at = Math.max(below > above ? median - 1 : median, from);
  if (at >= to) return undefined;

  const half = numbers.filter((number) => number <= at).length / numbers.length;
  return {
    ...cutAt(filters, key, at),
    balance: entropy(half),
    with: numbers.length / members.length,
  };
}

function middleCut(filters: Filters, key: RangeKey): Halves | undefined {
  const { from, to } = spanOf(filters, key);
  const at = Number.isFinite(to) ? Math.floor((from + to) / 2) : from < 256 ? 256 : from * 2;
  return from >= to || at > LARGEST
    ? undefined
    : { ...cutAt(filters, key, at), balance: 1, with: 1 };
}

/** Nobody has more followers. */
const LARGEST = 2 ** 31;

function cutAt(
  filters: Filters,
  key: RangeKey,
  at: number,
): Pick<Halves, "key" | "left" | "right"> {
  const { from, to } = spanOf(filters, key);
  const between =
    (least: number, most: number): Piece["holds"] =>
    ({ values: { [key]: value } }) =>
      typeof value === "number" && value >= least && value <= most;

  return {
    key,
    left: {
      filters: { ...filters, [`${key}_min`]: from, [`${key}_max`]: at },
      holds: between(from, at),
    },
    right: { filters: { ...filters, [`${key}_min`]: at + 1 }, holds: between(at + 1, to) },
  };
}

function timesOf(key: List, members: readonly SegmentMember[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { values } of members) {
    const value = values[key];
    if (typeof value === "string") times.set(value, (times.get(value) ?? 0) + 1);
  }
  return times;
}

function listCut(
  filters: Filters,
  key: List,
  all: readonly string[],
  members: readonly SegmentMember[],
): Halves | undefined {
  const own = filters[key];
  const values = Array.isArray(own) ? (own as readonly string[]) : own === undefined ? all : [];
  if (values.length < 2) return undefined;

  const times = timesOf(key, members);
  const peopleOf = (value: string): number => times.get(value) ?? 0;
  const [left, right] = [
    { values: [] as string[], people: 0 },
    { values: [] as string[], people: 0 },
  ];

  for (const value of [...values].sort((a, b) => peopleOf(b) - peopleOf(a) || (a < b ? -1 : 1))) {
    const side = left.people <= right.people ? left : right;
    side.values.push(value);
    side.people += peopleOf(value) + 0.01;
  }

  const half = ({ values: some }: { readonly values: readonly string[] }): Piece => {
    const among = new Set(some);
    return {
      filters: { ...filters, [key]: some },
      holds: ({ values: own }) => among.has(String(own[key])),
    };
  };

  const balance = entropy(left.people / (left.people + right.people));
  return { key, balance, with: 1, left: half(left), right: half(right) };
}

const entropy = (share: number): number =>
  share <= 0 || share >= 1 ? 0 : -share * Math.log2(share) - (1 - share) * Math.log2(1 - share);
