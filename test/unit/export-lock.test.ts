import { spawn, spawnSync } from "node:child_process";
import fs, {
  mkdirSync,
  readdirSync,
  readFileSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
  acquireLock,
  isLocked,
  type LockHolder,
  type LockOptions,
  readHolder,
} from "../../src/engine/runs/lock.ts";
import { CliError } from "../../src/shared/errors.ts";
import { thisProcess } from "../../src/shared/process.ts";
import { asTyped } from "../support/as-typed.ts";
import { tempDir } from "../support/client.ts";
import { long } from "../support/long.ts";
import { isLeftOut } from "../support/tools.ts";

const options = (more: Partial<LockOptions> = {}): LockOptions => ({
  now: Date.now,
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 5))),
  what: "people.csv",
  ...more,
});
const lockFile = (): string => join(tempDir(), "lock");
/** A lock as another process of this machine would have written it. */
const holder = async (more: Partial<LockHolder> = {}): Promise<string> =>
  JSON.stringify({ ...thisProcess(), at: "2026-01-15T12:00:00Z", token: "other", ...more });
const taken = async (text: string): Promise<boolean> => {
  const path = lockFile();
  writeFileSync(path, text);
  try {
    await (await acquireLock(path, options())).release();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ exitCode: 9, code: "locked" });
    expect(readFileSync(path, "utf8")).toBe(text);
    return false;
  } finally {
    expect(readdirSync(dirname(path)).filter((name) => name !== "lock")).toEqual([]);
  }
};

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

test("one that is released after it was found and before it was read is taken", async () => {
  const path = lockFile();
  writeFileSync(path, await holder());
  const { readFile } = fs.promises;
  fs.promises.readFile = ((file: string, encoding: "utf8") => {
    if (file === path) fs.rmSync(path, { force: true });
    return readFile(file, encoding);
  }) as typeof readFile;
  syncBuiltinESMExports();
  try {
    await acquireLock(path, options());
  } finally {
    fs.promises.readFile = readFile;
    syncBuiltinESMExports();
  }
  expect(await isLocked(path)).toBe(true);
});

test("a lock of a process that is gone is taken over, and so is one whose process id was given out again", async () => {
  const child = spawn(process.execPath, ["-e", "0"]);
  const pid = child.pid ?? 0;
  await new Promise((resolve) => child.on("exit", resolve));
  expect(await taken(await holder({ pid }))).toBe(true);
  expect(await taken(await holder({ started: "1" }))).toBe(true);
});

test("where a process cannot say when it began, as on macOS, its sign tells whether another only got its number", async () => {
  const path = lockFile();
  const other = { started: "", pid: process.pid, token: DEAD };
  // Without a sign nobody can tell, and it counts as living.
  expect(await taken(await holder(other))).toBe(false);

  writeFileSync(path, await holder(other));
  leaveSign(path);
  await (await acquireLock(path, options())).release();
  expect(readdirSync(dirname(path))).toEqual([]);
});

/** What processes left beside a lock, or are about to write: 16 digits that name each. */
const DEAD = "dddddddddddddddd";
const LIVING = "1111111111111111";

const listen = (sign: string): string =>
  `require("node:net").createServer().listen(${JSON.stringify(sign)})`;

/** As a process that is killed leaves it. */
function leaveSign(path: string): void {
  const script = `${listen(`${path}.${DEAD}.s`)}.on("listening", () => process.kill(process.pid, 9))`;
  expect(spawnSync(process.execPath, ["-e", script]).signal).toBe("SIGKILL");
}

test("whoever was killed while it waited leaves nothing behind: the next holder clears its sign and half-written files, and no living one's", async () => {
  const path = lockFile();
  leaveSign(path);
  const living = spawn(process.execPath, [
    "-e",
    `${listen(`${path}.${LIVING}.s`)}.on("listening", () => console.log("up"))`,
  ]);
  await new Promise((up) => living.stdout.once("data", up));
  for (const token of [DEAD, LIVING]) {
    utimesSync(`${path}.${token}.s`, new Date(0), new Date(0));
    writeFileSync(`${path}.${token}`, "");
  }
  // Whole, where no sign can be made: the process table tells.
  writeFileSync(`${path}.2222222222222222`, await holder());
  writeFileSync(`${path}.eeeeeeeeeeeeeeee`, await holder({ started: "1" }));
  writeFileSync(`${path}.ffffffffffffffff.t`, await holder({ started: "1" }));
  await (await acquireLock(path, options())).release();
  expect(readdirSync(dirname(path)).sort()).toEqual([
    `lock.${LIVING}`,
    `lock.${LIVING}.s`,
    "lock.2222222222222222",
  ]);
  living.kill("SIGKILL");
});

