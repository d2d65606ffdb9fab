import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { kill, pid } from "node:process";
import { makeFolder } from "../../shared/folder.ts";
import type { RateLimit } from "./errors.ts";
import { locked } from "./lock-file.ts";

interface PacerOptions {
  /** Undefined: this process alone. */
  readonly stateDir: string | undefined;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly now: () => number;
}

/** Calls that a file says there may be. */
interface DeclaredLimits {
  readonly per_minute?: number;
  readonly per_second?: number;
}

interface Bucket {
  readonly limit: number;
  remaining: number;
  resetAt: number;
  nextAt: number;
}

interface Shared {
  minute?: Bucket;
  day?: Bucket;
  /** When it was written. */
  at: number;
  /** When the last calls go out, where a minute has so many by its file. */
  calls: readonly number[];
  /** Until when calls of each who uses the key may be charged. */
  payers: Record<string, number>;
}

const MINUTE = 60_000;
/** Of more a minute it is a part of the minute that is looked at. */
const MOST_KEPT = 1_000;
/** What was charged so long ago is of no call that is under way. */
const FORGOTTEN_MS = 60 * MINUTE;
/** A turn that no call made use of by then is none any more. */
const TURN_MS = 1_000;
/**
 * Above this share of the limit calls go as they come; below
 * it the rest is spread over what is left of the window.
 */
const FREE_SHARE = 0.25;
/**
 * While there is plenty, a process takes several calls at
 * once, so that the file is not in the way of every page.
 */
const MAX_LEASE = 16;
const LEASE_SHARE = 1 / 60;
const LEASE_MS = 1_000;
/** A call this close to the end of a window may arrive in the next one, and is reckoned there. */
const GUARD_MS = 100;

let pacers = 0;

