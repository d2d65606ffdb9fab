import type { ClickHouseClient, QueryParams } from "@clickhouse/client";

export type Param = string | number | readonly string[] | readonly number[];

/** The server binds the values. */
export interface Statement {
  readonly sql: string;
  readonly params: Readonly<Record<string, Param>>;
}

export type Rows = readonly (readonly unknown[])[];

/** @returns what a server answers to a statement without a format, row by row */
export async function rowsFrom(
  client: ClickHouseClient,
  query: Statement | string,
  settings: Partial<QueryParams> = {},
): Promise<Rows> {
  const { params = {}, sql } = typeof query === "string" ? { sql: query } : query;
  const answer = await client.query({
    ...settings,
    query: sql,
    query_params: { ...params },
    format: "JSONCompact",
  });
  return (await answer.json<readonly unknown[]>()).data;
}
