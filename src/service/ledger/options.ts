/** What both stores can be told. */
export interface LedgerOptions {
  /** Wall clock, epoch milliseconds. */
  readonly now: () => number;
  /**
   * Milliseconds that never go back, to keep a running process free of wall clock jumps. Without it `now` is believed as it is
   * (tests move it at will).
   */
  readonly monotonic?: () => number;
  /** The most changes in one transaction: 64. */
  readonly groupSize?: number;
  /** How often it says that it lives and tidies up: 10,000 ms. */
  readonly heartbeatMs?: number;
  /** How long a ledger that is locked, busy or away is tried before StoreUnavailableError: 5,000 ms. */
  readonly patienceMs?: number;
}

export const GROUP_SIZE = 64;
export const PATIENCE_MS = 5_000;
/** How often an instance with holds says that it lives, and gives back what dead ones left. */
export const HEARTBEAT_MS = 10_000;
/** The most idempotency records that one heartbeat removes, so that it blocks nobody for long. */
export const PRUNE_ROWS = 500;
/** Day counters are needed for today and, around midnight, yesterday. */
export const KEEP_COUNTS_MS = 3 * 24 * 60 * 60 * 1000;
