import { join } from "node:path";
import type { ClickHouseClient } from "@clickhouse/client";
import { NORMAL_COLUMNS, NUMBER_COLUMNS } from "../../contract/conditions.ts";
import { canonicalAddress, slugOf } from "../../contract/normalise.ts";
import { literal, machineResources, startDuckDb } from "../duckdb.ts";
import { RecordStore } from "../embedded/record-store.ts";
import { type DatasetMeta, FILES } from "../layout.ts";
import type { ClickHouseServers } from "./open.ts";
import { createTables, dropTables, pointerTable, tablesOf } from "./schema.ts";

export interface LoadOptions {
  readonly folder: string;
  readonly meta: DatasetMeta;
  readonly now: () => number;
  readonly onProgress?: (progress: { readonly done: number; readonly total: number }) => void;
  readonly signal?: AbortSignal;
}

const BATCH = 20_000;
/** Inserts answer only when every shard has the rows. */
const SYNCHRONOUS = { insert_distributed_sync: 1, output_format_json_quote_64bit_integers: 0 } as const;

const TEXT_COLUMNS = [...NORMAL_COLUMNS, "department"];

/** New tables beside the old ones, rows counted on the cluster, then the pointer. @throws Error where a server fails or rows are missing */
export async function loadIntoClickHouse(
  servers: ClickHouseServers,
  options: LoadOptions,
): Promise<{ readonly version: string }> {
  const { clients, topology, dialect } = servers;
  const [client] = clients;
  const version = options.meta.version.replace(/\W/g, "_");
  const tables = tablesOf(version);
  const onAll = async (statements: readonly string[]): Promise<void> => {
    for (const server of clients) for (const query of statements) await server.command({ query });
  };
  await onAll([pointerTable(topology), ...dropTables(version, topology), ...createTables(version, topology, dialect)]);
  try {
    const records = new RecordStore(options.folder);
    try {
      await copyCompanies(client, `${topology.database}.${tables.companies}`, records);
      await copyPeople(client, `${topology.database}.${tables.people}`, records, options);
    } finally {
      await records.close();
    }
    const expected = { [tables.people]: options.meta.people, [tables.companies]: options.meta.companies };
    for (const [table, rows] of Object.entries(expected)) {
      const answer = await client.query({
        query: `SELECT count() FROM ${topology.database}.${table}`,
        format: "JSONCompact",
        clickhouse_settings: { output_format_json_quote_64bit_integers: 0, skip_unavailable_shards: 0 },
      });
      const stored = Number((await answer.json<readonly unknown[]>()).data[0]?.[0]);
      if (stored !== rows)
        throw new Error(`${table} holds ${stored} rows after ${rows} were sent; the old dataset stays`);
    }
  } catch (error) {
    await onAll(dropTables(version, topology));
    throw error;
  }
  const row = { version, activated: options.now(), people: options.meta.people, companies: options.meta.companies };
  for (const server of clients) {
    await server.insert({ table: `${topology.database}.headcount_datasets`, values: [row], format: "JSONEachRow" });
  }
  await dropOldVersions(servers, version);
  return { version };
}

/** Keeps the version before the new one for services that have not noticed yet. */
async function dropOldVersions(servers: ClickHouseServers, current: string): Promise<void> {
  const { clients, topology } = servers;
  const answer = await clients[0].query({
    query: `SELECT version FROM ${topology.database}.headcount_datasets ORDER BY activated DESC`,
    format: "JSONCompact",
  });
  const versions = (await answer.json<readonly unknown[]>()).data.map((row) => String(row[0]));
  for (const version of versions.slice(2)) {
    if (version === current) continue;
    for (const server of clients) for (const query of dropTables(version, topology)) await server.command({ query });
  }
}

async function copyCompanies(client: ClickHouseClient, table: string, records: RecordStore): Promise<void> {
  let values: Record<string, unknown>[] = [];
  const flush = async (): Promise<void> => {
    if (values.length > 0)
      await client.insert({ table, values, format: "JSONEachRow", clickhouse_settings: { ...SYNCHRONOUS } });
    values = [];
  };
  for (const company of records.companies()) {
    values.push(company);
    if (values.length === BATCH) await flush();
  }
  await flush();
}

async function copyPeople(
  client: ClickHouseClient,
  table: string,
  records: RecordStore,
  options: LoadOptions,
): Promise<void> {
  const instance = await startDuckDb(machineResources(), join(options.folder, "spill"));
  try {
    const connection = await instance.connect();
    await connection.run(`ATTACH ${literal(join(options.folder, FILES.people))} AS filters (READ_ONLY)`);
    await connection.run(`ATTACH ${literal(join(options.folder, FILES.lookups))} AS lookups (READ_ONLY)`);
    const text = TEXT_COLUMNS.map((column) => `coalesce(p.${column}, '') AS ${column}`).join(", ");
    const result = await connection.stream(`
SELECT p.rid, ${text},
  coalesce(c.key, '') AS company_slug, coalesce(c.address, '') AS company_address, coalesce(e.key::BIGINT, -1) AS company,
  ${NUMBER_COLUMNS.map((column) => `p.${column}::BIGINT AS ${column}`).join(", ")}
FROM filters.people p LEFT JOIN lookups.by_company c ON c.rid = p.rid
LEFT JOIN lookups.by_employer e ON e.rid = p.rid ORDER BY p.rid`);
    const names = result.columnNames();
    let done = 0;
    let values: Record<string, unknown>[] = [];
    const flush = async (): Promise<void> => {
      options.signal?.throwIfAborted();
      if (values.length > 0)
        await client.insert({ table, values, format: "JSONEachRow", clickhouse_settings: { ...SYNCHRONOUS } });
      done += values.length;
      values = [];
      options.onProgress?.({ done, total: options.meta.people });
    };
    for await (const chunk of result) {
      const rows = chunk.getRows();
      const docs = await records.people(Uint32Array.from(rows, (row) => Number(row[0])));
      rows.forEach((row, index) => {
        const record = docs[index] ?? "";
        const { id, network_url } = JSON.parse(record) as { readonly id: string; readonly network_url: string | null };
        const address = (network_url === null ? undefined : canonicalAddress(network_url)) ?? "";
        const value: Record<string, unknown> = { id, record, network_address: address, network_slug: slugOf(address) };
        names.forEach((name, column) => {
          const cell = row[column];
          value[name] = typeof cell === "bigint" ? Number(cell) : cell;
        });
        values.push(value);
      });
      if (values.length >= BATCH) await flush();
    }
    await flush();
  } finally {
    instance.closeSync();
  }
}