test("a turn of one who was killed over a stale lock stays until the lock is gone, and the next turn is the one after it", async () => {
  const path = lockFile();
  const turns = [`${path}.other.t`, `${path}.${DEAD}.t`, `${path}.eeeeeeeeeeeeeeee.t`] as const;
  writeFileSync(path, await holder({ started: "1" }));
  writeFileSync(turns[0], await holder({ started: "1", token: DEAD }));
  writeFileSync(turns[1], await holder({ started: "1", token: "eeeeeeeeeeeeeeee" }));
  writeFileSync(turns[2], await holder({ token: LIVING }));
  const before = readdirSync(dirname(path));
  // A living one is in its turn: nobody else touches the lock, nor any turn before it.
  const stop = new AbortController();
  let looked = 0;
  const sleep = async (): Promise<void> => {
    if (++looked === 20) stop.abort();
    stop.signal.throwIfAborted();
  };
  await expect(acquireLock(path, options({ wait: true, sleep }))).rejects.toMatchObject({
    name: "AbortError",
  });
  expect(readdirSync(dirname(path))).toEqual(before);
  writeFileSync(turns[2], await holder({ started: "1", token: LIVING }));
  await (await acquireLock(path, options())).release();
  expect(readdirSync(dirname(path))).toEqual([]);
});

test("a living holder's lock and an unreadable one are never taken", async () => {
  expect(await taken(await holder())).toBe(false);
  expect(await taken("not json")).toBe(false);
});

test("another boot is this machine's own past only by its id, its name and the time; all else is another machine", async () => {
  const old = { boot: "another", pid: 1, machine: "m1", at: "2001-01-01T00:00:00Z" };
  const { machine } = thisProcess();
  if (machine !== "") expect(await taken(await holder({ ...old, machine }))).toBe(true);
  expect(await taken(await holder(old))).toBe(false);
  expect(await taken(await holder({ ...old, machine: "" }))).toBe(false);
  expect(await taken(await holder({ ...old, machine, host: "twin" }))).toBe(false);
  // A copy of this machine, of the same name: it was at work after this one was started.
  expect(await taken(await holder({ ...old, machine, at: new Date().toISOString() }))).toBe(false);
  expect(await taken(await holder({ boot: "", host: "twin" }))).toBe(false);
});

test("of another PID namespace the kernel tells by the holder's socket, and where there is none nobody does", async () => {
  const path = lockFile();
  const lock = await acquireLock(path, options());
  const mine = (await readHolder(path)) as LockHolder;
  const elsewhere = JSON.stringify({ ...mine, pid: 999_999, space: "pid:[1]" });
  writeFileSync(path, elsewhere);
  const held = await acquireLock(path, options()).catch((error: unknown) => error);
  if (!(held instanceof CliError)) throw new Error("it was taken");
  expect(held.message).toContain("process 999999 in another container");
  expect(`${held.hint}`).toContain("--wait");
  const sign = readdirSync(dirname(path)).find((name) => name.endsWith(".s")) ?? "";
  unlinkSync(join(dirname(path), sign));
  await expect(acquireLock(path, options())).rejects.toMatchObject({
    hint: expect.stringContaining("remove"),
  });
  await lock.release();
});

long("of many that find the same stale lock exactly one gets it at a time", async () => {
  for (let round = 0; round < 10; round++) await oneStaleLock();
});

