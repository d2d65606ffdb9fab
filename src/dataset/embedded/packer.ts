import { Worker } from "node:worker_threads";
import { deflateRawSync, type ZlibOptions } from "node:zlib";
import type { Pieces } from "./blocks.ts";

/** So many blocks are handed over at once: a message costs as much as packing one. */
const BLOCKS_A_MESSAGE = 128;

/** The other threads, as text: it is the same from the sources, from the build and from a bundle. */
const WORKER = `
const { parentPort } = require("node:worker_threads");
const { deflateRawSync } = require("node:zlib");
parentPort.on("message", ({ bytes, ends, options }) => {
  try {
    const packed = ends.map((end, index) => deflateRawSync(bytes.subarray(ends[index - 1] ?? 0, end), options));
    let length = 0;
    const packedEnds = packed.map((each) => (length += each.length));
    const all = new Uint8Array(length);
    for (const [index, each] of packed.entries()) all.set(each, packedEnds[index - 1] ?? 0);
    parentPort.postMessage({ bytes: all, ends: packedEnds }, [all.buffer]);
  } catch (error) {
    parentPort.postMessage({ error: error.message });
  }
});`;

interface Job {
  readonly message: Pieces & { readonly options: ZlibOptions };
  readonly resolve: (packed: Pieces) => void;
  readonly reject: (error: Error) => void;
}

type Answer = Pieces | { readonly error: string };

/** Deflates blocks in threads of its own: in those of Node's zlib a call for each block costs half as much again, most of it for the collector. */
export class Packer {
  readonly #threads: number;
  readonly #workers = new Map<Worker, Job | undefined>();
  readonly #waiting: Job[] = [];
  /** Why nothing is packed any more. */
  #failure: Error | undefined;

  constructor(threads: number) {
    this.#threads = threads;
  }

  /** Each of these blocks packed, in their order, as they become ready. */
  async *pack(blocks: Pieces, options: ZlibOptions): AsyncGenerator<Pieces> {
    const { bytes, ends } = blocks;
    // A thread takes as long to start as these take to pack.
    if (ends.length < BLOCKS_A_MESSAGE) {
      for (const [index, end] of ends.entries()) {
        const packed = deflateRawSync(bytes.subarray(ends[index - 1] ?? 0, end), options);
        yield { bytes: packed, ends: [packed.length] };
      }
      return;
    }
    const jobs: Promise<Pieces>[] = [];
    for (let from = 0; from < ends.length; from += BLOCKS_A_MESSAGE) {
      const start = ends[from - 1] ?? 0;
      const own = ends.slice(from, from + BLOCKS_A_MESSAGE).map((end) => end - start);
      jobs.push(
        this.#job({ bytes: Uint8Array.from(bytes.subarray(start, start + (own.at(-1) ?? 0))), ends: own, options }),
      );
    }
    // Whoever waits for the first is told of its failure; the others fail with it.
    for (const job of jobs) job.catch(() => undefined);
    for (const job of jobs) yield await job;
  }

  async close(): Promise<void> {
    this.#fail(new Error("the packer is closed"));
    await Promise.all([...this.#workers.keys()].map((worker) => worker.terminate()));
  }

  #job(message: Job["message"]): Promise<Pieces> {
    return new Promise((resolve, reject) => {
      if (this.#failure) {
        reject(this.#failure);
        return;
      }
      this.#waiting.push({ message, resolve, reject });
      const idle = [...this.#workers].find(([, job]) => job === undefined)?.[0];
      if (idle) this.#next(idle);
      else if (this.#workers.size < this.#threads) this.#next(this.#start());
    });
  }

  #start(): Worker {
    const worker = new Worker(WORKER, { eval: true, execArgv: [] });
    worker.on("message", (answer: Answer) => {
      const job = this.#workers.get(worker);
      if ("error" in answer) job?.reject(new Error(answer.error));
      else job?.resolve(answer);
      this.#next(worker);
    });
    worker.on("error", (error) => this.#fail(error));
    return worker;
  }

  #next(worker: Worker): void {
    const job = this.#waiting.shift();
    this.#workers.set(worker, job);
    if (job) worker.postMessage(job.message, [job.message.bytes.buffer]);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const job of [...this.#workers.values(), ...this.#waiting.splice(0)]) job?.reject(error);
  }
}
