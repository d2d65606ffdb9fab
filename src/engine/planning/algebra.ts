// Tested by test/planning/sets.test.ts.
import { canonicalJson } from "../../shared/contract/filters.ts";
import { covers, isSlug } from "../../shared/contract/naming/slug.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import {
  type CanonicalFilters,
  FILTER_SPECS,
  type FilterKey,
  type FilterKeySpec,
  filterSpec,
  knownValues,
  MAX_VALUES_PER_KEY,
} from "../../shared/contract/vocabulary.ts";

/**
 * Filters in normal form, lists as arrays: a set of people, each with at most one value of a field.
 */
export type Segment = { readonly [key in FilterKey]?: string | number | readonly string[] };

export const segmentOf = (canonical: CanonicalFilters): Segment =>
  JSON.parse(canonicalJson(canonical)) as Segment;

const sameText = (segment: Segment): string =>
  JSON.stringify(FILTER_SPECS.map(({ key }) => segment[key] ?? null));

const texts = (value: Segment[FilterKey]): readonly string[] =>
  value === undefined ? [] : [value].flat().map(String);

const isAddress = ({ key }: FilterKeySpec): boolean =>
  key === "network_url" || key === "company_network_url";

const isLow = (key: FilterKey): boolean => key.endsWith("_min");

function sameAddress(a: string, b: string): string | undefined {
  if (covers(b, a)) return a;
  return covers(a, b) ? b : undefined;
}

/** undefined: nobody can meet both. */
function meetOne(
  spec: FilterKeySpec,
  a: Segment[FilterKey],
  b: Segment[FilterKey],
): Segment[FilterKey] {
  if (spec.match === "range")
    return isLow(spec.key) ? Math.max(Number(a), Number(b)) : Math.min(Number(a), Number(b));
  if (spec.match === "prefix") {
    const [short = "", long = ""] = [String(a), String(b)].sort((x, y) => x.length - y.length);
    return long.startsWith(short) ? long : undefined;
  }

  const common = isAddress(spec)
    ? texts(a).flatMap((one) => texts(b).flatMap((other) => sameAddress(one, other) ?? []))
    : texts(a).filter((value) => texts(b).includes(value));
  if (common.length === 0) return undefined;

  return spec.list ? [...new Set(common)] : common[0];
}

/** Who is in both; undefined where the filters themselves say that nobody can be. */
export function meet(a: Segment, b: Segment): Segment | undefined {
  const both: Record<string, Segment[FilterKey]> = {};
  for (const spec of FILTER_SPECS) {
    const [one, other] = [a[spec.key], b[spec.key]];
    const value = one === undefined ? other : other === undefined ? one : meetOne(spec, one, other);
    if (value === undefined && one !== undefined) return undefined;
    if (value !== undefined) both[spec.key] = value;
  }
  return isEmpty(both) ? undefined : both;
}

function isEmpty(segment: Segment): boolean {
  return FILTER_SPECS.some(({ key, match, field }) => {
    const own = segment[key];
    if (own === undefined) return false;
    if (match === "range")
      return isLow(key) && Number(segment[highOf(key)] ?? Number.POSITIVE_INFINITY) < Number(own);
    const exact = match === "prefix" ? segment[field as FilterKey] : undefined;
    return exact !== undefined && !texts(exact).some((value) => beginsWith(value, String(own)));
  });
}

const highOf = (key: FilterKey): FilterKey => key.replace("_min", "_max") as FilterKey;
const lowOf = (key: FilterKey): FilterKey => key.replace("_max", "_min") as FilterKey;

const beginsWith = (value: string, prefix: string): boolean =>
  normalForm(value).startsWith(normalForm(prefix));

function isWithin(a: Segment, b: Segment): boolean {
  const both = meet(a, b);
  return both !== undefined && sameText(both) === sameText(a);
}

