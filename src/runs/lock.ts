import { randomBytes } from "node:crypto";
import { link, open, readFile, unlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { kill } from "node:process";
import { CliError, EXIT } from "../errors.ts";
import { errorCode, FILE_MODE } from "./disk.ts";

/** Who holds a lock: enough to tell a dead holder from a living one, also where its process id was given out again. */
export interface LockHolder {
  readonly pid: number;
  /** When the process started, as the system counts it, with the boot it belongs to; empty where the system does not tell. */
  readonly started: string;
  readonly host: string;
  /** ISO-8601. */
  readonly at: string;
  /** Tells two locks of one process apart. */
  readonly token: string;
}

export interface Lock {
  readonly path: string;
  release(): Promise<void>;
}

export interface LockOptions {
  readonly pid: number;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  /** Waits for the holder instead of failing. */
  readonly wait?: boolean;
  readonly signal?: AbortSignal;
  /** Called once when waiting begins. */
  readonly onWait?: (holder: LockHolder | undefined) => void;
  /** What is locked, for the message: "people.csv". */
  readonly what: string;
}

const POLL_MS = 250;

/**
 * Takes a lock file. It is created whole and at once (a link to a finished file), so no reader sees half of it. A lock whose
 * holder is gone is taken over; a living holder's never is, nor one of another machine.
 * @throws CliError exit 9 where another process holds it and `wait` is not set
 */
export async function acquireLock(path: string, options: LockOptions): Promise<Lock> {
  const mine: LockHolder = {
    pid: options.pid,
    started: (await startOf(options.pid)) ?? "",
    host: hostname(),
    at: new Date(options.now()).toISOString(),
    token: randomBytes(8).toString("hex"),
  };
  const text = JSON.stringify(mine);
  for (let waited = false; ; ) {
    if (await create(path, text, mine.token)) return { path, release: () => release(path, mine.token) };
    const holder = await readHolder(path);
    if (holder !== undefined && (await isGone(holder))) {
      await takeAway(path, holder.token, text, mine.token);
      await options.sleep(1, options.signal);
      continue;
    }
    if (options.wait !== true) throw lockedError(path, options.what, holder);
    if (!waited) options.onWait?.(holder);
    waited = true;
    await options.sleep(POLL_MS, options.signal);
  }
}

/** The holder of a lock file, or undefined where there is none or it cannot be read. */
export async function readHolder(path: string): Promise<LockHolder | undefined> {
  try {
    const value = JSON.parse(await readFile(path, "utf8")) as Partial<LockHolder>;
    if (typeof value.pid !== "number" || typeof value.token !== "string") return undefined;
    return { started: "", host: "", at: "", ...value, pid: value.pid, token: value.token };
  } catch {
    return undefined;
  }
}

/** Whether a living process holds the lock. */
export async function isLocked(path: string): Promise<boolean> {
  const holder = await readHolder(path);
  return holder !== undefined && !(await isGone(holder));
}

function lockedError(path: string, what: string, holder: LockHolder | undefined): CliError {
  const elsewhere = holder !== undefined && holder.host !== hostname();
  const who =
    holder === undefined
      ? "a process that left no name"
      : `process ${holder.pid}${elsewhere ? ` on ${holder.host}` : ""} since ${holder.at}`;
  return new CliError({
    code: "locked",
    category: "locked",
    exitCode: EXIT.locked,
    message: `another run is at work on ${what}: ${who}`,
    hint:
      holder === undefined || elsewhere
        ? `if it is certain that it ended, remove ${path}`
        : "wait for it with --wait, or stop it; nothing was bought",
  });
}

async function create(path: string, text: string, token: string): Promise<boolean> {
  const temporary = `${path}.${token}`;
  await writeFile(temporary, text, { mode: FILE_MODE });
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    if (!["EPERM", "ENOTSUP", "ENOSYS", "EOPNOTSUPP"].includes(errorCode(error) ?? "")) throw error;
    return await createExclusive(path, text);
  } finally {
    await unlink(temporary).catch(() => undefined);
  }
}

/** For file systems without hard links. */
async function createExclusive(path: string, text: string): Promise<boolean> {
  try {
    const file = await open(path, "wx", FILE_MODE);
    await file.writeFile(text);
    await file.close();
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes a stale lock. Several processes may have seen the same one, and one of them may hold a new lock by now: they take
 * turns, and each looks again in its turn, so that only the stale lock itself is ever removed.
 */
async function takeAway(path: string, stale: string, text: string, token: string): Promise<void> {
  const turn = `${path}.takeover`;
  if (!(await create(turn, text, token))) {
    const other = await readHolder(turn);
    if (other !== undefined && (await isGone(other))) await unlink(turn).catch(() => undefined);
    return;
  }
  try {
    if ((await readHolder(path))?.token === stale) await unlink(path).catch(() => undefined);
  } finally {
    await unlink(turn).catch(() => undefined);
  }
}

async function release(path: string, token: string): Promise<void> {
  const holder = await readHolder(path);
  if (holder?.token === token) await unlink(path).catch(() => undefined);
}

async function isGone(holder: LockHolder): Promise<boolean> {
  if (holder.host !== hostname()) return false;
  try {
    kill(holder.pid, 0);
  } catch (error) {
    if (errorCode(error) === "ESRCH") return true;
  }
  if (holder.started === "") return false;
  const started = await startOf(holder.pid);
  return started !== undefined && started !== holder.started;
}

/** A process's start time and boot, from /proc; undefined where there is no such thing. */
export async function startOf(pid: number): Promise<string | undefined> {
  try {
    const [stat, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    ]);
    // The name of the command is in brackets and may hold anything; the fields after it are plain. The start is field 22.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie has ended; only its parent has not looked yet.
    return fields[0] === "Z" || fields[0] === "X" ? "ended" : `${boot.trim()}/${fields[19] ?? ""}`;
  } catch {
    return undefined;
  }
}
