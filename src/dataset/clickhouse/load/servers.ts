import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient, InsertParams } from "@clickhouse/client";
import { InputError } from "../../../shared/tables/input-file.ts";
import { shardOf } from "../active.ts";
import type { ClickHouseServers } from "../connect.ts";
import { codeOf, DatasetUnavailableError } from "../errors.ts";
import { unlessLost } from "../pool.ts";
import { localName } from "../schema.ts";
import { type Rows, rowsFrom, type Statement } from "../statement.ts";

const SPILL_BYTES = 2_000_000_000;
const SETTINGS = {
  // An insert answers only when every shard has the rows, and a shard that is down is an error.
  insert_distributed_sync: 1,
  skip_unavailable_shards: 0,
  output_format_json_quote_64bit_integers: 0,
  join_use_nulls: 0,
  max_execution_time: 0,
  // Of a million wide rows at once a server of two shards wants more than 4 GB.
  max_insert_block_size: "262144",
  max_bytes_before_external_sort: String(SPILL_BYTES),
  max_bytes_before_external_group_by: String(SPILL_BYTES),
  // What was taken away and is sent again would be taken for the first time.
  insert_deduplicate: 0,
  mutations_sync: "2",
  // A range is one part of a table, however wide its rows: each more is merged again.
  min_insert_block_size_bytes: "0",
} as const;
// Else tables of more than 50 GB are not dropped.
const DROP_SETTINGS = { max_table_size_to_drop: "0", max_partition_size_to_drop: "0" } as const;
const LOOK_EVERY_MS = 100;
const STREAMS = 2;
/** For one statement. */
export const STATEMENT_MS = 3_600_000;
const WATCH_EVERY_MS = 1_000;
/** A server that works hard answers late; one that hangs never does. */
const HANGS_MS = 30_000;
const ALREADY_EXISTS = "57";
const CANNOT_KILL = "380";

/**
 * The servers as a load of one version uses them:
 * every statement has an id by which it can be ended.
 */
export class LoadServers {
  readonly connected: ClickHouseServers;
  readonly #prefix: string;
  readonly #signal: AbortSignal | undefined;
  #shards: readonly (number | undefined)[] | undefined;

  constructor(connected: ClickHouseServers, version: string, signal?: AbortSignal) {
    this.connected = connected;
    this.#prefix = `headcount-load-${version}-`;
    this.#signal = signal;
  }

  /**
   * Connections that work beside each other: a statement
   * keeps about one core of its server at work.
   */
  get streams(): readonly ClickHouseClient[] {
    return this.connected.clients.flatMap((client) =>
      Array<ClickHouseClient>(STREAMS).fill(client),
    );
  }

  /** On all servers beside each other. @throws what the first threw, when each has ended */
  onEach<Result>(work: (client: ClickHouseClient) => Promise<Result>): Promise<Result[]> {
    return allOf(this.connected.clients.map(work));
  }

  pathOf(table: string): string {
    return `${this.connected.topology.database}.${table}`;
  }

  local(table: string): string {
    return localName(table, this.connected.topology);
  }

  async onAll(statements: readonly string[]): Promise<void> {
    const clickhouse_settings = { ...DROP_SETTINGS };
    await this.onEach(async (client) => {
      for (const query of statements)
        await this.#reaching(client.command({ query, clickhouse_settings }));
    });
  }

  rows(query: Statement | string, client = this.connected.clients[0]): Promise<Rows> {
    return this.#reaching(rowsFrom(client, query, this.#call()));
  }

  async number(query: Statement | string, client = this.connected.clients[0]): Promise<number> {
    return Number((await this.rows(query, client))[0]?.[0]);
  }

  async send(
    table: string,
    columns: readonly string[],
    rows: Readable,
    client: ClickHouseClient,
  ): Promise<void> {
    this.#signal?.throwIfAborted();
    await this.insert(table, rows, client, {
      columns: [...columns] as [string, ...string[]],
      format: "Parquet",
    });
  }