/** One segment that is both, where filters can say it. */
function joinOne(a: Segment, b: Segment): Segment | undefined {
  if (isWithin(a, b)) return b;
  if (isWithin(b, a)) return a;
  const differing = FILTER_SPECS.filter(
    ({ key }) => JSON.stringify(a[key]) !== JSON.stringify(b[key]),
  );
  const [spec] = differing;
  if (spec === undefined || differing.length > 1 || !spec.list) return undefined;
  if (a[spec.key] === undefined || b[spec.key] === undefined) return undefined;
  const values = [...new Set([...texts(a[spec.key]), ...texts(b[spec.key])])].sort();
  return values.length > MAX_VALUES_PER_KEY ? undefined : { ...a, [spec.key]: values };
}

export const joinedFilters = (segments: readonly Segment[]): readonly Segment[] =>
  segments.reduce<readonly Segment[]>(joinedTo, []);

/** A larger one may take in another. */
function joinedTo(segments: readonly Segment[], next: Segment): readonly Segment[] {
  for (const [at, one] of segments.entries()) {
    const both = joinOne(one, next);
    if (both !== undefined) return joinedTo(segments.toSpliced(at, 1), both);
  }
  return [...segments, next];
}

export type ValuesOf = (segment: Segment, key: FilterKey) => Promise<readonly string[] | undefined>;

/**
 * Who of `segment` does not meet the condition of `key`
 * in `other`; undefined where no filter says that.
 */
async function butNot(
  segment: Segment,
  other: Segment,
  key: FilterKey,
  valuesOf: ValuesOf,
): Promise<Segment | "nobody" | undefined> {
  const spec = filterSpec(key);
  if (spec === undefined) return undefined;
  if (spec.match === "range") {
    const bound = Number(other[key]);
    const beyond = isLow(key) ? { [highOf(key)]: bound - 1 } : { [lowOf(key)]: bound + 1 };
    if (isLow(key) && bound === 0) return undefined;
    return meet(segment, beyond) ?? "nobody";
  }

  const listKey = (spec.match === "prefix" ? spec.field : key) as FilterKey;
  const listSpec = filterSpec(listKey);
  if (listSpec === undefined || !listSpec.list) return undefined;

  const values =
    segment[listKey] === undefined ? await valuesOf(segment, listKey) : texts(segment[listKey]);
  if (values === undefined || values.length > MAX_VALUES_PER_KEY) return undefined;

  const wanted = texts(other[key]);

  // A slug may stand for an address, and a wider one than that.
  if (isAddress(spec) && [...values, ...wanted].some(isSlug)) return undefined;

  const isMet = (value: string): boolean =>
    spec.match === "prefix"
      ? wanted.some((prefix) => beginsWith(value, prefix))
      : wanted.includes(key === "department" ? value : normalForm(value));

  const rest = values.filter((value) => !isMet(value));
  return rest.length === 0 ? "nobody" : { ...segment, [listKey]: rest };
}

/** Who has no value of a key may be in none of the parts: counts tell. */
async function minus(
  segment: Segment,
  other: Segment,
  valuesOf: ValuesOf,
): Promise<readonly Segment[] | undefined> {
  const pieces: Segment[] = [];
  let rest: Segment | undefined = segment;
  for (const { key } of FILTER_SPECS) {
    if (other[key] === undefined || rest === undefined) continue;
    const condition: Segment = { [key]: other[key] };
    if (isWithin(rest, condition)) continue;
    const piece = await butNot(rest, other, key, valuesOf);
    if (piece === undefined) return undefined;
    if (piece !== "nobody") pieces.push(piece);
    rest = meet(rest, condition);
  }

  return pieces;
}

/** Nothing that filters say takes the people of both out of the first. */
export class InseparableError extends Error {
  readonly both: number;
  readonly people: number;

  constructor(both: number, people: number) {
    super("no filter takes these segments apart");
    this.both = both;
    this.people = people;
  }
}

/** Each segment is counted once. */
export class Sets {
  readonly #counts = new Map<string, Promise<number>>();
  readonly #count: (segment: Segment) => Promise<number>;
  readonly #valuesOf: ValuesOf;

