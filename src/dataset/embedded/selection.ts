import type { Condition } from "../../shared/contract/conditions.ts";
import type { Facet } from "../../shared/contract/facets.ts";
import { isPlaced, type PlacedColumn } from "../columns.ts";
import type { FacetQuestion } from "../engine.ts";
import { facetOf } from "../facet.ts";
import { BitmapSegment, ListSegment, type SegmentPositions } from "../segment.ts";
import type { StoredColumn, StoredColumns } from "./column-file.ts";
import type { Ranges } from "./dictionary.ts";
import { addressKeys, type KeyList } from "./keys.ts";
import type { RecordStore } from "./record-store.ts";
import {
  type BitTest,
  type CodeTest,
  PEOPLE_A_BLOCK,
  passes,
  peopleWithin,
  type Scan,
  type ScanResult,
} from "./scan.ts";
import type { ScanThreads } from "./scan-threads.ts";
import { sortedSpans } from "./sorted-spans.ts";

/** Records that are read in one piece: at most a millisecond when the file is in memory, some when it is not. */
const RECORDS_AT_ONCE = 25;
const READING_MS = 5;
/** Positions that are looked at, or made bits of, in one piece: half a millisecond. */
const POSITIONS_AT_ONCE = 2 ** 16;
const MOST_LISTED = 2 ** 16;

export interface Tables {
  readonly people: number;
  readonly columns: StoredColumns;
  readonly store: RecordStore;
  readonly sortedBy: readonly string[];
  readonly threads: Pick<ScanThreads, "scan">;
}

export interface SelectionOptions {
  readonly limitMs: number;
  /** Up to so many positions are looked at one by one; more become a bit for each person. Default 65,536. */
  readonly mostListed?: number | undefined;
  readonly mostSpans?: number | undefined;
  readonly monotonic: () => number;
}

interface Named {
  readonly count: number;
  readonly pieces: () => Iterable<ArrayLike<number>>;
}

/** Who is looked at, all where nobody is named and no spans are, and what each has to pass. */
interface Plan {
  readonly among: Uint32Array | undefined;
  readonly spans: Uint32Array | undefined;
  readonly tests: readonly (CodeTest | BitTest)[];
}

interface Wanted {
  readonly name: string;
  readonly column: StoredColumn;
  readonly ranges: Ranges;
  readonly people: number;
}

