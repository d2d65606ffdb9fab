import { spawn } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { acquireLock, isLocked, type LockOptions, readHolder, startOf } from "../../src/runs/lock.ts";
import { tempDir } from "../support/client.ts";

const options = (more: Partial<LockOptions> = {}): LockOptions => ({
  pid: process.pid,
  now: Date.now,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 5))),
  what: "people.csv",
  ...more,
});
const lockFile = (): string => join(tempDir(), "lock");
const holder = (more: object): string =>
  JSON.stringify({
    pid: process.pid,
    started: "",
    host: hostname(),
    at: "2026-01-15T12:00:00Z",
    token: "other",
    ...more,
  });

test("held once: the second ends with exit 9 and names the holder; released it can be taken", async () => {
  const path = lockFile();
  const lock = await acquireLock(path, options());
  expect(await isLocked(path)).toBe(true);
  await expect(acquireLock(path, options())).rejects.toMatchObject({
    exitCode: 9,
    message: expect.stringContaining(`process ${process.pid}`),
  });
  await lock.release();
  await (await acquireLock(path, options())).release();
  expect(readdirSync(dirname(path))).toEqual([]);
});

test("a lock of a process that is gone is taken over, and so is one whose process id was given out again", async () => {
  const child = spawn(process.execPath, ["-e", "0"]);
  const pid = child.pid ?? 0;
  await new Promise((resolve) => child.on("exit", resolve));
  for (const stale of [
    { pid },
    { started: `${(await startOf(process.pid))?.split("/")[0]}/1` },
    { started: "another-boot/1" },
  ]) {
    const path = lockFile();
    writeFileSync(path, holder(stale));
    const lock = await acquireLock(path, options());
    expect((await readHolder(path))?.token).not.toBe("other");
    await lock.release();
  }
});

test("a living holder's lock, one of another machine and an unreadable one are never taken", async () => {
  for (const text of [
    holder({ started: await startOf(process.pid) }),
    holder({}),
    holder({ pid: 1, host: "elsewhere" }),
    "not json",
  ]) {
    const path = lockFile();
    writeFileSync(path, text);
    await expect(acquireLock(path, options())).rejects.toMatchObject({ exitCode: 9 });
  }
});

test("of many that find the same stale lock exactly one gets it at a time", async () => {
  for (let round = 0; round < 10; round++) await oneStaleLock();
});

async function oneStaleLock(): Promise<void> {
  const path = lockFile();
  writeFileSync(path, holder({ started: "another-boot/1" }));
  let inside = 0;
  let most = 0;
  let turns = 0;
  const work = async (): Promise<void> => {
    const lock = await acquireLock(path, options({ wait: true }));
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 1));
    inside--;
    turns++;
    await lock.release();
  };
  await Promise.all(Array.from({ length: 20 }, work));
  expect({ most, turns }).toEqual({ most: 1, turns: 20 });
}
