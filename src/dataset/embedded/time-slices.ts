/** Work takes turns with the event loop: after some milliseconds the next piece waits for the next round. */
export class TimeSlices {
  readonly #budgetMs: number;
  readonly #now: () => number;
  #began: number | undefined;
  #nextRound: Promise<void> | undefined;

  /** @param budgetMs how long pieces may run in one round, not counting the last one */
  constructor(budgetMs: number, now: () => number) {
    this.#budgetMs = budgetMs;
    this.#now = now;
  }

  /** Resolves when the next piece may run. Call it before each piece. */
  async take(): Promise<void> {
    while (this.#began !== undefined && this.#now() - this.#began >= this.#budgetMs) await this.#round();
    if (this.#began === undefined) {
      this.#began = this.#now();
      void this.#round();
    }
  }

  #round(): Promise<void> {
    this.#nextRound ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#began = undefined;
        this.#nextRound = undefined;
        resolve();
      });
    });
    return this.#nextRound;
  }
}