  async insert(
    table: string,
    values: Readable | readonly Readonly<Record<string, unknown>>[],
    client: ClickHouseClient,
    form: Pick<InsertParams, "columns" | "format"> = { format: "JSONEachRow" },
  ): Promise<void> {
    await this.#reaching(
      client.insert({ ...this.#call(), ...form, table: this.pathOf(table), values }),
    );
  }

  /** Takes rows of a table away on every server, and waits until they are gone. */
  async remove(table: string, condition: string): Promise<void> {
    const name = this.local(table).split(".").at(-1);
    const mutations = `SELECT count() FROM system.mutations
      WHERE table = '${name}' AND is_done = 0`;
    await this.onEach(async (client) => {
      this.#signal?.throwIfAborted();
      const query = `ALTER TABLE ${this.local(table)} DELETE WHERE ${condition}`;
      await this.#reaching(client.command({ query, ...this.#call() }));
      while ((await this.number(mutations, client)) > 0) await sleep(LOOK_EVERY_MS);
    });
  }

  /**
   * Rows of a table by a number that they have, counted on every
   * server: NaN where replicas of a shard do not hold the same of it.
   */
  async counts(table: string, by: string, condition = "1"): Promise<ReadonlyMap<number, number>> {
    const replicated = this.connected.topology.replicated
      ? [`SYSTEM SYNC REPLICA ${this.local(table)}`]
      : [];
    if (replicated.length > 0) await this.onAll(replicated);

    const sql =
      `SELECT ${by} AS number, count() FROM ${this.local(table)} ` +
      `WHERE ${condition} GROUP BY number`;

    this.#shards ??= await this.onEach((client) =>
      this.#reaching(shardOf(client, this.connected.topology)),
    );

    const shards = this.#shards;
    const tallies = await this.onEach(async (client) => {
      return new Map(
        (await this.rows(sql, client)).map(([key, count]) => [Number(key), Number(count)]),
      );
    });

    const sums = new Map<number, number>();
    for (const number of new Set(tallies.flatMap((counts) => [...counts.keys()]))) {
      const ofShards = new Map<unknown, number>();
      for (const [index, counts] of tallies.entries()) {
        const count = counts.get(number) ?? 0;
        const shard = shards[index] ?? `of ${index}`;
        ofShards.set(shard, (ofShards.get(shard) ?? count) === count ? count : Number.NaN);
      }

      sums.set(
        number,
        [...ofShards.values()].reduce((sum, count) => sum + count, 0),
      );
    }

    return sums;
  }

  async count(table: string, condition?: string): Promise<number> {
    return (await this.counts(table, "0", condition)).get(0) ?? 0;
  }

  /** Tells the servers that were not told yet which version they serve. */
  async point(
    row: Readonly<Record<"version" | "activated" | "people" | "companies", string | number>>,
  ): Promise<void> {
    const table = "headcount_datasets";
    const { activated, version } = row;
    const sql =
      `SELECT count() FROM ${this.pathOf(table)} WHERE version ` +
      `= '${version}' AND activated = ${activated}`;
    await this.onEach(async (client) => {
      if ((await this.number(sql, client)) === 0) await this.insert(table, [row], client);
    });
  }

  /**
   * Ends what this load left running, which would go on
   * writing: a stage that cannot be ended is over soon.
   */
  async endRunning(tries = 300): Promise<void> {
    const query = `KILL QUERY WHERE initial_query_id LIKE '${this.#prefix}%' SYNC`;
    try {
      await this.onEach((client) => this.#reaching(client.command({ query })));
    } catch (error) {
      if (tries === 0 || codeOf((error as Error).cause) !== CANNOT_KILL) throw error;
      await sleep(LOOK_EVERY_MS);
      await this.endRunning(tries - 1);
    }
  }

  #call() {
    return {
      query_id: this.#prefix + randomBytes(6).toString("hex"),
      clickhouse_settings: { ...SETTINGS },
      ...(this.#signal && { abort_signal: this.#signal }),
    };
  }

  async #reaching<Result>(answer: Promise<Result>): Promise<Result> {
    try {
      return await unlessLost(answer, WATCH_EVERY_MS, () => this.#hanging());
    } catch (error) {
      this.#signal?.throwIfAborted();
      if (codeOf(error) === ALREADY_EXISTS) throw new InputError(TWICE);
      throw loadFailure(error instanceof Error ? error.message : String(error), error);
    }
  }

  /** Every server has its share of every statement. */
  async #hanging(): Promise<string | undefined> {
    const { watchers = [], urls = [] } = this.connected;
    const pings = watchers.map(async (watcher, index) => {
      const { success } = await watcher.ping({
        select: false,
        abort_signal: AbortSignal.timeout(HANGS_MS),
      });
      return success ? [] : [`${urls[index]} does not answer`];
    });
    return (await Promise.all(pings)).flat()[0];
  }
}

const TWICE =
  "two hosts of the ClickHouse address are one server, or reach one: name each server once";

export async function allOf<Result>(work: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

export const loadFailure = (message: string, cause?: unknown): DatasetUnavailableError =>
  new DatasetUnavailableError(
    `${message}; the dataset there is unchanged, ` +
      "and the same command goes on where this one stopped",
    { cause },
  );