  constructor(count: (segment: Segment) => Promise<number>, valuesOf: ValuesOf) {
    this.#count = count;
    this.#valuesOf = async (segment, key) => {
      const vocabulary = knownValues(key);
      return (await valuesOf(segment, key)) ?? (vocabulary.length === 0 ? undefined : vocabulary);
    };
  }

  count(segment: Segment | undefined): Promise<number> {
    if (segment === undefined) return Promise.resolve(0);
    const key = sameText(segment);
    const count = this.#counts.get(key) ?? this.#count(segment);
    this.#counts.set(key, count);
    return count;
  }

  /** By what each two, three and so on have in common. */
  async people(segments: readonly Segment[]): Promise<number> {
    const all = joinedFilters(segments);
    const within = async (
      common: Segment | undefined,
      from: number,
      sign: number,
    ): Promise<number> => {
      let sum = 0;
      for (let at = from; at < all.length; at++) {
        const both = common === undefined ? all[at] : meet(common, all[at] ?? {});
        const count = await this.count(both);
        if (count > 0) sum += sign * count + (await within(both, at + 1, -sign));
      }
      return sum;
    };

    return within(undefined, 0, 1);
  }

  /** In parts that share nobody; undefined where filters cannot say it, as counts prove. */
  async without(segment: Segment, other: Segment): Promise<readonly Segment[] | undefined> {
    const both = meet(segment, other);
    const shared = await this.count(both);
    if (shared === 0) return [segment];
    const all = await this.count(segment);
    if (shared === all || isWithin(segment, other)) return [];
    const pieces = await minus(segment, other, this.#valuesOf);
    if (pieces === undefined) return undefined;
    const filled = await this.#filled(pieces);
    const sum = filled.reduce((people, { count }) => people + count, 0);
    return sum === all - shared ? filled.map((piece) => piece.segment) : undefined;
  }

  async #filled(segments: readonly Segment[]) {
    const each: { readonly segment: Segment; readonly count: number }[] = [];
    for (const segment of segments) each.push({ segment, count: await this.count(segment) });
    return each.filter(({ count }) => count > 0);
  }

  /**
   * Parts share at most `overlap`.
   * @throws InseparableError where people of `except` cannot be left out
   */
  async parts(segments: readonly Segment[], except: readonly Segment[]) {
    let all: Segment[] = [];
    for (const segment of joinedFilters(segments)) all = await this.#added(all, segment);
    for (const other of joinedFilters(except)) {
      const rest: Segment[] = [];
      for (const part of all) {
        const pieces = await this.without(part, other);
        if (pieces === undefined) {
          throw new InseparableError(await this.count(meet(part, other)), await this.count(part));
        }
        rest.push(...pieces);
      }
      all = rest;
    }

    const parts = await this.#filled(all);
    let overlap = 0;
    for (const [index, part] of all.entries())
      for (const other of all.slice(index + 1)) overlap += await this.count(meet(part, other));

    return { parts, overlap };
  }

  /** What they share is taken from the new one, or where that cannot be said from the old. */
  async #added(parts: readonly Segment[], segment: Segment): Promise<Segment[]> {
    const all = [...parts];
    const queue = [segment];
    for (let piece = queue.shift(); piece !== undefined; piece = queue.shift()) {
      let isPlaced = false;
      for (let at = 0; at < all.length && !isPlaced; at++) {
        const old = all[at] ?? {};
        const rest: readonly Segment[] | undefined = await this.without(piece, old);
        if (rest !== undefined && rest.length === 1) piece = rest[0] ?? piece;
        else if (rest !== undefined) {
          queue.push(...rest);
          isPlaced = true;
        } else {
          const smaller = await this.without(old, piece);
          if (smaller === undefined) continue;
          all.splice(at, 1, ...smaller);
          at += smaller.length - 1;
        }
      }

      if (!isPlaced) all.push(piece);
    }

    return all;
  }
}
