import { Problem, VanishedError, within } from "../problem.ts";

export const TURNS = {
  dataset: 16,
  /** Of one kind, of all keys: free are one less than the dataset answers side by side. */
  all: { paid: 16, free: 3, large: 2 },
  ofKey: { paid: 8, free: 2, large: 1 },
  waiting: 1_000,
};
export type TurnBounds = Readonly<typeof TURNS>;

/**
 * Calls that are charged, and those that never are, at
 * the dataset; and large bodies, at the event loop.
 */
type TurnKind = keyof TurnBounds["all"];

/**
 * After a large body the event loop is the others' for
 * twice as long as it took, but no longer than this.
 */
const MOST_REST_MS = 20;
const COMPANY_MS = 1_000;

interface Lane {
  readonly id: string;
  readonly kind: TurnKind;
  running: number;
  readonly waiting: Set<() => void>;
}

/** Who may ask the dataset next: keys take turns, so whoever asks for much waits for itself. */
export class Turns {
  readonly #bounds: TurnBounds;
  readonly #timesMs: { readonly turn: number; readonly work: number };
  readonly #lanes = new Map<string, Lane>();
  readonly #running: Record<TurnKind, number> = { paid: 0, free: 0, large: 0 };
  readonly #now: () => number;
  #last = { who: "", at: Number.NEGATIVE_INFINITY };
  #other = this.#last;

  constructor(
    bounds: Partial<TurnBounds>,
    timesMs: { readonly turn: number; readonly work: number },
    now: () => number = () => performance.now(),
  ) {
    this.#now = now;
    this.#bounds = { ...TURNS, ...bounds };
    this.#timesMs = timesMs;
  }

  /**
   * @param who the id of a key.
   * @returns what ends the turn.
   * @throws Problem 503 where it does not come in time
   */
  async take(kind: TurnKind, who: string): Promise<() => void> {
    const id = `${kind} ${who}`;
    const lane = this.#lanes.get(id) ?? { id, kind, running: 0, waiting: new Set() };
    this.#lanes.set(id, lane);
    if (lane.waiting.size === 0 && this.#mayBegin(lane)) this.#begin(lane);
    else await this.#wait(lane);
    const began = this.#now();
    if (this.#last.who !== who) this.#other = this.#last;
    this.#last = { who, at: began };
    return kind === "large" ? () => this.#rest(lane, who, began) : () => this.#end(lane);
  }

  /** The next large body begins when others who are there had the event loop for a while. */
  #rest(lane: Lane, who: string, began: number): void {
    const now = this.#now();
    const other = this.#last.who === who ? this.#other : this.#last;
    const ms = Math.min(2 * (now - began), MOST_REST_MS);
    if (ms <= 0 || now - other.at > COMPANY_MS) this.#end(lane);
    else setTimeout(() => this.#end(lane), ms);
  }

  /**
   * Asks the dataset in a turn, which lasts until the work has ended.
   * @param isGone whether nobody waits for the answer any more: then nothing is begun
   * @throws Problem 503; VanishedError; DeadlineError
   * where the work takes too long; what the work throws
   */
  async run<Result>(
    kind: "paid" | "free",
    who: string,
    work: () => Promise<Result>,
    isGone: () => boolean = () => false,
  ): Promise<Result> {
    const end = await this.take(kind, who);
    let working: Promise<Result>;
    try {
      if (isGone()) throw new VanishedError("the client closed the connection");
      working = work();
    } catch (error) {
      end();
      throw error;
    }

    working.then(end, end);
    return within(working, this.#timesMs.work);
  }

  /** Calls that the dataset works for, and those that wait. */
  get load(): Readonly<Record<"running" | "waiting", number>> {
    const waiting = [...this.#lanes.values()].reduce((sum, lane) => sum + lane.waiting.size, 0);
    return { running: this.#running.paid + this.#running.free, waiting };
  }

  #mayBegin({ kind, running }: Lane): boolean {
    const { all, dataset, ofKey } = this.#bounds;
    if (running >= ofKey[kind] || this.#running[kind] >= all[kind]) return false;
    return kind === "large" || this.#running.paid + this.#running.free < dataset;
  }

  #begin(lane: Lane): void {
    lane.running += 1;
    this.#running[lane.kind] += 1;
    this.#lanes.delete(lane.id);
    this.#lanes.set(lane.id, lane);
  }

  #end(lane: Lane): void {
    lane.running -= 1;
    this.#running[lane.kind] -= 1;
    if (lane.running === 0 && lane.waiting.size === 0) this.#lanes.delete(lane.id);

    for (const next of this.#lanes.values()) {
      const [first] = next.waiting;
      if (first === undefined || !this.#mayBegin(next)) continue;
      next.waiting.delete(first);
      this.#begin(next);
      first();
      return;
    }
  }

  #wait(lane: Lane): Promise<void> {
    if (lane.waiting.size >= this.#bounds.waiting) throw this.#busy(lane);

    return new Promise((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        reject(this.#busy(lane));
        lane.waiting.delete(begin);
      }, this.#timesMs.turn);
      lane.waiting.add(begin);
    });
  }

  #busy({ kind, waiting }: Lane): Problem {
    const seconds = Math.max(1, Math.ceil(this.#timesMs.turn / 1_000));
    return new Problem(
      503,
      [
        `the service is busy: ${waiting.size} ${kind} calls of this key wait for ` +
          `their turn; nothing was charged, retry in ${seconds} s`,
      ],
      { "retry-after": String(seconds) },
    );
  }
}
