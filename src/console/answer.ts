/** What is known of what was asked last: an answer, or why there is none and when it is asked again. */
export interface Finding<Value> {
  /** What was asked. */
  readonly of: string;
  readonly value?: Value;
  readonly error?: unknown;
  /** When it is asked again, in milliseconds of {@link Timer}. */
  readonly again?: number;
}

/** What is known of this question: nothing, where another one was asked last. */
export const answerTo = <Value>(of: string, last: Finding<Value>): Finding<Value> => (last.of === of ? last : { of });

export interface Timer {
  now(): number;
  /** @returns what takes it back */
  later(ms: number, act: () => void): () => void;
}

const BROWSER: Timer = {
  now: () => Date.now(),
  later(ms, act) {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** How long a question waits that failed, in milliseconds; undefined: it is not asked again. */
export type Patience = (error: unknown) => number | undefined;

/**
 * Asks one question at a time. What it tells belongs to the question that was asked last, and to no other: an answer that comes late
 * is dropped, and a question that failed for a while (a limit, a service that is away) is asked again by itself.
 */
export class SegmentInquiry<Value> {
  readonly #ask: (of: string, signal: AbortSignal) => Promise<Value>;
  readonly #tell: (answer: Finding<Value>) => void;
  readonly #patience: Patience;
  readonly #clock: Timer;
  #of: string | undefined;
  #turn = new AbortController();
  #wait: (() => void) | undefined;

  constructor(
    ask: (of: string, signal: AbortSignal) => Promise<Value>,
    tell: (answer: Finding<Value>) => void,
    patience: Patience,
    clock: Timer = BROWSER,
  ) {
    this.#ask = ask;
    this.#tell = tell;
    this.#patience = patience;
    this.#clock = clock;
  }

  /** @param waitMs before it is asked: while somebody types */
  ask(of: string, waitMs = 0): void {
    this.stop();
    // Asked again, the same question keeps its answer until there is another.
    if (of !== this.#of) this.#tell({ of });
    this.#of = of;
    if (waitMs === 0) this.#begin(of);
    else this.#wait = this.#clock.later(waitMs, () => this.#begin(of));
  }

  /** Nothing is told from here on, until the next question. */
  stop(): void {
    this.#wait?.();
    this.#wait = undefined;
    this.#turn.abort();
    this.#turn = new AbortController();
  }

  #begin(of: string): void {
    const { signal } = this.#turn;
    this.#ask(of, signal).then(
      (value) => {
        if (!signal.aborted) this.#tell({ of, value });
      },
      (error: unknown) => {
        if (signal.aborted) return;
        const ms = this.#patience(error);
        if (ms === undefined) return this.#tell({ of, error });
        this.#tell({ of, error, again: this.#clock.now() + ms });
        this.#wait = this.#clock.later(ms, () => this.#begin(of));
      },
    );
  }
}

/** A service that is away, or a minute's calls that are used up, end by themselves; a day's are somebody's to wait for. */
const AWAY_MS = 5_000;
const LONGEST_MS = 120_000;

export function patience(error: unknown): number | undefined {
  if (error instanceof TypeError) return AWAY_MS;
  const isRefusal = typeof error === "object" && error !== null && "status" in error && "retryMs" in error;
  const ms = isRefusal && (error.status === 429 || error.status === 503) ? Number(error.retryMs ?? NaN) : NaN;
  return ms <= LONGEST_MS ? ms : undefined;
}
