/**
 * What is known of what was asked last: an answer, or why there is none and when it is asked again.
 */
export interface Finding<Value> {
  readonly of: string;
  readonly value?: Value;
  readonly error?: unknown;
  /** When it is asked again, epoch milliseconds. */
  readonly again?: number;
}

/** What is known of this question: nothing, where another one was asked last. */
export const answerTo = <Value>(of: string, last: Finding<Value>): Finding<Value> =>
  last.of === of ? last : { of };

/**
 * Asks one question at a time. What it tells belongs to the question that was
 * asked last: an answer that comes late is dropped, and a question that failed
 * for a while (a limit, a service that is away) is asked again by itself.
 */
export function segmentInquiry<Value>(
  request: (of: string, signal: AbortSignal) => Promise<Value>,
  tell: (answer: Finding<Value>) => void,
) {
  let last: string | undefined;
  let turn = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Nothing is told from here on, until the next question. */
  const stop = (): void => {
    clearTimeout(timer);
    turn.abort();
    turn = new AbortController();
  };

  const begin = async (of: string): Promise<void> => {
    const { signal } = turn;
    try {
      const value = await request(of, signal);
      if (!signal.aborted) tell({ of, value });
    } catch (error) {
      if (signal.aborted) return;
      const ms = patience(error);
      if (ms === undefined) return tell({ of, error });
      tell({ of, error, again: Date.now() + ms });
      timer = setTimeout(() => void begin(of), ms);
    }
  };

  /** @param waitMs before it is asked: while somebody types */
  const ask = (of: string, waitMs = 0): void => {
    stop();
    // Asked again, the same question keeps its answer until there is another.
    if (of !== last) tell({ of });
    last = of;
    if (waitMs === 0) void begin(of);
    else timer = setTimeout(() => void begin(of), waitMs);
  };

  return { ask, stop };
}

/**
 * A service that is away and a minute's limit end by themselves; a day's is somebody's to wait for.
 */
const AWAY_MS = 5_000;
const LONGEST_MS = 120_000;

export function patience(error: unknown): number | undefined {
  if (error instanceof TypeError) return AWAY_MS;
  const isRefusal =
    typeof error === "object" && error !== null && "status" in error && "retryMs" in error;
  const ms =
    isRefusal && (error.status === 429 || error.status === 503)
      ? Number(error.retryMs ?? NaN)
      : NaN;
  return ms <= LONGEST_MS ? ms : undefined;
}
