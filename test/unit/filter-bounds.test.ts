import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { checkFilters } from "../../src/shared/contract/filters.ts";
import {
  EXACT_KEYS,
  FILTER_KEYS,
  MAX_CHARACTERS,
  MAX_VALUE_LENGTH,
  MAX_VALUES,
  MAX_VALUES_PER_KEY,
} from "../../src/shared/contract/vocabulary.ts";

// What one body may cost, counted in work and not in time.

const compared = vi.hoisted(() => ({ calls: 0, longest: 0 }));
vi.mock("fastest-levenshtein", async (original) => {
  const { distance, ...rest } = await original<typeof import("fastest-levenshtein")>();
  return {
    ...rest,
    distance: (a: string, b: string) => {
      compared.calls += 1;
      compared.longest = Math.max(compared.longest, a.length, b.length);
      return distance(a, b);
    },
  };
});

let normalised = 0;
const normalize = String.prototype.normalize;
beforeEach(() => {
  normalised = 0;
  Object.assign(compared, { calls: 0, longest: 0 });
  vi.spyOn(String.prototype, "normalize").mockImplementation(function count(this: string, form) {
    const text = normalize.call(this, form);
    normalised += text.length;
    return text;
  });
});
afterEach(() => vi.restoreAllMocks());

const messagesOf = (input: unknown): string[] => {
  const check = checkFilters(input);
  return check.ok ? [] : check.issues.map(({ message }) => message);
};
const everyList = (values: readonly string[]) =>
  Object.fromEntries(EXACT_KEYS.map((key) => [key, values]));

describe("the work of a check is bounded", () => {
  test("in the characters of the normal form, where one can become eighteen", () => {
    const text = "\ufdfa".repeat(1_000);
    expect(messagesOf(everyList(Array.from({ length: 25 }, () => text)))).toEqual([
      `filters take at most ${MAX_CHARACTERS} characters in all, in their normal form; ask in several requests`,
    ]);
    // NFKC twice a text, and the last text is the one that was too much.
    expect(normalised).toBeLessThan(2 * (MAX_CHARACTERS + 18 * MAX_VALUE_LENGTH));
  });

  test("in values, before any of them is looked at", () => {
    const values = Array.from({ length: MAX_VALUES_PER_KEY }, (_, index) => `name ${index}`);
    expect(messagesOf(everyList(values))).toEqual([
      `filters take at most ${MAX_VALUES} values in all, not ${EXACT_KEYS.length * MAX_VALUES_PER_KEY}; ask in several requests`,
    ]);
    expect(normalised).toBe(0);
    expect(messagesOf({ name: values, title: values })).toEqual([]);
    expect(messagesOf({ name: values, title: values, city: "x" })).toHaveLength(1);
  });

  test("in suggestions: for the first twenty, by their first 64 characters", () => {
    const many = Object.fromEntries(
      Array.from({ length: 40_000 }, (_, index) => [`countri${index}`, 1]),
    );
    expect(messagesOf({ ["x".repeat(1_000_000)]: 1, ...many })).toHaveLength(20);
    expect(
      messagesOf({
        department: Array.from({ length: 1_000 }, (_, index) => `${"Sale".repeat(200)}${index}`),
      }),
    ).toHaveLength(20);
    expect(compared.calls).toBeLessThanOrEqual(20 * FILTER_KEYS.length + 20 * 20);
    expect(compared.longest).toBeLessThanOrEqual(64);
  });

  test("and nothing that is within the bounds is refused", () => {
    const values = Array.from(
      { length: MAX_VALUES_PER_KEY },
      (_, index) => `network.example/in/somebody-with-a-name-${index}`,
    );
    expect(messagesOf({ network_url: values, country: "france" })).toEqual([]);
  });
});
