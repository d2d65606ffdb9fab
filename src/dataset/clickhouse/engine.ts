import type { ClickHouseSettings, QueryParams } from "@clickhouse/client";
import { LRUCache } from "lru-cache";
import { conditionsOf, type SqlDialect, whereSql } from "../../shared/contract/conditions.ts";
import type { Facet } from "../../shared/contract/facets.ts";
import { canonicalJson } from "../../shared/contract/filters.ts";
import { isSlug, slugOf } from "../../shared/contract/naming/slug.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import { ReloadingEngine, type ReloadOptions } from "../embedded/reloading-engine.ts";
import {
  type CompanyLookup,
  type DatasetInfo,
  type Engine,
  type FacetQuestion,
  type FoundCompany,
  OutOfTimeError,
  ofCompany,
  type RecordPage,
  type Slice,
} from "../engine.ts";
import { withOthers } from "../facet.ts";
import { NoDatasetError } from "../layout.ts";
import { listSegment, type SegmentCache, segmentCache } from "../segment.ts";
import { type Active, EXACT } from "./active.ts";
import { type ClickHouseServers, closeAll, connectClickHouse } from "./connect.ts";
import { codeOf } from "./errors.ts";
import { ServerPool } from "./pool.ts";
import { tablesOf } from "./schema.ts";
import { type Param, type Rows, rowsFrom, type Statement } from "./statement.ts";

const VERIFY_MS = 3_600_000;
const SPILL_BYTES = "2000000000";

const SEGMENT_BYTES = 64 * 2 ** 20;
const TIMEOUT_EXCEEDED = "159";

export interface ClickHouseEngineOptions {
  /** Of engines of one dataset after another: what is known of the servers. */
  readonly pool?: ServerPool;
  /** Bytes for the row numbers of segments that are being paged through. Default 64 MiB. */
  readonly segmentCacheBytes?: number;
}

interface PageCursor {
  readonly total: number;
  /** By offset: the row number of the last person before it. */
  readonly ends: LRUCache<number, number>;
}

const SEGMENTS = 1_000;
const ENDS = 1_000;

/**
 * The same answers as the embedded engine, row for row.
 * Stays on the version that was active when it was opened.
 */
export class ClickHouseEngine implements Engine {
  readonly #active: Active;
  readonly #pool: ServerPool;
  readonly #people: string;
  readonly #companies: string;
  readonly #segmentBytes: number;
  readonly #segments: SegmentCache<Float64Array>;
  /**
   * Where pages of large segments ended, so that the next
   * one begins there and nothing is skipped row by row.
   */
  readonly #cursors = new LRUCache<string, PageCursor>({ max: SEGMENTS });

  private constructor(
    { topology }: ClickHouseServers,
    active: Active,
    pool: ServerPool,
    segmentBytes: number,
  ) {
    const tables = tablesOf(active.version);
    this.#active = active;
    this.#pool = pool;
    this.#people = `${topology.database}.${tables.people}`;
    this.#companies = `${topology.database}.${tables.companies}`;
    this.#segmentBytes = segmentBytes;
    this.#segments = segmentCache(segmentBytes);
  }

  /**
   * Who opened the servers closes them.
   * @throws DatasetUnavailableError, NoDatasetError where they hold no dataset
   */
  static async open(
    servers: ClickHouseServers,
    options: ClickHouseEngineOptions = {},
  ): Promise<ClickHouseEngine> {
    const { pool = new ServerPool(servers), segmentCacheBytes = SEGMENT_BYTES } = options;
    const active = await pool.look();
    if (active === undefined) throw new NoDatasetError("this ClickHouse holds no dataset yet");
    return new ClickHouseEngine(servers, active, pool, segmentCacheBytes);
  }

  info(): DatasetInfo {
    return this.#active.info;
  }

  count(filters: CanonicalFilters): Promise<number> {
    return this.#count(this.#where(filters));
  }

