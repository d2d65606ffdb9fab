import type { ClickHouseClient } from "@clickhouse/client";
import { parseClickHouseAddress } from "./address.ts";
import { LITERAL_TEST, MODERN, type ServerDialect } from "./dialect.ts";
import { DatasetUnavailableError, pings } from "./pool.ts";
import type { Topology } from "./schema.ts";

export interface ClickHouseServers {
  readonly clients: readonly [ClickHouseClient, ...ClickHouseClient[]];
  readonly urls?: readonly string[];
  readonly topology: Topology;
  readonly dialect: ServerDialect;
}

/** @param timeoutMs for one answer. @throws Error for a bad address, DatasetUnavailableError where none answers */
export async function connectClickHouse(
  address: string,
  password = "",
  timeoutMs = 35_000,
): Promise<ClickHouseServers> {
  const parsed = parseClickHouseAddress(address, password);
  const { ClickHouseLogLevel, createClient } = await import("@clickhouse/client");
  const clients = parsed.urls.map((url) =>
    createClient({
      url,
      username: parsed.user,
      password: parsed.password,
      database: parsed.database,
      request_timeout: timeoutMs,
      max_open_connections: 16,
      compression: { response: false },
      // Its log goes to the console and knows nothing of our allow-list; every error reaches the caller anyway.
      log: { level: ClickHouseLogLevel.OFF },
    }),
  );
  const failures: string[] = [];
  for (const [index, client] of clients.entries()) {
    const url = parsed.urls[index] ?? "";
    const ping = (await pings(url)) ? await client.ping() : undefined;
    if (!ping?.success) {
      failures.push(ping?.error.message ?? `${url} does not answer`);
      continue;
    }
    const version = await client.query({ query: "SELECT version()", format: "JSONCompact" });
    const [major = "0"] = String((await version.json<readonly unknown[]>()).data[0]?.[0]).split(".");
    const others = clients.filter((other) => other !== client);
    return {
      clients: [client, ...others],
      urls: [url, ...parsed.urls.toSpliced(index, 1)],
      topology: {
        database: parsed.database,
        ...(parsed.cluster === undefined ? {} : { cluster: parsed.cluster }),
        replicated: parsed.replicated,
      },
      // 18.16 is Debian's and old: it binds no parameters. Everything since 2021 does.
      dialect: Number(major) < 21 ? LITERAL_TEST : MODERN,
    };
  }
  await closeAll(clients);
  throw new DatasetUnavailableError(`no ClickHouse server answers: ${failures.join("; ")}`);
}

export async function closeAll(clients: readonly ClickHouseClient[]): Promise<void> {
  for (const client of clients) await client.close();
}
