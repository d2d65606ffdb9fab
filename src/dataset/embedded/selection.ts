import { setImmediate as nextTurn } from "node:timers/promises";
import type { Condition } from "../../shared/contract/conditions.ts";
import type { Facet } from "../../shared/contract/facets.ts";
import { isPlaced } from "../columns.ts";
import { type FacetQuestion, OutOfTimeError } from "../engine.ts";
import { facetOf } from "../facet.ts";
import { ChunkedSegment, listSegment, type SegmentPositions } from "../segment.ts";
import type { ColumnFile } from "./column-file.ts";
import { type Ranges, rangesOf } from "./dictionary.ts";
import { addressKeys, type KeyList } from "./keys.ts";
import type { RecordStore } from "./record-store.ts";
import {
  type CodedColumn,
  type Codes,
  type CodeTest,
  type OpenTest,
  openOf,
  PEOPLE_A_CHUNK,
  passing,
  testOf,
} from "./scan.ts";
import type { Passing } from "./sweep.ts";

/**
 * Records that are read in one piece: at most a millisecond
 * when the file is in memory, some when it is not.
 */
const RECORDS_AT_ONCE = 25;
const READING_MS = 5;

export interface Tables {
  readonly people: number;
  readonly columns: ColumnFile;
  readonly store: RecordStore;
}

export interface SelectionOptions {
  readonly limitMs: number;
  readonly monotonic: () => number;
}

/**
 * Who is looked at, all where nobody is listed, and what
 * each has to pass, the one that the fewest pass first.
 */
interface Plan {
  readonly among: Uint32Array | undefined;
  readonly tests: readonly CodeTest[];
  /** How many pass the first. */
  readonly fewest: number;
}

interface Wanted {
  readonly column: CodedColumn;
  readonly ranges: Ranges;
  readonly people: number;
}

/**
 * Who meets all conditions: from the postings of the one
 * that the fewest meet, then by the codes of the others.
 */
export class PeopleSelection {
  readonly #tables: Tables;
  readonly #options: SelectionOptions;
  readonly #turn: () => Promise<void>;

  constructor(tables: Tables, options: SelectionOptions) {
    this.#tables = tables;
    this.#options = options;
    this.#turn = turns(options.monotonic);
  }

