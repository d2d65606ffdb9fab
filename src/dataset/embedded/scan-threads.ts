import { availableParallelism } from "node:os";
import { OutOfTimeError } from "../engine.ts";
import { Thread } from "../thread.ts";
import { PEOPLE_A_BLOCK, peopleWithin, SCAN_TEXT, type Scan, type ScanResult, scanned, wantedOf } from "./scan.ts";

/** People times tests that this thread looks at itself: waking another takes as long. */
const LOOKED_AT_HERE = 2 ** 19;

interface Piece {
  readonly work: Scan;
  readonly from: number;
  readonly to: number;
}

const TEXT = `${SCAN_TEXT}
return ({ work, from, to }) => {
  const found = ${scanned.name}(work, from, to);
  return [found, found.sums && [found.sums.buffer]];
};`;

const newThread = (): Thread<Piece, ScanResult> =>
  new Thread({ what: "a thread that looks through the people", text: TEXT });

const NOBODY: Piece = { work: { tests: [], people: 0, stop: new Int32Array(1) }, from: 0, to: 0 };

function isLittle({ people, spans, tests }: Scan, here: number): boolean {
  let left = here;
  for (let at = 0; at < (spans?.length ?? 2); at += 2) {
    const end = spans ? (spans[at + 1] ?? 0) : people;
    for (let from = spans?.[at] ?? 0; from < end && left >= 0; ) {
      const block = Math.floor(from / PEOPLE_A_BLOCK);
      const next = Math.min(end, (block + 1) * PEOPLE_A_BLOCK);
      const isOut = tests.some((test) => !("bits" in test) && wantedOf(test, block) === "none");
      if (!isOut) left -= (next - from) * Math.max(1, tests.length);
      from = next;
    }
  }
  return left >= 0;
}

/** Where parts begin and the last one ends, each as much to look at as the others and of whole blocks. */
function partsOf({ people, spans }: Scan, parts: number): number[] {
  const all = spans ?? [0, people];
  const size = Math.ceil((spans ? peopleWithin(spans) : people) / PEOPLE_A_BLOCK / parts) * PEOPLE_A_BLOCK;
  const cuts = [0];
  let before = 0;
  for (let at = 0; at < all.length; at += 2) {
    const from = all[at] ?? 0;
    const length = (all[at + 1] ?? 0) - from;
    while (cuts.length < parts && cuts.length * size < before + length) {
      cuts.push(Math.ceil((from + cuts.length * size - before) / PEOPLE_A_BLOCK) * PEOPLE_A_BLOCK);
    }
    before += length;
  }
  return [...cuts.filter((cut) => cut < people), people];
}

/** The threads that look through the people of an open dataset; what they looked at last stays in their memory. */
export class ScanThreads {
  readonly #threads: readonly Thread<Piece, ScanResult>[];
  readonly #here: number;

  constructor(most: number, here = LOOKED_AT_HERE) {
    this.#threads = Array.from({ length: Math.min(most, availableParallelism()) }, newThread);
    this.#here = here;
  }

  async start(people: number): Promise<void> {
    if (people > this.#here) await Promise.all(this.#threads.map((thread) => thread.ask(NOBODY)));
  }

  async end(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }

  async scan(question: Omit<Scan, "stop">, limitMs: number): Promise<ScanResult> {
    const late = new OutOfTimeError(`no answer from the dataset within ${limitMs} ms`);
    if (limitMs <= 0) throw late;
    const stop = new Int32Array(new SharedArrayBuffer(4));
    const work = { ...question, stop };
    if (isLittle(work, this.#here)) return scanned(work, 0, question.people);
    const cuts = partsOf(work, this.#threads.length);
    const parts = this.#threads.slice(0, cuts.length - 1).map((thread, index) => {
      return thread.ask({ work, from: cuts[index] ?? 0, to: cuts[index + 1] ?? 0 });
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
}
