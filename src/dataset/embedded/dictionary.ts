import type { Condition } from "../../shared/contract/conditions.ts";

/** Half-open ranges of codes, rising and apart from each other. */
export type Ranges = readonly (readonly [from: number, to: number])[];

export interface Dictionary {
  readonly size: number;
  value(code: number): string | number;
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

export function textDictionary(starts: Uint32Array, bytes: Buffer): Dictionary {
  const size = starts.length - 1;

  // A call of Buffer's own costs more than the few bytes that two texts share.
  const compare = (key: Buffer, code: number): number => {
    const start = starts[code] ?? 0;
    const length = (starts[code + 1] ?? 0) - start;
    for (let index = 0; index < length && index < key.length; index++) {
      const difference = (bytes[start + index] ?? 0) - (key[index] ?? 0);
      if (difference !== 0) return difference;
    }
    return length - key.length;
  };

  /** The number of values below these bytes. The order of UTF-8 is that of code points. */
  const place = (key: Buffer): number => partition(size, (code) => compare(key, code) < 0);

  return {
    size,
    value: (code) => bytes.toString("utf8", starts[code], starts[code + 1]),

    ranges(condition) {
      if (condition.kind === "prefix") {
        const { from, before } = condition;
        return range(
          place(Buffer.from(from)),
          before === undefined ? size : place(Buffer.from(before)),
        );
      }
      if (condition.kind !== "in") return [];

      const codes = new Set<number>();
      for (const value of condition.values) {
        const key = Buffer.from(value);
        const code = place(key);
        if (code < size && compare(key, code) === 0) codes.add(code);
      }

      return [...codes].sort((a, b) => a - b).map((code) => [code, code + 1]);
    },
  };
}

export const numberDictionary = (numbers: Float64Array): Dictionary => ({
  size: numbers.length,
  value: (code) => numbers[code] ?? 0,

  ranges(condition) {
    if (condition.kind !== "range") return [];
    const { min = 0, max = Number.POSITIVE_INFINITY } = condition;
    return range(
      partition(numbers.length, (code) => (numbers[code] ?? 0) < min),
      partition(numbers.length, (code) => (numbers[code] ?? 0) <= max),
    );
  },
});
