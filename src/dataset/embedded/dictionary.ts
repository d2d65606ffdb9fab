import type { Condition } from "../../shared/contract/conditions.ts";
import { partition, sortedTexts } from "./sorted-texts.ts";

/** Half-open ranges of codes, rising and apart from each other. */
export type Ranges = readonly (readonly [from: number, to: number])[];

export interface Dictionary {
  readonly size: number;
  value(code: number): string | number;
  ranges(condition: Condition): Ranges;
}

const range = (from: number, to: number): Ranges => (from < to ? [[from, to]] : []);

export function textDictionary(starts: Uint32Array, bytes: Buffer): Dictionary {
  const { below, compare, size, value } = sortedTexts(starts, bytes);

  return {
    size,
    value,

    ranges(condition) {
      if (condition.kind === "prefix") {
        const { from, before } = condition;
        return range(
          below(Buffer.from(from)),
          before === undefined ? size : below(Buffer.from(before)),
        );
      }
      if (condition.kind !== "in") return [];

      const codes = new Set<number>();
      for (const value of condition.values) {
        const key = Buffer.from(value);
        const code = below(key);
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
