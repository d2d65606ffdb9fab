import type { DuckDBResult } from "@duckdb/node-api";
import type { Condition, Sql } from "../../contract/conditions.ts";
import type { Facet } from "../../contract/facets.ts";
import { toNumber } from "../duckdb.ts";
import type { FacetQuestion } from "../engine.ts";
import { facetOf, withOthers } from "../facet.ts";
import { BitmapSegment, ListSegment, type Segment } from "../segment.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import type { Counts } from "./counts.ts";
import type { FieldsOf } from "./keys.ts";
import { grouped, hasPlaces, intersect, isIndexed, keysOf, listed, meets, planOf, scan } from "./plan.ts";
import type { RecordStore } from "./record-store.ts";
import { TimeSlices } from "./time-slices.ts";

/** Records that are read in one piece: at most a millisecond when the file is in memory, some when it is not. */
const RECORDS_AT_ONCE = 25;
const READING_MS = 5;
/** A record without fields meets no condition. */
const NOBODY: FieldsOf = () => null;
/** Candidates that are checked on their records, 40 us each; beyond, one pass with a semi-join is cheaper (docs/dataset.md). */
const mostCandidates = (people: number): number => Math.min(1_000, Math.max(50, Math.floor(people / 10_000)));

/** Entries of an index that are found one by one where nothing else is asked: a third of a millisecond. More are scanned for. */
const FOUND_ALONE = 1_000;

/** What the people of one dataset are looked for in. */
export interface Tables {
  readonly people: number;
  readonly counts: Counts | undefined;
  readonly store: RecordStore;
  readonly pool: ConnectionPool;
}

/** Finds and counts people who meet conditions: in memory, in the row store's indexes, else in DuckDB (docs/dataset.md, Layout). */
export class Selection {
  readonly #people: number;
  readonly #counts: Counts | undefined;
  readonly #store: RecordStore;
  readonly #pool: ConnectionPool;
  readonly #slices: TimeSlices;

  /** @param monotonic a clock in milliseconds */
  constructor({ counts, people, pool, store }: Tables, monotonic: () => number) {
    this.#people = people;
    this.#counts = counts;
    this.#store = store;
    this.#pool = pool;
    this.#slices = new TimeSlices(READING_MS, monotonic);
  }

