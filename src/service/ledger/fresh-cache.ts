export interface Remembered<Value> {
  get(key: string, load: () => Promise<Value>): Promise<Value>;
  drop(): void;
}

export const FORGETFUL: Remembered<never> = { get: (_key, load) => load(), drop: () => undefined };

interface FreshOptions {
  readonly freshMs: number;
  readonly staleMs: number;
  readonly now: () => number;
  readonly size: number;
  readonly isOutage: (error: unknown) => boolean;
}

/** Answers from memory for a few seconds, a while longer where the store is away, and then no more. */
export class FreshCache<T> implements Remembered<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly readAt: number }>();
  readonly #options: FreshOptions;
  /** Grows with every drop, so that a read which began before one is not remembered after it. */
  #generation = 0;

  constructor(options: FreshOptions) {
    this.#options = options;
  }

  async get(key: string, load: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key);
    // The age counts from before the read: what was true then may have changed while the answer was on its way.
    const startedAt = this.#options.now();
    if (known !== undefined && isWithin(startedAt - known.readAt, this.#options.freshMs)) return known.value;
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
      const isYoung = usable !== undefined && isWithin(this.#options.now() - usable.readAt, this.#options.staleMs);
      if (isYoung && this.#options.isOutage(error)) return usable.value;
      throw error;
    }
  }

  drop(): void {
    this.#generation += 1;
    this.#entries.clear();
  }

  #remember(key: string, entry: { readonly value: T; readonly readAt: number }): void {
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= this.#options.size && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(key, entry);
  }
}

/** A clock set back makes an age negative: that proves nothing, so it does not count as young. */
const isWithin = (age: number, limit: number): boolean => age >= 0 && age < limit;

interface Kept<Value> {
  readonly reading: Promise<Value>;
  value: Value | undefined;
}

/**
 * Values from memory as long as nothing was committed. Kept as the promises that brought them: whoever
 * asks again gets the same one, and nothing is made for it.
 */
export class VersionCache<Value> implements Remembered<Value> {
  readonly #generation: () => number | Promise<number>;
  readonly #size: number;
  readonly #entries = new Map<string, Kept<Value>>();
  #of = Number.NaN;

  constructor(generation: () => number | Promise<number>, size: number) {
    this.#generation = generation;
    this.#size = size;
  }

  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const asked = this.#generation();
    if (typeof asked === "number") return this.#at(asked, key, load).reading;
    return asked.then((generation) => {
      const { reading, value } = this.#at(generation, key, load);
      // A promise that is answered by another takes two more rounds of the queue.
      return value ?? reading;
    });
  }

  #at(generation: number, key: string, load: () => Promise<Value>): Kept<Value> {
    if (generation !== this.#of) {
      this.#entries.clear();
      this.#of = generation;
    }
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    // The generation was asked for before the read: what is read may be newer, and never older.
    const read: Kept<Value> = { reading: load(), value: undefined };
    if (this.#entries.size >= this.#size) return read;
    this.#entries.set(key, read);
    const forget = (): void => {
      if (this.#entries.get(key) === read) this.#entries.delete(key);
    };
    read.reading.then((value) => {
      read.value = value;
      if (value === undefined) forget();
    }, forget);
    return read;
  }

  drop(): void {
    this.#of = Number.NaN;
  }
}
