import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { OutOfTimeError } from "../engine.ts";
import { type Found, PEOPLE_A_BLOCK, SCAN_TEXT, type Scan, scanned, wantedOf } from "./scan.ts";

/** People times tests that this thread looks at itself: half a millisecond. Another thread would take as long to be woken. */
const LOOKED_AT_HERE = 2 ** 19;

/** As text, since it is the same then from the sources, from the build and from a bundle. */
const THREAD = `${SCAN_TEXT}
const { parentPort } = require("node:worker_threads");
parentPort.on("message", ({ id, work, from, to }) => {
  try {
    const found = ${scanned.name}(work, from, to);
    parentPort.postMessage({ id, found }, found.sums ? [found.sums.buffer] : []);
  } catch (error) {
    parentPort.postMessage({ id, error: error.message });
  }
});`;

interface Waiting {
  readonly resolve: (found: Found) => void;
  readonly reject: (error: Error) => void;
}

/** One thread that scans what it is given, in the order in which it came. It starts with the first piece, and keeps no process alive. */
class ScanThread {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #next = 0;

  scan(work: Scan, from: number, to: number): Promise<Found> {
    this.#worker ??= this.#start();
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      if (this.#waiting.size === 0) worker.ref();
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ id, work, from, to });
    });
  }

  /** Ends the thread where nobody waits for it; the next piece starts another. */
  async end(): Promise<void> {
    const worker = this.#worker;
    if (this.#waiting.size > 0 || !worker) return;
    this.#worker = undefined;
    await worker.terminate();
  }

  #start(): Worker {
    const worker = new Worker(THREAD, { eval: true });
    worker.unref();
    worker.on("message", ({ id, found, error }: { id: number; found?: Found; error?: string }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) worker.unref();
      if (found) waiting?.resolve(found);
      else waiting?.reject(new Error(error));
    });
    const ended = (error: Error): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    };
    worker.on("error", ended);
    worker.on("exit", () => ended(new Error("a thread that looks through the people has ended")));
    return worker;
  }
}

/** Shared by all datasets of the process, one for each core: nothing of a dataset stays in them. */
const threads = Array.from({ length: availableParallelism() }, () => new ScanThread());

/** What a thread looked at last stays in its memory for as long as it has nothing else to do: of a dataset that is closed, nothing may. */
export async function endIdleThreads(): Promise<void> {
  await Promise.all(threads.map((thread) => thread.end()));
}

/** Whether there is no more to look at than that, of blocks of which the least and the greatest code say too little. */
function isLittle(work: Scan, here: number): boolean {
  let left = here;
  for (let start = 0; start < work.people && left >= 0; start += PEOPLE_A_BLOCK) {
    const isOut = work.tests.some((test) => !("bits" in test) && wantedOf(test, start / PEOPLE_A_BLOCK) === "none");
    if (!isOut) left -= PEOPLE_A_BLOCK * Math.max(1, work.tests.length);
  }
  return left >= 0;
}

/**
 * Looks through all people, in threads of their own where that takes a while. What is read lies in shared memory.
 * @param most how many threads. @param here people times tests up to which this thread does it. @throws OutOfTimeError
 */
export async function scanAll(
  question: Omit<Scan, "stop">,
  limitMs: number,
  most: number,
  here = LOOKED_AT_HERE,
): Promise<Found> {
  const late = new OutOfTimeError(`no answer from the dataset within ${limitMs} ms`);
  if (limitMs <= 0) throw late;
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const work = { ...question, stop };
  const { people } = question;
  if (isLittle(work, here)) return scanned(work, 0, people);
  const size = Math.ceil(people / PEOPLE_A_BLOCK / Math.min(most, threads.length)) * PEOPLE_A_BLOCK;
  const parts = threads.slice(0, Math.ceil(people / size)).map((thread, index) => {
    return thread.scan(work, index * size, Math.min(people, (index + 1) * size));
  });
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    if (limitMs === Number.POSITIVE_INFINITY) return;
    timer = setTimeout(() => {
      Atomics.store(stop, 0, 1);
      reject(late);
    }, limitMs);
  });
  try {
    const found = await Promise.race([Promise.all(parts), deadline]);
    return found.reduce((all, { count, sums }) => {
      sums?.forEach((people, code) => {
        if (all.sums) all.sums[code] = (all.sums[code] ?? 0) + people;
      });
      return { count: all.count + count, sums: all.sums };
    });
  } finally {
    clearTimeout(timer);
  }
}
