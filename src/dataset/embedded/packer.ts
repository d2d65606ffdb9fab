import { deflateRawSync, type ZlibOptions } from "node:zlib";
import { Thread } from "../thread.ts";
import type { Pieces } from "./blocks.ts";

/** So many blocks are handed over at once: a message costs as much as packing one. */
const BLOCKS_A_MESSAGE = 128;

const TEXT = `
const { deflateRawSync } = require("node:zlib");
return ({ bytes, ends, options }) => {
  const packed = ends.map((end, index) => deflateRawSync(bytes.subarray(ends[index - 1] ?? 0, end), options));
  let length = 0;
  const packedEnds = packed.map((each) => (length += each.length));
  const all = new Uint8Array(length);
  for (const [index, each] of packed.entries()) all.set(each, packedEnds[index - 1] ?? 0);
  return [{ bytes: all, ends: packedEnds }, [all.buffer]];
};`;

type Job = Pieces & { readonly options: ZlibOptions };

/** Deflates blocks in threads of its own: Node's zlib costs half as much again for each call. */
export class BlockPacker {
  readonly #threads: readonly Thread<Job, Pieces>[];
  #isClosed = false;

  constructor(threads: number) {
    this.#threads = Array.from(
      { length: threads },
      () => new Thread({ what: "a thread that packs blocks", text: TEXT }),
    );
  }

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
    if (this.#isClosed) throw closed();
    const jobs: Promise<Pieces>[] = [];
    for (let from = 0; from < ends.length; from += BLOCKS_A_MESSAGE) {
      const start = ends[from - 1] ?? 0;
      const own = ends.slice(from, from + BLOCKS_A_MESSAGE).map((end) => end - start);
      // Neither Buffer's own slice, which shares the memory, nor from(), which goes value by value.
      const piece = Uint8Array.prototype.slice.call(bytes, start, start + (own.at(-1) ?? 0));
      const thread = this.#threads[jobs.length % this.#threads.length];
      if (thread) jobs.push(thread.ask({ bytes: piece, ends: own, options }, [piece.buffer]));
    }
    // Whoever waits for the first is told of its failure; the others fail with it.
    for (const job of jobs) job.catch(() => undefined);
    for (const job of jobs) yield await job;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#threads.map((thread) => thread.end(closed())));
  }
}

const closed = (): Error => new Error("the packer is closed");
