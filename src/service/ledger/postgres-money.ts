import { type KeyMode, LedgerInvariantError, StoreUnavailableError } from "./ledger.ts";
import { decide, type MoneyJob, type MoneyRequest, type Outcome } from "./postgres-batch.ts";
import { CommitInDoubt, giveUp, isTransient, unavailable } from "./postgres-errors.ts";
import { readSnapshot, writeGroup } from "./postgres-group.ts";
import type { PostgresInstances } from "./postgres-instances.ts";
import type { PostgresSession } from "./postgres-session.ts";

interface AccountQueue {
  readonly accountId: string;
  readonly mode: KeyMode;
  readonly jobs: MoneyJob[];
}

/**
 * Each account has a queue of its own: while one transaction of it is under way the next requests gather, and all go together in
 * the following one. So a hot account waits for its own syncs and never for its own row lock, request by request.
 */
export class PostgresMoney {
  /** Settlements that were reported as failed although their commit may stand. */
  readonly doubtful = new Set<string>();
  /** Holds that nobody will settle and that could not be given back yet: the database was away. */
  readonly owed = new Set<string>();
  readonly #session: PostgresSession;
  readonly #instances: PostgresInstances;
  readonly #now: () => number;
  readonly #groupSize: number;
  readonly #queues = new Map<string, AccountQueue>();
  readonly #running = new Set<Promise<void>>();

  constructor(session: PostgresSession, instances: PostgresInstances, now: () => number, groupSize: number) {
    this.#session = session;
    this.#instances = instances;
    this.#now = now;
    this.#groupSize = groupSize;
  }

  /** Resolves once everything that was asked for so far is committed or refused. */
  async drain(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Resolves once the request is committed. */
  enqueue<T>(accountId: string, mode: KeyMode, request: MoneyRequest): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#session.closed) {
        reject(new StoreUnavailableError("the ledger is closed"));
        return;
      }
      const id = `${mode} ${accountId}`;
      const job: MoneyJob = { request, resolve, reject };
      const queue = this.#queues.get(id);
      if (queue !== undefined) {
        queue.jobs.push(job);
        return;
      }
      const started: AccountQueue = { accountId, mode, jobs: [job] };
      this.#queues.set(id, started);
      const run = this.#work(id, started).finally(() => this.#running.delete(run));
      this.#running.add(run);
    });
  }

  async #work(id: string, queue: AccountQueue): Promise<void> {
    // Whoever asks in the same turn of the event loop travels along.
    await new Promise((resolve) => setImmediate(resolve));
    while (queue.jobs.length > 0) {
      const jobs = queue.jobs.splice(0, this.#groupSize);
      try {
        await this.#settleGroup(queue, jobs);
      } catch (error) {
        // The database refused what the rules in memory had let pass. Each alone, so that only the culprit fails.
        const alone = jobs.length > 1 && !isTransient(error) ? jobs : [];
        if (alone.length === 0) for (const job of jobs) job.reject(unavailable(error));
        for (const job of alone) {
          await this.#settleGroup(queue, [job]).catch((reason: unknown) => job.reject(unavailable(reason)));
        }
      }
    }
    this.#queues.delete(id);
  }

  async #settleGroup(queue: AccountQueue, jobs: readonly MoneyJob[]): Promise<void> {
    const outcomes = await this.#commitGroup(queue, jobs);
    for (const [index, job] of jobs.entries()) {
      const outcome = outcomes[index];
      if (outcome?.ok) job.resolve(outcome.value as never);
      else job.reject(outcome?.error);
    }
  }

  /** Repeats the group where the database asks for it, or where nobody knows whether its commit stands. */
  async #commitGroup(queue: AccountQueue, jobs: readonly MoneyJob[]): Promise<readonly Outcome[]> {
    for (const pause of this.#session.pauses()) {
      try {
        return await this.#attemptGroup(queue, jobs);
      } catch (error) {
        if (error instanceof CommitInDoubt) {
          for (const [index, job] of jobs.entries()) {
            const outcome = error.outcomes[index];
            if (outcome?.ok) job.doubtful = outcome.value ?? null;
          }
        } else if (!isTransient(error)) throw error;
        if (await pause()) continue;
        for (const { request, doubtful } of jobs) {
          if (doubtful === undefined) continue;
          if (request.kind === "settle") this.doubtful.add(request.settlement.holdId);
          if (request.kind === "hold") this.owed.add(request.holdId);
        }
        throw error instanceof CommitInDoubt ? error.cause : error;
      }
    }
    throw new LedgerInvariantError("unreachable: pauses never end by themselves");
  }

  async #attemptGroup(queue: AccountQueue, jobs: readonly MoneyJob[]): Promise<readonly Outcome[]> {
    const client = await this.#session.pool.connect();
    try {
      // Only a charge or a grant must outlive a power failure; the sync of the next one covers the holds before it.
      const durable = jobs.some(({ request }) => request.kind === "settle" || request.kind === "grant");
      await client.query(`BEGIN; SET LOCAL synchronous_commit = ${durable ? "on" : "off"}`);
      const { accountId, mode } = queue;
      const source = { accountId, mode, jobs, instances: this.#instances, now: this.#now };
      const snapshot = await readSnapshot(client, source);
      const { balance, held } = snapshot;
      const { writes, outcomes } = decide(snapshot, jobs);
      const moneyChanged = balance !== snapshot.balance || held !== snapshot.held;
      await writeGroup(client, { snapshot, writes, moneyChanged, owner: this.#instances.id });
      try {
        const { command } = await client.query("COMMIT");
        if (command !== "COMMIT") throw new LedgerInvariantError("the database rolled back what it was told to commit");
      } catch (error) {
        throw isTransient(error) ? new CommitInDoubt(error, outcomes) : error;
      }
      client.release();
      return outcomes;
    } catch (error) {
      await giveUp(client, error);
      throw error;
    }
  }
}
