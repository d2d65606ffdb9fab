import { setTimeout as sleep } from "node:timers/promises";
import type { ClickHouseClient } from "@clickhouse/client";

const PATIENCE_MS = 200;
const PING_MS = 1_000;

export class DatasetUnavailableError extends Error {
  override readonly name = "DatasetUnavailableError";
}

/** This server cannot answer the question; another may. */
export class LostServerError extends Error {
  override readonly name = "LostServerError";
}

/** Whether a server answers at all. Not by its client, whose connections may all be waiting for long answers. */
export async function pings(url: string): Promise<boolean> {
  const answer = await fetch(`${url}/ping`, { signal: AbortSignal.timeout(PING_MS) }).catch(() => undefined);
  await answer?.body?.cancel();
  return answer !== undefined;
}

type Question<Answer> = (client: ClickHouseClient, gone: AbortSignal) => Promise<Answer>;

/** Servers that hold the same: a question goes to the one that answered last, and on to the next where that is lost. */
export class ServerPool {
  readonly #clients: readonly ClickHouseClient[];
  readonly #urls: readonly string[];
  #at = 0;
  /** How often a server was lost: what is known of servers is asked again then. */
  losses = 0;

  constructor(clients: readonly ClickHouseClient[], urls: readonly string[] = []) {
    this.#clients = clients;
    this.#urls = urls;
  }

  /** Reads only: a question may be asked twice. @throws DatasetUnavailableError where every server is lost */
  async ask<Answer>(question: Question<Answer>): Promise<Answer> {
    const failures: string[] = [];
    for (const _ of this.#clients) {
      const at = this.#at;
      try {
        return await this.#askOne(at, question);
      } catch (error) {
        if (!isLoss(error)) throw error;
        failures.push(error.message);
        this.losses++;
        if (this.#at === at) this.#at = (at + 1) % this.#clients.length;
      }
    }
    throw new DatasetUnavailableError(`no ClickHouse server answers: ${failures.join("; ")}`);
  }

  async #askOne<Answer>(at: number, question: Question<Answer>): Promise<Answer> {
    const client = this.#clients[at];
    if (client === undefined) throw new Error(`no server ${at}`);
    const gone = new AbortController();
    const done = new AbortController();
    const answer = question(client, gone.signal).finally(() => done.abort());
    // A server that is lost rejects it later, when nobody waits for it.
    answer.catch(() => undefined);
    try {
      return await Promise.race([answer, this.#silence(at, done.signal)]);
    } catch (error) {
      gone.abort();
      throw error;
    }
  }

  /** Rejects once the server is silent; never resolves while the answer is awaited. */
  async #silence(at: number, done: AbortSignal): Promise<never> {
    const url = this.#urls[at];
    const forever = new Promise<never>(() => undefined);
    while (url !== undefined && this.#urls.length > 1) {
      await sleep(PATIENCE_MS, undefined, { signal: done }).catch(() => undefined);
      if (done.aborted) return forever;
      if (!(await pings(url))) throw new LostServerError(`${url} does not answer`);
    }
    return forever;
  }
}

/** Answers of a server have a number for a code, failures of a connection a word such as ECONNREFUSED. */
const isLoss = (error: unknown): error is Error =>
  error instanceof LostServerError ||
  (error instanceof Error && "code" in error && /^(E[A-Z_]+|UND_ERR_\w+)$/.test(String(error.code)));
