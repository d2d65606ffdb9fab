import { DEPARTMENTS, SENIORITY_LEVELS } from "../../shared/contract/departments.ts";
import type { FilterKey, Filters } from "../../shared/contract/filters.ts";

export type Count = (filters: Filters) => Promise<number>;

export interface Part {
  readonly filters: Filters;
  readonly count: number;
  /** People in parts before it, those that cannot be reached counted. */
  readonly from: number;
}

export interface Parts {
  readonly parts: readonly Part[];
  /** People in no part: no key divides them further. */
  readonly unreached: readonly { readonly where: string; readonly count: number }[];
}

/** Approximate counts, or a dataset that moved. Nothing may be bought by them. */
export class UnsoundCountsError extends Error {}

const LISTS: readonly { readonly key: FilterKey; readonly values: readonly string[] }[] = [
  { key: "department", values: DEPARTMENTS },
  { key: "seniority_level", values: SENIORITY_LEVELS },
];

/** As its size is guessed from the shares of the whole segment. */
const FILL = 0.85;

/** What follows a space is asked for together with it, because ends are trimmed. */
const LETTERS = [..."aeinrlosthmdcukgbpyvzjfwxq"];
const STEPS = [
  ...LETTERS,
  ...LETTERS.map((letter) => ` ${letter}`),
  ..."-'.0123456789áéíóúäöüßñçèêàâôîëïåøæœłśżźćńęąőűšžčřďťňěůýğışćđ",
];

/**
 * Parts of at most `wall` people, proved by counts: they differ in a value that everybody has once, or in how the
 * name begins. @param wanted whether anybody from one place to before another is asked for @throws UnsoundCountsError
 */
export async function divide(
  segment: Filters,
  total: number,
  wall: number,
  count: Count,
  wanted: (from: number, to: number) => boolean = () => true,
): Promise<Parts> {
  const parts: Part[] = [];
  const unreached: { where: string; count: number }[] = [];
  const lists = await coveringLists(segment, total, count);

  const place = async (
    filters: Filters,
    people: number,
    from: number,
    left: readonly CoveringList[],
  ): Promise<void> => {
    if (people === 0 || !wanted(from, from + people)) return;
    if (people <= wall) parts.push({ filters, count: people, from });
    else if (left[0] !== undefined) await byList(filters, people, from, left[0], left[0].values, left.slice(1));
    else await byName(filters, people, from);
  };

  /** The second half is what the first one leaves, because the key covers the segment. */
  const byList = async (
    filters: Filters,
    people: number,
    from: number,
    list: CoveringList,
    values: readonly Share[],
    after: readonly CoveringList[],
  ): Promise<void> => {
    const own = { ...filters, [list.key]: values.map(({ value }) => value) };
    if (!wanted(from, from + people)) return;
    if (values.length === 1 || people <= wall) return place(own, people, from, after);
    const [left, right] = halves(values, people, wall);
    const here = await count({ ...filters, [list.key]: left.map(({ value }) => value) });
    if (here > people) throw unsound(`a part of ${people} people has ${here}`);
    await byList(filters, here, from, list, left, after);
    await byList(filters, people - here, from + here, list, right, after);
  };

  const byName = async (filters: Filters, people: number, from: number): Promise<void> => {
    const prefix = typeof filters.name_prefix === "string" ? filters.name_prefix : "";
    let left = people;
    if (prefix !== "" && filters.name === undefined) left -= await whole(filters, prefix, people, from);
    for (const step of STEPS) {
      if (left <= 0 || !wanted(from + people - left, from + people)) return;
      // A space first would be trimmed.
      if (prefix === "" && step.startsWith(" ")) continue;
      const longer = { ...filters, name_prefix: prefix + step };
      const here = await count(longer);
      if (here > left)
        throw unsound(`people whose names begin with "${prefix}" are ${people}, and more with the letters after it`);
      if (here > 0) await place(longer, here, from + people - left, []);
      left -= here;
    }
    if (left > 0) {
      const where =
        prefix === ""
          ? "whose names begin with another character"
          : `whose names begin with "${prefix}" and another character`;
      unreached.push({ where, count: left });
    }
  };

  const whole = async (filters: Filters, name: string, people: number, from: number): Promise<number> => {
    const { name_prefix: _, ...rest } = filters;
    const exact = { ...rest, name };
    const here = await count(exact);
    if (here > people) throw unsound(`"${name}" is more often a whole name than a beginning`);
    if (here > wall) unreached.push({ where: `who are all called "${name}"`, count: here });
    else if (here > 0) parts.push({ filters: exact, count: here, from });
    return here;
  };

  await place(segment, total, 0, lists);
  return { parts, unreached };
}

interface Share {
  readonly value: string;
  readonly share: number;
}

interface CoveringList {
  readonly key: FilterKey;
  readonly values: readonly Share[];
}

async function coveringLists(segment: Filters, total: number, count: Count): Promise<CoveringList[]> {
  const found: CoveringList[] = [];
  for (const { key, values } of LISTS) {
    const own = segment[key];
    const wanted = own === undefined ? values : [own].flat().map(String);
    if (wanted.length < 2) continue;
    const shares: Share[] = [];
    let sum = 0;
    for (const value of wanted) {
      const here = await count({ ...segment, [key]: value });
      sum += here;
      if (here > 0) shares.push({ value, share: here / total });
    }
    // The sum of the values is the union of them, and both are everybody.
    if (sum !== total || (await count({ ...segment, [key]: shares.map(({ value }) => value) })) !== total) continue;
    found.push({ key, values: shares.sort((a, b) => b.share - a.share) });
  }
  return found;
}

function halves(values: readonly Share[], people: number, wall: number): [Share[], Share[]] {
  const sum = values.reduce((all, { share }) => all + share, 0);
  const parts = Math.ceil(people / (FILL * wall));
  const most = (sum * Math.max(1, Math.floor(parts / 2))) / parts;
  const [left, right]: [Share[], Share[]] = [[], []];
  let size = 0;
  for (const value of values) {
    if (left.length === 0 || (size + value.share <= most && right.length + left.length < values.length)) {
      left.push(value);
      size += value.share;
    } else right.push(value);
  }
  const last = right.length === 0 ? left.pop() : undefined;
  if (last !== undefined) right.push(last);
  return [left, right];
}

const unsound = (message: string): UnsoundCountsError =>
  new UnsoundCountsError(`the counts do not add up: ${message}; they are approximate, or the dataset moved`);
