import { knownValues } from "../../shared/contract/filters.ts";
import { isWithin, joinedFilters, meet, minus, type Segment, sameText, type ValuesOf } from "./algebra.ts";

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
      const known = knownValues(key);
      return (await valuesOf(segment, key)) ?? (known.length === 0 ? undefined : known);
    };
  }

  count(segment: Segment | undefined): Promise<number> {
    if (segment === undefined) return Promise.resolve(0);
    const key = sameText(segment);
    const known = this.#counts.get(key) ?? this.#count(segment);
    this.#counts.set(key, known);
    return known;
  }

  /** By what each two, three and so on have in common. */
  async people(segments: readonly Segment[]): Promise<number> {
    const all = joinedFilters(segments);
    const within = async (common: Segment | undefined, from: number, sign: number): Promise<number> => {
      let sum = 0;
      for (let at = from; at < all.length; at++) {
        const both = common === undefined ? all[at] : meet(common, all[at] ?? {});
        const here = await this.count(both);
        if (here > 0) sum += sign * here + (await within(both, at + 1, -sign));
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

  /** Parts share at most `overlap`. @throws InseparableError where people of `except` cannot be left out */
  async parts(segments: readonly Segment[], except: readonly Segment[]) {
    let found: Segment[] = [];
    for (const segment of joinedFilters(segments)) found = await this.#added(found, segment);
    for (const other of joinedFilters(except)) {
      const rest: Segment[] = [];
      for (const part of found) {
        const pieces = await this.without(part, other);
        if (pieces === undefined) {
          throw new InseparableError(await this.count(meet(part, other)), await this.count(part));
        }
        rest.push(...pieces);
      }
      found = rest;
    }
    const parts = await this.#filled(found);
    let overlap = 0;
    for (const [index, part] of found.entries())
      for (const other of found.slice(index + 1)) overlap += await this.count(meet(part, other));
    return { parts, overlap };
  }

  /** What they share is taken from the new one, or where that cannot be said from the old. */
  async #added(parts: readonly Segment[], segment: Segment): Promise<Segment[]> {
    const found = [...parts];
    const queue = [segment];
    for (let piece = queue.shift(); piece !== undefined; piece = queue.shift()) {
      let isPlaced = false;
      for (let at = 0; at < found.length && !isPlaced; at++) {
        const old = found[at] ?? {};
        const rest: readonly Segment[] | undefined = await this.without(piece, old);
        if (rest !== undefined && rest.length === 1) piece = rest[0] ?? piece;
        else if (rest !== undefined) {
          queue.push(...rest);
          isPlaced = true;
        } else {
          const smaller = await this.without(old, piece);
          if (smaller === undefined) continue;
          found.splice(at, 1, ...smaller);
          at += smaller.length - 1;
        }
      }
      if (!isPlaced) found.push(piece);
    }
    return found;
  }
}
