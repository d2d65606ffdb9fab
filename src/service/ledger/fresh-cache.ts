/** What a ledger remembers of its reads; never that something is not there (undefined). */
export interface Remembered<Value> {
  get(key: string, load: () => Promise<Value>): Promise<Value>;
  drop(): void;
}

/** Remembers nothing: every question goes to the database. */
export const FORGETFUL: Remembered<never> = { get: (_key, load) => load(), drop: () => undefined };

/** Answers from memory for a few seconds, a while longer where the store is away, and then no more. */
export class FreshCache<T> implements Remembered<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly readAt: number }>();
  readonly #freshMs: number;
  readonly #staleMs: number;
  readonly #now: () => number;
  readonly #size: number;
  readonly #isOutage: (error: unknown) => boolean;
  /** Grows with every drop, so that a read which began before one is not remembered after it. */
  #generation = 0;

  constructor(options: {
    readonly freshMs: number;
    readonly staleMs: number;
    readonly now: () => number;
    readonly size: number;
    readonly isOutage: (error: unknown) => boolean;
  }) {
    this.#freshMs = options.freshMs;
    this.#staleMs = options.staleMs;
    this.#now = options.now;
    this.#size = options.size;
    this.#isOutage = options.isOutage;
  }

  async get(key: string, load: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key);
    // The age counts from before the read: what was true then may have changed while the answer was on its way.
    const startedAt = this.#now();
    if (known !== undefined && isWithin(startedAt - known.readAt, this.#freshMs)) return known.value;
    const generation = this.#generation;
    try {
      const value = await load();
      if (generation === this.#generation) {
        this.#entries.delete(key);
        if (value !== undefined) this.#remember(key, { value, readAt: startedAt });
      }
      return value;
    } catch (error) {
      const usable = this.#entries.get(key);
      const isYoung = usable !== undefined && isWithin(this.#now() - usable.readAt, this.#staleMs);
      if (isYoung && this.#isOutage(error)) return usable.value;
      throw error;
    }
  }

  drop(): void {
    this.#generation += 1;
    this.#entries.clear();
  }

  #remember(key: string, entry: { readonly value: T; readonly readAt: number }): void {
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= this.#size && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(key, entry);
  }
}

/** A clock set back makes an age negative: that proves nothing, so it does not count as young. */
const isWithin = (age: number, limit: number): boolean => age >= 0 && age < limit;
