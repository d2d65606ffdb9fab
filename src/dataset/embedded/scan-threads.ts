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

/** Shared by all datasets of the process, one for each core: nothing of a dataset stays in them. */
const threads = Array.from({ length: availableParallelism() }, newThread);

/** Nobody: a thread that has answered this has started, and one asked this last has nothing else to do. */
const NOBODY: Piece = { work: { tests: [], people: 0, stop: new Int32Array(1) }, from: 0, to: 0 };

/** The threads of an open dataset: how many look through its people, and whether they start before a question. */
export class HeldThreads {
  static readonly #held = new Set<HeldThreads>();
  readonly most: number;
  readonly #started: number;

  private constructor(most: number, started: number) {
    this.most = most;
    this.#started = started;
  }

  /** @param here as in {@link scanAll} */
  static async hold(people: number, most: number, here = LOOKED_AT_HERE): Promise<HeldThreads> {
    const held = new HeldThreads(most, people > here ? most : 0);
    HeldThreads.#held.add(held);
    try {
      await Promise.all(threads.slice(0, held.#started).map((thread) => thread.ask(NOBODY)));
    } catch (error) {
      HeldThreads.#held.delete(held);
      throw error;
    }
    return held;
  }

  /** What a thread looked at last stays in its memory. Those that another dataset wants are started anew first. */
  async release(): Promise<void> {
    HeldThreads.#held.delete(this);
    const wanted = Math.max(0, ...Array.from(HeldThreads.#held, (held) => held.#started));
    await Promise.all(threads.map((thread, index) => renew(thread, index, index < wanted)));
  }
}

/** @param isWanted whether the new one is started now, and not by the first question to it */
async function renew(old: Thread<Piece, ScanResult>, index: number, isWanted: boolean): Promise<void> {
  const fresh = newThread();
  // One that cannot start is told to the question that starts it next.
  if (isWanted) await fresh.ask(NOBODY).catch(() => undefined);
  // The close of another dataset has renewed it, after the last question of this one.
  if (threads[index] !== old) return fresh.end();
  threads[index] = fresh;
  if (!old.isRunning) return;
  // It may be at work for a dataset that stays.
  await old.ask(NOBODY).catch(() => undefined);
  await old.end();
}

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

/** @param most threads @param here people times tests up to which this thread does it. @throws OutOfTimeError */
export async function scanAll(
  question: Omit<Scan, "stop">,
  limitMs: number,
  most: number,
  here = LOOKED_AT_HERE,
): Promise<ScanResult> {
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
