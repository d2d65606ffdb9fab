import type { Condition } from "../../shared/contract/conditions.ts";

/** Half-open ranges of codes, rising and apart from each other. */
export type Ranges = readonly (readonly [from: number, to: number])[];

export interface Dictionary {
  readonly size: number;
  value(code: number): string | number;
  /** The codes of values that meet the condition; never that of a missing value. */
  ranges(condition: Condition): Ranges;
}

function partition(size: number, isBelow: (place: number) => boolean): number {
  let from = 0;
  let to = size;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (isBelow(middle)) from = middle + 1;
    else to = middle;
  }
  return from;
}

const range = (from: number, to: number): Ranges => (from < to ? [[from, to]] : []);

export class TextDictionary implements Dictionary {
  readonly size: number;
  readonly #starts: Uint32Array;
  readonly #bytes: Buffer;

  constructor(starts: Uint32Array, bytes: Buffer) {
    this.#starts = starts;
    this.#bytes = bytes;
    this.size = starts.length - 1;
  }

  value(code: number): string {
    return this.#bytes.toString("utf8", this.#starts[code], this.#starts[code + 1]);
  }

  ranges(condition: Condition): Ranges {
    if (condition.kind === "prefix") {
      const { from, before } = condition;
      return range(this.#place(Buffer.from(from)), before === undefined ? this.size : this.#place(Buffer.from(before)));
    }
    if (condition.kind !== "in") return [];
    const codes = new Set<number>();
    for (const value of condition.values) {
      const bytes = Buffer.from(value);
      const code = this.#place(bytes);
      if (code < this.size && this.#compare(bytes, code) === 0) codes.add(code);
    }
    return [...codes].sort((a, b) => a - b).map((code) => [code, code + 1]);
  }

  /** The number of values below these bytes. The order of UTF-8 is that of code points. */
  #place(bytes: Buffer): number {
    return partition(this.size, (code) => this.#compare(bytes, code) < 0);
  }

  #compare(bytes: Buffer, code: number): number {
    return this.#bytes.compare(bytes, 0, bytes.length, this.#starts[code], this.#starts[code + 1]);
  }
}

export class NumberDictionary implements Dictionary {
  readonly size: number;
  readonly #numbers: Float64Array;

  constructor(numbers: Float64Array) {
    this.#numbers = numbers;
    this.size = numbers.length;
  }

  value(code: number): number {
    return this.#numbers[code] ?? 0;
  }

  ranges(condition: Condition): Ranges {
    if (condition.kind !== "range") return [];
    const { min = 0, max = Number.POSITIVE_INFINITY } = condition;
    const numbers = this.#numbers;
    return range(
      partition(this.size, (code) => (numbers[code] ?? 0) < min),
      partition(this.size, (code) => (numbers[code] ?? 0) <= max),
    );
  }
}
