import { createHmac } from "node:crypto";
import type { Engine, Slice } from "../../dataset/engine.ts";
import { digestsOf } from "../../shared/contract/person-digest.ts";
import {
  type Digests,
  hexOf,
  SKETCH_PEOPLE_MAX,
  SketchCells,
} from "../../shared/contract/sketch.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import { invalid } from "../problem.ts";
import { idOf } from "./ids.ts";

export interface Sketched {
  readonly filters: CanonicalFilters;
  readonly canonical: string;
}

/** The people of a segment in its order, as one key sees them. */
export interface Roster {
  readonly key: string;
  readonly digests: Digests;
  /** By digest: where in the segment a person is. */
  readonly places: ReadonlyMap<string, number>;
}

const PAGE = 1_000;
const KEPT = 8;

/** Lists of the last segments that were sketched: their people are bought next. */
export class Sketches {
  readonly #lists = new Map<string, Roster>();

  /**
   * @param whose the hash of an API key: digests of one key
   * say nothing of those of another, or of another segment
   */
  recall(version: string, { canonical }: Sketched, whose: string): Roster | undefined {
    return this.#lists.get(`${version} ${keyOf(whose, canonical)}`);
  }

  /** @throws Problem 422 where there are too many people */
  async list(engine: Engine, segment: Sketched, whose: string): Promise<Roster> {
    const { version } = engine.info();
    const before = this.recall(version, segment, whose);
    if (before !== undefined) return before;

    const key = keyOf(whose, segment.canonical);
    const { ids, places: each } = await peopleOf(engine, segment);
    const digests = { high: new Uint32Array(ids.length), low: new Uint32Array(ids.length) };
    const places = new Map<string, number>();
    for (let from = 0; from < ids.length; from += PAGE) {
      const { high, low } = digestsOf(key, ids.slice(from, from + PAGE));
      digests.high.set(high, from);
      digests.low.set(low, from);
      for (const [at, first] of high.entries())
        places.set(hexOf(first, low[at] ?? 0), each[from + at] ?? 0);
      await othersTurn();
    }

    const roster = { key, digests, places };
    const [oldest] = this.#lists.keys();
    if (oldest !== undefined && this.#lists.size >= KEPT) this.#lists.delete(oldest);
    this.#lists.set(`${version} ${key}`, roster);

    return roster;
  }
}

const keyOf = (whose: string, canonical: string): string =>
  createHmac("sha256", whose).update(`sketch\n${canonical}`).digest("hex").slice(0, 32);

/** Between pages the calls of others are answered. */
const othersTurn = (): Promise<void> => new Promise((go) => setImmediate(go));

/** Cells of a roster, so many digests at a time. */
export async function cellsOf(
  { digests: { high, low } }: Roster,
  from: number,
  to: number,
): Promise<SketchCells> {
  const cells = SketchCells.empty(from, to);
  for (let at = 0; at < high.length; at++) {
    if (at % PAGE === 0) await othersTurn();
    cells.add(high[at] ?? 0, low[at] ?? 0, 1);
  }
  return cells;
}

async function peopleOf(engine: Engine, { filters }: Sketched) {
  const [ids, places]: [string[], number[]] = [[], []];
  for (let offset = 0; ; offset += PAGE) {
    const { byPlace, total } = await placedAt(engine, filters, { offset, limit: PAGE });
    if (total > SKETCH_PEOPLE_MAX) {
      throw invalid(
        `a sketch is of at most ${SKETCH_PEOPLE_MAX} people, ` +
          `and these filters find ${total}: narrow them`,
      );
    }

    places.push(...byPlace.keys());
    for (const record of byPlace.values()) ids.push(idOf(record));
    if (offset + PAGE >= total) return { ids, places };

    await othersTurn();
  }
}

/** A slice of a segment: who is in it, by their places in the segment. */
async function placedAt(engine: Engine, filters: CanonicalFilters, slice: Slice) {
  const { leftOut = [], records, total } = await engine.people(filters, slice);
  const gaps = new Set(leftOut);
  const byPlace = new Map<number, Buffer>();
  let at = 0;
  for (const record of records) {
    while (gaps.has(at)) at++;
    byPlace.set(slice.offset + at++, record);
  }
  return { byPlace, total };
}

/**
 * People who are so near to each other are read
 * together: with those between them it is one question.
 */
const NEAR = 16;

/**
 * @param places in the segment
 * @returns records in the order of the places asked, without those that are left out
 */
export async function recordsAt(
  engine: Engine,
  filters: CanonicalFilters,
  places: readonly number[],
) {
  const all = new Map<number, Buffer>();
  const open = [...places].sort((a, b) => b - a);
  for (let offset = open.pop(); offset !== undefined; offset = open.pop()) {
    let last = offset;
    for (let next = open.at(-1); next !== undefined && next - offset < NEAR; next = open.at(-1)) {
      last = next;
      open.pop();
    }
    const { byPlace } = await placedAt(engine, filters, { offset, limit: last - offset + 1 });
    for (const [place, record] of byPlace) all.set(place, record);
  }

  return places.flatMap((place) => all.get(place) ?? []);
}
