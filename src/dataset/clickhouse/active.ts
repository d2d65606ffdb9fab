import type { ClickHouseClient } from "@clickhouse/client";
import type { DatasetInfo } from "../engine.ts";
import { codeOf } from "./errors.ts";
import type { Topology } from "./schema.ts";
import { rowsFrom } from "./statement.ts";

/**
 * Exact answers: with `skip_unavailable_shards` a shard that is down would make a count smaller.
 */
export const EXACT = {
  skip_unavailable_shards: 0,
  fallback_to_stale_replicas_for_distributed_queries: 0,
  output_format_json_quote_64bit_integers: 0,
  max_execution_time: 30,
  connect_timeout: 5,
} as const;

const UNKNOWN_TABLE = "60";

export interface Active {
  /**
   * Its version is another with everybody who is left
   * out, so that no count from before is taken for it.
   */
  readonly info: DatasetInfo;
  readonly version: string;
  readonly stored: number;
  /** Greater for whatever was told to the servers later. */
  readonly step: number;
  /**
   * A condition on row numbers that holds of those who
   * are not left out; "" where everybody is shown.
   */
  readonly shown: string;
}

/** What this server was told to serve last, undefined where it holds nothing. */
export async function activeDataset(
  client: ClickHouseClient,
  { database }: Topology,
  abort_signal?: AbortSignal,
): Promise<Active | undefined> {
  const first = async (query: string): Promise<readonly unknown[] | undefined> => {
    const settings = { clickhouse_settings: { ...EXACT }, ...(abort_signal && { abort_signal }) };
    try {
      return (await rowsFrom(client, query, settings))[0];
    } catch (error) {
      if (codeOf(error) === UNKNOWN_TABLE) return undefined;
      throw error;
    }
  };

  const active = await first(
    "SELECT version, people, companies, activated FROM " +
      `${database}.headcount_datasets ORDER BY activated DESC LIMIT 1`,
  );
  if (active === undefined) return undefined;

  const version = String(active[0]);
  const [stored = 0, companies = 0, step = 0] = active.slice(1).map(Number);
  const those =
    `FROM ${database}.headcount_left_out WHERE version ` + `= '${version}' AND step = ${step}`;
  const leftOut = Number((await first(`SELECT uniqExact(rid) ${those}`))?.[0] ?? 0);
  const info = {
    version: leftOut === 0 ? version : `${version}_${leftOut}`,
    people: stored - leftOut,
    companies,
  };

  return {
    info,
    version,
    stored,
    step,
    shown: leftOut === 0 ? "" : `rid GLOBAL NOT IN (SELECT rid ${those})`,
  };
}

/** Of the cluster, undefined where that names the server by an address which is not its own. */
export async function shardOf(
  client: ClickHouseClient,
  { cluster }: Topology,
  abort_signal?: AbortSignal,
): Promise<number | undefined> {
  if (cluster === undefined) return 0;
  const query = `SELECT shard_num FROM system.clusters WHERE cluster = '${cluster}' AND is_local`;
  const [row] = await rowsFrom(client, query, abort_signal && { abort_signal });
  return row && Number(row[0]);
}
