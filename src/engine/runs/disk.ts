import { randomBytes } from "node:crypto";
import { fdatasync, writevSync } from "node:fs";
import { type FileHandle, link, open, rename, rm, statfs } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { kill, pid, platform } from "node:process";
import { setTimeout as after } from "node:timers/promises";
import { syncFolder } from "../../shared/folder.ts";

export const FILE_MODE = 0o600;

export const jsonText = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Every step of a durable write; `half`: some bytes are out. Tests kill the process here. */
export type DiskStep = (
  what: string,
  step: "before" | "half" | "written" | "synced" | "renamed",
) => void;

export class Disk {
  readonly #step: DiskStep | undefined;

  constructor(step?: DiskStep) {
    this.#step = step;
  }

  /** A reader, or a crash, sees the old file or the new one. @param replace else EEXIST */
  async replaceFile(
    path: string,
    data: Buffer | string,
    what: string,
    replace = true,
  ): Promise<void> {
    // Nothing that somebody else put in its place is written through.
    const temporary = join(
      dirname(path),
      `.${basename(path)}.${randomBytes(6).toString("hex")}.tmp`,
    );
    const file = await open(temporary, "wx", FILE_MODE);

    try {
      await this.#write(file, data, what).finally(() => file.close());
      await (replace ? this.rename(temporary, path, what) : this.place(temporary, path, what));
    } catch (error) {
      await remove(temporary).catch(() => undefined);
      throw error;
    }
  }

  async rename(from: string, to: string, what: string): Promise<void> {
    this.#step?.(what, "before");
    await patiently(() => rename(from, to));
    syncFolder(dirname(to));
    this.#step?.(what, "renamed");
  }

  /** @throws EEXIST where something has the name */
  async place(from: string, to: string, what: string): Promise<void> {
    this.#step?.(what, "before");
    await claim(from, to);
    syncFolder(dirname(to));
    this.#step?.(what, "renamed");
  }

  /** In this thread: another would take several times as long. */
  async append(file: FileHandle, parts: readonly Buffer[], what: string): Promise<void> {
    this.#put(file.fd, parts, what);
    await syncData(file.fd);
    this.#step?.(what, "synced");
  }

  async #write(file: FileHandle, data: Buffer | string, what: string) {
    this.#put(file.fd, [typeof data === "string" ? Buffer.from(data, "utf8") : data], what);
    await file.sync();
    this.#step?.(what, "synced");
  }

  #put(file: number, parts: readonly Buffer[], what: string) {
    if (this.#step === undefined) {
      writeAll(file, parts);
      return;
    }

    this.#step(what, "before");
    for (const part of parts) {
      const half = part.length >> 1;
      writeAll(file, [part.subarray(0, half)]);
      this.#step(what, "half");
      writeAll(file, [part.subarray(half)]);
      this.#step(what, "written");
    }
  }
}

/** Gives a file a name that nothing has. @throws EEXIST */
export async function claim(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
    await rm(from);
  } catch (error) {
    // Without hard links the name is claimed by an empty file, which is then replaced.
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(errorCode(error) ?? ""))
      throw error;
    await (await open(to, "wx", FILE_MODE)).close();
    await rename(from, to);
  }
}

const READ_BY_OTHERS = new Set(["EPERM", "EACCES", "EBUSY"]);

/**
 * On Windows nothing takes the place of a file that somebody
 * reads: a scanner does so for a moment, Excel for long.
 */
export async function patiently<T>(
  work: () => Promise<T>,
  system: NodeJS.Platform = platform,
): Promise<T> {
  for (const ms of system === "win32" ? [20, 80, 300, 1_000] : []) {
    try {
      return await work();
    } catch (error) {
      if (!READ_BY_OTHERS.has(errorCode(error) ?? "")) throw error;
    }
    await after(ms);
  }
  return await work();
}

function writeAll(file: number, parts: readonly Buffer[]) {
  let pending = parts.filter(({ length }) => length > 0);
  while (pending.length > 0) {
    let written = writevSync(file, pending);
    const rest: Buffer[] = [];
    for (const part of pending) {
      if (written < part.length) rest.push(part.subarray(written));
      written = Math.max(0, written - part.length);
    }
    pending = rest;
  }
}

const syncData = (file: number): Promise<void> =>
  new Promise((resolve, reject) => {
    fdatasync(file, (error) => (error === null ? resolve() : reject(error)));
  });

export async function freeBytes(path: string): Promise<number | undefined> {
  try {
    const { bavail, bsize, blocks } = await statfs(path);
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
}

export const errorCode = (error: unknown): string | undefined => {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return typeof code === "string" ? code : undefined;
};

export const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true });

/**
 * For tests: `HEADCOUNT_FAILPOINT=N` kills this process at the Nth durable step, `N:ENOSPC` fails
 * from there on, and `N:EIO:once` at that step alone.
 */
export function failpoint(env: Readonly<Record<string, string | undefined>>): DiskStep | undefined {
  const pattern = /^(\d+)(?::([A-Z]+)(:once)?)?$/;
  const [, at, code, once] = pattern.exec(env.HEADCOUNT_FAILPOINT ?? "") ?? [];
  if (at === undefined) return undefined;

  let step = 0;
  return () => {
    step++;
    if (code === undefined && step === Number(at)) kill(pid, "SIGKILL");
    const isOver = once !== undefined && step > Number(at);
    if (code !== undefined && step >= Number(at) && !isOver) {
      throw Object.assign(new Error(`${code}: failpoint`), { code, syscall: "write" });
    }
  };
}
