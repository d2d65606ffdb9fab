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
  const division = new Division(wall, count, wanted);
  await division.place({ ...segment, from: 0 }, await coveringLists(segment, count));
  return division;
}

class Division implements Parts {
  readonly parts: Part[] = [];
  readonly unreached: { where: string; count: number }[] = [];
  readonly #wall: number;
  readonly #count: Count;
  readonly #wanted: (from: number, to: number) => boolean;

  constructor(wall: number, count: Count, wanted: (from: number, to: number) => boolean) {
    this.#wall = wall;
    this.#count = count;
    this.#wanted = wanted;
  }

  /** @param lists what it may still be divided by, before names */
  async place(part: Part, [list, ...after]: readonly CoveringList[]): Promise<void> {
    if (part.count === 0 || !this.#wanted(part.from, part.from + part.count)) return;
    if (part.count <= this.#wall) this.parts.push(part);
    else if (list !== undefined) await this.#byList(part, list, after);
    else await this.#byName(part);
  }

  /** The second half is what the first one leaves, because the key covers the segment. */
  async #byList(
    whole: Part,
    { key, values }: CoveringList,
    after: readonly CoveringList[],
  ): Promise<void> {
    const part = {
      ...whole,
      filters: { ...whole.filters, [key]: values.map(({ value }) => value) },
    };
    if (!this.#wanted(part.from, part.from + part.count)) return;
    if (values.length === 1 || part.count <= this.#wall) return await this.place(part, after);

    const [left, right] = halves(values, part.count, this.#wall);
    const size = await this.#count({ ...part.filters, [key]: left.map(({ value }) => value) });
    if (size > part.count)
      throw new UnsoundCountsError(`a part of ${part.count} people has ${size}`);

    await this.#byList({ ...part, count: size }, { key, values: left }, after);
    await this.#byList(
      { ...part, count: part.count - size, from: part.from + size },
      { key, values: right },
      after,
    );
  }

  async #byName(part: Part): Promise<void> {
    const { name_prefix: value, ...others } = part.filters;
    const prefix = typeof value === "string" ? value : "";
    const exact = { ...others, name: prefix };
    const isAsked = prefix !== "" && part.filters.name === undefined;
    const whole = isAsked ? await this.#count(exact) : 0;
    if (whole > part.count)
      throw new UnsoundCountsError(`"${prefix}" is more often a whole name than a beginning`);

    if (whole > this.#wall)
      this.unreached.push({ where: `who are all called "${prefix}"`, count: whole });
    else if (whole > 0) this.parts.push({ filters: exact, count: whole, from: part.from });

    const rest = await this.#byNextLetter(part, prefix, part.count - whole);
    if (rest <= 0) return;

    const beginning = prefix === "" ? "" : `"${prefix}" and `;
    const where = `whose names begin with ${beginning}another character`;
    this.unreached.push({ where, count: rest });
  }

  /**
   * @param people those whose names go on after `prefix`, the last ones of the part
   * @returns how many of them go on with none of the steps; 0 where nobody else is wanted
   */
  async #byNextLetter(
    { filters, from, count: all }: Part,
    prefix: string,
    people: number,
  ): Promise<number> {
    const sizes = new Map<string, number>();
    let rest = people;

    for (const step of STEPS) {
      const start = from + all - rest;
      if (rest <= 0 || !this.#wanted(start, from + all)) return 0;
      if (prefix === "" && step.startsWith(" ")) continue;

      const longer = { ...filters, name_prefix: prefix + step };
      const size = await this.#count(longer);
      sizes.set(step, size);
      // The same people, as far as counts tell: of a service that takes no notice of accents.
      if (size > 0 && size === sizes.get(plainLetter(step) ?? "")) break;
      if (size > rest) {
        throw new UnsoundCountsError(
          `people whose names begin with "${prefix}" are ${all}, ` +
            "and more with the letters after it",
        );
      }

      await this.place({ filters: longer, count: size, from: start }, []);
      rest -= size;
    }

    return rest;
  }
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
