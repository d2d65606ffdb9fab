import type { Remembered } from "./fresh-cache.ts";

/** Values from memory as long as nothing was committed, by this process or any other. */
export class VersionCache<Value> implements Remembered<Value> {
  readonly #generation: () => number | Promise<number>;
  readonly #size: number;
  readonly #entries = new Map<string, Value>();
  #of = Number.NaN;

  /** @param generation another number after every commit that a read could see */
  constructor(generation: () => number | Promise<number>, size: number) {
    this.#generation = generation;
    this.#size = size;
  }

  async get(key: string, load: () => Promise<Value | undefined>): Promise<Value | undefined> {
    const asked = this.#generation();
    const generation = typeof asked === "number" ? asked : await asked;
    if (generation !== this.#of) {
      this.#entries.clear();
      this.#of = generation;
    }
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const value = await load();
    // The generation was asked for before the read: what was read may be newer, and never older.
    if (value !== undefined && generation === this.#of && this.#entries.size < this.#size)
      this.#entries.set(key, value);
    return value;
  }

  drop(): void {
    this.#of = Number.NaN;
  }
}
