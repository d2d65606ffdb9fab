import type { Condition } from "../../shared/contract/conditions.ts";
import { partition, sortedTexts } from "./sorted-texts.ts";

/** Half-open ranges of codes. */
export type Ranges = readonly (readonly [from: number, to: number])[];

/** The different values of a column in rising order: a value's place is its code. */
export interface Dictionary {
  readonly size: number;
  value(code: number): string | number;
  /** How many are below a value, and how many up to it. */
  span(value: string | number): Ranges[number];
}

export function textDictionary(starts: Uint32Array, bytes: Buffer): Dictionary {
  const { below, compare, size, value } = sortedTexts(starts, bytes);

  return {
    size,
    value,
    span(text) {
      const key = Buffer.from(String(text));
      const code = below(key);
      return [code, code < size && compare(key, code) === 0 ? code + 1 : code];
    },
  };
}

export const numberDictionary = (numbers: Float64Array): Dictionary => ({
  size: numbers.length,
  value: (code) => numbers[code] ?? 0,
  span: (value) => [
    partition(numbers.length, (code) => (numbers[code] ?? 0) < Number(value)),
    partition(numbers.length, (code) => (numbers[code] ?? 0) <= Number(value)),
  ],
});

/** Of who meets a condition: in any order, some of them empty or there twice. */
export function rangesOf(
  condition: Exclude<Condition, { kind: "address" }>,
  { size, span }: Dictionary,
): Ranges {
  if (condition.kind === "in") return condition.values.map(span);

  if (condition.kind === "range") {
    const { min = 0, max = Number.POSITIVE_INFINITY } = condition;
    return [[span(min)[0], span(max)[1]]];
  }

  const { before, from } = condition;
  return [[span(from)[0], before === undefined ? size : span(before)[0]]];
}