  async facet(filters: CanonicalFilters, question: FacetQuestion, limitMs: number): Promise<Facet> {
    const { key, least, limit, prefix } = question;
    const where = this.#where(filters);
    const groups =
      `SELECT ${key} AS value, count() AS n FROM ` + `${this.#people}${where.sql} GROUP BY ${key}`;
    const params = { ...where.params, prefix, least, limit };

    // Missing text is ''.
    const form = key === "department" ? "lower(value)" : "value";
    const condition = `value != '' AND startsWith(${form}, {prefix:String})`;
    const order = "ORDER BY n DESC, value LIMIT {limit:UInt32}";

    const [totals, tops] = await Promise.all(
      [
        `SELECT sum(n), sumIf(n, value = ''), countIf(${condition}) FROM (${groups})`,
        `SELECT value, n FROM (${groups}) WHERE ${condition} AND n >= {least:UInt32} ${order}`,
      ].map((sql) => this.#rows({ sql, params }, limitMs)),
    );
    const [count = 0, missing = 0, distinct = 0] = (totals?.[0] ?? []).map(Number);
    const values = (tops ?? []).map(([value, n]) => ({ value: String(value), count: Number(n) }));
    return withOthers({ count, missing, distinct, values });
  }

  people(filters: CanonicalFilters, slice: Slice): Promise<RecordPage> {
    return this.#page(canonicalJson(filters), this.#where(filters), slice);
  }

  async company(lookup: CompanyLookup): Promise<FoundCompany | undefined> {
    const { by, value } = lookup;
    if (value === "") return undefined;
    if (by !== "company_network_url") return this.#company(by, value);
    if (isSlug(value)) return this.#company("slug", value);
    return (await this.#company("address", value)) ?? this.#company("address", slugOf(value));
  }

  async #company(column: string, value: string): Promise<FoundCompany | undefined> {
    const [first] = await this.#rows({
      sql:
        `SELECT id, record FROM ${this.#companies} WHERE ${column} ` +
        "= {value:String} ORDER BY id LIMIT 1",
      params: { value },
    });
    return first && { id: String(first[0]), record: Buffer.from(String(first[1])) };
  }

  async employees(companyId: string, slice: Slice): Promise<RecordPage> {
    const [company] = await this.#rows({
      sql: `SELECT seq, address FROM ${this.#companies} WHERE id = {id:String}`,
      params: { id: companyId },
    });
    if (company === undefined) return { records: [], total: 0 };

    const address = String(company[1]);
    if (address !== "") return this.people(ofCompany(address), slice);

    const where = {
      sql: " WHERE company = {company:Int64}",
      params: { company: Number(company[0]) },
    };
    return this.#page(`company:${companyId}`, and(where, this.#active.shown), slice);
  }

  async verify(): Promise<readonly string[]> {
    const breaches: string[] = [];
    // A bitmap of hundreds of millions of row numbers is small, a set of them is not.
    const people =
      "SELECT count(), groupBitmap(rid), max(rid) FROM " +
      `${this.#people}${and({ sql: "", params: {} }, this.#active.shown).sql}`;
    const [row = []] = await this.#rows({ sql: people, params: {} }, VERIFY_MS);
    const [count = 0, rids = 0, last = 0] = row.map(Number);

    if (count !== this.#active.info.people)
      breaches.push(
        `${count} people are stored, ${this.#active.info.people} ` +
          "were imported and not left out since",
      );

    if (rids !== count) breaches.push(`${count - rids} row numbers are not distinct`);

    const twins = await this.#twins();
    if (twins > 0) breaches.push(`${twins} ids are not distinct`);

    // Those who are left out leave holes, and the last one may be one.
    const isPast = this.#active.shown === "" ? last !== count - 1 : last >= this.#active.stored;
    if (count > 0 && isPast)
      breaches.push(`row numbers end at ${last}, not at ${this.#active.stored - 1}`);

    const [companies] = await this.#rows({
      sql: `SELECT count() FROM ${this.#companies}`,
      params: {},
    });
    const stored = Number(companies?.[0]);
    if (stored !== this.#active.info.companies) {
      breaches.push(`${stored} companies are stored, ${this.#active.info.companies} were imported`);
    }

    return breaches;
  }

  /**
   * Ids that more than one person has. All rows of an id
   * are on one shard, so that each shard looks at its own.
   */
  async #twins(): Promise<number> {
    const sql = `SELECT id FROM ${this.#people} GROUP BY id HAVING count() > 1 LIMIT 1000`;
    const own = {
      distributed_group_by_no_merge: "1",
      max_bytes_before_external_group_by: SPILL_BYTES,
    } as const;
    return (await this.#rows({ sql, params: {} }, VERIFY_MS, own)).length;
  }

  async close(): Promise<void> {}

  #where(filters: CanonicalFilters): Statement {
    return and(whereOf(filters), this.#active.shown);
  }

  /** @throws OutOfTimeError where it takes longer than `limitMs`; the server stops at it too */
  async #rows(query: Statement, limitMs?: number, more: ClickHouseSettings = {}): Promise<Rows> {
    if (limitMs === undefined) return this.#ask(query);
    const abort_signal = AbortSignal.timeout(limitMs);
    return this.#ask(query, {
      abort_signal,
      clickhouse_settings: { ...EXACT, max_execution_time: limitMs / 1_000, ...more },
    }).catch((error: unknown) => {
      if (!abort_signal.aborted && codeOf(error) !== TIMEOUT_EXCEEDED) throw error;
      throw new OutOfTimeError(`no answer from the dataset within ${limitMs} ms`, { cause: error });
    });
  }

  #ask(
    query: Statement,
    settings: Partial<QueryParams> = { clickhouse_settings: { ...EXACT } },
  ): Promise<Rows> {
    const { abort_signal } = settings;
    return this.#pool.ask(this.#active.info.version, (client, loss) => {
      const signals = abort_signal === undefined ? loss : AbortSignal.any([abort_signal, loss]);
      return rowsFrom(client, query, { ...settings, abort_signal: signals });
    });
  }

  async #count(where: Statement): Promise<number> {
    const [row] = await this.#rows({
      sql: `SELECT count() FROM ${this.#people}${where.sql}`,
      params: where.params,
    });
    return Number(row?.[0]);
  }

  async #page(key: string, where: Statement, slice: Slice): Promise<RecordPage> {
    const { rids, total } = await this.#positions(key, where, slice);
    const expected = Math.max(0, Math.min(slice.limit, total - slice.offset));
    if (rids.length !== expected)
      throw new Error(`ClickHouse returned ${rids.length} of ${expected} rows`);
    return { records: await this.#records(rids), total };
  }

  async #positions(key: string, where: Statement, slice: Slice) {
    const segment = this.#segments.get(key);
    if (segment !== undefined)
      return { rids: [...segment.slice(slice.offset, slice.limit)], total: segment.count };

    const cursor = this.#cursors.get(key);
    const total = cursor?.total ?? (await this.#count(where));
    if (total <= slice.offset) return { rids: [], total };

    // One segment may take a quarter of what there is for all.
    if (slice.offset > 0 && total * Float64Array.BYTES_PER_ELEMENT <= this.#segmentBytes / 4) {
      const all = Float64Array.from(await this.#rids(where, "ORDER BY rid", {}));
      if (all.length !== total)
        throw new Error(`ClickHouse counted ${total} rows and then listed ${all.length}`);
      const segment = listSegment(all);
      this.#segments.set(key, segment);
      return { rids: [...segment.slice(slice.offset, slice.limit)], total };
    }

    const after = slice.offset === 0 ? -1 : cursor?.ends.get(slice.offset);
    const skipping = "ORDER BY rid LIMIT {limit:UInt32} OFFSET {offset:UInt64}";
    const rids = await (after === undefined
      ? this.#rids(where, skipping, { ...slice })
      : this.#ridsAfter(where, after, Math.min(slice.limit, total - slice.offset), total));
    const last = rids.at(-1);

    if (last !== undefined) {
      const { ends } = cursor ?? { ends: new LRUCache<number, number>({ max: ENDS }).set(0, -1) };
      this.#cursors.set(key, { total, ends: ends.set(slice.offset + rids.length, last) });
    }

    return { rids, total };
  }

  /**
   * Looks where the next rows should be, were the
   * segment spread evenly, then in four times as much.
   */
  async #ridsAfter(
    where: Statement,
    after: number,
    wanted: number,
    total: number,
  ): Promise<readonly number[]> {
    const people = this.#active.stored;
    const rids: number[] = [];
    let span = Math.ceil((2 * wanted * people) / total);
    for (let from = after; rids.length < wanted && from < people; from += span, span *= 4) {
      const within = "rid > {from:Int64} AND rid <= {to:Int64} ORDER BY rid LIMIT {limit:UInt32}";
      const conditions = and(where, within);
      rids.push(
        ...(await this.#rids(conditions, "", {
          from,
          to: from + span,
          limit: wanted - rids.length,
        })),
      );
    }

    return rids;
  }

  async #rids(
    where: Statement,
    end: string,
    params: Statement["params"],
  ): Promise<readonly number[]> {
    const sql = `SELECT rid FROM ${this.#people}${where.sql} ${end}`;
    return (await this.#rows({ sql, params: { ...where.params, ...params } })).map(([rid]) =>
      Number(rid),
    );
  }

  async #records(rids: readonly number[]): Promise<readonly Buffer[]> {
    if (rids.length === 0) return [];

    const rows = await this.#rows({
      sql: `SELECT rid, record FROM ${this.#people} WHERE rid IN {rids:Array(UInt64)}`,
      params: { rids },
    });
    const byRid = new Map(rows.map(([rid, record]) => [Number(rid), Buffer.from(String(record))]));

    return rids.map((rid) => {
      const record = byRid.get(rid);
      if (record === undefined)
        throw new Error(`ClickHouse lists the row ${rid} but does not return it`);
      return record;
    });
  }
}

