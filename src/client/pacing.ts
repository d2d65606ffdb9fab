import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { RateLimit } from "./types.ts";

/** What a caller is told before a call. */
export type Turn =
  /** Wait this long (often 0), then call. */
  | { readonly kind: "go"; readonly waitMs: number }
  /** The day's calls are used up: no sense in waiting inside this run. */
  | { readonly kind: "exhausted"; readonly resetAt: number; readonly waitMs: number };

export interface Pacer {
  /** Takes one call out of the shared bucket. Every call takes a turn, free ones too: all count against the limit. */
  take(): Turn;
  /** As {@link take}, in milliseconds; `Number.POSITIVE_INFINITY` where the day is used up. */
  waitBeforeNext(): number;
  /** Learns from a reply's headers. */
  observe(limit: RateLimit | undefined): void;
  /** Calls per minute as far as known, for estimates. */
  perMinute(): number | undefined;
}

export interface PacerOptions {
  /** The state folder; the bucket is a small file in it. Undefined: this process alone. */
  readonly stateDir: string | undefined;
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

interface Bucket {
  limit: number;
  /** Calls left that nobody has taken yet. */
  remaining: number;
  /** Epoch milliseconds. */
  resetAt: number;
  /** Where calls are spaced: the earliest time of the next one. */
  nextAt: number;
}

interface Shared {
  minute?: Bucket;
  day?: Bucket;
}

const MINUTE = 60_000;
/** Above this share of the limit calls go as they come; below it the rest is spread over what is left of the window. */
const FREE_SHARE = 0.25;
/** While there is plenty, a process takes several calls at once, so that the file is not in the way of every page. */
const MAX_LEASE = 16;
/** Where the limit is far beyond that, up to a second's share of it. */
const LEASE_SHARE = 1 / 60;
const LEASE_MS = 1_000;
/** A call this close to the end of a window may arrive in the next one, and is reckoned there. */
const GUARD_MS = 100;

/**
 * A rate-limit bucket fed by reply headers (docs/contract.md, Limits) and shared by every process on this machine that uses the same
 * key: calls are spaced out before the service has to refuse one. Advisory: a file that cannot be written costs precision only.
 */
export function openPacer(options: PacerOptions): Pacer {
  const { now } = options;
  const file = sharedFile(options);
  let state: Shared = {};
  let lease = 0;
  let leasedUntil = 0;
  let writtenAt = Number.NEGATIVE_INFINITY;
  let told: number | undefined;

  const update = (change: (shared: Shared) => void): void => {
    if (file === undefined) change(state);
    else state = file.update(change, state);
    writtenAt = now();
  };

  const take = (): Turn => {
    const at = now();
    if (lease > 0 && at < leasedUntil) {
      lease--;
      return { kind: "go", waitMs: 0 };
    }
    if (state.minute === undefined && state.day === undefined && file?.exists() !== true)
      return { kind: "go", waitMs: 0 };
    let turn: Turn = { kind: "go", waitMs: 0 };
    update((shared) => {
      refill(shared, at);
      const { minute, day } = shared;
      if (day !== undefined && day.remaining <= 0) {
        turn = { kind: "exhausted", resetAt: day.resetAt, waitMs: Math.max(0, day.resetAt - at) };
        return;
      }
      const taken = minute === undefined ? 1 : roomOf(minute);
      const calls = Math.max(1, Math.min(taken, day === undefined ? taken : Math.floor(day.remaining / 8)));
      lease = calls - 1;
      leasedUntil = Math.min(at + LEASE_MS, (minute?.resetAt ?? Number.POSITIVE_INFINITY) - GUARD_MS);
      if (day !== undefined) day.remaining -= calls;
      if (minute !== undefined) turn = { kind: "go", waitMs: spend(minute, calls, at) };
    });
    return turn;
  };

  return {
    take,
    waitBeforeNext() {
      const turn = take();
      return turn.kind === "go" ? turn.waitMs : Number.POSITIVE_INFINITY;
    },
    observe(limit) {
      if (limit === undefined) return;
      const at = now();
      const window = limit.window ?? (limit.resetAt - at > 2 * MINUTE ? "day" : "minute");
      const known = state[window];
      const plenty = limit.remaining > limit.limit * FREE_SHARE * 2;
      told = window === "minute" ? limit.limit : told;
      if (known !== undefined && sameWindow(known, limit) && plenty && at - writtenAt < LEASE_MS) return;
      const spare = plenty ? 0 : lease;
      lease -= spare;
      const learn = (shared: Shared): void => {
        refill(shared, at);
        const before = shared[window];
        const remaining =
          before !== undefined && sameWindow(before, limit)
            ? Math.min(before.remaining + spare, limit.remaining)
            : limit.remaining;
        const nextAt = before !== undefined && sameWindow(before, limit) ? before.nextAt : at;
        shared[window] = { limit: limit.limit, remaining, resetAt: limit.resetAt, nextAt };
      };
      // A process that makes one call while there is plenty has nothing to share: most commands do no more than that.
      if (plenty && writtenAt === Number.NEGATIVE_INFINITY) learn(state);
      else update(learn);
    },
    perMinute: () => state.minute?.limit ?? told,
  };
}

// The same window may be reported a second apart: headers carry whole seconds.
const sameWindow = (bucket: Bucket, limit: RateLimit): boolean => Math.abs(bucket.resetAt - limit.resetAt) <= 2_000;

/** How many calls one process may take at once. */
function roomOf(bucket: Bucket): number {
  const above = bucket.remaining - Math.ceil(bucket.limit * FREE_SHARE);
  const most = Math.max(MAX_LEASE, Math.min(1_000, Math.floor(bucket.limit * LEASE_SHARE)));
  return Math.max(1, Math.min(most, Math.floor(above / 4)));
}

/** Starts a new window where the old one is over. */
function refill(shared: Shared, at: number): void {
  if (shared.minute !== undefined && at >= shared.minute.resetAt) {
    const windows = Math.floor((at - shared.minute.resetAt) / MINUTE) + 1;
    const resetAt = shared.minute.resetAt + windows * MINUTE;
    // Turns that were given out beyond the end of the old window are taken in this one.
    const remaining = shared.minute.limit + Math.min(0, shared.minute.remaining);
    shared.minute = { limit: shared.minute.limit, remaining, resetAt, nextAt: at };
  }
  if (shared.day !== undefined && at >= shared.day.resetAt) delete shared.day;
}

/** Takes calls out of a bucket. @returns milliseconds to wait before the first of them */
function spend(bucket: Bucket, calls: number, at: number): number {
  if (bucket.remaining > bucket.limit * FREE_SHARE) {
    bucket.remaining -= calls;
    bucket.nextAt = at;
    return 0;
  }
  const slot = Math.max(at, bucket.nextAt);
  if (bucket.remaining <= 0 || slot >= bucket.resetAt - GUARD_MS) {
    // Used up: the next window, one after the other, so that waiting processes do not all begin in its first moment.
    const first = Math.max(bucket.resetAt, bucket.nextAt);
    bucket.nextAt = first + Math.ceil(MINUTE / Math.max(1, bucket.limit));
    bucket.remaining = Math.min(0, bucket.remaining) - calls;
    return first - at;
  }
  bucket.nextAt = slot + Math.ceil((bucket.resetAt - slot) / bucket.remaining);
  bucket.remaining -= calls;
  return slot - at;
}

interface SharedFile {
  exists(): boolean;
  /** Reads, changes and writes under a lock. Where the folder cannot be used, `fallback` is changed instead. */
  update(change: (shared: Shared) => void, fallback: Shared): Shared;
}

/** A name for a service and key that tells neither. Also names what belongs to one key: locks, buckets. */
export function keyFingerprint(baseUrl: string, apiKey: string): string {
  // Loaded here: most commands end without having to share anything.
  const { createHash } = createRequire(import.meta.url)("node:crypto") as typeof import("node:crypto");
  return createHash("sha256").update(`${baseUrl}\n${apiKey}`).digest("hex").slice(0, 32);
}

function sharedFile({ stateDir, baseUrl, apiKey }: PacerOptions): SharedFile | undefined {
  if (stateDir === undefined) return undefined;
  const folder = join(stateDir, "pacing");
  let known: string | undefined;
  let made = false;
  const file = (): string => {
    known ??= join(folder, `${keyFingerprint(baseUrl, apiKey)}.json`);
    return known;
  };
  return {
    exists: () => existsSync(folder) && existsSync(file()),
    update(change, fallback) {
      const path = file();
      const lock = `${path}.lock`;
      let locked = false;
      try {
        if (!made) mkdirSync(folder, { recursive: true, mode: 0o700 });
        made = true;
        locked = acquire(lock);
        const shared = (locked ? readShared(path) : undefined) ?? fallback;
        change(shared);
        if (locked) {
          const temporary = `${path}.new`;
          const handle = openSync(temporary, "w", 0o600);
          writeSync(handle, JSON.stringify(shared));
          closeSync(handle);
          renameSync(temporary, path);
        }
        return shared;
      } catch (error) {
        if (!isSystemError(error)) throw error;
        made = false;
        change(fallback);
        return fallback;
      } finally {
        if (locked) rmSync(lock, { force: true });
      }
    },
  };
}

const isSystemError = (error: unknown): boolean => error instanceof Error && "syscall" in error;

const LOCK_ATTEMPTS = 200;
const LOCK_STALE_MS = 2_000;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** Held for well under a millisecond by whoever works; one that is older was left by a process that died. */
function acquire(lock: string): boolean {
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt++) {
    try {
      closeSync(openSync(lock, "wx", 0o600));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const stat = statSync(lock, { throwIfNoEntry: false });
      // The age of a file is told by the file system's clock, so a fresh file of our own is what to compare with.
      if (stat !== undefined && attempt === LOCK_ATTEMPTS - 1) stealIfStale(lock, stat.mtimeMs);
      Atomics.wait(pause, 0, 0, 1);
    }
  }
  return false;
}

function stealIfStale(lock: string, seenAt: number): void {
  const probe = `${lock}.probe`;
  closeSync(openSync(probe, "w", 0o600));
  const age = statSync(probe).mtimeMs - seenAt;
  rmSync(probe, { force: true });
  if (age > LOCK_STALE_MS) rmSync(lock, { force: true });
}

/** Undefined where it is missing or torn: the next reply's headers fill it again. */
function readShared(path: string): Shared | undefined {
  try {
    const parsed = JSON.parse(readFileSync(path, "utf8")) as Shared;
    const whole = (bucket: Bucket | undefined): boolean =>
      bucket === undefined || [bucket.limit, bucket.remaining, bucket.resetAt, bucket.nextAt].every(Number.isFinite);
    return whole(parsed.minute) && whole(parsed.day) ? parsed : undefined;
  } catch {
    return undefined;
  }
}
