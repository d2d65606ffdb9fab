import type { Remembered } from "./fresh-cache.ts";

/**
 * Values from memory as long as nothing was committed, by this process or any other. Kept as the promises that brought them: whoever
 * asks again gets the same one, and nothing is made for it.
 */
export class VersionCache<Value> implements Remembered<Value> {
  readonly #generation: () => number | Promise<number>;
  readonly #size: number;
  readonly #entries = new Map<string, Promise<Value>>();
  #of = Number.NaN;

  /** @param generation another number after every commit that a read could see */
  constructor(generation: () => number | Promise<number>, size: number) {
    this.#generation = generation;
    this.#size = size;
  }

  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const asked = this.#generation();
    if (typeof asked === "number") return this.#at(asked, key, load);
    return asked.then((generation) => this.#at(generation, key, load));
  }

  #at(generation: number, key: string, load: () => Promise<Value>): Promise<Value> {
    if (generation !== this.#of) {
      this.#entries.clear();
      this.#of = generation;
    }
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    // The generation was asked for before the read: what is read may be newer, and never older.
    const reading = load();
    if (this.#entries.size >= this.#size) return reading;
    this.#entries.set(key, reading);
    const forget = (): void => {
      if (this.#entries.get(key) === reading) this.#entries.delete(key);
    };
    reading.then((value) => {
      if (value === undefined) forget();
    }, forget);
    return reading;
  }

  drop(): void {
    this.#of = Number.NaN;
  }
}