/** An index names few, the columns in memory say the rest (docs/dataset.md, Layout). */
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
    const [only] = conditions;
    if (conditions.length === 1 && only) return this.#countOne(only);
    const plan = await this.#plan(conditions);
    if (!plan) return 0;
    if (plan.among) return (await this.#kept(plan.among, plan.tests)).length;
    if (plan.spans && plan.tests.length === 0) return peopleWithin(plan.spans);
    return (await this.#scan(plan)).count;
  }

  async segment(conditions: readonly Condition[]): Promise<SegmentPositions> {
    const plan = await this.#plan(conditions);
    if (!plan) return new ListSegment(new Uint32Array());
    if (plan.among) return new ListSegment(await this.#kept(plan.among, plan.tests));
    const bits = this.#noBits();
    await this.#scan(plan, { bits });
    return new BitmapSegment(bits).compact(this.#turn);
  }

  async facet(conditions: readonly Condition[], question: FacetQuestion, limitMs: number): Promise<Facet> {
    const { before, codes, dictionary } = this.#column(question.key);
    const size = dictionary.size + 1;
    if (conditions.length === 0) {
      const everybody = Uint32Array.from({ length: size }, (_, code) => (before[code + 1] ?? 0) - (before[code] ?? 0));
      return facetOf(everybody, dictionary, question);
    }
    const plan = await this.#plan(conditions);
    let sums: Uint32Array | undefined;
    if (plan) {
      if (plan.among) {
        sums = new Uint32Array(size);
        for (const person of await this.#kept(plan.among, plan.tests)) {
          const code = codes[person] ?? 0;
          sums[code] = (sums[code] ?? 0) + 1;
        }
      } else sums = (await this.#scan(plan, { groups: { codes, size } }, limitMs)).sums;
    }
    return facetOf(sums ?? new Uint32Array(size), dictionary, question);
  }

  async ofEmployer(seq: number): Promise<SegmentPositions> {
    const named = await this.#found("employer", { values: [`/${seq}`] });
    return new ListSegment(await this.#listed(named));
  }

  async records(rids: Uint32Array): Promise<Buffer[]> {
    const records: Buffer[] = [];
    for (let start = 0; start < rids.length; start += RECORDS_AT_ONCE) {
      await this.#turn();
      records.push(...(await this.#tables.store.people(rids.subarray(start, start + RECORDS_AT_ONCE))));
    }
    return records;
  }

  /** Without looking at anybody: from an index, or from how many people have each value of a column. */
  async #countOne(condition: Condition): Promise<number> {
    const named = await this.#named(condition);
    if (named) return named.count;
    const { before, dictionary } = this.#column(condition.column);
    return peopleIn(dictionary.ranges(condition), before);
  }

  async #plan(conditions: readonly Condition[]): Promise<Plan | undefined> {
    const named: Named[] = [];
    const wanted: Wanted[] = [];
    for (const condition of conditions) {
      const found = await this.#named(condition);
      if (found) named.push(found);
      else {
        const column = this.#column(condition.column);
        const ranges = joined(column.dictionary.ranges(condition));
        wanted.push({ name: condition.column, column, ranges, people: peopleIn(ranges, column.before) });
      }
    }
    if ([...named.map(({ count }) => count), ...wanted.map(({ people }) => people)].includes(0)) return undefined;
    named.sort((a, b) => a.count - b.count);
    const [fewest] = named;
    const among =
      fewest && fewest.count <= (this.#options.mostListed ?? MOST_LISTED) ? await this.#listed(fewest) : undefined;
    const tests: { test: CodeTest | BitTest; people: number }[] = [];
    for (const other of among ? named.slice(1) : named) {
      tests.push({ test: { bits: await this.#bits(other) }, people: other.count });
    }
    const { rest, spans } = among ? { rest: wanted } : this.#spans(wanted);
    for (const { column, people, ranges } of rest) tests.push({ test: testOf(column, ranges), people });
    // Bits are checked 32 at a time.
    const cost = ({ test, people }: (typeof tests)[number]): number => ("bits" in test ? -1 : people);
    return { among, spans, tests: tests.sort((a, b) => cost(a) - cost(b)).map(({ test }) => test) };
  }

  /** Where those lie who have what is wanted of leading sort keys, and what still has to be looked at. */
  #spans(wanted: readonly Wanted[]): { readonly rest: readonly Wanted[]; readonly spans?: Uint32Array } {
    const asked = this.#tables.sortedBy.map((name) => wanted.find((one) => one.name === name));
    const keys = this.#tables.sortedBy.map((name, place) => {
      const { codes, dictionary } = this.#column(name);
      return { codes, size: dictionary.size + 1, ranges: asked[place]?.ranges };
    });
    const found = sortedSpans(keys, this.#tables.people, this.#options.mostSpans);
    if (!found) return { rest: wanted };
    const done = asked.slice(0, found.keys);
    return { rest: wanted.filter((one) => !done.includes(one)), spans: found.spans };
  }

  #column(name: string): StoredColumn {
    const column = this.#tables.columns.byName.get(name);
    if (!column) throw new Error(`the dataset has no column ${name}`);
    return column;
  }

  async #named(condition: Condition): Promise<Named | undefined> {
    if (condition.kind === "address") {
      return this.#found(condition.column === "network_url" ? "address" : "employer", addressKeys(condition.values));
    }
    const { column } = condition;
    if (condition.kind === "range" || !isPlaced(column)) return undefined;
    const spans =
      condition.kind === "prefix"
        ? [await this.#tables.store.places(column, condition)]
        : await this.#tables.store.spans(column, condition.values);
    const count = spans.reduce((sum, [from, before]) => sum + before - from, 0);
    return { count, pieces: () => this.#ordered(column, spans) };
  }

  *#ordered(column: PlacedColumn, spans: readonly (readonly [number, number])[]): Generator<Uint32Array> {
    const order = this.#tables.columns.orders[column];
    for (const [from, before] of spans) {
      for (let start = from; start < before; start += POSITIONS_AT_ONCE) {
        yield order.subarray(start, Math.min(before, start + POSITIONS_AT_ONCE));
      }
    }
  }

  /** One person may be found by two of the addresses. */
  async #found(index: "address" | "employer", wanted: KeyList): Promise<Named> {
    const found = new Set<number>();
    for await (const piece of this.#tables.store.find(index, wanted)) {
      await this.#turn();
      for (const rid of piece) found.add(rid);
    }
    return { count: found.size, pieces: () => [[...found]] };
  }

  async #listed({ count, pieces }: Named): Promise<Uint32Array> {
    const all = new Uint32Array(count);
    let next = 0;
    for (const piece of pieces()) {
      await this.#turn();
      all.set(piece, next);
      next += piece.length;
    }
    return all.sort();
  }

  async #bits({ pieces }: Named): Promise<Uint32Array> {
    const bits = this.#noBits();
    for (const piece of pieces()) {
      await this.#turn();
      for (let index = 0; index < piece.length; index++) {
        const person = piece[index] ?? 0;
        bits[person >>> 5] = (bits[person >>> 5] ?? 0) | (1 << (person & 31));
      }
    }
    return bits;
  }

  #noBits(): Uint32Array {
    return new Uint32Array(
      new SharedArrayBuffer((Math.ceil(this.#tables.people / PEOPLE_A_BLOCK) * PEOPLE_A_BLOCK) / 8),
    );
  }

  async #kept(among: Uint32Array, tests: Plan["tests"]): Promise<Uint32Array> {
    await this.#turn();
    return tests.length === 0 ? among : among.filter((person) => tests.every((test) => passes(test, person)));
  }

  #scan(
    { spans, tests }: Plan,
    found: Pick<Scan, "bits" | "groups"> = {},
    limitMs = this.#options.limitMs,
  ): Promise<ScanResult> {
    return this.#tables.threads.scan({ ...found, people: this.#tables.people, spans, tests }, limitMs);
  }
}

function testOf({ codes, dictionary, least, most }: StoredColumn, ranges: Ranges): CodeTest {
  const mask = ranges.length > 1 ? new Uint8Array(dictionary.size + 1) : undefined;
  for (const [from, to] of ranges) mask?.fill(1, from, to);
  return { codes, least, most, ranges: Uint32Array.from(ranges.flat()), mask };
}

const peopleIn = (ranges: Ranges, before: Uint32Array): number =>
  ranges.reduce((sum, [from, to]) => sum + (before[to] ?? 0) - (before[from] ?? 0), 0);

function joined(ranges: Ranges): Ranges {
  const all: [number, number][] = [];
  for (const [from, to] of ranges) {
    const last = all.at(-1);
    if (last && last[1] === from) last[1] = to;
    else all.push([from, to]);
  }
  return all;
}

/**
 * Work takes turns with the event loop: resolves when the next piece may run, in the next round where pieces of this
 * one took some milliseconds, the last one aside.
 */
function turns(now: () => number): () => Promise<void> {
  let began: number | undefined;
  let next: Promise<void> | undefined;
  const round = (): Promise<void> => {
    next ??= new Promise((resolve) => {
      setImmediate(() => {
        began = undefined;
        next = undefined;
        resolve();
      });
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
