import { join } from "node:path";
import { ledgerEntriesOf } from "./booking.ts";
import { Disk } from "./disk.ts";
import type { CreditText } from "./journal.ts";
import { acquireLock, type LockOptions } from "./lock.ts";
import { Log, readLog } from "./log.ts";
import type { LogRecord } from "./log-lines.ts";
import { RunStore } from "./run-store.ts";

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

/** Lines that are written at once; few enough for {@link Log.openTail}. */
const GROUP = 400;
/** How long a line may wait for others. Until then it stands in its run's journal alone, where {@link readLedger} finds it. */
const GROUP_MS = 5_000;

/**
 * Every line of the ledger, oldest first, and what runs that are not finished know beyond it: they are at work, or ended before
 * their last lines were written.
 */
export async function readLedger(stateDir: string): Promise<LedgerEntry[]> {
  const written = readWritten(stateDir);
  const store = new RunStore(stateDir, new Disk());
  for (const id of await store.openIds()) {
    // One that is damaged or gone hides nothing of the others.
    const run = await store.open(id).catch(() => undefined);
    if (run !== undefined) written.push(...missingFrom(written, id, ledgerEntriesOf(run)));
  }
  return written;
}

const readWritten = (stateDir: string): LedgerEntry[] =>
  readLog<LedgerEntry>(ledgerPath(stateDir)).entries.map(({ record }) => record);

/** What of a run's entries is not among those that were written. */
function missingFrom(
  written: readonly LedgerEntry[],
  run: string,
  entries: readonly LedgerEntry[],
): readonly LedgerEntry[] {
  const known = new Map<string, number>();
  for (const entry of written) {
    if (entry.run === run) known.set(lineKey(entry), (known.get(lineKey(entry)) ?? 0) + 1);
  }
  return entries.filter((entry) => {
    const left = known.get(lineKey(entry)) ?? 0;
    known.set(lineKey(entry), left - 1);
    return left <= 0;
  });
}

/**
 * Adds lines to the ledger that all runs on this machine share: under a lock, synced. Lines wait for others for a while, because
 * each of them is in its run's journal already.
 */
export class Ledger {
  readonly #stateDir: string;
  readonly #disk: Disk;
  readonly #lock: Omit<LockOptions, "what" | "wait">;
  #queue: LedgerEntry[] = [];
  #writing: Promise<void> | undefined;
  #writtenAt: number;
  #failure: unknown;
  #made = false;
  /** Length of the file when this process last wrote to it: others only append. */
  #sound = 0;

  constructor(stateDir: string, disk: Disk, lock: Omit<LockOptions, "what" | "wait">) {
    this.#stateDir = stateDir;
    this.#disk = disk;
    this.#lock = lock;
    this.#writtenAt = lock.now();
  }

  /** Queues lines; `flush` says whether they arrived. */
  add(...entries: readonly LedgerEntry[]): void {
    this.#queue.push(...entries);
    if (this.#queue.length >= GROUP || this.#lock.now() - this.#writtenAt >= GROUP_MS) this.#writing ??= this.#drain();
  }

  /** Resolves once everything queued is synced; rejects where it could not be written. */
  async flush(): Promise<void> {
    if (this.#queue.length > 0) this.#writing ??= this.#drain();
    while (this.#writing !== undefined) await this.#writing;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #drain(): Promise<void> {
    try {
      await Promise.resolve();
      while (this.#queue.length > 0) {
        await this.#write(this.#queue.splice(0, GROUP));
        this.#writtenAt = this.#lock.now();
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
      const log = await Log.openTail<LedgerEntry>(this.#disk, path, "ledger", this.#sound);
      try {
        await log.append(...batch);
        this.#sound = log.size;
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
    const missing = missingFrom(readWritten(this.#stateDir), run, entries);
    this.#queue.push(...missing);
    await this.flush();
  }
}

const lineKey = ({ t, n, credits }: LedgerEntry): string => `${t} ${n} ${credits}`;
