// Tested by test/planning/parts.test.ts.
import { type FilterKey, type Filters, knownValues } from "../../shared/contract/vocabulary.ts";
import { LETTERS, plainLetter } from "./names.ts";
import { UnsoundCountsError } from "./question.ts";

type Count = (filters: Filters) => Promise<number>;

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

const FILL = 0.85;

const [PLAIN, OTHERS] = [LETTERS.slice(0, 26), LETTERS.slice(26)];
/** What follows a space is asked for together with it, because ends are trimmed. */
const STEPS = [...PLAIN, ...[...PLAIN].map((letter) => ` ${letter}`), ...OTHERS];

/**
 * They differ in a value that everybody has once, or in how the name begins.
 * @throws UnsoundCountsError
 */
export async function divide(
  segment: Omit<Part, "from">,
  wall: number,
  count: Count,
  wanted: (from: number, to: number) => boolean = () => true,
): Promise<Parts> {
  const parts: Part[] = [];
  const unreached: { where: string; count: number }[] = [];

  const place = async (part: Part, [list, ...after]: readonly CoveringList[]): Promise<void> => {
    if (part.count === 0 || !wanted(part.from, part.from + part.count)) return;
    if (part.count <= wall) parts.push(part);
    else if (list !== undefined) await byList(part, list, after);
    else await byName(part);
  };

  /** The second half is what the first one leaves, because the key covers the segment. */
  const byList = async (
    whole: Part,
    { key, values }: CoveringList,
    after: readonly CoveringList[],
  ): Promise<void> => {
    const part = {
      ...whole,
      filters: { ...whole.filters, [key]: values.map(({ value }) => value) },
    };
    if (!wanted(part.from, part.from + part.count)) return;
    if (values.length === 1 || part.count <= wall) return place(part, after);

    const [left, right] = halves(values, part.count, wall);
    const size = await count({ ...part.filters, [key]: left.map(({ value }) => value) });
    if (size > part.count)
      throw new UnsoundCountsError(`a part of ${part.count} people has ${size}`);

    await byList({ ...part, count: size }, { key, values: left }, after);
    await byList(
      { ...part, count: part.count - size, from: part.from + size },
      { key, values: right },
      after,
    );
  };

  const byName = async ({ filters, count: people, from }: Part): Promise<void> => {
    const { name_prefix: value, ...others } = filters;
    const prefix = typeof value === "string" ? value : "";
    const exact = { ...others, name: prefix };
    const whole = prefix === "" || filters.name !== undefined ? 0 : await count(exact);
    if (whole > people)
      throw new UnsoundCountsError(`"${prefix}" is more often a whole name than a beginning`);

    if (whole > wall) unreached.push({ where: `who are all called "${prefix}"`, count: whole });
    else if (whole > 0) parts.push({ filters: exact, count: whole, from });

    const sizes = new Map<string, number>();
    let rest = people - whole;
    for (const step of STEPS) {
      if (rest <= 0 || !wanted(from + people - rest, from + people)) return;
      if (prefix === "" && step.startsWith(" ")) continue;

      const longer = { ...filters, name_prefix: prefix + step };
      const size = await count(longer);
      sizes.set(step, size);
      // The same people, as far as counts tell: of a service that takes no notice of accents.
      if (size > 0 && size === sizes.get(plainLetter(step) ?? "")) break;
      if (size > rest) {
        const why =
          `people whose names begin with "${prefix}" are ${people}, ` +
          "and more with the letters after it";
        throw new UnsoundCountsError(why);
      }

      await place({ filters: longer, count: size, from: from + people - rest }, []);
      rest -= size;
    }

    const beginning = prefix === "" ? "" : `"${prefix}" and `;
    if (rest > 0)
      unreached.push({
        where: `whose names begin with ${beginning}another character`,
        count: rest,
      });
  };

  await place({ ...segment, from: 0 }, await coveringLists(segment, count));
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

async function coveringLists(
  { filters: segment, count: total }: Omit<Part, "from">,
  count: Count,
): Promise<CoveringList[]> {
  const lists: CoveringList[] = [];
  for (const key of ["department", "seniority_level"] as const) {
    const wanted = [segment[key] ?? knownValues(key)].flat().map(String);
    if (wanted.length < 2) continue;

    const shares: Share[] = [];
    let sum = 0;
    for (const value of wanted) {
      const size = await count({ ...segment, [key]: value });
      sum += size;
      if (size > 0) shares.push({ value, share: size / total });
    }

    // The sum of the values is the union of them, and both are everybody.
    if (
      sum !== total ||
      (await count({ ...segment, [key]: shares.map(({ value }) => value) })) !== total
    )
      continue;

    lists.push({ key, values: shares.sort((a, b) => b.share - a.share) });
  }

  return lists;
}

function halves(values: readonly Share[], people: number, wall: number): [Share[], Share[]] {
  const sum = values.reduce((all, { share }) => all + share, 0);
  const parts = Math.ceil(people / (FILL * wall));
  const most = (sum * Math.max(1, Math.floor(parts / 2))) / parts;
  const [left, right]: [Share[], Share[]] = [[], []];
  let size = 0;
  for (const value of values) {
    const fits = left.length === 0 || size + value.share <= most;
    (fits ? left : right).push(value);
    if (fits) size += value.share;
  }

  if (right.length === 0) right.push(...left.splice(-1));

  return [left, right];
}
