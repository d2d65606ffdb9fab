import { platform, resourceUsage } from "node:process";

export interface PaceOptions {
  /** A read that takes longer waited for the disk, in milliseconds. Default 1. */
  readonly slowMs?: number | undefined;
  readonly monotonic?: (() => number) | undefined;
  readonly diskReads?: (() => number) | undefined;
}

/** Far above what 25 records from memory take (0.2 ms). */
const SLOW_MS = 1;
/**
 * Quick reads of other threads before this one reads
 * again; doubled each time that this was too soon.
 */
export const QUICK_BEFORE_RETURN = 256;
const MOST_BEFORE_RETURN = 2 ** 16;
const FORGOTTEN_AFTER = 4_096;

/**
 * Linux counts blocks read, so that a read that was slow because the machine is busy is told apart.
 */
const linuxDiskReads = (): number => {
  const { fsRead, majorPageFault } = resourceUsage();
  return fsRead + majorPageFault;
};

/** Who reads: this thread while that takes microseconds, others once a read waited for the disk. */
export class Pace {
  readonly #slowMs: number;
  readonly #now: () => number;
  readonly #diskReads: (() => number) | undefined;
  #away = 0;
  #returnAfter = QUICK_BEFORE_RETURN;
  #quickHere = 0;

  constructor({ diskReads, monotonic, slowMs = SLOW_MS }: PaceOptions) {
    this.#slowMs = slowMs;
    this.#now = monotonic ?? (() => performance.now());
    this.#diskReads = diskReads ?? (platform === "linux" ? linuxDiskReads : undefined);
  }

  get isAway(): boolean {
    return this.#away > 0;
  }

  here(read: () => void): void {
    const diskBefore = this.#diskReads?.() ?? 0;
    const began = this.#now();
    read();
    const isFromDisk = (): boolean =>
      !this.#diskReads || this.#slowMs === 0 || this.#diskReads() > diskBefore;

    if (this.#now() - began > this.#slowMs && isFromDisk()) {
      this.#away = this.#returnAfter;
      this.#returnAfter = Math.min(2 * this.#returnAfter, MOST_BEFORE_RETURN);
      this.#quickHere = 0;
    } else if (++this.#quickHere === FORGOTTEN_AFTER) this.#returnAfter = QUICK_BEFORE_RETURN;
  }

  /** @param ms that another thread took for a read */
  away(ms: number): void {
    this.#away = ms > this.#slowMs ? QUICK_BEFORE_RETURN : Math.max(0, this.#away - 1);
  }
}
