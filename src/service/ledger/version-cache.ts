interface Kept<Value> {
  readonly reading: Promise<Value>;
  value: Value | undefined;
}

/**
 * Values from memory as long as nothing was committed. Kept as the promises that brought them: whoever
 * asks again gets the same one, and nothing is made for it.
 */
export class VersionCache<Value> {
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
