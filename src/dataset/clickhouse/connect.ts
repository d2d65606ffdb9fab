import type { ClickHouseClient } from "@clickhouse/client";
import { isUntrusted } from "../../shared/errors.ts";
import { parseClickHouseAddress } from "./address.ts";
import { codeOf, DatasetRefusedError, DatasetUnavailableError, isLoss } from "./errors.ts";
import type { Topology } from "./schema.ts";
import { rowsFrom } from "./statement.ts";

export interface ClickHouseServers {
  readonly clients: readonly [ClickHouseClient, ...ClickHouseClient[]];
  /**
   * A second way to each, by which it is seen to be
   * alive however many answers of the first are awaited.
   */
  readonly watchers?: readonly ClickHouseClient[];
  readonly urls?: readonly string[];
  readonly topology: Topology;
}

const PING_MS = 15_000;
/** The first of the year in which a table can have projections. */
const OLDEST = 21;

/**
 * @param timeoutMs for one answer.
 * @throws InputError for a bad address, DatasetUnavailableError where none answers
 */
export async function connectClickHouse(
  address: string,
  password = "",
  timeoutMs = 35_000,
): Promise<ClickHouseServers> {
  const parsed = parseClickHouseAddress(address, password);
  const { ClickHouseLogLevel, createClient } = await import("@clickhouse/client");

  const clientOf = (url: string): ClickHouseClient =>
    createClient({
      url,
      username: parsed.user,
      password: parsed.password,
      database: parsed.database,
      request_timeout: timeoutMs,
      max_open_connections: 16,
      compression: { response: false },
      // Long filters are fields of the body: addresses end at 1 MiB, at proxies long before.
      use_multipart_params_auto: true,
      // Its log goes to the console and knows nothing of our
      // allow-list; every error reaches the caller anyway.
      log: { level: ClickHouseLogLevel.OFF },
    });

  const all = parsed.urls.map((url) => ({ url, client: clientOf(url), watcher: clientOf(url) }));
  const pings = all.map(async (one) => {
    const ping = await one.watcher.ping({
      abort_signal: AbortSignal.timeout(PING_MS),
      select: false,
    });
    if (ping.success) return one;
    const { error } = ping;
    throw new DatasetUnavailableError(`${one.url}: ${error.message}`, { cause: error });
  });

  try {
    const first = await Promise.any(pings);
    await requireModern(first.client);
    const { database, cluster, replicated } = parsed;
    const others = all.filter((one) => one !== first);

    return {
      clients: [first.client, ...others.map(({ client }) => client)],
      watchers: [first, ...others].map(({ watcher }) => watcher),
      urls: [first, ...others].map(({ url }) => url),
      topology: { database, replicated, ...(cluster !== undefined && { cluster }) },
    };
  } catch (error) {
    for (const { client, watcher } of all)
      await closeAll({ clients: [client], watchers: [watcher] });
    if (!(error instanceof AggregateError)) {
      if (isLoss(error) || !(error instanceof Error)) throw error;
      throw new DatasetRefusedError(`ClickHouse turned the connection away: ${error.message}`, {
        cause: error,
      });
    }
    const reasons = error.errors.map((one: Error) => one.message).join("; ");
    if (error.errors.every((one: Error) => isUntrusted(codeOf(one.cause))))
      throw new DatasetRefusedError(`no ClickHouse server is trusted: ${reasons}`);
    throw new DatasetUnavailableError(`no ClickHouse server answers: ${reasons}`);
  }
}

/** An old one binds no parameters: Debian has 18.16. */
async function requireModern(client: ClickHouseClient): Promise<void> {
  const [row] = await rowsFrom(client, "SELECT version()");
  const version = String(row?.[0]);
  if (Number.parseInt(version, 10) >= OLDEST) return;
  throw new Error(`its version is ${version}, and a dataset takes ${OLDEST} or newer`);
}

export async function closeAll({
  clients,
  watchers = [],
}: Pick<ClickHouseServers, "clients" | "watchers">): Promise<void> {
  for (const client of [...clients, ...watchers]) await client.close();
}
