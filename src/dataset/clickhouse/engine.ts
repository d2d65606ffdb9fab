import type { ClickHouseClient } from "@clickhouse/client";
import { type CanonicalFilters, canonicalJson } from "../../contract/filters.ts";
import { isSlug } from "../../contract/normalise.ts";
import type { CompanyLookup, DatasetInfo, Engine, FoundCompany, RecordPage, Slice } from "../engine.ts";
import { NoDatasetError } from "../layout.ts";
import { ListSegment, SegmentCache } from "../segment.ts";
import { type Dialect, type Query, rendered } from "./dialect.ts";
import { pointerTable, type Topology, tablesOf } from "./schema.ts";
import { whereOf } from "./where.ts";

/**
 * Settings that keep every answer exact. A shard that is down must fail the query: `skip_unavailable_shards` would answer with
 * part of the people, and credits depend on the count.
 */
const EXACT = {
  skip_unavailable_shards: 0,
  fallback_to_stale_replicas_for_distributed_queries: 0,
  output_format_json_quote_64bit_integers: 0,
  max_execution_time: 30,
  connect_timeout: 5,
} as const;

export interface ClickHouseEngineOptions {
  readonly client: ClickHouseClient;
  readonly topology: Topology;
  readonly dialect: Dialect;
  /** Bytes for the row numbers of segments that are being paged through. Default 64 MiB. */
  readonly segmentCacheBytes?: number;
}

/**
 * People and companies in ClickHouse: the same answers as the embedded engine, row for row. Opens the dataset version that was
 * activated last and stays on it.
 * @throws Error where the server cannot be reached or holds no dataset
 */
