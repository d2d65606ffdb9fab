import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { type ClickHouseClient, createClient } from "@clickhouse/client";
import type { ClickHouseServers } from "../../src/dataset/clickhouse/connect.ts";
import { tempFolder } from "./dataset.ts";

type ChdbModule = { createChdbConnection(options: { path: string }): never };
// A development dependency of half a gigabyte that only CI installs: named by a variable so that nothing else needs it.
const chdbName = "chdb/connection";
const chdb = await import(chdbName).then((module) => module as ChdbModule).catch(() => undefined);

/** Whether chDB, a modern ClickHouse in this process, is installed. */
export const hasChdb = chdb !== undefined;

/** chDB as servers of a dataset, of one process only. */
export async function startChdb(): Promise<ClickHouseServers> {
  if (chdb === undefined) throw new Error("chdb is not installed");
  const folder = await tempFolder("headcount-chdb-");
  const client = createClient({
    connection: chdb.createChdbConnection({ path: join(folder, "data") }),
  } as never);
  takesFiles(client, folder);
  return {
    clients: [client],
    topology: { database: "default", replicated: false },
  };
}

/** Its client makes JavaScript text of what is sent, which Parquet is not; a server takes the bytes from its socket. */
function takesFiles(client: ClickHouseClient, folder: string): void {
  const insert = client.insert.bind(client);
  let sent = 0;
  client.insert = async (params) => {
    if (params.format !== "Parquet") return insert(params);
    const path = join(folder, `sent-${sent++}.parquet`);
    await pipeline(params.values as unknown as Readable, createWriteStream(path));
    const columns = (params.columns as readonly string[]).join(", ");
    const query = `INSERT INTO ${params.table} (${columns}) SELECT ${columns} FROM file('${path}', 'Parquet')`;
    const settings = params.clickhouse_settings;
    await client.command({ query, ...(settings && { clickhouse_settings: settings }) });
    await rm(path);
    return { executed: true, query_id: "", response_headers: {} };
  };
}
