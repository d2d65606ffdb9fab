import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@clickhouse/client";
import { type Active, activeDataset, shardOf } from "./active.ts";
import type { ClickHouseServers } from "./connect.ts";
import { codeOf, DatasetUnavailableError, isLoss, LostServerError } from "./errors.ts";
import type { Topology } from "./schema.ts";

const PATIENCE_MS = 250;
const LOOK_MS = 700;
/** Where no server is known to answer, so that none can be asked meanwhile. */
const FIRST_LOOK_MS = 5_000;

/**
 * The answer, or a LostServerError once `loss` tells one:
 * it is asked again and again while the answer is awaited.
 */
export async function unlessLost<Answer>(
  answer: Promise<Answer>,
  everyMs: number,
  loss: () => Promise<string | undefined>,
): Promise<Answer> {
  const end = new AbortController();
  const watch = async (): Promise<never> => {
    for (;;) {
      await sleep(everyMs, undefined, { signal: end.signal });
      const lossText = await loss();
      if (lossText !== undefined) throw new LostServerError(lossText);
    }
  };

  const watching = watch();
  // Whichever comes second may reject when nobody waits for it.
  for (const each of [answer, watching]) each.catch(() => undefined);

  return Promise.race([answer, watching]).finally(() => end.abort());
}

interface Server {
  readonly client: ClickHouseClient;
  readonly watcher: ClickHouseClient;
  readonly name: string;
  shard: number | undefined;
  isLost: boolean;
  /** Versions that it was told to serve since it was lost last. */
  readonly versions: Set<string>;
  looking: Promise<Active | undefined> | undefined;
}

type Question<Answer> = (client: ClickHouseClient, loss: AbortSignal) => Promise<Answer>;

/**
 * Servers of one dataset, which take turns. Where one is lost that is asked,
 * or that it may wait for, the question goes to the next that was told to
 * serve the same version. One that returns is noticed at the next look.
 */
export class ServerPool {
  readonly #servers: readonly Server[];
  readonly #topology: Topology;
  #turn = 0;
  #latest = 0;

  constructor({ clients, watchers = clients, urls = [], topology }: ClickHouseServers) {
    this.#topology = topology;
    this.#servers = clients.map((client, index) => ({
      client,
      watcher: watchers[index] ?? client,
      name: urls[index] ?? "the server",
      shard: undefined,
      isLost: true,
      versions: new Set<string>(),
      looking: undefined,
    }));
  }

  /**
   * What any server was told last. Those that are lost are looked at beside the others, and waited
   * for with `isPatient` or where there are no others.
   * @throws DatasetUnavailableError where none answers,
   * or only those that are behind what was told before
   */
  async look(isPatient = false): Promise<Active | undefined> {
    const alive = this.#servers.filter(({ isLost }) => !isLost);
    const limit = isPatient || alive.length === 0 ? FIRST_LOOK_MS : LOOK_MS;
    const looks = this.#servers.map((server) => {
      const look = this.#lookAt(server, limit);
      look.catch(() => undefined);
      return isPatient || alive.length === 0 || alive.includes(server) ? [look] : [];
    });

    const results = await Promise.allSettled(looks.flat());
    const states = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    if (states.length === 0) {
      // It may be this machine that is slow: nothing is learnt of servers.
      for (const server of alive) server.isLost = false;
      throw unavailable(
        results.map((one) => (one.status === "rejected" ? one.reason.message : "")),
      );
    }

    const [last] = states.sort((a, b) => (b?.step ?? 0) - (a?.step ?? 0));
    const step = last?.step ?? 0;
    if (step < this.#latest) throw unavailable(["those that do are behind what is served"]);

    this.#latest = step;
    return last;
  }

  #lookAt(server: Server, limitMs: number): Promise<Active | undefined> {
    const look = async (): Promise<Active | undefined> => {
      const { name, versions, watcher } = server;
      const limit = AbortSignal.timeout(limitMs);

      try {
        server.shard ??= await shardOf(watcher, this.#topology, limit);
        const active = await activeDataset(watcher, this.#topology, limit);
        if (server.isLost) versions.clear();
        if (active !== undefined) versions.add(active.info.version);
        server.isLost = false;
        return active;
      } catch (error) {
        server.isLost = true;
        throw new LostServerError(
          `${name}: ${limit.aborted ? "no answer" : (error as Error).message}`,
        );
      }
    };

    server.looking ??= look().finally(() => {
      server.looking = undefined;
    });

    return server.looking;
  }

  /**
   * Reads only: a question may be asked twice.
   * @throws DatasetUnavailableError where no server is left
   */
  async ask<Answer>(version: string, question: Question<Answer>): Promise<Answer> {
    const failures: string[] = [];

    const tries: Server[] = [];
    let isPatient = false;
    for (;;) {
      let server = this.#next(version, tries);
      if (server === undefined && !isPatient) {
        // One that was lost may be back, and the only one left of its shard.
        isPatient = true;
        await this.look(true);
        server = this.#next(version, tries);
      }

      if (server === undefined) throw unavailable(failures);
      tries.push(server);

      try {
        return await this.#askOne(server, question);
      } catch (error) {
        if (!isLoss(error)) throw error;
        failures.push(`${server.name}: ${error.message}`);
        if (/^[A-Z]/.test(codeOf(error))) server.isLost = true;
        if (tries.length < this.#servers.length) await this.look().catch(() => undefined);
      }
    }
  }

  /**
   * Of all that answer: a server reads its own shard itself,
   * so beside a lost one of it none waits for that one.
   */
  #next(version: string, tries: readonly Server[]): Server | undefined {
    const alive = this.#servers.filter(({ isLost }) => !isLost);
    const losses = this.#servers.filter((server) => server.isLost && server.shard !== undefined);
    if (losses.some(({ shard }) => !alive.some((server) => server.shard === shard)))
      return undefined;
    const able = alive.filter((server) => server.versions.has(version) && !tries.includes(server));
    const best = able.filter((server) => losses.some(({ shard }) => shard === server.shard));
    const those = best.length > 0 ? best : able;
    return those[this.#turn++ % those.length];
  }

  async #askOne<Answer>(server: Server, question: Question<Answer>): Promise<Answer> {
    const end = new AbortController();
    const before = this.#servers.filter(({ isLost }) => isLost);

    const loss = async (): Promise<string | undefined> => {
      await this.look().catch(() => undefined);
      const other = this.#servers.find(
        (one) =>
          one.isLost && !before.includes(one) && (one === server || one.shard !== server.shard),
      );
      return other && `${other.name} does not answer`;
    };

    try {
      const answer = question(server.client, end.signal);
      return await (this.#servers.length === 1 ? answer : unlessLost(answer, PATIENCE_MS, loss));
    } catch (error) {
      end.abort();
      throw error;
    }
  }
}

const unavailable = (reasons: readonly string[]): DatasetUnavailableError =>
  new DatasetUnavailableError(
    "no ClickHouse server answers: " +
      `${reasons.join("; ") || "none has what is served, or a shard has none"}`,
  );
