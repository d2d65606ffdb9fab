// Tested by test/e2e/examples.long.test.ts.
import { shellWord } from "../errors.ts";
import { FILTER_SPECS, type Filters } from "./vocabulary.ts";

const typed = (value: string): string => (value.startsWith("@") ? `@${value}` : value);

export const flagOf = (key: string): string => `--${key.replaceAll("_", "-")}`;

/** Options as words of a command line, without those that have no value. */
export const optionWords = (
  values: Readonly<Record<string, string | number | undefined>>,
): string[] =>
  Object.entries(values).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, `${value}`],
  );

/**
 * Filters as words of a command line, each joined, so that
 * a value that begins with a hyphen or an @ stays a value.
 */
export const filterWords = (filters: Filters): string[] =>
  Object.entries(filters).flatMap(([key, values]) =>
    [values].flat().map((one) => `${flagOf(key)}=${typed(String(one))}`),
  );

export function flagsOf(filters: Filters): string {
  const words = FILTER_SPECS.flatMap(({ key }) =>
    [filters[key] ?? []].flat().map((value) => `${flagOf(key)}=${shellWord(typed(String(value)))}`),
  );
  return words.length === 0 ? "--all" : words.join(" ");
}
