import { type ChildProcessByStdio, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { acquireLock } from "../../../src/engine/runs/lock.ts";
import { tempDir } from "../../support/client.ts";
import { seeded } from "../../support/export.ts";
import type { Campaign, Course } from "../campaign.ts";

const UNSHARE = ["--pid", "--fork", "--mount-proc", "--kill-child"];
const CAN_UNSHARE = spawnSync("unshare", [...UNSHARE, "true"]).status === 0;
const LOCK_MODULE = resolve(import.meta.dirname, "../../../dist/engine/runs/lock.js");

/** Takes the lock again and again; inside it writes its name and looks whether somebody else wrote theirs meanwhile. */
const WORKER = `
  import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
  // Nobody holds the other end any more: whoever started this is gone, whatever ended it.
  process.stdin.on("end", () => process.exit()).resume();
  const { acquireLock } = await import(${JSON.stringify(LOCK_MODULE)});
  const [path, beside, name, locks] = process.argv.slice(1);
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 3)));
  for (let turn = 0; ; turn++) {
    const lock = locks === "yes" && (await acquireLock(path, { now: Date.now, sleep, what: "it", wait: true }));
    const mine = name + " " + turn;
    writeFileSync(beside + "inside", mine);
    await sleep(Math.random() * 3);
    const there = readFileSync(beside + "inside", "utf8");
    if (there !== mine) appendFileSync(beside + "broken", mine + " saw " + there + "\\n");
    appendFileSync(beside + "turns", "x");
    if (lock) await lock.release();
  }
`;
type Worker = ChildProcessByStdio<Writable, Readable, null>;

/** An unshare that is killed before it has told the kernel to kill its child leaves it behind; closed is when the last of both is gone. */
async function end(worker: Worker): Promise<void> {
  const ended = once(worker, "close");
  worker.kill("SIGKILL");
  worker.stdin.destroy();
  await ended;
}

/** Of many processes, killed at any time, one at a time holds a lock, and the dead never do. */
async function play({ cases, isBroken, seed }: Course): Promise<{ kills: number }> {
  const folder = tempDir();
  const path = join(folder, "lock");
  const beside = join(tempDir(), "told ");
  const random = seeded(seed);
  let born = 0;
  const start = (index: number): Worker => {
    const node = [
      process.execPath,
      "--input-type=module",
      "-e",
      WORKER,
      path,
      beside,
      `w${born++}`,
      isBroken ? "no" : "yes",
    ];
    const [command = "", ...args] =
      CAN_UNSHARE && index % 2 === 0 ? ["unshare", ...UNSHARE, ...node] : node;
    const worker = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
    worker.stdin.on("error", () => undefined);
    worker.stdout.resume();
    return worker;
  };
  const workers = Array.from({ length: 4 }, (_, index) => start(index));
  const told = (what: string): string =>
    existsSync(beside + what) ? readFileSync(beside + what, "utf8") : "";
  try {
    for (let killed = 0; killed < cases; killed++) {
      const before = told("turns").length;
      // Somebody gets its turn after every death: no lock of the dead is in the way.
      while (told("turns").length < before + 5) await delay(5);
      const index = Math.floor(random() * workers.length);
      await end(workers[index] as Worker);
      workers[index] = start(index);
    }
    // On a busy machine one of them may have had all those turns before another was there.
    const until = Date.now() + 20_000;
    while (isBroken && told("broken") === "" && Date.now() < until) await delay(20);
  } finally {
    await Promise.all(workers.map(end));
  }
  if (told("broken") !== "") throw new Error(`two at once: ${told("broken")}`);
  // Nothing gathers: whatever they were killed at, the next holder clears what they left. By its clock none of it is too young to judge.
  const { now, sleep } = { now: () => Date.now() + 60_000, sleep: (ms: number) => delay(ms) };
  await (await acquireLock(path, { now, sleep, what: "it", wait: true })).release();
  expect(readdirSync(folder)).toEqual([]);
  return { kills: cases };
}

export const lock: Campaign = {
  name: "lock",
  seed: 3,
  cases: { quick: 2, whole: 200 },
  canRun: CAN_UNSHARE,
  control: { without: "the lock", seen: /^two at once: / },
  run: play,
};