  async count(conditions: readonly Condition[]): Promise<number> {
    const known = this.#counts?.count(conditions) ?? (await this.#countIndexed(conditions));
    if (known !== undefined) return known;
    const few = await this.#selectFew(conditions);
    if (few) return few.count;
    const { lookups, rest } = planOf(conditions);
    if (lookups.length > 0 && rest.length > 0) return (await this.#narrow(lookups, rest)).count;
    const source = lookups.length > 0 ? intersect(lookups) : await this.#scan(rest);
    const text = `SELECT count(*) FROM (${source.text})`;
    return this.#pool.use(async (connection) => {
      const reader = await connection.runAndReadAll(text, [...source.values]);
      return toNumber(reader.getRowsJS()[0]?.[0]);
    });
  }

  /** Those who meet all conditions. */
  async segment(conditions: readonly Condition[]): Promise<Segment> {
    const few = await this.#selectFew(conditions);
    if (few) return few;
    const { lookups, rest } = planOf(conditions);
    if (lookups.length === 0) return this.#bitmap(await this.#scan(rest));
    return rest.length > 0 ? this.#narrow(lookups, rest) : this.#sorted(intersect(lookups));
  }

  async facet(conditions: readonly Condition[], question: FacetQuestion, limitMs: number): Promise<Facet> {
    const groups = this.#counts?.groups(question.key, conditions);
    if (groups) return facetOf(groups, question);
    const { text, values } = grouped(await this.#scanFor(conditions, question.key), question);
    return this.#pool.use(async (connection) => {
      const rows = (await connection.runAndReadAll(text, [...values])).getRowsJS();
      const [count = 0, missing = 0, distinct = 0] = rows.map(([, , n]) => toNumber(n));
      const told = rows.slice(3).map(([, value, n]) => ({ value: String(value), count: toNumber(n) }));
      return withOthers({ count, missing, distinct, values: told });
    }, limitMs);
  }

  /** The people of a company without an address, by its position. */
  ofEmployer(seq: number): Promise<Segment> {
    return this.#sorted({ text: "SELECT rid FROM lookups.by_employer WHERE key = ?::UINTEGER", values: [seq] });
  }

  /** A scan of the filter table; long texts are scanned by their places, which the row store's index knows. */
  async #scan(conditions: readonly Condition[], lookups: readonly Sql[] = [], column = "rid"): Promise<Sql> {
    const places = new Map<Condition, readonly [number, number]>();
    for (const condition of conditions) {
      if (hasPlaces(condition)) places.set(condition, await this.#store.places(condition.column, condition));
    }
    return scan(conditions, places, lookups, column);
  }

  /** A column of all who meet the conditions. */
  async #scanFor(conditions: readonly Condition[], column: string): Promise<Sql> {
    const few = await this.#selectFew(conditions);
    if (few) return this.#scan([], [listed(few.slice(0, few.count))], column);
    const { lookups, rest } = planOf(conditions);
    return this.#scan(rest, lookups, column);
  }

  /** How many people have one of some names or headlines, or a beginning of them, from the row store's index. */
  async #countIndexed(conditions: readonly Condition[]): Promise<number | undefined> {
    const [condition] = conditions;
    // One person may be found by two of the addresses.
    if (conditions.length !== 1 || !condition || !isIndexed(condition) || condition.kind === "address")
      return undefined;
    return this.#store.count(condition.column, condition, FOUND_ALONE);
  }

  /** People of some addresses, or few of a name, a headline or a beginning: the row store finds them, what else is asked is checked of them. */
  async #selectFew(conditions: readonly Condition[]): Promise<Segment | undefined> {
    const candidates = mostCandidates(this.#people);
    const most = conditions.length === 1 ? FOUND_ALONE : candidates;
    for (const condition of conditions.toSorted(
      (a, b) => Number(b.kind === "address") - Number(a.kind === "address"),
    )) {
      // Addresses are nowhere else.
      const found = await this.#find(condition, condition.kind === "address" ? Number.POSITIVE_INFINITY : most);
      if (!found) continue;
      const rest = conditions.filter((other) => other !== condition);
      if (rest.length === 0) return new ListSegment(found);
      if (found.length <= candidates) return this.#filtered(found, rest);
      const plan = planOf(rest);
      return this.#ordered(await this.#scan(plan.rest, [listed(found), ...plan.lookups]));
    }
    return undefined;
  }

  /** The positions in order; undefined where there is no index, or where there are more than `most`. */
  async #find(condition: Condition, most: number): Promise<Uint32Array | undefined> {
    if (!isIndexed(condition)) return undefined;
    const { index, wanted } = keysOf(condition);
    if (condition.kind === "prefix" && ((await this.#store.count(index, condition, 0)) ?? 0) > most) return undefined;
    const rids = new Set<number>();
    for (const keys of wanted) {
      for await (const piece of this.#store.find(index, keys)) {
        for (const rid of piece) rids.add(rid);
        if (rids.size > most) return undefined;
        await this.#slices.take();
      }
    }
    return Uint32Array.from(rids).sort();
  }

  async #filtered(rids: Uint32Array, conditions: readonly Condition[]): Promise<Segment> {
    const records = await this.#inPieces(rids, (piece) => this.#store.fields(piece));
    return new ListSegment(rids.filter((_, index) => meets(records[index] ?? NOBODY, conditions)));
  }

  async #narrow(lookups: readonly Sql[], rest: readonly Condition[]): Promise<Segment> {
    const candidates = intersect(lookups);
    const most = mostCandidates(this.#people);
    const few = await this.#pool.use(async (connection) => {
      const text = `SELECT rid FROM (${candidates.text}) LIMIT ${most + 1}`;
      return collect(await connection.run(text, [...candidates.values]));
    });
    if (few.length <= most) return this.#filtered(few.sort(), rest);
    return this.#ordered(await this.#scan(rest, lookups));
  }

  records(rids: Uint32Array): Promise<Buffer[]> {
    return this.#inPieces(rids, (piece) => this.#store.people(piece));
  }

  async #inPieces<Item>(rids: Uint32Array, read: (piece: Uint32Array) => Promise<Item[]>): Promise<Item[]> {
    const items: Item[] = [];
    for (let start = 0; start < rids.length; start += RECORDS_AT_ONCE) {
      await this.#slices.take();
      items.push(...(await read(rids.subarray(start, start + RECORDS_AT_ONCE))));
    }
    return items;
  }

  /** The positions that a statement gives, in order. For one that may give many, since DuckDB sorts them in threads of its own. */
  async #ordered({ text, values }: Sql): Promise<Segment> {
    return new ListSegment(await this.#rids({ text: `${text} ORDER BY rid`, values }));
  }

  /** The positions that a short statement gives: its ORDER BY would cost half as much again. */
  async #sorted(sql: Sql): Promise<Segment> {
    return new ListSegment((await this.#rids(sql)).sort());
  }

  #rids(sql: Sql): Promise<Uint32Array> {
    return this.#pool.use(async (connection) => collect(await connection.stream(sql.text, [...sql.values])));
  }

  /** The positions as bits, aggregated inside DuckDB, so that nothing is copied or sorted row by row. */
  #bitmap(sql: Sql): Promise<Segment> {
    // A whole number of bytes, so that DuckDB puts no padding before the first bit.
    const bits = Math.ceil(this.#people / 8) * 8;
    return this.#pool.use(async (connection) => {
      const text = `SELECT bitstring_agg(rid, 0::UINTEGER, ${Math.max(bits - 1, 1)}::UINTEGER) FROM (${sql.text})`;
      const value = (await connection.runAndReadAll(text, [...sql.values])).getRows()[0]?.[0];
      if (value === null || value === undefined) return new ListSegment(new Uint32Array());
      if (typeof value !== "object" || !("data" in value) || !(value.data instanceof Uint8Array)) {
        throw new Error("DuckDB gave no bits");
      }
      // The first byte says how much padding there is: none.
      return new BitmapSegment(new Uint8Array(value.data.subarray(1))).compact(() => this.#slices.take());
    });
  }
}

async function collect(result: DuckDBResult): Promise<Uint32Array> {
  const parts: Uint32Array[] = [];
  let length = 0;
  for (;;) {
    const chunk = await result.fetchChunk();
    if (!chunk || chunk.rowCount === 0) break;
    const part = Uint32Array.from(chunk.getColumnValues(0), Number);
    parts.push(part);
    length += part.length;
  }
  const all = new Uint32Array(length);
  let next = 0;
  for (const part of parts) {
    all.set(part, next);
    next += part.length;
  }
  return all;
}
