import { DEPARTMENTS, SENIORITY_LEVELS } from "../../shared/contract/departments.ts";
import type { FilterKey, Filters } from "../../shared/contract/filters.ts";
import { type Node, newIn, type Piece } from "./node.ts";
import type { Counts, SegmentMember } from "./question.ts";

type Range = "followers" | "connections";
type List = (typeof LISTS | typeof RARE)[number];

const RANGES: readonly Range[] = ["followers", "connections"];
const LISTS = [
  "department",
  "seniority_level",
  "functional_area",
  "industry",
  "country",
  "state",
  "city",
] as const satisfies readonly FilterKey[];
/** Most people have none of those that can be listed: for whom nothing else tells apart. */
const RARE = ["seniority", "title", "location", "last_name", "first_name"] as const satisfies readonly FilterKey[];
const FIXED: Partial<Record<List, readonly string[]>> = { department: DEPARTMENTS, seniority_level: SENIORITY_LEVELS };

const LONGEST = 50;

export interface Cut {
  readonly key: string;
  readonly left: Piece;
  readonly right: Piece;
  /** What is not in the left half is in the right one. */
  readonly covers: boolean;
  /** How likely somebody is in one of the halves. */
  readonly sure: number;
}

interface Listed {
  readonly key: List;
  readonly values: readonly string[];
  /** How likely somebody new has none of them. */
  readonly unseen: number;
}

export class Values {
  readonly #segment: Filters;
  readonly #total: number;
  readonly #counts: Counts;
  readonly #lists: Listed[] = [];
  readonly #long: Listed[] = [];
  readonly #covering = new Map<Range, Promise<boolean>>();
  readonly #unusable = new Set<string>();

  constructor(segment: Filters, total: number, owned: readonly SegmentMember[], counts: Counts) {
    this.#segment = segment;
    this.#total = total;
    this.#counts = counts;
    for (const key of [...LISTS, ...RARE]) {
      const own = segment[key];
      if (own !== undefined && !Array.isArray(own)) continue;
      const seen = new Map<string, number>();
      for (const { values } of owned) {
        const value = values[key];
        if (typeof value === "string") seen.set(value, (seen.get(value) ?? 0) + 1);
      }
      const often = (a: string, b: string): number => (seen.get(b) ?? 0) - (seen.get(a) ?? 0) || (a < b ? -1 : 1);
      const all = [own ?? FIXED[key] ?? [...seen.keys()].sort(often)].flat();
      const most = Math.min(LONGEST, counts.listSize);
      if (all.length < 2) continue;
      if (all.length > most || RARE.some((rare) => rare === key)) {
        if (own === undefined) this.#long.push({ key, values: all.slice(0, most), unseen: 1 });
        continue;
      }
      const values = all;
      // As many new people have a value of none of the owned as owned ones are alone with theirs (Good and Turing).
      const alone = FIXED[key] === undefined ? [...seen.values()].filter((times) => times === 1).length : 0;
      const without = owned.length - [...seen.values()].reduce((sum, times) => sum + times, 0);
      this.#lists.push({ key, values, unseen: (alone + without) / Math.max(1, owned.length) });
    }
  }