const MARKS: SqlDialect = {
  placeholder: (type) => (type === "text" ? "{?:String}" : "{?:Int64}"),
  addressColumns: (column) =>
    column === "network_url"
      ? { slug: "network_slug", address: "network_address" }
      : { slug: "company_slug", address: "company_address" },
};

function whereOf(filters: CanonicalFilters): Statement {
  const sql = whereSql(conditionsOf(filters), MARKS);
  const params: Record<string, Param> = {};
  let next = 0;
  // Values are never part of the text, so a mark is always a placeholder.
  const text = sql.text.replaceAll("{?:", () => {
    const name = `p${next}`;
    const value = sql.values[next++];
    if (value === undefined) throw new Error("a condition has more placeholders than values");
    params[name] = value;
    return `{${name}:`;
  });
  return { sql: text, params };
}

/** The rows of a query of which a condition holds too. @param condition "" is always true */
const and = ({ sql, params }: Statement, condition: string): Statement =>
  condition === ""
    ? { sql, params }
    : { sql: `${sql === "" ? " WHERE" : `${sql} AND`} ${condition}`, params };

export const openClickHouse = (address: string, password = ""): Promise<Engine> =>
  opened(address, password, (servers) => ClickHouseEngine.open(servers));

/**
 * An engine that goes over to the next dataset version, or
 * one without somebody, at the first call a second later.
 */
export function followClickHouse(
  address: string,
  password: string,
  options: ReloadOptions,
): Promise<Engine> {
  return opened(address, password, (servers) => {
    const pool = new ServerPool(servers);
    const version = async (): Promise<string> => {
      const active = await pool.look();
      if (active === undefined) throw new NoDatasetError("this ClickHouse holds no dataset");
      return active.info.version;
    };
    return ReloadingEngine.follow(
      { stamp: version, version, open: () => ClickHouseEngine.open(servers, { pool }) },
      options,
    );
  });
}

async function opened(
  address: string,
  password: string,
  open: (servers: ClickHouseServers) => Promise<Engine>,
): Promise<Engine> {
  const servers = await connectClickHouse(address, password);
  try {
    const engine = await open(servers);
    const close = engine.close.bind(engine);
    engine.close = () => close().then(() => closeAll(servers));
    return engine;
  } catch (error) {
    await closeAll(servers);
    throw error;
  }
}
