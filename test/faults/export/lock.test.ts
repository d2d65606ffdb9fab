import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { tempDir } from "../../support/client.ts";
import { seeded } from "../../support/export.ts";

const LONG = process.env.HEADCOUNT_LONG !== undefined;
const UNSHARE = ["--pid", "--fork", "--mount-proc", "--kill-child"];
const CAN_UNSHARE = spawnSync("unshare", [...UNSHARE, "true"]).status === 0;
const LOCK_MODULE = resolve(import.meta.dirname, "../../../dist/runs/lock.js");

/** Takes the lock again and again; inside it writes its name and looks whether somebody else wrote theirs meanwhile. */
const WORKER = `
  import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
  const { acquireLock } = await import(${JSON.stringify(LOCK_MODULE)});
  const [path, name] = process.argv.slice(1);
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 3)));
  for (let turn = 0; ; turn++) {
    const lock = await acquireLock(path, { now: Date.now, sleep, what: "it", wait: true });
    const mine = name + " " + turn;
    writeFileSync(path + ".inside", mine);
    await sleep(Math.random() * 3);
    const there = readFileSync(path + ".inside", "utf8");
    if (there !== mine) appendFileSync(path + ".broken", mine + " saw " + there + "\\n");
    appendFileSync(path + ".turns", "x");
    await lock.release();
  }
`;

test("of many processes in several PID namespaces, killed at any time, one at a time holds a lock, and the dead never do", async () => {
  const path = join(tempDir(), "lock");
  const random = seeded(3);
  let born = 0;
  const start = (index: number): ChildProcess => {
    const node = [process.execPath, "--input-type=module", "-e", WORKER, path, `w${born++}`];
    const [command = "", ...args] = CAN_UNSHARE && index % 2 === 0 ? ["unshare", ...UNSHARE, ...node] : node;
    return spawn(command, args, { stdio: "ignore" });
  };
  const workers = Array.from({ length: 4 }, (_, index) => start(index));
  const turns = (): number => (existsSync(`${path}.turns`) ? readFileSync(`${path}.turns`).length : 0);
  const end = async (child: ChildProcess | undefined): Promise<void> => {
    const ended = new Promise((done) => child?.once("exit", done));
    child?.kill("SIGKILL");
    await ended;
  };
  const kills = LONG ? 200 : 12;
  for (let killed = 0; killed < kills; killed++) {
    const before = turns();
    // Somebody gets its turn after every death: no lock of the dead is in the way.
    while (turns() < before + 5) await new Promise((wait) => setTimeout(wait, 5));
    const index = Math.floor(random() * workers.length);
    await end(workers[index]);
    workers[index] = start(index);
  }
  await Promise.all(workers.map(end));
  expect(existsSync(`${path}.broken`) ? readFileSync(`${path}.broken`, "utf8") : "").toBe("");
  // At most what the last ones left: nothing gathers.
  expect(readdirSync(join(path, "..")).filter((name) => name.startsWith("lock.")).length).toBeLessThan(20);
}, 600_000);