/** Whether the process of that name is there no more: its call is of whoever goes on. */
function isGone(name: string): boolean {
  try {
    kill(Number.parseInt(name, 10), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/**
 * All processes of this machine share it (docs/reference/contract.md, Limits). Without a file: less
 * exact.
 */
export class Pacer {
  readonly #now: () => number;
  readonly #file: ReturnType<typeof sharedFile> | undefined;
  #state: Shared = { at: 0, calls: [], payers: {} };
  #lease = 0;
  #leasedUntil = 0;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #declared: DeclaredLimits | undefined;
  /** When turns are due that a call has still to make use of, and how far away they were. */
  #turns: { readonly due: number; readonly waitMs: number }[] = [];
  readonly #name = `${pid}/${++pacers}`;

  constructor({ now, stateDir, baseUrl, apiKey }: PacerOptions) {
    this.#now = now;
    this.#file = stateDir === undefined ? undefined : sharedFile(stateDir, baseUrl, apiKey);
  }

  /** No minute, and no second, has more calls than that, whatever replies tell. */
  declare(limits: DeclaredLimits | undefined): void {
    this.#declared = limits;
  }

  get isDeclared(): boolean {
    return this.#declared !== undefined;
  }

  /** Takes one call out of what all share. @returns milliseconds to wait before it */
  take(): number {
    // Where a limit is declared each request takes its own.
    return this.isDeclared ? 0 : this.#takeTold();
  }

  /** For a request to come, as {@link take} does where nothing is declared. */
  takeAhead(): number {
    const waitMs = Math.max(this.#takeDeclared(), this.#takeTold());
    this.#turns.push({ due: this.#now() + waitMs, waitMs });
    return waitMs;
  }

  /** For one request: by a turn that was taken for it, else by one of its own. */
  takeRequest(): number {
    const at = this.#now();
    this.#turns = this.#turns.filter(({ due }) => due > at - TURN_MS);
    if (this.#turns.length === 0) this.takeAhead();
    const { due = at, waitMs = 0 } = this.#turns.shift() ?? {};
    return Math.max(0, Math.min(due - at, waitMs));
  }

  /**
   * Tells the others until when calls of this one may be charged.
   * @returns whether calls of others may have been since then
   */
  pays(until: number, since: number): boolean {
    const at = this.#now();
    let isShared = false;
    this.#update((shared) => {
      const others = Object.entries(shared.payers).filter(
        ([name, last]) =>
          name !== this.#name && last > at - FORGOTTEN_MS && (last <= at || !isGone(name)),
      );
      isShared = others.some(([, last]) => last >= since);
      shared.payers = { ...Object.fromEntries(others), [this.#name]: until };
    });
    return isShared;
  }

  #takeDeclared(): number {
    if (this.#declared === undefined) return 0;
    const { per_minute: most = Infinity, per_second: eachSecond = Infinity } = this.#declared;
    const at = this.#now();
    const kept = Math.min(most, MOST_KEPT);
    const lastsMs = (MINUTE * kept) / most + TURN_MS;
    // One after the other, at even distances, of which one may be late.
    const apartMs = (1_000 + GUARD_MS) / eachSecond;
    let due = at;
    this.#update((shared) => {
      const known = shared.calls;
      const next = (known.at(-1) ?? -apartMs) + apartMs;
      due = Math.max(at, next, (known.at(-kept) ?? -lastsMs) + lastsMs);
      shared.calls = [...known, due].slice(-kept);
    });

    return due - at;
  }

  #takeTold(): number {
    const at = this.#now();
    if (this.#lease > 0 && at < this.#leasedUntil) {
      this.#lease--;
      return 0;
    }

    const { minute, day: today } = this.#state;
    if (minute === undefined && today === undefined && this.#file?.exists() !== true) return 0;

    let waitMs = 0;
    this.#update((shared) => {
      refill(shared, at);
      const { minute, day } = shared;
      if (day !== undefined && day.remaining <= 0) {
        waitMs = day.resetAt - at;
        return;
      }

      const room = minute === undefined ? 1 : roomOf(minute);
      const calls = Math.max(
        1,
        Math.min(room, day === undefined ? room : Math.floor(day.remaining / 8)),
      );
      this.#lease = calls - 1;
      this.#leasedUntil = Math.min(
        at + LEASE_MS,
        (minute?.resetAt ?? Number.POSITIVE_INFINITY) - GUARD_MS,
      );
      if (day !== undefined) day.remaining -= calls;
      if (minute !== undefined) waitMs = spend(minute, calls, at);
    });

    return waitMs;
  }

  observe(limit: RateLimit | undefined): void {
    if (limit === undefined) return;

    const at = this.#now();
    const window = limit.window ?? (limit.resetAt - at > 2 * MINUTE ? "day" : "minute");
    const own = this.#state[window];
    const plenty = limit.remaining > limit.limit * FREE_SHARE * 2;
    // The headers tell the window that binds first: with
    // calls left in this minute there are some left today.
    const healsDay =
      window === "minute" && limit.remaining > 0 && (this.#state.day?.remaining ?? 1) <= 0;

    if (
      !healsDay &&
      own !== undefined &&
      sameWindow(own, limit) &&
      plenty &&
      at - this.#writtenAt < LEASE_MS
    )
      return;

    const spare = plenty ? 0 : this.#lease;
    this.#lease -= spare;

    const learn = (shared: Shared): void => {
      refill(shared, at);
      if (healsDay) delete shared.day;
      const before = shared[window];
      const same = before !== undefined && sameWindow(before, limit);
      const remaining = same
        ? Math.min(before.remaining + spare, limit.remaining)
        : limit.remaining;
      const nextAt = same ? before.nextAt : at;
      shared[window] = { limit: limit.limit, remaining, resetAt: limit.resetAt, nextAt };
    };

    // A process that makes one call while there is plenty has nothing to share.
    if (plenty && this.#writtenAt === Number.NEGATIVE_INFINITY) learn(this.#state);
    else this.#update(learn);
  }

  perMinute(): number | undefined {
    return this.#state.minute?.limit;
  }

  #update(change: (shared: Shared) => void): void {
    const at = this.#now();
    const changeOfNow = (shared: Shared): void => {
      setBack(shared, at);
      change(shared);
    };

    if (this.#file === undefined) changeOfNow(this.#state);
    else this.#state = this.#file.update(changeOfNow, this.#state);
    this.#writtenAt = at;
  }
}

/** Of another limit, as plans are changed, nothing is known by what was spent of that before. */
const sameWindow = (bucket: Bucket, { limit, resetAt }: RateLimit): boolean =>
  bucket.limit === limit && Math.abs(bucket.resetAt - resetAt) <= 2_000;

function roomOf(bucket: Bucket): number {
  const above = bucket.remaining - Math.ceil(bucket.limit * FREE_SHARE);
  const most = Math.max(MAX_LEASE, Math.min(1_000, Math.floor(bucket.limit * LEASE_SHARE)));
  return Math.max(1, Math.min(most, Math.floor(above / 4)));
}

/** Of a clock that was set back since, all that was said is as much earlier. */
function setBack(shared: Shared, at: number): void {
  const backMs = Math.max(0, shared.at - at);
  shared.at = at;
  shared.calls = shared.calls.map((when) => when - backMs);
  for (const [name, last] of Object.entries(shared.payers)) shared.payers[name] = last - backMs;
  for (const bucket of [shared.minute, shared.day]) {
    if (bucket === undefined) continue;
    bucket.resetAt -= backMs;
    bucket.nextAt -= backMs;
  }
}

function refill(shared: Shared, at: number): void {
  const { limit = 0, remaining = 0, resetAt = Infinity } = shared.minute ?? {};
  if (at >= resetAt && limit <= 0) delete shared.minute;
  else if (at >= resetAt) {
    const windows = Math.floor((at - resetAt) / MINUTE) + 1;
    const left = limit + Math.min(0, remaining);
    shared.minute = { limit, remaining: left, resetAt: resetAt + windows * MINUTE, nextAt: at };
  }
  if (shared.day !== undefined && at >= shared.day.resetAt) delete shared.day;
}

/** @returns milliseconds to wait before the first of them */
function spend(bucket: Bucket, calls: number, at: number): number {
  if (bucket.remaining > bucket.limit * FREE_SHARE) {
    bucket.remaining -= calls;
    bucket.nextAt = at;
    return 0;
  }

  const slot = Math.max(at, bucket.nextAt);
  if (bucket.remaining <= 0 || slot >= bucket.resetAt - GUARD_MS) {
    // One after the other, so that waiting processes do not all begin in the window's first moment.
    const first = Math.max(bucket.resetAt, bucket.nextAt);
    bucket.nextAt = bucket.limit > 0 ? first + Math.ceil(MINUTE / bucket.limit) : first;
    bucket.remaining = Math.min(0, bucket.remaining) - calls;
    return first - at;
  }

  bucket.nextAt = slot + Math.ceil((bucket.resetAt - slot) / bucket.remaining);
  bucket.remaining -= calls;

  return slot - at;
}

/** A name for a service and key that tells neither. */
export function keyFingerprint(baseUrl: string, apiKey: string): string {
  const { hash } = createRequire(import.meta.url)("node:crypto") as typeof import("node:crypto");
  return hash("sha256", `${baseUrl}\n${apiKey}`).slice(0, 32);
}

function sharedFile(stateDir: string, baseUrl: string, apiKey: string) {
  const folder = join(stateDir, "pacing");
  let path: string | undefined;
  const file = (): string => {
    path ??= join(folder, `${keyFingerprint(baseUrl, apiKey)}.json`);
    return path;
  };

  return {
    exists: () => existsSync(folder) && existsSync(file()),

    /** Reads, changes and writes under a lock; `fallback` where the folder cannot be used. */
    update(change: (shared: Shared) => void, fallback: Shared): Shared {
      try {
        makeFolder(folder);
        const written = locked(`${file()}.lock`, PATIENCE_MS, () => {
          const shared = readShared(file()) ?? fallback;
          change(shared);
          writeFileSync(`${file()}.new`, JSON.stringify(shared), { mode: 0o600 });
          renameSync(`${file()}.new`, file());
          return shared;
        });
        if (written !== undefined) return written;
      } catch (error) {
        if (!(error instanceof Error && "syscall" in error)) throw error;
      }

      change(fallback);
      return fallback;
    },
  };
}

const PATIENCE_MS = 200;

function readShared(path: string): Shared | undefined {
  try {
    const shared = JSON.parse(readFileSync(path, "utf8")) as Shared;
    const { at, calls, payers, minute, day } = shared;
    const ofBuckets = [minute, day].flatMap((bucket) =>
      bucket ? [bucket.limit, bucket.remaining, bucket.resetAt, bucket.nextAt] : [],
    );
    return [at, ...calls, ...Object.values(payers), ...ofBuckets].every(Number.isFinite)
      ? shared
      : undefined;
  } catch {
    return undefined;
  }
}