  async count(conditions: readonly Condition[]): Promise<number> {
    const plan = await this.#plan(conditions);
    if (!plan) return 0;
    if (plan.tests.length === 0) return plan.among?.length ?? this.#tables.people;
    // By one filter nobody is looked at: it is known how many have each value.
    if (plan.tests.length === 1 && !plan.among) return plan.fewest;
    let count = 0;
    await this.#pass(plan, (_, some) => {
      count += some.count;
    });
    return count;
  }

  async segment(conditions: readonly Condition[]): Promise<SegmentPositions> {
    const segment = new ChunkedSegment();
    const plan = await this.#plan(conditions);
    if (plan) await this.#pass(plan, (chunk, some) => segment.add(chunk, some));
    return segment;
  }

  async facet(
    conditions: readonly Condition[],
    question: FacetQuestion,
    limitMs: number,
  ): Promise<Facet> {
    const { before, coded, dictionary } = await this.#tables.columns.column(question.key);
    const size = dictionary.size + 1;

    if (conditions.length === 0) {
      const everybody = Uint32Array.from(
        { length: size },
        (_, code) => (before[code + 1] ?? 0) - (before[code] ?? 0),
      );
      return facetOf(everybody, dictionary, question);
    }

    const sums = new Uint32Array(size);

    const add = (_: number, { places }: Passing, codes?: Codes): void => {
      for (let index = 0; index < places.length; index++) {
        const code = codes?.[places[index] ?? 0] ?? size;
        sums[code] = (sums[code] ?? 0) + 1;
      }
    };

    const plan = await this.#plan(conditions);
    if (plan) await this.#pass(plan, add, { limitMs, beside: coded });

    return facetOf(sums, dictionary, question);
  }

  async ofEmployer(seq: number): Promise<SegmentPositions> {
    return listSegment(await this.#ridsOf("employer", [`/${seq}`]));
  }

  async records(rids: Uint32Array): Promise<Buffer[]> {
    const records: Buffer[] = [];
    for (let start = 0; start < rids.length; start += RECORDS_AT_ONCE) {
      await this.#turn();
      records.push(
        ...(await this.#tables.store.people(rids.subarray(start, start + RECORDS_AT_ONCE))),
      );
    }
    return records;
  }

  /** @returns undefined where nobody meets one of them */
  async #plan(conditions: readonly Condition[]): Promise<Plan | undefined> {
    let among: Uint32Array | undefined;
    const wanted: Wanted[] = [];
    for (const condition of conditions) {
      if (condition.kind === "address") {
        const index = condition.column === "network_url" ? "address" : "employer";
        const persons = await this.#ridsOf(index, addressKeys(condition.values));
        const others = among && new Set(among);
        among = others ? persons.filter((person) => others.has(person)) : persons;
      } else wanted.push(await this.#wanted(condition));
    }

    if (among?.length === 0 || wanted.some(({ people }) => people === 0)) return undefined;

    wanted.sort((a, b) => a.people - b.people);
    const tests = wanted.map(({ column, people, ranges }) => testOf(column, ranges, people));
    return { among, tests, fewest: wanted[0]?.people ?? 0 };
  }

  async #wanted(condition: Exclude<Condition, { kind: "address" }>): Promise<Wanted> {
    const { column: name } = condition;
    if (isPlaced(name) && condition.kind !== "range") {
      const { columns, store } = this.#tables;
      const wanted = condition.kind === "in" ? condition.values : [condition];
      const ranges = joined(await store.spans(name, wanted));

      return {
        column: await columns.coded(name),
        ranges,
        people: ranges.reduce((sum, [from, to]) => sum + to - from, 0),
      };
    }

    const { before, coded, dictionary } = await this.#tables.columns.column(name);
    const ranges = joined(rangesOf(condition, dictionary));
    const people = ranges.reduce(
      (sum, [from, to]) => sum + (before[to] ?? 0) - (before[from] ?? 0),
      0,
    );
    return { column: coded, ranges, people };
  }

  /** Once each, in public order: one person may be found by two of the addresses. */
  async #ridsOf(index: "address" | "employer", keys: KeyList): Promise<Uint32Array> {
    const rids = new Set<number>();
    for await (const piece of this.#tables.store.find(index, keys)) {
      await this.#turn();
      for (const rid of piece) rids.add(rid);
    }
    return Uint32Array.from(rids).sort();
  }

  /**
   * Chunk by chunk, in turns with the event loop.
   * @param take of each chunk where any pass: who, and their codes in the column `beside`
   * @throws OutOfTimeError, DatasetDamagedError
   */
  async #pass(
    { among, tests }: Plan,
    take: (chunk: number, some: Passing, codes?: Codes) => void,
    { beside, limitMs = this.#options.limitMs }: PassOptions = {},
  ): Promise<void> {
    const { monotonic } = this.#options;
    const { people } = this.#tables;
    const began = monotonic();

    for (let chunk = 0, at = 0; chunk * PEOPLE_A_CHUNK < people; chunk++) {
      const first = chunk * PEOPLE_A_CHUNK;
      let some: Uint16Array | undefined;
      if (among) {
        const start = at;
        while ((among[at] ?? Number.POSITIVE_INFINITY) < first + PEOPLE_A_CHUNK) at++;
        if (at === start) continue;
        // The lower 16 bits of a position are its place in its chunk.
        some = new Uint16Array(among.subarray(start, at));
      }

      const wanted = openOf(tests, chunk);
      if (!wanted) continue;

      await this.#turn();
      if (monotonic() - began >= limitMs)
        throw new OutOfTimeError(`no answer from the dataset within ${limitMs} ms`);

      const open: OpenTest[] = [];
      for (const test of wanted) open.push({ test, own: await test.column.own(chunk) });
      const aside = await beside?.own(chunk);

      const found = passing(open, chunk, Math.min(PEOPLE_A_CHUNK, people - first), some);
      take(chunk, found, aside?.codes);
    }
  }
}

interface PassOptions {
  readonly limitMs?: number;
  readonly beside?: CodedColumn;
}

/** Ranges that touch are one; none is empty. */
function joined(ranges: Ranges): Ranges {
  const all: [number, number][] = [];
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    const last = all.at(-1);
    if (last && last[1] >= from) last[1] = Math.max(last[1], to);
    else if (from < to) all.push([from, to]);
  }
  return all;
}

/**
 * Work takes turns with the event loop: resolves when the next piece may run, in the next round
 * where pieces of this one took some milliseconds, the last one aside.
 */
function turns(now: () => number): () => Promise<void> {
  let began: number | undefined;
  let next: Promise<void> | undefined;
  const round = (): Promise<void> => {
    next ??= nextTurn().then(() => {
      began = undefined;
      next = undefined;
    });
    return next;
  };

  return async () => {
    while (began !== undefined && now() - began >= READING_MS) await round();
    if (began !== undefined) return;
    began = now();
    void round();
  };
}