  /** The best first. @param all also those that leave many out */
  async cuts(node: Node, all = false): Promise<Cut[]> {
    const fresh = newIn(node);
    const members = [...node.placed, ...node.floating];
    const rated: { readonly score: number; readonly cut: Cut & Halves }[] = [];
    for (const key of RANGES) {
      if (this.#unusable.has(key)) continue;
      const cut = rangeCut(node.filters, key, members);
      if (cut === undefined) continue;
      const covers = await this.#covers(key);
      const sure = covers ? 1 : cut.with;
      rated.push({ score: cut.balance * sure ** fresh * (covers ? 1 : 0.7), cut: { ...cut, covers, sure } });
    }
    for (const { key, values, unseen } of this.#lists) {
      if (this.#unusable.has(key)) continue;
      const cut = listCut(node.filters, key, values, members);
      if (cut === undefined) continue;
      const sure = 1 - unseen;
      rated.push({ score: cut.balance * sure ** fresh * 0.7, cut: { ...cut, covers: false, sure } });
    }
    const likely = rated
      .filter(({ cut, score }) => score > 0 && cut.balance > 0.05)
      .sort((a, b) => b.score - a.score)
      .map(({ cut }) => cut);
    return all ? [...likely, ...this.#others(node, likely)] : likely;
  }

  #others({ filters, placed, floating }: Node, likely: readonly Cut[]): Cut[] {
    const used = new Set(likely.map(({ key }) => key));
    const usable = ({ key }: { readonly key: string }): boolean => !used.has(key) && !this.#unusable.has(key);
    const members = [...placed, ...floating];
    return [
      ...RANGES.flatMap((key) => middleCut(filters, key) ?? []),
      ...[...this.#lists, ...this.#long].flatMap(({ key, values }) => listCut(filters, key, values, members) ?? []),
    ]
      .filter(usable)
      .map((cut) => ({ ...cut, covers: false, sure: 0 }));
  }

  /** Somebody has several values of it. */
  refuse(key: string): void {
    this.#unusable.add(key);
  }

  /** Everybody in the segment has a number there, and so everybody in each part of it. */
  #covers(key: Range): Promise<boolean> {
    const known = this.#covering.get(key);
    if (known !== undefined) return known;
    const { [`${key}_min`]: min, [`${key}_max`]: max } = this.#segment as Record<string, unknown>;
    const asked =
      min !== undefined || max !== undefined
        ? Promise.resolve(true)
        : this.#counts.count({ ...this.#segment, [`${key}_min`]: 0 }).then((count) => count === this.#total);
    this.#covering.set(key, asked);
    return asked;
  }
}

interface Halves extends Pick<Cut, "key" | "left" | "right"> {
  readonly balance: number;
  readonly with: number;
}

function rangeCut(filters: Filters, key: Range, members: readonly SegmentMember[]): Halves | undefined {
  const [lowest, highest] = [`${key}_min`, `${key}_max`] as const;
  const from = Number(filters[lowest] ?? 0);
  const to = filters[highest] === undefined ? Number.POSITIVE_INFINITY : Number(filters[highest]);
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
  return { ...cutAt(filters, key, { from, at, to }), balance: entropy(half), with: numbers.length / members.length };
}

/** Where nobody owned tells where to cut. */
function middleCut(filters: Filters, key: Range): Halves | undefined {
  const from = Number(filters[`${key}_min`] ?? 0);
  const to = filters[`${key}_max`] === undefined ? Number.POSITIVE_INFINITY : Number(filters[`${key}_max`]);
  const at = Number.isFinite(to) ? Math.floor((from + to) / 2) : from < 256 ? 256 : from * 2;
  if (from >= to || at > LARGEST) return undefined;
  return { ...cutAt(filters, key, { from, at, to }), balance: 1, with: 1 };
}

const LARGEST = 2 ** 31;

function cutAt(
  filters: Filters,
  key: Range,
  { from, at, to }: { readonly from: number; readonly at: number; readonly to: number },
): Pick<Halves, "key" | "left" | "right"> {
  const [lowest, highest] = [`${key}_min`, `${key}_max`] as const;
  return {
    key,
    left: {
      filters: { ...filters, [lowest]: from, [highest]: at },
      holds: ({ values: { [key]: value } }) => typeof value === "number" && value >= from && value <= at,
    },
    right: {
      filters: { ...filters, [lowest]: at + 1 },
      holds: ({ values: { [key]: value } }) => typeof value === "number" && value > at && value <= to,
    },
  };
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
  const people = new Map<string, number>();
  for (const member of members) {
    const value = member.values[key];
    if (typeof value === "string") people.set(value, (people.get(value) ?? 0) + 1);
  }
  const [left, right]: [string[], string[]] = [[], []];
  let [here, there] = [0, 0];
  for (const value of [...values].sort((a, b) => (people.get(b) ?? 0) - (people.get(a) ?? 0) || (a < b ? -1 : 1))) {
    const weight = (people.get(value) ?? 0) + 0.01;
    if (here <= there) {
      left.push(value);
      here += weight;
    } else {
      right.push(value);
      there += weight;
    }
  }
  const half = (some: readonly string[]): Piece => {
    const among = new Set(some);
    return { filters: { ...filters, [key]: some }, holds: ({ values: own }) => among.has(String(own[key])) };
  };
  return { key, balance: entropy(here / (here + there)), with: 1, left: half(left), right: half(right) };
}

const entropy = (share: number): number =>
  share <= 0 || share >= 1 ? 0 : -share * Math.log2(share) - (1 - share) * Math.log2(1 - share);
