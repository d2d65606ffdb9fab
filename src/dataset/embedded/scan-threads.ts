import { availableParallelism } from "node:os";
import { OutOfTimeError } from "../engine.ts";
import { Thread } from "../thread.ts";
import { type Found, PEOPLE_A_BLOCK, peopleWithin, SCAN_TEXT, type Scan, scanned, wantedOf } from "./scan.ts";

/** People times tests that this thread looks at itself: half a millisecond. Another thread would take as long to be woken. */
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

/** Shared by all datasets of the process, one for each core: nothing of a dataset stays in them. */
const threads = Array.from(
  { length: availableParallelism() },
  () => new Thread<Piece, Found>({ what: "a thread that looks through the people", text: TEXT }),
);

/** What a thread looked at last stays in its memory for as long as it has nothing else to do: of a dataset that is closed, nothing may. */
export async function endIdleThreads(): Promise<void> {
  await Promise.all(threads.filter(({ isIdle }) => isIdle).map((thread) => thread.end()));
}

/** Has the threads there before the first question needs them, where there are enough people for that: starting two takes 30 ms. @param most how many */
export async function startThreads(people: number, most: number): Promise<void> {
  if (people <= LOOKED_AT_HERE) return;
  const work: Scan = { tests: [], people: 0, stop: new Int32Array(1) };
  await Promise.all(threads.slice(0, most).map((thread) => thread.ask({ work, from: 0, to: 0 })));
}

/** Whether there is no more to look at than that, of blocks of which the least and the greatest code say too little. */
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
  if (isLittle(work, here)) return scanned(work, 0, question.people);
  const cuts = partsOf(work, Math.min(most, threads.length));
  const parts = threads.slice(0, cuts.length - 1).map((thread, index) => {
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