async function oneStaleLock(): Promise<void> {
  const path = lockFile();
  writeFileSync(path, await holder({ started: "1" }));
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

/** Whether this system lets us make namespaces. */
const UNSHARE = ["--pid", "--fork", "--mount-proc", "--kill-child"];
const canUnshare = spawnSync("unshare", [...UNSHARE, "true"]).status === 0;
const LOCK_MODULE = resolve(import.meta.dirname, "../../dist/engine/runs/lock.js");

/** Takes a lock in a namespace of its own (the same host name), says so, and keeps it. */
const HOLD = `
  const { acquireLock } = await import(${JSON.stringify(LOCK_MODULE)});
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  try {
    await acquireLock(process.argv[1], { now: Date.now, sleep, what: "people.csv" });
    console.log("held by " + process.pid);
    setInterval(() => undefined, 1_000);
  } catch (error) {
    console.log(error.exitCode + " " + error.message);
  }
`;

describe.skipIf(isLeftOut(canUnshare))("processes in PID namespaces of their own", () => {
  async function hold(path: string, ...unshare: readonly string[]) {
    const node = [process.execPath, "--input-type=module", "-e", HOLD, path];
    const child = spawn("unshare", [...unshare, ...node], { stdio: ["ignore", "pipe", "inherit"] });
    const said = await new Promise<string>((resolve) =>
      child.stdout.once("data", (data) => resolve(String(data))),
    );
    return {
      said,
      async end(): Promise<void> {
        // Its output ends with the last process of the namespace.
        const exited = new Promise((resolve) => child.once("close", resolve));
        child.kill("SIGKILL");
        await exited;
      },
    };
  }

  test.each([
    ["", ""],
    [
      " whose path is too long for a socket's name",
      "a folder with a name as long as some are/".repeat(4),
    ],
  ])(
    "a living holder is not taken for a dead one, and a dead one's lock is taken over%s",
    async (_, folders) => {
      const folder = join(tempDir(), folders);
      mkdirSync(folder, { recursive: true });
      const path = join(folder, "lock");
      const first = await hold(path, ...UNSHARE);
      expect(first.said).toContain("held by 1");
      const second = await hold(path, ...UNSHARE);
      expect(second.said).toContain(
        "9 another run is at work on people.csv: process 1 in another container",
      );
      await expect(acquireLock(path, options())).rejects.toMatchObject({ exitCode: 9 });
      await first.end();
      // The same number in another namespace is another process: only the kernel can tell.
      const third = await hold(path, ...UNSHARE);
      expect(third.said).toContain("held by 1");
      await third.end();
      await (await acquireLock(path, options())).release();
      expect(readdirSync(dirname(path))).toEqual([]);
    },
  );

  test("without /proc nobody is taken for dead", async () => {
    const path = lockFile();
    const first = await hold(path, "-m", "sh", "-c", 'mount -t tmpfs none /proc; exec "$@"', "sh");
    expect(first.said).toContain("held by");
    await first.end();
    const second = await hold(path, "-m", "sh", "-c", 'mount -t tmpfs none /proc; exec "$@"', "sh");
    expect(second.said).toContain("9 another run is at work on people.csv");
    await expect(acquireLock(path, options())).rejects.toMatchObject({
      hint: expect.stringContaining("remove"),
    });
  });

  test("a /proc of another namespace shows other processes, and nobody is taken for dead by it", async () => {
    const path = lockFile();
    // The host's /proc: the holder reads its own start there as "self", others' numbers belong to strangers.
    const blind = UNSHARE.filter((flag) => flag !== "--mount-proc");
    const script = `${HOLD}\nconst second = await import("node:child_process");
      const args = ["--input-type=module", "-e", ${JSON.stringify(HOLD)}, process.argv[1]];
      console.log(second.spawnSync(process.execPath, args, { timeout: 5_000 }).stdout.toString());`;
    const child = spawn(
      "unshare",
      asTyped`${blind} ${process.execPath} --input-type=module -e ${script} ${path}`,
    );
    let said = "";
    for await (const data of child.stdout) {
      said += String(data);
      if (said.includes("9 another run") || said.split("held by").length > 2) break;
    }
    child.kill("SIGKILL");
    expect(said).toMatch(/held by 1\n.*9 another run is at work on people\.csv: process 1 since/s);
  });
});
