import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { expect, test } from "vitest";
import type { Scan } from "../../src/dataset/embedded/scan.ts";
import { endIdleThreads, scanAll } from "../../src/dataset/embedded/scan-threads.ts";
import { OutOfTimeError } from "../../src/dataset/engine.ts";

/** Would take days. */
const ENDLESS: Omit<Scan, "stop"> = { people: 2 ** 52, tests: [] };
const SHORT: Omit<Scan, "stop"> = { people: 3_001, tests: [] };

/** Everybody is looked for in other threads. */
const scan = (question: Omit<Scan, "stop">, limitMs: number) => scanAll(question, limitMs, 2, 0);

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

test("threads that are idle end, and those at work do not", async () => {
  const first = await scan(SHORT, 60_000);
  const busy = scan({ people: 3_000_000, tests: [] }, 60_000);
  await endIdleThreads();
  expect(await busy).toMatchObject({ count: 3_000_000 });
  await endIdleThreads();
  expect(await scan(SHORT, 60_000)).toEqual(first);
});

test("threads are the same whatever flags the process has", () => {
  const module = resolve(import.meta.dirname, "../../dist/dataset/embedded/scan-threads.js");
  const program = `const { scanAll } = await import(${JSON.stringify(module)});
    console.log((await scanAll({ people: 3001, tests: [] }, 60_000, 2, 0)).count);`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  expect(ran).toMatchObject({ status: 0, stdout: "3001\n", stderr: "" });
});
