import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import type { Worker } from "node:worker_threads";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { generateDataset } from "../../src/dataset/build/sample.ts";
import { ReloadingEngine } from "../../src/dataset/embedded/reloading-engine.ts";
import type { Scan } from "../../src/dataset/embedded/scan.ts";
import { ScanThreads } from "../../src/dataset/embedded/scan-threads.ts";
import { OutOfTimeError } from "../../src/dataset/engine.ts";
import { SMALL, sleep, tempFolder } from "../support/dataset.ts";
import { long } from "../support/long.ts";

/** Would take days. */
const ENDLESS: Omit<Scan, "stop"> = { people: 2 ** 52, tests: [] };
const SHORT: Omit<Scan, "stop"> = { people: 3_001, tests: [] };

/** Everybody is looked for in other threads. */
const threads = new ScanThreads(2, 0);
const scan = (question: Omit<Scan, "stop">, limitMs: number) => threads.scan(question, limitMs);
afterAll(() => threads.end());

test("a search that is out of time is stopped in its threads, and they go on", async () => {
  await expect(scan(ENDLESS, 30)).rejects.toThrow(OutOfTimeError);
  // Were they still at work, this would wait for them.
  expect(await scan(SHORT, 60_000)).toMatchObject({ count: 3_001 });
});

test("who waits in line for too long is told so, and others keep their turn", async () => {
  const busy = scan(ENDLESS, 400);
  const late = scan(SHORT, 30);
  const patient = scan(SHORT, 60_000);
  await expect(late).rejects.toThrow("no answer from the dataset within 30 ms");
  await expect(busy).rejects.toThrow(OutOfTimeError);
  expect(await patient).toMatchObject({ count: 3_001 });
  await expect(scan(SHORT, 0)).rejects.toThrow(OutOfTimeError);
});

test("what fails in a thread is told, and the next search finds it at work", async () => {
  const damaged = { people: 2_000, tests: [{}] } as unknown as Omit<Scan, "stop">;
  await expect(scan(damaged, 60_000)).rejects.toThrow("Cannot read properties of undefined");
  expect(await scan(SHORT, 60_000)).toMatchObject({ count: 3_001 });
});

describe("threads there are, one for each that was started in this process", () => {
  const started: Worker[] = [];
  const running = new Set<Worker>();
  const onWorker = (worker: Worker): void => {
    started.push(worker);
    running.add(worker);
    worker.once("exit", () => running.delete(worker));
  };
  const most = Math.min(2, availableParallelism());
  beforeAll(() => {
    process.on("worker", onWorker);
  });
  afterAll(() => {
    process.off("worker", onWorker);
  });
  beforeEach(() => {
    started.length = 0;
  });

  test("they are there before the first question, and none after the dataset is closed", async () => {
    const own = new ScanThreads(most, 0);
    await own.start(2 ** 20);
    expect(running.size).toBe(most);
    expect(await own.scan(SHORT, 60_000)).toMatchObject({ count: 3_001 });
    expect(started).toHaveLength(most);
    await own.end();
    expect(running.size).toBe(0);
    const small = new ScanThreads(most);
    await small.start(1_000);
    expect(running.size).toBe(0);
    await small.end();
  });

  long(
    "after a reload the new dataset's threads are there, the old one's gone, and no question starts any",
    async () => {
      const folder = join(await tempFolder(), "dataset");
      const build = (people: number) =>
        generateDataset({ people, seed: 1 }, { datasetDir: folder, now: Date.now, sleep, resources: SMALL });
      await build(300);
      // Those of the build are others.
      started.length = 0;
      let now = 0;
      const engine = await ReloadingEngine.open(folder, {
        resources: { ...SMALL, threads: most },
        scanHere: 0,
        now: () => now,
        onError: (error) => {
          throw error;
        },
      });
      const old = [...started];
      expect(old).toHaveLength(most);
      const ended = Promise.all(old.map((worker) => once(worker, "exit")));
      await build(400);
      started.length = 0;
      now = 1_000;
      await engine.current();
      await ended;
      expect(started).toHaveLength(most);
      expect(started.every((worker) => running.has(worker))).toBe(true);
      const filters = { exact: {}, prefix: { title_prefix: "s" }, range: {} };
      expect(await engine.count(filters)).toBeGreaterThan(0);
      expect(started).toHaveLength(most);
      await engine.close();
      expect(running.size).toBe(0);
    },
  );
});

test("threads are the same whatever flags the process has", () => {
  const module = resolve(import.meta.dirname, "../../dist/dataset/embedded/scan-threads.js");
  const program = `const { ScanThreads } = await import(${JSON.stringify(module)});
    const threads = new ScanThreads(2, 0);
    console.log((await threads.scan({ people: 3001, tests: [] }, 60_000)).count);`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  expect(ran).toMatchObject({ status: 0, stdout: "3001\n", stderr: "" });
});