export async function openClickHouseEngine(options: ClickHouseEngineOptions): Promise<Engine> {
  const { client, topology, dialect } = options;
  const rows = async (query: Query): Promise<readonly (readonly unknown[])[]> => {
    const answer = await client.query({
      ...rendered(query, dialect),
      format: "JSONCompact",
      clickhouse_settings: { ...EXACT },
    });
    return (await answer.json<readonly unknown[]>()).data;
  };
  const info = await activeDataset(client, topology);
  if (info === undefined) throw new NoDatasetError("this ClickHouse holds no dataset yet");
  const tables = tablesOf(info.version);
  const people = `${topology.database}.${tables.people}`;
  const companies = `${topology.database}.${tables.companies}`;
  const segmentBytes = options.segmentCacheBytes ?? 64 * 2 ** 20;
  const segments = new SegmentCache<Float64Array>(segmentBytes);

  const countWhere = async (where: Query): Promise<number> => {
    const answer = await rows({ sql: `SELECT count() FROM ${people}${where.sql}`, params: where.params });
    return Number(answer[0]?.[0]);
  };

  /** Row numbers of a slice in public order, and the size of the whole segment. */
  const ridsOf = async (
    key: string,
    where: Query,
    slice: Slice,
  ): Promise<{ rids: readonly number[]; total: number }> => {
    const known = segments.get(key);
    if (known !== undefined) return { rids: [...known.slice(slice.offset, slice.limit)], total: known.count };
    const total = await countWhere(where);
    if (total <= slice.offset) return { rids: [], total };
    const select = `SELECT rid FROM ${people}${where.sql} ORDER BY rid`;
    // One segment may take a quarter of what there is for all.
    if (slice.offset > 0 && total * Float64Array.BYTES_PER_ELEMENT <= segmentBytes / 4) {
      const all = Float64Array.from(await rows({ sql: select, params: where.params }), (row) => Number(row[0]));
      if (all.length !== total) throw new Error(`ClickHouse counted ${total} rows and then listed ${all.length}`);
      const segment = new ListSegment(all);
      segments.set(key, segment);
      return { rids: [...segment.slice(slice.offset, slice.limit)], total };
    }
    const page = await rows({
      sql: `${select} LIMIT {limit:UInt32} OFFSET {offset:UInt64}`,
      params: { ...where.params, limit: slice.limit, offset: slice.offset },
    });
    return { rids: page.map((row) => Number(row[0])), total };
  };

  const recordsOf = async (rids: readonly number[]): Promise<readonly string[]> => {
    if (rids.length === 0) return [];
    const found = await rows({
      sql: `SELECT rid, record FROM ${people} WHERE rid IN {rids:Array(UInt64)}`,
      params: { rids },
    });
    const byRid = new Map(found.map((row) => [Number(row[0]), String(row[1])]));
    return rids.map((rid) => {
      const record = byRid.get(rid);
      if (record === undefined) throw new Error(`ClickHouse lists the row ${rid} but does not return it`);
      return record;
    });
  };

  const pageOf = async (key: string, where: Query, slice: Slice): Promise<RecordPage> => {
    const { rids, total } = await ridsOf(key, where, slice);
    const expected = Math.max(0, Math.min(slice.limit, total - slice.offset));
    if (rids.length !== expected) throw new Error(`ClickHouse returned ${rids.length} of ${expected} rows`);
    return { records: await recordsOf(rids), total };
  };

  return {
    info: () => info,
    count: (filters) => countWhere(whereOf(filters)),
    people: (filters: CanonicalFilters, slice) => pageOf(canonicalJson(filters), whereOf(filters), slice),
    company: async (lookup): Promise<FoundCompany | undefined> => {
      const found = await rows({
        sql: `SELECT id, record FROM ${companies} WHERE ${companyColumn(lookup)} = {value:String} ORDER BY id LIMIT 1`,
        params: { value: lookup.value },
      });
      const first = found[0];
      return first === undefined ? undefined : { id: String(first[0]), record: String(first[1]) };
    },
    employees: async (companyId, slice) => {
      const found = await rows({
        sql: `SELECT seq FROM ${companies} WHERE id = {id:String}`,
        params: { id: companyId },
      });
      const company = found[0]?.[0];
      if (company === undefined) return { records: [], total: 0 };
      const where = { sql: " WHERE company = {company:Int64}", params: { company: Number(company) } };
      return pageOf(`company:${companyId}`, where, slice);
    },
    verify: async () => {
      const breaches: string[] = [];
      const [row] = await rows({
        sql: `SELECT count(), uniqExact(rid), uniqExact(id), max(rid) FROM ${people}`,
        params: {},
      });
      const [count = 0, rids = 0, ids = 0, last = 0] = (row ?? []).map(Number);
      if (count !== info.people) breaches.push(`${count} people are stored, ${info.people} were imported`);
      if (rids !== count) breaches.push(`${count - rids} row numbers are not distinct`);
      if (ids !== count) breaches.push(`${count - ids} ids are not distinct`);
      if (count > 0 && last !== count - 1) breaches.push(`row numbers end at ${last}, not at ${count - 1}`);
      const [stored] = await rows({ sql: `SELECT count() FROM ${companies}`, params: {} });
      if (Number(stored?.[0]) !== info.companies) {
        breaches.push(`${Number(stored?.[0])} companies are stored, ${info.companies} were imported`);
      }
      return breaches;
    },
    close: () => client.close(),
  };
}

/** The dataset version that was activated last on this server; undefined where there never was one. */
export async function activeDataset(client: ClickHouseClient, topology: Topology): Promise<DatasetInfo | undefined> {
  await client.command({ query: pointerTable(topology) });
  const answer = await client.query({
    query: `SELECT version, people, companies FROM ${topology.database}.headcount_datasets ORDER BY activated DESC LIMIT 1`,
    format: "JSONCompact",
    clickhouse_settings: { ...EXACT },
  });
  const active = (await answer.json<readonly unknown[]>()).data[0];
  if (active === undefined) return undefined;
  return { version: String(active[0]), people: Number(active[1]), companies: Number(active[2]) };
}

function companyColumn(lookup: CompanyLookup): string {
  if (lookup.by === "company_network_url") return isSlug(lookup.value) ? "slug" : "address";
  return lookup.by;
}
