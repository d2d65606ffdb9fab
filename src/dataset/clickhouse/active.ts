import type { ClickHouseClient } from "@clickhouse/client";
import type { DatasetInfo } from "../engine.ts";
import { pointerTable, type Topology } from "./schema.ts";

/** Exact answers: with `skip_unavailable_shards` a shard that is down would make a count smaller. */
export const EXACT = {
  skip_unavailable_shards: 0,
  fallback_to_stale_replicas_for_distributed_queries: 0,
  output_format_json_quote_64bit_integers: 0,
  max_execution_time: 30,
  connect_timeout: 5,
} as const;

export interface Active {
  /** Its version is another with everybody who is left out, so that no count from before is taken for it. */
  readonly info: DatasetInfo;
  readonly version: string;
  readonly stored: number;
  /** Greater for whatever was told to the servers later. */
  readonly step: number;
  /** A condition on row numbers that holds of those who are not left out; "" where everybody is shown. */
  readonly shown: string;
}

export async function activeDataset(client: ClickHouseClient, topology: Topology): Promise<Active | undefined> {
  await client.command({ query: pointerTable(topology) });
  const rows = async (query: string): Promise<readonly (readonly unknown[])[]> => {
    const answer = await client.query({ query, format: "JSONCompact", clickhouse_settings: { ...EXACT } });
    return (await answer.json<readonly unknown[]>()).data;
  };
  const { database } = topology;
  const [active] = await rows(
    `SELECT version, people, companies, activated FROM ${database}.headcount_datasets ORDER BY activated DESC LIMIT 1`,
  );
  if (active === undefined) return undefined;
  const version = String(active[0]);
  const [stored = 0, companies = 0, step = 0] = active.slice(1).map(Number);
  const whole = { info: { version, people: stored, companies }, version, stored, step, shown: "" };
  const table = `${database}.headcount_left_out`;
  if (Number((await rows(`EXISTS TABLE ${table}`))[0]?.[0]) !== 1) return whole;
  const those = `FROM ${table} WHERE version = '${version}' AND step = ${step}`;
  const leftOut = Number((await rows(`SELECT uniqExact(rid) ${those}`))[0]?.[0]);
  if (leftOut === 0) return whole;
  const info = { version: `${version}_${leftOut}`, people: stored - leftOut, companies };
  return { info, version, stored, step, shown: `rid NOT IN (SELECT rid ${those})` };
}
