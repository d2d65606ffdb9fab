// Tested by test/vendors/paced.test.ts.
import type { Context } from "../../shared/context.ts";
import { WaitTooLongError } from "./errors.ts";
import type { Pacer } from "./pacing.ts";

/** How all that is asked of a connection keeps to the limit that is declared. */
export interface DeclaredPace extends Pick<Context, "now" | "sleep"> {
  readonly pacer: Pacer;
  readonly maxWaitMs: number;
  readonly onTurn?: ((ms: number) => void) | undefined;
}

/**
 * Waits for the turn of one request.
 * @throws WaitTooLongError where it is further away than a call may be held up
 */
export async function requestTurn(
  pace: DeclaredPace,
  signal: AbortSignal | undefined,
): Promise<void> {
  const waitMs = pace.pacer.takeRequest();
  if (waitMs <= 0) return;
  requireShort(waitMs, pace);
  pace.onTurn?.(waitMs);
  await pace.sleep(waitMs, signal);
}

function requireShort(
  waitMs: number,
  { maxWaitMs, now }: Pick<DeclaredPace, "maxWaitMs" | "now">,
): void {
  if (waitMs <= maxWaitMs) return;
  const resetAt = now() + waitMs;
  throw new WaitTooLongError({ waitMs, waitedMs: 0, maxWaitMs, resetAt, requestId: undefined });
}

interface PagePace extends DeclaredPace {
  readonly onWait: (
    wait:
      | { readonly reason: "rate_limit"; readonly until: number; readonly why: string }
      | undefined,
  ) => void;
}

/** What is under way, and what ends it. */
interface UnderWay {
  readonly halt: AbortSignal;
  signal(): void;
}

/**
 * A page waits for its turn before it has an intent: of one that has, nobody who is killed knows
 * whether it was sent.
 */
export class PageTurns {
  readonly #pace: PagePace;
  readonly #flight: UnderWay;
  readonly #over = new AbortController();
  #next: "waits" | "is due" | undefined;

  constructor(pace: PagePace, flight: UnderWay) {
    this.#pace = pace;
    this.#flight = flight;
  }

  /**
   * Whether a page may be asked for now; where not, the flight changes when it may.
   * @throws WaitTooLongError
   */
  has(): boolean {
    const { now, onWait, pacer, sleep } = this.#pace;
    if (this.#next === "waits") return false;
    const waitMs = this.#next === "is due" ? 0 : pacer.takeAhead();
    this.#next = undefined;
    if (waitMs <= 0) return true;

    requireShort(waitMs, this.#pace);
    this.#next = "waits";
    onWait({ reason: "rate_limit", until: now() + waitMs, why: "the rate limit" });
    const due = (): void => {
      this.#next = "is due";
      onWait(undefined);
      this.#flight.signal();
    };
    const ends = AbortSignal.any([this.#flight.halt, this.#over.signal]);
    sleep(waitMs, ends).then(due, () => onWait(undefined));
    return false;
  }

  /** No other page is asked for. */
  end(): void {
    this.#over.abort();
  }
}
