import { join } from "node:path";
import type { Disk } from "./disk.ts";
import type { CreditText } from "./journal.ts";
import { acquireLock, type LockOptions } from "./lock.ts";
import { Log, type LogRecord, readLog } from "./log.ts";

/**
 * One line of `ledger.ndjson`, the book of everything that any run spent:
 * `settled`: charged, and the reply is kept. `uncertain`: a lost reply may have cost this. `refunded`: an uncertain amount
 * turned out to be part of a settled one, or not charged. `foreign`: others spent it from the same balance.
 */
export interface LedgerEntry extends LogRecord {
  readonly t: "settled" | "uncertain" | "refunded" | "foreign";
  /** Epoch milliseconds. */
  readonly at: number;
  readonly run: string;
  readonly connection: string;
  readonly account: string | null;
  readonly key_mode: "live" | "test" | null;
  readonly command: string;
  /** The unit of the run; 0 where it belongs to none. */
  readonly n: number;
  readonly credits: CreditText;
  readonly rows: number;
  /** Balance after it, where the service told. */
  readonly balance: CreditText | null;
  readonly request_id: string | null;
}

export const ledgerPath = (stateDir: string): string => join(stateDir, "ledger.ndjson");

/** Every line of the ledger, oldest first. */
export async function readLedger(stateDir: string): Promise<LedgerEntry[]> {
  return (await readLog<LedgerEntry>(ledgerPath(stateDir))).records;
}

/**
 * Adds lines to the ledger that all runs on this machine share: under a lock, synced. Lines that come while a write is under
 * way go out together with the next one.
 */
export class Ledger {
  readonly #stateDir: string;
  readonly #disk: Disk;
  readonly #lock: Omit<LockOptions, "what" | "wait">;
  #queue: LedgerEntry[] = [];
  #writing: Promise<void> | undefined;
  #failure: unknown;
  #made = false;

  constructor(stateDir: string, disk: Disk, lock: Omit<LockOptions, "what" | "wait">) {
    this.#stateDir = stateDir;
    this.#disk = disk;
    this.#lock = lock;
  }

  /** Queues lines; `flush` says whether they arrived. */
  add(...entries: readonly LedgerEntry[]): void {
    this.#queue.push(...entries);
    this.#writing ??= this.#drain();
  }

  /** Resolves once everything queued is synced; rejects where it could not be written. */
  async flush(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #drain(): Promise<void> {
    try {
      await Promise.resolve();
      while (this.#queue.length > 0) {
        const batch = this.#queue;
        this.#queue = [];
        await this.#write(batch);
      }
    } catch (error) {
      this.#failure ??= error;
    } finally {
      this.#writing = undefined;
    }
  }

  async #write(batch: readonly LedgerEntry[]): Promise<void> {
    const path = ledgerPath(this.#stateDir);
    if (!this.#made) await this.#disk.makeFolder(this.#stateDir);
    this.#made = true;
    const lock = await acquireLock(`${path}.lock`, { ...this.#lock, what: "the ledger", wait: true });
    try {
      const log = await Log.openTail<LedgerEntry>(this.#disk, path, "ledger");
      try {
        await log.append(...batch);
      } finally {
        await log.close();
      }
    } finally {
      await lock.release();
    }
  }

  /**
   * Adds what a run's journal knows and the ledger does not: the process died between the two.
   * @param entries everything of that run, as its journal has it
   */
  async reconcile(run: string, entries: readonly LedgerEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const known = new Map<string, number>();
    for (const entry of await readLedger(this.#stateDir)) {
      if (entry.run === run) known.set(lineKey(entry), (known.get(lineKey(entry)) ?? 0) + 1);
    }
    const missing = entries.filter((entry) => {
      const left = known.get(lineKey(entry)) ?? 0;
      known.set(lineKey(entry), left - 1);
      return left <= 0;
    });
    if (missing.length > 0) this.add(...missing);
    await this.flush();
  }
}

const lineKey = ({ t, n, credits }: LedgerEntry): string => `${t} ${n} ${credits}`;
