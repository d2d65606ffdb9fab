import { FILTER_SPECS, type Filters } from "./filters.ts";

/** A word for a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** As it is typed: `@FILE` names a file of values, `@@x` is the value `@x`. */
const typed = (value: string): string => (/^@./s.test(value) ? `@${value}` : value);

/** The option of the command line that a filter key has. */
export const flagOf = (key: string): string => `--${key.replaceAll("_", "-")}`;

/** Filters as words of a command line, each joined, so that a value that begins with a hyphen or an @ stays a value. */
export const filterWords = (filters: Filters): string[] =>
  Object.entries(filters).flatMap(([key, values]) =>
    [values].flat().map((one) => `${flagOf(key)}=${typed(String(one))}`),
  );

/** The filters as options of the command line, in the order of the contract; everybody is `--all`. */
export function flagsOf(filters: Filters): string {
  const words = FILTER_SPECS.flatMap(({ key }) =>
    // Joined, so that a value that begins with a hyphen stays a value.
    [filters[key] ?? []].flat().map((value) => `${flagOf(key)}=${shellWord(typed(String(value)))}`),
  );
  return words.length === 0 ? "--all" : words.join(" ");
}
